//! The guard of an output: a process of its own that makes the output safe however this program ends or is stopped.
//!
//! A line that is released keeps or loses its level as its driver likes, and a killed process sets nothing. So the guard shares
//! the output's descriptor, knows until when it may be active and whether the acting thread runs, and outranks that. The acting thread
//! in turn switches nothing while nobody guards. A kernel that dies, and both processes killed or stopped at once (within 100 ms), are
//! not covered.

pub(crate) mod state;

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use kernel::gpio::OutputLine;
use kernel::parport::{OutputPin, PinBytes};
use kernel::process::Signal;
use kernel::sched::Policy;
use kernel::shared_words::SharedWords;
use kernel::wait::Readable;
use units::ClockId;

use self::state::GuardState;
use super::act::output::Output;
use crate::crew::now_ns;

/// The hidden command that this program starts itself with.
pub const GUARD_COMMAND: &str = "__output-guard";
/// Said once it watches, with what it could not have.
const READY: &str = "ready";
/// Between two looks: with the grace of an output that is late, far below 100 ms.
const PERIOD: Duration = Duration::from_millis(5);
/// How long a guard may take to end once nobody needs it.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long it may take until it watches: longer, and it gets no CPU.
const COMES_UP_WITHIN: Duration = Duration::from_secs(5);
/// How often it tries to make the output safe once its controller is gone, a period apart.
const LAST_TRIES: u32 = 20;
/// The highest real-time priority that there is.
const HIGHEST_PRIORITY: u32 = 99;
/// The priority of a guard of a thread that is not real-time.
const LEAST_PRIORITY: u32 = 1;

/// The guard of an output, as long as this lives.
#[derive(Debug)]
pub(crate) struct Guard {
    child: Child,
    /// Closed when this goes, however it goes: that is how the guard hears of it.
    said: Option<BufReader<ChildStdout>>,
    /// The guard goes on when this goes.
    is_left: bool,
    pub(crate) state: Arc<GuardState>,
    /// What the guard could not have, in words; empty if it has all.
    pub(crate) lacks: String,
}

