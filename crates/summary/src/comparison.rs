//! Two groups of runs side by side, in words: the tables of `punctual compare`, of its page, and of each answer of a campaign.

use analysis::compare::{
    Comparison, DifferenceInterval, GroupSummary, QuantityComparison, RATE_ROW, RateComparison, SignedComparison,
    WORST_CASE_ROW,
};
use schemars::JsonSchema;
use serde::Serialize;
use units::{approx_f64_i64, format};

/// The name of the row of worst cases.
pub const MEDIAN_OF_MAXIMA: &str = "median of maxima";

/// The tables of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparisonTables {
    /// A, then B.
    pub groups: Vec<GroupRow>,
    /// Mean, quantiles, worst cases and what was beyond a deadline; of samples of both signs their distances from zero. Without rows
    /// if no quantity is known of both groups.
    pub side_by_side: ComparedRows,
    /// Where the samples lie; null unless they have both signs.
    pub with_sign: Option<ComparedRows>,
}

/// A group of runs in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct GroupRow {
    /// `A` or `B`.
    pub letter: String,
    /// What people call it: a label, or its files.
    pub name: String,
    /// How far it can be trusted, in a word.
    pub validity: String,
    /// Number of runs.
    pub runs: String,
    /// Number of samples.
    pub samples: String,
    /// How long its runs took together; null if that is unknown.
    pub time: Option<String>,
    /// Periods that were skipped; null if they were not counted.
    pub missed: Option<String>,
    /// The largest sample; null without one.
    pub worst: Option<String>,
}

/// Quantities of both groups, each as a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedRows {
    /// What the quantities are of: the heading of their names.
    pub of: String,
    /// The heading of the intervals: "95 % interval".
    pub interval: String,
    /// Whether the rows have shares of A and verdicts: else a table needs no columns for them.
    pub is_judged: bool,
    /// One for each quantity, in the order in which they are shown.
    pub rows: Vec<ComparedRow>,
}

/// One quantity of both groups in words; what is unknown, or has no meaning for it, is null.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedRow {
    /// The quantity: `mean`, `p99`, `median of maxima`.
    pub name: String,
    /// Its value in A.
    pub a: Option<String>,
    /// Its value in B.
    pub b: Option<String>,
    /// B less A, with its sign.
    pub difference: Option<String>,
    /// The same in per cent of A.
    pub percent: Option<String>,
    /// Where the difference would lie if the runs were repeated.
    pub interval: Option<String>,
    /// The probability that chance alone makes such a difference in any row; null if too few runs could ever show one.
    pub p: Option<String>,
    /// What is shown of B: `worse` or `better`; null if nothing is.
    pub shown: Option<String>,
}

/// The tables of a comparison.
#[must_use]
pub fn tables(comparison: &Comparison) -> ComparisonTables {
    ComparisonTables {
        groups: [("A", &comparison.a), ("B", &comparison.b)].map(|(letter, one)| group(letter, one)).into(),
        side_by_side: side_by_side(comparison),
        with_sign: comparison.signed.as_ref().map(|signed| with_sign(comparison, signed)),
    }
}

fn group(letter: &str, group: &GroupSummary) -> GroupRow {
    let time_ns = units::total(group.runs.iter().map(|run| run.duration_ns));
    GroupRow {
        letter: letter.to_owned(),
        name: group.name.clone(),
        validity: group.validity.word().to_owned(),
        runs: format::count(group.runs.len() as u64),
        samples: format::count(group.samples),
        time: (time_ns > 0).then(|| format::span(time_ns)),
        missed: group.missed_periods.map(format::count),
        worst: group.max_ns.map(format::latency),
    }
}

/// Mean, quantiles, worst cases and what was beyond a deadline, as rows; none if no quantity is known of both groups.
#[must_use]
pub fn side_by_side(comparison: &Comparison) -> ComparedRows {
    let worst = &comparison.worst;
    let maxima = ComparedRow {
        name: MEDIAN_OF_MAXIMA.to_owned(),
        a: worst.a_median_ns.map(format::latency),
        b: worst.b_median_ns.map(format::latency),
        difference: worst.median_difference_ns.map(format::difference),
        percent: worst.median_difference_percent.map(format::change),
        interval: None,
        p: p(comparison, worst.p_together),
        shown: shown(comparison, WORST_CASE_ROW),
    };
    let quantities = comparison.quantities.iter().map(|row| quantity(comparison, row, format::latency));
    let further = [maxima].into_iter().chain(worst.rate.as_ref().map(|rate| beyond(comparison, rate)));
    let is_known = !comparison.quantities.is_empty();
    ComparedRows {
        of: comparison.latency.clone(),
        interval: interval_heading(comparison),
        is_judged: true,
        rows: quantities.chain(further.filter(|_| is_known)).collect(),
    }
}

