//! Converts edges that were answered to the view.

use record::Record;
use summary::answer::{SecondRow, summary};

use crate::exact::Exact;
use crate::view::{AnswerView, WitnessSecondView};

/// The view of edges that were answered; `None` if the run is of another kind.
pub(crate) fn view(record: &Record) -> Option<AnswerView> {
    let said = summary(record)?;
    let second = |row: SecondRow| WitnessSecondView {
        at: row.at,
        samples: row.samples.into(),
        min_ns: row.min_ns.map(Exact::from),
        mean_ns: row.mean_ns.map(Exact::from),
        longest: row.longest,
        overruns: row.overruns.into(),
    };
    Some(AnswerView {
        sentences: said.sentences,
        shown: said.shown,
        worst_seconds: said.worst_seconds.into_iter().map(second).collect(),
    })
}