impl Guard {
    /// Starts the guard of an output, which is safe; `None` for one that switches nothing.
    ///
    /// # Errors
    /// Where the guard does not come up: then nothing may be switched.
    pub(crate) fn of(output: &Output, priority: u32) -> io::Result<Option<Self>> {
        let (shared, pin) = match output {
            Output::Nothing => return Ok(None),
            Output::Line(line) => (line.share()?, None),
            Output::Pin(pin) => (pin.share()?, Some(pin.bytes())),
        };
        let (words, file) = SharedWords::make()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg(GUARD_COMMAND).arg(priority.to_string());
        // A line knows its levels itself.
        command.args(pin.iter().flat_map(|PinBytes { safe, active }| [safe.to_string(), active.to_string()]));
        command.stdin(Stdio::from(file)).stdout(Stdio::piped()).stderr(Stdio::from(shared));
        let mut child = command.spawn()?;
        match first_words(&mut child, COMES_UP_WITHIN) {
            Ok((said, lacks)) => {
                let state = Arc::new(GuardState(words));
                Ok(Some(Self { child, said: Some(said), is_left: false, state, lacks }))
            }
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// Lets the guard go on until this program ends: a thread that is stuck has the output still.
    pub(crate) fn leave(&mut self) {
        self.is_left = true;
    }

    /// Why the output is not guarded any longer; `None` while it is.
    pub(crate) fn lost(&mut self) -> Option<String> {
        if let Ok(Some(status)) = self.child.try_wait() {
            return Some(format!("the process that guards the output ended ({status})"));
        }
        self.state.unwatched_ns().map(|silent_ns| {
            let silent = units::format::span(silent_ns);
            format!("the process that guards the output had not run for {silent}: it was stopped, or got no CPU")
        })
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let said = self.said.take();
        if self.is_left {
            std::mem::forget(said);
            return;
        }
        // It makes the output safe and ends once nobody reads what it says; one that was stopped does so once it goes on.
        drop(said);
        let _ = kernel::process::signal(self.child.id(), Signal::Continue);
        let until = Instant::now() + PATIENCE;
        while matches!(self.child.try_wait(), Ok(None)) && Instant::now() < until {
            std::thread::sleep(PERIOD);
        }
        // Where somebody stops it again and again, this program is not to wait for ever.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a guard says once it watches: where more is heard of it, and what it lacks.
fn first_words(child: &mut Child, within: Duration) -> io::Result<(BufReader<ChildStdout>, String)> {
    let pipe = child.stdout.take().ok_or_else(|| io::Error::other("no pipe"))?;
    let until = Instant::now() + within;
    let mut readable = Readable::new([pipe.as_fd()]);
    // It says all at once.
    while readable.ready().next().is_none() {
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let within = within.as_secs();
            return Err(io::Error::other(format!(
                "it did not begin to watch within {within} s: it got no CPU, or was stopped"
            )));
        }
        readable.wait(i64::try_from(left.as_nanos()).unwrap_or(i64::MAX))?;
    }
    drop(readable);
    let mut said = BufReader::new(pipe);
    let mut first = String::new();
    said.read_line(&mut first)?;
    match (first.trim().strip_prefix(READY), first.trim()) {
        (Some(lacks), _) => {
            let lacks = lacks.trim().to_owned();
            Ok((said, lacks))
        }
        (None, "") => {
            Err(io::Error::other("it ended before it watched anything: was it killed, or is memory short? Try again"))
        }
        (None, why) => Err(io::Error::other(why.to_owned())),
    }
}

/// The other process: watches until its controller is gone, and makes the output safe.
///
/// # Errors
/// Where it was not started as [`Guard::of`] does.
pub fn guard() -> io::Result<()> {
    // What stops or ends the terminal's programs does not reach it.
    kernel::process::start_session();
    // The output is the place of what goes wrong: nothing is written there.
    std::panic::set_hook(Box::new(|_| {}));
    kernel::signals::block_all_but_watchdog();
    let mut words = std::env::args().skip(2);
    let priority = words.next().and_then(|word| word.parse().ok()).unwrap_or(0);
    let prepared = SharedWords::map(io::stdin()).and_then(|shared| Ok((GuardState(shared), guarded(words)?)));
    let (state, output) = match prepared {
        Ok(prepared) => prepared,
        Err(error) => {
            writeln!(io::stdout(), "{error}")?;
            return Ok(());
        }
    };
    let _ = kernel::memory::lock_on_fault();
    let mut lacks = Vec::new();
    let outranks = if priority == 0 { LEAST_PRIORITY } else { (priority + 1).min(HIGHEST_PRIORITY) };
    if let Err(error) = kernel::sched::set_policy(Policy::Fifo(outranks)) {
        lacks.push(format!("a real-time priority ({error})"));
    } else if priority >= HIGHEST_PRIORITY {
        lacks.push(format!("a priority above that of the thread that acts ({HIGHEST_PRIORITY} is the highest)"));
    }
    let group = OwnGroup::make();
    if let Err(why) = &group {
        lacks.push(format!("a control group of its own ({why})"));
    }
    state.looked(now_ns(ClockId::Monotonic));
    // A controller that is gone already is no reason to leave the output as it is.
    let _ = writeln!(io::stdout(), "{READY} {}", lacks.join(", "));
    watch(&state, &|| output.set(false), &is_gone);
    drop(group);
    Ok(())
}

/// The output by the descriptor that the controller shares; `words` are a pin's bytes, of a line there are none.
fn guarded(words: impl Iterator<Item = String>) -> io::Result<Output> {
    // The descriptor stays this process's until it ends.
    let file = io::stderr().as_fd().try_clone_to_owned()?;
    let bytes: Result<Vec<u8>, _> = words.map(|word| word.parse()).collect();
    match bytes.as_deref() {
        Ok([]) => Ok(Output::Line(OutputLine::shared(file))),
        Ok([safe, active]) => Ok(Output::Pin(OutputPin::shared(file, PinBytes { safe: *safe, active: *active }))),
        _ => Err(io::Error::from(io::ErrorKind::InvalidInput)),
    }
}

/// Looks until the controller is gone.
fn watch(state: &GuardState, make_safe: &dyn Fn() -> bool, is_gone: &dyn Fn(Duration) -> bool) {
    // The last pulses in which it was made safe, and in which it was not: a pulse may be looked at more than once, since who acts may
    // have been stopped right before it switches.
    let mut counted = [None; 2];
    loop {
        let gone = is_gone(PERIOD);
        let now_ns = now_ns(ClockId::Monotonic);
        if gone {
            let mut tries = 1;
            while !make_safe() && tries < LAST_TRIES {
                std::thread::sleep(PERIOD);
                tries += 1;
            }
            return;
        }
        if let Some(pulse) = state.overdue(now_ns) {
            let is_made_safe = make_safe();
            let last = &mut counted[usize::from(is_made_safe)];
            if last.replace(pulse) != Some(pulse) {
                state.intervened(is_made_safe);
            }
        }
        state.looked(now_ns);
    }
}

/// Waits a while, and says whether nobody reads what this process says: the controller has ended, however it did.
fn is_gone(within: Duration) -> bool {
    kernel::wait::reader_is_gone(io::stdout().as_fd(), within)
}

/// A control group with this process alone, below the one of its controller's: what freezes or limits that one does not reach it.
struct OwnGroup {
    folder: PathBuf,
    before: PathBuf,
}

impl OwnGroup {
    fn make() -> Result<Self, String> {
        let text = crate::kernel_text::read("/proc/self/cgroup").map_err(|error| error.to_string())?;
        let own = text
            .lines()
            .find_map(|line| line.strip_prefix("0::"))
            .ok_or("this system has no control groups of version 2")?;
        let mount = Path::new("/sys/fs/cgroup");
        let before = mount.join(own.trim_start_matches('/'));
        // Beside it, and where that is not allowed further up: below it the same limits would hold.
        let mut first = None;
        for parent in before.ancestors().skip(1).take_while(|parent| parent.starts_with(mount)) {
            let folder = parent.join(format!("punctual-output-guard-{}", std::process::id()));
            let made = std::fs::create_dir(&folder).and_then(|()| join(&folder));
            match made {
                Ok(()) => return Ok(Self { folder, before }),
                Err(error) => {
                    let _ = std::fs::remove_dir(&folder);
                    first.get_or_insert(format!("{}: {error}", parent.display()));
                }
            }
        }
        Err(first.unwrap_or_else(|| "it runs in the root of all groups".to_owned()))
    }
}

fn join(folder: &Path) -> io::Result<()> {
    kernel::control_file::write(&folder.join("cgroup.procs"), &std::process::id().to_string())
}

impl Drop for OwnGroup {
    fn drop(&mut self) {
        // A group with a process in it cannot be removed; one that is left behind is empty and does nothing.
        let _ = join(&self.before).or_else(|_| join(Path::new("/sys/fs/cgroup")));
        let _ = std::fs::remove_dir(&self.folder);
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use super::state::SILENT_NS;
    use super::*;

    /// What a guard does in some turns, of which each begins as `turn` says, and the last is the end of its controller; the turns in
    /// which it switched.
    fn guarded(state: &GuardState, turn: &dyn Fn(u32), last: u32, switches: &dyn Fn(u32) -> bool) -> Vec<u32> {
        let (turns, made_safe_at) = (Cell::new(0), RefCell::new(Vec::new()));
        let is_gone = |_: Duration| {
            turns.set(turns.get() + 1);
            turn(turns.get());
            turns.get() == last
        };
        let make_safe = || {
            made_safe_at.borrow_mut().push(turns.get());
            switches(turns.get())
        };
        watch(state, &make_safe, &is_gone);
        made_safe_at.into_inner()
    }

    fn state() -> GuardState {
        GuardState(SharedWords::make().unwrap().0)
    }

    fn now() -> i64 {
        now_ns(ClockId::Monotonic)
    }

    const HOUR_NS: i64 = 3_600_000_000_000;

    #[test]
    fn an_output_that_is_overdue_is_made_safe_and_so_is_one_whose_controller_is_gone() {
        let state = state();
        let turn = |turn| match turn {
            // Active for a time that has long passed, and then for one that has not.
            2 => state.becomes_active(now(), now() - 1_000_000_000),
            5 => state.is_safe(),
            6 => state.becomes_active(now(), now() + HOUR_NS),
            _ => {}
        };
        assert_eq!(guarded(&state, &turn, 8, &|_| true), [2, 3, 4, 8]);
        assert_eq!((state.interventions(), state.failures()), (1, 0), "of one pulse, however often it was looked at");
        assert!(state.is_watched(now()));
    }

    #[test]
    fn an_output_is_made_safe_before_its_time_where_its_thread_does_not_run_and_not_where_it_does() {
        let state = state();
        let turn = |turn| match turn {
            2 => state.becomes_active(now(), now() + HOUR_NS),
            // It has not run for longer than it may, and then goes on.
            4 => state.lives(now() - SILENT_NS - 1),
            6 => state.lives(now()),
            _ => {}
        };
        assert_eq!(guarded(&state, &turn, 8, &|_| true), [4, 5, 8]);
        assert_eq!(state.interventions(), 1);
        // Where nothing is active nobody has to run.
        let state = self::state();
        let turn = |turn| {
            if turn == 2 {
                state.becomes_active(now() - SILENT_NS - 1, now());
                state.is_safe();
            }
        };
        assert_eq!(guarded(&state, &turn, 4, &|_| true), [4]);
    }

    /// A process in the place of a guard, which does what a shell is told.
    fn in_its_place(does: &str) -> Child {
        Command::new("sh").args(["-c", does]).stdout(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_guard_that_does_not_come_up_is_not_waited_for_without_end_and_one_that_does_says_what_it_lacks() {
        let heard = |does: &str, within: Duration| {
            let mut child = in_its_place(does);
            let heard = first_words(&mut child, within);
            child.kill().unwrap();
            child.wait().unwrap();
            heard.map(|(_, lacks)| lacks).map_err(|error| error.to_string())
        };
        let long = Duration::from_secs(60);
        assert_eq!(heard("echo ready", long), Ok(String::new()));
        assert_eq!(heard("echo ready a group; exec sleep 60", long), Ok("a group".to_owned()));
        assert_eq!(heard("echo no output", long), Err("no output".to_owned()));
        assert!(heard("exit 3", long).unwrap_err().contains("it ended before it watched"));
        assert!(heard("exec sleep 60", Duration::from_millis(20)).unwrap_err().contains("did not begin to watch"));
    }

    #[test]
    fn a_guard_that_is_left_goes_on_when_what_holds_it_goes() {
        for is_left in [true, false] {
            let mut child = in_its_place("echo ready; exec sleep 600");
            let pid = child.id();
            let (said, lacks) = first_words(&mut child, Duration::from_secs(60)).unwrap();
            let mut guard = Guard { child, said: Some(said), is_left: false, state: Arc::new(state()), lacks };
            if is_left {
                guard.leave();
            }
            drop(guard);
            assert_eq!(Path::new(&format!("/proc/{pid}")).exists(), is_left);
            let _ = kernel::process::signal(pid, Signal::Kill);
        }
    }

    #[test]
    fn what_the_driver_does_not_switch_is_no_intervention_and_is_tried_again() {
        let state = state();
        let turn = |turn| match turn {
            2 => state.becomes_active(now(), now() - 1_000_000_000),
            5 => state.becomes_active(now(), now() - 500_000_000),
            _ => {}
        };
        // The first pulse is never made safe, the second one at the third look.
        let made_safe_at = guarded(&state, &turn, 8, &|turn| turn == 7);
        assert_eq!((state.interventions(), state.failures()), (1, 2));
        assert_eq!(made_safe_at[..6], [2, 3, 4, 5, 6, 7]);
        assert_eq!(made_safe_at[6..], vec![8; 20], "before it ends it tries for a while");
    }
}