fn quantity(comparison: &Comparison, row: &QuantityComparison, value: fn(f64) -> String) -> ComparedRow {
    let interval = |DifferenceInterval { low_ns, high_ns }| {
        format!("{} to {}", format::difference(low_ns), format::difference(high_ns))
    };
    ComparedRow {
        name: row.name.clone(),
        a: Some(value(row.a_ns)),
        b: Some(value(row.b_ns)),
        difference: Some(format::difference(row.difference_ns)),
        percent: row.difference_percent.map(format::change),
        interval: row.interval.map(interval),
        p: p(comparison, row.p_together),
        shown: shown(comparison, &row.name),
    }
}

/// How often the deadline was exceeded, of how many periods; of kinds that count by time only how often.
fn beyond(comparison: &Comparison, rate: &RateComparison) -> ComparedRow {
    let by_time = comparison.measurement.kind().sampling.counts_by_time();
    let share = |beyond: &[u64], exposure: &[u64]| {
        let [beyond, exposure] = [beyond, exposure].map(|all| format::count(units::total(all.iter().copied())));
        Some(if by_time { beyond } else { format!("{beyond} of {exposure}") })
    };
    let part = rate.part_ns.map_or_else(String::new, |ns| format!(", first {}", format::span(ns)));
    ComparedRow {
        name: format!("beyond {}{part}", format::latency(rate.deadline_ns)),
        a: share(&rate.a_beyond, &rate.a_exposure),
        b: share(&rate.b_beyond, &rate.b_exposure),
        difference: None,
        percent: None,
        interval: None,
        p: p(comparison, rate.p_together),
        shown: shown(comparison, RATE_ROW),
    }
}

/// Where samples of both signs lie. It decides nothing by the names of its rows, which the distances from zero have, too.
fn with_sign(comparison: &Comparison, signed: &SignedComparison) -> ComparedRows {
    let rows = signed.quantities.iter().map(|row| ComparedRow {
        percent: None,
        shown: None,
        ..quantity(comparison, row, format::difference)
    });
    let end = |name: &str, a_ns: i64, b_ns: i64| ComparedRow {
        name: name.to_owned(),
        a: Some(format::difference(a_ns)),
        b: Some(format::difference(b_ns)),
        difference: Some(format::difference(approx_f64_i64(b_ns) - approx_f64_i64(a_ns))),
        percent: None,
        interval: None,
        p: None,
        shown: None,
    };
    let ends = [
        end("lowest", signed.a.lowest_ns, signed.b.lowest_ns),
        end("highest", signed.a.highest_ns, signed.b.highest_ns),
    ];
    ComparedRows {
        of: "with sign".to_owned(),
        interval: interval_heading(comparison),
        is_judged: false,
        rows: rows.chain(ends).collect(),
    }
}

fn interval_heading(comparison: &Comparison) -> String {
    let percent = format!("{:.2}", (1.0 - comparison.method.level) * 100.0);
    format!("{} % interval", percent.trim_end_matches('0').trim_end_matches('.'))
}

fn shown(comparison: &Comparison, name: &str) -> Option<String> {
    let is_in = |names: &[String]| names.iter().any(|other| other == name);
    let word = if is_in(&comparison.verdict.worse) {
        "worse"
    } else if is_in(&comparison.verdict.better) {
        "better"
    } else {
        return None;
    };
    Some(word.to_owned())
}

/// A probability, if any could have been below the level: of too few runs it says nothing.
fn p(comparison: &Comparison, p_together: Option<f64>) -> Option<String> {
    let p = p_together.filter(|_| !comparison.has_too_few_runs())?;
    Some(if p < 0.001 { "<0.001".to_owned() } else { format!("{p:.3}") })
}

#[cfg(test)]
mod tests {
    use analysis::compare::{CompareOptions, Group, compare};
    use record::{Record, Validity};

    use super::*;

    fn compared(a: &[Record], b: &[Record], options: &CompareOptions) -> Comparison {
        let group = |name: &str, runs| Group { name: name.to_owned(), runs };
        compare(&group("before", a.iter().collect()), &group("after", b.iter().collect()), options).unwrap()
    }

