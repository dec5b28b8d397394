//! Builders of records for the tests of this crate.

use record::{Histogram, Manifest, Measurement, Place, Record, Requested, Series};

/// A valid run of one thread on CPU 2 with these samples (ns).
pub(crate) fn record_of(measurement: Measurement, latencies_ns: &[u64]) -> Record {
    let mut histogram = Histogram::new();
    latencies_ns.iter().for_each(|ns| histogram.record_n(*ns, 1));
    let manifest = Manifest {
        requested: Requested { cpus: [2].into_iter().collect(), ..Requested::default() },
        ..Manifest::default()
    };
    let series = Series {
        name: "scheduled_to_woke".to_owned(),
        place: Place::thread(0, Some(2)),
        histogram,
        ..Series::default()
    };
    Record { series: vec![series], ..Record::empty("1".to_owned(), measurement, manifest) }
}
