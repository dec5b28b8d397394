//! The text export of Saleae's programs, of both generations: a heading, then a line for each moment at which a level changed.
//!
//! ```text
//! Time [s],Channel 0,Channel 1        Logic 2: as many digits as it takes, or an exponent; X where nothing is known
//! Time[s], 0-SCL, 1-SDA               Logic 1: spaces behind the commas
//! ```

use super::{BACKWARDS, Levels, LogicCapture, LogicChannel, LogicError, MOST_CHANNELS, PS};

/// Reads a file.
///
/// # Errors
/// With the line, where it is no such file, is cut off within a line, or says what cannot be.
pub fn parse(bytes: &[u8]) -> Result<LogicCapture, LogicError> {
    const FORM: &str = "a text export of Saleae's programs";
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut lines = bytes.split(|byte| *byte == b'\n').map(|line| line.strip_suffix(b"\r").unwrap_or(line)).enumerate();
    let (_, heading) = lines.next().unwrap_or_default();
    let heading = std::str::from_utf8(heading).map_err(|_| LogicError::Foreign(FORM))?;
    let mut names = heading.split(',').map(str::trim);
    if !matches!(names.next(), Some("Time [s]" | "Time[s]")) {
        return Err(LogicError::Foreign(FORM));
    }
    let names: Vec<String> = names.map(str::to_owned).collect();
    if names.is_empty() || names.len() > MOST_CHANNELS {
        let what = format!("{} channels: 1 to {MOST_CHANNELS} can be read", names.len());
        return Err(LogicError::Line { line: 1, what });
    }
    let mut levels = vec![Levels::default(); names.len()];
    let mut before_ps = None;
    // What comes behind the last end of a line is a line that was cut off, unless it is empty.
    let mut is_whole = true;
    for (number, line) in lines {
        let wrong = |what: String| LogicError::Line { line: number + 1, what };
        if !is_whole {
            return Err(LogicError::Line { line: number, what: "it is empty".to_owned() });
        }
        if line.is_empty() {
            is_whole = false;
            continue;
        }
        let mut fields = line.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
        let time = fields.next().unwrap_or_default();
        let at_ps = decimal_ps(time).ok_or_else(|| wrong(format!("'{}' is no time in seconds", shown(time))))?;
        if before_ps.is_some_and(|before_ps| at_ps < before_ps) {
            return Err(wrong(BACKWARDS.to_owned()));
        }
        before_ps = Some(at_ps);
        let mut all = levels.iter_mut();
        for field in fields {
            let level = match field {
                b"0" => Some(false),
                b"1" => Some(true),
                b"X" => None,
                other => return Err(wrong(format!("'{}' is none of 0, 1 and X", shown(other)))),
            };
            let channel = all.next().ok_or_else(|| wrong(format!("more than {} levels", names.len())))?;
            channel.put(at_ps, level);
        }
        if all.next().is_some() {
            return Err(wrong(format!("fewer than {} levels: it was cut off", names.len())));
        }
    }
    let Some(end_ps) = before_ps else {
        return Err(LogicError::Line { line: 2, what: "no level follows the heading".to_owned() });
    };
    let channel = |(name, levels): (String, Levels)| LogicChannel { name, spans: levels.end(end_ps) };
    Ok(LogicCapture { channels: names.into_iter().zip(levels).map(channel).collect(), resolution_ps: None })
}

/// A field in an error.
fn shown(field: &[u8]) -> String {
    let text = String::from_utf8_lossy(&field[..field.len().min(40)]).into_owned();
    units::printable::line(&text).into_owned()
}

/// Decimal seconds as picoseconds, exactly where there are at most twelve digits behind the point.
fn decimal_ps(text: &[u8]) -> Option<i64> {
    let (is_negative, digits) = match text.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, text),
    };
    let mut value: i64 = 0;
    let mut behind: Option<u32> = None;
    let mut count = 0;
    for byte in digits {
        match byte {
            b'0'..=b'9' if behind.is_none_or(|behind| behind < 12) => {
                value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                behind = behind.map(|behind| behind + 1);
                count += 1;
            }
            // Below a picosecond nothing is known.
            b'0'..=b'9' => {}
            b'.' if behind.is_none() => behind = Some(0),
            b'e' | b'E' if count > 0 => return exponent_ps(text),
            _ => return None,
        }
    }
    if count == 0 {
        return None;
    }
    let value = value.checked_mul(10_i64.checked_pow(12 - behind.unwrap_or(0))?)?;
    Some(if is_negative { -value } else { value })
}

