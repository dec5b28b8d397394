//! When a run whose threads do not end is given up, so that its record is made without them. Pure.

use std::time::{Duration, Instant};

use record::RunEnd;

/// How long after its end a run may take to end.
pub(crate) const GRACE: Duration = Duration::from_secs(3);

/// The moment from which on the threads of a run are taken for stuck.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GiveUp {
    at: Option<Instant>,
    /// How long a thread may take to come round to its end.
    last_turn: Duration,
    /// Whether samples that still come put it off.
    by_number: bool,
}

impl GiveUp {
    /// Of a run that begins now, is to take `duration_ns`, and whose threads look whether it is over once a `last_turn`.
    pub(crate) fn new(began: Instant, end: RunEnd, duration_ns: Option<u64>, last_turn: Duration) -> Self {
        let at = duration_ns.map(|ns| began + Duration::from_nanos(ns) + last_turn + GRACE);
        Self { at, last_turn, by_number: matches!(end, RunEnd::Samples(_)) }
    }

    /// Samples were taken. A number of them takes longer than planned where schedules are missed: as long as some come, no thread
    /// is stuck.
    pub(crate) fn took(&mut self, samples: u64, now: Instant) {
        if self.by_number && samples > 0 {
            self.at = self.at.max(Some(now + self.last_turn + GRACE));
        }
    }

    /// The threads were told to end.
    pub(crate) fn told(&mut self, now: Instant) {
        (self.at, self.by_number) = (Some(now + self.last_turn + GRACE), false);
    }

    /// Whether to go on without them.
    pub(crate) fn is_due(&self, now: Instant) -> bool {
        self.at.is_some_and(|at| now > at)
    }
}

#[cfg(test)]
mod tests {
    use units::Ns;

    use super::*;

    const TURN: Duration = Duration::from_millis(100);

    fn of(end: RunEnd) -> (GiveUp, Instant) {
        let began = Instant::now();
        (GiveUp::new(began, end, Some(10_000_000_000), TURN), began)
    }

    #[test]
    fn a_run_by_time_is_given_up_after_its_end_whatever_still_comes() {
        let (mut run, began) = of(RunEnd::After(Ns::from_s(10)));
        let late = began + Duration::from_millis(13_101);
        run.took(5, began + Duration::from_secs(12));
        assert!(!run.is_due(late - Duration::from_millis(2)) && run.is_due(late));
    }

    #[test]
    fn a_number_of_samples_may_take_longer_as_long_as_some_come() {
        let (mut run, began) = of(RunEnd::Samples(10_000));
        for second in 1..100 {
            let now = began + Duration::from_secs(second);
            assert!(!run.is_due(now), "{second}");
            run.took(1, now);
        }
        run.took(0, began + Duration::from_secs(101));
        let last = began + Duration::from_secs(99) + TURN + GRACE;
        assert!(!run.is_due(last) && run.is_due(last + Duration::from_millis(1)));
        run.told(last);
        run.took(1, last + GRACE);
        assert!(
            run.is_due(last + TURN + GRACE + Duration::from_millis(1)),
            "who was told is not waited for by samples"
        );
    }
}
