//! The text export of sigrok (libsigrok's output module `csv`): comments that begin with `;`, a heading, then a line for each sample, or,
//! with `dedup=true` and a column of times, for each change.
//!
//! ```text
//! ; Channels (4/4): D0, D1, D2, D3
//! ; Samplerate: 1 MHz
//! microseconds,logic,logic,logic,logic      with time=true; else only logic, and a line is a sample
//! 1,1,0,0,1
//! ```

use super::sigrok_rate::SampleRate;
use super::{BACKWARDS, Levels, LogicCapture, LogicChannel, LogicError, MOST_CHANNELS, PS};

/// Reads a file.
///
/// # Errors
/// With the line, where it is no such file, is cut off within a line, says what cannot be, or cannot say when its levels changed.
pub fn parse(bytes: &[u8]) -> Result<LogicCapture, LogicError> {
    let mut lines = Lines { bytes, at: 0, number: 0 };
    let mut heading = Heading::default();
    let columns = loop {
        let Some(line) = lines.next() else { return Err(LogicError::Foreign(FORM)) };
        match line.strip_prefix(b";") {
            Some(comment) => heading.take(comment),
            None => break line,
        }
    };
    if !heading.is_sigrok {
        return Err(LogicError::Foreign(FORM));
    }
    let wrong = |line: usize, what: &str| LogicError::Line { line, what: what.to_owned() };
    let Some(rate) = heading.rate else { return Err(wrong(lines.number, "no sample rate stands above it")) };
    let columns: Vec<&[u8]> = columns.split(|byte| *byte == b',').collect();
    let unit_ps = match columns.as_slice() {
        all if all.iter().all(|column| *column == b"logic") => None,
        [unit, rest @ ..] if rest.iter().all(|column| *column == b"logic") => {
            let unit = unit_ps(unit).ok_or_else(|| wrong(lines.number, "its first column is no unit of time"))?;
            Some(unit)
        }
        _ => return Err(wrong(lines.number, "its columns are not named by their units: export with csv:label=units")),
    };
    let count = columns.len() - usize::from(unit_ps.is_some());
    if !(1..=MOST_CHANNELS).contains(&count) {
        let what = format!("{count} channels: 1 to {MOST_CHANNELS} can be read");
        return Err(LogicError::Line { line: lines.number, what });
    }
    let levels = vec![Levels::default(); count];
    let mut rows = Rows { levels, unit_ps, rate, count: 0, now_ps: None, has_repeated: false };
    while let Some(line) = lines.next() {
        rows.take(line).map_err(|what| LogicError::Line { line: lines.number, what })?;
    }
    if unit_ps.is_none() && rows.count > 2 && !rows.has_repeated {
        let what = "no sample repeats the one before it, and none has a time: it was written with dedup=true, and when the levels \
                    changed is lost; export with csv:time=true";
        return Err(wrong(lines.number, what));
    }
    let Some(end_ps) = rows.now_ps else { return Err(wrong(lines.number, "no sample follows the heading")) };
    let name = |number: usize| heading.names.get(number).cloned().unwrap_or_else(|| format!("D{number}"));
    let channel = |(number, levels): (usize, Levels)| LogicChannel { name: name(number), spans: levels.end(end_ps) };
    Ok(LogicCapture {
        channels: rows.levels.into_iter().enumerate().map(channel).collect(),
        resolution_ps: Some(rate.period_ps()),
    })
}

const FORM: &str = "a text export of sigrok";

/// What the comments say.
#[derive(Debug, Default)]
struct Heading {
    is_sigrok: bool,
    names: Vec<String>,
    rate: Option<SampleRate>,
}

impl Heading {
    fn take(&mut self, comment: &[u8]) {
        let comment = String::from_utf8_lossy(comment);
        let comment = comment.trim();
        self.is_sigrok |= comment.contains("libsigrok");
        if let Some((_, names)) = comment.strip_prefix("Channels (").and_then(|rest| rest.split_once("): ")) {
            let names = names.split(", ").take(MOST_CHANNELS);
            self.names = names.map(|name| units::printable::line(name).into_owned()).collect();
        }
        if let Some(rate) = comment.strip_prefix("Samplerate: ") {
            self.rate = SampleRate::of_text(rate);
        }
    }
}

fn unit_ps(column: &[u8]) -> Option<i64> {
    match column {
        b"seconds" => Some(PS),
        b"milliseconds" => Some(PS / 1_000),
        b"microseconds" => Some(PS / 1_000_000),
        b"nanoseconds" => Some(PS / 1_000_000_000),
        b"picoseconds" => Some(1),
        _ => None,
    }
}

