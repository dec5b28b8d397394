//! The time of a late sample, divided: who had how much of it.

use record::{Activity, CauseClass, DelayPart, Owner};

use super::below_kernel::BelowKernel;
use super::event::{Thread, What, is_ordinary};
use super::evidence::{Evidence, LATE_TIMER_NS, Late};
use super::reconcile::while_had;
use super::silence::{lets_ticks_in, silent_ns};
use super::timeline::{Stretch, Timeline};

/// A page fault of the measuring thread.
struct Fault {
    time_ns: i64,
    name: String,
}

/// Which part of a sample's time is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Before the interrupt of the thread's timer.
    BeforeTimer,
    /// After it: the thread is ready. Where a late interrupt would be recorded, it is known that interrupts were on.
    AfterTimer { late_timers: bool },
    /// A packet is in the kernel and its receiver asleep: which CPU it waits for, if for any, is unknown. Whether the receiver
    /// can run on one CPU alone.
    BeforeWaking { is_pinned: bool },
    /// The receiver was woken, at that moment (ns): when its CPU is known to have been told (ns), by the first interrupt that it took.
    Woken { at_ns: i64, told_ns: Option<i64> },
    /// The receiver was awake all the time.
    Awake,
}

/// What a part of a sample's time is judged by.
struct Moments<'a> {
    phase: Phase,
    /// From here on the thread was certainly ready (ns).
    ready_ns: i64,
    fault: Option<&'a Fault>,
    /// When it is not certain that the CPU ran (from and to, ns).
    silences: &'a [(i64, i64)],
}

/// The time of a sample, divided.
#[derive(Default)]
pub(super) struct Judged {
    /// The longest first.
    pub(super) parts: Vec<DelayPart>,
    /// What of them is not certain to have been theirs, since ticks that were due did not come.
    pub(super) silent: Vec<DelayPart>,
    /// Before the timer's interrupt with the CPU idle (ns).
    pub(super) idle_before_ns: i64,
    /// After it with nobody else on the CPU (ns).
    pub(super) idle_after_ns: i64,
    /// With the measuring thread itself on the CPU, where that is recorded (ns).
    pub(super) own_ns: i64,
    /// When the timer's interrupt was taken, where it was late (ns).
    pub(super) fired_ns: Option<i64>,
    pub(super) stack: Vec<String>,
    /// What the recorder took for the stack (ns).
    pub(super) followed_for_ns: i64,
    /// Threads behind the parts, for the words.
    threads: Vec<Thread>,
}

impl Judged {
    pub(super) fn new(late: &Late, evidence: &Evidence, place: BelowKernel, from_ns: i64, to_ns: i64) -> Self {
        let fired = evidence.all().find_map(|event| match &event.what {
            What::LateTimer { expires_ns, stack, followed_for_ns } if *expires_ns == late.scheduled_ns => {
                Some((event.time_ns, stack, *followed_for_ns))
            }
            _ => None,
        });
        let mut judged = Self {
            fired_ns: fired.map(|(time_ns, ..)| time_ns),
            stack: fired.map(|(_, stack, _)| stack.clone()).unwrap_or_default(),
            followed_for_ns: fired.map_or(0, |(.., ns)| ns),
            ..Self::default()
        };
        let between_ns = judged.fired_ns.unwrap_or(from_ns).clamp(from_ns, to_ns);
        let before = evidence.timeline(late, from_ns, between_ns);
        let after = evidence.timeline(late, between_ns, to_ns);
        // When it was made ready: where its timer was not noted down it was on time, give or take what is not noted down.
        let ready_ns = judged.fired_ns.unwrap_or(from_ns + LATE_TIMER_NS);
        let fault = evidence.events.iter().find_map(|event| match &event.what {
            What::PageFault { address, at } if (between_ns..=to_ns).contains(&event.time_ns) => {
                let is_own = !after.has_another(event.time_ns);
                is_own.then(|| Fault { time_ns: event.time_ns, name: format!("{at}, address {address:#x}") })
            }
            _ => None,
        });
        // On bare metal nothing stops a CPU for long but firmware, which is counted.
        let silences = if place.is_virtual { evidence.silences(from_ns, to_ns) } else { Vec::new() };
        let moments = Moments { phase: Phase::BeforeTimer, ready_ns, fault: None, silences: &silences };
        judged.take(&before, late, &moments);
        let phase = Phase::AfterTimer { late_timers: evidence.late_timers };
        judged.take(&after, late, &Moments { phase, fault: fault.as_ref(), ..moments });
        judged.end(fault, to_ns);
        judged
    }

