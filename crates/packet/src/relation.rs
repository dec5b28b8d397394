//! How far the clocks of two nodes are apart, from messages that they exchanged in both directions.
//!
//! All is computed on the clocks that nobody corrects (`CLOCK_MONOTONIC_RAW`): each node compares its system clock with that one
//! with every exchange, and stamps of the system clock are converted by the comparisons around them. So steering, by whatever
//! service, is no error here. What is left is the drift of two oscillators, which is bounded by a stated rate.
//!
//! No message arrives before it was sent: a question that was sent at `t1` and came at `t2` says that the answerer's clock is
//! ahead by at most `t2 - t1`, and its answer that it is ahead by at least `-(t4 - t3)`.

use std::cell::Cell;
use std::collections::VecDeque;

use sync::bound::{ClockReading, OffsetBound};

/// Comparisons and bounds that are kept: those of the last seconds.
const KEPT: usize = 512;
/// Between two comparisons a clock's rate is corrected by at most this (parts per billion): adjtime(3) by 500 parts per
/// million, the kernel's own frequency by as much.
const MOST_CORRECTION_PPB: i64 = 1_000_000;
/// Exchanges through which the line of the likeliest offset goes: those of about a second.
const FITTED: usize = 50;
/// Smaller changes of a clock are no step (ns).
const LEAST_STEP_NS: i64 = 20_000;

/// Converts times of a node's system clock to its uncorrected clock.
#[derive(Clone, Debug, Default)]
pub struct Scale {
    readings: VecDeque<ClockReading>,
    /// What is known of the time from each comparison to the next one: one fewer than there are comparisons.
    stretches: VecDeque<Stretch>,
    /// The stretch that was asked for last: the times of one packet, and those of the next one, nearly always lie in the same.
    near: Cell<usize>,
}

/// The time between two comparisons.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// How much the clock was corrected (parts per billion of the uncorrected time).
    correction_ppb: i64,
    /// How far it may have bent off the straight line (parts per billion of the time to the nearer comparison).
    bend_ppb: i64,
}

/// A time of the uncorrected clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Uncorrected {
    /// The time (ns).
    pub ns: i64,
    /// How wrong it can be (ns).
    pub error_ns: i64,
}

pub(crate) fn clamped(ns: i128) -> i64 {
    i64::try_from(ns).unwrap_or(if ns < 0 { i64::MIN } else { i64::MAX })
}

/// `value` times `factor` divided by `divisor`, rounded down. Two conversions for each packet are made of this, and their
/// products fit 64 bits, where the division takes a tenth of the instructions.
fn scaled(value: i64, factor: i64, divisor: i64) -> i64 {
    match value.checked_mul(factor) {
        Some(product) => product.div_euclid(divisor),
        None => clamped((i128::from(value) * i128::from(factor)).div_euclid(i128::from(divisor))),
    }
}

/// What `ppb` parts per billion are of a time, rounded up (ns).
pub(crate) fn part_ns(elapsed_ns: i64, ppb: i64) -> i64 {
    scaled(elapsed_ns.saturating_abs(), ppb, 1_000_000_000).saturating_add(1)
}

