//! Hand-overs between threads: pairs on one CPU each, and one between two CPUs; and responses to edges.

use record::{EdgeTotals, HandOverTotals, Histogram, Measurement, Place, Record, Series, SeriesDetail, Validity};

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

/// A run over a wire, on the first CPU of the plan; a tenth of each response is before the kernel's stamp.
pub(crate) fn response(plan: &Plan, lost: u64, validity: Validity) -> Record {
    let mut run = wakeup(plan, validity);
    run.measurement = Measurement::Response;
    run.id = format!("2026-03-02T07-40-00Z-response-{}", plan.label);
    run.series.truncate(1);
    let place = |of: &Place| Place::Pair { cpu: of.cpu().unwrap_or(0), waker_cpu: of.cpu().unwrap_or(0) + 1, pair: 0 };
    let whole = &mut run.series[0];
    let edges = whole.counters.samples + lost;
    whole.detail = SeriesDetail::Edges(EdgeTotals { edges, lost, ..EdgeTotals::default() });
    whole.place = place(&whole.place);
    whole.name = "acted_to_woke".to_owned();
    let whole = whole.clone();
    let scaled = |per_mille: u64| {
        let mut histogram = Histogram::new();
        whole.histogram.bins().for_each(|bin| histogram.record_n(bin.from_ns * per_mille / 1_000, bin.count));
        histogram
    };
    let part = |(name, per_mille): (&str, u64)| Series {
        name: name.to_owned(),
        judged: false,
        interval_ns: None,
        corrected: None,
        detail: SeriesDetail::None,
        histogram: scaled(per_mille),
        intervals: Vec::new(),
        max_at: None,
        ..whole.clone()
    };
    run.series.extend([("acted_to_event", 100), ("event_to_woke", 900), ("acted_to_returned", 60)].map(part));
    run.worst.retain(|worst| worst.place.cpu() == whole.place.cpu());
    for worst in &mut run.worst {
        (worst.place, worst.name) = (whole.place.clone(), "acted_to_woke".to_owned());
    }
    run.rows.retain(|row| row.place.cpu() == whole.place.cpu());
    run.rows.iter_mut().for_each(|row| row.place = whole.place.clone());
    run
}
