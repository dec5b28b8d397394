//! A run as a whole, over a made-up wire whose edges come from a witness of our own: it does what `latmon` does, faults included, of
//! latencies that are stated.

mod told;

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
use record::{
    AnswerRequest, AnswerRun, AnswerWitness, Interval, PolicyChoice, ReasonCode, RunEnd, Series, VerdictState,
};
use units::Ns;

use super::hot::AnswerLoop;
use super::threads::WARMING;
use super::*;
use crate::live::Silent;
use crate::machine::Machine;
use crate::ring::{Pair, Ring, Slot};

/// A made-up input and output, whose edges somebody else makes.
#[derive(Clone, Default)]
pub(super) struct MadeUp(Arc<(Mutex<Pins>, Condvar)>);

#[derive(Default)]
struct Pins {
    /// Numbers of the edges that wait to be reported.
    events: VecDeque<u32>,
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
    /// A first edge, which is not waited for.
    fn edge(&self) {
        self.0.0.lock().unwrap().events.push_back(1);
    }

    /// Makes a falling edge, and waits until it was answered; whether it was. `lost` edges before it find no room in the kernel.
    fn pulse(&self, lost: u32) -> bool {
        let (pins, changed) = &*self.0;
        let mut pins = pins.lock().unwrap();
        let before = pins.answers;
        pins.number += 1 + lost;
        let number = pins.number;
        pins.events.push_back(number);
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

    /// The kernel stamps an edge just before it reports it, so that little of the machine's own lateness is in any latency; those by
    /// which the thread is warmed up, which nobody sees, later than that.
    fn wait(&self, _: i32) -> Result<Waited, CallFailed> {
        let (pins, changed) = &*self.0;
        let mut pins = pins.lock().unwrap();
        while pins.events.is_empty() && !pins.is_ended {
            pins = changed.wait(pins).unwrap();
        }
        let ahead_ns = if pins.answers < WARMING { 1_000_000_000 } else { 0 };
        let at_ns = kernel::clock::now_ns(KernelClock::from(CLOCK)) + ahead_ns;
        Ok(pins.events.pop_front().map_or(Waited::Nothing, |number| Waited::Edge(Edge { at_ns, number })))
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
    /// It waits for its period before each pulse but those of its warm-up; else it makes one right after the other.
    has_pauses: bool,
}

const PLAIN_FAULTS: Faults = Faults { ends_at_overrun: false, unsent_frame: None, left_over_ns: None };

const PLAIN: Script = Script {
    latency_ns: |_| Some(30_000),
    faults: PLAIN_FAULTS,
    lost: 0,
    hangs_up_at: u64::MAX,
    is_cut: false,
    is_deaf: false,
    has_pauses: false,
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
        if script.has_pauses {
            std::thread::sleep(Duration::from_micros(service.pause_us().into()));
        }
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
    measured_into(wire, script, change, None)
}

/// The same, whose intervals somebody takes over.
fn measured_into(
    wire: &MadeUp,
    script: Script,
    change: impl FnOnce(&mut AnswerRequest),
    sink: Option<&dyn IntervalSink>,
) -> (Record, Truth) {
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
    let dialog = Dialog::open(&plan, &Stop::new()).unwrap();
    let context = RunContext::default();
    let record = measure_by(wire.clone(), dialog, &plan, &context, &Stop::new(), &mut Silent, sink).unwrap();
    (record, serving.join().unwrap())
}

/// What the witness must have seen at least, since it took so long here (ns): this machine can be later than what is stated.
fn least_seen_ns(record: &Record) -> u64 {
    let woke = series(record, "event_to_woke").unwrap();
    let spoiled = woke.spoiled.intervals.iter().filter_map(|one| u64::try_from(one.worst_ns?).ok());
    let longest_ns = woke.histogram.max_ns().into_iter().chain(spoiled).max().unwrap_or(0);
    longest_ns - longest_ns * 2 / 100
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
    let least_ns = least_seen_ns(&record);
    let forgotten = u64::from(least_ns > 87_654);
    assert_eq!(by_witness.taken(), truth.answers + forgotten);
    assert_eq!(by_witness.histogram.max_ns(), Some(least_ns.max(87_654)));
    assert_eq!((by_witness.uncertainty.is_some(), by_witness.resolution_ns), (forgotten == 1, Some(1_000)));
    assert_eq!(record.validity.has(ReasonCode::WitnessOverran), forgotten == 1);
    assert!(by_witness.judged && !series(&record, "event_to_answered").unwrap().judged, "each answer is judged once");
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
    let least_ns = least_seen_ns(&record);
    assert_eq!(by_witness.histogram.max_ns(), Some(least_ns.max(1_000_000)));
    let verdict = record.verdict.as_ref().unwrap();
    let expected = if least_ns > 5_000_000 { VerdictState::Broken } else { VerdictState::CannotTell };
    assert_eq!(verdict.state, expected, "{}", verdict.reason);
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
        faults: Faults { ends_at_overrun: true, ..PLAIN_FAULTS },
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
        faults: Faults { ends_at_overrun: true, ..PLAIN_FAULTS },
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
    wire.edge();
    let (woke, done) = (Ring::new(64), Ring::new(64));
    let hot = AnswerLoop {
        wire: &wire,
        clock: KernelClock::from(CLOCK),
        most: 1,
        last_number: 0,
        answered: &AtomicU64::new(0),
        overflowed: &AtomicU64::new(0),
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
    assert_eq!((woke.len(), done.len(), woke[0].first_ns), (1, 1, done[0].first_ns));
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
        Script { latency_ns, faults: Faults { unsent_frame: Some(0), ..PLAIN_FAULTS }, ..PLAIN },
        |request| {
            request.deadline = Some(Ns(70_400));
        },
    );
    check_truth(&record, &truth);
    assert_eq!((truth.unsent, truth.sessions), (100, 2), "it stops with that, and is asked again");
    let by_witness = series(&record, "edge_to_answer").unwrap();
    let least_ns = least_seen_ns(&record);
    if least_ns > 70_999 {
        assert_eq!(by_witness.histogram.max_ns(), Some(least_ns));
        assert!(by_witness.uncertainty.unwrap().is_unknown());
        return;
    }
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
fn of_a_witness_that_was_lost_after_an_overrun_each_answer_is_judged_once_and_the_overrun_decides() {
    let verdict = |deadline: Ns| {
        let script = Script { latency_ns: |n| (n != 250).then_some(30_000), hangs_up_at: 320, ..PLAIN };
        let (record, _) = measured(&MadeUp::default(), script, |request| request.deadline = Some(deadline));
        let (witness, own) = (answers(&record).1.clone(), series(&record, "event_to_answered").unwrap());
        // It has sent the frame with that overrun, and no histogram.
        let judged: Vec<&str> = record.series.iter().filter(|one| one.judged).map(|one| one.name.as_str()).collect();
        assert_eq!((judged, witness.overruns), (vec!["event_to_answered"], 1));
        let verdict = record.verdict.clone().unwrap();
        assert_eq!(verdict.deciding.as_ref().unwrap().samples, own.taken());
        (verdict.state, verdict.reason)
    };
    let (state, reason) = verdict(Ns::from_us(900));
    assert_eq!(state, VerdictState::Broken, "{reason}");
    let (state, reason) = verdict(Ns::from_s(100));
    assert_eq!(state, VerdictState::CannotTell, "{reason}");
    assert!(reason.contains("1 overrun") && !reason.contains("at least"), "{reason}");
}

/// As `latmon` does where its last run ended just as a second was over.
#[test]
fn a_frame_that_an_earlier_run_left_in_the_witness_is_none_of_this_one() {
    let faults = Faults { left_over_ns: Some(400_000), ..PLAIN_FAULTS };
    let (record, truth) = measured(&MadeUp::default(), Script { faults, has_pauses: true, ..PLAIN }, |_| ());
    check_truth(&record, &truth);
    let (_, witness) = answers(&record);
    assert_eq!((witness.left_over_frames, witness.max_ns, witness.warm_up), (1, Some(30_000), 100));
    assert!(!record.validity.has(ReasonCode::WitnessContradicts));
    let longest_ns = series(&record, "edge_to_answer").unwrap().histogram.max_ns();
    assert_eq!(longest_ns, Some(least_seen_ns(&record).max(30_000)));
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

/// What was handed on of a run while it went on.
#[derive(Default)]
struct Handed(Mutex<Vec<Record>>);

impl IntervalSink for Handed {
    fn take(&self, _: Vec<(usize, Interval)>, so_far: Record) {
        self.0.lock().unwrap().push(so_far);
    }

    fn replace(&self, _: Record) {}
}

#[test]
fn the_file_of_a_run_that_still_goes_on_has_its_edges_and_what_its_witness_has_said() {
    let handed = Handed::default();
    let script = Script { has_pauses: true, ..PLAIN };
    let change = |request: &mut AnswerRequest| {
        (request.end, request.interval_maximum) = (RunEnd::Samples(550), Some(Ns::from_ms(100)));
    };
    measured_into(&MadeUp::default(), script, change, Some(&handed));
    let mut handed = handed.0.into_inner().unwrap();
    // The rest is handed on with the record of the run that is over.
    handed.pop();
    assert!(!handed.is_empty());
    for so_far in &handed {
        let (run, witness) = answers(so_far);
        let own = series(so_far, "event_to_answered").unwrap();
        assert!(run.edges >= own.taken() + run.warm_up && run.warm_up == WARMING, "{run:?}");
        assert!(witness.lost.as_ref().unwrap().contains("cut short") && witness.address.contains("127.0.0.1"));
        assert!(own.judged && so_far.validity.has(ReasonCode::WitnessLost));
    }
    assert!(handed.iter().any(|so_far| answers(so_far).1.samples >= 100), "the frames that came until then");
}

#[test]
fn a_number_of_answers_is_waited_for_while_a_witness_is_noticed_to_have_stopped_and_asked_again() {
    let machine = Machine::read();
    let last_turn_of = |interval: Ns, end: RunEnd| {
        let cpu = machine.usable().first();
        let plan = AnswerPlan::new(AnswerRequest { cpu, interval, end, ..AnswerRequest::default() }, &machine);
        last_turn(&plan.unwrap())
    };
    // Twenty periods without an edge, three seconds to its end, and a period to the next edge.
    assert_eq!(last_turn_of(Ns::from_ms(500), RunEnd::Samples(100)), Duration::from_millis(13_500));
    assert_eq!(last_turn_of(Ns::from_ms(1), RunEnd::Samples(100)), Duration::from_millis(5_001));
    assert_eq!(last_turn_of(Ns::from_ms(500), RunEnd::After(Ns::from_s(50))), LAST_TURN);
}
