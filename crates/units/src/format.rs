//! The one formatter of the product: every number that a person reads passes here.
//!
//! Rules: microseconds with one decimal below 100 us, none above; thin spaces between thousands;
//! nanoseconds below one microsecond; durations of people as "5 h 33 min".

/// The narrow no-break space between thousands.
pub const THIN_SPACE: char = '\u{202f}';

/// A number of nanoseconds of any of the types that histograms, clocks and statistics give.
pub trait Nanoseconds {
    /// Rounded to a whole number, and at most what 64 bits hold.
    fn whole(self) -> i64;
}

impl Nanoseconds for i64 {
    fn whole(self) -> i64 {
        self
    }
}

impl Nanoseconds for u64 {
    fn whole(self) -> i64 {
        i64::try_from(self).unwrap_or(i64::MAX)
    }
}

impl Nanoseconds for i32 {
    fn whole(self) -> i64 {
        self.into()
    }
}

impl Nanoseconds for f64 {
    fn whole(self) -> i64 {
        let magnitude = crate::round_u64(self.abs()).whole();
        if self < 0.0 { -magnitude } else { magnitude }
    }
}

/// Digits in groups of three: `1305` becomes "1 305" with a thin space.
#[must_use]
pub fn count(value: u64) -> String {
    group(&value.to_string())
}

/// A number of things with its noun: "1 order", "1 305 orders".
#[must_use]
pub fn count_of(number: u64, one: &str, several: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { several })
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 * THIN_SPACE.len_utf8());
    for (i, c) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            out.push(THIN_SPACE);
        }
        out.push(c);
    }
    out
}

/// From here on a difference of two times is no latency but another date, and nobody reads it in microseconds (ns).
const ANOTHER_DATE_NS: u64 = 1_000_000_000_000;

/// A latency: "853 ns", "41.8 us", "1 305 us", "24 310 us"; always in this order of units so that columns compare. Clocks that
/// differ by more than 1,000 s do so by days and hours.
#[must_use]
pub fn latency(ns: impl Nanoseconds) -> String {
    let ns = ns.whole();
    let sign = if ns < 0 { "-" } else { "" };
    let magnitude = ns.unsigned_abs();
    if magnitude < 1_000 {
        return format!("{sign}{magnitude} ns");
    }
    if magnitude >= ANOTHER_DATE_NS {
        return span(ns);
    }
    format!("{sign}{} us", microseconds(magnitude))
}

/// A bound from above, in the digits of [`latency`], rounded up: "at most 90.1 us" for 90,010 ns, of which 90.0 would be too little.
#[must_use]
pub fn latency_at_most(ns: impl Nanoseconds) -> String {
    latency(toward(ns.whole(), Side::Up))
}

/// A bound from below, in the digits of [`latency`], rounded down.
#[must_use]
pub fn latency_at_least(ns: impl Nanoseconds) -> String {
    latency(toward(ns.whole(), Side::Down))
}

/// A bound from below, in the digits of [`span`], rounded down: "rarer than one in 500 ms" for 500.05 ms.
#[must_use]
pub fn span_at_least(ns: impl Nanoseconds) -> String {
    let ns = ns.whole();
    // Below a millisecond both have the same digits.
    span(if ns.unsigned_abs() < 1_000_000 {
        toward(ns, Side::Down)
    } else {
        to_digits(ns, span_step(ns.unsigned_abs()), Side::Down)
    })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Up,
    Down,
}

/// The nearest time to that side which [`latency`] prints as it is (ns).
fn toward(ns: i64, side: Side) -> i64 {
    let step_ns = match ns.unsigned_abs() {
        0..1_000 => 1,
        1_000..100_000 => 100,
        100_000..ANOTHER_DATE_NS => 1_000,
        another_date => span_step(another_date),
    };
    to_digits(ns, step_ns, side)
}

