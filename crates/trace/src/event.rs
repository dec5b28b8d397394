//! The events that following threads needs, out of their bytes.

use crate::format::{Field, Format, FormatError};
use crate::page::{Endian, Record, WINDOW, array};

/// A thread's name as the kernel keeps it: up to 15 bytes and a zero.
#[derive(Clone, Copy, PartialEq, Eq, Default, Hash)]
pub struct Name([u8; 16]);

impl Name {
    /// From text; what is beyond 15 bytes is cut off.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let mut name = [0; 16];
        name.iter_mut().zip(text.bytes().take(15)).for_each(|(to, from)| *to = from);
        Self(name)
    }

    #[inline]
    pub(crate) fn from_bytes(bytes: &[u8]) -> Self {
        if let Ok(whole) = <[u8; 16]>::try_from(bytes) {
            // All at once: the lowest byte that is zero, and everything from there on cut off (Hacker's Delight, 6-1).
            let value = u128::from_le_bytes(whole);
            let (ones, tops) = (u128::MAX / 0xff, u128::MAX / 0xff * 0x80);
            let zeros = value.wrapping_sub(ones) & !value & tops;
            let end = (zeros.trailing_zeros() / 8).min(15);
            return Self((value & ((1 << (8 * end)) - 1)).to_le_bytes());
        }
        let mut name = [0; 16];
        let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
        name.iter_mut().zip(&bytes[..end.min(15)]).for_each(|(to, from)| *to = *from);
        Self(name)
    }

    /// The name as text; bytes that are none are replaced.
    #[must_use]
    pub fn text(&self) -> String {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end]).into_owned()
    }
}

impl std::fmt::Debug for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.text())
    }
}

/// An event with its time and the thread that was running.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Event {
    /// By the trace's clock (ns).
    pub time_ns: u64,
    /// The thread that was running, 0 where none was.
    pub tid: u32,
    /// What ran: the thread itself, or an interrupt's handler on top of it.
    pub level: Level,
    /// The kind of event, with its fields.
    pub body: Body,
}

/// What the kernel was doing when an event was written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Level {
    /// It worked for the running thread.
    #[default]
    Thread,
    /// It handled a soft interrupt, perhaps in a thread of its own.
    SoftInterrupt,
    /// It handled a hard interrupt.
    HardInterrupt,
}

impl Level {
    /// Whether an interrupt of either kind was handled.
    #[must_use]
    pub const fn is_interrupt(self) -> bool {
        !matches!(self, Self::Thread)
    }

    /// From an event's `common_flags`.
    const fn from_flags(flags: u8) -> Self {
        match (flags & IN_HARD_INTERRUPT, flags & IN_SOFT_INTERRUPT) {
            (0, 0) => Self::Thread,
            (0, _) => Self::SoftInterrupt,
            _ => Self::HardInterrupt,
        }
    }
}

