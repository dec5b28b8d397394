//! Follows one source of time through a run: what it says goes in, series, events and summary come out.

use record::{
    Counters, HardBound, Histogram, Interval, Moment, OwnEstimate, Place, Series, Spread, StateChange, SyncChange,
    SyncEvent, SyncService, SyncSource, SyncState, TrackPoint, Uncertainty,
};
use units::ClockName;

use crate::allan::Allan;
use crate::bound::OffsetBound;
use crate::track::Track;

/// The latency that a limit applies to.
pub const OFFSET: &str = "reference_to_clock";
/// Half of a round trip.
pub const DELAY: &str = "sent_to_received";

/// What a source is called and compared with.
#[derive(Clone, Debug)]
pub struct About {
    /// The program or device.
    pub service: SyncService,
    /// The place of its series.
    pub place: Place,
    /// The clock that is compared.
    pub clock: ClockName,
    /// What has to be true for its bounds to hold, as a sentence.
    pub trusts: String,
    /// Whether a limit applies to its offsets, if they have a bound: not where its clock is but one of several in a chain.
    pub is_judged: bool,
    /// Why there is no bound, if there never is one, as a sentence with what would provide one.
    pub without_bound: String,
}

/// An offset that a source showed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Shown {
    /// The clock less the reference (ns).
    pub offset_ns: i64,
    /// Half of the round trip (ns), if it was measured.
    pub delay_ns: Option<i64>,
    /// The frequency correction in force (parts per billion), if it is known.
    pub frequency_ppb: Option<f64>,
}

/// Values of both signs: a series is two histograms.
#[derive(Clone, Debug, Default)]
struct Signed {
    above: Histogram,
    below: Histogram,
}

impl Signed {
    fn record(&mut self, ns: i64) {
        if ns < 0 { &mut self.below } else { &mut self.above }.record_n(ns.unsigned_abs(), 1);
    }

    fn merge(&mut self, other: &Self) {
        self.above.merge(&other.above);
        self.below.merge(&other.below);
    }

    fn is_empty(&self) -> bool {
        self.above.is_empty() && self.below.is_empty()
    }

    fn below_zero(&self) -> Option<Histogram> {
        (!self.below.is_empty()).then(|| self.below.clone())
    }
}

/// An interval that has not ended.
#[derive(Clone, Debug, Default)]
struct Open {
    offsets: Signed,
    delays: Signed,
    uncertainty: Option<Uncertainty>,
    /// Sum of the offsets and of their squares.
    sums: (f64, f64),
}

/// Follows one source.
#[derive(Clone, Debug)]
pub struct Follower {
    about: About,
    started: Moment,
    interval_ns: u64,
    version: Option<String>,
    reference: String,
    /// Those of the intervals that ended.
    offsets: Signed,
    delays: Signed,
    open: Open,
    /// Number of the open interval.
    number: u64,
    intervals: [Vec<Interval>; 2],
    /// How many of them were handed on.
    handed_on: [usize; 2],
    last: Option<i64>,
    uncertainty: Option<Uncertainty>,
    hull: Option<OffsetBound>,
    narrowest: Option<OffsetBound>,
    widest_ns: u64,
    /// Sum of the offsets and of their squares, in the intervals that ended.
    sums: (f64, f64),
    own: (u64, f64, u64),
    allan: Allan,
    track: Track,
    state: Option<SyncState>,
    states: Vec<StateChange>,
    events: Vec<SyncEvent>,
    events_left_out: u64,
    could_be_missed: Vec<String>,
    contradiction: Option<Moment>,
}

/// The part of a run that a summary is of.
#[derive(Clone, Copy, Debug)]
pub enum Part {
    /// The intervals that ended.
    Finished,
    /// Everything until a moment.
    Until(Moment),
}

/// What became of a source in a part of a run.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The summary.
    pub source: SyncSource,
    /// Its series: the offsets, and the delays if there were any.
    pub series: Vec<Series>,
    /// What changed, in the order of time.
    pub events: Vec<SyncEvent>,
    /// Events that found no place.
    pub events_left_out: u64,
    /// When two bounds first excluded each other; `None` if they never did.
    pub contradiction: Option<Moment>,
}

