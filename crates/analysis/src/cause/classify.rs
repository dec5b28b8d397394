//! What of a timeline took the time, and how sure that is.

use record::{CauseClass, Certainty, DelayPart, ExplainedSample, Owner};
use units::format;

use super::below_kernel::{BelowKernel, NOTHING_RAN, below, smis_counted};
use super::coincidence::Around;
use super::conclusion::Conclusion;
use super::event::{What, is_ordinary};
use super::evidence::{Evidence, LEAD_NS, Late};
use super::parts::{Judged, net_ns};
use super::remedy::OWN_BUDGET;

/// Throttles stop real-time threads for this long at least, as people set them (ns). A thread that is woken meanwhile gets no
/// switch, just as where preemption is off. Its first wake-up in the stop sees what is left of it: an interval less, or more.
const LEAST_STOP_NS: i64 = 10_000_000;
/// Of a stop so little is left to hardly any wake-up (ns), whatever the interval.
const LEAST_REST_NS: i64 = 1_000_000;
/// Stretches that are kept for drawing.
const KEPT_STRETCHES: usize = 200;
/// Parts that are kept.
const KEPT_PARTS: usize = 12;
/// The way out of an idle state may take so much longer than its driver says, before it is no more likely the cause.
pub(super) const EXIT_LATENCY_FACTOR: u64 = 2;

/// Explains a late sample.
#[must_use]
pub fn explain(late: &Late, evidence: &Evidence, place: BelowKernel) -> ExplainedSample {
    let (from_ns, to_ns) = (late.scheduled.monotonic.as_ns(), late.woke.monotonic.as_ns());
    let judged = Judged::new(late, evidence, place, from_ns, to_ns);
    let conclusion = match evidence.events.first() {
        None if evidence.overwritten => Conclusion::unknown("nothing was recorded around it".to_owned()),
        Some(first) if evidence.overwritten && first.time_ns > from_ns => Conclusion::unknown(format!(
            "what was recorded begins {} after the schedule: what was before was overwritten, or came while an earlier \
             outlier was read",
            format::latency(first.time_ns - from_ns)
        )),
        _ => judged.conclude(late, evidence, place),
    };
    drawn(late, evidence, place, conclusion, judged)
}

/// A sample with its cause, its parts and what its CPU did.
pub(super) fn drawn(
    late: &Late,
    evidence: &Evidence,
    place: BelowKernel,
    mut conclusion: Conclusion,
    judged: Judged,
) -> ExplainedSample {
    let (from_ns, to_ns) = (late.scheduled.monotonic.as_ns(), late.woke.monotonic.as_ns());
    if conclusion.class == CauseClass::Unknown {
        conclusion.evidence.push_str(&place.by_accident());
    }
    let is_cause = |part: &&DelayPart| part.class == conclusion.class && judged.group(part) == conclusion.name;
    let owner = judged.parts.iter().find(is_cause).map_or(Owner::Other, |part| judged.owner(part));
    if !judged.stack.is_empty() {
        let own = format::latency(judged.followed_for_ns);
        conclusion.evidence.push_str(&format!("; {own} of it is the recorder's own, which followed the functions"));
    }
    let drawn_from_ns =
        evidence.at(from_ns).first().map_or(from_ns, |first| first.time_ns).clamp(from_ns - LEAD_NS, from_ns);
    let drawn = evidence.timeline(late, drawn_from_ns, to_ns);
    let mut segments = drawn.segments(from_ns);
    let stretches_left_out = beyond(segments.len(), KEPT_STRETCHES);
    if stretches_left_out > 0 {
        segments.sort_by_key(|segment| std::cmp::Reverse(segment.net_ns));
        segments.truncate(KEPT_STRETCHES);
        segments.sort_by_key(|segment| (segment.from_ns, segment.depth));
    }
    let mut parts = judged.parts_of(conclusion.class);
    let parts_left_out = beyond(parts.len(), KEPT_PARTS);
    parts.truncate(KEPT_PARTS);
    ExplainedSample {
        parts,
        parts_left_out,
        timeline: segments,
        stretches_left_out,
        stack: interrupted_functions(judged.stack),
        owner,
        ..conclusion.explain(late)
    }
}

