//! From blocks to what may be said of them: looks at the order in time, fits, and refuses.

use units::format::{latency, span};
use units::{approx_f64, format, round_u64};

use super::blocks::{Block, Blocks};
use super::heavy::heavy;
use super::plateau::{self, Resampling};
use super::prediction::{Expected, Prediction};
use super::refusal::{self, FIND_IN_COMMON, Refusal, RefusalCode, more_words};
use super::regimes;
use super::resample::{Fits, Sample, resampled};
use super::stationarity::{LEAST_TURNS, LEVEL, Order, order};
use crate::float;

/// Fewer blocks than this make no fit.
pub(super) const LEAST_BLOCKS: usize = 40;
/// Nor fewer independent ones.
pub(super) const LEAST_INDEPENDENT: f64 = 30.0;
/// Fewer different maxima than this are a clock's steps.
const LEAST_VALUES: usize = 10;
/// Nor may one value take more than this part of them.
const MOST_EQUAL: f64 = 0.25;
/// No answer for longer than the run times this, or times its independent blocks.
const MOST_TIMES: f64 = 100.0;
/// How many times as far beyond the typical maximum as the worst that was seen an answer may reach.
const MOST_REACH: f64 = 6.0;
/// Runs of up to this many times the length are considered when stating how much longer to measure.
pub(super) const MOST_LONGER: f64 = 100.0;
/// Resamples that have to be fitted at least: of fewer, the highest and lowest twentieth are two values or none.
const LEAST_RESAMPLES: usize = 50;
/// The time that fits have to say something of, in times as long as the run, and how sure, before they are taken as they are;
/// where they say nothing of it, what lies above the body is fitted by itself.
const TIMES_TO_ANSWER: u64 = 10;
const LEVEL_TO_ANSWER: f64 = 0.9;
/// By so much longer runs become from one try to the next, in the search for how long one has to be.
const FIRST_LONGER: f64 = 1.1;
const NEXT_LONGER: f64 = 1.25;
/// Neighbors that are alike over more than this part of the run (1 / this) are a drift, and how far the likeness reaches is not
/// known from it.
const MOST_ALIKE: f64 = 4.0;
/// So many of the worst intervals together have to stand in a third as many places or fewer for them to be one event, and not
/// chance: six in two places or one.
const LEAST_CLUSTERED: usize = 6;
const MOST_PLACES: usize = 3;

/// What may be said of some blocks.
#[derive(Clone, Debug)]
pub(super) struct Judgment {
    /// As they were measured.
    pub(super) whole: Blocks,
    /// As they were looked at: of very many, neighbors are merged.
    pub(super) blocks: Blocks,
    /// As they were fitted.
    pub(super) fitted: Blocks,
    /// Of these, neighbors that were drawn together.
    neighbors: usize,
    pub(super) order: Option<Order>,
    /// All that speaks against any answer, the gravest first.
    pub(super) refusals: Vec<Refusal>,
    pub(super) fits: Option<(Fits, Vec<Fits>)>,
    pub(super) sample: Option<Sample>,
    /// The middle maximum (ns).
    median: f64,
    /// The largest (ns).
    worst: f64,
}

/// What is asked of each judgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Effort {
    pub(super) resamples: u32,
    pub(super) seed: u64,
}

