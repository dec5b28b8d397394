//! Follows one source of time through a run: what it says goes in, series, events and summary come out.

use record::{
    Counters, HardBound, Interval, Moment, OwnEstimate, Place, Series, StateChange, SyncChange, SyncEvent, SyncService,
    SyncSource, SyncState, TrackPoint, Uncertainty,
};
use units::ClockName;

use crate::allan::Allan;
use crate::bound::OffsetBound;
pub use crate::followed::{Followed, Part};
use crate::growth::{Growth, Steering};
use crate::intervals;
use crate::signed::Signed;
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
    /// The clock that is compared; `None` if the source does not name it.
    pub clock: Option<ClockName>,
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

/// An interval that has not ended.
#[derive(Clone, Debug, Default)]
struct Open {
    offsets: Signed,
    delays: Signed,
    uncertainty: Option<Uncertainty>,
}

/// Follows one source.
#[derive(Clone, Debug)]
pub struct Follower {
    about: About,
    started: Moment,
    interval_ns: u64,
    /// Whether intervals are joined where they become many, since the length of the run is not known at its start.
    intervals_grow: bool,
    version: Option<String>,
    reference: String,
    reference_id: Option<String>,
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
    own: (u64, f64, u64),
    allan: Allan,
    growth: Growth,
    steering: Option<Steering>,
    track: Track,
    state: Option<SyncState>,
    states: Vec<StateChange>,
    events: Vec<SyncEvent>,
    events_left_out: u64,
    could_be_missed: Vec<String>,
    contradiction: Option<Moment>,
}

impl Follower {
    /// Follows a source from `started` on, in intervals of `interval_ns` (above 0).
    #[must_use]
    pub fn new(about: About, started: Moment, interval_ns: u64) -> Self {
        Self {
            about,
            started,
            interval_ns: interval_ns.max(1),
            intervals_grow: false,
            version: None,
            reference: String::new(),
            reference_id: None,
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
            own: (0, 0.0, 0),
            allan: Allan::default(),
            growth: Growth::default(),
            steering: None,
            track: Track::default(),
            state: None,
            states: Vec::new(),
            events: Vec::new(),
            events_left_out: 0,
            could_be_missed: Vec::new(),
            contradiction: None,
        }
    }

    /// Follows a source through a run of unknown length: from intervals of a second on, neighbouring ones are joined where they
    /// become many.
    #[must_use]
    pub fn with_growing_intervals(about: About, started: Moment) -> Self {
        Self { intervals_grow: true, ..Self::new(about, started, intervals::FIRST_NS) }
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
        self.growth.interrupt();
        self.event(at, SyncChange::Reference, format!("{before} to {reference}"));
        true
    }

    /// The clock was set by `step_ns`.
    pub fn step(&mut self, at: Moment, step_ns: i64) {
        self.set(at, format!("the clock was set by {}", units::format::latency(step_ns)));
    }

    /// The clock was set, in words.
    pub fn set(&mut self, at: Moment, words: String) {
        self.interrupt();
        self.event(at, SyncChange::Step, words);
    }

    /// The reference that was known as `known_as` has a better name: the same clock, so nothing changed.
    pub fn name_reference(&mut self, known_as: &str, reference: &str) {
        if self.reference == known_as && !reference.is_empty() {
            reference.clone_into(&mut self.reference);
        }
    }

    /// The identity of the clock to which bounds reach, as every node that follows it states it.
    pub fn reference_id(&mut self, id: Option<String>) {
        self.reference_id = id;
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

    /// How the clock is steered at the moment of the next offset.
    pub const fn steered(&mut self, steering: Steering) {
        self.steering = Some(steering);
    }

    /// What the service itself says of offsets that it does not list: their root mean square and their largest magnitude (ns).
    pub fn own_summary(&mut self, rms_ns: f64, largest_ns: u64) {
        let (count, squares, largest) = self.own;
        self.own = (count + 1, squares + rms_ns * rms_ns, largest.max(largest_ns));
    }

    /// What follows is no continuation: the Allan deviation takes no difference across this moment.
    pub fn interrupt(&mut self) {
        self.allan.interrupt();
        self.growth.interrupt();
    }

    /// What the clock is compared with, if that was seen already.
    #[must_use]
    pub fn current_reference(&self) -> Option<&str> {
        (!self.reference.is_empty()).then_some(&self.reference)
    }

    /// The clock that is compared, once the source names it.
    pub fn clock(&mut self, clock: ClockName) {
        self.about.clock = Some(clock);
    }

    /// An offset, with the bound at that moment.
    pub fn offset(&mut self, at: Moment, shown: Shown, bound: Option<OffsetBound>) {
        self.pass(at);
        self.open.offsets.record(shown.offset_ns);
        if let Some(delay_ns) = shown.delay_ns {
            self.open.delays.record(delay_ns);
        }
        self.allan.take(at.monotonic.as_ns(), shown.offset_ns);
        if let Some(steering) = self.steering.take() {
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

    /// The bound at a moment without a new offset: it grows until the next exchange.
    pub fn bound(&mut self, at: Moment, bound: OffsetBound) {
        self.pass(at);
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

    /// Closes the intervals that ended before a moment.
    fn pass(&mut self, at: Moment) {
        let elapsed_ns = u64::try_from(at.monotonic.since(self.started.monotonic).0).unwrap_or(0);
        let number = elapsed_ns / self.interval_ns;
        if number > self.number {
            self.close(self.interval_ns);
            // Intervals in which nothing was shown are not made up.
            self.number = elapsed_ns / self.interval_ns;
        }
    }

    fn close(&mut self, length_ns: u64) {
        let Open { offsets, delays, uncertainty } = std::mem::take(&mut self.open);
        let start_offset_ns = self.number.saturating_mul(self.interval_ns);
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
            };
            intervals::push(&mut self.intervals[of], interval);
        }
        if self.intervals_grow {
            let joined_ns = intervals::join(&mut self.intervals, self.interval_ns);
            if joined_ns != self.interval_ns {
                self.interval_ns = joined_ns;
                // What was handed on has other intervals now; nobody takes those of a run of unknown length one by one.
                self.handed_on = [0; 2];
            }
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
            followed.close_until(at);
        }
        followed.conclude()
    }

    /// Ends at a moment.
    #[must_use]
    pub fn finish(mut self, at: Moment) -> Followed {
        self.close_until(at);
        self.conclude()
    }

    fn close_until(&mut self, at: Moment) {
        self.pass(at);
        let elapsed_ns = u64::try_from(at.monotonic.since(self.started.monotonic).0).unwrap_or(0);
        let open_since_ns = self.number.saturating_mul(self.interval_ns);
        self.close((elapsed_ns - open_since_ns.min(elapsed_ns)).max(1));
        for last in self.intervals.iter_mut().filter_map(|intervals| intervals.last_mut()) {
            last.length_ns = last.length_ns.min(elapsed_ns.saturating_sub(last.start_offset_ns)).max(1);
        }
    }

    fn conclude(self) -> Followed {
        let spread = self.offsets.spread();
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
            reference_id: self.reference_id,
            bound,
            spread,
            own_estimate,
            allan: self.allan.points(),
            growth: self.growth.points(),
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
            clock: Some(ClockId::Realtime.into()),
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
