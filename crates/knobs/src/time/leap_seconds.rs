//! The lists of leap seconds that a machine has (package tzdata), and what they say of TAI less UTC.
//!
//! Two forms: `leap-seconds.list`, as NIST and IERS publish it (seconds since 1900, the expiry after `#@`, the last change after
//! `#$`), and `leapseconds`, which tzdata makes of it (dates, `#expires` and `#updated` in seconds since 1970). Both say until
//! when they are complete: a leap second is announced about six months ahead, so a list that has expired may lack one.

use std::fmt;

/// Where machines have such a list.
pub const LEAP_SECOND_FILES: [&str; 2] = ["/usr/share/zoneinfo/leap-seconds.list", "/usr/share/zoneinfo/leapseconds"];
/// From 1900-01-01, where the seconds of NTP begin, to 1970-01-01 (s; RFC 5905, section 6).
const NTP_TO_UNIX_S: i64 = 2_208_988_800;
/// TAI less UTC before the first leap second, and since when (ITU-R TF.460: 10 s on 1972-01-01).
const FIRST: Since = Since { from_s: 63_072_000, tai_less_utc_s: 10 };
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// TAI less UTC from a moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Since {
    /// The moment (s since 1970, UTC).
    from_s: i64,
    tai_less_utc_s: u8,
}

/// A list that was understood; all moments in seconds since 1970, UTC.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LeapSeconds {
    /// In the order of time, never empty.
    all: Vec<Since>,
    /// Until when it is complete.
    expires_s: i64,
    /// When it was changed last: no clock that is right shows a time before.
    changed_s: i64,
}

/// TAI less UTC as a list states it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StatedTai {
    /// Now (s).
    pub(crate) tai_less_utc_s: u8,
    /// The file that states it.
    pub(crate) path: String,
    /// Until when the list is complete (s since 1970, UTC).
    pub(crate) expires_s: i64,
}

/// Why the lists do not say what TAI less UTC is now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoTai {
    /// The machine has no list.
    NoList,
    /// None of them is of a known form.
    Unreadable { path: String },
    /// The list may lack a leap second by now.
    Expired { path: String, expires_s: i64 },
    /// The clock shows a time before the list was made, so it is wrong, and with it the entry that would be taken.
    ClockIsBehind { path: String, changed_s: i64 },
}

/// A day in UTC: `2026-06-28`.
pub(crate) fn day(at_s: i64) -> String {
    let date = jiff::Timestamp::from_second(at_s).map(|at| at.to_zoned(jiff::tz::TimeZone::UTC).date().to_string());
    date.unwrap_or_else(|_| format!("second {at_s} since 1970"))
}

impl fmt::Display for NoTai {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoList => write!(f, "this machine has no {}", LEAP_SECOND_FILES.join(" or ")),
            Self::Unreadable { path } => write!(f, "{path} is no list of leap seconds of a known form"),
            Self::Expired { path, expires_s } => write!(f, "{path} expired on {}", day(*expires_s)),
            Self::ClockIsBehind { path, changed_s } => {
                write!(f, "the clock shows a time before {}, when {path} was made", day(*changed_s))
            }
        }
    }
}

/// What the lists of a machine, path and text each, say at a moment (s since 1970, UTC): the one that is complete for longest
/// counts.
///
/// # Errors
/// Where none says it, the reason of the list that came nearest.
pub(crate) fn stated(lists: &[(String, String)], now_s: i64) -> Result<StatedTai, NoTai> {
    let read = lists.iter().rev().filter_map(|(path, text)| Some((path, parse(text)?)));
    let Some((path, list)) = read.max_by_key(|(_, list)| list.expires_s) else {
        return Err(lists.first().map_or(NoTai::NoList, |(path, _)| NoTai::Unreadable { path: path.clone() }));
    };
    let path = path.clone();
    if now_s < list.changed_s {
        return Err(NoTai::ClockIsBehind { path, changed_s: list.changed_s });
    }
    if now_s >= list.expires_s {
        return Err(NoTai::Expired { path, expires_s: list.expires_s });
    }
    let now = list.all.iter().rev().find(|since| since.from_s <= now_s).unwrap_or(&FIRST);
    Ok(StatedTai { tai_less_utc_s: now.tai_less_utc_s, path, expires_s: list.expires_s })
}

/// A list of either form; `None` where it is of neither, is cut off, or contradicts itself.
fn parse(text: &str) -> Option<LeapSeconds> {
    let (mut all, mut expires_s, mut changed_s, mut has_end) = (Vec::new(), None, None, false);
    let first_number = |rest: &str| rest.split_ascii_whitespace().next()?.parse::<i64>().ok();
    for line in text.lines().map(str::trim) {
        if let Some(rest) = line.strip_prefix("#@") {
            expires_s = first_number(rest)?.checked_sub(NTP_TO_UNIX_S);
        } else if let Some(rest) = line.strip_prefix("#$") {
            changed_s = first_number(rest)?.checked_sub(NTP_TO_UNIX_S);
        } else if let Some(rest) = line.strip_prefix("#expires") {
            expires_s = first_number(rest);
        } else if let Some(rest) = line.strip_prefix("#updated") {
            (changed_s, has_end) = (first_number(rest), true);
        } else if line.starts_with("#h") {
            // The checksum, which ends the published form: a file that was cut off would lack its last leap seconds.
            has_end = true;
        } else if line.starts_with("Leap") {
            let before = all.last().copied().unwrap_or(FIRST);
            all.push(leap(line, before)?);
        } else if line.starts_with(|c: char| c.is_ascii_digit()) {
            let mut words = line.split_ascii_whitespace();
            let from_s = words.next()?.parse::<i64>().ok()?.checked_sub(NTP_TO_UNIX_S)?;
            all.push(Since { from_s, tai_less_utc_s: words.next()?.parse().ok()? });
        }
    }
    // Every leap second is one second, so a gap shows that a line is missing.
    let is_whole = all
        .windows(2)
        .all(|pair| pair[0].from_s < pair[1].from_s && pair[0].tai_less_utc_s.abs_diff(pair[1].tai_less_utc_s) == 1);
    (is_whole && has_end && !all.is_empty()).then_some(LeapSeconds {
        all,
        expires_s: expires_s?,
        changed_s: changed_s?,
    })
}

