//! What is known of a run of `answer` beside its latencies.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Edges of an input that were answered by an output, and what a witness says of the same answers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerRun {
    /// Edges that the kernel reported, those included by which the thread was warmed up.
    pub edges: u64,
    /// Of these, the first ones, by which it was warmed up: they are in no latency.
    pub warm_up: u64,
    /// Edges that the kernel had no room for, by the gaps in their numbers: they were not answered.
    pub overflowed: u64,
    /// The witness, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<AnswerWitness>,
}

/// A board of its own that makes each edge and stamps its answer (`latmon`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct AnswerWitness {
    /// Where it was reached: address and port.
    pub address: String,
    /// Time from one answer to the next edge, as it was asked (ns).
    pub period_ns: u64,
    /// How often it was asked to measure: more than once where it ended before it was told.
    pub sessions: u64,
    /// Answers in its frames.
    pub samples: u64,
    /// Answers that are in its histogram and in no frame, since it takes its first second for a warm-up.
    pub warm_up: u64,
    /// Answers in its histogram.
    pub in_histogram: u64,
    /// Answers in its histogram beyond those of its frames and of the warm-up: where it counts rightly, those of frames that it did not
    /// send.
    pub unsent: u64,
    /// Frames that it sent before it can have measured for so long: an earlier run left them in its queue. They count nowhere.
    #[serde(default)]
    pub left_over_frames: u64,
    /// Answers that it gave up, and periods that answers took longer than one. How late they were it does not say: at least
    /// `overrun_ns`.
    pub overruns: u64,
    /// The least that an overrun was late (ns): what it waits at most, where all of them were given up; else the shorter of that and
    /// the period.
    pub overrun_ns: u64,
    /// The shortest of its frames (ns); absent without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<u64>,
    /// The longest of its frames (ns); absent without an answer. With overruns, or frames that it did not send, the true one may be
    /// longer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Sum of all of its frames (ns).
    pub sum_ns: u64,
    /// What it adds to each latency itself, as its user has calibrated it (ns); absent where that was not stated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_ns: Option<u64>,
    /// Its frames in the order of time, neighbors taken together where there were many.
    #[serde(default)]
    pub seconds: Vec<WitnessSecond>,
    /// Why it says no more, where it was lost before its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

/// What a witness said of a second of edges, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WitnessSecond {
    /// When the frame arrived, from the start of the run (ns): its edges came before.
    pub at_offset_ns: u64,
    /// Frames that are taken together.
    pub frames: u32,
    /// How many answers they tell of, without those that were given up.
    pub samples: u64,
    /// Answers that were given up, and periods that answers took longer than one. With any the maximum is a lower bound.
    pub overruns: u64,
    /// The shortest (ns); absent without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_ns: Option<u64>,
    /// The longest (ns); absent without an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_ns: Option<u64>,
    /// Sum (ns).
    pub sum_ns: u64,
}

impl AnswerWitness {
    /// Seconds that a run keeps.
    const MOST_SECONDS: usize = 600;

    /// Takes over what a frame says.
    pub fn add(&mut self, second: WitnessSecond) {
        self.samples = self.samples.saturating_add(second.samples);
        self.overruns = self.overruns.saturating_add(second.overruns);
        self.sum_ns = self.sum_ns.saturating_add(second.sum_ns);
        self.min_ns = self.min_ns.into_iter().chain(second.min_ns).min();
        self.max_ns = self.max_ns.max(second.max_ns);
        self.seconds.push(second);
        if self.seconds.len() > Self::MOST_SECONDS {
            let pairs = self.seconds.chunks(2).map(|pair| pair.iter().copied().reduce(WitnessSecond::and));
            self.seconds = pairs.flatten().collect();
        }
    }

    /// Whether each of its overruns is an answer that it gave up: none of its frames has one that took longer than a period, which it
    /// counts as an overrun too.
    #[must_use]
    pub fn has_given_all_up(&self) -> bool {
        let in_us = |ns: u64| ns / 1_000;
        self.max_ns.is_none_or(|max_ns| in_us(max_ns) <= in_us(self.period_ns))
    }

    /// How many frames it sent.
    #[must_use]
    pub fn frames(&self) -> u64 {
        units::total(self.seconds.iter().map(|one| u64::from(one.frames)))
    }

    /// The mean of its frames (ns); `None` without an answer.
    #[must_use]
    pub fn mean_ns(&self) -> Option<f64> {
        (self.samples > 0).then(|| units::approx_f64(self.sum_ns) / units::approx_f64(self.samples))
    }
}

impl WitnessSecond {
    /// Both together, of which the other one is later.
    fn and(self, later: Self) -> Self {
        Self {
            at_offset_ns: later.at_offset_ns,
            frames: self.frames.saturating_add(later.frames),
            samples: self.samples.saturating_add(later.samples),
            overruns: self.overruns.saturating_add(later.overruns),
            min_ns: self.min_ns.into_iter().chain(later.min_ns).min(),
            max_ns: self.max_ns.max(later.max_ns),
            sum_ns: self.sum_ns.saturating_add(later.sum_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_seconds_are_taken_together_and_nothing_of_them_is_lost() {
        let mut witness = AnswerWitness::default();
        for second in 1..=2_000 {
            witness.add(WitnessSecond {
                at_offset_ns: second * 1_000_000_000,
                frames: 1,
                samples: 10,
                overruns: u64::from(second == 77),
                min_ns: Some(1_000 + second),
                max_ns: (second != 5).then_some(100_000 - second),
                sum_ns: 20_000,
            });
        }
        let of = |sum: fn(&WitnessSecond) -> u64| witness.seconds.iter().map(sum).sum::<u64>();
        assert!(witness.seconds.len() <= AnswerWitness::MOST_SECONDS);
        assert_eq!(
            (of(|one| u64::from(one.frames)), of(|one| one.samples), of(|one| one.overruns)),
            (2_000, 20_000, 1)
        );
        assert_eq!((witness.samples, witness.overruns, witness.mean_ns()), (20_000, 1, Some(2_000.0)));
        assert_eq!(witness.frames(), 2_000);
        assert_eq!((witness.min_ns, witness.max_ns), (Some(1_001), Some(99_999)));
        assert_eq!(witness.seconds.iter().filter_map(|one| one.max_ns).max(), Some(99_999));
        assert_eq!(witness.seconds.iter().filter_map(|one| one.min_ns).min(), Some(1_001));
        assert_eq!((of(|one| one.sum_ns), witness.sum_ns), (40_000_000, 40_000_000));
        // Those that are taken together arrived when the last of them did: all their edges came before.
        let mut frames = 0;
        for group in &witness.seconds {
            frames += u64::from(group.frames);
            assert_eq!(group.at_offset_ns, frames * 1_000_000_000);
        }
        assert!(witness.seconds.windows(2).all(|pair| pair[0].at_offset_ns < pair[1].at_offset_ns));
    }
}
