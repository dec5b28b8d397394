//! A pair as a whole, with means that lose wake-ups, find nobody or die, and the accounts of its schedules.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use kernel::clock::{KernelClock, Schedule};
use kernel::handover::{CallFailed, Found, HandOverError};
use proptest::prelude::*;
use record::{CpuPair, EventRequest, PairPlacement, PolicyChoice, ReasonCode, RunEnd, Series};
use units::{CpuSet, Ns};

use super::drain::HandOvers;
use super::hot::{Turn, WakerLoop};
use super::*;
use crate::clock_watch::ClockWatch;
use crate::crew::hot::stamp_of;
use crate::live::Silent;
use crate::machine::Machine;
use crate::ring::{Pair, Ring};

/// A pair on the first CPU that may be used, as SCHED_OTHER.
fn plan(change: impl FnOnce(&mut EventRequest)) -> EventPlan {
    let machine = Machine::read();
    let cpu = machine.usable().first().unwrap();
    let mut request = EventRequest {
        placement: PairPlacement::Pinned(CpuSet::from_iter([cpu])),
        policy: PolicyChoice::Other,
        interval: Ns::from_us(500),
        end: RunEnd::After(Ns::from_ms(150)),
        ..EventRequest::default()
    };
    change(&mut request);
    EventPlan::new(request, &machine).unwrap()
}

fn measured<H: HandOver>(plan: &EventPlan) -> Record {
    measure_by::<H>(plan, &RunContext::default(), &Stop::new(), &mut Silent, None).unwrap()
}

/// The two series of the first pair.
fn halves(record: &Record) -> (&Series, &Series) {
    let of = |name| record.series.iter().find(|series| series.name == name).unwrap();
    (of("handed_to_woke"), of("handed_to_returned"))
}

/// Samples, missed periods and hand-overs that found nobody asleep, whether they stand or not.
fn accounted(woke: &Series) -> u64 {
    let missed = woke.counters.missed_periods + woke.spoiled.missed_periods;
    woke.taken() + woke.spoiled.samples + missed + woke.hand_overs().unwrap().found_nobody
}

#[test]
fn by_every_means_each_schedule_is_a_sample_or_missed_and_both_latencies_have_the_same_samples() {
    for means in EventMeans::ALL {
        let plan = plan(|request| request.means = means);
        let record = measure(&plan, &RunContext::default(), &Stop::new(), &mut Silent, None).unwrap();
        let (woke, returned) = halves(&record);
        assert!(woke.taken() > 0, "{means}: {:?}", record.validity);
        assert_eq!(woke.taken() + woke.spoiled.samples, returned.taken() + returned.spoiled.samples, "{means}");
        let totals = woke.hand_overs().unwrap();
        assert_eq!(totals.schedules, accounted(woke), "{means}");
        // 300 and the first; a wake-up that is late at the end may have swallowed some beyond it.
        assert!(totals.schedules >= 301, "{means}: {}", totals.schedules);
        assert_eq!((woke.variant.as_str(), woke.judged, returned.judged), (means.name(), true, false));
        assert!(!record.validity.has(ReasonCode::ThreadStuck), "{means}: {:?}", record.validity);
        let in_intervals: u64 = woke.intervals.iter().map(|interval| interval.taken() + interval.missed_periods).sum();
        assert_eq!(in_intervals, woke.taken() + woke.counters.missed_periods, "{means}");
    }
}

#[test]
fn a_pair_on_two_cpus_and_a_number_of_hand_overs() {
    let machine = Machine::read();
    let cpus: Vec<u32> = machine.usable().iter().take(2).collect();
    let [waker, woken] = cpus[..] else { return };
    let plan = plan(|request| {
        request.placement = PairPlacement::Between(vec![CpuPair { waker, woken }]);
        request.end = RunEnd::Samples(100);
    });
    let record = measured::<Eventfd>(&plan);
    let (woke, _) = halves(&record);
    assert_eq!(woke.place.to_string(), format!("CPU {waker} to {woken}"));
    assert_eq!(woke.taken() + woke.spoiled.samples + woke.hand_overs().unwrap().found_nobody, 100);
    assert_eq!(record.manifest().effective.len(), 2);
}

/// A means whose n-th wake-up from the start is lost; the last one, that ends the wait, is not.
#[derive(Debug)]
struct Lost {
    by: Eventfd,
    wakes: AtomicU32,
}

/// After those that warm up.
const LOST: u32 = 50;

impl HandOver for Lost {
    fn open() -> Result<Self, HandOverError> {
        Ok(Self { by: Eventfd::open()?, wakes: AtomicU32::new(0) })
    }

