//! Runs whose clock and threads are scripts: from schedules to samples, record, validity and verdict, without a kernel.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicI64};

use kernel::clock::Schedule;
use record::{
    ClockStep, Counters, DmaLatency, Instrument, Moment, Place, Placement, Reason, ReasonCode, Record, RunEnd,
    ValidityState, VerdictState, WakeupRequest,
};
use units::{ClockId, CpuSet, Ns, Timestamp};

use super::drain::collector;
use super::finish::{Known, Measured, with_verdict};
use super::hot::{Even, HotLoop, SleepEnded, Timer};
use super::plan::Plan;
use crate::clock_watch::ClockWatch;
use crate::context::RunContext;
use crate::judge::ThreadEnd;
use crate::machine::Machine;
use crate::ring::Ring;
use crate::witness::{Grant, LookoutObservations, RequestedScheduling, ThrottleWatch, Witnessed};

const US: i64 = 1_000;
const MS: i64 = 1_000_000;
const START_NS: i64 = 1_000 * MS;
/// How late a wake-up is where the script says nothing.
const USUAL_NS: i64 = 5 * US;

/// What happens to a thread, and to its run.
#[derive(Clone, Default)]
struct Script {
    /// Wake-ups of the first thread that are later than usual (ns), by their number.
    late: BTreeMap<usize, i64>,
    /// After so many wake-ups of the first thread the clock is set by so much (ns).
    step: Option<(usize, i64)>,
    /// Whether the kernel refuses its sleeps.
    refuses_sleep: bool,
    /// Places of the rings, where they are fewer than planned.
    ring_slots: Option<usize>,
    /// What the lookout saw.
    seen: Vec<Reason>,
    /// Stops by a limit of the kernel's that are shown.
    stops: u64,
    /// The first thread's end.
    end: Option<ThreadEnd>,
    ended_early: Option<String>,
}

/// A clock that does what its script says.
struct Scripted<'a> {
    script: &'a Script,
    now_ns: i64,
    woken: usize,
}

impl Timer for Scripted<'_> {
    fn sleep_until(&mut self, schedule: &Schedule) -> Result<(), SleepEnded> {
        if self.script.refuses_sleep {
            return Err(SleepEnded);
        }
        let late_ns = self.script.late.get(&self.woken).copied().unwrap_or(USUAL_NS);
        self.now_ns = self.now_ns.max(schedule.ns()) + late_ns;
        if let Some((_, step_ns)) = self.script.step.filter(|(after, _)| *after == self.woken) {
            self.now_ns += step_ns;
        }
        self.woken += 1;
        Ok(())
    }

    fn now_ns(&mut self) -> i64 {
        self.now_ns
    }
}

/// A run of 100 ms at 1 ms on CPUs 1 and 2, with a deadline of 100 us.
fn plan(clock: ClockId) -> Plan {
    let cpus: CpuSet = "0-3".parse().unwrap();
    let machine = Machine {
        online: cpus.clone(),
        present: cpus.clone(),
        isolated: CpuSet::new(),
        allowed: cpus,
        timer_resolution_ns: 1,
        available_bytes: 1 << 30,
    };
    let request = WakeupRequest {
        placement: Placement::Pinned("1-2".parse().unwrap()),
        interval: Ns::from_ms(1),
        end: RunEnd::After(Ns::from_ms(100)),
        clock,
        deadline: Some(Ns::from_us(100)),
        interval_maximum: Some(Ns::from_ms(20)),
        ..WakeupRequest::default()
    };
    Plan::new(request, &machine).unwrap()
}

fn moment(ns: i64) -> Moment {
    Moment { monotonic: Timestamp::from_ns(ns), realtime: Timestamp::from_ns(ns) }
}

