//! What became of one source of time in a run, or in a part of it.

use record::{Moment, Place, Series, SyncEvent, SyncSource};

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

impl Followed {
    /// Names the source's place, where that is known only at the end.
    pub fn rename(&mut self, place: &Place) {
        self.source.place = place.clone();
        for series in &mut self.series {
            series.place = place.clone();
        }
        for event in &mut self.events {
            event.place = place.clone();
        }
    }
}
