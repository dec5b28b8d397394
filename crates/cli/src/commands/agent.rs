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

fn new_key(state: &StateArgs) -> anyhow::Result<Exit> {
    let state = state.open()?;
    let _lock = state.lock()?;
    let aside = state.new_key()?;
    let aside =
        aside.map_or_else(String::new, |path| format!("; what was the earlier node's is in {}", path.display()));
    output::note(&format!("this machine is another node now: enrol it ('punctual agent enrol'){aside}"));
    Ok(Exit::Holds)
}
