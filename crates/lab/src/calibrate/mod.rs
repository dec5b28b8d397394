//! The calibration: known delays are injected, and the instrument has to find them.
//!
//! A deterministic guest ([`GUEST_SCRIPT`]) injects delays and logs their true times while the instrument measures.
//! This module compares both. It is pure and works on the files that the guest left, so a run can be judged again at
//! any time.
//!
//! `reading = truth + baseline + difference`, and the difference has to be within bounds that were fixed beforehand
//! ([`Bound`]). The *truth* of a wake-up is the time from the first expected wake-up inside the injection to the logged
//! end of the injection. The *baseline* is the median wake-up of the same boot with nothing injected. The mean has to
//! equal cyclictest's in the same boot, or a constant error of ours would cancel out.
//!
//! A calibration says nothing about the quality of a machine: the guest models no caches and has one CPU.

mod bound;
mod check;
mod cyclictest;
mod delay;
pub mod event;
mod evidence;
mod noise;
mod step;
pub mod sync;
mod table;

pub use bound::{Bound, Condition};
pub use check::Check;
pub use cyclictest::Cyclictest;
pub use evidence::{Evidence, EvidenceError, NoiseEvidence, Run, StepRun};
use record::Record;
use serde::{Deserialize, Serialize};
use units::Ns;

use crate::injection::Kind;

/// The guest's shell script. `LOAD` is 0 or 1, and `SEED` is a small number that differs in each boot. It leaves the
/// files that [`Evidence::read`] reads.
pub const GUEST_SCRIPT: &str = include_str!("guest.sh");

/// Period of every wake-up run of the guest (ns).
pub const INTERVAL_NS: i64 = 200_000;

/// Least share of the injections into wake-ups, and of those into hand-overs, that are within their bound (per mille); the
/// rest are exceptions, which are listed.
const WITHIN_PER_MILLE: usize = 990;
/// In `noise` one of this many injections is expected to be an exception. The instrument's drain, which runs every 250
/// ms, may run right after an injection; injections take 63 ms of 1.3 s, so this affects about one of eighty. In
/// addition, a tenth of all ticks does more than ordinary ones, and three of 21 injections always meet a tick.
/// Together: one of forty.
const NOISE_EXCEPTION_OF: usize = 40;

/// Truth and reading of one injection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the boot.
    pub boot: String,
    /// Idle or under load.
    pub condition: Condition,
    /// The measurement: `wakeup`, `noise` or `event`.
    pub measurement: String,
    /// The kind of injection.
    pub kind: Kind,
    /// Requested length of the injection (ns).
    pub asked_length_ns: i64,
    /// True start of the injection (ns of CLOCK_MONOTONIC).
    pub true_start_ns: i64,
    /// What the instrument had to find (ns), without the baseline.
    pub truth_ns: i64,
    /// Median wake-up latency of this boot with nothing injected (ns); the median hand-over of the same run for `event`; 0 for
    /// `noise`.
    pub baseline_ns: i64,
    /// What the instrument measured (ns); absent if it found nothing.
    pub reading_ns: Option<i64>,
    /// Reading minus truth minus baseline (ns).
    pub difference_ns: Option<i64>,
    /// The bounds of the difference.
    pub bound: Bound,
    /// Missed periods, if the measurement counts them.
    pub missed: Option<Missed>,
    /// The result for this injection.
    pub verdict: RowVerdict,
}

/// Missed periods of one sample, with their bounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// Number in the record.
    pub reading: i64,
    /// Smallest number that truth, baseline and bound allow.
    pub least: i64,
    /// Largest number; equal to `least` unless the end of the injection is close to a schedule.
    pub most: i64,
}

/// The result for one injection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowVerdict {
    /// Found, within the bounds.
    Within,
    /// Found, above the bound by what a colliding tick explains; only a few are allowed.
    Exception,
    /// Found, but outside the bounds.
    Outside,
    /// The instrument did not read it.
    NotFound,
}

/// The result of a calibration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// `punctual/calibration`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The version of the program that was calibrated.
    pub tool_version: String,
    /// Release of the guest's kernel.
    pub kernel_release: String,
    /// One row for each injection that had to be found.
    pub rows: Vec<Row>,
    /// The other checks.
    pub checks: Vec<Check>,
}

