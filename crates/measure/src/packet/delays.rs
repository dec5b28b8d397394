//! Series of delays that have an error, which differs from one interval to the next.

use packet::relation::Delay;
use record::{Counters, Place, Series, Uncertainty, WorstSample};

use crate::clock_watch::ClockWatch;
use crate::collect::Collector;
use crate::explain::Known;
use crate::live::LiveThread;
use crate::ring::Pair;

/// Collects the delays of one latency.
pub(crate) struct Delays {
    name: &'static str,
    interval_maximum_ns: u64,
    collector: Collector,
    /// Of the intervals that are finished.
    uncertainties: Vec<Option<Uncertainty>>,
    open: Option<Uncertainty>,
    whole: Option<Uncertainty>,
}

impl Delays {
    pub(crate) fn new(name: &'static str, start_ns: i64, interval_maximum_ns: u64) -> Self {
        Self {
            name,
            interval_maximum_ns,
            collector: Collector::new(0, None, start_ns, interval_maximum_ns, None),
            uncertainties: Vec::new(),
            open: None,
            whole: None,
        }
    }

    /// Lets the first interval begin at a moment, before anything was taken.
    pub(crate) fn begin_at(&mut self, start_ns: i64) {
        *self = Self::new(self.name, start_ns, self.interval_maximum_ns);
    }

    /// Takes a delay that ended at `received_ns` of this node's CLOCK_REALTIME.
    pub(crate) fn take(&mut self, delay: Delay, received_ns: i64, clocks: &ClockWatch) {
        self.collector.take(Pair { first_ns: received_ns.saturating_sub(delay.ns), second_ns: received_ns }, clocks);
        while self.uncertainties.len() < self.collector.finished().len() {
            self.uncertainties.push(self.open.take());
        }
        let this = Uncertainty { below_ns: delay.below_ns, above_ns: delay.above_ns, spread_ns: Some(delay.spread_ns) };
        self.open = Some(self.open.map_or(this, |open| open.widest(this)));
        self.whole = Some(self.whole.map_or(this, |whole| whole.widest(this)));
    }

    /// Takes a time that was read on one clock, and so has no error.
    pub(crate) fn take_exact(&mut self, ns: i64, at_ns: i64, clocks: &ClockWatch) {
        self.collector.take(Pair { first_ns: at_ns.saturating_sub(ns), second_ns: at_ns }, clocks);
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
        self,
        place: &Place,
        (interval_ns, is_judged): (u64, bool),
        counters: &Counters,
        ended_ns: i64,
    ) -> Option<(Series, Vec<WorstSample>)> {
        let collected = self.collector.finish(ended_ns);
        let worst = if is_judged { collected.worst_at(self.name, place) } else { Vec::new() };
        let mut series = collected.into_series(self.name, place.clone(), counters);
        if series.taken() == 0 && !is_judged {
            return None;
        }
        series.judged = is_judged;
        series.interval_ns = Some(interval_ns);
        series.uncertainty = self.whole;
        let last = self.uncertainties.len();
        for (at, interval) in series.intervals.iter_mut().enumerate() {
            let of_interval = if at == last { self.open } else { self.uncertainties.get(at).copied().flatten() };
            interval.uncertainty = of_interval;
        }
        Some((series, worst))
    }
}
