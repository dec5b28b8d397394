//! Logs of ptp4l, phc2sys and ts2phc (linuxptp 3.1 to 4.x), alone or among other programs' lines.
//!
//! Each process, tag and clock is a source of its own. Single offsets are taken with their sign; summaries (`rms … max …`) have
//! none, so they are the program's own estimate and no offsets. ptp4l's offsets rest on its filtered delay, so they have no hard
//! bound; those of phc2sys are readings of two clocks within a window that it prints, which bounds them.
//!
//! Times are ptp4l's own uptime where the log has it. A date is taken only with its zone, and never made up.

mod lines;

use std::ops::RangeInclusive;

use codecs::linuxptp::log::{LogLine, Message, Offset, Program, parse};
use record::{Place, ReasonCode, SyncChange, SyncService, SyncState};
use sync::bound::OffsetBound;
use sync::follow::{About, Followed, Follower, Shown};
use units::format::{count, span};
use units::{ClockId, ClockName};

use self::lines::{Counted, Recent, differ_by_level, is_same};
use super::clocks::Clocks;
use super::source::Imported;
use super::stream::{Lines, StreamReader};
use super::timeline::{LogClock, Timeline};
use super::{ImportFormat, Reader};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "linuxptp-log",
    what: "log of ptp4l, phc2sys or ts2phc, also from journald or syslog and among other programs' lines",
    is_distinct: true,
    reader: Reader::Stream { recognize, begin: || Box::new(LinuxptpLog::default()) },
};

/// More processes or clocks are not followed: their lines are counted.
const MOST_SOURCES: usize = 64;
/// Ports of one clock; a bridge has fewer.
const MOST_PORTS: usize = 256;

const NO_STAMPS: &str = "ptp4l's log has no raw time stamps; 'punctual measure sync' gets them where ptp4l has a \
                         slave_event_monitor, and so does a capture of its messages";
const NO_WINDOW: &str = "the log does not say how long the clocks took to read";
const WINDOW: &str = "phc2sys read both clocks within the delay that it prints, as the driver states it; the bound is of the moments of \
                      its readings, and not of the time between them";
const SUMMARIES_ONLY: &str = "the log has summaries alone (rms and max), which have no sign: no offset is known; ptp4l lists each one with \
                              'summary_interval' at the interval of Sync or below, phc2sys without -u";

fn recognize(head: &[u8]) -> bool {
    let mut lines = Lines::default();
    let mut is_ours = false;
    lines.feed(head, &mut |_, line| is_ours |= !is_ours && is_telling(line));
    is_ours || is_telling(lines.unfinished())
}

/// Whether a line can hardly be anything else.
fn is_telling(line: &[u8]) -> bool {
    parse(line).is_some_and(|line| !matches!(line.message, Message::Other | Message::Broken | Message::Fault(_)))
}

/// The longest piece of a message that is quoted (bytes); linuxptp writes no longer ones.
const MOST_QUOTED: usize = 200;

/// A piece of a message as it is shown: without control characters, and of bounded length.
fn shown(bytes: &[u8]) -> String {
    let piece = bytes.get(..MOST_QUOTED).unwrap_or(bytes);
    let mut text: String =
        String::from_utf8_lossy(piece).chars().map(|letter| if letter.is_control() { '?' } else { letter }).collect();
    if piece.len() < bytes.len() {
        text.push('\u{2026}');
    }
    text
}

/// What is known of one process and one of its clocks.
#[derive(Debug)]
struct Source {
    program: Program,
    process: Option<u32>,
    tag: Vec<u8>,
    /// The levels at which the line was said that gave the tag.
    tag_levels: RangeInclusive<u8>,
    /// As phc2sys and ts2phc name it; empty for ptp4l, and until it is known.
    clock: Vec<u8>,
    follower: Follower,
    ports: Vec<Port>,
    servo: Option<u8>,
    offsets: u64,
    utc_offset_s: Option<i64>,
}

#[derive(Debug)]
struct Port {
    number: u32,
    interface: Vec<u8>,
    state: Vec<u8>,
}

#[derive(Debug)]
struct State {
    timeline: Timeline,
    sources: Vec<Source>,
    last: usize,
    hostname: Option<String>,
    ours: u64,
    others: u64,
    summaries: u64,
    untimed: u64,
    broken: Counted,
    too_many: Counted,
    /// Lines that were said a second time, on the standard output and in the log.
    doubled: u64,
    /// The last lines, to find those that are said twice.
    recent: Recent,
    /// Where the log's times went back, and the largest way (ns).
    back: Counted,
    most_back_ns: i64,
}

