//! The causes of a run, summed, and its worst samples with their timelines.

use std::cmp::Reverse;

use record::{CauseTotal, Certainty, ExplainedSample, Histogram};

use super::remedy::remedy;

/// Samples that are kept with their timelines.
const KEPT: usize = 64;

/// Sums causes up.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    causes: Vec<CauseTotal>,
    samples: Vec<ExplainedSample>,
    explained: u64,
}

impl Totals {
    /// Takes an explained sample in.
    pub fn add(&mut self, sample: ExplainedSample) {
        self.explained += 1;
        let took_ns = took_ns(&sample);
        let latency_ns = u64::try_from(sample.latency_ns).unwrap_or(0);
        let found = self.causes.iter_mut().find(|cause| cause.class == sample.class && cause.name == sample.name);
        match found {
            Some(cause) => {
                cause.samples += 1;
                cause.took_ns = cause.took_ns.saturating_add(took_ns);
                cause.worst_ns = cause.worst_ns.max(sample.latency_ns);
                cause.certainty = cause.certainty.max(sample.certainty);
                cause.latencies.record_n(latency_ns, 1);
            }
            None => {
                let (words, finding) = remedy(sample.class);
                let mut latencies = Histogram::new();
                latencies.record_n(latency_ns, 1);
                self.causes.push(CauseTotal {
                    class: sample.class,
                    name: sample.name.clone(),
                    certainty: sample.certainty,
                    samples: 1,
                    worst_ns: sample.latency_ns,
                    took_ns,
                    latencies,
                    remedy: words.to_owned(),
                    finding: finding.map(str::to_owned),
                });
            }
        }
        self.samples.push(sample);
        if self.samples.len() == 2 * KEPT {
            self.keep_the_worst();
        }
    }

    /// Samples taken in.
    #[must_use]
    pub const fn explained(&self) -> u64 {
        self.explained
    }

    fn keep_the_worst(&mut self) {
        self.samples.sort_by_key(|sample| (Reverse(sample.latency_ns), sample.scheduled.monotonic_ns));
        self.samples.truncate(KEPT);
    }

    /// The causes, that of the most samples first, and the worst samples, worst first.
    #[must_use]
    pub fn finish(mut self) -> (Vec<CauseTotal>, Vec<ExplainedSample>) {
        self.keep_the_worst();
        self.causes.sort_by_key(|cause| (Reverse(cause.samples), Reverse(cause.worst_ns)));
        (self.causes, self.samples)
    }
}

/// Joins causes whose names have turned out to be the same, and puts all in order.
pub fn join_alike(causes: &mut Vec<CauseTotal>) {
    let mut joined: Vec<CauseTotal> = Vec::new();
    for cause in causes.drain(..) {
        match joined.iter_mut().find(|other| other.class == cause.class && other.name == cause.name) {
            Some(other) => {
                other.samples += cause.samples;
                other.took_ns = other.took_ns.saturating_add(cause.took_ns);
                other.worst_ns = other.worst_ns.max(cause.worst_ns);
                other.certainty = other.certainty.max(cause.certainty);
                other.latencies.merge(&cause.latencies);
            }
            None => joined.push(cause),
        }
    }
    joined.sort_by_key(|cause| (Reverse(cause.samples), Reverse(cause.worst_ns)));
    *causes = joined;
}

/// What its cause took of a sample; where nothing recorded covers it, all of it.
fn took_ns(sample: &ExplainedSample) -> u64 {
    let whole_ns = u64::try_from(sample.latency_ns).unwrap_or(0);
    let parts = sample.parts.iter().filter(|part| part.class == sample.class).map(|part| part.net_ns);
    match sample.certainty {
        Certainty::Unknown => whole_ns,
        _ => Some(parts.sum()).filter(|&ns: &u64| ns > 0).unwrap_or(whole_ns),
    }
}