fn run(clock: ClockId, script: &Script) -> Record {
    let plan = plan(clock);
    let steps = script
        .step
        .map(|(after, step_ns)| ClockStep { noticed: moment(START_NS + i64::try_from(after).unwrap() * MS), step_ns });
    let clocks = ClockWatch::scripted(clock, steps.into_iter().collect());
    let quiet = Script { ring_slots: script.ring_slots, ..Script::default() };
    let end_ns = START_NS + 100 * MS;
    let (last, watchdog) = (AtomicI64::new(end_ns), AtomicBool::new(false));
    let mut threads = Vec::new();
    for thread in &plan.threads {
        let script = if thread.thread == 0 { script } else { &quiet };
        let ring = Ring::new(script.ring_slots.unwrap_or(thread.ring_slots));
        let counts = HotLoop {
            clock: Scripted { script, now_ns: START_NS, woken: 0 },
            steps: Even(i64::try_from(thread.interval_ns).unwrap()),
            next: Schedule::at_ns(START_NS + thread.first_offset_ns),
            last_schedule_ns: &last,
            samples: u64::MAX,
            break_ns: i64::MAX,
            ring: ring.writer(),
            watchdog: &watchdog,
            trace: None,
            outliers: (),
        }
        .run();
        let mut collector = collector(&plan, thread, START_NS, None);
        ring.drain(|slots| collector.take_all(slots, &clocks));
        let counters = Counters {
            dropped: ring.dropped(),
            minor_faults: Some(0),
            major_faults: Some(0),
            interrupted_sleeps: counts.interrupted_sleeps,
            ..Counters::default()
        };
        threads.push(Measured {
            place: Place::thread(thread.thread, thread.cpu),
            interval_ns: thread.interval_ns,
            collected: collector.finish(end_ns),
            counters,
            end: script.end.unwrap_or(ThreadEnd::Whole),
            grant: Grant {
                wanted: RequestedScheduling { thread: thread.thread, policy: thread.policy, cpu: thread.cpu },
                first: None,
                refusals: Vec::new(),
            },
        });
    }
    let mut seen = LookoutObservations::nothing();
    script.seen.iter().for_each(|reason| seen.add(reason.code, reason.detail.clone()));
    let known = Known {
        plan: &plan,
        context: &RunContext::default(),
        witnessed: &Witnessed::default(),
        seen: &seen,
        throttle: &ThrottleWatch::with_stops(1, script.stops, 0),
        clocks: &clocks,
        started: moment(START_NS),
        ended: moment(end_ns),
        ended_early: script.ended_early.clone(),
        watchdog_fired: false,
        instrument: Instrument::default(),
        dma: DmaLatency::default(),
        threads,
    };
    with_verdict(known.record(), &plan)
}

fn codes(record: &Record) -> Vec<ReasonCode> {
    let mut codes: Vec<ReasonCode> = record.validity.reasons().iter().map(|reason| reason.code).collect();
    codes.dedup();
    codes
}

fn verdict(record: &Record) -> VerdictState {
    record.verdict.as_ref().unwrap().state
}

#[test]
fn wake_ups_on_time_are_a_valid_run_that_holds() {
    let record = run(ClockId::Monotonic, &Script::default());
    assert_eq!((record.validity.state(), verdict(&record)), (ValidityState::Valid, VerdictState::Holds));
    for (series, schedules) in record.series.iter().zip([101, 100]) {
        let (counters, histogram) = (&series.counters, &series.histogram);
        assert_eq!((counters.samples, histogram.count(), counters.missed_periods), (schedules, schedules, 0));
        assert_eq!((histogram.min_ns(), histogram.max_ns()), (Some(5_000), Some(5_000)));
        // The schedule at the very end begins one more.
        assert!((5..=6).contains(&series.intervals.len()), "{}", series.intervals.len());
        assert!(series.intervals.iter().zip(0..).all(|(one, at)| one.start_offset_ns == at * 20_000_000));
    }
}

#[test]
fn a_late_wake_up_breaks_the_deadline_and_stands_where_it_was() {
    let record = run(ClockId::Monotonic, &Script { late: [(37, 250 * US)].into(), ..Script::default() });
    assert_eq!((record.validity.state(), verdict(&record)), (ValidityState::Valid, VerdictState::Broken));
    let worst = &record.worst[0];
    assert_eq!((worst.latency_ns, worst.sample, worst.place.cpu()), (250_000, 37, Some(1)));
    assert_eq!(worst.from.at.monotonic.as_ns(), START_NS + 37 * MS);
    assert_eq!(worst.to.at.monotonic.since(worst.from.at.monotonic), Ns(250_000));
    let maxima: Vec<Option<i64>> =
        record.series[0].intervals.iter().map(|one| one.worst_ns(record.sign(&record.series[0]))).collect();
    assert_eq!(maxima[..3], [Some(5_000), Some(250_000), Some(5_000)]);
    assert_eq!(record.verdict.unwrap().deciding.unwrap().beyond, 1);
}