/// The number of elements before the first one that is not `before` another moment: as `partition_point`, but what is asked for
/// is nearly always among the last, so those are looked at first, in steps that double.
fn count_before<T>(all: &VecDeque<T>, before: impl Fn(&T) -> bool) -> usize {
    let (mut high, mut step) = (all.len(), 1);
    let mut low = loop {
        let Some(at) = high.checked_sub(step) else { break 0 };
        if before(&all[at]) {
            break at + 1;
        }
        (high, step) = (at, step * 2);
    };
    while low < high {
        let middle = low.midpoint(high);
        if before(&all[middle]) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}

impl Scale {
    /// Takes the next comparison. Returns by how much the system clock was set since the last one (ns), if no correction of its
    /// rate explains the change; all earlier comparisons are then forgotten.
    pub fn take(&mut self, now: ClockReading) -> Option<i64> {
        let Some(last) = self.readings.back() else {
            self.readings.push_back(now);
            return None;
        };
        let elapsed_ns = now.raw_ns.saturating_sub(last.raw_ns);
        if elapsed_ns <= 0 {
            // The messages came in another order than they were sent.
            return None;
        }
        let change_ns = now.clock_ns.saturating_sub(last.clock_ns).saturating_sub(elapsed_ns);
        let errors_ns = last.error_ns.saturating_add(now.error_ns);
        let explained_ns = part_ns(elapsed_ns, 2 * MOST_CORRECTION_PPB).saturating_add(errors_ns).max(LEAST_STEP_NS);
        let is_step = change_ns.unsigned_abs() > explained_ns.unsigned_abs();
        if is_step {
            self.readings.clear();
            self.stretches.clear();
        } else {
            if self.readings.len() == KEPT {
                self.readings.pop_front();
                self.stretches.pop_front();
                self.bend(0);
            }
            let correction_ppb = scaled(change_ns, 1_000_000_000, elapsed_ns);
            self.stretches.push_back(Stretch { correction_ppb, bend_ppb: 0 });
            let last = self.stretches.len() - 1;
            self.bend(last);
            if let Some(before) = last.checked_sub(1) {
                self.bend(before);
            }
        }
        self.readings.push_back(now);
        is_step.then_some(change_ns)
    }

    /// The last comparison.
    #[must_use]
    pub fn last(&self) -> Option<ClockReading> {
        self.readings.back().copied()
    }

    /// The same moment on the uncorrected clock; `None` without a comparison.
    #[must_use]
    pub fn uncorrected(&self, clock_ns: i64) -> Option<Uncorrected> {
        let near = self.near.get();
        if let Some(found) = self.between(near, clock_ns) {
            return Some(found);
        }
        let after = count_before(&self.readings, |reading| reading.clock_ns < clock_ns);
        match (after.checked_sub(1), self.readings.get(after)) {
            (Some(before), Some(_)) => {
                self.near.set(before);
                self.between(before, clock_ns)
            }
            (Some(last), None) => self.readings.get(last).map(|near| beside(near, clock_ns)),
            (None, first) => first.map(|near| beside(near, clock_ns)),
        }
    }

    /// Between a comparison and the next one the clock was corrected at about the rate that both show. `None` where the moment is
    /// not between these two.
    fn between(&self, before: usize, clock_ns: i64) -> Option<Uncorrected> {
        let (from, to) = (self.readings.get(before)?, self.readings.get(before + 1)?);
        if clock_ns <= from.clock_ns || clock_ns > to.clock_ns {
            return None;
        }
        let whole_ns = to.clock_ns.saturating_sub(from.clock_ns).max(1);
        let passed_ns = clock_ns.saturating_sub(from.clock_ns);
        let less_ns = to.raw_ns.saturating_sub(from.raw_ns).saturating_sub(whole_ns);
        let along_ns = passed_ns.saturating_add(scaled(less_ns, passed_ns, whole_ns));
        let nearer_ns = passed_ns.min(whole_ns.saturating_sub(passed_ns));
        let bend_ns = part_ns(nearer_ns, self.stretches.get(before)?.bend_ppb);
        Some(Uncorrected {
            ns: from.raw_ns.saturating_add(along_ns),
            error_ns: from.error_ns.max(to.error_ns).saturating_add(bend_ns),
        })
    }

    /// Computes how far a stretch may have bent. Where the rate was changed in it, the straight line is off by at most the part
    /// that is nearer, at the change; and a change shows beside the stretches before and after.
    fn bend(&mut self, at: usize) {
        let correction_ppb = |at: Option<usize>| Some(self.stretches.get(at?)?.correction_ppb);
        let Some(here_ppb) = correction_ppb(Some(at)) else { return };
        let change_from =
            |beside: Option<usize>| Some(here_ppb.saturating_sub(correction_ppb(beside)?).saturating_abs());
        // At either end of what is kept, the only neighbour stands for both; a correction that has none may be all new.
        let change_ppb = match (change_from(at.checked_sub(1)), change_from(at.checked_add(1))) {
            (Some(one), Some(other)) => one.saturating_add(other),
            (Some(one), None) | (None, Some(one)) => one.saturating_mul(2),
            (None, None) => here_ppb.saturating_abs(),
        };
        self.stretches[at].bend_ppb = change_ppb.min(MOST_CORRECTION_PPB).saturating_add(HIDDEN_PPB);
    }
}

/// Corrections that cancel each other between two comparisons, some 20 ms apart, are taken to be no larger than this (parts
/// per billion): services change their corrections a few times a second at most.
const HIDDEN_PPB: i64 = 1_000;

/// Outside of the comparisons the clock may have been corrected at any rate that is possible.
fn beside(near: &ClockReading, clock_ns: i64) -> Uncorrected {
    let away_ns = clock_ns.saturating_sub(near.clock_ns);
    Uncorrected {
        ns: near.raw_ns.saturating_add(away_ns),
        error_ns: near.error_ns.saturating_add(part_ns(away_ns, MOST_CORRECTION_PPB)),
    }
}

/// What is held of an exchange, at its moment.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Its moment on this node's uncorrected clock, and on its system clock (ns).
    own_raw_ns: i64,
    own_clock_ns: i64,
    bound: OffsetBound,
    /// What this exchange alone would make of the offset, and how long its messages were on their way.
    alone_ns: i64,
    round_trip_ns: i64,
    /// Where within the bound the offset lies, as the exchanges before show together.
    likely: Likely,
}