/// Reads a log as it comes.
#[derive(Debug)]
struct LinuxptpLog {
    lines: Lines,
    state: State,
}

impl Default for LinuxptpLog {
    fn default() -> Self {
        Self {
            lines: Lines::default(),
            state: State {
                timeline: Timeline::new(LogClock::Uptime),
                sources: Vec::new(),
                last: 0,
                hostname: None,
                ours: 0,
                others: 0,
                summaries: 0,
                untimed: 0,
                broken: Counted::default(),
                too_many: Counted::default(),
                doubled: 0,
                recent: Recent::default(),
                back: Counted::default(),
                most_back_ns: 0,
            },
        }
    }
}

impl StreamReader for LinuxptpLog {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), ForeignError> {
        let Self { lines, state } = self;
        lines.feed(bytes, &mut |number, line| state.line(number, line));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Imported, ForeignError> {
        let Self { lines, mut state } = *self;
        // Nothing says whether the last number of a line without an end is whole.
        let is_torn = parse(lines.unfinished()).is_some();
        if !is_torn && !lines.unfinished().is_empty() {
            state.others += 1;
        }
        let mut lacks: Vec<String> = lines.too_long_words().into_iter().collect();
        if is_torn {
            lacks.push(format!("the last line ({}), which has no end: it was not read", lines.next_number()));
        }
        state.finish(lacks)
    }
}

/// The wall clock of a line, if it has a date with a zone: `2026-11-25T00:54:40+0000`.
fn wall_ns(before: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(before).ok()?;
    let stamp: jiff::Timestamp = text.split_ascii_whitespace().next()?.parse().ok()?;
    i64::try_from(stamp.as_nanosecond()).ok()
}

impl State {
    fn line(&mut self, number: u64, line: &[u8]) {
        // A machine that lost its power leaves zeros where its last lines should be.
        let start = line.iter().position(|byte| *byte != 0).unwrap_or(line.len());
        let line = line.get(start..).unwrap_or(&[]);
        let Some(read) = parse(line) else {
            self.others += u64::from(!line.trim_ascii().is_empty());
            return;
        };
        self.ours += 1;
        if read.message == Message::Broken {
            self.broken.add(number);
            return;
        }
        if self.recent.is_double(&read, line) {
            self.doubled += 1;
            return;
        }
        let at = self.moment(number, &read);
        if read.message == Message::Other {
            return;
        }
        if self.hostname.is_none() {
            let mut words = read.before.split(|byte| *byte == b' ').filter(|word| !word.is_empty());
            self.hostname = match (words.next(), words.next_back()) {
                // Where something else put a time before the line, no name follows it.
                (Some(_), Some(host)) if !host.contains(&b':') => std::str::from_utf8(host).ok().map(str::to_owned),
                _ => None,
            };
        }
        let clock = match read.message {
            Message::Offset(offset) => offset.clock,
            Message::Summary(summary) => summary.clock,
            _ => &[],
        };
        let Some(place) = self.source(&read, clock) else {
            self.too_many.add(number);
            return;
        };
        self.summaries += u64::from(matches!(read.message, Message::Summary(_)));
        if !clock.is_empty() || read.program == Program::Ptp4l {
            if let Some(source) = self.sources.get_mut(place) {
                source.take(at, &read.message);
            }
            return;
        }
        // Which of its clocks the program means is not said: it can be each.
        let wrote_it = |source: &&mut Source| {
            source.program == read.program && source.process == read.process && source.has_tag(&read)
        };
        self.sources.iter_mut().filter(wrote_it).for_each(|source| source.take(at, &read.message));
    }

    fn moment(&mut self, number: u64, read: &LogLine<'_>) -> record::Moment {
        let (log_ns, wall) = match (read.uptime_ns, self.timeline.has_times()) {
            (Some(uptime_ns), _) if !self.timeline.is_wall() => (Some(uptime_ns), None),
            // Without uptimes the date has to do.
            (None, false) => (wall_ns(read.before), Some(LogClock::Wall)),
            (_, true) if self.timeline.is_wall() => (wall_ns(read.before), None),
            _ => (None, None),
        };
        let Some(log_ns) = log_ns else {
            self.untimed += 1;
            return self.timeline.latest();
        };
        if let Some(clock) = wall {
            self.timeline = Timeline::new(clock);
        }
        let (at, back) = self.timeline.at(log_ns, || wall_ns(read.before));
        if let Some(back_ns) = back {
            self.back.add(number);
            self.most_back_ns = self.most_back_ns.max(back_ns);
            for source in &mut self.sources {
                source.follower.cut(at);
                source.servo = None;
            }
            if let Some(source) = self.sources.get_mut(self.last) {
                let detail = format!(
                    "the log's times go back by {} (line {number}): the machine was started again, or logs were joined",
                    span(back_ns)
                );
                source.follower.event(at, SyncChange::Source, detail);
            }
        }
        at
    }