/// How many of a list are not kept.
fn beyond(all: usize, kept: usize) -> u64 {
    u64::try_from(all.saturating_sub(kept)).unwrap_or(u64::MAX)
}

impl Judged {
    fn conclude(&self, late: &Late, evidence: &Evidence, place: BelowKernel) -> Conclusion {
        let excess_ns = (late.latency_ns - late.typical_ns).max(1);
        let is_most = |ns: i64| ns.saturating_mul(2) >= excess_ns;
        let solid_ns = |part: &DelayPart| net_ns(part) - self.silent_of(part);
        let covered_ns: i64 = self.parts.iter().map(solid_ns).fold(0, i64::saturating_add);
        if let Some(first) = self.parts.iter().min_by_key(|part| std::cmp::Reverse(solid_ns(part))) {
            let of_class_ns = self.parts.iter().filter(|part| part.class == first.class).map(solid_ns).sum();
            if is_most(of_class_ns) || is_most(covered_ns) {
                return self.judge_part(first, late, evidence, place);
            }
        }
        if let Some(first) = self.silent.iter().max_by_key(|part| part.net_ns) {
            let silent_ns = self.silent.iter().map(net_ns).fold(0, i64::saturating_add);
            if is_most(covered_ns.saturating_add(silent_ns)) {
                return judge_silence(first, silent_ns, late, place);
            }
        }
        if is_most(self.idle_before_ns) {
            return self.judge_late_interrupt(self.idle_before_ns, late, evidence, place);
        }
        if let Some(code) = below(self.idle_after_ns, place, NOTHING_RAN) {
            return code;
        }
        // What follows its move to another CPU, and nothing else ran there.
        if let Some((moved_ns, from)) = evidence.moved(late).filter(|_| is_most(self.idle_after_ns)) {
            let after_ns = late.woke.monotonic.as_ns() - moved_ns;
            if is_most(after_ns.min(self.idle_after_ns)) {
                return Conclusion {
                    class: CauseClass::Migration,
                    name: format!("CPU {from} to CPU {}", late.cpu),
                    certainty: Certainty::Likely,
                    evidence: format!(
                        "{} before it woke the measuring thread was moved from CPU {from} to CPU {}, where nothing else \
                         ran",
                        format::latency(after_ns),
                        late.cpu
                    ),
                };
            }
        }
        if let Some(khz) = evidence.events.iter().find_map(|event| match event.what {
            What::Frequency(khz)
                if (late.scheduled.monotonic.as_ns()..=late.woke.monotonic.as_ns()).contains(&event.time_ns) =>
            {
                Some(khz)
            }
            _ => None,
        }) {
            return Conclusion {
                class: CauseClass::Frequency,
                name: String::new(),
                certainty: Certainty::Likely,
                evidence: format!("the CPU's frequency was set to {} MHz meanwhile, and nothing else ran", khz / 1_000),
            };
        }
        Conclusion::unknown(format!(
            "nothing else ran on the CPU; the timer's interrupt was {}, and {} passed after it",
            self.fired_ns.map_or_else(
                || "on time".to_owned(),
                |ns| format!("{} late", format::latency(ns - late.scheduled.monotonic.as_ns()))
            ),
            format::latency(self.idle_after_ns)
        ))
    }

