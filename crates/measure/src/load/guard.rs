//! The guard: a process of its own that starts a load and ends it when its standard input closes, however the
//! controller ended.
//!
//! It adopts orphans, so that no grandchild escapes. The controller speaks to it in lines of JSON, first [`Orders`] and
//! then [`Word`]s; it answers with [`Answer`]s.

use std::collections::BTreeSet;
use std::io::{self, BufRead as _, Write as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, TryRecvError};
use std::time::{Duration, Instant};

use kernel::process::Signal;
use record::{LoadPart, LoadWindow};
use serde::{Deserialize, Serialize};
use units::CpuSet;

use super::part::{Resources, STRESS_NG};
use super::resources::{self, Scratch};
use super::running::RunningParts;
use super::said::Said;
use super::spec::LoadSpec;
use super::tree;
use super::turns::ShareTurns;

/// Between two looks at children and bursts.
const PERIOD: Duration = Duration::from_millis(10);
/// How long programs may take to end in order.
const PATIENCE: Duration = Duration::from_secs(2);
/// After which the guard gives up on what even SIGKILL does not end (a process in uninterruptible sleep).
const LAST_PATIENCE: Duration = Duration::from_secs(5);
/// Between two looks at the memory that is left.
const MEMORY_PERIOD: Duration = Duration::from_millis(100);
/// A load of parts ends where less than this part of what was available at its start is left.
const LEAST_MEMORY_LEFT: u64 = 8;

/// What the controller wants.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Orders {
    pub(crate) spec: LoadSpec,
    pub(crate) cpus: CpuSet,
    /// Each program waits, stopped, for SIGCONT before it begins, runs in this process's folder, and says on standard error
    /// what it says.
    #[serde(default)]
    pub(crate) held: bool,
    /// Parts that are not started.
    #[serde(default)]
    pub(crate) without: Vec<String>,
}

/// What the controller says while the load runs. A closed pipe ends the load too.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Word {
    /// The run begins now.
    Begin {
        /// The length of the run (ns), where the parts shall have turns in it.
        rotate_over_ns: Option<u64>,
    },
    /// The run has ended: count, end everything, and say what there was.
    End,
}

/// What the guard says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Answer {
    /// All programs run that can.
    Started {
        /// The parts of the load, those that do not run too.
        parts: Vec<LoadPart>,
    },
    /// The load was ended in order.
    Ended {
        /// What the parts did.
        parts: Vec<LoadPart>,
        /// Which parts ran when.
        windows: Vec<LoadWindow>,
    },
    /// One could not be started.
    Failed { program: String, error: String, missing: bool },
    /// A program ended by itself while the load should run.
    EndedEarly {
        program: String,
        /// `exit status 1`, `signal 9`, or a reason in words.
        how: String,
        /// Its exit status, where it has one.
        #[serde(default)]
        status: Option<i32>,
        /// The last line that it wrote on standard error; empty if there is none.
        #[serde(default)]
        said: String,
    },
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
    let scratch = Scratch::make(!orders.spec.part.is_empty());
    // A load that may run anywhere is better than none; the record shows on which CPUs it was wanted and which were busy.
    let _ = kernel::sched::set_affinity(0, &orders.cpus);
    if orders.spec.part.is_empty() {
        guard_programs(&orders, &scratch);
    } else {
        guard_parts(&orders, &scratch);
    }
    Ok(())
}

fn guard_programs(orders: &Orders, scratch: &Scratch) {
    let mut children = Vec::new();
    // A user's own command runs where the user typed it, which is this process's folder: its relative paths hold there.
    let is_own = orders.spec.shell_command().is_some();
    for command in &orders.spec.command {
        let started = if orders.held {
            start_held(&command.program, &command.arguments)
        } else {
            start(&command.program, &command.arguments, scratch.path(), is_own.then_some(Path::new(".")))
        };
        match started {
            Ok(mut child) => {
                let said = Said::listen_to(&mut child);
                children.push((command.program.clone(), child, said));
            }
            Err(error) => {
                answer(&Answer::Failed {
                    program: command.program.clone(),
                    error: error.to_string(),
                    missing: error.kind() == io::ErrorKind::NotFound,
                });
                end_all();
                return;
            }
        }
    }
    answer(&Answer::Started { parts: Vec::new() });
    let asked = watch_programs(orders, &mut children);
    end_all();
    if asked == Asked::ToReport {
        answer(&Answer::Ended { parts: Vec::new(), windows: Vec::new() });
    }
}

fn guard_parts(orders: &Orders, scratch: &Scratch) {
    let failed = |program: &str, error: String, missing| {
        answer(&Answer::Failed { program: program.to_owned(), error, missing });
    };
    if !scratch.exists() {
        return failed(&orders.spec.name, "no folder for its files can be made".to_owned(), false);
    }
    let resources = Resources::read(&orders.cpus, scratch.path());
    let mut wanted = orders.spec.part.iter().filter(|part| !orders.without.contains(&part.name));
    if resources.stressors.is_none() && wanted.any(|part| !part.stressor.is_empty()) {
        return failed(STRESS_NG, "it is not installed".to_owned(), true);
    }
    let mut parts = RunningParts::start(&orders.spec.part, &orders.without, &resources, scratch.path());
    if parts.is_empty() {
        let why: Vec<String> = parts.reports().iter().map(describe_dropped).collect();
        return failed(&orders.spec.name, format!("none of its parts can run: {}", why.join("; ")), false);
    }
    answer(&Answer::Started { parts: parts.reports() });
    let asked = watch_parts(orders, &mut parts, resources.available_bytes);
    if asked == Asked::ToReport {
        parts.count();
    }
    end_all();
    if asked == Asked::ToReport {
        parts.add_operations(scratch.path());
        answer(&Answer::Ended { parts: parts.reports(), windows: parts.windows() });
    }
    // The control groups go with `parts`, now that nobody is in them.
}

