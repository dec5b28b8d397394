//! `punctual compare`, the program as built.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::{Path, PathBuf};

use crate::support::synthetic::{self, write};
use crate::support::{code, run, said};
use record::{ReasonCode, Record};

/// A run of thirty intervals about a level.
fn synthetic(folder: &Path, name: &str, level_ns: u64) -> PathBuf {
    let record = synthetic::synthetic(name, 30, 1_000_000_000, 50, |bits| level_ns + bits % 2_000);
    write(folder, name, &record)
}

/// Runs `compare` with these files and words.
fn compared(files: &[&Path], words: &[&str]) -> std::process::Output {
    let files = files.iter().map(|file| file.to_str().unwrap());
    run(&["compare"].into_iter().chain(files).chain(words.iter().copied()).collect::<Vec<_>>())
}

/// Repetitions of a body about `level_ns` with one disturbance an interval of about `worst_ns`.
fn group(folder: &Path, letter: &str, size: u64, level_ns: u64, worst_ns: u64) -> Vec<PathBuf> {
    let run = |at: u64| {
        let name = format!("{letter}{at}");
        let mut record = synthetic::synthetic(&name, 12, 1_000_000_000, 2_000, |bits| level_ns + bits % 2_000);
        let series = &mut record.series[0];
        for (place, interval) in (0_u64..).zip(&mut series.intervals) {
            let worst = worst_ns + worst_ns / 100 * ((place * 7 + at * 13 + level_ns) % 10);
            interval.histogram.record_n(worst, 1);
            series.histogram.record_n(worst, 1);
        }
        write(folder, &name, &record)
    };
    (0..size).map(run).collect()
}

fn compare_groups(a: &[PathBuf], b: &[PathBuf], words: &[&str]) -> std::process::Output {
    let name = |file: &PathBuf| file.to_str().unwrap().to_owned();
    let all = ["compare".to_owned(), "--resamples".to_owned(), "300".to_owned(), "--a".to_owned()].into_iter();
    let all = all.chain(a.iter().map(name)).chain(["--b".to_owned()]).chain(b.iter().map(name));
    let all: Vec<String> = all.chain(words.iter().map(|word| (*word).to_owned())).collect();
    run(&all.iter().map(String::as_str).collect::<Vec<_>>())
}

