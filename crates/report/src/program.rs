//! Converts a record's followed program to the view.

use record::{AppThread, Record};
use summary::program::{missed_periods, what};

use crate::run::histogram;
use crate::view::{FollowedThreadView, FollowingCostView, PreemptionView, ProgramView};

/// The view of the followed program; `None` if the run followed none.
pub(crate) fn view(record: &Record) -> Option<ProgramView> {
    let app = record.app()?;
    let cost = &app.tracing;
    Some(ProgramView {
        what: what(app),
        ended: app.ended.clone(),
        threads: app.threads.iter().map(|one| thread(one, record)).collect(),
        threads_left_out: app.threads_left_out.into(),
        looked_for: app.looked_for(),
        cost: FollowingCostView {
            events: cost.events.into(),
            lost_events: cost.lost_events.into(),
            event_ns: cost.event_ns.map(Into::into),
            return_ns: cost.return_ns.map(Into::into),
            events_per_activation: cost.events_per_activation,
            own_cpu: cost.own_cpu,
        },
    })
}

fn thread(one: &AppThread, record: &Record) -> FollowedThreadView {
    FollowedThreadView {
        thread: one.thread,
        tid: one.tid,
        name: one.name.clone(),
        policy: one.policy.clone(),
        priority: one.priority,
        waits_by: one.waits_by.clone(),
        activations: one.activations.into(),
        period_ns: one.period_ns.map(Into::into),
        periods: histogram(&one.periods, 1),
        missed_periods: missed_periods(one, record).map(Into::into),
        preempted: one.preempted.into(),
        preempted_ns: one.preempted_ns.into(),
        preempted_by: one
            .preempted_by
            .iter()
            .map(|by| PreemptionView {
                name: by.name.clone(),
                times: by.times.into(),
                total_ns: by.total_ns.into(),
                longest_ns: by.longest_ns.into(),
            })
            .collect(),
        ended: one.ended,
    }
}

#[cfg(test)]
mod tests {
    use record::{AppRun, Counters, Detail, Histogram, Measurement, Place, Preemption, Series, TracingCost, Validity};

    use super::*;

    #[test]
    fn missed_periods_are_shown_only_if_they_were_counted() {
        let mut periods = Histogram::new();
        periods.record_n(1_000_000, 5);
        let thread = |thread| AppThread { thread, periods: periods.clone(), ..AppThread::default() };
        let series = |thread, interval_ns| Series {
            place: Place::thread(thread, None),
            interval_ns,
            counters: Counters { missed_periods: 3, ..Counters::default() },
            ..Series::default()
        };
        let mut motor = thread(0);
        motor.preempted_by = vec![Preemption { name: "kworker/0:1".to_owned(), times: 2, total_ns: 9, longest_ns: 8 }];
        let record = Record {
            measurement: Measurement::App,
            series: vec![series(0, None), series(0, Some(1_000_000)), series(1, None)],
            detail: Detail::Program(AppRun {
                pid: 4711,
                threads: vec![motor, thread(1)],
                tracing: TracingCost { lost_events: 7, ..TracingCost::default() },
                ..AppRun::default()
            }),
            ..samples::run(Validity::default())
        };
        let view = view(&record).unwrap();
        let json = serde_json::to_value(&view).unwrap();
        assert_eq!(json["what"], "process 4711");
        assert_eq!(json["threads"][0]["missed_periods"], 3);
        assert!(json["threads"][1]["missed_periods"].is_null(), "its wake-up times are unknown");
        assert_eq!(json["threads"][0]["periods"]["count"], 5);
        assert_eq!(json["threads"][0]["preempted_by"][0]["longest_ns"], 8);
        assert_eq!(json["cost"]["lost_events"], 7);
    }
}
