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
    /// Each stretch of the run in which one time was told, in the order of time; at least one.
    pub parts: Vec<FollowedPart>,
    /// What changed, in the order of time.
    pub events: Vec<SyncEvent>,
    /// Events that found no place.
    pub events_left_out: u64,
    /// When two bounds first excluded each other; `None` if they never did.
    pub contradiction: Option<Moment>,
}

/// What became of a source while it told one time: no step, no other reference, no other time scale.
#[derive(Clone, Debug)]
pub struct FollowedPart {
    /// The summary.
    pub source: SyncSource,
    /// Its series: the offsets, and the delays if there were any.
    pub series: Vec<Series>,
}

/// Which series of a source an interval is of: the number of the stretch, from 0, and the name of the series.
pub type SeriesName = (usize, &'static str);

impl Followed {
    /// Names the source's place, where that is known only at the end.
    pub fn rename(&mut self, place: &Place) {
        for (number, part) in self.parts.iter_mut().enumerate() {
            part.source.place = place_of(place, number);
            for series in &mut part.series {
                series.place = part.source.place.clone();
            }
        }
        for event in &mut self.events {
            event.place = place.clone();
        }
    }

    /// The place of the source's first part, which its events have too; `None` without a part.
    #[must_use]
    pub fn place(&self) -> Option<&Place> {
        self.parts.first().map(|part| &part.source.place)
    }
}

/// The place of a stretch, by its number from 0: the first one has that of the source.
pub(crate) fn place_of(place: &Place, number: usize) -> Place {
    match place {
        Place::Port { port, domain } if number > 0 => {
            Place::Port { port: format!("{port} (part {})", number + 1), domain: *domain }
        }
        other => other.clone(),
    }
}

/// The place of the source that has this place in one of its parts.
pub(crate) fn source_of(place: &Place) -> Place {
    match place {
        Place::Port { port, domain } => {
            let whole = port
                .strip_suffix(')')
                .and_then(|rest| rest.rsplit_once(" (part "))
                .filter(|(_, number)| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()));
            Place::Port { port: whole.map_or(port.as_str(), |(port, _)| port).to_owned(), domain: *domain }
        }
        other => other.clone(),
    }
}
