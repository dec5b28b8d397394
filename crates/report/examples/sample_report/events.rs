//! Hand-overs between threads: pairs on one CPU each, and one between two CPUs.

use record::{HandOverTotals, Measurement, Place, Record, Series, SeriesDetail, Validity};

use crate::synthetic::{Plan, wakeup};

/// A run by one means. Its CPUs are those of the plan; of a pair between two CPUs the waker is on the one after.
pub(crate) fn run(plan: &Plan, means: &str, is_between: bool) -> Record {
    let mut run = wakeup(plan, Validity::default());
    run.measurement = Measurement::Event;
    run.id = format!("2026-03-02T07-20-00Z-event-{means}");
    let place = |place: &Place| {
        let (cpu, pair) = (place.cpu().unwrap_or(0), place.thread_number().unwrap_or(0));
        Place::Pair { cpu, waker_cpu: if is_between { cpu + 1 } else { cpu }, pair }
    };
    for series in &mut run.series {
        let counters = &series.counters;
        let schedules = counters.samples + counters.missed_periods;
        series.detail = SeriesDetail::HandOvers(HandOverTotals { schedules, ..HandOverTotals::default() });
        series.place = place(&series.place);
        series.name = "handed_to_woke".to_owned();
        series.variant = means.to_owned();
    }
    let returned = run.series.iter().map(|woke| Series {
        name: "handed_to_returned".to_owned(),
        judged: false,
        interval_ns: None,
        corrected: None,
        detail: SeriesDetail::None,
        ..woke.clone()
    });
    let returned: Vec<Series> = returned.collect();
    run.series.extend(returned);
    for worst in &mut run.worst {
        worst.place = place(&worst.place);
        worst.name = "handed_to_woke".to_owned();
    }
    run.rows.iter_mut().for_each(|row| row.place = place(&row.place));
    run
}
