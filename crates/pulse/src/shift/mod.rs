//! How much later one line switched than the other, order by order: what a witness saw of two nodes that were to act together.

mod of_record;
mod split;

use histogram::{Histogram, HistogramRecorder};

use crate::numbering::NumberedPulse;

pub use of_record::{NotStated, StatedMeans};
pub use split::{NodeMeans, Part, ShiftParts, split};

/// The most blocks that a shift over time is given in: what a chart can show.
pub const MOST_BLOCKS: i64 = 1_000;

/// The shift of one line against another: when the second one switched less when the first one did, for each order of both.
#[derive(Clone, Debug, PartialEq)]
pub struct Shift {
    /// Orders of which both lines have a pulse with a number.
    pub count: u64,
    /// The least shift (ps): the most negative one, if the second line was ever first.
    pub min_ps: i64,
    /// The greatest shift (ps).
    pub max_ps: i64,
    /// The mean shift (ps), of an exact sum.
    pub mean_ps: f64,
    /// The population standard deviation of the shift (ps).
    pub deviation_ps: f64,
    /// The least distance of both edges of an order, to either side (ps).
    pub nearest_ps: i64,
    /// The mean of these distances (ps), of an exact sum: the shift without its sign.
    pub mean_distance_ps: f64,
    /// From the first to the last order that both lines show (ps, on the capture's clock).
    pub span_ps: i64,
    /// The shift that is farthest from none, to either side.
    pub farthest: ShiftOfOrder,
    /// By how much each shift may be off, to either side (ps): what [`CaptureError`] leaves of the farthest one; `None` where that is not
    /// known.
    pub error_ps: Option<i64>,
    /// How long a block is (ps).
    pub block_ps: i64,
    /// The shift over time, in the order of time; blocks without an order are left out.
    pub blocks: Vec<ShiftBlock>,
    /// Shifts of orders whose second line was later, or at the same time (rounded to ns).
    pub later: Histogram,
    /// Shifts of orders whose second line was earlier, without the sign (rounded to ns).
    pub earlier: Histogram,
    /// Orders between the first and the last one that both lines show, of which the first line alone has a pulse with a number.
    pub only_first: u64,
    /// Those of which the second line alone has one.
    pub only_second: u64,
    /// Those of which neither has one.
    pub neither: u64,
    /// Pulses of orders before or behind all those that the other line shows, of either line.
    pub outside: [u64; 2],
}

/// The shift of one order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ShiftOfOrder {
    /// The order's number.
    pub number: u64,
    /// When the first line switched (ps, on the capture's clock).
    pub at_ps: i64,
    /// The second line less the first one (ps).
    pub shift_ps: i64,
}

/// The shifts of a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShiftBlock {
    /// When it begins (ps, on the capture's clock).
    pub from_ps: i64,
    /// Orders in it.
    pub count: u64,
    /// The least shift (ps).
    pub min_ps: i64,
    /// The mean shift (ps).
    pub mean_ps: f64,
    /// The greatest shift (ps).
    pub max_ps: i64,
}

/// How far a capture can be wrong about times between edges.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureError {
    /// The time between two samples (ps): each edge lies between two of them. `None` where the capture does not state it.
    pub resolution_ps: Option<i64>,
    /// How fast the capture's clock goes against the server's (parts per billion). `None` where no numbers show it; then it may be off by as
    /// much as the numbering allows.
    pub rate_ppb: Option<i64>,
}

/// By how much the capture's clock may go wrong where no numbers show it (parts per billion), as the numbering has it.
const UNKNOWN_RATE_PPB: u64 = 20_000_000;

impl CaptureError {
    /// By how much a shift may be off, to either side (ps); `None` where the resolution is not known.
    #[must_use]
    pub fn of_shift_ps(self, shift_ps: i64) -> Option<i64> {
        let rate_ppb = self.rate_ppb.map_or(UNKNOWN_RATE_PPB, i64::unsigned_abs);
        let by_rate_ps = (u128::from(shift_ps.unsigned_abs()) * u128::from(rate_ppb)).div_ceil(1_000_000_000);
        Some(self.resolution_ps?.saturating_add(i64::try_from(by_rate_ps).unwrap_or(i64::MAX)))
    }
}

