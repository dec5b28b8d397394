//! A session file of sigrok (`.sr`): a ZIP archive of samples, as sigrok-cli, PulseView and libsigrok write it.
//!
//! ```text
//! version      "2"; files of version 1 have all samples in one member
//! metadata     [device 1]  capturefile=logic-1  samplerate=1 MHz  unitsize=1  probe1=D0  probe2=D1  total analog=0 …
//! logic-1-1    samples: each `unitsize` bytes, little-endian, the lowest bit that of probe 1
//! logic-1-2    those that follow
//! ```
//!
//! Voltages (`analog-1-9-1` …) are passed over where there are levels, too. Each sample is a moment, `1 / samplerate` after the one before.
//!
//! sigrok-cli writes a member for each packet that comes, of a few KB: a minute can be hundreds of thousands of them.
//!
//! An archive can claim to be anything. It is unpacked in pieces that are thrown away, up to [`MOST_BYTES`] of samples and [`MOST_EDGES`]
//! edges, so the memory it takes is bounded by the edges and by its directory, of which no more is believed than has room in the file.

use std::io::{Cursor, Read};

use zip::ZipArchive;
use zip::result::ZipError;

use super::sigrok_rate::SampleRate;
use super::{LogicCapture, LogicChannel, LogicError, LogicSpan, MOST_CHANNELS};

const FORM: &str = "a session file of sigrok";
/// The most bytes of samples that are unpacked: half an hour of eight lines at 8 MHz, or 16 MB of an archive that is as dense as can be.
pub const MOST_BYTES: u64 = 16 << 30;
/// The most edges of all lines together: 1 GiB of memory.
pub const MOST_EDGES: usize = 1 << 27;
/// Bytes of the members that are no samples.
const MOST_TEXT: u64 = 1 << 20;
/// Bytes that are unpacked at a time.
const PIECE: usize = 1 << 16;

/// Reads a file.
///
/// # Errors
/// With the member of the archive, where it is no such file, is cut off or damaged, or says what cannot be.
pub fn parse(bytes: &[u8]) -> Result<LogicCapture, LogicError> {
    if !bytes.starts_with(b"PK") {
        return Err(LogicError::Foreign(FORM));
    }
    let archive = ZipArchive::new(Cursor::new(bytes));
    let mut archive = archive.map_err(|error| LogicError::Archive(format!("{error}; was it cut off?")))?;
    let version = text(&mut archive, "version")?;
    if !matches!(version.trim(), "1" | "2") {
        return Err(member("version", format!("version '{}' is not known here: 1 and 2 are", shown(version.trim()))));
    }
    let device = Device::of(&text(&mut archive, "metadata")?)?;
    let no_rate = "no sample rate: when the levels changed is not known";
    let rate = device.rate.ok_or_else(|| member("metadata", no_rate))?;
    let mut samples = Samples::new(&device, rate);
    let mut piece = Piece { bytes: vec![0; PIECE.next_multiple_of(device.unit_size)], filled: 0, unpacked: 0 };
    for name in device.members(&archive)? {
        let mut file = archive.by_name(&name).map_err(|error| member(&name, unpacking(&error)))?;
        loop {
            let count = piece.fill(&mut file).map_err(|what| member(&name, what))?;
            piece.hand_over(device.unit_size, |units| samples.take(units)).map_err(|what| member(&name, what))?;
            if count == 0 {
                break;
            }
        }
    }
    if piece.filled > 0 {
        return Err(LogicError::Archive("its samples end within one: it was cut off".to_owned()));
    }
    samples.finish(device)
}

fn member(name: &str, what: impl Into<String>) -> LogicError {
    LogicError::Member { name: name.to_owned(), what: what.into() }
}

fn unpacking(error: &dyn std::error::Error) -> String {
    format!("it cannot be unpacked: {error}")
}

fn shown(text: &str) -> String {
    let text: String = text.chars().take(40).collect();
    units::printable::line(&text).into_owned()
}

/// A short member, as text.
fn text(archive: &mut ZipArchive<Cursor<&[u8]>>, name: &str) -> Result<String, LogicError> {
    let file = match archive.by_name(name) {
        Ok(file) => file,
        Err(ZipError::FileNotFound) => return Err(LogicError::Foreign(FORM)),
        Err(error) => return Err(member(name, unpacking(&error))),
    };
    let mut all = Vec::new();
    file.take(MOST_TEXT + 1).read_to_end(&mut all).map_err(|error| member(name, unpacking(&error)))?;
    if u64::try_from(all.len()).unwrap_or(u64::MAX) > MOST_TEXT {
        return Err(member(name, format!("more than {MOST_TEXT} bytes, more than is read of it")));
    }
    String::from_utf8(all).map_err(|_| member(name, "it is no text"))
}

