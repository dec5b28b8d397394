//! Whether a claim is shown, broken, or neither.

use units::format::{latency, span};
use units::{approx_f64, format, round_u64};

use super::claim::{Basis, Claim, ClaimAnswer, ClaimState, Exceeded, percent};
use super::judge::Judgment;
use super::rate::{Exceedances, WRONG_SHOWN};
use super::refusal::{Refusal, RefusalCode};
use super::span::span_words;

/// The share of the resamples that the chance of a claim is taken from; beyond it they are too few, and are stretched instead.
const SURE: f64 = 0.99;

/// How likely the time to come exceeds what nothing exceeded so far, at the most, when both are alike: the largest of n + m
/// exchangeable pieces is one of the m with a chance of m / (n + m).
pub(super) fn model_free_chance(measured_ns: u64, horizon_ns: u64) -> f64 {
    approx_f64(horizon_ns) / (approx_f64(measured_ns) + approx_f64(horizon_ns)).max(1.0)
}

/// When a claim is asked about: that shares out the chance to be wrong by the fits. The count needs no sharing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum When {
    /// Of a whole run.
    Once,
    /// While it goes on, for the first, second, … time.
    Look(u32),
}

impl When {
    /// The chance that the fits show a false claim then: a quarter of all for a whole run; for all looks together the same,
    /// each having a part that falls with the square of its number (Σ 1 / n² = π² / 6).
    fn wrong(self) -> f64 {
        let quarter = WRONG_SHOWN / 4.0;
        match self {
            Self::Once => quarter,
            Self::Look(number) => {
                let number = f64::from(number.max(1));
                quarter * 6.0 / (std::f64::consts::PI * number).powi(2)
            }
        }
    }

    /// By how much the resamples are carried away from their center, so that those beyond [`SURE`] stand for that chance.
    fn stretch(self) -> f64 {
        let normal = |share: f64| distrs::Normal::ppf(share, 0.0, 1.0);
        normal(1.0 - self.wrong()) / normal(SURE)
    }
}

/// Answers a claim. `worst_ns` is the worst of the runs in whole.
pub(super) fn answer(judgment: &Judgment, worst_ns: u64, claim: Claim, when: When, level: f64) -> ClaimAnswer {
    let mut answer = ClaimAnswer {
        claim,
        state: ClaimState::CannotBeTold,
        basis: None,
        exceeded: None,
        model_free_chance: None,
        fit_chance: None,
        more_ns: None,
        sentence: String::new(),
    };
    let of_order = judgment.refusals.iter().find(|refusal| refusal.code.is_of_order());
    let without_order = |refusal: &&Refusal| matches!(refusal.code, RefusalCode::InvalidRun | RefusalCode::NoIntervals);
    if let Some(refusal) = of_order.filter(without_order) {
        let seen = if worst_ns > claim.limit_ns && refusal.code == RefusalCode::NoIntervals {
            format!(" A worst of {} was seen; how often such comes is not known.", latency(approx_f64(worst_ns)))
        } else {
            String::new()
        };
        answer.sentence = format!("{claim} cannot be told. {}{seen}", refusal.reason);
        return answer;
    }
    let exceedances = Exceedances::new(&judgment.whole, claim, judgment.alike_ns());
    let [chance_low, chance, chance_high] = exceedances.chances().map(rounded);
    let (intervals, bursts) = (exceedances.intervals, exceedances.bursts);
    answer.exceeded = Some(Exceeded { intervals, bursts, chance_low, chance, chance_high });
    if exceedances.is_broken() {
        answer.state = ClaimState::Broken;
        answer.basis = Some(Basis::Observed);
        answer.sentence = format!(
            "{claim} is broken: {}, so {} exceeds the limit with a chance of at least {} %, where {} % are allowed. A true \
             claim is called broken in at most 1 of 100 runs.",
            seen(judgment, &exceedances, worst_ns),
            span_words(claim.horizon_ns),
            percent(chance_low),
            percent(1.0 - claim.confidence)
        );
        return answer;
    }
    if let Some(refusal) = of_order {
        answer.more_ns = refusal.more_ns;
        answer.sentence = format!("{claim} cannot be told. {}", refusal.reason);
        return answer;
    }
    answer.model_free_chance = Some(chance_high);
    if exceedances.is_shown() {
        answer.state = ClaimState::Shown;
        answer.basis = Some(Basis::ModelFree);
        answer.sentence = format!(
            "{claim} is shown without any model: {}, so {} of the same exceeds the limit with a chance of at most {} %. A \
             false claim is called shown in at most 1 of 100 runs.",
            seen(judgment, &exceedances, worst_ns),
            span_words(claim.horizon_ns),
            percent(chance_high)
        );
        return answer;
    }
    by_fit(judgment, &exceedances, worst_ns, when, level, &mut answer);
    answer
}

