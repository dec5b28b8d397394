//! Whether a CPU ran at all. In a virtual machine nothing on a trace distinguishes a running CPU from one that its host has stopped,
//! but what should have come meanwhile and did not: the scheduler's tick.

use record::CauseClass;

use super::event::{Event, What};
use super::evidence::Evidence;
use super::timeline::{Stretch, Timeline};

/// A tick that is less late than this (ns) says nothing: the kernel's own code keeps interrupts off for tens of microseconds.
pub const LATE_TICK_NS: i64 = 100_000;

/// From the last sign that a CPU ran to a tick that came late, and was due at the end or before it (both ns).
type Silence = (i64, i64);

impl Evidence {
    /// The silences of a window of time, each on the CPU that mattered then.
    pub(super) fn silences(&self, from_ns: i64, to_ns: i64) -> Vec<Silence> {
        let mut began_ns = from_ns;
        let mut all = Vec::new();
        let legs = self.legs.iter().map(|leg| (&leg.events, leg.until_ns)).chain([(&self.events, to_ns)]);
        for (events, until_ns) in legs {
            let until_ns = until_ns.clamp(began_ns, to_ns);
            let within = |(from_ns, to_ns): Silence| (from_ns.max(began_ns), to_ns.min(until_ns));
            all.extend(before_late_ticks(events).map(within).filter(|(from_ns, to_ns)| from_ns < to_ns));
            began_ns = until_ns;
        }
        all
    }
}

fn before_late_ticks(events: &[Event]) -> impl Iterator<Item = Silence> + '_ {
    events.iter().enumerate().filter_map(|(at, event)| match event.what {
        What::LateTick { due_ns } => {
            let last_ns = events[..at].last().map_or(i64::MIN, |last| last.time_ns);
            Some((last_ns.min(due_ns), event.time_ns))
        }
        _ => None,
    })
}

/// How much of a stretch's own time lies in silences (ns).
pub(super) fn silent_ns(stretch: &Stretch, timeline: &Timeline, silences: &[Silence]) -> i64 {
    let common = |one: &Stretch, (from_ns, to_ns): Silence| (one.to_ns.min(to_ns) - one.from_ns.max(from_ns)).max(0);
    let inner: Vec<&Stretch> = timeline
        .stretches
        .iter()
        .filter(|one| one.depth == stretch.depth + 1 && one.from_ns >= stretch.from_ns && one.to_ns <= stretch.to_ns)
        .collect();
    let of = |&silence: &Silence| {
        let interrupted_ns: i64 = inner.iter().map(|one| common(one, silence)).sum();
        (common(stretch, silence) - interrupted_ns).max(0)
    };
    silences.iter().map(of).sum()
}

/// Whether a tick can come while this goes on; what keeps interrupts off, as a handler does, keeps it off too.
pub(super) fn lets_ticks_in(class: CauseClass) -> bool {
    matches!(class, CauseClass::PreemptionOff | CauseClass::Thread | CauseClass::Throttle | CauseClass::Softirq)
}