impl Follower {
    /// Follows a source from `started` on, in intervals of `interval_ns` (above 0).
    #[must_use]
    pub fn new(about: About, started: Moment, interval_ns: u64) -> Self {
        Self {
            about,
            started,
            interval_ns: interval_ns.max(1),
            version: None,
            reference: String::new(),
            offsets: Signed::default(),
            delays: Signed::default(),
            open: Open::default(),
            number: 0,
            intervals: [Vec::new(), Vec::new()],
            handed_on: [0; 2],
            last: None,
            uncertainty: None,
            hull: None,
            narrowest: None,
            widest_ns: 0,
            sums: (0.0, 0.0),
            own: (0, 0.0, 0),
            allan: Allan::default(),
            track: Track::default(),
            state: None,
            states: Vec::new(),
            events: Vec::new(),
            events_left_out: 0,
            could_be_missed: Vec::new(),
            contradiction: None,
        }
    }

    /// The program's version, once it is known.
    pub fn version(&mut self, version: String) {
        self.version = Some(version);
    }

    /// What changes could be missed, in words; each is said once.
    pub fn could_miss(&mut self, what: String) {
        if !self.could_be_missed.contains(&what) {
            self.could_be_missed.push(what);
        }
    }

    /// The state, as it is seen now; a change becomes an event, the first is none.
    pub fn state(&mut self, at: Moment, state: SyncState, why: &str) {
        let before = self.state.replace(state);
        if before == Some(state) {
            return;
        }
        if let Some(before) = before {
            let reason = if why.is_empty() { String::new() } else { format!(": {why}") };
            self.event(at, SyncChange::State, format!("{} to {}{reason}", before.word(), state.word()));
        }
        // One that changes for days does not fill the memory.
        if self.states.len() < record::SyncRun::MOST_EVENTS {
            self.states.push(StateChange { at, state });
        }
    }

    /// The state that was seen last.
    #[must_use]
    pub const fn current_state(&self) -> Option<SyncState> {
        self.state
    }

    /// What the clock is compared with, in words; a change becomes an event and interrupts the Allan deviation.
    /// Returns whether it changed.
    pub fn reference(&mut self, at: Moment, reference: &str) -> bool {
        if self.reference == reference || reference.is_empty() {
            return false;
        }
        let before = std::mem::replace(&mut self.reference, reference.to_owned());
        if before.is_empty() {
            return false;
        }
        self.allan.interrupt();
        self.event(at, SyncChange::Reference, format!("{before} to {reference}"));
        true
    }

    /// The clock was set by `step_ns`.
    pub fn step(&mut self, at: Moment, step_ns: i64) {
        self.allan.interrupt();
        self.event(at, SyncChange::Step, format!("the clock was set by {}", units::format::latency(step_ns)));
    }

    /// Anything else that changed.
    pub fn event(&mut self, at: Moment, what: SyncChange, detail: String) {
        if self.events.len() == record::SyncRun::MOST_EVENTS {
            self.events_left_out += 1;
        } else {
            self.events.push(SyncEvent { at, place: self.about.place.clone(), what, detail });
        }
    }

    /// What the service itself takes for its offset (ns).
    pub fn own_estimate(&mut self, offset_ns: i64) {
        let value = units::approx_f64_i64(offset_ns);
        let (count, squares, largest) = self.own;
        self.own = (count + 1, squares + value * value, largest.max(offset_ns.unsigned_abs()));
    }