impl Judgment {
    /// Judges what is left unless the runs themselves are refused.
    pub(super) fn new(blocks: &Blocks, refused: Option<Refusal>, effort: &Effort) -> Self {
        let whole = blocks.clone();
        let blocks = blocks.at_most();
        let (fitted, at_once) = blocks.fitted();
        let mut sorted = blocks.maxima();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut judgment = Self {
            order: None,
            refusals: refused.into_iter().collect(),
            fits: None,
            sample: None,
            median: sorted.get(sorted.len() / 2).copied().unwrap_or(0.0),
            worst: sorted.last().copied().unwrap_or(0.0),
            fitted,
            neighbors: 1,
            blocks,
            whole,
        };
        if judgment.blocks.blocks.is_empty() {
            if judgment.refusals.is_empty() {
                judgment.refusals.push(no_intervals());
            }
            return judgment;
        }
        let order = order(&judgment.blocks);
        judgment.refusals.extend(refusals_of_order(&judgment.blocks, &order));
        judgment.refusals.extend(coarse_clock(&judgment.blocks.blocks));
        judgment.refusals.extend(too_few(&judgment.blocks, &order));
        let enough = judgment.blocks.blocks.len() >= LEAST_BLOCKS / 2;
        if enough && !judgment.refused(RefusalCode::InvalidRun) && !judgment.refused(RefusalCode::CoarseClock) {
            judgment.fit(at_once, &order, effort);
        }
        judgment.order = Some(order);
        judgment.refusals.sort_by_key(|refusal| refusal.code);
        refusal::agree(&mut judgment.refusals);
        judgment
    }

    fn refused(&self, code: RefusalCode) -> bool {
        self.refusals.iter().any(|refusal| refusal.code == code)
    }

    fn fit(&mut self, at_once: usize, order: &Order, effort: &Effort) {
        let sample = Sample::from_blocks(&self.fitted);
        let weights = vec![1.0; self.fitted.blocks.len()];
        self.neighbors = order.dependence.block_pieces.div_ceil(at_once);
        let how = Resampling { at_once: self.neighbors, resamples: effort.resamples, seed: effort.seed };
        let Some(center) = sample.fit(&weights) else {
            self.refusals.push(does_not_vary());
            return;
        };
        let mut sorted = self.fitted.maxima();
        sorted.sort_unstable_by(f64::total_cmp);
        let mut of_kind = Vec::new();
        if !regimes::is_one_kind(&sorted, &center.gev, effort.seed) {
            of_kind.push(two_regimes());
        }
        let resamples = resampled(&sample, &self.fitted, self.neighbors, effort.resamples, effort.seed);
        if resamples.len() < LEAST_RESAMPLES {
            self.refusals.push(does_not_vary());
            return;
        }
        of_kind.extend(heavy(&center, &resamples, self.blocks.measured_ns()));
        self.fits = Some((center, resamples));
        self.sample = Some(sample);
        // Several kinds together: what lies above the body may be of one.
        if !of_kind.is_empty() || (self.refusals.is_empty() && !self.is_answered(order)) {
            if let Some((sample, center, resamples)) = plateau::above_body(&self.fitted, how) {
                self.fits = Some((center, resamples));
                self.sample = Some(sample);
                of_kind.clear();
            }
        }
        self.refusals.extend(of_kind);
    }

    /// Whether the fits say anything of a time that is [`TIMES_TO_ANSWER`] times as long as the run.
    fn is_answered(&self, order: &Order) -> bool {
        let Some((center, resamples)) = &self.fits else { return false };
        let prediction = Prediction::new(center, resamples, 1.0, 1.0 / (1.0 - order.dependence.left_out).sqrt());
        let horizon_ns = self.blocks.measured_ns().saturating_mul(TIMES_TO_ANSWER);
        self.expected_by_fit(&prediction, horizon_ns, LEVEL_TO_ANSWER).is_ok()
    }

    /// Neighboring blocks that were drawn together.
    pub(super) const fn neighbors(&self) -> usize {
        self.neighbors
    }

    /// How many blocks a time is as long as.
    pub(super) fn blocks_in(&self, horizon_ns: u64) -> f64 {
        approx_f64(horizon_ns) / approx_f64(self.fitted.block_ns.max(1))
    }

    fn independent(&self) -> f64 {
        let all = float(self.fitted.blocks.len()).max(1.0);
        self.order.as_ref().map_or(1.0, |order| (order.independent / all).min(1.0))
    }

