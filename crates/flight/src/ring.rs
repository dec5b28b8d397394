//! The memory of one CPU: a head, and a ring of slots that the programs fill.
//!
//! The programs write while the ring is armed. A thread that disarms the ring from the same CPU can read it at once: the
//! CPU's programs have ended before any thread runs there.

/// Offset of the count of all slots ever written (u64).
pub const HEAD_AT: i16 = 0;
/// Offset of the flag that lets the programs write (u32, 0 or 1).
pub const ARMED_AT: i16 = 8;
/// Offset of the CPU's measuring thread, whose wake-ups are recorded by their parts (u32 thread id, 0 for none).
pub const THREAD_AT: i16 = 12;
/// Offset of the count of all stacks ever written (u64).
pub const STACK_HEAD_AT: i16 = 16;
/// Offset of the lateness of the measuring thread's timer from which the interrupted stack is recorded (u64, ns).
pub const STACK_FROM_AT: i16 = 24;
/// Offset of the time at which a sleeping thread's timer last fired on this CPU (i64, ns of CLOCK_MONOTONIC).
pub const TIMER_AT: i16 = 32;
/// Offset of the time at which the timer of this CPU's measuring thread last fired, on any CPU (i64, ns of
/// CLOCK_MONOTONIC).
pub const OWN_TIMER_AT: i16 = 40;
/// Offset of the time at which this CPU's measuring thread was last made runnable (i64, ns of CLOCK_MONOTONIC).
pub const RUNNABLE_AT: i16 = 48;
/// Offset of the time at which this CPU last switched to its measuring thread (i64, ns of CLOCK_MONOTONIC).
pub const RUNNING_AT: i16 = 56;
/// Offset of the first stack.
pub const STACKS_AT: i16 = 64;
/// Stacks that are kept: one for each late timer of the measuring thread.
pub const STACKS: usize = 8;
/// Functions of one stack.
pub const STACK_DEPTH: usize = 16;
/// Bytes of one stack.
pub const STACK_BYTES: usize = STACK_DEPTH * 8;
/// Offset of the first slot.
pub const SLOTS_AT: i16 = STACKS_AT + 8 * 128;
/// Bytes of one slot.
pub const SLOT_BYTES: usize = 48;

const _: () = assert!(STACKS * STACK_BYTES == 8 * 128 && STACKS.is_power_of_two());

/// Bytes of one CPU's memory with so many slots, a power of two.
#[must_use]
pub const fn ring_bytes(slots: usize) -> usize {
    1088 + slots * SLOT_BYTES
}

const _: () = assert!(SLOTS_AT == 1088);

/// The event that a slot records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// One thread gave way to another.
    Switch = 1,
    /// A device's interrupt handler began.
    IrqEntry = 2,
    /// A device's interrupt handler ended.
    IrqExit = 3,
    /// A softirq began.
    SoftirqEntry = 4,
    /// A softirq ended.
    SoftirqExit = 5,
    /// A local interrupt of the processor began, other than its timer's.
    VectorEntry = 6,
    /// A local interrupt of the processor ended.
    VectorExit = 7,
    /// A high-resolution timer's function began.
    TimerEntry = 8,
    /// A high-resolution timer's function ended.
    TimerExit = 9,
    /// The timer of a sleeping thread fired late.
    LateTimer = 10,
    /// The CPU went idle.
    IdleEntry = 11,
    /// The CPU left its idle state.
    IdleExit = 12,
    /// A page fault.
    PageFault = 13,
    /// A non-maskable interrupt ended; its length is known.
    Nmi = 14,
    /// The CPU's frequency was changed.
    Frequency = 15,
    /// The running thread is unknown until the next switch, since a switch was left out. No program writes this kind.
    Untold = 16,
    /// A measuring thread was moved to another CPU.
    Moved = 17,
    /// A thread of the measuring process was woken, on the CPU that woke it.
    Woken = 18,
}

impl Kind {
    const ALL: [Self; 18] = [
        Self::Switch,
        Self::IrqEntry,
        Self::IrqExit,
        Self::SoftirqEntry,
        Self::SoftirqExit,
        Self::VectorEntry,
        Self::VectorExit,
        Self::TimerEntry,
        Self::TimerExit,
        Self::LateTimer,
        Self::IdleEntry,
        Self::IdleExit,
        Self::PageFault,
        Self::Nmi,
        Self::Frequency,
        Self::Untold,
        Self::Moved,
        Self::Woken,
    ];

    /// The kind of a number.
    #[must_use]
    pub fn from_number(number: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u32 == number)
    }
}

/// One slot as it stands in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Time of the event (ns, CLOCK_MONOTONIC).
    pub time_ns: i64,
    /// The event that it records.
    pub kind: Kind,
    /// A small number, by kind: thread, interrupt, vector, state.
    pub a: u32,
    /// A number, by kind.
    pub b: u64,
    /// A number, by kind.
    pub c: u64,
    /// Name of the next thread (switch), padded with zeros.
    pub name: [u8; 16],
}

impl Slot {
    /// Of a late timer: when its stack had been followed (ns, CLOCK_MONOTONIC).
    #[must_use]
    pub fn followed_ns(&self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = self.name;
        i64::from_ne_bytes([a, b, c, d, e, f, g, h])
    }

