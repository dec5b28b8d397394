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
    /// Whether a switch to it was recorded, and so when it came.
    pub(super) chosen: bool,
}

/// What one CPU did in a window of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The window's start (ns, CLOCK_MONOTONIC).
    pub from_ns: i64,
    pub(super) stretches: Vec<Stretch>,
}

impl Timeline {
    /// For the record: times counted from `zero_ns`.
    #[must_use]
    pub fn segments(&self, zero_ns: i64) -> Vec<TimelineSegment> {
        let segment = |stretch: &Stretch| TimelineSegment {
            activity: stretch.activity,
            name: stretch.name.clone(),
            from_ns: stretch.from_ns - zero_ns,
            to_ns: stretch.to_ns - zero_ns,
            depth: stretch.depth,
            net_ns: u64::try_from(stretch.net_ns).unwrap_or(0),
        };
        self.stretches.iter().map(segment).collect()
    }
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
    let mut drawn = Drawing { from_ns, to_ns, done: Vec::new() };
    let mut open: Vec<Open> = Vec::new();
    // Before the first switch nothing is known but that idle and own do not show: one of these had the CPU, or whoever
    // the first switch says gave way.
    let first = events.iter().find_map(|event| match &event.what {
        What::Switch { from, from_prio, .. } if *from != 0 && *from != own.tid => {
            Some(Thread { tid: *from, name: format!("thread {from}"), prio: *from_prio, policy: 0 })
        }
        _ => None,
    });
    let before_any = events.iter().position(|event| matches!(event.what, What::Switch { .. }));
    let mut base = first.filter(|_| before_any.is_some_and(|at| is_from_other(&events[at], own)));
    let mut base_from_ns = i64::MIN;
    let mut chosen = false;
    for event in events.iter().filter(|event| event.time_ns <= to_ns) {
        let now_ns = event.time_ns;
        match &event.what {
            What::Switch { to, .. } => {
                // A switch within an interrupt cannot be: what did not end has lost its end.
                close_all(&mut open, &mut drawn, now_ns);
                drawn.base(base.as_ref(), own, base_from_ns, now_ns, chosen);
                base = (to.tid != 0 && to.tid != own.tid).then(|| to.clone());
                (base_from_ns, chosen) = (now_ns, true);
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
                drawn.add(Activity::Nmi, handler.clone(), None, from_ns, now_ns, depth(&open), true);
            }
            _ => {}
        }
    }
    close_all(&mut open, &mut drawn, to_ns);
    drawn.base(base.as_ref(), own, base_from_ns, to_ns, chosen);
    drawn.finish()
}

fn is_from_other(event: &Event, own: &Thread) -> bool {
    matches!(event.what, What::Switch { from, .. } if from != 0 && from != own.tid)
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
    drawn.add(activity, name, None, one.from_ns, now_ns, at, true);
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
    fn base(&mut self, thread: Option<&Thread>, own: &Thread, from_ns: i64, to_ns: i64, chosen: bool) {
        match thread {
            Some(thread) => self.add(Activity::Thread, thread.words(), Some(thread.clone()), from_ns, to_ns, 0, chosen),
            // Between idle and the measuring thread no switch is recorded: up to its wake-up it sleeps.
            None => {
                let name = if own.tid == 0 { "idle".to_owned() } else { format!("idle, or {}", own.name) };
                self.add(Activity::Idle, name, None, from_ns, to_ns, 0, chosen);
            }
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the fields of one stretch")]
    fn add(
        &mut self,
        activity: Activity,
        name: String,
        thread: Option<Thread>,
        from_ns: i64,
        to_ns: i64,
        depth: u32,
        chosen: bool,
    ) {
        let chosen = chosen && from_ns >= self.from_ns;
        let (from_ns, to_ns) = (from_ns.max(self.from_ns), to_ns.min(self.to_ns));
        if from_ns < to_ns {
            self.done.push(Stretch { activity, name, thread, from_ns, to_ns, depth, net_ns: to_ns - from_ns, chosen });
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
