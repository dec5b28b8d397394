//! No measuring thread allocates, frees or faults once its loop has begun.

#![forbid(unsafe_code)]
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use kernel::hot_section::PanickingAllocator;
use measure::event::EventPlan;
use measure::noise::NoisePlan;
use measure::wakeup::{Armed, Beside, Plan};
use measure::{Machine, RunContext, Silent, Stop};
use record::{
    EventMeans, EventRequest, NoiseRequest, Placement, PolicyChoice, ReasonCode, Record, RunEnd, WakeupRequest,
};
use units::Ns;

mod orders;

#[global_allocator]
static ALLOCATOR: PanickingAllocator = PanickingAllocator;

fn wakeup(interval: Ns, end: RunEnd) -> Record {
    let config = WakeupRequest {
        placement: Placement::Default,
        policy: PolicyChoice::Other,
        interval,
        end,
        ..WakeupRequest::default()
    };
    let plan = Plan::new(config, &Machine::read()).unwrap();
    let stop = Stop::new();
    Armed::new(plan, &stop)
        .unwrap()
        .run(&RunContext::default(), &stop, &mut Silent, Beside { show_bins: true, ..Beside::default() })
        .record
}

#[test]
fn the_guard_itself_works() {
    let caught = std::panic::catch_unwind(|| kernel::hot_section::enter(|| std::hint::black_box(vec![1_u8; 64])));
    assert!(caught.is_err());
}

#[test]
fn wakeup_neither_allocates_nor_faults() {
    let record = wakeup(Ns::from_us(500), RunEnd::Samples(400));
    // A thread that panicked in the allocator would have handed over less than it was asked for.
    for series in &record.series {
        assert_eq!(series.counters.samples, 400);
        assert_eq!(
            (series.counters.dropped, series.counters.minor_faults, series.counters.major_faults),
            (0, Some(0), Some(0))
        );
        assert!(series.counters.voluntary_switches > Some(0), "the counters are those of the loop");
    }
    assert!(!record.validity.has(ReasonCode::ThreadDied));
}

#[test]
fn neither_a_server_nor_a_node_that_acts_allocates_or_faults() {
    let (server, nodes) = orders::run(&orders::request(|_| ()), 2, |_| ());
    for record in nodes.iter().chain([&server]) {
        assert!(
            !record.validity.has(ReasonCode::ThreadDied) && !record.validity.has(ReasonCode::PageFaults),
            "{:?}",
            record.validity
        );
    }
    // A thread that panicked in the allocator would have handed over less than it was asked for.
    for node in &server.pulses().unwrap().nodes {
        assert_eq!((node.orders.scheduled, node.orders.unknown), (150, 0), "{node:?}");
        assert!(node.orders.acted > 0, "{node:?}");
    }
}

#[test]
fn noise_neither_allocates_nor_faults() {
    let config = NoiseRequest { duration: record::RunLength::For(Ns::from_ms(1_000)), ..NoiseRequest::default() };
    let plan = NoisePlan::new(&config, &Machine::read()).unwrap();
    let record = measure::noise::measure(&plan, &RunContext::default(), &Stop::new(), &mut Silent, None).unwrap();
    for series in &record.series {
        assert!(series.gaps().unwrap().turns > 0);
        assert_eq!((series.counters.minor_faults, series.counters.major_faults), (Some(0), Some(0)));
    }
    assert!(!record.validity.has(ReasonCode::ThreadDied));
}

#[test]
fn event_neither_allocates_nor_faults_by_any_means() {
    for means in EventMeans::ALL {
        let config = EventRequest {
            means,
            policy: PolicyChoice::Other,
            interval: Ns::from_us(500),
            end: RunEnd::Samples(300),
            ..EventRequest::default()
        };
        let plan = EventPlan::new(config, &Machine::read()).unwrap();
        let record = measure::event::measure(&plan, &RunContext::default(), &Stop::new(), &mut Silent, None).unwrap();
        for series in &record.series {
            // One that panicked in the allocator would have handed over less.
            let all = series.taken() + series.spoiled.samples;
            assert!(all > 200, "{means}, {}: {all}", series.name);
            assert_eq!(
                (series.counters.dropped, series.counters.minor_faults, series.counters.major_faults),
                (0, Some(0), Some(0)),
                "{means}, {}",
                series.name
            );
        }
        assert!(!record.validity.has(ReasonCode::ThreadDied), "{means}");
    }
}
