//! What is said of the load of a run.

use analysis::{LoadTurn, load_turns};
use record::{DroppedPart, LoadPart, PartRate, Record};
use serde::Serialize;
use units::{format, round_u64};

/// What is said of the load of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadSummary {
    /// The load as a heading names it: `'hard'`, or the user's own command.
    pub title: String,
    /// What it consisted of, where, and how much CPU time it used, as a clause; `None` if the title says all that is known.
    pub description: Option<String>,
    /// The parts of the load.
    pub parts: Vec<LoadPartRow>,
    /// What was sampled while each part ran, and between them; empty if the parts took no turns.
    pub turns: Vec<LoadTurnRow>,
    /// What is to be concluded of the turns.
    pub sentences: Vec<String>,
}

/// A part of a load.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LoadPartRow {
    /// Name of the part.
    pub name: String,
    /// CPUs that it used, in words: "0.83"; `None` if it is not known.
    pub cpus_used: Option<String>,
    /// What it achieved, or why it did not run, and what it lacked.
    pub achieved: String,
}

/// What was sampled while a part of a load ran.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoadTurnRow {
    /// Name of the part.
    pub name: String,
    /// How long it ran (ns).
    pub observed_ns: u64,
    /// Number of samples.
    pub samples: u64,
    /// The worst of them (ns); `None` if there are none.
    pub worst_ns: Option<u64>,
    /// The CPU of that one.
    pub worst_cpu: Option<u32>,
    /// Samples above the deadline; `None` if none was stated.
    pub beyond: Option<u64>,
    /// Schedules that late wake-ups skipped.
    pub missed_periods: u64,
}

/// What is said of the load of a run; `None` without one.
#[must_use]
pub fn summary(record: &Record) -> Option<LoadSummary> {
    let load = &record.manifest().load;
    let title = load.title()?;
    let seen = load_turns(record);
    let turns = seen.iter().flat_map(|seen| seen.turns.iter().chain([&seen.between])).map(turn_row);
    Some(LoadSummary {
        description: description(record),
        parts: load.parts.iter().map(part_row).collect(),
        turns: turns.collect(),
        sentences: seen.as_ref().map(|seen| seen.sentences.clone()).unwrap_or_default(),
        title,
    })
}

/// What the load consisted of, where the title does not say it already, and how much CPU time it used; `None` without that.
#[must_use]
pub fn description(record: &Record) -> Option<String> {
    let load = &record.manifest().load;
    let (title, words) = (load.title()?, load.describe()?);
    let used = load.achieved.as_ref().map(|achieved| format!("used {:.2} CPUs", achieved.cpu_used));
    // A command of the user's own is all that its load consists of.
    match (words.ends_with(&title), used) {
        (true, Some(used)) => Some(format!("load {title} {used}, on CPUs {}", load.cpus)),
        (true, None) => None,
        (false, Some(used)) => Some(format!("load {title}: {words}, on CPUs {}; it {used}", load.cpus)),
        (false, None) => Some(format!("load {title}: {words}, on CPUs {}", load.cpus)),
    }
}

fn part_row(part: &LoadPart) -> LoadPartRow {
    let mut words = match dropped(part) {
        Some(why) => vec![format!("did not run: {why}")],
        None => part.achieved.iter().map(rate).collect(),
    };
    words.extend(part.lacks.iter().map(|lack| format!("without {lack}")));
    LoadPartRow {
        name: part.name.clone(),
        cpus_used: part.cpu_used.map(|used| format!("{used:.2}")),
        achieved: words.join("; "),
    }
}

fn turn_row(turn: &LoadTurn) -> LoadTurnRow {
    LoadTurnRow {
        name: turn.name.clone(),
        observed_ns: turn.observed_ns,
        samples: turn.samples,
        worst_ns: turn.worst_ns,
        worst_cpu: turn.worst_cpu,
        beyond: turn.beyond,
        missed_periods: turn.missed_periods,
    }
}

/// Why a part did not run, in words.
#[must_use]
pub fn dropped(part: &LoadPart) -> Option<String> {
    match part.dropped.as_ref()? {
        DroppedPart::Request => Some("left out on request".to_owned()),
        DroppedPart::Machine { why } => Some(why.clone()),
    }
}

/// A rate in words: `61 493 packets received per second`.
#[must_use]
pub fn rate(rate: &PartRate) -> String {
    let value = round_u64(rate.value);
    match rate.unit.as_str() {
        "bytes/s" => format!("{} read and written per second", format::bytes(value)),
        "operations/s" => format!("{} operations of {} per second", format::count(value), rate.metric),
        _ => format!("{} {} per second", format::count(value), rate.metric),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_described_in_words() {
        let words = |metric: &str, value, unit: &str| {
            rate(&PartRate { metric: metric.to_owned(), value, unit: unit.to_owned() })
        };
        assert_eq!(words("packets received", 12.4, "1/s"), "12 packets received per second");
        assert_eq!(words("udp", 12.6, "operations/s"), "13 operations of udp per second");
        assert!(words("bytes read and written", 2_097_152.0, "bytes/s").starts_with("2.0 MiB"));
    }
}
