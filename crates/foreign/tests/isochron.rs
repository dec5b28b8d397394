//! Imports tables of isochron: what each series is, what is said of the clocks, and what was lost.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::PathBuf;

use foreign::{IMPORTS, IsochronColumns, Options};
use proptest::prelude::*;
use record::{Origin, PacketFlow, ReasonCode, Record, Series, Sign, Uncertainty, ValidityState};

fn text(name: &str) -> Vec<u8> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign");
    std::fs::read(folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn stated(letters: &str) -> Options {
    Options { isochron: Some(IsochronColumns::parse(letters).unwrap()), ..Options::default() }
}

fn imported(bytes: &[u8], options: Options) -> Record {
    let record = foreign::import(bytes, None, options).unwrap().into_record("table");
    assert!(matches!(&record.manifest().origin, Origin::Imported { format, .. } if format == "isochron"));
    assert_eq!(Record::from_json(&record.to_json()).unwrap(), record, "it survives a round trip");
    record
}

fn series<'a>(record: &'a Record, name: &str) -> &'a Series {
    record.series.iter().find(|series| series.name == name).unwrap_or_else(|| panic!("no {name}"))
}

fn flow(record: &Record) -> &PacketFlow {
    &record.packets().unwrap().flows[0]
}

fn lacks(record: &Record) -> String {
    let Origin::Imported { lacks, .. } = &record.manifest().origin else { panic!("no import") };
    lacks.join("\n")
}

/// Lowest, median and highest (ns), and how many there are.
fn summary(record: &Record, name: &str) -> (u64, i64, i64) {
    let series = series(record, name);
    let highest = series.worst_ns(Sign::NegativeIsEarly).unwrap();
    (series.taken(), series.lowest_ns().unwrap(), highest)
}

#[test]
fn a_table_written_by_hand_gives_the_delays_that_it_was_made_of() {
    let record = imported(&text("isochron-hardware.csv"), Options::default());
    for (name, expected, is_between_clocks) in [
        ("scheduled_to_woke", (20, 2_100, 4_000), false),
        ("woke_to_transmitted", (20, 12_000, 12_000), false),
        ("queued_to_transmitted", (20, 3_000, 3_000), false),
        // Sent in advance: 900 us before the schedule, less what the sender took until then.
        ("scheduled_to_hw_transmitted", (19, -884_400, -882_500), true),
        ("woke_to_received", (18, 52_510, 122_630), true),
        ("hw_transmitted_to_hw_arrived", (17, 5_010, 5_200), true),
        ("transmitted_to_arrived", (18, 10_510, 10_700), true),
        ("hw_arrived_to_received", (18, 34_000, 104_000), true),
        ("arrived_to_received", (18, 30_000, 100_000), false),
    ] {
        let (taken, lowest, highest) = summary(&record, name);
        if name == "scheduled_to_hw_transmitted" {
            assert_eq!(series(&record, name).histogram.count(), 0, "all of them were early");
            assert_eq!((taken, lowest), (expected.0, expected.1), "{name}");
        } else {
            assert_eq!((taken, lowest, highest), expected, "{name}");
        }
        let uncertainty = series(&record, name).uncertainty;
        assert_eq!(uncertainty, is_between_clocks.then_some(Uncertainty::UNKNOWN), "{name}");
    }
    assert!(!record.series.iter().any(|series| series.name == "sent_to_received"), "isochron has no such point");
    let flow = flow(&record);
    assert_eq!((flow.sent, flow.arrived, flow.lost), (Some(20), Some(18), Some(2)));
    assert_eq!((flow.interval_ns, flow.size_bytes), (1_000_000, 0));
    let judged: Vec<_> = record.series.iter().filter(|series| series.judged).map(|series| &*series.name).collect();
    assert_eq!(judged, ["woke_to_received"]);
    assert_eq!(series(&record, "woke_to_received").counters.lost, Some(2));
    assert_eq!(record.validity.state(), ValidityState::Degraded, "{:?}", record.validity);
    assert!(record.validity.has(ReasonCode::NoHardBound) && record.validity.has(ReasonCode::Imported));
    assert!(lacks(&record).contains("how far the clocks of the nodes were apart"), "{}", lacks(&record));
    let nodes: Vec<_> = record.nodes.iter().map(|node| (&*node.name, &*node.role)).collect();
    assert_eq!(nodes, [("sender", "initiator"), ("receiver", "partner")]);
}

#[test]
fn each_sample_lies_in_one_interval_of_the_run() {
    let record = imported(&text("isochron-software.csv"), Options::default());
    for series in &record.series {
        let in_intervals: u64 = series.intervals.iter().map(record::Interval::taken).sum();
        assert_eq!(in_intervals, series.taken(), "{}", series.name);
        assert!((55..=60).contains(&series.intervals.len()), "{}: {}", series.name, series.intervals.len());
        assert!(series.intervals.windows(2).all(|two| two[0].start_offset_ns < two[1].start_offset_ns));
    }
}

