//! The agent: runs one program at a time for the lab and forwards its standard streams.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use crate::PORT_NAME;
use crate::init::TROUBLES_FILE;
use crate::protocol::{Ended, Frame, Hello, Kind, Run};

/// How long to wait for output after a program's end: children that outlive it may still write.
const LAST_OUTPUT: Duration = Duration::from_millis(200);

/// How long to wait for the port to appear, and how often to look for it.
const PORT_PATIENCE: Duration = Duration::from_secs(30);
const PORT_PERIOD: Duration = Duration::from_millis(20);

/// The writing end of the port, shared by the threads that forward streams.
type Port = Arc<Mutex<File>>;

/// Runs the agent until the machine stops.
///
/// # Errors
/// If there is no port, or it fails.
pub fn agent() -> io::Result<()> {
    let path = port_path()?;
    let mut from = OpenOptions::new().read(true).write(true).open(&path)?;
    let to: Port = Arc::new(Mutex::new(from.try_clone()?));
    let mut running: Option<Running> = None;
    loop {
        let Some(frame) = Frame::read(&mut from)? else {
            // End of file means that no client is connected on the host yet.
            thread::sleep(PORT_PERIOD);
            continue;
        };
        match frame.kind {
            Kind::Hello => send(&to, &Frame::json(Kind::Hello, &hello())?)?,
            Kind::Run => match frame.parse::<Run>().and_then(|run| Running::start(&run, &to)) {
                Ok(started) => running = Some(started),
                Err(error) => send(&to, &Frame::json(Kind::Ended, &Ended::NotStarted(error.to_string()))?)?,
            },
            Kind::Input => {
                if let Some(running) = &mut running {
                    running.input(&frame.content);
                }
            }
            Kind::Kill => {
                if let Some(running) = &running {
                    running.kill();
                }
            }
            Kind::Output | Kind::Error | Kind::Ended | Kind::Restart | Kind::Waiting => {}
        }
    }
}

fn hello() -> Hello {
    let (release, _, _, host_name) = kernel::process::system_names();
    let troubles = fs::read_to_string(TROUBLES_FILE).unwrap_or_default();
    let boot_id = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
    Hello { release, host_name, boot_id, troubles: troubles.lines().map(str::to_owned).collect() }
}

/// The device file of the port named [`PORT_NAME`], found by `/sys/class/virtio-ports/vport0p1/name`. The driver
/// receives the names from QEMU in messages that may arrive after this process has started.
fn port_path() -> io::Result<PathBuf> {
    let began = Instant::now();
    while began.elapsed() < PORT_PATIENCE {
        for entry in fs::read_dir("/sys/class/virtio-ports").into_iter().flatten().flatten() {
            let name = fs::read_to_string(entry.path().join("name")).unwrap_or_default();
            if name.trim() == PORT_NAME {
                return Ok(PathBuf::from("/dev").join(entry.file_name()));
            }
        }
        thread::sleep(PORT_PERIOD);
    }
    Err(io::Error::other(format!("this machine has no port named {PORT_NAME}")))
}

fn send(to: &Port, frame: &Frame) -> io::Result<()> {
    frame.write(&mut *to.lock().unwrap_or_else(PoisonError::into_inner))
}

/// The program that is running.
struct Running {
    pid: u32,
    input: Option<ChildStdin>,
}

impl Running {
    fn start(run: &Run, to: &Port) -> io::Result<Self> {
        let (program, arguments) = run.arguments.split_first().ok_or_else(|| io::Error::other("no program"))?;
        let mut child = Command::new(program)
            .args(arguments)
            .envs(&run.environment)
            .current_dir("/root")
            // Its own process group, so that it can be killed with all its children.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("{program}: {error}")))?;
        let running = Self { pid: child.id(), input: child.stdin.take() };
        let (done, all_done) = mpsc::channel();
        forward(child.stdout.take(), Kind::Output, to, done.clone())?;
        forward(child.stderr.take(), Kind::Error, to, done)?;
        let to = Arc::clone(to);
        thread::Builder::new().name("lab-wait".to_owned()).spawn(move || wait(child, &all_done, &to))?;
        Ok(running)
    }

    fn input(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            self.input = None;
        } else if let Some(input) = &mut self.input {
            // The program has closed its standard input: drop the rest.
            if input.write_all(bytes).is_err() {
                self.input = None;
            }
        }
    }

    fn kill(&self) {
        // An error means that the program has already ended.
        let _ = kernel::process::signal_group(self.pid, kernel::process::Signal::Kill);
    }
}

fn forward(from: Option<impl Read + Send + 'static>, kind: Kind, to: &Port, done: mpsc::Sender<()>) -> io::Result<()> {
    let Some(mut from) = from else { return Ok(()) };
    let to = Arc::clone(to);
    thread::Builder::new().name("lab-stream".to_owned()).spawn(move || {
        let mut bytes = [0; 16 * 1024];
        while let Ok(read @ 1..) = from.read(&mut bytes) {
            if send(&to, &Frame { kind, content: bytes[..read].to_vec() }).is_err() {
                break;
            }
        }
        // The receiver may have stopped waiting.
        let _ = done.send(());
    })?;
    Ok(())
}

fn wait(mut child: Child, all_done: &mpsc::Receiver<()>, to: &Port) {
    let status = child.wait();
    for _ in 0..2 {
        // Streams end with the program, unless a child that it left running holds them open.
        let _ = all_done.recv_timeout(LAST_OUTPUT);
    }
    let ended = match status.as_ref().map(|status: &ExitStatus| (status.code(), status.signal())) {
        Ok((Some(code), _)) => Ended::Code(code),
        Ok((None, signal)) => Ended::Signal(signal.unwrap_or(0)),
        Err(error) => Ended::NotStarted(error.to_string()),
    };
    if let Ok(frame) = Frame::json(Kind::Ended, &ended) {
        // If the lab is gone, nobody needs the answer.
        let _ = send(to, &frame);
    }
}
