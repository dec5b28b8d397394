//! The sentences for runs that compare clocks: their limit is held against hard bounds, which decide.

use record::{Record, Verdict, VerdictState};
use units::format;

use super::{Headline, HeadlineState, plain};
use crate::measured::{capitalized, label};
use crate::sync::{farthest_bound, range};
use crate::totals::Totals;

/// The sentence for the run that decides, among `alike`: the runs that were judged by the same limit.
pub(super) fn sentence(run: &Record, verdict: &Verdict, alike: &[&Record]) -> String {
    let limit = format::span(verdict.deadline_ns);
    let of_several = if alike.len() > 1 { format!(" ({})", label(run)) } else { String::new() };
    let bound = farthest_bound(run).map(|(source, bound)| (source, bound, bound_ns(bound)));
    match (verdict.state, bound) {
        (VerdictState::Holds, Some((source, bound, _))) => format!(
            "Holds {limit}: the hard bound of {}{of_several}, {}, stayed within \u{b1}{limit}; {}.",
            source.name(),
            range(bound),
            worst(alike)
        ),
        (VerdictState::Holds, None) => format!("Holds {limit}: {}.", verdict.reason),
        (VerdictState::Broken, _) => {
            let beyond = verdict.deciding.as_ref().map_or(0, |deciding| deciding.beyond);
            let which = if beyond == 1 { "1 offset is" } else { "offsets are" };
            let number = if beyond == 1 { String::new() } else { format!("{} ", format::count(beyond)) };
            format!(
                "Does not hold {limit}: {}{of_several}; {number}{which} beyond \u{b1}{limit} with the whole hard bound.",
                worst(&[run])
            )
        }
        // Nothing is known to be beyond the limit, but something can be.
        (VerdictState::CannotTell, Some((source, bound, farthest_ns)))
            if farthest_ns > verdict.deadline_ns && !run.validity.is_invalid() =>
        {
            format!(
                "The hard bound of {}{of_several}, {}, reaches beyond \u{b1}{limit}: an offset can be beyond it, although {}.",
                source.name(),
                range(bound),
                worst(&[run])
            )
        }
        (VerdictState::CannotTell, _) => format!("{}{of_several}.", capitalized(&verdict.reason)),
    }
}

/// The magnitude of the farther end of a bound (ns).
fn bound_ns((lowest_ns, highest_ns): (i64, i64)) -> u64 {
    lowest_ns.unsigned_abs().max(highest_ns.unsigned_abs())
}

/// "the worst of 125 offsets was -11.8 us on eth0 domain 0", over all given runs.
fn worst(runs: &[&Record]) -> String {
    let totals = Totals::over(runs.iter().map(|run| (*run, None)));
    totals.worst.map_or_else(
        || "no offset was seen".to_owned(),
        |(_, worst_ns, place)| {
            format!(
                "the worst of {} {} was {}{}",
                format::count(totals.samples),
                totals.what,
                format::latency(worst_ns),
                place.clause()
            )
        },
    )
}

/// The headline of runs without a limit: the worst offset with its bound, or that no offset has a bound.
pub(super) fn without_limit(runs: &[&Record]) -> Headline {
    const NO_VERDICT: &str = "No limit was stated, so there is no verdict: state one with --limit.";
    let totals = Totals::over(runs.iter().map(|run| (*run, None)));
    let within =
        if totals.observed_ns == 0 { String::new() } else { format!(" in {}", format::span(totals.observed_ns)) };
    let Some((run, worst_ns, place)) = totals.worst else {
        let spreads =
            || runs.iter().filter_map(|run| run.sync()).flat_map(|run| &run.sources).filter_map(|one| one.spread);
        let count = units::total(spreads().map(|spread| spread.count));
        if count == 0 {
            return plain(
                HeadlineState::NoDeadline,
                format!("No source of time showed an offset{within}. {NO_VERDICT}"),
            );
        }
        let lowest_ns = spreads().map(|spread| spread.lowest_ns).min().unwrap_or(0);
        let highest_ns = spreads().map(|spread| spread.highest_ns).max().unwrap_or(0);
        return Headline {
            word: "Offsets without a hard bound".to_owned(),
            ..plain(
                HeadlineState::NoDeadline,
                format!(
                    "{} offsets{within}, {}, as far as the services know; no limit can be held against them without a hard \
                     bound. Why there is none stands below.",
                    format::count(count),
                    range((lowest_ns, highest_ns))
                ),
            )
        };
    };
    let of_several = if totals.runs > 1 { format!(" ({})", label(run)) } else { String::new() };
    let bound = farthest_bound(run).map_or_else(String::new, |(source, bound)| {
        format!("; the hard bound of {} is {}", source.name(), range(bound))
    });
    Headline {
        word: format!("Worst {}; no limit stated", format::latency(worst_ns)),
        ..plain(
            HeadlineState::NoDeadline,
            format!(
                "The worst of {} {}{within} was {}{}{of_several}{bound}. {NO_VERDICT}",
                format::count(totals.samples),
                totals.what,
                format::latency(worst_ns),
                place.clause(),
            ),
        )
    }
}