/// The same of a number with an exponent.
fn exponent_ps(text: &[u8]) -> Option<i64> {
    let seconds: f64 = std::str::from_utf8(text).ok()?.parse().ok()?;
    let ps = (seconds * units::approx_f64_i64(PS)).round();
    (ps.abs() < 9.0e18).then(|| units::round_i64(ps))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LOGIC_2: &str = "Time [s],clock,\"data\"\n0.000000000,0,X\n0.000000002,1,X\n1.5,0,1\n1.500000000001,0,0\n";
    const LOGIC_1: &str = "Time[s], 0-SCL, 1-SDA\r\n-0.25, 1, 1\r\n0, 0, 1\r\n1.2e-05, 0, 0\r\n";

    #[test]
    fn both_generations_give_their_edges_and_x_is_not_known() {
        let read = parse(LOGIC_2.as_bytes()).unwrap();
        assert_eq!(
            read.channels.iter().map(|channel| channel.name.as_str()).collect::<Vec<_>>(),
            ["clock", "\"data\""]
        );
        let [clock, data] = [0, 1].map(|at: usize| &read.channels[at].spans[0]);
        assert_eq!(clock.edges().collect::<Vec<_>>(), [(2_000, true), (3 * PS / 2, false)]);
        assert_eq!((data.from_ps, data.until_ps), (3 * PS / 2, 3 * PS / 2 + 1));
        let read = parse(LOGIC_1.as_bytes()).unwrap();
        assert_eq!(read.channels[0].spans[0].edges_ps, [0]);
        assert_eq!(read.channels[1].spans[0].edges_ps, [12_000_000]);
    }

    #[test]
    fn what_is_cut_off_or_contradictory_is_refused_with_its_line() {
        let said = |text: &str| parse(text.as_bytes()).unwrap_err().to_string();
        assert!(said("t,a\n").starts_with("it does not begin as a text export"));
        assert_eq!(said("Time [s]\n0\n"), "line 1: 0 channels: 1 to 1024 can be read");
        assert_eq!(said("Time [s],a\n"), "line 2: no level follows the heading");
        assert_eq!(said("Time [s],a,b\n0,1,1\n1,0"), "line 3: fewer than 2 levels: it was cut off");
        assert_eq!(said("Time [s],a\n0,1\n2,0\n1,1\n"), format!("line 4: {BACKWARDS}"));
        assert_eq!(said("Time [s],a\n0,2\n"), "line 2: '2' is none of 0, 1 and X");
        assert_eq!(said("Time [s],a\n0,1,1\n"), "line 2: more than 1 levels");
        assert_eq!(said("Time [s],a\nnow,1\n"), "line 2: 'now' is no time in seconds");
        assert_eq!(said("Time [s],a\n0,1\n\n1,0\n"), "line 3: it is empty");
    }

    #[test]
    fn seconds_are_read_exactly() {
        for (text, ps) in [
            ("0", 0),
            ("-0.000000000001", -1),
            ("1.", PS),
            (".5", PS / 2),
            ("0.0000000000019", 1),
            ("9000000", 9_000_000 * PS),
        ] {
            assert_eq!(decimal_ps(text.as_bytes()), Some(ps), "{text}");
        }
        for text in ["", "-", ".", "1.2.3", "1e", "e5", "nan", "99999999", "1e300", "+1"] {
            assert_eq!(decimal_ps(text.as_bytes()), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn damaged_files_never_make_it_panic(at in 0..100_usize, byte in any::<u8>(), cut in 0..100_usize, is_1 in any::<bool>()) {
            let mut bytes = if is_1 { LOGIC_1 } else { LOGIC_2 }.as_bytes().to_vec();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(cut.max(1));
            if let Ok(read) = parse(&bytes) {
                let edges = read.channels.iter().flat_map(|channel| &channel.spans);
                prop_assert!(edges.into_iter().all(|span| span.edges_ps.windows(2).all(|pair| pair[0] <= pair[1])));
            }
        }
    }
}
