//! Where the intervals of a run go as they end, so that a long run is neither held in memory nor lost with its process.

use std::time::{Duration, Instant};

use record::{Interval, Moment, Record, Series, SpoiledInterval};

use crate::collect::Collector;

/// How long one thread's interval waits for those of the others, so that they stand together.
pub(crate) const TOGETHER_WITHIN: Duration = Duration::from_secs(1);

/// Why a record that was written while its run went on, and never again, is not a whole one.
pub(crate) const CUT_SHORT: &str =
    "the program that measured was ended before it could conclude; this is what was finished until then";

/// Takes the intervals of a run over as they end. It is called by the thread that makes room in the rings, and so may not
/// keep it waiting.
pub trait IntervalSink: Sync {
    /// Takes finished intervals, each with the number of its series, and the record of all that was measured until then: as
    /// the run would be judged were it cut short now. Whatever intervals that record has itself are not looked at.
    fn take(&self, intervals: Vec<(usize, Interval)>, so_far: Record);

    /// Takes the record of all that was measured until now, with its intervals, in the place of the one before: of a kind whose
    /// series come and go while it runs.
    fn replace(&self, so_far: Record);

    /// Takes the intervals that something spoiled since the last call, each with the number of its series: before those that
    /// ended with them and stand, and also where none does. A record says of them only as much as it has room for.
    fn take_spoiled(&self, _spoiled: Vec<(usize, SpoiledInterval)>, _so_far: &Record) {}

    /// How often it wants to see the intervals that have not ended, or of which it is not known yet whether they stand; `None`:
    /// never. Kinds other than wake-ups take no notice.
    fn looks_every(&self) -> Option<Duration> {
        None
    }

    /// Sees these intervals as they are now, each with the number of its series, and when the run began.
    fn look(&self, _open: Vec<(usize, Interval)>, _started: Moment) {}
}

/// Hands on those that ended last, of a run whose intervals somebody else keeps: the record is left without any.
pub(crate) fn hand_on_the_rest(record: &mut Record, sink: &dyn IntervalSink) {
    let of_series = |(number, series): (usize, &mut Series)| {
        std::mem::take(&mut series.intervals).into_iter().map(move |interval| (number, interval))
    };
    let mut rest: Vec<(usize, Interval)> = record.series.iter_mut().enumerate().flat_map(of_series).collect();
    if !rest.is_empty() {
        rest.sort_by_key(|(number, interval)| (interval.start_offset_ns, interval.length_ns, *number));
        sink.take(rest, record.clone());
    }
}

/// Intervals that ended and were not handed on yet.
#[derive(Debug, Default)]
pub(crate) struct FinishedIntervals {
    waiting: Vec<(usize, Interval)>,
    spoiled: Vec<(usize, SpoiledInterval)>,
    since: Option<Instant>,
}

impl FinishedIntervals {
    /// Collects what the threads have finished since the last call.
    pub(crate) fn collect<'a>(&mut self, threads: impl Iterator<Item = &'a mut Collector>) {
        for (number, thread) in threads.enumerate() {
            self.waiting.extend(thread.hand_on().into_iter().map(|interval| (number, interval)));
            self.spoiled.extend(thread.hand_on_spoiled().into_iter().map(|interval| (number, interval)));
        }
        if !self.waiting.is_empty() || !self.spoiled.is_empty() {
            self.since.get_or_insert_with(Instant::now);
        }
    }

    /// Whether they are to be handed on: each of the threads has one, or the others let wait for theirs.
    pub(crate) fn are_due(&self, threads: usize) -> bool {
        let has_one = |number: &usize| {
            self.waiting.iter().any(|(of, _)| of == number) || self.spoiled.iter().any(|(of, _)| of == number)
        };
        self.since
            .is_some_and(|since| since.elapsed() >= TOGETHER_WITHIN || (0..threads).all(|number| has_one(&number)))
    }

    /// Hands all of them on, with the record of all until now.
    pub(crate) fn hand_to(&mut self, sink: &dyn IntervalSink, so_far: Record) {
        let spoiled = std::mem::take(&mut self.spoiled);
        if !spoiled.is_empty() {
            sink.take_spoiled(spoiled, &so_far);
        }
        let intervals = self.take();
        if !intervals.is_empty() {
            sink.take(intervals, so_far);
        }
    }

    /// Hands those that stand on, at the end of a run whose record keeps none of them.
    pub(crate) fn hand_on(mut self, sink: Option<&dyn IntervalSink>, record: &Record) {
        let rest = self.take();
        if let Some(sink) = sink.filter(|_| !rest.is_empty()) {
            sink.take(rest, record.clone());
        }
    }

    /// All that stand, in the order of time.
    pub(crate) fn take(&mut self) -> Vec<(usize, Interval)> {
        self.since = None;
        let mut all = std::mem::take(&mut self.waiting);
        all.sort_by_key(|(number, interval)| (interval.start_offset_ns, interval.length_ns, *number));
        all
    }
}