    fn wake(&self) -> Result<Found, CallFailed> {
        if self.wakes.fetch_add(1, Ordering::Relaxed) == LOST { Ok(Found::Unknown) } else { self.by.wake() }
    }

    fn wait(&self) -> Result<u32, CallFailed> {
        self.by.wait()
    }

    fn wake_last(&self) {
        let _ = self.by.wake();
    }

    fn release(&self) {
        let _ = self.by.wake();
    }
}

#[test]
fn after_a_wake_up_that_is_lost_every_schedule_is_missed_and_the_wait_stands_with_its_full_length() {
    let run = |_| {
        let began = Instant::now();
        let record = measured::<Lost>(&plan(|_| ()));
        assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
        record
    };
    // Where the pair gets little of its CPU, the run ends before that wake-up.
    let has_lost = |record: &Record| halves(record).0.hand_overs().unwrap().not_back > 0;
    let record = (0..20).map(run).find(has_lost).expect("a run that comes to the wake-up that is lost");
    let (woke, _) = halves(&record);
    let totals = woke.hand_overs().unwrap();
    assert!(woke.taken() <= u64::from(LOST) + 1, "{totals:?}");
    assert_eq!(totals.schedules, accounted(woke));
    // The wake-up that ended the run was that of the lost hand-over.
    let longest_ns = woke.histogram.max_ns().unwrap();
    assert!(longest_ns > 60_000_000, "{longest_ns} ns");
    // Each schedule that it swallowed is late by the rest of it.
    assert!(woke.corrected.as_ref().unwrap().count() > woke.taken() + 100);
}

/// A means whose waking call is held up before it wakes: a delay of known length within the hand-over.
#[derive(Debug)]
struct HeldUp(Eventfd);

const HELD_UP_NS: i64 = 3_000_000;

impl HandOver for HeldUp {
    fn open() -> Result<Self, HandOverError> {
        Eventfd::open().map(Self)
    }

    fn wake(&self) -> Result<Found, CallFailed> {
        let until_ns = now_ns(CLOCK) + HELD_UP_NS;
        while now_ns(CLOCK) < until_ns {
            std::hint::spin_loop();
        }
        self.0.wake()
    }

    fn wait(&self) -> Result<u32, CallFailed> {
        self.0.wait()
    }
}

#[test]
fn a_delay_within_the_hand_over_is_found_again_in_its_full_length() {
    let record = measured::<HeldUp>(&plan(|request| request.end = RunEnd::After(Ns::from_ms(200))));
    let (woke, returned) = halves(&record);
    let least = |series: &Series| i64::try_from(series.histogram.min_ns().unwrap()).unwrap();
    assert!(woke.taken() > 5 && least(woke) >= HELD_UP_NS && least(returned) >= HELD_UP_NS, "{:?}", record.validity);
    // Nothing but a busy machine makes it longer.
    assert!(least(woke) < 2 * HELD_UP_NS, "{} ns", least(woke));
    // Of six schedules one is a sample.
    assert!(woke.counters.missed_periods + woke.spoiled.missed_periods >= 5 * woke.taken());
    assert_eq!(woke.hand_overs().unwrap().schedules, accounted(woke));
}

/// A means by which nobody is ever woken.
#[derive(Debug)]
struct Deaf(Eventfd);

impl HandOver for Deaf {
    fn open() -> Result<Self, HandOverError> {
        Eventfd::open().map(Self)
    }

    fn wake(&self) -> Result<Found, CallFailed> {
        Ok(Found::Unknown)
    }

    fn wait(&self) -> Result<u32, CallFailed> {
        self.0.wait()
    }
}

#[test]
fn a_run_ends_within_its_grace_where_a_woken_thread_never_wakes() {
    let began = Instant::now();
    let record = measured::<Deaf>(&plan(|_| ()));
    assert!(began.elapsed() < Duration::from_secs(12), "{:?}", began.elapsed());
    assert!(record.validity.has(ReasonCode::ThreadStuck) && record.validity.is_invalid(), "{:?}", record.validity);
    let (woke, _) = halves(&record);
    // Where nobody was there for the first hand-over all are missed.
    assert_eq!((woke.taken(), woke.hand_overs().unwrap().schedules), (0, 301));
    assert_eq!(woke.counters.missed_periods + woke.spoiled.missed_periods, 301);
}

/// A means whose waker dies of its n-th wake-up.
#[derive(Debug)]
struct Deadly {
    by: Eventfd,
    wakes: AtomicU32,
}

impl HandOver for Deadly {
    fn open() -> Result<Self, HandOverError> {
        Ok(Self { by: Eventfd::open()?, wakes: AtomicU32::new(0) })
    }

