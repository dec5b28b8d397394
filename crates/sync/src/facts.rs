//! What a source states of its time: one table of all statements, with what a change of each one means.
//!
//! What says *which* time is told cuts a run: offsets before and after are of different references, and are never put together.
//! What says *how good* the time is leaves the offsets as they are, and weighs on the run's validity alone.
//! The functions that read a message name every field of it, so that a new field does not compile until it has a line here.

use record::SyncChange;

/// What a statement is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Says {
    /// Which time is told.
    WhichTime,
    /// How good the time is.
    HowGood(Better),
    /// Nothing that makes the time better or worse.
    Preference,
    /// It is followed by other means, which the table names.
    Elsewhere,
}

/// Which of two values is the better one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Better {
    /// The lower one.
    Lower,
    /// The higher one.
    Higher,
}

macro_rules! facts {
    ($($name:ident: $protocol:literal, $field:literal, $says:expr, $effect:literal;)+) => {
        /// A statement of a source about its time.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "the table has the name and the meaning of each")]
        pub enum Fact {
            $($name,)+
        }

        /// Every statement, in the order of the documents.
        pub const FACTS: &[FactInfo] = &[
            $(FactInfo { fact: Fact::$name, protocol: $protocol, field: $field, says: $says, effect: $effect },)+
        ];
    };
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct FactInfo {
    /// The statement.
    pub fact: Fact,
    /// The protocol that has it: "PTP" or "NTP".
    pub protocol: &'static str,
    /// Its name in the protocol.
    pub field: &'static str,
    /// What it is about.
    pub says: Says,
    /// What follows from a change, as a sentence without its full stop.
    pub effect: &'static str,
}

const LOWER: Says = Says::HowGood(Better::Lower);
const HIGHER: Says = Says::HowGood(Better::Higher);

facts! {
    TimeScale: "PTP", "PTP time scale flag", Says::WhichTime, "cuts the run, which is invalid";
    UtcOffset: "PTP", "UTC offset", Says::WhichTime, "cuts the run, which is invalid unless a leap second explains the change";
    UtcOffsetValid: "PTP", "UTC offset valid flag", Says::WhichTime, "cuts the run, which is invalid";
    TimeBase: "PTP", "grand master time base indicator", Says::WhichTime, "cuts the run, which is invalid";
    Leap61: "PTP", "leap 61 flag", Says::WhichTime, "cuts the run";
    Leap59: "PTP", "leap 59 flag", Says::WhichTime, "cuts the run";
    Grandmaster: "PTP", "grand master identity", Says::Elsewhere, "cuts the run, which is invalid: another reference";
    Parent: "PTP", "parent port identity", Says::Elsewhere, "cuts the run, which is invalid: another reference";
    ClockClass: "PTP", "clock class", LOWER, "a grand master that loses its primary reference (6 or 13), or states holdover, is in holdover: invalid; otherwise a worse one degrades the run";
    ClockAccuracy: "PTP", "clock accuracy", LOWER, "a worse one degrades the run";
    ClockVariance: "PTP", "offset scaled log variance", LOWER, "a worse one degrades the run";
    StepsRemoved: "PTP", "steps removed", LOWER, "more of them degrade the run";
    TimeTraceable: "PTP", "time traceable flag", HIGHER, "its loss degrades the run";
    FrequencyTraceable: "PTP", "frequency traceable flag", HIGHER, "its loss degrades the run";
    TimeSource: "PTP", "time source", LOWER, "a worse one degrades the run";
    Priority1: "PTP", "priority 1", Says::Preference, "is an event";
    Priority2: "PTP", "priority 2", Says::Preference, "is an event";
    PortState: "PTP", "port state", Says::Elsewhere, "is the state of the source: one that loses its reference makes the run invalid";
    Server: "NTP", "reference id and address", Says::Elsewhere, "cuts the run, which is invalid: another reference";
    NtpLeap: "NTP", "leap status", Says::WhichTime, "cuts the run; not synchronized is a lost source, which makes the run invalid";
    UpstreamReference: "NTP", "reference id of the server", Says::Preference, "is an event";
    Stratum: "NTP", "stratum", LOWER, "a higher one degrades the run";
    RootDelay: "NTP", "root delay", Says::Elsewhere, "is a part of the hard bound";
    RootDispersion: "NTP", "root dispersion", Says::Elsewhere, "is a part of the hard bound";
    LastUpdate: "NTP", "time of the last update", Says::Elsewhere, "makes the hard bound grow; a server that did not answer eight times in a row is holdover, which makes the run invalid";
}

impl Fact {
    /// Its line in the table.
    ///
    /// # Panics
    /// Never: one macro generates both the statements and the table.
    #[must_use]
    pub fn info(self) -> &'static FactInfo {
        FACTS.iter().find(|info| info.fact == self).expect("every statement has a line")
    }

    fn words(self, value: i64) -> String {
        let flag = |set: &str, unset: &str| if value == 0 { unset } else { set }.to_owned();
        match self {
            Self::TimeScale => flag("PTP (TAI)", "arbitrary"),
            Self::UtcOffset => format!("{value} s"),
            Self::UtcOffsetValid | Self::Leap61 | Self::Leap59 | Self::TimeTraceable | Self::FrequencyTraceable => {
                flag("set", "not set")
            }
            Self::TimeSource => {
                let name = u8::try_from(value).ok().and_then(time_source_name);
                name.map_or_else(|| format!("{value:#04x}"), str::to_owned)
            }
            Self::ClockAccuracy | Self::ClockVariance => format!("{value:#04x}"),
            Self::UpstreamReference => format!("{value:08x}"),
            Self::NtpLeap => match value {
                1 => "a second is inserted",
                2 => "a second is left out",
                _ => "no leap second",
            }
            .to_owned(),
            _ => value.to_string(),
        }
    }
}

