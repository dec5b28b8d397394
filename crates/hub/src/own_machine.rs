//! The hub's own machine is its first node: where the program stands beside the hub's, a hub that a person starts has it monitor this
//! machine, as long as the hub serves.

use std::fs::OpenOptions;
use std::io::Write as _;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context as _;
use farm::Token;
use store::{By, NewToken, Quotas, SecretHash, Sqlite, Store as _};

use crate::clock::now_wall_ns;
use crate::folder::Folder;
use crate::keys::{Keys, new_secret};
use crate::programs;

/// The folder of this machine's agent, in the hub's folder.
const OWN_MACHINE: &str = "own-machine";
/// How long the agent may take to bring what it measured to the disk and to the hub when it ends.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// The agent of this machine, until it is dropped.
#[derive(Debug)]
pub(crate) struct OwnMachine(Child);

impl Drop for OwnMachine {
    fn drop(&mut self) {
        let child = &mut self.0;
        let _ = kernel::process::signal(child.id(), kernel::process::Signal::Terminate);
        let until = std::time::Instant::now() + LAST_WORDS;
        while matches!(child.try_wait(), Ok(None)) && std::time::Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
        // One that has ended by then is only waited for.
        let _ = child.kill();
        let _ = child.wait();
    }
}

/// Whether this machine was a node of the hub's before.
pub(crate) fn was_node(folder: &Folder) -> bool {
    folder.join(OWN_MACHINE).exists()
}

/// Where the agent says what it does.
pub(crate) fn log(folder: &Folder) -> PathBuf {
    folder.join(OWN_MACHINE).join("agent.log")
}

/// The program beside the hub's own.
pub(crate) fn program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?.parent()?.join("punctual");
    program.is_file().then_some(program)
}

/// Enrols this machine, where that was not done before, and starts its agent. `None` where an agent works here already.
///
/// # Errors
/// Where the program has no agent, or it cannot be enrolled or started.
pub(crate) fn start(program: &Path, folder: &Folder, agents: SocketAddr) -> anyhow::Result<Option<OwnMachine>> {
    // What it hands to other machines; one that needs libraries is for this machine alone.
    let _ = programs::add(folder, program);
    if is_monitored(program) {
        return Ok(None);
    }
    let state = folder.below(OWN_MACHINE)?;
    let agent = |word: &str| {
        let mut command = Command::new(program);
        command.args(["agent", word]);
        command
    };
    if !state.join("enrolment.json").exists() {
        let secret = new_secret()?;
        let by = By { who: "the hub itself".to_owned(), at_wall_ns: now_wall_ns() };
        let mut store = Sqlite::open(&folder.store(), Quotas::default(), now_wall_ns())?;
        let made = store.add_token(SecretHash::of(secret.bytes()), &NewToken::default(), &by)?;
        let token = Token::new(Keys::load_or_make(folder)?.agents.fingerprint(), secret).reveal();
        let enrolled = enrol(agent("enrol").arg(reachable(agents).to_string()).arg("--state").arg(&state), &token);
        if let Err(error) = enrolled {
            // The next start makes another one.
            store.end_token(made, &by)?;
            return Err(error.context(program.display().to_string()));
        }
    }
    let log = log(folder);
    let opened = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&log);
    let mut run = agent("run");
    run.arg("--state").arg(&state).stdin(Stdio::null()).stdout(Stdio::null());
    run.stderr(opened.with_context(|| log.display().to_string())?);
    let child = kernel::process::spawn_bound(&mut run).with_context(|| program.display().to_string())?;
    Ok(Some(OwnMachine(child)))
}

/// Gives a token to the program that enrols by it.
fn enrol(command: &mut Command, token: &str) -> anyhow::Result<()> {
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
    // One that ends before it reads says itself why.
    let given = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(token.as_bytes()));
    let ended = child.wait_with_output()?;
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    anyhow::ensure!(ended.status.success(), "{}", units::printable::line(said.trim()));
    given.context("it has not read the token")
}

/// Where this machine itself finds a port that may be open at all of its addresses.
const fn reachable(port: SocketAddr) -> SocketAddr {
    match port.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port.port()),
        IpAddr::V6(ip) if ip.is_unspecified() => SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), port.port()),
        _ => port,
    }
}

/// Whether an agent works on this machine already, as its service does.
fn is_monitored(program: &Path) -> bool {
    let asked = Command::new(program).args(["agent", "status", "--json"]).stderr(Stdio::null()).output();
    let said = asked.ok().and_then(|said| serde_json::from_slice::<serde_json::Value>(&said.stdout).ok());
    said.is_some_and(|said| said["is_running"] == true)
}
