//! The time of a late sample, divided: who had how much of it.

use record::{Activity, CauseClass, DelayPart, Owner};

use super::below_kernel::BelowKernel;
use super::event::{Thread, What, is_ordinary};
use super::evidence::{Evidence, LATE_TIMER_NS, Late};
use super::silence::{lets_ticks_in, silent_ns};
use super::timeline::Timeline;

/// A page fault of the measuring thread.
struct Fault {
    time_ns: i64,
    name: String,
}

/// What a part of a sample's time is judged by.
struct Moments<'a> {
    /// Whether it lies before the timer's interrupt.
    is_before: bool,
    /// From here on the thread was certainly ready (ns).
    ready_ns: i64,
    fault: Option<&'a Fault>,
    /// When it is not certain that the CPU ran (from and to, ns).
    silences: &'a [(i64, i64)],
}

/// The time of a sample, divided.
pub(super) struct Judged {
    /// The longest first.
    pub(super) parts: Vec<DelayPart>,
    /// What of them is not certain to have been theirs, since ticks that were due did not come.
    pub(super) silent: Vec<DelayPart>,
    /// Before the timer's interrupt with the CPU idle (ns).
    pub(super) idle_before_ns: i64,
    /// After it with nobody else on the CPU (ns).
    pub(super) idle_after_ns: i64,
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
            parts: Vec::new(),
            silent: Vec::new(),
            idle_before_ns: 0,
            idle_after_ns: 0,
            fired_ns: fired.map(|(time_ns, ..)| time_ns),
            stack: fired.map(|(_, stack, _)| stack.clone()).unwrap_or_default(),
            followed_for_ns: fired.map_or(0, |(.., ns)| ns),
            threads: Vec::new(),
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
        let moments = Moments { is_before: true, ready_ns, fault: None, silences: &silences };
        judged.take(&before, late, &moments, evidence.late_timers);
        let moments = Moments { is_before: false, fault: fault.as_ref(), ..moments };
        judged.take(&after, late, &moments, evidence.late_timers);
        // What nobody else had after it is its time too.
        if let Some(fault) = fault {
            let follows_ns = (to_ns - fault.time_ns).min(judged.idle_after_ns);
            judged.idle_after_ns -= follows_ns;
            add(&mut judged.parts, CauseClass::PageFault, &fault.name, follows_ns);
        }
        judged.parts.sort_by_key(|part| std::cmp::Reverse(part.net_ns));
        judged
    }

    fn take(&mut self, timeline: &Timeline, late: &Late, moments: &Moments<'_>, late_timers: bool) {
        let is_before = moments.is_before;
        for stretch in &timeline.stretches {
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
                    match (is_before, thread.outranks(late.own.prio), stretch.came_ns) {
                        // The timer's interrupt had not been taken yet, so nothing that is scheduled can be the reason.
                        (true, ..) => CauseClass::InterruptsOff,
                        (false, true, _) => CauseClass::Thread,
                        (_, _, Some((earliest_ns, _))) if earliest_ns >= moments.ready_ns => CauseClass::Throttle,
                        // It had the CPU before, or was chosen after: that is unknown.
                        (_, _, Some((_, latest_ns))) if latest_ns >= moments.ready_ns => CauseClass::Unknown,
                        _ if late_timers => CauseClass::PreemptionOff,
                        _ => CauseClass::InterruptsOff,
                    }
                }
                (Activity::Untold, _) => CauseClass::Unknown,
                _ => {
                    *(if is_before { &mut self.idle_before_ns } else { &mut self.idle_after_ns }) += stretch.net_ns;
                    continue;
                }
            };
            add(&mut self.parts, class, &stretch.name, stretch.net_ns);
            if lets_ticks_in(class) {
                add(&mut self.silent, class, &stretch.name, silent_ns(stretch, timeline, moments.silences));
            }
        }
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
