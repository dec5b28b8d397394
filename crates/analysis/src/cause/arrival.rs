//! Why a program had a packet late that its kernel already had: the packet waited until the receiver was woken, the receiver
//! until it ran, or the program itself until it asked.
//!
//! Nothing here assumes a timer. The kernel's stamp may have been taken on any CPU, and which one the packet then waited for
//! is not recorded: of the time before the receiver was woken nothing is ever *shown*. A thread is blamed for it only where it
//! had the CPU that later woke the receiver, which can run there alone, and outranks it.

use std::collections::BTreeMap;

use record::{CauseClass, Certainty, DelayPart, ExplainedSample, ReceiveMode};
use units::format;

use super::below_kernel::{BelowKernel, NOTHING_RAN, below};
use super::classify::{EXIT_LATENCY_FACTOR, drawn, judge_silence, least_of_a_stop_ns, weighed};
use super::conclusion::Conclusion;
use super::event::{Event, Frame, What, is_ordinary};
use super::evidence::{Evidence, Late, Leg};
use super::parts::{Judged, Phase, net_ns};

/// The end of the names of causes that lie before the receiver was woken.
pub(super) const BEFORE_WAKING: &str = ", before the receiver was woken";

/// What is known of a receiver beside its thread.
#[derive(Clone, Copy, Debug)]
pub struct Receiver {
    /// How it waits for packets.
    pub mode: ReceiveMode,
    /// Whether it can run on one CPU alone.
    pub is_pinned: bool,
    /// Whether it is recorded, on every CPU, when it is woken.
    pub wakings: bool,
}

/// How the receiver came to its packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waking {
    /// It slept, and was woken at that moment (ns, CLOCK_MONOTONIC) by that CPU.
    At { ns: i64, cpu: u32 },
    /// It was awake before: it ran.
    Awake,
    /// It was woken before the packet came, at that moment (ns, CLOCK_MONOTONIC) by that CPU, and had not run yet.
    Before { ns: i64, cpu: u32 },
    /// What was recorded does not say.
    Unknown,
}

/// What is known of a receiver's sleep between the kernel's stamp and the program.
#[derive(Clone, Copy, Debug)]
struct Sleep {
    /// The waking that matters.
    waking: Waking,
    /// How long a receiver that sleeps by its own schedule slept, all in all (ns).
    by_schedule_ns: i64,
    /// The part of that after `waking` (ns).
    later_ns: i64,
}

/// Explains why a receiver had a packet late: `late` begins with the kernel's stamp, and ends when the program had the packet
/// on `late.cpu`. `by_cpu` is what was recorded of every CPU, `place` what was counted of `late.cpu`.
#[must_use]
pub fn explain_arrival(
    late: &Late,
    receiver: Receiver,
    by_cpu: BTreeMap<u32, Evidence>,
    place: BelowKernel,
) -> ExplainedSample {
    let (from_ns, to_ns) = (late.scheduled.monotonic.as_ns(), late.woke.monotonic.as_ns());
    let sleep = sleep(late, receiver, &by_cpu, (from_ns, to_ns));
    let ready_ns = match sleep.waking {
        Waking::At { ns, .. } => ns,
        Waking::Awake | Waking::Before { .. } | Waking::Unknown => from_ns,
    };
    let Some(evidence) = along_way(late, sleep.waking, by_cpu, (from_ns, to_ns)) else {
        let why = format!(
            "what was recorded begins after the packet came: what was before was overwritten, or came while an earlier packet \
             was read{}",
            place.by_accident()
        );
        // Nothing is drawn where nothing is known.
        return Conclusion::unknown(why).explain(late);
    };
    let told_ns = match sleep.waking {
        // A CPU that wakes its own thread need not be told.
        Waking::At { ns, cpu } | Waking::Before { ns, cpu } if cpu == late.cpu => Some(ns),
        Waking::Before { ns, .. } => interrupted_after(&evidence.events, ns),
        _ => interrupted_after(&evidence.events, ready_ns),
    };
    let phase = match sleep.waking {
        Waking::At { ns, .. } | Waking::Before { ns, .. } => Phase::Woken { at_ns: ns, told_ns },
        Waking::Awake | Waking::Unknown => Phase::Awake,
    };
    let of_phase = |phase, window| Judged::of_packet(late, &evidence, place, phase, window);
    let before = of_phase(Phase::BeforeWaking { is_pinned: receiver.is_pinned }, (from_ns, ready_ns));
    let mut after = of_phase(phase, (ready_ns, to_ns));
    let case = Case { late, receiver, sleep, before_ns: ready_ns - from_ns, told_ns, evidence: &evidence, place };
    let conclusion = case.conclude(&before, &after);
    after.join(before);
    drawn(late, &evidence, place, conclusion, after)
}