    /// The source of a line, which is a new one if need be; `None` if there are too many.
    fn source(&mut self, read: &LogLine<'_>, clock: &[u8]) -> Option<usize> {
        let fits = |source: &Source| {
            source.program == read.program
                && source.process == read.process
                && source.has_tag(read)
                && (clock.is_empty() || source.clock.is_empty() || source.clock == clock)
        };
        if self.sources.get(self.last).is_none_or(|source| !fits(source)) {
            // The newest first: what says no clock is of the one that was set up last.
            let place = self.sources.iter().rposition(fits);
            self.last = match place {
                Some(place) => place,
                None if self.sources.len() == MOST_SOURCES => return None,
                None => {
                    self.sources.push(Source::begin(read, self.timeline.started()));
                    self.sources.len() - 1
                }
            };
        }
        let source = self.sources.get_mut(self.last)?;
        if source.clock.is_empty() && !clock.is_empty() {
            source.name_clock(clock);
        }
        Some(self.last)
    }

    fn finish(self, mut lacks: Vec<String>) -> Result<Imported, ForeignError> {
        if self.sources.is_empty() {
            return Err(ForeignError::NoResult(format!(
                "no offset, summary or state of ptp4l, phc2sys or ts2phc; {} of their lines cannot be read, and {} lines are of other \
                 programs",
                count(self.broken.count),
                count(self.others)
            )));
        }
        let (started, ended) = (self.timeline.started(), self.timeline.latest());
        let mut programs: Vec<Program> = self.sources.iter().map(|source| source.program).collect();
        programs.sort_unstable();
        programs.dedup();
        let names = names(&self.sources);
        let has_offsets_of = |program| self.sources.iter().any(|one| one.program == program && one.offsets > 0);
        if has_offsets_of(Program::Ptp4l) {
            lacks.push("the time stamps of each message: ptp4l's offsets are as its servo states them, with its filtered delay".to_owned());
        }
        if self.summaries > 0 {
            lacks.push(format!(
                "the sign and the number of the offsets in {} summaries, which state a root mean square and a largest magnitude",
                count(self.summaries)
            ));
        }
        if self.others > 0 {
            lacks.push(format!("{} lines of other programs: they were not read", count(self.others)));
        }
        if self.doubled > 0 {
            lacks.push(format!(
                "{} lines that a program wrote to its standard output and to the log: each was read once",
                count(self.doubled)
            ));
        }
        if self.timeline.has_coarse_dates() {
            lacks.push("the wall clock to less than a second: times are counted from the first date on".to_owned());
        }
        if self.untimed > 0 {
            lacks.push(format!(
                "the time of {} lines, which are taken to be of the time of the line before",
                count(self.untimed)
            ));
        }
        let followed = self.sources.into_iter().zip(names).map(|(mut source, name)| {
            if source.offsets > 0 && source.follower.current_reference().is_none() {
                source.follower.reference(ended, "a master that the log does not name");
            }
            let mut followed: Followed = source.follower.finish(ended);
            followed.rename(&Place::Port { port: name, domain: None });
            followed
        });
        let clocks = Clocks::new((started, ended), followed.collect()).without_offsets(if self.summaries > 0 {
            SUMMARIES_ONLY
        } else {
            "the log has no offset"
        });
        let program: Vec<&str> = programs.iter().map(|program| program.name()).collect();
        let mut imported = Imported::from_clocks(&program.join(" and "), clocks);
        if let Some(hostname) = self.hostname {
            imported.node().hostname = hostname;
        }
        lacks.into_iter().for_each(|lack| imported.lacks(lack));
        imported.lacks("the program's version and configuration");
        for (counted, what) in [
            (self.broken, "begin as an offset or a summary and cannot be read as one of linuxptp 3.1 to 4.x"),
            (self.too_many, "are of processes or clocks beyond the first 64"),
        ] {
            if counted.count > 0 {
                let detail = format!("{} lines {what}, the first is line {}", count(counted.count), counted.first_line);
                imported.reason(ReasonCode::SamplesDropped, detail);
            }
        }
        if self.back.count > 0 {
            let detail = format!(
                "the log's times go back {} times, by up to {}, first in line {}: the machine was started again, or logs were joined; what \
                 was between is not known",
                count(self.back.count),
                span(self.most_back_ns),
                self.back.first_line
            );
            imported.reason(ReasonCode::SyncLost, detail);
        }
        Ok(imported)
    }
}

