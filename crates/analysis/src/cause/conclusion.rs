//! What made one sample late, in the end.

use record::{CauseClass, Certainty, ExplainedSample, Owner};

use super::evidence::Late;

/// The cause of one sample, before it is joined with what was drawn of it.
pub(super) struct Conclusion {
    pub(super) class: CauseClass,
    pub(super) name: String,
    pub(super) certainty: Certainty,
    pub(super) evidence: String,
}

impl Conclusion {
    pub(super) fn unknown(evidence: String) -> Self {
        Self { class: CauseClass::Unknown, name: String::new(), certainty: Certainty::Unknown, evidence }
    }

    /// The sample with its cause, without what was drawn of it.
    pub(super) fn explain(self, late: &Late) -> ExplainedSample {
        ExplainedSample {
            thread: late.thread,
            cpu: late.cpu,
            latency_ns: late.latency_ns,
            scheduled: late.scheduled,
            woke: late.woke,
            class: self.class,
            name: self.name,
            certainty: self.certainty,
            owner: Owner::Other,
            evidence: self.evidence,
            parts: Vec::new(),
            parts_left_out: 0,
            timeline: Vec::new(),
            stretches_left_out: 0,
            stack: Vec::new(),
        }
    }
}
