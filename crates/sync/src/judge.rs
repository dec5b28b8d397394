//! Whether what was seen of the sources of time makes a run valid: one table of reasons for runs that were measured and for
//! those that are imported.

use record::{Moment, Place, ReasonCode, SyncChange, SyncEvent, SyncRun, SyncState, Validity};
use units::format::span;

use crate::followed::source_of;

/// Moments of a kind that are named one by one.
const NAMED: usize = 5;

/// All that is known of a finished run beside its offsets.
#[derive(Clone, Debug)]
pub struct Facts<'a> {
    /// What was seen of the sources.
    pub run: &'a SyncRun,
    /// When the run began.
    pub started: Moment,
    /// Offsets of all sources.
    pub offsets: u64,
    /// Bounds that excluded each other: which source, and when first.
    pub contradictions: &'a [(String, Moment)],
    /// How long the machine was suspended (ns).
    pub suspended_ns: i64,
    /// Why the run ended before its time, in words, where it did.
    pub ended_early: Option<String>,
    /// The places of the sources that were named, of those that answered.
    pub named: &'a [Place],
    /// What was named and showed nothing: why, in words.
    pub silent: &'a [String],
    /// Why no source that was wanted could be followed, in words, where that is so.
    pub no_source: Option<String>,
}

/// The reasons that the facts give against the run.
#[must_use]
pub fn judge(facts: &Facts<'_>) -> Validity {
    let mut validity = Validity::default();
    let into_run = |at: Moment| span(at.monotonic.since(facts.started.monotonic).0.max(0));
    let named = |what: SyncChange| {
        let all: Vec<&SyncEvent> = facts.run.events.iter().filter(|event| event.what == what).collect();
        let mut words: Vec<String> = all
            .iter()
            .take(NAMED)
            .map(|event| format!("{}: {}, noticed {} into the run", event.place, event.detail, into_run(event.at)))
            .collect();
        if all.len() > NAMED {
            words.push(format!("and {} more", all.len() - NAMED));
        }
        (!words.is_empty()).then(|| words.join("; "))
    };
    if let Some(steps) = named(SyncChange::Step) {
        validity.add(ReasonCode::ClockStepped, steps);
    }
    if let Some(moves) = named(SyncChange::Disruption) {
        validity.add(ReasonCode::VmDisrupted, moves);
    }
    for (what, code) in [
        (SyncChange::Reference, ReasonCode::ReferenceChanged),
        (SyncChange::TimeScale, ReasonCode::ReferenceChanged),
        (SyncChange::Holdover, ReasonCode::SyncLost),
        (SyncChange::Worse, ReasonCode::ReferenceWorse),
    ] {
        if let Some(changes) = named(what) {
            validity.add(code, changes);
        }
    }
    for source in &facts.run.sources {
        for pair in source.states.windows(2) {
            let [before, after] = pair else { continue };
            // A clock that nobody steers follows its reference all the same where offsets came: what ptp4l calls free running.
            let had_it = match before.state {
                SyncState::Locked | SyncState::Reference | SyncState::Holdover => true,
                SyncState::Starting | SyncState::Free => {
                    source.spread.is_some() && matches!(after.state, SyncState::Lost | SyncState::Holdover)
                }
                SyncState::Lost => false,
            };
            let has_it = after.state == SyncState::Locked
                || after.state == SyncState::Reference && before.state != SyncState::Locked;
            if had_it && !has_it {
                let detail = format!(
                    "{}: {} to {}, noticed {} into the run",
                    source.place,
                    before.state.word(),
                    after.state.word(),
                    into_run(after.at)
                );
                validity.add(ReasonCode::SyncLost, detail);
                break;
            }
        }
        // What was never locked was not lost, but nothing can rely on it.
        let was_never = !source.states.is_empty()
            && source.states.iter().all(|change| matches!(change.state, SyncState::Holdover | SyncState::Lost));
        if was_never {
            if let Some(first) = source.states.first() {
                validity.add(ReasonCode::SyncLost, format!("{}: {} from the start", source.place, first.state.word()));
            }
        }
    }
    never_locked(facts, &mut validity);
    for what in facts.silent {
        validity.add(ReasonCode::SourceSilent, what.clone());
    }
    for (source, at) in facts.contradictions {
        validity.add(ReasonCode::BoundsContradict, format!("{source}, noticed {} into the run", into_run(*at)));
    }
    if let Some(why) = &facts.no_source {
        validity.add(ReasonCode::NoSamples, why.clone());
    } else if facts.offsets == 0 {
        validity.add(ReasonCode::NoSamples, "no source showed an offset".to_owned());
    } else {
        for source in &facts.run.sources {
            if let (record::HardBound::Missing { reason }, Some(_)) = (&source.bound, &source.spread) {
                validity.add(ReasonCode::NoHardBound, format!("{}: {reason}", source.place));
            }
        }
    }
    if facts.suspended_ns > 0 {
        validity.add(ReasonCode::Suspended, format!("for {}", span(facts.suspended_ns)));
    }
    if let Some(how) = &facts.ended_early {
        validity.add(ReasonCode::InterruptedEarly, how.clone());
    }
    validity
}

