//! What a log or a capture shows of clocks, as a run of `sync` has it.

use record::{Moment, ReasonCode, Series, SyncRun};
use sync::follow::{Followed, OFFSET};
use sync::judge::{Facts, judge};

/// The content of a source that is about clocks.
#[derive(Clone, Debug, Default)]
pub(super) struct Clocks {
    run: SyncRun,
    series: Vec<Series>,
    started: Moment,
    ended: Moment,
    contradictions: Vec<(String, Moment)>,
    no_source: Option<String>,
}

impl Clocks {
    /// Puts together what became of each source between two moments.
    pub(super) fn new((started, ended): (Moment, Moment), followed: Vec<Followed>) -> Self {
        let mut clocks = Self { started, ended, ..Self::default() };
        for one in followed {
            clocks.contradictions.extend(one.contradiction.zip(one.place()).map(|(at, place)| (place.to_string(), at)));
            clocks.run.events.extend(one.events);
            clocks.run.events_left_out += one.events_left_out;
            for part in one.parts {
                clocks.run.sources.push(part.source);
                clocks.series.extend(part.series);
            }
        }
        clocks.run.events.sort_by_key(|event| event.at.monotonic.as_ns());
        let most = SyncRun::MOST_EVENTS;
        if clocks.run.events.len() > most {
            clocks.run.events_left_out += (clocks.run.events.len() - most) as u64;
            clocks.run.events.truncate(most);
        }
        clocks
    }

    /// How much an uncorrected clock is assumed to drift at most, if bounds rest on it (parts per billion).
    pub(super) fn rests_on_drift(mut self, max_drift_ppb: u32) -> Self {
        self.run.max_drift_ppb = max_drift_ppb;
        self
    }

    /// More bounds that exclude each other: of which source, and when first.
    pub(super) fn contradict(mut self, contradictions: Vec<(String, Moment)>) -> Self {
        self.contradictions.extend(contradictions);
        self
    }

    /// Why there is no offset, in words; of no weight if there is one.
    pub(super) fn without_offsets(mut self, why: &str) -> Self {
        if self.offsets() == 0 {
            self.no_source = Some(why.to_owned());
        }
        self
    }

    fn offsets(&self) -> u64 {
        units::total(self.series.iter().filter(|series| series.name == OFFSET).map(Series::taken))
    }

    pub(super) fn series(&self) -> Vec<Series> {
        self.series.clone()
    }

    /// First and last moment.
    pub(super) const fn span(&self) -> (Moment, Moment) {
        (self.started, self.ended)
    }

    pub(super) fn has_wall_time(&self) -> bool {
        self.started.realtime.as_ns() != 0
    }

    /// Whether a source does not name its clock.
    pub(super) fn lacks_clock(&self) -> bool {
        self.run.sources.iter().any(|source| source.clock.is_none())
    }

    /// What speaks against the run, by the rules for a run that was measured.
    pub(super) fn reasons(&self) -> Vec<(ReasonCode, String)> {
        let facts = Facts {
            run: &self.run,
            started: self.started,
            offsets: self.offsets(),
            contradictions: &self.contradictions,
            suspended_ns: 0,
            ended_early: None,
            named: &[],
            silent: &[],
            no_source: self.no_source.clone(),
        };
        judge(&facts).reasons().iter().map(|reason| (reason.code, reason.detail.clone())).collect()
    }

    pub(super) fn into_run(self) -> SyncRun {
        self.run
    }
}
