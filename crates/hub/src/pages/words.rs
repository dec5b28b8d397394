//! What pages say of states, times and reasons.

use std::fmt;

use farm::monitor::{GapReason, NOT_SYNCHRONIZED, SYSTEM_CLOCK, SourceInterval, UNKNOWN};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use store::{GapWhy, NodeState};
use units::format;

use super::html::Text;

/// How a state looks: never by its color alone, it has a word and a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// Its word, in the URL and in documents too.
    pub(crate) word: &'static str,
    /// Its sign.
    pub(crate) sign: &'static str,
    /// Its class in the style sheet.
    pub(crate) class: &'static str,
}

/// How a state looks.
pub(crate) const fn look(state: &NodeState) -> Look {
    let (word, sign, class) = match state {
        NodeState::Monitoring => ("monitoring", "\u{25cf}", "good"),
        NodeState::Silent { .. } => ("silent", "?", "bad"),
        NodeState::Behind { .. } => ("behind", "\u{2190}", "bad"),
        NodeState::Stopped { .. } => ("stopped", "\u{25a0}", "rest"),
        NodeState::NotMonitored { .. } => ("not monitored", "\u{25cb}", "bad"),
        NodeState::NoPriority => ("no real-time priority", "\u{2193}", "bad"),
        NodeState::Invalid { .. } => ("invalid", "\u{00d7}", "bad"),
        NodeState::Waiting => ("waiting", "\u{2026}", "rest"),
        NodeState::Retired => ("retired", "\u{2013}", "rest"),
    };
    Look { word, sign, class }
}

/// What is to be said of a state beyond its word.
pub(crate) fn detail(state: &NodeState) -> String {
    match state {
        NodeState::Monitoring => String::new(),
        NodeState::Silent { since_wall_ns } => format!("nothing has come since {}", zoned(*since_wall_ns)),
        NodeState::Behind { measured_until } => {
            format!("its latest interval ended at {}: it catches up, or a clock is wrong", zoned(measured_until.utc_ns),)
        }
        NodeState::Stopped { why, at } => match at {
            Some(at) => format!("{}, {}", gap(why), zoned(at.utc_ns)),
            None => gap(why).to_owned(),
        },
        NodeState::NotMonitored { why } => gap(why).to_owned(),
        NodeState::NoPriority => "the kernel refused the priority: see 'punctual check' on the node".to_owned(),
        NodeState::Invalid { reasons } => reasons.join(", "),
        NodeState::Waiting => "enrolled, and nothing was measured yet".to_owned(),
        NodeState::Retired => "nothing is expected of it".to_owned(),
    }
}

/// Why nothing was monitored, in words.
pub(crate) fn gap(why: &GapReason) -> &str {
    match why {
        GapReason::Killed => "the agent was killed, or the power failed",
        GapReason::Stopped => "the agent was stopped",
        GapReason::Suspended => "the machine was suspended",
        GapReason::Measuring => "a measurement had the CPUs",
        GapReason::NoPriority => "the priority was refused",
        GapReason::Other(text) => text,
    }
}

/// The same with what nobody has said.
pub(crate) fn gap_why(why: &GapWhy) -> &str {
    match why {
        GapWhy::Said(why) => gap(why),
        GapWhy::NoWord => "off, or stopped without a word: the next that is known is of a later boot",
        GapWhy::Unknown => "nothing is known of this time",
    }
}

/// How a source of time is, in words: "synchronized, bound 3 ms".
pub(crate) fn source_state(source: &SourceInterval) -> String {
    let mut words = if source.state.is_empty() { UNKNOWN.to_owned() } else { source.state.clone() };
    match source.bound_ns {
        Some(bound_ns) => words.push_str(&format!(", bound {}", format::latency(bound_ns))),
        None => words.push_str(", no bound"),
    }
    if source.largest_step_ns != 0 {
        words.push_str(&format!(", set by {}", format::span(source.largest_step_ns)));
    }
    words
}

/// What is wrong with the system clock of a node, where something is known to be: what is unknown is not.
pub(crate) fn clock_is_wrong(sources: &[SourceInterval]) -> Option<String> {
    let clock = sources.iter().find(|source| source.source == SYSTEM_CLOCK)?;
    match (clock.state.as_str(), clock.largest_step_ns) {
        (NOT_SYNCHRONIZED, 0) => Some("its clock is not synchronized".to_owned()),
        (NOT_SYNCHRONIZED, by_ns) => {
            Some(format!("its clock is not synchronized, and was set by {}", format::span(by_ns)))
        }
        (_, 0) => None,
        (_, by_ns) => Some(format!("its clock was set by {}", format::span(by_ns))),
    }
}

