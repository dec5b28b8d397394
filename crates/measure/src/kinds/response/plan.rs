//! Validates what was asked of `response` against the machine, and sizes every buffer. Pure.

use kernel::sched::Policy;
use record::{Place, PolicyChoice, Requested, ResponseRequest};
use units::{CpuSet, Ns, format};

use crate::crew::plan::{Asked, CpusError, Length, LengthError, check_usable, highest_cpu, policy_with, signed};
use crate::machine::Machine;

/// The shortest interval that is accepted: in each the line is switched on and off, with a sleep before either.
const MIN_INTERVAL_NS: u64 = 100_000;
/// An edge is given up after so many intervals, and not before so long (ns): far beyond any response that a user waits for.
const LOST_AFTER_INTERVALS: u64 = 10;
const LOST_AFTER_NS: u64 = 100_000_000;

/// Why a response cannot be measured so; each says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResponsePlanError {
    /// A CPU that cannot be used.
    #[error(transparent)]
    Cpus(#[from] CpusError),
    /// An interval that is too short for two sleeps and two writes.
    #[error("the interval {interval} is below {}: the line is switched twice in it", format::span(*.minimum_ns))]
    Interval {
        /// What was asked.
        interval: Ns,
        /// The shortest that is accepted (ns).
        minimum_ns: u64,
    },
    /// A length that the run cannot have.
    #[error(transparent)]
    Length(#[from] LengthError),
    /// Priority out of range.
    #[error("priority {0} is out of range: the waiting thread takes 2 to 99, and the one that makes the edges has 1")]
    Priority(u32),
    /// SCHED_DEADLINE, which has no order of two threads.
    #[error(
        "SCHED_DEADLINE has no priorities, and the waiting thread has to be above the acting one: take fifo, rr or other"
    )]
    Deadline,
}

/// A validated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResponsePlan {
    /// The CPU of the thread that waits for the edges: the measured one.
    pub cpu: u32,
    /// The CPU of the thread that makes them.
    pub acting_cpu: u32,
    /// CPUs of the controller.
    pub housekeeping: CpuSet,
    /// How long it lasts, and how its record is cut.
    pub length: Length,
    /// An edge of which no event came so long after it is given up (ns).
    pub(crate) lost_after_ns: i64,
    /// What was asked.
    pub request: ResponseRequest,
}

impl ResponsePlan {
    /// Validates `request` for `machine`.
    ///
    /// # Errors
    /// Whatever could not mean what it says on this machine, before anything is touched.
    pub fn new(request: ResponseRequest, machine: &Machine) -> Result<Self, ResponsePlanError> {
        let interval_ns = check_interval(&request, machine)?;
        check_ranks(&request)?;
        let ResponseRequest { end, interval, deadline, interval_maximum, .. } = request;
        let length = Length::of(Asked { end, interval, deadline, interval_maximum })?;
        let (cpu, acting_cpu) = cpus_of(&request, machine)?;
        let measured = CpuSet::from_iter([cpu]);
        // Off both CPUs where a third is left; with the acting thread before it is on the measured CPU.
        let apart = machine.housekeeping(&CpuSet::from_iter([cpu, acting_cpu]));
        let housekeeping = if apart.contains(cpu) { machine.housekeeping(&measured) } else { apart };
        let lost_after_ns = interval_ns.saturating_mul(LOST_AFTER_INTERVALS).max(LOST_AFTER_NS);
        Ok(Self { cpu, acting_cpu, housekeeping, length, lost_after_ns: signed(lost_after_ns), request })
    }

    /// Where it is measured, for the record.
    pub(crate) const fn place(&self) -> Place {
        Place::Pair { cpu: self.cpu, waker_cpu: self.acting_cpu, pair: 0 }
    }

    /// The CPUs of both threads.
    pub(crate) fn both(&self) -> CpuSet {
        CpuSet::from_iter([self.cpu, self.acting_cpu])
    }

    /// Scheduling policy of the waiting thread.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        self.with_priority(self.request.priority)
    }

    /// That of the acting thread: above ordinary threads, so that none runs between its reading and its write; below the kernel's
    /// threads of interrupts (50 where nobody changed it), which may have to run on its CPU to report the edge.
    pub(crate) const fn policy_of_acting(&self) -> Policy {
        self.with_priority(1)
    }

    const fn with_priority(&self, priority: u32) -> Policy {
        policy_with(self.request.policy, priority)
    }

    /// What the record says was asked.
    pub(crate) fn requested(&self) -> Requested {
        self.length.requested(CpuSet::from_iter([self.cpu]), 2, self.policy(), self.request.deadline)
    }
}

fn check_interval(request: &ResponseRequest, machine: &Machine) -> Result<u64, ResponsePlanError> {
    // Without high-resolution timers either sleep takes a tick at least.
    let minimum_ns = MIN_INTERVAL_NS.max(4 * machine.timer_resolution_ns);
    let interval_ns = request.interval.unsigned();
    if interval_ns < minimum_ns {
        return Err(ResponsePlanError::Interval { interval: request.interval, minimum_ns });
    }
    Ok(interval_ns)
}

