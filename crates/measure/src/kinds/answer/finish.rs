//! Makes the record of a run, while it goes on and at its end.

use record::{
    AnswerRun, AnswerWitness, Counters, Detail, Histogram, Measurement, ReasonCode, Record, Request, Series,
    Uncertainty,
};
use units::format::{count, latency, span};

use super::drain::Answers;
use super::plan::AnswerPlan;
use super::threads::{Counts, Running, WARMING};
use super::witness::Said;
use crate::collect::{Collected, Collector};
use crate::crew::drain::{CLOCK, Drained, Looked};
use crate::crew::{Came, Outcome, Run, RunEnding, WatchEvidence, Watching, lacks, now_ns};
use crate::interval_sink::IntervalSink;
use crate::wire::Wire;
use crate::witness::Witnessed;

/// The latency that is judged.
const WHOLE: &str = "event_to_answered";
/// Its first part.
const WOKE: &str = "event_to_woke";
/// Its second part.
const DONE: &str = "woke_to_answered";
/// What the witness says.
const BY_WITNESS: &str = "edge_to_answer";
/// The width of the witness's cells (ns).
const CELL_NS: u64 = 1_000;
/// How much the rates of the witness's counter and of this machine's clock may differ (parts of a hundred): crystals of boards differ
/// by a thousandth of this.
const RATES_DIFFER_PERCENT: u64 = 2;

/// What a run has come to.
struct Measured {
    parts: [Collected; 3],
    answering: Outcome,
    counts: Option<Counts>,
    said: Option<Said>,
}

impl Measured {
    /// Of a thread that has not reported; the latencies in the order of the record's series.
    fn so_far<W: Wire>(running: &Running<W>, plan: &AnswerPlan, parts: [Collected; 3], witnessed: &Witnessed) -> Self {
        let (shared, place) = (&running.shared, format!("the answering thread{}", plan.place().clause()));
        let taken = parts[0].samples.saturating_add(parts[0].spoiled.samples);
        let answering = Outcome::so_far(&running.answering.grant, place, taken, shared.dropped(), witnessed);
        Self { parts, answering, counts: None, said: None }
    }
}

/// The record of a run that still goes on, judged as if it had been cut short now.
pub(super) fn so_far<W: Wire>(
    run: &Run<'_, AnswerPlan>,
    running: &Running<W>,
    of: &Answers,
    looked: &Looked<'_>,
    watching: &Watching,
) -> Record {
    let evidence = watching.so_far();
    let parts = [&of.whole, &of.woke, &of.done].map(Collector::collected);
    let measured = Measured::so_far(running, run.plan, parts, &evidence.witnessed);
    record(run, measured, &evidence, looked, RunEnding::cut_short_now())
}

/// The record of a run that is over. Intervals that it does not keep are handed on.
pub(super) fn finish<W: Wire>(
    run: &Run<'_, AnswerPlan>,
    mut running: Running<W>,
    mut drained: Drained<Answers>,
    mut evidence: WatchEvidence,
    sink: Option<&dyn IntervalSink>,
) -> Record {
    let (now_ns, length) = (now_ns(CLOCK), &run.plan.length);
    let reported = running.answering.report();
    drained.of.end(now_ns);
    let ended_ns = evidence.compare_end(&running.answering, &reported);
    let rest = run.settle_all(&mut drained.of, length, &evidence, sink.is_some());
    let drained = drained.map(|of| [of.whole, of.woke, of.done].map(|of| of.finish(now_ns)));
    let looked = drained.looked();
    let mut measured = Measured::so_far(&running, run.plan, drained.of.clone(), &evidence.witnessed);
    measured.said = running.witness();
    let counts = measured.answering.reported(reported, |counts| counts.measured.interrupted_waits);
    if let Some(Counts { warming, measured: counted }) = counts {
        let failed = (ReasonCode::OutputFailed, "a write failed, so it ended");
        measured.answering.facts.lacks = lacks(warming.failed_errno.max(counted.failed_errno), failed);
    }
    measured.counts = counts;
    let ended = looked.clocks.moment_of_monotonic(ended_ns.unwrap_or(now_ns));
    let record = record(run, measured, &evidence, &looked, run.ending(length, ended, "answers"));
    rest.hand_on(sink, &record);
    record
}