/// Shifts as they come.
#[derive(Clone, Copy, Debug)]
struct Sums {
    count: u64,
    min_ps: i64,
    max_ps: i64,
    sum_ps: i128,
    nearest_ps: i64,
    distances_ps: i128,
    /// The mean so far (ps) and the sum of the squares of what differs from it, by Welford's method: no difference of two large numbers.
    running_ps: (f64, f64),
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            count: 0,
            min_ps: i64::MAX,
            max_ps: i64::MIN,
            sum_ps: 0,
            nearest_ps: i64::MAX,
            distances_ps: 0,
            running_ps: (0.0, 0.0),
        }
    }
}

impl Sums {
    #[inline]
    fn take(&mut self, shift_ps: i64) {
        self.count += 1;
        self.min_ps = self.min_ps.min(shift_ps);
        self.max_ps = self.max_ps.max(shift_ps);
        self.sum_ps += i128::from(shift_ps);
        self.nearest_ps = self.nearest_ps.min(shift_ps.saturating_abs());
        self.distances_ps += i128::from(shift_ps.saturating_abs());
        let (mean_ps, squares) = self.running_ps;
        let off_ps = units::approx_f64_i64(shift_ps) - mean_ps;
        let mean_ps = mean_ps + off_ps / units::approx_f64(self.count);
        self.running_ps = (mean_ps, squares + off_ps * (units::approx_f64_i64(shift_ps) - mean_ps));
    }

    fn mean_ps(&self) -> f64 {
        self.mean_of(self.sum_ps)
    }

    /// A sum over all shifts, divided by their number.
    fn mean_of(&self, sum: i128) -> f64 {
        let count = i128::from(self.count.max(1));
        let (whole, rest) = (sum.div_euclid(count), sum.rem_euclid(count));
        units::approx_f64_i64(units::clamp_i64(whole))
            + units::approx_f64_i64(units::clamp_i64(rest)) / units::approx_f64(self.count.max(1))
    }

    /// The population standard deviation (ps).
    fn deviation_ps(&self) -> f64 {
        (self.running_ps.1 / units::approx_f64(self.count.max(1))).sqrt()
    }

    fn block(&self, from_ps: i64) -> ShiftBlock {
        let &Self { count, min_ps, max_ps, .. } = self;
        ShiftBlock { from_ps, count, min_ps, mean_ps: self.mean_ps(), max_ps }
    }
}

impl Shift {
    /// The shift of the second line against the first one. The pulses of each are in the order of their numbers. `None` if they have no
    /// order in common.
    #[must_use]
    pub fn between(first: &[NumberedPulse], second: &[NumberedPulse], capture: CaptureError) -> Option<Self> {
        let (common_from, common_to) = common(first, second)?;
        let [ours, theirs] = [first, second].map(|line| within(line, common_from, common_to));
        let span_ps = ours.last()?.start_ps.saturating_sub(ours.first()?.start_ps);
        let block_ps = block_length_ps(span_ps);
        let zero_ps = ours.first()?.start_ps;
        let (mut all, mut block, mut blocks) = (Sums::default(), Sums::default(), Vec::new());
        let mut block_from_ps = zero_ps;
        let mut farthest = ShiftOfOrder::default();
        let (mut later, mut earlier) = (HistogramRecorder::new(), HistogramRecorder::new());
        let mut theirs_left = theirs.iter().peekable();
        for pulse in ours {
            let other = loop {
                let Some(other) = theirs_left.next_if(|other| other.number <= pulse.number) else { break None };
                if other.number == pulse.number {
                    break Some(other);
                }
            };
            let Some(other) = other else { continue };
            let shift_ps = other.start_ps.saturating_sub(pulse.start_ps);
            if pulse.start_ps.saturating_sub(block_from_ps) >= block_ps {
                if block.count > 0 {
                    blocks.push(block.block(block_from_ps));
                }
                block = Sums::default();
                let passed = pulse.start_ps.saturating_sub(block_from_ps) / block_ps;
                block_from_ps = block_from_ps.saturating_add(passed.saturating_mul(block_ps));
            }
            block.take(shift_ps);
            all.take(shift_ps);
            if all.count == 1 || shift_ps.unsigned_abs() > farthest.shift_ps.unsigned_abs() {
                farthest = ShiftOfOrder { number: pulse.number, at_ps: pulse.start_ps, shift_ps };
            }
            let histogram = if shift_ps < 0 { &mut earlier } else { &mut later };
            histogram.record(shift_ps.unsigned_abs().saturating_add(500) / 1_000);
        }
        if block.count > 0 {
            blocks.push(block.block(block_from_ps));
        }
        let counted = |line: &[NumberedPulse]| u64::try_from(line.len()).unwrap_or(u64::MAX);
        let (only_first, only_second) = (counted(ours) - all.count, counted(theirs) - all.count);
        let orders = common_to.saturating_sub(common_from).saturating_add(1);
        Some(Self {
            count: all.count,
            min_ps: all.min_ps,
            max_ps: all.max_ps,
            mean_ps: all.mean_ps(),
            deviation_ps: all.deviation_ps(),
            nearest_ps: all.nearest_ps,
            mean_distance_ps: all.mean_of(all.distances_ps),
            span_ps,
            farthest,
            error_ps: capture.of_shift_ps(farthest.shift_ps),
            block_ps,
            blocks,
            later: later.take(),
            earlier: earlier.take(),
            only_first,
            only_second,
            neither: orders.saturating_sub(all.count).saturating_sub(only_first).saturating_sub(only_second),
            outside: [counted(first) - counted(ours), counted(second) - counted(theirs)],
        })
    }
}

