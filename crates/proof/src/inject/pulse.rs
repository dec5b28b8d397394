//! Pulses on the machine's parallel port at stated moments of its own clock, for the host's logic analyzer.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use serde::{Deserialize, Serialize};
use units::{ClockId, Ns};

use super::InjectError;
use lab::analyzer::{DATA_PORT, LABELS, pulse_bytes};

/// Shortest time from pulse to pulse: an emulated machine needs a part of it for each pulse.
pub(crate) const MIN_INTERVAL: Ns = Ns::from_ms(1);
/// Largest number of pulses: all are kept in memory.
pub(crate) const MAX_PULSES: u64 = 1_000_000;

/// How long before a pulse the loop reads the clock instead of sleeping (ns): an emulated machine wakes a thread late,
/// and two machines differ in that.
const SPIN_NS: i64 = 1_000_000;
/// Longest sleep (ns): the clock is read again after it, since it may have been stepped.
const LOOK_NS: i64 = 1_000_000_000;

/// The requested pulses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PulsePlan {
    /// The clock of the moments.
    pub(crate) clock: ClockId,
    /// The moments are multiples of this (ns), counted from the clock's zero; the number modulo 128 is the pulse's
    /// label.
    pub(crate) interval_ns: i64,
    /// Added to the moments (ns, 0 to below the interval).
    pub(crate) offset_ns: i64,
    /// Whether the offset applies only to odd numbers, so that one recording contains both kinds, whatever the clocks
    /// do.
    pub(crate) alternate: bool,
    /// Largest lateness of a pulse (ns): later ones are left out, so that the pulses show the clock and not how busy
    /// the machine is. Without a bound all are written.
    pub(crate) tolerance_ns: Option<i64>,
    /// Number of moments, including those whose pulse is left out.
    pub(crate) count: u64,
}

/// What really happened at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct PulseTruth {
    /// Label of the pulse (0 to 127).
    pub(crate) label: u8,
    /// The requested moment, including the offset (ns of the plan's clock, as all times here).
    pub(crate) asked_ns: i64,
    /// The last reading before the line was raised (ns).
    pub(crate) before_ns: i64,
    /// The first reading after the line was raised (ns); absent if the pulse was left out.
    pub(crate) after_ns: Option<i64>,
}

/// Writes the pulses at their moments and returns when each was really written. Moments in the past do not count: after
/// a step of the clock it continues with the next ones.
///
/// # Errors
/// If the plan is out of bounds, or the parallel port may not be written.
pub(crate) fn pulse(plan: &PulsePlan) -> Result<Vec<PulseTruth>, InjectError> {
    check(plan)?;
    let port =
        OpenOptions::new().write(true).open("/dev/port").map_err(InjectError::refused("writing to /dev/port"))?;
    let raise = |value| write(&port, value).map_err(InjectError::refused(format!("a write to port {DATA_PORT:#x}")));
    let clock = KernelClock::from(plan.clock);
    let mut truth = Vec::new();
    // Start with the line low.
    raise(pulse_bytes(0)[0])?;
    let mut last_number = None;
    while u64::try_from(truth.len()).unwrap_or(u64::MAX) < plan.count {
        let number = next_number(plan, now_ns(clock), last_number);
        let asked_ns = plan.moment_ns(number);
        let label = label(number);
        let [low, high] = pulse_bytes(label);
        raise(low)?;
        if !wait(clock, asked_ns, plan.interval_ns) {
            // The clock was stepped, so the next moment is another one.
            last_number = None;
            continue;
        }
        let before_ns = now_ns(clock);
        let mut after_ns = None;
        if plan.tolerance_ns.is_none_or(|tolerance_ns| before_ns - asked_ns <= tolerance_ns) {
            raise(high)?;
            after_ns = Some(now_ns(clock));
            raise(low)?;
        }
        last_number = Some(number);
        truth.push(PulseTruth { label, asked_ns, before_ns, after_ns });
    }
    Ok(truth)
}

fn check(plan: &PulsePlan) -> Result<(), InjectError> {
    let PulsePlan { interval_ns, offset_ns, count, .. } = *plan;
    let what = if interval_ns < MIN_INTERVAL.0 {
        format!("an interval of {} is too short: at least {MIN_INTERVAL}", Ns(interval_ns))
    } else if !(0..interval_ns).contains(&offset_ns) {
        format!(
            "an offset of {} is out of range: it must be between 0 and the interval, {}",
            Ns(offset_ns),
            Ns(interval_ns)
        )
    } else if !(1..=MAX_PULSES).contains(&count) {
        format!("{count} pulses are out of range: 1 to {MAX_PULSES} are possible")
    } else {
        return Ok(());
    };
    Err(InjectError::Plan { what })
}