/// `Leap 2016 Dec 31 23:59:60 + S`: TAI less UTC from the next day on.
fn leap(line: &str, before: Since) -> Option<Since> {
    let mut words = line.split_ascii_whitespace().skip(1);
    let year = words.next()?.parse().ok()?;
    let month = words.next()?;
    let month = i8::try_from(MONTHS.iter().position(|known| *known == month)? + 1).ok()?;
    let day = jiff::civil::Date::new(year, month, words.next()?.parse().ok()?).ok()?;
    let midnight = day.tomorrow().ok()?.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    let tai_less_utc_s = match words.nth(1)? {
        "+" => before.tai_less_utc_s.checked_add(1)?,
        "-" => before.tai_less_utc_s.checked_sub(1)?,
        _ => return None,
    };
    Some(Since { from_s: midnight.timestamp().as_second(), tai_less_utc_s })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As tzdata has them, without most of the comments and entries.
    const NIST: &str = "#\tComment\n#$\t 3960835200\n#@\t3991593600\n#\n3550089600      35      # 1 Jul 2012\n\
                        3644697600      36      # 1 Jul 2015\n3692217600\t37\t# 1 Jan 2017\n#h\t49db2447 571e5e1b\n";
    const TZ: &str = "# comment\nLeap\t1972\tJun\t30\t23:59:60\t+\tS\nLeap\t1972\tDec\t31\t23:59:60\t+\tS\n\
                      #updated 1751846400 (2025-07-07 00:00:00 UTC)\n#expires 1782604800 (2026-06-28 00:00:00 UTC)\n";
    const CHANGED_S: i64 = 1_751_846_400;
    const EXPIRES_S: i64 = 1_782_604_800;

    fn said(text: &str, now_s: i64) -> Result<u8, String> {
        let lists = [("/l".to_owned(), text.to_owned())];
        stated(&lists, now_s).map(|stated| stated.tai_less_utc_s).map_err(|why| why.to_string())
    }

    #[test]
    fn both_forms_say_the_same_and_until_when() {
        assert_eq!(said(NIST, CHANGED_S), Ok(37));
        assert_eq!(said(NIST, EXPIRES_S - 1), Ok(37));
        assert_eq!(said(NIST, EXPIRES_S), Err("/l expired on 2026-06-28".to_owned()));
        assert_eq!(said(TZ, EXPIRES_S - 1), Ok(12));
        assert_eq!(said(TZ, EXPIRES_S), Err("/l expired on 2026-06-28".to_owned()));
    }

    #[test]
    fn a_leap_second_to_come_counts_from_its_moment_on() {
        // 2026-01-01 in seconds since 1900, and in those since 1970.
        let (coming, at_s) = (format!("{NIST}3976214400 38\n"), 1_767_225_600);
        assert_eq!((said(&coming, at_s - 1), said(&coming, at_s)), (Ok(37), Ok(38)));
        let removed = TZ.replace("#updated", "Leap\t2025\tDec\t31\t23:59:59\t-\tS\n#updated");
        assert_eq!((said(&removed, at_s - 1), said(&removed, at_s)), (Ok(12), Ok(11)));
    }

    #[test]
    fn a_clock_that_shows_a_time_before_the_list_is_wrong() {
        for now_s in [0, CHANGED_S - 1] {
            assert_eq!(
                said(NIST, now_s),
                Err("the clock shows a time before 2025-07-07, when /l was made".to_owned()),
                "{now_s}"
            );
        }
    }

    #[test]
    fn of_two_lists_the_one_that_is_complete_for_longer_counts() {
        let newer = NIST.replace("#@\t3991593600", "#@\t4007318400");
        let lists = [("/old".to_owned(), NIST.to_owned()), ("/new".to_owned(), newer)];
        let stated = stated(&lists, EXPIRES_S).unwrap();
        assert_eq!((stated.tai_less_utc_s, stated.path.as_str()), (37, "/new"));
        assert_eq!(day(stated.expires_s), "2026-12-27");
    }

    #[test]
    fn what_is_no_list_states_nothing() {
        let cut_out: String =
            NIST.lines().filter(|line| !line.starts_with("3644697600")).collect::<Vec<_>>().join("\n");
        for text in [
            "",
            "x",
            "3692217600 37\n",
            &NIST.replace("#@", "#"),
            &NIST.replace("#$", "#"),
            &NIST.replace("37", "370"),
            &NIST.replace("3692217600", "1"),
            &cut_out,
            &TZ.replace("Jun", "Jux"),
            &TZ.replace('+', "*"),
            "#expires 99999999999999999999\n#updated 1\nLeap 1972 Jun 30 23:59:60 + S\n",
        ] {
            assert_eq!(
                said(text, EXPIRES_S - 1),
                Err("/l is no list of leap seconds of a known form".to_owned()),
                "{text}"
            );
        }
        assert_eq!(stated(&[], 0).unwrap_err(), NoTai::NoList);
        // A file that was cut off anywhere is refused, or says what it says.
        for list in [NIST, TZ] {
            for length in 0..list.len() {
                assert!(matches!(said(&list[..length], EXPIRES_S - 1), Err(_) | Ok(37 | 12)), "{length}");
            }
        }
    }
}
