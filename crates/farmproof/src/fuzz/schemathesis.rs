//! The hub's description in another one's hands: schemathesis (https://schemathesis.io) reads it, asks what it allows and what it does not,
//! and holds each answer against it. It knows nothing of this program.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, ensure};
use farm::stream::NodeKey;

/// How many seconds it asks for.
const SECONDS: u64 = 60;

/// What it holds: all that it knows, but for what a session may do (the hub is asked as one that is open to all), and that whatever
/// the description allows is answered: that 'from' is before 'to' is stated in words alone.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
    response_schema_conformance,negative_data_rejection,missing_required_header,unsupported_method,allow_header_conformance";

/// Runs it over the description of a hub that has this node; its own words are printed. What is wrong, if anything is.
pub(super) fn ask(
    program: &Path,
    people: SocketAddr,
    node: NodeKey,
    seed: u64,
    folder: &Path,
) -> anyhow::Result<Option<String>> {
    let (config, log) = (folder.join("schemathesis.toml"), folder.join("schemathesis.log"));
    let mut text = String::new();
    // Otherwise it would ask for nodes that are not there.
    writeln!(text, "[parameters]\n\"path.key\" = \"{node}\"")?;
    std::fs::write(&config, text)?;
    let output = std::fs::File::create(&log)?;
    let program = program.canonicalize().with_context(|| program.display().to_string())?;
    // It keeps notes where it runs.
    let status = Command::new(&program)
        .current_dir(folder)
        .args(["--no-color", "--config-file"])
        .arg(&config)
        .args(["run", "--max-time", &SECONDS.to_string(), "--seed", &(seed % 1_000_000_000).to_string()])
        .args(["--checks", CHECKS, &format!("http://{people}/api/v1/openapi.json")])
        .stdout(output.try_clone()?)
        .stderr(output)
        .status()
        .with_context(|| program.display().to_string())?;
    let said = std::fs::read_to_string(&log)?;
    ensure!(said.contains("Test cases"), "schemathesis has tried nothing: {said}");
    Ok((!status.success()).then(|| format!("schemathesis: {status}:\n{said}")))
}
