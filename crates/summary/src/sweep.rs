//! What is said of a sweep for the smallest safe lead: before it begins, of each cycle, and in one sentence at the end.

mod document;

use pulse::sweep::{Answer, Claim, Conclusion, CycleConclusion, Failure, SweepForecast};
use units::format::{count, latency, span, span_at_least};

pub use self::document::{SWEEP_SCHEMA, SWEEP_VERSION, SweepDocument, SweepRun, SweepStep};

/// Shares that differ by less than this, as a part of themselves, are the same: 1 / 1e-5 is a little less than 100,000.
const ROUNDING: f64 = 1e-9;

/// A share that fewer orders than are missed, in words: "1 in 100 000"; rounded up, since less was not shown.
fn share_above(rate: f64) -> String {
    one_in((1.0 / rate * (1.0 + ROUNDING)).floor())
}

/// A share that more orders than are missed, in words; rounded down, since more was not shown.
fn share_below(rate: f64) -> String {
    one_in((1.0 / rate * (1.0 - ROUNDING)).ceil())
}

fn one_in(orders: f64) -> String {
    format!("1 in {}", count(units::round_u64(orders).max(1)))
}

/// What is missed at least: in percent, with two digits, and where that is less than a thousandth as "1 in 44 000". Both are rounded down.
fn at_least(rate: f64) -> String {
    let percent = rate * 100.0;
    if percent < 0.1 {
        return share_below(rate);
    }
    let decimals: u8 = if percent < 1.0 { 2 } else { u8::from(percent < 10.0) };
    let digits = 10_f64.powi(decimals.into());
    format!("{:.*} %", usize::from(decimals), (percent * digits * (1.0 + ROUNDING)).floor() / digits)
}

/// "1 of 120 000 orders was", "2 of 120 000 orders were".
fn of_orders(number: u64, orders: u64) -> String {
    format!("{} of {} orders {}", count(number), count(orders), if number == 1 { "was" } else { "were" })
}

/// How sure, in percent: "99 %".
fn sure(alpha: f64) -> String {
    let text = format!("{:.4}", (1.0 - alpha) * 100.0);
    format!("{} %", text.trim_end_matches('0').trim_end_matches('.'))
}

/// What a sweep takes, as lines without their full stops: printed before it begins.
#[must_use]
pub fn forecast(forecast: &SweepForecast, max_miss: f64) -> Vec<String> {
    let mut lines: Vec<String> = forecast
        .cycles
        .iter()
        .map(|cycle| {
            format!(
                "cycle {}: {} to find the lead, then {} orders without a miss, {}; a system that misses {} would fail that {:.0} % of \
                 the time",
                span(cycle.cycle_ns),
                span(cycle.explore_ns),
                count(cycle.confirm_orders),
                span(cycle.confirm_ns),
                one_in((10.0 / max_miss).round()),
                cycle.fails_though_ten_times_better * 100.0
            )
        })
        .collect();
    lines.push(format!("{} in all, if each cycle is confirmed at its first attempt", span(forecast.total_ns)));
    lines
}

/// What came of a cycle, as a sentence.
#[must_use]
pub fn of_cycle(cycle: &CycleConclusion, max_miss: f64) -> String {
    let at = format!("At a cycle of {}", span(cycle.cycle_ns));
    let mut text = match &cycle.answer {
        Answer::Holds(claim) => format!("{at}, ordered {} ahead, {}", span(claim.lead_ns), holds(claim)),
        Answer::Loses(failure) => format!(
            "{at} {} missed for a reason that no lead mends, {}",
            of_orders(failure.lost, failure.orders),
            worse(failure, max_miss)
        ),
        Answer::TooLate(failure) => format!(
            "{at} {} of {} orders needed more than the largest lead, {}{}, {}",
            count(failure.late),
            count(failure.orders),
            span(failure.lead_ns),
            failure.worst_ns.map_or_else(String::new, |ns| format!(": the worst of them {}", latency(ns))),
            worse(failure, max_miss)
        ),
        Answer::Unsettled { first_lead_ns, last_lead_ns, worst_ns, raised } => format!(
            "{at} the lead was raised {raised} times, from {} to {}, and some order always needed more, the worst {}: no worst case was \
             found",
            span(*first_lead_ns),
            span(*last_lead_ns),
            latency(*worst_ns)
        ),
        Answer::Stopped { why, lead_ns } => format!(
            "{at} it cannot be told: the sweep was ended, since {why}{}",
            lead_ns.map_or_else(String::new, tried_next)
        ),
        Answer::OutOfTime { needed_ns, left_ns, lead_ns } => format!(
            "{at} it cannot be told: that takes {} more, {} longer than what is left{}",
            span(*needed_ns),
            span(needed_ns.saturating_sub(*left_ns)),
            lead_ns.map_or_else(String::new, tried_next)
        ),
    };
    if let Some(difference) = &cycle.phase_difference {
        text.push_str(&format!(
            "; whether a node still waits for an earlier order when a new one comes changes the lead that is needed by {} (median) and {} \
             (99 %)",
            latency(difference.p50_ns),
            latency(difference.p99_ns)
        ));
    }
    text.push('.');
    text
}

