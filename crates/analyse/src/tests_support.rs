//! Records for the tests of this crate.

use record::{
    CauseClass, Certainty, DmaLatency, ExplainedSample, Histogram, Instrument, LoadManifest, Manifest, Measurement,
    Moment, NodeIdentity, Origin, Record, Requested, Series, ToolVersion, Validity,
};

/// A valid run of one thread on CPU 2 with these samples.
pub(crate) fn record_of(measurement: Measurement, latencies_ns: &[u64]) -> Record {
    let mut histogram = Histogram::new();
    latencies_ns.iter().for_each(|ns| histogram.record_n(*ns, 1));
    Record {
        schema: record::SCHEMA.to_owned(),
        version: record::VERSION,
        id: "1".to_owned(),
        measurement,
        label: String::new(),
        validity: Validity::default(),
        verdict: None,
        manifest: Manifest {
            tool: ToolVersion::default(),
            command: Vec::new(),
            node: NodeIdentity::default(),
            started: Moment::default(),
            ended: Moment::default(),
            time_zone: None,
            request: None,
            requested: Requested { cpus: [2].into_iter().collect(), ..Requested::default() },
            effective: Vec::new(),
            load: LoadManifest::default(),
            dma_latency: DmaLatency::default(),
            instrument: Instrument::default(),
            clock_steps: Vec::new(),
            ended_because: None,
            profile_sha256: None,
            origin: Origin::Punctual,
        },
        series: vec![Series { name: "scheduled_to_woke".to_owned(), cpu: Some(2), histogram, ..Series::default() }],
        worst: Vec::new(),
        rows: Vec::new(),
        explanation: None,
        rhythm: None,
        app: None,
    }
}

/// A sample that such a cause made late, as shown.
pub(crate) fn explained(class: CauseClass, name: &str, latency_ns: i64) -> ExplainedSample {
    ExplainedSample {
        cpu: 2,
        latency_ns,
        class,
        name: name.to_owned(),
        certainty: Certainty::Shown,
        ..ExplainedSample::default()
    }
}
