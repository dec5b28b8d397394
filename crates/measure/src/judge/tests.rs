//! A table of scripted runs: each reason fires in one of them and in no other, for every kind of measurement.

use record::{Reason, ValidityState};
use units::{CpuSet, Timestamp};

use super::*;

/// What differs from a run in which nothing is odd.
#[derive(Clone, Default)]
struct Script {
    witnessed: Witnessed,
    seen: Vec<Reason>,
    /// How long the process was stopped at most.
    stopped_ns: Option<i64>,
    /// Whether the controller shares the measured CPU 0.
    is_shared: bool,
    suspended_ns: i64,
    shown_stops: u64,
    likely_stops: u64,
    threads: Option<Vec<ThreadFacts>>,
    steps: Vec<ClockStep>,
    watchdog_fired: bool,
    ended_early: Option<String>,
}

fn thread(number: u32) -> ThreadFacts {
    ThreadFacts {
        place: format!("thread {number}"),
        end: ThreadEnd::Whole,
        taken: Some(1_000),
        dropped: 0,
        faults: Some((0, 0)),
        migrations: Some(0),
        lacks: None,
    }
}

fn judged(measurement: Measurement, script: Script) -> Validity {
    let mut seen = match script.stopped_ns {
        Some(at_most_ns) => LookoutObservations::stopped(at_most_ns),
        None if script.is_shared => LookoutObservations::sharing(CpuSet::from_iter([0])),
        None => LookoutObservations::nothing(),
    };
    seen.suspended_ns = script.suspended_ns;
    script.seen.into_iter().for_each(|reason| seen.add(reason.code, reason.detail));
    let throttle = ThrottleWatch::with_stops(1, script.shown_stops, script.likely_stops);
    let is_noise = measurement.kind().sampling.is_quiet_without_samples();
    judge(&Facts {
        measurement,
        witnessed: &script.witnessed,
        seen: &seen,
        stops: if is_noise { Stops::KeptApart(&throttle) } else { Stops::Spoil(&throttle) },
        threads: &script.threads.unwrap_or_else(|| vec![thread(0), thread(1)]),
        clock: Some(ClockFacts { name: "realtime".to_owned(), steps: &script.steps, started: Moment::default() }),
        watchdog_fired: script.watchdog_fired,
        ended_early: script.ended_early,
        worst: &[],
    })
}

/// A run of two threads, of which the second is so.
fn second(change: impl FnOnce(&mut ThreadFacts)) -> Script {
    let mut odd = thread(1);
    change(&mut odd);
    Script { threads: Some(vec![thread(0), odd]), ..Script::default() }
}

fn witnessed(code: ReasonCode) -> Script {
    let witnessed = Witnessed { reasons: vec![Reason { code, detail: "CPU 1".to_owned() }], ..Witnessed::default() };
    Script { witnessed, ..Script::default() }
}

fn seen(code: ReasonCode) -> Script {
    Script { seen: vec![Reason { code, detail: "thread 1".to_owned() }], ..Script::default() }
}