    fn wake(&self) -> Result<Found, CallFailed> {
        assert!(self.wakes.fetch_add(1, Ordering::Relaxed) < LOST, "as the test wants it");
        self.by.wake()
    }

    fn wait(&self) -> Result<u32, CallFailed> {
        self.by.wait()
    }

    fn wake_last(&self) {}

    fn release(&self) {
        let _ = self.by.wake();
    }
}

#[test]
fn a_sleeper_whose_waker_died_is_released_and_what_was_measured_stands() {
    let began = Instant::now();
    let record = measured::<Deadly>(&plan(|_| ()));
    assert!(began.elapsed() < Duration::from_secs(3), "{:?}", began.elapsed());
    assert!(record.validity.has(ReasonCode::ThreadDied) && !record.validity.has(ReasonCode::ThreadStuck));
    assert!(halves(&record).0.taken() > 10);
}

/// A means whose sleeper never sleeps.
#[derive(Debug, Default)]
struct Spinning(AtomicBool);

impl HandOver for Spinning {
    fn open() -> Result<Self, HandOverError> {
        Ok(Self::default())
    }

    fn wake(&self) -> Result<Found, CallFailed> {
        self.0.store(true, Ordering::Release);
        Ok(Found::Unknown)
    }

    fn wait(&self) -> Result<u32, CallFailed> {
        while !self.0.swap(false, Ordering::Acquire) {
            std::hint::spin_loop();
        }
        Ok(0)
    }
}

#[test]
fn a_hand_over_to_a_thread_that_did_not_sleep_is_counted_and_is_no_sample() {
    let record = measured::<Spinning>(&plan(|request| request.end = RunEnd::After(Ns::from_ms(60))));
    let (woke, returned) = halves(&record);
    let totals = woke.hand_overs().unwrap();
    assert!(totals.found_nobody > 5, "{totals:?}");
    // A spinning thread that is preempted gives nothing up.
    assert_eq!((woke.taken(), returned.taken()), (0, 0));
    assert_eq!(totals.schedules, accounted(woke));
    assert!(record.validity.has(ReasonCode::NoSamples) && record.validity.is_invalid());
}

#[test]
fn a_pair_that_is_called_off_before_it_began_ends() {
    fn ends<H: HandOver>() {
        let plan = plan(|_| ());
        let pair = Running::<H>::start(&plan, plan.pairs[0], Stop::new().watchdog()).unwrap();
        // The sleeper begins, and its waker does not.
        pair.sleeper.begin_at(now_ns(CLOCK));
        pair.waker.call_off();
        let began = Instant::now();
        while !pair.is_finished() {
            assert!(began.elapsed() < Duration::from_secs(20), "{}", std::any::type_name::<H>());
            std::thread::sleep(Duration::from_millis(1));
            if pair.waker.is_finished() {
                pair.release();
            }
        }
    }
    ends::<Eventfd>();
    ends::<Pipe>();
    ends::<Futex>();
    ends::<FutexPi>();
    ends::<Signal>();
    ends::<Mqueue>();
    ends::<Condvar>();
}

#[test]
fn a_waker_whose_sleeper_is_not_there_hands_nothing_over_and_counts_each_schedule() {
    let (hand, turn, ring) = (Eventfd::open().unwrap(), Turn::new(), Ring::new(4));
    let clock = KernelClock::from(CLOCK);
    let first_ns = now_ns(CLOCK) - 450_000;
    let (last_ns, watchdog) = (AtomicI64::new(first_ns + 1_000_000), AtomicBool::new(false));
    let counts = WakerLoop {
        hand: &hand,
        clock,
        interval_ns: 100_000,
        next: Schedule::at_ns(first_ns),
        last_schedule_ns: &last_ns,
        samples: u64::MAX,
        turn: &turn,
        ring: ring.writer(),
        watchdog: &watchdog,
    }
    .run();
    assert_eq!((counts.handed, counts.failed_errno), (0, 0));
    // The first turn skipped those that were over when it began.
    assert!(counts.not_back <= 7 && counts.schedules >= 11, "{counts:?}");
}

