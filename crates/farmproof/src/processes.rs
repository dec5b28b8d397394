//! The hub and the nodes as processes. All of them end with this one.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::Context as _;
use farm::stream::ContentHash;

/// The word by which this program is the hub itself.
pub(crate) const HUB_COMMAND: &str = "hub";

/// Which program is the hub.
#[derive(Clone, Debug)]
pub(crate) struct HubProgram {
    path: Option<PathBuf>,
    own: PathBuf,
}

impl HubProgram {
    /// The program that is named, else this one, which has the hub's library in it.
    pub(crate) fn new(path: Option<PathBuf>) -> anyhow::Result<Self> {
        Ok(Self { path, own: own_program()? })
    }

    /// A command of the hub's in its folder.
    pub(crate) fn command(&self, folder: &Path) -> Command {
        let mut command = match &self.path {
            Some(path) => Command::new(path),
            None => {
                let mut own = Command::new(&self.own);
                own.arg(HUB_COMMAND);
                own
            }
        };
        command.arg("--folder").arg(folder);
        command
    }
}

/// This program's own file.
pub(crate) fn own_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("this program's own file is not known")
}

/// A process that is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Bound(Child);

impl Bound {
    /// Starts one; what it says to people goes to the end of a file.
    pub(crate) fn start(command: &mut Command, log: &Path) -> anyhow::Result<Self> {
        let log = File::options().append(true).create(true).open(log).with_context(|| log.display().to_string())?;
        let started = kernel::process::spawn_bound(command.stdin(Stdio::null()).stderr(log));
        started.map(Self).with_context(|| format!("{} cannot be started", command.get_program().to_string_lossy()))
    }

    pub(crate) fn id(&self) -> u32 {
        self.0.id()
    }

    /// Ends it without any warning (SIGKILL), and waits until it is gone. Nothing happens to one that has ended.
    pub(crate) fn kill(&mut self) {
        // It fails for one that was waited for already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }

    /// How it ended; `None` as long as it runs.
    pub(crate) fn ended(&mut self) -> Option<std::process::ExitStatus> {
        self.0.try_wait().ok().flatten()
    }
}

impl Drop for Bound {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A hub that starts, and says where it serves once it does.
#[derive(Debug)]
pub(crate) struct StartingHub {
    process: Bound,
    printed: BufReader<ChildStdout>,
    log: PathBuf,
}

/// A hub that serves.
#[derive(Debug)]
pub(crate) struct HubProcess {
    pub(crate) process: Bound,
    /// Where agents connect.
    pub(crate) agents: SocketAddr,
    /// SHA-256 of the certificate there.
    pub(crate) fingerprint: [u8; 32],
    /// Where people connect.
    pub(crate) people: SocketAddr,
    /// Nobody reads it any more; a program whose output nobody holds open would end.
    _printed: BufReader<ChildStdout>,
}

impl StartingHub {
    /// Starts one: at the addresses that it had before, or at any. Everybody may read its pages.
    pub(crate) fn start(
        program: &HubProgram,
        folder: &Path,
        log: &Path,
        at: Option<(SocketAddr, SocketAddr)>,
    ) -> anyhow::Result<Self> {
        let text =
            |address: Option<SocketAddr>| address.map_or("127.0.0.1:0".to_owned(), |address| address.to_string());
        let mut command = program.command(folder);
        command.args([
            "serve",
            "--no-own-machine",
            "--public",
            "--agents",
            &text(at.map(|at| at.0)),
            "--people",
            &text(at.map(|at| at.1)),
        ]);
        let mut process = Bound::start(command.stdout(Stdio::piped()), log)?;
        let printed = process.0.stdout.take().context("what the hub prints cannot be read")?;
        Ok(Self { process, printed: BufReader::new(printed), log: log.to_owned() })
    }

    /// Kills it before it serves, or just when it does.
    pub(crate) fn kill(mut self) {
        self.process.kill();
    }

    /// Waits until it serves.
    pub(crate) fn ready(mut self) -> anyhow::Result<HubProcess> {
        let mut line = |name: &str| {
            let mut line = String::new();
            self.printed.read_line(&mut line).context("what the hub prints cannot be read")?;
            let rest = line.strip_prefix(name).map(|rest| rest.trim().to_owned());
            rest.with_context(|| format!("the hub did not start; {} says why", self.log.display()))
        };
        let (agents, people) = (line("agents")?, line("people")?);
        let words = agents.split_once(" (certificate ").and_then(|(at, rest)| Some((at, rest.strip_suffix(')')?)));
        let (agents, certificate) = words.context("the hub says nothing of its certificate")?;
        let fingerprint = certificate.parse::<ContentHash>().context("the certificate's fingerprint is none")?.0;
        let agents = agents.parse().context("the hub's address is none")?;
        let people = people.trim_start_matches("http://").trim_end_matches('/');
        let people = people.parse().context("the hub's address is none")?;
        Ok(HubProcess { process: self.process, agents, fingerprint, people, _printed: self.printed })
    }
}
