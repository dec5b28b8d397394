//! The record of a run by threads with rings: what all kinds put into it alike.

use record::{
    Instrument, Measurement, MissedRow, Moment, Reason, ReasonCode, Record, Request, Requested, RunEnd, Series,
    WorstSample,
};
use units::{Ns, format};

use super::drain::{Collecting, Looked, settle};
use super::plan::Length;
use super::{Ground, Outcome, RunEnding, WatchEvidence};
use crate::context::RunContext;
use crate::interval_sink::FinishedIntervals;
use crate::judge::{Facts, Stops, judge, keep_apart};
use crate::stop::{Stop, ended_after};

/// What stays the same from the start of a run to its record.
pub(crate) struct Run<'a, P> {
    pub(crate) plan: &'a P,
    pub(crate) context: &'a RunContext,
    pub(crate) stop: &'a Stop,
    pub(crate) ground: &'a Ground,
    pub(crate) started: Moment,
}

/// What the threads of a run have come to.
pub(crate) struct Came {
    pub(crate) measurement: Measurement,
    pub(crate) request: Request,
    pub(crate) requested: Requested,
    pub(crate) series: Vec<Series>,
    /// Of what is judged.
    pub(crate) worst: Vec<WorstSample>,
    pub(crate) rows: Vec<MissedRow>,
    /// What spoiled intervals that had been counted when it was noticed.
    pub(crate) too_late: Vec<Reason>,
    /// All threads, in the order of the manifest.
    pub(crate) threads: Vec<Outcome>,
    /// What only this kind has to say against it.
    pub(crate) also: Vec<(ReasonCode, String)>,
    pub(crate) deadline: Option<Ns>,
    pub(crate) ring_slots: usize,
}

impl<P> Run<'_, P> {
    /// When it began (ns on the monotonic clock).
    pub(crate) const fn started_ns(&self) -> i64 {
        self.started.monotonic.as_ns()
    }

    /// The end of a run, and why it was before its time where it was; `samples` is what it counts, in words.
    pub(crate) fn ending(&self, length: &Length, ended: Moment, samples: &str) -> RunEnding {
        let elapsed_ns = ended.monotonic.since(self.started.monotonic).0;
        let ended_early = || match length.end {
            RunEnd::After(duration) => ended_after(elapsed_ns, Some(duration.unsigned())),
            RunEnd::Samples(number) => {
                format!("after {}, before {} {samples}", format::span(elapsed_ns), format::count(number))
            }
            RunEnd::WhenTold => ended_after(elapsed_ns, None),
        };
        RunEnding { ended, ended_early: self.stop.ended_early().then(ended_early) }
    }

    /// The record of what the threads have come to.
    pub(crate) fn record(
        &self,
        came: Came,
        evidence: &WatchEvidence,
        looked: &Looked<'_>,
        RunEnding { ended, ended_early }: RunEnding,
    ) -> Record {
        let WatchEvidence { witnessed, seen } = evidence;
        let Came { series, mut rows, threads, .. } = came;
        rows.sort_by_key(|row| std::cmp::Reverse((row.periods, row.worst_ns)));
        rows.truncate(analysis::KEPT_ROWS);
        let worst = crate::worst::worst_of(came.worst);
        let (facts, grants): (Vec<_>, Vec<_>) = threads.into_iter().map(|of| (of.facts, of.grant)).unzip();
        let mut validity = judge(&Facts {
            measurement: came.measurement,
            witnessed,
            seen,
            stops: Stops::Spoil(looked.throttle),
            threads: &facts,
            // The monotonic clock is never stepped.
            clock: None,
            watchdog_fired: self.stop.watchdog_fired(),
            ended_early,
            worst: &worst,
        });
        for (code, text) in came.also {
            validity.add(code, text);
        }
        let measured_ns = ended.monotonic.since(self.started.monotonic).unsigned();
        let validity = keep_apart(&validity, &series, &came.too_late, measured_ns);
        let mut record = self.context.record(came.request, came.requested, self.started, ended);
        record.validity = validity;
        (record.series, record.worst, record.rows) = (series, worst, rows);
        let manifest = record.manifest_mut();
        manifest.effective = grants.iter().map(|grant| grant.effective(seen.memory_locked)).collect();
        manifest.clock_steps = looked.clocks.steps().to_vec();
        manifest.instrument = Instrument {
            ring_slots: u64::try_from(came.ring_slots).unwrap_or(u64::MAX),
            ring_highest_fill: looked.highest_fill,
            ..self.ground.instrument()
        };
        manifest.others_cpu_used = witnessed.others_cpu_used;
        seen.describe(manifest);
        let mut record = record.with_node_named();
        if let Some(deadline) = came.deadline {
            record.verdict = Some(analysis::verdict(&record, Ns::unsigned(deadline)));
        }
        record
    }

    /// Decides about all intervals of a run that is over, and takes out those that somebody else keeps.
    pub(crate) fn settle_all(
        &self,
        of: &mut impl Collecting,
        length: &Length,
        evidence: &WatchEvidence,
        is_handed_on: bool,
    ) -> FinishedIntervals {
        settle(of, &evidence.seen, self.started_ns(), i64::MAX);
        let mut rest = FinishedIntervals::default();
        if length.duration_ns.is_none() && is_handed_on {
            rest.collect(of.collectors().into_iter());
        }
        rest
    }
}
