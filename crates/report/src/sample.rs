//! Records for the tests of this crate.

use record::{Histogram, Manifest, Measurement, Place, Record, Series, Validity};

/// A run without samples.
pub(crate) fn run(validity: Validity) -> Record {
    let empty = Record::empty("one".to_owned(), Measurement::Wakeup, Manifest::default());
    Record { label: "idle".to_owned(), validity, ..empty }
}

/// A run with the given samples (ns).
pub(crate) fn run_of(id: &str, samples: &[u64], validity: Validity) -> Record {
    let mut histogram = Histogram::new();
    samples.iter().for_each(|ns| histogram.record_n(*ns, 1));
    let series = vec![Series {
        name: "scheduled_to_woke".to_owned(),
        place: Place::thread(0, Some(1)),
        histogram,
        ..Series::default()
    }];
    Record { id: id.to_owned(), series, ..run(validity) }
}
