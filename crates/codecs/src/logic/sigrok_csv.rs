//! The text export of sigrok (libsigrok's output module `csv`): comments that begin with `;`, a heading, then a line for each sample, or,
//! with `dedup=true` and a column of times, for each change.
//!
//! ```text
//! ; Channels (4/4): D0, D1, D2, D3
//! ; Samplerate: 1 MHz
//! microseconds,logic,logic,logic,logic      with time=true; else only logic, and a line is a sample
//! 1,1,0,0,1
//! ```
//!
//! libsigrok counts a sample as so many whole units: at 24 MHz as 41 ns, though it takes 41.7. Such times are taken for what they are,
//! numbers of samples.

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
        all => return Err(wrong(lines.number, &foreign_columns(all))),
    };
    let times = match unit_ps {
        None => Times::Missing,
        Some(unit_ps) => match rate.units_of(unit_ps) {
            (_, true) => Times::Units { unit_ps },
            (units, false) => Times::Samples { units },
        },
    };
    let count = columns.len() - usize::from(unit_ps.is_some());
    if !(1..=MOST_CHANNELS).contains(&count) {
        let what = format!("{count} channels: 1 to {MOST_CHANNELS} can be read");
        return Err(LogicError::Line { line: lines.number, what });
    }
    let levels = vec![Levels::default(); count];
    let mut rows = Rows { levels, times, rate, count: 0, now_ps: None, has_repeated: false };
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

/// What stands in the place of a line's unit, with what to do.
fn foreign_columns(columns: &[&[u8]]) -> String {
    let foreign = columns.iter().skip(1).find(|column| **column != b"logic");
    match foreign {
        Some(unit) if columns.contains(&&b"logic"[..]) => {
            let unit = units::printable::line(&String::from_utf8_lossy(unit)).into_owned();
            format!("a column of '{unit}' holds no levels: export the logic channels alone (--channels)")
        }
        _ => "its columns are not named by their units: export with csv:label=units".to_owned(),
    }
}

/// What says when a line's levels were.
#[derive(Clone, Copy, Debug)]
enum Times {
    /// Nothing but its place: each line is a sample.
    Missing,
    /// Units of so many picoseconds.
    Units { unit_ps: i64 },
    /// Units, of which a sample was counted as so many whole ones, and takes more.
    Samples { units: i64 },
}

impl Times {
    /// When a sample was taken (ps), by the number in its line, or by its own number.
    fn moment_ps(self, rate: SampleRate, said: Option<i64>, sample: i64) -> Result<i64, String> {
        let moment = match (self, said) {
            (Self::Missing, _) => return rate.moment_ps(sample).ok_or_else(|| "it is too late".to_owned()),
            (Self::Units { unit_ps }, Some(number)) => number.checked_mul(unit_ps),
            (Self::Samples { units }, Some(number)) if units > 0 && number % units == 0 => {
                rate.moment_ps(number / units)
            }
            (Self::Samples { units }, Some(number)) => {
                return Err(format!(
                    "its time of {number} is no multiple of {units}, as which libsigrok counts a sample at this rate: when it was taken \
                     is not certain; save a session file (-o FILE.sr)"
                ));
            }
            (_, None) => None,
        };
        moment.ok_or_else(|| "its time is no whole number in range".to_owned())
    }
}

/// What the rows have said so far.
#[derive(Debug)]
struct Rows {
    levels: Vec<Levels>,
    times: Times,
    rate: SampleRate,
    count: i64,
    now_ps: Option<i64>,
    has_repeated: bool,
}

impl Rows {
    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        let mut fields = line.split(|byte| *byte == b',');
        let said = match self.times {
            Times::Missing => None,
            Times::Units { .. } | Times::Samples { .. } => {
                let time = fields.next().unwrap_or_default();
                std::str::from_utf8(time).ok().and_then(|time| time.parse::<i64>().ok())
            }
        };
        let at_ps = self.times.moment_ps(self.rate, said, self.count)?;
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

    /// Counted by hand: libsigrok adds 41 ns for each sample at 24 MHz, and 2 ns at 400 MHz.
    #[test]
    fn times_that_were_rounded_down_for_each_sample_are_those_of_the_samples() {
        let of = |rate: &str, rows: &str| {
            let head = HEAD.replace("20 MHz", rate);
            parse(format!("{head}nanoseconds,logic,logic\n{rows}").as_bytes())
        };
        let read = of("24 MHz", "41,0,0\n984000041,1,0\n984050184,1,1\n").unwrap();
        let edges = [0, 1].map(|channel: usize| read.channels[channel].spans[0].edges_ps[0]);
        // The 24,000,001st sample, and 1,223 samples later.
        assert_eq!(edges, [PS + 41_667, PS + 51_000_000], "1 s after the first one, and 51.0 us");
        assert_eq!(read.resolution_ps, Some(41_667));
        let fast = of("400 MHz", "2,0,0\n802,1,0\n").unwrap();
        assert_eq!(fast.channels[0].spans[0].edges_ps, [1_002_500]);
        let said = of("24 MHz", "41,0,0\n83,1,0\n").unwrap_err().to_string();
        assert!(said.contains("line 7") && said.contains("no multiple of 41") && said.contains("-o FILE.sr"), "{said}");
        let coarse = format!("{}milliseconds,logic,logic\n0,0,0\n1,1,0\n", HEAD.replace("20 MHz", "24 MHz"));
        assert!(parse(coarse.as_bytes()).is_err(), "a unit that is longer than a sample");
    }

    #[test]
    fn what_cannot_say_when_is_refused_with_what_can() {
        let said = |rest: &str| parse(format!("{HEAD}{rest}").as_bytes()).unwrap_err().to_string();
        assert!(said("logic,logic\n1,0\n0,1\n1,0\n").contains("export with csv:time=true"));
        assert!(said("Time,D0,clock\n50,1,0\n").contains("export with csv:label=units"));
        assert!(said("nanoseconds,logic,V\n50,1,0.5\n").contains("a column of 'V' holds no levels"));
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
