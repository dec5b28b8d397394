//! Validates what was asked of `event` against the machine, and sizes every buffer. Pure.

use kernel::sched::Policy;
use record::{CpuPair, EventRequest, PairPlacement, Place, PolicyChoice, Requested};
use units::{CpuSet, Ns, format};

use crate::crew::plan::{Asked, CpusError, Length, LengthError, check_usable, policy_with};
use crate::machine::Machine;

/// The shortest interval that is accepted: a sleep, a hand-over and the way back to waiting take some microseconds.
const MIN_INTERVAL_NS: u64 = 20_000;
/// Pairs of a run.
const MOST_PAIRS: usize = 1_024;

/// Why hand-overs cannot be measured so; each says what to change.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EventPlanError {
    /// A CPU that cannot be used.
    #[error(transparent)]
    Cpus(#[from] CpusError),
    /// No CPU at all.
    #[error("the list of CPUs is empty: name at least one, for example --cpus 1")]
    NoCpus,
    /// A pair that is asked for twice.
    #[error("the pair {},{} is asked for twice", .0.waker, .0.woken)]
    Twice(CpuPair),
    /// More pairs than can be.
    #[error("{0} pairs of threads cannot measure: ask for at most {MOST_PAIRS}")]
    Pairs(usize),
    /// An interval that is too short for a hand-over, or for this machine's timers.
    #[error("the interval {interval} is below {}: {why}", format::span(*.minimum_ns))]
    Interval {
        /// What was asked.
        interval: Ns,
        /// The shortest that is accepted (ns).
        minimum_ns: u64,
        /// Where the bound comes from.
        why: &'static str,
    },
    /// A length that the run cannot have.
    #[error(transparent)]
    Length(#[from] LengthError),
    /// Priority out of range.
    #[error("priority {0} is out of range: a woken thread takes 2 to 99, and its waker one less")]
    Priority(u32),
    /// SCHED_DEADLINE, which has no order of two threads.
    #[error("SCHED_DEADLINE has no priorities, and the woken thread has to be above its waker: take fifo, rr or other")]
    Deadline,
}

/// One pair of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairPlan {
    /// Number of the pair, from 0.
    pub pair: u32,
    /// Where its threads run.
    pub cpus: CpuPair,
    /// From the start of the run to its first schedule (ns).
    pub first_offset_ns: i64,
}

impl PairPlan {
    /// Where it is, for the record.
    pub(crate) const fn place(&self) -> Place {
        Place::Pair { cpu: self.cpus.woken, waker_cpu: self.cpus.waker, pair: self.pair }
    }
}

/// A validated run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventPlan {
    /// The pairs of threads.
    pub pairs: Vec<PairPlan>,
    /// CPUs of all threads.
    pub measured: CpuSet,
    /// CPUs of the controller.
    pub housekeeping: CpuSet,
    /// How long it lasts, and how its record is cut.
    pub length: Length,
    /// What was asked.
    pub request: EventRequest,
}

impl EventPlan {
    /// Validates `request` for `machine`.
    ///
    /// # Errors
    /// Whatever could not mean what it says on this machine, before anything is touched.
    pub fn new(request: EventRequest, machine: &Machine) -> Result<Self, EventPlanError> {
        check_interval(&request, machine)?;
        check_ranks(&request)?;
        let EventRequest { end, interval, deadline, interval_maximum, .. } = request;
        let length = Length::of(Asked { end, interval, deadline, interval_maximum })?;
        let cpus = pairs_of(&request, machine)?;
        let all = i64::try_from(cpus.len()).unwrap_or(i64::MAX);
        let pairs: Vec<PairPlan> = (0_u32..)
            .zip(&cpus)
            .map(|(pair, cpus)| PairPlan {
                pair,
                cpus: *cpus,
                first_offset_ns: length.interval_ns / all * i64::from(pair),
            })
            .collect();
        let measured: CpuSet = cpus.iter().flat_map(|pair| [pair.waker, pair.woken]).collect();
        Ok(Self { housekeeping: machine.housekeeping(&measured), pairs, measured, length, request })
    }

    /// Scheduling policy of the woken threads.
    #[must_use]
    pub const fn policy(&self) -> Policy {
        self.with_priority(self.request.priority)
    }

    /// That of their wakers: one priority less, so that on one CPU the woken thread runs at once.
    pub(crate) const fn policy_of_wakers(&self) -> Policy {
        self.with_priority(self.request.priority.saturating_sub(1))
    }

    const fn with_priority(&self, priority: u32) -> Policy {
        policy_with(self.request.policy, priority)
    }

    /// What the record says was asked.
    pub(crate) fn requested(&self) -> Requested {
        // What is measured is the woken threads; the others may be elsewhere.
        let woken = self.pairs.iter().map(|pair| pair.cpus.woken).collect();
        self.length.requested(woken, 2 * self.pairs.len(), self.policy(), self.request.deadline)
    }
}

