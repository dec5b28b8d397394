//! What a comparison concludes, always with its reason.
//!
//! For real time the worst case decides, or the rate beyond the deadline where one is stated. The body counts by a margin of
//! non-inferiority: a median that is 0.3 us later never outweighs a worst case that is a fiftieth. Where both are opposed,
//! the body by more than the margin, that is a trade, and people have to say which counts more.

use record::{Measurement, ValidityState};
use units::format::{change, difference, latency};

use super::document::{
    ComparisonState, ComparisonVerdict, GroupSummary, PartState, QuantityComparison, RunSummary, Unit, WorstComparison,
};
use super::judge::{Outcome, margin_of};
use super::{Row, least};

/// What the verdict is drawn from.
pub(super) struct Judged<'a> {
    pub(super) measurement: Measurement,
    pub(super) a: &'a GroupSummary,
    pub(super) b: &'a GroupSummary,
    /// One for each of the quantities.
    pub(super) rows: &'a [Row],
    pub(super) quantities: &'a [QuantityComparison],
    pub(super) worst: &'a WorstComparison,
    pub(super) outcome: &'a Outcome,
    pub(super) unit: Unit,
    /// Whether the runs keep what was measured in which part of their time.
    pub(super) has_intervals: bool,
    /// The change of the body that counts (ns).
    pub(super) margin_ns: f64,
    /// What the clocks of several nodes alone could make (ns); infinite where nothing is known of it.
    pub(super) clock_error_ns: f64,
    /// Whether what decides would be shown too if the errors of the clocks were against it.
    pub(super) holds_against_clocks: bool,
    /// The step that samples are known to, as the sources counted them (ns); 0 where that is a nanosecond.
    pub(super) step_ns: f64,
    /// Whether what decides would be shown too if the steps were against it.
    pub(super) holds_against_steps: bool,
    pub(super) level: f64,
}

/// One row of the body that is shown to differ.
struct Shown<'a> {
    row: &'a QuantityComparison,
    direction: i8,
    /// Whether its whole interval lies beyond the margin: only so much outweighs anything.
    is_beyond_margin: bool,
    /// Whether its whole interval lies within the margin.
    is_within_margin: bool,
    p_together: f64,
}

impl Shown<'_> {
    fn text(&self) -> String {
        let percent = self.row.difference_percent.map_or_else(String::new, |percent| format!(" ({})", change(percent)));
        format!("{} {}{percent}", self.row.name, difference(self.row.difference_ns))
    }
}

/// What decides, with its sentence.
struct Decisive {
    state: PartState,
    /// Whether B is above A: 1, below: -1, as far as it is shown.
    direction: i8,
    /// Without a full stop; empty where there is nothing to say.
    text: String,
}

pub(super) fn verdict(judged: &Judged<'_>) -> ComparisonVerdict {
    let runs = || judged.a.runs.iter().chain(&judged.b.runs);
    // Noise without a gap is a CPU that lost nothing.
    let is_quiet = judged.measurement.kind().sampling.is_quiet_without_samples();
    let is_empty = |run: &RunSummary| run.samples == 0 && !is_quiet;
    let unusable = |run: &&RunSummary| run.validity == ValidityState::Invalid || is_empty(run);
    if let Some(first) = runs().find(unusable) {
        let why = match first.reasons.first() {
            Some(why) if first.validity == ValidityState::Invalid => why,
            _ => "it holds no sample of what is compared",
        };
        let (invalid, of) = (runs().filter(unusable).count(), runs().count());
        return plain(ComparisonState::Invalid, format!("{invalid} of {of} runs do not mean what was asked: {why}."));
    }
    if judged.quantities.is_empty() {
        return plain(ComparisonState::NoDifferenceShown, "One side holds no sample.".to_owned());
    }
    let (decisive, shown) = (decisive(judged), shown(judged));
    let body = body_state(judged, &shown);
    let (worse, better) = (PartState::Worse, PartState::Better);
    let state = match (decisive.state, body) {
        (one, other) if (one == worse && other == better) || (one == better && other == worse) => {
            ComparisonState::Trade
        }
        (PartState::Worse, _) => ComparisonState::Worse,
        (PartState::Better, _) => ComparisonState::Better,
        (_, PartState::Worse) => ComparisonState::WorseBody,
        (_, PartState::Better) => ComparisonState::BetterBody,
        (_, PartState::NotBeyondMargin) => ComparisonState::NotBeyondMargin,
        _ => ComparisonState::NoDifferenceShown,
    };
    let named = |direction: i8| -> Vec<String> {
        let rows = shown.iter().filter(|row| row.direction == direction).map(|row| row.row.name.clone());
        rows.chain((decisive.direction == direction).then(|| decisive_name(judged).to_owned())).collect()
    };
    let reason = match state {
        ComparisonState::NoDifferenceShown => nothing_shown(judged, &decisive),
        _ => format!("B - A: {}.", reason(judged, state, &decisive, &shown)),
    };
    ComparisonVerdict { state, reason, worse: named(1), better: named(-1), worst_case: decisive.state, body }
}

