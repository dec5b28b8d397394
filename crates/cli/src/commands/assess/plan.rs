//! How the time of `assess` is shared out.

use anyhow::bail;
use units::{Ns, format};

/// The least that says anything.
const LEAST: Ns = Ns::from_s(5);
/// The most that one sitting measures; a campaign is for more.
const MOST: Ns = Ns::from_s(30 * 86_400);
/// Clock cost and profile take about this long, whatever the time.
const FIXED: Ns = Ns::from_s(2);

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
        })
    }

    /// Time from the start of step `step` of `all` to the end.
    pub(crate) fn left_from(&self, step: u32, all: u32) -> Ns {
        let steps = [Some(Ns::ZERO), Some(FIXED), Some(self.idle), self.held, Some(self.loaded), Some(self.noise)];
        let steps: Vec<Ns> = steps.into_iter().flatten().collect();
        debug_assert_eq!(u32::try_from(steps.len()), Ok(all));
        let from = usize::try_from(step).unwrap_or(1).saturating_sub(1);
        Ns(steps.iter().skip(from).map(|time| time.0).sum())
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
            let all = 5 + u32::from(with_held);
            assert_eq!(plan.left_from(1, all), Ns::from_s(62));
            assert_eq!(plan.left_from(all, all), plan.noise);
        }
        assert!(TimePlan::new(Ns::from_s(1), true).is_err());
    }
}
