//! Lines that something else put a time, a name or a quotation mark before: `ts`, Docker, Kubernetes, journald, LAVA, mail.
//!
//! ```text
//! Nov 27 01:44:11 T: 0 ( 1001) P:80 I:1000 C:  60000 Min:      3 Act:    5 Avg:    6 Max:    234
//! 2026-11-27T01:44:11.123456789Z T: 0 ( 1001) P:80 …
//! Nov 27 01:44:11 node cyclictest[812]: T: 0 ( 1001) P:80 …
//! > T: 0 ( 1001) P:80 …
//! {"log":"T: 0 ( 1001) P:80 …\n","stream":"stdout","time":"2026-11-27T01:44:11.123456789Z"}
//! - {"dt": "2026-11-27T01:44:11.123456", "lvl": "target", "msg": "T: 0 ( 1001) P:80 …"}
//! ```
//! Prefixes are taken off only where nearly every line has one: no format has lines that all begin like this.

use serde::Deserialize;

/// Of so many lines with text, all but one have to have a prefix.
const OF_LINES: usize = 10;
/// Prefixes before one line; a quoted log of a container has three.
const MOST_PREFIXES: usize = 6;

/// A text without the prefixes of its lines, line for line; `None` if it has none.
pub(super) fn without(text: &str) -> Option<String> {
    let all = || text.lines().filter(|line| !line.trim().is_empty());
    let lines = all().count();
    let with = all().filter(|line| of_line(line).is_some()).count();
    if with == 0 || with + lines / OF_LINES < lines {
        return None;
    }
    let mut plain = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (content, end) = line.strip_suffix('\n').map_or((line, ""), |content| (content, "\n"));
        let content = content.strip_suffix('\r').unwrap_or(content);
        match of_line(content) {
            Some(Said::Text(rest)) => plain.push_str(rest),
            Some(Said::Json(said)) => plain.push_str(&said.replace(['\n', '\r'], " ")),
            None => plain.push_str(content),
        }
        plain.push_str(end);
    }
    Some(plain)
}

/// What a line says behind its prefix.
enum Said<'a> {
    Text(&'a str),
    Json(String),
}

/// A line of Docker's log files or of LAVA's.
#[derive(Deserialize)]
struct Wrapped {
    #[serde(default)]
    log: Option<String>,
    #[serde(default)]
    stream: Option<serde_json::Value>,
    #[serde(default)]
    msg: Option<serde_json::Value>,
    #[serde(default)]
    lvl: Option<String>,
}

fn of_line(line: &str) -> Option<Said<'_>> {
    if let Some(said) = of_json(line) {
        return Some(Said::Json(said));
    }
    let mut rest = line;
    let mut has_date = false;
    for _ in 0..MOST_PREFIXES {
        let Some((after, is_date)) =
            time(rest).map(|after| (after, true)).or_else(|| mark(rest).map(|rest| (rest, false)))
        else {
            break;
        };
        has_date |= is_date;
        rest = after;
    }
    if rest.len() == line.len() {
        return None;
    }
    Some(Said::Text(if has_date { writer(rest).unwrap_or(rest) } else { rest }))
}

fn of_json(line: &str) -> Option<String> {
    let object = line.trim().trim_start_matches("- ");
    if !object.starts_with('{') {
        return None;
    }
    let Wrapped { log, stream, msg, lvl } = serde_json::from_str(object).ok()?;
    match (log, stream, msg, lvl) {
        (Some(log), Some(_), ..) => Some(log.trim_end_matches(['\n', '\r']).to_owned()),
        // LAVA's own lines say nothing of the target.
        (_, _, Some(msg), Some(lvl)) => {
            Some(msg.as_str().filter(|_| lvl == "target" || lvl == "feedback").unwrap_or_default().to_owned())
        }
        _ => None,
    }
}

/// Takes a pattern from the beginning: `0` stands for a digit, `A` for a letter, anything else for itself.
fn pattern<'a>(text: &'a str, pattern: &str) -> Option<&'a str> {
    let bytes = text.as_bytes();
    let fits = pattern.bytes().zip(bytes).all(|(wanted, byte)| match wanted {
        b'0' => byte.is_ascii_digit(),
        b'A' => byte.is_ascii_alphabetic(),
        other => *byte == other,
    });
    (fits && bytes.len() >= pattern.len()).then(|| text.get(pattern.len()..)).flatten()
}

/// Digits behind a point, if there are any.
fn fraction(text: &str) -> &str {
    match text.strip_prefix(['.', ',']) {
        Some(rest) if rest.starts_with(|c: char| c.is_ascii_digit()) => {
            rest.trim_start_matches(|c: char| c.is_ascii_digit())
        }
        _ => text,
    }
}

/// `01:44:11` with or without a fraction, and its zone.
fn of_day(text: &str) -> Option<&str> {
    let rest = fraction(pattern(text, "00:00:00")?);
    let zone = ["+00:00", "-00:00", "+0000", "-0000", "Z"].iter().find_map(|zone| pattern(rest, zone));
    Some(zone.unwrap_or(rest))
}