/// Schedules that nobody woke for belong to the interval in which they were, and not to the end of the run.
#[test]
fn schedules_that_the_waker_slept_through_are_missed_in_their_own_interval() {
    const INTERVAL_NS: i64 = 100_000;
    let plan = plan(|request| {
        request.interval = Ns(INTERVAL_NS);
        request.interval_maximum = Some(Ns::from_ms(1));
    });
    let (start_ns, clocks) = (1_000_000_000, ClockWatch::scripted(CLOCK, Vec::new()));
    let (calls, wakes) = (Ring::new(256), Ring::new(256));
    let (mut call_writer, mut wake_writer) = (calls.writer(), wakes.writer());
    let mut of = HandOvers::new(&plan, &plan.pairs[0], start_ns, false);
    // The waker sleeps from turn 13 to turn 17, in the second interval, and no hand-over is late.
    let turns: Vec<i64> = (0..13).chain(17..40).collect();
    for turn in &turns {
        let handed_ns = start_ns + turn * INTERVAL_NS + 2_000;
        call_writer.push(Pair { first_ns: handed_ns, second_ns: handed_ns + 500 });
        wake_writer.push(Pair { first_ns: handed_ns, second_ns: handed_ns + 3_000 });
    }
    of.take(&calls, &wakes, &clocks);
    of.end(40, start_ns + 40 * INTERVAL_NS);
    assert_eq!(of.totals().schedules, 40);
    let woke = of.woke.finish(start_ns + 40 * INTERVAL_NS);
    let missed: Vec<u64> = woke.intervals.iter().map(|interval| interval.missed_periods).collect();
    assert_eq!((missed, woke.samples), (vec![0, 4, 0, 0], 36));
    assert!(woke.swallowed.is_empty(), "no wait is known that they could be late by");
}

/// What becomes of each turn of a made-up pair: how late the waker is, how long the sleeper takes, whether it slept.
fn turns() -> impl Strategy<Value = Vec<(i64, i64, bool)>> {
    let late = prop_oneof![8 => 0_i64..40_000, 1 => 40_000_i64..99_999, 1 => 100_000_i64..700_000];
    let takes = prop_oneof![8 => 1_000_i64..60_000, 2 => 60_000_i64..800_000];
    prop::collection::vec((late, takes, prop::bool::weighted(0.95)), 1..200)
}

proptest! {
    /// The loops in made-up time, by their rules, and what the drain makes of what they wrote down.
    #[test]
    fn every_schedule_is_a_sample_or_missed_or_found_nobody(turns in turns()) {
        const INTERVAL_NS: i64 = 100_000;
        let plan = plan(|request| {
            request.interval = Ns(INTERVAL_NS);
            request.interval_maximum = Some(Ns::from_ms(1));
        });
        let start_ns = 1_000_000_000;
        let clocks = ClockWatch::scripted(CLOCK, Vec::new());
        let (calls, wakes) = (Ring::new(256), Ring::new(256));
        let (mut call_writer, mut wake_writer) = (calls.writer(), wakes.writer());
        let mut of = HandOvers::new(&plan, &plan.pairs[0], start_ns, false);
        let (mut next_ns, mut woke_ns, mut swallowed, mut nobody) = (start_ns, i64::MIN, 0, 0);
        for (late_ns, takes_ns, slept) in &turns {
            let scheduled_ns = next_ns;
            let mut now_ns = scheduled_ns + late_ns;
            if woke_ns < scheduled_ns {
                let handed_ns = now_ns;
                woke_ns = handed_ns + takes_ns;
                // On two CPUs the call is over long before.
                now_ns += 500;
                nobody += u64::from(!slept);
                call_writer.push(Pair { first_ns: handed_ns, second_ns: now_ns });
                wake_writer.push(Pair { first_ns: handed_ns, second_ns: stamp_of(woke_ns, *slept) });
            } else {
                swallowed += 1;
                now_ns = now_ns.max(scheduled_ns);
            }
            next_ns = scheduled_ns + ((now_ns - scheduled_ns) / INTERVAL_NS + 1) * INTERVAL_NS;
            if *takes_ns % 7 == 0 {
                of.take(&calls, &wakes, &clocks);
            }
        }
        of.take(&calls, &wakes, &clocks);
        let schedules = u64::try_from((next_ns - start_ns) / INTERVAL_NS).unwrap();
        of.end(schedules, next_ns.max(woke_ns));
        let totals = of.totals();
        let ended_ns = next_ns.max(woke_ns);
        let (woke, returned) = (of.woke.finish(ended_ns), of.returned.finish(ended_ns));
        prop_assert_eq!(woke.samples, returned.samples);
        prop_assert_eq!(totals.found_nobody, nobody);
        prop_assert_eq!(totals.schedules, woke.samples + woke.stalls.missed_periods + totals.found_nobody);
        // A last wake-up that is late swallowed schedules that its waker did not see any more.
        let unseen = totals.schedules.saturating_sub(schedules);
        prop_assert!(totals.schedules >= schedules && unseen <= 8, "{} of {schedules}", totals.schedules);
        prop_assert!(woke.stalls.missed_periods >= swallowed);
        let in_intervals: u64 = woke.intervals.iter().map(|interval| interval.missed_periods).sum();
        prop_assert_eq!(in_intervals, woke.stalls.missed_periods);
    }
}
