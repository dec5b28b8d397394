//! Why samples were late: the flight recorder is stopped at an outlier by the measuring thread itself, read by the drain,
//! and started again.
//!
//! `recorder` (loads it) → `watch` (what a measuring thread does at an outlier: a few stores) → `explainer` (reads, names,
//! concludes; on the drain's CPUs) → the record's `explanation`.

mod cost;
mod explainer;
mod names;
mod recorder;
mod watch;

pub(crate) use cost::is_dear;
pub use cost::measure_cost;
pub(crate) use explainer::{Explainer, FOLLOWED, Followed, Known, kernel_priority};
pub(crate) use recorder::Recorder;
pub(crate) use watch::{OutlierWatch, Watched};

use units::Ns;

/// What of a run is explained.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExplainConfig {
    /// Samples above this; `None` follows the worst few of each thread.
    pub above: Option<Ns>,
}
