//! chronyd's logs `tracking.log`, `statistics.log` and `measurements.log`.
//!
//! Their times are of the wall clock in UTC, to the second: of the clock that chronyd steers. Their values have four digits, so
//! each is known to 0.05 % of itself, and a bound is widened by that.
//!
//! `tracking.log` says of each update how far the system clock was off, with all that was still to be corrected, and how far it
//! can have been off since the update before. The other two are about the clock as chronyd corrects it: a correction that is still
//! being made by slewing is not in them, so their offsets are of no clock that a program can read, and have no bound.

use codecs::chrony::log::{Measurement, Statistics, TrackingUpdate};
use codecs::chrony::{BOUND_TRUSTS, LeapStatus, UtcTime};
use codecs::stated;
use record::{Moment, Place, ReasonCode, SyncChange, SyncService, SyncState};
use sync::bound::OffsetBound;
use sync::facts::Statement;
use sync::follow::{About, Follower, Shown};
use units::ClockId;
use units::format::{count, span};

use super::clocks::Clocks;
use super::source::Imported;
use super::stream::{Lines, StreamReader};
use super::timeline::{LogClock, Timeline};
use super::{ImportFormat, Reader};
use crate::error::ForeignError;

pub(super) const TRACKING: ImportFormat = ImportFormat {
    name: "chrony-tracking",
    what: "chronyd's tracking.log",
    is_distinct: true,
    reader: Reader::Stream {
        recognize: |head| recognize(Kind::Tracking, head),
        begin: || Box::new(ChronyLog::new(Kind::Tracking)),
    },
};

pub(super) const STATISTICS: ImportFormat = ImportFormat {
    name: "chrony-statistics",
    what: "chronyd's statistics.log",
    is_distinct: true,
    reader: Reader::Stream {
        recognize: |head| recognize(Kind::Statistics, head),
        begin: || Box::new(ChronyLog::new(Kind::Statistics)),
    },
};

pub(super) const MEASUREMENTS: ImportFormat = ImportFormat {
    name: "chrony-measurements",
    what: "chronyd's measurements.log",
    is_distinct: true,
    reader: Reader::Stream {
        recognize: |head| recognize(Kind::Measurements, head),
        begin: || Box::new(ChronyLog::new(Kind::Measurements)),
    },
};

/// More servers are not followed: their lines are counted.
const MOST_SOURCES: usize = 64;
/// How much of itself a value with four digits can be off by.
const ROUNDING: f64 = 0.000_5;

const NO_BOUND: &str = "chronyd was never synchronized in this log";
const COOKED: &str = "this log does not say what chronyd still had to correct; tracking.log does";

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Tracking,
    Statistics,
    Measurements,
}

/// Whether a line is one of the log, its heading, or neither.
fn is_of(kind: Kind, line: &str) -> bool {
    let heading = match kind {
        Kind::Tracking => "Freq ppm",
        Kind::Statistics => "Std dev'n",
        Kind::Measurements => "LP RP Score",
    };
    line.trim_start().starts_with("Date (UTC) Time ") && line.contains(heading)
        || match kind {
            Kind::Tracking => matches!(TrackingUpdate::parse(line), Ok(Some(_))),
            Kind::Statistics => matches!(Statistics::parse(line), Ok(Some(_))),
            Kind::Measurements => matches!(Measurement::parse(line), Ok(Some(_))),
        }
}

fn recognize(kind: Kind, head: &[u8]) -> bool {
    let mut lines = Lines::default();
    let mut found = false;
    lines.feed(head, &mut |_, line| found |= !found && is_of(kind, &String::from_utf8_lossy(line)));
    found || is_of(kind, &String::from_utf8_lossy(lines.unfinished()))
}

/// One series of offsets: chronyd itself, or one of its servers.
#[derive(Debug)]
struct Source {
    name: String,
    follower: Follower,
    /// Whether the update before this one was of a synchronized clock.
    was_synchronized: bool,
    has_offsets: bool,
}

#[derive(Debug)]
struct State {
    kind: Kind,
    timeline: Timeline,
    sources: Vec<Source>,
    entries: u64,
    failed_tests: u64,
    too_many: u64,
    /// Lines that are none of the log: how many, the first one's number, and what is wrong with it.
    foreign: Option<(u64, u64, String)>,
    back: Option<(u64, i64)>,
}

#[derive(Debug)]
struct ChronyLog {
    lines: Lines,
    state: State,
}