/// The first and the last order of which both lines have a pulse.
fn common(first: &[NumberedPulse], second: &[NumberedPulse]) -> Option<(u64, u64)> {
    let is_in = |line: &[NumberedPulse], number: u64| line.binary_search_by_key(&number, |pulse| pulse.number).is_ok();
    let from = first.first()?.number.max(second.first()?.number);
    let to = first.last()?.number.min(second.last()?.number);
    let of = |pulse: &&NumberedPulse| (from..=to).contains(&pulse.number) && is_in(second, pulse.number);
    let from_place = first.partition_point(|pulse| pulse.number < from);
    let to_place = first.partition_point(|pulse| pulse.number <= to);
    let candidates = first.get(from_place..to_place)?;
    Some((candidates.iter().find(of)?.number, candidates.iter().rev().find(of)?.number))
}

/// The pulses with numbers from `from` to `to`.
fn within(line: &[NumberedPulse], from: u64, to: u64) -> &[NumberedPulse] {
    let begin = line.partition_point(|pulse| pulse.number < from);
    let end = line.partition_point(|pulse| pulse.number <= to);
    line.get(begin..end).unwrap_or_default()
}

/// How long a block is so that a time has at most [`MOST_BLOCKS`] of them (ps): 1, 2 or 5 times a power of ten.
fn block_length_ps(span_ps: i64) -> i64 {
    let least_ps = span_ps.max(0) / MOST_BLOCKS + 1;
    let mut power_ps: i64 = 1;
    loop {
        for factor in [1, 2, 5] {
            let block_ps = power_ps.saturating_mul(factor);
            if block_ps >= least_ps {
                return block_ps;
            }
        }
        power_ps = power_ps.saturating_mul(10);
    }
}

/// How fast the capture's clock goes against the server's, by the numbers of a line's pulses (parts per billion; positive if it goes
/// faster). `interval_ps` is the time from order to order on the server's clock. `None` of a line with fewer than two numbers.
///
/// It is as exact as two pulses are on time, in the time between the first and the last one.
#[must_use]
pub fn capture_rate_ppb(line: &[NumberedPulse], interval_ps: i64) -> Option<i64> {
    let (first, last) = line.first().zip(line.last())?;
    let orders = last.number.checked_sub(first.number).filter(|orders| *orders > 0)?;
    let nominal = i128::from(orders) * i128::from(interval_ps.max(1));
    let shown = i128::from(last.start_ps) - i128::from(first.start_ps);
    Some(units::clamp_i64(((shown - nominal) * 1_000_000_000).div_euclid(nominal)))
}

#[cfg(test)]
mod tests;
