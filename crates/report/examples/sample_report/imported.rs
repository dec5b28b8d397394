//! Imports of cyclictest's tables: a real one, and one of 64 threads with a tail of two milliseconds.

use std::fmt::Write as _;

use foreign::Options;
use record::Record;
use units::{Random, approx_f64, round_u64};

/// A table that cyclictest wrote.
const REAL: &[u8] = include_bytes!("../../../../fixtures/foreign/cyclictest-histogram.txt");

/// The record of an import.
///
/// # Panics
/// Never: the texts are tables of cyclictest.
fn imported(text: &[u8], label: &str) -> Record {
    foreign::import(text, None, Options::default()).expect("a table of cyclictest").into_record(label)
}

pub(crate) fn from_fixture() -> Record {
    imported(REAL, "night")
}

const THREADS: usize = 64;
/// Rows of the table: `cyclictest -h 2500`.
const ROWS: u64 = 2_500;

/// A table of 57 million samples in bins of 1 us. Each bin of the body is full: a gap in a drawing of it is not in the data.
pub(crate) fn of_64_threads() -> Record {
    let mut random = Random::new(64);
    let mut columns = vec![vec![0_u64; usize::try_from(ROWS).unwrap_or(0)]; THREADS];
    for (thread, column) in columns.iter_mut().enumerate() {
        let mode_us = 6.0 + 0.03 * approx_f64(thread as u64);
        for (us, count) in (0_u64..).zip(column.iter_mut()) {
            let at = approx_f64(us);
            let body = 240_000.0 * (-((at - mode_us) / 3.0).powi(2)).exp();
            let tail = 30_000.0 * (-at / 14.0).exp();
            *count = if us < 3 { 0 } else { round_u64((body + tail) * (0.97 + 0.06 * random.unit())) };
        }
        for _ in 0..3 {
            let far = round_u64(200.0 + 1_800.0 * random.unit().powi(3));
            column[usize::try_from(far).unwrap_or(0)] += 1;
        }
    }
    columns[41][1_991] += 1;
    imported(table(&columns).as_bytes(), "rack")
}

/// The text that cyclictest prints for the counts of its threads.
fn table(columns: &[Vec<u64>]) -> String {
    let mut text = "# /dev/cpu_dma_latency set to 0us\n# Histogram\n".to_owned();
    for row in 0..ROWS {
        let at = usize::try_from(row).unwrap_or(0);
        let counts: Vec<String> = columns.iter().map(|column| format!("{:06}", column[at])).collect();
        let _ = writeln!(text, "{row:06} {}", counts.join("\t"));
    }
    let each = |of: &dyn Fn(&[u64]) -> u64| {
        columns.iter().map(|column| format!("{:09}", of(column))).collect::<Vec<_>>().join(" ")
    };
    let first = |column: &[u64]| (0..).zip(column).find(|(_, count)| **count > 0).map_or(0, |(us, _)| us);
    let last =
        |column: &[u64]| (0..).zip(column).filter(|(_, count)| **count > 0).map(|(us, _)| us).last().unwrap_or(0);
    let total = |column: &[u64]| column.iter().sum();
    let mean = |column: &[u64]| {
        (0_u64..).zip(column).map(|(us, count)| us * count).sum::<u64>() / column.iter().sum::<u64>().max(1)
    };
    let _ = writeln!(text, "# Total: {}", each(&total));
    let _ = writeln!(text, "# Min Latencies: {}", each(&first));
    let _ = writeln!(text, "# Avg Latencies: {}", each(&mean));
    let _ = writeln!(text, "# Max Latencies: {}", each(&last));
    let _ = writeln!(text, "# Histogram Overflows: {}", each(&|_| 0));
    text
}
