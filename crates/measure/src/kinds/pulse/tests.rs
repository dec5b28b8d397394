//! What the controller makes of clocks and of what the acting thread tells.

use packet::relation::OffsetMeasurement;
use record::{Manifest, Measurement};
use units::Timestamp;

use super::act::hot::{Done, Fate, Refusal};
use super::*;
use crate::clock_watch::ClockWatch;
use crate::nodes::Beside as _;
use crate::nodes::clocks_seen::ClocksSeen;

fn point(lower_ns: i64, upper_ns: i64) -> TrackPoint {
    let at = record::Moment { monotonic: Timestamp::from_ns(1), realtime: Timestamp::from_ns(1) };
    TrackPoint {
        at,
        count: 1,
        lowest_ns: None,
        highest_ns: None,
        bound_ns: Some((lower_ns, upper_ns)),
        narrowest_ns: None,
        delay_ns: None,
        frequency_ppb: None,
    }
}

/// A node that switches nothing and allows anything, each millisecond.
fn act_plan(by: ActsBy, lead_ns: i64) -> ActPlan {
    let bounds = Bounds { longest_ns: i64::MAX, least_apart_ns: 0 };
    ActPlan { bounds, by, lead_ns, spin_ns: 0, interval_ns: 1_000_000 }
}

#[test]
fn clocks_are_apart_where_the_exchange_excludes_that_they_are_within_the_tolerance() {
    let service = PulseRequest { tolerance: Ns::from_us(100), ..PulseRequest::default() };
    let apart = |request: &PulseRequest, track: &[TrackPoint]| clocks_apart(request, "b", track);
    assert_eq!(apart(&service, &[]), None);
    assert_eq!(apart(&service, &[point(-50_000, 90_000), point(99_000, 400_000), point(-400_000, -100_000)]), None);
    for excluded in [point(100_001, 400_000), point(-400_000, -100_001), point(36_999_000_000, 37_001_000_000)] {
        let why = apart(&service, &[point(-1, 1), excluded]).unwrap();
        assert!(why.contains("the tolerance is 100 us") && why.contains("--by exchange"), "{why}");
    }
    let exchange = PulseRequest { by: ActsBy::Exchange, ..service };
    assert_eq!(apart(&exchange, &[point(36_999_000_000, 37_001_000_000)]), None, "it acts by the server's clock");
}

#[test]
fn what_was_refused_and_what_was_lost_of_the_output_make_the_run_worse_and_say_why() {
    let plan = act_plan(ActsBy::Service, 1_000);
    let (start, acting) = act::prepare(plan, Output::Nothing, None);
    let shared = std::sync::Arc::clone(&acting.shared);
    let request = PulseRequest { tolerance: Ns::from_us(100), ..PulseRequest::default() };
    let series = |name| Delays::new(name, 0, 1_000_000_000);
    let mut orders = Orders::new(&request, 0, "b", None, acting, series);
    let mut done = start.done;
    let of = |sequence: u64, fate: Fate, late_ns: i64| Done {
        sequence,
        fate,
        scheduled_ns: 0,
        armed_ns: 900,
        ordered_ns: 1_000,
        acted_ns: 1_000 + late_ns,
        returned_ns: 1_000 + late_ns + 40,
    };
    for one in [
        of(0, Fate::Acted, 5),
        of(1, Fate::Acted, 100_001),
        of(2, Fate::TooLate, 0),
        of(3, Fate::Refused(Refusal::TooLong), 0),
        of(4, Fate::Dropped, 0),
        of(5, Fate::Failed, 0),
        of(6, Fate::Refused(Refusal::Halted), 0),
    ] {
        done.push(one).unwrap();
    }
    let clocks = ClockWatch::scripted(ClockId::Realtime, Vec::new());
    orders.take_over(&clocks, &ClocksSeen::new(100_000, series));
    shared.unsafe_failures.store(2, std::sync::atomic::Ordering::Relaxed);
    let mut record = Record::empty("one".to_owned(), Measurement::Pulse, Manifest::default());
    record.detail = orders.detail(record::PacketRun::default());
    orders.judge(&mut record);
    let counts = record.pulses().unwrap().nodes[0].orders;
    assert_eq!((counts.acted, counts.beyond, counts.too_late, counts.refused, counts.dropped), (2, 1, 1, 3, 1));
    assert_eq!(record.pulses().unwrap().nodes[0].ordered_to_returned_max_ns, Some(100_041));
    let detail = |code: ReasonCode| {
        let found = record.validity.reasons().iter().find(|reason| reason.code == code);
        found.map(|reason| reason.detail.clone()).unwrap_or_default()
    };
    let refused = detail(ReasonCode::OrdersRefused);
    assert!(
        refused.contains("1 for longer than the output may be active")
            && refused.contains("1 that the output's driver")
            && refused.contains("1 after the output had lost its guard"),
        "{refused}"
    );
    assert!(
        detail(ReasonCode::OutputFailed).contains("2 times the driver did not set it"),
        "{}",
        detail(ReasonCode::OutputFailed)
    );
    assert!(!record.validity.is_invalid());
    shared.dropped.store(1, std::sync::atomic::Ordering::Relaxed);
    orders.judge(&mut record);
    assert!(record.validity.has(ReasonCode::SamplesDropped) && record.validity.is_invalid());
}

