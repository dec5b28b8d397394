//! Time spans in everyday words: `a day`, `12 hours`, `1y`.

use units::Ns;

const HOUR_NS: u64 = 3_600_000_000_000;
/// A day (ns).
pub const DAY_NS: u64 = 24 * HOUR_NS;
/// A year of 365 days (ns).
pub const YEAR_NS: u64 = 365 * DAY_NS;

/// Reads a time span (ns), such as `1 day`, `an hour`, `a year`, `90min` or `1h30m`: every duration, and longer units
/// and words.
///
/// # Errors
/// If the text is not a time span or not above zero, with the remedy.
pub fn parse_span(text: &str) -> Result<u64, String> {
    let whole = text.trim();
    let (number, unit) = match whole.split_once(' ') {
        Some((number, unit)) => (number, unit.trim()),
        None => {
            let digits = whole.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(whole.len());
            whole.split_at(digits)
        }
    };
    let size_ns = match unit {
        "min" | "minute" | "minutes" => 60_000_000_000,
        "h" | "hour" | "hours" => HOUR_NS,
        "d" | "day" | "days" => DAY_NS,
        "w" | "week" | "weeks" => 7 * DAY_NS,
        "y" | "year" | "years" => YEAR_NS,
        _ => {
            let span: Ns = whole.parse().map_err(|error: units::DurationError| {
                format!("{error}; write longer times as 1 day, 1 week, 1 year")
            })?;
            return if span > Ns::ZERO { Ok(span.unsigned()) } else { Err(format!("'{whole}' is not above zero")) };
        }
    };
    let number = match number {
        "a" | "an" | "one" => 1.0,
        digits => {
            digits.parse::<f64>().map_err(|_| format!("'{whole}' is not a time: write for example 1 day or 12h"))?
        }
    };
    let span = number * units::approx_f64(size_ns);
    // Beyond this limit, the sum of a run and a horizon no longer fits.
    if span >= 1.0 && span <= units::approx_f64(100 * YEAR_NS) {
        Ok(units::round_u64(span))
    } else {
        Err(format!("'{whole}' is out of range: a future time span is between 1 ns and 100 years"))
    }
}

/// A span (ns) as text: in whole years, days or hours if it has no remainder, otherwise like any other time.
#[must_use]
pub fn span_words(ns: u64) -> String {
    let exact = |size_ns: u64, one: &str, many: &str| match ns / size_ns {
        1 if ns % size_ns == 0 => Some(format!("1 {one}")),
        n if n > 1 && ns % size_ns == 0 => Some(format!("{n} {many}")),
        _ => None,
    };
    exact(YEAR_NS, "year", "years")
        .or_else(|| exact(DAY_NS, "day", "days"))
        .or_else(|| exact(HOUR_NS, "hour", "hours"))
        .unwrap_or_else(|| units::format::span(ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everyday_time_spans_are_read() {
        for (text, hours) in
            [("1 day", 24), ("a day", 24), ("an hour", 1), ("12h", 12), ("2 weeks", 336), ("1y", 8_760)]
        {
            assert_eq!(parse_span(text), Ok(hours * HOUR_NS), "{text}");
        }
        assert_eq!(parse_span("1h30m"), Ok(HOUR_NS * 3 / 2));
        assert_eq!(parse_span("90s"), Ok(90_000_000_000));
        assert_eq!(parse_span("1.5 days"), Ok(DAY_NS * 3 / 2));
        for bad in ["", "day", "0 days", "-1d", "5", "x years", "1000 years", "nan days", "1 fortnight"] {
            assert!(parse_span(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn round_spans_have_short_texts() {
        assert_eq!([DAY_NS, YEAR_NS, 2 * HOUR_NS].map(span_words), ["1 day", "1 year", "2 hours"]);
        assert_eq!(span_words(5_400_000_000_000), "1 h 30 min");
    }
}
