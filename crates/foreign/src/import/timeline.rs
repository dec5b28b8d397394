//! The times of a log as moments of a record.

use record::Moment;
use units::Timestamp;

/// Lines of several programs are a little out of order; a log whose times go back by more was written over a restart of the
/// machine, or is several logs that were joined (ns).
const MOST_DISORDER_NS: i64 = 1_000_000_000;

/// Which clock a log's times are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LogClock {
    /// Of `CLOCK_MONOTONIC`: they say how much time passed, and no date.
    Uptime,
    /// Of the wall clock, in UTC: the one that the log's program may steer.
    Wall,
}

/// Turns the times of a log into moments that never go back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timeline {
    clock: LogClock,
    /// The first time, and the wall clock then, if it is known.
    first: Option<(i64, Option<i64>)>,
    latest_ns: i64,
    /// What is added to the log's times since they went back.
    shift_ns: i64,
}

impl Timeline {
    pub(super) const fn new(clock: LogClock) -> Self {
        Self { clock, first: None, latest_ns: 0, shift_ns: 0 }
    }

    /// The moment of a time of the log; and by how much the log's times went back here, if they did (ns). `wall` is asked for the
    /// wall clock of the same line, where a log of uptimes has it.
    pub(super) fn at(&mut self, log_ns: i64, wall: impl FnOnce() -> Option<i64>) -> (Moment, Option<i64>) {
        if self.first.is_none() {
            let wall_ns = if self.clock == LogClock::Wall { Some(log_ns) } else { wall() };
            self.first = Some((log_ns, wall_ns));
            self.latest_ns = log_ns;
        }
        let shifted_ns = log_ns.saturating_add(self.shift_ns);
        let back_ns = self.latest_ns.saturating_sub(shifted_ns);
        if back_ns > MOST_DISORDER_NS {
            // How much time passed between is not known: it goes on where it was.
            self.shift_ns = self.shift_ns.saturating_add(back_ns);
            return (self.moment(self.latest_ns), Some(back_ns));
        }
        self.latest_ns = self.latest_ns.max(shifted_ns);
        (self.moment(shifted_ns), None)
    }

    /// The moment of the latest time; for lines without one.
    pub(super) fn latest(&self) -> Moment {
        self.moment(self.latest_ns)
    }

    /// The first moment.
    pub(super) fn started(&self) -> Moment {
        self.moment(self.first.map_or(0, |(first_ns, _)| first_ns))
    }

    /// Whether any line had a time.
    pub(super) const fn has_times(&self) -> bool {
        self.first.is_some()
    }

    /// Whether its times are of the wall clock.
    pub(super) fn is_wall(&self) -> bool {
        self.clock == LogClock::Wall
    }

    /// Whether the wall clock comes from a date in whole seconds beside an uptime.
    pub(super) fn has_coarse_dates(&self) -> bool {
        self.clock == LogClock::Uptime
            && self.first.and_then(|(_, wall_ns)| wall_ns).is_some_and(|wall_ns| wall_ns % 1_000_000_000 == 0)
    }

    /// A moment has the elapsed time by the log, and the wall clock if the log has it; 0 stands for an unknown one.
    fn moment(&self, shifted_ns: i64) -> Moment {
        let Some((first_ns, wall_ns)) = self.first else {
            return Moment { monotonic: Timestamp::from_ns(0), realtime: Timestamp::from_ns(0) };
        };
        let elapsed_ns = shifted_ns.saturating_sub(first_ns).max(0);
        Moment {
            monotonic: Timestamp::from_ns(if self.clock == LogClock::Uptime {
                first_ns.max(0).saturating_add(elapsed_ns)
            } else {
                elapsed_ns
            }),
            realtime: Timestamp::from_ns(wall_ns.map_or(0, |wall_ns| wall_ns.saturating_add(elapsed_ns))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const S: i64 = 1_000_000_000;

    #[test]
    fn uptimes_stay_what_they_are_and_dates_are_not_made_up() {
        let mut timeline = Timeline::new(LogClock::Uptime);
        let (at, back) = timeline.at(100 * S, || None);
        assert_eq!((at.monotonic.as_ns(), at.realtime.as_ns(), back), (100 * S, 0, None));
        // A little disorder stays as it is.
        assert_eq!(timeline.at(101 * S, || None).0.monotonic.as_ns(), 101 * S);
        assert_eq!(timeline.at(100 * S + 500_000_000, || None), (timeline.moment(100 * S + 500_000_000), None));
        // A restart does not take time back.
        let (at, back) = timeline.at(5 * S, || None);
        assert_eq!((at.monotonic.as_ns(), back), (101 * S, Some(96 * S)));
        assert_eq!(timeline.at(7 * S, || None).0.monotonic.as_ns(), 103 * S);
    }

    #[test]
    fn the_wall_clock_is_kept_where_the_log_has_it() {
        let mut timeline = Timeline::new(LogClock::Uptime);
        timeline.at(100 * S, || Some(1_700_000_000 * S));
        assert_eq!(timeline.at(102 * S, || panic!("asked once")).0.realtime.as_ns(), 1_700_000_002 * S);
        let mut timeline = Timeline::new(LogClock::Wall);
        let (at, _) = timeline.at(1_700_000_000 * S, || None);
        assert_eq!((at.monotonic.as_ns(), at.realtime.as_ns()), (0, 1_700_000_000 * S));
    }
}