fn tried_next(lead_ns: u64) -> String {
    format!("; {} would be tried next, which is no claim", span(lead_ns))
}

fn holds(claim: &Claim) -> String {
    format!(
        "none of {} orders in {} was lost or late: fewer than {} are missed, if each is missed independently of the others; bursts of misses \
         are rarer than one in {}, and if none has more than {}, fewer than {} orders are missed",
        count(claim.orders),
        span(claim.time_ns),
        share_above(claim.miss_rate_below),
        span_at_least(claim.burst_interval_ns),
        match claim.assumed_burst_misses {
            1 => "1 miss".to_owned(),
            misses => format!("{} misses", count(misses)),
        },
        share_above(claim.miss_rate_below_in_bursts)
    )
}

fn worse(failure: &Failure, max_miss: f64) -> String {
    let mut text = if failure.is_shown_worse {
        let alone = format!("at least {} of all if each is missed independently", at_least(failure.miss_rate_at_least));
        let in_bursts = match failure.assumed_burst_misses {
            1 => String::new(),
            _ => format!(
                ", and at least {} if they come in bursts like those that were seen",
                at_least(failure.miss_rate_at_least_in_bursts)
            ),
        };
        format!("{alone}{in_bursts}: more than {}", share_below(max_miss))
    } else {
        let in_bursts = if failure.miss_rate_at_least > max_miss { " where they come in bursts" } else { "" };
        format!(
            "which does not show that more than {} are{in_bursts}, and it was not shown that fewer are",
            share_above(max_miss)
        )
    };
    if let Some(burst) = failure.longest_burst.filter(|burst| burst.misses > 1) {
        text.push_str(&format!("; the longest burst missed {} in {}", count(burst.misses), span(burst.span_ns)));
    }
    text
}

/// The sentence at the end; `within` says how near to their times the nodes acted in the run that confirmed the claim.
#[must_use]
pub fn sentence(conclusion: &Conclusion, within: impl Fn(&Claim) -> Option<String>) -> String {
    let nodes = if conclusion.nodes == 1 { "This node acts" } else { "These nodes act" };
    let sure = sure(conclusion.alpha);
    let load = match &*conclusion.load {
        "" | "none" => "without a load that was started".to_owned(),
        load => format!("under the load {load}"),
    };
    let Some(claim) = conclusion.shortest_cycle() else {
        let first = conclusion.cycles.first().map_or_else(String::new, |cycle| of_cycle(cycle, conclusion.max_miss));
        return format!("No cycle and lead was confirmed. {first}");
    };
    let within = within(claim).map_or_else(String::new, |within| format!(" within {within} of the ordered time"));
    let mut text = format!(
        "{nodes}{within} at a cycle of {}, ordered {} ahead, none lost or late in {} ({} orders, {sure} sure for the whole sweep, {load}; \
         bursts of misses are rarer than one in {})",
        span(claim.cycle_ns),
        span(claim.lead_ns),
        span(claim.time_ns),
        count(claim.orders),
        span_at_least(claim.burst_interval_ns)
    );
    if let Some(shorter) = conclusion.shortest_lead().filter(|other| other.lead_ns < claim.lead_ns) {
        text.push_str(&format!("; ordered {} ahead at a cycle of {}", span(shorter.lead_ns), span(shorter.cycle_ns)));
    }
    let ended = conclusion.cycles.iter().find_map(|cycle| match &cycle.answer {
        Answer::Stopped { why, .. } => Some(why),
        _ => None,
    });
    if let Some(why) = ended {
        text.push_str(&format!("; of longer cycles it cannot be told: the sweep was ended, since {why}"));
    }
    text.push('.');
    text
}

#[cfg(test)]
mod tests {
    use pulse::sweep::{Burst, NeededLead, NodeCount, Outcome, Step, Sweep, SweepPlan};

    use super::*;

    fn swept(mut shows: impl FnMut(&Step) -> Outcome) -> Conclusion {
        let plan = SweepPlan {
            cycles_ns: vec![500_000, 1_000_000],
            max_miss: 1e-3,
            confidence: 0.99,
            margin_ns: 10_000,
            max_lead_ns: 5_000_000,
            explore_ns: 20_000_000_000,
            budget_ns: 600_000_000_000,
            nodes: 1,
            load: "hard".to_owned(),
        };
        let mut sweep = Sweep::new(plan).unwrap();
        loop {
            let step = sweep.next().clone();
            if let Step::Done(conclusion) = step {
                return *conclusion;
            }
            sweep.take(&shows(&step)).unwrap();
        }
    }

    fn kept(step: &Step, worst_ns: u64) -> Outcome {
        let run = step.run().unwrap();
        Outcome {
            number: run.number,
            orders: run.orders,
            lost: 0,
            late: 0,
            needed: Some(NeededLead { p50_ns: worst_ns / 2, p99_ns: worst_ns, p999_ns: worst_ns, worst_ns }),
            bursts: 0,
            longest_burst: None,
            nodes: vec![NodeCount { worst_ns: Some(worst_ns), ..NodeCount::default() }],
            took_ns: run.time_ns(),
        }
    }

