//! What one run says of its deadline, and how it ends.

use record::{Deciding, Record, Verdict, VerdictState};
use units::format;

/// How a command that made this run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// Valid or degraded, and no stated limit is broken.
    Holds,
    /// A stated limit is broken.
    Broken,
    /// The numbers do not mean what was asked; outranks `Broken`.
    Invalid,
}

/// How a run ends: its validity first, then its verdict.
#[must_use]
pub fn outcome(record: &Record) -> RunOutcome {
    if record.validity.is_invalid() {
        RunOutcome::Invalid
    } else {
        match record.verdict.as_ref().map(|verdict| verdict.state) {
            // A record of an earlier version may say so from hardly a sample.
            Some(VerdictState::Holds) if record.shortfall().is_some() => RunOutcome::Invalid,
            None | Some(VerdictState::Holds) => RunOutcome::Holds,
            Some(VerdictState::Broken) => RunOutcome::Broken,
            // An invalid run, one without a sample, or one that measured too little of what was asked.
            Some(VerdictState::CannotTell) => RunOutcome::Invalid,
        }
    }
}

/// Holds a run against a deadline.
///
/// Every sample counts. A sample beyond the deadline breaks it,
/// however short the run; that it holds is said only where the run measured enough ([`Record::shortfall`]).
#[must_use]
pub fn verdict(record: &Record, deadline_ns: u64) -> Verdict {
    let worst = record.worst_of_all();
    let beyond = units::total(record.series.iter().map(|series| series.histogram.count_above(deadline_ns)));
    let samples = record.samples();
    let missed_periods = units::total(record.series.iter().map(|series| series.counters.missed_periods));
    let deciding = worst.map(|(worst_ns, cpu)| Deciding {
        worst_ns: i64::try_from(worst_ns).unwrap_or(i64::MAX),
        cpu,
        samples,
        beyond,
        missed_periods,
    });
    let kind = record.measurement.kind();
    let what = kind.samples;
    let limit = format::span(deadline_ns);
    let (state, reason) = match &deciding {
        _ if record.validity.is_invalid() => {
            let why =
                record.validity.reasons().first().map_or_else(String::new, |reason| format!(": {}", reason.detail));
            (VerdictState::CannotTell, format!("the run is invalid{why}"))
        }
        None if kind.sampling.is_quiet_without_samples() && !record.series.is_empty() => {
            let none = format!("no {} reached the threshold", kind.sample);
            match record.shortfall() {
                None => (VerdictState::Holds, none),
                Some(shortfall) => {
                    (VerdictState::CannotTell, format!("{none}, but too little was measured: {shortfall}"))
                }
            }
        }
        None => (VerdictState::CannotTell, "there is not a single sample".to_owned()),
        Some(deciding) => {
            let place = deciding.cpu.map_or_else(String::new, |cpu| format!(" on CPU {cpu}"));
            let worst =
                format!("worst of {} {what} {}{place}", format::count(samples), format::latency(deciding.worst_ns));
            if beyond == 0 {
                match record.shortfall() {
                    None => (VerdictState::Holds, format!("{worst}, within {limit}")),
                    Some(shortfall) => (
                        VerdictState::CannotTell,
                        format!(
                            "{worst}, within {limit}, but too little was measured to say that it holds: {shortfall}"
                        ),
                    ),
                }
            } else {
                let missed = if missed_periods == 0 {
                    String::new()
                } else {
                    format!(", {} periods missed", format::count(missed_periods))
                };
                (VerdictState::Broken, format!("{worst}; {} beyond {limit}{missed}", format::count(beyond)))
            }
        }
    };
    Verdict { deadline_ns, state, deciding, reason }
}

#[cfg(test)]
mod tests {
    use record::{Measurement, NoiseTotals, ReasonCode, Series};

    use super::*;
    use crate::tests_support::record_of;

    fn check(latencies_ns: &[u64], invalid: bool, state: VerdictState, expected: RunOutcome) {
        let mut record = record_of(Measurement::Wakeup, latencies_ns);
        if invalid {
            record.validity.add(ReasonCode::Suspended, "for 3 s");
        }
        let verdict = verdict(&record, 100_000);
        assert_eq!(verdict.state, state, "{}", verdict.reason);
        record.verdict = Some(verdict);
        assert_eq!(outcome(&record), expected);
    }