/// A time in one of the forms that programs put before a line, up to the blank behind it.
fn time(text: &str) -> Option<&str> {
    let (inner, close) = text.strip_prefix('[').map_or((text, ""), |inner| (inner.trim_start(), "]"));
    let date = pattern(inner, "0000-00-00T").or_else(|| pattern(inner, "0000-00-00 ")).and_then(of_day);
    let named = || pattern(inner, "AAA 00 ").or_else(|| pattern(inner, "AAA  0 ")).and_then(of_day);
    // Seconds of an uptime stand in brackets, and those since 1970 have six digits behind the point.
    let seconds = || {
        let rest = inner.trim_start_matches(|c: char| c.is_ascii_digit());
        let after = (rest.len() < inner.len() && rest.starts_with('.')).then(|| fraction(rest))?;
        let is_whole = if close.is_empty() {
            pattern(inner, "0000000000.000000").is_some_and(|rest| rest.len() == after.len())
        } else {
            after.len() < rest.len()
        };
        is_whole.then_some(after)
    };
    let after = date.or_else(named).or_else(|| of_day(inner)).or_else(seconds)?.strip_prefix(close)?;
    behind(after)
}

/// What follows a prefix: a blank, or nothing.
fn behind(after: &str) -> Option<&str> {
    if after.is_empty() { Some(after) } else { after.strip_prefix([' ', '\t']) }
}

/// A quotation mark of mail, the place of a container in brackets or before a bar.
fn mark(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix('>') {
        return Some(rest.strip_prefix(' ').unwrap_or(rest));
    }
    if let Some((place, rest)) = text.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
        return place.contains('/').then(|| behind(rest)).flatten();
    }
    let (name, rest) = text.split_once(' ')?;
    let is_name =
        name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().any(|byte| matches!(byte, b'-' | b'_'));
    is_name.then(|| rest.trim_start().strip_prefix('|').and_then(behind)).flatten()
}

/// `node cyclictest[812]: `, as journald and syslog write it behind a time.
fn writer(text: &str) -> Option<&str> {
    let (host, rest) = text.split_once(' ')?;
    let (program, rest) = rest.split_once(": ").or_else(|| Some((rest.strip_suffix(':')?, "")))?;
    let (name, process) = program.strip_suffix(']')?.split_once('[')?;
    let is_word = |word: &str| !word.is_empty() && !word.contains(|c: char| c.is_whitespace());
    (is_word(host) && is_word(name) && process.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROW: &str = "T: 0 ( 1001) P:80 I:1000 C:  60000 Min:      3 Act:    5 Avg:    6 Max:    234";

    #[test]
    fn what_stands_before_a_line_is_taken_off() {
        for before in [
            "Nov 27 01:44:11 ",
            "Nov  7 01:44:11 ",
            "00:00:01 ",
            "00:00:01.234567 ",
            "1764207851.123456 ",
            "2026-11-27T01:44:11.123456789Z ",
            "2026-11-27T01:44:11+0000 ",
            "2026-11-27 01:44:11,123 ",
            "[   12.345678] ",
            "[2026-11-27T01:44:11+01:00] ",
            "Nov 27 01:44:11 node cyclictest[812]: ",
            "2026-11-27T01:44:11+0000 node sh[9]: ",
            "> ",
            "> > ",
            "[pod/rt-test/cyclictest] 2026-11-27T01:44:11.1Z ",
            "rt-test-1  | ",
        ] {
            let text = format!("{before}{ROW}\n{before}\n{before}{ROW}\n");
            assert_eq!(without(&text).as_deref(), Some(&*format!("{ROW}\n\n{ROW}\n")), "{before}");
        }
        for (before, after) in [
            ("{\"log\":\"", "\\n\",\"stream\":\"stdout\",\"time\":\"2026-11-27T01:44:11.123456789Z\"}"),
            ("- {\"dt\": \"2026-11-27T01:44:11.123456\", \"lvl\": \"target\", \"msg\": \"", "\"}"),
        ] {
            assert_eq!(without(&format!("{before}{ROW}{after}\n")).as_deref(), Some(&*format!("{ROW}\n")));
        }
        let own = "- {\"dt\": \"2026-11-27T01:44:11.123456\", \"lvl\": \"info\", \"msg\": \"T: 1 of LAVA's own\"}\n";
        assert_eq!(without(own).as_deref(), Some("\n"));
    }

    #[test]
    fn what_begins_like_a_row_stays() {
        for text in [
            ROW,
            "000054 000011 000016\n000055 000001 000002\n",
            "       0:       0:      61\n       0:       1:      53\n",
            "1700000000.123456789 1700000000.123460000\n",
            "  0 #12322     |        0         0         1        15 |       10         3         9        31\n",
            "ALL #24644     |                  0         1        15 |                 3         9        31\n",
            "",
        ] {
            assert_eq!(without(text), None, "{text}");
        }
        // Only some lines.
        assert_eq!(without(&format!("{ROW}\n> {ROW}\n")), None);
    }
}