#[test]
fn what_isochron_itself_wrote_is_read_and_stamps_that_it_lacks_are_missing() {
    let record = imported(&text("isochron-software.csv"), Options::default());
    assert_eq!(summary(&record, "woke_to_received"), (200, 36_484, 86_528));
    assert_eq!(summary(&record, "arrived_to_received"), (200, 26_149, 72_097));
    assert_eq!(summary(&record, "scheduled_to_woke"), (200, 73_030, 4_602_201));
    assert_eq!(summary(&record, "transmitted_to_arrived"), (200, 561, 2_504));
    assert!(!record.series.iter().any(|series| series.name.contains("hw_")), "0 is no stamp");
    assert_eq!((flow(&record).sent, flow(&record).lost), (Some(200), Some(0)));
    assert_eq!(record.validity.state(), ValidityState::Degraded, "{:?}", record.validity);
}

#[test]
fn delays_below_zero_are_kept_and_say_that_the_clocks_were_apart() {
    let record = imported(&text("isochron-apart.csv"), stated("TR"));
    let path = series(&record, "hw_transmitted_to_hw_arrived");
    assert_eq!((path.taken(), path.lowest_ns(), path.histogram.max_ns()), (10, Some(-1_500), Some(2_000)));
    assert_eq!(path.below_zero.as_ref().unwrap().count(), 3);
    assert!(record.validity.is_invalid());
    let reason = record.validity.reasons().iter().find(|reason| reason.code == ReasonCode::SyncLost).unwrap();
    assert!(reason.detail.contains("3 of 10") && reason.detail.contains("at least 1.5 us apart"), "{}", reason.detail);
    // Of R alone nobody knows whether a packet was lost or left without a stamp.
    assert_eq!(flow(&record).lost, None);
    assert!(lacks(&record).contains("how many packets were lost"), "{}", lacks(&record));
}

#[test]
fn times_of_one_clock_that_go_back_contradict_themselves() {
    let record = imported(b"q,w,t\n1,2000000,1000000\n2,3000000,4000000\n", Options::default());
    assert!(record.validity.has(ReasonCode::SourceContradicts), "{:?}", record.validity);
    let stepped = imported(b"q,w,t\n1,3000000,3000001\n2,2000000,2000001\n", Options::default());
    assert!(stepped.validity.has(ReasonCode::ClockStepped), "{:?}", stepped.validity);
    let scales = imported(b"q,T,R\n1,1000000,37000001000\n2,2000000,37000002000\n", Options::default());
    let reason = scales.validity.reasons().iter().find(|reason| reason.code == ReasonCode::SyncLost).unwrap();
    assert!(reason.detail.contains("not on one scale"), "{}", reason.detail);
}

#[test]
fn packets_without_a_line_are_not_passed_over() {
    let whole = String::from_utf8(text("isochron-hardware.csv")).unwrap();
    // As 'grep -v ,0,0,0' would do it, to look at the others alone.
    let filtered: String =
        whole.lines().filter(|line| !line.ends_with(",0,0,0")).map(|line| format!("{line}\n")).collect();
    let record = imported(filtered.as_bytes(), Options::default());
    assert!(record.validity.is_invalid() && record.validity.has(ReasonCode::SamplesDropped), "{:?}", record.validity);
    assert_eq!((flow(&record).sent, flow(&record).lost), (None, None), "not 18 of 18");
    let cut = &whole.as_bytes()[..whole.len() - 3];
    let record = imported(cut, Options::default());
    assert!(record.validity.has(ReasonCode::InterruptedEarly), "{:?}", record.validity);
    assert_eq!(flow(&record).sent, Some(19));
}

#[test]
fn what_names_no_columns_or_is_no_text_says_what_to_do() {
    let error = |bytes: &[u8], options| foreign::import(bytes, None, options).unwrap_err().to_string();
    let bare = error(&text("isochron-apart.csv"), Options::default());
    assert!(
        bare.contains("line 1: 2 columns, and nothing says what they hold") && bare.contains("--printf-args"),
        "{bare}"
    );
    let mut binary = b"ISOCHRON\0\0\0\x04".to_vec();
    binary.extend([0xff, 0x00, 0x80]);
    let binary = error(&binary, Options::default());
    assert!(binary.contains("isochron's own binary file"), "{binary}");
    assert!(binary.contains("isochron report --input-file isochron.dat"), "{binary}");
    let wide = error(b"q,T,R\n1,1,9223372036854775807\n", Options::default());
    assert!(wide.contains("146 years"), "{wide}");
}

#[test]
fn no_other_program_s_output_is_taken_for_a_table_of_isochron() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign");
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let found = foreign::recognize(&std::fs::read(&path).unwrap()).map(|format| format.name);
        let is_ours = path.file_name().unwrap().to_string_lossy().starts_with("isochron-");
        assert_eq!(found == Some("isochron"), is_ours, "{}", path.display());
    }
    assert!(IMPORTS.iter().any(|format| format.name == "isochron"));
}

proptest! {
    #[test]
    fn no_table_makes_the_reader_panic(
        letters in "[ABCHWSwTtsqaRr]{0,6}",
        rows in proptest::collection::vec("[-0-9a-f,;. #\r]{0,40}", 0..12),
    ) {
        let options = Options { isochron: IsochronColumns::parse(&letters).ok(), ..Options::default() };
        let format = IMPORTS.iter().find(|format| format.name == "isochron");
        if let Ok(imported) = foreign::import(rows.join("\n").as_bytes(), format, options) {
            prop_assert!(imported.into_record("table").validity.state() > ValidityState::Valid);
        }
    }
}
