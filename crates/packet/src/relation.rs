//! How far the clocks of two nodes are apart, from messages that they exchanged in both directions.
//!
//! All is computed on the clocks that nobody corrects (`CLOCK_MONOTONIC_RAW`): each node compares its system clock with that one
//! with every exchange, and stamps of the system clock are converted by the comparisons around them. So steering, by whatever
//! service, is no error here. What is left is the drift of two oscillators, which is bounded by a stated rate.
//!
//! No message arrives before it was sent: a question that was sent at `t1` and came at `t2` says that the answerer's clock is
//! ahead by at most `t2 - t1`, and its answer that it is ahead by at least `-(t4 - t3)`.

mod reader;

use std::cell::Cell;
use std::collections::VecDeque;

use sync::bound::{ClockReading, OffsetBound};
use units::clamp_i64;

use crate::header::unsigned;
use crate::scale::{FARTHEST_NS, KEPT, LONGEST_NS, Scale, Share, TELLING_NS, Uncorrected, count_before};

pub use reader::DelayReader;

/// Exchanges through which the line of the likeliest offset goes: those of about a second.
const FITTED: usize = 50;

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

/// What two neighboring exchanges say of the time between them, so prepared that none of the many packets in it divides.
#[derive(Clone, Copy, Debug)]
struct Between {
    /// When the earlier one was, on this node's uncorrected clock (ns).
    from_ns: i64,
    /// How long it is to the later one (ns); 0 where there is no time between them, or too much.
    whole_ns: i64,
    /// The bounds of both.
    bounds: [OffsetBound; 2],
    likely: Likely,
    /// How the likeliest offset changes, as a share of the time passed.
    change: Share,
}

impl Between {
    fn new(from: &Held, to: &Held) -> Self {
        let whole_ns = to.own_raw_ns.saturating_sub(from.own_raw_ns);
        let is_near =
            |bound: OffsetBound| [bound.lower_ns, bound.upper_ns].iter().all(|ns| ns.saturating_abs() < FARTHEST_NS);
        let is_plain = (1..=LONGEST_NS).contains(&whole_ns) && is_near(from.bound) && is_near(to.bound);
        let spread_ns = from.likely.spread_ns.max(to.likely.spread_ns);
        Self {
            from_ns: from.own_raw_ns,
            whole_ns: if is_plain { whole_ns } else { 0 },
            bounds: [from.bound, to.bound],
            likely: Likely { spread_ns, ..from.likely },
            change: Share::of(to.likely.offset_ns.saturating_sub(from.likely.offset_ns), whole_ns),
        }
    }

    /// What is known of the offset at a moment; `None` where that does not lie between the two.
    #[inline(always)]
    fn at(&self, own_raw_ns: i64, max_drift: Share) -> Option<Known> {
        let passed_ns = own_raw_ns.wrapping_sub(self.from_ns);
        if own_raw_ns <= self.from_ns || unsigned(passed_ns) > unsigned(self.whole_ns) {
            return None;
        }
        let drift_ns = [passed_ns, self.whole_ns - passed_ns].map(|away_ns| max_drift.of_short_ns(away_ns) + 1);
        let [before, after] = self.bounds;
        let lower_ns = (before.lower_ns - drift_ns[0]).max(after.lower_ns - drift_ns[1]);
        let upper_ns = (before.upper_ns + drift_ns[0]).min(after.upper_ns + drift_ns[1]);
        let offset_ns = self.likely.offset_ns.wrapping_add(self.change.of_short_ns(passed_ns));
        Some(Known { bound: OffsetBound { lower_ns, upper_ns }, likely: Likely { offset_ns, ..self.likely } })
    }
}

