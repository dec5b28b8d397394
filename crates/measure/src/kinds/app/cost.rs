//! What following costs, measured before the run: what one event costs the thread that makes it, and how long the way is
//! from the kernel's event of a call's return to a reading of the clock in user space.

use std::hint::black_box;

use kernel::clock::{Schedule, now_ns, sleep_until};
use kernel::sched::Policy;
use kernel::tracefs::{Instance, Tracefs};
use trace::{Body, Call};
use units::{ClockId, CpuSet};

use super::host::{Host as _, Live};
use super::source::{Source, SourceError};

const CALLS_PER_BLOCK: i64 = 2_000;
const BLOCKS: usize = 9;

/// Sleeps by which the way back is measured, and how long each is: long enough for caches to grow cold.
const SLEEPS: i64 = 200;
const SLEEP_NS: i64 = 1_000_000;
/// Memory of its buffers (KiB).
const BUFFERS_KIB: u64 = 2 << 10;

/// What a thread of our own shows that is followed as the program will be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WayBack {
    /// From the event of a sleep's return to the first reading of the clock, the median (ns). `None` where the events do not
    /// match the sleeps.
    pub(super) return_ns: Option<u64>,
    /// The address of the function of a sleep's timer.
    pub(super) sleep_function: Option<u64>,
}

/// Follows a thread of our own that sleeps: 0.2 s or so.
pub(super) fn way_back(tracefs: &Tracefs, cpus: &CpuSet) -> Result<WayBack, SourceError> {
    let mut source = Source::new(tracefs, cpus, BUFFERS_KIB)?;
    let (announce, announced) = std::sync::mpsc::channel();
    let (go, gone) = std::sync::mpsc::channel::<()>();
    let sleeper = std::thread::Builder::new().name("punctual-way".to_owned()).spawn(move || {
        let _ = announce.send(kernel::sched::thread_id());
        let mut readings = Vec::with_capacity(usize::try_from(SLEEPS).unwrap_or(0));
        if gone.recv().is_err() {
            return readings;
        }
        // Where that is refused the program will hardly be granted it either.
        let _ = kernel::sched::set_policy(Policy::Fifo(80));
        let clock = ClockId::Monotonic.into();
        let start_ns = now_ns(clock);
        for sleep in 1..=SLEEPS {
            let _ = sleep_until(clock, &Schedule::at_ns(start_ns + sleep * SLEEP_NS));
            readings.push(now_ns(clock));
        }
        readings
    });
    let sleeper = sleeper.map_err(SourceError::Read)?;
    let tid = announced.recv().unwrap_or(0);
    source.follow(&[tid])?;
    source.begin()?;
    let _ = go.send(());
    let readings = sleeper.join().unwrap_or_default();
    source.end();
    let calls = Live.abi(std::process::id()).map(trace::Abi::table).unwrap_or_default();
    let mut returns: Vec<i64> = Vec::with_capacity(readings.len());
    let mut sleep_function = None;
    let mut is_asleep = false;
    source.take(0, true, |_, event| match event.body {
        Body::Enter { number, .. } if event.tid == tid => {
            is_asleep = Call::from_number(number, &calls) == Call::ClockNanosleep;
        }
        Body::TimerStart { function, .. } if event.tid == tid && is_asleep && !event.level.is_interrupt() => {
            // The first of each sleep is its own.
            is_asleep = false;
            sleep_function = sleep_function.or(Some(function));
        }
        Body::Exit { number, .. } if event.tid == tid && Call::from_number(number, &calls) == Call::ClockNanosleep => {
            returns.push(i64::try_from(event.time_ns).unwrap_or(i64::MAX));
        }
        _ => {}
    })?;
    if returns.len() != readings.len() {
        return Ok(WayBack { return_ns: None, sleep_function });
    }
    let mut ways: Vec<i64> = readings.iter().zip(&returns).map(|(reading, returned)| reading - returned).collect();
    ways.sort_unstable();
    let return_ns = ways.get(ways.len() / 2).and_then(|median| u64::try_from(*median).ok());
    Ok(WayBack { return_ns, sleep_function })
}

/// The median over blocks that alternate (ns): 20 ms or so.
pub(super) fn event_ns(tracefs: &Tracefs) -> Result<u64, SourceError> {
    let instance = Instance::new(tracefs)?;
    instance.set("trace_clock", "mono")?;
    instance.set("buffer_size_kb", "256")?;
    instance.follow(&[kernel::sched::thread_id()])?;
    let set = |on: &str| -> Result<(), SourceError> {
        for event in ["sys_enter", "sys_exit"] {
            instance.set(&format!("events/raw_syscalls/{event}/enable"), on)?;
        }
        Ok(())
    };
    instance.start()?;
    let mut differences = Vec::with_capacity(BLOCKS);
    for _ in 0..BLOCKS {
        let without_ns = block_ns();
        set("1")?;
        let with_ns = block_ns();
        set("0")?;
        differences.push((with_ns - without_ns) / (2 * CALLS_PER_BLOCK));
    }
    differences.sort_unstable();
    Ok(u64::try_from(differences[BLOCKS / 2]).unwrap_or(0))
}

fn block_ns() -> i64 {
    let clock = ClockId::Monotonic.into();
    let before_ns = now_ns(clock);
    for _ in 0..CALLS_PER_BLOCK {
        black_box(kernel::sched::thread_id());
    }
    now_ns(clock) - before_ns
}