    /// An offset, with the bound at that moment.
    pub fn offset(&mut self, at: Moment, shown: Shown, bound: Option<OffsetBound>) {
        self.pass(at);
        self.open.offsets.record(shown.offset_ns);
        if let Some(delay_ns) = shown.delay_ns {
            self.open.delays.record(delay_ns);
        }
        let value = units::approx_f64_i64(shown.offset_ns);
        self.open.sums = (self.open.sums.0 + value, self.open.sums.1 + value * value);
        self.allan.take(at.monotonic.as_ns(), shown.offset_ns);
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

    /// The bound at a moment without a new offset: it grows until the next exchange.
    pub fn bound(&mut self, at: Moment, bound: OffsetBound) {
        self.pass(at);
        if self.last.is_none() {
            return;
        }
        self.track.take(TrackPoint {
            at,
            count: 0,
            lowest_ns: None,
            highest_ns: None,
            bound_ns: Some(bound.into()),
            narrowest_ns: None,
            delay_ns: None,
            frequency_ppb: None,
        });
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

    /// Closes the intervals that ended before a moment.
    fn pass(&mut self, at: Moment) {
        let elapsed_ns = u64::try_from(at.monotonic.since(self.started.monotonic).0).unwrap_or(0);
        let number = elapsed_ns / self.interval_ns;
        if number > self.number {
            self.close(self.interval_ns);
            // Intervals in which nothing was shown are not made up.
            self.number = number;
        }
    }

    fn close(&mut self, length_ns: u64) {
        let Open { offsets, delays, uncertainty, sums } = std::mem::take(&mut self.open);
        self.offsets.merge(&offsets);
        self.delays.merge(&delays);
        self.sums = (self.sums.0 + sums.0, self.sums.1 + sums.1);
        let start_offset_ns = self.number * self.interval_ns;
        for (of, signed, uncertainty) in [(0, offsets, uncertainty), (1, delays, None)] {
            if signed.is_empty() {
                continue;
            }
            let below_zero = signed.below_zero();
            self.intervals[of].push(Interval {
                start_offset_ns,
                length_ns,
                missed_periods: 0,
                histogram: signed.above,
                below_zero,
                uncertainty,
            });
        }
    }

    /// The intervals that ended before a moment and were not handed on yet, each with the name of its series.
    pub fn hand_on(&mut self, at: Moment) -> Vec<(&'static str, Interval)> {
        self.pass(at);
        let mut fresh = Vec::new();
        for (of, name) in [OFFSET, DELAY].into_iter().enumerate() {
            let from = std::mem::replace(&mut self.handed_on[of], self.intervals[of].len());
            fresh.extend(self.intervals[of][from..].iter().map(|interval| (name, interval.clone())));
        }
        fresh
    }

    /// What became of it until now; it goes on.
    #[must_use]
    pub fn so_far(&self, part: Part) -> Followed {
        let mut followed = self.clone();
        if let Part::Until(at) = part {
            followed.pass(at);
            let elapsed_ns = u64::try_from(at.monotonic.since(followed.started.monotonic).0).unwrap_or(0);
            followed.close((elapsed_ns - (followed.number * followed.interval_ns).min(elapsed_ns)).max(1));
        }
        followed.conclude()
    }

    fn conclude(self) -> Followed {
        let spread = self.spread();
        let bound = self.hull.map_or_else(
            || HardBound::Missing { reason: self.about.without_bound.clone() },
            |hull| HardBound::Stated {
                lowest_ns: hull.lower_ns,
                highest_ns: hull.upper_ns,
                narrowest_ns: self.narrowest.unwrap_or(hull).into(),
                widest_ns: self.widest_ns,
                trusts: self.about.trusts.clone(),
            },
        );
        let own_estimate = (self.own.0 > 0).then(|| OwnEstimate {
            count: self.own.0,
            rms_ns: (self.own.1 / units::approx_f64(self.own.0)).sqrt(),
            largest_ns: self.own.2,
        });
        let is_judged = self.about.is_judged && self.hull.is_some();
        let [of_offsets, of_delays] = self.intervals;
        let place = self.about.place.clone();
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
            service: self.about.service,
            version: self.version,
            place: self.about.place,
            clock: self.about.clock,
            reference: self.reference,
            bound,
            spread,
            own_estimate,
            allan: self.allan.points(),
            states: self.states,
            track: self.track.points().to_vec(),
            could_be_missed: self.could_be_missed,
        };
        Followed {
            source,
            series: all,
            events: self.events,
            events_left_out: self.events_left_out,
            contradiction: self.contradiction,
        }
    }

    fn spread(&self) -> Option<Spread> {
        let signed = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX);
        let (above, below) = (&self.offsets.above, &self.offsets.below);
        let count = above.count() + below.count();
        if count == 0 {
            return None;
        }
        let lowest_ns = below.max_ns().map(|ns| -signed(ns)).or_else(|| above.min_ns().map(signed))?;
        let highest_ns = above.max_ns().map(signed).or_else(|| below.min_ns().map(|ns| -signed(ns)))?;
        // The one in the middle, counted from the lowest; below zero that is from the largest magnitude.
        let middle = count.div_ceil(2);
        let ranked = |histogram: &Histogram, rank: u64| {
            histogram.quantile_ns((units::approx_f64(rank) - 0.5) / units::approx_f64(histogram.count()))
        };
        let median_ns = if middle <= below.count() {
            ranked(below, below.count() - middle + 1).map(|ns| -signed(ns))
        } else {
            ranked(above, middle - below.count()).map(signed)
        };
        let total = units::approx_f64(count);
        let mean_ns = self.sums.0 / total;
        let deviation_ns = (self.sums.1 / total - mean_ns * mean_ns).max(0.0).sqrt();
        Some(Spread { count, median_ns: median_ns.unwrap_or(lowest_ns), lowest_ns, highest_ns, mean_ns, deviation_ns })
    }
}

