//! Periods among the late wake-ups of a run: something that comes back on a clock leaves them at one phase of it.
//!
//! `events` (late wake-ups above several thresholds, what follows directly counted once) → `spectrum` (candidates, by a
//! Fourier transform) → `statistic` (how probable that is by chance) → `fit` (the period with its error) → `known` (what
//! has that period). How many runs without rhythm show one was measured: `tests/calibration.rs`.

mod causes;
mod events;
mod fit;
mod fourier;
mod jitter;
mod known;
mod scan;
mod spectrum;
mod statistic;
#[cfg(test)]
mod tests;
mod words;

use record::RhythmScan;

pub use causes::with_causes;
pub use events::LateWakeup;
pub use jitter::offsets;
pub use known::Surroundings;
pub use statistic::log_binomial_above;
pub use words::{clause, period, sentence};

/// Probability that a run without any rhythm shows one: less than this, all trials of a scan counted.
pub const FALSE_ALARM: f64 = 0.001;
/// What is asked of a rhythm. A fifth of what is promised, since the null is never quite the run's.
const LEVEL: f64 = FALSE_ALARM / 5.0;
/// Late wake-ups of a run that a recorder keeps in all, the latest included: more than a scan looks at.
pub const KEPT_WAKEUPS: usize = 16_384;

/// The late wake-ups of one thread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LateThread {
    /// The measured CPU; absent where the thread was not pinned.
    pub cpu: Option<u32>,
    /// Time from one schedule to the next (ns).
    pub interval_ns: u64,
    /// All wake-ups later than some latency, in the order of time.
    pub wakeups: Vec<LateWakeup>,
}

/// What a scan looks at.
#[derive(Clone, Debug)]
pub struct ScanInput<'a> {
    /// The threads of the run.
    pub threads: &'a [LateThread],
    /// The first schedule (ns on CLOCK_MONOTONIC).
    pub started_ns: i64,
    /// The end of the run (ns on CLOCK_MONOTONIC).
    pub ended_ns: i64,
    /// CLOCK_REALTIME minus CLOCK_MONOTONIC at the start (ns): jobs of cron keep the time of the wall.
    pub realtime_offset_ns: i64,
    /// What is not late: wake-ups up to this latency (ns). All later ones are among the threads' wake-ups.
    pub body_ns: u64,
    /// The limit that was stated (ns).
    pub deadline_ns: Option<u64>,
    /// Whether each schedule lay at random within its interval, so that the interval hides no period.
    pub jittered: bool,
    /// What the machine is known to have.
    pub surroundings: &'a Surroundings,
}

/// Finds the rhythms of a run.
#[must_use]
pub fn scan(input: &ScanInput<'_>) -> RhythmScan {
    scan::scan(input)
}