/// Each reason with a run in which it is the only one, and what its detail says.
fn scripts() -> Vec<(ReasonCode, Script, &'static str)> {
    let step = |step_ns| ClockStep {
        noticed: Moment { monotonic: Timestamp::from_ns(2_000_000_000), realtime: Timestamp::from_ns(0) },
        step_ns,
    };
    vec![
        (ReasonCode::ThreadDied, second(|thread| thread.end = ThreadEnd::Died), "thread 1: it panicked"),
        (
            ReasonCode::ThreadDied,
            second(|thread| thread.end = ThreadEnd::SleepsFailed(1_001)),
            "thread 1: 1001 of its sleeps failed",
        ),
        (ReasonCode::ThreadStuck, second(|thread| thread.end = ThreadEnd::Stuck), "thread 1: it got no CPU to end"),
        (ReasonCode::SamplesDropped, second(|thread| thread.dropped = 7), "thread 1: 7 "),
        (ReasonCode::PageFaults, second(|thread| thread.faults = Some((2, 1))), "thread 1: 2 minor, 1 major"),
        (ReasonCode::Migrated, second(|thread| thread.migrations = Some(3)), "thread 1: moved 3 times"),
        (
            ReasonCode::EvidenceMissing,
            second(|thread| thread.lacks = Some((ReasonCode::EvidenceMissing, "a turn takes 2 us".to_owned()))),
            "thread 1: a turn takes 2 us",
        ),
        (
            ReasonCode::ClockStepped,
            Script { steps: vec![step(5_000_000), step(-1_000_000)], ..Script::default() },
            "realtime was stepped by 5 ms, noticed 2 s into the run; by -1 ms",
        ),
        (
            ReasonCode::WatchdogFired,
            Script { watchdog_fired: true, ..Script::default() },
            "a measuring thread ran for 2 s without a sleep",
        ),
        (
            ReasonCode::InterruptedEarly,
            Script { ended_early: Some("after 3 s of 60 s".to_owned()), ..Script::default() },
            "after 3 s of 60 s",
        ),
        (ReasonCode::Stopped, Script { stopped_ns: Some(2_000_000_000), ..Script::default() }, "for up to 2 s"),
        (
            ReasonCode::ControllerOnMeasuredCpu,
            Script { is_shared: true, ..Script::default() },
            "controller and drain run on CPUs 0, of which 0 are measured",
        ),
        (ReasonCode::Suspended, Script { suspended_ns: 3_000_000_000, ..Script::default() }, "for 3 s"),
        (ReasonCode::RtThrottleLikely, Script { likely_stops: 1, ..Script::default() }, "CPU 1: one stop of 50 ms"),
        (ReasonCode::VirtualMachine, witnessed(ReasonCode::VirtualMachine), "CPU 1"),
        (ReasonCode::VirtualMachineSteal, witnessed(ReasonCode::VirtualMachineSteal), "CPU 1"),
        (ReasonCode::FrequencyChanged, witnessed(ReasonCode::FrequencyChanged), "CPU 1"),
        (ReasonCode::SmiCounted, witnessed(ReasonCode::SmiCounted), "CPU 1"),
        (ReasonCode::CpuBandwidthUsedUp, witnessed(ReasonCode::CpuBandwidthUsedUp), "CPU 1"),
        (ReasonCode::SchedulingNotGranted, seen(ReasonCode::SchedulingNotGranted), "thread 1"),
        (ReasonCode::AffinityNotGranted, seen(ReasonCode::AffinityNotGranted), "thread 1"),
        (ReasonCode::MemoryNotLocked, seen(ReasonCode::MemoryNotLocked), "thread 1"),
        (ReasonCode::RivalRealtime, seen(ReasonCode::RivalRealtime), "thread 1"),
        (ReasonCode::ClockSourceChanged, seen(ReasonCode::ClockSourceChanged), "thread 1"),
        (ReasonCode::IdleLimit, seen(ReasonCode::IdleLimit), "thread 1"),
        (ReasonCode::VmDisrupted, seen(ReasonCode::VmDisrupted), "thread 1"),
    ]
}

const OF_OWN_THREADS: [Measurement; 3] = [Measurement::Wakeup, Measurement::Noise, Measurement::Clock];

#[test]
fn each_reason_fires_where_its_fact_is_and_nowhere_else_for_every_kind() {
    for measurement in OF_OWN_THREADS {
        let good = judged(measurement, Script::default());
        assert_eq!((good.state(), good.reasons()), (ValidityState::Valid, &[][..]), "{measurement:?}");
        for (code, script, detail) in scripts() {
            let validity = judged(measurement, script);
            let [reason] = validity.reasons() else { panic!("{measurement:?}, {code:?}: {:?}", validity.reasons()) };
            assert_eq!(reason.code, code, "{measurement:?}");
            assert!(reason.detail.starts_with(detail), "{measurement:?}: {}", reason.detail);
        }
    }
}

