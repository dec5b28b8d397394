//! The calibration: known delays go in, and the instrument has to find them again.
//!
//! A deterministic guest ([`GUEST_SCRIPT`]) injects delays whose truth the injector logs, while the instrument measures.
//! This module compares: pure, of files that the guest left, so that a run can be judged again at any time.
//!
//! `reading = truth + baseline + difference`, and the difference has to lie within bounds that were fixed beforehand
//! ([`Bound`]). The *truth* of a wake-up is the time from the first expected wake inside the injection to the injection's
//! logged end. The *baseline* is the boot's own median wake-up with nothing injected; it has to equal cyclictest's in the
//! same boot, or a constant error of ours would subtract itself away.
//!
//! It does not say how good a machine is: the guest models no caches and has one CPU.

mod bound;
mod check;
mod cyclictest;
mod delay;
mod evidence;
mod noise;
mod step;
mod table;

pub use bound::{Bound, Condition};
pub use check::Check;
pub use cyclictest::Cyclictest;
pub use evidence::{Evidence, EvidenceError, NoiseEvidence, Run, StepRun};
use serde::{Deserialize, Serialize};
use units::Ns;

use crate::inject::Kind;

/// What the guest runs, with `LOAD` set to 0 or 1 and `SEED` to a small number, different in each boot; it leaves the files that [`Evidence::read`] takes.
pub const GUEST_SCRIPT: &str = include_str!("guest.sh");

/// From one schedule to the next in every wake-up run of the guest (ns).
pub const INTERVAL_NS: i64 = 200_000;

/// At least this share of the wake-up injections lies within its bound (per mille); the rest are exceptions, each
/// listed.
const WAKEUP_WITHIN_PER_MILLE: usize = 990;
/// In `noise` one injection of so many is expected to be an exception: its own drain, which looks every 250 ms, may take
/// its turn behind an injection (which take 63 ms of 1.3 s, so about one of eighty), and a tenth of all ticks does more
/// than ordinary ones (three of 21 injections meet a tick for certain): one of forty together.
const NOISE_EXCEPTION_OF: usize = 40;

/// Truth against reading of one injection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Row {
    /// The boot that it comes from.
    pub boot: String,
    /// What else ran in it.
    pub condition: Condition,
    /// What measured: `wakeup` or `noise`.
    pub measurement: String,
    /// What held the CPU.
    pub kind: Kind,
    /// How long it was to last (ns).
    pub asked_length_ns: i64,
    /// When it truly began (ns of CLOCK_MONOTONIC).
    pub true_start_ns: i64,
    /// What was to be found (ns), without the baseline.
    pub truth_ns: i64,
    /// What a wake-up takes by itself in this boot (ns); 0 for `noise`.
    pub baseline_ns: i64,
    /// What the instrument says (ns); absent where it found nothing.
    pub reading_ns: Option<i64>,
    /// Reading minus truth and baseline (ns).
    pub difference_ns: Option<i64>,
    /// What the difference has to keep.
    pub bound: Bound,
    /// Missed periods, where the measurement counts them.
    pub missed: Option<Missed>,
    /// How it came out.
    pub verdict: RowVerdict,
}

/// Missed periods of one sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Missed {
    /// What the record says.
    pub reading: i64,
    /// The fewest that truth, baseline and bound allow.
    pub least: i64,
    /// The most; equal to `least` unless the end of the injection lies next to a schedule.
    pub most: i64,
}

/// How one injection came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RowVerdict {
    /// Found, within its bound.
    Within,
    /// Found, above its bound by what a tick that collides explains; few may be.
    Exception,
    /// Found, and wrong.
    Outside,
    /// Not found.
    NotFound,
}

/// What a calibration says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Calibration {
    /// `punctual/calibration`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The version of the program that was calibrated.
    pub tool_version: String,
    /// What it was calibrated on: the guest's kernel.
    pub kernel_release: String,
    /// One row for each injection that had to be found.
    pub rows: Vec<Row>,
    /// Everything else that had to hold.
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
    let wakeups: Vec<&Row> = rows.iter().filter(|row| row.measurement == delay::MEASUREMENT).collect();
    let (within, of) = within(&wakeups);
    // No injection at all is no calibration.
    let enough = of > 0 && within * 1_000 >= of * WAKEUP_WITHIN_PER_MILLE;
    // The share is of all together; each condition's own is told beside it.
    let shares = [Condition::Idle, Condition::Load].map(|condition| {
        let (within, of) =
            self::within(&wakeups.iter().copied().filter(|row| row.condition == condition).collect::<Vec<_>>());
        format!("{within} of {of} {}", condition.name())
    });
    checks.push(Check::of_all(
        "wakeup: 99 % within bounds",
        enough,
        format!("{within} of {of}: {}", shares.join(", ")),
    ));
    if boots.iter().any(|boot| boot.noise.is_some()) {
        let (within, of) =
            self::within(&rows.iter().filter(|row| row.measurement == noise::MEASUREMENT).collect::<Vec<_>>());
        let few = of > 0 && are_few(of - within, of);
        checks.push(Check::of_all("noise: few exceptions", few, format!("{} of {of}", of - within)));
    }
    Calibration {
        schema: "punctual/calibration".to_owned(),
        version: 1,
        tool_version: boots.first().map(|boot| boot.quiet.manifest().tool.version.clone()).unwrap_or_default(),
        kernel_release: boots.first().map(|boot| boot.quiet.manifest().node.kernel_release.clone()).unwrap_or_default(),
        rows,
        checks,
    }
}

/// How many are within their bounds, and how many there are.
fn within(rows: &[&Row]) -> (usize, usize) {
    (rows.iter().filter(|row| row.verdict == RowVerdict::Within).count(), rows.len())
}

/// Whether so many exceptions of so many injections are no more than three standard deviations of a Poisson count above
/// the expectation of one in [`NOISE_EXCEPTION_OF`]: (k - n/40)^2 <= 9 n/40.
const fn are_few(exceptions: usize, of: usize) -> bool {
    let above = (exceptions * NOISE_EXCEPTION_OF).saturating_sub(of);
    above * above <= 9 * NOISE_EXCEPTION_OF * of
}

impl Calibration {
    /// Whether the instrument is calibrated: every check holds, nothing is wrong or was not found.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.checks.iter().all(|check| check.holds)
            && self.rows.iter().all(|row| matches!(row.verdict, RowVerdict::Within | RowVerdict::Exception))
    }

    /// What speaks against it, a line each; empty where it passes.
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
    /// One line for a person.
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