/// When the receiver slept, as far as that is recorded.
fn sleep(late: &Late, receiver: Receiver, by_cpu: &BTreeMap<u32, Evidence>, (from_ns, to_ns): (i64, i64)) -> Sleep {
    let own = late.own.tid;
    let all = || by_cpu.iter().flat_map(|(cpu, of_cpu)| of_cpu.events.iter().map(|event| (*cpu, event)));
    let is_waking =
        |event: &Event| event.what == What::Woken { tid: own } && (from_ns..=to_ns).contains(&event.time_ns);
    let mut wakings: Vec<(i64, u32)> =
        all().filter(|(_, event)| is_waking(event)).map(|(cpu, event)| (event.time_ns, cpu)).collect();
    wakings.sort_unstable();
    let of = |waking| Sleep { waking, by_schedule_ns: 0, later_ns: 0 };
    let at = |(ns, cpu)| Waking::At { ns, cpu };
    let is_whole = receiver.wakings && !by_cpu.values().any(|of_cpu| of_cpu.lacks(from_ns));
    let (Some(first), Some(last)) = (wakings.first().copied(), wakings.last().copied()) else {
        // On a CPU whose beginning is missing it may have been woken.
        return of(if is_whole { waiting(late, by_cpu, from_ns) } else { Waking::Unknown });
    };
    // It takes all that is there before it sleeps: the packet was not there yet when it was woken before.
    if receiver.mode == ReceiveMode::Block {
        return of(at(last));
    }
    if !is_whole || by_cpu.values().any(|of_cpu| !of_cpu.own_switches) {
        return of(Waking::Unknown);
    }
    // A thread goes to sleep while it has a CPU: it slept since it gave that away. One that still has it is woken too, where its
    // timer fires before it has gone to sleep.
    let slept_from_ns = |waking_ns: i64| {
        let own_switches = all().filter(|(_, event)| event.time_ns <= waking_ns && is_switch_of(event, own));
        match own_switches.map(|(_, event)| event).max_by_key(|event| event.time_ns) {
            Some(Event { what: What::Switch { to, .. }, .. }) if to.tid == own => waking_ns,
            Some(event) => event.time_ns.max(from_ns),
            None => from_ns,
        }
    };
    let slept_ns = |(ns, _): &(i64, u32)| ns - slept_from_ns(*ns);
    let by_schedule_ns: i64 = wakings.iter().map(slept_ns).sum();
    let slept_at_first = slept_from_ns(first.0) == from_ns;
    let later_ns = by_schedule_ns - if slept_at_first { slept_ns(&first) } else { 0 };
    let waking = if slept_at_first { at(first) } else { waiting(late, by_cpu, from_ns) };
    Sleep { waking, by_schedule_ns, later_ns }
}

