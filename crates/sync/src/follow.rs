//! Follows one source of time through a run: what it says goes in, series, events and summary come out.

use record::{Interval, Moment, Place, StateChange, SyncChange, SyncEvent, SyncService, SyncState};
use units::ClockName;

use crate::bound::OffsetBound;
use crate::facts::{Fact, Facts, Says, Statement};
use crate::followed::place_of;
pub use crate::followed::{Followed, FollowedPart, Part, SeriesName};
use crate::growth::Steering;
use crate::intervals;
use crate::stretch::Stretch;

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

/// Follows one source.
#[derive(Clone, Debug)]
pub struct Follower {
    about: About,
    started: Moment,
    interval_ns: u64,
    /// Whether intervals are joined where they become many, since the length of the run is not known at its start.
    intervals_grow: bool,
    version: Option<String>,
    /// Stretches of one time each that ended.
    earlier: Vec<Stretch>,
    /// The one that goes on.
    now: Stretch,
    /// Offsets after more changes than there is room for.
    offsets_left_out: u64,
    facts: Facts,
    steering: Option<Steering>,
    state: Option<SyncState>,
    events: Vec<SyncEvent>,
    events_left_out: u64,
    could_be_missed: Vec<String>,
}

impl Follower {
    /// The largest number of stretches that one source is followed through, each of one time.
    pub const MOST_STRETCHES: usize = 64;

    /// Follows a source from `started` on, in intervals of `interval_ns` (above 0).
    #[must_use]
    pub fn new(about: About, started: Moment, interval_ns: u64) -> Self {
        Self {
            about,
            started,
            interval_ns: interval_ns.max(1),
            intervals_grow: false,
            version: None,
            earlier: Vec::new(),
            now: Stretch::default(),
            offsets_left_out: 0,
            facts: Facts::default(),
            steering: None,
            state: None,
            events: Vec::new(),
            events_left_out: 0,
            could_be_missed: Vec::new(),
        }
    }