/// A kind of event of the kernel's trace, with the fields that are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Body {
    /// A CPU went from one thread to another.
    Switch {
        /// The thread that left it.
        from: u32,
        /// Its priority by the kernel's count: below 0 deadline, 0 to 98 real-time 99 to 1, 100 to 139 ordinary.
        from_priority: i32,
        /// Whether it wanted to go on.
        runnable: bool,
        /// Whether it waits for something that a signal may end (`TASK_INTERRUPTIBLE`), as all waits of programs are; the
        /// kernel's own waits for locks and disks are not.
        interruptible: bool,
        /// Whether it was stopped, by a signal or by a debugger.
        stopped: bool,
        /// The thread that got it.
        to: u32,
        /// Its priority by the kernel's count.
        to_priority: i32,
        /// Name of the thread that got the CPU.
        to_name: Name,
    },
    /// A thread is being made runnable, seen by the one that wakes it.
    Waking {
        /// Thread that is made runnable.
        tid: u32,
        /// Its priority by the kernel's count.
        priority: i32,
    },
    /// A system call begins.
    Enter {
        /// Number of the system call.
        number: i64,
        /// Its first four arguments; nothing here needs the rest.
        arguments: [u64; 4],
    },
    /// A system call ends.
    Exit {
        /// Number of the system call.
        number: i64,
        /// Its result; negative for errors.
        result: i64,
    },
    /// A timer was started.
    TimerStart {
        /// Address of the timer in the kernel.
        timer: u64,
        /// Address of the function that it will call.
        function: u64,
        /// The earliest moment that was asked for, on the clock of the timer (ns).
        expires_ns: i64,
    },
    /// A timer has expired, and its function begins.
    TimerExpire {
        /// Address of the timer in the kernel.
        timer: u64,
        /// The time that the kernel read before, on the clock of the timer (ns).
        now_ns: i64,
    },
    /// The function of a timer has ended.
    TimerDone {
        /// Address of the timer in the kernel.
        timer: u64,
    },
    /// A page was not there, or not as it was wanted.
    Fault {
        /// Address that was accessed.
        address: u64,
    },
    /// A thread was made by the running one.
    New {
        /// Thread id of the new thread.
        tid: u32,
        /// Name of the new thread.
        name: Name,
        /// Whether it belongs to the same process (`CLONE_THREAD`).
        same_process: bool,
    },
    /// A thread has another name.
    Rename {
        /// Thread that was renamed.
        tid: u32,
        /// Its new name.
        name: Name,
    },
    /// A thread ended.
    End {
        /// Thread that ended.
        tid: u32,
    },
    /// The running thread's process runs another program.
    Exec {
        /// The thread's number from here on: that of its process.
        tid: u32,
        /// Its number before.
        old_tid: u32,
    },
}

/// A kind of event that can be decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EventKind {
    /// `sched/sched_switch`
    Switch,
    /// `sched/sched_waking`
    Waking,
    /// `raw_syscalls/sys_enter`
    Enter,
    /// `raw_syscalls/sys_exit`
    Exit,
    /// `timer/hrtimer_start`
    TimerStart,
    /// `timer/hrtimer_expire_entry`
    TimerExpire,
    /// `timer/hrtimer_expire_exit`
    TimerDone,
    /// `exceptions/page_fault_user`
    FaultUser,
    /// `exceptions/page_fault_kernel`
    FaultKernel,
    /// `task/task_newtask`
    New,
    /// `task/task_rename`
    Rename,
    /// `sched/sched_process_exit`
    End,
    /// `sched/sched_process_exec`
    Exec,
}

/// Most fields that an event is read by.
const MOST_FIELDS: usize = 6;

/// Each kind with its folder and the fields that are read, in the order in which [`Decoder`] uses them.
pub const WANTED_FIELDS: [(EventKind, &str, &[&str]); 13] = [
    (
        EventKind::Switch,
        "sched/sched_switch",
        &["prev_pid", "prev_prio", "prev_state", "next_pid", "next_prio", "next_comm"],
    ),
    (EventKind::Waking, "sched/sched_waking", &["pid", "prio"]),
    (EventKind::Enter, "raw_syscalls/sys_enter", &["id", "args"]),
    (EventKind::Exit, "raw_syscalls/sys_exit", &["id", "ret"]),
    (EventKind::TimerStart, "timer/hrtimer_start", &["softexpires", "hrtimer", "function"]),
    (EventKind::TimerExpire, "timer/hrtimer_expire_entry", &["hrtimer", "now"]),
    (EventKind::TimerDone, "timer/hrtimer_expire_exit", &["hrtimer"]),
    (EventKind::FaultUser, "exceptions/page_fault_user", &["address"]),
    (EventKind::FaultKernel, "exceptions/page_fault_kernel", &["address"]),
    (EventKind::New, "task/task_newtask", &["pid", "comm", "clone_flags"]),
    (EventKind::Rename, "task/task_rename", &["pid", "newcomm"]),
    (EventKind::End, "sched/sched_process_exit", &["pid"]),
    (EventKind::Exec, "sched/sched_process_exec", &["pid", "old_pid"]),
];

