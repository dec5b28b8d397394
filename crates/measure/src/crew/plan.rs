//! What the plans of kinds that measure by threads with rings have in common: how long a run lasts, how its record is cut, and how
//! much a ring holds. Pure.

use kernel::sched::Policy;
use record::{PolicyChoice, Requested, RunEnd};
use units::{ClockId, CpuSet, Ns};

/// The longest interval of the record where none is asked: the farm's five minutes.
const MAX_DEFAULT_INTERVAL_MAXIMUM_NS: u64 = 300_000_000_000;
/// Into how many intervals a short run is cut where nothing is asked.
const DEFAULT_INTERVALS: u64 = 60;
/// Intervals that a run may have: each takes about a kilobyte for each latency.
const MOST_INTERVALS: u64 = 20_000;
/// How long a ring can take samples while the drain gets no CPU (ns).
pub(crate) const RING_NS: u64 = 10_000_000_000;
/// Bounds of a ring's places: 16 bytes each.
pub(crate) const RING_SLOTS: std::ops::RangeInclusive<u64> = 4_096..=262_144;

/// What was asked of how long a run lasts and how it is cut.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    /// When the run ends.
    pub(crate) end: RunEnd,
    /// Time from one sample to the next.
    pub(crate) interval: Ns,
    /// The limit that no latency may exceed.
    pub(crate) deadline: Option<Ns>,
    /// Length of an interval of the record.
    pub(crate) interval_maximum: Option<Ns>,
}

/// Why a run cannot have the length that was asked; each says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LengthError {
    /// A run shorter than two intervals.
    #[error("the run would last {duration}, less than two intervals of {interval}: lengthen --duration")]
    TooShort {
        /// What was asked.
        duration: Ns,
        /// Time from one sample to the next.
        interval: Ns,
    },
    /// No samples asked.
    #[error("{0} samples measure nothing: ask for at least 2")]
    NoSamples(u64),
    /// A time that is not above zero.
    #[error("{what} is {value}: it must be above zero")]
    NotPositive {
        /// Name of the field.
        what: &'static str,
        /// The value that was given.
        value: Ns,
    },
    /// More intervals than a record can have.
    #[error(
        "the run would be cut into {intervals} intervals; at most {MOST_INTERVALS} are kept: lengthen --interval-maximum"
    )]
    Intervals {
        /// How many intervals.
        intervals: u64,
    },
}

/// How long a run lasts, how its record is cut, and what its rings hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Length {
    /// When the run ends.
    pub end: RunEnd,
    /// Time that the run will take (ns), where it is known.
    pub duration_ns: Option<u64>,
    /// Time from one sample to the next (ns).
    pub interval_ns: i64,
    /// Length of an interval of the record (ns).
    pub interval_maximum_ns: u64,
    /// Places of a ring.
    pub(crate) ring_slots: usize,
}

impl Length {
    /// Of a run whose interval is possible.
    ///
    /// # Errors
    /// For a time that is not above zero, and a run with too few samples or too many intervals.
    pub(crate) fn of(asked: Asked) -> Result<Self, LengthError> {
        let Asked { end, interval, deadline, interval_maximum } = asked;
        for (what, value) in [("the deadline", deadline), ("the interval of maxima", interval_maximum)] {
            if let Some(value) = value.filter(|value| value.0 <= 0) {
                return Err(LengthError::NotPositive { what, value });
            }
        }
        let interval_ns = interval.unsigned().max(1);
        let duration_ns = match end {
            RunEnd::After(duration) if duration.unsigned() < 2 * interval_ns => {
                return Err(LengthError::TooShort { duration, interval });
            }
            RunEnd::After(duration) => Some(duration.unsigned()),
            RunEnd::Samples(samples @ (0 | 1)) => return Err(LengthError::NoSamples(samples)),
            RunEnd::Samples(samples) => Some(samples.saturating_mul(interval_ns)),
            RunEnd::WhenTold => None,
        };
        let interval_maximum_ns =
            interval_maximum.map_or_else(|| default_interval_maximum(duration_ns, interval_ns), Ns::unsigned);
        let intervals = duration_ns.map_or(0, |duration_ns| duration_ns / interval_maximum_ns + 1);
        if intervals > MOST_INTERVALS {
            return Err(LengthError::Intervals { intervals });
        }
        let slots = (RING_NS / interval_ns).clamp(*RING_SLOTS.start(), *RING_SLOTS.end());
        Ok(Self {
            end,
            duration_ns,
            interval_ns: signed(interval_ns),
            interval_maximum_ns,
            ring_slots: usize::try_from(slots).unwrap_or(4_096),
        })
    }

    /// Samples after which the run ends.
    pub(crate) const fn samples(&self) -> u64 {
        if let RunEnd::Samples(samples) = self.end { samples } else { u64::MAX }
    }

    /// Schedules that a run can have whose first one is so long after its start (ns); those beyond its end are none.
    pub(crate) fn most_schedules(&self, first_offset_ns: i64) -> u64 {
        match self.end {
            RunEnd::After(duration) => {
                u64::try_from(duration.0.saturating_sub(first_offset_ns) / self.interval_ns + 1).unwrap_or(0)
            }
            RunEnd::Samples(_) | RunEnd::WhenTold => u64::MAX,
        }
    }

