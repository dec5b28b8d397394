//! The instrument measures itself: timer resolution, cost of one reading, cost of one turn without sleeping.

use std::hint::black_box;
use std::sync::atomic::AtomicBool;

use kernel::clock::{self, KernelClock};
use record::Instrument;
use units::{ClockId, CpuSet};

use crate::context::resident_bytes;
use crate::ring::{Pair, Ring};

const BLOCKS: usize = 15;
const READINGS_PER_BLOCK: i64 = 400;

/// What the loop itself costs on this machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelfCost {
    /// Resolution of the clock, from `clock_getres` (ns).
    pub timer_resolution_ns: u64,
    /// Median over blocks of the mean cost of one reading (ns).
    pub clock_read_ns: u64,
    /// Median over blocks of the mean cost of one turn of the loop without its sleep (ns).
    pub loop_ns: u64,
    /// The kernel's clock source.
    pub clocksource: Option<String>,
}

impl SelfCost {
    /// Measures for `clock`, on `cpu` where one is given: about 2 ms.
    #[must_use]
    pub fn measure(clock: ClockId, cpu: Option<u32>) -> Self {
        let before = kernel::sched::affinity_of(0).ok();
        if let Some(cpu) = cpu {
            // Where the CPU is refused the cost is measured elsewhere; the run itself reports the refusal.
            let _ = kernel::sched::set_affinity(0, &CpuSet::from_iter([cpu]));
        }
        let kernel_clock = KernelClock::from(clock);
        let clock_read_ns = median_of_blocks(|| {
            black_box(clock::now_ns(kernel_clock));
        });
        let (ring, stop) = (Ring::new(1 << 14), AtomicBool::new(false));
        let mut writer = ring.writer();
        let loop_ns = median_of_blocks(|| {
            if stop.load(std::sync::atomic::Ordering::Relaxed) {
                return;
            }
            let now_ns = clock::now_ns(kernel_clock);
            writer.push(Pair { first_ns: black_box(now_ns), second_ns: now_ns });
        });
        if let Some(before) = before {
            let _ = kernel::sched::set_affinity(0, &before);
        }
        Self {
            timer_resolution_ns: clock::resolution_ns(kernel_clock).unwrap_or(0),
            clock_read_ns,
            loop_ns,
            clocksource: crate::kernel_text::read("/sys/devices/system/clocksource/clocksource0/current_clocksource")
                .ok()
                .map(|name| name.trim().to_owned()),
        }
    }

    /// The record's form of these costs. The measurement adds where the program ran, and its rings.
    pub(crate) fn into_record(self) -> Instrument {
        Instrument {
            timer_resolution_ns: self.timer_resolution_ns,
            clocksource: self.clocksource,
            clock_read_ns: self.clock_read_ns,
            loop_ns: self.loop_ns,
            resident_bytes: resident_bytes(),
            ..Instrument::default()
        }
    }
}

fn median_of_blocks(mut turn: impl FnMut()) -> u64 {
    let clock = KernelClock::from(ClockId::Monotonic);
    let mut means: Vec<i64> = (0..BLOCKS)
        .map(|_| {
            let before = clock::now_ns(clock);
            (0..READINGS_PER_BLOCK).for_each(|_| turn());
            (clock::now_ns(clock) - before) / READINGS_PER_BLOCK
        })
        .collect();
    means.sort_unstable();
    u64::try_from(means[BLOCKS / 2]).unwrap_or(0)
}
