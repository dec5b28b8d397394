//! The sentences for packets between nodes: how long the worst of them took one way, with the error that the clocks allow, and
//! how many were lost.

use record::{Record, Uncertainty, Verdict, VerdictState};
use units::format;

use super::{Headline, HeadlineState, plain};
use crate::measured::{capitalized, label};
use crate::packet::{Worst, lost_words, paths, worst_of};
use crate::totals::Totals;

/// The sentence for the run that decides, among `alike`: the runs that were judged by the same limit.
pub(super) fn sentence(run: &Record, verdict: &Verdict, alike: &[&Record]) -> String {
    let limit = format::span(verdict.deadline_ns);
    match verdict.state {
        VerdictState::Holds => format!("Holds {limit}: {}; {}.", worst(alike), lost_words(alike)),
        VerdictState::Broken => {
            let beyond = verdict.deciding.as_ref().map_or(0, |deciding| deciding.beyond);
            let late = match beyond {
                0 => "none is beyond the limit by more than its error".to_owned(),
                1 => "1 is beyond the limit by more than its error".to_owned(),
                beyond => format!("{} are beyond the limit by more than their error", format::count(beyond)),
            };
            format!("Does not hold {limit}: {}; {late}; {}.", worst(&[run]), lost_words(&[run]))
        }
        VerdictState::CannotTell if alike.len() > 1 => format!("{} ({}).", capitalized(&verdict.reason), label(run)),
        VerdictState::CannotTell => format!("{}.", capitalized(&verdict.reason)),
    }
}

/// "the worst of 19 989 packets from a to b took 6 327 us ±10.9 us one way", over all given runs.
fn worst(runs: &[&Record]) -> String {
    let totals = Totals::over(runs.iter().map(|run| (*run, None)));
    let Some((run, Worst { ns, way: points, error, from, to })) = worst_of(runs) else {
        return "no packet arrived".to_owned();
    };
    let of_several = if runs.len() > 1 { format!(" ({})", label(run)) } else { String::new() };
    let error = error.map_or_else(|| " (its error is not known)".to_owned(), beside);
    let way = if paths(runs) == 1 {
        format!("from {from} to {to} took {}{error} {points}", format::latency(ns))
    } else {
        format!("took {}{error} {points}, from {from} to {to}", format::latency(ns))
    };
    format!("the worst of {} packets {way}{of_several}", format::count(totals.samples))
}

/// An error as it stands beside its value: " ±10.9 us", or both sides in brackets.
fn beside(error: Uncertainty) -> String {
    let words = error.in_words();
    if words.starts_with('\u{b1}') { format!(" {words}") } else { format!(" ({words})") }
}

/// The headline of runs without a limit: the worst delay with its error, and how many packets were lost.
pub(super) fn without_limit(runs: &[&Record]) -> Headline {
    const NO_VERDICT: &str = "No limit was stated, so there is no verdict: state one with --limit.";
    let Some((_, Worst { ns, error, .. })) = worst_of(runs) else {
        let sentence = format!("No packet has a delay: {}. {NO_VERDICT}", lost_words(runs));
        // An import can have packets that arrived, and not both ends of their way.
        let flows = || runs.iter().filter_map(|run| run.packets()).flat_map(|packets| &packets.flows);
        let is_empty = flows().all(|flow| flow.arrived == Some(0));
        let word = if is_empty { "No packet arrived" } else { "No delay is known" };
        return Headline { word: word.to_owned(), ..plain(HeadlineState::NoDeadline, sentence) };
    };
    let totals = Totals::over(runs.iter().map(|run| (*run, None)));
    let within = if totals.observed_ns == 0 {
        String::new()
    } else {
        format!(", measured for {}", format::span(totals.observed_ns))
    };
    let error = error.map_or_else(String::new, beside);
    Headline {
        word: format!("Worst {}{error}; no limit stated", format::latency(ns)),
        ..plain(
            HeadlineState::NoDeadline,
            format!("{}{within}; {}. {NO_VERDICT}", capitalized(&worst(runs)), lost_words(runs)),
        )
    }
}

#[cfg(test)]
mod tests {
    use record::{ReasonCode, Validity};
    use samples::packets;

    use super::super::headline;
    use super::*;
    use crate::measured::Measured;

