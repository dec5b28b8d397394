//! What one event costs the thread that makes it, measured: short system calls with and without their two events.

use std::hint::black_box;

use kernel::tracefs::{Instance, Tracefs};
use units::ClockId;

use super::source::SourceError;

const CALLS_PER_BLOCK: i64 = 2_000;
const BLOCKS: usize = 9;

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
    let before_ns = kernel::clock::now_ns(clock);
    for _ in 0..CALLS_PER_BLOCK {
        black_box(kernel::sched::thread_id());
    }
    kernel::clock::now_ns(clock) - before_ns
}
