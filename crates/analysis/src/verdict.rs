//! The verdict of one run about its deadline, and the exit status that follows.

mod orders;
mod program;

use record::{
    Deciding, Histogram, Interval, PulseRun, Record, Sampling, Series, Sign, Uncertainty, Verdict, VerdictState,
};
use units::format;

/// The exit status of a command that made this run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunOutcome {
    /// The run is valid or degraded, and no stated limit is broken.
    Holds,
    /// A stated limit is broken.
    Broken,
    /// The numbers do not mean what was asked; outranks `Broken`.
    Invalid,
}

/// The outcome of a run: its validity decides first, then its verdict.
#[must_use]
pub fn outcome(record: &Record) -> RunOutcome {
    if record.validity.is_invalid() {
        RunOutcome::Invalid
    } else {
        match record.verdict.as_ref().map(|verdict| verdict.state) {
            // A record of an earlier version may claim this from very few samples.
            Some(VerdictState::Holds) if record.shortfall().is_some() => RunOutcome::Invalid,
            None | Some(VerdictState::Holds) => RunOutcome::Holds,
            Some(VerdictState::Broken) => RunOutcome::Broken,
            // The run is invalid, has no sample, or measured too little of what was requested.
            Some(VerdictState::CannotTell) => RunOutcome::Invalid,
        }
    }
}

/// The samples of a run compared with a deadline, including their measurement uncertainty.
struct DeadlineCheck {
    /// Samples that are beyond the deadline for every value within their uncertainty.
    beyond: u64,
    /// How far the worst sample may be beyond the deadline within its uncertainty (ns); 0 if no sample can be.
    perhaps_by_ns: u64,
    /// The largest magnitude that a signed sample can have within its uncertainty (ns); 0 without signed samples.
    farthest_ns: u64,
    /// Samples have an error of which nothing is known.
    is_unbounded: bool,
}

/// Compares every judged sample with a deadline, using the uncertainty of its interval or of its series.
fn check_deadline(record: &Record, deadline_ns: u64) -> DeadlineCheck {
    let mut check = DeadlineCheck { beyond: 0, perhaps_by_ns: 0, farthest_ns: 0, is_unbounded: false };
    for series in record.series.iter().filter(|series| series.judged) {
        let sign = record.sign(series);
        let whole = [(&series.histogram, series.below_zero.as_ref(), series.uncertainty)];
        let pieces = series
            .intervals
            .iter()
            .map(|one| (&one.histogram, one.below_zero.as_ref(), one.uncertainty.or(series.uncertainty)));
        // The intervals are used if they state an uncertainty of their own and together hold every sample.
        let in_pieces = series.intervals.iter().any(|one| one.uncertainty.is_some())
            && units::total(series.intervals.iter().map(Interval::taken)) == series.taken();
        let parts: Vec<_> = if in_pieces { pieces.collect() } else { whole.into_iter().collect() };
        for (histogram, below_zero, uncertainty) in parts {
            check.add(deadline_ns, histogram, uncertainty.unwrap_or_default(), sign);
            if let (Sign::Magnitude, Some(below_zero)) = (sign, below_zero) {
                let Uncertainty { below_ns, above_ns, spread_ns } = uncertainty.unwrap_or_default();
                // Below zero, the bounds of the uncertainty swap sides.
                check.add(
                    deadline_ns,
                    below_zero,
                    Uncertainty { below_ns: above_ns, above_ns: below_ns, spread_ns },
                    sign,
                );
            }
        }
    }
    check
}

