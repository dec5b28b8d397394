//! Validates what was asked of `answer` against the machine. Pure.

use codecs::latmon;
use kernel::sched::Policy;
use record::{AnswerRequest, Place, PolicyChoice, Requested};
use units::{CpuSet, Ns, format};

use crate::crew::plan::{Asked, CpusError, Length, LengthError, check_usable, highest_cpu, policy_with};
use crate::machine::Machine;

/// The shortest time between an answer and the next edge: a wake-up, two writes and the way back to waiting take longer on most.
const MIN_INTERVAL_NS: u64 = 20_000;
/// The longest, which is the witness's.
const MAX_INTERVAL_NS: u64 = 1_000 * latmon::MOST_PERIOD_US as u64;

/// Why answers cannot be measured so; each says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AnswerPlanError {
    /// A CPU that cannot be used.
    #[error(transparent)]
    Cpus(#[from] CpusError),
    /// An interval that a witness cannot be asked for.
    #[error(
        "the interval {interval} is not between {} and {} in whole microseconds: a witness takes no other, and without one it says how \
         often edges are expected",
        format::span(MIN_INTERVAL_NS),
        format::span(MAX_INTERVAL_NS)
    )]
    Interval {
        /// What was asked.
        interval: Ns,
    },
    /// A length that the run cannot have.
    #[error(transparent)]
    Length(#[from] LengthError),
    /// Priority out of range.
    #[error("priority {0} is out of range: real-time priorities are 1 to 99")]
    Priority(u32),
    /// SCHED_DEADLINE, whose threads have a timetable.
    #[error("SCHED_DEADLINE is for threads with a timetable, and the edges have none: take fifo, rr or other")]
    Deadline,
    /// The cost of a witness that there is not.
    #[error("a witness's cost is stated, and no witness: name it by --witness")]
    NoWitness,
    /// A cost that is below zero, or more than a witness waits.
    #[error("the witness's cost {cost} must be between 0 and {}", format::span(latmon::GIVEN_UP_AFTER_NS))]
    Cost {
        /// What was stated.
        cost: Ns,
    },
}

/// A validated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerPlan {
    /// The CPU of the thread that answers.
    pub cpu: u32,
    /// CPUs of the controller and of whoever talks to the witness.
    pub housekeeping: CpuSet,
    /// How long it lasts, and how its record is cut.
    pub length: Length,
    /// What was asked.
    pub request: AnswerRequest,
}

impl AnswerPlan {
    /// Validates `request` for `machine`.
    ///
    /// # Errors
    /// Whatever could not mean what it says on this machine, before anything is touched.
    pub fn new(request: AnswerRequest, machine: &Machine) -> Result<Self, AnswerPlanError> {
        let AnswerRequest { end, interval, deadline, interval_maximum, .. } = request;
        let interval_ns = interval.unsigned();
        if !(MIN_INTERVAL_NS..=MAX_INTERVAL_NS).contains(&interval_ns) || interval_ns % 1_000 != 0 {
            return Err(AnswerPlanError::Interval { interval });
        }
        match request.policy {
            PolicyChoice::Fifo | PolicyChoice::RoundRobin if !(1..=99).contains(&request.priority) => {
                return Err(AnswerPlanError::Priority(request.priority));
            }
            PolicyChoice::Deadline { .. } => return Err(AnswerPlanError::Deadline),
            _ => {}
        }
        if let Some(cost) = request.witness_cost {
            if request.witness.is_none() {
                return Err(AnswerPlanError::NoWitness);
            }
            if cost.0 < 0 || cost.unsigned() > latmon::GIVEN_UP_AFTER_NS {
                return Err(AnswerPlanError::Cost { cost });
            }
        }
        let length = Length::of(Asked { end, interval, deadline, interval_maximum })?;
        let cpu = request.cpu.or_else(|| highest_cpu(machine)).unwrap_or(0);
        let measured = CpuSet::from_iter([cpu]);
        check_usable(&measured, &machine.usable())?;
        Ok(Self { cpu, housekeeping: machine.housekeeping(&measured), length, request })
    }

    /// Where it is measured, for the record.
    pub(crate) const fn place(&self) -> Place {
        Place::thread(0, Some(self.cpu))
    }

    /// Scheduling policy of the thread that answers.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        policy_with(self.request.policy, self.request.priority)
    }

    /// What the record says was asked.
    pub(crate) fn requested(&self) -> Requested {
        self.length.requested(CpuSet::from_iter([self.cpu]), 1, self.policy(), self.request.deadline)
    }

    /// What a witness is asked for.
    pub(crate) fn of_witness(&self) -> latmon::Request {
        let period_us = u32::try_from(self.length.interval_ns / 1_000).unwrap_or(latmon::MOST_PERIOD_US);
        latmon::Request { period_us, cells: latmon::MOST_CELLS }
    }
}

#[cfg(test)]
mod tests {
    use record::RunEnd;

    use super::*;

    fn plan(change: impl FnOnce(&mut AnswerRequest)) -> Result<AnswerPlan, AnswerPlanError> {
        let cpus: CpuSet = "0-3".parse().unwrap();
        let machine = Machine {
            online: cpus.clone(),
            present: cpus.clone(),
            isolated: "2".parse().unwrap(),
            allowed: cpus,
            timer_resolution_ns: 1,
            available_bytes: 1 << 30,
        };
        let mut request = AnswerRequest::default();
        change(&mut request);
        AnswerPlan::new(request, &machine)
    }

    #[test]
    fn it_answers_on_the_isolated_cpu_and_asks_the_witness_for_its_interval() {
        let plan = plan(|_| ()).unwrap();
        assert_eq!((plan.cpu, &*plan.housekeeping.to_string(), plan.policy()), (2, "0-1,3", Policy::Fifo(98)));
        assert_eq!(plan.of_witness(), latmon::Request { period_us: 1_000, cells: 1_000 });
    }

    #[test]
    fn what_could_not_mean_what_it_says_is_refused() {
        for (wrong, what) in [
            (plan(|r| r.cpu = Some(7)), "CPUs 7 cannot be measured: usable are 0-3"),
            (plan(|r| r.priority = 0), "1 to 99"),
            (plan(|r| r.policy = PolicyChoice::Deadline { runtime: Ns::from_us(20) }), "no"),
            (plan(|r| r.interval = Ns::from_us(19)), "between 20.0 us and 1 s"),
            (plan(|r| r.interval = Ns(1_000_500)), "whole microseconds"),
            (plan(|r| r.interval = Ns(1_000_001_000)), "between"),
            (plan(|r| r.witness_cost = Some(Ns::from_us(3))), "--witness"),
            (plan(|r| (r.witness, r.witness_cost) = (Some("b".into()), Some(Ns(-1)))), "between 0"),
            (plan(|r| r.end = RunEnd::Samples(1)), "at least 2"),
        ] {
            let error = wrong.unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