fn check_interval(request: &EventRequest, machine: &Machine) -> Result<(), EventPlanError> {
    let interval_ns = request.interval.unsigned();
    let (minimum_ns, why) = if machine.timer_resolution_ns > MIN_INTERVAL_NS / 2 {
        (2 * machine.timer_resolution_ns, "two ticks, since this kernel runs without high-resolution timers")
    } else {
        (MIN_INTERVAL_NS, "a sleep, a hand-over and the way back to waiting take some microseconds")
    };
    if interval_ns < minimum_ns {
        return Err(EventPlanError::Interval { interval: request.interval, minimum_ns, why });
    }
    Ok(())
}

fn check_ranks(request: &EventRequest) -> Result<(), EventPlanError> {
    match request.policy {
        PolicyChoice::Fifo | PolicyChoice::RoundRobin if !(2..=99).contains(&request.priority) => {
            Err(EventPlanError::Priority(request.priority))
        }
        PolicyChoice::Deadline { .. } => Err(EventPlanError::Deadline),
        _ => Ok(()),
    }
}

/// The CPUs of each pair.
fn pairs_of(request: &EventRequest, machine: &Machine) -> Result<Vec<CpuPair>, EventPlanError> {
    let usable = machine.usable();
    let on_each = |cpus: &CpuSet| cpus.iter().map(|cpu| CpuPair { waker: cpu, woken: cpu }).collect::<Vec<CpuPair>>();
    let pairs = match &request.placement {
        PairPlacement::Default => {
            let isolated = machine.isolated.intersection(&usable);
            on_each(if isolated.is_empty() { &usable } else { &isolated })
        }
        PairPlacement::Pinned(cpus) => on_each(cpus),
        PairPlacement::Between(pairs) => pairs.clone(),
    };
    if pairs.is_empty() {
        return Err(EventPlanError::NoCpus);
    }
    if pairs.len() > MOST_PAIRS {
        return Err(EventPlanError::Pairs(pairs.len()));
    }
    check_usable(&pairs.iter().flat_map(|pair| [pair.waker, pair.woken]).collect(), &usable)?;
    let again = pairs.iter().enumerate().find(|(at, pair)| pairs[..*at].contains(pair));
    again.map_or(Ok(()), |(_, pair)| Err(EventPlanError::Twice(*pair)))?;
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    use record::RunEnd;

    use super::*;

    fn plan(change: impl FnOnce(&mut EventRequest)) -> Result<EventPlan, EventPlanError> {
        let cpus: CpuSet = "0-3".parse().unwrap();
        let machine = Machine {
            online: cpus.clone(),
            present: cpus.clone(),
            isolated: "2-3".parse().unwrap(),
            allowed: cpus,
            timer_resolution_ns: 1,
            available_bytes: 1 << 30,
        };
        let mut request = EventRequest::default();
        change(&mut request);
        EventPlan::new(request, &machine)
    }

    #[test]
    fn both_threads_of_a_pair_are_on_one_cpu_unless_two_are_named_and_the_woken_one_is_above_its_waker() {
        let default = plan(|_| ()).unwrap();
        let places: Vec<String> = default.pairs.iter().map(|pair| pair.place().to_string()).collect();
        assert_eq!(places, ["CPU 2", "CPU 3"]);
        assert_eq!((default.policy(), default.policy_of_wakers()), (Policy::Fifo(98), Policy::Fifo(97)));
        // Their schedules are spread over the interval.
        assert_eq!(default.pairs[1].first_offset_ns, 500_000);
        assert_eq!(default.housekeeping.to_string(), "0-1");
        let between = plan(|r| r.placement = PairPlacement::Between(vec![CpuPair { waker: 1, woken: 2 }])).unwrap();
        assert_eq!(between.pairs[0].place().to_string(), "CPU 1 to 2");
        assert_eq!((between.measured.to_string(), between.requested().threads), ("1-2".to_owned(), 2));
        assert_eq!(between.requested().cpus.to_string(), "2", "a CPU whose thread only wakes has no samples");
    }

    #[test]
    fn what_could_not_mean_what_it_says_is_refused() {
        let pair = CpuPair { waker: 1, woken: 2 };
        for (wrong, what) in [
            (plan(|r| r.placement = PairPlacement::Pinned("7".parse().unwrap())), "usable are 0-3"),
            (plan(|r| r.placement = PairPlacement::Pinned(CpuSet::new())), "name at least one"),
            (plan(|r| r.placement = PairPlacement::Between(vec![pair, pair])), "1,2 is asked for twice"),
            (plan(|r| r.priority = 1), "one less"),
            (plan(|r| r.policy = PolicyChoice::Deadline { runtime: Ns::from_us(20) }), "no priorities"),
            (plan(|r| r.interval = Ns::from_us(10)), "is below 20"),
            (plan(|r| r.interval = Ns::ZERO), "is below 20"),
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