    /// What the record says was asked: of a run with so many threads, of which those on these CPUs are measured.
    pub(crate) fn requested(&self, cpus: CpuSet, threads: usize, policy: Policy, deadline: Option<Ns>) -> Requested {
        Requested {
            cpus,
            threads: u32::try_from(threads).unwrap_or(u32::MAX),
            policy: policy.name().to_owned(),
            priority: policy.priority(),
            pinned: true,
            clock: Some(ClockId::Monotonic),
            interval_ns: Some(self.interval_ns.unsigned_abs()),
            duration_ns: if let RunEnd::After(duration) = self.end { Some(duration.unsigned()) } else { None },
            samples: if let RunEnd::Samples(samples) = self.end { Some(samples) } else { None },
            deadline_ns: deadline.map(Ns::unsigned),
            interval_maximum_ns: Some(self.interval_maximum_ns),
            ..Requested::default()
        }
    }
}

/// A policy of threads that measure, with a priority where it has one. `SCHED_DEADLINE` has no order of two threads, so that kinds
/// with several refuse it before.
pub(crate) const fn policy_with(choice: PolicyChoice, priority: u32) -> Policy {
    match choice {
        PolicyChoice::Fifo => Policy::Fifo(priority),
        PolicyChoice::RoundRobin => Policy::RoundRobin(priority),
        PolicyChoice::Other | PolicyChoice::Deadline { .. } => Policy::Other,
    }
}

/// min(5 minutes, duration / 60), never below ten of the loop's own intervals; for a run of unknown length 5 minutes.
pub(crate) fn default_interval_maximum(duration_ns: Option<u64>, interval_ns: u64) -> u64 {
    duration_ns
        .map_or(MAX_DEFAULT_INTERVAL_MAXIMUM_NS, |duration| duration / DEFAULT_INTERVALS)
        .min(MAX_DEFAULT_INTERVAL_MAXIMUM_NS)
        .max(interval_ns.saturating_mul(10))
}

/// A time that no run lasts is taken for the longest that can be counted.
pub(crate) fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// Why a run takes no such CPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("CPUs {absent} cannot be measured: usable are {usable}")]
pub struct CpusError {
    /// Those that cannot be used.
    absent: CpuSet,
    /// Those that can.
    usable: CpuSet,
}

/// Whether all of these CPUs can be measured.
///
/// # Errors
/// With those that cannot.
pub(crate) fn check_usable(cpus: &CpuSet, usable: &CpuSet) -> Result<(), CpusError> {
    let absent = cpus.difference(usable);
    if absent.is_empty() { Ok(()) } else { Err(CpusError { absent, usable: usable.clone() }) }
}

/// The CPU of a single measured thread where nothing is asked: the isolated one with the highest number, or the highest.
pub(crate) fn highest_cpu(machine: &crate::machine::Machine) -> Option<u32> {
    let usable = machine.usable();
    machine.isolated.intersection(&usable).last().or_else(|| usable.last())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn length(change: impl FnOnce(&mut Asked)) -> Result<Length, LengthError> {
        let mut asked = Asked {
            end: RunEnd::After(Ns::from_s(60)),
            interval: Ns::from_ms(1),
            deadline: None,
            interval_maximum: None,
        };
        change(&mut asked);
        Length::of(asked)
    }

    #[test]
    fn a_run_of_unknown_length_has_intervals_of_five_minutes() {
        assert_eq!(length(|of| of.end = RunEnd::WhenTold).unwrap().interval_maximum_ns, 300_000_000_000);
        assert_eq!(length(|_| ()).unwrap().interval_maximum_ns, 1_000_000_000);
        assert_eq!(length(|of| of.end = RunEnd::Samples(1_200)).unwrap().interval_maximum_ns, 20_000_000);
    }

    #[test]
    fn a_schedule_beyond_the_end_is_none() {
        let run = length(|of| of.end = RunEnd::After(Ns::from_ms(10))).unwrap();
        assert_eq!((run.most_schedules(0), run.most_schedules(1), run.most_schedules(10_000_000)), (11, 10, 1));
        assert_eq!(length(|of| of.end = RunEnd::Samples(5)).unwrap().most_schedules(0), u64::MAX);
    }

    #[test]
    fn a_length_that_could_not_mean_what_it_says_is_refused() {
        for (wrong, what) in [
            (length(|of| of.end = RunEnd::After(Ns::from_us(1_999))), "lengthen --duration"),
            (length(|of| of.end = RunEnd::Samples(1)), "at least 2"),
            (length(|of| of.deadline = Some(Ns::ZERO)), "the deadline is 0"),
            (length(|of| of.interval_maximum = Some(Ns(-1))), "the interval of maxima is -1"),
            (length(|of| of.interval_maximum = Some(Ns::from_ms(1))), "lengthen --interval-maximum"),
        ] {
            let error = wrong.unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
