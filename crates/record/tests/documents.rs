//! Checks that the documents generated from this crate are up to date.

#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use record::{Figure, KINDS, Kind, REASONS, Record, Sampling, SeriesDetail, Sign, Spoils, Unobservable, ValidityState};

/// Compares a committed document with the generated one; `PUNCTUAL_UPDATE=1` writes it.
fn check(path: &str, made: &str) {
    let file = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, made).unwrap();
    }
    let committed = fs::read_to_string(&file).unwrap_or_default();
    assert!(committed == made, "{path} is out of date: run PUNCTUAL_UPDATE=1 cargo test -p punctual-record");
}

#[test]
fn the_json_schema_is_published() {
    check("docs/schema/record-2.json", &format!("{:#}\n", Record::json_schema()));
}

#[test]
fn the_schema_of_requests_is_published() {
    check("docs/schema/request-1.json", &format!("{:#}\n", record::Request::json_schema()));
}

#[test]
fn the_schema_of_requests_with_their_loads_is_published() {
    check("docs/schema/run-request-1.json", &format!("{:#}\n", record::RunRequest::json_schema()));
}

#[test]
fn the_schema_of_events_is_published() {
    check("docs/schema/run-event-1.json", &format!("{:#}\n", record::RunEvent::json_schema()));
}

#[test]
fn the_table_of_kinds_is_published() {
    let mut text = String::from(
        "# Kinds of measurement\n\n\
         The properties of each kind of measurement.\n\
         This page is generated from the table in `crates/record/src/kind/table.rs`; the points of latencies are also in \
         [the glossary](glossary.md).\n",
    );
    for kind in KINDS {
        text.push_str(&section(kind));
    }
    check("docs/measurements.md", &text);
}

fn section(kind: &Kind) -> String {
    let latency = |name: Option<&str>, none: &str| name.map_or_else(|| none.to_owned(), |name| format!("`{name}`"));
    let list = |names: &[&str]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let sampling = match kind.sampling {
        Sampling::Schedules => "at each schedule; schedules that a late wake-up skips are counted as missed",
        Sampling::Disturbances => "whenever something took time; a run without samples means that nothing did",
        Sampling::Program => "whenever the followed program acts",
        Sampling::Comparisons => "whenever a time service or this program compares the clocks",
        Sampling::Edges => "whenever somebody else makes an edge",
        Sampling::Packets => "at each packet that arrives; one that does not is counted as lost",
        Sampling::Repetitions => "one after the other, until the requested number is reached",
    };
    let mut text = format!(
        "\n## `{}`\n\n{}\n\n| | |\n|---|---|\n| one sample is called | {} |\n| it is taken | {sampling} |\n\
         | a deadline applies to | {} |\n| runs are compared by | {} |\n| worst cases are predicted for | {} |\n\n\
         | latency | from | to | can be below zero |\n|---|---|---|---|\n",
        kind.name,
        kind.about.trim(),
        kind.sample,
        if kind.judged.is_empty() { "nothing: the kind takes no deadline".to_owned() } else { list(kind.judged) },
        latency(kind.compared, "nothing: they are shown side by side"),
        if kind.predicted.is_empty() { "nothing".to_owned() } else { list(kind.predicted) },
    );
    for latency in kind.latencies {
        let negative = match latency.sign {
            Sign::NotNegative => "no",
            Sign::NegativeIsEarly => "yes: it was early",
            Sign::Magnitude => "yes, and it is as bad as above zero",
        };
        let _ = writeln!(text, "| `{}` | {} | {} | {negative} |", latency.name, latency.from, latency.to);
    }
    text
}

#[test]
fn the_viewer_knows_the_same_kinds() {
    let mut text = String::from(
        "// The kinds of measurement: generated from the table in crates/record/src/kind/table.rs; do not edit by hand.\n\n\
         /** The properties of a kind that the viewer needs. */\n\
         export interface Kind {\n\
         \x20\x20/** What it measures. */\n\
         \x20\x20about: string;\n\
         \x20\x20/** What several samples are called. */\n\
         \x20\x20samples: string;\n\
         \x20\x20/** How its samples are drawn. */\n\
         \x20\x20figure: \"wakeups\" | \"gaps\" | \"costs\" | \"offsets\" | \"delays\" | \"orders\";\n\
         \x20\x20/** Whether rates are per observed time instead of per number of schedules. */\n\
         \x20\x20countsByTime: boolean;\n\
         \x20\x20/** Whether its threads are those of a user's own program. */\n\
         \x20\x20isOfProgram: boolean;\n\
         \x20\x20/** The latencies whose worst cases are predicted. */\n\
         \x20\x20predicted: readonly string[];\n\
         }\n\n\
         export const KINDS: Readonly<Record<string, Kind>> = {\n",
    );
    for kind in KINDS {
        let figure = match kind.figure {
            Figure::Wakeups => "wakeups",
            Figure::Gaps => "gaps",
            Figure::Costs => "costs",
            Figure::Offsets => "offsets",
            Figure::Delays => "delays",
            Figure::Orders => "orders",
        };
        let counts_by_time = kind.sampling.counts_by_time();
        let _ = writeln!(
            text,
            "  {}: {{\n    about: {:?}, samples: {:?}, figure: {figure:?}, countsByTime: {counts_by_time},\n    \
             isOfProgram: {}, predicted: {:?},\n  }},",
            kind.name,
            kind.about.trim().trim_end_matches('.'),
            kind.samples,
            kind.sampling == Sampling::Program,
            kind.predicted
        );
    }
    text.push_str("};\n");
    check("web/src/generated/kinds.ts", &text);
}

