//! A stretch of a run in which one time was told, with all that is put together of it: nothing reaches over its ends.

use record::{
    Counters, HardBound, Interval, Moment, OwnEstimate, Place, Series, StateChange, SyncSource, SyncState, TrackPoint,
    Uncertainty,
};

use crate::allan::Allan;
use crate::bound::OffsetBound;
use crate::follow::{About, DELAY, OFFSET, Shown};
use crate::followed::{FollowedPart, SeriesName};
use crate::growth::{Growth, Steering};
use crate::intervals;
use crate::signed::Signed;
use crate::track::Track;

/// An interval that has not ended.
#[derive(Clone, Debug, Default)]
struct Open {
    offsets: Signed,
    delays: Signed,
    uncertainty: Option<Uncertainty>,
}

/// What is known of one stretch.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretch {
    /// When it began (ns into the run).
    begun_ns: u64,
    pub(crate) reference: String,
    pub(crate) reference_id: Option<String>,
    pub(crate) states: Vec<StateChange>,
    /// Number of offsets, sum of their squares, largest magnitude (ns), as the service states them.
    pub(crate) own: (u64, f64, u64),
    /// Those of the intervals that ended.
    offsets: Signed,
    delays: Signed,
    open: Open,
    /// Number of the open interval of the run.
    number: u64,
    intervals: [Vec<Interval>; 2],
    /// How many of them were handed on.
    handed_on: [usize; 2],
    last: Option<i64>,
    uncertainty: Option<Uncertainty>,
    hull: Option<OffsetBound>,
    narrowest: Option<OffsetBound>,
    widest_ns: u64,
    allan: Allan,
    growth: Growth,
    track: Track,
    contradiction: Option<Moment>,
}