    /// The name as text.
    #[must_use]
    pub fn name(&self) -> String {
        let end = self.name.iter().position(|&byte| byte == 0).unwrap_or(self.name.len());
        String::from_utf8_lossy(&self.name[..end]).into_owned()
    }
}

/// A copy of one CPU's memory, taken while it was disarmed.
#[derive(Clone, Debug)]
pub struct Copy {
    bytes: Vec<u8>,
    slots: usize,
}

impl Copy {
    /// `bytes` of a ring with `slots` places; `None` where they are fewer than such a ring has.
    #[must_use]
    pub fn new(bytes: Vec<u8>, slots: usize) -> Option<Self> {
        (slots.is_power_of_two() && bytes.len() >= ring_bytes(slots)).then_some(Self { bytes, slots })
    }

    /// Slots ever written.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.u64_at(usize::try_from(HEAD_AT).unwrap_or(0))
    }

    /// The slots that are still there and make sense, in the order of time, and whether older ones were overwritten.
    ///
    /// A program that is interrupted between taking its slot and reading the clock stands in it with a later time than
    /// the interrupt's: order is by time, not by place.
    #[must_use]
    pub fn read(&self) -> (Vec<Slot>, bool) {
        let written = self.written();
        let kept = written.min(u64::try_from(self.slots).unwrap_or(u64::MAX));
        let mut slots: Vec<Slot> = (written - kept..written).filter_map(|n| self.slot(n)).collect();
        slots.sort_by_key(|slot| slot.time_ns);
        (slots, written > kept)
    }

    fn slot(&self, number: u64) -> Option<Slot> {
        let place = usize::try_from(number % u64::try_from(self.slots).ok()?).ok()?;
        let at = 1088 + place * SLOT_BYTES;
        let name = self.bytes.get(at + 32..at + 48)?.try_into().ok()?;
        Some(Slot {
            time_ns: i64::from_ne_bytes(self.u64_at(at).to_ne_bytes()),
            kind: Kind::from_number(self.u32_at(at + 8))?,
            a: self.u32_at(at + 12),
            b: self.u64_at(at + 16),
            c: self.u64_at(at + 24),
            name,
        })
    }

    /// The functions that led to where a late timer's interrupt was taken, the innermost first; `number` and `bytes` as
    /// the slot has them. Empty where it was overwritten or there is none.
    #[must_use]
    pub fn stack(&self, number: u64, bytes: u32) -> Vec<u64> {
        let written = self.u64_at(usize::try_from(STACK_HEAD_AT).unwrap_or(0));
        let kept = u64::try_from(STACKS).unwrap_or(0);
        if number >= written || written - number > kept {
            return Vec::new();
        }
        let at = 64 + usize::try_from(number % kept).unwrap_or(0) * STACK_BYTES;
        // A failure is a negative number, and so a huge one here.
        let depth = usize::try_from(bytes / 8).ok().filter(|&depth| depth <= STACK_DEPTH).unwrap_or(0);
        (0..depth).map(|n| self.u64_at(at + 8 * n)).take_while(|&address| address != 0).collect()
    }

    fn u64_at(&self, at: usize) -> u64 {
        self.bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes)
    }

    fn u32_at(&self, at: usize) -> u32 {
        self.bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map_or(0, u32::from_ne_bytes)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ring(written: u64, times: &[i64]) -> Copy {
        let mut bytes = vec![0; ring_bytes(8)];
        bytes[..8].copy_from_slice(&written.to_ne_bytes());
        for (place, time_ns) in times.iter().enumerate() {
            let at = 1088 + place * SLOT_BYTES;
            bytes[at..at + 8].copy_from_slice(&time_ns.to_ne_bytes());
            bytes[at + 8..at + 12].copy_from_slice(&1_u32.to_ne_bytes());
        }
        Copy::new(bytes, 8).unwrap()
    }

    #[test]
    fn a_ring_that_went_round_says_so_and_keeps_the_order_of_time() {
        let (slots, overwritten) = ring(3, &[10, 30, 20, 0, 0, 0, 0, 0]).read();
        assert_eq!(slots.iter().map(|slot| slot.time_ns).collect::<Vec<_>>(), [10, 20, 30]);
        assert!(!overwritten);
        let (slots, overwritten) = ring(10, &[9, 10, 3, 4, 5, 6, 7, 8]).read();
        assert_eq!(slots.first().map(|slot| slot.time_ns), Some(3));
        assert_eq!(slots.len(), 8);
        assert!(overwritten);
    }

    #[test]
    fn what_is_no_ring_is_refused_and_unknown_kinds_are_left_out() {
        assert!(Copy::new(vec![0; 100], 8).is_none());
        assert!(Copy::new(vec![0; ring_bytes(8)], 6).is_none(), "places are a power of two");
        let mut bytes = vec![0; ring_bytes(8)];
        bytes[0] = 1;
        bytes[1088 + 8] = 200;
        assert_eq!(Copy::new(bytes, 8).unwrap().read(), (Vec::new(), false));
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), ring_bytes(8)), head in any::<u64>()) {
            bytes[..8].copy_from_slice(&head.to_ne_bytes());
            let copy = Copy::new(bytes, 8).unwrap();
            let (slots, _) = copy.read();
            prop_assert!(slots.len() <= 8);
            prop_assert!(copy.stack(head, 128).len() <= STACK_DEPTH);
        }
    }
}
