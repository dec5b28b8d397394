//! Lines of the logs of ptp4l, phc2sys and ts2phc, in the shapes of linuxptp 3.1 to 4.x.
//!
//! One line goes in, as bytes and without its end; nothing is allocated. A log may be mixed with other programs' lines, and
//! what stands before a message depends on where it was written to:
//!
//! ```text
//! ptp4l[448720.905]: master offset         40 s2 freq     +41 path delay       413
//! Nov 25 00:54:40 node ptp4l[812]: [448720.905] rms   53 max   74 freq -16642 +/-  40 delay  1089 +/-  20
//! 2026-11-25T00:54:40+0000 node phc2sys[813]: [448720.905] [tag] CLOCK_REALTIME phc offset 8 s2 freq -6990 delay 502
//! ts2phc[448720.905]: /dev/ptp1 offset          3 s3 freq     -12
//! ptp4l[448720.905]: port 1 (eth0): UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED
//! Nov 25 00:54:40 node ptp4l[812]: ptp4l[448720.905]: master offset         40 s2 freq     +41 path delay       413
//! ```
//!
//! The last one is what journald makes of the standard output of a unit (`ptp4l -m`), which the program had given its own
//! beginning already.
//!
//! `448720.905` is `CLOCK_MONOTONIC` in seconds, `812` a process, `[tag]` what the option `message_tag` says. The sign of an
//! offset is ours: positive if the clock is ahead. That of `freq` is not: it is what the servo takes for the error of the
//! clock's rate, and the correction in force is its negative.

/// A program of linuxptp that writes such lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Program {
    /// A clock against its master, by messages.
    Ptp4l,
    /// A clock against another one of the same machine.
    Phc2sys,
    /// Hardware clocks against pulses per second.
    Ts2phc,
}

impl Message<'_> {
    /// The levels of syslog at which linuxptp says such a thing; `message_tag` can hold them as `{level}`.
    #[must_use]
    pub const fn levels(&self) -> std::ops::RangeInclusive<u8> {
        match self {
            Self::Offset(_) | Self::Summary(_) => 6..=6,
            Self::PortState { .. } | Self::BestMaster(_) | Self::OwnClockIsBest => 5..=5,
            Self::Fault(_) => 2..=5,
            _ => 2..=7,
        }
    }
}

impl Program {
    const ALL: [Self; 3] = [Self::Ptp4l, Self::Phc2sys, Self::Ts2phc];

    /// The name of the program.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ptp4l => "ptp4l",
            Self::Phc2sys => "phc2sys",
            Self::Ts2phc => "ts2phc",
        }
    }
}

/// A line of one of the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogLine<'a> {
    /// Who wrote it; found by the shape of the message where the line does not name the program.
    pub program: Program,
    /// Number of the process, where journald or syslog wrote it.
    pub process: Option<u32>,
    /// `CLOCK_MONOTONIC` when it was written (ns), where the line has it.
    pub uptime_ns: Option<i64>,
    /// What journald or syslog put before the program's name.
    pub before: &'a [u8],
    /// What `message_tag` put before the message.
    pub tag: &'a [u8],
    /// Whether it was written to the standard output, as with `-m`, and then taken up by a journal. A program that writes to both
    /// says everything twice.
    pub is_from_output: bool,
    /// What it says.
    pub message: Message<'a>,
}