impl Stretch {
    /// Whether it showed nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.last.is_none() && self.own.0 == 0
    }

    /// Begins later, as long as it showed nothing.
    pub(crate) fn restart(&mut self, at_ns: u64) {
        self.begun_ns = at_ns;
    }

    /// The one that follows it, of the same source in the same state.
    pub(crate) fn next(&self, at: Moment, at_ns: u64, state: Option<SyncState>) -> Self {
        Self {
            begun_ns: at_ns,
            reference: self.reference.clone(),
            reference_id: self.reference_id.clone(),
            states: state.map(|state| StateChange { at, state }).into_iter().collect(),
            number: self.number,
            ..Self::default()
        }
    }

    pub(crate) fn interrupt(&mut self) {
        self.allan.interrupt();
        self.growth.interrupt();
    }

    pub(crate) fn offset(&mut self, at: Moment, shown: Shown, bound: Option<OffsetBound>, steering: Option<Steering>) {
        self.open.offsets.record(shown.offset_ns);
        if let Some(delay_ns) = shown.delay_ns {
            self.open.delays.record(delay_ns);
        }
        self.allan.take(at.monotonic.as_ns(), shown.offset_ns);
        if let Some(steering) = steering {
            self.growth.take(at.monotonic.as_ns(), shown.offset_ns, steering);
        }
        self.last = Some(shown.offset_ns);
        self.track.take(TrackPoint {
            at,
            count: 1,
            lowest_ns: Some(shown.offset_ns),
            highest_ns: Some(shown.offset_ns),
            bound_ns: bound.map(Into::into),
            narrowest_ns: None,
            delay_ns: shown.delay_ns,
            frequency_ppb: shown.frequency_ppb,
        });
        self.widen(at, bound);
    }

    pub(crate) fn bound(&mut self, at: Moment, bound: OffsetBound) {
        if self.last.is_none() {
            return;
        }
        self.track.take(TrackPoint::bound_alone(at, bound.into()));
        self.widen(at, Some(bound));
    }

    /// Takes a bound into the uncertainty of the interval's offsets, so that offset and uncertainty contain the bound.
    fn widen(&mut self, at: Moment, bound: Option<OffsetBound>) {
        let (Some(bound), Some(last_ns)) = (bound, self.last) else { return };
        if bound.is_contradiction() {
            self.contradiction.get_or_insert(at);
        }
        let room = |ns: i128| u64::try_from(ns.max(0)).unwrap_or(u64::MAX);
        let uncertainty = Uncertainty {
            below_ns: room(i128::from(last_ns) - i128::from(bound.lower_ns)),
            above_ns: room(i128::from(bound.upper_ns) - i128::from(last_ns)),
            spread_ns: None,
        };
        let widest = |held: Option<Uncertainty>| Some(held.map_or(uncertainty, |held| held.widest(uncertainty)));
        self.open.uncertainty = widest(self.open.uncertainty);
        self.uncertainty = widest(self.uncertainty);
        self.hull = Some(self.hull.map_or(bound, |hull| hull.hull(bound)));
        self.narrowest = Some(self.narrowest.map_or(bound, |narrowest| narrowest.narrower(bound)));
        self.widest_ns = self.widest_ns.max(bound.width_ns());
    }

    /// Closes the intervals that ended before a moment of the run; whether there was one.
    pub(crate) fn pass(&mut self, elapsed_ns: u64, interval_ns: u64) -> bool {
        let is_over = elapsed_ns / interval_ns > self.number;
        if is_over {
            let end_ns = self.number.saturating_add(1).saturating_mul(interval_ns);
            self.close(end_ns, interval_ns);
            self.go_to(elapsed_ns, interval_ns);
        }
        is_over
    }

    /// The open interval is that of a moment of the run.
    pub(crate) fn go_to(&mut self, elapsed_ns: u64, interval_ns: u64) {
        self.number = elapsed_ns / interval_ns;
    }

    /// Closes the open interval, which ends at a moment of the run.
    fn close(&mut self, end_ns: u64, interval_ns: u64) {
        let Open { offsets, delays, uncertainty } = std::mem::take(&mut self.open);
        let start_offset_ns = self.number.saturating_mul(interval_ns).max(self.begun_ns);
        let length_ns = end_ns.saturating_sub(start_offset_ns).max(1);
        self.offsets.merge(&offsets);
        self.delays.merge(&delays);
        for (of, signed, uncertainty) in [(0, offsets, uncertainty), (1, delays, None)] {
            if signed.is_empty() {
                continue;
            }
            let below_zero = signed.below_zero();
            let interval = Interval {
                start_offset_ns,
                length_ns,
                missed_periods: 0,
                histogram: signed.above,
                below_zero,
                uncertainty,
                max_at: None,
            };
            intervals::push(&mut self.intervals[of], interval);
        }
    }

    /// Joins intervals until there are few enough; how long they are then (ns).
    pub(crate) fn join(&mut self, interval_ns: u64) -> u64 {
        let joined_ns = intervals::join(&mut self.intervals, interval_ns, self.begun_ns);
        if joined_ns != interval_ns {
            // Nobody takes those of a log one by one, and of a run all were handed on.
            self.handed_on = [0, 1].map(|of| self.intervals[of].len());
        }
        joined_ns
    }

    /// Ends at a moment of the run.
    pub(crate) fn close_until(&mut self, elapsed_ns: u64, interval_ns: u64) {
        self.close(elapsed_ns, interval_ns);
        for last in self.intervals.iter_mut().filter_map(|intervals| intervals.last_mut()) {
            last.length_ns = last.length_ns.min(elapsed_ns.saturating_sub(last.start_offset_ns)).max(1);
        }
    }

    pub(crate) fn hand_on(&mut self, stretch: usize) -> Vec<(SeriesName, Interval)> {
        let mut fresh = Vec::new();
        for (of, name) in [OFFSET, DELAY].into_iter().enumerate() {
            let from = std::mem::replace(&mut self.handed_on[of], self.intervals[of].len());
            fresh.extend(self.intervals[of][from..].iter().map(|interval| ((stretch, name), interval.clone())));
        }
        fresh
    }

    /// The summary, and when bounds first excluded each other.
    pub(crate) fn conclude(
        self,
        about: &About,
        place: Place,
        version: Option<String>,
        could_be_missed: Vec<String>,
    ) -> (FollowedPart, Option<Moment>) {
        let spread = self.offsets.spread();
        let bound = self.hull.map_or_else(
            || HardBound::Missing { reason: about.without_bound.clone() },
            |hull| HardBound::Stated {
                lowest_ns: hull.lower_ns,
                highest_ns: hull.upper_ns,
                narrowest_ns: self.narrowest.unwrap_or(hull).into(),
                widest_ns: self.widest_ns,
                trusts: about.trusts.clone(),
            },
        );
        let own_estimate = (self.own.0 > 0).then(|| OwnEstimate {
            count: self.own.0,
            rms_ns: (self.own.1 / units::approx_f64(self.own.0)).sqrt(),
            largest_ns: self.own.2,
        });
        let is_judged = about.is_judged && self.hull.is_some();
        let [of_offsets, of_delays] = self.intervals;
        let series = |name: &str, signed: Signed, judged: bool, intervals: Vec<Interval>, uncertainty| {
            let samples = signed.above.count() + signed.below.count();
            Series {
                place: place.clone(),
                name: name.to_owned(),
                judged,
                below_zero: signed.below_zero(),
                histogram: signed.above,
                uncertainty,
                counters: Counters { samples, ..Counters::default() },
                intervals,
                ..Series::default()
            }
        };
        let mut all = Vec::new();
        if !self.offsets.is_empty() {
            // Without a bound an offset is what a servo believes: nothing that a limit can be held against.
            all.push(series(OFFSET, self.offsets, is_judged, of_offsets, self.uncertainty));
        }
        if !self.delays.is_empty() {
            all.push(series(DELAY, self.delays, false, of_delays, None));
        }
        let source = SyncSource {
            service: about.service,
            version,
            place,
            clock: about.clock.clone(),
            reference: self.reference,
            reference_id: self.reference_id,
            bound,
            spread,
            own_estimate,
            allan: self.allan.points(),
            growth: self.growth.points(),
            states: self.states,
            track: self.track.points().to_vec(),
            could_be_missed,
        };
        (FollowedPart { source, series: all }, self.contradiction)
    }
}
