//! How often a campaign would cry wolf: runs of one and the same condition are dealt to all of its conditions, over and
//! over, and whatever is then shown is false.

use std::collections::{BTreeMap, BTreeSet};

use record::{Record, ValidityState};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Random;

use super::{Answer, AnswerState, Evidence};
use crate::Campaign;
use crate::journal::{Event, State};

/// Resamples make intervals, which nobody reads here; of what decides, ways to exchange runs, there are as many as the
/// level takes.
const RESAMPLES: u32 = 100;

/// What came of a rehearsal.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rehearsal {
    /// Runs that were dealt.
    pub runs: u64,
    /// Campaigns that were made of them.
    pub campaigns: u64,
    /// Campaigns in which anything at all was shown.
    pub alarms: u64,
    /// The probability of an alarm that each campaign states.
    pub stated: f64,
    /// With that probability, more alarms than this have a chance below 1 %.
    pub most_expected: u64,
    /// What was shown first, in up to ten of them.
    pub shown: Vec<String>,
    /// Why they, or some of them, could show nothing, so that no alarm says nothing of the campaign; absent where all could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cannot_show: Option<String>,
}

/// Why there is no rehearsal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RehearsalError {
    /// Not enough runs for a single campaign.
    #[error(
        "{runs} usable runs of one condition are too few: a campaign of this form takes {needed}, better three times that"
    )]
    TooFew {
        /// There are.
        runs: usize,
        /// It takes.
        needed: usize,
    },
    /// It measures nothing that is compared.
    #[error("it compares nothing: reading clocks is shown side by side alone")]
    NothingCompared,
}

/// Deals `pool` to campaigns of this form; the first measurement that is compared stands for all. Runs of other kinds, without
/// samples (of noise without CPUs that were watched), invalid ones and those that are named a second time are passed over.
///
/// # Errors
/// Where there are too few runs, or nothing is compared.
pub fn rehearse(campaign: &Campaign, pool: &[Record], campaigns: u64, seed: u64) -> Result<Rehearsal, RehearsalError> {
    let mut campaign = campaign.clone();
    campaign.measurement.retain(crate::Measurement::is_compared);
    campaign.measurement.truncate(1);
    if campaign.measurement.is_empty() {
        return Err(RehearsalError::NothingCompared);
    }
    let layout = campaign.layout(None);
    let kind = campaign.measurement.first().and_then(crate::Measurement::kind);
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

/// Why a campaign of this form shows nothing, whatever its runs are. Winners are not measured together in a rehearsal, so that
/// only the repetitions of each condition count.
fn cannot_show(campaign: &Campaign) -> Option<String> {
    let (repetitions, least) = (campaign.repetitions, campaign.least_repetitions());
    (repetitions < least).then(|| {
        format!(
            "with {repetitions} repetitions no difference can be shown, however great, and so no false one either: give it at \
             least {least} (--repetitions {least})"
        )
    })
}

const fn is_alarm(answer: &Answer) -> bool {
    !matches!(answer.state, AnswerState::NoDifferenceShown | AnswerState::NotMeasured)
}

/// The smallest number that a binomial count exceeds with a probability below 1 %.
fn most_expected(of: u64, probability: f64) -> u64 {
    // As logarithms: of many campaigns the chance of no alarm at all is below the smallest float.
    let mut log_chance = units::approx_f64(of) * (1.0 - probability).ln();
    let mut up_to = log_chance.exp();
    for count in 0..of {
        if 1.0 - up_to < 0.01 {
            return count;
        }
        let ways = units::approx_f64(of - count) / units::approx_f64(count + 1);
        log_chance += (ways * probability / (1.0 - probability)).ln();
        up_to += log_chance.exp();
    }
    of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_alarms_are_expected_as_the_binomial_distribution_says() {
        // SciPy: binom.ppf(0.99, 200, 0.01) = 6, binom.ppf(0.99, 1000, 0.05) = 67, binom.ppf(0.99, 10, 0.01) = 1.
        assert_eq!([most_expected(200, 0.01), most_expected(1_000, 0.05), most_expected(10, 0.01)], [6, 67, 1]);
        assert_eq!(most_expected(0, 0.01), 0);
        // binom.ppf(0.99, 100000, 0.01) = 1074, though 0.99^100000 is no float.
        assert_eq!([most_expected(100_000, 0.01), most_expected(2_000, 0.5)], [1_074, 1_052]);
    }
}
