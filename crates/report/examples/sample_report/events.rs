//! Hand-overs between threads: pairs on one CPU each, and one between two CPUs; and responses to edges.

use record::{
    AnswerRun, AnswerWitness, Detail, EdgeTotals, HandOverTotals, Histogram, Measurement, Place, Record, Series,
    SeriesDetail, Uncertainty, Validity, WitnessSecond,
};

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

/// Answers to the edges of a witness, on the first CPU of the plan; it gave so many of them up.
pub(crate) fn answers(plan: &Plan, overruns: u64, validity: Validity) -> Record {
    let mut run = wakeup(plan, validity);
    run.measurement = Measurement::Answer;
    run.id = format!("2026-03-02T07-50-00Z-answer-{}", plan.label);
    run.series.truncate(1);
    run.rows.clear();
    let place = |of: &Place| Place::thread(0, of.cpu());
    let whole = &mut run.series[0];
    (whole.place, whole.name) = (place(&whole.place), "event_to_answered".to_owned());
    (whole.corrected, whole.interval_ns, whole.counters.missed_periods, whole.judged) = (None, None, 0, false);
    let whole = whole.clone();
    let scaled = |of: &dyn Fn(u64) -> u64| {
        let mut histogram = Histogram::new();
        whole.histogram.bins().for_each(|bin| histogram.record_n(of(bin.from_ns), bin.count));
        histogram
    };
    let part = |name: &str, of: &dyn Fn(u64) -> u64| Series {
        name: name.to_owned(),
        judged: false,
        histogram: scaled(of),
        intervals: Vec::new(),
        max_at: None,
        ..whole.clone()
    };
    let of_witness = |ns: u64| (ns + 5_400) / 1_000 * 1_000;
    run.series.push(part("event_to_woke", &|ns| ns * 4 / 5));
    run.series.push(part("woke_to_answered", &|ns| ns / 5));
    let mut by_witness = part("edge_to_answer", &of_witness);
    let longest_ns = by_witness.histogram.max_ns();
    by_witness.histogram.record_n(1_000_000, overruns);
    let unknown = Uncertainty { below_ns: 0, above_ns: u64::MAX, spread_ns: None };
    run.series.push(Series {
        judged: true,
        variant: "latmon".to_owned(),
        resolution_ns: Some(1_000),
        uncertainty: (overruns > 0).then_some(unknown),
        ..by_witness
    });
    run.worst.retain(|worst| worst.place.cpu() == whole.place.cpu());
    for worst in &mut run.worst {
        (worst.place, worst.name) = (whole.place.clone(), "event_to_answered".to_owned());
    }
    let mut witness = AnswerWitness {
        address: "192.0.2.7:2306".to_owned(),
        period_ns: 1_000_000,
        sessions: 1 + overruns,
        in_histogram: whole.counters.samples,
        warm_up: 1_000 * (1 + overruns),
        overrun_ns: 1_000_000,
        cost_ns: Some(3_200),
        ..AnswerWitness::default()
    };
    for second in 0..60_u64 {
        let max_ns = if second == 30 { longest_ns.unwrap_or(0) } else { 21_000 + second * 7_919 % 9_000 };
        let overruns = u64::from(second < overruns);
        let at_offset_ns = (second + 2) * 1_000_000_000;
        let (min_ns, max_ns) = (Some(8_000), Some(max_ns));
        witness.add(WitnessSecond {
            at_offset_ns,
            frames: 1,
            samples: 1_000,
            overruns,
            min_ns,
            max_ns,
            sum_ns: 12_400_000,
        });
    }
    let edges = whole.counters.samples + 16;
    run.verdict = Some(analysis::verdict(&run, 100_000));
    run.verdict = Some(analysis::verdict(&run, 100_000));
    run.detail = Detail::Answer(AnswerRun { edges, warm_up: 16, overflowed: 0, witness: Some(witness) });
    run
}