    /// What the fits say, `closer` times as surely as this run alone says it.
    pub(super) fn prediction(&self, closer: f64) -> Option<Prediction> {
        let (center, resamples) = self.fits.as_ref()?;
        // What blocks of neighbors leave out of the variance is put back.
        let left_out = self.order.as_ref().map_or(0.0, |order| order.dependence.left_out);
        Some(Prediction::new(center, resamples, self.independent(), closer / (1.0 - left_out).sqrt()))
    }

    /// How long neighbors stay alike (ns).
    pub(super) fn alike_ns(&self) -> f64 {
        self.order.as_ref().map_or(1.0, |order| order.dependence.time_pieces) * approx_f64(self.blocks.block_ns)
    }

    /// The worst case of a time to come, or why there is none.
    pub(super) fn expected(&self, prediction: &Prediction, horizon_ns: u64, level: f64) -> Result<Expected, Refusal> {
        if let Some(refusal) = self.refusals.first() {
            return Err(refusal.clone());
        }
        let measured_ns = self.blocks.measured_ns();
        let independent = self.order.as_ref().map_or(0.0, |order| order.independent);
        let most_times = MOST_TIMES.min(independent);
        let times = approx_f64(horizon_ns) / approx_f64(measured_ns.max(1));
        if times > most_times {
            return Err(too_far(horizon_ns, measured_ns, most_times));
        }
        self.expected_by_fit(prediction, horizon_ns, level)
    }

    fn expected_by_fit(&self, prediction: &Prediction, horizon_ns: u64, level: f64) -> Result<Expected, Refusal> {
        let expected = prediction.expected(self.blocks_in(horizon_ns), level);
        let [[gev_low, gev, gev_high], [gpd_low, gpd, gpd_high]] = expected.each;
        if !(gpd_low..=gpd_high).contains(&gev) && !(gev_low..=gev_high).contains(&gpd) {
            return Err(disagree(gev, gpd));
        }
        if self.is_too_wide(&expected) {
            return Err(self.too_wide(&expected, horizon_ns, level));
        }
        Ok(expected)
    }

    fn is_too_wide(&self, expected: &Expected) -> bool {
        // Of what lies above a body, the middle maximum may be of the body or not: there it is counted from the threshold.
        let above_body = self.sample.as_ref().filter(|sample| sample.is_above_body());
        let (from, reach) =
            above_body.map_or((self.median, MOST_REACH), |sample| (sample.threshold, plateau::MOST_REACH));
        !expected.high.is_finite() || expected.high - from > reach * (self.worst - from)
    }

    /// How much longer a run has to be until `enough` holds of how much closer to their center the resamples come, which they
    /// do as the root of its length (ns). `None` where even a hundred times as long would not do.
    pub(super) fn more_until(&self, enough: impl Fn(f64) -> bool) -> Option<u64> {
        let mut times = FIRST_LONGER;
        while times <= MOST_LONGER {
            if enough(1.0 / f64::sqrt(times)) {
                return Some(round_u64(approx_f64(self.blocks.measured_ns()) * (times - 1.0)));
            }
            times *= NEXT_LONGER;
        }
        None
    }

    fn too_wide(&self, expected: &Expected, horizon_ns: u64, level: f64) -> Refusal {
        let blocks = self.blocks_in(horizon_ns);
        let more_ns = self.more_until(|closer| {
            self.prediction(closer).is_some_and(|prediction| !self.is_too_wide(&prediction.expected(blocks, level)))
        });
        Refusal {
            code: RefusalCode::TooWide,
            reason: format!(
                "In {} the worst case could be anything up to {}, while this run saw {} at the worst.",
                super::span::span_words(horizon_ns),
                latency(expected.high),
                latency(self.worst)
            ),
            remedy: more_words(more_ns, "A run of the same kind would not narrow that down, however long."),
            more_ns,
        }
    }
}

fn no_intervals() -> Refusal {
    Refusal {
        code: RefusalCode::NoIntervals,
        reason: "The run keeps no intervals, so the order in time is not known.".to_owned(),
        more_ns: None,
        remedy: "Measure with punctual, whose records keep a maximum and a histogram of each interval.".to_owned(),
    }
}

