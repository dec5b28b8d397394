//! Keeps the kernel's events of one CPU for the next outlier, and fills in switches that the kernel left out.

use std::collections::{HashMap, VecDeque};

use flight::ring::{Kind, Slot};

use super::recorder::first_needed;

/// Events that are kept of each CPU.
const KEPT: usize = 32_768;
/// The kernel's own priority of an ordinary thread.
const ORDINARY: i32 = 120;

/// Events of one CPU in order of time.
///
/// Every event names the thread in which it happened. If that is not the thread of the last switch, a switch was left out
/// (seen on one virtual machine's kernel, for some threads and some CPUs). Then an extra slot marks since when the running
/// thread is unknown.
#[derive(Debug, Default)]
pub(super) struct Kept {
    slots: VecDeque<Slot>,
    /// Whether something happened before the first that is kept.
    lost_older: bool,
    /// The measuring threads.
    own: Vec<u32>,
    /// The thread that has the CPU, and when it was last seen (ns); absent before anything was.
    has_cpu: Option<(u32, i64)>,
    /// Switches that must have been and were not written down.
    pub(super) left_out: u64,
}

impl Kept {
    /// Sets which threads are the measuring ones.
    pub(super) fn measuring(&mut self, tids: &[u32]) {
        self.own = tids.to_vec();
    }

    /// Forgets all: what follows does not join it.
    pub(super) fn clear(&mut self) {
        self.slots.clear();
        self.lost_older = true;
        self.has_cpu = None;
    }

    /// Whether anything before the first is missing, or all.
    pub(super) fn lacks_older(&self) -> bool {
        self.lost_older || self.slots.is_empty()
    }

    /// Takes in that this thread had the CPU.
    pub(super) fn sees(&mut self, tid: u32, time_ns: i64) {
        let Some((before, since_ns)) = self.has_cpu.replace((tid, time_ns)).filter(|(before, _)| *before != tid) else {
            return;
        };
        self.left_out += 1;
        // From idle to a measuring thread is what each ordinary wake-up is; where no switch stands, it was one of these.
        let is_plain = |tid: u32| tid == 0 || self.own.contains(&tid);
        if !is_plain(before) || !is_plain(tid) {
            let slot = |time_ns, kind, b| Slot { time_ns, kind, a: 0, b, c: 0, name: [0; 16] };
            self.put(slot(since_ns, Kind::Untold, 0));
            self.put(slot(time_ns, Kind::Switch, b_of(tid, ORDINARY)));
        }
    }

    /// Takes in a switch, with the name of the one that gave way.
    pub(super) fn put_switch(&mut self, slot: Slot, from_name: &str) {
        // Where it came by a switch that was left out, its name and priority are known now.
        let came = self.slots.iter_mut().rfind(|slot| slot.kind == Kind::Switch);
        if let Some(came) = came.filter(|came| low(came.b) == slot.a && came.name[0] == 0) {
            came.b = u64::from(slot.a) | u64::from(high(slot.c)) << 32;
            put_name(came, from_name);
        }
        self.has_cpu = Some((low(slot.b), slot.time_ns));
        self.put(slot);
    }

    /// Takes in anything else.
    pub(super) fn put(&mut self, slot: Slot) {
        if self.slots.len() == KEPT {
            self.slots.pop_front();
            self.lost_older = true;
        }
        self.slots.push_back(slot);
    }

    /// The events from `from_ns` on, with the earlier ones that show which thread had the CPU then.
    pub(super) fn from(&self, from_ns: i64) -> impl Iterator<Item = Slot> + '_ {
        let mut now: HashMap<u32, Now> = HashMap::new();
        let begin = first_needed(self.slots.iter(), from_ns);
        self.slots.iter().skip(begin).map(move |slot| completed(*slot, &mut now))
    }
}

/// The current state of a thread that got the CPU, where the switch event does not carry it.
struct Now {
    policy: u32,
    prio: i32,
}

