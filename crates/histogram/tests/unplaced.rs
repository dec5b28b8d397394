//! Histograms with samples of other programs of which only the range is known.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use histogram::{Histogram, Unplaced};

/// 90 samples of 10 us, a maximum of 500 us, and 9 unplaced samples between 60 us and the maximum.
fn histogram_with_9_unplaced() -> Histogram {
    let mut histogram = Histogram::new();
    histogram.record_n(10_000, 90);
    histogram.record_n(500_000, 1);
    histogram.add_unplaced(Unplaced { count: 9, from_ns: 60_000 });
    histogram.set_sum_ns(3_000_000);
    histogram
}

#[test]
fn statistics_that_depend_on_unplaced_samples_are_unknown() {
    let histogram = histogram_with_9_unplaced();
    assert_eq!((histogram.count(), histogram.max_ns()), (100, Some(500_000)));
    assert_eq!(histogram.quantile_ns(0.9), Some(10_007));
    assert_eq!(histogram.quantile_ns(0.95), None, "it is among the unplaced samples");
    assert_eq!(histogram.quantile_ns(1.0), Some(500_000));
    assert_eq!(histogram.sd_ns(), None);
    assert!((histogram.mean_ns().unwrap() - 30_000.0).abs() < 1e-9);
    assert_eq!(histogram.quantiles().len(), 2);
}

#[test]
fn quantiles_in_bins_above_unplaced_samples_are_unknown() {
    let mut histogram = histogram_with_9_unplaced();
    histogram.record_n(100_000, 100);
    assert_eq!(histogram.quantile_ns(0.4), Some(10_007));
    assert_eq!(histogram.quantile_ns(0.6), None, "between none and nine samples are below that bin");
}

#[test]
fn samples_that_may_exceed_a_limit_count_as_exceeding() {
    let histogram = histogram_with_9_unplaced();
    assert_eq!(histogram.count_above(20_000), 10);
    assert_eq!(histogram.count_above(400_000), 10, "all unplaced samples may exceed it");
    assert_eq!(histogram.count_above(500_000), 0);
}

#[test]
fn unplaced_samples_are_written_read_and_merged() {
    let histogram = histogram_with_9_unplaced();
    let json = serde_json::to_string(&histogram).unwrap();
    assert_eq!(serde_json::from_str::<Histogram>(&json).unwrap(), histogram);
    let mut both = histogram.clone();
    both.merge(&histogram);
    assert_eq!((both.count(), both.unplaced()), (200, Some(Unplaced { count: 18, from_ns: 60_000 })));
}

#[test]
fn unplaced_samples_that_contradict_the_summary_are_refused() {
    let mut value = serde_json::to_value(histogram_with_9_unplaced()).unwrap();
    value["unplaced"]["from_ns"] = 600_000.into();
    let error = serde_json::from_value::<Histogram>(value.clone()).unwrap_err().to_string();
    assert!(error.contains("contradicts itself"), "{error}");
    value["unplaced"] = serde_json::json!({ "count": 8, "from_ns": 60_000 });
    let error = serde_json::from_value::<Histogram>(value).unwrap_err().to_string();
    assert!(error.contains("count is 100 and the bins hold 99"), "{error}");
}
