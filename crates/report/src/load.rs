//! Converts a record's load to the view.

use analysis::{LoadTurn, load_turns};
use record::{LoadPart, LoadWindow, Record};
use summary::load::{dropped, rate};

use crate::view::{LoadPartView, LoadTurnView, LoadView};

/// The view of a run's load; `None` if there was none, or no more is known of it than its name.
pub(crate) fn view(record: &Record) -> Option<LoadView> {
    let load = &record.manifest().load;
    let description = load.describe();
    if load.parts.is_empty() && description.is_none() {
        return None;
    }
    let started_ns = record.manifest().started.monotonic.as_ns();
    let all = load_turns(record);
    let turns = all.as_ref().map_or(&[][..], |all| &all.turns);
    let sentence =
        summary::load::description(record).unwrap_or_else(|| format!("load {}", load.title().unwrap_or_default()));
    Some(LoadView {
        name: load.name.clone(),
        sentence,
        description,
        share: load.share,
        parts: load.parts.iter().map(part).collect(),
        turns: turns.iter().zip(&load.windows).map(|(one, window)| turn(one, Some(window), started_ns)).collect(),
        between: all.as_ref().map(|all| turn(&all.between, None, started_ns)),
        sentences: all.map(|all| all.sentences).unwrap_or_default(),
    })
}

fn part(part: &LoadPart) -> LoadPartView {
    LoadPartView {
        name: part.name.clone(),
        dropped: dropped(part),
        lacks: part.lacks.clone(),
        cpu_used: part.cpu_used.map(|used| (used * 1e3).round() / 1e3),
        achieved: part.achieved.iter().map(rate).collect(),
    }
}

fn turn(turn: &LoadTurn, window: Option<&LoadWindow>, started_ns: i64) -> LoadTurnView {
    let offset = |at_ns: i64| at_ns.saturating_sub(started_ns).into();
    LoadTurnView {
        name: turn.name.clone(),
        from_offset_ns: window.map(|window| offset(window.start_monotonic_ns)),
        to_offset_ns: window.map(|window| offset(window.end_monotonic_ns)),
        observed_ns: turn.observed_ns.into(),
        samples: turn.samples.into(),
        worst_ns: turn.worst_ns.map(Into::into),
        worst_cpu: turn.worst_cpu,
        beyond: turn.beyond.map(Into::into),
        missed_periods: turn.missed_periods.into(),
    }
}

#[cfg(test)]
mod tests {
    use record::DroppedPart;

    use super::*;

    #[test]
    fn a_load_of_parts_is_shown_with_what_did_not_run() {
        let mut record = samples::run(record::Validity::default());
        record.manifest_mut().load = record::LoadManifest::default();
        assert!(view(&record).is_none(), "no load");
        record.manifest_mut().load.name = "paper".to_owned();
        assert!(view(&record).is_none(), "nothing but its name is known");
        let command = ["stress-ng", "--cpu", "3", "--cpu-load", "25"];
        record.manifest_mut().load.commands = vec![command.map(str::to_owned).to_vec()];
        let seen = view(&record).unwrap();
        assert_eq!(seen.description.as_deref(), Some("stress-ng: 3 CPU workers at 25 %"));
        record.manifest_mut().load.parts = vec![
            LoadPart { name: "memory".to_owned(), cpu_used: Some(0.123_456), ..LoadPart::default() },
            LoadPart {
                name: "network".to_owned(),
                dropped: Some(DroppedPart::Machine { why: "EPERM".to_owned() }),
                ..LoadPart::default()
            },
        ];
        let seen = view(&record).unwrap();
        assert_eq!((seen.parts[0].cpu_used, seen.parts[1].dropped.as_deref()), (Some(0.123), Some("EPERM")));
        assert!(seen.turns.is_empty() && seen.between.is_none());
    }
}