/// Compares what the guests found with what was injected.
#[must_use]
pub fn calibrate(boots: &[Evidence]) -> Calibration {
    let mut rows = Vec::new();
    let mut checks = Vec::new();
    for boot in boots {
        let baseline = check::baseline(boot, &mut checks);
        check::records(boot, &mut checks);
        check::controls(boot, baseline, &mut checks);
        step::checks(boot, baseline, &mut checks);
        for (name, run) in [("irqs-off", &boot.irqs_off), ("hog", &boot.hog)] {
            delay::rows(boot, run, baseline, &mut rows);
            check::wall_time(boot, name, run, &mut checks);
        }
        if let Some(noise) = &boot.noise {
            noise::rows(boot, noise, &mut rows, &mut checks);
        }
    }
    checks.push(mostly_within(delay::MEASUREMENT, &rows));
    if boots.iter().any(|boot| boot.noise.is_some()) {
        let (within, of) = within(&rows.iter().filter(|row| row.measurement == noise::MEASUREMENT).collect::<Vec<_>>());
        let few = of > 0 && are_few(of - within, of);
        checks.push(Check::for_all("noise: few exceptions", few, format!("{} of {of}", of - within)));
    }
    Calibration::new(boots.first().map(|boot| &boot.quiet), rows, checks)
}

/// Checks that most delays of a measurement are within their bounds.
fn mostly_within(measurement: &str, rows: &[Row]) -> Check {
    let rows: Vec<&Row> = rows.iter().filter(|row| row.measurement == measurement).collect();
    let (within, of) = within(&rows);
    // Without any injection nothing has been calibrated.
    let enough = of > 0 && within * 1_000 >= of * WITHIN_PER_MILLE;
    // The bound is for all rows together; the text also shows the share of each condition.
    let shares = [Condition::Idle, Condition::Load].map(|condition| {
        let (within, of) =
            self::within(&rows.iter().copied().filter(|row| row.condition == condition).collect::<Vec<_>>());
        format!("{within} of {of} {}", condition.name())
    });
    let found = format!("{within} of {of}: {}", shares.join(", "));
    Check::for_all(format!("{measurement}: 99 % within bounds"), enough, found)
}

/// How many rows are within their bounds, and how many rows there are.
fn within(rows: &[&Row]) -> (usize, usize) {
    (rows.iter().filter(|row| row.verdict == RowVerdict::Within).count(), rows.len())
}

/// Whether the number of exceptions is at most three standard deviations of a Poisson count above the expectation of
/// one in [`NOISE_EXCEPTION_OF`]: (k - n/40)^2 <= 9 n/40.
const fn are_few(exceptions: usize, of: usize) -> bool {
    let above = (exceptions * NOISE_EXCEPTION_OF).saturating_sub(of);
    above * above <= 9 * NOISE_EXCEPTION_OF * of
}

impl Calibration {
    /// With the version and the kernel that the first record states.
    fn new(first: Option<&Record>, rows: Vec<Row>, checks: Vec<Check>) -> Self {
        let manifest = first.map(Record::manifest);
        Self {
            schema: "punctual/calibration".to_owned(),
            version: 1,
            tool_version: manifest.map(|manifest| manifest.tool.version.clone()).unwrap_or_default(),
            kernel_release: manifest.map(|manifest| manifest.node.kernel_release.clone()).unwrap_or_default(),
            rows,
            checks,
        }
    }

    /// With the rows and checks of another one, so that both are one table.
    #[must_use]
    pub fn with(mut self, other: Self) -> Self {
        self.rows.extend(other.rows);
        self.checks.extend(other.checks);
        self
    }

    /// Whether the instrument is calibrated: every check holds, and no injection is outside its bounds or was not
    /// found.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
            && self.rows.iter().all(|row| matches!(row.verdict, RowVerdict::Within | RowVerdict::Exception))
    }

    /// The failed checks and rows, one line each; empty if the calibration passes.
    #[must_use]
    pub fn objections(&self) -> Vec<String> {
        let checks = self
            .checks
            .iter()
            .filter(|check| !check.holds)
            .map(|check| format!("{} {}: {}", check.boot, check.name, check.found).trim_start().to_owned());
        let rows = self
            .rows
            .iter()
            .filter(|row| matches!(row.verdict, RowVerdict::Outside | RowVerdict::NotFound))
            .map(Row::in_words);
        checks.chain(rows).collect()
    }
}

impl Row {
    /// The row as one line of text.
    #[must_use]
    pub fn in_words(&self) -> String {
        let length = Ns(self.asked_length_ns);
        let kind = self.kind.name();
        let head = format!("{} {} {kind} {length} at {} ns", self.boot, self.measurement, self.true_start_ns);
        let Some((reading_ns, difference_ns)) = self.reading_ns.zip(self.difference_ns) else {
            return format!("{head}: not found");
        };
        let missed = self.missed.map_or_else(String::new, |missed| {
            format!(", {} periods missed of {} to {}", missed.reading, missed.least, missed.most)
        });
        format!(
            "{head}: read {reading_ns} ns, {difference_ns:+} ns from the truth, allowed {:+} to {:+}{missed}",
            self.bound.least_ns, self.bound.most_ns
        )
    }
}

#[cfg(test)]
mod tests;
