//! A run as a whole, over a made-up wire that loses edges, doubles them, delays them or dies, and the accounts of its schedules.

use std::collections::VecDeque;
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use kernel::gpio::{Edge, Waited};
use kernel::handover::CallFailed;
use proptest::prelude::*;
use record::{EdgeTotals, PolicyChoice, ReasonCode, ResponseRequest, Series};
use units::Ns;

use super::drain::Edges;
use super::*;
use crate::clock_watch::ClockWatch;
use crate::crew::hot::stamp_of;
use crate::live::Silent;
use crate::machine::Machine;
use crate::ring::{Pair, Ring};

/// What becomes of a rising edge of a made-up wire.
#[derive(Clone, Copy)]
enum Fate {
    /// It brings so many events.
    Events(u32),
    /// Its event is stamped after the CPU was kept busy for so long (ns).
    Late(i64),
    /// Its event is stamped at once, and reaches the thread so long afterwards (ms).
    Held(u64),
    /// Its write fails.
    Fails,
}

/// Edges that come before the measured ones at most: one that is tried, and those that warm up.
const BEFORE: u32 = 1 + 6;

/// A made-up wire, by whose rule each rising edge, counted from 0, has its fate.
struct MadeUp {
    fate: fn(u32) -> Fate,
    /// Whether the input has the level of the output.
    is_joined: bool,
    /// Whether a wait keeps the CPU.
    spins: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    is_active: bool,
    is_ended: bool,
    rising: u32,
    /// Each with when it can be taken.
    events: VecDeque<(Instant, Edge)>,
    number: u32,
}

impl MadeUp {
    fn new(fate: fn(u32) -> Fate) -> Self {
        let state = State { events: VecDeque::with_capacity(64), ..State::default() };
        Self { fate, is_joined: true, spins: false, state: Mutex::new(state), changed: Condvar::new() }
    }
}

impl Wire for MadeUp {
    fn set(&self, active: bool) -> io::Result<()> {
        let mut state = self.state.lock().unwrap();
        let was_active = std::mem::replace(&mut state.is_active, active);
        if active && !was_active {
            let fate = (self.fate)(state.rising);
            state.rising += 1;
            let mut visible = Instant::now();
            let events = match fate {
                Fate::Events(events) => events,
                Fate::Late(ns) => {
                    let until_ns = now_ns(CLOCK) + ns;
                    while now_ns(CLOCK) < until_ns {
                        std::hint::spin_loop();
                    }
                    1
                }
                Fate::Held(ms) => {
                    visible += Duration::from_millis(ms);
                    1
                }
                Fate::Fails => return Err(io::Error::from_raw_os_error(19)),
            };
            for _ in 0..events {
                state.number += 1;
                let edge = Edge { at_ns: now_ns(CLOCK), number: state.number };
                state.events.push_back((visible, edge));
            }
            self.changed.notify_all();
        }
        Ok(())
    }

    fn wait(&self, timeout_ms: i32) -> Result<Waited, CallFailed> {
        let until = u64::try_from(timeout_ms).ok().map(|ms| Instant::now() + Duration::from_millis(ms));
        let mut state = self.state.lock().unwrap();
        loop {
            let now = Instant::now();
            let next = state.events.front().copied();
            if let Some((_, edge)) = next.filter(|(visible, _)| *visible <= now) {
                state.events.pop_front();
                return Ok(Waited::Edge(edge));
            }
            if state.is_ended || until.is_some_and(|until| until <= now) {
                return Ok(Waited::Nothing);
            }
            let wakes = [until, next.map(|(visible, _)| visible)].into_iter().flatten().min();
            let left = wakes.map(|at| at.saturating_duration_since(now));
            state = if self.spins {
                drop(state);
                loop {
                    std::hint::spin_loop();
                    // To wait for the lock would be to sleep.
                    if let Ok(state) = self.state.try_lock() {
                        break state;
                    }
                }
            } else {
                self.changed.wait_timeout(state, left.unwrap_or(Duration::from_secs(60))).unwrap().0
            };
        }
    }

    fn end_waits(&self) {
        self.state.lock().unwrap().is_ended = true;
        self.changed.notify_all();
    }

    fn is_active(&self) -> io::Result<bool> {
        Ok(self.is_joined && self.state.lock().unwrap().is_active)
    }
}

/// A run as SCHED_OTHER.
fn plan(change: impl FnOnce(&mut ResponseRequest)) -> ResponsePlan {
    let mut request = ResponseRequest {
        output: "chip/0".into(),
        input: "chip/1".into(),
        policy: PolicyChoice::Other,
        end: RunEnd::Samples(100),
        ..ResponseRequest::default()
    };
    change(&mut request);
    ResponsePlan::new(request, &Machine::read()).unwrap()
}