impl ChronyLog {
    fn new(kind: Kind) -> Self {
        Self {
            lines: Lines::default(),
            state: State {
                kind,
                timeline: Timeline::new(LogClock::Wall),
                sources: Vec::new(),
                entries: 0,
                failed_tests: 0,
                too_many: 0,
                foreign: None,
                back: None,
            },
        }
    }
}

impl StreamReader for ChronyLog {
    fn feed(&mut self, bytes: &[u8]) -> Result<(), ForeignError> {
        let Self { lines, state } = self;
        lines.feed(bytes, &mut |number, line| state.line(number, line));
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<Imported, ForeignError> {
        let Self { lines, state } = *self;
        let mut lacks: Vec<String> = lines.too_long_words().into_iter().collect();
        if !lines.unfinished().trim_ascii().is_empty() {
            lacks.push(format!("the last line ({}), which has no end: it was not read", lines.next_number()));
        }
        state.finish(lacks)
    }
}

/// A number of seconds in ns; `None` if it is out of range.
fn ns(seconds: f64) -> Option<i64> {
    let ns = seconds.abs() * 1e9;
    // Far more than any clock is off, and far below what 64 bits hold.
    (ns < 4e18)
        .then(|| i64::try_from(units::round_u64(ns)).ok())
        .flatten()
        .map(|ns| if seconds < 0.0 { -ns } else { ns })
}

impl State {
    fn line(&mut self, number: u64, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_start_matches('\0');
        let read = match self.kind {
            Kind::Tracking => TrackingUpdate::parse(text).map(|update| {
                update.map(|update| {
                    let at = self.moment(number, update.time);
                    self.update(at, &update);
                })
            }),
            Kind::Statistics => Statistics::parse(text).map(|entry| {
                entry.map(|entry| {
                    let at = self.moment(number, entry.time);
                    let shown = ns(entry.estimated_offset_s).map(|offset_ns| Shown { offset_ns, ..Shown::default() });
                    self.shown(at, entry.source, &[], shown);
                })
            }),
            Kind::Measurements => Measurement::parse(text).map(|entry| {
                entry.map(|entry| {
                    let at = self.moment(number, entry.time);
                    // All ten tests: chronyd itself does not use what failed one.
                    if entry.tests_passed != 0b11_1111_1111 {
                        self.failed_tests += 1;
                        return;
                    }
                    // It states how far the clock is behind.
                    let shown = ns(-entry.offset_s).map(|offset_ns| Shown {
                        offset_ns,
                        delay_ns: ns(entry.peer_delay_s / 2.0),
                        frequency_ppb: None,
                    });
                    self.shown(at, entry.source, &stated::of_measurement(&entry), shown);
                })
            }),
        };
        match read {
            Ok(Some(())) => self.entries += 1,
            Ok(None) => {}
            Err(why) => {
                let (count, ..) = self.foreign.get_or_insert_with(|| (0, number, why.to_string()));
                *count += 1;
            }
        }
    }

    fn moment(&mut self, number: u64, time: UtcTime) -> Moment {
        let log_ns = time.seconds.saturating_mul(1_000_000_000);
        let (at, back) = self.timeline.at(log_ns, || None);
        if let Some(back_ns) = back {
            let (_, most_ns) = self.back.get_or_insert((number, 0));
            *most_ns = (*most_ns).max(back_ns);
            let detail = format!(
                "the log's times go back by {} (line {number}): the clock was set back, or logs were joined",
                span(back_ns)
            );
            for source in &mut self.sources {
                source.follower.cut(at);
                source.was_synchronized = false;
            }
            if let Some(source) = self.sources.first_mut() {
                source.follower.event(at, SyncChange::Source, detail);
            }
        }
        at
    }

    fn source(&mut self, name: &str) -> Option<&mut Source> {
        let place = match self.sources.iter().position(|source| source.name == name) {
            Some(place) => place,
            None if self.sources.len() == MOST_SOURCES => {
                self.too_many += 1;
                return None;
            }
            None => {
                let is_tracking = self.kind == Kind::Tracking;
                let about = About {
                    service: SyncService::Chrony,
                    place: Place::Port { port: name.to_owned(), domain: None },
                    clock: is_tracking.then(|| ClockId::Realtime.into()),
                    trusts: BOUND_TRUSTS.to_owned(),
                    is_judged: true,
                    without_bound: if is_tracking { NO_BOUND } else { COOKED }.to_owned(),
                };
                self.sources.push(Source {
                    name: name.to_owned(),
                    follower: Follower::with_growing_intervals(about, self.timeline.started()),
                    was_synchronized: false,
                    has_offsets: false,
                });
                self.sources.len() - 1
            }
        };
        self.sources.get_mut(place)
    }

