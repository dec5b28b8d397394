//! Series of delays that have an error, which differs from one interval to the next.

use packet::receiving::{HardwareParts, Settled};
use packet::relation::Delay;
use record::{Counters, Interval, LiveSeries, Place, Series, Uncertainty, WorstSample};

use crate::clock_watch::ClockWatch;
use crate::collect::{Collector, Keeping};
use crate::explain::Known;
use crate::ring::{Pair, Slot};

/// The two points of a latency that ended at a time.
const fn pair(ns: i64, second_ns: i64) -> Pair {
    Pair { first_ns: second_ns.saturating_sub(ns), second_ns }
}

/// The same where the difference is known to fit: the compiler then sees that the latency is `ns`.
#[inline(always)]
const fn near_pair(ns: i64, second_ns: i64) -> Pair {
    Pair { first_ns: second_ns.wrapping_sub(ns), second_ns }
}

/// Whether a latency that ended at a time fits, and began before another.
#[inline(always)]
fn began_before(ns: i64, second_ns: i64, end_ns: i64) -> bool {
    second_ns.checked_sub(ns).is_some_and(|first_ns| first_ns < end_ns)
}

/// How many of the first are plain.
#[inline(always)]
fn plain_at_first(all: &[Settled], mut is_plain: impl FnMut(&Settled) -> bool) -> usize {
    all.iter().position(|one| !is_plain(one)).unwrap_or(all.len())
}

fn uncertainty(delay: &Delay) -> Uncertainty {
    Uncertainty { below_ns: delay.below_ns, above_ns: delay.above_ns, spread_ns: Some(delay.spread_ns) }
}

/// Collects the delays of one latency.
pub(crate) struct Delays {
    name: &'static str,
    interval_maximum_ns: u64,
    keeping: (Keeping, bool),
    collector: Collector,
}

impl Delays {
    pub(crate) fn new(name: &'static str, start_ns: i64, interval_maximum_ns: u64) -> Self {
        let collector = Collector::new(0, None, start_ns, interval_maximum_ns, None);
        Self { name, interval_maximum_ns, keeping: (Keeping::All, false), collector }
    }

    /// With another rule of what becomes of intervals that have ended; `are_handed_on` where somebody takes each of them.
    pub(crate) fn keeping(self, keeping: Keeping, are_handed_on: bool) -> Self {
        let collector = self.collector.keeping(keeping, are_handed_on);
        Self { keeping: (keeping, are_handed_on), collector, ..self }
    }

    /// Lets the first interval begin at a moment, before anything was taken.
    pub(crate) fn begin_at(&mut self, start_ns: i64) {
        let (keeping, are_handed_on) = self.keeping;
        *self = Self::new(self.name, start_ns, self.interval_maximum_ns).keeping(keeping, are_handed_on);
    }