    /// Follows a source through a run of unknown length: from intervals of a second on, neighboring ones are joined where they
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
        if self.now.states.len() < record::SyncRun::MOST_EVENTS {
            self.now.states.push(StateChange { at, state });
        }
    }

    /// The state that was seen last.
    #[must_use]
    pub const fn current_state(&self) -> Option<SyncState> {
        self.state
    }

    /// Takes what the source states of its time: a change is an event, and cuts the run where another time is told from now on.
    /// Returns whether it does.
    pub fn states(&mut self, at: Moment, statements: &[Statement]) -> bool {
        let mut cuts = false;
        for statement in statements {
            let Some(change) = self.facts.take(*statement) else { continue };
            cuts |= change.cuts;
            self.event(at, change.what, change.words);
        }
        if cuts {
            self.cut(at);
        }
        cuts
    }

    /// Whether these statements tell another time than those before.
    #[must_use]
    pub fn would_cut(&self, statements: &[Statement]) -> bool {
        statements.iter().any(|(fact, value)| {
            fact.info().says == Says::WhichTime && self.stated(*fact).is_some_and(|before| before != *value)
        })
    }

    /// What the source stated last of its time; `None` if it stated nothing.
    #[must_use]
    pub fn stated(&self, fact: Fact) -> Option<i64> {
        self.facts.value(fact)
    }

    /// What the clock is compared with, in words; a change becomes an event and cuts the run.
    /// Returns whether it changed.
    pub fn reference(&mut self, at: Moment, reference: &str) -> bool {
        if self.now.reference == reference || reference.is_empty() {
            return false;
        }
        if self.now.reference.is_empty() {
            reference.clone_into(&mut self.now.reference);
            return false;
        }
        let before = self.now.reference.clone();
        self.cut(at);
        reference.clone_into(&mut self.now.reference);
        self.event(at, SyncChange::Reference, format!("{before} to {reference}"));
        true
    }

    /// The clock was set by `step_ns`.
    pub fn step(&mut self, at: Moment, step_ns: i64) {
        self.set(at, format!("the clock was set by {}", units::format::latency(step_ns)));
    }

    /// The clock was set, in words.
    pub fn set(&mut self, at: Moment, words: String) {
        self.cut(at);
        self.event(at, SyncChange::Step, words);
    }

    /// The reference that was known as `known_as` has a better name: the same clock, so nothing changed.
    pub fn name_reference(&mut self, known_as: &str, reference: &str) {
        if self.now.reference == known_as && !reference.is_empty() {
            reference.clone_into(&mut self.now.reference);
        }
    }

    /// The identity of the clock to which bounds reach, as every node that follows it states it.
    pub fn reference_id(&mut self, id: Option<String>) {
        self.now.reference_id = id;
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
        let (count, squares, largest) = self.now.own;
        self.now.own = (count + 1, squares + value * value, largest.max(offset_ns.unsigned_abs()));
    }

    /// How the clock is steered at the moment of the next offset.
    pub const fn steered(&mut self, steering: Steering) {
        self.steering = Some(steering);
    }

    /// What the service itself says of offsets that it does not list: their root mean square and their largest magnitude (ns).
    pub fn own_summary(&mut self, rms_ns: f64, largest_ns: u64) {
        let (count, squares, largest) = self.now.own;
        self.now.own = (count + 1, squares + rms_ns * rms_ns, largest.max(largest_ns));
    }

    /// Something is missing before what follows: the Allan deviation takes no difference across this moment.
    pub fn interrupt(&mut self) {
        self.now.interrupt();
    }

    /// Another time is told from this moment on: what follows is put together with nothing before it.
    pub fn cut(&mut self, at: Moment) {
        let at_ns = self.elapsed_ns(at);
        self.steering = None;
        if self.now.is_empty() {
            self.now.restart(at_ns);
            return;
        }
        self.pass(at);
        self.now.close_until(at_ns, self.interval_ns);
        let next = self.now.next(at, at_ns, self.state);
        self.earlier.push(std::mem::replace(&mut self.now, next));
    }

    /// What the clock is compared with, if that was seen already.
    #[must_use]
    pub fn current_reference(&self) -> Option<&str> {
        (!self.now.reference.is_empty()).then_some(&self.now.reference)
    }

    /// The clock that is compared, once the source names it.
    pub fn clock(&mut self, clock: ClockName) {
        self.about.clock = Some(clock);
    }

    /// An offset, with the bound at that moment.
    pub fn offset(&mut self, at: Moment, shown: Shown, bound: Option<OffsetBound>) {
        let steering = self.steering.take();
        if self.earlier.len() >= Self::MOST_STRETCHES {
            self.offsets_left_out += 1;
            return;
        }
        self.pass(at);
        self.now.offset(at, shown, bound, steering);
    }

    /// A bound at a moment without a new offset: it grows until the next exchange.
    pub fn bound(&mut self, at: Moment, bound: OffsetBound) {
        if self.earlier.len() >= Self::MOST_STRETCHES {
            return;
        }
        self.pass(at);
        self.now.bound(at, bound);
    }

    fn elapsed_ns(&self, at: Moment) -> u64 {
        u64::try_from(at.monotonic.since(self.started.monotonic).0).unwrap_or(0)
    }

    /// Closes the intervals that ended before a moment.
    fn pass(&mut self, at: Moment) {
        let elapsed_ns = self.elapsed_ns(at);
        if self.now.pass(elapsed_ns, self.interval_ns) && self.intervals_grow {
            self.interval_ns = self.now.join(self.interval_ns);
            // Intervals in which nothing was shown are not made up.
            self.now.go_to(elapsed_ns, self.interval_ns);
        }
    }

    /// The intervals that ended before a moment and were not handed on yet, each with the number of its stretch, from 0, and the
    /// name of its series.
    pub fn hand_on(&mut self, at: Moment) -> Vec<(SeriesName, Interval)> {
        self.pass(at);
        let all = self.earlier.iter_mut().chain(std::iter::once(&mut self.now));
        let fresh = all.enumerate().flat_map(|(number, stretch)| stretch.hand_on(number)).collect();
        // All that have ended are handed on: what is kept here of a run of weeks may be coarser from now on.
        let interval_ns = self.now.join(self.interval_ns);
        if interval_ns != self.interval_ns {
            self.interval_ns = interval_ns;
            self.now.go_to(self.elapsed_ns(at), interval_ns);
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
        let elapsed_ns = self.elapsed_ns(at);
        self.now.close_until(elapsed_ns, self.interval_ns);
    }

    fn conclude(mut self) -> Followed {
        if self.offsets_left_out > 0 {
            self.could_be_missed.push(format!(
                "{} offsets after the {}th change of the time that is told: they are left out",
                units::format::count(self.offsets_left_out),
                Self::MOST_STRETCHES
            ));
        }
        // What came after the last change, and showed nothing yet, is a part of its own only where there is none before it.
        let mut stretches = self.earlier;
        stretches.push(self.now);
        let concluded = stretches.into_iter().enumerate().map(|(number, stretch)| {
            let place = place_of(&self.about.place, number);
            stretch.conclude(&self.about, place, self.version.clone(), self.could_be_missed.clone())
        });
        let (mut parts, mut contradiction) = (Vec::new(), None);
        for (part, of) in concluded {
            parts.push(part);
            contradiction = contradiction.or(of);
        }
        Followed { parts, events: self.events, events_left_out: self.events_left_out, contradiction }
    }
}

