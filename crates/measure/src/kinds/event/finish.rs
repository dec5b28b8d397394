//! Makes the record of a run, while it goes on and at its end.

use record::{HandOverTotals, Measurement, Place, ReasonCode, Record, Request, Series, SeriesDetail};

use super::drain::HandOvers;
use super::pair::Running;
use super::plan::EventPlan;
use crate::collect::{Collected, Collector};
use crate::crew::drain::{CLOCK, Drained, Looked};
use crate::crew::{Came, Outcome, Run, RunEnding, WatchEvidence, Watching, lacks, now_ns};
use crate::interval_sink::IntervalSink;
use crate::witness::{Grant, Witnessed};

/// The latency that is judged.
const WOKE: &str = "handed_to_woke";
/// What the waking call cost.
const RETURNED: &str = "handed_to_returned";

/// What one thread of a pair has come to: one latency of the pair.
struct Half {
    collected: Collected,
    thread: Outcome,
}

impl Half {
    /// Of a thread that has not reported: what others know of it.
    fn so_far(collected: Collected, grant: &Grant, place: String, dropped: u64, witnessed: &Witnessed) -> Self {
        let taken = collected.samples.saturating_add(collected.spoiled.samples);
        Self { thread: Outcome::so_far(grant, place, taken, dropped, witnessed), collected }
    }
}

/// What a pair has come to.
struct Measured {
    place: Place,
    woke: Half,
    returned: Half,
    totals: HandOverTotals,
}

impl Measured {
    /// Of threads that have not reported.
    fn so_far<H>(
        running: &Running<H>,
        totals: HandOverTotals,
        [woke, returned]: [Collected; 2],
        witnessed: &Witnessed,
    ) -> Self {
        let (place, shared) = (running.plan.place(), &running.shared);
        let at = |role| format!("the {role} thread{}", place.clause());
        Self {
            woke: Half::so_far(woke, &running.sleeper.grant, at("woken"), shared.woke.dropped(), witnessed),
            returned: Half::so_far(returned, &running.waker.grant, at("waking"), shared.returned.dropped(), witnessed),
            totals,
            place,
        }
    }
}

/// The record of a run that still goes on, judged as if it had been cut short now.
pub(super) fn so_far<H>(
    run: &Run<'_, EventPlan>,
    running: &[Running<H>],
    of: &[HandOvers],
    looked: &Looked<'_>,
    watching: &Watching,
) -> Record {
    let evidence = watching.so_far();
    let measured = |(running, of): (&Running<H>, &HandOvers)| {
        let halves = [&of.woke, &of.returned].map(Collector::collected);
        Measured::so_far(running, of.totals(), halves, &evidence.witnessed)
    };
    let pairs = running.iter().zip(of).map(measured).collect();
    run.record(came(run.plan, pairs, looked), &evidence, looked, RunEnding::cut_short_now())
}

/// The record of a run that is over. Intervals that it does not keep are handed on.
pub(super) fn finish<H>(
    run: &Run<'_, EventPlan>,
    running: Vec<Running<H>>,
    mut drained: Drained<Vec<HandOvers>>,
    mut evidence: WatchEvidence,
    sink: Option<&dyn IntervalSink>,
) -> Record {
    let (now_ns, length) = (now_ns(CLOCK), &run.plan.length);
    let mut ended_ns = None;
    let mut reports = Vec::new();
    for (mut running, of) in running.into_iter().zip(&mut drained.of) {
        let (waker, sleeper) = (running.waker.report(), running.sleeper.report());
        let known = waker.report.as_ref().map(|report| report.counts.schedules);
        of.end(length.most_schedules(running.plan.first_offset_ns).min(known.unwrap_or(0)), now_ns);
        let ends = [evidence.compare_end(&running.waker, &waker), evidence.compare_end(&running.sleeper, &sleeper)];
        ended_ns = ends.into_iter().flatten().chain(ended_ns).max();
        reports.push((running, waker, sleeper));
    }
    let rest = run.settle_all(&mut drained.of, length, &evidence, sink.is_some());
    let collecting = std::mem::take(&mut drained.of);
    let pairs = reports.into_iter().zip(collecting).map(|((running, waker, sleeper), of)| {
        let totals = of.totals();
        let halves = [of.woke.finish(now_ns), of.returned.finish(now_ns)];
        let mut measured = Measured::so_far(&running, totals, halves, &evidence.witnessed);
        if let Some(counts) = measured.woke.thread.reported(sleeper, |counts| counts.interrupted_waits) {
            measured.totals.spurious = counts.spurious;
        }
        if let Some(counts) = measured.returned.thread.reported(waker, |counts| counts.interrupted_sleeps) {
            measured.totals.not_back = counts.not_back;
            let failed = (ReasonCode::ThreadDied, "a waking call failed, so it ended");
            measured.returned.thread.facts.lacks = lacks(counts.failed_errno, failed);
        }
        measured
    });
    let pairs = pairs.collect();
    let looked = drained.looked();
    let ended = looked.clocks.moment_of_monotonic(ended_ns.unwrap_or(now_ns));
    let ending = run.ending(length, ended, "hand-overs");
    let record = run.record(came(run.plan, pairs, &looked), &evidence, &looked, ending);
    rest.hand_on(sink, &record);
    record
}

/// What the pairs have come to, for the record.
fn came(plan: &EventPlan, pairs: Vec<Measured>, looked: &Looked<'_>) -> Came {
    let (mut woken, mut waking) = (Vec::new(), Vec::new());
    let (mut worst, mut rows, mut too_late) = (Vec::new(), Vec::new(), Vec::new());
    let mut threads: [Vec<Outcome>; 2] = Default::default();
    for Measured { place, woke, returned, totals } in pairs {
        worst.extend(woke.collected.worst_at(WOKE, &place));
        rows.extend(woke.collected.rows_at(&place, looked.clocks));
        for half in [&woke, &returned] {
            too_late.extend(half.collected.known_too_late.iter().cloned());
        }
        let mut series = |half: Half, name: &str, detail| {
            let Half { collected, thread } = half;
            let series = Series {
                variant: plan.request.means.name().to_owned(),
                judged: name == WOKE,
                // What the call costs follows no schedule of its own.
                interval_ns: (name == WOKE).then(|| plan.length.interval_ns.unsigned_abs()),
                detail,
                ..collected.into_series(name, place.clone(), &thread.counters)
            };
            threads[usize::from(name != WOKE)].push(thread);
            series
        };
        woken.push(series(woke, WOKE, SeriesDetail::HandOvers(totals)));
        waking.push(series(returned, RETURNED, SeriesDetail::None));
    }
    Came {
        measurement: Measurement::Event,
        request: Request::Event(plan.request.clone()),
        requested: plan.requested(),
        series: woken.into_iter().chain(waking).collect(),
        worst,
        rows,
        too_late,
        threads: threads.into_iter().flatten().collect(),
        also: Vec::new(),
        deadline: plan.request.deadline,
        ring_slots: plan.length.ring_slots,
    }
}