#[test]
fn a_clock_that_was_steered_between_two_exchanges_is_within_what_is_said_of_it() {
    let plan = || act_plan(ActsBy::Exchange, 1_000);
    let series = |name| Delays::new(name, 0, 1_000_000_000);
    let ahead = |exchanges: &[(i64, i64)]| {
        let (_start, acting) = act::prepare(plan(), Output::Nothing, None);
        let request = PulseRequest { by: ActsBy::Exchange, max_drift_ppb: 100_000, ..PulseRequest::default() };
        let mut orders = Orders::new(&request, 0, "b", None, acting, series);
        let clocks = ClockWatch::scripted(ClockId::Realtime, Vec::new());
        for (at_ns, offset_ns) in exchanges {
            let mut seen = ClocksSeen::new(100_000, series);
            let bound = sync::bound::OffsetBound { lower_ns: offset_ns - 1_000, upper_ns: offset_ns + 1_000 };
            seen.last = Some(OffsetMeasurement { offset_ns: *offset_ns, bound, round_trip_ns: 2_000 });
            seen.last_ns = Some(*at_ns);
            orders.take_over(&clocks, &seen);
        }
        let mut record = Record::empty("one".to_owned(), Measurement::Pulse, Manifest::default());
        record.detail = orders.detail(record::PacketRun::default());
        record.pulses().unwrap().nodes[0].clock_ahead_ns.unwrap()
    };
    let now_ns = now_ns(ClockId::Realtime);
    let at = |ms: i64, offset_ns: i64| (now_ns - 1_000_000_000 + ms * 1_000_000, offset_ns);
    // Both run at one rate: what is known is right to within the exchange and the drift of 20 ms.
    let (lower_ns, upper_ns) = ahead(&[at(0, 5_000), at(20, 5_000)]);
    assert_eq!((lower_ns, upper_ns), (-3_000, 3_000));
    // The node's is steered by 500 ppm: right before the second exchange it was 10 us ahead of what it was taken for, or behind.
    for (steered_ns, expected) in [(10_000, (-3_000, 13_000)), (-10_000, (-13_000, 3_000))] {
        assert_eq!(ahead(&[at(0, 5_000), at(20, 5_000 + steered_ns)]), expected);
    }
    // It has gone on for long, so that it is expected to go on, and ends.
    let steady: Vec<(i64, i64)> = (0..150).map(|number| at(number * 20 - 2_000, number * 10_000)).collect();
    let (lower_ns, upper_ns) = ahead(&steady);
    assert!(lower_ns >= -3_010 && upper_ns <= 13_000, "{lower_ns} {upper_ns}: only the first ones were not expected");
    let ended = [steady, vec![at(1_000, 149 * 10_000)]].concat();
    assert!(ahead(&ended).0 <= -12_900, "{:?}: it was taken to be 10 us farther ahead", ahead(&ended));
}

#[test]
fn a_run_does_not_end_while_an_order_waits_or_its_pulse_lasts() {
    let plan = || act_plan(ActsBy::Service, 400_000_000);
    let clocks = ClockWatch::scripted(ClockId::Realtime, Vec::new());
    let series = |name| Delays::new(name, 0, 1_000_000_000);
    let at_once = std::time::Duration::ZERO;
    let told = |width: Ns, fate: Fate| {
        let (start, acting) = act::prepare(plan(), Output::Nothing, None);
        let request = PulseRequest { lead: Ns::from_ms(400), width: Some(width), ..PulseRequest::default() };
        let mut orders = Orders::new(&request, 0, "b", None, acting, series);
        let mut done = start.done;
        done.push(Done {
            sequence: 0,
            fate,
            scheduled_ns: 0,
            armed_ns: 900,
            ordered_ns: 1_000,
            acted_ns: 1_000,
            returned_ns: 1_040,
        })
        .unwrap();
        orders.take_over(&clocks, &ClocksSeen::new(100_000, series));
        orders
    };
    let late = told(Ns::from_s(3_600), Fate::TooLate);
    assert!(late.is_done(1, at_once) && !late.is_done(2, at_once), "one of two was told");
    // What is not told so long after its time never will be.
    assert!(!late.is_done(2, std::time::Duration::from_millis(1_300)));
    assert!(late.is_done(2, std::time::Duration::from_millis(1_500)));
    assert!(!told(Ns::from_s(3_600), Fate::Acted).is_done(1, at_once), "its output is active");
    assert!(told(Ns(0), Fate::Acted).is_done(1, at_once));
}