#[cfg(test)]
mod tests {
    use units::{ClockId, Ns, Timestamp};

    use super::*;

    fn at_ms(ms: i64) -> Moment {
        Moment { monotonic: Timestamp::from_ns(0), realtime: Timestamp::from_ns(0) }.plus(Ns(ms * 1_000_000))
    }

    fn follower() -> Follower {
        let about = About {
            service: SyncService::Linuxptp,
            place: Place::Port { port: "eth0".to_owned(), domain: Some(0) },
            clock: ClockId::Realtime.into(),
            trusts: "the stamps".to_owned(),
            is_judged: true,
            without_bound: "no raw stamps".to_owned(),
        };
        Follower::new(about, at_ms(0), 1_000_000_000)
    }

    fn shown(offset_ns: i64) -> Shown {
        Shown { offset_ns, delay_ns: Some(1_000), frequency_ppb: None }
    }

    #[test]
    fn offset_and_uncertainty_contain_the_bound_at_every_moment() {
        let mut follower = follower();
        let bound = |lower_ns, upper_ns| OffsetBound { lower_ns, upper_ns };
        follower.offset(at_ms(100), shown(50), Some(bound(-1_000, 2_000)));
        // It ages until the next exchange.
        follower.bound(at_ms(900), bound(-9_000, 9_500));
        follower.offset(at_ms(1_100), shown(-70), Some(bound(-1_100, 1_900)));
        let followed = follower.so_far(Part::Until(at_ms(1_500)));
        let offsets = &followed.series[0];
        assert!(offsets.judged);
        assert_eq!((offsets.taken(), offsets.intervals.len()), (2, 2));
        let first = offsets.intervals[0].uncertainty.unwrap();
        assert_eq!((first.below_ns, first.above_ns), (9_050, 9_450));
        let second = offsets.intervals[1].uncertainty.unwrap();
        assert_eq!((second.below_ns, second.above_ns), (1_030, 1_970));
        assert_eq!(offsets.intervals[1].length_ns, 500_000_000);
        let HardBound::Stated { lowest_ns, highest_ns, narrowest_ns, widest_ns, .. } = followed.source.bound else {
            panic!("no bound")
        };
        assert_eq!((lowest_ns, highest_ns, widest_ns), (-9_000, 9_500, 18_500));
        assert_eq!(narrowest_ns, (-1_000, 2_000), "the first of two that are equally wide");
        assert_eq!(followed.source.track.len(), 3);
    }

