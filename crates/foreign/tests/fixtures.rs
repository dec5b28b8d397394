//! Imports real outputs of other programs: the numbers equal those of the program, within its rounding.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

#[path = "fixtures/mutations.rs"]
mod mutations;

use std::path::PathBuf;

use foreign::{IMPORTS, Options, Unit};
use record::{Measurement, Origin, ReasonCode, Record, ValidityState};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign")
}

fn text(name: &str) -> Vec<u8> {
    std::fs::read(folder().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn record_of(name: &str, unit: Option<Unit>) -> Record {
    let imported = foreign::import(&text(name), None, Options { unit, ..Options::default() });
    imported.unwrap_or_else(|error| panic!("{name}: {error}")).into_record(name)
}

/// The program's summary of one thread: samples, minimum, mean, maximum (us), and the rounding error of the mean.
type Summary = (u64, f64, f64, f64, f64);

#[expect(clippy::cast_precision_loss, reason = "microseconds of a test")]
fn check(name: &str, unit: Option<Unit>, format: &str, summaries: &[Summary]) -> Record {
    let record = record_of(name, unit);
    let Origin::Imported { format: found, lacks } = &record.manifest().origin else { panic!("{name}: no import") };
    assert_eq!(found, format, "{name}");
    assert!(lacks.iter().any(|lack| lack.contains("missed periods")), "{name}: {lacks:?}");
    assert_ne!(record.validity.state(), ValidityState::Valid, "{name}: an import is never valid without reservations");
    assert!(record.validity.has(ReasonCode::Imported), "{name}");
    let samples: Vec<_> = record.series.iter().filter(|series| !series.histogram.is_empty()).collect();
    assert_eq!(samples.len(), summaries.len(), "{name}");
    for (series, (count, min, mean, max, rounding)) in samples.into_iter().zip(summaries) {
        let histogram = &series.histogram;
        let us = |ns: Option<u64>| ns.unwrap() as f64 / 1_000.0;
        assert_eq!(histogram.count(), *count, "{name}, samples of {series:?}");
        assert!((us(histogram.min_ns()) - min).abs() < 1e-9, "{name}: min {:?} is not {min}", histogram.min_ns());
        assert!((us(histogram.max_ns()) - max).abs() < 1e-9, "{name}: max {:?} is not {max}", histogram.max_ns());
        let ours = histogram.mean_ns().unwrap() / 1_000.0;
        assert!((ours - mean).abs() <= *rounding, "{name}: mean {ours} is not {mean}");
    }
    // The record survives a round trip.
    assert_eq!(Record::from_json(&record.to_json()).unwrap(), record, "{name}");
    record
}

fn reasons(record: &Record, code: ReasonCode) -> String {
    let details: Vec<&str> =
        record.validity.reasons().iter().filter(|reason| reason.code == code).map(|reason| &*reason.detail).collect();
    details.join("; ")
}

#[test]
fn cyclictest_text() {
    let quiet = check(
        "cyclictest-quiet.txt",
        None,
        "cyclictest-text",
        &[(500, 30.0, 59.0, 166.0, 1.0), (346, 29.0, 60.0, 170.0, 1.0)],
    );
    assert_eq!((quiet.manifest().requested.priority, quiet.series[1].interval_ns), (80, Some(1_500_000)));
    assert_eq!(quiet.series[0].histogram.quantile_ns(0.5), None, "the median is unknown");
    assert!(reasons(&quiet, ReasonCode::UnitAssumed).contains("microseconds"));
    let redrawn = check(
        "cyclictest-redrawn.txt",
        Some(Unit::Us),
        "cyclictest-text",
        &[(200, 34.0, 53.0, 283.0, 1.0), (141, 31.0, 83.0, 3_227.0, 1.0)],
    );
    assert_eq!(redrawn.manifest().requested.policy, "fifo");
    assert!(!redrawn.validity.has(ReasonCode::UnitAssumed), "the unit was stated");
}

#[test]
fn an_implausible_default_unit_is_refused() {
    let error = foreign::import(&text("cyclictest-quiet-ns.txt"), None, Options::default()).unwrap_err().to_string();
    assert!(error.contains("--unit ns") && error.contains("295 us"), "{error}");
    check(
        "cyclictest-quiet-ns.txt",
        Some(Unit::Ns),
        "cyclictest-text",
        &[(300, 35.866, 61.244, 102.943, 0.001), (210, 33.295, 64.491, 177.771, 0.001)],
    );
}

#[test]
fn cyclictest_histograms() {
    let record = check(
        "cyclictest-histogram.txt",
        None,
        "cyclictest-histogram",
        &[(500, 26.0, 58.0, 238.0, 1.0), (500, 28.0, 54.0, 189.0, 1.0)],
    );
    let unplaced = record.series[0].histogram.unplaced().unwrap();
    // 201 samples are above the table; the maximum is one of them.
    assert_eq!((unplaced.count, unplaced.from_ns), (200, 60_000));
    assert!(reasons(&record, ReasonCode::ValuesUnknown).contains("200 of 500"), "{:?}", record.validity);
    check(
        "cyclictest-histfile.txt",
        None,
        "cyclictest-histogram",
        &[(500, 34.0, 60.0, 2_270.0, 1.0), (500, 27.0, 53.0, 233.0, 1.0)],
    );
    // The column of sums that -H adds is not a thread.
    check(
        "cyclictest-histofall.txt",
        None,
        "cyclictest-histogram",
        &[(500, 26.0, 49.0, 205.0, 1.0), (500, 28.0, 73.0, 1_387.0, 1.0)],
    );
}

#[test]
fn an_import_states_the_width_of_its_source_s_bins() {
    for (name, resolution_ns) in [
        ("cyclictest-histogram.txt", Some(1_000)),
        ("cyclictest.json", Some(1_000)),
        ("cyclictest-ns.json", None),
        ("jitterdebugger-ns.json", None),
        ("rtla-timerlat-hist.txt", Some(1_000)),
        ("oslat.txt", Some(1_000)),
    ] {
        let record = foreign::import(&text(name), None, Options::default()).unwrap().into_record("one");
        assert!(record.series.iter().all(|series| series.resolution_ns == resolution_ns), "{name}");
        let read = Record::from_json(&record.to_json()).unwrap();
        assert_eq!(read.series[0].resolution_ns, resolution_ns, "{name}: the record keeps it");
    }
}

#[test]
fn a_run_that_ended_at_a_latency_is_degraded() {
    for name in ["cyclictest-histogram.txt", "cyclictest-quiet.txt"] {
        let broke = format!("{}\n# Break value: 238\n", String::from_utf8(text(name)).unwrap());
        let record = foreign::import(broke.as_bytes(), None, Options::default()).unwrap().into_record("broke");
        assert!(record.validity.has(ReasonCode::InterruptedEarly), "{name}");
    }
}

#[test]
fn cyclictest_json() {
    let record = check(
        "cyclictest.json",
        None,
        "cyclictest-json",
        &[(500, 31.0, 52.84, 91.0, 0.01), (500, 23.0, 53.76, 1_401.0, 0.01)],
    );
    assert_eq!(record.series[1].place.cpu(), Some(1));
    assert_eq!((record.manifest().tool.version.as_str(), record.manifest().node.machine.as_str()), ("2.40", "x86_64"));
    assert!(record.manifest().started.realtime.as_ns() > 1_700_000_000_000_000_000);
    check("cyclictest-ns.json", None, "cyclictest-json", &[(100, 38.587, 63.910_89, 95.284, 0.000_01)]);
    check("cyclictest-no-histogram.json", None, "cyclictest-json", &[(50, 37.0, 53.0, 81.0, 0.01)]);
    let quoted = check("cyclictest-quoted.json", None, "cyclictest-json", &[(50, 42.0, 57.58, 80.0, 0.01)]);
    assert!(quoted.manifest().command.iter().any(|word| word == "\"quoted\""), "{:?}", quoted.manifest().command);
}

#[test]
fn cyclictest_verbose() {
    let record = check(
        "cyclictest-verbose.txt",
        None,
        "cyclictest-verbose",
        &[(20, 32.0, 49.4, 66.0, 0.1), (20, 38.0, 249.0, 2_342.0, 1.0)],
    );
    assert_eq!((record.series[0].place.cpu(), record.series[1].interval_ns), (Some(0), Some(1_500_000)));
    assert!(!record.validity.has(ReasonCode::SamplesDropped));
    let lossy: String = String::from_utf8(text("cyclictest-verbose.txt"))
        .unwrap()
        .lines()
        .filter(|line| line.replace(' ', "") != "1:2:1448" && !line.contains("1:       3:"))
        .map(|line| format!("{line}\n"))
        .collect();
    let record = foreign::import(lossy.as_bytes(), None, Options::default()).unwrap().into_record("lossy");
    assert!(record.validity.is_invalid(), "the worst sample may not have been printed");
    assert!(reasons(&record, ReasonCode::SamplesDropped).contains("2 cycles"), "{:?}", record.validity);
}

#[test]
fn jitterdebugger() {
    let record = check(
        "jitterdebugger.json",
        None,
        "jitterdebugger",
        &[(1_981, 19.0, 97.66, 10_110.0, 0.01), (1_979, 20.0, 59.02, 3_286.0, 0.01)],
    );
    assert!(reasons(&record, ReasonCode::ValuesUnknown).contains("27 of"), "{:?}", record.validity);
    check(
        "jitterdebugger-ns.json",
        None,
        "jitterdebugger",
        &[(1, 83.249, 83.249, 83.249, 1e-9), (1, 38.208, 38.208, 38.208, 1e-9)],
    );
}

#[test]
fn rteval() {
    let record = check("rteval.xml", None, "rteval", &[(1_000, 3.0, 4.2, 9.0, 1e-6), (1_000, 3.0, 4.296, 27.0, 1e-6)]);
    assert_eq!((record.manifest().node.hostname.as_str(), record.manifest().load.name.as_str()), ("node", "rteval"));
    assert_eq!(record.validity.state(), ValidityState::Degraded, "{:?}", record.validity);
    let empty =
        br#"<rteval version="3.8"><Measurements><cyclictest command_line="cyclictest"/></Measurements></rteval>"#;
    let error = foreign::import(empty, None, Options::default()).unwrap_err().to_string();
    assert!(error.contains("above its buckets"), "{error}");
}

#[test]
fn oslat() {
    let record = check(
        "oslat.txt",
        None,
        "oslat-text",
        &[(107_241_959, 1.0, 1.002, 44_116.0, 0.001), (103_105_195, 1.0, 1.002, 50_423.0, 0.001)],
    );
    assert_eq!(record.measurement, Measurement::Noise);
    // The last bin of the table also holds the samples above it; the maximum is one of them.
    assert_eq!(record.series[0].histogram.unplaced().unwrap().count, 1_140);
    assert_eq!((record.manifest().requested.policy.as_str(), record.manifest().requested.priority), ("fifo", 1));
    check(
        "oslat.json",
        None,
        "oslat-json",
        &[(19_007_901, 1.0, 1.127_594, 48_138.0, 1e-6), (20_129_853, 1.0, 1.121_154, 28_090.0, 1e-6)],
    );
}

#[test]
fn rtla() {
    let record = check(
        "rtla-timerlat-hist.txt",
        None,
        "rtla-hist",
        &[
            (600_002, 0.0, 0.0, 16.0, 1.0),
            (600_002, 1.0, 5.0, 36.0, 1.0),
            (600_002, 0.0, 0.0, 15.0, 1.0),
            (600_002, 1.0, 5.0, 58.0, 1.0),
        ],
    );
    assert_eq!(record.series[1].name, "scheduled_to_thread");
    assert_eq!(record.manifest().ended.monotonic.as_ns(), 600_000_000_000);
    check(
        "rtla-timerlat-hist-over.txt",
        None,
        "rtla-hist",
        &[(10_000, 0.0, 0.0, 4.0, 1.0), (10_000, 1.0, 2.0, 61.0, 1.0), (10_000, 2.0, 3.0, 75.0, 1.0)],
    );
    let top = check(
        "rtla-timerlat-top.txt",
        None,
        "rtla-timerlat-top",
        &[
            (12_322, 0.0, 1.0, 15.0, 1.0),
            (12_322, 3.0, 9.0, 31.0, 1.0),
            (12_322, 0.0, 1.0, 12.0, 1.0),
            (12_322, 3.0, 9.0, 23.0, 1.0),
            (12_320, 0.0, 1.0, 28.0, 1.0),
            (12_320, 3.0, 11.0, 41.0, 1.0),
        ],
    );
    assert!(top.validity.has(ReasonCode::InterruptedEarly), "it stopped at a latency");
    let user = record_of("rtla-timerlat-top-user.txt", None);
    assert_eq!(
        (user.series[2].name.as_str(), user.series[2].histogram.max_ns()),
        ("scheduled_to_user_return", Some(372_000))
    );
}

#[test]
fn rtla_osnoise() {
    // The mean of 0 in the text is an error of that version; the import uses the mean of the bins' middles.
    let record = check(
        "rtla-osnoise-hist.txt",
        None,
        "rtla-hist",
        &[
            (55_215, 0.0, 7.2, 30.0, 0.1),
            (54_649, 0.0, 6.5, 30.0, 0.1),
            (54_703, 0.0, 5.5, 20.0, 0.1),
            (54_620, 0.0, 5.2, 20.0, 0.1),
        ],
    );
    assert_eq!(record.measurement, Measurement::Noise);
    assert!(!record.validity.has(ReasonCode::SourceContradicts), "{:?}", record.validity);
    assert!(reasons(&record, ReasonCode::ValuesUnknown).contains("10 units wide"), "{:?}", record.validity);
    let top = check(
        "rtla-osnoise-top.txt",
        None,
        "rtla-osnoise-top",
        &[(1, 56.0, 56.0, 56.0, 0.0), (1, 24.0, 24.0, 24.0, 0.0)],
    );
    let noise = top.series[0].gaps().unwrap();
    assert_eq!((noise.observed_ns, noise.stolen_ns), (53_100_000_000, 304_896_000));
}

#[test]
fn bare_columns_have_no_maximum() {
    let record = check(
        "osadl-columns.txt",
        Some(Unit::Us),
        "columns",
        &[(296, 34.0, 46.0, 59.0, 1.0), (380, 27.0, 45.0, 59.0, 1.0)],
    );
    assert!(record.validity.is_invalid(), "the true maximum was 2270 us");
    assert!(record.validity.has(ReasonCode::MaximumUnknown));
}

#[test]
fn contradictions_make_it_invalid() {
    let histogram = String::from_utf8(text("cyclictest-histogram.txt")).unwrap();
    let lines: Vec<&str> = histogram.lines().collect();
    let row = lines.iter().position(|line| line.starts_with("000050")).unwrap();
    let without_a_row: Vec<&str> =
        lines.iter().enumerate().filter(|(at, _)| *at != row).map(|(_, line)| *line).collect();
    for (what, text) in [
        ("counted 500 samples", without_a_row.join("\n")),
        ("maximum is 38", histogram.replace("# Max Latencies: 00238", "# Max Latencies: 00038")),
        ("minimum is 20", histogram.replace("# Min Latencies: 00026", "# Min Latencies: 00020")),
        ("mean of 158", histogram.replace("# Avg Latencies: 00058", "# Avg Latencies: 00158")),
        ("counted", histogram.replace("# Total: 000000299", "# Total: 000000298")),
    ] {
        assert_ne!(text.trim_end(), histogram.trim_end(), "{what}: the text was changed");
        let record = foreign::import(text.as_bytes(), None, Options::default()).unwrap().into_record("odd");
        assert!(record.validity.is_invalid(), "{what}");
        assert!(reasons(&record, ReasonCode::SourceContradicts).contains(what), "{what}: {:?}", record.validity);
    }
}

#[test]
fn damage_is_reported_with_its_line() {
    let histogram = String::from_utf8(text("cyclictest-histogram.txt")).unwrap();
    for (part, text) in [
        ("a second", format!("{histogram}{histogram}")),
        ("line 10: a count is 'x'", histogram.replacen("000007 000000", "000007 x", 1)),
        ("line 10: 1 counts, but 2", histogram.replacen("000007 000000\t000000", "000007 000000", 1)),
        ("was the file cut off?", histogram.replace("# Max Latencies: 00238 00189", "# Max Latencies: 00238")),
    ] {
        let error = foreign::import(text.as_bytes(), None, Options::default()).unwrap_err().to_string();
        assert!(error.contains(part), "{part}: {error}");
    }
    let json = String::from_utf8(text("cyclictest.json")).unwrap();
    let error = foreign::import(
        &json.as_bytes()[..json.len() / 2],
        foreign::import_format("cyclictest-json").ok(),
        Options::default(),
    );
    assert!(error.unwrap_err().to_string().contains("line"));
    let error = foreign::import(b"total 12\ndrwxr-xr-x\n", None, Options::default()).unwrap_err().to_string();
    assert!(error.contains("not recognized") && error.contains("rtla-hist"), "{error}");
}

#[test]
fn two_runs_in_one_file_are_refused() {
    let quiet = String::from_utf8(text("cyclictest-quiet.txt")).unwrap();
    let top = String::from_utf8(text("rtla-timerlat-top.txt")).unwrap();
    for both in [
        format!("{quiet}{}", quiet.replace("(27977)", "(31001)")),
        format!("{quiet}{}", quiet.replace("C:    500", "C:    400")),
        format!("{top}{}", top.replace("#12322", "#322")),
    ] {
        let error = foreign::import(both.as_bytes(), None, Options::default()).unwrap_err().to_string();
        assert!(error.contains("two runs?"), "{error}");
    }
}

#[test]
fn a_thread_without_cycles_has_no_samples() {
    // The minimum is cyclictest's initial value.
    let text = "T: 0 (12) P:80 I:1000 C:      0 Min:1000000 Act:    0 Avg:    0 Max:       0\n";
    let record = foreign::import(text.as_bytes(), None, Options::default()).unwrap().into_record("none");
    assert_eq!(record.samples(), 0);
    assert!(record.validity.has(ReasonCode::NoSamples) && record.validity.is_invalid());
}

#[test]
fn every_fixture_is_recognized_as_its_own_format() {
    let mut seen = 0;
    for entry in std::fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if name == "README.md" {
            assert!(foreign::recognize(&text(&name)).is_none(), "prose has no format");
            continue;
        }
        let found = foreign::recognize(&text(&name)).unwrap_or_else(|| panic!("{name} is not recognized"));
        let family = name.split(['-', '.']).next().unwrap().replace("osadl", "columns");
        assert!(found.name.starts_with(&family), "{name} was taken for {}", found.name);
        seen += 1;
    }
    assert!(seen >= IMPORTS.len(), "{seen} fixtures for {} formats", IMPORTS.len());
}

const QUIET: &str = "T: 0 ( 1001) P:80 I:1000 C:  60000 Min:      3 Act:    5 Avg:    6 Max:    23456\n";

#[test]
fn a_maximum_that_was_cut_is_not_the_maximum() {
    let cut = &QUIET[..QUIET.len() - 3];
    let record = foreign::import(cut.as_bytes(), None, Options::default()).unwrap().into_record("cut");
    assert!(record.validity.is_invalid(), "{:?}", record.validity);
    assert!(reasons(&record, ReasonCode::MaximumUnknown).contains("line 1, the last one, has no end"));
    let whole = foreign::import(QUIET.as_bytes(), None, Options::default()).unwrap().into_record("whole");
    assert_eq!(whole.validity.state(), ValidityState::Degraded, "{:?}", whole.validity);
    assert_eq!(whole.series[0].histogram.max_ns(), Some(23_456_000));
}

#[test]
fn extremes_of_one_run_only_widen() {
    let row = |min: u64, max: u64, cycles: u64| {
        format!("T: 0 (    8) P:95 I:1000 C: {cycles} Min: {min} Act: {max} Avg: {min} Max: {max}\n")
    };
    let refused = |first: String, second: String| {
        foreign::import((first + &second).as_bytes(), None, Options::default()).unwrap_err().to_string()
    };
    let error = refused(row(2, 5_012, 10_000), row(2, 41, 60_000));
    assert!(error.contains("line 2: thread 0: its maximum falls from 5012 to 41"), "{error}");
    let error = refused(row(2, 41, 10_000), row(3, 5_012, 60_000));
    assert!(error.contains("minimum rises from 2 to 3"), "{error}");
    let top = "                                     Timer Latency\n  0 00:00:12   |          IRQ Timer Latency (us)        |         Thread Timer Latency (us)\nCPU COUNT      |      cur       min       avg       max |      cur       min       avg       max\n";
    let error = refused(
        format!("{top}  1 #100    |  0  0  1  15 |  10  3  9  31\n"),
        format!("{top}  1 #200    |  0  0  1  15 |  10  3  9  30\n"),
    );
    assert!(error.contains("CPU 1, scheduled_to_thread: its maximum falls from 31 to 30"), "{error}");
    let top = "Operating System Noise\nCPU Period       Runtime        Noise  % CPU Aval   Max Noise   Max Single          HW          NMI\n";
    let error = refused(
        format!("{top}  0 #59  53100000  304896  99.42580  6978  56  549  0\n"),
        format!("{top}  0 #60  54100000  304996  99.42580  6978  55  549  0\n"),
    );
    assert!(error.contains("CPU 0: its longest single noise falls from 56 to 55"), "{error}");
}

#[test]
fn a_table_of_rtla_without_its_summary_has_no_maximum() {
    let whole = String::from_utf8(text("rtla-timerlat-hist.txt")).unwrap();
    let end = whole.find("over:").unwrap();
    let record = foreign::import(&whole.as_bytes()[..end], None, Options::default()).unwrap().into_record("cut");
    assert!(record.validity.is_invalid() && record.validity.has(ReasonCode::MaximumUnknown), "{:?}", record.validity);
    let end = whole.find("max:").unwrap();
    let error = foreign::import(&whole.as_bytes()[..end], None, Options::default()).unwrap_err().to_string();
    assert!(error.contains("0 values in 'max:': was the file cut off?"), "{error}");
}

#[test]
fn a_cpu_without_a_sample_in_older_rtla_has_no_sample() {
    let record = record_of("rtla-timerlat-hist-empty-cpu.txt", None);
    let [irq, thread] = record.series.as_slice() else { panic!("{:?}", record.series) };
    assert_eq!((irq.taken(), irq.histogram.max_ns()), (1, Some(49_000)));
    assert_eq!((thread.taken(), thread.histogram.min_ns(), thread.histogram.max_ns()), (0, None, None));
    assert!(!record.validity.is_invalid(), "{:?}", record.validity);
}

#[test]
fn what_stands_before_a_table_does_not_change_what_was_measured() {
    let bytes = text("rtla-osnoise-hist-mark.txt");
    let plain = String::from_utf8(bytes.clone()).unwrap().trim_start_matches('\u{feff}').to_owned();
    let (_, without_name) = plain.split_once('\n').unwrap();
    let texts = [
        plain.clone(),
        format!("\u{feff}{plain}"),
        format!("\n \n{plain}"),
        format!("$ rtla osnoise hist -b 10\n{plain}"),
        format!("root@node:~# {plain}"),
        format!("# a remark\n{plain}"),
    ];
    for all in texts {
        let record = foreign::import(all.as_bytes(), None, Options::default()).unwrap().into_record("one");
        assert_eq!((record.measurement, &*record.series[0].name), (Measurement::Noise, "left_to_resumed"), "{all}");
    }
    let format = foreign::import_format("rtla-hist").unwrap();
    let record = foreign::import(without_name.as_bytes(), Some(format), Options::default()).unwrap().into_record("one");
    assert_eq!(record.measurement, Measurement::Noise, "the columns say it");
}

#[test]
fn oslat_before_2_0() {
    let record = record_of("oslat-1.10.txt", None);
    assert_eq!((record.measurement, record.manifest().tool.version.as_str()), (Measurement::Noise, "1.10"));
    let maxima: Vec<_> = record.series.iter().map(|one| one.histogram.max_ns().unwrap() / 1_000).collect();
    assert_eq!(maxima, [14, 17, 9, 17, 12, 17, 8]);
    assert_eq!(record.series[0].taken(), 426_829_052 + 122 + 4_928 + 4_638 + 221 + 19 + 55 + 14 + 1 + 1 + 1);
    assert_eq!(record.validity.state(), ValidityState::Degraded, "{:?}", record.validity);
    let wrong = String::from_utf8(text("oslat-1.10.txt")).unwrap().replace("Max-Min:\t 13", "Max-Min:\t 23");
    let record = foreign::import(wrong.as_bytes(), None, Options::default()).unwrap().into_record("wrong");
    assert!(record.validity.has(ReasonCode::SourceContradicts), "{:?}", record.validity);
}

#[test]
fn cyclictest_verbose_keeps_the_order_in_time_and_states_no_distance_as_interval() {
    let record = record_of("cyclictest-verbose-quiet.txt", None);
    let quiet = record_of("cyclictest-verbose.txt", None);
    assert_eq!(quiet.series[0].interval_ns, Some(1_000_000), "1500 is the interval of the thread after it");
    for series in record.series.iter().chain(&quiet.series) {
        let mut all = record::Histogram::new();
        series.intervals.iter().for_each(|interval| all.merge(&interval.histogram));
        assert_eq!(all, series.histogram, "each sample is in one piece");
        assert!(series.intervals.len() > 10, "{:?}", series.place);
    }
    let Origin::Imported { lacks, .. } = &record.manifest().origin else { panic!() };
    assert!(!lacks.iter().any(|lack| lack.contains("the order of the samples")), "{lacks:?}");
    // One thread alone: the distance that was added is not known, and neither is its interval.
    let alone = "Thread 0 Interval: 1500\n       0:       0:      61\n       0:       1:      53\n";
    let record = foreign::import(alone.as_bytes(), None, Options::default()).unwrap().into_record("alone");
    assert_eq!((record.series[0].interval_ns, record.manifest().requested.interval_ns), (None, None));
    assert!(record.series[0].intervals.is_empty());
    let with_table =
        format!("{alone}T: 0 (15557) P: 0 I:1000 C:      2 Min:     53 Act:   53 Avg:   57 Max:      61\n");
    let record = foreign::import(with_table.as_bytes(), None, Options::default()).unwrap().into_record("alone");
    assert_eq!(record.series[0].interval_ns, Some(1_000_000));
    assert!(!record.validity.is_invalid(), "{:?}", record.validity);
    let more = with_table.replace("C:      2", "C:      3");
    let record = foreign::import(more.as_bytes(), None, Options::default()).unwrap().into_record("alone");
    assert!(
        reasons(&record, ReasonCode::SamplesDropped).contains("1 cycles were not printed"),
        "{:?}",
        record.validity
    );
}