#[test]
fn a_stop_that_is_shown_spoils_a_run_but_for_one_that_kept_it_apart() {
    let stopped = || Script { shown_stops: 2, ..Script::default() };
    let codes = |measurement| {
        let validity = judged(measurement, stopped());
        validity.reasons().iter().map(|reason| reason.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(Measurement::Wakeup), [ReasonCode::RtThrottled]);
    assert_eq!(codes(Measurement::Clock), [ReasonCode::RtThrottled]);
    assert_eq!(codes(Measurement::Noise), [ReasonCode::ThrottleKeptApart]);
}

#[test]
fn a_run_without_a_sample_says_so_and_a_thread_that_never_sleeps_where_its_loop_stood_still() {
    let empty = |threads: &[Option<u64>]| {
        let of = |(number, taken): (u32, &Option<u64>)| ThreadFacts { taken: *taken, ..thread(number) };
        Script { threads: Some((0..).zip(threads).map(of).collect()), ..Script::default() }
    };
    let details = |measurement, threads: &[Option<u64>]| {
        let validity = judged(measurement, empty(threads));
        let no_samples = validity.reasons().iter().filter(|reason| reason.code == ReasonCode::NoSamples);
        no_samples.map(|reason| reason.detail.clone()).collect::<Vec<_>>()
    };
    for (measurement, sample) in [(Measurement::Wakeup, "wake-up"), (Measurement::Clock, "reading")] {
        let expected = [format!("the run ended before its first {sample}")];
        assert_eq!(details(measurement, &[Some(0), Some(0)]), expected);
        assert_eq!(details(measurement, &[]), expected);
        assert_eq!(details(measurement, &[Some(0), Some(1)]), [""; 0], "the other thread took one");
    }
    assert_eq!(details(Measurement::Packet, &[Some(0), Some(0)]), ["thread 0, thread 1: not one packet"]);
    assert_eq!(details(Measurement::Noise, &[Some(0), Some(5)]), ["thread 0: the loop did not turn once"]);
    assert_eq!(details(Measurement::Noise, &[None, Some(5)]), [""; 0], "one that died says so itself");
}

#[test]
fn what_a_machine_gives_no_means_to_see_makes_no_run_worse() {
    let mut script = Script::default();
    script.witnessed.not_observable.push(record::NotObservable {
        what: record::Unobservable::FirmwareInterruptions,
        detail: "no counter".to_owned(),
    });
    let validity = judged(Measurement::Wakeup, script);
    assert_eq!((validity.state(), validity.not_observable().len()), (ValidityState::Valid, 1));
}

/// Reasons that no fact of [`Facts`] makes; the code that adds them to a record tests them.
const ADDED_ELSEWHERE: [ReasonCode; 31] = [
    // By the load, once it has ended: `cli/tests/load.rs`, `cli/tests/app.rs`.
    ReasonCode::LoadNotAchieved,
    ReasonCode::LoadPartDropped,
    // Of what intervals have in place of the run: `judge/intervals.rs`.
    ReasonCode::IntervalsSpoiled,
    ReasonCode::MostIntervalsSpoiled,
    // Where late samples are explained.
    ReasonCode::ExplainingCosts,
    // Where clocks are compared: `sync/src/judge.rs`.
    ReasonCode::SyncLost,
    ReasonCode::NeverLocked,
    ReasonCode::SourceSilent,
    ReasonCode::ReferenceChanged,
    ReasonCode::ReferenceWorse,
    ReasonCode::BoundsContradict,
    ReasonCode::NoHardBound,
    // Where two nodes exchange packets: `measure/src/nodes/finish.rs`, `measure/tests/packet.rs`.
    ReasonCode::PacketsRefused,
    ReasonCode::PacketsNotReceived,
    ReasonCode::ClocksUnrelated,
    ReasonCode::NoTimeService,
    ReasonCode::PartnerLost,
    // Where edges go over a wire: `measure/src/kinds/response/tests.rs`.
    ReasonCode::EdgesLost,
    // Of a witness of answers: `measure/src/kinds/answer/tests.rs`.
    ReasonCode::WitnessContradicts,
    ReasonCode::WitnessLost,
    ReasonCode::WitnessOverran,
    ReasonCode::EdgesUnasked,
    // Where nodes act together: `measure/src/kinds/pulse/tests.rs`, `pulse/src/join.rs`.
    ReasonCode::ClocksApart,
    ReasonCode::OrdersContradict,
    ReasonCode::OrdersRefused,
    ReasonCode::OutputFailed,
    // By the readers of other programs' files: `foreign/tests`.
    ReasonCode::SourceContradicts,
    ReasonCode::MaximumUnknown,
    ReasonCode::Imported,
    ReasonCode::ValuesUnknown,
    ReasonCode::UnitAssumed,
];

#[test]
fn no_reason_of_the_table_is_left_out() {
    // Two whose meaning depends on the kind, and one on its threads: each has a test above.
    let above = [ReasonCode::RtThrottled, ReasonCode::ThrottleKeptApart, ReasonCode::NoSamples];
    let scripted: Vec<ReasonCode> = scripts().into_iter().map(|(code, ..)| code).collect();
    for reason in record::REASONS {
        let places =
            [scripted.contains(&reason.code), above.contains(&reason.code), ADDED_ELSEWHERE.contains(&reason.code)];
        assert_eq!(places.iter().filter(|is_there| **is_there).count(), 1, "{:?}", reason.code);
    }
}