fn measured(wire: MadeUp, plan: &ResponsePlan) -> Result<Record, ResponseError> {
    measure_by(wire, plan, &RunContext::default(), &Stop::new(), &mut Silent, None)
}

fn series<'a>(record: &'a Record, name: &str) -> &'a Series {
    record.series.iter().find(|series| series.name == name).unwrap()
}

/// The judged series with what was counted of its edges.
fn whole(record: &Record) -> (&Series, EdgeTotals) {
    let whole = series(record, "acted_to_woke");
    (whole, *whole.edges().unwrap())
}

fn samples(series: &Series) -> u64 {
    series.taken() + series.spoiled.samples
}

#[test]
fn each_edge_is_a_sample_and_its_parts_add_up_to_the_whole() {
    let record = measured(MadeUp::new(|_| Fate::Events(1)), &plan(|_| ())).unwrap();
    let (whole, totals) = whole(&record);
    assert_eq!((totals.edges, totals.lost, totals.extra, totals.overflowed), (100, 0, 0, 0), "{:?}", record.validity);
    assert_eq!(samples(whole) + totals.found_awake, 100);
    assert!(whole.judged && record.series.iter().filter(|series| series.judged).count() == 1);
    let names = ["acted_to_event", "event_to_woke", "acted_to_returned"];
    let [to_event, from_event, returned] = names.map(|name| series(&record, name));
    for part in [to_event, from_event, returned] {
        assert_eq!(samples(part), samples(whole), "{}", part.name);
    }
    if whole.spoiled.count == 0 {
        let sum = |series: &Series| series.histogram.sum_ns();
        assert_eq!(sum(whole), sum(to_event) + sum(from_event));
    }
    assert!(!record.validity.has(ReasonCode::EdgesLost) && !record.validity.has(ReasonCode::EdgesUnasked));
    assert!(!record.validity.has(ReasonCode::ThreadStuck), "{:?}", record.validity);
}

#[test]
fn edges_without_an_event_are_lost_and_the_run_is_invalid_while_the_others_stand() {
    let fate = |rising| Fate::Events(u32::from(!(BEFORE + 20..BEFORE + 23).contains(&rising)));
    let record = measured(MadeUp::new(fate), &plan(|_| ())).unwrap();
    let (whole, totals) = whole(&record);
    assert_eq!((totals.edges, totals.lost), (100, 3), "{:?}", record.validity);
    assert_eq!(samples(whole) + totals.found_awake + totals.lost, 100);
    assert!(record.validity.is_invalid() && record.validity.has(ReasonCode::EdgesLost));
    let lost = record.validity.reasons().iter().find(|reason| reason.code == ReasonCode::EdgesLost).unwrap();
    assert_eq!(lost.detail, "3 of 100 edges brought no event within 100 ms");
    // Each was waited for, and the schedules meanwhile were missed.
    assert!(whole.counters.missed_periods + whole.spoiled.missed_periods >= 3 * 99, "{:?}", whole.counters);
}

#[test]
fn the_last_edge_is_waited_for_and_a_long_way_to_the_thread_is_found_in_the_second_part() {
    const HELD_NS: u64 = 5_000_000;
    let record = measured(MadeUp::new(|_| Fate::Held(5)), &plan(|request| request.end = RunEnd::Samples(10))).unwrap();
    let (whole, totals) = whole(&record);
    assert_eq!((totals.edges, totals.lost, totals.extra), (10, 0, 0), "{:?}", record.validity);
    let least = |name: &str| series(&record, name).histogram.min_ns();
    if whole.spoiled.count == 0 {
        assert!(least("acted_to_woke") >= Some(HELD_NS) && least("event_to_woke") >= Some(HELD_NS));
        assert!(least("acted_to_event") < Some(HELD_NS));
    }
    // Each swallowed four schedules at least.
    assert!(totals.not_back > 0 && whole.counters.missed_periods + whole.spoiled.missed_periods >= 40, "{totals:?}");
}

#[test]
fn a_second_event_of_an_edge_is_extra_and_no_sample() {
    let record = measured(MadeUp::new(|rising| Fate::Events(1 + rising % 2)), &plan(|_| ())).unwrap();
    let (whole, totals) = whole(&record);
    assert_eq!((totals.edges, totals.lost, totals.extra), (100, 0, 50), "{:?}", record.validity);
    assert_eq!(samples(whole) + totals.found_awake, 100);
    assert!(record.validity.has(ReasonCode::EdgesUnasked));
}