/// A statement with its value; flags are 0 or 1.
pub type Statement = (Fact, i64);

/// A statement that is another one than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What kind of event it is.
    pub what: SyncChange,
    /// Whether another time is told from now on.
    pub cuts: bool,
    /// Before and after, in words.
    pub words: String,
}

/// What a source stated last.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    known: Vec<Statement>,
}

impl Facts {
    /// The value that was stated last; `None` if there was none.
    #[must_use]
    pub fn value(&self, fact: Fact) -> Option<i64> {
        self.known.iter().find(|(known, _)| *known == fact).map(|(_, value)| *value)
    }

    /// Takes a statement. The first one of its kind is a change only where it announces a leap second.
    pub fn take(&mut self, (fact, value): Statement) -> Option<Change> {
        let before = match self.known.iter_mut().find(|(known, _)| *known == fact) {
            Some((_, held)) => Some(std::mem::replace(held, value)),
            None => {
                self.known.push((fact, value));
                None
            }
        };
        let info = fact.info();
        let is_leap = matches!(fact, Fact::Leap61 | Fact::Leap59 | Fact::NtpLeap);
        let class = |value| if fact == Fact::ClockClass { class_meaning(value) } else { ClassMeaning::Neither };
        if class(value) == ClassMeaning::Holdover && before.is_none() {
            let words = format!("{}: {value} from the start", info.field);
            return Some(Change { what: SyncChange::Holdover, cuts: false, words });
        }
        let Some(before) = before else {
            let words = || format!("{}: {}", info.field, fact.words(value));
            return (is_leap && value != 0).then(|| Change { what: SyncChange::Leap, cuts: false, words: words() });
        };
        if before == value {
            return None;
        }
        // A leap second that was announced changes the difference of TAI and UTC, and nothing else.
        let announced = i64::from(self.value(Fact::Leap61) == Some(1)) - i64::from(self.value(Fact::Leap59) == Some(1));
        let is_leap = is_leap || fact == Fact::UtcOffset && announced != 0 && value - before == announced;
        let loses_reference = match class(value) {
            ClassMeaning::Primary => false,
            // 7 to 52 is holdover that goes on, and worse.
            ClassMeaning::Holdover => true,
            ClassMeaning::Neither => class(before) == ClassMeaning::Primary,
        };
        let (what, cuts) = match info.says {
            Says::HowGood(_) if loses_reference => (SyncChange::Holdover, false),
            Says::WhichTime if is_leap => (SyncChange::Leap, true),
            Says::WhichTime => (SyncChange::TimeScale, true),
            Says::HowGood(better) if (better == Better::Lower) == (before < value) => (SyncChange::Worse, false),
            Says::HowGood(_) | Says::Preference => (SyncChange::Quality, false),
            Says::Elsewhere => return None,
        };
        Some(Change { what, cuts, words: format!("{}: {} to {}", info.field, fact.words(before), fact.words(value)) })
    }
}

/// The name of a time source (IEEE 1588-2019, table 6); none for numbers of profiles and reserved ones.
#[must_use]
pub const fn time_source_name(number: u8) -> Option<&'static str> {
    Some(match number {
        0x10 => "ATOMIC_CLOCK",
        0x20 => "GNSS",
        0x30 => "TERRESTRIAL_RADIO",
        0x39 => "SERIAL_TIME_CODE",
        0x40 => "PTP",
        0x50 => "NTP",
        0x60 => "HAND_SET",
        0x90 => "OTHER",
        0xa0 => "INTERNAL_OSCILLATOR",
        _ => return None,
    })
}

