//! Time services of captured trees: what a tree says of them is found, and what it does not say is unknown.

#![allow(clippy::unwrap_used, reason = "a test stops where something is missing")]

use crate::common::{copy, profile, read, write};
use profile::check::{Severity, check};
use profile::time_program::Steering;

/// The findings about a tree with these settings of its programs, as identities.
fn found(tree: &std::path::Path) -> Vec<(String, Severity)> {
    check(&read(tree).0).into_iter().map(|finding| (finding.id, finding.severity)).collect()
}

#[test]
fn a_chronyd_that_phc2sys_feeds_has_no_rival() {
    let profile = profile("rt-x86-tuned");
    let steering: Vec<(&str, Steering)> = profile
        .services
        .time_programs
        .iter()
        .map(|program| (program.name.as_str(), program.steers_system_clock()))
        .collect();
    assert_eq!(steering, [("chronyd", Steering::Yes), ("phc2sys", Steering::No), ("ptp4l", Steering::No)]);
    assert_eq!(profile.time.discipline.unwrap().tai_less_utc_s, 37);
    assert_eq!(profile.net.phcs[0].ahead_of_system_ns, Some(37_000_000_042));
}

#[test]
fn each_contradiction_in_a_tree_is_found() {
    let before = found(copy("rt-x86-tuned").path());
    for (id, from, to) in [
        ("two-time-services", "ntpshm", "pi"),
        ("clock-steps-while-running", "\"step_limit\": 3", "\"step_limit\": -1"),
        ("software-timestamps-beside-hardware", "\"hardware\"", "\"software\""),
        ("hardware-clock-not-steered", "\"free_running\": false", "\"free_running\": true"),
    ] {
        let tree = copy("rt-x86-tuned");
        let text = std::fs::read_to_string(tree.path().join("punctual/time/programs.json")).unwrap();
        assert!(text.contains(from), "{from}");
        write(tree.path(), "punctual/time/programs.json", &text.replace(from, to));
        let found = found(tree.path());
        assert!(!before.iter().any(|(known, _)| known == id), "{id} is there before");
        assert!(found.contains(&(id.to_owned(), Severity::Warning)), "{id}: {found:?}");
    }
    let tree = copy("rt-x86-tuned");
    write(tree.path(), "punctual/time/discipline.json", "{\"leap\": \"insert\", \"tai_less_utc_s\": 0}");
    let found = found(tree.path());
    for id in ["tai-offset-not-set", "leap-second-ahead"] {
        assert!(found.iter().any(|(known, _)| known == id), "{id}: {found:?}");
    }
}

#[test]
fn a_tree_without_settings_has_programs_whose_settings_are_unknown() {
    let tree = copy("rt-x86-tuned");
    std::fs::remove_dir_all(tree.path().join("punctual/time")).unwrap();
    let (profile, issues) = read(tree.path());
    assert!(profile.services.time_programs.iter().all(|program| program.settings.is_none()));
    assert_eq!(profile.services.time_programs.len(), 3);
    assert_eq!((profile.time.discipline, profile.net.phcs[0].ahead_of_system_ns), (None, None));
    assert!(!issues.iter().any(|issue| issue.source.contains("time")), "{issues:?}");
    let found = found(tree.path());
    assert!(found.contains(&("two-time-services".to_owned(), Severity::Note)), "{found:?}");
}

#[test]
fn damaged_settings_are_an_issue_and_nothing_is_claimed_of_them() {
    let tree = copy("rt-x86-tuned");
    write(tree.path(), "punctual/time/programs.json", "[{\"name\": 7}]");
    write(tree.path(), "punctual/time/ptp0", "soon\n");
    let (profile, issues) = read(tree.path());
    assert!(profile.services.time_programs.iter().all(|program| program.settings.is_none()));
    let sources: Vec<&str> = issues.iter().map(|issue| issue.source.as_str()).collect();
    assert!(
        sources.contains(&"/punctual/time/programs.json") && sources.contains(&"/punctual/time/ptp0"),
        "{sources:?}"
    );
}
