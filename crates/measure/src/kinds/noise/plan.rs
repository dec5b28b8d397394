//! Validates what was asked of `noise`. Pure.

use kernel::sched::Policy;
use record::{NoiseRequest, Requested};
use units::{ClockId, CpuSet, Ns};

use crate::machine::Machine;

/// The longest interval of a record (ns).
const LONGEST_INTERVAL_NS: u64 = 300_000_000_000;

/// Why noise cannot be measured so.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoisePlanError {
    /// A CPU that cannot be used.
    #[error("CPUs {absent} cannot be measured: usable are {usable}")]
    Cpus {
        /// Those that cannot be used.
        absent: CpuSet,
        /// Those that can.
        usable: CpuSet,
    },
    /// No CPU at all.
    #[error("the list of CPUs is empty: name at least one, for example --cpus 1")]
    NoCpus,
    /// Out of range.
    #[error("{what} is {value}: it must lie between {from} and {to}")]
    Range {
        /// Name of the field.
        what: &'static str,
        /// The value that was given.
        value: Ns,
        /// The smallest allowed value.
        from: Ns,
        /// The largest allowed value.
        to: Ns,
    },
    /// Priority out of range.
    #[error("priority {0} is out of range: real-time priorities are 1 to 99")]
    Priority(u32),
    /// A loop that never sleeps on every CPU, at real-time priority.
    #[error(
        "a FIFO loop that never sleeps on every CPU would lock the machine up: leave at least one of {usable} out with --cpus, or measure as SCHED_OTHER"
    )]
    NothingLeft {
        /// All usable CPUs.
        usable: CpuSet,
    },
}

/// A validated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoisePlan {
    /// CPUs to measure, one thread each.
    pub cpus: CpuSet,
    /// CPUs of the controller.
    pub housekeeping: CpuSet,
    /// How long (ns); `None`: until it is ended.
    pub duration_ns: Option<u64>,
    /// Gaps below this are not counted (ns).
    pub threshold_ns: i64,
    /// Length of an interval of the record (ns).
    pub interval_maximum_ns: u64,
    /// Real-time priority of SCHED_FIFO; `None` is SCHED_OTHER.
    pub priority: Option<u32>,
    /// What was asked.
    pub(crate) request: NoiseRequest,
}

impl NoisePlan {
    /// Validates `config` for `machine`.
    ///
    /// # Errors
    /// Whatever could not mean what it says, or would be unsafe, on this machine.
    pub fn new(config: &NoiseRequest, machine: &Machine) -> Result<Self, NoisePlanError> {
        let usable = machine.usable();
        let isolated = machine.isolated.intersection(&usable);
        let cpus = match &config.cpus {
            Some(cpus) => cpus.clone(),
            None if !isolated.is_empty() => isolated,
            None => usable.clone(),
        };
        if cpus.is_empty() {
            return Err(NoisePlanError::NoCpus);
        }
        let absent = cpus.difference(&usable);
        if !absent.is_empty() {
            return Err(NoisePlanError::Cpus { absent, usable });
        }
        for (what, value, from, to) in [
            ("the duration", config.duration.limit(), Ns::from_ms(10), Ns::from_s(86_400)),
            ("the threshold", Some(config.threshold), Ns(1), Ns::from_s(1)),
            ("the deadline", config.deadline, Ns(1), Ns::from_s(86_400)),
        ] {
            if let Some(value) = value.filter(|value| *value < from || *value > to) {
                return Err(NoisePlanError::Range { what, value, from, to });
            }
        }
        if let Some(priority) = config.priority {
            if !(1..=99).contains(&priority) {
                return Err(NoisePlanError::Priority(priority));
            }
            if usable.is_subset(&cpus) {
                return Err(NoisePlanError::NothingLeft { usable });
            }
        }
        let duration_ns = config.duration.limit().map(Ns::unsigned);
        Ok(Self {
            housekeeping: machine.housekeeping(&cpus),
            cpus,
            duration_ns,
            threshold_ns: config.threshold.0,
            interval_maximum_ns: duration_ns
                .map_or(LONGEST_INTERVAL_NS, |ns| (ns / 60).clamp(1_000_000, LONGEST_INTERVAL_NS)),
            priority: config.priority,
            request: config.clone(),
        })
    }

    /// Scheduling policy of the measuring threads.
    #[must_use]
    pub fn policy(&self) -> Policy {
        self.priority.map_or(Policy::Other, Policy::Fifo)
    }

    pub(crate) fn requested(&self) -> Requested {
        Requested {
            cpus: self.cpus.clone(),
            threads: u32::try_from(self.cpus.len()).unwrap_or(u32::MAX),
            policy: self.policy().name().to_owned(),
            priority: self.policy().priority(),
            pinned: true,
            clock: Some(ClockId::Monotonic),
            duration_ns: self.duration_ns,
            interval_maximum_ns: Some(self.interval_maximum_ns),
            threshold_ns: u64::try_from(self.threshold_ns).ok(),
            deadline_ns: self.request.deadline.map(Ns::unsigned),
            ..Requested::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use record::RunLength;

    use super::*;

    fn machine(cpus: &str) -> Machine {
        let cpus: CpuSet = cpus.parse().unwrap();
        Machine {
            online: cpus.clone(),
            present: cpus.clone(),
            isolated: CpuSet::new(),
            allowed: cpus,
            timer_resolution_ns: 1,
            available_bytes: 1 << 30,
        }
    }

    fn plan(change: impl FnOnce(&mut NoiseRequest)) -> Result<NoisePlan, NoisePlanError> {
        let mut config = NoiseRequest::default();
        change(&mut config);
        NoisePlan::new(&config, &machine("0-1"))
    }

    #[test]
    fn a_fifo_loop_never_gets_every_cpu() {
        assert!(matches!(plan(|c| c.priority = Some(50)), Err(NoisePlanError::NothingLeft { .. })));
        let one = plan(|c| (c.priority, c.cpus) = (Some(50), "1".parse().ok())).unwrap();
        assert_eq!(one.housekeeping.to_string(), "0");
        assert!(plan(|_| {}).is_ok(), "SCHED_OTHER leaves room by itself");
    }

    #[test]
    fn bounds_are_kept() {
        assert!(matches!(plan(|c| c.duration = RunLength::For(Ns::from_us(5))), Err(NoisePlanError::Range { .. })));
        assert!(matches!(plan(|c| c.threshold = Ns::ZERO), Err(NoisePlanError::Range { .. })));
        assert!(matches!(plan(|c| c.cpus = "7".parse().ok()), Err(NoisePlanError::Cpus { .. })));
        assert!(matches!(plan(|c| c.cpus = Some(CpuSet::new())), Err(NoisePlanError::NoCpus)));
        assert!(matches!(
            plan(|c| (c.priority, c.cpus) = (Some(0), "1".parse().ok())),
            Err(NoisePlanError::Priority(0))
        ));
    }
}
