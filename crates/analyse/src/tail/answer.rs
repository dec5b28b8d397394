//! Whether a claim is shown.

use units::{approx_f64, format, round_u64};

use super::claim::{Basis, Claim, ClaimAnswer, ClaimState, percent};
use super::judge::{Judgement, latency, span};
use super::span::span_words;

/// How likely the time to come exceeds what nothing exceeded so far, at the most, when both are alike: the largest of n + m
/// exchangeable pieces is one of the m with a chance of m / (n + m).
pub(super) fn model_free_chance(measured_ns: u64, horizon_ns: u64) -> f64 {
    approx_f64(horizon_ns) / (approx_f64(measured_ns) + approx_f64(horizon_ns)).max(1.0)
}

/// Answers a claim. `worst_ns` is the worst of the runs in whole, `needed` the certainty that it takes to be shown.
pub(super) fn answer(judgement: &Judgement, worst_ns: u64, claim: Claim, needed: f64, level: f64) -> ClaimAnswer {
    let measured_ns = judgement.blocks.measured_ns();
    let samples = judgement.blocks.samples();
    // A chance of just what is allowed is allowed: no part of one is lost to rounding.
    let most = 1.0 - needed + 1e-9;
    let mut answer = ClaimAnswer {
        claim,
        state: ClaimState::CannotBeTold,
        basis: None,
        model_free_chance: None,
        fit_chance: None,
        more_ns: None,
        sentence: String::new(),
    };
    let limit = span(claim.limit_ns);
    let of_order = judgement.refusals.iter().find(|refusal| refusal.code.is_of_order());
    let is_invalid = judgement.refusals.first().is_some_and(|one| one.code == super::RefusalCode::InvalidRun);
    if worst_ns > claim.limit_ns && !is_invalid {
        answer.state = ClaimState::Broken;
        answer.basis = Some(Basis::Observed);
        answer.sentence = format!(
            "{claim} is broken: a worst of {} was seen within {}.",
            latency(approx_f64(worst_ns)),
            span(measured_ns)
        );
        return answer;
    }
    if let Some(refusal) = of_order {
        answer.more_ns = refusal.more_ns;
        answer.sentence = format!("{claim} cannot be told. {}", refusal.reason);
        return answer;
    }
    // A piece of the time to come is no shorter than an interval.
    let model_free = model_free_chance(measured_ns, claim.horizon_ns.max(judgement.blocks.block_ns));
    answer.model_free_chance = Some(rounded(model_free));
    if model_free <= most {
        answer.state = ClaimState::Shown;
        answer.basis = Some(Basis::ModelFree);
        answer.sentence = format!(
            "{claim} is shown without any model: none of {} samples within {} exceeded {limit}, and {} of the same does with \
             a chance of at most {} %.",
            format::count(samples),
            span(measured_ns),
            span_words(claim.horizon_ns),
            percent(model_free)
        );
        return answer;
    }
    let model_free_more = round_u64(approx_f64(claim.horizon_ns) * needed / most).saturating_sub(measured_ns);
    let blocks = judgement.blocks_in(claim.horizon_ns);
    let limit_ns = approx_f64(claim.limit_ns);
    let prediction = judgement.prediction(1.0);
    let told = prediction.as_ref().map(|prediction| judgement.expected(prediction, claim.horizon_ns, level));
    match (prediction, told) {
        (Some(prediction), Some(Ok(_))) => {
            let chance = prediction.chance_beyond(limit_ns, blocks);
            answer.fit_chance = Some(rounded(chance));
            if chance <= most {
                answer.state = ClaimState::Shown;
                answer.basis = Some(Basis::Fit);
                answer.sentence = format!(
                    "{claim} is shown by the fits: {} exceeds {limit} with a chance of {} %.",
                    span_words(claim.horizon_ns),
                    percent(chance)
                );
                return answer;
            }
            let by_fit = judgement.more_until(|prediction| prediction.chance_beyond(limit_ns, blocks) <= most);
            answer.basis = Some(Basis::Fit);
            let so_far = format!(
                "by the fits {} exceeds {limit} with a chance of {} %",
                span_words(claim.horizon_ns),
                percent(chance)
            );
            match by_fit {
                Some(more_ns) => {
                    let more_ns = more_ns.min(model_free_more);
                    answer.state = ClaimState::NeedsMore;
                    answer.more_ns = Some(more_ns);
                    answer.sentence = format!("{claim} needs about {} more: {so_far} so far.", span(more_ns));
                }
                None => {
                    answer.state = ClaimState::NotShown;
                    answer.sentence = format!(
                        "{claim} is not shown, and more hours would not show it: {so_far}, however surely known."
                    );
                }
            }
        }
        (_, told) => {
            let refusal = match told {
                Some(Err(refusal)) => Some(refusal),
                _ => judgement.refusals.first().cloned(),
            };
            let by_fit = refusal.as_ref().and_then(|refusal| refusal.more_ns);
            let more_ns = by_fit.map_or(model_free_more, |more| more.min(model_free_more));
            answer.state = ClaimState::NeedsMore;
            answer.more_ns = Some(more_ns);
            let why = refusal.map_or_else(String::new, |refusal| format!(" {}", refusal.reason));
            let without = if by_fit.is_none_or(|more| more >= model_free_more) {
                ", so that no model is needed"
            } else {
                " before the tail can be fitted"
            };
            answer.sentence = format!("{claim} needs about {} more{without}.{why}", span(more_ns));
        }
    }
    answer
}

/// To six digits after the point: more say nothing.
fn rounded(chance: f64) -> f64 {
    (chance * 1e6).round() / 1e6
}
