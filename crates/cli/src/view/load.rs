//! What a load did on a terminal: which of its parts made it late, where they took turns.

use record::Record;
use summary::load::LoadTurnRow;
use units::format;

use crate::view::result::latency_cell;
use terminal::table::Table;
use terminal::wrap;

/// `under load 'hard'`, for a heading; `None` without a load.
pub(crate) fn under(record: &Record) -> Option<String> {
    record.manifest().load.title().map(|title| format!("under load {title}"))
}

/// What the load consisted of, where the heading does not say it already, and how much CPU time it used; empty without one.
pub(crate) fn description(record: &Record) -> String {
    let line = summary::load::description(record);
    line.map_or_else(String::new, |line| wrap::paragraph(&line, "  ", wrap::width()))
}

/// The turns of the load's parts, and what is to be concluded of them; empty where they took none.
pub(crate) fn turns(record: &Record) -> String {
    let Some(load) = summary::load::summary(record).filter(|load| !load.turns.is_empty()) else { return String::new() };
    let mut table = Table::new(&["load", "for", "samples", "max", "CPU", "beyond", "missed"]);
    let row = |turn: &LoadTurnRow| {
        vec![
            turn.name.clone(),
            format::span(turn.observed_ns),
            format::count(turn.samples),
            latency_cell(turn.worst_ns),
            turn.worst_cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string()),
            turn.beyond.map_or_else(|| "-".to_owned(), format::count),
            format::count(turn.missed_periods),
        ]
    };
    load.turns.iter().for_each(|turn| table.row(row(turn)));
    let mut text = format!("\n  by the part of the load that ran:\n{}", table.render());
    for sentence in &load.sentences {
        text.push_str(&wrap::paragraph(sentence, "  ", wrap::width()));
    }
    text
}

#[cfg(test)]
mod tests {
    use record::{AchievedLoad, LoadManifest, Record};

    use super::*;

    #[test]
    fn what_a_load_used_is_stated_also_of_the_users_own_command() {
        let described = |name: &str, commands: &[&[&str]], cpu_used: Option<f64>| {
            let mut record = Record::empty(String::new(), record::Measurement::Wakeup, record::Manifest::default());
            let words = |line: &&[&str]| line.iter().map(ToString::to_string).collect();
            record.manifest_mut().load = LoadManifest {
                name: name.to_owned(),
                cpus: "0-1".parse().unwrap(),
                commands: commands.iter().map(words).collect(),
                achieved: cpu_used.map(|cpu_used| AchievedLoad { cpu_used, ..AchievedLoad::default() }),
                ..LoadManifest::default()
            };
            description(&record)
        };
        let own: &[&[&str]] = &[&["sh", "-c", "./mine.sh"]];
        assert_eq!(described("command", own, Some(0.984)), "  load './mine.sh' used 0.98 CPUs, on CPUs 0-1\n");
        assert_eq!(described("command", own, None), "");
        let file = described("busy", &[&["spin", "--fast"]], Some(1.5));
        assert!(file.contains("spin") && file.ends_with("on CPUs 0-1; it used 1.50 CPUs\n"), "{file}");
        assert_eq!(described("none", &[], None), "");
    }
}