/// An estimate of the offset, which is no bound.
#[derive(Clone, Copy, Debug)]
struct Likely {
    offset_ns: i64,
    /// The spread of the exchanges about it (ns).
    spread_ns: u64,
}

/// What an exchange showed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// This node's system clock less the partner's (ns): the likeliest value within the bound.
    pub offset_ns: i64,
    /// The bound on that (ns).
    pub bound: OffsetBound,
    /// The round trip: the time that both messages were on their way (ns).
    pub round_trip_ns: i64,
}

/// The delay of a packet from the partner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delay {
    /// The delay (ns), with the likeliest offset of the clocks that their bound allows.
    pub ns: i64,
    /// By how much the true one can be lower (ns).
    pub below_ns: u64,
    /// By how much the true one can be higher (ns).
    pub above_ns: u64,
    /// The spread of the estimate (ns), which is no bound.
    pub spread_ns: u64,
    /// The part of the error that is by the comparisons of each node's clocks, on either side (ns).
    pub reading_error_ns: u64,
}

/// What is known of the clocks of this node and of its partner.
#[derive(Clone, Debug)]
pub struct Relation {
    max_drift_ppb: u32,
    own: Scale,
    partner: Scale,
    held: VecDeque<Held>,
    /// As [`Scale::near`], of the exchanges.
    near: Cell<usize>,
}

impl Relation {
    /// Without an exchange yet. `max_drift_ppb` is how much the rates of the two uncorrected clocks differ at most (parts per
    /// billion).
    #[must_use]
    pub fn new(max_drift_ppb: u32) -> Self {
        Self {
            max_drift_ppb,
            own: Scale::default(),
            partner: Scale::default(),
            held: VecDeque::new(),
            near: Cell::new(0),
        }
    }

    /// Takes a comparison of this node's clocks. Returns by how much its system clock was set since the last one (ns).
    pub fn own_reading(&mut self, reading: ClockReading) -> Option<i64> {
        self.own.take(reading)
    }

    /// Takes a comparison of the partner's clocks. Returns by how much its system clock was set since the last one (ns).
    pub fn partner_reading(&mut self, reading: ClockReading) -> Option<i64> {
        self.partner.take(reading)
    }

