//! What spoiled intervals make of a run's validity: what spoils no more than the time in which it happened takes none of the
//! other intervals with it. Pure.

use std::collections::BTreeSet;

use record::{Reason, ReasonCode, Series, Spoils, Validity};
use units::format;

/// Reasons that are named one by one.
const NAMED: usize = 3;
/// At least this part of the run has to stand: one in so many.
const LEAST_PART: u64 = record::LEAST_SHARE_DIVISOR;

/// Puts what spoiled intervals in the place of the reasons that say the same of the run. A reason that no interval has stays one
/// of the run: then it is not known what it spoiled. So do those that were `known_too_late`, when intervals that they touch had
/// been counted. The run took `measured_ns`.
pub(crate) fn keep_apart(
    validity: &Validity,
    series: &[Series],
    known_too_late: &[Reason],
    measured_ns: u64,
) -> Validity {
    let Some(most) = series.iter().max_by_key(|one| one.spoiled.length_ns).filter(|one| one.spoiled.count > 0) else {
        return validity.clone();
    };
    let reasons = || series.iter().flat_map(|one| &one.spoiled.intervals).flat_map(|interval| &interval.reasons);
    let codes: BTreeSet<ReasonCode> = reasons().map(|reason| reason.code).collect();
    let is_of_intervals = |reason: &Reason| {
        reason.code.info().spoils == Spoils::Interval
            && codes.contains(&reason.code)
            && known_too_late.iter().all(|late| late.code != reason.code)
    };
    let stay = validity.reasons().iter().filter(|reason| !is_of_intervals(reason)).cloned();
    let mut judged = Validity::from_reasons(stay.collect());
    for not in validity.not_observable() {
        judged.add_not_observable(not.what, not.detail.clone());
    }
    let spoiled = &most.spoiled;
    let mut what: Vec<&str> = Vec::new();
    for reason in reasons() {
        if !what.contains(&reason.detail.as_str()) {
            what.push(&reason.detail);
        }
    }
    let more = match what.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    what.truncate(NAMED);
    let intervals = if spoiled.count == 1 { "interval" } else { "intervals" };
    let detail = format!(
        "{} {intervals}, {} of {}{}: {}{more}",
        format::count(spoiled.count),
        format::span(spoiled.length_ns.min(measured_ns)),
        format::span(measured_ns),
        if series.iter().all(|one| one.spoiled.count == spoiled.count) { String::new() } else { most.place.clause() },
        what.join("; ")
    );
    let stands_ns = measured_ns.saturating_sub(spoiled.length_ns);
    let is_enough = stands_ns.saturating_mul(LEAST_PART) >= measured_ns;
    judged.add(if is_enough { ReasonCode::IntervalsSpoiled } else { ReasonCode::MostIntervalsSpoiled }, detail);
    judged
}

#[cfg(test)]
mod tests {
    use record::{Place, Spoiled, SpoiledInterval};

    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn series(spoiled: &[(u64, ReasonCode, &str)]) -> Series {
        let mut all = Spoiled::default();
        for (second, code, detail) in spoiled {
            all.add(SpoiledInterval {
                start_offset_ns: second * SECOND,
                length_ns: SECOND,
                samples: 1_000,
                missed_periods: 0,
                worst_ns: Some(300_000_000),
                worst_at: None,
                reasons: vec![Reason { code: *code, detail: (*detail).to_owned() }],
            });
        }
        Series { spoiled: all, place: Place::thread(0, Some(3)), ..Series::default() }
    }

    fn validity(reasons: &[(ReasonCode, &str)]) -> Validity {
        let reason = |(code, detail): &(ReasonCode, &str)| Reason { code: *code, detail: (*detail).to_owned() };
        Validity::from_reasons(reasons.iter().map(reason).collect())
    }

    #[test]
    fn a_step_that_one_interval_has_leaves_the_others() {
        let stepped = "realtime was stepped by 300 ms";
        let run = validity(&[(ReasonCode::ClockStepped, stepped)]);
        let judged = keep_apart(&run, &[series(&[(5, ReasonCode::ClockStepped, stepped)])], &[], 24 * SECOND);
        let [one] = judged.reasons() else { panic!("{judged:?}") };
        assert_eq!(one.code, ReasonCode::IntervalsSpoiled);
        assert_eq!(one.detail, "1 interval, 1 s of 24 s: realtime was stepped by 300 ms");
        assert!(!judged.is_invalid());
    }

    #[test]
    fn what_no_interval_has_stays_a_reason_of_the_run() {
        let run = validity(&[(ReasonCode::ClockStepped, "by 1 s"), (ReasonCode::Stopped, "for 3 s")]);
        let judged = keep_apart(&run, &[series(&[(5, ReasonCode::ClockStepped, "by 1 s")])], &[], 24 * SECOND);
        assert!(judged.has(ReasonCode::Stopped) && judged.is_invalid() && !judged.has(ReasonCode::ClockStepped));
        let judged = keep_apart(&run, &[series(&[])], &[], 24 * SECOND);
        assert_eq!(judged, run);
        // One of two stops was noticed when what it spoiled had been counted.
        let (run, late) =
            (validity(&[(ReasonCode::Stopped, "2 times")]), validity(&[(ReasonCode::Stopped, "for 1 s")]));
        let judged = keep_apart(&run, &[series(&[(5, ReasonCode::Stopped, "for 3 s")])], late.reasons(), 24 * SECOND);
        assert!(judged.has(ReasonCode::Stopped) && judged.has(ReasonCode::IntervalsSpoiled), "{judged:?}");
        // A reason that is about the whole run is never one of an interval.
        let run = validity(&[(ReasonCode::RtThrottled, "CPU 3"), (ReasonCode::ClockStepped, "by 1 s")]);
        let spoiled = [(5, ReasonCode::ClockStepped, "by 1 s"), (6, ReasonCode::RtThrottled, "CPU 3")];
        assert!(keep_apart(&run, &[series(&spoiled)], &[], 24 * SECOND).has(ReasonCode::RtThrottled));
    }

    #[test]
    fn where_less_than_half_stands_the_run_is_invalid() {
        let run = validity(&[(ReasonCode::Stopped, "for 3 s")]);
        let stopped = |seconds: u64| -> Vec<(u64, ReasonCode, &str)> {
            (0..seconds).map(|second| (second, ReasonCode::Stopped, "for 3 s")).collect()
        };
        let half = keep_apart(&run, &[series(&stopped(5)), series(&[])], &[], 10 * SECOND);
        assert!(!half.is_invalid());
        assert_eq!(half.reasons()[0].detail, "5 intervals, 5 s of 10 s on CPU 3: for 3 s");
        let most = keep_apart(&run, &[series(&stopped(6)), series(&[])], &[], 10 * SECOND);
        assert!(most.is_invalid() && most.has(ReasonCode::MostIntervalsSpoiled), "{most:?}");
    }
}