/// A name for each source that no other source of its program has.
fn names(sources: &[Source]) -> Vec<String> {
    let mut names: Vec<String> = sources.iter().map(Source::short_name).collect();
    for round in 0..3 {
        let is_double = |place: usize| {
            let same = |other: usize| sources[other].program == sources[place].program && names[other] == names[place];
            (0..sources.len()).any(|other| other != place && same(other))
        };
        let doubles: Vec<usize> = (0..sources.len()).filter(|place| is_double(*place)).collect();
        for place in doubles {
            let source = &sources[place];
            let more = match round {
                0 => Some(shown(&source.tag)).filter(|tag| !tag.is_empty()),
                1 => source.process.map(|process| format!("process {process}")),
                _ => Some(format!("number {}", place + 1)),
            };
            if let Some(more) = more {
                names[place] = format!("{} {more}", names[place]);
            }
        }
    }
    names
}

impl Source {
    fn begin(read: &LogLine<'_>, started: record::Moment) -> Self {
        let (service, trusts, without_bound) = match read.program {
            Program::Ptp4l => (SyncService::Linuxptp, "", NO_STAMPS),
            Program::Phc2sys => (SyncService::Phc2sys, WINDOW, NO_WINDOW),
            Program::Ts2phc => (SyncService::Ts2phc, "", NO_WINDOW),
        };
        let about = About {
            service,
            // Its place is known at the end.
            place: Place::Port { port: read.program.name().to_owned(), domain: None },
            clock: None,
            trusts: trusts.to_owned(),
            is_judged: true,
            without_bound: without_bound.to_owned(),
        };
        Self {
            program: read.program,
            process: read.process,
            tag: read.tag.to_owned(),
            tag_levels: read.message.levels(),
            clock: Vec::new(),
            follower: Follower::with_growing_intervals(about, started),
            ports: Vec::new(),
            servo: None,
            offsets: 0,
            utc_offset_s: None,
        }
    }

    /// Whether a line has the tag of this source. A tag can hold the level of its line (`message_tag` with `{level}`), which
    /// differs between lines of one process.
    fn has_tag(&self, read: &LogLine<'_>) -> bool {
        is_same(&self.tag, read.tag)
            || differ_by_level((&self.tag, &self.tag_levels), (read.tag, &read.message.levels()))
    }

    /// The clock by its name in the log: an interface does not say which hardware clock it has.
    fn name_clock(&mut self, clock: &[u8]) {
        self.clock = clock.to_owned();
        let text = String::from_utf8_lossy(clock);
        if text == "CLOCK_REALTIME" {
            self.follower.clock(ClockId::Realtime.into());
        } else if let Some(device) = text.strip_prefix("/dev/").filter(|device| device.starts_with("ptp")) {
            self.follower.clock(ClockName::Phc(device.to_owned()));
        }
    }

    /// Its interfaces or its clock, or else its tag or the program.
    fn short_name(&self) -> String {
        let mut interfaces: Vec<&[u8]> =
            self.ports.iter().map(|port| &*port.interface).filter(|name| !name.is_empty()).collect();
        interfaces.dedup();
        let bytes = if !self.clock.is_empty() {
            self.clock.clone()
        } else if !interfaces.is_empty() && interfaces.len() < 4 {
            interfaces.join(&b"+"[..])
        } else if !self.tag.is_empty() {
            self.tag.clone()
        } else {
            self.program.name().as_bytes().to_owned()
        };
        shown(&bytes)
    }

    fn take(&mut self, at: record::Moment, message: &Message<'_>) {
        let text = shown;
        match *message {
            Message::Offset(offset) => self.offset(at, &offset),
            Message::Summary(summary) => {
                self.follower.own_summary(units::approx_f64(summary.rms_ns), summary.largest_ns);
            }
            Message::PortState { port, interface, state, event } => self.port(at, (port, interface), state, event),
            Message::BestMaster(identity) => {
                self.follower.reference(at, &format!("grand master {}", text(identity)));
            }
            Message::OwnClockIsBest => {
                if self.follower.current_reference().is_some() {
                    self.follower.event(at, SyncChange::Source, "no other clock is better than its own".to_owned());
                }
            }
            Message::SelectedSource(name) => {
                self.follower.reference(at, &format!("the clock of {}", text(name)));
            }
            Message::ClockJumped(words) => {
                self.follower.set(at, text(words));
            }
            Message::UtcOffset(offset_s) => {
                // A program that says so has changed it; before the first offset that is how it begins.
                let is_other = self.utc_offset_s.replace(offset_s) != Some(offset_s);
                let words = format!("TAI less UTC is {offset_s} s from now on");
                if is_other && self.offsets > 0 {
                    self.follower.cut(at);
                    self.follower.event(at, SyncChange::TimeScale, words);
                } else if is_other {
                    self.follower.event(at, SyncChange::TaiOffset, words);
                }
            }
            Message::Holdover(words) => self.follower.state(at, SyncState::Holdover, &text(words)),
            Message::Fault(words) => self.follower.event(at, SyncChange::Fault, text(words)),
            Message::Broken | Message::Other => {}
        }
    }

