//! A comparison in words, the same on a terminal and on a page.

use units::format::{self, latency};

use super::document::{Comparison, ComparisonState, Reach, Unit};

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
            (ComparisonState::NoDifferenceShown, _) => "No difference shown",
            (ComparisonState::Invalid, _) => "Invalid",
        }
    }

    /// What could have been seen, one sentence a quantity.
    #[must_use]
    pub fn reach_sentences(&self) -> Vec<String> {
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