#[test]
fn a_worst_case_that_is_a_fiftieth_decides_and_the_body_counts_by_its_margin() {
    let folder = tempfile::tempdir().unwrap();
    let generic = group(folder.path(), "g", 8, 5_000, 2_500_000);
    let realtime = group(folder.path(), "r", 8, 5_300, 46_000);
    let output = compare_groups(&generic, &realtime, &["--fail-on", "worse"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(code(&output), 0, "{text}{}", said(&output));
    assert!(text.contains("\nB IS BETTER\n") && text.contains("within the margin of 1.0 us"), "{text}");
    assert!(text.contains("--fail-on worse: HOLDS"), "{text}");
    let exit = |a: &[PathBuf], b: &[PathBuf], words: &[&str]| code(&compare_groups(a, b, words));
    assert_eq!(exit(&realtime, &generic, &["--fail-on", "worse:20us"]), 1);
    assert_eq!(exit(&realtime, &generic, &["--pass-on", "not-worse:20us"]), 1);
    assert_eq!(exit(&generic, &realtime, &["--pass-on", "not-worse:20us"]), 0);
    assert_eq!(exit(&generic, &realtime, &["--fail-on", "worse", "--fail-on", "worse-body"]), 0);
    // A true trade: both numbers, and each question its own answer.
    let slower = group(folder.path(), "s", 8, 12_000, 46_000);
    let output = compare_groups(&generic, &slower, &["--fail-on", "worse"]);
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code(&output), 0, "{text}");
    assert!(text.contains("TRADE B - A: worst case -2") && text.contains("but mean +5.7 us"), "{text}");
    assert_eq!(exit(&generic, &slower, &["--fail-on", "worse", "--fail-on", "worse-body"]), 1);
    assert_eq!(exit(&generic, &slower, &["--fail-on", "worse-body", "--margin", "20us"]), 0);
    assert_eq!(exit(&generic, &slower, &["--fail-on", "worse-body:10us"]), 0);
    // By the rate beyond a deadline: all of A's disturbances are beyond it, and none of B's.
    let output = compare_groups(&generic, &realtime, &["--deadline", "100us", "--fail-on", "worse", "--json"]);
    let document: analysis::compare::Comparison = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((code(&output), document.gates.len()), (0, 1));
    assert_eq!(document.worst.rate.map(|rate| (rate.a_beyond[0], rate.b_beyond[0])), Some((12, 0)));
}

#[test]
fn what_these_runs_cannot_tell_is_no_pass() {
    let folder = tempfile::tempdir().unwrap();
    let a = group(folder.path(), "a", 4, 5_000, 48_000);
    let b = group(folder.path(), "b", 4, 5_000, 344_000);
    let exit = |a: &[PathBuf], b: &[PathBuf], words: &[&str]| code(&compare_groups(a, b, words));
    let output = compare_groups(&a[..1], &b[..1], &["--fail-on", "worse:20us"]);
    let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code(&output), 3, "{text}");
    assert!(text.contains("CANNOT BE TOLD. one run on each side cannot show"), "{text}");
    assert!(text.contains("take 3 repetitions of each. What was seen:"), "{text}");
    assert_eq!(exit(&a, &b, &["--fail-on", "worse:20us"]), 1, "four against four that do not overlap");
    assert_eq!(exit(&a[..2], &b[..2], &["--fail-on", "worse:20us"]), 3);
    assert_eq!(exit(&b[..2], &a[..2], &["--fail-on", "worse:20us"]), 3, "nor do two and two pass");
    assert_eq!(exit(&a, &b[..1], &["--fail-on", "worse"]), 3);
    // What is shown outranks what another question cannot decide.
    assert_eq!(exit(&a, &b, &["--fail-on", "worse", "--fail-on", "worse-body"]), 1);
    assert_eq!(
        exit(&b, &a, &["--fail-on", "worse", "--fail-on", "worse-body"]),
        3,
        "four of each are too few for the body"
    );
    assert_eq!(exit(&a[..1], &b[..1], &[]), 0, "without a question a comparison only reports");
    let mut invalid = Record::from_json(&std::fs::read_to_string(&b[0]).unwrap()).unwrap();
    invalid.validity.add(ReasonCode::RtThrottled, "CPU 0");
    let mut with_invalid = b.clone();
    with_invalid[0] = write(folder.path(), "invalid", &invalid);
    let output = compare_groups(&a, &with_invalid, &["--fail-on", "worse"]);
    assert_eq!(code(&output), 3, "{}", said(&output));
    assert!(String::from_utf8_lossy(&output.stdout).contains("\nINVALID\n"));
}

#[test]
fn the_document_is_json_and_the_same_for_the_same_seed() {
    let folder = tempfile::tempdir().unwrap();
    let a = synthetic(folder.path(), "a", 10_000);
    let b = synthetic(folder.path(), "b", 12_000);
    let json = |seed: &str| compared(&[&a, &b], &["--resamples", "500", "--seed", seed, "--json"]).stdout;
    let document: analysis::compare::Comparison = serde_json::from_slice(&json("9")).unwrap();
    assert_eq!((document.schema.as_str(), document.version, document.method.seed), ("punctual/comparison", 1, 9));
    assert_eq!(document.verdict.state, analysis::compare::ComparisonState::Worse);
    assert_eq!(json("9"), json("9"));
    assert_ne!(json("9"), json("10"));
}

