//! The calibration as a table for the terminal: one line for each kind and length of injection.

use std::collections::BTreeMap;
use std::fmt;

use units::Ns;

use super::{Calibration, Row, RowVerdict};
use crate::injection::Kind;

impl Kind {
    /// Its name in logs and tables.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::IrqsOff => "irqs-off",
            Self::Softirq => "softirq",
            Self::Hog => "hog",
            Self::SoftTimer => "soft-timer",
            Self::ThreadIrqsOff => "thread-irqs-off",
            Self::PreemptOff => "preempt-off",
            Self::Irq => "irq",
            Self::IrqThread => "irq-thread",
            Self::Waking => "waking",
        }
    }
}

impl fmt::Display for Calibration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut groups: BTreeMap<(&str, Kind, i64), Vec<&Row>> = BTreeMap::new();
        for row in &self.rows {
            groups.entry((&row.measurement, row.kind, row.asked_length_ns)).or_default().push(row);
        }
        writeln!(
            f,
            "{:<8} {:<9} {:>7} {:>5} {:>7} {:>10} {:>8} {:>8} {:>8}",
            "measured", "injected", "length", "found", "within", "exceptions", "least ns", "mean ns", "most ns"
        )?;
        for ((measurement, kind, length_ns), rows) in groups {
            let count = |verdict| rows.iter().filter(|row| row.verdict == verdict).count();
            let differences: Vec<i64> = rows.iter().filter_map(|row| row.difference_ns).collect();
            let found = i64::try_from(differences.len()).unwrap_or(i64::MAX);
            writeln!(
                f,
                "{measurement:<8} {:<9} {:>7} {:>5} {:>7} {:>10} {:>8} {:>8} {:>8}",
                kind.name(),
                Ns(length_ns).to_string(),
                format!("{found}/{}", rows.len()),
                count(RowVerdict::Within),
                count(RowVerdict::Exception),
                differences.iter().min().copied().unwrap_or(0),
                differences.iter().sum::<i64>() / found.max(1),
                differences.iter().max().copied().unwrap_or(0),
            )?;
        }
        for row in self.rows.iter().filter(|row| row.verdict == RowVerdict::Exception) {
            writeln!(f, "exception: {}", row.in_words())?;
        }
        for check in self.checks.iter().filter(|check| check.boot.is_empty()) {
            writeln!(f, "{}: {}", check.name, check.found)?;
        }
        for objection in self.objections() {
            writeln!(f, "wrong: {objection}")?;
        }
        let held = self.checks.iter().filter(|check| check.holds).count();
        write!(
            f,
            "{held} of {} checks hold: {}",
            self.checks.len(),
            if self.passes() { "calibrated" } else { "NOT calibrated" }
        )
    }
}