/// What `metadata` says of the device.
#[derive(Debug, Default)]
struct Device {
    capture_file: String,
    rate: Option<SampleRate>,
    unit_size: usize,
    /// The number of the bit and the name of each line, in the order of their numbers.
    probes: Vec<(usize, String)>,
}

impl Device {
    fn of(metadata: &str) -> Result<Self, LogicError> {
        let wrong = |what: String| member("metadata", what);
        let mut device = Self::default();
        let mut has_analog = false;
        for line in metadata.lines() {
            let Some((key, value)) = line.split_once('=').map(|(key, value)| (key.trim(), value.trim())) else {
                continue;
            };
            let number = |prefix: &str| key.strip_prefix(prefix).and_then(|number| number.parse::<usize>().ok());
            match key {
                "capturefile" if !device.capture_file.is_empty() => {
                    return Err(wrong(
                        "it has samples of two devices, whose clocks differ: save them apart".to_owned(),
                    ));
                }
                "capturefile" => device.capture_file = value.to_owned(),
                "samplerate" => {
                    let rate = SampleRate::of_text(value);
                    device.rate = Some(rate.ok_or_else(|| wrong(format!("'{}' is no sample rate", shown(value))))?);
                }
                "unitsize" => device.unit_size = value.parse().unwrap_or(0),
                _ => {}
            }
            has_analog |= number("analog").is_some();
            if let Some(number) = number("probe") {
                let bit = number.checked_sub(1).filter(|bit| *bit < MOST_CHANNELS);
                let bit = bit.ok_or_else(|| wrong(format!("probe {number}: 1 to {MOST_CHANNELS} can be read")))?;
                if device.probes.len() == MOST_CHANNELS {
                    return Err(wrong(format!("more than {MOST_CHANNELS} probes")));
                }
                device.probes.push((bit, units::printable::line(value).into_owned()));
            }
        }
        if device.capture_file.is_empty() {
            return Err(if has_analog {
                LogicError::Analog
            } else {
                wrong("no capturefile: it has no samples".to_owned())
            });
        }
        device.probes.sort_unstable();
        if device.probes.is_empty() {
            return Err(wrong("no line was captured (probe1 to probeN)".to_owned()));
        }
        if let Some(pair) = device.probes.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(wrong(format!("probe{} stands in it twice", pair[0].0 + 1)));
        }
        let bits = device.probes.last().map_or(0, |(bit, _)| bit + 1);
        let (bytes, most) = (device.unit_size, MOST_CHANNELS / 8);
        if !(1..=most).contains(&bytes) {
            return Err(wrong(format!("unitsize={bytes}: samples of 1 to {most} bytes can be read")));
        }
        if bytes < bits.div_ceil(8) {
            return Err(wrong(format!("unitsize={bytes}: samples of so many bytes cannot hold {bits} lines")));
        }
        Ok(device)
    }

    /// The names of the members that hold the samples, in their order.
    fn members(&self, archive: &ZipArchive<Cursor<&[u8]>>) -> Result<Vec<String>, LogicError> {
        let name = &self.capture_file;
        if archive.index_for_name(name).is_some() {
            return Ok(vec![name.clone()]);
        }
        let prefix = format!("{name}-");
        let numbers = archive.file_names().filter_map(|file| file.strip_prefix(&prefix)?.parse::<u64>().ok());
        let mut numbers: Vec<u64> = numbers.collect();
        numbers.sort_unstable();
        match numbers.iter().zip(1..).find(|(number, expected)| **number != *expected) {
            Some((_, missing)) => Err(member(&format!("{prefix}{missing}"), "it is missing, and later ones are there")),
            None if numbers.is_empty() => Err(member(&format!("{prefix}1"), "it is missing: there are no samples")),
            None => Ok(numbers.iter().map(|number| format!("{prefix}{number}")).collect()),
        }
    }
}

/// Bytes that were unpacked and not yet read: samples may go on in the next member.
struct Piece {
    bytes: Vec<u8>,
    filled: usize,
    unpacked: u64,
}

impl Piece {
    /// Returns how many bytes came; none at the end of the member, whose sum was checked then.
    fn fill(&mut self, file: &mut impl Read) -> Result<usize, String> {
        let room = self.bytes.get_mut(self.filled..).unwrap_or_default();
        let count = file.read(room).map_err(|error| unpacking(&error))?;
        self.filled += count;
        self.unpacked = self.unpacked.saturating_add(u64::try_from(count).unwrap_or(u64::MAX));
        if self.unpacked > MOST_BYTES {
            return Err(format!("more than {MOST_BYTES} bytes of samples: capture fewer lines, or for a shorter time"));
        }
        Ok(count)
    }

