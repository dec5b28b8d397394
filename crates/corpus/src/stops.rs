//! Runs whose CPUs were taken away at known moments, and the events that a recorder would have recorded.
//!
//! Nothing here states the cause. The program's own rules explain each late wake-up from the simulated events and
//! counters, so that the cause they name can be compared with what really took the CPU.

use analysis::cause::{
    Around, BelowKernel, Counted, Event, Evidence, Frame, Late as LateSample, Surroundings, Thread, Totals, What,
    explain, explain_by_counters, put_remedies,
};
use analysis::rhythm::{self, LateThread, LateWakeup, ScanInput, scan, with_causes};
use record::{ExplainedSample, Explanation, Owner, Record};
use units::Random;
use units::approx_f64;

use crate::draw::{FIRST_CPU, Late, Plan, moment, run_with};
use crate::truth::{Process, SECOND_NS};

/// Time from the end of a stop until the measuring thread runs its own code (ns).
const RESUME_NS: u64 = 6_000;
/// Above the latency of every undisturbed wake-up (ns): four times the body's median.
const BODY_NS: u64 = 32_000;
/// Time between two readings of the counters (ns).
const WINDOW_NS: i64 = 20_000_000;
/// The chance that a counter which hardly ever changes does so around a sample by accident (0 to 1).
const SELDOM: f64 = 0.01;
/// Time slice of an ordinary thread (ns).
const SLICE_NS: i64 = 3_000_000;
/// The kernel's number of SCHED_FIFO.
const FIFO: u32 = 1;

