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

/// The hidden command by which this program is a lab's keeper.
pub const KEEPER_COMMAND: &str = "__lab-keeper";

/// Why a lab did not come up.
#[derive(Debug, thiserror::Error)]
pub enum KeeperError {
    /// The keeper could not be started or told.
    #[error("the lab's keeper: {0}")]
    Keeper(#[from] io::Error),
    /// QEMU is missing or does not start.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// A guest did not come up.
    #[error("{0}")]
    Guest(String),
}

/// What the keeper is told.
#[derive(Debug, Serialize, Deserialize)]
struct Orders {
    name: String,
    folder: PathBuf,
    nodes: Vec<PreparedNode>,
    #[serde(default)]
    segments: Vec<Segment>,
}

/// What the keeper answers, once.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Answer {
    Up(Vec<Hello>),
    Failed(String),
}

/// A keeper that was started and has not yet been told to stay: dropping it ends the lab.
#[derive(Debug)]
pub struct Started {
    keeper: Child,
    /// What each guest's agent said.
    pub hellos: Vec<Hello>,
}

impl Started {
    /// Lets the lab stay after this process.
    ///
    /// # Errors
    /// Where the keeper is gone.
    pub fn stay(mut self) -> io::Result<()> {
        match self.keeper.stdin.take() {
            Some(mut orders) => orders.write_all(b"stay\n"),
            None => Ok(()),
        }
    }

    /// Waits until the lab has ended, after having told it to.
    pub fn end(mut self) {
        // Its end of file is the order to end.
        drop(self.keeper.stdin.take());
        let _ = self.keeper.wait();
    }
}

/// Starts a keeper (`program` is this program's own file) and waits until all guests are up.
///
/// # Errors
/// Where one does not come up; nothing is left running then.
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
    let mut told = keeper.stdin.take().ok_or_else(|| io::Error::other("no pipe"))?;
    writeln!(told, "{text}")?;
    keeper.stdin = Some(told);
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
            Err(KeeperError::Keeper(io::Error::other("it ended without a word")))
        }
    }
}

/// Runs as a lab's keeper until it is told to end, or its last guest has ended.
///
/// # Errors
/// Where its own standard input or output fails at the start.
pub fn keep() -> io::Result<()> {
    let mut line = String::new();
    let stdin = io::stdin();
    stdin.lock().read_line(&mut line)?;
    let Orders { name, folder, nodes, segments } = serde_json::from_str(&line)?;
    let lab = Lab { name, folder };
    // Away from the terminal: Ctrl-C there is for the command, whose end then ends this process in order.
    kernel::process::start_session();
    let stop = Arc::new(AtomicBool::new(false));
    kernel::signals::register(&stop, &Arc::new(AtomicBool::new(false)))?;
    let _held = lab.hold()?;
    watch_orders(&stop)?;
    // Before any guest, since each sends to its switch from the start.
    let network = match Network::start(segments, &lab.folder) {
        Ok(network) => Arc::new(network),
        Err(why) => {
            answer(&Answer::Failed(why));
            return Ok(());
        }
    };
    match bring_up(&lab, &nodes, &network, &stop) {
        Ok((guests, hellos)) => {
            // Where a port cannot be served this process ends, and its guests with it: the lab was never up.
            control::serve(&lab, Arc::clone(&network))?;
            let powers: Vec<Power> = guests.iter().map(Guest::power).collect();
            let at_work = Arc::new(AtomicU32::new(0));
            guests.into_iter().try_for_each(|guest| guest.serve(Arc::clone(&at_work)))?;
            answer(&Answer::Up(hellos));
            // Whose machine has gone down has still to be told why.
            let goes_on = || powers.iter().any(|power| power.ended().is_none()) || at_work.load(Ordering::Acquire) > 0;
            while !stop.load(Ordering::Acquire) && goes_on() {
                thread::sleep(PERIOD);
            }
            // By themselves, even if the command has given up since for that very reason.
            let went_down = powers.iter().all(|power| power.ended().is_some());
            powers.iter().for_each(Power::end);
            // Before its folder goes.
            network.end();
            if went_down {
                keep_consoles(&lab);
            } else {
                clear(&lab);
            }
        }
        // Its files stay, for whoever looks for the reason; the next lab of that name clears them. Told to stop, nobody
        // does.
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
    // A folder that cannot be removed is cleared by the next lab of that name.
    let _ = fs::remove_dir_all(&lab.folder);
}

/// Leaves nothing of a lab but what its machines said, for whoever wants to know why they went down; later labs clear it.
fn keep_consoles(lab: &Lab) {
    for entry in fs::read_dir(&lab.folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_none_or(|extension| extension != "console") {
            let _ = fs::remove_file(path);
        }
    }
}

fn answer(answer: &Answer) {
    // A command that is gone needs no answer; that its pipe is closed is noticed elsewhere.
    if let Ok(text) = serde_json::to_string(answer) {
        let _ = writeln!(io::stdout().lock(), "{text}");
    }
}

/// The command's pipe: "stay" lets the lab outlive it, its end without that ends the lab.
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

/// Switches all guests on, then waits for each.
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
            guest.first_word(began).map_err(|why| KeeperError::Guest(format!("node {}: {why}", prepared.node.name)))
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