/// What a line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Message<'a> {
    /// One offset.
    Offset(Offset<'a>),
    /// A summary of offsets, which has no sign and no number of values.
    Summary(Summary<'a>),
    /// A port went from one state to another.
    PortState {
        /// Number of the port, from 1; 0 are sockets for questions.
        port: u32,
        /// The interface, which 4.0 and later name; else empty.
        interface: &'a [u8],
        /// The state from now on: `SLAVE`.
        state: &'a [u8],
        /// The event behind it: `RS_SLAVE`.
        event: &'a [u8],
    },
    /// The identity of the grand master that is followed from now on.
    BestMaster(&'a [u8]),
    /// No other clock is better than its own.
    OwnClockIsBest,
    /// The clock that phc2sys takes as source from now on.
    SelectedSource(&'a [u8]),
    /// The clock jumped, or ran faster or slower than it can: somebody else set it.
    ClockJumped(&'a [u8]),
    /// TAI less UTC from now on (s).
    UtcOffset(i64),
    /// The program keeps its clock by what it learned, without its source.
    Holdover(&'a [u8]),
    /// Something kept the program from its work.
    Fault(&'a [u8]),
    /// The line begins as an offset or a summary, and cannot be read as one.
    Broken,
    /// Anything else.
    Other,
}

/// One offset as it was logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offset<'a> {
    /// The clock that is steered, as phc2sys and ts2phc name it; empty for ptp4l.
    pub clock: &'a [u8],
    /// What it is compared with: `master`, `phc`, `sys`, `pps`, `source`; may be empty for ts2phc.
    pub source: &'a [u8],
    /// The clock less its source (ns).
    pub offset_ns: i64,
    /// State of the servo: 0 unlocked, 1 the clock is set by this offset, 2 locked, 3 locked and stable. Absent where the clock
    /// is not steered.
    pub servo: Option<u8>,
    /// The rate by which the clock is taken to be too fast (parts per billion).
    pub frequency_ppb: Option<i64>,
    /// ptp4l: the filtered path delay; phc2sys: how long it took to read both clocks (ns).
    pub delay_ns: Option<i64>,
    /// Whether ts2phc has lost its source and keeps the clock by what it learned.
    pub is_holdover: bool,
}

/// A summary as it was logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Summary<'a> {
    /// As in [`Offset`].
    pub clock: &'a [u8],
    /// Root mean square of the offsets (ns).
    pub rms_ns: u64,
    /// Their largest magnitude (ns).
    pub largest_ns: u64,
}

/// Reads a line; `None` if none of the programs wrote it.
#[must_use]
pub fn parse(line: &[u8]) -> Option<LogLine<'_>> {
    let line = line.trim_ascii();
    let Some((program, start)) = find_program(line) else { return without_name(line) };
    let before = line.get(..start)?.trim_ascii();
    let mut rest = line.get(start + program.name().len()..)?;
    let (mut process, mut uptime_ns) = (None, None);
    if let Some(inner) = bracketed(&mut rest) {
        uptime_ns = seconds(inner);
        process = number(inner).and_then(|number| u32::try_from(number).ok());
        // In another language's format, or damaged: its time is not known, and a guess would be a wrong one.
        if uptime_ns.is_none() && process.is_none() {
            return Some(LogLine {
                program,
                process,
                uptime_ns,
                before,
                tag: &[],
                is_from_output: false,
                message: Message::Broken,
            });
        }
    }
    rest = rest.strip_prefix(b":")?.trim_ascii_start();
    if uptime_ns.is_none() {
        let mut after = rest;
        if let Some(stamp) = bracketed(&mut after).and_then(seconds) {
            (uptime_ns, rest) = (Some(stamp), after.trim_ascii_start());
        }
    }
    let mut is_from_output = uptime_ns.is_some() && process.is_none() && !before.is_empty();
    if uptime_ns.is_none() {
        // The program's own beginning, behind the one that the journal gave the line.
        if let Some((stamp, after)) = own_beginning(rest, program) {
            (uptime_ns, rest, is_from_output) = (Some(stamp), after, true);
        }
    }
    if process.is_none() {
        // Of a shell that started it: `sh[812]: ptp4l[448720.905]: …`.
        process = before
            .strip_suffix(b"]:")
            .and_then(|head| head.rsplit(|byte| *byte == b'[').next())
            .and_then(number)
            .and_then(|number| u32::try_from(number).ok());
    }
    let before = if is_from_output { without_writer(before) } else { before };
    let (tag, message) = message(rest, Some(program)).1;
    Some(LogLine { program, process, uptime_ns, before, tag, is_from_output, message })
}

/// `ptp4l[448720.905]: ` at the beginning: the time, and what follows.
fn own_beginning(text: &[u8], program: Program) -> Option<(i64, &[u8])> {
    let mut rest = text.strip_prefix(program.name().as_bytes())?;
    let stamp = bracketed(&mut rest).and_then(seconds)?;
    Some((stamp, rest.strip_prefix(b":")?.trim_ascii_start()))
}

/// What stands before a line without the name of who passed it on: `node sh[812]:`.
fn without_writer(before: &[u8]) -> &[u8] {
    let start = before.iter().rposition(|byte| *byte == b' ').map_or(0, |at| at + 1);
    match before.get(start..) {
        Some(word) if word.ends_with(b":") => before.get(..start).unwrap_or(&[]).trim_ascii(),
        _ => before,
    }
}

/// A line without a program's name, as `journalctl -o cat` prints it: taken only if its message leaves no doubt.
fn without_name(line: &[u8]) -> Option<LogLine<'_>> {
    let mut rest = line;
    let uptime_ns = bracketed(&mut rest).and_then(seconds);
    let text = if uptime_ns.is_some() { rest.trim_ascii_start() } else { line };
    let (program, (tag, message)) = message(text, None);
    let is_certain = match message {
        Message::Offset(offset) => offset.servo.is_some(),
        Message::Summary(_) | Message::PortState { .. } | Message::BestMaster(_) => true,
        Message::OwnClockIsBest | Message::ClockJumped(_) => uptime_ns.is_some(),
        _ => false,
    };
    let has_place = uptime_ns.is_some() || tag.is_empty();
    (is_certain && has_place).then_some(LogLine {
        program,
        process: None,
        uptime_ns,
        before: &[],
        tag,
        is_from_output: false,
        message,
    })
}

/// Where a program's name stands as the writer of the line: before a bracket or a colon, and not within another word.
fn find_program(line: &[u8]) -> Option<(Program, usize)> {
    if line.starts_with(b"ptp4l[") {
        return Some((Program::Ptp4l, 0));
    }
    let mut from = 0;
    loop {
        let at = from + line.get(from..)?.iter().position(|byte| matches!(byte, b'[' | b':'))?;
        let head = line.get(..at)?;
        for program in Program::ALL {
            let Some(outside) = head.strip_suffix(program.name().as_bytes()) else { continue };
            if outside.last().is_none_or(|byte| matches!(byte, b' ' | b'/' | b'\t')) {
                return Some((program, outside.len()));
            }
        }
        from = at + 1;
    }
}

/// What stands between brackets at the beginning, which is taken away with them.
fn bracketed<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let inner = rest.strip_prefix(b"[")?;
    let end = inner.iter().take(40).position(|byte| *byte == b']')?;
    *rest = inner.get(end + 1..)?;
    inner.get(..end)
}

/// `448720.905` in ns: three decimals, as linuxptp writes them; the kernel's log has six.
fn seconds(text: &[u8]) -> Option<i64> {
    let point = text.len().checked_sub(4)?;
    let (whole, fraction) = text.split_at_checked(point)?;
    let fraction = fraction.strip_prefix(b".")?;
    let (whole, fraction) = (number(whole)?, number(fraction)?);
    whole.checked_mul(1_000)?.checked_add(fraction)?.checked_mul(1_000_000)
}

/// A whole number of digits alone.
fn number(text: &[u8]) -> Option<i64> {
    if text.is_empty() || text.len() > 19 {
        return None;
    }
    text.iter().try_fold(0_i64, |value, byte| {
        let digit = byte.is_ascii_digit().then(|| i64::from(byte - b'0'))?;
        value.checked_mul(10)?.checked_add(digit)
    })
}

/// A whole number with or without a sign.
fn signed(text: &[u8]) -> Option<i64> {
    match text.split_first()? {
        (b'-', digits) => number(digits).map(|value| -value),
        (b'+', digits) => number(digits),
        _ => number(text),
    }
}

/// Words from the left, and where each begins.
struct Words<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> Option<(usize, &'a [u8])> {
        let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
        let start = self.at + self.text.get(self.at..)?.iter().position(|byte| !is_space(byte))?;
        let rest = self.text.get(start..)?;
        let length = rest.iter().position(is_space).unwrap_or(rest.len());
        self.at = start + length;
        Some((start, rest.get(..length)?))
    }

    fn word(&mut self) -> Option<&'a [u8]> {
        self.next().map(|(_, word)| word)
    }

    fn expect(&mut self, wanted: &[u8]) -> Option<()> {
        (self.word()? == wanted).then_some(())
    }

    fn signed(&mut self) -> Option<i64> {
        self.word().and_then(signed)
    }

    fn unsigned(&mut self) -> Option<u64> {
        self.word().and_then(number).and_then(|value| u64::try_from(value).ok())
    }
}