/// What takes a CPU away.
#[derive(Clone, Debug)]
pub(crate) enum Taker {
    /// A thread that runs all that time: it outranks the measuring thread or keeps preemption off.
    Thread(Thread),
    /// The same, but only the kernel's counters are read.
    CountedThread(Thread),
    /// Something unseen, while a thread ran for as long on another CPU; only the kernel's counters are read.
    UnseenBeside(Thread),
    /// The kernel throttles real-time threads; two ordinary threads take turns meanwhile.
    Limit,
    /// A thread keeps interrupts off in this kernel function.
    InterruptsOff(Thread, &'static str),
    /// A softirq of this name, which ran on the measured CPU.
    Softirq(&'static str),
    /// The host stops the CPU.
    Host {
        /// The running thread according to the trace, and the kernel function in which it was stopped; `None`: the CPU
        /// was idle.
        stopped: Option<(Thread, &'static str)>,
        /// Whether the steal time shows it.
        is_counted: bool,
    },
}

/// A time span in which a CPU was unavailable.
#[derive(Clone, Debug)]
pub(crate) struct Stop {
    pub(crate) cpu: u32,
    /// Start of the stop (ns from the run's start).
    pub(crate) from_ns: u64,
    pub(crate) length_ns: u64,
    pub(crate) taker: Taker,
}

impl Stop {
    fn to_ns(&self) -> u64 {
        self.from_ns + self.length_ns
    }
}

/// A thread of SCHED_FIFO.
pub(crate) fn fifo(name: &str, priority: i32) -> Thread {
    Thread { tid: 900, name: name.to_owned(), prio: 99 - priority, policy: FIFO, owner: Owner::Other }
}

/// A thread of SCHED_DEADLINE.
pub(crate) fn deadline(name: &str) -> Thread {
    Thread { prio: -1, policy: 6, ..fifo(name, 0) }
}

/// A thread of SCHED_OTHER.
pub(crate) fn ordinary(name: &str) -> Thread {
    Thread { prio: 120, policy: 0, ..fifo(name, 0) }
}

/// Stops of one CPU at random moments, `each_second` on average, with lengths between two bounds (ns).
pub(crate) fn at_random(
    cpu: u32,
    plan: &Plan,
    each_second: f64,
    (low_ns, high_ns): (u64, u64),
    taker: &Taker,
    random: &mut Random,
) -> Vec<Stop> {
    let mut stops = Vec::new();
    let mut at = 0.0;
    loop {
        at -= random.unit().ln() / each_second * approx_f64(SECOND_NS);
        let length_ns = between(low_ns, high_ns, random);
        if at + approx_f64(length_ns) >= approx_f64(plan.took_ns) {
            return stops;
        }
        stops.push(Stop { cpu, from_ns: units::round_u64(at), length_ns, taker: taker.clone() });
    }
}

/// Stops of one CPU that end at one phase of a period (ns), in four of five periods.
pub(crate) fn periodic(
    cpu: u32,
    plan: &Plan,
    (period_ns, phase_ns): (f64, f64),
    (low_ns, high_ns): (u64, u64),
    taker: &Taker,
    random: &mut Random,
) -> Vec<Stop> {
    let mut stops = Vec::new();
    let mut to = phase_ns % period_ns + period_ns;
    while to < approx_f64(plan.took_ns) {
        let length_ns = between(low_ns, high_ns, random);
        if random.unit() < 0.8 {
            let from_ns = units::round_u64(to).saturating_sub(length_ns);
            stops.push(Stop { cpu, from_ns, length_ns, taker: taker.clone() });
        }
        to += period_ns;
    }
    stops
}

fn between(low_ns: u64, high_ns: u64, random: &mut Random) -> u64 {
    low_ns + units::round_u64(random.unit() * approx_f64(high_ns - low_ns))
}

/// Draws a run of quiet wake-ups with these stops, each of them explained as far as `surroundings` allow.
pub(crate) fn stopped(plan: &Plan, mut stops: Vec<Stop>, surroundings: &Surroundings, random: &mut Random) -> Record {
    let process = Process::quiet();
    stops.sort_by_key(|stop| stop.from_ns);
    let late: Vec<(Late, &Stop)> = stops.iter().filter_map(|stop| Some((late_by(stop, plan)?, stop))).collect();
    let besides: Vec<Late> = late.iter().map(|(one, _)| *one).collect();
    let mut record = run_with(&process, plan, &besides, random);
    let is_virtual = surroundings.is_virtual == Some(true);
    let mut totals = Totals::with_deadline(plan.deadline_ns);
    let interval_ns = signed(plan.interval_ns);
    let mut explained: Vec<(ExplainedSample, BelowKernel)> =
        late.iter().map(|(one, stop)| explain_one(one, stop, interval_ns, is_virtual)).collect();
    explained.sort_by_key(|(sample, _)| sample.woke.monotonic.as_ns());
    explained.into_iter().for_each(|(sample, place)| totals.add(sample, place));
    let outliers = totals.explained();
    let (mut causes, samples) = totals.finish(|_| None);
    put_remedies(&mut causes, surroundings);
    record.late_samples.explanation = Some(Explanation {
        sources: vec!["programs in the kernel".to_owned()],
        above_ns: Some(BODY_NS),
        outliers,
        explained: outliers,
        causes,
        samples,
        ..Explanation::default()
    });
    record
}

/// Searches a run for rhythms, as `measure` does at its end.
pub(crate) fn find_rhythms(record: &mut Record, plan: &Plan, stops: &[Stop], surroundings: &rhythm::Surroundings) {
    let thread = |cpu: u32| {
        let of_cpu = stops.iter().filter(|stop| stop.cpu == cpu).filter_map(|stop| late_by(stop, plan));
        let late = of_cpu.map(|one| LateWakeup { scheduled_ns: signed(one.at_ns), latency_ns: one.latency_ns });
        let mut wakeups: Vec<LateWakeup> = late.filter(|one| one.latency_ns > BODY_NS).collect();
        wakeups.sort_by_key(|one| one.scheduled_ns);
        LateThread { cpu: Some(cpu), interval_ns: plan.interval_ns, wakeups }
    };
    let threads: Vec<LateThread> = (FIRST_CPU..FIRST_CPU + plan.cpus).map(thread).collect();
    let mut found = scan(&ScanInput {
        threads: &threads,
        started_ns: 0,
        ended_ns: signed(plan.took_ns),
        realtime_offset_ns: 0,
        body_ns: BODY_NS,
        deadline_ns: plan.deadline_ns,
        jittered: false,
        surroundings,
    });
    if let Some(explanation) = record.explanation() {
        with_causes(&mut found, explanation, 0);
    }
    record.late_samples.rhythm = Some(found);
}

/// The first wake-up that falls into a stop. The threads' schedules have different phases.
fn late_by(stop: &Stop, plan: &Plan) -> Option<Late> {
    let phase_ns = u64::from(stop.cpu - FIRST_CPU) * 370_001 % plan.interval_ns;
    let turns = stop.from_ns.saturating_sub(phase_ns) / plan.interval_ns + 1;
    let at_ns = phase_ns + turns * plan.interval_ns;
    let latency_ns = stop.to_ns().checked_sub(at_ns)? + RESUME_NS;
    Some(Late { cpu: stop.cpu, at_ns, latency_ns, cause: None })
}

fn signed(ns: u64) -> i64 {
    i64::try_from(ns).unwrap_or(i64::MAX)
}

/// What a counter would have shown around the sample: by how much it changed.
const fn around(count: u64) -> Option<Around> {
    Some(Around { count, window_ns: WINDOW_NS, chance: SELDOM })
}

/// The program's own explanation of a late wake-up, and what was known about the layers below the kernel.
fn explain_one(one: &Late, stop: &Stop, interval_ns: i64, is_virtual: bool) -> (ExplainedSample, BelowKernel) {
    let thread = one.cpu - FIRST_CPU;
    // FIFO 98, as in the record.
    let own = Thread { tid: 1_000 + thread, owner: Owner::Instrument, ..fifo("punctual-w0", 98) };
    let late = LateSample {
        thread,
        cpu: one.cpu,
        scheduled: moment(one.at_ns),
        woke: moment(one.at_ns + one.latency_ns),
        scheduled_ns: signed(one.at_ns),
        latency_ns: signed(one.latency_ns),
        typical_ns: 8_000,
        interval_ns: Some(interval_ns),
        own: own.clone(),
    };
    let mut place = BelowKernel { is_virtual, has_smis: true, steal_ns: around(0), smi: around(0), heat: None };
    let by_counters = |ran: &Thread, waited_ns: u64, place| {
        let ran = vec![(ran.clone(), stop.length_ns)];
        let counted =
            Counted { window_ns: WINDOW_NS, waited_ns: Some(waited_ns), faults: Some(0), ran, ..Counted::default() };
        (explain_by_counters(&late, &counted, place), place)
    };
    match &stop.taker {
        Taker::CountedThread(rival) => return by_counters(rival, one.latency_ns - RESUME_NS, place),
        Taker::UnseenBeside(other) => return by_counters(other, 0, place),
        Taker::Host { is_counted: true, .. } => place.steal_ns = around(stop.length_ns),
        Taker::Thread(_) | Taker::Limit | Taker::InterruptsOff(..) | Taker::Softirq(_) | Taker::Host { .. } => {}
    }
    let events = events(one, stop, &own);
    (explain(&late, &Evidence { events, late_timers: true, ..Evidence::default() }, place), place)
}

/// The events that the recorder would have recorded.
fn events(one: &Late, stop: &Stop, own: &Thread) -> Vec<Event> {
    let (from_ns, to_ns, due_ns) = (signed(stop.from_ns), signed(stop.to_ns()), signed(one.at_ns));
    let at = |time_ns: i64, what: What| Event { time_ns, what };
    let switch = |time_ns: i64, from: &Thread, to: &Thread| {
        at(time_ns, What::Switch { from: from.tid, from_prio: from.prio, to: to.clone() })
    };
    let idle = Thread { tid: 0, name: "swapper".to_owned(), prio: 120, ..Thread::default() };
    let late_timer = |function: Option<&str>| {
        let entered = ["hrtimer_interrupt", "asm_sysvec_apic_timer_interrupt"].into_iter().chain(function);
        let stack = entered.map(str::to_owned).collect();
        at(to_ns, What::LateTimer { expires_ns: due_ns, stack, followed_for_ns: 0 })
    };
    match &stop.taker {
        Taker::Thread(thread) => vec![switch(from_ns, &idle, thread), switch(to_ns, thread, own)],
        Taker::InterruptsOff(thread, function) | Taker::Host { stopped: Some((thread, function)), is_counted: _ } => {
            vec![
                switch(from_ns - 20_000, &idle, thread),
                late_timer(Some(*function)),
                switch(to_ns + 4_000, thread, own),
            ]
        }
        Taker::Host { stopped: None, is_counted: _ } => vec![switch(due_ns - 500_000, own, &idle), late_timer(None)],
        Taker::Limit => {
            let threads = [ordinary("sshd"), Thread { tid: 901, ..ordinary("journald") }];
            let mut events = vec![switch(from_ns, &fifo("hog", 50), &threads[0])];
            let mut turn = 0;
            while from_ns + (signed(turn) + 1) * SLICE_NS < to_ns {
                let [gives, takes] = if turn % 2 == 0 { [0, 1] } else { [1, 0] };
                turn += 1;
                events.push(switch(from_ns + signed(turn) * SLICE_NS, &threads[gives], &threads[takes]));
            }
            events.push(switch(to_ns, &threads[usize::from(turn % 2 == 1)], own));
            events
        }
        Taker::Softirq(name) => {
            let frame = || Frame::Softirq((*name).to_owned());
            vec![at(from_ns, What::Enter(frame())), at(to_ns, What::Leave(frame())), switch(to_ns + 4_000, &idle, own)]
        }
        Taker::CountedThread(_) | Taker::UnseenBeside(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use record::{CauseClass, Place};

    use super::*;

    #[test]
    fn a_stop_delays_its_first_wake_up_and_the_rest_are_missed() {
        let plan = Plan::seconds(60).on(2);
        let stop = |cpu, from_ns, length_ns| Stop { cpu, from_ns, length_ns, taker: Taker::Limit };
        let late = late_by(&stop(2, 1_500_000, 2_600_000), &plan).unwrap();
        assert_eq!((late.at_ns, late.latency_ns), (2_000_000, 2_100_000 + RESUME_NS));
        assert!(late_by(&stop(2, 1_100_000, 800_000), &plan).is_none(), "it fell between two wake-ups");
        assert_eq!(late_by(&stop(3, 1_500_000, 2_600_000), &plan).unwrap().at_ns, 2_370_001);
        let stops = vec![stop(2, 1_500_000, 2_600_000)];
        let record = stopped(&plan, stops, &Surroundings::default(), &mut Random::new(1));
        assert_eq!(record.series[0].counters.missed_periods, 2);
        assert_eq!(record.samples() + 2, 120_000);
        assert_eq!(record.worst_of_all().unwrap(), (2_106_000, &Place::thread(0, Some(2))));
    }

    #[test]
    fn the_rules_of_the_program_find_what_took_the_cpu() {
        let found = |taker: Taker| {
            let stop = Stop { cpu: 2, from_ns: 1_500_000, length_ns: 50_000_000, taker };
            let (explained, _) = explain_one(&late_by(&stop, &Plan::seconds(1)).unwrap(), &stop, 1_000_000, true);
            (explained.class, explained.name)
        };
        assert_eq!(found(Taker::Limit).0, CauseClass::Throttle);
        assert_eq!(found(Taker::Thread(fifo("hog", 99))), (CauseClass::Thread, "hog (fifo 99)".to_owned()));
        assert_eq!(found(Taker::Thread(ordinary("hog"))).0, CauseClass::PreemptionOff);
        assert_eq!(found(Taker::CountedThread(fifo("hog", 99))).0, CauseClass::Thread);
        assert_eq!(found(Taker::UnseenBeside(fifo("hog", 99))).0, CauseClass::Unknown);
        assert_eq!(found(Taker::Softirq("NET_RX")).0, CauseClass::Softirq);
        let stopped = Some((ordinary("stress-ng"), "iowrite16"));
        assert_eq!(found(Taker::Host { stopped: stopped.clone(), is_counted: false }).0, CauseClass::InterruptsOff);
        assert_eq!(found(Taker::Host { stopped, is_counted: true }).0, CauseClass::Steal);
        assert_eq!(found(Taker::Host { stopped: None, is_counted: true }).0, CauseClass::Steal);
        assert_eq!(found(Taker::Host { stopped: None, is_counted: false }).0, CauseClass::Unknown);
    }
}
