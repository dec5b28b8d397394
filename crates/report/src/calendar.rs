//! Times as text for tables, in UTC.

/// Seconds of a day.
const DAY_S: i64 = 86_400;

/// A time on `CLOCK_REALTIME` (ns) to the minute, in UTC: `2026-03-02 07:00`; `None` if it is not known.
pub(crate) fn minute(realtime_ns: i64) -> Option<String> {
    if realtime_ns == 0 {
        return None;
    }
    let seconds = realtime_ns.div_euclid(1_000_000_000);
    let (year, month, day) = date(seconds.div_euclid(DAY_S));
    let minutes = seconds.rem_euclid(DAY_S) / 60;
    Some(format!("{year:04}-{month:02}-{day:02} {:02}:{:02}", minutes / 60, minutes % 60))
}

/// Year, month and day of a day counted from 1970-01-01, by Howard Hinnant's `civil_from_days` (chrono-Compatible Low-Level
/// Date Algorithms): years begin in March, so that the leap day is their last.
const fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year_of_era + era * 400 + if month <= 2 { 1 } else { 0 };
    (year, month, of_year - (153 * from_march + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (seconds, text) in [
            (951_782_399, "2000-02-28 23:59"),
            (951_827_696, "2000-02-29 12:34"),
            (1_772_434_800, "2026-03-02 07:00"),
            (-1, "1969-12-31 23:59"),
            (4_107_542_399, "2100-02-28 23:59"),
            (4_107_542_400, "2100-03-01 00:00"),
        ] {
            assert_eq!(minute(seconds * 1_000_000_000).as_deref(), Some(text));
        }
        assert_eq!(minute(0), None, "an import may not know when it ran");
    }
}
