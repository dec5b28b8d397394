//! The keeper: the process that holds a lab's guests and serves their ports to clients.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::network::Network;
use super::place::Lab;
use super::{clock_rate, control, qemu};
use crate::console::end_of_console;
use crate::guest::protocol::{Frame, Hello, Kind, is_time_limit};
use crate::prepare::PreparedNode;
use crate::scenario::Segment;
use crate::tool::{self, ToolError};

/// The hidden command by which this program is a lab's keeper.
pub const KEEPER_COMMAND: &str = "__lab-keeper";

/// How long a guest may take from power to its agent's first word.
const BOOT_PATIENCE: Duration = Duration::from_secs(90);
/// How long a client may take to say what it wants.
const ASK_PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at what may have ended.
const PERIOD: Duration = Duration::from_millis(50);

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

/// One guest as the keeper holds it.
struct Guest {
    name: String,
    child: Child,
    port: UnixStream,
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
            let mut children: Vec<Child> =
                guests.into_iter().map(|guest| serve(&lab, guest)).collect::<Result<_, _>>()?;
            answer(&Answer::Up(hellos));
            while !stop.load(Ordering::Acquire) && children.iter_mut().any(|child| matches!(child.try_wait(), Ok(None)))
            {
                thread::sleep(PERIOD);
            }
            children.iter_mut().for_each(end);
            // Before its folder goes.
            network.end();
            // A folder that cannot be removed is cleared by the next lab of that name.
            let _ = fs::remove_dir_all(&lab.folder);
        }
        // Its files stay, for whoever looks for the reason; the next lab of that name clears them.
        Err(error) => {
            network.end();
            answer(&Answer::Failed(error.to_string()));
        }
    }
    Ok(())
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

fn end(child: &mut Child) {
    let _ = child.kill();
    let _ = child.wait();
}

/// Starts all guests, then waits for each.
fn bring_up(
    lab: &Lab,
    nodes: &[PreparedNode],
    network: &Network,
    stop: &AtomicBool,
) -> Result<(Vec<Guest>, Vec<Hello>), KeeperError> {
    let has_rate = nodes.iter().any(|prepared| prepared.node.frequency_offset_ppm.is_some());
    let counter_hz = if has_rate { Some(clock_rate::host_counter_hz()?) } else { None };
    let mut children: Vec<Child> = Vec::new();
    for prepared in nodes {
        let mut command = qemu::command(prepared, &lab.folder, counter_hz);
        command.args(network.arguments(&prepared.node, &prepared.interfaces));
        let log = fs::File::create(lab.folder.join(format!("{}.qemu", prepared.node.name)))?;
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        match kernel::process::spawn_bound(&mut command) {
            Ok(child) => children.push(child),
            Err(error) => {
                children.iter_mut().for_each(end);
                return Err(tool::not_started(&command.get_program().to_string_lossy(), error).into());
            }
        }
    }
    let began = Instant::now();
    let mut up = Vec::new();
    for (child, prepared) in children.iter_mut().zip(nodes) {
        match first_word(lab, &prepared.node.name, child, began, stop) {
            Ok(found) => up.push(found),
            Err(why) => {
                let why = format!("node {}: {why}", prepared.node.name);
                children.iter_mut().for_each(end);
                return Err(KeeperError::Guest(why));
            }
        }
    }
    let (ports, hellos): (Vec<UnixStream>, Vec<Hello>) = up.into_iter().unzip();
    let guests = children
        .into_iter()
        .zip(ports)
        .zip(nodes)
        .map(|((child, port), prepared)| Guest { name: prepared.node.name.clone(), child, port })
        .collect();
    Ok((guests, hellos))
}

