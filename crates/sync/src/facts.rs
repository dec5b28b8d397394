//! What a source states of its time: one table of all statements, with what a change of each one means.
//!
//! What says *which* time is told cuts a run: offsets before and after are of different references, and are never put together.
//! What says *how good* the time is leaves the offsets as they are, and weighs on the run's validity alone.
//! The functions that read a message name every field of it, so that a new field does not compile until it has a line here.

use record::SyncChange;

use crate::capture::ntp::NtpMessage;
use crate::capture::ptp::Announce;
use crate::chrony::log::{Measurement, TrackingUpdate};
use crate::chrony::{LeapStatus, Tracking};
use crate::linuxptp::{ClockQuality, CurrentDataSet, ParentDataSet, TimeProperties, TimeSource, TimeStatus};

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
                let name = u8::try_from(value).ok().and_then(|value| TimeSource(value).name());
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

/// What a ptp4l states of its parent. Identities are followed by name.
#[must_use]
pub fn of_parent(data: &ParentDataSet) -> Vec<Statement> {
    let ParentDataSet {
        // By `Follower::reference`.
        parent_port_identity: _,
        grandmaster_identity: _,
        // linuxptp never measures these.
        parent_stats: _,
        observed_parent_offset_scaled_log_variance: _,
        observed_parent_clock_phase_change_rate: _,
        grandmaster_priority1,
        grandmaster_clock_quality,
        grandmaster_priority2,
    } = *data;
    let mut all = of_quality(grandmaster_clock_quality);
    all.extend([
        (Fact::Priority1, i64::from(grandmaster_priority1)),
        (Fact::Priority2, i64::from(grandmaster_priority2)),
    ]);
    all
}

/// What a clock states of its quality.
#[must_use]
pub fn of_quality(quality: ClockQuality) -> Vec<Statement> {
    let ClockQuality { class, accuracy, offset_scaled_log_variance } = quality;
    vec![
        (Fact::ClockClass, i64::from(class)),
        (Fact::ClockAccuracy, i64::from(accuracy)),
        (Fact::ClockVariance, i64::from(offset_scaled_log_variance)),
    ]
}

/// What a grand master states of its time scale. The UTC offset comes before the flags that announce its change.
#[must_use]
pub fn of_time(data: &TimeProperties) -> Vec<Statement> {
    let TimeProperties {
        current_utc_offset_s,
        leap61,
        leap59,
        current_utc_offset_valid,
        ptp_timescale,
        time_traceable,
        frequency_traceable,
        time_source,
    } = *data;
    vec![
        (Fact::TimeScale, i64::from(ptp_timescale)),
        (Fact::UtcOffset, i64::from(current_utc_offset_s)),
        (Fact::UtcOffsetValid, i64::from(current_utc_offset_valid)),
        (Fact::Leap61, i64::from(leap61)),
        (Fact::Leap59, i64::from(leap59)),
        (Fact::TimeTraceable, i64::from(time_traceable)),
        (Fact::FrequencyTraceable, i64::from(frequency_traceable)),
        (Fact::TimeSource, i64::from(time_source.0)),
    ]
}

/// What a ptp4l states of the way to its grand master.
#[must_use]
pub fn of_current(data: &CurrentDataSet) -> Vec<Statement> {
    // Offset and delay are the measurement itself.
    let CurrentDataSet { steps_removed, offset_from_master: _, mean_path_delay: _ } = *data;
    vec![(Fact::StepsRemoved, i64::from(steps_removed))]
}

/// What a ptp4l states with its last offset.
#[must_use]
pub fn of_status(data: &TimeStatus) -> Vec<Statement> {
    let TimeStatus {
        // The measurement itself.
        master_offset_ns: _,
        ingress_time_ns: _,
        // The rate of the grand master is in the time stamps; what changed last is known by the indicator.
        cumulative_scaled_rate_offset: _,
        scaled_last_gm_phase_change: _,
        last_gm_phase_change: _,
        gm_time_base_indicator,
        // By the states of the ports, and by `Follower::reference`.
        gm_present: _,
        gm_identity: _,
    } = *data;
    vec![(Fact::TimeBase, i64::from(gm_time_base_indicator))]
}

/// What a chronyd states of the clock, where it is synchronized.
#[must_use]
pub fn of_tracking(data: &Tracking) -> Vec<Statement> {
    let Tracking {
        // By `Follower::reference`.
        reference_id: _,
        address: _,
        stratum,
        leap,
        // Parts of the offset and its bound.
        reference_time: _,
        system_offset: _,
        last_offset: _,
        rms_offset: _,
        frequency_ppm: _,
        residual_frequency_ppm: _,
        skew_ppm: _,
        root_delay: _,
        root_dispersion: _,
        last_update_interval: _,
    } = *data;
    vec![(Fact::Stratum, i64::from(stratum)), (Fact::NtpLeap, leap_value(leap))]
}