    /// What was recorded took the time.
    fn judge_part(&self, part: &DelayPart, late: &Late, evidence: &Evidence, place: BelowKernel) -> Conclusion {
        let took = format::latency(net_ns(part));
        let whole = format::latency(late.latency_ns);
        let mut certainty = Certainty::Shown;
        let (who, mut name) = (&part.name, self.group(part));
        let mut evidence = match part.class {
            CauseClass::InterruptsOff if evidence.late_timers => {
                return self.judge_thread_before(part, late, place);
            }
            CauseClass::InterruptsOff => {
                certainty = Certainty::Likely;
                format!("{who} had the CPU for {took} of {whole} with interrupts or preemption off")
            }
            CauseClass::PreemptionOff => format!(
                "the timer's interrupt was on time, and {who} kept the CPU for {took} of {whole} though the measuring \
                 thread ({}) outranks it: preemption was off",
                late.own.policy_words()
            ),
            CauseClass::Thread if is_ordinary(late.own.prio) => {
                format!(
                    "{who} had the CPU for {took} of {whole}: it outranks the measuring thread ({}), or shares the CPU with it",
                    late.own.policy_words()
                )
            }
            CauseClass::Thread => {
                format!(
                    "{who} had the CPU for {took} of {whole}: it outranks the measuring thread ({}), or is its equal",
                    late.own.policy_words()
                )
            }
            CauseClass::Throttle if late.own.prio < 0 => {
                name = OWN_BUDGET.to_owned();
                // Which of the two it was is not on the record: the servers of both are ranked by their deadlines.
                certainty = Certainty::Likely;
                format!(
                    "the scheduler gave the CPU to {who} for {took} of {whole} while the measuring thread ({}) was ready: \
                     its own budget was used up, the runtime that it has in each period, or the fair server ran",
                    late.own.policy_words()
                )
            }
            CauseClass::Throttle => format!(
                "the scheduler gave the CPU to {who} for {took} of {whole} while the measuring thread ({}) was ready: \
                 the throttle of real-time threads, or the fair server",
                late.own.policy_words()
            ),
            CauseClass::Unknown => {
                return Conclusion::unknown(format!(
                    "for {took} of {whole} the running thread is unknown, or since when it ran, or whether the measuring thread \
                     waited there: the kernel left out a switch between threads, or moved the thread meanwhile ({who})"
                ));
            }
            CauseClass::PageFault => {
                name = "measuring thread".to_owned();
                format!("a page fault at {}, after which {took} of {whole} passed", part.name)
            }
            _ => format!("{who} took {took} of {whole}"),
        };
        if part.class == CauseClass::PreemptionOff && net_ns(part) >= least_of_a_stop_ns(late) {
            certainty = Certainty::Likely;
            evidence.push_str("; a throttle that began before the timer's interrupt would look the same");
        }
        weighed(Conclusion { class: part.class, name, certainty, evidence }, place)
    }

