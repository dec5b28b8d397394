//! A run as a whole, over a made-up wire whose edges come from a witness of our own: it does what `latmon` does, faults included, of
//! latencies that are stated.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use codecs::latmon::{Faults, Service, Truth};
use kernel::clock::KernelClock;
use kernel::gpio::{Edge, Waited};
use kernel::handover::CallFailed;
use record::{AnswerRequest, AnswerRun, AnswerWitness, PolicyChoice, ReasonCode, RunEnd, Series, VerdictState};
use units::Ns;

use super::finish::{by_witness, of_witness};
use super::hot::AnswerLoop;
use super::witness::Said;
use super::*;
use crate::live::Silent;
use crate::machine::Machine;
use crate::ring::{Pair, Ring, Slot};

/// A made-up input and output, whose edges somebody else makes.
#[derive(Clone, Default)]
pub(super) struct MadeUp(Arc<(Mutex<Pins>, Condvar)>);

#[derive(Default)]
struct Pins {
    events: VecDeque<Edge>,
    number: u32,
    answers: u64,
    is_high: bool,
    is_ended: bool,
    /// The write of this answer fails.
    fails_at: Option<u64>,
    /// When the output was made low last (ns).
    lowered_ns: i64,
}

impl MadeUp {
    /// Makes a falling edge, and waits until it was answered; whether it was. `lost` edges before it find no room in the kernel.
    fn pulse(&self, lost: u32) -> bool {
        let (pins, changed) = &*self.0;
        let mut pins = pins.lock().unwrap();
        let before = pins.answers;
        pins.number += 1 + lost;
        let (at_ns, number) = (kernel::clock::now_ns(KernelClock::from(CLOCK)), pins.number);
        pins.events.push_back(Edge { at_ns, number });
        changed.notify_all();
        let answered = |pins: &mut Pins| pins.answers == before && !pins.is_ended;
        let (pins, _) = changed.wait_timeout_while(pins, Duration::from_secs(10), answered).unwrap();
        pins.answers > before
    }
}

impl Wire for MadeUp {
    fn set(&self, active: bool) -> io::Result<()> {
        let (pins, changed) = &*self.0;
        let mut pins = pins.lock().unwrap();
        pins.answers += u64::from(active && !pins.is_high);
        if !active {
            pins.lowered_ns = kernel::clock::now_ns(KernelClock::from(CLOCK));
        }
        pins.is_high = active;
        changed.notify_all();
        if pins.fails_at.is_some_and(|at| pins.answers >= at) { Err(io::Error::from_raw_os_error(5)) } else { Ok(()) }
    }

    fn wait(&self, _: i32) -> Result<Waited, CallFailed> {
        let (pins, changed) = &*self.0;
        let mut pins = pins.lock().unwrap();
        while pins.events.is_empty() && !pins.is_ended {
            pins = changed.wait(pins).unwrap();
        }
        Ok(pins.events.pop_front().map_or(Waited::Nothing, Waited::Edge))
    }

    fn end_waits(&self) {
        let (pins, changed) = &*self.0;
        pins.lock().unwrap().is_ended = true;
        changed.notify_all();
    }

    fn is_active(&self) -> io::Result<bool> {
        Ok(false)
    }
}

/// What a witness of our own does.
#[derive(Clone, Copy)]
struct Script {
    /// The latency of each pulse, counted from 0 (ns); `None` is given up.
    latency_ns: fn(u64) -> Option<u32>,
    faults: Faults,
    /// Edges before each pulse that the kernel has no room for.
    lost: u32,
    /// It hangs up after so many pulses.
    hangs_up_at: u64,
    /// Its pulses reach no wire.
    is_cut: bool,
    /// It goes on where it is told to end.
    is_deaf: bool,
}

const PLAIN: Script = Script {
    latency_ns: |_| Some(30_000),
    faults: Faults { ends_at_overrun: false, unsent_frame: None },
    lost: 0,
    hangs_up_at: u64::MAX,
    is_cut: false,
    is_deaf: false,
};