/// What a line of chronyd's `tracking.log` states.
#[must_use]
pub fn of_tracking_update(data: &TrackingUpdate<'_>) -> Vec<Statement> {
    let TrackingUpdate {
        stratum,
        leap,
        // By `Follower::reference`.
        source: _,
        // Parts of the offset and its bound.
        time: _,
        frequency_ppm: _,
        skew_ppm: _,
        offset_s: _,
        offset_standard_deviation_s: _,
        remaining_correction_s: _,
        root_delay_s: _,
        root_dispersion_s: _,
        max_error_s: _,
        // How many servers agree, beside the one that is followed.
        combined_sources: _,
    } = *data;
    vec![(Fact::Stratum, i64::from(stratum)), (Fact::NtpLeap, leap_value(leap))]
}

/// What a line of chronyd's `measurements.log` states of its server.
#[must_use]
pub fn of_measurement(data: &Measurement<'_>) -> Vec<Statement> {
    let Measurement {
        leap,
        stratum,
        reference_id,
        // The place of its series.
        source: _,
        // The measurement itself.
        time: _,
        tests_passed: _,
        local_poll_log2_s: _,
        remote_poll_log2_s: _,
        poll_score: _,
        offset_s: _,
        peer_delay_s: _,
        peer_dispersion_s: _,
        root_delay_s: _,
        root_dispersion_s: _,
        timestamps: _,
    } = *data;
    let upstream = reference_id.map(|id| (Fact::UpstreamReference, i64::from(id)));
    let fixed = [(Fact::Stratum, i64::from(stratum)), (Fact::NtpLeap, leap_value(leap))];
    upstream.into_iter().chain(fixed).collect()
}

/// The number of a leap status: 0 for none, 1 for an inserted second, 2 for one that is left out.
#[must_use]
pub const fn leap_value(leap: LeapStatus) -> i64 {
    match leap {
        LeapStatus::InsertSecond => 1,
        LeapStatus::DeleteSecond => 2,
        LeapStatus::Normal | LeapStatus::Unsynchronised | LeapStatus::Other(_) => 0,
    }
}

/// What a captured Announce states. Identities are followed by name.
#[must_use]
pub fn of_announce(data: &Announce) -> Vec<Statement> {
    let Announce { grandmaster: _, quality, priority1, priority2, steps_removed, time } = *data;
    let mut all = of_time(&time);
    all.extend(of_quality(quality));
    all.extend([
        (Fact::Priority1, i64::from(priority1)),
        (Fact::Priority2, i64::from(priority2)),
        (Fact::StepsRemoved, i64::from(steps_removed)),
    ]);
    all
}

/// What a captured answer of a synchronized server states.
#[must_use]
pub fn of_ntp(data: &NtpMessage) -> Vec<Statement> {
    let NtpMessage {
        stratum,
        leap: (is_inserted, is_left_out),
        reference_id,
        // Answers of servers that are not synchronized give no offset, and are counted.
        side: _,
        is_synchronized: _,
        // In the bound.
        precision_log2_s: _,
        // Not in the bound: that reaches to the server alone, as the record says.
        root_delay: _,
        root_dispersion: _,
        // The measurement itself.
        origin: _,
        receive: _,
        transmit: _,
    } = *data;
    vec![
        (Fact::Stratum, i64::from(stratum)),
        (Fact::UpstreamReference, i64::from(reference_id)),
        (Fact::NtpLeap, i64::from(is_inserted) + 2 * i64::from(is_left_out)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLAIMED: ParentDataSet = ParentDataSet {
        parent_port_identity: crate::linuxptp::PortIdentity { clock: crate::linuxptp::ClockIdentity([1; 8]), port: 1 },
        parent_stats: false,
        observed_parent_offset_scaled_log_variance: 0,
        observed_parent_clock_phase_change_rate: 0,
        grandmaster_priority1: 128,
        grandmaster_clock_quality: ClockQuality { class: 6, accuracy: 0x21, offset_scaled_log_variance: 0x4e5d },
        grandmaster_priority2: 128,
        grandmaster_identity: crate::linuxptp::ClockIdentity([1; 8]),
    };

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
        let first: Vec<_> = of_parent(&CLAIMED).into_iter().filter_map(|one| facts.take(one)).collect();
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