fn plain(state: ComparisonState, reason: String) -> ComparisonVerdict {
    let (worst_case, body) = (PartState::CannotTell, PartState::CannotTell);
    ComparisonVerdict { state, reason, worse: Vec::new(), better: Vec::new(), worst_case, body }
}

/// What the verdict calls the row that decides.
fn decisive_name(judged: &Judged<'_>) -> &'static str {
    if judged.outcome.rates.is_some() { RATE_ROW } else { WORST_CASE_ROW }
}

/// What a verdict calls the row of worst cases, in its lists of rows that are better or worse.
pub const WORST_CASE_ROW: &str = "worst case";
/// What a verdict calls the row of rates beyond the deadline, in the same lists.
pub const RATE_ROW: &str = "beyond the deadline";

fn decisive(judged: &Judged<'_>) -> Decisive {
    let Outcome { rates, maxima, decisive, worst, .. } = judged.outcome;
    let cannot_tell = |text: String| Decisive { state: PartState::CannotTell, direction: 0, text };
    let Some(chance) = decisive else {
        return cannot_tell(match rates.as_ref().and_then(|rates| rates.problem.as_ref()) {
            Some(problem) => format!("rates beyond the deadline not compared: {problem}"),
            None => format!("worst cases {}", judged.worst.note),
        });
    };
    let is_shown = chance.is_shown(judged.level);
    let p = p_text(chance.p_together.unwrap_or(1.0));
    let contradiction = match rates {
        Some(rates) => rates.contradiction(chance.direction),
        None => maxima.contradiction(chance.direction),
    };
    if let Some(contradiction) = contradiction.filter(|_| is_shown) {
        let what = if rates.is_some() { "rates beyond the deadline" } else { "worst cases" };
        return cannot_tell(format!("{what} contradict each other: {contradiction}"));
    }
    let text = match rates {
        Some(rates) => {
            let beyond = format!(
                "beyond {}: {}",
                latency(units::approx_f64(rates.deadline_ns)),
                judged.worst.rate.as_ref().map_or("", |rate| &rate.text)
            );
            // The rate decides; that its worst case is on the other side must not be passed over.
            let opposed = worst.filter(|worst| worst.p <= judged.level && worst.direction * chance.direction < 0);
            let opposed = opposed.filter(|_| !judged.worst.is_contradictory).map_or_else(String::new, |_| {
                format!(", though its worst case is on the other side ({})", worst_text(judged.worst))
            });
            format!("{beyond} (p {p}){opposed}")
        }
        None => format!("worst case {} (p {p})", worst_text(judged.worst)),
    };
    if is_shown && judged.clock_error_ns.is_infinite() {
        return cannot_tell(format!("{text} can be the clocks' doing, of whose error nothing is known"));
    }
    if is_shown && !judged.holds_against_clocks {
        return cannot_tell(format!("{text} would not be shown were the errors of the clocks against it"));
    }
    if is_shown && !judged.holds_against_steps {
        let step = latency(judged.step_ns);
        return cannot_tell(format!(
            "{text} would not be shown were one side {step} later, to which the samples are known"
        ));
    }
    if is_shown {
        let state = if chance.direction > 0 { PartState::Worse } else { PartState::Better };
        return Decisive { state, direction: chance.direction, text };
    }
    if judged.outcome.smallest_p > judged.level {
        return cannot_tell(judged.worst.note.clone());
    }
    Decisive { state: PartState::NotShown, direction: 0, text }
}

/// `-2.65 ms (median of maxima 2 700 us of A, 48.0 us of B)`.
fn worst_text(worst: &WorstComparison) -> String {
    let (Some(a_ns), Some(b_ns), Some(difference_ns)) =
        (worst.a_median_ns, worst.b_median_ns, worst.median_difference_ns)
    else {
        return "unknown, since one side has no maximum".to_owned();
    };
    format!("{} (median of maxima {} of A, {} of B)", difference(difference_ns), latency(a_ns), latency(b_ns))
}

fn shown<'a>(judged: &'a Judged<'_>) -> Vec<Shown<'a>> {
    let rows = judged.quantities.iter().zip(judged.rows);
    rows.filter_map(|(row, plain)| {
        let p_together = row.p_together.filter(|_| row.is_unlikely(judged.level))?;
        let margin_ns = margin_of(plain, judged.margin_ns).max(resolution_ns(judged, row));
        let (near_ns, far_ns) = nearest_and_farthest_ns(row);
        why_not(judged, row).is_none().then_some(Shown {
            row,
            direction: if row.difference_ns > 0.0 { 1 } else { -1 },
            is_beyond_margin: near_ns > margin_ns,
            is_within_margin: far_ns <= margin_ns,
            p_together,
        })
    })
    .collect()
}

/// A quantile within one bin of the other is the same number, and so is one within a step of the source; where steps fall into
/// bins, a difference of one step can be seen larger by a bin.
fn resolution_ns(judged: &Judged<'_>, row: &QuantityComparison) -> f64 {
    let of_bins_ns = if row.share.is_some() { row.a_ns.max(row.b_ns) * 0.001 } else { 0.0 };
    of_bins_ns + judged.step_ns
}

/// The ends of a row's interval nearest to no difference, and farthest from it, both in its direction.
fn nearest_and_farthest_ns(row: &QuantityComparison) -> (f64, f64) {
    match row.interval {
        Some(interval) if row.difference_ns > 0.0 => (interval.low_ns, interval.high_ns),
        Some(interval) => (-interval.high_ns, -interval.low_ns),
        None => (0.0, f64::INFINITY),
    }
}

/// Why a row whose difference is unlikely by chance is not shown to differ all the same; `None` where it is.
fn why_not(judged: &Judged<'_>, row: &QuantityComparison) -> Option<String> {
    let error_ns = judged.clock_error_ns;
    if row.is_doubtful() {
        Some("its interval contains 0".to_owned())
    } else if error_ns.is_infinite() {
        Some("it can be the clocks' doing, of whose error nothing is known".to_owned())
    } else if row.difference_ns.abs() <= resolution_ns(judged, row) {
        Some(if judged.step_ns > 0.0 {
            format!("it is no more than the sources can tell apart, {}", latency(judged.step_ns))
        } else {
            "it is less than what a quantile resolves, 0.1 %".to_owned()
        })
    } else if error_ns > 0.0 && nearest_and_farthest_ns(row).0 <= error_ns {
        Some(format!(
            "its interval is not beyond the error of the clocks, {} of both sides together",
            latency(error_ns)
        ))
    } else {
        None
    }
}

/// Worse in one row counts before better in another; the reason names both.
fn body_state(judged: &Judged<'_>, shown: &[Shown<'_>]) -> PartState {
    let beyond = |direction| shown.iter().any(|row| row.is_beyond_margin && row.direction == direction);
    if beyond(1) {
        PartState::Worse
    } else if beyond(-1) {
        PartState::Better
    } else if !shown.is_empty() {
        PartState::NotBeyondMargin
    } else if judged.outcome.smallest_p > judged.level {
        PartState::CannotTell
    } else {
        PartState::NotShown
    }
}