fn record(
    run: &Run<'_, AnswerPlan>,
    measured: Measured,
    evidence: &WatchEvidence,
    looked: &Looked<'_>,
    ending: RunEnding,
) -> Record {
    let plan = run.plan;
    let Measured { parts, answering, counts, said } = measured;
    let (place, [whole, woke, done]) = (plan.place(), parts);
    let (worst, rows) = (whole.worst_at(WHOLE, &place), whole.rows_at(&place, looked.clocks));
    let too_late = [&whole, &woke, &done].into_iter().flat_map(|of| of.known_too_late.iter().cloned()).collect();
    let least_woke_ns = woke.total.min_ns();
    let by_witness = said.as_ref().and_then(by_witness);
    // What a witness saw of all answers has our own latency in it; each answer is judged once.
    let is_judged = by_witness.is_none() || said.as_ref().is_some_and(|said| said.witness.lost.is_some());
    let series = |of: Collected, name: &str| Series {
        judged: name == WHOLE && is_judged,
        ..of.into_series(name, place.clone(), &answering.counters)
    };
    let mut series = vec![series(whole, WHOLE), series(woke, WOKE), series(done, DONE)];
    series.extend(by_witness.map(|of| Series { place: place.clone(), ..of }));
    let mut also = Vec::new();
    let answers = AnswerRun {
        edges: counts.map_or(0, |of| of.warming.edges + of.measured.edges),
        warm_up: counts.map_or(0, |of| of.warming.edges.min(WARMING)),
        overflowed: counts.map_or(0, |of| of.warming.overflowed + of.measured.overflowed),
        witness: said.as_ref().map(|said| said.witness.clone()),
    };
    if let Some(said) = &said {
        also.extend(of_witness(&said.witness, counts.is_some().then_some(&answers), least_woke_ns));
    }
    if answers.overflowed > 0 {
        let (edges, seen) = (count(answers.overflowed), count(answers.edges));
        also.push((
            ReasonCode::EdgesLost,
            format!("{edges} edges were not answered: the kernel had no room for them beside the {seen} that were"),
        ));
    }
    let came = Came {
        measurement: Measurement::Answer,
        request: Request::Answer(plan.request.clone()),
        requested: plan.requested(),
        series,
        worst,
        rows,
        too_late,
        threads: vec![answering],
        also,
        deadline: plan.request.deadline,
        ring_slots: plan.length.ring_slots,
    };
    let mut record = run.record(came, evidence, looked, ending);
    record.detail = Detail::Answer(answers);
    record
}

/// The latency by the witness; `None` if it said nothing of any answer.
///
/// Its histogram has all answers, in cells of 1 us; its frames have the exact longest one of most of them. An answer that it gave up
/// stands at the least that it was late, and with any the error of the series has no bound above.
pub(super) fn by_witness(said: &Said) -> Option<Series> {
    let witness = &said.witness;
    let last = said.cells.len().saturating_sub(1);
    let top = said.cells.iter().rposition(|count| *count > 0);
    let exact = witness.max_ns.filter(|max_ns| {
        // Beyond the last cell only the frames know how late an answer was.
        top.is_some_and(|top| usize::try_from(max_ns / CELL_NS).is_ok_and(|cell| cell.min(last) >= top))
    });
    let mut histogram = Histogram::new();
    for (cell, count) in said.cells.iter().enumerate().filter(|(_, count)| **count > 0) {
        let at_ns = u64::try_from(cell).unwrap_or(u64::MAX).saturating_mul(CELL_NS);
        let of_exact = u64::from(Some(cell) == top && exact.is_some());
        histogram.record_n(at_ns, count - of_exact);
    }
    // Without a histogram the frames say what they can.
    exact
        .or_else(|| witness.max_ns.filter(|_| top.is_none()))
        .into_iter()
        .for_each(|max_ns| histogram.record_n(max_ns, 1));
    histogram.record_n(witness.overrun_ns, witness.overruns);
    let is_bounded = witness.overruns == 0 && top.is_some() && (exact.is_some() || top != Some(last));
    let above_ns = match (is_bounded, exact) {
        (true, Some(_)) => 0,
        (true, None) => CELL_NS - 1,
        (false, _) => u64::MAX,
    };
    let samples = histogram.count();
    (samples > 0).then(|| Series {
        name: BY_WITNESS.to_owned(),
        variant: "latmon".to_owned(),
        // One that was lost says of the rest of the run nothing, but that it gave answers up.
        judged: witness.lost.is_none() || witness.overruns > 0,
        histogram,
        resolution_ns: Some(CELL_NS),
        uncertainty: (above_ns > 0).then_some(Uncertainty { below_ns: 0, above_ns, spread_ns: None }),
        counters: Counters { samples, ..Counters::default() },
        ..Series::default()
    })
}

/// What the witness says against the run; `own` is what was counted here, where that is known.
pub(super) fn of_witness(
    witness: &AnswerWitness,
    own: Option<&AnswerRun>,
    least_woke_ns: Option<u64>,
) -> Vec<(ReasonCode, String)> {
    let mut also = Vec::new();
    if let Some(why) = &witness.lost {
        also.push((ReasonCode::WitnessLost, format!("the witness at {}: {why}", witness.address)));
    }
    if witness.overruns > 0 {
        let (overruns, least) = (count(witness.overruns), span(witness.overrun_ns));
        also.push((
            ReasonCode::WitnessOverran,
            format!("{overruns} answers came at least {least} after their edges by the witness, which does not say how late: its longest is a lower bound, and its shortest may be of an answer that came after it had been given up"),
        ));
    }
    let sent = witness.in_histogram.max(witness.samples);
    if let Some(own) = own.filter(|own| own.edges < sent) {
        let (sent, edges) = (count(sent), count(own.edges));
        also.push((
            ReasonCode::WitnessContradicts,
            format!("it counted {sent} answers, and here {edges} edges were answered: somebody else answers, or its input sees more than our output"),
        ));
    }
    let shortest = witness.min_ns.zip(least_woke_ns).filter(|_| witness.overruns == 0);
    if let Some((min_ns, least_ns)) = shortest {
        if min_ns < least_ns - least_ns * RATES_DIFFER_PERCENT / 100 {
            let (least, min) = (of_ns(least_ns), of_ns(min_ns));
            also.push((
                ReasonCode::WitnessContradicts,
                format!("its shortest answer came {min} after the edge, and from the kernel's stamp of any edge it took at least {least} until the thread was awake"),
            ));
        }
    }
    also
}

fn of_ns(ns: u64) -> String {
    latency(i64::try_from(ns).unwrap_or(i64::MAX))
}