    /// A thread had the CPU when the timer's interrupt was due, and it was taken late.
    fn judge_thread_before(&self, part: &DelayPart, late: &Late, place: BelowKernel) -> Conclusion {
        let took_ns = net_ns(part);
        let took = format::latency(took_ns);
        match interrupted(&self.stack) {
            Interrupted::User => below(took_ns, place, NOTHING_RAN).unwrap_or_else(|| {
                let but = |class, who: &str| Conclusion {
                    class,
                    name: String::new(),
                    certainty: Certainty::Likely,
                    evidence: format!(
                        "{} ran its own code for {took} while the timer's interrupt was due: no kernel can keep it off \
                         there, so {who}",
                        part.name
                    ),
                };
                if place.is_virtual {
                    let though = if place.stolen().is_some() { "" } else { ", though its count of stolen time did not move" };
                    return but(CauseClass::Steal, &format!("the hypervisor did{though}"));
                }
                if let Some(smi) = place.smis() {
                    let window = format::span(smi.window_ns);
                    let who = format!("firmware did: {} in the {window} around it", smis_counted(smi.count));
                    return but(CauseClass::Smi, &who);
                }
                Conclusion::unknown(format!(
                    "{} ran its own code for {took} while the timer's interrupt was due: no kernel can keep it off there",
                    part.name
                ))
            }),
            at => {
                // Where it was taken is unknown, so it may have been in the thread's own code too.
                if let Interrupted::Unknown = at {
                    if let Some(code) = below(took_ns, place, "its timer's interrupt did not come") {
                        return code;
                    }
                    if place.is_virtual {
                        return Conclusion::unknown(format!(
                            "the timer's interrupt came {} late, while {} had the CPU: it kept interrupts off, or the \
                             hypervisor stopped the CPU; the functions that would show it were not recorded",
                            format::latency(self.fired_ns.unwrap_or(0) - late.scheduled.monotonic.as_ns()),
                            part.name
                        ));
                    }
                }
                let function = match at {
                    Interrupted::Kernel(function) => format!(", taken at last in {function}"),
                    _ => String::new(),
                };
                let stolen_ns = place.stolen().map(|steal| i64::try_from(steal.count).unwrap_or(i64::MAX));
                // As much as it counted fits into it, give or take what it counts in: its own before a driver's.
                if stolen_ns.is_some_and(|stolen_ns| stolen_ns / 2 <= took_ns) {
                    let what = format!("the timer's interrupt did not come{function}, while {} had the CPU", part.name);
                    if let Some(code) = below(took_ns, place, &what) {
                        return code;
                    }
                }
                let is_zero = |around: Option<Around>| around.is_some_and(|around| around.count == 0);
                let excluded = is_zero(place.smi) && (!place.is_virtual || is_zero(place.steal_ns));
                let but = if excluded {
                    String::new()
                } else if let Some(smi) = place.smis() {
                    let window = format::span(smi.window_ns);
                    format!("; {} in the {window} around it, some of which may be in this", smis_counted(smi.count))
                } else if let Some(stolen_ns) = stolen_ns {
                    let steal = format::latency(stolen_ns);
                    format!("; the hypervisor says that it took {steal} around it, some of which may be in this")
                } else {
                    place.not_excluded().to_owned()
                };
                Conclusion {
                    class: CauseClass::InterruptsOff,
                    name: self.group(part),
                    certainty: if excluded { Certainty::Shown } else { Certainty::Likely },
                    evidence: format!(
                        "the timer's interrupt came {} late{function}, while {} had the CPU{but}",
                        format::latency(self.fired_ns.unwrap_or(0) - late.scheduled.monotonic.as_ns()),
                        part.name
                    ),
                }
            }
        }
    }

    /// The CPU was idle, and its timer's interrupt came late.
    fn judge_late_interrupt(&self, late_ns: i64, late: &Late, evidence: &Evidence, place: BelowKernel) -> Conclusion {
        let state = evidence
            .at(late.scheduled.monotonic.as_ns())
            .iter()
            .filter(|event| event.time_ns <= late.scheduled.monotonic.as_ns())
            .fold(None, |state, event| match &event.what {
                What::IdleEntry { state, exit_latency_ns } => Some((state, *exit_latency_ns)),
                What::IdleExit | What::Switch { .. } | What::Untold => None,
                _ => state,
            });
        let words = format::latency(late_ns);
        let counted = below(late_ns, place, NOTHING_RAN);
        if let Some((state, Some(exit_latency_ns))) = state {
            let at_most_ns = i64::try_from(exit_latency_ns.saturating_mul(EXIT_LATENCY_FACTOR)).unwrap_or(i64::MAX);
            if late_ns <= at_most_ns.saturating_add(late.typical_ns) {
                let takes = format::latency(exit_latency_ns);
                // A CPU leaves idle states all the time. Heat makes that take longer, and is no other cause.
                return match counted.filter(|of| matches!(of.class, CauseClass::Smi | CauseClass::Steal)) {
                    Some(of) => Conclusion {
                        evidence: format!(
                            "{}; the CPU slept in {state}, which takes up to {takes} to leave",
                            of.evidence
                        ),
                        ..of
                    },
                    None => Conclusion {
                        class: CauseClass::IdleExit,
                        name: state.clone(),
                        certainty: Certainty::Likely,
                        evidence: format!(
                            "the CPU slept in {state}, which takes up to {takes} to leave, and its timer's interrupt came \
                             {words} late"
                        ),
                    },
                };
            }
        }
        counted.unwrap_or_else(|| {
            Conclusion::unknown(format!(
                "the CPU was idle{} and its timer's interrupt came {words} late: what is left is the kernel's own way \
                 into and out of idle, firmware{}",
                state.map_or_else(String::new, |(state, _)| format!(" in {state}")),
                if place.is_virtual { ", and the hypervisor" } else { "" }
            ))
        })
    }
}