/// What decides first, then the body, each with its numbers.
fn reason(judged: &Judged<'_>, state: ComparisonState, decisive: &Decisive, shown: &[Shown<'_>]) -> String {
    let margin = margin_text(judged);
    let texts = |rows: &[&Shown<'_>]| rows.iter().map(|row| row.text()).collect::<Vec<_>>().join("; ");
    let (beyond, within): (Vec<&Shown<'_>>, Vec<&Shown<'_>>) = shown.iter().partition(|row| row.is_beyond_margin);
    // What is opposed to the worst case comes first: it makes a trade of it.
    let is_opposed = |row: &&Shown<'_>| row.direction * decisive.direction < 0;
    let (opposed, mut alike): (Vec<&Shown<'_>>, Vec<&Shown<'_>>) = beyond.into_iter().partition(is_opposed);
    let striking = |rows: &[&Shown<'_>]| p_text(rows.iter().map(|row| row.p_together).fold(1.0, f64::min));
    let mut parts = Vec::new();
    let (later, earlier): (Vec<&Shown<'_>>, Vec<&Shown<'_>>) = alike.iter().copied().partition(|row| row.direction > 0);
    if decisive.direction == 0 && !later.is_empty() && !earlier.is_empty() {
        parts.push(format!(
            "worse in {} (p {}) and better in {} (p {}), each beyond the margin of {margin}, where a row that is worse counts \
             before one that is better",
            texts(&later),
            striking(&later),
            texts(&earlier),
            striking(&earlier)
        ));
        alike.clear();
    }
    for (rows, but) in [(opposed, if state == ComparisonState::Trade { "but " } else { "" }), (alike, "")] {
        if !rows.is_empty() {
            parts.push(format!("{but}{} (p {}), beyond the margin of {margin}", texts(&rows), striking(&rows)));
        }
    }
    let (within, open): (Vec<&Shown<'_>>, Vec<&Shown<'_>>) = within.into_iter().partition(|row| row.is_within_margin);
    for (rows, how) in [(within, "within"), (open, "not shown to be beyond")] {
        if !rows.is_empty() {
            parts.push(format!("{}, {how} the margin of {margin}", texts(&rows)));
        }
    }
    match decisive.state {
        PartState::Worse | PartState::Better => {
            parts.insert(0, decisive.text.clone());
            let is_open = |row: &QuantityComparison, plain: &Row| {
                let margin_ns = margin_of(plain, judged.margin_ns);
                let worst_end = |interval: &super::DifferenceInterval| match decisive.state {
                    PartState::Better => interval.high_ns,
                    _ => -interval.low_ns,
                };
                plain.is_body && row.interval.as_ref().is_none_or(|interval| worst_end(interval) > margin_ns)
            };
            let named = |name: &str| shown.iter().any(|row| row.row.name == name);
            let rows = judged.quantities.iter().zip(judged.rows);
            let open: Vec<&str> = rows
                .filter(|(row, plain)| !named(&row.name) && is_open(row, plain))
                .map(|(row, _)| row.name.as_str())
                .collect();
            if !open.is_empty() {
                parts.push(format!("{} could lie beyond the margin of {margin} the other way", open.join(", ")));
            } else if shown.is_empty() {
                parts.push(format!("the body is within the margin of {margin}"));
            }
        }
        PartState::NotShown => parts.push(format!("no difference shown in what decides: {}", decisive.text)),
        PartState::CannotTell | PartState::NotBeyondMargin => {
            parts.push(format!("what decides cannot be told: {}", decisive.text));
        }
    }
    parts.join("; ")
}

/// The margin, with that of what is stolen in a second where it has a larger one of its own.
fn margin_text(judged: &Judged<'_>) -> String {
    let margin = latency(judged.margin_ns);
    let own = judged.rows.iter().map(|row| margin_of(row, judged.margin_ns)).find(|own| *own > judged.margin_ns);
    own.map_or_else(|| margin.clone(), |own| format!("{margin} (of {}: {})", super::STOLEN, latency(own)))
}

fn nothing_shown(judged: &Judged<'_>, decisive: &Decisive) -> String {
    let [of_a, of_b] = judged.outcome.units;
    if judged.outcome.smallest_p > judged.level {
        return match judged.unit {
            Unit::Run => {
                let text = least::too_few(of_a, of_b, judged.level, "repetitions").unwrap_or_default();
                format!("Too few repetitions: {text}.")
            }
            // Of unequal or unknown length, as imports are: a longer run of the same kind would be one piece as well.
            Unit::Block if !judged.has_intervals => format!(
                "The runs cannot decide: their order in time is missing, so each counts as one, and one against one decides \
                 nothing. Longer runs of this kind would not help: take repetitions (at least {} of each), or measure with \
                 punctual, whose records keep intervals.",
                least::least_runs_for_worst_case(judged.level)
            ),
            Unit::Block => format!(
                "The runs cannot decide: they have few intervals, or strongly correlated ones, and count as {of_a} and {of_b} \
                 independent pieces, too few for any p below {}. Run longer, or take repetitions (at least {} of each).",
                level_text(judged.level),
                least::least_runs_for_worst_case(judged.level)
            ),
        };
    }
    let smallest = judged.quantities.iter().filter_map(|row| row.p_together).fold(1.0, f64::min);
    // A contradiction is not within chance: it has a sentence of its own below.
    let of_decisive = judged.outcome.decisive.filter(|_| decisive.state != PartState::CannotTell);
    let smallest = smallest.min(of_decisive.and_then(|chance| chance.p_together).unwrap_or(1.0));
    let unlikely = judged.quantities.iter().filter(|row| row.is_unlikely(judged.level));
    let striking =
        unlikely.min_by(|one, other| one.p_together.unwrap_or(1.0).total_cmp(&other.p_together.unwrap_or(1.0)));
    let chance = match striking.and_then(|row| Some((row, why_not(judged, row)?))) {
        Some((row, why_not)) => format!(
            "What differs is not shown for sure: {} has p {}, but {why_not}.",
            row.name,
            p_text(row.p_together.unwrap_or(1.0))
        ),
        None => {
            let (p, level) = (p_text(smallest), level_text(judged.level));
            format!("What differs is within chance: the most striking row has p {p}, the level is {level}.")
        }
    };
    match decisive.state {
        PartState::CannotTell => format!("{chance} What decides cannot be told: {}.", decisive.text),
        // Of runs that kept it alike nothing differs in what decides, however far apart their worst cases are.
        _ if judged.worst.rate.is_some() => {
            format!("{chance} What decides is how often the deadline was exceeded: {}.", decisive.text)
        }
        _ => chance,
    }
}

/// With as many digits as give it to half a percent: where many comparisons share a level, each has an odd part of it.
pub(super) fn level_text(level: f64) -> String {
    let is_near = |text: &String| text.parse().is_ok_and(|printed: f64| (printed - level).abs() <= level * 0.005);
    (1..12).map(|digits| format!("{level:.digits$}")).find(is_near).unwrap_or_else(|| level.to_string())
}

/// A probability as it stands in a sentence.
pub(super) fn p_text(p: f64) -> String {
    if p < 0.001 { "below 0.001".to_owned() } else { format!("{p:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shared_level_is_told_in_few_digits() {
        let texts = [0.05, 0.01, 0.01 / 3.0, 0.05 / 7.0, 0.5, 0.0001].map(level_text);
        assert_eq!(texts, ["0.05", "0.01", "0.00333", "0.00714", "0.5", "0.0001"]);
    }
}
