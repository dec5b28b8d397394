//! The files that chronyd 4.3 and 4.6.1 wrote while the replies in the same folder were captured.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fmt::Write as _;

use codecs::chrony::log::{ForeignLine, Measurement, Statistics, TrackingUpdate};
use codecs::chrony::{LeapStatus, TimestampSource, UtcTime};
use proptest::prelude::*;

fn text(version: &str, name: &str) -> String {
    std::fs::read_to_string(format!("{}/fixtures/chrony/{version}/{name}.log", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// As chronyd prints a value: three decimals, two digits of exponent, a sign where negative.
fn exponential(value: f64) -> String {
    let text = format!("{value:.3e}");
    let (digits, exponent) = text.split_once('e').unwrap();
    let exponent: i32 = exponent.parse().unwrap();
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

fn words(line: &str) -> Vec<&str> {
    line.split_ascii_whitespace().collect()
}

/// Times in these files are all on 2026-11-25, which began 1795564800 s after 1970.
fn time(time: UtcTime) -> String {
    let second = time.seconds - 1_795_564_800;
    format!("2026-11-25 {:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60)
}

fn leap(leap: LeapStatus) -> char {
    if leap == LeapStatus::Normal { 'N' } else { '?' }
}

#[test]
fn every_column_of_measurements_is_read() {
    for version in ["4.3", "4.6.1"] {
        let text = text(version, "measurements");
        let mut read = 0;
        for line in text.lines() {
            let Some(entry) = Measurement::parse(line).unwrap() else { continue };
            read += 1;
            assert_eq!(entry.timestamps, Some((TimestampSource::Kernel, TimestampSource::Kernel)));
            let floats = [
                entry.offset_s,
                entry.peer_delay_s,
                entry.peer_dispersion_s,
                entry.root_delay_s,
                entry.root_dispersion_s,
            ];
            let mut again = format!(
                "{} {} {} {} {:03b} {:03b} {:04b} {} {} {:.2}",
                time(entry.time),
                entry.source,
                leap(entry.leap),
                entry.stratum,
                entry.tests_passed >> 7,
                entry.tests_passed >> 4 & 7,
                entry.tests_passed & 15,
                entry.local_poll_log2_s,
                entry.remote_poll_log2_s,
                entry.poll_score,
            );
            for value in floats {
                write!(again, " {}", exponential(value)).unwrap();
            }
            write!(again, " {:08X} 4B K K", entry.reference_id.unwrap()).unwrap();
            assert_eq!(words(&again), words(line));
        }
        assert_eq!(read, text.lines().filter(|line| line.starts_with("2026-")).count());
        assert!(read > 10);
    }
}

#[test]
fn every_column_of_statistics_is_read() {
    for version in ["4.3", "4.6.1"] {
        for line in text(version, "statistics").lines() {
            let Some(entry) = Statistics::parse(line).unwrap() else { continue };
            let mut again = format!("{} {}", time(entry.time), entry.source);
            for value in [
                entry.standard_deviation_s,
                entry.estimated_offset_s,
                entry.offset_standard_deviation_s,
                entry.frequency_difference,
                entry.skew,
            ] {
                write!(again, " {}", exponential(value)).unwrap();
            }
            let stress = words(line)[8];
            assert!((stress.parse::<f64>().unwrap() - entry.stress).abs() < f64::EPSILON);
            write!(
                again,
                " {stress} {} {} {} {:.2}",
                entry.samples,
                entry.discarded_samples,
                entry.runs,
                entry.asymmetry.unwrap()
            )
            .unwrap();
            assert_eq!(words(&again), words(line));
        }
    }
}

#[test]
fn every_column_of_tracking_is_read() {
    for version in ["4.3", "4.6.1"] {
        let mut read = 0;
        for line in text(version, "tracking").lines() {
            let Some(entry) = TrackingUpdate::parse(line).unwrap() else { continue };
            read += 1;
            let mut again = format!(
                "{} {} {} {:.3} {:.3} {} {} {}",
                time(entry.time),
                entry.source,
                entry.stratum,
                entry.frequency_ppm,
                entry.skew_ppm,
                exponential(entry.offset_s),
                leap(entry.leap),
                entry.combined_sources,
            );
            for value in [
                entry.offset_standard_deviation_s,
                entry.remaining_correction_s,
                entry.root_delay_s,
                entry.root_dispersion_s,
                entry.max_error_s,
            ] {
                write!(again, " {}", exponential(value)).unwrap();
            }
            assert_eq!(words(&again), words(line));
        }
        assert!(read > 10);
    }
}

#[test]
fn shapes_of_older_versions_are_read() {
    let line = "2016-11-09 05:40:50 203.0.113.15    N  2 111 111 1111  10 10 1.0  -4.966e-03  2.296e-01  1.577e-05  1.615e-01  7.446e-03";
    let entry = Measurement::parse(line).unwrap().unwrap();
    assert_eq!((entry.reference_id, entry.timestamps), (None, None));
    assert_eq!(entry.time.seconds, 1_478_670_050);
    let line = format!("{line} CB00717B 4B D K");
    let entry = Measurement::parse(&line).unwrap().unwrap();
    assert_eq!(entry.timestamps, Some((TimestampSource::Daemon, TimestampSource::Kernel)));
    let line = "2016-08-10 05:40:50 PPS0             6.261e-03 -3.247e-03  2.220e-03  1.874e-06  1.080e-06 7.8e-02  16   0   8";
    let entry = Statistics::parse(line).unwrap().unwrap();
    assert_eq!((entry.source, entry.runs, entry.asymmetry), ("PPS0", 8, None));
}

#[test]
fn foreign_lines_are_named_by_their_first_column() {
    let column = |line: &str| TrackingUpdate::parse(line).unwrap_err().column;
    let line = "2026-11-25 00:55:20 10.77.0.1        2     19.991      0.049 -2.245e-07 N  2  5.846e-07 -5.040e-02  1.122e-05  6.285e-07  5.037e-02";
    assert!(TrackingUpdate::parse(line).unwrap().is_some());
    assert_eq!(TrackingUpdate::parse("").unwrap(), None);
    assert_eq!(TrackingUpdate::parse("=====").unwrap(), None);
    assert_eq!(column("Nov 25 00:55:20 host chronyd[1]: Selected source 10.77.0.1"), "date");
    assert_eq!(column(&line.replace("11-25", "02-29")), "date");
    assert_eq!(column(&line.replace("00:55", "00:61")), "time");
    assert_eq!(column(&line.replace(" N ", " X ")), "leap status");
    assert_eq!(column(&line.replace("19.991", "nan")), "frequency");
    assert_eq!(column(&line[..line.len() - 11]), "maximum error");
    assert_eq!(column(&format!("{line} more")), "end of line");
    // A line of another of the three logs.
    assert_eq!(Statistics::parse(line).unwrap_err(), ForeignLine { log: "statistics", column: "skew" });
    assert!(Measurement::parse(line).is_err());
}

proptest! {
    #[test]
    fn any_line_is_read_or_refused(line: String) {
        let _ = (Measurement::parse(&line), Statistics::parse(&line), TrackingUpdate::parse(&line));
    }

    /// Real columns in any order and number.
    #[test]
    fn any_columns_are_read_or_refused(columns in proptest::collection::vec(
        prop::sample::select(vec!["2026-11-25", "9999-12-31", "00:55:20", "10.0.0.1", "N", "?", "1", "111", "1111", "-5e-2", "1e999", "7F7F0101", "4B", "K"]), 0..20)) {
        let line = columns.join(" ");
        let _ = (Measurement::parse(&line), Statistics::parse(&line), TrackingUpdate::parse(&line));
    }
}