/// What is known of the offset at a moment.
#[derive(Clone, Copy, Debug)]
struct Known {
    bound: OffsetBound,
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
pub struct OffsetMeasurement {
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
    max_drift: Share,
    own: Scale,
    partner: Scale,
    held: VecDeque<Held>,
    /// From each exchange to the next one: one fewer than there are exchanges.
    between: VecDeque<Between>,
    /// The one that was asked for last: that of the next packet is nearly always the same.
    near: Cell<usize>,
}

impl Relation {
    /// Without an exchange yet. `max_drift_ppb` is how much the rates of the two uncorrected clocks differ at most (parts per
    /// billion).
    #[must_use]
    pub fn new(max_drift_ppb: u32) -> Self {
        Self {
            max_drift: Share::at_least_ppb(max_drift_ppb.into()),
            own: Scale::default(),
            partner: Scale::default(),
            held: VecDeque::new(),
            between: VecDeque::new(),
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
    ) -> Option<OffsetMeasurement> {
        let [came, went] = [own_received_ns, own_sent_ns].map(|ns| self.own.uncorrected(ns));
        let [sent, arrived] = [partner_sent_ns, partner_received_ns].map(|ns| self.partner.uncorrected(ns));
        let (came, went, sent, arrived) = (came?, went?, sent?, arrived?);
        let at_ns = came.ns.max(went.ns);
        let away = |moment: Uncorrected| self.max_drift.beyond_ns(at_ns.saturating_sub(moment.ns));
        let sum = |all: [i64; 3]| all.into_iter().fold(0, i64::saturating_add);
        let (upper_error_ns, lower_error_ns) =
            (sum([came.error_ns, sent.error_ns, away(came)]), sum([went.error_ns, arrived.error_ns, away(went)]));
        let upper_ns = came.ns.saturating_sub(sent.ns).saturating_add(upper_error_ns);
        let lower_ns = went.ns.saturating_sub(arrived.ns).saturating_sub(lower_error_ns);
        let own = OffsetBound { lower_ns, upper_ns };
        // Exchanges overtake each other: one that took longer is completed after one that was later.
        let mut place = count_before(&self.held, |held| held.own_raw_ns <= at_ns);
        let before = place.checked_sub(1).and_then(|before| self.held.get(before));
        let bound = before.map_or(own, |before| intersection(own, self.aged(before, at_ns)));
        let (forward_ns, backward_ns) = (came.ns.saturating_sub(sent.ns), arrived.ns.saturating_sub(went.ns));
        let round_trip_ns = forward_ns.saturating_add(backward_ns);
        let alone_ns = clamp_i64((i128::from(forward_ns) - i128::from(backward_ns)).div_euclid(2));
        let is_last = place == self.held.len();
        // Until it is known, the middle.
        let likely = if is_last { None } else { self.search(at_ns).map(|known| known.likely) };
        let likely = likely.unwrap_or(Likely { offset_ns: middle_ns(bound), spread_ns: 0 });
        let offset_ns = if bound.is_contradiction() {
            middle_ns(bound)
        } else {
            likely.offset_ns.clamp(bound.lower_ns, bound.upper_ns)
        };
        let mut likely = Likely { offset_ns, ..likely };
        if self.held.len() == KEPT {
            self.held.pop_front();
            self.between.pop_front();
            place = place.saturating_sub(1);
        }
        let own_clock_ns = own_received_ns.max(own_sent_ns);
        self.held.insert(place, Held { own_raw_ns: at_ns, own_clock_ns, bound, alone_ns, round_trip_ns, likely });
        if is_last {
            likely = self.likely_now(bound);
            if let Some(last) = self.held.back_mut() {
                last.likely = likely;
            }
        }
        self.prepare_around(place);
        // What the two system clocks showed at that moment.
        let (own_reading, partner_reading) = (self.own.last()?, self.partner.last()?);
        let own_ahead_ns = own_reading.clock_ns.saturating_sub(own_reading.raw_ns);
        let partner_ahead_ns = partner_reading.clock_ns.saturating_sub(partner_reading.raw_ns);
        let between_ns = own_ahead_ns.saturating_sub(partner_ahead_ns);
        let bound = OffsetBound {
            lower_ns: bound.lower_ns.saturating_add(between_ns),
            upper_ns: bound.upper_ns.saturating_add(between_ns),
        };
        Some(OffsetMeasurement { offset_ns: likely.offset_ns.saturating_add(between_ns), bound, round_trip_ns })
    }

    /// Prepares the time before and after an exchange that was put in its place.
    fn prepare_around(&mut self, place: usize) {
        let between = |at: usize| Some(Between::new(self.held.get(at)?, self.held.get(at + 1)?));
        let before = place.checked_sub(1).and_then(|before| Some((before, between(before)?)));
        let after = between(place);
        if let Some((at, before)) = before {
            // What went from its predecessor to its successor, or nothing where it is the last.
            match self.between.get_mut(at) {
                Some(present) => *present = before,
                None => self.between.push_back(before),
            }
        }
        if let Some(after) = after {
            self.between.insert(place, after);
        }
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
        self.between.clear();
    }

    /// What was received before this moment need not wait longer (ns, this node's system clock): the comparisons of the clocks
    /// around it lie between others, which show how straight the clocks went. That is the case up to the last exchange but those
    /// of the last few milliseconds.
    #[must_use]
    pub fn settled_to_ns(&self) -> Option<i64> {
        let last_ns = self.held.back()?.own_raw_ns;
        let has_others_after = |held: &&Held| last_ns.saturating_sub(held.own_raw_ns) >= TELLING_NS;
        self.held.iter().rev().find(has_others_after).map(|held| held.own_clock_ns)
    }

    /// The delay of what the partner sent at `partner_sent_ns` of its system clock and came at `own_received_ns` of this
    /// node's; `None` as long as there was no exchange, and where the bounds contradict each other: then the offset is not known.
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
        let between = self.between.get(self.near.get()).and_then(|between| between.at(came.ns, self.max_drift));
        let Known { bound, likely } = between.or_else(|| self.search(came.ns))?;
        if bound.is_contradiction() {
            return None;
        }
        let middle_ns = likely.offset_ns.clamp(bound.lower_ns, bound.upper_ns);
        let error_ns = sent.error_ns.saturating_add(came.error_ns).max(0);
        let ns = came.ns.saturating_sub(sent.ns).saturating_sub(middle_ns);
        // The offset is known for the end of the delay, and the clocks drift from each other in it too: it can be as long as this.
        let longest_ns = ns.saturating_add(middle_ns.saturating_sub(bound.lower_ns)).saturating_add(error_ns);
        let drift_ns = self.max_drift.beyond_ns(longest_ns.max(0));
        let width = |ns: i64| ns.saturating_add(error_ns).saturating_add(drift_ns).max(0).unsigned_abs();
        Some(Delay {
            ns,
            below_ns: width(bound.upper_ns.saturating_sub(middle_ns)),
            above_ns: width(middle_ns.saturating_sub(bound.lower_ns)),
            spread_ns: likely.spread_ns,
            reading_error_ns: error_ns.unsigned_abs(),
        })
    }