fn describe_dropped(part: &LoadPart) -> String {
    match &part.dropped {
        Some(record::DroppedPart::Machine { why }) => format!("{}: {why}", part.name),
        Some(record::DroppedPart::Request) => format!("{}: left out on request", part.name),
        None => part.name.clone(),
    }
}

fn answer(answer: &Answer) {
    // A controller that is gone needs no answer; its closed pipe is noticed in `watch`.
    if let Ok(text) = serde_json::to_string(answer) {
        let _ = writeln!(io::stdout().lock(), "{text}");
    }
}

/// Starts a program, in the load's own folder where it gets no other.
fn start(program: &str, arguments: &[String], scratch: &Path, folder: Option<&Path>) -> io::Result<Child> {
    let arguments = arguments.iter().map(|argument| argument.replace("{scratch}", &scratch.to_string_lossy()));
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command.current_dir(folder.unwrap_or(scratch));
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

/// How a load came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Asked {
    /// The controller wants to hear what the load did.
    ToReport,
    /// Nobody wants the load any more.
    ToEnd,
}

/// The controller's words as they come; disconnected once its pipe is closed, or where nobody could notice that.
fn listen() -> mpsc::Receiver<Word> {
    let (sender, words) = mpsc::channel();
    let _ = std::thread::Builder::new().name("guard-pipe".to_owned()).spawn(move || {
        // End of file, errors and nonsense alike mean that nobody wants the load any more.
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            let Ok(word) = serde_json::from_str(&line) else { return };
            if sender.send(word).is_err() {
                return;
            }
        }
    });
    words
}

/// Notices programs that end by themselves; each is reported once.
#[derive(Default)]
struct EndedChildren(BTreeSet<u32>);

impl EndedChildren {
    fn look(&mut self, name: &str, child: &mut Child, said: &Said) {
        let Ok(Some(status)) = child.try_wait() else { return };
        if self.0.insert(child.id()) {
            let how = match (status.code(), status.signal()) {
                (Some(code), _) => format!("exit status {code}"),
                (_, Some(signal)) => format!("signal {signal}"),
                _ => "unknown status".to_owned(),
            };
            let (status, said) = (status.code(), said.last_line());
            answer(&Answer::EndedEarly { program: name.to_owned(), how, status, said });
        }
    }
}

/// Until the controller wants the end: runs the bursts and notices programs that end by themselves.
fn watch_programs(orders: &Orders, children: &mut [(String, Child, Said)]) -> Asked {
    let words = listen();
    let began = Instant::now();
    let mut ended = EndedChildren::default();
    let mut running = true;
    loop {
        match words.try_recv() {
            Ok(Word::End) => return Asked::ToReport,
            Err(TryRecvError::Disconnected) => return Asked::ToEnd,
            Ok(Word::Begin { .. }) | Err(TryRecvError::Empty) => {}
        }
        children.iter_mut().for_each(|(program, child, said)| ended.look(program, child, said));
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

/// Until the controller wants the end, or memory becomes short: lets the parts run in their turns, and notices those that
/// end by themselves; `available_bytes` is the memory that was available before they began.
fn watch_parts(orders: &Orders, parts: &mut RunningParts, available_bytes: u64) -> Asked {
    let words = listen();
    let began = Instant::now();
    let mut ended = EndedChildren::default();
    let mut share = orders.spec.share.map(|share| ShareTurns::new(share, u64::from(std::process::id())));
    let least_bytes = available_bytes / LEAST_MEMORY_LEFT;
    let mut looked_at = began;
    loop {
        match words.try_recv() {
            Ok(Word::Begin { rotate_over_ns }) => parts.begin(rotate_over_ns.map(Duration::from_nanos)),
            Ok(Word::End) => return Asked::ToReport,
            Err(TryRecvError::Disconnected) => return Asked::ToEnd,
            Err(TryRecvError::Empty) => {}
        }
        parts.children().for_each(|(name, child, said)| ended.look(&name, child, said));
        let shall_run = share.as_mut().is_none_or(|share| share.is_running(began.elapsed()));
        parts.take_turn(shall_run);
        if looked_at.elapsed() >= MEMORY_PERIOD {
            looked_at = Instant::now();
            let left = resources::available_bytes();
            if left < least_bytes {
                let how = format!("memory became short: {} are left", units::format::bytes(left));
                let program = format!("all of '{}'", orders.spec.name);
                answer(&Answer::EndedEarly { program, how, status: None, said: String::new() });
                return Asked::ToEnd;
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
fn end_all() {
    let began = Instant::now();
    // Stopped processes get the signal to end first, so that they end when they are continued instead of working on.
    signal_all(Signal::Terminate);
    signal_all(Signal::Continue);
    loop {
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