    fn headline_of(runs: Vec<Record>, limit_ns: Option<u64>) -> Headline {
        let judged = |mut run: Record| {
            run.verdict = limit_ns.map(|limit_ns| analysis::verdict(&run, limit_ns));
            run
        };
        let runs: Vec<Record> = runs.into_iter().map(judged).collect();
        headline(&Measured { assessment: None, runs: &runs })
    }

    #[test]
    fn without_a_limit_the_worst_delay_stands_with_its_error_and_what_was_lost() {
        let headline = headline_of(vec![packets(&[4_000, 9_000], 3_000, 2, Validity::default())], None);
        assert_eq!(headline.word, "Worst 9.0 us \u{b1}3.0 us; no limit stated");
        assert_eq!(
            headline.sentence,
            "The worst of 2 packets from a to b took 9.0 us \u{b1}3.0 us one way; 2 were lost. No limit was stated, so there is no \
             verdict: state one with --limit."
        );
        let none = headline_of(vec![packets(&[], 0, 7, Validity::default())], None);
        assert_eq!(none.word, "No packet arrived");
        assert!(none.sentence.starts_with("No packet has a delay: 7 were lost."), "{}", none.sentence);
    }

    #[test]
    fn a_limit_holds_breaks_or_cannot_be_told_by_the_error() {
        let run = |lost| vec![packets(&[4_000, 9_000], 3_000, lost, Validity::default())];
        let holds = headline_of(run(0), Some(13_000));
        assert_eq!((holds.state, holds.word.as_str()), (HeadlineState::Holds, "Holds 13.0 us"));
        assert_eq!(
            holds.sentence,
            "The worst of 2 packets from a to b took 9.0 us \u{b1}3.0 us one way; none was lost."
        );
        let broken = headline_of(run(0), Some(5_000));
        assert_eq!(broken.state, HeadlineState::Broken);
        assert!(broken.sentence.contains("1 is beyond the limit by more than its error"), "{}", broken.sentence);
        let lost = headline_of(run(1), Some(13_000));
        assert_eq!(lost.state, HeadlineState::Broken);
        assert!(
            lost.sentence.ends_with("none is beyond the limit by more than its error; 1 was lost."),
            "{}",
            lost.sentence
        );
        assert_eq!(headline_of(run(0), Some(10_000)).state, HeadlineState::CannotTell, "within the error");
        let mut stepped = Validity::default();
        stepped.add(ReasonCode::ClockStepped, "by 1 s");
        let invalid = headline_of(vec![packets(&[4_000], 3_000, 0, stepped)], Some(13_000));
        assert_eq!(invalid.state, HeadlineState::CannotTell);
        assert!(invalid.sentence.contains("is invalid"), "{}", invalid.sentence);
    }

    #[test]
    fn an_error_of_which_nothing_is_known_is_said_to_be_that() {
        let mut run = packets(&[4_000, 9_000], 0, 2, Validity::default());
        for series in run.series.iter_mut().filter(|series| series.judged) {
            series.name = "woke_to_received".to_owned();
            series.uncertainty = Some(Uncertainty::UNKNOWN);
            series.intervals.iter_mut().for_each(|one| one.uncertainty = None);
            series.counters.lost = Some(0);
        }
        let open = headline_of(vec![run.clone()], None);
        let expected = "The worst of 2 packets from a to b took 9.0 us (its error is not known) from the sender's wake-up to the receiving \
                        program; 2 were lost.";
        assert!(open.sentence.starts_with(expected), "{}", open.sentence);
        let limited = headline_of(vec![run], Some(1_000_000));
        assert_eq!(limited.state, HeadlineState::CannotTell);
        assert!(limited.sentence.contains("nothing is known of its error"), "{}", limited.sentence);
    }

    #[test]
    fn an_error_of_two_different_sides_stands_in_brackets() {
        let error = Uncertainty { below_ns: 1_000, above_ns: 2_000, spread_ns: None };
        assert_eq!(beside(error), " (-1.0 us +2.0 us)");
    }

    #[test]
    fn of_several_runs_the_worst_is_named() {
        let mut other = packets(&[20_000], 500, 0, Validity::default());
        other.label = "l2".to_owned();
        let headline = headline_of(vec![packets(&[9_000], 3_000, 0, Validity::default()), other], None);
        let expected = "The worst of 2 packets from a to b took 20.0 us \u{b1}500 ns one way (l2); none was lost.";
        assert!(headline.sentence.starts_with(expected), "{}", headline.sentence);
    }
}