/// Serves one connection, until its peer hangs up.
fn serve(mut stream: TcpStream, wire: &MadeUp, script: Script) -> Truth {
    let mut service = Service::new(script.faults);
    let mut request = [0; 8];
    loop {
        stream.set_nonblocking(service.is_measuring()).unwrap();
        match stream.read_exact(&mut request) {
            Ok(()) => {
                stream.set_nonblocking(false).unwrap();
                if !(script.is_deaf && service.is_measuring()) {
                    stream.write_all(&service.ask(request)).unwrap();
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(_) => return service.truth(),
        }
        if !service.is_measuring() {
            continue;
        }
        if script.is_cut {
            std::thread::sleep(Duration::from_millis(1));
            continue;
        }
        if service.truth().pulses == script.hangs_up_at || !wire.pulse(script.lost) {
            return service.truth();
        }
        let number = service.truth().pulses;
        let said = service.pulsed((script.latency_ns)(number));
        stream.set_nonblocking(false).unwrap();
        stream.write_all(&said).unwrap();
    }
}

/// A witness that waits for its connection.
fn witness(wire: &MadeUp, script: Script) -> (String, JoinHandle<Truth>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let wire = wire.clone();
    (address, std::thread::spawn(move || serve(listener.accept().unwrap().0, &wire, script)))
}

/// A run on the first CPU that may be used, as SCHED_OTHER; 100 answers are a frame of the witness.
fn measured(wire: &MadeUp, script: Script, change: impl FnOnce(&mut AnswerRequest)) -> (Record, Truth) {
    let machine = Machine::read();
    let (address, serving) = witness(wire, script);
    let mut request = AnswerRequest {
        cpu: machine.usable().first(),
        policy: PolicyChoice::Other,
        witness: Some(address.into()),
        interval: Ns::from_ms(10),
        end: RunEnd::Samples(350),
        ..AnswerRequest::default()
    };
    change(&mut request);
    let plan = AnswerPlan::new(request, &machine).unwrap();
    let dialog = Dialog::open(&plan).unwrap();
    let context = RunContext::default();
    let record = measure_by(wire.clone(), dialog, &plan, &context, &Stop::new(), &mut Silent, None).unwrap();
    (record, serving.join().unwrap())
}

fn series<'a>(record: &'a Record, name: &str) -> Option<&'a Series> {
    record.series.iter().find(|series| series.name == name)
}

fn answers(record: &Record) -> (&AnswerRun, &AnswerWitness) {
    let run = record.answers().unwrap();
    (run, run.witness.as_ref().unwrap())
}

/// Every figure of the witness against what it did.
fn check_truth(record: &Record, truth: &Truth) {
    let (run, witness) = answers(record);
    assert_eq!(run.edges, truth.pulses, "{:?}", record.validity);
    assert_eq!((witness.sessions, witness.in_histogram), (truth.sessions, truth.answers));
    assert_eq!((witness.overruns, witness.warm_up, witness.unsent), (truth.overruns, truth.warm_up, truth.unsent));
    assert_eq!(witness.samples + witness.warm_up + witness.unsent, witness.in_histogram);
    let own = series(record, "event_to_answered").unwrap();
    assert_eq!(own.taken() + own.spoiled.samples + run.warm_up, run.edges);
}

