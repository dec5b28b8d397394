//! The path of an unpinned measuring thread over CPUs: which CPU's events explain which part of its sample.

use std::collections::BTreeMap;

use super::event::{Event, What};
use super::evidence::{Evidence, Late, Leg};
use super::timeline::{Timeline, draw};

impl Evidence {
    /// Out of what was recorded of all CPUs, what concerns this sample: first the CPU that its timer fired late on, then
    /// those that the thread was moved away from, then the one that it woke on.
    #[must_use]
    pub fn along_path(late: &Late, mut by_cpu: BTreeMap<u32, Self>) -> Self {
        if by_cpu.keys().eq([&late.cpu]) {
            // A pinned thread's.
            return by_cpu.remove(&late.cpu).unwrap_or_default();
        }
        let (from_ns, to_ns) = (late.scheduled.monotonic.as_ns(), late.woke.monotonic.as_ns());
        let mut parts: Vec<(u32, i64, bool)> = Vec::new();
        for (cpu, of_cpu) in &by_cpu {
            let late_timer = of_cpu.events.iter().find(
                |event| matches!(event.what, What::LateTimer { expires_ns, .. } if expires_ns == late.scheduled_ns),
            );
            parts.extend(late_timer.map(|event| (*cpu, event.time_ns, false)));
            // The kernel records a move on the CPU that makes it.
            parts.extend(of_cpu.events.iter().filter_map(|event| match event.what {
                What::Moved { tid, from, .. } if tid == late.own.tid => Some((from, event.time_ns, true)),
                _ => None,
            }));
        }
        parts.retain(|(_, time_ns, _)| (from_ns..=to_ns).contains(time_ns));
        parts.sort_by_key(|(_, time_ns, waited)| (*time_ns, *waited));
        let mut began_ns = from_ns;
        let mut legs = Vec::new();
        for (cpu, until_ns, waited) in parts {
            let of_cpu = by_cpu.get(&cpu).filter(|of_cpu| !of_cpu.lacks(began_ns));
            let Some(of_cpu) = of_cpu else { return Self { overwritten: true, ..Self::default() } };
            legs.push(Leg { cpu, events: of_cpu.events.clone(), until_ns, waited });
            began_ns = until_ns;
        }
        match by_cpu.remove(&late.cpu) {
            Some(last) if legs.is_empty() || !last.lacks(began_ns) => Self { legs, ..last },
            _ => Self { overwritten: true, ..Self::default() },
        }
    }

    /// Whether something before that moment is missing.
    pub(super) fn lacks(&self, from_ns: i64) -> bool {
        self.overwritten && self.events.first().is_none_or(|first| first.time_ns > from_ns)
    }

    /// The events of the CPU that mattered at that moment (ns).
    pub(super) fn at(&self, ns: i64) -> &[Event] {
        self.legs.iter().find(|leg| ns < leg.until_ns).map_or(&self.events, |leg| &leg.events)
    }

    /// The events of all CPUs of the way.
    pub(super) fn all(&self) -> impl Iterator<Item = &Event> {
        self.legs.iter().map(|leg| &leg.events).chain([&self.events]).flatten()
    }

    /// What the CPUs of the way did, each in its part.
    pub(super) fn timeline(&self, late: &Late, from_ns: i64, to_ns: i64) -> Timeline {
        let mut began_ns = from_ns;
        let mut whole = Timeline { from_ns, ..Timeline::default() };
        for leg in &self.legs {
            let until_ns = leg.until_ns.clamp(began_ns, to_ns);
            whole.join(
                draw(&leg.events, &late.own, (began_ns, until_ns), self.own_switches),
                Some(leg.cpu).filter(|cpu| *cpu != late.cpu),
            );
            began_ns = until_ns;
        }
        whole.join(draw(&self.events, &late.own, (began_ns, to_ns), self.own_switches), None);
        whole
    }

    /// When and from which CPU the thread was moved last, after it had waited there.
    pub(super) fn moved(&self, late: &Late) -> Option<(i64, u32)> {
        let last = self.legs.iter().rfind(|leg| leg.waited)?;
        (last.cpu != late.cpu).then_some((last.until_ns, last.cpu))
    }
}