/// What the last digit that [`span`] prints of a time from a millisecond on is worth (ns).
const fn span_step(magnitude_ns: u64) -> u64 {
    match magnitude_ns {
        0..1_000_000_000 => 100_000,
        1_000_000_000..100_000_000_000 => 100_000_000,
        100_000_000_000..3_600_000_000_000 => 1_000_000_000,
        3_600_000_000_000..86_400_000_000_000 => 60_000_000_000,
        _ => 3_600_000_000_000,
    }
}

fn to_digits(ns: i64, step_ns: u64, side: Side) -> i64 {
    let magnitude = ns.unsigned_abs();
    let is_away_from_zero = (side == Side::Up) == (ns >= 0);
    let steps = if is_away_from_zero { magnitude.div_ceil(step_ns) } else { magnitude / step_ns };
    let rounded = steps.saturating_mul(step_ns).whole();
    if ns < 0 { -rounded } else { rounded }
}

/// A difference of two times with its sign, also where it is none: "+1.8 us", "-740 ns", "+0 ns".
#[must_use]
pub fn difference(ns: impl Nanoseconds) -> String {
    let ns = ns.whole();
    let sign = if ns < 0 { "" } else { "+" };
    format!("{sign}{}", latency(ns))
}

/// A change in per cent with its sign and one decimal: "+14.6 %", "-0.3 %"; what rounds to nothing is "0.0 %".
#[must_use]
pub fn change(percent: f64) -> String {
    let tenths = (percent * 10.0).round() / 10.0;
    if tenths.abs() < 0.05 { "0.0 %".to_owned() } else { format!("{tenths:+.1} %") }
}

/// A latency's number alone, in microseconds, for columns whose head says "us": "0.9", "41.8", "1 305".
#[must_use]
pub fn microseconds(ns: u64) -> String {
    // Rounded to tenths first: 99.96 us must read "100", not "100.0".
    let tenths = ns / 100 + u64::from(ns % 100 >= 50);
    if tenths < 1_000 {
        format!("{}.{}", tenths / 10, tenths % 10)
    } else {
        count(ns / 1_000 + u64::from(ns % 1_000 >= 500))
    }
}

/// A span of time as people say it: "853 ns", "41.8 us", "20 ms", "1.2 s", "60 s", "2 min 5 s", "5 h 33 min", "3 d 4 h".
#[must_use]
pub fn span(ns: impl Nanoseconds) -> String {
    let ns = ns.whole();
    let sign = if ns < 0 { "-" } else { "" };
    let magnitude = ns.unsigned_abs();
    let text = if magnitude < 1_000_000 {
        return latency(ns);
    } else if magnitude < 1_000_000_000 {
        one_decimal(magnitude, 1_000_000, "ms")
    } else if magnitude < 100_000_000_000 {
        one_decimal(magnitude, 1_000_000_000, "s")
    } else {
        let seconds = magnitude / 1_000_000_000;
        if seconds < 3_600 {
            two(seconds / 60, "min", seconds % 60, "s")
        } else if seconds < 86_400 {
            two(seconds / 3_600, "h", seconds % 3_600 / 60, "min")
        } else {
            two(seconds / 86_400, "d", seconds % 86_400 / 3_600, "h")
        }
    };
    format!("{sign}{text}")
}

fn one_decimal(value: u64, unit: u64, name: &str) -> String {
    let tenth = unit / 10;
    let tenths = value / tenth + u64::from(value % tenth >= tenth / 2);
    if tenths % 10 == 0 { format!("{} {name}", tenths / 10) } else { format!("{}.{} {name}", tenths / 10, tenths % 10) }
}

fn two(major: u64, major_name: &str, minor: u64, minor_name: &str) -> String {
    if minor == 0 { format!("{major} {major_name}") } else { format!("{major} {major_name} {minor} {minor_name}") }
}