    /// Of a packet's time a part, from and to (ns): that before its receiver was woken, or the rest.
    pub(super) fn of_packet(
        late: &Late,
        evidence: &Evidence,
        place: BelowKernel,
        phase: Phase,
        (from_ns, to_ns): (i64, i64),
    ) -> Self {
        let timeline = evidence.timeline(late, from_ns, to_ns);
        let is_ready = !matches!(phase, Phase::BeforeWaking { .. });
        let fault = evidence.events.iter().filter(|_| is_ready).find_map(|event| match &event.what {
            What::PageFault { address, at } if (from_ns..=to_ns).contains(&event.time_ns) => timeline
                .has_own(event.time_ns)
                .then(|| Fault { time_ns: event.time_ns, name: format!("{at}, address {address:#x}") }),
            _ => None,
        });
        let silences = if place.is_virtual { evidence.silences(from_ns, to_ns) } else { Vec::new() };
        let mut judged = Self::default();
        let ready_ns = match phase {
            Phase::Woken { at_ns, .. } => at_ns,
            _ => from_ns,
        };
        let moments = Moments { phase, ready_ns, fault: fault.as_ref(), silences: &silences };
        judged.take(&timeline, late, &moments);
        judged.end(fault, to_ns);
        judged
    }

    /// Adds the parts of another time of the same sample.
    pub(super) fn join(&mut self, other: Self) {
        for part in other.parts {
            add(&mut self.parts, part.class, &part.name, net_ns(&part));
        }
        self.threads.extend(other.threads);
        self.parts.sort_by_key(|part| std::cmp::Reverse(part.net_ns));
    }

    fn end(&mut self, fault: Option<Fault>, to_ns: i64) {
        // What nobody else had after it is its time too.
        if let Some(fault) = fault {
            let mut rest_ns = to_ns - fault.time_ns;
            for nobodys_ns in [&mut self.idle_after_ns, &mut self.own_ns] {
                let follows_ns = rest_ns.min(*nobodys_ns);
                (*nobodys_ns, rest_ns) = (*nobodys_ns - follows_ns, rest_ns - follows_ns);
                add(&mut self.parts, CauseClass::PageFault, &fault.name, follows_ns);
            }
        }
        self.parts.sort_by_key(|part| std::cmp::Reverse(part.net_ns));
    }

    fn take(&mut self, timeline: &Timeline, late: &Late, moments: &Moments<'_>) {
        let phase = moments.phase;
        for stretch in &timeline.stretches {
            let name = match stretch.elsewhere {
                Some(cpu) if matches!(phase, Phase::BeforeWaking { .. }) => &format!("{} on CPU {cpu}", stretch.name),
                _ => &stretch.name,
            };
            let class = match (stretch.activity, &stretch.thread) {
                (Activity::Interrupt, _) => CauseClass::Interrupt,
                (Activity::Softirq, _) => CauseClass::Softirq,
                (Activity::TimerFunction, _) => CauseClass::TimerFunction,
                (Activity::Nmi, _) => CauseClass::Nmi,
                (Activity::Thread, Some(thread)) => {
                    // Since its page fault it waits: for who holds its lock, at a priority that it lent, or for a disk.
                    let waits = moments.fault.filter(|fault| stretch.from_ns >= fault.time_ns);
                    // Ordinary threads that run meanwhile are no reason, though each outranks an ordinary one in its turn.
                    let does_more = thread.outranks(late.own.prio) && !thread.is_lent() && !is_ordinary(thread.prio);
                    if let Some(fault) = waits.filter(|_| !does_more) {
                        add(&mut self.parts, CauseClass::PageFault, &fault.name, stretch.net_ns);
                        continue;
                    }
                    self.threads.push(thread.clone());
                    match (phase, thread.outranks(late.own.prio), stretch.came_ns) {
                        // The timer's interrupt had not been taken yet, so nothing that is scheduled can be the reason.
                        (Phase::BeforeTimer, ..) => CauseClass::InterruptsOff,
                        // Whatever the packet waited for, the receiver could not have run.
                        (Phase::BeforeWaking { is_pinned: true }, true, _)
                            if stretch.elsewhere.is_none() && !is_ordinary(late.own.prio) =>
                        {
                            CauseClass::Thread
                        }
                        // Whether the packet waited for that CPU is not recorded.
                        (Phase::BeforeWaking { .. }, ..) => CauseClass::Unknown,
                        (_, true, _) => CauseClass::Thread,
                        // It was moved away from there: where it waited at that moment is not known.
                        (_, _, Some((earliest_ns, _)))
                            if earliest_ns >= moments.ready_ns && stretch.elsewhere.is_some() =>
                        {
                            CauseClass::Unknown
                        }
                        (_, _, Some((earliest_ns, _)))
                            if earliest_ns >= moments.ready_ns && could_be_known(phase, earliest_ns) =>
                        {
                            CauseClass::Throttle
                        }
                        // It had the CPU before, or was chosen after: that is unknown.
                        (_, _, Some((_, latest_ns))) if latest_ns >= moments.ready_ns => CauseClass::Unknown,
                        // The receiver was ready before, so that this one was chosen all the same, or was not yet told to go.
                        (Phase::Awake, ..) => CauseClass::Unknown,
                        (Phase::AfterTimer { late_timers: true }, ..) => CauseClass::PreemptionOff,
                        (Phase::AfterTimer { late_timers: false }, ..) => CauseClass::InterruptsOff,
                        (Phase::Woken { told_ns: Some(told_ns), .. }, ..) if is_early(told_ns, stretch) => {
                            CauseClass::PreemptionOff
                        }
                        (Phase::Woken { .. }, ..) => CauseClass::InterruptsOff,
                    }
                }
                (Activity::Untold, _) => CauseClass::Unknown,
                (Activity::Measuring, _) => {
                    self.own_ns += stretch.net_ns;
                    continue;
                }
                (Activity::Idle | Activity::Thread, _) => {
                    let is_before = matches!(phase, Phase::BeforeTimer | Phase::BeforeWaking { .. });
                    *(if is_before { &mut self.idle_before_ns } else { &mut self.idle_after_ns }) += stretch.net_ns;
                    continue;
                }
            };
            add(&mut self.parts, class, name, stretch.net_ns);
            if lets_ticks_in(class) {
                add(&mut self.silent, class, name, silent_ns(stretch, timeline, moments.silences));
            }
        }
    }