/// Adds the thread's current policy, which a switch event does not carry, if the thread still exists. For a switch that was
/// left out, only the thread's number is known until that thread gives way.
fn completed(mut slot: Slot, now: &mut HashMap<u32, Now>) -> Slot {
    if slot.kind != Kind::Switch {
        return slot;
    }
    let tid = low(slot.b);
    let now = now.entry(tid).or_insert_with(|| match kernel::sched::scheduling_of(tid).ok().filter(|_| tid != 0) {
        Some(now) => Now { policy: now.policy, prio: kernel_prio(now) },
        None => Now { policy: if tid == 0 { 0 } else { analysis::cause::POLICY_NOT_TOLD }, prio: ORDINARY },
    });
    slot.c = (slot.c & !u64::from(u32::MAX)) | u64::from(now.policy);
    if slot.name[0] == 0 {
        slot.b = b_of(tid, now.prio);
        let name = crate::kernel_text::read(format!("/proc/{tid}/comm")).unwrap_or_default();
        put_name(&mut slot, name.trim_end());
    }
    slot
}

fn kernel_prio(now: kernel::sched::Scheduling) -> i32 {
    match now.policy {
        6 => -1,
        1 | 2 => 99 - i32::try_from(now.priority).unwrap_or(0),
        _ => ORDINARY + now.nice,
    }
}

/// B of a switch.
fn b_of(tid: u32, prio: i32) -> u64 {
    u64::from(tid) | u64::from(u32::from_ne_bytes(prio.to_ne_bytes())) << 32
}

pub(super) fn put_name(slot: &mut Slot, name: &str) {
    slot.name.iter_mut().zip(name.bytes()).for_each(|(to, from)| *to = from);
}

/// The lower 32 bits.
pub(super) fn low(value: u64) -> u32 {
    u32::try_from(value & u64::from(u32::MAX)).unwrap_or(0)
}

/// The upper 32 bits.
pub(super) fn high(value: u64) -> u32 {
    low(value >> 32)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: u32 = 77;
    /// The kernel's own priority of SCHED_FIFO 60.
    const FIFO_60: u64 = 39;

    fn kept() -> Kept {
        let mut kept = Kept::default();
        kept.measuring(&[OWN]);
        kept
    }

    /// From a thread of FIFO 60 to another one.
    fn switch(time_ns: i64, from: u32, to: u32) -> Slot {
        let mut slot = Slot { time_ns, kind: Kind::Switch, a: from, b: b_of(to, 1), c: FIFO_60 << 32, name: [0; 16] };
        put_name(&mut slot, "next");
        slot
    }

    fn slots_of(kept: &Kept) -> Vec<(i64, Kind, u32)> {
        kept.from(i64::MIN).map(|slot| (slot.time_ns, slot.kind, low(slot.b))).collect()
    }

    #[test]
    fn switches_that_stand_there_leave_nothing_open() {
        let mut kept = kept();
        kept.sees(5, 10);
        kept.put_switch(switch(20, 5, 9), "five");
        kept.sees(9, 30);
        kept.put_switch(switch(40, 9, 0), "nine");
        assert_eq!(slots_of(&kept), [(20, Kind::Switch, 9), (40, Kind::Switch, 0)]);
        assert_eq!(kept.left_out, 0);
    }

    #[test]
    fn a_thread_whose_switch_was_left_out_is_reported_with_the_time_since_when_it_may_have_run() {
        let mut kept = kept();
        kept.put_switch(switch(20, OWN, 0), "own");
        kept.sees(0, 25);
        // No process has this number.
        let hog = u32::MAX - 1;
        kept.sees(hog, 60);
        assert_eq!(slots_of(&kept)[1..], [(25, Kind::Untold, 0), (60, Kind::Switch, hog)]);
        assert_eq!(kept.from(0).last().unwrap().name(), "", "nothing is known of it yet");
        kept.sees(hog, 90);
        kept.put_switch(switch(90, hog, OWN), "test-hog");
        let came = kept.from(0).nth(2).unwrap();
        assert_eq!((came.name().as_str(), u64::from(high(came.b))), ("test-hog", FIFO_60));
        assert_eq!(kept.left_out, 1);
    }

    #[test]
    fn between_idle_and_a_measuring_thread_nothing_is_open() {
        let mut kept = kept();
        kept.put_switch(switch(20, OWN, 0), "own");
        kept.sees(0, 25);
        kept.sees(OWN, 30);
        assert_eq!((slots_of(&kept).len(), kept.left_out), (1, 1));
        // What was lost in between is no switch that was left out.
        kept.clear();
        kept.sees(5, 40);
        assert_eq!((slots_of(&kept).len(), kept.left_out, kept.lacks_older()), (0, 1, true));
    }
}