/// Waits until a guest's agent answers.
fn first_word(
    lab: &Lab,
    name: &str,
    child: &mut Child,
    began: Instant,
    stop: &AtomicBool,
) -> Result<(UnixStream, Hello), String> {
    let path = lab.folder.join(format!("{name}.port"));
    let mut port: Option<UnixStream> = None;
    loop {
        if stop.load(Ordering::Acquire) {
            return Err("stopped before it was up".to_owned());
        }
        if let Ok(Some(status)) = child.try_wait() {
            let said = fs::read_to_string(lab.folder.join(format!("{name}.qemu"))).unwrap_or_default();
            return Err(format!("QEMU ended ({status}){}{}", last_words(&said), console(lab, name)));
        }
        if began.elapsed() > BOOT_PATIENCE {
            return Err(format!("no sign of life within {} s{}", BOOT_PATIENCE.as_secs(), console(lab, name)));
        }
        match &mut port {
            None => match UnixStream::connect(&path) {
                Ok(mut connected) => {
                    // It waits in the port until the agent reads it.
                    let asked = Frame { kind: Kind::Hello, content: Vec::new() }.write(&mut connected);
                    asked.and_then(|()| connected.set_read_timeout(Some(PERIOD))).map_err(|error| error.to_string())?;
                    port = Some(connected);
                }
                // QEMU has not made it yet.
                Err(_) => thread::sleep(PERIOD),
            },
            Some(connected) => match Frame::read(connected) {
                Ok(Some(frame)) if frame.kind == Kind::Hello => {
                    let hello: Hello = frame.parse().map_err(|error| error.to_string())?;
                    connected.set_read_timeout(None).map_err(|error| error.to_string())?;
                    let connected = connected.try_clone().map_err(|error| error.to_string())?;
                    return Ok((connected, hello));
                }
                Ok(Some(_)) => {}
                Err(error) if is_time_limit(&error) => {}
                // Closed: QEMU is ending, which the next look at it tells.
                Ok(None) | Err(_) => thread::sleep(PERIOD),
            },
        }
    }
}

fn last_words(text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!(": {text}") }
}

/// The end of a guest's console.
fn console(lab: &Lab, name: &str) -> String {
    end_of_console(&lab.folder.join(format!("{name}.console")))
}

/// Serves a guest's port to one client at a time, on a socket of the keeper's own.
fn serve(lab: &Lab, guest: Guest) -> io::Result<Child> {
    let Guest { name, child, mut port } = guest;
    let listener = UnixListener::bind(lab.socket_path(&name))?;
    thread::Builder::new().name(format!("lab-{name}")).spawn(move || {
        for client in listener.incoming().flatten() {
            // The next client comes when this one's program has ended; a port that fails ends the service.
            if one_client(&mut port, &client).is_err() {
                // The client waits for a word that nobody will say.
                let _ = client.shutdown(std::net::Shutdown::Both);
                break;
            }
        }
    })?;
    Ok(child)
}

/// Hands frames through until the program has ended; a client that goes away ends its program.
fn one_client(port: &mut UnixStream, client: &UnixStream) -> io::Result<()> {
    let mut from_client = client.try_clone()?;
    // A client that asks for nothing must not hold the port.
    from_client.set_read_timeout(Some(ASK_PATIENCE))?;
    let run = match Frame::read(&mut from_client) {
        Ok(Some(frame)) if frame.kind == Kind::Run => frame,
        _ => return Ok(()),
    };
    from_client.set_read_timeout(None)?;
    let mut to_guest = port.try_clone()?;
    run.write(&mut to_guest)?;
    let ended = Arc::new(AtomicBool::new(false));
    let has_ended = Arc::clone(&ended);
    let reading = thread::Builder::new().name("lab-client".to_owned()).spawn(move || {
        while let Ok(Some(frame)) = Frame::read(&mut from_client) {
            if frame.write(&mut to_guest).is_err() {
                return;
            }
        }
        // Gone before its program: so shall that be. What a program left running on purpose stays.
        if !has_ended.load(Ordering::Acquire) {
            let _ = Frame { kind: Kind::Kill, content: Vec::new() }.write(&mut to_guest);
        }
    })?;
    let mut to_client = client.try_clone()?;
    while let Some(frame) = Frame::read(port)? {
        let is_last = frame.kind == Kind::Ended;
        if is_last {
            ended.store(true, Ordering::Release);
        }
        // The program of a client that is gone still has to be waited for.
        let _ = frame.write(&mut to_client);
        if is_last {
            // A client that is gone has shut it already.
            let _ = client.shutdown(std::net::Shutdown::Both);
            let _ = reading.join();
            return Ok(());
        }
    }
    Err(io::ErrorKind::UnexpectedEof.into())
}