    #[test]
    fn the_end_is_one_sentence_that_says_what_it_rests_on() {
        let conclusion = swept(|step| kept(step, 300_000));
        let text = sentence(&conclusion, |_| Some("25.0 us".to_owned()));
        for words in [
            "This node acts within 25.0 us of the ordered time at a cycle of 500 us, ordered 310 us ahead, none lost or late in 2.6 s",
            "99 % sure for the whole sweep, under the load hard",
            "bursts of misses are rarer than one in 500 ms",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        let cycle = of_cycle(&conclusion.cycles[0], conclusion.max_miss);
        assert!(cycle.contains("if each is missed independently of the others"), "{cycle}");
    }

    #[test]
    fn what_was_confirmed_before_a_sweep_was_ended_is_said_with_why_it_was() {
        let mut conclusion = swept(|step| kept(step, 300_000));
        conclusion.cycles[1].answer = Answer::Stopped { why: "a node was lost".to_owned(), lead_ns: None };
        let text = sentence(&conclusion, |_| None);
        assert!(text.starts_with("This node acts at a cycle of 500 us"), "{text}");
        assert!(
            text.ends_with("; of longer cycles it cannot be told: the sweep was ended, since a node was lost."),
            "{text}"
        );
    }

    #[test]
    fn a_cycle_that_loses_orders_fails_by_loss_and_not_by_its_lead() {
        let conclusion = swept(|step| {
            let run = step.run().unwrap();
            let lost = run.orders / 5;
            Outcome {
                lost,
                bursts: 1,
                longest_burst: Some(Burst { misses: lost, span_ns: (run.orders - 1) * run.cycle_ns }),
                nodes: vec![NodeCount { lost, late: 0, worst_ns: Some(300_000) }],
                ..kept(step, 300_000)
            }
        });
        let text = sentence(&conclusion, |_| None);
        for words in
            ["No cycle and lead was confirmed", "for a reason that no lead mends", "more than 1 in 1\u{202f}000"]
        {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(text.contains("if they come in bursts like those that were seen"), "{text}");
    }

    #[test]
    fn a_single_stall_is_not_said_to_show_more_misses_than_are_allowed() {
        let conclusion = swept(|step| {
            let lost = if matches!(step, Step::Confirm { .. }) { 24 } else { 0 };
            Outcome {
                lost,
                bursts: u64::from(lost > 0),
                longest_burst: (lost > 0).then_some(Burst { misses: lost, span_ns: 23 * step.run().unwrap().cycle_ns }),
                nodes: vec![NodeCount { lost, late: 0, worst_ns: Some(300_000) }],
                ..kept(step, 300_000)
            }
        });
        let text = of_cycle(&conclusion.cycles[0], conclusion.max_miss);
        for words in [
            "24 of 5\u{202f}299 orders were missed for a reason that no lead mends, which does not show that more than 1 in 1\u{202f}000 are",
            "where they come in bursts, and it was not shown that fewer are; the longest burst missed 24 in 11.5 ms",
        ] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert_eq!(of_orders(1, 1), "1 of 1 orders was");
    }

    #[test]
    fn what_is_printed_of_a_bound_is_never_more_than_what_is_shown() {
        let of =
            |words: &str| 1.0 / words.strip_prefix("1 in ").unwrap().replace('\u{202f}', "").parse::<f64>().unwrap();
        let nearly = |one: f64, other: f64| one <= other * (1.0 + 2.0 * ROUNDING);
        for max_miss in [1e-9, 3e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.03, 0.1] {
            for alpha in [0.005, 0.05] {
                let orders = pulse::sweep::orders_without_a_miss(max_miss, alpha);
                let rate = pulse::sweep::miss_rate_below(orders, alpha);
                assert!(nearly(rate, of(&share_above(rate))), "{max_miss} {rate}");
            }
            assert!(nearly(of(&share_below(max_miss)), max_miss) && nearly(max_miss, of(&share_above(max_miss))));
        }
        assert_eq!(
            [1e-5, 9.999_95e-6, 0.4, 0.095_1].map(share_above),
            ["1 in 100\u{202f}000", "1 in 100\u{202f}000", "1 in 2", "1 in 10"]
        );
        assert_eq!([1e-5, 0.03].map(share_below), ["1 in 100\u{202f}000", "1 in 34"]);
        let percents = [0.1975, 0.033_99, 0.009_99, 0.001_29, 1.6e-5, 3e-6].map(at_least);
        assert_eq!(percents, ["19 %", "3.3 %", "0.99 %", "0.12 %", "1 in 62\u{202f}500", "1 in 333\u{202f}334"]);
        assert_eq!(
            [500_050_000_u64, 1_999_999_999, 90_090, 265_999_999_999].map(span_at_least),
            ["500 ms", "1.9 s", "90.0 us", "4 min 25 s"]
        );
    }
}