#[test]
fn every_answer_is_a_sample_here_and_counted_there_and_the_parts_add_up() {
    let wire = MadeUp::default();
    let (record, truth) =
        measured(&wire, Script { latency_ns: |n| Some(if n == 250 { 87_654 } else { 30_000 }), ..PLAIN }, |request| {
            request.witness_cost = Some(Ns(3_200));
        });
    check_truth(&record, &truth);
    assert_eq!((truth.sessions, truth.warm_up), (1, 100));
    let (run, witness) = answers(&record);
    assert!(run.edges >= 366 && run.warm_up == 16 && run.overflowed == 0, "{run:?}");
    assert_eq!((witness.min_ns, witness.max_ns, &witness.lost), (Some(30_000), Some(87_654), &None));
    let seconds: u64 = witness.seconds.iter().map(|second| second.samples).sum();
    assert_eq!((seconds, witness.seconds[1].max_ns), (witness.samples, Some(87_654)));
    assert_eq!((witness.cost_ns, witness.period_ns), (Some(3_200), 10_000_000));
    let by_witness = series(&record, "edge_to_answer").unwrap();
    assert_eq!((by_witness.taken(), by_witness.histogram.max_ns()), (truth.answers, Some(87_654)));
    assert!(by_witness.judged && !series(&record, "event_to_answered").unwrap().judged, "each answer is judged once");
    assert_eq!((by_witness.uncertainty, by_witness.resolution_ns), (None, Some(1_000)));
    let sum = |name| units::round_u64(series(&record, name).unwrap().histogram.mean_ns().unwrap_or(0.0) * 1_000.0);
    let parts = sum("event_to_woke") + sum("woke_to_answered");
    assert!(parts.abs_diff(sum("event_to_answered")) <= 2, "{parts}");
}

#[test]
fn an_answer_that_it_gives_up_makes_its_longest_a_lower_bound() {
    let wire = MadeUp::default();
    let script = Script { latency_ns: |n| (n != 222).then_some(30_000), ..PLAIN };
    let (record, truth) = measured(&wire, script, |request| request.deadline = Some(Ns::from_ms(5)));
    check_truth(&record, &truth);
    assert_eq!((truth.overruns, truth.sessions), (1, 1));
    assert!(record.validity.has(ReasonCode::WitnessOverran));
    let by_witness = series(&record, "edge_to_answer").unwrap();
    assert_eq!(by_witness.histogram.max_ns(), Some(1_000_000));
    let verdict = record.verdict.as_ref().unwrap();
    assert_eq!(verdict.state, VerdictState::CannotTell, "{}", verdict.reason);
}

#[test]
fn an_answer_that_it_gives_up_breaks_a_limit_below_what_it_waits() {
    let wire = MadeUp::default();
    let script = Script { latency_ns: |n| (n != 222).then_some(30_000), ..PLAIN };
    let (record, _) = measured(&wire, script, |request| request.deadline = Some(Ns::from_us(900)));
    let verdict = record.verdict.as_ref().unwrap();
    assert_eq!(verdict.state, VerdictState::Broken, "{}", verdict.reason);
}

#[test]
fn one_that_stops_measuring_without_a_word_is_asked_again_and_loses_nothing() {
    let wire = MadeUp::default();
    let script = Script {
        latency_ns: |n| (n != 222).then_some(30_000),
        faults: Faults { ends_at_overrun: true, unsent_frame: None },
        ..PLAIN
    };
    let (record, truth) = measured(&wire, script, |_| ());
    check_truth(&record, &truth);
    assert_eq!((truth.sessions, truth.overruns, truth.warm_up), (2, 1, 200));
    let by_witness = series(&record, "edge_to_answer").unwrap();
    assert_eq!(by_witness.taken(), truth.answers + truth.overruns, "those of both sessions");
    assert!(record.validity.has(ReasonCode::WitnessOverran) && !record.validity.has(ReasonCode::WitnessLost));
}

#[test]
fn what_it_gave_up_just_after_a_frame_is_in_an_empty_one_and_counts() {
    let wire = MadeUp::default();
    let script = Script {
        latency_ns: |n| (n != 200).then_some(30_000),
        faults: Faults { ends_at_overrun: true, unsent_frame: None },
        ..PLAIN
    };
    let (record, truth) = measured(&wire, script, |_| ());
    check_truth(&record, &truth);
    assert_eq!((truth.sessions, truth.overruns), (2, 1));
    assert!(record.validity.has(ReasonCode::WitnessOverran));
}

