//! `punctual agent`: monitors this machine without an end, and sends what was measured to a hub.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use ::agent::{Program, STATE_FOLDER, Settings, State, StateError, Status};
use anyhow::Context as _;
use farm::Token;
use run::Stop;
use terminal::output;

use crate::exit::Exit;
use crate::session;

/// The most bytes of a token with what stands around it.
const MOST_TOKEN_BYTES: u64 = 4_096;

/// Monitor this machine without an end, and send every interval's worst case to a hub
///
/// One thread a CPU measures how late it is woken; every five minutes the maximum of each CPU goes to the disk, and from there to the
/// hub. What is measured stands in a file of this machine's own (/etc/punctual/agent.toml), which the hub never writes.
#[derive(clap::Args)]
pub(crate) struct AgentArgs {
    #[command(subcommand)]
    command: AgentCommand,
}

/// Where the agent keeps its own.
#[derive(clap::Args)]
struct StateArgs {
    /// The folder with the node's key, its enrolment and what is not sent yet
    #[arg(long, value_name = "DIR", default_value = STATE_FOLDER)]
    state: PathBuf,
}

impl StateArgs {
    fn open(&self) -> anyhow::Result<State> {
        Ok(State::open(&self.state)?)
    }
}

#[derive(clap::Subcommand)]
enum AgentCommand {
    /// Enrol this machine at a hub, with the token that 'punctual-hub enrol' printed, on stdin
    Enrol {
        /// Addresses of the hub: HOST[:PORT]
        #[arg(required = true, value_name = "HOST[:PORT]")]
        hub: Vec<String>,
        #[command(flatten)]
        state: StateArgs,
    },
    /// Monitor until SIGTERM or Ctrl-C
    Run {
        /// What is measured (TOML) [default: /etc/punctual/agent.toml; without it every CPU that is not isolated, each 1ms]
        #[arg(long, value_name = "FILE")]
        config: Option<PathBuf>,
        #[command(flatten)]
        state: StateArgs,
    },
    /// Say what the agent does, and how much of it the hub has
    Status {
        /// Print it as JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        state: StateArgs,
    },
    /// Install this program with a systemd unit that monitors from now on and after each boot; as root, once the machine is enrolled
    Install {
        /// Where the program and the unit go
        #[arg(long, value_name = "DIR", default_value = "/usr/local")]
        prefix: PathBuf,
        #[command(flatten)]
        state: StateArgs,
    },
    /// Make this machine another node: a new key, and no enrolment; for a copy of a disk
    NewKey {
        #[command(flatten)]
        state: StateArgs,
    },
}

impl AgentArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            AgentCommand::Enrol { hub, state } => enrol(&hub, &state),
            AgentCommand::Run { config, state } => monitor(config.as_deref(), &state),
            AgentCommand::Status { json, state } => status(json, &state),
            AgentCommand::Install { prefix, state } => install(&prefix, &state),
            AgentCommand::NewKey { state } => new_key(&state),
        }
    }
}

fn enrol(hub: &[String], state: &StateArgs) -> anyhow::Result<Exit> {
    let state = state.open()?;
    let mut text = String::new();
    std::io::stdin().take(MOST_TOKEN_BYTES).read_to_string(&mut text).context("cannot read the token from stdin")?;
    let token: Token = text.parse().context("the token on stdin")?;
    let (.., host) = kernel::process::system_names();
    let enrolment = ::agent::enrol(&state, hub, &token, &host)?;
    output::note(&format!(
        "enrolled as '{}' at {}; start it: systemctl enable --now punctual-agent, or 'punctual agent run'",
        enrolment.name,
        enrolment.addresses.join(", ")
    ));
    Ok(Exit::Holds)
}

fn monitor(config: Option<&Path>, state: &StateArgs) -> anyhow::Result<Exit> {
    let settings = Settings::read(config)?;
    let state = state.open()?;
    let own_program = session::own_program()?;
    let stop = Stop::on_signals().context("cannot handle signals")?;
    let program = Program { own_program, stop: &stop, note: &output::note };
    ::agent::monitor(state, &settings, &program)?;
    Ok(Exit::Holds)
}

fn status(json: bool, state: &StateArgs) -> anyhow::Result<Exit> {
    let state = state.open()?;
    let enrolment = state.enrolment()?;
    let status = state.status()?;
    // The lock is held as long as an agent runs.
    let is_running = matches!(state.lock(), Err(StateError::InUse(_)));
    if json {
        let hub = enrolment.as_ref().map(|enrolment| [&enrolment.announced[..], &enrolment.addresses].concat());
        let name = enrolment.as_ref().map(|enrolment| &enrolment.name);
        let all = serde_json::json!({"is_running": is_running, "hub": hub, "name": name, "last": status});
        output::data(&(serde_json::to_string_pretty(&all)? + "\n"));
    } else {
        let hub = enrolment.map_or_else(
            || "enrolled nowhere".to_owned(),
            |enrolment| {
                let addresses = [&enrolment.announced[..], &enrolment.addresses].concat();
                format!("enrolled as '{}' at {}", enrolment.name, addresses.join(", "))
            },
        );
        output::data(&in_words(&hub, is_running, status.as_ref()));
    }
    Ok(Exit::Holds)
}