impl DeadlineCheck {
    fn add(&mut self, deadline_ns: u64, magnitudes: &Histogram, uncertainty: Uncertainty, sign: Sign) {
        self.beyond =
            self.beyond.saturating_add(magnitudes.count_above(deadline_ns.saturating_add(uncertainty.below_ns)));
        let Some((min_ns, max_ns)) = magnitudes.min_ns().zip(magnitudes.max_ns()) else { return };
        self.is_unbounded |= uncertainty.is_unknown();
        let mut highest_ns = max_ns.saturating_add(uncertainty.above_ns);
        if sign == Sign::Magnitude {
            // The true value of the smallest sample can lie on the other side of zero, and farther from it.
            highest_ns = highest_ns.max(uncertainty.below_ns.saturating_sub(min_ns));
            self.farthest_ns = self.farthest_ns.max(highest_ns);
        }
        self.perhaps_by_ns = self.perhaps_by_ns.max(highest_ns.saturating_sub(deadline_ns));
    }
}

/// The verdict of a run about a deadline.
///
/// Every sample counts. One sample beyond the deadline breaks it, however short the run. The deadline holds only if the
/// run measured enough ([`Record::shortfall`]) and no sample can be beyond it within its measurement uncertainty.
#[must_use]
pub fn verdict(record: &Record, deadline_ns: u64) -> Verdict {
    let worst = record.worst_of_all();
    let check = check_deadline(record, deadline_ns);
    let program = program::judged(record, deadline_ns);
    let of_series = || units::total(record.series.iter().filter(|series| series.judged).map(Series::taken));
    let samples = program.as_ref().map_or_else(of_series, |judged| judged.turns);
    let missed_periods = units::total(record.series.iter().map(|series| series.counters.missed_periods));
    let deciding = worst.map(|(worst_ns, place)| Deciding {
        worst_ns,
        place: place.clone(),
        samples,
        beyond: program.as_ref().map_or(check.beyond, |judged| judged.beyond),
        missed_periods,
    });
    let (state, reason) = conclude(record, deadline_ns, deciding.as_ref(), &check, program.as_ref());
    Verdict { deadline_ns, state, deciding, reason }
}

/// What a witness says against a deadline that was lost before its end, so that its samples are not judged: how late an overrun was it
/// does not say, but that it was late by so much at least.
fn overruns_of_a_lost_witness(record: &Record, deadline_ns: u64, worst: &str) -> Option<(VerdictState, String)> {
    let witness = record.answers()?.witness.as_ref()?;
    if witness.lost.is_none() || witness.overruns == 0 {
        return None;
    }
    let overruns = match witness.overruns {
        1 => "1 overrun".to_owned(),
        more => format!("{} overruns", format::count(more)),
    };
    let (limit, least) = (format::span(deadline_ns), format::span(witness.overrun_ns));
    let until =
        format!("{worst} by our own stamps; until it was lost, the witness counted {overruns} of {least} or more");
    Some(if witness.overrun_ns > deadline_ns {
        (VerdictState::Broken, format!("{until}, beyond {limit}"))
    } else {
        (VerdictState::CannotTell, format!("{until}, and does not say whether beyond {limit}"))
    })
}