/// Of a receiver that was not woken after a moment (ns): whether it ran then, or waited for its CPU.
fn waiting(late: &Late, by_cpu: &BTreeMap<u32, Evidence>, from_ns: i64) -> Waking {
    let own = late.own.tid;
    // Where its switches may be missing it may have run meanwhile.
    let exact = by_cpu.iter().filter(|(_, of_cpu)| of_cpu.own_switches);
    let all = exact.flat_map(|(cpu, of_cpu)| of_cpu.events.iter().map(|event| (*cpu, event)));
    let of_own = all.filter(|(_, event)| match &event.what {
        What::Woken { tid } => *tid == own,
        _ => is_switch_of(event, own),
    });
    match of_own.filter(|(_, event)| event.time_ns <= from_ns).max_by_key(|(_, event)| event.time_ns) {
        Some((cpu, Event { time_ns, what: What::Woken { .. } })) => Waking::Before { ns: *time_ns, cpu },
        _ => Waking::Awake,
    }
}

fn is_switch_of(event: &Event, tid: u32) -> bool {
    matches!(&event.what, What::Switch { from, to, .. } if *from == tid || to.tid == tid)
}

/// When a CPU took the first interrupt from a moment on (both ns): the one by which another CPU tells it to run a thread was
/// taken by then too.
fn interrupted_after(events: &[Event], from_ns: i64) -> Option<i64> {
    let is_interrupt = |event: &&Event| {
        matches!(&event.what, What::Enter(Frame::Irq(..) | Frame::Vector(_) | Frame::TimerFunction(_)))
    };
    events.iter().filter(|event| event.time_ns >= from_ns).find(is_interrupt).map(|event| event.time_ns)
}

/// The CPUs that mattered, each in its time: the one that woke the receiver, those that it was moved away from, and the one on
/// which it had the packet; `None` where something of that is missing.
fn along_way(
    late: &Late,
    waking: Waking,
    mut by_cpu: BTreeMap<u32, Evidence>,
    (from_ns, to_ns): (i64, i64),
) -> Option<Evidence> {
    let mut ways: Vec<(u32, i64, bool)> = Vec::new();
    let mut ready_ns = from_ns;
    if let Waking::At { ns, cpu } = waking {
        ways.push((cpu, ns, false));
        ready_ns = ns;
    }
    let moved = by_cpu.values().flat_map(|of_cpu| &of_cpu.events).filter_map(|event| match event.what {
        What::Moved { tid, from, .. } if tid == late.own.tid => Some((from, event.time_ns, true)),
        _ => None,
    });
    let mut moved: Vec<_> = moved.filter(|(_, ns, _)| (ready_ns..=to_ns).contains(ns)).collect();
    moved.sort_by_key(|(_, ns, _)| *ns);
    ways.extend(moved);
    let mut began_ns = from_ns;
    let mut legs = Vec::new();
    for (cpu, until_ns, waited) in ways {
        let of_cpu = by_cpu.get(&cpu).filter(|of_cpu| !of_cpu.lacks(began_ns))?;
        legs.push(Leg { cpu, events: of_cpu.events.clone(), until_ns, waited });
        began_ns = until_ns;
    }
    let last = by_cpu.remove(&late.cpu).filter(|last| !last.lacks(began_ns))?;
    Some(Evidence { legs, ..last })
}

/// All that a packet is judged by.
struct Case<'a> {
    late: &'a Late,
    receiver: Receiver,
    sleep: Sleep,
    /// From the packet to the waking (ns).
    before_ns: i64,
    /// When the receiver's CPU is known to have been told (ns, CLOCK_MONOTONIC).
    told_ns: Option<i64>,
    evidence: &'a Evidence,
    place: BelowKernel,
}