fn in_words(hub: &str, is_running: bool, status: Option<&Status>) -> String {
    let mut lines = vec![hub.to_owned()];
    let Some(status) = status else {
        lines.push("no agent has run here yet".to_owned());
        return lines.join("\n") + "\n";
    };
    lines.push(if is_running {
        format!("the agent runs (process {}): {}", status.pid, status.doing)
    } else {
        format!("no agent runs; when the last one said something it was: {}", status.doing)
    });
    if let Some(stream) = status.stream {
        lines.push(format!("stream {stream}, acknowledged by the hub up to entry {}", status.acknowledged));
    }
    lines.extend(status.explaining.iter().map(|explaining| format!("causes: {}", explaining.in_words())));
    lines.push(format!("{} entries are kept, {} of them wait for the hub", status.entries, status.waiting));
    let sender = &status.sender;
    if is_running {
        let how = if sender.is_connected { "the agent hears" } else { "the agent is not connected, and does not hear" };
        lines.push(format!("{how} what the hub tells"));
    }
    lines.push(match &sender.error {
        Some(error) => format!("sending: {error}"),
        None => format!("sending: {} batches acknowledged since the start", sender.batches),
    });
    lines.extend(status.disk_error.iter().map(|error| format!("the disk: {error}")));
    lines.extend(status.set_aside.iter().map(|path| format!("a damaged segment was set aside: {path}")));
    lines.join("\n") + "\n"
}

/// The unit as packages have it.
const UNIT: &str = include_str!("../../../../packaging/punctual-agent.service");
/// The name under which systemd knows the unit.
const UNIT_NAME: &str = "punctual-agent.service";

/// The unit for a program that lies elsewhere than a package puts it.
fn unit_of(program: &Path) -> String {
    UNIT.replace("ExecStart=/usr/bin/punctual ", &format!("ExecStart={} ", program.display()))
}

fn install(prefix: &Path, state: &StateArgs) -> anyhow::Result<Exit> {
    anyhow::ensure!(
        prefix.is_absolute(),
        "--prefix {}: an absolute path is needed, such as /usr/local",
        prefix.display()
    );
    let blank = |text: &str| text.contains(char::is_whitespace) || text.contains(['%', '$', '"', '\\']);
    anyhow::ensure!(
        prefix.to_str().is_some_and(|text| !blank(text)),
        "--prefix {}: systemd would read its blanks and signs as something else; name another folder",
        prefix.display()
    );
    anyhow::ensure!(
        state.state == Path::new(STATE_FOLDER),
        "the unit's agent keeps its own in {STATE_FOLDER}: enrol this machine without --state"
    );
    state.open()?.enrolment()?.ok_or(StateError::NotEnrolled)?;
    let own = session::own_program()?;
    let program = prefix.join("bin/punctual");
    let unit = prefix.join("lib/systemd/system").join(UNIT_NAME);
    if !program.exists() || std::fs::canonicalize(&program)? != std::fs::canonicalize(&own)? {
        let bytes = std::fs::read(&own).with_context(|| own.display().to_string())?;
        put(&program, 0o755, &bytes)?;
    }
    put(&unit, 0o644, unit_of(&program).as_bytes())?;
    output::note(&format!("installed {} and {}", program.display(), unit.display()));
    if !Path::new("/run/systemd/system").is_dir() {
        output::note(&format!("no systemd runs here: have '{} agent run' started at each boot", program.display()));
        return Ok(Exit::Holds);
    }
    // One that runs is replaced by the program that was put there.
    for words in [&["daemon-reload"][..], &["enable", UNIT_NAME], &["restart", UNIT_NAME]] {
        let ended = std::process::Command::new("systemctl").args(words).status().context("systemctl")?;
        anyhow::ensure!(
            ended.success(),
            "systemctl {} failed: 'systemctl status punctual-agent' says why",
            words.join(" ")
        );
    }
    output::note("the agent runs: 'punctual agent status' says what it does");
    Ok(Exit::Holds)
}

/// Puts a file into its place, whole; the folder is made where it is missing.
fn put(path: &Path, mode: u32, bytes: &[u8]) -> anyhow::Result<()> {
    use std::io::Write as _;
    use std::os::unix::fs::PermissionsExt as _;
    let folder = path.parent().unwrap_or(Path::new("/"));
    let written = std::fs::create_dir_all(folder).and_then(|()| {
        kernel::whole_file::replace(path, &kernel::whole_file::unfinished(path), |file| {
            file.write_all(bytes)?;
            file.set_permissions(std::fs::Permissions::from_mode(mode))
        })
    });
    written.with_context(|| path.display().to_string())
}

fn new_key(state: &StateArgs) -> anyhow::Result<Exit> {
    let state = state.open()?;
    let _lock = state.lock()?;
    let aside = state.new_key()?;
    let aside =
        aside.map_or_else(String::new, |path| format!("; what was the earlier node's is in {}", path.display()));
    output::note(&format!("this machine is another node now: enrol it ('punctual agent enrol'){aside}"));
    Ok(Exit::Holds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unit_starts_the_program_where_it_was_put() {
        let unit = unit_of(Path::new("/opt/bin/punctual"));
        assert_eq!(
            unit.lines().filter(|line| line.starts_with("ExecStart=")).collect::<Vec<_>>(),
            ["ExecStart=/opt/bin/punctual agent run"]
        );
        assert_eq!(unit_of(Path::new("/usr/bin/punctual")), UNIT);
    }
}
