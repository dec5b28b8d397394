//! Timer wake-up latency.

use measure::wakeup::{Armed, Beside as BesideWakeup, Plan, RunProducts};
use measure::{Decider, Machine, Stop};
use record::{Record, RunEnd, WakeupRequest};
use units::{Ns, format};

use super::{About, Explaining, Threads};
use crate::error::RunError;
use crate::prepared::Beside;
use crate::surroundings::Surroundings;
use crate::until_sure::UntilSure;

/// How long a run is to last, where that is known.
pub(super) fn length(request: &WakeupRequest) -> Option<Ns> {
    match request.end {
        RunEnd::After(length) => Some(length),
        RunEnd::Samples(samples) => i64::try_from(samples).ok().map(|n| Ns(n.saturating_mul(request.interval.0))),
        RunEnd::WhenTold => None,
    }
}

#[derive(Debug)]
pub(super) struct Planned {
    plan: Plan,
    explaining: Explaining,
    until_sure: Option<UntilSure>,
}

impl Planned {
    pub(super) fn new(
        mut request: WakeupRequest,
        turns: Option<Ns>,
        explaining: Explaining,
        machine: &Machine,
    ) -> Result<Self, RunError> {
        let until_sure = request.until_sure.as_deref().map(UntilSure::new).transpose()?;
        let of_claim = until_sure.as_ref().map(|_| UntilSure::interval_maximum(length(&request), request.interval));
        request.interval_maximum = request.interval_maximum.or(of_claim).or(turns);
        Ok(Self { plan: Plan::new(request, machine).map_err(RunError::usage)?, explaining, until_sure })
    }

    fn heading(&self) -> String {
        let requested = self.plan.requested();
        let place = if requested.pinned { format!("CPU {}", self.plan.measured) } else { "unpinned".to_owned() };
        let policy = if requested.priority > 0 {
            format!("{} {}", requested.policy, requested.priority)
        } else {
            requested.policy.clone()
        };
        format!("{place}  {policy}  every {}", format::span(self.plan.config.interval.0))
    }
}

impl super::Planned for Planned {
    fn about(&self) -> About {
        About {
            measured: self.plan.measured.clone(),
            housekeeping: self.plan.housekeeping.clone(),
            policy: self.plan.threads.first().map(|thread| thread.policy),
            length_ns: self.plan.duration_ns,
            heading: self.heading(),
            hands_on: true,
            tells_turns: true,
            no_load: None,
            measures_cost_first: self.plan.config.explain.is_some() && self.explaining == Explaining::MeasuredFirst,
        }
    }

    fn measure_cost(&mut self, surroundings: &Surroundings<'_>, stop: &Stop) {
        if self.about().measures_cost_first {
            let cost = measure::measure_cost(&self.plan.config, surroundings.machine, stop);
            self.explaining = Explaining::Known(cost);
        }
    }

    fn measure(mut self: Box<Self>, surroundings: &Surroundings<'_>, beside: Beside<'_>) -> Result<Record, RunError> {
        let Beside { context, stop, watch, sink, taps, .. } = beside;
        self.measure_cost(surroundings, stop);
        let Self { plan, explaining, until_sure } = *self;
        let cost = explaining.cost().filter(|_| plan.config.explain.is_some());
        let armed = Armed::new(plan, stop).map_err(RunError::failed)?.with_cost(cost);
        let show_bins = watch.wants_bins();
        let (tap, equal_bins) = taps.as_ref().map_or((None, None), |taps| (taps.samples.as_ref(), taps.bins));
        let decider = until_sure.as_ref().map(|sure| sure as &dyn Decider);
        let beside = BesideWakeup { show_bins, equal_bins, tap, decider, sink };
        let RunProducts { mut record, linear } = armed.run(context, stop, &mut Threads { watch }, beside);
        if let Some(sure) = until_sure {
            sure.conclude(&mut record);
        }
        if let Some(taps) = taps {
            taps.histograms = linear;
        }
        Ok(record)
    }
}
