//! Runs that nobody measured, as records.

use std::path::{Path, PathBuf};

use record::{Histogram, Interval, Record, Validity};

use super::fixtures;

/// A sound run of intervals of `length_ns`, each of `samples` latencies that `latency_ns` makes of 31 random bits; the
/// rest is as in a real record. Each name has bits of its own.
pub(crate) fn synthetic(
    name: &str,
    intervals: u64,
    length_ns: u64,
    samples: u64,
    latency_ns: impl Fn(u64) -> u64,
) -> Record {
    let text = std::fs::read_to_string(fixtures().join("calibration/idle/quiet.json")).unwrap();
    let mut record = Record::from_json(&text).unwrap();
    record.id = name.to_owned();
    record.validity = Validity::default();
    record.series.truncate(1);
    let mut made = Vec::new();
    let mut step = name.bytes().fold(7_u64, |sum, byte| sum * 31 + u64::from(byte));
    for interval in 0..intervals {
        let mut histogram = Histogram::new();
        for _ in 0..samples {
            step = step.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            histogram.record_n(latency_ns(step >> 33), 1);
        }
        made.push(Interval { start_offset_ns: interval * length_ns, length_ns, histogram, ..Interval::default() });
    }
    corpus::replace_intervals(&mut record.series[0], made);
    record
}

/// Writes a record into a folder.
pub(crate) fn write(folder: &Path, name: &str, record: &Record) -> PathBuf {
    let file = folder.join(format!("{name}.json"));
    std::fs::write(&file, record.to_json()).unwrap();
    file
}