fn conclude(
    record: &Record,
    deadline_ns: u64,
    deciding: Option<&Deciding>,
    check: &DeadlineCheck,
    program: Option<&program::Judged>,
) -> (VerdictState, String) {
    let kind = record.measurement.kind();
    let limit = format::span(deadline_ns);
    if record.validity.is_invalid() {
        let why = record.validity.reasons().first().map_or_else(String::new, |reason| format!(": {}", reason.detail));
        return (VerdictState::CannotTell, format!("the run is invalid{why}"));
    }
    let orders = record.pulses().map(PulseRun::orders);
    let Some(deciding) = deciding else {
        if let Some(why) = orders.and_then(|orders| orders::none_carried_out(&orders)) {
            return (VerdictState::Broken, why);
        }
        if record.series.iter().any(|series| kind.judged.contains(&series.name.as_str()) && series.taken() > 0) {
            let reason =
                format!("none of the {} has a bound on its error that a limit can be held against", kind.samples);
            return (VerdictState::CannotTell, reason);
        }
        if !kind.sampling.is_quiet_without_samples() || record.series.is_empty() {
            return (VerdictState::CannotTell, "there is not a single sample".to_owned());
        }
        let none = format!("no {} reached the threshold", kind.sample);
        return match record.shortfall() {
            None => (VerdictState::Holds, none),
            Some(shortfall) => (VerdictState::CannotTell, format!("{none}, but too little was measured: {shortfall}")),
        };
    };
    let worst = format!(
        "worst of {} {} {}{}{}",
        format::count(deciding.samples),
        if program.is_some() { "turns" } else { kind.samples },
        record.at_least(),
        format::latency(deciding.worst_ns),
        orders::where_it_was(record, &deciding.place)
    );
    // What never arrived did not arrive in time.
    let lost = units::total(record.series.iter().filter(|series| series.judged).filter_map(|one| one.counters.lost));
    let is_loss_unknown = kind.sampling == Sampling::Packets
        && record.series.iter().any(|series| series.judged && series.counters.lost.is_none());
    let flows = record.packets().map_or(&[][..], |run| &run.flows);
    // Where it is not known which of them arrived after all, at least so many did not.
    let lost = if is_loss_unknown {
        lost.max(units::total(flows.iter().filter_map(record::PacketFlow::lost_at_least)))
    } else {
        lost
    };
    let refused = units::total(flows.iter().filter_map(|flow| flow.refused));
    if let Some(orders) = orders {
        let fates = match orders::fates(&orders) {
            none if none.is_empty() => none,
            fates => format!(", {fates}"),
        };
        if orders.missed() > 0 {
            let beyond = format::count(orders.beyond);
            return (VerdictState::Broken, format!("{worst}; {beyond} beyond {limit}{fates}"));
        }
        if orders.unknown > 0 {
            return (VerdictState::CannotTell, format!("{worst}, within {limit}, as far as it is known{fates}"));
        }
    }
    if check.beyond > 0 || lost > 0 || refused > 0 {
        let missed = match deciding.missed_periods {
            0 => String::new(),
            missed => format!(", {} periods missed", format::count(missed)),
        };
        let lost = if lost > 0 { format!(", {} lost", format::count(lost)) } else { String::new() };
        let refused = match refused {
            0 => String::new(),
            refused => format!(", {} refused by the sending system", format::count(refused)),
        };
        return (
            VerdictState::Broken,
            format!("{worst}; {} beyond {limit}{missed}{lost}{refused}", format::count(deciding.beyond)),
        );
    }
    if let Some(concluded) = overruns_of_a_lost_witness(record, deadline_ns, &worst) {
        return concluded;
    }
    if is_loss_unknown {
        let reason = format!("{worst}, but how many {} were lost is not known", kind.samples);
        return (VerdictState::CannotTell, reason);
    }
    if check.is_unbounded {
        let reason = format!("{worst}; nothing is known of its error, so that no limit can be held against it");
        return (VerdictState::CannotTell, reason);
    }
    if check.perhaps_by_ns > 0 {
        let by = format::latency_at_most(check.perhaps_by_ns);
        return (
            VerdictState::CannotTell,
            format!("{worst}; the samples are so uncertain that one can be beyond {limit} by up to {by}"),
        );
    }
    if let Some(why) = program.and_then(|judged| judged.untold.as_ref()) {
        return (VerdictState::CannotTell, format!("{worst}, within {limit}, as far as it was measured, but {why}"));
    }
    let limit = match program.and_then(|judged| judged.part.as_ref()) {
        Some(part) => format!("{limit}, {part}"),
        None => limit,
    };
    let limit = match record.verdict_covers() {
        Some(covered) => format!("{limit}, in the {covered} that stand"),
        None => limit,
    };
    // What holds is the bound, not the sample.
    let worst = if check.farthest_ns > deciding.worst_ns.unsigned_abs() {
        format!("{worst}, at most {} with its uncertainty", format::latency_at_most(check.farthest_ns))
    } else {
        worst
    };
    match record.shortfall() {
        None => (VerdictState::Holds, format!("{worst}, within {limit}")),
        Some(shortfall) => (
            VerdictState::CannotTell,
            format!("{worst}, within {limit}, but too little was measured to say that it holds: {shortfall}"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use record::{Measurement, NoiseTotals, OrderCounts, Place, ReasonCode, Series, SeriesDetail};
    use units::Timestamp;

    use super::*;
    use samples::record_of;

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
    fn an_overrun_of_a_witness_that_was_lost_decides_where_our_own_stamps_hold() {
        let of = |overruns, deadline_ns| {
            let mut record = samples::answers(&[20_000; 300], |run| {
                let witness = run.witness.as_mut().unwrap();
                (witness.overruns, witness.lost) = (overruns, Some("it closed the connection".to_owned()));
            });
            record.series.iter_mut().for_each(|series| series.judged = series.name == "event_to_answered");
            record.validity.add(ReasonCode::WitnessOverran, "1 answer");
            let verdict = verdict(&record, deadline_ns);
            assert_eq!(verdict.deciding.unwrap().samples, 300);
            (verdict.state, verdict.reason)
        };
        let (state, reason) = of(1, 900_000);
        assert_eq!(state, VerdictState::Broken);
        assert!(
            reason.starts_with("worst of 300 answers 20.0 us") && reason.contains("1 overrun of 1 ms or more, beyond"),
            "{reason}"
        );
        assert_eq!(of(2, 5_000_000).0, VerdictState::CannotTell);
        assert!(of(0, 5_000_000).1.contains("within 5 ms"), "{}", of(0, 5_000_000).1);
    }

    /// The witness's answers are also those of spoiled time.
    #[test]
    fn a_verdict_about_what_a_witness_saw_is_not_said_to_be_of_the_time_that_stands() {
        let of = |judged: &str| {
            let mut record = samples::answers(&[20_000; 300], |_| ());
            for series in &mut record.series {
                series.judged = series.name == judged;
                if series.name != "edge_to_answer" {
                    (series.spoiled.count, series.spoiled.length_ns) = (1, 1_000_000_000);
                }
            }
            verdict(&record, 100_000).reason
        };
        assert!(of("event_to_answered").contains("that stand"));
        assert!(!of("edge_to_answer").contains("that stand"), "{}", of("edge_to_answer"));
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
    fn counters_from_a_file_may_have_any_value() {
        let mut record = record_of(Measurement::Wakeup, &[900_000]);
        record.series.push(record.series[0].clone());
        for series in &mut record.series {
            series.counters.missed_periods = u64::MAX;
            series.histogram.record_n(900_000, u64::MAX);
        }
        let deciding = verdict(&record, 100_000).deciding.unwrap();
        assert_eq!((deciding.missed_periods, deciding.beyond, deciding.samples), (u64::MAX, u64::MAX, u64::MAX));
        let orders = samples::pulses(|run| {
            for node in &mut run.nodes {
                (node.orders.lost, node.orders.skipped, node.orders.scheduled) = (u64::MAX, 1, u64::MAX);
            }
        });
        assert_eq!(verdict(&orders, 100_000).state, VerdictState::Broken);
        assert_eq!(orders.pulses().unwrap().orders().missed(), u64::MAX);
    }

    #[test]
    fn a_run_interrupted_after_two_samples_does_not_hold() {
        let mut record = record_of(Measurement::Wakeup, &[5_000, 6_000]);
        record.manifest_mut().requested.duration_ns = Some(60_000_000_000);
        record.manifest_mut().requested.interval_ns = Some(200_000);
        record.manifest_mut().ended.monotonic = Timestamp::from_ns(400_000);
        record.validity.add(ReasonCode::InterruptedEarly, "after 400 us of 60 s");
        let judged = verdict(&record, 100_000);
        assert_eq!(judged.state, VerdictState::CannotTell);
        assert!(judged.reason.contains("too little was measured"), "{}", judged.reason);
        record.verdict = Some(judged);
        assert_eq!(outcome(&record), RunOutcome::Invalid);
        // One of the two samples is beyond a shorter limit, which is enough to break it.
        assert_eq!(verdict(&record, 5_500).state, VerdictState::Broken);
        // A run is complete if its claim was decided, or if no duration was requested.
        record.manifest_mut().ended_because = Some("the claim is shown".to_owned());
        assert_eq!(verdict(&record, 100_000).state, VerdictState::Holds);
        record.manifest_mut().ended_because = None;
        record.manifest_mut().requested.duration_ns = None;
        assert_eq!(verdict(&record, 100_000).state, VerdictState::Holds);
    }

    #[test]
    fn a_noise_run_without_gaps_holds_if_its_loop_ran() {
        let mut record = record_of(Measurement::Noise, &[]);
        assert_eq!(verdict(&record, 100_000).state, VerdictState::CannotTell, "its loop did not turn once");
        record.series[0].detail =
            SeriesDetail::Gaps(NoiseTotals { turns: 1_000, observed_ns: 10_000_000_000, ..NoiseTotals::default() });
        assert_eq!(verdict(&record, 100_000).state, VerdictState::Holds);
        record.manifest_mut().requested.duration_ns = Some(60_000_000_000);
        record.manifest_mut().ended.monotonic = Timestamp::from_ns(10_000_000_000);
        assert_eq!(verdict(&record, 100_000).state, VerdictState::CannotTell, "10 s of 60 s");
        let mut unwatched = record_of(Measurement::Noise, &[]);
        unwatched.manifest_mut().requested.cpus = units::CpuSet::new();
        unwatched.series.clear();
        assert_eq!(verdict(&unwatched, 100_000).state, VerdictState::CannotTell, "no loop ran at all");
    }

    #[test]
    fn a_lost_packet_did_not_arrive_in_time() {
        let mut record = record_of(Measurement::Packet, &[5_000; 2_000]);
        let unknown = verdict(&record, 100_000);
        assert_eq!(unknown.state, VerdictState::CannotTell);
        assert!(unknown.reason.contains("how many packets were lost is not known"), "{}", unknown.reason);
        assert_eq!(verdict(&record, 4_000).state, VerdictState::Broken, "whatever was lost beside");
        record.series[0].counters.lost = Some(0);
        assert_eq!(verdict(&record, 100_000).state, VerdictState::Holds);
        record.series[0].counters.lost = Some(1);
        let judged = verdict(&record, 100_000);
        assert_eq!(judged.state, VerdictState::Broken);
        assert!(judged.reason.contains("0 beyond 100 us, 1 lost"), "{}", judged.reason);
        // One of two that are missing came so late that nobody knows whether it was a copy.
        record.series[0].counters.lost = None;
        for (too_old, state) in [(1, VerdictState::Broken), (2, VerdictState::CannotTell)] {
            let flow = record::PacketFlow { sent: Some(9), arrived: Some(7), too_old, ..record::PacketFlow::default() };
            record.detail =
                record::Detail::Packet(record::PacketRun { flows: vec![flow], ..record::PacketRun::default() });
            assert_eq!(verdict(&record, 100_000).state, state, "{too_old} too old");
        }
    }

    #[test]
    fn a_run_of_which_no_order_was_carried_out_is_broken() {
        let judged = |change: fn(&mut OrderCounts)| {
            let mut record = samples::pulses(|run| {
                run.nodes.truncate(1);
                run.nodes[0].orders.acted = 0;
                change(&mut run.nodes[0].orders);
            });
            record.series.clear();
            verdict(&record, 100_000)
        };
        let late = judged(|orders| orders.too_late = 1_000);
        assert_eq!((late.state, late.deciding), (VerdictState::Broken, None));
        assert_eq!(late.reason, "none of 1\u{202f}000 orders was carried out: 1\u{202f}000 too late");
        let part = judged(|orders| (orders.lost, orders.unknown) = (1, 999));
        assert_eq!(part.state, VerdictState::Broken);
        assert_eq!(
            part.reason,
            "none of 1\u{202f}000 orders is known to have been carried out: 1 lost, 999 of unknown fate"
        );
        assert_eq!(
            judged(|orders| orders.unknown = 1_000).state,
            VerdictState::CannotTell,
            "each may have been in time"
        );
    }

    #[test]
    fn an_error_of_which_nothing_is_known_is_not_taken_for_none() {
        let mut record = record_of(Measurement::Packet, &[5_000; 2_000]);
        record.series[0].counters.lost = Some(0);
        assert_eq!(verdict(&record, 100_000).state, VerdictState::Holds, "readings of one clock have no such error");
        record.series[0].uncertainty = Some(Uncertainty::UNKNOWN);
        for limit_ns in [1_000, 100_000, u64::MAX / 2, u64::MAX] {
            let judged = verdict(&record, limit_ns);
            assert_eq!(judged.state, VerdictState::CannotTell, "{limit_ns}: {}", judged.reason);
            assert!(judged.reason.contains("nothing is known of its error"), "{}", judged.reason);
        }
        // What was lost needs no clock.
        record.series[0].counters.lost = Some(1);
        assert_eq!(verdict(&record, 100_000).state, VerdictState::Broken);
    }

    #[test]
    fn a_packet_that_the_sending_system_refused_did_not_arrive_in_time() {
        let mut record = record_of(Measurement::Packet, &[5_000; 2_000]);
        record.series[0].counters.lost = Some(0);
        for (refused, state) in [(0, VerdictState::Holds), (3, VerdictState::Broken)] {
            let flow = record::PacketFlow { refused: Some(refused), ..record::PacketFlow::default() };
            record.detail =
                record::Detail::Packet(record::PacketRun { flows: vec![flow], ..record::PacketRun::default() });
            let judged = verdict(&record, 100_000);
            assert_eq!(judged.state, state, "{}", judged.reason);
            assert_eq!(judged.reason.contains("3 refused by the sending system"), refused == 3, "{}", judged.reason);
        }
    }

    #[test]
    fn one_thread_without_samples_prevents_a_pass() {
        let mut record = record_of(Measurement::Wakeup, &[5_000; 2_000]);
        record.series.push(Series { place: Place::thread(1, Some(3)), ..Series::default() });
        record.manifest_mut().requested.pinned = true;
        record.manifest_mut().requested.cpus = [2, 3].into_iter().collect();
        let judged = verdict(&record, 100_000);
        assert_eq!(judged.state, VerdictState::CannotTell);
        assert!(judged.reason.contains("CPU 3"), "{}", judged.reason);
    }

    /// A run whose latency is not in the table of kinds, so that a sample below zero is as bad as one above.
    fn signed(above: &[u64], below: &[u64], uncertainty: Option<Uncertainty>) -> Record {
        let mut record = record_of(Measurement::Wakeup, above);
        let series = &mut record.series[0];
        series.name = "reference_to_local".to_owned();
        let mut below_zero = Histogram::new();
        below.iter().for_each(|ns| below_zero.record_n(*ns, 1));
        series.below_zero = Some(below_zero);
        series.uncertainty = uncertainty;
        record
    }

    #[test]
    fn a_latency_of_either_sign_is_judged_by_its_magnitude() {
        let judged = verdict(&signed(&[2_000], &[50_000], None), 10_000);
        assert_eq!(judged.state, VerdictState::Broken, "{}", judged.reason);
        let deciding = judged.deciding.unwrap();
        assert_eq!((deciding.worst_ns, deciding.beyond, deciding.samples), (-50_000, 1, 2));
        assert!(judged.reason.contains("-50.0 us"), "{}", judged.reason);
        assert_eq!(verdict(&signed(&[9_000], &[10_000], None), 10_000).state, VerdictState::Holds);
        // For a latency in the table, a sample below zero is early and not a violation.
        let mut early = signed(&[2_000], &[50_000], None);
        early.measurement = Measurement::App;
        early.series[0].name = "scheduled_to_returned".to_owned();
        let judged = verdict(&early, 10_000);
        assert_eq!((judged.state, judged.deciding.unwrap().worst_ns), (VerdictState::Holds, 2_000));
    }

    #[test]
    fn an_uncertain_sample_holds_only_if_all_its_possible_values_hold() {
        let by = |below_ns, above_ns| Some(Uncertainty { below_ns, above_ns, spread_ns: None });
        let state =
            |above: &[u64], below: &[u64], uncertainty| verdict(&signed(above, below, uncertainty), 10_000).state;
        assert_eq!(state(&[9_000], &[], by(0, 1_000)), VerdictState::Holds);
        assert_eq!(state(&[9_000], &[], by(0, 1_001)), VerdictState::CannotTell);
        assert_eq!(state(&[12_000], &[], by(1_000, 0)), VerdictState::Broken);
        assert_eq!(state(&[12_000], &[], by(3_000, 0)), VerdictState::CannotTell, "it may be 9 us");
        // -9 us, but the true value may be 1,001 ns lower; or 5 us, but it may be 16 us lower, which is -11 us.
        assert_eq!(state(&[], &[9_000], by(1_001, 0)), VerdictState::CannotTell);
        assert_eq!(state(&[], &[9_000], by(1_000, 5_000)), VerdictState::Holds);
        assert_eq!(state(&[5_000], &[], by(16_000, 0)), VerdictState::CannotTell);
        let judged = verdict(&signed(&[9_000], &[], by(0, 3_500)), 10_000);
        assert!(judged.reason.contains("can be beyond 10.0 us by up to 2.5 us"), "{}", judged.reason);
        // What holds is named: a sample of 2 us that may be -8 us is no proof of 2 us.
        let judged = verdict(&signed(&[2_000], &[], by(10_000, 3_000)), 10_000);
        assert!(
            judged.reason.contains("2.0 us") && judged.reason.contains("at most 8.0 us with its uncertainty"),
            "{}",
            judged.reason
        );
        let exact = verdict(&signed(&[2_000], &[], None), 10_000);
        assert!(!exact.reason.contains("uncertainty"), "{}", exact.reason);
    }

    #[test]
    fn the_uncertainty_of_intervals_is_used_if_they_hold_all_samples() {
        let mut record =
            signed(&[9_000, 2_000], &[], Some(Uncertainty { below_ns: 5_000, above_ns: 5_000, spread_ns: None }));
        assert_eq!(verdict(&record, 10_000).state, VerdictState::CannotTell);
        let one = |ns: u64, above_ns: u64| {
            let mut histogram = Histogram::new();
            histogram.record_n(ns, 1);
            let uncertainty = Some(Uncertainty { below_ns: 0, above_ns, spread_ns: None });
            Interval { length_ns: 1, histogram, uncertainty, ..Interval::default() }
        };
        record.series[0].intervals = vec![one(9_000, 500), one(2_000, 5_000)];
        assert_eq!(verdict(&record, 10_000).state, VerdictState::Holds);
        // Not all samples are in intervals, so the uncertainty of the whole series applies.
        record.series[0].intervals.pop();
        assert_eq!(verdict(&record, 10_000).state, VerdictState::CannotTell);
    }

    #[test]
    fn a_series_that_is_not_judged_breaks_nothing() {
        let mut record = record_of(Measurement::Wakeup, &[5_000]);
        let mut other = record.series[0].clone();
        other.judged = false;
        other.histogram.record_n(900_000, 1);
        record.series.push(other);
        let judged = verdict(&record, 100_000);
        assert_eq!((judged.state, judged.deciding.unwrap().samples), (VerdictState::Holds, 1));
    }
}