    fn offset(&mut self, at: record::Moment, offset: &Offset<'_>) {
        self.offsets += 1;
        if self.offsets == 1 && self.follower.current_reference().is_none() {
            let reference = match offset.source {
                b"phc" => "the hardware clock",
                b"sys" => "the system clock",
                b"pps" => "pulses per second",
                _ if self.program == Program::Ts2phc => "its source of pulses",
                _ => "",
            };
            self.follower.reference(at, reference);
        }
        let is_ptp4l = self.program == Program::Ptp4l;
        if is_ptp4l {
            self.follower.own_estimate(offset.offset_ns);
        }
        // What phc2sys prints as delay is the window of its reading; a width of 0 is the driver's word for an exact one.
        let window_ns = offset.delay_ns.filter(|delay_ns| !is_ptp4l && *delay_ns > 0);
        let bound = window_ns.map(|window_ns| OffsetBound {
            lower_ns: offset.offset_ns.saturating_sub(window_ns / 2 + 1),
            upper_ns: offset.offset_ns.saturating_add(window_ns / 2 + 1),
        });
        // An unlocked servo states a rate that it does not apply.
        let is_applied = offset.servo.is_some_and(|servo| servo > 0);
        let frequency_ppb =
            offset.frequency_ppb.filter(|_| is_applied).map(|too_fast_ppb| -units::approx_f64_i64(too_fast_ppb));
        let delay_ns = offset.delay_ns.filter(|_| is_ptp4l);
        self.follower.offset(at, Shown { offset_ns: offset.offset_ns, delay_ns, frequency_ppb }, bound);
        if offset.servo == Some(1) {
            self.follower.step(at, offset.offset_ns.saturating_neg());
        }
        if offset.is_holdover {
            self.follower.state(at, SyncState::Holdover, "its source is gone");
            self.servo = None;
        } else if self.servo != offset.servo || self.offsets == 1 {
            self.servo = offset.servo;
            // Ports say more, where the log has them.
            if self.ports.is_empty() {
                let (state, words) = match offset.servo {
                    Some(2 | 3) => (SyncState::Locked, "its servo is locked"),
                    Some(1) => (SyncState::Starting, "its servo sets the clock"),
                    Some(_) => (SyncState::Starting, "its servo is unlocked"),
                    None => (SyncState::Free, "its clock is not steered"),
                };
                self.follower.state(at, state, words);
            }
        }
    }

    fn port(&mut self, at: record::Moment, (number, interface): (u32, &[u8]), state: &[u8], event: &[u8]) {
        // Port 0 are the sockets for questions.
        if number == 0 {
            return;
        }
        let place = self.ports.iter().position(|port| port.number == number).unwrap_or(self.ports.len());
        if place == MOST_PORTS {
            return;
        }
        if place == self.ports.len() {
            self.ports.push(Port { number, interface: Vec::new(), state: Vec::new() });
        }
        if let Some(port) = self.ports.get_mut(place) {
            port.state = state.to_owned();
            if !interface.is_empty() {
                port.interface = interface.to_owned();
            }
        }
        let any = |wanted: &[&[u8]]| self.ports.iter().any(|port| wanted.contains(&&*port.state));
        let is_known = self.offsets > 0 || self.follower.current_state() == Some(SyncState::Locked);
        // As for a ptp4l that answers.
        let now = if any(&[b"SLAVE"]) {
            SyncState::Locked
        } else if any(&[b"UNCALIBRATED"]) {
            SyncState::Starting
        } else if any(&[b"MASTER", b"GRAND_MASTER"]) {
            SyncState::Reference
        } else if is_known {
            SyncState::Lost
        } else {
            SyncState::Starting
        };
        self.follower.state(at, now, &format!("port {number} {} ({})", shown(state), shown(event)));
    }
}