#[test]
fn a_stall_swallows_periods_and_is_one_row() {
    let record = run(ClockId::Monotonic, &Script { late: [(10, 5 * MS + 300 * US)].into(), ..Script::default() });
    let series = &record.series[0];
    assert_eq!((series.counters.samples, series.counters.missed_periods), (96, 5));
    let corrected = series.corrected.as_ref().unwrap();
    assert_eq!((corrected.count(), corrected.max_ns()), (101, Some(5_300_000)));
    let row = &record.rows[0];
    assert_eq!((row.periods, row.missed_periods, row.worst_ns), (6, 5, 5_300_000));
    assert_eq!(row.first_scheduled.monotonic.as_ns(), START_NS + 10 * MS);
    // From the first swallowed schedule, 11 ms in, to the wake-up of the schedule at 16 ms.
    assert_eq!(row.recovery_ns, Some(5_005_000));
    assert_eq!(series.intervals.iter().map(|one| one.missed_periods).collect::<Vec<_>>()[..2], [5, 0]);
    assert!(record.series[1].corrected.is_none() && verdict(&record) == VerdictState::Broken);
}

#[test]
fn a_clock_that_is_set_makes_a_run_invalid_and_no_sample_is_lost() {
    let forward = run(ClockId::Realtime, &Script { step: Some((50, 30 * MS)), ..Script::default() });
    assert_eq!((codes(&forward), verdict(&forward)), (vec![ReasonCode::ClockStepped], VerdictState::CannotTell));
    assert_eq!(forward.series[0].counters.missed_periods, 30);
    assert_eq!(forward.manifest().clock_steps.len(), 1);
    let back = run(ClockId::Realtime, &Script { step: Some((50, -2 * MS)), ..Script::default() });
    let series = &back.series[0];
    let below = series.below_zero.as_ref().unwrap();
    assert_eq!((below.count(), below.max_ns()), (1, Some(1_995_000)));
    assert_eq!(series.counters.samples, series.histogram.count() + 1);
    let in_intervals: u64 = series.intervals.iter().map(record::Interval::taken).sum();
    assert_eq!(in_intervals, series.taken(), "what is below zero stands in an interval too");
    assert_eq!(codes(&back), [ReasonCode::ClockStepped]);
    // The monotonic clock is not stepped, whatever was noticed of the other.
    let other = run(ClockId::Monotonic, &Script { step: Some((50, 30 * MS)), ..Script::default() });
    assert!(codes(&other).is_empty(), "{:?}", other.validity);
}

#[test]
fn each_thing_that_spoils_a_run_is_its_reason_and_its_alone() {
    let reason = |code| Script { seen: vec![Reason { code, detail: "scripted".to_owned() }], ..Script::default() };
    let table = [
        (Script { ring_slots: Some(64), ..Script::default() }, ReasonCode::SamplesDropped, VerdictState::CannotTell),
        (Script { stops: 1, ..Script::default() }, ReasonCode::RtThrottled, VerdictState::CannotTell),
        (reason(ReasonCode::SchedulingNotGranted), ReasonCode::SchedulingNotGranted, VerdictState::CannotTell),
        (reason(ReasonCode::AffinityNotGranted), ReasonCode::AffinityNotGranted, VerdictState::CannotTell),
        (reason(ReasonCode::Stopped), ReasonCode::Stopped, VerdictState::CannotTell),
        (reason(ReasonCode::RivalRealtime), ReasonCode::RivalRealtime, VerdictState::Holds),
        (
            Script { end: Some(ThreadEnd::Stuck), ..Script::default() },
            ReasonCode::ThreadStuck,
            VerdictState::CannotTell,
        ),
        (Script { end: Some(ThreadEnd::Died), ..Script::default() }, ReasonCode::ThreadDied, VerdictState::CannotTell),
        (
            Script { ended_early: Some("after 100 ms of 200 ms".to_owned()), ..Script::default() },
            ReasonCode::InterruptedEarly,
            VerdictState::Holds,
        ),
    ];
    for (script, code, expected) in table {
        let record = run(ClockId::Monotonic, &script);
        assert_eq!((codes(&record), verdict(&record)), (vec![code], expected), "{:?}", record.verdict);
    }
}

#[test]
fn a_kernel_that_refuses_to_sleep_ends_the_thread_with_its_reason() {
    let record = run(ClockId::Monotonic, &Script { refuses_sleep: true, ..Script::default() });
    assert_eq!(codes(&record), [ReasonCode::ThreadDied]);
    assert_eq!(record.series[0].counters.samples, 0);
    let both = "1001 of its sleeps failed";
    assert!(record.validity.reasons()[0].detail.contains(both), "{:?}", record.validity);
}
