//! The calibration of readings of clocks: `measure sync` against clocks whose time is known.
//!
//! In the deterministic guest the kernel module `punctual_time` has two network interfaces with hardware clocks, each an
//! exact function of the guest's uncorrected clock. It logs what all clocks showed; the guest's script sets them, and has
//! ptp4l and phc2sys steer them. This module compares what `measure sync` stated with that log. Pure.

mod checks;
mod evidence;
mod figures;
mod row;
mod truth;

use std::fmt;

pub use evidence::{RUNS, SyncEvidence, SyncEvidenceError, SyncRunEvidence};
pub use figures::{Figures, figures};
pub use row::SyncRow;
use serde::{Deserialize, Serialize};
pub use truth::{Difference, Span, TruthError, TruthLine, TruthLog};

use super::Check;

/// The guest's shell script. `SEED` is a small number that differs in each boot. It leaves the files that
/// [`SyncEvidence::read`] reads.
pub const SYNC_GUEST_SCRIPT: &str = include_str!("guest.sh");

/// The result of the calibration of readings of clocks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SyncCalibration {
    /// `punctual/sync-calibration`.
    pub schema: String,
    /// Version of the schema.
    pub version: u32,
    /// The version of the program that was calibrated.
    pub tool_version: String,
    /// Release of the guest's kernel.
    pub kernel_release: String,
    /// One row for each source of each run.
    pub rows: Vec<SyncRow>,
    /// The other checks.
    pub checks: Vec<Check>,
}

/// Compares what the guests found with the truth.
#[must_use]
pub fn calibrate_sync(boots: &[SyncEvidence]) -> SyncCalibration {
    let mut rows = Vec::new();
    let mut checks = Vec::new();
    for boot in boots {
        for run in &boot.runs {
            rows.extend(run.sources().iter().filter_map(|source| SyncRow::of(&boot.boot, run, source)));
        }
        checks.extend(checks::of_boot(boot, &rows));
    }
    if boots.is_empty() {
        checks.push(Check::for_all("there is a boot", false, "nothing was calibrated"));
    }
    let first = boots.first().and_then(|boot| boot.runs.first()).map(|run| run.record.manifest());
    SyncCalibration {
        schema: "punctual/sync-calibration".to_owned(),
        version: 1,
        tool_version: first.map(|manifest| manifest.tool.version.clone()).unwrap_or_default(),
        kernel_release: first.map(|manifest| manifest.node.kernel_release.clone()).unwrap_or_default(),
        rows,
        checks,
    }
}

impl SyncCalibration {
    /// Whether every bound contained the truth and every check holds.
    #[must_use]
    pub fn passes(&self) -> bool {
        self.objections().is_empty()
    }

    /// The failed rows and checks, one line each; empty if the calibration passes.
    #[must_use]
    pub fn objections(&self) -> Vec<String> {
        let rows = self.rows.iter().filter(|row| !row.holds()).map(|row| {
            format!(
                "{} {} {}: {} of {} bounds contain the truth; it was outside by up to {} ns",
                row.boot,
                row.run,
                row.source,
                row.contained,
                row.bounds,
                row.margin_ns.map_or(0, |ns| -ns.min(0))
            )
        });
        let checks = self
            .checks
            .iter()
            .filter(|check| !check.holds)
            .map(|check| format!("{} {}: {}", check.boot, check.name, check.found).trim_start().to_owned());
        rows.chain(checks).collect()
    }
}

/// Two numbers as a range, or a dash.
fn range(pair: Option<(i64, i64)>) -> String {
    pair.map_or_else(|| "-".to_owned(), |(low, high)| format!("{low:+}..{high:+}"))
}

impl fmt::Display for SyncCalibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<7} {:<12} {:<24} {:>9} {:>10} {:>10}  {:<22} rate ppb",
            "boot", "run", "source", "contained", "widest ns", "margin ns", "reading less truth ns"
        )?;
        for row in &self.rows {
            let rate = row
                .rate_ppb
                .map_or_else(|| "-".to_owned(), |(truth, low, high)| format!("{truth:+} in {low:+}..{high:+}"));
            writeln!(
                f,
                "{:<7} {:<12} {:<24} {:>9} {:>10} {:>10}  {:<22} {rate}",
                row.boot,
                row.run,
                row.source,
                format!("{}/{}", row.contained, row.bounds),
                row.widest_ns,
                row.margin_ns.map_or_else(|| "-".to_owned(), |ns| ns.to_string()),
                range(row.error_ns),
            )?;
        }
        for check in &self.checks {
            writeln!(f, "{} {}: {}", check.boot, check.name, check.found)?;
        }
        for objection in self.objections() {
            writeln!(f, "wrong: {objection}")?;
        }
        let held = self.checks.iter().filter(|check| check.holds).count();
        write!(
            f,
            "the bounds of {} of {} sources contain the truth, {held} of {} checks hold: {}",
            self.rows.iter().filter(|row| row.holds()).count(),
            self.rows.len(),
            self.checks.len(),
            if self.passes() { "calibrated" } else { "NOT calibrated" }
        )
    }
}

#[cfg(test)]
mod tests;