    /// A line about one server.
    fn shown(&mut self, at: Moment, name: &str, statements: &[Statement], shown: Option<Shown>) {
        let (Some(source), Some(shown)) = (self.source(name), shown) else { return };
        source.follower.reference(at, &format!("server {name}"));
        source.follower.states(at, statements);
        source.follower.offset(at, shown, None);
    }

    /// A line of `tracking.log`.
    fn update(&mut self, at: Moment, update: &TrackingUpdate<'_>) {
        let Some(source) = self.source("chronyd") else { return };
        let follower = &mut source.follower;
        let is_synchronized = update.leap != LeapStatus::Unsynchronized;
        let state = match (is_synchronized, source.has_offsets) {
            (true, _) => SyncState::Locked,
            (false, true) => SyncState::Lost,
            (false, false) => SyncState::Starting,
        };
        follower.state(at, state, if is_synchronized { "" } else { "chronyd is not synchronized" });
        let was_synchronized = std::mem::replace(&mut source.was_synchronized, is_synchronized);
        if !is_synchronized {
            return;
        }
        follower.reference(at, &format!("server {}", update.source));
        follower.states(at, &stated::of_tracking_update(update));
        // What it estimates, and what was still to be corrected of earlier estimates.
        let Some(offset_ns) = ns(update.offset_s - update.remaining_correction_s) else { return };
        if was_synchronized {
            if let Some(most_ns) = ns(update.max_error_s.abs() * (1.0 + ROUNDING)) {
                let most_ns = most_ns.saturating_add(1);
                follower.bound(at, OffsetBound { lower_ns: most_ns.saturating_neg(), upper_ns: most_ns });
            }
        }
        let rounded_s = (update.offset_s.abs() + update.remaining_correction_s.abs()) * ROUNDING;
        let margin_s =
            (update.root_dispersion_s.abs() + update.root_delay_s.abs() / 2.0) * (1.0 + ROUNDING) + rounded_s;
        let bound = ns(margin_s).map(|margin_ns| margin_ns.saturating_add(2)).map(|margin_ns| OffsetBound {
            lower_ns: offset_ns.saturating_sub(margin_ns),
            upper_ns: offset_ns.saturating_add(margin_ns),
        });
        let shown = Shown {
            offset_ns,
            delay_ns: ns(update.root_delay_s / 2.0),
            // The correction is the negative of how fast the clock would run without it.
            frequency_ppb: Some(-update.frequency_ppm * 1_000.0),
        };
        follower.offset(at, shown, bound);
        source.has_offsets = true;
    }

    fn finish(self, mut lacks: Vec<String>) -> Result<Imported, ForeignError> {
        if self.entries == 0 {
            let why = match self.foreign {
                Some((lines, first, what)) => format!("{} lines, the first of them line {first}: {what}", count(lines)),
                None => "it has headings at most".to_owned(),
            };
            return Err(ForeignError::NoResult(why));
        }
        let (started, ended) = (self.timeline.started(), self.timeline.latest());
        if self.kind != Kind::Tracking {
            lacks.push(
                "what chronyd still had to correct: the offsets are of the clock as chronyd corrects it, and the system clock was off by \
                 that much more (tracking.log has it)"
                    .to_owned(),
            );
        }
        if self.failed_tests > 0 {
            lacks.push(format!(
                "{} measurements that failed a test of chronyd, which does not use them",
                count(self.failed_tests)
            ));
        }
        lacks.push("times finer than a second, and digits of the values after the fourth".to_owned());
        let followed = self.sources.into_iter().map(|source| source.follower.finish(ended)).collect();
        let clocks = Clocks::new((started, ended), followed)
            .without_offsets("chronyd was never synchronized in this log, or no measurement passed its tests");
        let mut imported = Imported::from_clocks("chronyd", clocks);
        lacks.into_iter().for_each(|lack| imported.lacks(lack));
        imported.lacks("chronyd's version and configuration");
        if let Some((lines, first, what)) = self.foreign {
            let detail = format!("{} lines cannot be read, the first is line {first}: {what}", count(lines));
            imported.reason(ReasonCode::SamplesDropped, detail);
        }
        if self.too_many > 0 {
            let detail = format!("{} lines are of servers beyond the first 64", count(self.too_many));
            imported.reason(ReasonCode::SamplesDropped, detail);
        }
        if let Some((line, most_ns)) = self.back {
            let detail = format!(
                "the log's times go back by up to {}, first in line {line}: the clock was set back, or logs were joined",
                span(most_ns)
            );
            imported.reason(ReasonCode::ClockStepped, detail);
        }
        Ok(imported)
    }
}
