//! From events to stretches of time: who had the CPU, and what interrupted it.

use record::{Activity, TimelineSegment};

use super::event::{Event, Frame, Thread, What};

/// One stretch, with the thread behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) activity: Activity,
    pub(super) name: String,
    pub(super) thread: Option<Thread>,
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
    pub(super) depth: u32,
    /// Its own time (ns).
    pub(super) net_ns: i64,
    /// The CPU, where it is not the one that the measuring thread woke on.
    pub(super) elsewhere: Option<u32>,
    /// Between which moments (ns) it got the CPU; absent where it had it before anything was recorded.
    pub(super) came_ns: Option<(i64, i64)>,
}

/// What one CPU did in a window of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The window's start (ns, CLOCK_MONOTONIC).
    pub from_ns: i64,
    pub(super) stretches: Vec<Stretch>,
}

impl Timeline {
    /// Whether at that moment (ns) a thread had the CPU that is neither the measuring one nor the idle task.
    pub(super) fn has_another(&self, at_ns: i64) -> bool {
        self.stretches.iter().any(|one| one.thread.is_some() && (one.from_ns..one.to_ns).contains(&at_ns))
    }

    /// Whether at that moment (ns) the measuring thread had the CPU, as far as nobody else is known to have had it.
    pub(super) fn has_own(&self, at_ns: i64) -> bool {
        let is_own = |one: &Stretch| {
            one.activity == Activity::Measuring || (one.activity == Activity::Idle && one.name != "idle")
        };
        self.stretches.iter().any(|one| one.depth == 0 && is_own(one) && (one.from_ns..one.to_ns).contains(&at_ns))
    }

    /// Adds what follows, on that CPU where it is not the last one.
    pub(super) fn join(&mut self, next: Self, elsewhere: Option<u32>) {
        for stretch in next.stretches {
            let goes_on = |one: &&mut Stretch| {
                one.to_ns == stretch.from_ns
                    && (one.depth, one.activity, one.elsewhere) == (stretch.depth, stretch.activity, elsewhere)
                    && one.name == stretch.name
            };
            match self.stretches.iter_mut().rfind(goes_on) {
                Some(one) => (one.to_ns, one.net_ns) = (stretch.to_ns, one.net_ns + stretch.net_ns),
                None => self.stretches.push(Stretch { elsewhere, ..stretch }),
            }
        }
    }

    /// For the record: times counted from `zero_ns`.
    #[must_use]
    pub fn segments(&self, zero_ns: i64) -> Vec<TimelineSegment> {
        let segment = |stretch: &Stretch| TimelineSegment {
            activity: stretch.activity,
            name: match stretch.elsewhere {
                Some(cpu) => format!("{} on CPU {cpu}", stretch.name),
                None => stretch.name.clone(),
            },
            from_ns: stretch.from_ns - zero_ns,
            to_ns: stretch.to_ns - zero_ns,
            depth: stretch.depth,
            net_ns: u64::try_from(stretch.net_ns).unwrap_or(0),
        };
        self.stretches.iter().map(segment).collect()
    }
}

/// Who has the CPU when nothing interrupts.
enum Base {
    Thread(Thread),
    /// Between these two no switch need be recorded: up to its wake-up the measuring thread sleeps.
    IdleOrOwn,
    Idle,
    Own,
    /// With the thread that had it at the end, once that is known.
    Untold(Option<String>),
}

/// Something that interrupts and has not ended yet.
struct Open {
    frame: Frame,
    from_ns: i64,
}

/// What a CPU did from `from_ns` to `to_ns`, of events in the order of time that begin well before; `own` is the measuring
/// thread, which sleeps before its end.
#[must_use]
pub fn timeline(events: &[Event], own: &Thread, from_ns: i64, to_ns: i64) -> Timeline {
    draw(events, own, (from_ns, to_ns), false)
}

