//! What the outputs of all rtla tools have in common.

use record::ReasonCode;

use super::Unit;
use super::source::Imported;
use super::text::{number, quoted};
use crate::error::ForeignError;

/// Parses a duration as rtla prints it: `0 00:10:00`, days and then hours, minutes, seconds. Anything after it is ignored.
pub(super) fn duration_ns(text: &str) -> Option<i64> {
    let mut words = text.split_ascii_whitespace();
    let days: i64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(|part| part.parse::<i64>().ok());
    let (hours, minutes, seconds) = (clock.next()??, clock.next()??, clock.next()??);
    let whole = [hours, minutes, seconds].iter().all(|part| (0..100).contains(part));
    (whole && clock.next().is_none() && (0..100_000).contains(&days))
        .then(|| (((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000_000_000)
}

/// The unit in a header: `(us)` or `(ns)`.
pub(super) fn unit(header: &str) -> Option<Unit> {
    if header.contains("(us)") {
        Some(Unit::Us)
    } else if header.contains("(ns)") {
        Some(Unit::Ns)
    } else {
        None
    }
}

/// The unit of a table, which rtla's headings state; without them it is what rtla uses unless `-n` says otherwise.
pub(super) fn unit_or_assumed(imported: &mut Imported, unit: Option<Unit>) -> Unit {
    unit.unwrap_or_else(|| {
        imported.reason(ReasonCode::UnitAssumed, "microseconds; the line that states the unit is missing");
        Unit::Us
    })
}

/// Evaluates a remark that a tool may print between or after its rows.
pub(super) fn remark(imported: &mut Imported, row: &str) {
    if row.contains("events missed") {
        imported.reason(ReasonCode::SamplesDropped, format!("the source says: {}", quoted(row)));
    }
    if row.contains("hit stop tracing") {
        imported.reason(ReasonCode::InterruptedEarly, "a latency above the requested limit ended it, as requested");
    }
}

/// Parameters that timerlat does not print.
pub(super) const TIMERLAT_LACKS: &str = "the period and the priority";
/// Parameters that osnoise does not print.
pub(super) const OSNOISE_LACKS: &str = "the period, the runtime and the threshold";

/// Sets what is the same for all rtla tools.
pub(super) fn about(imported: &mut Imported, unit: Unit, lacks: &str) {
    imported.lacks_fractions(unit.ns());
    imported.lacks("the command line and the version");
    imported.lacks(lacks);
    imported.lacks("the view from user space: the kernel's tracer read its own clock");
    imported.requested().pinned = true;
}

/// Parses a CPU number; Linux supports at most 8192 CPUs (its largest CONFIG_NR_CPUS).
pub(super) fn cpu(word: &str, line: usize) -> Result<u32, ForeignError> {
    let cpu = number(word, line, "the CPU")?;
    u32::try_from(cpu)
        .ok()
        .filter(|cpu| *cpu < 8_192)
        .ok_or_else(|| ForeignError::Line { line, what: format!("there is no CPU {cpu}") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration_ns("0 00:10:00"), Some(600_000_000_000));
        assert_eq!(duration_ns("2 01:00:01 | time is in us"), Some(176_401_000_000_000));
        for odd in ["", "0", "0 10:00", "0 1:2:3:4", "x 00:00:01", "-1 00:00:01"] {
            assert_eq!(duration_ns(odd), None, "{odd}");
        }
    }
}