#[cfg(test)]
mod tests {
    use record::{ReasonCode, Validity};

    use samples::offsets;

    use super::super::headline;
    use super::*;
    use crate::measured::Measured;

    const LIMIT_NS: u64 = 50_000;

    fn headline_of(mut run: Record, limit_ns: Option<u64>) -> Headline {
        run.verdict = limit_ns.map(|limit_ns| analysis::verdict(&run, limit_ns));
        headline(&Measured { assessment: None, runs: &[run] })
    }

    /// A run whose series says how far the truth can be from its offsets.
    fn run(offsets_ns: &[i64], bound_ns: (i64, i64), room_ns: u64) -> Record {
        let mut run = offsets(offsets_ns, Some(bound_ns), Validity::default());
        run.series[0].uncertainty = Some(record::Uncertainty { below_ns: room_ns, above_ns: room_ns, spread_ns: None });
        run
    }

    #[test]
    fn a_limit_that_holds_names_the_bound_that_stayed_within() {
        let headline = headline_of(run(&[-11_753, 886], (-37_347, 15_223), 20_000), Some(LIMIT_NS));
        assert_eq!((headline.state, headline.word.as_str()), (HeadlineState::Holds, "Holds 50.0 us"));
        assert_eq!(
            headline.sentence,
            "The hard bound of ptp4l eth0 domain 0, -37.3 us to 15.2 us, stayed within ±50.0 us; the worst of 2 offsets was \
             -11.8 us on eth0 domain 0."
        );
    }

    #[test]
    fn an_offset_that_is_beyond_with_its_whole_bound_breaks_a_limit() {
        let headline = headline_of(run(&[-90_000, 886], (-110_000, 15_223), 20_000), Some(LIMIT_NS));
        assert_eq!((headline.state, headline.word.as_str()), (HeadlineState::Broken, "Does not hold 50.0 us"));
        assert!(
            headline.sentence.ends_with("1 offset is beyond ±50.0 us with the whole hard bound."),
            "{}",
            headline.sentence
        );
    }

    #[test]
    fn a_bound_that_reaches_beyond_never_reads_as_a_pass() {
        let headline = headline_of(run(&[-11_753, 886], (-61_000, 40_000), 50_000), Some(LIMIT_NS));
        assert_eq!(headline.state, HeadlineState::CannotTell);
        let expected = "The hard bound of ptp4l eth0 domain 0, -61.0 us to 40.0 us, reaches beyond ±50.0 us";
        assert!(headline.sentence.starts_with(expected), "{}", headline.sentence);
        let unbounded = headline_of(offsets(&[5], None, Validity::default()), Some(LIMIT_NS));
        assert_eq!(unbounded.state, HeadlineState::CannotTell);
        assert!(unbounded.sentence.starts_with("None of the offsets has a bound"), "{}", unbounded.sentence);
        let mut lost = Validity::default();
        lost.add(ReasonCode::SyncLost, "for 3 s");
        let invalid = headline_of(offsets(&[5], Some((-9, 9)), lost), Some(LIMIT_NS));
        assert_eq!(invalid.state, HeadlineState::CannotTell);
        assert!(invalid.sentence.contains("is invalid"), "{}", invalid.sentence);
    }

    #[test]
    fn without_a_limit_the_worst_offset_is_the_answer_and_the_option_is_named() {
        let headline = headline_of(run(&[-11_753, 886], (-37_347, 15_223), 20_000), None);
        assert_eq!(
            (headline.state, headline.word.as_str()),
            (HeadlineState::NoDeadline, "Worst -11.8 us; no limit stated")
        );
        assert!(
            headline.sentence.contains("the hard bound of ptp4l eth0 domain 0 is -37.3 us to 15.2 us."),
            "{}",
            headline.sentence
        );
        assert!(headline.sentence.ends_with("state one with --limit."), "{}", headline.sentence);
        let unbounded = headline_of(offsets(&[-40, 5], None, Validity::default()), None);
        assert_eq!(unbounded.word, "Offsets without a hard bound");
        assert!(unbounded.sentence.starts_with("2 offsets, -40 ns to 5 ns"), "{}", unbounded.sentence);
    }
}
