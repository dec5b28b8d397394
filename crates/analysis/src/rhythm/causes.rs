//! What `--explain` showed for the samples of a rhythm stands above what its period alone makes likely.

use std::collections::BTreeMap;

use record::{Certainty, ExplainedSample, Explanation, Rhythm, RhythmEnd, RhythmScan};

/// Fewer explained samples of a rhythm say nothing of it.
const LEAST_EXPLAINED: usize = 3;

/// Names the cause of each rhythm that was shown for at least half of its explained samples.
pub fn with_causes(scan: &mut RhythmScan, explanation: &Explanation, started_ns: i64) {
    for rhythm in &mut scan.rhythms {
        let inside: Vec<&ExplainedSample> =
            explanation.samples.iter().filter(|sample| is_of(rhythm, sample, started_ns)).collect();
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for sample in inside.iter().filter(|sample| sample.certainty == Certainty::Shown) {
            let words = sample.class.words();
            let name = if sample.name.is_empty() { words.to_owned() } else { format!("{words}: {}", sample.name) };
            *counts.entry(name).or_default() += 1;
        }
        let most = counts.into_iter().max_by_key(|(_, count)| *count);
        rhythm.shown = most
            .filter(|(_, count)| inside.len() >= LEAST_EXPLAINED && 2 * count >= inside.len())
            .map(|(name, _)| name);
    }
}

fn is_of(rhythm: &Rhythm, sample: &ExplainedSample, started_ns: i64) -> bool {
    let at = match rhythm.end {
        RhythmEnd::Begins => sample.scheduled,
        RhythmEnd::Ends => sample.woke,
    };
    let from_start_ns = units::approx_f64_i64(at.monotonic.as_ns().saturating_sub(started_ns));
    let apart = (from_start_ns - units::approx_f64(rhythm.phase_ns)) / rhythm.period_ns;
    let is_in_phase = (apart - apart.round()).abs() * rhythm.period_ns <= units::approx_f64(rhythm.width_ns) / 2.0;
    let is_late = u64::try_from(sample.latency_ns).is_ok_and(|ns| ns > rhythm.above_ns);
    is_in_phase && is_late && (rhythm.cpus.is_empty() || rhythm.cpus.contains(sample.cpu))
}

#[cfg(test)]
mod tests {
    use record::{CauseClass, Moment};
    use units::Timestamp;

    use super::*;

    fn explained(woke_ns: i64, certainty: Certainty, name: &str) -> ExplainedSample {
        let moment =
            |monotonic_ns| Moment { monotonic: Timestamp::from_ns(monotonic_ns), realtime: Timestamp::from_ns(0) };
        ExplainedSample {
            latency_ns: 2_000_000,
            scheduled: moment(woke_ns - 2_000_000),
            woke: moment(woke_ns),
            class: CauseClass::Thread,
            name: name.to_owned(),
            certainty,
            ..ExplainedSample::default()
        }
    }

    #[test]
    fn what_was_shown_for_most_of_them_is_the_cause() {
        let rhythm = Rhythm { phase_ns: 10_000_000, ..crate::rhythm::known::tests::rhythm(100_000_000, 2_000_000, 9) };
        let check = |samples: &[(i64, Certainty, &str)], expected: Option<&str>| {
            let mut scan = RhythmScan { rhythms: vec![rhythm.clone()], ..RhythmScan::default() };
            let samples = samples.iter().map(|(ms, sure, name)| explained(ms * 1_000_000 + 500, *sure, name)).collect();
            with_causes(&mut scan, &Explanation { samples, ..Explanation::default() }, 500);
            assert_eq!(scan.rhythms[0].shown.as_deref(), expected);
        };
        let (shown, likely) = (Certainty::Shown, Certainty::Likely);
        check(&[(110, shown, "poller"), (310, shown, "poller"), (710, shown, "poller")], Some("thread: poller"));
        check(&[(110, likely, "poller"), (310, likely, "poller"), (710, likely, "poller")], None);
        check(&[(110, shown, "poller"), (310, shown, "poller")], None);
        // Out of phase: samples of something else.
        check(&[(110, shown, "a"), (350, shown, "a"), (360, shown, "a"), (710, shown, "a")], None);
    }
}