    /// The name of the latency.
    pub(crate) const fn name(&self) -> &'static str {
        self.name
    }

    /// Takes a delay that ended at `received_ns` of this node's CLOCK_REALTIME.
    pub(crate) fn take(&mut self, delay: &Delay, received_ns: i64, clocks: &ClockWatch) {
        self.collector.take(pair(delay.ns, received_ns), clocks);
        self.collector.widen(uncertainty(delay));
    }

    /// Takes a time that was read on one clock and ended at `ended_ns` of this node's CLOCK_REALTIME, and so has no error.
    pub(crate) fn take_exact(&mut self, ns: i64, ended_ns: i64, clocks: &ClockWatch) {
        self.collector.take(pair(ns, ended_ns), clocks);
    }

    /// As [`Self::take`], where there is one; whether there was.
    fn take_known(&mut self, delay: Option<&Delay>, received_ns: i64, clocks: &ClockWatch) -> bool {
        if let Some(delay) = delay {
            self.take(delay, received_ns, clocks);
        }
        delay.is_some()
    }

    /// Takes the delay of each of many packets, which ended when the program had it; returns how many have none.
    #[inline(always)]
    pub(crate) fn take_each(
        &mut self,
        mut all: &[Settled],
        delay: impl Fn(&Settled) -> Option<&Delay> + Copy,
        clocks: &ClockWatch,
    ) -> u64 {
        let mut without = 0;
        loop {
            let end_ns = self.collector.interval_end_ns();
            let open = self.collector.open_uncertainty();
            let mut widest = open.unwrap_or(Uncertainty { spread_ns: Some(0), ..Uncertainty::default() });
            let mut spread_ns = widest.spread_ns.unwrap_or(0);
            // Nearly always all have one, in the interval that is open. Then many at once cost the collector less.
            let is_plain = |one: &Settled| {
                delay(one).filter(|delay| began_before(delay.ns, one.received_ns, end_ns)).is_some_and(|delay| {
                    widest.below_ns = widest.below_ns.max(delay.below_ns);
                    widest.above_ns = widest.above_ns.max(delay.above_ns);
                    spread_ns = spread_ns.max(delay.spread_ns);
                    true
                })
            };
            let (plain, others) = all.split_at(plain_at_first(all, is_plain));
            if !plain.is_empty() {
                self.collector.widen(Uncertainty { spread_ns: Some(spread_ns), ..widest });
                let of = |one: &Settled| near_pair(delay(one).map_or(0, |delay| delay.ns), one.received_ns);
                self.collector.take_each(plain, of, clocks);
            }
            let Some((one, others)) = others.split_first() else { return without };
            without += u64::from(!self.take_known(delay(one), one.received_ns, clocks));
            all = others;
        }
    }

    /// The same of times that were read on one clock, and so have no error.
    #[inline(always)]
    pub(crate) fn take_each_exact(
        &mut self,
        mut all: &[Settled],
        ns: impl Fn(&Settled) -> Option<i64> + Copy,
        clocks: &ClockWatch,
    ) -> u64 {
        let mut without = 0;
        loop {
            let end_ns = self.collector.interval_end_ns();
            let is_plain = |one: &Settled| ns(one).is_some_and(|ns| began_before(ns, one.received_ns, end_ns));
            let (plain, others) = all.split_at(plain_at_first(all, is_plain));
            self.collector.take_each(plain, |one| near_pair(ns(one).unwrap_or(0), one.received_ns), clocks);
            let Some((one, others)) = others.split_first() else { return without };
            match ns(one) {
                Some(ns) => self.collector.take(pair(ns, one.received_ns), clocks),
                None => without += 1,
            }
            all = others;
        }
    }

    /// Takes times that were read on one clock, each with its beginning and its end on this node's CLOCK_REALTIME (ns).
    pub(crate) fn take_pairs<T>(&mut self, all: &[T], of: impl Fn(&T) -> (i64, i64) + Copy, clocks: &ClockWatch) {
        let pair = |one: &T| {
            let (first_ns, second_ns) = of(one);
            Pair { first_ns, second_ns }
        };
        self.collector.take_each(all, pair, clocks);
    }

    /// Takes times that were read on one clock, all in the order of time.
    pub(crate) fn take_slots(&mut self, slots: &[Slot], clocks: &ClockWatch) {
        self.collector.take_all(slots, clocks);
    }

    /// Late samples since the last call that a limit of the kernel's can have made.
    pub(crate) fn take_long(&mut self) -> Vec<Pair> {
        self.collector.take_long()
    }

    /// What an explainer has to know of the samples so far; `typical_ns` is the known value, `None` to compute it again.
    pub(crate) fn known(&self, followed: usize, typical_ns: Option<i64>) -> Known {
        self.collector.known(followed, typical_ns)
    }

    /// What was collected so far, for the eye.
    pub(crate) fn live(&self) -> LiveSeries {
        self.collector.live()
    }

    /// The intervals that ended since the last call.
    pub(crate) fn hand_on(&mut self) -> Vec<Interval> {
        // What was spoiled stands in the record.
        self.collector.hand_on_spoiled();
        self.collector.hand_on()
    }

    /// Nothing comes any more: the interval that is open ends too.
    pub(crate) fn end(&mut self, ended_ns: i64) {
        self.collector.end(ended_ns);
    }

    /// The series of the intervals that have ended, without these themselves, and its worst samples; `None` if there is no
    /// sample.
    pub(crate) fn so_far(
        &self,
        place: &Place,
        interval_ns: u64,
        is_judged: bool,
        counters: &Counters,
    ) -> Option<(Series, Vec<WorstSample>)> {
        let collected = self.collector.collected();
        let worst = if is_judged { collected.worst_at(self.name, place) } else { Vec::new() };
        let series = collected.into_series(self.name, place.clone(), counters);
        if series.taken() == 0 && !is_judged {
            return None;
        }
        Some((Series { judged: is_judged, interval_ns: Some(interval_ns), ..series }, worst))
    }

    /// As [`Self::so_far`], with the intervals that are kept.
    pub(crate) fn series(
        &self,
        place: &Place,
        interval_ns: u64,
        is_judged: bool,
        counters: &Counters,
    ) -> Option<(Series, Vec<WorstSample>)> {
        let (series, worst) = self.so_far(place, interval_ns, is_judged, counters)?;
        Some((Series { intervals: self.collector.finished().to_vec(), ..series }, worst))
    }
}

