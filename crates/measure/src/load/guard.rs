//! The guard: a process of its own that starts a load and ends it when its standard input closes, however the
//! controller ended.
//!
//! It adopts orphans, so that no grandchild escapes. The controller speaks to it in one line of JSON ([`Orders`]);
//! it answers with one ([`Answer`]).

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kernel::process::Signal;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use super::spec::LoadSpec;
use super::tree;

/// Between two looks at children and bursts.
const PERIOD: Duration = Duration::from_millis(10);
/// How long programs may take to end in order.
const PATIENCE: Duration = Duration::from_secs(2);
/// After which the guard gives up on what even SIGKILL does not end (a process in uninterruptible sleep).
const LAST_PATIENCE: Duration = Duration::from_secs(5);

/// What the controller wants.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) spec: LoadSpec,
    pub(crate) cpus: CpuSet,
    /// Each program waits, stopped, for SIGCONT before it begins, runs in this process's folder, and says on standard error
    /// what it says.
    #[serde(default)]
    pub(crate) held: bool,
}

/// What the guard says once it has tried.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// All programs run.
    Started,
    /// One could not be started.
    Failed { program: String, error: String, missing: bool },
    /// A program ended by itself while the load should run.
    EndedEarly { program: String, how: String },
}

/// Runs the guard; returns when the load has ended and nothing of it is left.
///
/// # Errors
/// Where its own standard input or output fails at the start.
pub fn guard() -> io::Result<()> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    let orders: Orders = serde_json::from_str(&line).map_err(io::Error::other)?;
    // Away from the terminal: Ctrl-C is for the controller, which then ends this process in order.
    kernel::process::start_session();
    kernel::process::adopt_orphans();
    let scratch = Scratch::make();
    // A load that may run anywhere is better than none; the record tells on which CPUs it was wanted and which were busy.
    let _ = kernel::sched::set_affinity(0, &orders.cpus);
    let mut children = Vec::new();
    for command in &orders.spec.command {
        let started = if orders.held {
            start_held(&command.program, &command.arguments)
        } else {
            start(&command.program, &command.arguments, scratch.path())
        };
        match started {
            Ok(child) => children.push((command.program.clone(), child)),
            Err(error) => {
                answer(&Answer::Failed {
                    program: command.program.clone(),
                    error: error.to_string(),
                    missing: error.kind() == io::ErrorKind::NotFound,
                });
                end_all(&mut children);
                return Ok(());
            }
        }
    }
    answer(&Answer::Started);
    watch(&orders, &mut children);
    end_all(&mut children);
    Ok(())
}

fn answer(answer: &Answer) {
    // A controller that is gone needs no answer; its closed pipe is noticed in `watch`.
    if let Ok(text) = serde_json::to_string(answer) {
        let _ = writeln!(io::stdout().lock(), "{text}");
    }
}

fn start(program: &str, arguments: &[String], scratch: &Path) -> io::Result<Child> {
    let arguments = arguments.iter().map(|argument| argument.replace("{scratch}", &scratch.to_string_lossy()));
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).current_dir(scratch);
    kernel::process::spawn_bound(&mut command)
}

/// A program that stops before it begins, for somebody to get ready to look at it. The shell finds out that it is
/// missing, and says so by its exit status.
fn start_held(program: &str, arguments: &[String]) -> io::Result<Child> {
    let mut command = Command::new("sh");
    command.args(["-c", "kill -STOP $$; exec \"$@\"", "sh", program]).args(arguments);
    command.stdin(Stdio::null()).stdout(io::stderr()).stderr(Stdio::inherit());
    kernel::process::spawn_bound(&mut command)
}

/// Until the controller closes the pipe: runs the bursts and notices programs that end by themselves.
fn watch(orders: &Orders, children: &mut [(String, Child)]) {
    let closed = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&closed);
    let waiting = std::thread::Builder::new().name("guard-pipe".to_owned()).spawn(move || {
        let mut rest = Vec::new();
        // End of file and errors alike mean that nobody wants the load any more.
        let _ = io::stdin().lock().read_to_end(&mut rest);
        seen.store(true, Ordering::Release);
    });
    if waiting.is_err() {
        // Without the thread nobody would notice the controller's end.
        return;
    }
    let began = Instant::now();
    let mut told = BTreeSet::new();
    let mut running = true;
    while !closed.load(Ordering::Acquire) {
        for (index, (program, child)) in children.iter_mut().enumerate() {
            if let Ok(Some(status)) = child.try_wait() {
                if told.insert(index) {
                    let how = match (status.code(), status.signal()) {
                        (Some(code), _) => format!("exit status {code}"),
                        (_, Some(signal)) => format!("signal {signal}"),
                        _ => "unknown status".to_owned(),
                    };
                    answer(&Answer::EndedEarly { program: program.clone(), how });
                }
            }
        }
        if let Some(bursts) = &orders.spec.bursts {
            let turn = bursts.on.to_std() + bursts.off.to_std();
            let into_turn =
                Duration::from_nanos(u64::try_from(began.elapsed().as_nanos() % turn.as_nanos().max(1)).unwrap_or(0));
            let wanted = into_turn < bursts.on.to_std();
            if wanted != running {
                running = wanted;
                signal_all(if running { Signal::Continue } else { Signal::Stop });
            }
        }
        std::thread::sleep(PERIOD);
    }
}

fn signal_all(signal: Signal) {
    for pid in tree::descendants(std::process::id()) {
        // One that has just ended needs no signal.
        let _ = kernel::process::signal(pid, signal);
    }
}

/// Ends every descendant: in order first, then for certain.
fn end_all(children: &mut [(String, Child)]) {
    let began = Instant::now();
    signal_all(Signal::Continue);
    signal_all(Signal::Terminate);
    loop {
        for (_, child) in children.iter_mut() {
            let _ = child.try_wait();
        }
        kernel::process::reap_orphans();
        if tree::descendants(std::process::id()).is_empty() || began.elapsed() > LAST_PATIENCE {
            return;
        }
        if began.elapsed() > PATIENCE {
            signal_all(Signal::Kill);
        }
        std::thread::sleep(PERIOD);
    }
}

/// A folder for the load's files, gone with it.
struct Scratch(PathBuf);

impl Scratch {
    fn make() -> Self {
        let path = std::env::temp_dir().join(format!("punctual-load-{}", std::process::id()));
        // A load that needs it will say so itself.
        let _ = fs::create_dir_all(&path);
        Self(path)
    }

    fn path(&self) -> &Path {
        if self.0.is_dir() { &self.0 } else { Path::new("/") }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