    /// Takes an exchange: from the partner a message that it sent at `partner_sent_ns` and that came at `own_received_ns`, to it
    /// one that was sent at `own_sent_ns` and came at `partner_received_ns`. `None` if the clocks were not compared yet.
    pub fn exchange(
        &mut self,
        (partner_sent_ns, own_received_ns): (i64, i64),
        (own_sent_ns, partner_received_ns): (i64, i64),
    ) -> Option<Seen> {
        let [came, went] = [own_received_ns, own_sent_ns].map(|ns| self.own.uncorrected(ns));
        let [sent, arrived] = [partner_sent_ns, partner_received_ns].map(|ns| self.partner.uncorrected(ns));
        let (came, went, sent, arrived) = (came?, went?, sent?, arrived?);
        let at_ns = came.ns.max(went.ns);
        let away = |moment: Uncorrected| part_ns(at_ns.saturating_sub(moment.ns), i64::from(self.max_drift_ppb));
        let upper_ns = came.ns.saturating_sub(sent.ns).saturating_add(came.error_ns + sent.error_ns + away(came));
        let lower_ns = went.ns.saturating_sub(arrived.ns).saturating_sub(went.error_ns + arrived.error_ns + away(went));
        let own = OffsetBound { lower_ns, upper_ns };
        let bound = match self.held.back() {
            Some(last) if last.own_raw_ns <= at_ns => intersection(own, self.aged(last, at_ns)),
            _ => own,
        };
        if self.held.len() == KEPT {
            self.held.pop_front();
        }
        let (forward_ns, backward_ns) = (came.ns.saturating_sub(sent.ns), arrived.ns.saturating_sub(went.ns));
        let round_trip_ns = forward_ns.saturating_add(backward_ns);
        let alone_ns = clamped((i128::from(forward_ns) - i128::from(backward_ns)).div_euclid(2));
        // Until it is known, the middle.
        let likely = Likely { offset_ns: middle_ns(bound), spread_ns: 0 };
        let own_clock_ns = own_received_ns.max(own_sent_ns);
        self.held.push_back(Held { own_raw_ns: at_ns, own_clock_ns, bound, alone_ns, round_trip_ns, likely });
        let likely = self.likely_now(bound);
        if let Some(last) = self.held.back_mut() {
            last.likely = likely;
        }
        // What the two system clocks showed at that moment.
        let (own_reading, partner_reading) = (self.own.last()?, self.partner.last()?);
        let own_ahead_ns = own_reading.clock_ns.saturating_sub(own_reading.raw_ns);
        let partner_ahead_ns = partner_reading.clock_ns.saturating_sub(partner_reading.raw_ns);
        let between_ns = own_ahead_ns.saturating_sub(partner_ahead_ns);
        let bound = OffsetBound {
            lower_ns: bound.lower_ns.saturating_add(between_ns),
            upper_ns: bound.upper_ns.saturating_add(between_ns),
        };
        Some(Seen { offset_ns: likely.offset_ns.saturating_add(between_ns), bound, round_trip_ns })
    }

    /// What the last exchanges show together: a line through them, since the clocks drift from each other, on which an exchange
    /// has the more weight the shorter its round trip was. A long one was queued on one of its ways, nobody knows on which.
    fn likely_now(&self, bound: OffsetBound) -> Likely {
        let recent = || self.held.iter().rev().take(FITTED);
        let fallback = Likely { offset_ns: middle_ns(bound), spread_ns: bound.width_ns() / 4 };
        let Some((newest, shortest_ns)) = self.held.back().zip(recent().map(|held| held.round_trip_ns).min()) else {
            return fallback;
        };
        let scale = units::approx_f64_i64(shortest_ns.max(1_000)) / 8.0;
        let point = |held: &Held| {
            let excess = units::approx_f64_i64(held.round_trip_ns.saturating_sub(shortest_ns)) / scale;
            let weight = 1.0 / (1.0 + excess * excess);
            let x = units::approx_f64_i64(held.own_raw_ns.saturating_sub(newest.own_raw_ns)) / 1e9;
            let y = units::approx_f64_i64(held.alone_ns.saturating_sub(newest.alone_ns));
            (weight, x, y)
        };
        let (mut w, mut wx, mut wy, mut wxx, mut wxy) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for (weight, x, y) in recent().map(point) {
            w += weight;
            wx += weight * x;
            wy += weight * y;
            wxx += weight * x * x;
            wxy += weight * x * y;
        }
        let determinant = w * wxx - wx * wx;
        // Few exchanges that lie close together have no direction.
        let slope = if determinant > 1e-9 * w * w { (w * wxy - wx * wy) / determinant } else { 0.0 };
        let now = (wy - slope * wx) / w;
        let residual = |(weight, x, y): (f64, f64, f64)| weight * (y - now - slope * x).powi(2);
        let spread = (recent().map(point).map(residual).sum::<f64>() / w).sqrt();
        if !now.is_finite() || bound.is_contradiction() {
            return fallback;
        }
        let offset_ns = newest.alone_ns.saturating_add(units::round_i64(now));
        Likely { offset_ns: offset_ns.clamp(bound.lower_ns, bound.upper_ns), spread_ns: units::round_u64(spread) }
    }

    /// Forgets all bounds: a clock was set in a way that the comparisons cannot show, or the path is another one.
    pub fn forget(&mut self) {
        self.held.clear();
    }

    /// Whether an exchange took place after a moment of this node's system clock: what was received then need not wait longer.
    #[must_use]
    pub fn is_settled(&self, own_ns: i64) -> bool {
        self.held.back().is_some_and(|last| last.own_clock_ns > own_ns)
    }

