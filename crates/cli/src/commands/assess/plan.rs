//! How the time of `assess` is shared out, and how long all of it takes.

use anyhow::bail;
use run::load;
use units::{Ns, format};

/// The least that says anything.
const LEAST: Ns = Ns::from_s(5);
/// The most that one sitting measures; a campaign is for more.
const MOST: Ns = Ns::from_s(30 * 86_400);
/// Reading the machine takes about this long on a machine that is otherwise idle.
const READING: Ns = Ns::from_ms(150);
/// The cost of reading clocks takes about this long, whatever the time.
const CLOCKS: Ns = Ns::from_s(1);
/// Each run takes about this much longer than it measures: threads are armed before it, and its record is made after it.
const AROUND_RUN: Ns = Ns::from_ms(150);
/// A load's programs end within about this time.
const ENDING_LOAD: Ns = Ns::from_ms(400);
/// The conclusion, the records and the page take about this long.
const WRITING: Ns = Ns::from_ms(300);

/// Time of each step.
pub(crate) struct TimePlan {
    /// Wake-ups with nothing else to do.
    pub(crate) idle: Ns,
    /// The same with idle states disabled; absent where the machine has none.
    pub(crate) held: Option<Ns>,
    /// Wake-ups under load: the largest share, since worst cases live there.
    pub(crate) loaded: Ns,
    /// Gaps of a thread that never sleeps.
    pub(crate) noise: Ns,
    /// What measuring the cost of explaining takes before the first run.
    explaining: Ns,
}

impl TimePlan {
    /// Shares `time` out.
    pub(crate) fn new(time: Ns, with_held: bool) -> anyhow::Result<Self> {
        if time < LEAST || time > MOST {
            bail!("the time is {}: it must lie between {LEAST} and 30 days", format::span(time.0));
        }
        let part = |per_cent: i64| Ns(time.0 / 100 * per_cent);
        Ok(Self {
            idle: part(if with_held { 25 } else { 40 }),
            held: with_held.then(|| part(15)),
            loaded: part(50),
            noise: part(10),
            explaining: Ns::ZERO,
        })
    }

    /// The same with the time that measuring the cost of explaining takes: four runs.
    pub(crate) fn with_explaining(self, takes: Ns) -> Self {
        let around = if takes > Ns::ZERO { Ns(4 * AROUND_RUN.0) } else { Ns::ZERO };
        Self { explaining: Ns(takes.0 + around.0), ..self }
    }

    /// What each step takes in all, not only what it measures.
    fn steps(&self) -> Vec<Ns> {
        let run = |time: Ns| time.0 + AROUND_RUN.0;
        let warm_up = i64::try_from(load::WARM_UP.as_nanos()).unwrap_or(i64::MAX);
        let steps = [
            Some(READING.0),
            Some(CLOCKS.0),
            Some(self.explaining.0 + run(self.idle)),
            self.held.map(run),
            Some(warm_up + run(self.loaded) + ENDING_LOAD.0),
            Some(run(self.noise) + WRITING.0),
        ];
        steps.into_iter().flatten().map(Ns).collect()
    }

    /// Time from the start of step `step` of `all` to the end of the assessment. `taken` is what the steps before took: where
    /// they took longer than they measured and was expected, this machine is slow, and the steps to come are expected to be so.
    pub(crate) fn left_from(&self, step: u32, all: u32, taken: Ns) -> Ns {
        let steps = self.steps();
        debug_assert_eq!(u32::try_from(steps.len()), Ok(all));
        let done = usize::try_from(step).unwrap_or(1).saturating_sub(1).min(steps.len());
        let sum = |steps: &[Ns]| -> i64 { steps.iter().map(|time| time.0).sum() };
        let (before, left) = (sum(&steps[..done]), sum(&steps[done..]));
        // What is measured takes the same time on any machine; only the rest can be slower.
        let measured: Vec<Ns> =
            [Some(Ns::ZERO), Some(Ns::ZERO), Some(self.idle), self.held, Some(self.loaded), Some(self.noise)]
                .into_iter()
                .flatten()
                .collect();
        let (around_before, around_left) = (before - sum(&measured[..done]), left - sum(&measured[done..]));
        let over = (taken.0 - before).max(0);
        let slower = if around_before > 0 { over.saturating_mul(around_left.max(0)) / around_before } else { 0 };
        Ns(left + slower)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_the_time_is_used_and_no_more() {
        for with_held in [false, true] {
            let plan = TimePlan::new(Ns::from_s(60), with_held).unwrap();
            let used = plan.idle.0 + plan.held.map_or(0, |h| h.0) + plan.loaded.0 + plan.noise.0;
            assert_eq!(used, 60_000_000_000);
        }
        assert!(TimePlan::new(Ns::from_s(1), true).is_err());
    }

    #[test]
    fn what_it_will_take_counts_all_that_is_waited_for_and_not_only_what_is_measured() {
        let plan = TimePlan::new(Ns::from_s(15), true).unwrap().with_explaining(Ns::from_s(1));
        let takes = plan.left_from(1, 6, Ns::ZERO);
        // The measured time, the load's warm-up, the runs that measure the cost of explaining, the clocks; and not much besides.
        let waited = 15_000 + 1_500 + 1_000 + 1_000;
        assert!(takes >= Ns::from_ms(waited) && takes <= Ns::from_ms(waited + 2_500), "{takes}");
        let without = TimePlan::new(Ns::from_s(15), true).unwrap().left_from(1, 6, Ns::ZERO);
        assert!(without <= Ns(takes.0 - 1_000_000_000), "{without}");
        // Each step takes its own time, and steps as expected change nothing.
        let mut taken = Ns::ZERO;
        for (step, its) in (1..).zip(plan.steps()) {
            assert_eq!(plan.left_from(step, 6, taken), Ns(takes.0 - taken.0));
            taken = Ns(taken.0 + its.0);
        }
    }

    #[test]
    fn on_a_slow_machine_what_is_measured_takes_no_longer() {
        let plan = TimePlan::new(Ns::from_s(60), false).unwrap();
        let expected = plan.left_from(4, 5, Ns(plan.left_from(1, 5, Ns::ZERO).0 - plan.left_from(4, 5, Ns::ZERO).0));
        // All that stood around the first three steps took three times as long.
        let around = 60_000_000_000 / 100 * 40;
        let before = plan.left_from(1, 5, Ns::ZERO).0 - expected.0;
        let slow = plan.left_from(4, 5, Ns(around + 3 * (before - around)));
        let last = plan.loaded.0 + plan.noise.0;
        assert_eq!(slow.0 - last, 3 * (expected.0 - last));
    }
}