impl EventKind {
    /// Its folder below `events`.
    #[must_use]
    pub fn folder(self) -> &'static str {
        self.wanted().0
    }

    fn wanted(self) -> (&'static str, &'static [&'static str]) {
        WANTED_FIELDS.iter().find(|(kind, ..)| *kind == self).map_or(("", &[]), |(_, folder, fields)| (folder, fields))
    }
}

/// Where a value stands, in eight bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    offset: u32,
    size: u16,
    signed: bool,
}

impl Place {
    fn from_field(field: &Field) -> Option<Self> {
        Some(Self {
            offset: u32::try_from(field.offset).ok()?,
            size: u16::try_from(field.size).ok()?,
            signed: field.signed,
        })
    }

    fn offset(self) -> usize {
        usize::try_from(self.offset).unwrap_or(usize::MAX)
    }
}

#[derive(Clone, Copy, Debug)]
struct Known {
    kind: EventKind,
    places: [Place; MOST_FIELDS],
    /// Where all values end, where they can be read through a record's window.
    end: Option<usize>,
}

/// How an event's values are reached.
trait Values {
    /// A whole number of four or eight bytes.
    fn number(&self, place: Place) -> Option<i64>;
    /// The first arguments of a system call.
    fn arguments(&self, place: Place) -> Option<[u64; 4]>;
    /// A thread's name.
    fn name(&self, place: Place) -> Option<Name>;
    /// A field of one byte.
    fn byte(&self, place: Place) -> Option<u8>;
}

/// Through a window that is longer than the event: nothing has to be looked at but the values. For machines whose
/// lowest byte comes first.
struct InWindow<'page>(&'page [u8; WINDOW]);

impl InWindow<'_> {
    /// Eight bytes; a place beyond the window was refused before.
    #[inline(always)]
    fn eight(&self, offset: usize) -> [u8; 8] {
        let offset = offset % (WINDOW - 8);
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&self.0[offset..offset + 8]);
        bytes
    }
}

impl Values for InWindow<'_> {
    #[inline(always)]
    fn number(&self, place: Place) -> Option<i64> {
        // All eight bytes, then those that are not its own shifted out.
        let spare = 64 - 8 * u32::from(place.size);
        let upper = i64::from_le_bytes(self.eight(place.offset())).wrapping_shl(spare);
        let without_sign = i64::from_ne_bytes(unsigned(upper).wrapping_shr(spare).to_ne_bytes());
        Some(if place.signed { upper.wrapping_shr(spare) } else { without_sign })
    }

    #[inline(always)]
    fn arguments(&self, place: Place) -> Option<[u64; 4]> {
        let mut arguments = [0; 4];
        let step = usize::from(place.size) / 6;
        let mask = if step == 8 { u64::MAX } else { u64::from(u32::MAX) };
        for (index, argument) in arguments.iter_mut().enumerate() {
            *argument = u64::from_le_bytes(self.eight(place.offset() + step * index)) & mask;
        }
        Some(arguments)
    }

    #[inline(always)]
    fn name(&self, place: Place) -> Option<Name> {
        let (low, high) = (self.eight(place.offset()), self.eight(place.offset() + 8));
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&low);
        bytes[8..].copy_from_slice(&high);
        Some(Name::from_bytes(&bytes))
    }

    #[inline(always)]
    fn byte(&self, place: Place) -> Option<u8> {
        self.0.get(place.offset()).copied()
    }
}

/// Byte by byte, each looked for.
struct Anywhere<'page> {
    endian: Endian,
    data: &'page [u8],
}

/// Bits of `common_flags`: in a hard and in a soft interrupt's handler (include/linux/trace_events.h).
const IN_HARD_INTERRUPT: u8 = 0x08;
const IN_SOFT_INTERRUPT: u8 = 0x10;
/// Bits of `prev_state` that mean sleep or end; without any the thread was to go on (include/linux/sched.h,
/// `TASK_REPORT`; the bit above them only says that it was preempted).
const NOT_RUNNABLE: u64 = 0xff;
/// The one of them that means a wait that a signal may end (`TASK_INTERRUPTIBLE`).
const INTERRUPTIBLE: u64 = 0x01;
/// Those of them that mean stopped, by a signal or by a debugger (`__TASK_STOPPED`, `__TASK_TRACED`).
const STOPPED: u64 = 0x04 | 0x08;
/// `CLONE_THREAD` (include/uapi/linux/sched.h).
const CLONE_THREAD: u64 = 0x0001_0000;