/// Collects the parts of the way that the stamps of network interfaces show.
pub(crate) struct HardwareDelays {
    /// In the order in which a packet passes them.
    pub(super) parts: [Delays; 3],
    /// Packets without a usable stamp of the sending interface, and of the receiving one.
    pub(super) without: [u64; 2],
    pub(super) contradicting: u64,
    /// The largest error of a delay between the interfaces by the comparisons of each node's clocks (ns).
    pub(super) reading_error_ns: u64,
}

impl HardwareDelays {
    /// `series` makes the one of a name.
    pub(super) fn new(series: impl Fn(&'static str) -> Delays) -> Self {
        let names = ["transmitted_to_hw_transmitted", "hw_transmitted_to_hw_arrived", "hw_arrived_to_arrived"];
        Self { parts: names.map(series), without: [0; 2], contradicting: 0, reading_error_ns: 0 }
    }

    /// Takes the parts of one packet, where the sending and the receiving interface stamp.
    pub(super) fn take(&mut self, parts: &HardwareParts, received_ns: i64, stamped: [bool; 2], clocks: &ClockWatch) {
        let [to_wire, between, from_wire] = &mut self.parts;
        let known = [
            to_wire.take_known(parts.transmitted_to_hw_transmitted.as_ref(), received_ns, clocks),
            from_wire.take_known(parts.hw_arrived_to_arrived.as_ref(), received_ns, clocks),
        ];
        if let Some(delay) = &parts.hw_transmitted_to_hw_arrived {
            self.reading_error_ns = self.reading_error_ns.max(delay.reading_error_ns);
            between.take(delay, received_ns, clocks);
        }
        for ((without, known), stamps) in self.without.iter_mut().zip(known).zip(stamped) {
            *without += u64::from(stamps && !known);
        }
        self.contradicting += u64::from(parts.contradicting);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use record::Direction;
    use units::ClockId;

    use super::*;

    /// A packet that the program had at a time, with a delay of so much and an error of a tenth.
    fn settled(received_ns: i64, ns: Option<i64>) -> Settled {
        let error_ns = |ns: i64| ns.unsigned_abs() / 10;
        let delay = |ns| Delay { ns, below_ns: error_ns(ns), above_ns: 2 * error_ns(ns), ..Delay::default() };
        Settled {
            sequence: 0,
            received_ns,
            sent_to_received: ns.map(delay),
            sent_to_transmitted_ns: ns,
            transmitted_to_arrived: None,
            arrived_to_received_ns: None,
            hardware: None,
        }
    }

    fn series(mut delays: Delays) -> Option<Series> {
        let place = Place::Flow { flow: 0, direction: Direction::Received, queue: None };
        delays.end(i64::MAX);
        delays.series(&place, 1_000, false, &Counters::default()).map(|(series, _)| series)
    }

    proptest! {
        #[test]
        fn many_at_once_are_taken_as_one_by_one(
            packets in prop::collection::vec((0_i64..3_000, prop::option::weighted(0.98, -500_i64..200_000)), 1..300),
            at_once in 1_usize..80,
        ) {
            let clocks = ClockWatch::scripted(ClockId::Realtime, Vec::new());
            let mut at_ns = 0;
            let all: Vec<Settled> = packets.iter().map(|(passed_ns, ns)| {
                at_ns += passed_ns;
                settled(at_ns, *ns)
            }).collect();
            let new = || Delays::new("some", 0, 50_000);
            let ([mut many, mut single], [mut exact, mut exact_single]) = ([new(), new()], [new(), new()]);
            let (mut without, mut without_exact) = (0, 0);
            for some in all.chunks(at_once) {
                without += many.take_each(some, |one| one.sent_to_received.as_ref(), &clocks);
                without_exact += exact.take_each_exact(some, |one| one.sent_to_transmitted_ns, &clocks);
            }
            for one in &all {
                single.take_known(one.sent_to_received.as_ref(), one.received_ns, &clocks);
                if let Some(ns) = one.sent_to_transmitted_ns {
                    exact_single.collector.take(pair(ns, one.received_ns), &clocks);
                }
            }
            let expected = u64::try_from(packets.iter().filter(|(_, ns)| ns.is_none()).count()).unwrap();
            prop_assert_eq!((without, without_exact), (expected, expected));
            prop_assert_eq!(series(many), series(single));
            prop_assert_eq!(series(exact), series(exact_single));
        }
    }
}
