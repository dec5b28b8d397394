//! The causes of a run, summed, and its worst samples with their timelines.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use record::{CauseTotal, Certainty, Counters, ExplainedSample, Histogram};

use super::below_kernel::BelowKernel;
use super::reconcile::reconcile;
use super::remedy::remedy;
use super::same_moment::Waiting;
use super::surroundings::Surroundings;

/// Samples that are kept with their timelines.
const KEPT: usize = 64;

/// Sums causes up.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// By the number of the thread, from 0: each is held against its own counters.
    causes: BTreeMap<u32, Vec<CauseTotal>>,
    samples: Vec<ExplainedSample>,
    explained: u64,
    /// Samples that may still be matched with those of other CPUs.
    waiting: Waiting,
    /// The limit, where one was stated (ns).
    deadline_ns: Option<u64>,
    /// Samples that are kept beyond the usual number.
    keeps_more: usize,
}

impl Totals {
    /// Counts how many samples of each cause are beyond this limit (ns), where one was stated.
    #[must_use]
    pub fn with_deadline(deadline_ns: Option<u64>) -> Self {
        Self { deadline_ns, ..Self::default() }
    }

    /// Keeps this many samples more than usual, so that each of many threads has its worst among them.
    #[must_use]
    pub const fn keeping_more(mut self, samples: usize) -> Self {
        self.keeps_more = samples;
        self
    }

    /// Hands out all that was taken in, and begins anew with the same settings.
    #[must_use]
    pub fn take(&mut self) -> Self {
        let fresh = Self { deadline_ns: self.deadline_ns, keeps_more: self.keeps_more, ..Self::default() };
        std::mem::replace(self, fresh)
    }

    /// Takes an explained sample in, with what lies below its CPU. It is counted once no sample of another CPU can be of the
    /// same moment any more.
    pub fn add(&mut self, sample: ExplainedSample, place: BelowKernel) {
        self.explained += 1;
        let is_counted = place.stolen().is_some() || place.smis().is_some();
        for settled in self.waiting.add(sample, is_counted) {
            self.count(settled);
        }
    }

    fn count(&mut self, sample: ExplainedSample) {
        let took_ns = took_ns(&sample);
        let latency_ns = u64::try_from(sample.latency_ns).unwrap_or(0);
        let beyond = self.deadline_ns.map(|limit_ns| u64::from(latency_ns > limit_ns));
        let causes = self.causes.entry(sample.thread).or_default();
        let found = causes
            .iter_mut()
            .find(|cause| (cause.class, &cause.name, cause.owner) == (sample.class, &sample.name, sample.owner));
        match found {
            Some(cause) => {
                cause.samples += 1;
                cause.took_ns = cause.took_ns.saturating_add(took_ns);
                cause.worst_ns = cause.worst_ns.max(sample.latency_ns);
                cause.certainty = cause.certainty.max(sample.certainty);
                cause.beyond_deadline = sum(cause.beyond_deadline, beyond);
                cause.latencies.record_n(latency_ns, 1);
            }
            None => {
                let mut latencies = Histogram::new();
                latencies.record_n(latency_ns, 1);
                causes.push(CauseTotal {
                    class: sample.class,
                    name: sample.name.clone(),
                    certainty: sample.certainty,
                    samples: 1,
                    worst_ns: sample.latency_ns,
                    took_ns,
                    latencies,
                    beyond_deadline: beyond,
                    owner: sample.owner,
                    remedy: String::new(),
                    finding: None,
                });
            }
        }
        self.samples.push(sample);
        if self.samples.len() == 2 * self.keeps() {
            self.keep_the_worst();
        }
    }

    /// Samples taken in.
    #[must_use]
    pub const fn explained(&self) -> u64 {
        self.explained
    }

    const fn keeps(&self) -> usize {
        KEPT.saturating_add(self.keeps_more)
    }

    fn keep_the_worst(&mut self) {
        self.samples.sort_by_key(|sample| (Reverse(sample.latency_ns), sample.scheduled.monotonic.as_ns()));
        self.samples.truncate(self.keeps());
    }

    /// The causes, that of the most samples first, and the worst samples, worst first. `counters` are those that the record has
    /// of each thread, by its number from 0; `None` where it has none. What they contradict is no cause.
    #[must_use]
    pub fn finish(mut self, counters: impl Fn(u32) -> Option<Counters>) -> (Vec<CauseTotal>, Vec<ExplainedSample>) {
        for settled in std::mem::take(&mut self.waiting).finish() {
            self.count(settled);
        }
        self.keep_the_worst();
        let mut all = Vec::new();
        for (thread, mut causes) in self.causes {
            let mut samples: Vec<&mut ExplainedSample> =
                self.samples.iter_mut().filter(|sample| sample.thread == thread).collect();
            reconcile(&mut causes, &mut samples, counters(thread).as_ref());
            all.extend(causes);
        }
        join_alike(&mut all);
        (all, self.samples)
    }
}

/// Joins causes whose names have turned out to be the same, and puts all in order.
pub fn join_alike(causes: &mut Vec<CauseTotal>) {
    let mut joined: Vec<CauseTotal> = Vec::new();
    for cause in causes.drain(..) {
        match joined
            .iter_mut()
            .find(|other| (other.class, &other.name, other.owner) == (cause.class, &cause.name, cause.owner))
        {
            Some(other) => {
                other.samples += cause.samples;
                other.took_ns = other.took_ns.saturating_add(cause.took_ns);
                other.worst_ns = other.worst_ns.max(cause.worst_ns);
                other.certainty = other.certainty.max(cause.certainty);
                other.beyond_deadline = sum(other.beyond_deadline, cause.beyond_deadline);
                other.latencies.merge(&cause.latencies);
            }
            None => joined.push(cause),
        }
    }
    joined.sort_by_key(|cause| (Reverse(cause.samples), Reverse(cause.worst_ns)));
    *causes = joined;
}

/// Says of each cause what to change on this machine.
pub fn put_remedies(causes: &mut [CauseTotal], surroundings: &Surroundings) {
    for cause in causes {
        let found = remedy(cause.class, &cause.name, cause.owner, surroundings);
        cause.remedy = found.words;
        cause.finding = found.finding.map(str::to_owned);
    }
}

/// Two counts, of which both are there or none.
fn sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_out_is_not_handed_out_again_and_many_threads_have_room() {
        let mut totals = Totals::default().keeping_more(KEPT);
        let sample = |at: usize| ExplainedSample {
            thread: u32::from(at % 2 == 1),
            latency_ns: if at % 2 == 1 { 1 } else { 1_000 },
            ..ExplainedSample::default()
        };
        (0..2 * KEPT).for_each(|at| totals.add(sample(at), BelowKernel::default()));
        let (_, samples) = totals.take().finish(|_| None);
        assert_eq!(samples.iter().filter(|sample| sample.thread == 1).count(), KEPT, "the lesser ones are kept too");
        assert_eq!((totals.explained(), totals.keeps()), (0, 2 * KEPT));
        assert_eq!(totals.take().finish(|_| None).1, []);
    }
}
