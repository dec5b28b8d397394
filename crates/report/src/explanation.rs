//! Converts a record's explanation to the view.

use std::collections::HashMap;

use record::{Activity, CauseTotal, ExplainedSample, Explanation, Moment, Record, TimelineSegment, WakeupParts};
use summary::explanation::{Share, change, cost, left_out, sentence, shares};

use crate::exact::Exact;
use crate::run::moment;
use crate::view::{
    CauseChangeView, CauseView, DelayPartView, ExplainedFrom, ExplainedSampleView, ExplanationView, PartRowView,
    PartsView, ShareView, StretchView, TimelineView,
};

/// The view of the explanation; `None` if none was requested.
pub(crate) fn view(record: &Record) -> Option<ExplanationView> {
    record.explanation().map(|explanation| view_of(record, explanation, record.manifest().started))
}

/// The view of one of a record's explanations; its node's part of the run began at `started`.
pub(crate) fn view_of(record: &Record, explanation: &Explanation, started: Moment) -> ExplanationView {
    let mut stretches = Stretches::default();
    let samples = explanation.samples.iter().map(|one| sample(one, started, &mut stretches)).collect();
    ExplanationView {
        sentence: sentence(record, explanation),
        change: change(record, explanation).map(|it| CauseChangeView { remedy: it.remedy, finding: it.finding }),
        sources: explanation.sources.clone(),
        missing: explanation.missing.clone(),
        begin: if record.packets().is_some() { ExplainedFrom::Arrival } else { ExplainedFrom::Schedule },
        cost: cost(explanation).map(|cost| format!("Cost of explaining: {cost}.")),
        looked_at: explanation.looked_at(),
        outliers: explanation.outliers.into(),
        explained: explanation.explained.into(),
        not_recorded: explanation.not_recorded.into(),
        shares: shares(record, explanation).into_iter().map(share).collect(),
        causes: explanation.causes.iter().map(cause).collect(),
        samples,
        stretches: stretches.all,
        parts: explanation.parts.as_ref().map(|of| parts(record, of)),
    }
}

/// The view of the parts of all wake-ups, over all threads.
fn parts(record: &Record, parts: &WakeupParts) -> PartsView {
    let table = summary::explanation::parts(record, parts);
    let rows = table.rows.into_iter().map(|row| PartRowView {
        words: row.words,
        name: row.name,
        median_ns: row.median_ns.map(Exact::from),
        p999_ns: row.p99_9_ns.map(Exact::from),
        max_ns: row.max_ns.map(Exact::from),
    });
    PartsView { sentence: table.sentence, rows: rows.collect() }
}

fn cause(cause: &CauseTotal) -> CauseView {
    CauseView {
        class: cause.class,
        words: cause.class.words().to_owned(),
        name: cause.name.clone(),
        certainty: cause.certainty,
        samples: cause.samples.into(),
        worst_ns: cause.worst_ns.into(),
        took_ns: cause.took_ns.into(),
        remedy: cause.remedy.clone(),
        finding: cause.finding.clone(),
    }
}

fn share(share: Share) -> ShareView {
    ShareView {
        of: share.of,
        total: share.total.into(),
        causes: share.causes.iter().map(|part| part.samples.into()).collect(),
        percents: share.causes.into_iter().map(|part| part.percent).collect(),
        not_explained: share.not_explained.samples.into(),
        not_explained_percent: share.not_explained.percent,
    }
}

fn sample(sample: &ExplainedSample, started: Moment, stretches: &mut Stretches) -> ExplainedSampleView {
    ExplainedSampleView {
        thread: sample.thread,
        cpu: sample.cpu,
        latency_ns: sample.latency_ns.into(),
        scheduled: moment(sample.scheduled, started),
        class: sample.class,
        words: sample.class.words().to_owned(),
        name: sample.name.clone(),
        certainty: sample.certainty,
        evidence: sample.evidence.clone(),
        parts: sample
            .parts
            .iter()
            .map(|part| DelayPartView {
                words: part.class.words().to_owned(),
                name: part.name.clone(),
                net_ns: part.net_ns.into(),
            })
            .collect(),
        parts_left_out: sample.parts_left_out.into(),
        timeline: timeline(&sample.timeline, stretches),
        left_out: left_out(sample.stretches_left_out),
        stack: sample.stack.clone(),
    }
}

fn timeline(segments: &[TimelineSegment], stretches: &mut Stretches) -> TimelineView {
    let mut view = TimelineView::default();
    for segment in segments {
        view.stretch.push(stretches.index(segment.activity, &segment.name));
        view.from_ns.push(segment.from_ns.into());
        view.to_ns.push(segment.to_ns.into());
        view.depth.push(segment.depth);
        view.net_ns.push(segment.net_ns.into());
    }
    view
}

/// The different stretches of all timelines. Thousands of stretches share a few names, so each is written only once.
#[derive(Default)]
struct Stretches {
    all: Vec<StretchView>,
    known: HashMap<(u8, String), u32>,
}

impl Stretches {
    fn index(&mut self, activity: Activity, name: &str) -> u32 {
        let key = (activity as u8, name.to_owned());
        if let Some(&at) = self.known.get(&key) {
            return at;
        }
        let at = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(StretchView { activity, name: name.to_owned() });
        self.known.insert(key, at);
        at
    }
}

#[cfg(test)]
mod tests;
