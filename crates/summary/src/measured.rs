//! What a page or a terminal is about: runs of a machine, with the conclusion from them if there is one.

use record::{Figure, Record};

use crate::Assessment;

/// The runs of a machine, with the conclusion from them if there is one.
#[derive(Clone, Copy, Debug)]
pub struct Measured<'a> {
    /// The conclusion of an assessment; `None` if the runs are no assessment.
    pub assessment: Option<&'a Assessment>,
    /// The runs in the order in which they are shown.
    pub runs: &'a [Record],
}

impl<'a> Measured<'a> {
    /// The deadline of a run (ns): that of the assessment, or its own.
    #[must_use]
    pub fn deadline_ns(&self, run: &Record) -> Option<u64> {
        self.assessment
            .map(|assessment| assessment.deadline_ns)
            .or_else(|| run.verdict.as_ref().map(|verdict| verdict.deadline_ns))
            .or(run.manifest().requested.deadline_ns)
    }

    /// The runs of wake-ups.
    pub(crate) fn wakeups(&self) -> impl Iterator<Item = &'a Record> {
        self.runs.iter().filter(|run| run.measurement.kind().figure == Figure::Wakeups)
    }
}

/// From so many runs of one kind on, a page begins with an overview. Fewer are drawn side by side.
const LEAST_OF_MANY: usize = 5;

/// Whether there are more runs of a kind than can be told apart in one plot.
#[must_use]
pub fn are_many(runs: &[Record]) -> bool {
    let of_kind = |one: &Record| runs.iter().filter(|run| run.measurement == one.measurement).count();
    runs.iter().any(|run| of_kind(run) >= LEAST_OF_MANY)
}

/// Whether the runs compare clocks: what is stated for them is a limit on the offset, no deadline.
#[must_use]
pub fn are_offsets(runs: &[&Record]) -> bool {
    !runs.is_empty() && runs.iter().all(|run| run.measurement.kind().figure == Figure::Offsets)
}

/// Whether the runs are of packets between nodes: what is stated for them is a limit on the delay, and two machines have part in
/// them.
#[must_use]
pub fn are_delays(runs: &[&Record]) -> bool {
    !runs.is_empty() && runs.iter().all(|run| run.measurement.kind().figure == Figure::Delays)
}

/// The label of a run; the name of its kind if it has none.
#[must_use]
pub fn label(run: &Record) -> &str {
    if run.label.is_empty() { run.measurement.name() } else { &run.label }
}

/// The text with its first letter in upper case.
#[must_use]
pub(crate) fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
