//! What the exchanges of a run have shown of both nodes' clocks.

use packet::probe::ExchangeTimes;
use packet::relation::{Delay, OffsetMeasurement, Relation};
use record::{Moment, TrackPoint};
use sync::bound::ClockReading;
use sync::signed::Signed;
use sync::track::Track;

use super::clocks::Exchanged;
use super::delays::Delays;
use crate::clock_watch::ClockWatch;

/// What the comparison of the clocks has come to.
pub(crate) struct ClocksSeen {
    pub(crate) relation: Relation,
    pub(crate) exchanges: u64,
    pub(crate) offsets: Signed,
    pub(crate) track: Track,
    pub(crate) round_trips: Delays,
    /// The first moment at which bounds excluded each other.
    pub(crate) contradiction: Option<Moment>,
    /// The first steps of this node's clock and of the partner's, by the comparisons of each: when they were noticed, and by how
    /// much (ns). They show smaller ones than the clock watch does.
    pub(crate) own_steps: Vec<(Moment, i64)>,
    pub(crate) partner_steps: Vec<(Moment, i64)>,
    /// The comparisons that showed the last step of either clock (ns, its uncorrected clock): what was begun before is of a time
    /// that both clocks do not have in common with what follows.
    set_before_raw_ns: [Option<i64>; 2],
    pub(crate) last: Option<OffsetMeasurement>,
    /// When that was (ns, CLOCK_REALTIME of this node).
    pub(crate) last_ns: Option<i64>,
}

impl ClocksSeen {
    /// Before the first exchange; `series` makes the one of a name.
    pub(crate) fn new(max_drift_ppb: u32, series: impl Fn(&'static str) -> Delays) -> Self {
        Self {
            relation: Relation::new(max_drift_ppb),
            exchanges: 0,
            offsets: Signed::default(),
            track: Track::default(),
            round_trips: series("asked_to_answered"),
            contradiction: None,
            own_steps: Vec::new(),
            partner_steps: Vec::new(),
            set_before_raw_ns: [None; 2],
            last: None,
            last_ns: None,
        }
    }

    /// Takes the next exchange.
    pub(crate) fn take(&mut self, exchanged: &Exchanged, clocks: &ClockWatch) {
        let Some(last_own) = exchanged.own.last() else { return };
        let at = clocks.moment(last_own.clock_ns);
        for reading in &exchanged.own {
            if let Some(step_ns) = self.relation.own_reading(*reading) {
                self.relation.forget();
                self.set_before_raw_ns[0] = Some(reading.raw_ns);
                keep_step(&mut self.own_steps, at, step_ns);
            }
        }
        for reading in &exchanged.partner {
            if let Some(step_ns) = self.relation.partner_reading(*reading) {
                self.relation.forget();
                self.set_before_raw_ns[1] = Some(reading.raw_ns);
                keep_step(&mut self.partner_steps, at, step_ns);
            }
        }
        let all = [&exchanged.own, &exchanged.partner];
        let is_of_before = |(readings, set_ns): (&Vec<ClockReading>, Option<i64>)| {
            set_ns.is_some_and(|set_ns| readings.iter().any(|reading| reading.raw_ns < set_ns))
        };
        // Its stamps may be from before a clock was set, and are compared with what that clock shows now.
        if all.into_iter().zip(self.set_before_raw_ns).any(is_of_before) {
            return;
        }
        let ExchangeTimes { t1_ns, t2_ns, t3_ns, t4_ns } = exchanged.times;
        let (from, to) =
            if exchanged.is_asker { ((t3_ns, t4_ns), (t1_ns, t2_ns)) } else { ((t1_ns, t2_ns), (t3_ns, t4_ns)) };
        let Some(seen) = self.relation.exchange(from, to) else { return };
        self.exchanges += 1;
        // Bounds that exclude each other leave no offset.
        let is_known = !seen.bound.is_contradiction();
        if is_known {
            self.offsets.record(seen.offset_ns);
        } else {
            self.contradiction.get_or_insert(at);
        }
        self.round_trips.take(&Delay { ns: seen.round_trip_ns, ..Delay::default() }, last_own.clock_ns, clocks);
        self.track.take(TrackPoint {
            at,
            count: 1,
            lowest_ns: is_known.then_some(seen.offset_ns),
            highest_ns: is_known.then_some(seen.offset_ns),
            bound_ns: is_known.then(|| seen.bound.into()),
            narrowest_ns: None,
            delay_ns: Some(seen.round_trip_ns / 2),
            frequency_ppb: None,
        });
        self.last = Some(seen).filter(|_| is_known);
        self.last_ns = Some(last_own.clock_ns);
    }
}

/// Keeps the first few: a clock that is corrected faster than any rate allows is set with each comparison.
fn keep_step(steps: &mut Vec<(Moment, i64)>, at: Moment, step_ns: i64) {
    const MOST: usize = 5;
    if steps.len() < MOST {
        steps.push((at, step_ns));
    }
}
