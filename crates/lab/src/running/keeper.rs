//! The keeper: the process that holds a lab's guests and serves their ports to clients.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::Instant;

use serde::{Deserialize, Serialize};

use super::guest::Guest;
use super::network::Network;
use super::place::Lab;
use super::port::PERIOD;
use super::power::Power;
use super::{clock_rate, control, qemu};
use crate::guest::protocol::Hello;
use crate::prepare::{PreparedNode, System};
use crate::scenario::Segment;
use crate::tool::ToolError;

/// The hidden command that runs this program as a lab's keeper.
pub const KEEPER_COMMAND: &str = "__lab-keeper";

/// Why a lab did not come up.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The keeper could not be started or does not respond.
    #[error("the lab's keeper: {0}")]
    Keeper(#[from] io::Error),
    /// QEMU is missing or does not start.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A guest did not come up.
    #[error("{0}")]
    Guest(String),
}

/// What the keeper has to start.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    name: String,
    folder: PathBuf,
    nodes: Vec<PreparedNode>,
    #[serde(default)]
    segments: Vec<Segment>,
}

/// The keeper's single answer.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Up(Vec<Hello>),
    Failed(String),
}

/// A started keeper that has not yet been ordered to stay: dropping it ends the lab.
#[derive(Debug)]
pub struct Started {
    keeper: Child,
    /// The answer of each guest's agent, in the order of the nodes.
    pub hellos: Vec<Hello>,
}

impl Started {
    /// Lets the lab continue after this process has ended.
    ///
    /// # Errors
    /// If the keeper is gone.
    pub fn stay(mut self) -> io::Result<()> {
        match self.keeper.stdin.take() {
            Some(mut orders) => orders.write_all(b"stay\n"),
            None => Ok(()),
        }
    }