fn check_ranks(request: &ResponseRequest) -> Result<(), ResponsePlanError> {
    match request.policy {
        PolicyChoice::Fifo | PolicyChoice::RoundRobin if !(2..=99).contains(&request.priority) => {
            Err(ResponsePlanError::Priority(request.priority))
        }
        PolicyChoice::Deadline { .. } => Err(ResponsePlanError::Deadline),
        _ => Ok(()),
    }
}

/// The CPUs of the waiting and of the acting thread.
fn cpus_of(request: &ResponseRequest, machine: &Machine) -> Result<(u32, u32), ResponsePlanError> {
    let cpu = request.cpu.or_else(|| highest_cpu(machine)).unwrap_or(0);
    // All usable ones where the measured one is the only one.
    let others = || machine.housekeeping(&CpuSet::from_iter([cpu])).last();
    let acting_cpu = request.acting_cpu.or_else(others).unwrap_or(cpu);
    check_usable(&CpuSet::from_iter([cpu, acting_cpu]), &machine.usable())?;
    Ok((cpu, acting_cpu))
}

#[cfg(test)]
mod tests {
    use record::RunEnd;

    use super::*;

    fn plan(
        cpus: &str,
        isolated: &str,
        change: impl FnOnce(&mut ResponseRequest),
    ) -> Result<ResponsePlan, ResponsePlanError> {
        let cpus: CpuSet = cpus.parse().unwrap();
        let machine = Machine {
            online: cpus.clone(),
            present: cpus.clone(),
            isolated: isolated.parse().unwrap(),
            allowed: cpus,
            timer_resolution_ns: 1,
            available_bytes: 1 << 30,
        };
        let mut request = ResponseRequest::default();
        change(&mut request);
        ResponsePlan::new(request, &machine)
    }

    #[test]
    fn the_edges_are_made_on_another_cpu_where_there_is_one_and_the_controller_keeps_off_the_measured_one() {
        let check = |cpus, isolated, expected: (u32, u32, &str)| {
            let plan = plan(cpus, isolated, |_| ()).unwrap();
            assert_eq!((plan.cpu, plan.acting_cpu, &*plan.housekeeping.to_string()), expected, "{cpus}, {isolated}");
        };
        check("0-3", "2-3", (3, 1, "0"));
        check("0-3", "", (3, 2, "0-1"));
        check("0-1", "1", (1, 0, "0"));
        check("0-1", "", (1, 0, "0"));
        check("0", "", (0, 0, "0"));
        let asked = plan("0-3", "2-3", |r| (r.cpu, r.acting_cpu) = (Some(2), Some(2))).unwrap();
        assert_eq!((asked.place().to_string(), asked.housekeeping.to_string()), ("CPU 2".to_owned(), "0-1".to_owned()));
    }

    #[test]
    fn the_acting_thread_is_below_the_threads_of_interrupts_and_an_edge_is_given_up_late() {
        let fifo = plan("0-1", "", |_| ()).unwrap();
        assert_eq!((fifo.policy(), fifo.policy_of_acting()), (Policy::Fifo(98), Policy::Fifo(1)));
        assert_eq!(fifo.lost_after_ns, 100_000_000);
        let slow = plan("0-1", "", |r| (r.interval, r.policy) = (Ns::from_ms(50), PolicyChoice::Other)).unwrap();
        assert_eq!((slow.policy_of_acting(), slow.lost_after_ns), (Policy::Other, 500_000_000));
        let endless = plan("0-1", "", |r| r.end = RunEnd::WhenTold).unwrap();
        assert_eq!(
            (endless.length.interval_maximum_ns, fifo.length.interval_maximum_ns),
            (300_000_000_000, 1_000_000_000)
        );
    }

    #[test]
    fn what_could_not_mean_what_it_says_is_refused() {
        let plan = |change: fn(&mut ResponseRequest)| plan("0-3", "2-3", change);
        for (wrong, what) in [
            (plan(|r| r.cpu = Some(7)), "CPUs 7 cannot be measured: usable are 0-3"),
            (plan(|r| r.acting_cpu = Some(8)), "CPUs 8 cannot"),
            (plan(|r| r.priority = 1), "2 to 99"),
            (plan(|r| r.policy = PolicyChoice::Deadline { runtime: Ns::from_us(20) }), "no priorities"),
            (plan(|r| r.interval = Ns::from_us(99)), "is below 100"),
            (plan(|r| r.end = RunEnd::After(Ns::from_ms(1))), "lengthen --duration"),
            (plan(|r| r.end = RunEnd::Samples(1)), "at least 2"),
            (plan(|r| r.deadline = Some(Ns::ZERO)), "above zero"),
            (plan(|r| r.interval_maximum = Some(Ns::from_ms(1))), "lengthen --interval-maximum"),
        ] {
            let error = wrong.unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        }
    }
}