#[test]
fn the_table_of_validity_is_published() {
    let mut text = String::from(
        "# Validity\n\n\
         Each run ends `valid`, `degraded` or `invalid`, always with its reasons.\n\
         This page is generated from the table in `crates/record/src/validity.rs`.\n\n\
         A reason marked † is about the time in which it happened. Where a run says when that was (the kinds that do: `wakeup`, `noise`, `event`, `response` and `answer`), the \
         intervals of that time are kept apart, with their figures and their reasons; the numbers and the verdict are those of the \
         others (but for what a witness of answers says, which is of all of the run), and the run is `intervals-spoiled`. Where less \
         than half of the run is left it is `most-intervals-spoiled`. Every \
         other reason is about the whole run.\n",
    );
    for (state, what) in [
        (ValidityState::Invalid, "the run did not measure what was requested; exit 3, which outranks a broken limit"),
        (ValidityState::Degraded, "the numbers are usable, with the stated caveats"),
    ] {
        let _ =
            write!(text, "\n## {}: {what}\n\n| reason | what happened | what to do |\n|---|---|---|\n", state.word());
        for info in REASONS.iter().filter(|info| info.state == state) {
            let code = serde_json::to_value(info.code).unwrap();
            let meaning = info.meaning.trim().replace('|', "\\|");
            let remedy = info.remedy.replace('|', "\\|");
            let mark = if info.spoils == Spoils::Interval { " †" } else { "" };
            let _ = writeln!(text, "| `{}`{mark} | {meaning} | {remedy} |", code.as_str().unwrap());
        }
    }
    text.push_str(
        "\n## Not observable: disturbances that some machines have no means to observe\n\n\
         A well-tuned machine can be `valid` without observing these. Its record lists them under `not_observable`, so that \
         \"not observed\" is not mistaken for \"did not happen\".\n\
         What could be observed with a permission, a module or a kernel option is `evidence-missing` instead, and degrades \
         the run.\n\n\
         | what | where it cannot be observed | where it can |\n|---|---|---|\n",
    );
    for (what, cannot, can) in Unobservable::ALL {
        let code = serde_json::to_value(what).unwrap();
        let _ = writeln!(text, "| `{}` | {cannot} | {can} |", code.as_str().unwrap());
    }
    text.push_str(&record::least_basis_markdown());
    check("docs/validity.md", &text);
}

#[test]
fn every_schema_version_stays_readable() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/records");
    let mut seen = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let record = Record::from_json(&fs::read_to_string(&path).unwrap()).unwrap();
        assert!(record.samples() > 0, "{}", path.display());
        seen += 1;
    }
    assert!(seen > 0, "a fixture of each version belongs here");
}

#[test]
fn a_record_survives_a_round_trip_and_its_fields_are_in_the_schema() {
    let text = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/records/wakeup.json")).unwrap();
    let record = Record::from_json(&text).unwrap();
    assert_eq!(Record::from_json(&record.to_json()).unwrap(), record);
    let schema = Record::json_schema();
    let known = schema["properties"].as_object().unwrap();
    let written: serde_json::Value = serde_json::from_str(&record.to_json()).unwrap();
    for field in written.as_object().unwrap().keys() {
        assert!(known.contains_key(field), "{field} is not in the schema");
    }
}

#[test]
fn floating_point_numbers_survive_a_round_trip() {
    let text = fs::read_to_string(PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/records/wakeup.json")).unwrap();
    let mut record = Record::from_json(&text).unwrap();
    for fraction in [0.1 + 0.2, 9.127_496_842_110_455e110, 3.597_847_523_160_892e-242] {
        record.series[0].detail = SeriesDetail::Readings { block_mean_median_ns: fraction };
        assert_eq!(Record::from_json(&record.to_json()).unwrap(), record);
    }
}

#[test]
fn files_that_are_not_records_are_refused_with_the_reason() {
    let refused = |text: &str, part: &str| {
        let error = Record::from_json(text).unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    };
    refused("", "not a record");
    refused("{}", "not a record");
    refused(r#"{"schema":"other","version":1}"#, "'other'");
    refused(r#"{"schema":"punctual/record","version":3}"#, "use a newer punctual");
    refused(r#"{"schema":"punctual/record","version":1}"#, "no release has written");
}