    /// The delay of what the partner sent at `partner_sent_ns` of its system clock and came at `own_received_ns` of this
    /// node's; `None` as long as there was no exchange.
    #[must_use]
    pub fn delay(&self, partner_sent_ns: i64, own_received_ns: i64) -> Option<Delay> {
        self.delay_between(self.on_partner(partner_sent_ns)?, self.on_own(own_received_ns)?)
    }

    /// A time of the partner's system clock on its uncorrected clock; `None` without a comparison.
    #[must_use]
    pub fn on_partner(&self, clock_ns: i64) -> Option<Uncorrected> {
        self.partner.uncorrected(clock_ns)
    }

    /// A time of this node's system clock on its uncorrected clock; `None` without a comparison.
    #[must_use]
    pub fn on_own(&self, clock_ns: i64) -> Option<Uncorrected> {
        self.own.uncorrected(clock_ns)
    }

    /// As [`Self::delay`], between times of both uncorrected clocks.
    #[must_use]
    pub fn delay_between(&self, sent: Uncorrected, came: Uncorrected) -> Option<Delay> {
        let after = self.exchange_after(came.ns);
        let around = [after.checked_sub(1).and_then(|at| self.held.get(at)), self.held.get(after)];
        let bound = around.into_iter().flatten().map(|held| self.aged(held, came.ns)).reduce(intersection)?;
        let likely = likely_between(around, came.ns)?;
        let middle_ns = if bound.is_contradiction() {
            middle_ns(bound)
        } else {
            likely.offset_ns.clamp(bound.lower_ns, bound.upper_ns)
        };
        let error_ns = sent.error_ns.saturating_add(came.error_ns);
        let width = |ns: i64| u64::try_from(ns.saturating_add(error_ns)).unwrap_or(0);
        Some(Delay {
            ns: came.ns.saturating_sub(sent.ns).saturating_sub(middle_ns),
            below_ns: width(bound.upper_ns.saturating_sub(middle_ns)),
            above_ns: width(middle_ns.saturating_sub(bound.lower_ns)),
            spread_ns: likely.spread_ns,
            reading_error_ns: u64::try_from(error_ns).unwrap_or(0),
        })
    }

    /// The number of the first exchange that was not before a moment of this node's uncorrected clock.
    fn exchange_after(&self, own_raw_ns: i64) -> usize {
        let near = self.near.get();
        let is_before = |held: &Held| held.own_raw_ns < own_raw_ns;
        let is_it =
            near > 0 && self.held.get(near - 1).is_some_and(is_before) && !self.held.get(near).is_none_or(is_before);
        if !is_it {
            self.near.set(count_before(&self.held, is_before));
        }
        self.near.get()
    }

    /// A bound at another moment, before or after its own.
    fn aged(&self, held: &Held, own_raw_ns: i64) -> OffsetBound {
        let drift_ns = part_ns(own_raw_ns.saturating_sub(held.own_raw_ns), i64::from(self.max_drift_ppb));
        OffsetBound {
            lower_ns: held.bound.lower_ns.saturating_sub(drift_ns),
            upper_ns: held.bound.upper_ns.saturating_add(drift_ns),
        }
    }
}

/// The estimate at a moment between two exchanges; that of the only one where there is one.
fn likely_between([before, after]: [Option<&Held>; 2], own_raw_ns: i64) -> Option<Likely> {
    let (Some(before), Some(after)) = (before, after) else { return before.or(after).map(|held| held.likely) };
    let whole = units::approx_f64_i64(after.own_raw_ns.saturating_sub(before.own_raw_ns)).max(1.0);
    let part = (units::approx_f64_i64(own_raw_ns.saturating_sub(before.own_raw_ns)) / whole).clamp(0.0, 1.0);
    let change = units::approx_f64_i64(after.likely.offset_ns.saturating_sub(before.likely.offset_ns));
    Some(Likely {
        offset_ns: before.likely.offset_ns.saturating_add(units::round_i64(part * change)),
        spread_ns: before.likely.spread_ns.max(after.likely.spread_ns),
    })
}

/// What both bounds allow; a contradiction if that is nothing.
#[must_use]
pub fn intersection(one: OffsetBound, other: OffsetBound) -> OffsetBound {
    OffsetBound { lower_ns: one.lower_ns.max(other.lower_ns), upper_ns: one.upper_ns.min(other.upper_ns) }
}

fn middle_ns(bound: OffsetBound) -> i64 {
    clamped((i128::from(bound.lower_ns) + i128::from(bound.upper_ns)).div_euclid(2))
}

#[cfg(test)]
mod tests;