#[test]
fn a_delay_before_the_kernel_s_stamp_is_found_in_the_first_part_alone() {
    const DELAY_NS: u64 = 3_000_000;
    let fate = |_| Fate::Late(3_000_000);
    let record = measured(MadeUp::new(fate), &plan(|request| request.interval = Ns::from_ms(10))).unwrap();
    let (whole, _) = whole(&record);
    let least = |name: &str| series(&record, name).histogram.min_ns().unwrap();
    assert!(whole.taken() > 10, "{:?}", record.validity);
    assert!(least("acted_to_event") >= DELAY_NS && least("acted_to_event") < 2 * DELAY_NS);
    assert!(least("acted_to_woke") >= DELAY_NS && least("acted_to_returned") >= DELAY_NS);
    assert!(least("event_to_woke") < DELAY_NS, "{}", least("event_to_woke"));
}

#[test]
fn lines_that_no_wire_joins_are_refused_and_so_are_those_that_raise_no_interrupt() {
    let silent = |is_joined| MadeUp { is_joined, ..MadeUp::new(|_| Fate::Events(0)) };
    let apart = measured(silent(false), &plan(|_| ())).unwrap_err().to_string();
    assert!(
        apart.starts_with("no edge of chip/1 came when chip/0 was switched") && apart.contains("by a wire"),
        "{apart}"
    );
    let without = measured(silent(true), &plan(|_| ())).unwrap_err().to_string();
    assert!(
        without.contains("the level of chip/1 follows chip/0") && without.contains("/proc/interrupts"),
        "{without}"
    );
}

#[test]
fn a_wire_that_is_cut_right_after_it_was_tried_ends_its_run_with_every_edge_lost() {
    let began = Instant::now();
    let fate = |rising| Fate::Events(u32::from(rising == 0));
    let record = measured(MadeUp::new(fate), &plan(|r| r.end = RunEnd::After(Ns::from_ms(250)))).unwrap();
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());
    let (whole, totals) = whole(&record);
    assert_eq!((samples(whole), totals.lost), (0, totals.edges), "{:?}", record.validity);
    assert!((1..=3).contains(&totals.edges), "{totals:?}");
    assert!(record.validity.has(ReasonCode::NoSamples) && record.validity.has(ReasonCode::EdgesLost));
    assert!(!record.validity.has(ReasonCode::ThreadStuck), "{:?}", record.validity);
}

#[test]
fn a_write_that_fails_ends_the_run_with_its_reason() {
    let fate = |rising| if rising >= BEFORE + 20 { Fate::Fails } else { Fate::Events(1) };
    let record = measured(MadeUp::new(fate), &plan(|_| ())).unwrap();
    let (_, totals) = whole(&record);
    // On a busy machine fewer edges warm the threads up, and more are measured.
    assert!(totals.edges <= 21 + u64::from(BEFORE), "{totals:?}");
    let failed = record.validity.reasons().iter().find(|reason| reason.code == ReasonCode::OutputFailed).unwrap();
    assert!(failed.detail.contains("a write failed, so it ended: No such device"), "{}", failed.detail);
}

#[test]
fn an_event_for_a_thread_that_did_not_sleep_is_counted_and_is_no_sample() {
    let wire = MadeUp { spins: true, ..MadeUp::new(|_| Fate::Events(1)) };
    let record = measured(wire, &plan(|request| request.end = RunEnd::Samples(30))).unwrap();
    let (whole, totals) = whole(&record);
    assert!(totals.found_awake > 0, "{totals:?}");
    assert_eq!(samples(whole) + totals.found_awake + totals.lost, totals.edges);
}

/// Ends a run once it has some samples.
struct Ender<'a>(&'a Stop);

impl Observer for Ender<'_> {
    fn observe(&mut self, view: &record::Live) {
        if view.series.iter().any(|series| series.samples > 5) {
            self.0.end_early();
        }
    }
}

#[test]
fn a_run_that_is_ended_early_ends_both_threads() {
    let (stop, plan) = (Stop::new(), plan(|request| request.end = RunEnd::WhenTold));
    let wire = MadeUp::new(|_| Fate::Events(1));
    let record = measure_by(wire, &plan, &RunContext::default(), &stop, &mut Ender(&stop), None).unwrap();
    let (_, totals) = whole(&record);
    assert!(totals.edges > 5 && totals.lost == 0, "{totals:?}");
    assert!(record.validity.has(ReasonCode::InterruptedEarly) && !record.validity.has(ReasonCode::ThreadStuck));
}