/// A moment in the hub's zone, which the page names: "2026-11-28 13:05:00".
pub(crate) fn local(utc_ns: i64) -> String {
    at(utc_ns, TimeZone::system()).unwrap_or_else(|| format!("{utc_ns} ns since 1970"))
}

/// A moment with the name of the hub's zone, where it may stand alone: "2026-11-28 13:05:00 CET".
pub(crate) fn zoned(utc_ns: i64) -> String {
    format!("{} {}", local(utc_ns), zone_at(utc_ns))
}

/// What the hub's zone is called at a moment: "CET", "UTC".
pub(crate) fn zone_at(utc_ns: i64) -> String {
    let moment = Timestamp::from_nanosecond(i128::from(utc_ns)).unwrap_or(Timestamp::UNIX_EPOCH);
    moment.to_zoned(TimeZone::system()).strftime("%Z").to_string()
}

fn at(utc_ns: i64, zone: TimeZone) -> Option<String> {
    let moment = Timestamp::from_nanosecond(i128::from(utc_ns)).ok()?;
    Some(moment.to_zoned(zone).strftime("%Y-%m-%d %H:%M:%S").to_string())
}

/// A moment as an element: in the hub's zone, and in UTC on hover.
pub(super) struct Moment(pub i64);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let utc = at(self.0, TimeZone::UTC).unwrap_or_default();
        let machine = utc.replacen(' ', "T", 1);
        write!(f, "<time datetime=\"{machine}Z\" title=\"{utc} UTC\">{}</time>", Text(&local(self.0)))
    }
}

/// In which zone a page's times are, as HTML.
pub(super) fn zone_note() -> String {
    let now = zone_at(crate::clock::now_wall_ns());
    format!(
        "<p class=\"small\">Times are in the hub's zone, {} now; each shows its time in UTC on hover.</p>\n",
        Text(&now)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_a_word_and_a_sign_of_its_own_and_one_looks_good() {
        let states = [
            NodeState::Monitoring,
            NodeState::Silent { since_wall_ns: 0 },
            NodeState::Behind { measured_until: crate::fleet::tests::placed(0) },
            NodeState::Stopped { why: GapReason::Stopped, at: None },
            NodeState::NotMonitored { why: GapReason::Measuring },
            NodeState::NoPriority,
            NodeState::Invalid { reasons: vec!["throttled".to_owned()] },
            NodeState::Waiting,
            NodeState::Retired,
        ];
        let looks: Vec<Look> = states.iter().map(look).collect();
        let words: std::collections::BTreeSet<_> = looks.iter().map(|look| look.word).collect();
        let signs: std::collections::BTreeSet<_> = looks.iter().map(|look| look.sign).collect();
        assert_eq!((words.len(), signs.len()), (states.len(), states.len()));
        assert_eq!(looks.iter().filter(|look| look.class == "good").count(), 1);
        // Each of the others says why.
        assert!(states[1..].iter().all(|state| !detail(state).is_empty()));
    }

    #[test]
    fn a_clock_of_which_nothing_is_known_is_not_called_wrong() {
        let of = |state: &str, largest_step_ns| SourceInterval {
            source: SYSTEM_CLOCK.to_owned(),
            state: state.to_owned(),
            largest_step_ns,
            ..SourceInterval::default()
        };
        let wrong = |state, step_ns| clock_is_wrong(&[of(state, step_ns)]);
        assert_eq!(clock_is_wrong(&[]), None);
        assert_eq!((wrong(UNKNOWN, 0), wrong("synchronized", 0), wrong("of a newer agent", 0)), (None, None, None));
        assert_eq!(wrong(NOT_SYNCHRONIZED, 0).unwrap(), "its clock is not synchronized");
        assert!(wrong("synchronized", -7_000_000).unwrap().contains("set by -7 ms"));
        // Another source that is lost says nothing of the system clock.
        assert_eq!(clock_is_wrong(&[SourceInterval { source: "ptp4l".to_owned(), ..of(NOT_SYNCHRONIZED, 0) }]), None);
    }

    #[test]
    fn a_moment_has_its_time_in_utc_and_an_impossible_one_its_number() {
        let shown = Moment(1_795_000_000_000_000_000).to_string();
        assert!(shown.contains("datetime=\"2026-11-18T") && shown.contains("UTC\""), "{shown}");
        assert!(!local(i64::MAX).is_empty() && !local(i64::MIN).is_empty());
    }
}