    /// Orders the lab to end and waits until it has ended.
    pub fn end(mut self) {
        // End of file on its standard input is the order to end.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Starts a keeper and waits until all guests are up. `program` is this program's own file.
///
/// # Errors
/// If a guest does not come up; nothing is left running then.
pub fn start(
    lab: &Lab,
    nodes: Vec<PreparedNode>,
    segments: Vec<Segment>,
    program: &Path,
) -> Result<Started, KeeperError> {
    let mut keeper = Command::new(program)
        .arg(KEEPER_COMMAND)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let orders = Orders { name: lab.name.clone(), folder: lab.folder.clone(), nodes, segments };
    let text = serde_json::to_string(&orders).map_err(io::Error::from)?;
    let mut stdin = keeper.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    writeln!(stdin, "{text}")?;
    keeper.stdin = Some(stdin);
    let answers = keeper.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let mut line = String::new();
    BufReader::new(answers).read_line(&mut line)?;
    match serde_json::from_str(&line) {
        Ok(Answer::Up(hellos)) => Ok(Started { keeper, hellos }),
        Ok(Answer::Failed(why)) => {
            let _ = keeper.wait();
            Err(KeeperError::Guest(why))
        }
        Err(_) => {
            let _ = keeper.wait();
            Err(KeeperError::Keeper(io::Error::other("it ended without an answer")))
        }
    }
}

/// Runs as a lab's keeper until it is ordered to end, or its last guest has ended.
///
/// # Errors
/// If its own standard input or output fails at the start.
pub fn keep() -> io::Result<()> {
    let mut line = String::new();
    let stdin = io::stdin();
    stdin.lock().read_line(&mut line)?;
    let Orders { name, folder, nodes, segments } = serde_json::from_str(&line)?;
    let lab = Lab { name, folder };
    // A separate session: Ctrl-C in the terminal is for the command. The command's end then ends this process in order.
    kernel::process::start_session();
    let stop = Arc::new(AtomicBool::new(false));
    kernel::signals::register(&stop, &Arc::new(AtomicBool::new(false)))?;
    let _held = lab.hold()?;
    watch_orders(&stop)?;
    // Before any guest, since guests send to their switch from the start.
    let network = match Network::start(segments, &lab.folder) {
        Ok(network) => Arc::new(network),
        Err(why) => {
            answer(&Answer::Failed(why));
            return Ok(());
        }
    };
    match bring_up(&lab, &nodes, &network, &stop) {
        Ok((guests, hellos)) => {
            // If a port cannot be served, this process ends together with its guests: the lab was never up.
            control::serve(&lab, Arc::clone(&network))?;
            let powers: Vec<Power> = guests.iter().map(Guest::power).collect();
            let at_work = Arc::new(AtomicU32::new(0));
            guests.into_iter().try_for_each(|guest| guest.serve(Arc::clone(&at_work)))?;
            answer(&Answer::Up(hellos));
            // A client whose machine has gone down still has to get the reason.
            let goes_on = || powers.iter().any(|power| power.ended().is_none()) || at_work.load(Ordering::Acquire) > 0;
            while !stop.load(Ordering::Acquire) && goes_on() {
                thread::sleep(PERIOD);
            }
            // Whether all guests ended without being switched off, even if the command has given up since because of
            // that.
            let went_down = powers.iter().all(|power| power.ended().is_some());
            powers.iter().for_each(Power::end);
            // Before the folder is removed.
            network.end();
            if went_down {
                keep_consoles(&lab);
            } else {
                clear(&lab);
            }
        }
        // The files stay, so that the reason can be found; the next lab of that name removes them. After an order to
        // stop nobody needs them.
        Err(error) => {
            network.end();
            if stop.load(Ordering::Acquire) {
                clear(&lab);
            }
            answer(&Answer::Failed(error.to_string()));
        }
    }
    Ok(())
}

fn clear(lab: &Lab) {
    // If this fails, the next lab of that name removes the folder.
    let _ = fs::remove_dir_all(&lab.folder);
}

/// Removes all files of a lab but the consoles, which show why its machines went down; later labs remove them.
fn keep_consoles(lab: &Lab) {
    for entry in fs::read_dir(&lab.folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "console") {
            let _ = fs::remove_file(path);
        }
    }
}

fn answer(answer: &Answer) {
    // If the command is gone, nobody needs the answer; the closed pipe is noticed elsewhere.
    if let Ok(text) = serde_json::to_string(answer) {
        let _ = writeln!(io::stdout().lock(), "{text}");
    }
}

/// Watches the command's pipe: "stay" lets the lab outlive the command; end of file without it ends the lab.
fn watch_orders(stop: &Arc<AtomicBool>) -> io::Result<()> {
    let stop = Arc::clone(stop);
    thread::Builder::new().name("lab-orders".to_owned()).spawn(move || {
        let mut rest = String::new();
        let _ = io::stdin().lock().read_to_string(&mut rest);
        if rest.trim() != "stay" {
            stop.store(true, Ordering::Release);
        }
    })?;
    Ok(())
}

/// Powers all guests on, then waits until each is up.
fn bring_up(
    lab: &Lab,
    nodes: &[PreparedNode],
    network: &Network,
    stop: &Arc<AtomicBool>,
) -> Result<(Vec<Guest>, Vec<Hello>), KeeperError> {
    let has_rate = nodes.iter().any(|prepared| prepared.node.frequency_offset_ppm.is_some());
    let counter_hz = if has_rate { Some(clock_rate::host_counter_hz()?) } else { None };
    let began = Instant::now();
    let mut guests: Vec<Guest> = Vec::new();
    let brought = (|| {
        for prepared in nodes {
            let mut command = qemu::command(prepared, &lab.folder, counter_hz);
            command.args(network.arguments(&prepared.node, &prepared.interfaces));
            let has_disk = matches!(prepared.system, System::Disk(_));
            guests.push(Guest::start(lab, &prepared.node.name, command, has_disk, stop)?);
        }
        let hello = |(guest, prepared): (&mut Guest, &PreparedNode)| {
            guest.first_hello(began).map_err(|why| KeeperError::Guest(format!("node {}: {why}", prepared.node.name)))
        };
        guests.iter_mut().zip(nodes).map(hello).collect()
    })();
    match brought {
        Ok(hellos) => Ok((guests, hellos)),
        Err(error) => {
            guests.iter().for_each(|guest| guest.power().end());
            Err(error)
        }
    }
}