/// A size in memory or on disk: "742 B", "2.7 MiB".
#[must_use]
pub fn bytes(value: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if value < 1024 {
        return format!("{value} B");
    }
    let mut tenths = value.saturating_mul(10) / 1024;
    let mut unit = 0;
    while tenths >= 10_240 && unit + 1 < UNITS.len() {
        tenths /= 1024;
        unit += 1;
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS[unit])
}

/// Some words as one part of a sentence: `a, b and c`.
#[must_use]
pub fn listed(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [most @ .., last] => format!("{} and {last}", most.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_that_rounds_to_nothing_has_no_sign() {
        assert_eq!([14.62, -0.26, -0.04, 0.0].map(change), ["+14.6 %", "-0.3 %", "0.0 %", "0.0 %"]);
        assert_eq!([-0.4, -0.6].map(difference), ["+0 ns", "-1 ns"]);
    }

    #[test]
    fn latencies() {
        assert_eq!(latency(0), "0 ns");
        assert_eq!(latency(853), "853 ns");
        assert_eq!(latency(41_812), "41.8 us");
        assert_eq!(latency(99_949), "99.9 us");
        assert_eq!(latency(99_950), "100 us");
        assert_eq!(latency(1_305_400), "1\u{202f}305 us");
        assert_eq!(latency(-42_000), "-42.0 us");
        assert_eq!(latency(999_999_999_999_i64), "1\u{202f}000\u{202f}000\u{202f}000 us");
        assert_eq!(latency(-1_700_000_000_000_000_000_i64), "-19675 d 22 h", "a clock of 1970");
    }

    #[test]
    fn a_bound_is_rounded_to_its_safe_side() {
        let of = |ns: i64| [latency_at_least(ns), latency(ns), latency_at_most(ns)];
        assert_eq!(of(90_010), ["90.0 us", "90.0 us", "90.1 us"]);
        assert_eq!(of(99_951), ["99.9 us", "100 us", "100 us"]);
        assert_eq!(of(100_001), ["100 us", "100 us", "101 us"]);
        assert_eq!(of(-41_260), ["-41.3 us", "-41.3 us", "-41.2 us"]);
        assert_eq!(of(-41_240), ["-41.3 us", "-41.2 us", "-41.2 us"]);
        for exact in [0, 853, 41_800, 1_305_000, -999] {
            assert_eq!(of(exact), [(); 3].map(|()| latency(exact)), "{exact}");
        }
        let spans =
            [500_050_000_i64, 217_147_241, 1_999_999_999, 99_999_999_999, 125_900_000_000, 90_010].map(span_at_least);
        assert_eq!(spans, ["500 ms", "217.1 ms", "1.9 s", "99.9 s", "2 min 5 s", "90.0 us"]);
        assert_eq!([i64::MIN, i64::MAX].map(latency_at_most), [i64::MIN + 1, i64::MAX].map(latency), "no overflow");
    }

    #[test]
    fn spans() {
        assert_eq!(span(20_000_000), "20 ms");
        assert_eq!(span(1_250_000_000), "1.3 s");
        assert_eq!(span(60_000_000_000_i64), "60 s");
        assert_eq!(span(125_000_000_000_i64), "2 min 5 s");
        assert_eq!(span(19_980_000_000_000_i64), "5 h 33 min");
        assert_eq!(span(273_600_000_000_000_i64), "3 d 4 h");
    }

    #[test]
    fn counts_and_sizes() {
        assert_eq!(count(1_500_000), "1\u{202f}500\u{202f}000");
        assert_eq!(count(12), "12");
        assert_eq!([0, 1, 2].map(|number| count_of(number, "order", "orders")), ["0 orders", "1 order", "2 orders"]);
        assert_eq!(bytes(2_831_155), "2.6 MiB");
        assert_eq!(bytes(512), "512 B");
    }

    #[test]
    fn words_of_a_list_are_one_part_of_a_sentence() {
        let lists: [&[&str]; 4] = [&[], &["a"], &["a", "b"], &["a", "b", "c"]];
        assert_eq!(lists.map(listed), ["", "a", "a and b", "a, b and c"]);
    }
}
