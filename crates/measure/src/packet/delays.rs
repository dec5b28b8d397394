//! Series of delays that have an error, which differs from one interval to the next.

use packet::receiving::HardwareParts;
use packet::relation::Delay;
use record::{Counters, Place, Series, Uncertainty, WorstSample};

use crate::clock_watch::ClockWatch;
use crate::collect::Collector;
use crate::explain::Known;
use crate::live::LiveThread;
use crate::ring::{Pair, Slot};

/// Collects the delays of one latency.
pub(crate) struct Delays {
    name: &'static str,
    interval_maximum_ns: u64,
    collector: Collector,
    /// Samples of the open interval that the collector does not have yet: many at once cost it less.
    pending: Vec<Pair>,
    /// Of the intervals that are finished.
    uncertainties: Vec<Option<Uncertainty>>,
    open: Option<Uncertainty>,
}

impl Delays {
    pub(crate) fn new(name: &'static str, start_ns: i64, interval_maximum_ns: u64) -> Self {
        Self {
            name,
            interval_maximum_ns,
            collector: Collector::new(0, None, start_ns, interval_maximum_ns, None),
            pending: Vec::new(),
            uncertainties: Vec::new(),
            open: None,
        }
    }

    /// Lets the first interval begin at a moment, before anything was taken.
    pub(crate) fn begin_at(&mut self, start_ns: i64) {
        *self = Self::new(self.name, start_ns, self.interval_maximum_ns);
    }

    /// Takes a delay that ended at `received_ns` of this node's CLOCK_REALTIME.
    #[inline(always)]
    pub(crate) fn take(&mut self, delay: &Delay, received_ns: i64, clocks: &ClockWatch) {
        self.take_pair(Pair { first_ns: received_ns.saturating_sub(delay.ns), second_ns: received_ns }, clocks);
        match &mut self.open {
            Some(Uncertainty { below_ns, above_ns, spread_ns: Some(spread_ns) }) => {
                // Nearly none is the widest so far, and a branch costs less than a store.
                if delay.below_ns > *below_ns {
                    *below_ns = delay.below_ns;
                }
                if delay.above_ns > *above_ns {
                    *above_ns = delay.above_ns;
                }
                if delay.spread_ns > *spread_ns {
                    *spread_ns = delay.spread_ns;
                }
            }
            open => {
                let Delay { below_ns, above_ns, spread_ns, .. } = *delay;
                *open = Some(Uncertainty { below_ns, above_ns, spread_ns: Some(spread_ns) });
            }
        }
    }

    #[inline(always)]
    fn take_pair(&mut self, pair: Pair, clocks: &ClockWatch) {
        if pair.first_ns >= self.collector.interval_end_ns() {
            self.begin_interval(pair, clocks);
        } else {
            self.pending.push(pair);
        }
    }

    /// With a sample after the open interval.
    #[cold]
    fn begin_interval(&mut self, pair: Pair, clocks: &ClockWatch) {
        self.flush(clocks);
        self.collector.take(pair, clocks);
        while self.uncertainties.len() < self.collector.finished().len() {
            self.uncertainties.push(self.open.take());
        }
    }

    /// Hands what was taken to those who look: call it when no more is there for now.
    pub(crate) fn flush(&mut self, clocks: &ClockWatch) {
        self.collector.take_each(&self.pending, |pair| *pair, clocks);
        self.pending.clear();
    }

    /// As [`Self::take`], where there is one; whether there was.
    fn take_known(&mut self, delay: Option<&Delay>, received_ns: i64, clocks: &ClockWatch) -> bool {
        if let Some(delay) = delay {
            self.take(delay, received_ns, clocks);
        }
        delay.is_some()
    }

    /// Takes a time that was read on one clock, and so has no error.
    #[inline(always)]
    pub(crate) fn take_exact(&mut self, ns: i64, at_ns: i64, clocks: &ClockWatch) {
        self.take_pair(Pair { first_ns: at_ns.saturating_sub(ns), second_ns: at_ns }, clocks);
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
    pub(crate) fn live(&self) -> LiveThread {
        self.collector.live()
    }

    /// The error of the interval that is open.
    pub(crate) const fn error(&self) -> Option<Uncertainty> {
        self.open
    }

    /// The series and its worst samples; `None` if there is no sample.
    pub(crate) fn finish(
        mut self,
        place: &Place,
        (interval_ns, is_judged): (u64, bool),
        counters: &Counters,
        (ended_ns, clocks): (i64, &ClockWatch),
    ) -> Option<(Series, Vec<WorstSample>)> {
        self.flush(clocks);
        let collected = self.collector.finish(ended_ns);
        let worst = if is_judged { collected.worst_at(self.name, place) } else { Vec::new() };
        let mut series = collected.into_series(self.name, place.clone(), counters);
        if series.taken() == 0 && !is_judged {
            return None;
        }
        series.judged = is_judged;
        series.interval_ns = Some(interval_ns);
        let all = self.uncertainties.iter().copied().chain([self.open]).flatten();
        series.uncertainty = all.reduce(Uncertainty::widest);
        let last = self.uncertainties.len();
        for (at, interval) in series.intervals.iter_mut().enumerate() {
            let of_interval = if at == last { self.open } else { self.uncertainties.get(at).copied().flatten() };
            interval.uncertainty = of_interval;
        }
        Some((series, worst))
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
    pub(super) fn new(start_ns: i64, interval_maximum_ns: u64) -> Self {
        let names = ["transmitted_to_hw_transmitted", "hw_transmitted_to_hw_arrived", "hw_arrived_to_arrived"];
        Self {
            parts: names.map(|name| Delays::new(name, start_ns, interval_maximum_ns)),
            without: [0; 2],
            contradicting: 0,
            reading_error_ns: 0,
        }
    }

    pub(super) fn begin_at(&mut self, start_ns: i64) {
        self.parts.iter_mut().for_each(|delays| delays.begin_at(start_ns));
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

    pub(super) fn flush(&mut self, clocks: &ClockWatch) {
        self.parts.iter_mut().for_each(|delays| delays.flush(clocks));
    }
}
