//! Makes the record of a run, while it goes on and at its end.

use std::sync::atomic::Ordering;

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
    /// What was counted of the edges, also by a thread that has not reported.
    answers: AnswerRun,
    /// The longest from the kernel's stamp to the thread while it was warmed up (ns), where it has reported.
    warming_longest_ns: Option<u64>,
    said: Option<Said>,
}

impl Measured {
    /// Of threads that have not reported, with what the witness has said so far; the latencies in the order of the record's series.
    fn so_far<W: Wire>(running: &Running<W>, plan: &AnswerPlan, parts: [Collected; 3], witnessed: &Witnessed) -> Self {
        let (shared, place) = (&running.shared, format!("the answering thread{}", plan.place().clause()));
        let taken = parts[0].samples.saturating_add(parts[0].spoiled.samples);
        let answering = Outcome::so_far(&running.answering.grant, place, taken, shared.dropped(), witnessed);
        let edges = shared.answered.load(Ordering::Relaxed);
        let overflowed = shared.overflowed.load(Ordering::Relaxed);
        let answers = AnswerRun { edges, warm_up: edges.min(WARMING), overflowed, witness: None };
        let mut said = shared.said();
        if let Some(said) = &mut said {
            said.witness.lost.get_or_insert_with(|| "the run was cut short before it was told to end".to_owned());
        }
        Self { parts, answering, answers, warming_longest_ns: None, said }
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
    if let Some(said) = running.witness() {
        measured.said = Some(said);
    }
    let counts = measured.answering.reported(reported, |counts| counts.measured.interrupted_waits);
    if let Some(Counts { warming, measured: counted, warming_longest_ns }) = counts {
        measured.warming_longest_ns = Some(warming_longest_ns);
        let failed = (ReasonCode::OutputFailed, "a write failed, so it ended");
        measured.answering.facts.lacks = lacks(warming.failed_errno.max(counted.failed_errno), failed);
    }
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
    let Measured { parts, answering, mut answers, warming_longest_ns, said } = measured;
    let (place, [whole, woke, done]) = (plan.place(), parts);
    let (worst, rows) = (whole.worst_at(WHOLE, &place), whole.rows_at(&place, looked.clocks));
    let too_late = [&whole, &woke, &done].into_iter().flat_map(|of| of.known_too_late.iter().cloned()).collect();
    let least_woke_ns = woke.total.min_ns();
    let longest_woke_ns = longest_ns(&woke).max(warming_longest_ns);
    let ByWitness { series: by_witness, forgotten } =
        said.as_ref().map(|said| by_witness(said, longest_woke_ns)).unwrap_or_default();
    // What a witness saw of all answers has our own latency in it; each answer is judged once.
    let is_judged = by_witness.is_none() || said.as_ref().is_some_and(|said| said.witness.lost.is_some());
    let series = |of: Collected, name: &str| Series {
        judged: name == WHOLE && is_judged,
        ..of.into_series(name, place.clone(), &answering.counters)
    };
    let mut series = vec![series(whole, WHOLE), series(woke, WOKE), series(done, DONE)];
    series.extend(by_witness.map(|of| Series { place: place.clone(), ..of }));
    let mut also = Vec::new();
    answers.witness = said.map(|said| said.witness);
    if let Some(witness) = &answers.witness {
        also.extend(of_witness(witness, Some(&answers).filter(|_| warming_longest_ns.is_some()), least_woke_ns));
    }
    also.extend(forgotten.map(|detail| (ReasonCode::WitnessOverran, detail)));
    if answers.overflowed > 0 {
        let (edges, seen) = (count_of(answers.overflowed, "edge was", "edges were"), count(answers.edges));
        also.push((
            ReasonCode::EdgesLost,
            format!("{edges} not answered: the kernel had no room beside the {seen} that were answered"),
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
    // What a lost witness has seen decides too.
    if let Some(deadline) = plan.request.deadline {
        record.verdict = Some(analysis::verdict(&record, deadline.unsigned()));
    }
    record
}

/// The longest of a latency (ns), whether its interval stands or not; 0 without a sample.
fn longest_ns(of: &Collected) -> Option<u64> {
    let spoiled = of.spoiled.intervals.iter().filter_map(|one| u64::try_from(one.worst_ns?).ok());
    of.total.max_ns().into_iter().chain(spoiled).max()
}

/// The latency by the witness.
#[derive(Debug, Default)]
pub(super) struct ByWitness {
    /// Its series; `None` if it said nothing of any answer.
    pub(super) series: Option<Series>,
    /// That it forgot an answer which our own stamps show, in words.
    pub(super) forgotten: Option<String>,
}

/// The latency by the witness; `longest_woke_ns` is the longest time here from the kernel's stamp of an edge until the thread was awake.
///
/// Its histogram has all answers, in cells of 1 us; its frames have the exact longest one of most of them. An answer that it gave up
/// stands at the least that it was late, and with any the error of the series has no bound above. So it is where an answer took longer
/// here than any that it tells of: overruns of its warm-up, and of a frame that it did not send, it forgets.
pub(super) fn by_witness(said: &Said, longest_woke_ns: Option<u64>) -> ByWitness {
    let (witness, cells) = (&said.witness, Cells::of(said));
    let is_whole = witness.overruns == 0 && witness.lost.is_none();
    // Beyond the cell that is the highest the frames know more only where an answer was entered elsewhere, or no histogram came.
    let exact = witness.max_ns.filter(|max_ns| match cells.top {
        None => true,
        Some(top) if is_whole => cells.last_of(*max_ns) == top,
        Some(top) => cells.last_of(*max_ns) >= top,
    });
    let home = exact.and_then(|max_ns| cells.home_of(max_ns, witness));
    let mut histogram = Histogram::new();
    for (cell, count) in said.cells.iter().enumerate().filter(|(_, count)| **count > 0) {
        let at_ns = u64::try_from(cell).unwrap_or(u64::MAX).saturating_mul(CELL_NS);
        histogram.record_n(at_ns, count - u64::from(Some(cell) == home));
    }
    exact.into_iter().for_each(|max_ns| histogram.record_n(max_ns, 1));
    // Another answer of the cell may be longer, where it is in no frame.
    let is_alone = cells.of_top == 1 || witness.warm_up + witness.unsent == 0;
    let above_ns = match exact {
        _ if !is_whole || cells.top.is_none() => u64::MAX,
        Some(_) if is_alone => 0,
        _ if cells.top == Some(cells.last) => u64::MAX,
        Some(max_ns) => CELL_NS - 1 - max_ns % CELL_NS,
        None => CELL_NS - 1,
    };
    let known_ns = histogram.max_ns().map(|max_ns| if is_whole { max_ns.saturating_add(above_ns) } else { max_ns });
    // That there was one answer so late is certain, and that it is one of those which were given up where there are any.
    let hidden_ns = longest_woke_ns
        .map(|ns| ns - ns * RATES_DIFFER_PERCENT / 100)
        .filter(|ns| witness.lost.is_none() && known_ns.is_some_and(|known_ns| *ns > known_ns));
    let given_up = if witness.has_given_all_up() { witness.overruns } else { 0 };
    histogram.record_n(witness.overrun_ns, given_up - u64::from(given_up > 0 && hidden_ns.is_some()));
    hidden_ns
        .into_iter()
        .for_each(|ns| histogram.record_n(ns.max(if given_up > 0 { witness.overrun_ns } else { 0 }), 1));
    let above_ns = if hidden_ns.is_some() { u64::MAX } else { above_ns };
    let samples = histogram.count();
    let forgotten = hidden_ns.filter(|_| witness.overruns == 0).map(|ns| {
        let longest = of_ns(known_ns.unwrap_or(0));
        format!("an answer took {} or more by our own stamps, and the longest that the witness tells of {longest}: it forgets what it gave up, and what took longer than a period, while it warms up and where it sends no frame", of_ns(ns))
    });
    let series = (samples > 0).then(|| Series {
        name: BY_WITNESS.to_owned(),
        variant: "latmon".to_owned(),
        // One that was lost says nothing of the rest of the run.
        judged: witness.lost.is_none(),
        histogram,
        resolution_ns: Some(CELL_NS),
        uncertainty: (above_ns > 0).then_some(Uncertainty { below_ns: 0, above_ns, spread_ns: None }),
        counters: Counters { samples, ..Counters::default() },
        ..Series::default()
    });
    ByWitness { series, forgotten }
}

/// The cells of a witness's histogram.
struct Cells<'a> {
    all: &'a [u64],
    /// The number of the last one.
    last: usize,
    /// The highest that has an answer; `None` without one.
    top: Option<usize>,
    /// How many that one has.
    of_top: u64,
}

impl<'a> Cells<'a> {
    fn of(said: &'a Said) -> Self {
        let top = said.cells.iter().rposition(|count| *count > 0);
        let of_top = top.and_then(|top| said.cells.get(top)).copied().unwrap_or(0);
        Self { all: &said.cells, last: said.cells.len().saturating_sub(1), top, of_top }
    }

    /// The cell of a latency.
    fn last_of(&self, ns: u64) -> usize {
        usize::try_from(ns / CELL_NS).unwrap_or(self.last).min(self.last)
    }

    /// The cell into which the witness has entered an answer: what took longer than a period stands at the rest. `None` if there is none
    /// in it, since its histogram did not come.
    fn home_of(&self, ns: u64, witness: &AnswerWitness) -> Option<usize> {
        let (us, period_us) = (ns / CELL_NS, witness.period_ns / CELL_NS);
        let is_entered_at_rest = witness.overruns > 0 && period_us > 0 && us > period_us;
        let entered_us = if is_entered_at_rest { (us - 1) % period_us + 1 } else { us };
        let cell = self.last_of(entered_us.saturating_mul(CELL_NS));
        self.all.get(cell).filter(|count| **count > 0).map(|_| cell)
    }
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
        let what = if witness.has_given_all_up() {
            let answers = count_of(witness.overruns, "answer", "answers");
            let (edges, they) =
                if witness.overruns == 1 { ("its edge", "it was") } else { ("their edges", "each was") };
            let least = span(witness.overrun_ns);
            format!("{answers} came at least {least} after {edges} by the witness, which does not say how late {they}")
        } else {
            let overruns = count_of(witness.overruns, "overrun", "overruns");
            format!(
                "the witness counted {overruns}, and does not say which of them are answers that it gave up, and which periods by which an answer took longer than one"
            )
        };
        also.push((
            ReasonCode::WitnessOverran,
            format!("{what}: its longest is a lower bound, and its shortest may be of an answer that came after it had been given up"),
        ));
    }
    let sent = witness.in_histogram.max(witness.samples);
    if let Some(own) = own.filter(|own| own.edges < sent) {
        let (sent, edges) = (count_of(sent, "answer", "answers"), count_of(own.edges, "edge was", "edges were"));
        also.push((
            ReasonCode::WitnessContradicts,
            format!("it counted {sent}, and here {edges} answered: somebody else answers, or its input sees more than our output"),
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

/// "1 answer", "1 200 answers".
fn count_of(number: u64, one: &str, more: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { more })
}