#[test]
fn an_answer_is_stamped_before_the_output_is_low_again() {
    let wire = MadeUp::default();
    wire.0.0.lock().unwrap().events.push_back(Edge { at_ns: 1_000, number: 1 });
    let (woke, done) = (Ring::new(64), Ring::new(64));
    let hot = AnswerLoop {
        wire: &wire,
        clock: KernelClock::from(CLOCK),
        most: 1,
        last_number: 0,
        answered: &AtomicU64::new(0),
        is_over: &AtomicBool::new(false),
        woke: woke.writer(),
        done: done.writer(),
        watchdog: &AtomicBool::new(false),
    };
    assert_eq!(hot.run().edges, 1);
    let written = |ring: &Ring| {
        let mut pairs: Vec<Pair> = Vec::new();
        ring.drain(|slots| pairs.extend(slots.iter().map(Slot::pair)));
        pairs
    };
    let (woke, done, lowered_ns) = (written(&woke), written(&done), wire.0.0.lock().unwrap().lowered_ns);
    assert_eq!((woke.len(), done.len(), woke[0].first_ns, done[0].first_ns), (1, 1, 1_000, 1_000));
    assert!(
        woke[0].second_ns <= done[0].second_ns && done[0].second_ns <= lowered_ns,
        "{woke:?} {done:?} {lowered_ns}"
    );
}

#[test]
fn frames_that_it_could_not_send_are_counted_and_their_longest_is_known_to_a_cell() {
    let wire = MadeUp::default();
    let latency_ns = |n| Some(if n == 150 { 70_500 } else { 30_000 });
    let (record, truth) = measured(
        &wire,
        Script { latency_ns, faults: Faults { ends_at_overrun: false, unsent_frame: Some(0) }, ..PLAIN },
        |request| {
            request.deadline = Some(Ns(70_400));
        },
    );
    check_truth(&record, &truth);
    assert_eq!(truth.unsent, 100);
    let by_witness = series(&record, "edge_to_answer").unwrap();
    assert_eq!(by_witness.histogram.max_ns(), Some(70_000));
    assert_eq!(by_witness.uncertainty.unwrap().above_ns, 999);
    // 70.5 us were beyond it, and nobody here can know that.
    assert_eq!(record.verdict.as_ref().unwrap().state, VerdictState::CannotTell);
}

#[test]
fn edges_that_the_kernel_had_no_room_for_are_counted() {
    let wire = MadeUp::default();
    let (record, truth) = measured(&wire, Script { lost: 2, ..PLAIN }, |_| ());
    let (run, _) = answers(&record);
    assert_eq!((run.edges, run.overflowed), (truth.pulses, 2 * truth.pulses));
    assert!(record.validity.has(ReasonCode::EdgesLost));
}

#[test]
fn a_witness_that_hangs_up_is_lost_and_its_run_ends() {
    let wire = MadeUp::default();
    let (record, truth) = measured(&wire, Script { hangs_up_at: 300, ..PLAIN }, |_| ());
    let (run, witness) = answers(&record);
    assert_eq!((run.edges, truth.pulses), (300, 300));
    assert!(witness.lost.is_some() && record.validity.has(ReasonCode::WitnessLost), "{witness:?}");
    assert_eq!((witness.samples, witness.in_histogram), (200, 0), "two seconds, and no histogram");
    let by_witness = series(&record, "edge_to_answer").unwrap();
    assert!(by_witness.uncertainty.unwrap().is_unknown());
    assert!(!by_witness.judged && series(&record, "event_to_answered").unwrap().judged, "ours is of the whole run");
}

#[test]
fn a_witness_that_does_not_say_what_it_has_is_lost() {
    let wire = MadeUp::default();
    let (record, _) = measured(&wire, Script { is_deaf: true, ..PLAIN }, |_| ());
    let lost = answers(&record).1.lost.as_ref().unwrap();
    assert!(lost.contains("did not say what it had") && record.validity.has(ReasonCode::WitnessLost), "{lost}");
}