/// So much of a stop by a throttle that began before is left to the first sample in it, at least (ns).
pub(super) fn least_of_a_stop_ns(late: &Late) -> i64 {
    (LEAST_STOP_NS - late.interval_ns.unwrap_or(LEAST_STOP_NS)).max(LEAST_REST_NS)
}

/// What covers the time on the trace, with what lengthens it and is on no trace.
pub(super) fn weighed(conclusion: Conclusion, place: BelowKernel) -> Conclusion {
    let Conclusion { class, name, mut certainty, mut evidence } = conclusion;
    if let Some(steal) = place.stolen() {
        certainty = Certainty::Likely;
        evidence.push_str(&format!(
            "; the hypervisor says that it took {} around it, some of which may be in this",
            format::latency(steal.count)
        ));
    }
    // What cannot be counted may be in it as well. That the scheduler chose another thread is no matter of length.
    if let Some(but) = place.uncounted().filter(|_| class != CauseClass::Throttle) {
        certainty = Certainty::Likely;
        evidence.push_str(but);
    }
    // Firmware lengthens whatever it interrupts, and no trace shows it.
    if let Some(smi) = place.smis() {
        certainty = Certainty::Likely;
        evidence.push_str(&format!(
            "; {} in the {} around it, some of which may be in this",
            smis_counted(smi.count),
            format::span(smi.window_ns)
        ));
    }
    Conclusion { class, name, certainty, evidence }
}

/// By the trace somebody had the CPU, but a tick that was due did not come.
pub(super) fn judge_silence(part: &DelayPart, silent_ns: i64, late: &Late, place: BelowKernel) -> Conclusion {
    let what = format!("no tick came, while the trace has {} on the CPU", part.name);
    below(silent_ns, place, &what).unwrap_or_else(|| {
        Conclusion::unknown(format!(
            "{} had the CPU, but for {} of {} no tick came though one was due: interrupts were off, or the hypervisor \
             stopped the CPU",
            part.name,
            format::latency(silent_ns),
            format::latency(late.latency_ns)
        ))
    })
}

/// What a late interrupt interrupted.
enum Interrupted {
    User,
    Kernel(String),
    /// The functions are unknown.
    Unknown,
}

/// The functions by which interrupts are entered on the architectures that are known (x86, ARM).
const ENTRIES: [&str; 7] = [
    "asm_sysvec_",
    "asm_common_interrupt",
    "apic_timer_interrupt",
    "el1_irq",
    "el1h_64_irq",
    "__irq_svc",
    "el0t_64_irq",
];

/// What was interrupted, without the functions of the interrupt itself.
fn interrupted_functions(mut stack: Vec<String>) -> Vec<String> {
    if let Some(entry) = stack.iter().rposition(|function| is_interrupt_entry(function)) {
        stack.drain(..=entry);
    }
    stack
}

/// Whether interrupts are entered by this function: what it interrupted stands behind it in a stack.
#[must_use]
pub fn is_interrupt_entry(function: &str) -> bool {
    ENTRIES.iter().any(|entry| function.starts_with(entry))
}

fn interrupted(stack: &[String]) -> Interrupted {
    let Some(entry) = stack.iter().rposition(|function| is_interrupt_entry(function)) else {
        return Interrupted::Unknown;
    };
    match stack.get(entry + 1) {
        Some(function) => Interrupted::Kernel(function.clone()),
        None => Interrupted::User,
    }
}
