//! The sentences for nodes that act together: how many schedules one of them missed, and how late the latest act was.

use record::{PulseRun, Record, Verdict, VerdictState};
use units::format::{count, count_of, latency, span};

use crate::measured::{capitalized, label};
use crate::pulse;

/// The sentence for the run that decides, among `alike`: the runs that were judged by the same limit.
pub(super) fn sentence(run: &Record, orders: &PulseRun, verdict: &Verdict, alike: &[&Record]) -> String {
    let limit = span(verdict.deadline_ns);
    let of_several = if alike.len() > 1 { format!(" ({})", label(run)) } else { String::new() };
    let nodes = match orders.nodes.len() {
        1 => "the node".to_owned(),
        2 => "both nodes".to_owned(),
        number => format!("all {number} nodes"),
    };
    let trials = &orders.trials;
    let bursts = pulse::bursts(run, orders);
    match verdict.state {
        VerdictState::Holds => format!(
            "Holds {limit}: {nodes} acted in time {}{}{of_several}. {bursts}.",
            match trials.scheduled {
                1 => "on the only order".to_owned(),
                scheduled => format!("on each of {} orders", count(scheduled)),
            },
            latest(run, ", the latest ")
        ),
        VerdictState::Broken => format!(
            "Does not hold {limit}: {} of {} {} missed by a node ({}){}{of_several}. {bursts}.",
            count(trials.missed),
            count_of(trials.scheduled, "schedule", "schedules"),
            if trials.missed == 1 { "was" } else { "were" },
            fates(orders),
            latest(run, "; the latest act came ")
        ),
        VerdictState::CannotTell => format!("{}{of_several}.", capitalized(&verdict.reason)),
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
    use record::OrderCounts;
    use samples::pulses;

    use super::super::headline;
    use super::*;
    use crate::measured::Measured;

    fn sentence_of(mut run: Record) -> String {
        run.verdict = Some(analysis::verdict(&run, 100_000));
        headline(&Measured { assessment: None, runs: std::slice::from_ref(&run) }).sentence
    }

    #[test]
    fn of_several_runs_the_one_that_missed_the_most_is_told_with_its_label() {
        let run = |label: &str, lost: u64, latest_ns: u64| {
            let mut run = pulses(|run| {
                (run.nodes[1].orders.acted, run.nodes[1].orders.lost) = (1_000 - lost, lost);
                (run.trials.kept, run.trials.missed) = (1_000 - lost, lost);
                (run.trials.bursts, run.trials.longest_burst) = (lost.min(1), lost);
            });
            label.clone_into(&mut run.label);
            run.series[0].histogram.record_n(latest_ns, 1);
            run.verdict = Some(analysis::verdict(&run, 100_000));
            run
        };
        let sentence = |runs: &[Record]| headline(&Measured { assessment: None, runs }).sentence;
        let broken = sentence(&[run("lossy", 500, 30_000), run("late", 1, 80_000), run("good", 0, 20_000)]);
        assert!(
            broken.contains("500 of 1\u{202f}000 schedules were missed") && broken.contains("(lossy). "),
            "{broken}"
        );
        let one = sentence(&[run("late", 1, 80_000)]);
        assert!(one.contains("1 of 1\u{202f}000 schedules was missed") && !one.contains("(late)"), "{one}");
        let kept = sentence(&[run("good", 0, 20_000), run("better", 0, 30_000)]);
        assert!(kept.contains("30.0 us after its ordered time on b (better). No miss"), "{kept}");
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