    fn hand_over(&mut self, unit_size: usize, take: impl FnOnce(&[u8]) -> Result<(), String>) -> Result<(), String> {
        let whole = self.filled - self.filled % unit_size;
        take(self.bytes.get(..whole).unwrap_or_default())?;
        self.bytes.copy_within(whole..self.filled, 0);
        self.filled -= whole;
        Ok(())
    }
}

/// What the samples have said so far.
struct Samples {
    rate: SampleRate,
    unit_size: usize,
    /// The line of each bit of a sample.
    lines: Vec<Option<usize>>,
    now: Vec<u8>,
    count: i64,
    begins_high: Vec<bool>,
    edges_ps: Vec<Vec<i64>>,
    edges: usize,
}

impl Samples {
    fn new(device: &Device, rate: SampleRate) -> Self {
        let mut lines = vec![None; device.unit_size * 8];
        for (line, (bit, _)) in device.probes.iter().enumerate() {
            lines[*bit] = Some(line);
        }
        Self {
            rate,
            unit_size: device.unit_size,
            lines,
            now: Vec::new(),
            count: 0,
            begins_high: vec![false; device.probes.len()],
            edges_ps: vec![Vec::new(); device.probes.len()],
            edges: 0,
        }
    }

    /// Takes whole samples.
    fn take(&mut self, mut units: &[u8]) -> Result<(), String> {
        if self.count == 0 && !units.is_empty() {
            let (first, rest) = units.split_at(self.unit_size);
            self.now = first.to_vec();
            for (bit, line) in self.lines.iter().enumerate().filter_map(|(bit, line)| Some((bit, (*line)?))) {
                self.begins_high[line] = first[bit / 8] >> (bit % 8) & 1 == 1;
            }
            (units, self.count) = (rest, 1);
        }
        while let Some((sample, rest)) = units.split_at_checked(self.unit_size) {
            if sample == self.now {
                let (passed, rest) = units.split_at(unchanged(units, &self.now));
                self.count += i64::try_from(passed.len() / self.unit_size).unwrap_or(0);
                units = rest;
            } else {
                self.change(sample)?;
                self.count += 1;
                units = rest;
            }
        }
        Ok(())
    }

    /// Takes a sample that differs from the one before it.
    fn change(&mut self, sample: &[u8]) -> Result<(), String> {
        let at_ps = self.rate.moment_ps(self.count).ok_or("its samples go on for more than 106 days")?;
        for ((now, byte), lines) in self.now.iter_mut().zip(sample).zip(self.lines.chunks(8)) {
            let mut changed = *now ^ byte;
            *now = *byte;
            while changed != 0 {
                let line = lines.get(usize::try_from(changed.trailing_zeros()).unwrap_or(8)).copied().flatten();
                if let Some(edges_ps) = line.and_then(|line| self.edges_ps.get_mut(line)) {
                    edges_ps.push(at_ps);
                    self.edges += 1;
                }
                changed &= changed - 1;
            }
        }
        if self.edges > MOST_EDGES {
            return Err(format!("more than {MOST_EDGES} edges: capture fewer lines, or for a shorter time"));
        }
        Ok(())
    }

    fn finish(self, device: Device) -> Result<LogicCapture, LogicError> {
        let archive = |what: &str| LogicError::Archive(what.to_owned());
        if self.count == 0 {
            return Err(archive("it has no samples"));
        }
        let until_ps =
            self.rate.moment_ps(self.count - 1).ok_or_else(|| archive("its samples go on for more than 106 days"))?;
        let levels = self.begins_high.into_iter().zip(self.edges_ps);
        let channel = |((_, name), (begins_high, edges_ps)): ((usize, String), (bool, Vec<i64>))| LogicChannel {
            name,
            spans: vec![LogicSpan { from_ps: 0, until_ps, begins_high, edges_ps }],
        };
        Ok(LogicCapture {
            channels: device.probes.into_iter().zip(levels).map(channel).collect(),
            resolution_ps: Some(self.rate.period_ps()),
        })
    }
}

/// How many bytes at the beginning repeat the sample `now`: a multiple of its length.
fn unchanged(units: &[u8], now: &[u8]) -> usize {
    let mut same = 0;
    // Most samples repeat the one before them: several at a time.
    if matches!(now.len(), 1 | 2 | 4 | 8) {
        let pattern: [u8; 32] = std::array::from_fn(|at| now[at % now.len()]);
        same = units.chunks_exact(pattern.len()).take_while(|chunk| **chunk == pattern).count() * pattern.len();
    }
    let rest = units.get(same..).unwrap_or_default();
    same + rest.chunks_exact(now.len()).take_while(|unit| *unit == now).count() * now.len()
}

#[cfg(test)]
mod tests;
