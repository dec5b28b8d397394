//! Converts what was seen of time services and clocks to the view.

use record::{HardBound, Histogram, Moment, Record, SyncSource, SyncState, TrackPoint};
use summary::sync::{bound_sentence, name_at, offsets, own_estimate_sentence, reference};

use crate::exact::Exact;
use crate::run::{histogram, moment};
use crate::view::{
    SyncAllanView, SyncBoundView, SyncEventView, SyncSourceView, SyncSpreadView, SyncStateChangeView, SyncStateView,
    SyncTrackView, SyncView,
};

/// The view of the sources of time; `None` if the run followed none.
pub(crate) fn view(record: &Record) -> Option<SyncView> {
    let run = record.sync()?;
    let started = record.manifest().started;
    let event = |event: &record::SyncEvent| SyncEventView {
        at: moment(event.at, started),
        source: name_at(run, &event.place),
        what: event.what.word().to_owned(),
        detail: event.detail.clone(),
    };
    Some(SyncView {
        max_drift_ppb: run.max_drift_ppb,
        sources: run.sources.iter().map(|one| source(one, record)).collect(),
        events: run.events.iter().map(event).collect(),
        events_left_out: run.events_left_out.into(),
        not_followed: run.not_followed.clone(),
    })
}

fn source(source: &SyncSource, record: &Record) -> SyncSourceView {
    let started = record.manifest().started;
    let series = offsets(record, source);
    let some = |samples: &Histogram| histogram(samples, 1);
    let bound = match &source.bound {
        HardBound::Stated { lowest_ns, highest_ns, widest_ns, .. } => Some(SyncBoundView {
            lowest_ns: (*lowest_ns).into(),
            highest_ns: (*highest_ns).into(),
            widest_ns: (*widest_ns).into(),
        }),
        HardBound::Missing { .. } => None,
    };
    let spread = source.spread.map(|spread| SyncSpreadView {
        count: spread.count.into(),
        median_ns: spread.median_ns.into(),
        lowest_ns: spread.lowest_ns.into(),
        highest_ns: spread.highest_ns.into(),
        deviation_ns: spread.deviation_ns,
    });
    let change = |change: &record::StateChange| SyncStateChangeView {
        at: moment(change.at, started),
        state: state(change.state),
    };
    SyncSourceView {
        name: source.name(),
        version: source.version.clone(),
        place: source.place.to_string(),
        clock: source.clock_words(),
        reference: reference(source).to_owned(),
        state: source.states.last().map(|last| state(last.state)),
        judged: series.is_some_and(|series| series.judged),
        bound,
        bound_sentence: bound_sentence(source),
        spread,
        own_estimate_sentence: own_estimate_sentence(source),
        growth_sentence: source.growth_in_words(),
        from_zero: series.map(|series| some(&series.histogram)),
        below_zero: series.and_then(|series| series.below_zero.as_ref()).map(some),
        allan: SyncAllanView {
            averaging_ns: source.allan.iter().map(|point| point.averaging_ns.into()).collect(),
            deviation: source.allan.iter().map(|point| point.deviation).collect(),
            count: source.allan.iter().map(|point| point.count.into()).collect(),
        },
        states: source.states.iter().map(change).collect(),
        track: track(&source.track, started),
        could_be_missed: source.could_be_missed.clone(),
    }
}

/// A track as columns, with times since `started`.
pub(crate) fn track(points: &[TrackPoint], started: Moment) -> SyncTrackView {
    let mut view = SyncTrackView::default();
    for point in points {
        view.offset_ns.push(moment(point.at, started).offset_ns);
        view.count.push(point.count.into());
        view.lowest_ns.push(point.lowest_ns.map(Exact::from));
        view.highest_ns.push(point.highest_ns.map(Exact::from));
        view.lower_bound_ns.push(point.bound_ns.map(|(lower_ns, _)| lower_ns.into()));
        view.upper_bound_ns.push(point.bound_ns.map(|(_, upper_ns)| upper_ns.into()));
        view.delay_ns.push(point.delay_ns.map(Exact::from));
    }
    view
}

const fn state(state: SyncState) -> SyncStateView {
    match state {
        SyncState::Starting => SyncStateView::Starting,
        SyncState::Locked => SyncStateView::Locked,
        SyncState::Reference => SyncStateView::Reference,
        SyncState::Holdover => SyncStateView::Holdover,
        SyncState::Free => SyncStateView::Free,
        SyncState::Lost => SyncStateView::Lost,
    }
}

#[cfg(test)]
mod tests {
    use record::{StateChange, TrackPoint, Validity};

    use super::*;

    #[test]
    fn a_source_is_shown_with_its_bound_its_track_and_the_signs_of_its_offsets() {
        let record = samples::offsets(&[-11_753, -81, 105, 886], Some((-37_347, 15_223)), Validity::default());
        let view = serde_json::to_value(view(&record).unwrap()).unwrap();
        let source = &view["sources"][0];
        assert_eq!((source["name"].as_str(), source["judged"].as_bool()), (Some("ptp4l eth0 domain 0"), Some(true)));
        let sentence = source["bound_sentence"].as_str().unwrap();
        assert!(sentence.starts_with("within -37.3 us to 15.2 us; widest 52.6 us at one moment"), "{sentence}");
        assert!(sentence.ends_with("trusts that the stamps are right"), "{sentence}");
        assert_eq!((source["from_zero"]["count"].as_u64(), source["below_zero"]["count"].as_u64()), (Some(2), Some(2)));
        assert_eq!(source["below_zero"]["max_ns"], 11_753, "by its magnitude");
        let track = &source["track"];
        assert_eq!(
            (track["lowest_ns"][0].as_i64(), track["lower_bound_ns"][0].as_i64()),
            (Some(-11_753), Some(-37_347))
        );
        assert_eq!(track["offset_ns"][1], 1_000_000_000_u64, "counted from the start of the run");
        assert_eq!(view["events"][0]["source"], "ptp4l eth0 domain 0");
    }

    #[test]
    fn a_point_of_which_only_the_bound_is_known_has_no_offset() {
        let mut record = samples::offsets(&[5], Some((-9, 9)), Validity::default());
        let at = record.manifest().started;
        let record::Detail::Sync(run) = &mut record.detail else { panic!("no clocks") };
        run.sources[0].track = vec![TrackPoint {
            at,
            count: 0,
            lowest_ns: None,
            highest_ns: None,
            bound_ns: Some((-9, 9)),
            narrowest_ns: None,
            delay_ns: None,
            frequency_ppb: None,
        }];
        let view = view(&record).unwrap();
        let track = &view.sources[0].track;
        assert_eq!((track.lowest_ns[0], track.delay_ns[0]), (None, None));
        assert_eq!(track.upper_bound_ns[0], Some(Exact::from(9_i64)));
    }

    #[test]
    fn without_a_bound_the_reason_stands_in_its_place() {
        let mut record = samples::offsets(&[5], None, Validity::default());
        assert_eq!(view(&record).unwrap().sources[0].bound_sentence, "no hard bound: no raw stamps");
        assert!(summary::sync::farthest_bound(&record).is_none());
        // A grand master compares its clock with none, which is no fault.
        let at = record.manifest().started;
        let record::Detail::Sync(run) = &mut record.detail else { panic!("no clocks") };
        run.sources[0].spread = None;
        run.sources[0].states = vec![StateChange { at, state: SyncState::Reference }];
        let sentence = &view(&record).unwrap().sources[0].bound_sentence;
        assert_eq!(sentence, "it gives the time, and compares its clock with none");
    }
}