/// The same bits without a sign.
fn unsigned(value: i64) -> u64 {
    u64::from_ne_bytes(value.to_ne_bytes())
}

/// Turns records into events by the kernel's own descriptions.
#[derive(Clone, Debug)]
pub struct Decoder {
    endian: Endian,
    flags: Place,
    tid: Place,
    /// By the event's number.
    known: Vec<Option<Known>>,
}

impl Decoder {
    /// One that knows no event yet.
    #[must_use]
    pub fn new(endian: Endian) -> Self {
        Self { endian, flags: Place::default(), tid: Place::default(), known: Vec::new() }
    }

    /// Takes in how this kernel writes a kind of event.
    ///
    /// # Errors
    /// Where a field that is needed is missing or has a form that is not known.
    pub fn learn(&mut self, kind: EventKind, format: &Format) -> Result<(), FormatError> {
        let place = |name: &'static str, sizes: &[usize]| {
            format
                .field(name)
                .filter(|field| sizes.is_empty() || sizes.contains(&field.size))
                .and_then(Place::from_field)
                .ok_or_else(|| FormatError::Field { event: format.name.clone(), field: name })
        };
        self.flags = place("common_flags", &[1])?;
        self.tid = place("common_pid", &[4])?;
        let mut known = Known { kind, places: [Place::default(); MOST_FIELDS], end: None };
        for (place_of, name) in known.places.iter_mut().zip(kind.wanted().1) {
            *place_of = match *name {
                "args" => place(name, &[24, 48])?,
                "comm" | "newcomm" | "next_comm" => place(name, &[])?,
                _ => place(name, &[4, 8])?,
            };
        }
        known.end = self.end_of(&known);
        let index = usize::from(format.id);
        if self.known.len() <= index {
            self.known.resize(index + 1, None);
        }
        self.known[index] = Some(known);
        Ok(())
    }

    /// Where the values of an event end, where all of them are as most kernels write them.
    fn end_of(&self, known: &Known) -> Option<usize> {
        let used = &known.places[..known.kind.wanted().1.len()];
        let is_plain = |place: &Place| matches!(place.size, 4 | 8 | 16 | 24 | 48);
        // A name that stands behind the event, and not in it.
        let is_behind =
            known.kind.wanted().1.iter().zip(used).any(|(name, place)| name.ends_with("comm") && place.size != 16);
        if self.endian != Endian::Little || is_behind || !used.iter().all(is_plain) {
            return None;
        }
        let end =
            used.iter().chain([&self.flags, &self.tid]).map(|place| place.offset() + usize::from(place.size)).max();
        end.filter(|end| *end <= WINDOW - 8)
    }

    /// The event of a record; `None` for kinds that were not taken in, and for records that are too short for theirs.
    #[must_use]
    #[inline]
    pub fn decode(&self, record: &Record<'_>) -> Option<Event> {
        let data = record.data;
        let id = self.endian.u16(array(data, 0)?);
        let known = self.known.get(usize::from(id))?.as_ref()?;
        match (record.window, known.end) {
            (Some(window), Some(end)) if end <= data.len() => self.event(record.time_ns, known, &InWindow(window)),
            _ => self.event_anywhere(record, known),
        }
    }

    #[cold]
    #[inline(never)]
    fn event_anywhere(&self, record: &Record<'_>, known: &Known) -> Option<Event> {
        self.event(record.time_ns, known, &Anywhere { endian: self.endian, data: record.data })
    }

    #[inline(always)]
    fn event(&self, time_ns: u64, known: &Known, values: &impl Values) -> Option<Event> {
        let number = |index: usize| values.number(known.places[index]);
        let tid = |index: usize| number(index).and_then(|number| u32::try_from(number).ok());
        let priority = |index: usize| number(index).and_then(|number| i32::try_from(number).ok());
        let body = match known.kind {
            EventKind::Switch => Body::Switch {
                from: tid(0)?,
                from_priority: priority(1)?,
                runnable: unsigned(number(2)?) & NOT_RUNNABLE == 0,
                interruptible: unsigned(number(2)?) & INTERRUPTIBLE != 0,
                stopped: unsigned(number(2)?) & STOPPED != 0,
                to: tid(3)?,
                to_priority: priority(4)?,
                to_name: values.name(known.places[5])?,
            },
            EventKind::Waking => Body::Waking { tid: tid(0)?, priority: priority(1)? },
            EventKind::Enter => Body::Enter { number: number(0)?, arguments: values.arguments(known.places[1])? },
            EventKind::Exit => Body::Exit { number: number(0)?, result: number(1)? },
            EventKind::TimerStart => {
                Body::TimerStart { timer: unsigned(number(1)?), function: unsigned(number(2)?), expires_ns: number(0)? }
            }
            EventKind::TimerExpire => Body::TimerExpire { timer: unsigned(number(0)?), now_ns: number(1)? },
            EventKind::TimerDone => Body::TimerDone { timer: unsigned(number(0)?) },
            EventKind::FaultUser | EventKind::FaultKernel => Body::Fault { address: unsigned(number(0)?) },
            EventKind::New => Body::New {
                tid: tid(0)?,
                name: values.name(known.places[1])?,
                same_process: unsigned(number(2)?) & CLONE_THREAD != 0,
            },
            EventKind::Rename => Body::Rename { tid: tid(0)?, name: values.name(known.places[1])? },
            EventKind::End => Body::End { tid: tid(0)? },
            EventKind::Exec => Body::Exec { tid: tid(0)?, old_tid: tid(1)? },
        };
        Some(Event {
            time_ns,
            tid: u32::try_from(values.number(self.tid)?).ok()?,
            level: Level::from_flags(values.byte(self.flags)?),
            body,
        })
    }
}