impl Case<'_> {
    fn is_most(&self, ns: i64) -> bool {
        ns.saturating_mul(2) >= (self.late.latency_ns - self.late.typical_ns).max(1)
    }

    fn conclude(&self, before: &Judged, after: &Judged) -> Conclusion {
        if self.receiver.mode != ReceiveMode::Block && self.is_most(self.sleep.by_schedule_ns) {
            return self.slept();
        }
        match self.sleep.waking {
            Waking::At { cpu, .. } if self.is_most(self.before_ns) => self.judge_before(before, cpu),
            // Whether the receiver was ready while others ran is not known.
            Waking::Unknown => self.judge_unknown(after),
            _ => self.judge_after(after),
        }
    }

    /// How the receiver came to its packet, as a clause.
    fn came(&self) -> String {
        match self.sleep.waking {
            Waking::At { cpu, .. } => {
                format!(
                    "CPU {cpu} woke the receiver {} after the kernel had the packet",
                    format::latency(self.before_ns)
                )
            }
            Waking::Before { ns, .. } => format!(
                "the receiver was woken {} before the kernel had the packet",
                format::latency(self.late.scheduled.monotonic.as_ns() - ns)
            ),
            Waking::Awake => "the receiver was awake when the kernel had the packet".to_owned(),
            Waking::Unknown => {
                "whether the receiver was awake when the kernel had the packet is not recorded".to_owned()
            }
        }
    }

    /// Most of the time the receiver slept by its own schedule.
    fn slept(&self) -> Conclusion {
        Conclusion {
            class: CauseClass::OwnSleep,
            name: format!("--receive {}", self.receiver.mode.name()),
            certainty: Certainty::Likely,
            evidence: format!(
                "the receiver slept for {} of {} after the kernel had the packet: by its own schedule, as one of this kind does; \
                 whether it overslept is not examined",
                format::latency(self.sleep.by_schedule_ns),
                format::latency(self.late.latency_ns)
            ),
        }
    }

    /// Most of the time passed before the receiver was woken.
    fn judge_before(&self, before: &Judged, cpu: u32) -> Conclusion {
        let whole = format::latency(self.late.latency_ns);
        let solid_ns = |part: &DelayPart| net_ns(part) - before.silent_of(part);
        let of_threads = || before.parts.iter().filter(|part| part.class == CauseClass::Thread);
        if let Some(thread) = of_threads().max_by_key(|part| solid_ns(part)) {
            if self.is_most(of_threads().map(solid_ns).sum()) {
                let conclusion = Conclusion {
                    class: CauseClass::Thread,
                    name: before.group(thread),
                    certainty: Certainty::Likely,
                    evidence: format!(
                        "{} had the receiver's CPU for {} of {whole} before that CPU woke the receiver: it outranks the receiver \
                         ({}), or is its equal; what hands packets on there can have waited for it too",
                        thread.name,
                        format::latency(net_ns(thread)),
                        self.late.own.policy_words()
                    ),
                };
                return weighed(conclusion, self.place);
            }
        }
        let handlers = before.parts.iter().filter(|part| {
            matches!(
                part.class,
                CauseClass::Softirq | CauseClass::Interrupt | CauseClass::TimerFunction | CauseClass::Nmi
            )
        });
        let first = before.parts.first();
        if let Some(handler) = handlers.max_by_key(|part| solid_ns(part)).filter(|part| self.is_most(solid_ns(part))) {
            let evidence = format!(
                "{}; for {} of that it had {}: that the packet waited for it is likely and not recorded",
                self.came(),
                format::latency(solid_ns(handler)),
                handler.name
            );
            return Conclusion {
                class: handler.class,
                name: format!("{}{BEFORE_WAKING}", handler.name),
                certainty: Certainty::Likely,
                evidence,
            };
        }
        if cpu == self.late.cpu {
            if let Some(below) =
                below(before.idle_before_ns, self.place, NOTHING_RAN).filter(|_| self.is_most(before.idle_before_ns))
            {
                return below;
            }
        }
        let ran = first.map_or_else(
            || format!("CPU {cpu} was idle, or ran the receiver"),
            |part| format!("CPU {cpu} ran {} for {}", part.name, format::latency(net_ns(part))),
        );
        Conclusion::unknown(format!(
            "{}, of {whole}; meanwhile {ran}: what the packet waited for in the kernel is not recorded",
            self.came()
        ))
    }

    fn judge_unknown(&self, after: &Judged) -> Conclusion {
        let ran = after.parts.first().map_or_else(
            || "nothing else is seen on its CPU".to_owned(),
            |part| format!("{} had its CPU for {}", part.name, format::latency(net_ns(part))),
        );
        Conclusion::unknown(format!("{}; {ran}", self.came()))
    }

    /// Most of the time passed while the receiver was ready, or awake.
    fn judge_after(&self, after: &Judged) -> Conclusion {
        let solid_ns = |part: &DelayPart| net_ns(part) - after.silent_of(part);
        let covered_ns: i64 = after.parts.iter().map(solid_ns).fold(0, i64::saturating_add);
        if let Some(first) = after.parts.iter().min_by_key(|part| std::cmp::Reverse(solid_ns(part))) {
            let of_class_ns: i64 = after.parts.iter().filter(|part| part.class == first.class).map(solid_ns).sum();
            // Who ran while it slept by its own schedule kept it from nothing.
            let at_least = |ns: i64| ns - self.sleep.later_ns;
            if self.is_most(at_least(of_class_ns)) || self.is_most(at_least(covered_ns)) {
                return self.judge_part(first, after);
            }
        }
        if let Some(first) = after.silent.iter().max_by_key(|part| part.net_ns) {
            let silent_ns = after.silent.iter().map(net_ns).fold(0, i64::saturating_add);
            if self.is_most(covered_ns.saturating_add(silent_ns)) {
                return judge_silence(first, silent_ns, self.late, self.place);
            }
        }
        let cpu = self.late.cpu;
        if self.is_most(after.idle_after_ns) {
            return self.judge_idle(after.idle_after_ns);
        }
        if self.is_most(after.own_ns) {
            let what = "the receiver itself had the CPU";
            return below(after.own_ns, self.place, what).unwrap_or_else(|| {
                Conclusion::unknown(format!(
                    "{}, and itself had CPU {cpu} for {} of {} before it had the packet: with other packets, in the kernel, or \
                     stopped from below it",
                    self.came(),
                    format::latency(after.own_ns),
                    format::latency(self.late.latency_ns)
                ))
            });
        }
        Conclusion::unknown(format!(
            "{}; after that others had CPU {cpu} for {}, the receiver itself for {}, and it was idle for {}: none of it is most",
            self.came(),
            format::latency(covered_ns),
            format::latency(after.own_ns),
            format::latency(after.idle_after_ns)
        ))
    }

    /// What was recorded took the time while the receiver was ready.
    fn judge_part(&self, part: &DelayPart, after: &Judged) -> Conclusion {
        let (who, mut name) = (&part.name, after.group(part));
        let (took, whole) = (format::latency(net_ns(part)), format::latency(self.late.latency_ns));
        let own = self.late.own.policy_words();
        let mut certainty = Certainty::Shown;
        let mut evidence = match part.class {
            CauseClass::Thread if is_ordinary(self.late.own.prio) => {
                format!(
                    "{who} had the CPU for {took} of {whole}: it outranks the receiver ({own}), or shares the CPU with it"
                )
            }
            CauseClass::Thread => {
                format!("{who} had the CPU for {took} of {whole}: it outranks the receiver ({own}), or is its equal")
            }
            CauseClass::Throttle => {
                let but = match (self.receiver.is_pinned, self.sleep.waking) {
                    (false, _) => "; it may run on any CPU, and whether it waited for this one is not recorded",
                    (true, Waking::At { .. } | Waking::Before { .. }) if self.told_ns.is_none() => {
                        "; when this CPU was told of it is not recorded"
                    }
                    (true, _) => "",
                };
                if !but.is_empty() {
                    certainty = Certainty::Likely;
                }
                format!(
                    "the scheduler gave the CPU to {who} for {took} of {whole} while the receiver ({own}) was ready: the throttle \
                     of real-time threads, or the fair server{but}"
                )
            }
            CauseClass::PreemptionOff => {
                let woken_ns = match self.sleep.waking {
                    Waking::At { ns, .. } | Waking::Before { ns, .. } => Some(ns),
                    Waking::Awake | Waking::Unknown => None,
                };
                let told = match self.told_ns.zip(woken_ns).map_or(0, |(told_ns, woken_ns)| told_ns - woken_ns) {
                    0 => "the receiver was woken on that CPU itself".to_owned(),
                    ns => format!("that CPU took an interrupt {} after the waking", format::latency(ns)),
                };
                format!(
                    "{who} kept the CPU for {took} of {whole} though the receiver ({own}) outranks it, and {told}: preemption \
                     was off"
                )
            }
            CauseClass::InterruptsOff => {
                certainty = Certainty::Likely;
                format!("{who} had the CPU for {took} of {whole} with interrupts or preemption off")
            }
            CauseClass::PageFault => {
                name = "measuring thread".to_owned();
                format!("a page fault at {who}, after which {took} of {whole} passed")
            }
            CauseClass::Unknown => {
                return Conclusion::unknown(format!(
                    "{}; {who} had its CPU for {took} of {whole}, and why the receiver did not is not recorded",
                    self.came()
                ));
            }
            _ => format!("{who} took {took} of {whole} on the receiver's CPU"),
        };
        if matches!(part.class, CauseClass::PreemptionOff | CauseClass::InterruptsOff)
            && net_ns(part) >= least_of_a_stop_ns(self.late)
        {
            certainty = Certainty::Likely;
            evidence.push_str("; a throttle of real-time threads that began before would look the same");
        }
        evidence.push_str(&format!("; {}", self.came()));
        weighed(Conclusion { class: part.class, name, certainty, evidence }, self.place)
    }

    /// The receiver was ready, and by the trace its CPU idle.
    fn judge_idle(&self, idle_ns: i64) -> Conclusion {
        let cpu = self.late.cpu;
        let Waking::At { ns: ready_ns, .. } = self.sleep.waking else {
            let who = if self.evidence.own_switches { "was idle" } else { "was idle, or ran the receiver" };
            return Conclusion::unknown(format!(
                "{}, and CPU {cpu} {who} for {} of {}",
                self.came(),
                format::latency(idle_ns),
                format::latency(self.late.latency_ns)
            ));
        };
        let state =
            self.evidence.events.iter().filter(|event| event.time_ns <= ready_ns).fold(
                None,
                |state, event| match &event.what {
                    What::IdleEntry { state, exit_latency_ns } => Some((state, *exit_latency_ns)),
                    What::IdleExit | What::Switch { .. } | What::Untold => None,
                    _ => state,
                },
            );
        let words = format::latency(idle_ns);
        if let Some(below) =
            below(idle_ns, self.place, NOTHING_RAN).filter(|of| matches!(of.class, CauseClass::Smi | CauseClass::Steal))
        {
            return below;
        }
        if let Some((state, Some(exit_latency_ns))) = state {
            let at_most_ns = i64::try_from(exit_latency_ns.saturating_mul(EXIT_LATENCY_FACTOR)).unwrap_or(i64::MAX);
            if idle_ns <= at_most_ns.saturating_add(self.late.typical_ns) {
                return Conclusion {
                    class: CauseClass::IdleExit,
                    name: state.clone(),
                    certainty: Certainty::Likely,
                    evidence: format!(
                        "CPU {cpu} slept in {state}, which takes up to {} to leave, and ran the receiver {words} after it was \
                         woken; {}",
                        format::latency(exit_latency_ns),
                        self.came()
                    ),
                };
            }
        }
        let who = if self.evidence.own_switches { "was idle" } else { "was idle, or ran the receiver," };
        Conclusion::unknown(format!(
            "{}; after that CPU {cpu} {who} for {words} of {}: what is left is the kernel's own way out of idle, firmware{}",
            self.came(),
            format::latency(self.late.latency_ns),
            if self.place.is_virtual { ", and the hypervisor" } else { "" }
        ))
    }
}
