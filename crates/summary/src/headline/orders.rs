//! The sentences for nodes that act together: how many schedules one of them missed, and how late the latest act was.

use record::{OrderCounts, PulseRun, Record, Verdict, VerdictState};
use units::format::{count, latency, span};

use crate::measured::capitalized;
use crate::pulse;

/// The sentence for a run that decides.
pub(super) fn sentence(run: &Record, orders: &PulseRun, verdict: &Verdict) -> String {
    let limit = span(verdict.deadline_ns);
    let nodes = match orders.nodes.len() {
        1 => "the node".to_owned(),
        2 => "both nodes".to_owned(),
        number => format!("all {number} nodes"),
    };
    let trials = &orders.trials;
    let bursts = pulse::bursts(run, orders);
    match verdict.state {
        VerdictState::Holds => format!(
            "Holds {limit}: {nodes} acted in time on each of {} orders{}. {bursts}.",
            count(trials.scheduled),
            latest(run, ", the latest ")
        ),
        VerdictState::Broken => format!(
            "Does not hold {limit}: {} of {} schedules were missed by a node ({}){}. {bursts}.",
            count(trials.missed),
            count(trials.scheduled),
            fates(orders),
            latest(run, "; the latest act came ")
        ),
        VerdictState::CannotTell => format!("{}.", capitalized(&verdict.reason)),
    }
}

/// How late the latest act was, and of which node; empty if none acted.
fn latest(run: &Record, begins: &str) -> String {
    let judged = run.series.iter().filter(|series| series.judged);
    let worst = judged.filter_map(|series| Some((series.worst_ns(run.sign(series))?, &*series.node)));
    worst.max_by_key(|(ns, _)| *ns).map_or_else(String::new, |(ns, node)| {
        let of = if node.is_empty() { String::new() } else { format!(" on {node}") };
        format!("{begins}{} after its ordered time{of}", latency(ns))
    })
}

/// What became of the orders of all nodes that were missed: "8 late, 2 lost".
fn fates(orders: &PulseRun) -> String {
    let all = orders.orders();
    let late = (all.beyond > 0).then(|| format!("{} acted on late", count(all.beyond)));
    let others = all.not_carried_out().map(|(number, what)| format!("{} {what}", count(number)));
    let words = late.into_iter().chain(others).collect::<Vec<_>>().join(", ");
    if words.is_empty() { "none of them counted".to_owned() } else { format!("of their orders {words}") }
}

#[cfg(test)]
mod tests {
    use samples::pulses;

    use super::super::headline;
    use super::*;
    use crate::measured::Measured;

    fn sentence_of(mut run: Record) -> String {
        run.verdict = Some(analysis::verdict(&run, 100_000));
        headline(&Measured { assessment: None, runs: std::slice::from_ref(&run) }).sentence
    }

    #[test]
    fn misses_of_any_sort_break_the_limit_and_a_pass_says_what_it_does_not_cover() {
        let kept = sentence_of(pulses(|_| ()));
        for words in [
            "Both nodes acted in time on each of 1\u{202f}000 orders, the latest 23.0 us",
            "No miss in 1 s",
            "one such burst in 217.1 ms",
        ] {
            assert!(kept.contains(words), "{words}: {kept}");
        }
        type Change = fn(&mut OrderCounts);
        let cases: [(&str, Change); 6] = [
            ("2 lost", |orders| orders.lost = 2),
            ("2 too late", |orders| orders.too_late = 2),
            ("2 refused", |orders| orders.refused = 2),
            ("2 skipped by the server", |orders| orders.skipped = 2),
            ("2 dropped", |orders| orders.dropped = 2),
            ("2 acted on late", |orders| (orders.acted, orders.beyond) = (orders.acted + 2, 2)),
        ];
        for (words, change) in cases {
            let broken = sentence_of(pulses(|run| {
                run.nodes[1].orders.acted -= 2;
                change(&mut run.nodes[1].orders);
                (run.trials.kept, run.trials.missed, run.trials.bursts, run.trials.longest_burst) = (998, 2, 1, 2);
            }));
            assert!(
                broken.contains("2 of 1\u{202f}000 schedules were missed by a node") && broken.contains(words),
                "{words}: {broken}"
            );
        }
        let unknown = sentence_of(pulses(|run| {
            (run.nodes[1].orders.acted, run.nodes[1].orders.unknown) = (0, 1_000);
            (run.trials.kept, run.trials.unknown) = (0, 1_000);
        }));
        assert!(unknown.contains("1\u{202f}000 of unknown fate"), "{unknown}");
    }
}
