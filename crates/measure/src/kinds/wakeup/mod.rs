//! Timer wake-up latency: the time from a schedule to the first reading of the clock by the thread that slept for it.
//!
//! `plan` (pure) → `arm` (asks the kernel) → `hot` (the loop) → `drain` (histograms) → `finish` (the record).

mod arm;
mod drain;
mod explain_cost;
mod finish;
mod hot;
mod plan;
mod rhythm;
#[cfg(test)]
mod scripted;

use std::time::Duration;

pub use arm::Armed;
pub use explain_cost::{CostOfSource, affordable, affordable_takes, cost_of_source, measure_cost};
pub use plan::{MIN_INTERVAL_NS, Plan, PlanError, ThreadPlan};
use record::{ExplainingCost, Record};

use self::drain::{HandOn, SoFar};
use crate::context::RunContext;
pub use crate::crew::ArmError;
use crate::crew::Watching;
use crate::decider::Decider;
use crate::interval_sink::IntervalSink;
use crate::linear::{LinearBins, LinearHistogram, SampleTap};
use crate::live::{Observer, Shown};
use crate::stop::Stop;

/// Between two calls of the observer.
const OBSERVE_PERIOD: Duration = Duration::from_millis(200);

/// What a run leaves beside its record.
#[derive(Clone, Debug)]
pub struct RunProducts {
    /// The record, the same whatever else was asked.
    pub record: Record,
    /// One histogram of equal bins for each thread, in the order of the record's series; none where none was asked.
    pub linear: Vec<LinearHistogram>,
}

/// What a run does beside measuring.
#[derive(Clone, Copy, Default)]
pub struct Beside<'a> {
    /// Whether the live view wants bins.
    pub show_bins: bool,
    /// Bins of equal width that are filled in addition to the record's histogram, for output in the form of older tools.
    pub equal_bins: Option<LinearBins>,
    /// Gets each sample as it is drained.
    pub tap: Option<&'a SampleTap>,
    /// Ends the run as soon as it has seen enough.
    pub decider: Option<&'a dyn Decider>,
    /// Takes the intervals over as they end.
    pub sink: Option<&'a dyn IntervalSink>,
}

impl Armed {
    /// The same run, with what explaining costs, as [`crate::measure_cost`] found it.
    #[must_use]
    pub fn with_cost(mut self, cost: Option<ExplainingCost>) -> Self {
        self.cost = cost;
        self
    }

    /// Runs to the end and makes the record.
    pub fn run(
        self,
        context: &RunContext,
        stop: &Stop,
        observer: &mut dyn Observer,
        beside: Beside<'_>,
    ) -> RunProducts {
        let settles_early = beside.sink.is_some()
            || beside.decider.is_some()
            || self.plan.duration_ns.is_none()
            || self.recorder.is_some();
        let watching = Watching::begin(&self.plan.measured, self.orders(settles_early));
        observer.begins();
        let (started, start_ns, wait) = self.go();
        watching.run_starts(started);
        let shown = Shown::default();
        shown.publish(|view| view.duration_ns = self.plan.duration_ns);
        let record = |so_far: SoFar<'_>| finish::so_far(&self, so_far, &watching, started, context);
        let hand_on = beside.sink.map(|sink| HandOn { sink, record: &record });
        let seen = || watching.seen_so_far();
        let drain = || {
            drain::Drain {
                plan: &self.plan,
                workers: &self.workers,
                last_schedule_ns: &self.last_schedule_ns,
                stop,
                shown: &shown,
                show_bins: beside.show_bins,
                equal_bins: beside.equal_bins,
                start_ns,
                wait,
                tap: beside.tap,
                decider: beside.decider,
                explainer: self.explainer(),
                hand_on,
                cost: self.cost.clone(),
                settles_early,
                seen: &seen,
                started,
            }
            .run()
        };
        let mut drained = std::thread::scope(|scope| {
            match std::thread::Builder::new().name("punctual-drain".to_owned()).spawn_scoped(scope, drain) {
                Ok(draining) => {
                    while !draining.is_finished() {
                        observer.observe(&shown.copy());
                        std::thread::park_timeout(OBSERVE_PERIOD);
                    }
                    observer.observe(&shown.copy());
                    draining.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
                }
                // No thread to be had: the controller drains itself, without a live view.
                Err(_) => drain(),
            }
        });
        let evidence = watching.end();
        let linear = std::mem::take(&mut drained.linear);
        let keeps_intervals = self.plan.duration_ns.is_some() || beside.decider.is_some();
        let mut record = finish::record(self, drained, evidence, started, context, stop);
        if let Some(sink) = beside.sink.filter(|_| !keeps_intervals) {
            crate::interval_sink::hand_on_the_rest(&mut record, sink);
        }
        RunProducts { record, linear }
    }
}