#[test]
fn a_witness_whose_pulses_do_not_arrive_is_told_apart_and_ends_the_run() {
    let wire = MadeUp::default();
    let began = Instant::now();
    let (record, _) = measured(&wire, Script { is_cut: true, ..PLAIN }, |request| {
        request.end = RunEnd::After(Ns::from_s(600));
    });
    assert!(began.elapsed() < Duration::from_secs(60));
    assert!(record.validity.is_invalid() && record.validity.has(ReasonCode::NoSamples));
    assert!(answers(&record).1.lost.as_ref().unwrap().contains("no edge of its pulse came"));
}

#[test]
fn a_write_that_fails_ends_the_run_with_its_reason() {
    let wire = MadeUp::default();
    wire.0.0.lock().unwrap().fails_at = Some(120);
    let (record, _) = measured(&wire, PLAIN, |_| ());
    assert!(record.validity.has(ReasonCode::OutputFailed), "{:?}", record.validity);
}

#[test]
fn a_write_that_fails_while_the_thread_warms_up_ends_the_run_with_its_reason() {
    let wire = MadeUp::default();
    wire.0.0.lock().unwrap().fails_at = Some(5);
    let (record, _) = measured(&wire, PLAIN, |_| ());
    assert!(record.validity.has(ReasonCode::OutputFailed), "{:?}", record.validity);
    let run = record.answers().unwrap();
    assert_eq!((run.edges, run.warm_up), (5, 5), "nothing is answered after that");
}

#[test]
fn without_a_witness_a_run_ends_at_its_time() {
    let machine = Machine::read();
    let request = AnswerRequest {
        cpu: machine.usable().first(),
        policy: PolicyChoice::Other,
        end: RunEnd::After(Ns::from_ms(200)),
        ..AnswerRequest::default()
    };
    let plan = AnswerPlan::new(request, &machine).unwrap();
    let wire = MadeUp::default();
    let others = wire.clone();
    let pulsing = std::thread::spawn(move || (0..).take_while(|_| others.pulse(0)).count());
    let context = RunContext::default();
    let record = measure_by(wire, None, &plan, &context, &Stop::new(), &mut Silent, None).unwrap();
    let run = record.answers().unwrap();
    assert_eq!(run.witness, None);
    assert!(run.edges.abs_diff(u64::try_from(pulsing.join().unwrap()).unwrap()) <= 1);
}

#[test]
fn answers_that_cannot_be_ours_contradict_the_run() {
    let own = AnswerRun { edges: 100, ..AnswerRun::default() };
    let said = |in_histogram, min_ns, overruns| AnswerWitness {
        in_histogram,
        samples: 90,
        overruns,
        min_ns: Some(min_ns),
        max_ns: Some(40_000),
        ..AnswerWitness::default()
    };
    let contradicts = |witness: AnswerWitness| {
        of_witness(&witness, Some(&own), Some(20_000)).iter().any(|(code, _)| *code == ReasonCode::WitnessContradicts)
    };
    assert!(!contradicts(said(100, 19_700, 0)) && contradicts(said(101, 19_700, 0)), "somebody else answers");
    let without_histogram = AnswerWitness { samples: 101, ..said(0, 19_700, 0) };
    assert!(contradicts(without_histogram), "lost before its histogram, and its frames have more than were answered");
    assert!(contradicts(said(100, 19_500, 0)), "shorter than a part of it");
    assert!(!contradicts(said(100, 500, 1)), "one that came after it had been given up is short by its fault");
}

#[test]
fn what_lies_in_the_last_cell_has_no_bound_where_no_frame_has_it() {
    let mut cells = vec![0; 1_000];
    (cells[30], cells[999]) = (5, 1);
    let of = |max_ns| {
        let witness = AnswerWitness { max_ns, samples: 6, in_histogram: 6, ..AnswerWitness::default() };
        by_witness(&Said { witness, cells: cells.clone() }).unwrap()
    };
    assert!(of(Some(30_400)).uncertainty.unwrap().is_unknown());
    let exact = of(Some(2_345_678));
    assert_eq!((exact.histogram.max_ns(), exact.uncertainty, exact.taken()), (Some(2_345_678), None, 6));
}