pub(super) fn does_not_vary() -> Refusal {
    Refusal {
        code: RefusalCode::CoarseClock,
        reason: "The maxima hardly vary, so that no tail can be seen.".to_owned(),
        more_ns: None,
        remedy: "Measure with a finer clock; more hours with this one would not help.".to_owned(),
    }
}

fn coarse_clock(blocks: &[Block]) -> Option<Refusal> {
    let mut values: Vec<u64> = blocks.iter().map(|block| block.max_ns).collect();
    values.sort_unstable();
    let most_equal = values.chunk_by(|a, b| a == b).map(<[u64]>::len).max().unwrap_or(0);
    let different = values.chunk_by(|a, b| a == b).count();
    let is_coarse = (different < LEAST_VALUES && values.len() >= LEAST_VALUES)
        || float(most_equal) > MOST_EQUAL * float(values.len().max(LEAST_VALUES));
    is_coarse.then(|| Refusal {
        code: RefusalCode::CoarseClock,
        reason: format!(
            "Of {} maxima only {different} are different, and {most_equal} are equal: what varies is the clock's steps.",
            format::count(values.len() as u64)
        ),
        more_ns: None,
        remedy: "Measure with a finer clock, or longer intervals (--interval-maximum); more hours alone would not help."
            .to_owned(),
    })
}

/// What speaks against it in the order of time.
fn refusals_of_order(blocks: &Blocks, order: &Order) -> Vec<Refusal> {
    let mut refusals = Vec::new();
    let start_of = |block: usize| blocks.blocks.get(block).map_or(0, |block| block.start_ns);
    let measured_ns = blocks.measured_ns();
    let p = order.level_p.min(order.highest_p);
    if p < LEVEL {
        let (before, after) = medians(blocks, order.change);
        let what = match (order.level_p <= order.highest_p, order.rises) {
            (true, true) => "The maxima are higher",
            (true, false) => "The maxima are lower",
            (false, true) => "The highest maxima come more often",
            (false, false) => "The highest maxima come less often",
        };
        refusals.push(Refusal {
            code: RefusalCode::NotStationary,
            reason: format!(
                "{what} from {} into the run on (median {} before, {} after; p {}): the process changed, or is \
                 disturbed by something that lasts about as long as the run.",
                span(start_of(order.change)),
                latency(before),
                latency(after),
                if p < 0.001 { "< 0.001".to_owned() } else { format!("{p:.3}") }
            ),
            more_ns: None,
            remedy:
                "Find what changed (load, frequency, heat, another program) and measure again; more hours help only \
                     if they hold many such changes."
                    .to_owned(),
        });
    }
    if p >= LEVEL && order.dependence.time_pieces > float(blocks.blocks.len()) / MOST_ALIKE {
        // So slow that nothing within the run distinguishes it from a level that wanders.
        refusals.push(Refusal {
            code: RefusalCode::NotStationary,
            reason:
                "Neighboring maxima are alike over the whole run: the process drifts, or is disturbed by something \
                     that lasts longer than the run."
                    .to_owned(),
            more_ns: None,
            remedy:
                "Find what drifts (load, frequency, heat, another program) and measure again; more hours help only if \
                     they hold many such changes."
                    .to_owned(),
        });
    }
    if let Some(turns) = order.turns.filter(|&turns| turns < LEAST_TURNS) {
        let period_ns = measured_ns / turns.max(1) as u64;
        let more_ns = (turns > 1).then(|| (period_ns.saturating_mul(LEAST_TURNS as u64)).saturating_sub(measured_ns));
        refusals.push(Refusal {
            code: RefusalCode::TooFewTurns,
            reason: if turns > 1 {
                format!("Something comes back about every {}, only {turns} times within the run.", span(period_ns))
            } else {
                "The maxima go up and down once over the whole run: what disturbs them may be longer than it."
                    .to_owned()
            },
            remedy: more_words(more_ns, "Measure at least ten times as long, or find what disturbs and stop it."),
            more_ns,
        });
    }
    let (clusters, highest) = order.clusters;
    if highest >= LEAST_CLUSTERED && clusters * MOST_PLACES <= highest && clusters < LEAST_TURNS {
        refusals.push(Refusal {
            code: RefusalCode::IsolatedCluster,
            reason: format!(
                "The {highest} worst intervals stand in {} of the run: how often that comes back cannot be seen.",
                if clusters == 1 { "one place".to_owned() } else { format!("{clusters} places") }
            ),
            more_ns: None,
            remedy: "Find what happened there; or measure so long that it comes back at least ten times.".to_owned(),
        });
    }
    refusals
}

