//! Why samples were late: what happened on their CPU is recorded round and round, read by the drain after an outlier, and
//! concluded from.
//!
//! `recorder` (the best source that this machine gives: `programs`, else `events`, else `counters`) → `watch` (what a
//! measuring thread does at an outlier: a few stores, of which one stops the programs of its CPU) → `explainer` (reads,
//! names, concludes; on the drain's CPUs) → the record's `explanation`.

mod below;
mod cost;
mod counters;
mod events;
mod explainer;
mod judge;
mod kept;
mod names;
mod parts;
mod programs;
mod recorder;
mod watch;

pub(crate) use cost::{cost_of_pieces, is_dear};
pub(crate) use explainer::{Begin, Explainer, FOLLOWED, Followed, Known, kernel_priority};
pub(crate) use judge::judge;
pub(crate) use parts::{IntervalEnd, PartsCollector, PartsWriter, parts_ring};
pub(crate) use recorder::{Recorder, Threads};
pub(crate) use watch::{OutlierWatch, Watched};

use units::Ns;

/// Unless it is asked for, the parts of every wake-up are recorded from this interval on: recording them costs about half a
/// microsecond a wake-up, which shall stay below a thousandth of the CPU.
pub const PARTS_FROM: Ns = Ns::from_us(500);
