//! A comparison in words, the same on a terminal and on a page.

use units::format::{self, latency};

use super::document::{Comparison, ComparisonState, Method, Reach, Unit};
use super::least::{can_show_body, least_runs_for_body, least_runs_for_worst_case};

/// The worst of samples of both signs, which has none.
const FARTHEST: &str = "farthest from zero";

impl Comparison {
    /// The verdict in a few words. Of one run on each side only the runs are judged, never the settings.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match (self.verdict.state, self.method.unit) {
            (ComparisonState::Worse, Unit::Run) => "B is worse",
            (ComparisonState::Worse, Unit::Block) => "The run B was worse",
            (ComparisonState::Better, Unit::Run) => "B is better",
            (ComparisonState::Better, Unit::Block) => "The run B was better",
            (ComparisonState::Trade, _) => "Trade",
            (ComparisonState::WorseBody, Unit::Run) => "B is worse in the body",
            (ComparisonState::WorseBody, Unit::Block) => "The run B was worse in the body",
            (ComparisonState::BetterBody, Unit::Run) => "B is better in the body",
            (ComparisonState::BetterBody, Unit::Block) => "The run B was better in the body",
            (ComparisonState::Elsewhere, Unit::Run) => "B lies elsewhere",
            (ComparisonState::Elsewhere, Unit::Block) => "The run B lay elsewhere",
            (ComparisonState::NotBeyondMargin, _) => "No difference beyond the margin shown",
            (ComparisonState::NoDifferenceShown, _) if self.has_too_few_runs() => "Too few runs to tell",
            (ComparisonState::NoDifferenceShown, _) => "No difference shown",
            (ComparisonState::Invalid, _) => "Invalid",
        }
    }

    /// Whether no difference of any size could have been shown, as there are too few runs, or pieces of them.
    #[must_use]
    pub fn has_too_few_runs(&self) -> bool {
        self.method.smallest_p > self.method.level && !self.quantities.is_empty()
    }

    /// What is in the files, with no claim about any other run: the median (else the mean) and the worst case of both sides.
    /// Absent where a run is invalid, or a side has no sample.
    #[must_use]
    pub fn description(&self) -> Option<String> {
        let is_known = self.verdict.state != ComparisonState::Invalid && self.a.samples > 0 && self.b.samples > 0;
        // Samples of both signs lie where they lie, and not as far from zero as they do.
        let rows = self.signed.as_ref().map_or(&self.quantities, |signed| &signed.quantities);
        let named = |name: &str| rows.iter().find(|row| row.name == name);
        let body = named("p50").or_else(|| named("mean")).or(rows.first()).filter(|_| is_known)?;
        let step_ns = self.method.step_ns;
        // Where steps fall into bins of a histogram, one step can be seen larger by a bin.
        let is_alike =
            |a_ns: f64, b_ns: f64| step_ns > 0.0 && (b_ns - a_ns).abs() <= step_ns + a_ns.abs().max(b_ns.abs()) * 0.001;
        let is_signed = self.signed.is_some();
        let one = |name: &str, (a_ns, b_ns): (f64, f64), alike: &str| {
            let shown = |ns: f64| if is_signed && name != FARTHEST { format::difference(ns) } else { latency(ns) };
            let both = format!("({} against {})", shown(b_ns), shown(a_ns));
            let apart = if is_alike(a_ns, b_ns) { alike.to_owned() } else { format::difference(b_ns - a_ns) };
            format!("{name} {apart} {both}")
        };
        let alike = format!("alike to the {} that the sources can tell apart", latency(step_ns));
        let [a, b] = [&self.a, &self.b].map(|side| side.runs.len() as u64);
        let whose = match (a, b) {
            (1, 1) => "in these two runs".to_owned(),
            _ => format!("in these {} and {} runs", format::count(a), format::count(b)),
        };
        let worst = self.a.max_ns.zip(self.b.max_ns);
        let body_ns = (body.a_ns, body.b_ns);
        let alike_again = if is_alike(body_ns.0, body_ns.1) { "alike, too" } else { &alike };
        let worst = worst.map(|(a, b)| {
            one(if is_signed { FARTHEST } else { "worst" }, (units::approx_f64(a), units::approx_f64(b)), alike_again)
        });
        let worst = worst.map_or_else(String::new, |worst| format!(" {worst},"));
        Some(format!("B - A: {},{worst} {whose}.", one(&body.name, body_ns, &alike)))
    }

    /// What that shows of other runs, and how many would show more. Absent where a run is invalid.
    #[must_use]
    pub fn standing(&self) -> Option<String> {
        if self.verdict.state == ComparisonState::Invalid || self.quantities.is_empty() {
            return None;
        }
        let level = self.method.level;
        let (worst, body) = (least_runs_for_worst_case(level), least_runs_for_body(level, self.measurement));
        if self.has_too_few_runs() {
            return Some(format!(
                "It says what these runs did, and nothing of what the next would do: to show a difference takes at least \
                 {worst} runs of each for worst cases, {body} for mean and quantiles."
            ));
        }
        let word = self.word();
        Some(match self.method.unit {
            Unit::Run => format!("What that shows of the settings: {}.", lower(word)),
            Unit::Block => format!(
                "Of these two runs, piece by piece: {}. Whether the settings differ takes at least {worst} runs of each.",
                lower(word)
            ),
        })
    }

    /// What could have been seen, one sentence a quantity; of too few runs, that none could have been.
    #[must_use]
    pub fn reach_sentences(&self) -> Vec<String> {
        let Method { a_units, b_units, level, unit, .. } = self.method;
        let is_judged = self.verdict.state != ComparisonState::Invalid && !self.quantities.is_empty();
        let units = [a_units, b_units].map(|units| usize::try_from(units).unwrap_or(usize::MAX));
        if is_judged && !can_show_body(units, level, self.measurement) {
            let units = match unit {
                Unit::Run => "repetitions",
                Unit::Block => "pieces",
            };
            let least = least_runs_for_body(level, self.measurement);
            // Rows that all differ share their extreme ways of dealing, and may be shown by fewer.
            let what = if self.has_too_few_runs() {
                "no difference of any size would be shown"
            } else {
                "one that differs alone may not be shown, however much"
            };
            return vec![format!(
                "Mean and quantiles: with {a_units} and {b_units} {units} {what}; it takes at least {least} of each."
            )];
        }
        self.reach.iter().map(|reach| sentence(reach, self.method.unit)).collect()
    }

    /// How it was judged, in a line.
    #[must_use]
    pub fn how(&self) -> String {
        let method = &self.method;
        let drawn = format!(
            "p: chance of such a difference in any row. {} resamples, seed {}.",
            format::count(method.resamples.into()),
            method.seed
        );
        // A run without intervals, as imports are, is one piece whose length and likeness to others nobody knows.
        if method.piece_ns == 0 {
            return format!("{drawn} The runs keep no intervals, so each is one piece.");
        }
        let piece = format::span(method.piece_ns);
        format!("{drawn} Pieces of {piece}, alike by {:.2}, in blocks of {}.", method.correlation, method.block_pieces)
    }
}

/// A word of the verdict inside a sentence; `B` and `The run B` stay as they are but for their article.
fn lower(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) if !word.starts_with("B ") => first.to_lowercase().chain(letters).collect(),
        _ => word.to_owned(),
    }
}

fn sentence(reach: &Reach, unit: Unit) -> String {
    let (wanted, visible) = (latency(reach.wanted_ns), latency(reach.visible_ns));
    let seen = format!("{}: a true difference of {visible} would be shown four times of five", reach.name);
    if reach.times_longer <= 1.0 {
        return format!("{seen}, and so one of {wanted}.");
    }
    let times = format::count(units::round_u64(reach.times_longer.ceil()));
    let how = match unit {
        Unit::Run => format!("take {times} times as many runs"),
        Unit::Block => format!("run {times} times longer"),
    };
    format!("{seen}; {how} to see one of {wanted}.")
}
