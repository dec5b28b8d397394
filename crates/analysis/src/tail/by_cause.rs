//! What causes say of the time to come, for the document.

use record::{Certainty, Record};
use units::format::latency;
use units::{approx_f64, format};

use super::blocks::Blocks;
use super::causes::{Attribution, Cause};
use super::claim::percent;
use super::document::{ByCause, CauseTail, Expectation, Fit, Without, WorstBasis, WorstCase};
use super::judge::{Effort, Judgment};
use super::recombine::Recombined;
use super::span::{DAY_NS, span_words};

/// Samples that a cause needs before it is said what would be left without it.
const LEAST_REMOVED: u64 = 5;
/// Causes that are taken out, one after the other.
const MOST_REMOVED: usize = 3;
/// What is left has to end this far below a cause, where it has no cause of its own: else it may be the cause's too.
const GAP: f64 = 0.9;

/// What is asked of causes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asked<'a> {
    pub(super) horizons_ns: &'a [u64],
    pub(super) level: f64,
    pub(super) effort: Effort,
}

/// Causes with their fits.
pub(super) struct ByCauses {
    attribution: Attribution,
    recombined: Option<Recombined>,
}

impl ByCauses {
    /// Of the latency alone that the explanation is of.
    pub(super) fn new(records: &[&Record], latency_name: &str, effort: Effort) -> Option<Self> {
        let is_explained = |record: &&Record| record.measurement.kind().explained == Some(latency_name);
        let attribution =
            Attribution::from_records(records, latency_name).filter(|_| records.iter().all(is_explained))?;
        let recombined = Recombined::new(&attribution, effort.resamples, effort.seed);
        Some(Self { attribution, recombined })
    }

    /// The worst case of a future time span, from all causes; `None` if there is no answer.
    pub(super) fn expected(&self, horizon_ns: u64, measured_ns: u64, level: f64) -> Option<WorstCase> {
        /// As with one fit.
        const MOST_TIMES: f64 = 100.0;
        let times = approx_f64(horizon_ns) / approx_f64(measured_ns.max(1));
        let expected = self.recombined.as_ref()?.expected(times, level).filter(|_| times <= MOST_TIMES)?;
        Some(super::assemble::worst_case(expected))
    }

    /// The whole result. `with` are the answers with all causes.
    pub(super) fn document(&self, blocks: &Blocks, with: &[Expectation], asked: Asked<'_>) -> ByCause {
        let measured_ns = blocks.measured_ns();
        let causes = self.attribution.causes.iter().zip(0..).map(|(cause, number)| {
            let fit = self.recombined.iter().flat_map(|all| &all.fits).find(|fit| fit.cause == number);
            let size = fit.map(|fit| Fit {
                location_ns: fit.center.location.round(),
                scale_ns: fit.center.scale.round(),
                shape: (fit.center.shape * 1e3).round() / 1e3,
                shape_low: None,
                shape_high: None,
            });
            let samples = cause.sizes.count();
            CauseTail {
                class: cause.class,
                name: cause.name.clone(),
                certainty: cause.certainty,
                samples,
                per_day: per_day(samples, measured_ns),
                worst_ns: cause.worst_ns(),
                size,
            }
        });
        let causes: Vec<CauseTail> = causes.collect();
        let (without, why_not) = self.without(blocks, asked);
        let sentence = sentence(&without, with, asked.level).unwrap_or(why_not);
        ByCause { complete_above_ns: self.attribution.above_ns, causes, without, sentence }
    }