    /// The parts as a conclusion leaves them, the longest first: where what stops a CPU from below the kernel is the cause, or
    /// nothing is known, neither a time without interrupts nor a time without ticks is said to be the thread's that had the CPU.
    pub(super) fn parts_of(&self, conclusion: CauseClass) -> Vec<DelayPart> {
        if !matches!(conclusion, CauseClass::Steal | CauseClass::Smi | CauseClass::Unknown) {
            return self.parts.clone();
        }
        let mut parts = Vec::new();
        for part in &self.parts {
            let silent_ns = match part.class {
                CauseClass::InterruptsOff | CauseClass::PreemptionOff => net_ns(part),
                _ => self.silent_of(part).min(net_ns(part)),
            };
            add(&mut parts, conclusion, &while_had(&part.name), silent_ns);
            add(&mut parts, part.class, &part.name, net_ns(part) - silent_ns);
        }
        parts.sort_by_key(|part| std::cmp::Reverse(part.net_ns));
        parts
    }

    /// What of a part is not certain to be its own (ns).
    pub(super) fn silent_of(&self, part: &DelayPart) -> i64 {
        self.silent.iter().find(|one| (one.class, &one.name) == (part.class, &part.name)).map_or(0, net_ns)
    }

    fn thread_of(&self, part: &DelayPart) -> Option<&Thread> {
        self.threads.iter().find(|thread| thread.words() == part.name)
    }

    /// What a cause is summed under: of threads their name without their number.
    pub(super) fn group(&self, part: &DelayPart) -> String {
        self.thread_of(part).map_or_else(|| part.name.clone(), Thread::group_words)
    }

    /// Whose the part's thread is.
    pub(super) fn owner(&self, part: &DelayPart) -> Owner {
        self.thread_of(part).map_or(Owner::Other, |thread| thread.owner)
    }
}

/// Whether a CPU that chose a thread at a moment (ns) could know of the measuring one: before the interrupt by which another CPU
/// tells it of a thread that it woke, it does not. Where no interrupt was recorded that is open, and nothing is *shown* by it.
fn could_be_known(phase: Phase, chosen_ns: i64) -> bool {
    match phase {
        Phase::Woken { told_ns, .. } => told_ns.is_none_or(|told_ns| chosen_ns >= told_ns),
        _ => true,
    }
}

/// Whether a moment (ns) lies in the first half of a stretch, or before it.
fn is_early(moment_ns: i64, stretch: &Stretch) -> bool {
    (moment_ns - stretch.from_ns).saturating_mul(2) <= stretch.to_ns - stretch.from_ns
}

/// Its time as times are counted here (ns).
pub(super) fn net_ns(part: &DelayPart) -> i64 {
    i64::try_from(part.net_ns).unwrap_or(i64::MAX)
}

/// Adds time to the part of that class and name.
fn add(parts: &mut Vec<DelayPart>, class: CauseClass, name: &str, net_ns: i64) {
    let net_ns = u64::try_from(net_ns).unwrap_or(0);
    if net_ns == 0 {
        return;
    }
    match parts.iter_mut().find(|part| part.class == class && part.name == name) {
        Some(part) => part.net_ns += net_ns,
        None => parts.push(DelayPart { class, name: name.to_owned(), net_ns }),
    }
}
