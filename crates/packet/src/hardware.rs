//! The clock of a network interface (a PTP hardware clock), by which it stamps packets: converts its times to the clock of the
//! same node that nobody corrects.
//!
//! The two clocks are read together a few times a second. Between two readings a stamp is converted along the straight line
//! through both. Its error is the window in which the clocks were read, and how far the clock can have been off that line: by a
//! correction of its rate, by whatever program, or by a small step. Across a larger step nothing is converted, and neither is a
//! stamp before the first reading or after the last one.
//!
//! What that needs: corrections that are taken back between two readings are no larger than [`HIDDEN_PPB`], and nobody sets the
//! clock by less than readings can show, some eight times the error of one.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use sync::bound::{ClockReading, OffsetBounds};
use units::clamp_i64;

use crate::scale::{Uncorrected, part_ns};

/// Readings that are kept: those of the last seconds, far longer than any packet waits.
const KEPT: usize = 128;
/// A stamp of the interface and the kernel's stamp of the same packet are no further apart than this (ns): packets wait in a
/// driver's ring for milliseconds at most.
const MOST_APART_NS: i64 = 100_000_000;
/// Corrections that cancel each other between two readings are taken to be no larger than this (parts per billion): services
/// change theirs a few times a second at most.
const HIDDEN_PPB: i64 = 1_000;
/// What the rounding of a stamp and of two readings to whole nanoseconds makes (ns).
const ROUNDING_NS: i64 = 2;

/// Both clocks of a node, read together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct HardwareReading {
    /// The clock that nobody corrects, `CLOCK_MONOTONIC_RAW` (ns).
    pub raw_ns: i64,
    /// The interface's clock at the same moment (ns of its own epoch).
    pub clock_ns: i64,
    /// By how much the interface's clock can have shown more or less then (ns).
    pub error_ns: i64,
    /// By how much the rate of the interface's clock is corrected, as the kernel states it (parts per billion).
    pub correction_ppb: i64,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    reading: HardwareReading,
    /// The clock was set between the reading before and this one.
    is_after_step: bool,
}

/// Converts times of an interface's clock to the uncorrected clock of its node.
#[derive(Clone, Debug)]
pub struct HardwareScale {
    held: VecDeque<Held>,
    /// Tells a step from a correction of the rate.
    rates: OffsetBounds,
}

impl Default for HardwareScale {
    fn default() -> Self {
        Self { held: VecDeque::new(), rates: OffsetBounds::new(0) }
    }
}

/// What two neighboring readings say of the time between them.
#[derive(Clone, Copy)]
struct Stretch {
    from: HardwareReading,
    to: HardwareReading,
}

impl Stretch {
    const fn raw_ns(self) -> i64 {
        self.to.raw_ns.saturating_sub(self.from.raw_ns)
    }

    const fn clock_ns(self) -> i64 {
        self.to.clock_ns.saturating_sub(self.from.clock_ns)
    }

    const fn errors_ns(self) -> i64 {
        self.from.error_ns.saturating_add(self.to.error_ns)
    }

    /// How much more or less the clock passed here than the rate of another stretch makes of the same time (ns), and how much of
    /// that the errors of the readings can have made.
    fn unlike(self, other: Self) -> (i64, i64) {
        let scaled =
            |ns: i64| clamp_i64(i128::from(ns) * i128::from(self.raw_ns()) / i128::from(other.raw_ns().max(1)));
        let unlike_ns = self.clock_ns().saturating_sub(scaled(other.clock_ns())).saturating_abs();
        (unlike_ns, self.errors_ns().saturating_add(scaled(other.errors_ns())))
    }
}

impl HardwareScale {
    /// Takes the next reading. Returns by how much the clock was set since the last one (ns), if no correction of its rate
    /// explains the change.
    pub fn take(&mut self, reading: HardwareReading) -> Option<i64> {
        if self.held.back().is_some_and(|last| reading.raw_ns <= last.reading.raw_ns) {
            return None;
        }
        let HardwareReading { raw_ns, clock_ns, error_ns, correction_ppb } = reading;
        self.rates.state_correction(Some(correction_ppb));
        let step_ns = self.rates.compare(ClockReading { raw_ns, clock_ns, error_ns });
        if self.held.len() == KEPT {
            self.held.pop_front();
        }
        self.held.push_back(Held { reading, is_after_step: step_ns.is_some() });
        step_ns
    }