/// What the class of a grand master's clock says of the reference of that clock (IEEE 1588-2019, table 4; ITU-T G.8275.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClassMeaning {
    /// It follows a primary reference.
    Primary,
    /// It followed one, and runs on by what it learned or worse.
    Holdover,
    /// It claims neither.
    Neither,
}

/// What a clock class says.
#[must_use]
pub const fn class_meaning(class: i64) -> ClassMeaning {
    match class {
        6 | 13 => ClassMeaning::Primary,
        7 | 14 | 52 | 58 | 135 | 140 | 150 | 160 | 187 | 193 => ClassMeaning::Holdover,
        _ => ClassMeaning::Neither,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(before: Statement, now: i64) -> Option<(SyncChange, bool)> {
        let mut facts = Facts::default();
        facts.take(before);
        facts.take((before.0, now)).map(|change| (change.what, change.cuts))
    }

    #[test]
    fn every_statement_that_is_not_followed_elsewhere_is_an_event_when_it_changes() {
        for info in FACTS {
            let change = changed((info.fact, 0), 1);
            match info.says {
                Says::Elsewhere => assert_eq!(change, None, "{}", info.field),
                Says::WhichTime => assert!(change.is_some_and(|(_, cuts)| cuts), "{}", info.field),
                Says::HowGood(_) | Says::Preference => {
                    assert!(change.is_some_and(|(_, cuts)| !cuts), "{}", info.field);
                }
            }
        }
    }

    #[test]
    fn a_class_says_whether_the_grand_master_lost_its_reference() {
        let class = |before, now| changed((Fact::ClockClass, before), now).map(|(what, _)| what);
        for (before, now, what) in [
            (6, 7, SyncChange::Holdover),
            (6, 248, SyncChange::Holdover),
            (7, 52, SyncChange::Holdover),
            (13, 14, SyncChange::Holdover),
            (7, 6, SyncChange::Quality),
            (248, 6, SyncChange::Quality),
            (127, 248, SyncChange::Worse),
        ] {
            assert_eq!(class(before, now), Some(what), "{before} to {now}");
        }
        assert_eq!(class(6, 6), None);
        let mut facts = Facts::default();
        let claimed =
            [(Fact::ClockClass, 6), (Fact::ClockAccuracy, 0x21), (Fact::ClockVariance, 0x4e5d), (Fact::Priority1, 128)];
        let first: Vec<_> = claimed.into_iter().filter_map(|one| facts.take(one)).collect();
        assert_eq!(first, [], "what is seen first is no change");
        assert_eq!(Facts::default().take((Fact::ClockClass, 7)).unwrap().what, SyncChange::Holdover);
    }

    #[test]
    fn an_announced_leap_second_changes_the_utc_offset_and_any_other_change_is_another_time() {
        for (announced, before, now, what) in [
            ((1, 0), 37, 38, SyncChange::Leap),
            ((0, 1), 37, 36, SyncChange::Leap),
            ((0, 0), 37, 38, SyncChange::TimeScale),
            ((1, 0), 37, 39, SyncChange::TimeScale),
            ((1, 0), 37, 0, SyncChange::TimeScale),
        ] {
            let mut facts = Facts::default();
            for statement in [(Fact::Leap61, announced.0), (Fact::Leap59, announced.1), (Fact::UtcOffset, before)] {
                facts.take(statement);
            }
            let change = facts.take((Fact::UtcOffset, now)).unwrap();
            assert_eq!((change.what, change.cuts), (what, true), "{announced:?} {before} {now}");
        }
    }

    /// The document has the table that the program follows.
    #[test]
    fn the_document_has_every_statement_with_what_follows() {
        let line = |info: &FactInfo| format!("| {} | {} | {} |", info.protocol, info.field, info.effect);
        let table: Vec<String> = FACTS.iter().map(line).collect();
        let table = table.join("\n");
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sync.md");
        let text = std::fs::read_to_string(path).unwrap();
        let (start, end) =
            ("| protocol | statement | a change |\n|---|---|---|\n", "\n\n<!-- end of the statements -->");
        let to = text.find(end).expect("docs/sync.md has the end of the table");
        let from = text.find(start).expect("docs/sync.md has the head of the table") + start.len();
        if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
            std::fs::write(path, format!("{}{table}{}", &text[..from], &text[to..])).unwrap();
        } else {
            assert_eq!(&text[from..to], table, "PUNCTUAL_UPDATE=1 cargo test -p punctual-sync renews it");
        }
    }
}
