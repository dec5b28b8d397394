//! What the verdict of one run has to say about its deadline.

use analysis::verdict;
use record::{Measurement, ReasonCode, Record, VerdictState};
use units::Random;

use super::Case;
use crate::draw::{FIRST_CPU, Late, Plan, run, run_with};
use crate::outcome::{Concluded, Fault, Judgment};
use crate::truth::{Disturbance, Process, SECOND_NS};

const DEADLINE_NS: u64 = 100_000;
const HALF_A_SECOND_NS: u64 = 501_000_000;

fn judge(record: &Record, right: VerdictState) -> Concluded {
    let verdict = verdict(record, DEADLINE_NS);
    let judgment = match (verdict.state, right) {
        (found, right) if found == right => Judgment::Right,
        (VerdictState::CannotTell, _) => Judgment::Refused,
        (VerdictState::Holds, _) => Judgment::Wrong(Fault::FalsePass),
        (VerdictState::Broken, _) => Judgment::Wrong(Fault::FalseBroken),
    };
    Concluded::new(judgment, verdict.reason)
}

fn ended_after(took_ns: u64, right: VerdictState) -> impl Fn(&mut Random) -> Concluded {
    move |random| judge(&run(&Process::quiet(), &Plan::seconds(60).on(2).ended_after(took_ns), random), right)
}

fn invalid(code: ReasonCode) -> impl Fn(&mut Random) -> Concluded {
    move |random| {
        let mut record = run(&Process::quiet(), &Plan::seconds(20), random);
        record.validity.add(code, "seen");
        judge(&record, VerdictState::CannotTell)
    }
}

/// A run in which the CPU was unavailable once, for `length_ns`. `reason` is what the instrument adds to the validity
/// if it detected a stop.
fn late_by(length_ns: u64, reason: Option<ReasonCode>, random: &mut Random) -> Record {
    let plan = Plan::seconds(60);
    let at_ns = units::round_u64(random.unit() * 5e10);
    let late = Late { cpu: FIRST_CPU, at_ns, latency_ns: length_ns, cause: None };
    let mut record = run_with(&Process::quiet(), &plan, &[late], random);
    if let Some(code) = reason {
        record.validity.add(code, "CPU 2");
    }
    record
}

pub(super) fn cases() -> Vec<Case> {
    let broken = || Process::quiet().with(Disturbance::bounded("irq/24-eth0", 2_000.0, 150.0, 400.0));
    vec![
        Case::answerable("a quiet run", |random| {
            judge(&run(&Process::quiet(), &Plan::seconds(60), random), VerdictState::Holds)
        }),
        Case::answerable("delays just below the deadline", |random| {
            let process = Process::quiet().with(Disturbance::bounded("irq/24-eth0", 4_000.0, 60.0, 80.0));
            judge(&run(&process, &Plan::seconds(60), random), VerdictState::Holds)
        }),
        Case::answerable("delays beyond the deadline", move |random| {
            judge(&run(&broken(), &Plan::seconds(60), random), VerdictState::Broken)
        }),
        Case::answerable("a run that was requested as short", |random| {
            judge(&run(&Process::quiet(), &Plan::seconds(2), random), VerdictState::Holds)
        }),
        Case::open("ended by Ctrl-C after two wake-ups", ended_after(2_000_000, VerdictState::CannotTell)),
        Case::open("ended by Ctrl-C before the first wake-up", ended_after(0, VerdictState::CannotTell)),
        Case::open("ended by Ctrl-C after a tenth", ended_after(6 * SECOND_NS, VerdictState::CannotTell)),
        Case::answerable("ended by Ctrl-C near its end", ended_after(57 * SECOND_NS, VerdictState::Holds)),
        Case::answerable("ended by Ctrl-C after a tenth, already broken", |random| {
            let process = Process::quiet().with(Disturbance::bounded("irq/24-eth0", 20_000.0, 150.0, 400.0));
            judge(&run(&process, &Plan::seconds(60).ended_after(6 * SECOND_NS), random), VerdictState::Broken)
        }),
        Case::open("one of two threads without a sample", |random| {
            let mut record = run(&Process::quiet(), &Plan::seconds(20).on(2), random);
            record.series[1].histogram = record::Histogram::new();
            record.series[1].intervals.clear();
            record.series[1].counters.samples = 0;
            judge(&record, VerdictState::CannotTell)
        }),
        Case::open("real-time throttling", invalid(ReasonCode::RtThrottled)),
        Case::open("stopped for half a second by SIGSTOP, which the run reports", |random| {
            judge(&late_by(HALF_A_SECOND_NS, Some(ReasonCode::Stopped), random), VerdictState::CannotTell)
        }),
        Case::open("stopped for 50 ms by the limit on real-time threads, which the run reports", |random| {
            judge(&late_by(50_000_000, Some(ReasonCode::RtThrottled), random), VerdictState::CannotTell)
        }),
        Case::answerable("late by half a second, and no stop was reported", |random| {
            judge(&late_by(HALF_A_SECOND_NS, None, random), VerdictState::Broken)
        }),
        Case::answerable("a rival real-time thread was allowed on the CPU, and nothing was late", |random| {
            let mut record = run(&Process::quiet(), &Plan::seconds(20), random);
            record.validity.add(ReasonCode::RivalRealtime, "hog (fifo 99) on CPU 2");
            judge(&record, VerdictState::Holds)
        }),
        Case::open("samples dropped", invalid(ReasonCode::SamplesDropped)),
        Case::open("the clock was stepped", invalid(ReasonCode::ClockStepped)),
        Case::open("a noise measurement that was ended at once", |random| {
            let mut record = run(&Process::quiet(), &Plan::seconds(60).ended_after(0), random);
            record.measurement = Measurement::Noise;
            record.validity = record::Validity::default();
            judge(&record, VerdictState::CannotTell)
        }),
    ]
}