/// Sources that followed nothing from the beginning to the end, in all their parts: those that showed offsets, and those that
/// were named.
fn never_locked(facts: &Facts<'_>, validity: &mut Validity) {
    let mut places: Vec<Place> = facts.run.sources.iter().map(|source| source_of(&source.place)).collect();
    places.dedup();
    for place in places {
        let parts = || facts.run.sources.iter().filter(|source| source_of(&source.place) == place);
        let states: Vec<SyncState> = parts().flat_map(|part| part.states.iter().map(|change| change.state)).collect();
        let is_wanted = parts().any(|part| part.spread.is_some()) || facts.named.contains(&place);
        if is_wanted && !states.is_empty() && states.iter().all(|state| *state == SyncState::Starting) {
            let detail = format!("{place}: {} from the beginning to the end", SyncState::Starting.word());
            validity.add(ReasonCode::NeverLocked, detail);
        }
    }
}

#[cfg(test)]
mod tests {
    use record::{HardBound, StateChange, SyncService, SyncSource, ValidityState};
    use units::{ClockId, Ns};

    use super::*;

    fn at_s(seconds: i64) -> Moment {
        Moment::default().plus(Ns::from_s(seconds))
    }

    fn place() -> Place {
        Place::Port { port: "eth0".to_owned(), domain: Some(0) }
    }

    fn source(states: &[(i64, SyncState)]) -> SyncSource {
        let spread =
            record::Spread { count: 9, median_ns: 0, lowest_ns: 0, highest_ns: 0, mean_ns: 0.0, deviation_ns: 0.0 };
        SyncSource {
            service: SyncService::Linuxptp,
            version: None,
            place: place(),
            clock: Some(ClockId::Realtime.into()),
            reference: "grand master a".to_owned(),
            reference_id: None,
            bound: HardBound::Stated {
                lowest_ns: -9,
                highest_ns: 9,
                narrowest_ns: (-9, 9),
                widest_ns: 18,
                trusts: String::new(),
            },
            spread: Some(spread),
            own_estimate: None,
            allan: Vec::new(),
            growth: Vec::new(),
            states: states.iter().map(|&(s, state)| StateChange { at: at_s(s), state }).collect(),
            track: Vec::new(),
            could_be_missed: Vec::new(),
        }
    }

    fn judged<'a>(run: &'a SyncRun, change: impl FnOnce(&mut Facts<'a>)) -> Validity {
        let mut facts = Facts {
            run,
            started: at_s(0),
            offsets: 9,
            contradictions: &[],
            suspended_ns: 0,
            ended_early: None,
            named: &[],
            silent: &[],
            no_source: None,
        };
        change(&mut facts);
        judge(&facts)
    }

    fn run_of(states: &[(i64, SyncState)], events: &[(SyncChange, &str)]) -> SyncRun {
        let event = |&(what, detail): &(SyncChange, &str)| SyncEvent {
            at: at_s(7),
            place: place(),
            what,
            detail: detail.to_owned(),
        };
        SyncRun {
            max_drift_ppb: 100_000,
            sources: vec![source(states)],
            events: events.iter().map(event).collect(),
            ..SyncRun::default()
        }
    }