/// The middle maximum before a block, and from it on (ns).
fn medians(blocks: &Blocks, change: usize) -> (f64, f64) {
    let maxima = blocks.maxima();
    let middle = |part: &[f64]| {
        let mut part = part.to_vec();
        part.sort_unstable_by(f64::total_cmp);
        part.get(part.len() / 2).copied().unwrap_or(0.0)
    };
    let (before, after) = maxima.split_at(change.min(maxima.len()));
    (middle(before), middle(after))
}

fn too_few(blocks: &Blocks, order: &Order) -> Option<Refusal> {
    let count = blocks.blocks.len();
    let alike = order.dependence.time_pieces;
    if count >= LEAST_BLOCKS && order.independent >= LEAST_INDEPENDENT {
        return None;
    }
    let needed = float(LEAST_BLOCKS).max(LEAST_INDEPENDENT * alike);
    let known = alike <= float(count) / MOST_ALIKE;
    let more_ns = known.then(|| round_u64((needed - float(count)) * approx_f64(blocks.block_ns)));
    let reason = if count < LEAST_BLOCKS {
        format!("{count} interval maxima are too few: a tail takes {LEAST_BLOCKS}.")
    } else {
        format!(
            "The intervals depend on each other so much that {count} maxima have the information of {:.0} independent ones: a tail takes \
             {LEAST_INDEPENDENT:.0}.",
            order.independent
        )
    };
    Some(Refusal {
        code: RefusalCode::TooFewMaxima,
        reason,
        remedy: more_words(more_ns, "How much longer is unknown: the correlation reaches over the whole run."),
        more_ns,
    })
}

fn two_regimes() -> Refusal {
    Refusal {
        code: RefusalCode::TwoRegimes,
        reason: "The maxima are not of one kind: most follow one distribution, and the others another.".to_owned(),
        more_ns: None,
        remedy: FIND_IN_COMMON.replace("itself.", "itself; more hours alone would not help."),
    }
}

fn too_far(horizon_ns: u64, measured_ns: u64, most_times: f64) -> Refusal {
    let needed_ns = round_u64(approx_f64(horizon_ns) / most_times.max(1.0));
    let more_ns = Some(needed_ns.saturating_sub(measured_ns));
    Refusal {
        code: RefusalCode::HorizonTooFar,
        reason: format!(
            "{} is {:.0} times as long as was measured; from this run follows what comes within {most_times:.0} times.",
            super::span::span_words(horizon_ns),
            approx_f64(horizon_ns) / approx_f64(measured_ns.max(1))
        ),
        remedy: more_words(more_ns, ""),
        more_ns,
    }
}

fn disagree(gev: f64, gpd: f64) -> Refusal {
    Refusal {
        code: RefusalCode::FitsDisagree,
        reason: format!(
            "Two ways to the tail disagree: by the maxima of intervals the worst would be {}, by the highest samples {}.",
            latency(gev),
            latency(gpd)
        ),
        more_ns: None,
        remedy: "Look for samples that come in bursts or from two sources; longer intervals (--interval-maximum) may \
                 agree."
            .to_owned(),
    }
}
