//! Predicted worst cases in words, for the terminal and the viewer.

use analysis::tail::{ByCause, CauseTail, Expectation, Refusal, Tail, WorstBasis, span_words};
use schemars::JsonSchema;
use serde::Serialize;
use units::format;

/// The tables of a prediction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TailTables {
    /// The heading of the intervals: "90 % interval".
    pub interval: String,
    /// The worst case of each time to come that was asked about.
    pub expectations: Vec<ExpectationRow>,
    /// The causes of the tail; null if the runs were not explained.
    pub causes: Option<CauseRows>,
}

/// The worst case of a time to come in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExpectationRow {
    /// The time to come: "1 day".
    pub within: String,
    /// The middle of the interval; null without a prediction, and if only a bound is known.
    pub typical: Option<String>,
    /// Where the worst case will lie, or its bound; null without a prediction.
    pub interval: Option<String>,
    /// The probability of one beyond the worst that was seen, without any model; null if it is unknown.
    pub beyond_worst_seen: Option<String>,
    /// What the prediction rests on; null without one.
    pub by: Option<String>,
    /// Why there is no prediction; null if there is one.
    pub refusal: Option<String>,
}

/// The causes of a tail in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CauseRows {
    /// The level above which the causes of nearly all samples are known.
    pub above: String,
    /// The causes, the one with the worst sample first.
    pub rows: Vec<CauseRow>,
}

/// A cause of a tail in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CauseRow {
    /// What made the samples late: its class, and its name where it has one.
    pub cause: String,
    /// Samples above the level with this cause.
    pub samples: String,
    /// How often a day it comes: a 90 % interval.
    pub times_a_day: String,
    /// The worst of its samples.
    pub worst: String,
    /// The worst that would be left without it, and without those above it in the table where that is said; null if unknown.
    pub worst_left: Option<String>,
}

/// The tables of a prediction.
#[must_use]
pub fn tables(tail: &Tail) -> TailTables {
    TailTables {
        interval: format!("{:.0} % interval", tail.method.level * 100.0),
        expectations: tail.expectations.iter().map(expectation).collect(),
        causes: tail.by_cause.as_ref().map(causes),
    }
}

fn expectation(one: &Expectation) -> ExpectationRow {
    // Of a part of an interval only the bound is known.
    let is_bound = one.basis == Some(WorstBasis::Interval);
    let interval = one.worst.map(|worst| {
        let high = format::latency(worst.high_ns);
        if is_bound { format!("at most {high}") } else { format!("{} to {high}", format::latency(worst.low_ns)) }
    });
    ExpectationRow {
        within: span_words(one.horizon_ns),
        typical: one.worst.filter(|_| !is_bound).map(|worst| format::latency(worst.typical_ns)),
        interval,
        beyond_worst_seen: one.model_free_chance.map(at_most),
        by: one.worst.map(|_| one.basis.unwrap_or(WorstBasis::Fit).word().to_owned()),
        refusal: one.refusal.as_ref().map(Refusal::words),
    }
}

fn causes(by_cause: &ByCause) -> CauseRows {
    CauseRows {
        above: format::latency(by_cause.complete_above_ns),
        rows: by_cause.causes.iter().map(|one| cause(one, by_cause)).collect(),
    }
}

fn cause(cause: &CauseTail, by_cause: &ByCause) -> CauseRow {
    let words = cause.words();
    let without = by_cause.without.iter().find(|without| without.causes.last() == Some(&words));
    let worst_left = without.map(|without| {
        let also = if without.causes.len() > 1 { " (and those above)" } else { "" };
        format::latency(without.worst_left_ns) + also
    });
    let [low, _, high] = cause.per_day;
    CauseRow {
        cause: words,
        samples: format::count(cause.samples),
        times_a_day: format!("{} to {}", times(low), times(high)),
        worst: format::latency(cause.worst_ns),
        worst_left,
    }
}

/// A bound of a probability, rounded up.
fn at_most(chance: f64) -> String {
    format!("at most {:.1} %", (chance * 1_000.0).ceil() / 10.0)
}

/// How often, with decimals only where they say something: less than once in a hundred days is not never.
fn times(count: f64) -> String {
    match count {
        0.0 => "0".to_owned(),
        _ if count < 0.005 => "<0.01".to_owned(),
        _ if count < 0.995 => format!("{count:.2}"),
        _ if count < 9.95 => format!("{count:.1}"),
        _ => format::count(units::round_u64(count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_of_a_probability_is_never_rounded_down() {
        assert_eq!([0.5, 0.0001, 0.0].map(at_most), ["at most 50.0 %", "at most 0.1 %", "at most 0.0 %"]);
    }

    #[test]
    fn how_often_a_cause_comes_is_a_count() {
        let counts = [0.0, 0.004, 0.04, 0.996, 9.94, 9.97, 36_182.2];
        assert_eq!(counts.map(times), ["0", "<0.01", "0.04", "1.0", "9.9", "10", "36\u{202f}182"]);
    }
}
