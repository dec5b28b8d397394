//! Records for the tests of this crate.

use record::{
    Detail, HardBound, Histogram, Manifest, Measurement, Place, Record, Series, Spread, SyncChange, SyncEvent, SyncRun,
    SyncService, SyncSource, TrackPoint, Validity,
};
use units::{ClockId, Ns};

/// A run without samples.
pub(crate) fn run(validity: Validity) -> Record {
    let empty = Record::empty("one".to_owned(), Measurement::Wakeup, Manifest::default());
    Record { label: "idle".to_owned(), validity, ..empty }
}

/// A run with the given samples (ns).
pub(crate) fn run_of(id: &str, samples: &[u64], validity: Validity) -> Record {
    let mut histogram = Histogram::new();
    samples.iter().for_each(|ns| histogram.record_n(*ns, 1));
    let series = vec![Series {
        name: "scheduled_to_woke".to_owned(),
        place: Place::thread(0, Some(1)),
        histogram,
        ..Series::default()
    }];
    Record { id: id.to_owned(), series, ..run(validity) }
}

/// A run of `sync` with one source and the given offsets (ns), one each second, and its hard bound (ns) if it has one.
pub(crate) fn offsets(offsets_ns: &[i64], bound_ns: Option<(i64, i64)>, validity: Validity) -> Record {
    let place = Place::Port { port: "eth0".to_owned(), domain: Some(0) };
    let mut record = Record::empty("one".to_owned(), Measurement::Sync, Manifest::default());
    let started = record.manifest().started;
    let (mut above, mut below) = (Histogram::new(), Histogram::new());
    for &ns in offsets_ns {
        if ns < 0 { &mut below } else { &mut above }.record_n(ns.unsigned_abs(), 1);
    }
    record.series = vec![Series {
        name: "reference_to_clock".to_owned(),
        place: place.clone(),
        judged: bound_ns.is_some(),
        below_zero: (!below.is_empty()).then_some(below),
        histogram: above,
        ..Series::default()
    }];
    let point = |(second, &offset_ns): (i64, &i64)| TrackPoint {
        at: started.plus(Ns(second * 1_000_000_000)),
        count: 1,
        lowest_ns: Some(offset_ns),
        highest_ns: Some(offset_ns),
        bound_ns,
        narrowest_ns: None,
        delay_ns: Some(2_000),
        frequency_ppb: None,
    };
    let source = SyncSource {
        service: SyncService::Linuxptp,
        version: None,
        place: place.clone(),
        clock: Some(ClockId::Realtime.into()),
        reference: "grand master a".to_owned(),
        bound: bound_ns.map_or_else(
            || HardBound::Missing { reason: "no raw stamps".to_owned() },
            |(lowest_ns, highest_ns)| HardBound::Stated {
                lowest_ns,
                highest_ns,
                narrowest_ns: (lowest_ns, highest_ns),
                widest_ns: highest_ns.abs_diff(lowest_ns),
                trusts: "the stamps are right".to_owned(),
            },
        ),
        spread: Some(Spread {
            count: offsets_ns.len() as u64,
            median_ns: 0,
            lowest_ns: offsets_ns.iter().copied().min().unwrap_or(0),
            highest_ns: offsets_ns.iter().copied().max().unwrap_or(0),
            mean_ns: 0.0,
            deviation_ns: 0.0,
        }),
        own_estimate: None,
        allan: Vec::new(),
        growth: Vec::new(),
        states: Vec::new(),
        track: (0..).zip(offsets_ns).map(point).collect(),
        could_be_missed: Vec::new(),
    };
    let event = SyncEvent { at: started, place, what: SyncChange::Leap, detail: "announced".to_owned() };
    record.detail = Detail::Sync(SyncRun { sources: vec![source], events: vec![event], ..SyncRun::default() });
    Record { label: "clocks".to_owned(), validity, ..record }
}