    /// Runs whose samples lie within 1 us from the given one (ns) on.
    fn runs(count: u64, from_ns: u64) -> Vec<Record> {
        let samples = |run: u64| (0..200).map(|at| from_ns + (at * 7 + run * 3) % 1_000).collect::<Vec<u64>>();
        (0..count).map(|run| samples::run_of(&format!("{from_ns} {run}"), &samples(run), Validity::default())).collect()
    }

    fn row<'a>(rows: &'a ComparedRows, name: &str) -> &'a ComparedRow {
        rows.rows.iter().find(|row| row.name == name).unwrap()
    }

    #[test]
    fn a_row_has_both_values_their_difference_and_what_is_shown() {
        let comparison = compared(&runs(8, 20_000), &runs(8, 10_000), &CompareOptions::default());
        let rows = side_by_side(&comparison);
        assert_eq!((rows.of.as_str(), rows.interval.as_str()), ("scheduled_to_woke", "95 % interval"));
        let maxima = row(&rows, MEDIAN_OF_MAXIMA);
        assert_eq!(maxima.a.as_deref(), Some("21.0 us"));
        assert_eq!(maxima.b.as_deref(), Some("11.0 us"));
        assert_eq!(maxima.difference.as_deref(), Some("-10.0 us"));
        assert_eq!((maxima.interval.as_deref(), maxima.shown.as_deref()), (None, Some("better")));
        let p = maxima.p.as_deref().unwrap();
        assert!(p.starts_with('<') || p.parse::<f64>().unwrap() <= 0.05, "{p}");
        let mean = row(&rows, "mean");
        assert_eq!((mean.difference.as_deref(), mean.percent.as_deref()), (Some("-10.0 us"), Some("-49.0 %")));
        assert_eq!(mean.shown.as_deref(), Some("better"));
    }

    #[test]
    fn of_too_few_runs_no_row_has_a_probability() {
        let few = side_by_side(&compared(&runs(1, 20_000), &runs(1, 10_000), &CompareOptions::default()));
        assert!(!few.rows.is_empty());
        assert!(few.rows.iter().all(|row| row.p.is_none() && row.shown.is_none()), "{few:?}");
    }

    #[test]
    fn a_deadline_has_a_row_of_how_often_it_was_exceeded() {
        let options = CompareOptions { deadline_ns: Some(15_000), ..CompareOptions::default() };
        let rows = side_by_side(&compared(&runs(8, 20_000), &runs(8, 10_000), &options));
        let beyond = row(&rows, "beyond 15.0 us");
        assert_eq!(beyond.a.as_deref(), Some("1\u{202f}600 of 1\u{202f}600"));
        assert_eq!(beyond.b.as_deref(), Some("0 of 1\u{202f}600"));
        assert_eq!((beyond.difference.as_deref(), beyond.shown.as_deref()), (None, Some("better")));
        // What then decides is the rate, so that the maxima have no probability within the level.
        assert_eq!(row(&rows, MEDIAN_OF_MAXIMA).p, None);
    }

    #[test]
    fn samples_of_both_signs_have_a_table_with_their_sign() {
        let offsets = |from_ns: i64| {
            let samples = |run: i64| (0..60).map(|at| from_ns + (at * 7 + run) % 50 * 10).collect::<Vec<i64>>();
            let run = |run: i64| {
                let id = format!("{from_ns} {run}");
                Record { id, ..samples::offsets(&samples(run), None, Validity::default()) }
            };
            (0..6).map(run).collect::<Vec<Record>>()
        };
        let tables = tables(&compared(&offsets(-5_000), &offsets(-1_000), &CompareOptions::default()));
        let signed = tables.with_sign.unwrap();
        let lowest = row(&signed, "lowest");
        assert_eq!(lowest.a.as_deref(), Some("-5.0 us"));
        assert_eq!(lowest.b.as_deref(), Some("-1.0 us"));
        assert_eq!(lowest.difference.as_deref(), Some("+4.0 us"));
        assert!(row(&signed, "mean").a.as_deref().unwrap().starts_with("-4."));
        assert!(row(&tables.side_by_side, "mean").a.as_deref().unwrap().starts_with("4."), "a distance has no sign");
        assert!(!signed.is_judged && signed.rows.iter().all(|row| row.shown.is_none() && row.percent.is_none()));
    }

    #[test]
    fn without_a_sample_there_is_a_group_and_no_row() {
        let empty = samples::run(Validity::default());
        let tables = tables(&compared(&[empty], &runs(1, 10_000), &CompareOptions::default()));
        assert!(tables.side_by_side.rows.is_empty());
        assert_eq!([&tables.groups[0].worst, &tables.groups[1].worst], [&None, &Some("11.0 us".to_owned())]);
    }
}
