//! The answers and figures of a campaign in words, for the terminal, the plain page and the viewer.

use campaign::result::{Answer, Bar, CampaignResult, Figure};
use schemars::JsonSchema;
use serde::Serialize;
use units::format;

use crate::comparison::{ComparedRows, side_by_side};

/// The tables of a campaign; each list is as long, and in the same order, as that of the result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CampaignTables {
    /// The answers, each compared with the first condition.
    pub answers: Vec<AnswerRows>,
    /// The answers of the winners, measured again.
    pub confirmation: Vec<AnswerRows>,
    /// The bars of each figure, as rows.
    pub figures: Vec<Vec<BarRow>>,
}

/// An answer in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AnswerRows {
    /// The answer in a word or two.
    pub word: String,
    /// The comparison behind it, A being the first condition; null if nothing was compared.
    pub compared: Option<ComparedRows>,
}

/// The samples of a condition in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BarRow {
    /// The name of the condition.
    pub condition: String,
    /// Number of runs.
    pub runs: String,
    /// Number of samples.
    pub samples: String,
    /// The smallest sample.
    pub min: String,
    /// The mean of all samples.
    pub mean: String,
    /// Population standard deviation; null if the values of some samples are unknown.
    pub sd: Option<String>,
    /// The largest sample.
    pub max: String,
    /// The largest sample of each run, in the order of the runs.
    pub maxima: Vec<String>,
}

/// The tables of a campaign.
#[must_use]
pub fn tables(result: &CampaignResult) -> CampaignTables {
    CampaignTables {
        answers: result.answers.iter().map(answer).collect(),
        confirmation: result.confirmation.iter().map(answer).collect(),
        figures: result.figures.iter().map(bars).collect(),
    }
}

fn answer(answer: &Answer) -> AnswerRows {
    AnswerRows { word: answer.state.word().to_owned(), compared: answer.comparison.as_ref().map(side_by_side) }
}

/// The conditions of a figure as rows. Times below zero keep their sign.
#[must_use]
pub fn bars(figure: &Figure) -> Vec<BarRow> {
    figure.bars.iter().map(bar).collect()
}

fn bar(bar: &Bar) -> BarRow {
    BarRow {
        condition: bar.condition.clone(),
        runs: format::count(bar.runs),
        samples: format::count(bar.samples),
        min: format::latency(bar.min_ns),
        mean: format::latency(bar.mean_ns),
        sd: bar.sd_ns.map(format::latency),
        max: format::latency(bar.max_ns),
        maxima: bar.maxima_ns.iter().copied().map(format::latency).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_below_zero_keeps_its_sign() {
        let offsets = Bar {
            condition: "baseline".to_owned(),
            runs: 2,
            samples: 4_000,
            min_ns: -9_000,
            mean_ns: -1_820.4,
            sd_ns: None,
            max_ns: 700,
            maxima_ns: vec![-40, 700],
        };
        let row = bar(&offsets);
        assert_eq!([row.min, row.mean, row.max], ["-9.0 us", "-1.8 us", "700 ns"]);
        assert_eq!((row.sd, row.maxima), (None, vec!["-40 ns".to_owned(), "700 ns".to_owned()]));
    }
}
