//! Pulses on the machine's parallel port at stated moments of its own clock, for the host's logic analyser.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt as _;

use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use serde::{Deserialize, Serialize};
use units::{ClockId, Ns};

use super::InjectError;
use crate::analyser::{DATA_PORT, LABELS, pulse_bytes};

/// The least time from pulse to pulse: an emulated machine needs some of it for each.
pub const MIN_INTERVAL: Ns = Ns::from_ms(1);
/// More are not kept in memory.
pub const MAX_PULSES: u64 = 1_000_000;

/// How long before its moment a pulse is waited for by reading the clock instead of by sleeping (ns): an emulated
/// machine wakes a sleeper late, and two machines differently.
const SPIN_NS: i64 = 1_000_000;
/// How long each sleep is at most (ns): the clock is looked at again, since it may have been stepped.
const LOOK_NS: i64 = 1_000_000_000;

/// What pulses are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PulsePlan {
    /// The clock whose moments these are.
    pub clock: ClockId,
    /// They are multiples of this (ns), counted from the clock's zero; the count modulo 128 is the pulse's label.
    pub interval_ns: i64,
    /// Later by this (ns, 0 to below the interval).
    pub offset_ns: i64,
    /// Whether only those with an odd count are later, so that one recording has both, whatever the clocks do meanwhile.
    pub alternate: bool,
    /// How late a pulse may be (ns): one that would be later is left out, so that those that are there tell of the clock
    /// and not of how busy the machine is. Without a bound each is written.
    pub tolerance_ns: Option<i64>,
    /// How many moments, those included whose pulse was left out.
    pub count: u64,
}

/// One moment and its pulse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PulseTruth {
    /// Its label, 0 to 127.
    pub label: u8,
    /// When it was to be, the offset included (ns of the plan's clock, as all here).
    pub asked_ns: i64,
    /// The last reading before the line was raised.
    pub before_ns: i64,
    /// The first reading after; absent where it was left out.
    pub after_ns: Option<i64>,
}

/// Writes pulses, each as its moment comes, and tells when it truly did. Moments that have passed are no part of it: after
/// a step of the clock it goes on with those that lie ahead.
///
/// # Errors
/// Where the plan is out of bounds, or this machine has no port that may be written.
pub fn pulse(plan: &PulsePlan) -> Result<Vec<PulseTruth>, InjectError> {
    check(plan)?;
    let port =
        OpenOptions::new().write(true).open("/dev/port").map_err(InjectError::refused("writing to /dev/port"))?;
    let raise = |value| write(&port, value).map_err(InjectError::refused(format!("a write to port {DATA_PORT:#x}")));
    let clock = KernelClock::from(plan.clock);
    let mut truth = Vec::new();
    // Low, whatever it was before.
    raise(pulse_bytes(0)[0])?;
    let mut last_number = None;
    while u64::try_from(truth.len()).unwrap_or(u64::MAX) < plan.count {
        let number = next_number(plan, now_ns(clock), last_number);
        let asked_ns = plan.moment_ns(number);
        let label = label(number);
        let [low, high] = pulse_bytes(label);
        raise(low)?;
        if !wait(clock, asked_ns, plan.interval_ns) {
            // The clock was stepped: another moment is the next one.
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
        format!("an interval of {}: {MIN_INTERVAL} is the least", Ns(interval_ns))
    } else if !(0..interval_ns).contains(&offset_ns) {
        format!("an offset of {}: it lies between 0 and the interval, {}", Ns(offset_ns), Ns(interval_ns))
    } else if !(1..=MAX_PULSES).contains(&count) {
        format!("{count} pulses: 1 to {MAX_PULSES} are possible")
    } else {
        return Ok(());
    };
    Err(InjectError::Plan { what })
}

impl PulsePlan {
    /// The moment of this number, the offset included (ns).
    const fn moment_ns(&self, number: i64) -> i64 {
        let is_late = !self.alternate || number % 2 != 0;
        number * self.interval_ns + if is_late { self.offset_ns } else { 0 }
    }
}

/// The number of the next moment that lies ahead, and is not the last one again.
fn next_number(plan: &PulsePlan, now_ns: i64, last: Option<i64>) -> i64 {
    let this = now_ns.div_euclid(plan.interval_ns);
    let next = if plan.moment_ns(this) > now_ns { this } else { this + 1 };
    last.map_or(next, |last| next.max(last + 1))
}

/// The label of a moment.
fn label(number: i64) -> u8 {
    u8::try_from(number.rem_euclid(i64::from(LABELS))).unwrap_or(0)
}

/// Waits for a moment; false where the clock no longer leads there, since it was stepped.
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
        // On a clock that nobody steps. Only a signal ends it early, and the loop then sleeps again.
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
    fn the_next_moment_lies_ahead_and_is_never_the_last_again() {
        let of_plan = |plan: &PulsePlan, now_ns, last| {
            let number = next_number(plan, now_ns, last);
            (plan.moment_ns(number), label(number))
        };
        let at_ns = |now_ns, last| of_plan(&PLAN, now_ns, last);
        assert_eq!(at_ns(0, None), (5_000_000, 0));
        assert_eq!(at_ns(5_000_000, None), (105_000_000, 1));
        assert_eq!(at_ns(104_999_999, None), (105_000_000, 1));
        // The clock was read just before the moment that was pulsed already.
        assert_eq!(at_ns(104_999_999, Some(1)), (205_000_000, 2));
        assert_eq!(at_ns(128 * 100_000_000, None), (12_805_000_000, 0));
        assert_eq!(at_ns(-1, None), (5_000_000, 0));
        let each_second = PulsePlan { alternate: true, ..PLAN };
        assert_eq!(of_plan(&each_second, 0, None), (105_000_000, 1));
        assert_eq!(of_plan(&each_second, 105_000_000, None), (200_000_000, 2));
        assert_eq!(of_plan(&each_second, 300_000_000, None), (305_000_000, 3));
    }

    #[test]
    fn a_plan_that_cannot_be_kept_is_refused_before_anything_is_written() {
        for (plan, part) in [
            (PulsePlan { interval_ns: 999_999, offset_ns: 0, ..PLAN }, "1ms is the least"),
            (PulsePlan { offset_ns: 100_000_000, ..PLAN }, "between 0 and the interval, 100ms"),
            (PulsePlan { offset_ns: -1, ..PLAN }, "between 0 and the interval"),
            (PulsePlan { count: 0, ..PLAN }, "1 to 1000000"),
        ] {
            let error = pulse(&plan).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_clock_that_leads_elsewhere_is_noticed() {
        let clock = KernelClock::from(ClockId::Monotonic);
        let now = now_ns(clock);
        assert!(!wait(clock, now + 1_000_000_000, 1_000_000), "set back");
        assert!(!wait(clock, now - 1_000_000_000, 1_000_000), "set forward");
        assert!(wait(clock, now_ns(clock) + 2_000_000, 100_000_000));
    }
}