/// The same; `own_switches` says that switches between the idle task and the measuring thread are among the events.
pub(super) fn draw(events: &[Event], own: &Thread, (from_ns, to_ns): (i64, i64), own_switches: bool) -> Timeline {
    let mut drawn = Drawing { from_ns, to_ns, done: Vec::new() };
    let mut open: Vec<Open> = Vec::new();
    // Before the first switch nothing is known but that idle and own do not show: one of these had the CPU, or whoever
    // the first switch says gave way.
    let first = events.iter().find_map(|event| match &event.what {
        What::Switch { from, from_prio, .. } => Some((*from, *from_prio)),
        _ => None,
    });
    let plain = |tid: u32| match tid {
        _ if !own_switches => Base::IdleOrOwn,
        0 => Base::Idle,
        _ => Base::Own,
    };
    let is_plain = |tid: u32| tid == 0 || tid == own.tid;
    let mut base = match first {
        None => Base::IdleOrOwn,
        Some((tid, _)) if is_plain(tid) => plain(tid),
        Some((tid, prio)) => Base::Thread(Thread { tid, name: format!("thread {tid}"), prio, ..Thread::default() }),
    };
    let mut base_from_ns = i64::MIN;
    let mut came_ns = None;
    for event in events.iter().filter(|event| event.time_ns <= to_ns) {
        let now_ns = event.time_ns;
        match &event.what {
            What::Switch { to, .. } => {
                // A switch within an interrupt cannot be: what did not end has lost its end.
                close_all(&mut open, &mut drawn, now_ns);
                let next = if is_plain(to.tid) { plain(to.tid) } else { Base::Thread(to.clone()) };
                let earliest_ns = match &mut base {
                    Base::Untold(at_its_end) => {
                        *at_its_end = Some(to.words());
                        base_from_ns
                    }
                    _ => now_ns,
                };
                drawn.base(&base, own, base_from_ns, now_ns, came_ns);
                (base, base_from_ns, came_ns) = (next, now_ns, Some((earliest_ns, now_ns)));
            }
            What::Untold => {
                close_all(&mut open, &mut drawn, now_ns);
                drawn.base(&base, own, base_from_ns, now_ns, came_ns);
                (base, base_from_ns) = (Base::Untold(None), now_ns);
            }
            What::Enter(frame) => open.push(Open { frame: frame.clone(), from_ns: now_ns }),
            // An end without a beginning is of what began before anything was recorded.
            What::Leave(frame) => {
                if let Some(at) = open.iter().rposition(|one| one.frame == *frame) {
                    while open.len() > at {
                        close_last(&mut open, &mut drawn, now_ns);
                    }
                }
            }
            What::Nmi { handler, length_ns } => {
                let from_ns = now_ns.saturating_sub_unsigned(*length_ns);
                drawn.add(Activity::Nmi, handler.clone(), from_ns, now_ns, depth(&open));
            }
            _ => {}
        }
    }
    close_all(&mut open, &mut drawn, to_ns);
    drawn.base(&base, own, base_from_ns, to_ns, came_ns);
    drawn.finish()
}

fn depth(open: &[Open]) -> u32 {
    u32::try_from(open.len()).unwrap_or(u32::MAX) + 1
}

fn close_last(open: &mut Vec<Open>, drawn: &mut Drawing, now_ns: i64) {
    let at = depth(open) - 1;
    let Some(one) = open.pop() else { return };
    let (activity, name) = match one.frame {
        Frame::Irq(number, name) => (Activity::Interrupt, format!("{name} (interrupt {number})")),
        Frame::Vector(name) => (Activity::Interrupt, name),
        Frame::Softirq(name) => (Activity::Softirq, name),
        Frame::TimerFunction(name) => (Activity::TimerFunction, name),
    };
    drawn.add(activity, name, one.from_ns, now_ns, at);
}

fn close_all(open: &mut Vec<Open>, drawn: &mut Drawing, now_ns: i64) {
    while !open.is_empty() {
        close_last(open, drawn, now_ns);
    }
}

struct Drawing {
    from_ns: i64,
    to_ns: i64,
    done: Vec<Stretch>,
}

impl Drawing {
    fn base(&mut self, base: &Base, own: &Thread, from_ns: i64, to_ns: i64, came_ns: Option<(i64, i64)>) {
        let (activity, name, thread) = match base {
            Base::Thread(thread) => (Activity::Thread, thread.words(), Some(thread.clone())),
            Base::Idle => (Activity::Idle, "idle".to_owned(), None),
            Base::Own => (Activity::Measuring, own.words(), None),
            Base::IdleOrOwn if own.tid == 0 => (Activity::Idle, "idle".to_owned(), None),
            Base::IdleOrOwn => (Activity::Idle, format!("idle, or {}", own.name), None),
            Base::Untold(None) => (Activity::Untold, "unknown thread".to_owned(), None),
            Base::Untold(Some(thread)) => (Activity::Untold, format!("unknown thread, at the end {thread}"), None),
        };
        self.push(Stretch { activity, name, thread, from_ns, to_ns, depth: 0, net_ns: 0, elsewhere: None, came_ns });
    }

    fn add(&mut self, activity: Activity, name: String, from_ns: i64, to_ns: i64, depth: u32) {
        self.push(Stretch {
            activity,
            name,
            thread: None,
            from_ns,
            to_ns,
            depth,
            net_ns: 0,
            elsewhere: None,
            came_ns: None,
        });
    }

    /// What of it lies in the window.
    fn push(&mut self, mut stretch: Stretch) {
        (stretch.from_ns, stretch.to_ns) = (stretch.from_ns.max(self.from_ns), stretch.to_ns.min(self.to_ns));
        if stretch.from_ns < stretch.to_ns {
            self.done.push(stretch);
        }
    }

    /// Puts all in order, and takes from each what interrupted it.
    fn finish(mut self) -> Timeline {
        self.done.sort_by_key(|stretch| (stretch.from_ns, stretch.depth));
        for at in 0..self.done.len() {
            let (from_ns, to_ns, depth) = (self.done[at].from_ns, self.done[at].to_ns, self.done[at].depth);
            let within: i64 = self
                .done
                .iter()
                .filter(|other| other.depth == depth + 1 && other.from_ns >= from_ns && other.to_ns <= to_ns)
                .map(|other| other.to_ns - other.from_ns)
                .sum();
            self.done[at].net_ns = (to_ns - from_ns - within).max(0);
        }
        Timeline { from_ns: self.from_ns, stretches: self.done }
    }
}