impl Values for Anywhere<'_> {
    fn number(&self, place: Place) -> Option<i64> {
        match place.size {
            8 => Some(i64::from_ne_bytes(self.endian.u64(array(self.data, place.offset())?).to_ne_bytes())),
            4 => {
                let value = self.endian.u32(array(self.data, place.offset())?);
                Some(if place.signed { i64::from(i32::from_ne_bytes(value.to_ne_bytes())) } else { i64::from(value) })
            }
            _ => None,
        }
    }

    fn arguments(&self, place: Place) -> Option<[u64; 4]> {
        let mut arguments = [0; 4];
        for (index, argument) in arguments.iter_mut().enumerate() {
            *argument = if place.size == 48 {
                self.endian.u64(array(self.data, place.offset() + 8 * index)?)
            } else {
                u64::from(self.endian.u32(array(self.data, place.offset() + 4 * index)?))
            };
        }
        Some(arguments)
    }

    /// A name that stands in the event, or behind it where the field says (`__data_loc`: offset below, length above 16
    /// bits).
    fn name(&self, place: Place) -> Option<Name> {
        if place.size == 4 {
            let location = self.endian.u32(array(self.data, place.offset())?);
            let (offset, length) = (location & 0xffff, location >> 16);
            let (offset, length) = (usize::try_from(offset).ok()?, usize::try_from(length).ok()?);
            return Some(Name::from_bytes(self.data.get(offset..offset.checked_add(length)?)?));
        }
        let bytes = self.data.get(place.offset()..place.offset().checked_add(usize::from(place.size))?)?;
        Some(Name::from_bytes(bytes))
    }

    fn byte(&self, place: Place) -> Option<u8> {
        self.data.get(place.offset()).copied()
    }
}

#[cfg(test)]
mod tests;
