//! A run in which something spoiled intervals: they are apart from the others, with what they would have been.

use record::{Histogram, Interval, Reason, ReasonCode, Record, SpoiledInterval};

/// The same run, whose clock was set in its 21st interval; the program was stopped in the 40th and the one after it.
pub(crate) fn apart(mut run: Record) -> Record {
    let reason = |code, detail: &str| Reason { code, detail: detail.to_owned() };
    let stepped = reason(ReasonCode::ClockStepped, "realtime was stepped by 300 ms, noticed 3 min 24.7 s into the run");
    let stopped = reason(ReasonCode::Stopped, "stopped for 1.3 s until 6 min 40.6 s into the run");
    for series in &mut run.series {
        let mut all = Histogram::new();
        let (spoiled, stand): (Vec<_>, Vec<_>) = std::mem::take(&mut series.intervals)
            .into_iter()
            .enumerate()
            .partition(|(at, _)| matches!(at, 20 | 39 | 40));
        for (at, interval) in spoiled {
            let (reason, worst_ns) = if at == 20 { (&stepped, 300_041_000) } else { (&stopped, 1_301_611_000) };
            series.spoiled.add(SpoiledInterval {
                start_offset_ns: interval.start_offset_ns,
                length_ns: interval.length_ns,
                samples: interval.taken(),
                missed_periods: if at == 40 { 0 } else { u64::try_from(worst_ns / 1_000_000).unwrap_or(0) },
                worst_ns: Some(if at == 40 { 12_000 } else { worst_ns }),
                worst_at: None,
                reasons: vec![reason.clone()],
            });
        }
        series.intervals = stand.into_iter().map(|(_, interval): (usize, Interval)| interval).collect();
        series.intervals.iter().for_each(|interval| all.merge(&interval.histogram));
        series.counters.samples = all.count();
        series.histogram = all;
    }
    let spoiled = "3 intervals, 30 s of 10 min: realtime was stepped by 300 ms, noticed 3 min 24.7 s into the run; stopped for 1.3 s until 6 min 40.6 s into the run";
    run.validity.add(ReasonCode::IntervalsSpoiled, spoiled);
    run.verdict = run.verdict.as_ref().map(|verdict| analysis::verdict(&run, verdict.deadline_ns));
    run
}
