//! Records for the tests of this crate.

use record::{Histogram, Manifest, Measurement, Record, SCHEMA, Series, VERSION, Validity};

/// A run without a sample.
pub(crate) fn run(validity: Validity) -> Record {
    Record {
        schema: SCHEMA.to_owned(),
        version: VERSION,
        id: "one".to_owned(),
        measurement: Measurement::Wakeup,
        label: "idle".to_owned(),
        validity,
        verdict: None,
        manifest: empty_manifest(),
        series: Vec::new(),
        worst: Vec::new(),
        rows: Vec::new(),
        explanation: None,
        rhythm: None,
        app: None,
    }
}

fn empty_manifest() -> Manifest {
    Manifest {
        tool: record::ToolVersion::default(),
        command: Vec::new(),
        node: record::NodeIdentity::default(),
        started: record::Moment::default(),
        ended: record::Moment::default(),
        time_zone: None,
        request: None,
        requested: record::Requested::default(),
        effective: Vec::new(),
        load: record::LoadManifest::default(),
        dma_latency: record::DmaLatency::default(),
        instrument: record::Instrument::default(),
        clock_steps: Vec::new(),
        ended_because: None,
        profile_sha256: None,
        origin: record::Origin::default(),
    }
}

/// A run of these samples (ns).
pub(crate) fn run_of(id: &str, samples: &[u64], validity: Validity) -> Record {
    let mut histogram = Histogram::new();
    samples.iter().for_each(|ns| histogram.record_n(*ns, 1));
    let series = vec![Series { name: "scheduled_to_woke".to_owned(), cpu: Some(1), histogram, ..Series::default() }];
    Record { id: id.to_owned(), series, ..run(validity) }
}
