//! Reads the files that one boot of the guest leaves.

use std::path::Path;

use record::EventMeans;

use super::super::evidence::Files;
use super::super::{Condition, EvidenceError, Run};
use crate::injection::Delay;

/// All evidence from one boot.
#[derive(Clone, Debug, PartialEq)]
pub struct EventEvidence {
    /// Name of the boot, from its condition and seed.
    pub boot: String,
    /// Idle or under load.
    pub condition: Condition,
    /// One run for each means of hand-over.
    pub runs: Vec<EventRun>,
}

/// A run of one means of hand-over.
#[derive(Clone, Debug, PartialEq)]
pub struct EventRun {
    /// By what one thread wakes the other.
    pub means: EventMeans,
    /// The record, and the delays inside waking calls.
    pub run: Run,
    /// The delays of the waker's own wake-up: each ended before a hand-over began.
    pub before: Vec<Delay>,
}

impl EventEvidence {
    /// Reads what the guest left in `folder`.
    ///
    /// # Errors
    /// If a file is missing or invalid.
    pub fn read(folder: &Path, boot: &str, condition: Condition) -> Result<Self, EvidenceError> {
        let files = Files { folder };
        let run = |means: EventMeans| {
            let record = format!("{means}.json");
            Ok(EventRun {
                means,
                run: files.run(&record, &[&format!("{means}.truth")])?,
                before: files.run(&record, &[&format!("{means}-before.truth")])?.truth,
            })
        };
        let runs = EventMeans::ALL.into_iter().map(run).collect::<Result<_, EvidenceError>>()?;
        Ok(Self { boot: boot.to_owned(), condition, runs })
    }
}