#[test]
fn clocks_on_opposite_sides_of_their_reference_are_not_alike() {
    let folder = tempfile::tempdir().unwrap();
    let log = |name: &str, mean_ns: i64| {
        let line = |at: i64| {
            let offset_ns = mean_ns + (at * 7_919 + mean_ns.rem_euclid(89)) % 6_000 - 3_000;
            format!("ptp4l[{}.100]: master offset {offset_ns:10} s2 freq   +1000 path delay      9000\n", 1_000 + at)
        };
        let path = folder.path().join(name);
        std::fs::write(&path, (0..600).map(line).collect::<String>()).unwrap();
        path
    };
    let (behind, ahead) = (log("behind.log", -50_000), log("ahead.log", 50_000));
    let page = folder.path().join("page.html");
    let output = compared(&[&behind, &ahead], &["--report", page.to_str().unwrap()]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(code(&output), 0, "{}", said(&output));
    for words in ["\nTHE RUN B LAY ELSEWHERE\n", "with sign", "lowest", "With sign, the mean is -50", "of A and +"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert!(!text.contains("NO DIFFERENCE"), "{text}");
    let plain = std::fs::read_to_string(page).unwrap();
    assert!(plain.contains("distances from zero, either way. With their sign"), "also without scripts");
    assert!(plain.contains("\"highest_ns\""));
}

#[test]
fn groups_stand_for_settings_and_single_runs_for_themselves() {
    let folder = tempfile::tempdir().unwrap();
    let names = |letter: &str| (0..4).map(|at| format!("{letter}{at}")).collect::<Vec<_>>();
    let (a_names, b_names) = (names("a"), names("b"));
    let a: Vec<PathBuf> = a_names.iter().map(|name| synthetic(folder.path(), name, 10_000)).collect();
    let b: Vec<PathBuf> = b_names.iter().map(|name| synthetic(folder.path(), name, 12_000)).collect();
    let words = |files: &[PathBuf]| files.iter().map(|file| file.to_str().unwrap().to_owned()).collect::<Vec<_>>();
    let all = [vec!["compare".to_owned(), "--a".to_owned()], words(&a), vec!["--b".to_owned()], words(&b)].concat();
    let output = run(&all.iter().map(String::as_str).collect::<Vec<_>>());
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("\nB IS WORSE\n"), "{text}{}", said(&output));
    assert!(text.contains("by the ranks of the maxima of repetitions"), "{text}");
    let single = compared(&[&a[0], &b[0]], &[]);
    let text = String::from_utf8_lossy(&single.stdout);
    assert!(text.contains("\nTHE RUN B WAS WORSE\n") && text.contains("this speaks of these two runs"), "{text}");
}

#[test]
fn profiles_are_named_or_found_beside_the_records() {
    let folder = tempfile::tempdir().unwrap();
    let side = |name: &str, level_ns, host: &str| {
        let own = folder.path().join(name);
        std::fs::create_dir(&own).unwrap();
        synthetic(&own, name, level_ns);
        let tree = fixtures::host(host);
        let profile = run(&["profile", "--json", "--root", tree.to_str().unwrap()]);
        std::fs::write(own.join("profile.json"), profile.stdout).unwrap();
        own
    };
    let a = side("a", 10_000, "rt-x86-tuned");
    let b = side("b", 10_000, "rt-x86-contradictions");
    let output = compared(&[&a, &b], &["--resamples", "500"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("  CONFIG_NO_HZ_FULL: y -> n\n"), "{text}{}", said(&output));
    let bad = a.join("a.json");
    let mut other = Record::from_json(&std::fs::read_to_string(b.join("b.json")).unwrap()).unwrap();
    other.manifest_mut().node.kernel_release = "9.9-rt".to_owned();
    other.id = "other".to_owned();
    let other = write(&b, "other", &other);
    let output = compared(&[&a, &other], &["--resamples", "500"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let (context, numbers) = (text.find("  kernel: ").unwrap(), text.find("scheduled_to_woke").unwrap());
    assert!(context < numbers, "what differs is said first: {text}");
    assert!(text.contains("A and B differ in kernel: whatever"), "{text}");
    let refused = compared(&[&a, &b], &["--profile-a", bad.to_str().unwrap()]);
    assert_eq!(code(&refused), 2);
    assert!(said(&refused).contains("a.json"), "{}", said(&refused));
}

#[test]
fn the_page_holds_the_comparison() {
    let folder = tempfile::tempdir().unwrap();
    let a = synthetic(folder.path(), "a", 10_000);
    let b = synthetic(folder.path(), "b", 12_000);
    let page = folder.path().join("page.html");
    let output = compared(&[&a, &b], &["--resamples", "500", "--report", page.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let html = std::fs::read_to_string(&page).unwrap();
    assert!(html.contains("\"comparison\":{\"document\":{\"schema\":\"punctual/comparison\""), "the data is inside");
}

#[test]
fn wrong_usage_is_told_with_the_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let a = synthetic(folder.path(), "a", 10_000);
    let refused = |files: &[&Path], words: &[&str], part: &str| {
        let output = compared(files, words);
        assert_eq!(code(&output), 2, "{words:?}");
        assert!(said(&output).contains(part), "{words:?}: {}", said(&output));
    };
    refused(&[&a], &[], "<B>");
    refused(&[&a, &a], &[], "stands on both sides");
    refused(&[&a, &a], &["--fail-on", "worse:5"], "has no unit");
    refused(&[&a, &a], &["--pass-on", "not-worse"], "needs a size");
    refused(&[&a, &a], &["--deadline", "0us"], "above 0");
    refused(&[&a, &a], &["--level", "0.9"], "not within 0.0001 to 0.5");
    refused(&[&a, &folder.path().join("absent.json")], &[], "absent.json");
    // The records of one folder are of several conditions.
    let mut loaded = Record::from_json(&std::fs::read_to_string(&a).unwrap()).unwrap();
    loaded.label = "under load".to_owned();
    write(folder.path(), "loaded", &loaded);
    refused(&[folder.path(), &a], &[], "choose one with --label: '', 'under load'");
}

/// Two texts of millions of samples, as most people have them: what is in them comes first, then what it shows.
#[test]
fn two_files_are_described_before_they_are_judged_and_the_runs_that_would_show_it_are_stated() {
    let folder = tempfile::tempdir().unwrap();
    let text = |name: &str, median_us: u64, worst_us: u64| {
        let bins = [(median_us - 1, 3_000_000), (median_us, 6_700_000), (median_us + 1, 3_000_000), (worst_us, 1)];
        let total: u64 = bins.iter().map(|(_, count)| count).sum();
        let lines: String = bins.iter().map(|(at, count)| format!("{at:06} {count:06}\n")).collect();
        let foot = format!(
            "# Total: {total:09}\n# Min Latencies: {:05}\n# Avg Latencies: {median_us:05}\n# Max Latencies: {worst_us:05}\n\
             # Histogram Overflows: 00000\n# Histogram Overflow at cycle number:\n# Thread 0:\n",
            median_us - 1
        );
        let file = folder.path().join(name);
        std::fs::write(&file, format!("# /dev/cpu_dma_latency set to 0us\n# Histogram\n{lines}{foot}")).unwrap();
        file
    };
    let (a, b) = (text("a.txt", 6, 50), text("b.txt", 16, 53));
    let output = compared(&[&a, &b], &[]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(code(&output), 0, "{text}");
    assert!(text.starts_with("B - A: p50 +10."), "{text}");
    assert!(words.contains("worst +3.0 us (53.0 us against 50.0 us), in these two runs."), "{text}");
    assert!(words.contains("takes at least 4 runs of each for worst cases, 5 for mean and quantiles."), "{text}");
    assert!(text.contains("TOO FEW RUNS TO TELL") && !text.contains("NO DIFFERENCE SHOWN"), "{text}");
    assert!(!words.contains("1.000"), "a p that says nothing is not printed: {text}");
    assert_eq!(
        words.matches("at least 4").count() + words.matches("One run on each side").count(),
        2,
        "once above, once in the reason: {text}"
    );
    // How it was judged is there for who asks.
    assert!(
        !words.contains("resamples, seed") && {
            let verbose = compared(&[&a, &b], &["-v"]);
            String::from_utf8_lossy(&verbose.stdout)
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .contains("resamples, seed")
        }
    );
}