    #[test]
    fn invalid_outranks_broken_and_broken_outranks_nothing() {
        check(&[5_000, 100_000], false, VerdictState::Holds, RunOutcome::Holds);
        check(&[5_000, 100_001], false, VerdictState::Broken, RunOutcome::Broken);
        check(&[5_000, 900_000], true, VerdictState::CannotTell, RunOutcome::Invalid);
        check(&[5_000], true, VerdictState::CannotTell, RunOutcome::Invalid);
        check(&[], false, VerdictState::CannotTell, RunOutcome::Invalid);
    }

    #[test]
    fn without_a_deadline_only_validity_counts() {
        let mut record = record_of(Measurement::Wakeup, &[900_000]);
        assert_eq!(outcome(&record), RunOutcome::Holds);
        record.validity.add(ReasonCode::VirtualMachine, "kvm");
        assert_eq!(outcome(&record), RunOutcome::Holds, "degraded stands");
        record.validity.add(ReasonCode::SamplesDropped, "3");
        assert_eq!(outcome(&record), RunOutcome::Invalid);
    }

    #[test]
    fn counters_out_of_a_file_can_be_anything() {
        let mut record = record_of(Measurement::Wakeup, &[900_000]);
        record.series.push(record.series[0].clone());
        for series in &mut record.series {
            series.counters.missed_periods = u64::MAX;
            series.histogram.record_n(900_000, u64::MAX);
        }
        let deciding = verdict(&record, 100_000).deciding.unwrap();
        assert_eq!((deciding.missed_periods, deciding.beyond, deciding.samples), (u64::MAX, u64::MAX, u64::MAX));
    }

    #[test]
    fn a_run_that_was_ended_after_two_samples_does_not_hold() {
        let mut record = record_of(Measurement::Wakeup, &[5_000, 6_000]);
        record.manifest.requested.duration_ns = Some(60_000_000_000);
        record.manifest.requested.interval_ns = Some(200_000);
        record.manifest.ended.monotonic_ns = 400_000;
        record.validity.add(ReasonCode::InterruptedEarly, "after 400 us of 60 s");
        let judged = verdict(&record, 100_000);
        assert_eq!(judged.state, VerdictState::CannotTell);
        assert!(judged.reason.contains("too little was measured"), "{}", judged.reason);
        record.verdict = Some(judged);
        assert_eq!(outcome(&record), RunOutcome::Invalid);
        // One of the two is beyond a shorter limit: that stands.
        assert_eq!(verdict(&record, 5_500).state, VerdictState::Broken);
        // A claim was decided, or no duration was asked: the run took what it was to take.
        record.manifest.ended_because = Some("the claim is shown".to_owned());
        assert_eq!(verdict(&record, 100_000).state, VerdictState::Holds);
        record.manifest.ended_because = None;
        record.manifest.requested.duration_ns = None;
        assert_eq!(verdict(&record, 100_000).state, VerdictState::Holds);
    }

    #[test]
    fn a_quiet_noise_run_holds_where_its_loop_ran() {
        let mut record = record_of(Measurement::Noise, &[]);
        assert_eq!(verdict(&record, 100_000).state, VerdictState::CannotTell, "its loop did not turn once");
        record.series[0].noise =
            Some(NoiseTotals { turns: 1_000, observed_ns: 10_000_000_000, ..NoiseTotals::default() });
        assert_eq!(verdict(&record, 100_000).state, VerdictState::Holds);
        record.manifest.requested.duration_ns = Some(60_000_000_000);
        record.manifest.ended.monotonic_ns = 10_000_000_000;
        assert_eq!(verdict(&record, 100_000).state, VerdictState::CannotTell, "10 s of 60 s");
        let mut unwatched = record_of(Measurement::Noise, &[]);
        unwatched.manifest.requested.cpus = units::CpuSet::new();
        unwatched.series.clear();
        assert_eq!(verdict(&unwatched, 100_000).state, VerdictState::CannotTell, "no loop ran at all");
    }

    #[test]
    fn a_thread_that_stayed_silent_among_many_lets_nothing_hold() {
        let mut record = record_of(Measurement::Wakeup, &[5_000; 2_000]);
        record.series.push(Series { cpu: Some(3), thread: 1, ..Series::default() });
        record.manifest.requested.pinned = true;
        record.manifest.requested.cpus = [2, 3].into_iter().collect();
        let judged = verdict(&record, 100_000);
        assert_eq!(judged.state, VerdictState::CannotTell);
        assert!(judged.reason.contains("CPU 3"), "{}", judged.reason);
    }
}