/// Schedules at which no edge was made belong to the interval in which they were, and not to the end of the run.
#[test]
fn schedules_that_a_lost_edge_took_are_missed_in_their_own_interval() {
    const INTERVAL_NS: i64 = 100_000;
    let plan = plan(|request| {
        request.interval = Ns(INTERVAL_NS);
        request.interval_maximum = Some(Ns::from_ms(1));
    });
    let (start_ns, clocks) = (1_000_000_000, ClockWatch::scripted(CLOCK, Vec::new()));
    let (acted, woke) = (Ring::new(256), Ring::new(256));
    let (mut acted_writer, mut woke_writer) = (acted.writer(), woke.writer());
    let mut of = Edges::new(&plan, start_ns, false);
    // The edge of turn 12, in the second interval, is lost, and given up at turn 17.
    for turn in (0..13).chain(17..40) {
        let acted_ns = start_ns + turn * INTERVAL_NS + 2_000;
        acted_writer.push(Pair { first_ns: acted_ns, second_ns: acted_ns + 500 });
        if turn != 12 {
            woke_writer.push(Pair { first_ns: acted_ns + 1_000, second_ns: acted_ns + 3_000 });
        }
    }
    of.take(&acted, &woke, &clocks);
    of.end(40, start_ns + 40 * INTERVAL_NS, &clocks);
    assert_eq!((of.totals().edges, of.totals().lost), (36, 1));
    let whole = of.whole.finish(start_ns + 40 * INTERVAL_NS);
    let missed: Vec<u64> = whole.intervals.iter().map(|interval| interval.missed_periods).collect();
    assert_eq!((missed, whole.samples), (vec![0, 4, 0, 0], 35));
}

/// What becomes of each edge of a made-up run: how late it is made, how long its event takes (none for one that is lost), how long
/// the thread takes from there, and whether that had slept.
fn turns() -> impl Strategy<Value = Vec<(i64, Option<i64>, i64, bool)>> {
    let late = prop_oneof![8 => 0_i64..40_000, 1 => 40_000_i64..99_999, 1 => 100_000_i64..700_000];
    let takes = prop_oneof![8 => 1_000_i64..30_000, 2 => 30_000_i64..400_000];
    let event = prop_oneof![9 => takes.clone().prop_map(Some), 1 => Just(None)];
    prop::collection::vec((late, event, takes, prop::bool::weighted(0.95)), 1..200)
}

proptest! {
    /// The loops in made-up time, by their rules, and what the drain makes of what they wrote down.
    #[test]
    fn every_schedule_is_a_sample_or_missed_or_lost_or_found_the_thread_awake(turns in turns()) {
        const INTERVAL_NS: i64 = 100_000;
        const LOST_AFTER_NS: i64 = 1_000_000;
        let plan = plan(|request| {
            request.interval = Ns(INTERVAL_NS);
            request.interval_maximum = Some(Ns::from_ms(1));
        });
        let start_ns = 1_000_000_000;
        let clocks = ClockWatch::scripted(CLOCK, Vec::new());
        let (acted, woke) = (Ring::new(256), Ring::new(256));
        let (mut acted_writer, mut woke_writer) = (acted.writer(), woke.writer());
        let mut of = Edges::new(&plan, start_ns, false);
        let (mut next_ns, mut lost, mut awake, mut ended_ns) = (start_ns, 0, 0, start_ns);
        for (late_ns, event, takes_ns, slept) in &turns {
            let acted_ns = next_ns + late_ns;
            acted_writer.push(Pair { first_ns: acted_ns, second_ns: acted_ns + 900 });
            let free_ns = match event {
                Some(event_ns) => {
                    let woke_ns = acted_ns + event_ns + takes_ns;
                    awake += u64::from(!slept);
                    woke_writer.push(Pair { first_ns: acted_ns + event_ns, second_ns: stamp_of(woke_ns, *slept) });
                    woke_ns
                }
                None => {
                    lost += 1;
                    acted_ns + LOST_AFTER_NS
                }
            };
            // The next schedule after both are back.
            next_ns += ((free_ns - next_ns) / INTERVAL_NS + 1) * INTERVAL_NS;
            ended_ns = free_ns;
            if takes_ns % 7 == 0 {
                of.take(&acted, &woke, &clocks);
            }
        }
        of.take(&acted, &woke, &clocks);
        let schedules = u64::try_from((next_ns - start_ns) / INTERVAL_NS).unwrap();
        of.end(schedules, ended_ns.max(next_ns), &clocks);
        let totals = of.totals();
        prop_assert_eq!((totals.lost, totals.found_awake, totals.extra), (lost, awake, 0));
        prop_assert_eq!(totals.edges, u64::try_from(turns.len()).unwrap());
        let [whole, to_event, from_event, returned] =
            [of.whole, of.to_event, of.from_event, of.returned].map(|of| of.finish(next_ns));
        prop_assert_eq!(whole.samples + lost + awake, totals.edges);
        for part in [&to_event, &from_event, &returned] {
            prop_assert_eq!(part.samples, whole.samples);
        }
        prop_assert_eq!(whole.total.sum_ns(), to_event.total.sum_ns() + from_event.total.sum_ns());
        prop_assert_eq!(totals.edges + whole.stalls.missed_periods, schedules);
    }
}