/// What neither the count nor the fits show.
fn by_fit(
    judgment: &Judgment,
    exceedances: &Exceedances,
    worst_ns: u64,
    when: When,
    level: f64,
    answer: &mut ClaimAnswer,
) {
    let claim = answer.claim;
    // A chance of just what is allowed is allowed: no part of one is lost to rounding.
    let most = 1.0 - claim.confidence + 1e-9;
    let measured_ns = judgment.blocks.measured_ns();
    let longer = |times: f64| round_u64(approx_f64(measured_ns) * (times - 1.0));
    let by_count = exceedances.times_longer().map(longer);
    let seen = seen(judgment, exceedances, worst_ns);
    if exceedances.is_above() {
        answer.state = ClaimState::NotShown;
        answer.basis = Some(Basis::Observed);
        answer.more_ns = by_count;
        let more = by_count.map_or_else(String::new, |more_ns| {
            format!(" If it goes on so, about {} more would break it.", span(more_ns))
        });
        answer.sentence = format!(
            "{claim} is neither shown nor broken: {seen}. That is {} % of such times, where {} % are allowed, but too few to \
             distinguish it from chance.{more}",
            answer.exceeded.map_or_else(String::new, |exceeded| percent(exceeded.chance)),
            percent(most)
        );
        return;
    }
    let blocks = judgment.blocks_in(claim.horizon_ns);
    let limit_ns = approx_f64(claim.limit_ns);
    let expected = judgment.prediction(1.0).map(|prediction| judgment.expected(&prediction, claim.horizon_ns, level));
    let stretch = when.stretch();
    let Some(Ok(_)) = expected else {
        let refusal = match expected {
            Some(Err(refusal)) => Some(refusal),
            _ => judgment.refusals.first().cloned(),
        };
        let by_fit = refusal.as_ref().and_then(|refusal| refusal.more_ns);
        let more_ns = match (by_fit, by_count) {
            (Some(fit), Some(count)) => Some(fit.min(count)),
            (fit, count) => fit.or(count),
        };
        answer.state = ClaimState::NeedsMore;
        answer.more_ns = more_ns;
        let why = refusal.map_or_else(String::new, |refusal| format!(" {}", refusal.reason));
        let by_which = if more_ns == by_fit && by_fit.is_some() {
            "before the tail can be fitted"
        } else {
            "to show it without a model, if it goes on so"
        };
        let more = more_ns.map_or_else(
            || "How long a run would have to be to show it is not known.".to_owned(),
            |more_ns| format!("It takes about {} more {by_which}.", span(more_ns)),
        );
        answer.sentence = format!("{claim} is neither shown nor broken: {seen}. {more}{why}");
        return;
    };
    let chance_of = |closer: f64| {
        judgment.prediction(closer * stretch).map(|prediction| prediction.chance_at_most(limit_ns, blocks, SURE))
    };
    let chance = chance_of(1.0).unwrap_or(1.0);
    answer.fit_chance = Some(rounded(chance));
    answer.basis = Some(Basis::Fit);
    let by_the_fits = format!(
        "by the fits {} exceeds {} with a chance of at most {} %",
        span_words(claim.horizon_ns),
        span(claim.limit_ns),
        percent(chance)
    );
    if chance <= most {
        answer.state = ClaimState::Shown;
        answer.sentence =
            format!("{claim} is shown: {by_the_fits}. A false claim is called shown in at most 1 of 100 runs.");
        return;
    }
    let by_fit = judgment.more_until(|closer| chance_of(closer).is_some_and(|chance| chance <= most));
    let more_ns = match (by_fit, by_count) {
        (Some(fit), Some(count)) => Some(fit.min(count)),
        (fit, count) => fit.or(count),
    };
    answer.more_ns = more_ns;
    match by_fit {
        Some(_) => {
            answer.state = ClaimState::NeedsMore;
            answer.sentence = format!(
                "{claim} is neither shown nor broken: {by_the_fits}, and {} % are allowed. About {} more would probably show \
                 it.",
                percent(most),
                span(more_ns.unwrap_or(0))
            );
        }
        None => {
            answer.state = ClaimState::NotShown;
            let count = by_count.map_or_else(String::new, |more_ns| {
                format!(
                    " Without a model it would take {} more in which it is exceeded no more often than so far.",
                    span(more_ns)
                )
            });
            answer.sentence = format!(
                "{claim} is neither shown nor broken: {by_the_fits}, and {} % are allowed; by the fits more hours would not \
                 show it.{count}",
                percent(most)
            );
        }
    }
}

/// How often the limit was exceeded, in words.
fn seen(judgment: &Judgment, exceedances: &Exceedances, worst_ns: u64) -> String {
    let measured = span(judgment.blocks.measured_ns());
    let all = judgment.whole.blocks.len() as u64;
    match (exceedances.intervals, exceedances.bursts) {
        (0, _) => format!(
            "none of {} samples within {measured} exceeded it (worst {})",
            format::count(judgment.blocks.samples()),
            latency(approx_f64(worst_ns))
        ),
        (intervals, bursts) => {
            let grouped = if exceedances.burst_pieces() > 1 {
                format!(", in {} burst{}", format::count(bursts), if bursts == 1 { "" } else { "s" })
            } else {
                String::new()
            };
            let of = if intervals == 1 { "interval" } else { "intervals" };
            format!(
                "{} {of} of {} within {measured} exceeded it{grouped} (worst {})",
                format::count(intervals),
                format::count(all.max(intervals)),
                latency(approx_f64(worst_ns))
            )
        }
    }
}

/// To six digits after the point: more say nothing.
fn rounded(chance: f64) -> f64 {
    (chance * 1e6).round() / 1e6
}