    /// Takes out the worst cause, and the next worst one, as long as each is known; with why there are no more.
    fn without(&self, blocks: &Blocks, asked: Asked<'_>) -> (Vec<Without>, String) {
        let mut all = Vec::new();
        let Attribution { above_ns, is_as_asked, causes } = &self.attribution;
        let (mut names, mut certainty) = (Vec::new(), Certainty::Shown);
        for (cause, number) in causes.iter().zip(0..).take(MOST_REMOVED) {
            if !cause.is_known() {
                let why = format!(
                    "The worst samples, up to {}, have no known cause: the effect of removing another one is unknown.",
                    latency(approx_f64(cause.worst_ns()))
                );
                return (all, why);
            }
            let others = causes.iter().skip(number + 1).map(Cause::worst_ns).max().unwrap_or(0);
            let level_ns = others.max(*above_ns);
            let own = cause.sizes.count_above(level_ns);
            if own < LEAST_REMOVED {
                let why = format!(
                    "{} stands out from the other causes in only {} sample{}: what would be left without it is unknown.",
                    cause.words(),
                    format::count(own),
                    if own == 1 { "" } else { "s" }
                );
                return (all, why);
            }
            let Some(left) = blocks.below(level_ns) else {
                let why = format!("{} comes so often that intervals hold nothing else of note.", cause.words());
                return (all, why);
            };
            let worst_left_ns = left.blocks.iter().map(|block| block.max_ns).max().unwrap_or(0);
            let least_own = cause.sizes.bins().find(|bin| bin.to_ns > level_ns).map_or(0, |bin| bin.from_ns);
            if worst_left_ns <= *above_ns && approx_f64(worst_left_ns) > GAP * approx_f64(least_own) {
                let remedy =
                    if *is_as_asked { "a lower level" } else { "--explain --above LEVEL, below the worst of the rest" };
                let why = format!(
                    "Which samples below {} are of {} is not known, so what would be left without it is unknown. Measure \
                     with {remedy}.",
                    latency(approx_f64(*above_ns)),
                    cause.words()
                );
                return (all, why);
            }
            names.push(cause.words());
            certainty = certainty.max(cause.certainty);
            let judgment = Judgment::new(&left, None, &asked.effort);
            let prediction = judgment.prediction(1.0);
            let expectation = |&horizon_ns: &u64| {
                let outlook = judgment.outlook(prediction.as_ref(), horizon_ns, asked.level);
                super::assemble::expectation(horizon_ns, outlook, None)
            };
            all.push(Without {
                causes: names.clone(),
                certainty,
                above_ns: level_ns,
                worst_left_ns,
                expectations: asked.horizons_ns.iter().map(expectation).collect(),
            });
        }
        (all, "No cause stands out.".to_owned())
    }
}

/// A 90 % interval of a rate by a count (Wilson and Hilferty's approximation of the Poisson limits), and the rate.
fn per_day(samples: u64, measured_ns: u64) -> [f64; 3] {
    const NORMAL: f64 = 1.644_853_6;
    let count = approx_f64(samples);
    let limit =
        |count: f64, sign: f64| count * (1.0 - 1.0 / (9.0 * count) + sign * NORMAL / (3.0 * count.sqrt())).powi(3);
    let days = approx_f64(measured_ns.max(1)) / approx_f64(DAY_NS);
    [limit(count.max(1.0), -1.0).min(count).max(0.0), count, limit(count + 1.0, 1.0)]
        .map(|count| (count / days * 1e3).round() / 1e3)
}

/// What the first removal buys, for the longest time that is answered both with and without; else what it leaves.
fn sentence(without: &[Without], with: &[Expectation], level: f64) -> Option<String> {
    let first = without.first()?;
    let name = first.causes.first()?;
    let sure = match first.certainty {
        Certainty::Shown => "shown",
        _ => "likely",
    };
    let both = first.expectations.iter().rev().find_map(|one| {
        let with = with.iter().find(|with| with.horizon_ns == one.horizon_ns)?;
        Some((one.horizon_ns, one.worst?, with.worst?, [one.basis, with.basis]))
    });
    let is_bound = |basis: &Option<WorstBasis>| *basis == Some(WorstBasis::Interval);
    Some(match both.filter(|(.., basis)| !basis.iter().any(is_bound)) {
        Some((horizon_ns, left, all, _)) => format!(
            "Without {name} ({sure}) the worst of {} would probably lie between {} and {}, {} times of 100, instead of {} to \
             {}.",
            span_words(horizon_ns),
            latency(left.low_ns),
            latency(left.high_ns),
            percent(level),
            latency(all.low_ns),
            latency(all.high_ns)
        ),
        None => format!(
            "Without {name} ({sure}) the worst that was seen would have been {}.",
            latency(approx_f64(first.worst_left_ns))
        ),
    })
}