#[cfg(test)]
mod tests {
    use record::HardBound;
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
        let offsets = &followed.parts[0].series[0];
        assert!(offsets.judged);
        assert_eq!((offsets.taken(), offsets.intervals.len()), (2, 2));
        let first = offsets.intervals[0].uncertainty.unwrap();
        assert_eq!((first.below_ns, first.above_ns), (9_050, 9_450));
        let second = offsets.intervals[1].uncertainty.unwrap();
        assert_eq!((second.below_ns, second.above_ns), (1_030, 1_970));
        assert_eq!(offsets.intervals[1].length_ns, 500_000_000);
        let HardBound::Stated { lowest_ns, highest_ns, narrowest_ns, widest_ns, .. } = followed.parts[0].source.bound
        else {
            panic!("no bound")
        };
        assert_eq!((lowest_ns, highest_ns, widest_ns), (-9_000, 9_500, 18_500));
        assert_eq!(narrowest_ns, (-1_000, 2_000), "the first of two that are equally wide");
        assert_eq!(followed.parts[0].source.track.len(), 3);
    }

    #[test]
    fn what_is_handed_on_is_what_the_summary_until_then_counts() {
        let mut follower = follower();
        follower.offset(at_ms(100), shown(50), None);
        follower.offset(at_ms(900), shown(-50), None);
        assert!(follower.hand_on(at_ms(999)).is_empty(), "nothing has ended");
        follower.offset(at_ms(1_010), shown(9_000), None);
        let first = follower.hand_on(at_ms(1_100));
        assert_eq!(first.iter().map(|((_, name), _)| *name).collect::<Vec<_>>(), [OFFSET, DELAY]);
        assert!(follower.hand_on(at_ms(1_200)).is_empty(), "each interval is handed on once");
        let finished = follower.so_far(Part::Finished);
        assert_eq!(finished.parts[0].series[0].taken(), 2, "the open interval is not in it");
        let spread = finished.parts[0].source.spread.unwrap();
        assert_eq!((spread.count, spread.highest_ns), (2, 50));
        assert!(spread.mean_ns.abs() < 1e-9, "{spread:?}");
        // Nothing shown for two seconds is no interval, and the last one ends with the run.
        assert_eq!(follower.hand_on(at_ms(3_500)).len(), 2);
        let all = follower.so_far(Part::Until(at_ms(3_600)));
        assert_eq!((all.parts[0].series[0].taken(), all.parts[0].series[0].intervals.len()), (3, 2));
    }

    #[test]
    fn offsets_without_a_bound_are_not_judged() {
        let mut follower = follower();
        follower.offset(at_ms(1), shown(5), None);
        follower.own_estimate(5);
        follower.own_estimate(-12);
        let followed = follower.so_far(Part::Until(at_ms(10)));
        assert!(!followed.parts[0].series[0].judged);
        assert_eq!(followed.parts[0].source.bound, HardBound::Missing { reason: "no raw stamps".to_owned() });
        let own = followed.parts[0].source.own_estimate.unwrap();
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
            let spread = follower.so_far(Part::Until(at_ms(100))).parts[0].source.spread.unwrap();
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
        assert_eq!(followed.parts[0].source.states.len(), 2);
        assert!(followed.parts[0].series.is_empty());
    }
}
