//! How often a campaign raises a false alarm. Runs of one single condition are distributed over all of its conditions
//! again and again; whatever difference is then shown is false.

use std::collections::{BTreeMap, BTreeSet};

use record::{Record, ValidityState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Random;

use super::{Answer, AnswerState, Evidence};
use crate::Campaign;
use crate::journal::{Event, State};

/// Resamples only make confidence intervals, which a rehearsal does not use. The exchanges of runs that decide are as
/// many as the level needs in any case.
const RESAMPLES: u32 = 100;

/// The result of a rehearsal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rehearsal {
    /// Number of runs that were distributed.
    pub runs: u64,
    /// Number of campaigns that were simulated with them.
    pub campaigns: u64,
    /// Number of campaigns in which any difference was shown.
    pub alarms: u64,
    /// The probability of a false alarm that the campaign states.
    pub stated: f64,
    /// With that probability, more alarms than this occur in fewer than 1 % of rehearsals.
    pub most_expected: u64,
    /// The first difference that was shown, of up to ten campaigns.
    pub shown: Vec<String>,
    /// Why some or all of the campaigns could show no difference, so that the absence of alarms proves nothing; absent
    /// if all could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_show: Option<String>,
}

/// Why a campaign cannot be rehearsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RehearsalError {
    /// There are not enough runs for a single campaign.
    #[error(
        "{runs} usable runs of one condition are too few: this campaign takes {needed}, and three times as many are better"
    )]
    TooFew {
        /// Number of usable runs.
        runs: usize,
        /// Number of runs that one campaign takes.
        needed: usize,
    },
    /// None of its measurements is compared.
    #[error("the campaign compares nothing: what a call costs (clock, gpio) is only shown side by side")]
    NothingCompared,
}

/// Distributes the runs of `pool` over `campaigns` campaigns of this form. The first compared measurement stands for
/// all.
///
/// Skips runs of other kinds, runs without samples (for noise: without watched CPUs), invalid runs and duplicates.
///
/// # Errors
/// If there are too few runs, or the campaign compares nothing.
pub fn rehearse(campaign: &Campaign, pool: &[Record], campaigns: u64, seed: u64) -> Result<Rehearsal, RehearsalError> {
    let mut campaign = campaign.clone();
    campaign.measurement.retain(crate::Measurement::is_compared);
    campaign.measurement.truncate(1);
    if campaign.measurement.is_empty() {
        return Err(RehearsalError::NothingCompared);
    }
    let layout = campaign.layout(None);
    let kind = campaign.measurement.first().map(crate::Measurement::kind);
    let mut known = BTreeSet::new();
    let is_usable = |run: &&Record| {
        let is_of_kind = kind.is_some_and(|kind| kind.measurement == run.measurement);
        let has_samples = run.series.iter().any(|series| series.taken() > 0 || series.gaps().is_some());
        is_of_kind && has_samples && run.validity.state() != ValidityState::Invalid && known.insert(run.id.clone())
    };
    let pool: Vec<&Record> = pool.iter().filter(is_usable).collect();
    let needed = layout.visits.len();
    if pool.len() < needed {
        return Err(RehearsalError::TooFew { runs: pool.len(), needed });
    }
    let mut random = Random::new(seed);
    let mut rehearsal = Rehearsal {
        runs: pool.len() as u64,
        campaigns,
        alarms: 0,
        stated: campaign.false_alarms,
        most_expected: most_expected(campaigns, campaign.false_alarms),
        shown: Vec::new(),
        cannot_show: cannot_show(&campaign),
    };
    for _ in 0..campaigns {
        let mut dealt = pool.clone();
        for place in (1..dealt.len()).rev() {
            dealt.swap(place, random.below(place + 1));
        }
        let mut state = State::default();
        let mut records: BTreeMap<(usize, usize), &Record> = BTreeMap::new();
        for (visit, run) in layout.visits.iter().zip(dealt) {
            state.take(Event::Ran {
                visit: visit.number,
                measurement: 0,
                file: run.id.clone(),
                validity: run.validity.state(),
                lasted_ns: 0,
                unusable: None,
            });
            records.insert((visit.number, 0), run);
        }
        let evidence = Evidence { campaign: &campaign, state: &state, records: &records, resamples: RESAMPLES };
        let answers = evidence.answers(&layout);
        if let Some(not_compared) = answers.iter().find(|answer| answer.state == AnswerState::NotMeasured) {
            rehearsal.cannot_show.get_or_insert_with(|| {
                format!("runs were not compared, and so raised no alarm: {}", not_compared.sentence)
            });
        }
        if let Some(first) = answers.iter().find(|answer| is_alarm(answer)) {
            rehearsal.alarms += 1;
            if rehearsal.shown.len() < 10 {
                rehearsal.shown.push(format!("{} {}: {}", first.condition, first.state.word(), first.sentence));
            }
        }
    }
    Ok(rehearsal)
}

/// Why a campaign of this form shows nothing, whatever its runs are. A rehearsal has no confirmation, so only the
/// repetitions of each condition count.
fn cannot_show(campaign: &Campaign) -> Option<String> {
    let (repetitions, least) = (campaign.repetitions, campaign.least_repetitions());
    (repetitions < least).then(|| {
        format!(
             "with {repetitions} repetitions no difference can be shown, however large, and so no false one either: use at \
              least {least} (--repetitions {least})"
        )
    })
}

const fn is_alarm(answer: &Answer) -> bool {
    !matches!(answer.state, AnswerState::NoDifferenceShown | AnswerState::NotMeasured)
}

/// The smallest number that a binomial count exceeds with a probability below 1 %.
fn most_expected(campaigns: u64, probability: f64) -> u64 {
    // In logarithms: with many campaigns the chance of no alarm at all is below the smallest float.
    let mut log_chance = units::approx_f64(campaigns) * (1.0 - probability).ln();
    let mut up_to = log_chance.exp();
    for count in 0..campaigns {
        if 1.0 - up_to < 0.01 {
            return count;
        }
        let ways = units::approx_f64(campaigns - count) / units::approx_f64(count + 1);
        log_chance += (ways * probability / (1.0 - probability)).ln();
        up_to += log_chance.exp();
    }
    campaigns
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_expected_alarms_follow_the_binomial_distribution() {
        // SciPy: binom.ppf(0.99, 200, 0.01) = 6, binom.ppf(0.99, 1000, 0.05) = 67, binom.ppf(0.99, 10, 0.01) = 1.
        assert_eq!([most_expected(200, 0.01), most_expected(1_000, 0.05), most_expected(10, 0.01)], [6, 67, 1]);
        assert_eq!(most_expected(0, 0.01), 0);
        // binom.ppf(0.99, 100000, 0.01) = 1074, though 0.99^100000 is no float.
        assert_eq!([most_expected(100_000, 0.01), most_expected(2_000, 0.5)], [1_074, 1_052]);
    }
}