    /// What is known of the offset at any moment; `None` without an exchange.
    #[cold]
    fn search(&self, own_raw_ns: i64) -> Option<Known> {
        let after = count_before(&self.held, |held| held.own_raw_ns < own_raw_ns);
        let before = after.checked_sub(1);
        self.near.set(before.unwrap_or(0));
        let prepared = || self.between.get(before?)?.at(own_raw_ns, self.max_drift);
        prepared().or_else(|| {
            // Before the first one, after the last one, or between two that are years apart.
            let around = [before.and_then(|at| self.held.get(at)), self.held.get(after)];
            let known = around.into_iter().flatten();
            let bound = known.clone().map(|held| self.aged(held, own_raw_ns)).reduce(intersection)?;
            Some(Known { bound, likely: known.map(|held| held.likely).next()? })
        })
    }

    /// A bound at another moment, before or after its own.
    fn aged(&self, held: &Held, own_raw_ns: i64) -> OffsetBound {
        let drift_ns = self.max_drift.beyond_ns(own_raw_ns.saturating_sub(held.own_raw_ns));
        OffsetBound {
            lower_ns: held.bound.lower_ns.saturating_sub(drift_ns),
            upper_ns: held.bound.upper_ns.saturating_add(drift_ns),
        }
    }
}

/// What both bounds allow; a contradiction if that is nothing.
#[must_use]
pub fn intersection(one: OffsetBound, other: OffsetBound) -> OffsetBound {
    OffsetBound { lower_ns: one.lower_ns.max(other.lower_ns), upper_ns: one.upper_ns.min(other.upper_ns) }
}

fn middle_ns(bound: OffsetBound) -> i64 {
    clamp_i64((i128::from(bound.lower_ns) + i128::from(bound.upper_ns)).div_euclid(2))
}

#[cfg(test)]
mod tests;