/// Beginnings of messages that say what kept a program from its work.
const FAULTS: [&[u8]; 11] = [
    b"timed out while polling for tx timestamp",
    b"timed out waiting for",
    b"poll for tx timestamp",
    b"failed to ",
    b"send ",
    b"nmea source",
    b"nmea: no valid",
    b"nmea: rmc time stamp stale",
    b"missing timestamp",
    b"bad timestamps",
    b"received DELAY_REQ without timestamp",
];

/// What stands before the word "offset" as the source of the time.
const SOURCES: [&[u8]; 5] = [b"master", b"source", b"phc", b"sys", b"pps"];

/// Who wrote a message, its tag, and what it says.
fn message(text: &[u8], program: Option<Program>) -> (Program, (&[u8], Message<'_>)) {
    // What most lines of most logs are.
    if let (Some(_), Some(Program::Ptp4l)) = (text.strip_prefix(b"master offset "), program) {
        let read = values(Words { text, at: 14 }, Program::Ptp4l).map(|values| Offset { source: b"master", ..values });
        return (Program::Ptp4l, (&[], read.map_or(Message::Broken, Message::Offset)));
    }
    let mut words = Words { text, at: 0 };
    // The two words before the current one, where they begin.
    let mut before: [Option<(usize, &[u8])>; 2] = [None; 2];
    let assumed = program.unwrap_or(Program::Ptp4l);
    let tag_until = |at: usize| text.get(..at).unwrap_or(&[]).trim_ascii_end();
    while let Some((at, word)) = words.next() {
        let from_here = text.get(at..).unwrap_or(&[]);
        let said = match word {
            b"offset" => {
                let mut after = Words { text, at: words.at };
                let is_number =
                    after.word().and_then(<[u8]>::first).is_some_and(|byte| matches!(byte, b'0'..=b'9' | b'+' | b'-'));
                let names_source = before[1].is_some_and(|(_, word)| SOURCES.contains(&word));
                if is_number || names_source {
                    let (program, tag_end, message) = offset(text, words.at, before, program);
                    return (program, (tag_until(tag_end.unwrap_or(at)), message));
                }
                None
            }
            b"rms" => {
                let (program, tag_end, message) = summary(text, words.at, before[1], program);
                return (program, (tag_until(tag_end.unwrap_or(at)), message));
            }
            b"port" => port_state(from_here),
            b"selected" => selected(from_here),
            b"selecting" => selecting(from_here),
            b"clockcheck:" => Some(if contains(from_here, b"jumped") {
                Message::ClockJumped(from_here)
            } else {
                Message::Fault(from_here)
            }),
            b"updating" => utc_offset(from_here),
            b"lost" if from_here.starts_with(b"lost holdover") => Some(Message::Fault(from_here)),
            b"holdover" => Some(Message::Holdover(from_here)),
            _ => FAULTS.iter().any(|fault| from_here.starts_with(fault)).then_some(Message::Fault(from_here)),
        };
        if let Some(message) = said {
            return (assumed, (tag_until(at), message));
        }
        before = [before[1], Some((at, word))];
    }
    (assumed, (&[], Message::Other))
}

fn contains(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

/// An offset: the words before it name what is compared. Also where the tag ends.
fn offset<'a>(
    text: &'a [u8],
    at: usize,
    before: [Option<(usize, &'a [u8])>; 2],
    program: Option<Program>,
) -> (Program, Option<usize>, Message<'a>) {
    let [older, last] = before;
    let source = last.map_or(&b""[..], |(_, word)| word);
    let program = program.unwrap_or(match source {
        b"phc" | b"sys" | b"pps" => Program::Phc2sys,
        b"master" if older.is_none() => Program::Ptp4l,
        _ => Program::Ts2phc,
    });
    let (clock, source) = match (program, source) {
        (Program::Ptp4l, _) => (None, last),
        (Program::Ts2phc, b"master" | b"source") | (Program::Phc2sys, b"phc" | b"sys" | b"pps") => (older, last),
        (_, _) => (last, None),
    };
    let tag_end = clock.or(source).map(|(start, _)| start);
    let name = |word: Option<(usize, &'a [u8])>| word.map_or(&b""[..], |(_, word)| word);
    let read =
        values(Words { text, at }, program).map(|values| Offset { clock: name(clock), source: name(source), ..values });
    (program, tag_end, read.map_or(Message::Broken, Message::Offset))
}

/// The numbers after `offset`, up to the end of the line.
fn values<'a>(mut words: Words<'a>, program: Program) -> Option<Offset<'a>> {
    let mut values = Offset {
        clock: &[],
        source: &[],
        offset_ns: words.signed()?,
        servo: None,
        frequency_ppb: None,
        delay_ns: None,
        is_holdover: false,
    };
    let Some(state) = words.word() else { return (program == Program::Ts2phc).then_some(values) };
    values.servo = match state {
        b"s0" => Some(0),
        b"s1" => Some(1),
        b"s2" => Some(2),
        b"s3" => Some(3),
        _ => return None,
    };
    words.expect(b"freq")?;
    values.frequency_ppb = Some(words.signed()?);
    match (words.word(), program) {
        (None, Program::Phc2sys | Program::Ts2phc) => return Some(values),
        (Some(b"path"), Program::Ptp4l) => words.expect(b"delay")?,
        (Some(b"delay"), Program::Phc2sys) => {}
        (Some(b"holdover"), Program::Ts2phc) => {
            values.is_holdover = true;
            return words.word().is_none().then_some(values);
        }
        _ => return None,
    }
    values.delay_ns = Some(words.signed()?);
    words.word().is_none().then_some(values)
}

fn summary<'a>(
    text: &'a [u8],
    at: usize,
    last: Option<(usize, &'a [u8])>,
    program: Option<Program>,
) -> (Program, Option<usize>, Message<'a>) {
    let program = program.unwrap_or(if last.is_none() { Program::Ptp4l } else { Program::Phc2sys });
    let clock = last.filter(|_| program != Program::Ptp4l);
    let read = || {
        let mut words = Words { text, at };
        let rms_ns = words.unsigned()?;
        words.expect(b"max")?;
        let largest_ns = words.unsigned()?;
        words.expect(b"freq")?;
        words.signed()?;
        words.expect(b"+/-")?;
        words.unsigned()?;
        // What was filtered of the delay has no use: it is a mean, and says nothing of a single message.
        if let Some(word) = words.word() {
            (word == b"delay").then_some(())?;
            words.signed()?;
            // Some versions leave no space before the sign.
            words.expect(b"+/-")?;
            words.unsigned()?;
        }
        let clock = clock.map_or(&b""[..], |(_, word)| word);
        words.word().is_none().then_some(Message::Summary(Summary { clock, rms_ns, largest_ns }))
    };
    (program, clock.map(|(start, _)| start), read().unwrap_or(Message::Broken))
}

/// `port 1 (eth0): UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED`, and what a port says of its link.
fn port_state(text: &[u8]) -> Option<Message<'_>> {
    let mut words = Words { text, at: 0 };
    words.expect(b"port")?;
    let first = words.word()?;
    let (port, interface) = match first.strip_suffix(b":") {
        Some(digits) => (digits, &b""[..]),
        None => (first, words.word()?.strip_prefix(b"(")?.strip_suffix(b"):")?),
    };
    let port = number(port).and_then(|port| u32::try_from(port).ok())?;
    let rest = text.get(words.at..)?.trim_ascii_start();
    let before = words.word()?;
    if before == b"link" && rest == b"link down" || FAULTS.iter().any(|fault| rest.starts_with(fault)) {
        return Some(Message::Fault(text));
    }
    let is_state = |word: &[u8]| word.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_');
    if !is_state(before) || words.expect(b"to").is_none() {
        return Some(Message::Other);
    }
    let state = words.word().filter(|word| is_state(word))?;
    words.expect(b"on")?;
    Some(Message::PortState { port, interface, state, event: words.word()? })
}

fn selected(text: &[u8]) -> Option<Message<'_>> {
    let mut words = Words { text, at: 0 };
    words.expect(b"selected")?;
    match words.word()? {
        b"local" => Some(Message::OwnClockIsBest),
        b"best" => {
            words.word()?;
            words.expect(b"clock")?;
            Some(Message::BestMaster(words.word()?))
        }
        _ => None,
    }
}

/// phc2sys: `selecting eth0 as the master clock`.
fn selecting(text: &[u8]) -> Option<Message<'_>> {
    let mut words = Words { text, at: 0 };
    words.expect(b"selecting")?;
    let name = words.word()?;
    words.expect(b"as")?;
    words.expect(b"the")?;
    matches!(words.word()?, b"master" | b"source").then_some(Message::SelectedSource(name))
}

fn utc_offset(text: &[u8]) -> Option<Message<'_>> {
    text.strip_prefix(b"updating UTC offset to ").and_then(signed).map(Message::UtcOffset)
}