    #[test]
    fn each_reason_fires_alone_with_its_moment_and_a_locked_run_is_valid() {
        let contradictions = [("eth0".to_owned(), at_s(2))];
        use SyncState::{Free, Holdover, Locked, Lost, Reference, Starting};
        let quiet = [&[(0, Locked)][..], &[(0, Starting), (3, Locked)], &[(0, Reference)], &[(0, Free)], &[]];
        for quiet in quiet {
            assert_eq!(judged(&run_of(quiet, &[]), |_| {}).state(), ValidityState::Valid, "{quiet:?}");
        }
        let only = |validity: &Validity, code: ReasonCode, words: &str| {
            let reasons = validity.reasons();
            assert_eq!(reasons.len(), 1, "{reasons:?}");
            assert!(reasons[0].code == code && reasons[0].detail.contains(words), "{reasons:?}");
        };
        for (states, words) in [
            (&[(0, Locked), (4, Holdover)][..], "eth0 domain 0: locked to holdover, noticed 4 s into the run"),
            (&[(0, Starting), (2, Locked), (5, Lost), (6, Locked)], "locked to lost, noticed 5 s"),
            (&[(0, Reference), (5, Starting)], "reference to starting"),
            (&[(0, Starting), (5, Lost)], "starting to lost"),
            (&[(0, Locked), (5, Reference)], "locked to reference"),
            (&[(0, Lost)], "lost from the start"),
            (&[(0, Holdover)], "holdover from the start"),
        ] {
            only(&judged(&run_of(states, &[]), |_| {}), ReasonCode::SyncLost, words);
        }
        let locked = &[(0, Locked)];
        let step = run_of(locked, &[(SyncChange::Step, "the clock was set by 3 ms")]);
        only(&judged(&step, |_| {}), ReasonCode::ClockStepped, "set by 3 ms, noticed 7 s into the run");
        let moved = run_of(locked, &[(SyncChange::Disruption, "the marker changed from 7 to 8")]);
        only(&judged(&moved, |_| {}), ReasonCode::VmDisrupted, "from 7 to 8, noticed 7 s into the run");
        let other = run_of(locked, &[(SyncChange::Reference, "a to b")]);
        only(&judged(&other, |_| {}), ReasonCode::ReferenceChanged, "eth0 domain 0: a to b, noticed 7 s");
        let scale = run_of(locked, &[(SyncChange::TimeScale, "37 s to 38 s")]);
        only(&judged(&scale, |_| {}), ReasonCode::ReferenceChanged, "37 s to 38 s, noticed 7 s");
        let class = run_of(locked, &[(SyncChange::Holdover, "clock class: 6 to 7")]);
        only(&judged(&class, |_| {}), ReasonCode::SyncLost, "6 to 7, noticed 7 s");
        let worse = run_of(locked, &[(SyncChange::Worse, "stratum: 2 to 3")]);
        only(&judged(&worse, |_| {}), ReasonCode::ReferenceWorse, "2 to 3, noticed 7 s");
        only(&judged(&run_of(&[(0, Starting)], &[]), |_| {}), ReasonCode::NeverLocked, "from the beginning to the end");
        let silent = ["ptp4l does not answer".to_owned()];
        only(&judged(&run_of(locked, &[]), |facts| facts.silent = &silent), ReasonCode::SourceSilent, "ptp4l");
        // One that shows nothing counts where it was named.
        let mut empty = run_of(&[(0, Starting)], &[]);
        empty.sources[0].spread = None;
        assert_eq!(judged(&empty, |_| {}).state(), ValidityState::Valid);
        let named = [place()];
        only(&judged(&empty, |facts| facts.named = &named), ReasonCode::NeverLocked, "eth0");
        // What followed a step is locked: the source was.
        let mut cut = run_of(&[(0, Starting)], &[]);
        cut.sources.push(source(&[(3, Locked)]));
        cut.sources[1].place = Place::Port { port: "eth0 (part 2)".to_owned(), domain: Some(0) };
        assert_eq!(judged(&cut, |_| {}).state(), ValidityState::Valid);
        let many = run_of(locked, &[(SyncChange::Step, "x"); 7]);
        only(&judged(&many, |_| {}), ReasonCode::ClockStepped, "and 2 more");
        let quiet = run_of(
            locked,
            &[(SyncChange::Leap, "announced"), (SyncChange::TaiOffset, "37 s"), (SyncChange::Quality, "7 to 6")],
        );
        assert_eq!(judged(&quiet, |_| {}).state(), ValidityState::Valid);
        let quiet = run_of(locked, &[]);
        only(&judged(&quiet, |facts| facts.suspended_ns = 3_000_000_000), ReasonCode::Suspended, "for 3 s");
        only(&judged(&quiet, |facts| facts.offsets = 0), ReasonCode::NoSamples, "no source showed an offset");
        only(
            &judged(&quiet, |facts| facts.no_source = Some("nothing answers".to_owned())),
            ReasonCode::NoSamples,
            "nothing answers",
        );
        only(
            &judged(&quiet, |facts| facts.ended_early = Some("after 3 s".to_owned())),
            ReasonCode::InterruptedEarly,
            "after 3 s",
        );
        only(
            &judged(&quiet, |facts| facts.contradictions = &contradictions),
            ReasonCode::BoundsContradict,
            "eth0, noticed 2 s into the run",
        );
        let mut unbounded = run_of(locked, &[]);
        unbounded.sources[0].bound = HardBound::Missing { reason: "no raw stamps".to_owned() };
        only(&judged(&unbounded, |_| {}), ReasonCode::NoHardBound, "no raw stamps");
    }
}
