//! Telling the kernel's throttle of real-time threads from noise: it takes the rest of each second away.
//!
//! Up to Linux 6.11 that is `sched_rt_period_us - sched_rt_runtime_us` (Documentation/scheduler/sched-rt-group.rst);
//! since 6.12 the fair server gives ordinary threads its runtime in each period (kernel/sched/deadline.c).

use std::fs;

/// A gap this much shorter or longer than the throttle's is still its.
const TOLERANCE: u64 = 4;

/// How long the throttle's gaps are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ThrottleShape {
    gap_ns: Option<u64>,
}

impl ThrottleShape {
    /// Reads the settings, where the loop runs as FIFO at all.
    pub(crate) fn read(fifo: bool) -> Self {
        if !fifo {
            return Self { gap_ns: None };
        }
        let us = |name: &str| fs::read_to_string(format!("/proc/sys/kernel/{name}")).ok()?.trim().parse::<i64>().ok();
        Self::from_settings(us("sched_rt_period_us"), us("sched_rt_runtime_us"))
    }

    fn from_settings(period_us: Option<i64>, runtime_us: Option<i64>) -> Self {
        let gap_ns = match (period_us, runtime_us) {
            (_, Some(-1)) => None,
            (Some(period), Some(runtime)) => {
                u64::try_from(period - runtime).ok().filter(|us| *us > 0).map(|us| us * 1_000)
            }
            // The kernel's own defaults: 1 s and 0.95 s, or a fair server of 50 ms.
            _ => Some(50_000_000),
        };
        Self { gap_ns }
    }

    /// Whether a gap has the throttle's length: a quarter shorter to a quarter longer.
    pub(crate) fn is_throttle(self, gap_ns: u64) -> bool {
        self.gap_ns.is_some_and(|shape| gap_ns.abs_diff(shape) <= shape / TOLERANCE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_its_own_length_is_the_throttle_s() {
        let shape = ThrottleShape::from_settings(Some(1_000_000), Some(950_000));
        assert!(shape.is_throttle(50_100_000) && shape.is_throttle(45_000_000));
        assert!(!shape.is_throttle(5_000_000) && !shape.is_throttle(100_000_000));
        assert!(!ThrottleShape::from_settings(Some(1_000_000), Some(-1)).is_throttle(50_000_000));
        assert!(!ThrottleShape::read(false).is_throttle(50_000_000));
    }
}