    /// Whether what was stamped at about `near_ns` of the uncorrected clock need not wait for another reading.
    #[must_use]
    pub fn is_settled(&self, near_ns: i64) -> bool {
        // The interface sends a packet after the kernel has stamped it: most within a few microseconds.
        const AFTER_NS: i64 = 20_000_000;
        let after = self.held.partition_point(|held| held.reading.raw_ns <= near_ns.saturating_add(AFTER_NS));
        // A stretch is converted along where the one before or after it shows that the clock went straight.
        let has_neighbor = after == 0 || self.stretch_to(after - 1).is_some() || self.held.get(after + 1).is_some();
        after < self.held.len() && has_neighbor
    }

    /// The moment of a stamp on the uncorrected clock; `near_ns` is the kernel's stamp of the same packet, on that clock. `None`
    /// if no readings lie around it, or the clock was set at about that time.
    #[must_use]
    pub fn uncorrected(&self, stamp_ns: i64, near_ns: i64) -> Option<Uncorrected> {
        let (earliest_ns, latest_ns) = (near_ns.saturating_sub(MOST_APART_NS), near_ns.saturating_add(MOST_APART_NS));
        let first = self.held.partition_point(|held| held.reading.raw_ns <= earliest_ns).max(1);
        let mut found = None;
        for at in first..self.held.len() {
            let (before, after) = (self.held.get(at - 1)?, self.held.get(at)?);
            if before.reading.raw_ns >= latest_ns {
                break;
            }
            if after.is_after_step {
                return None;
            }
            if (before.reading.clock_ns..after.reading.clock_ns).contains(&stamp_ns) {
                found = self.between(at, stamp_ns);
            }
        }
        found.filter(|found| found.ns.abs_diff(near_ns) <= MOST_APART_NS.unsigned_abs())
    }

    /// The stretch that ends with a reading; `None` if the clock was set in it.
    fn stretch_to(&self, at: usize) -> Option<Stretch> {
        let (before, after) = (self.held.get(at.checked_sub(1)?)?, self.held.get(at)?);
        (!after.is_after_step).then_some(Stretch { from: before.reading, to: after.reading })
    }

    fn between(&self, at: usize, stamp_ns: i64) -> Option<Uncorrected> {
        let here = self.stretch_to(at)?;
        let beside = [self.stretch_to(at.checked_sub(1)?), self.stretch_to(at + 1)];
        let passed_ns = stamp_ns.saturating_sub(here.from.clock_ns);
        let along_ns =
            clamp_i64(i128::from(here.raw_ns()) * i128::from(passed_ns) / i128::from(here.clock_ns().max(1)));
        let nearer_ns = along_ns.min(here.raw_ns().saturating_sub(along_ns));
        let stretches = || beside.into_iter().flatten();
        // Without a neighbor nothing shows that the clock went straight.
        stretches().next()?;
        let corrections = || stretches().chain([here]).flat_map(|one| [one.from.correction_ppb, one.to.correction_ppb]);
        let swing_ppb = corrections().max()?.saturating_sub(corrections().min()?);
        // What neither the corrections nor the windows explain was a small step, at any moment in between: in this stretch, or in the
        // one beside it, of which a clock that was set back shows a part once more.
        let step = |one: Stretch, other: Stretch| {
            let (unlike_ns, by_errors_ns) = one.unlike(other);
            let unexplained_ns = unlike_ns.saturating_sub(part_ns(one.raw_ns(), swing_ppb));
            (unexplained_ns > by_errors_ns).then(|| unlike_ns.saturating_add(by_errors_ns))
        };
        let steps = stretches().flat_map(|other| [step(here, other), step(other, here)]);
        let step_ns = steps.flatten().max().unwrap_or(0);
        let bend_ns = part_ns(nearer_ns, swing_ppb.saturating_add(HIDDEN_PPB)).saturating_add(step_ns);
        let window_ns = here.from.error_ns.max(here.to.error_ns);
        Some(Uncorrected {
            ns: here.from.raw_ns.saturating_add(along_ns),
            error_ns: window_ns.saturating_add(bend_ns).saturating_add(ROUNDING_NS),
        })
    }
}

#[cfg(test)]
mod tests;