/// What the rows have said so far.
#[derive(Debug)]
struct Rows {
    levels: Vec<Levels>,
    unit_ps: Option<i64>,
    rate: SampleRate,
    count: i64,
    now_ps: Option<i64>,
    has_repeated: bool,
}

impl Rows {
    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        let mut fields = line.split(|byte| *byte == b',');
        let at_ps = match self.unit_ps {
            Some(unit_ps) => {
                let time = fields.next().unwrap_or_default();
                let number = std::str::from_utf8(time).ok().and_then(|time| time.parse::<i64>().ok());
                number.and_then(|number| number.checked_mul(unit_ps)).ok_or("its time is no whole number in range")?
            }
            None => self.rate.moment_ps(self.count).ok_or("it is too late")?,
        };
        if self.now_ps.is_some_and(|now_ps| at_ps < now_ps) {
            return Err(BACKWARDS.to_owned());
        }
        let (mut all, mut has_changed) = (self.levels.iter_mut(), false);
        for field in fields {
            let level = match field {
                b"0" => Some(false),
                b"1" => Some(true),
                _ => return Err("a level is neither 0 nor 1".to_owned()),
            };
            let channel = all.next().ok_or("it has more levels than the heading has columns")?;
            has_changed |= channel.now != level;
            channel.put(at_ps, level);
        }
        if all.next().is_some() {
            return Err("it has fewer levels than the heading has columns: it was cut off".to_owned());
        }
        self.has_repeated |= !has_changed;
        self.count += 1;
        self.now_ps = Some(at_ps);
        Ok(())
    }
}

/// The lines of a file that are not empty, with the number of the last one.
struct Lines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
}

impl<'a> Lines<'a> {
    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
            let length = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
            self.at += length + 1;
            self.number += 1;
            let line = rest.get(..length)?.trim_ascii_end();
            if !line.is_empty() {
                return Some(line);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HEAD: &str = "; CSV generated by libsigrok 0.5.2\n; from Demo driver and pattern generator\n; Channels (2/8): D0, clock\n; Samplerate: 20 MHz\n";

    #[test]
    fn samples_and_changes_give_the_same_edges() {
        let samples = format!("{HEAD}logic,logic\n1,0\n0,1\n0,1\n0,1\n1,0\n1,1\n");
        let changes = format!("{HEAD}nanoseconds,logic,logic\n0,1,0\n50,0,1\n200,1,0\n250,1,1\n");
        let read = parse(samples.as_bytes()).unwrap();
        assert_eq!(Ok(&read), parse(changes.as_bytes()).as_ref());
        assert_eq!((read.channels[1].name.as_str(), read.resolution_ps), ("clock", Some(50_000)));
        assert_eq!(read.channels[0].spans[0].edges().collect::<Vec<_>>(), [(50_000, false), (200_000, true)]);
        assert_eq!(read.channels[1].spans[0].edges_ps, [50_000, 200_000, 250_000]);
    }

    #[test]
    fn what_cannot_say_when_is_refused_with_what_can() {
        let said = |rest: &str| parse(format!("{HEAD}{rest}").as_bytes()).unwrap_err().to_string();
        assert!(said("logic,logic\n1,0\n0,1\n1,0\n").contains("export with csv:time=true"));
        assert!(said("Time,D0,clock\n50,1,0\n").contains("export with csv:label=units"));
        assert_eq!(
            said("logic,logic\n1,0\n0\n"),
            "line 7: it has fewer levels than the heading has columns: it was cut off"
        );
        assert_eq!(said("nanoseconds,logic\n5,1\n4,0\n"), format!("line 7: {BACKWARDS}"));
        assert!(said("hours,logic\n5,1\n").contains("no unit of time"));
        assert!(said("logic\n").contains("no sample follows"));
        assert!(parse(b"logic,logic\n0,0\n").is_err() && parse(b"").is_err());
        assert!(
            parse(b"; CSV generated by libsigrok 0.5.2\nlogic\n0\n")
                .unwrap_err()
                .to_string()
                .contains("no sample rate")
        );
    }

    proptest! {
        #[test]
        fn damaged_files_never_make_it_panic(at in 0..250_usize, byte in any::<u8>(), cut in 0..250_usize) {
            let mut bytes = format!("{HEAD}nanoseconds,logic,logic\n0,1,0\n50,0,1\n200,1,0\n250,1,1\n").into_bytes();
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(cut.max(1));
            let _ = parse(&bytes);
        }
    }
}