impl PulsePlan {
    /// The moment with this number, including the offset (ns).
    const fn moment_ns(&self, number: i64) -> i64 {
        let is_late = !self.alternate || number % 2 != 0;
        number * self.interval_ns + if is_late { self.offset_ns } else { 0 }
    }
}

/// The number of the next moment in the future, which must not be the last one again.
fn next_number(plan: &PulsePlan, now_ns: i64, last: Option<i64>) -> i64 {
    let this = now_ns.div_euclid(plan.interval_ns);
    let next = if plan.moment_ns(this) > now_ns { this } else { this + 1 };
    last.map_or(next, |last| next.max(last + 1))
}

/// The label of the moment with this number.
fn label(number: i64) -> u8 {
    u8::try_from(number.rem_euclid(i64::from(LABELS))).unwrap_or(0)
}

/// Waits for a moment; false if the clock was stepped, so that the moment is no longer the next one.
fn wait(clock: KernelClock, asked_ns: i64, interval_ns: i64) -> bool {
    let steady = KernelClock::from(ClockId::Monotonic);
    loop {
        let left_ns = asked_ns - now_ns(clock);
        if left_ns > 2 * interval_ns || left_ns < -interval_ns {
            return false;
        }
        if left_ns <= SPIN_NS {
            break;
        }
        // Sleep on a clock that is never stepped. Only a signal ends the sleep early; then the loop sleeps again.
        let until_ns = now_ns(steady) + (left_ns - SPIN_NS).min(LOOK_NS);
        let _ = sleep_until(steady, &Schedule::at_ns(until_ns));
    }
    while now_ns(clock) < asked_ns {
        std::hint::spin_loop();
    }
    true
}

fn write(port: &File, value: u8) -> io::Result<()> {
    port.write_all_at(&[value], DATA_PORT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAN: PulsePlan = PulsePlan {
        tolerance_ns: None,
        clock: ClockId::Realtime,
        interval_ns: 100_000_000,
        offset_ns: 5_000_000,
        alternate: false,
        count: 1,
    };

    #[test]
    fn the_next_moment_is_in_the_future_and_never_the_last_again() {
        let next_in_plan = |plan: &PulsePlan, now_ns, last| {
            let number = next_number(plan, now_ns, last);
            (plan.moment_ns(number), label(number))
        };
        let at_ns = |now_ns, last| next_in_plan(&PLAN, now_ns, last);
        assert_eq!(at_ns(0, None), (5_000_000, 0));
        assert_eq!(at_ns(5_000_000, None), (105_000_000, 1));
        assert_eq!(at_ns(104_999_999, None), (105_000_000, 1));
        // The clock was read just before a moment that already had its pulse.
        assert_eq!(at_ns(104_999_999, Some(1)), (205_000_000, 2));
        assert_eq!(at_ns(128 * 100_000_000, None), (12_805_000_000, 0));
        assert_eq!(at_ns(-1, None), (5_000_000, 0));
        let each_second = PulsePlan { alternate: true, ..PLAN };
        assert_eq!(next_in_plan(&each_second, 0, None), (105_000_000, 1));
        assert_eq!(next_in_plan(&each_second, 105_000_000, None), (200_000_000, 2));
        assert_eq!(next_in_plan(&each_second, 300_000_000, None), (305_000_000, 3));
    }

    #[test]
    fn an_invalid_plan_is_refused_before_anything_is_written() {
        for (plan, part) in [
            (PulsePlan { interval_ns: 999_999, offset_ns: 0, ..PLAN }, "at least 1ms"),
            (PulsePlan { offset_ns: 100_000_000, ..PLAN }, "between 0 and the interval, 100ms"),
            (PulsePlan { offset_ns: -1, ..PLAN }, "between 0 and the interval"),
            (PulsePlan { count: 0, ..PLAN }, "1 to 1000000"),
        ] {
            let error = pulse(&plan).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_stepped_clock_is_noticed() {
        let clock = KernelClock::from(ClockId::Monotonic);
        let now = now_ns(clock);
        assert!(!wait(clock, now + 1_000_000_000, 1_000_000), "set back");
        assert!(!wait(clock, now - 1_000_000_000, 1_000_000), "set forward");
        assert!(wait(clock, now_ns(clock) + 2_000_000, 100_000_000));
    }
}