    #[test]
    fn what_is_handed_on_is_what_the_summary_until_then_counts() {
        let mut follower = follower();
        follower.offset(at_ms(100), shown(50), None);
        follower.offset(at_ms(900), shown(-50), None);
        assert!(follower.hand_on(at_ms(999)).is_empty(), "nothing has ended");
        follower.offset(at_ms(1_010), shown(9_000), None);
        let first = follower.hand_on(at_ms(1_100));
        assert_eq!(first.iter().map(|(name, _)| *name).collect::<Vec<_>>(), [OFFSET, DELAY]);
        assert!(follower.hand_on(at_ms(1_200)).is_empty(), "each interval is handed on once");
        let finished = follower.so_far(Part::Finished);
        assert_eq!(finished.series[0].taken(), 2, "the open interval is not in it");
        let spread = finished.source.spread.unwrap();
        assert_eq!((spread.count, spread.highest_ns), (2, 50));
        assert!(spread.mean_ns.abs() < 1e-9, "{spread:?}");
        // Nothing shown for two seconds is no interval, and the last one ends with the run.
        assert_eq!(follower.hand_on(at_ms(3_500)).len(), 2);
        let all = follower.so_far(Part::Until(at_ms(3_600)));
        assert_eq!((all.series[0].taken(), all.series[0].intervals.len()), (3, 2));
    }

    #[test]
    fn offsets_without_a_bound_are_not_judged() {
        let mut follower = follower();
        follower.offset(at_ms(1), shown(5), None);
        follower.own_estimate(5);
        follower.own_estimate(-12);
        let followed = follower.so_far(Part::Until(at_ms(10)));
        assert!(!followed.series[0].judged);
        assert_eq!(followed.source.bound, HardBound::Missing { reason: "no raw stamps".to_owned() });
        let own = followed.source.own_estimate.unwrap();
        assert_eq!((own.count, own.largest_ns), (2, 12));
        assert!((own.rms_ns - 9.19).abs() < 0.01, "{own:?}");
    }

    #[test]
    fn the_spread_has_its_sign() {
        for (offsets, median, lowest, highest) in [
            (vec![-5, -4, -3], -4, -5, -3),
            (vec![-10, 20, 30, 40, 50], 30, -10, 50),
            (vec![-30, -20, -10, 1], -20, -30, 1),
            (vec![7], 7, 7, 7),
        ] {
            let mut follower = follower();
            for (ms, &offset_ns) in (0..).zip(&offsets) {
                follower.offset(at_ms(ms), shown(offset_ns), None);
            }
            let spread = follower.so_far(Part::Until(at_ms(100))).source.spread.unwrap();
            assert_eq!(
                (spread.median_ns, spread.lowest_ns, spread.highest_ns),
                (median, lowest, highest),
                "{offsets:?}"
            );
        }
    }

    #[test]
    fn changes_are_events_and_first_sights_are_none() {
        let mut follower = follower();
        follower.state(at_ms(0), SyncState::Starting, "");
        follower.state(at_ms(1), SyncState::Starting, "");
        follower.state(at_ms(2), SyncState::Locked, "port SLAVE");
        assert!(!follower.reference(at_ms(2), "grand master a"));
        assert!(!follower.reference(at_ms(3), "grand master a"));
        assert!(follower.reference(at_ms(4), "grand master b"));
        follower.step(at_ms(5), -300_000);
        let followed = follower.so_far(Part::Until(at_ms(9)));
        let words: Vec<_> = followed.events.iter().map(|event| (event.what.word(), event.detail.as_str())).collect();
        assert_eq!(
            words,
            [
                ("state", "starting to locked: port SLAVE"),
                ("reference", "grand master a to grand master b"),
                ("step", "the clock was set by -300 us"),
            ]
        );
        assert_eq!(followed.source.states.len(), 2);
        assert!(followed.series.is_empty());
    }
}
