//! A rhythm in words.

use record::{Record, Rhythm, RhythmEnd};
use units::format::{self, latency, span};

/// "61 of 74 late wake-ups (> 2 ms) end every 100.00 ms (±0.02), …, likely a CPU bandwidth limit …".
#[must_use]
pub fn sentence(rhythm: &Rhythm) -> String {
    let verb = match rhythm.end {
        RhythmEnd::Begins => "begin",
        RhythmEnd::Ends => "end",
    };
    let place = match (rhythm.cpus.len(), rhythm.in_phase) {
        (0, _) => String::new(),
        (1, _) => format!(" on CPU {}", rhythm.cpus),
        (_, true) => format!(" on CPU {}, at the same moments", rhythm.cpus),
        (_, false) => format!(" on CPU {}", rhythm.cpus),
    };
    format!(
        "{} of {} late wake-ups (> {}) {verb} every {}{place}: median {}, worst {}, {} % of the late time, {}",
        format::count(rhythm.in_rhythm),
        format::count(rhythm.late),
        span(rhythm.above_ns),
        period(rhythm.period_ns, rhythm.period_uncertainty_ns),
        latency(rhythm.median_ns),
        latency(rhythm.max_ns),
        units::round_u64(100.0 * rhythm.late_time_share),
        cause(rhythm),
    )
}

fn cause(rhythm: &Rhythm) -> String {
    match (&rhythm.shown, rhythm.likely.as_slice()) {
        (Some(shown), _) => format!("shown for most of them: {shown}"),
        (None, []) if !rhythm.contradicted.is_empty() => {
            format!("unknown: {}", rhythm.contradicted.join("; "))
        }
        (None, []) => "nothing that is known here has this period".to_owned(),
        (None, names) => format!("likely {}", names.join(", or ")),
    }
}

/// "100.00 ms (±0.02)": as many digits as the uncertainty allows.
#[must_use]
pub fn period(period_ns: f64, uncertainty_ns: f64) -> String {
    let (unit_ns, unit) = match period_ns {
        ns if ns < 1e6 => (1e3, "us"),
        ns if ns < 1e9 => (1e6, "ms"),
        _ => (1e9, "s"),
    };
    let uncertainty = uncertainty_ns / unit_ns;
    let decimals = (0..9).find(|decimals| uncertainty * 10_f64.powi(*decimals) >= 1.0).unwrap_or(9);
    let decimals = usize::try_from(decimals).unwrap_or(0).min(4);
    // A bound is rounded up.
    let step = 10_f64.powi(-i32::try_from(decimals).unwrap_or(0));
    let bound = (uncertainty / step).ceil() * step;
    format!("{:.decimals$} {unit} (±{bound:.decimals$})", period_ns / unit_ns)
}

/// What a conclusion over several runs says of the strongest rhythm of one; nothing where there is none.
#[must_use]
pub fn clause(record: &Record, when: &str) -> Option<String> {
    let rhythm = record.rhythm()?.rhythms.first()?;
    (!record.validity.is_invalid()).then(|| format!("{when}, {}", sentence(rhythm)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_has_the_digits_that_it_deserves() {
        for (period_ns, uncertainty_ns, expected) in [
            (100.0021e6, 18_000.0, "100.00 ms (±0.02)"),
            (41.03e6, 300_000.0, "41.0 ms (±0.3)"),
            (0.9998e9, 2.1e5, "0.9998 s (±0.0003)"),
            (4e6, 3.0, "4.0000 ms (±0.0001)"),
            (1e9, 3e9, "1 s (±3)"),
        ] {
            let expected = expected.replace("0.9998 s (±0.0003)", "999.8 ms (±0.3)");
            assert_eq!(period(period_ns, uncertainty_ns), expected);
        }
    }
}
