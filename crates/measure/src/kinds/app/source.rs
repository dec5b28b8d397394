//! The kernel's events in the order of time: a private instance, its buffers, and what they hold.

use kernel::time_namespace::TimeNamespace;
use kernel::tracefs::{Buffer, Instance, TraceError, Tracefs};
use trace::{Decoder, Endian, Event, EventKind, Format, FormatError, Lost, PageError, PageLayout, WANTED_FIELDS};
use units::CpuSet;

/// Memory for the buffers of all CPUs together (KiB), of the followed threads and again as much for the timers of the whole
/// machine, two to four events for each expiry: a second of 32 threads at 1 kHz takes about 16 MiB.
pub(super) const BUFFERS_KIB: u64 = 32 << 10;
/// Of each CPU at least this much (KiB), on machines with hundreds of them.
const LEAST_KIB: u64 = 512;
/// And at most this much (KiB).
const MOST_KIB: u64 = 8 << 10;
/// Memory of one sub-buffer (KiB), which a reader takes at once.
const SUB_BUFFER_KIB: &str = "16";
/// Events as young as this may have neighbors on another CPU that are still being written (ns). The clock is read before
/// an event's place is taken and filled: where a virtual machine's host takes the CPU away in between, that is tens of
/// milliseconds, and an order that is wrong by then loses the turn it falls into. What waits does so in the kernel's buffers.
const SETTLE_NS: u64 = 100_000_000;

/// Events of timers' functions are recorded whichever thread they interrupt.
const OF_ALL_THREADS: [EventKind; 3] = [EventKind::TimerStart, EventKind::TimerExpire, EventKind::TimerDone];
/// Of starts only those in interrupts (`common_flags`, include/linux/trace_events.h): timers that their functions start again.
/// Those that the followed threads start are among their own events.
const IN_INTERRUPTS: &str = "common_flags & 24";

/// Without these nothing can be followed.
const NEEDED: [EventKind; 3] = [EventKind::Switch, EventKind::Waking, EventKind::New];

/// Why events cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The kernel's trace is out of reach.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// The kernel writes something in a form that is not known.
    #[error(transparent)]
    Format(#[from] FormatError),
    /// Sub-buffers have a form that is not known, or contradict themselves.
    #[error("the kernel's trace cannot be read: {0}")]
    Page(#[from] PageError),
    /// A buffer cannot be read.
    #[error("the kernel's trace cannot be read: {0}")]
    Read(std::io::Error),
}

/// How what is in the buffers is read.
#[derive(Debug)]
struct Reading {
    layout: PageLayout,
    decoder: Decoder,
    namespace: TimeNamespace,
}

impl Reading {
    /// The event of a record, by this process's monotonic clock.
    #[inline]
    fn event(&self, record: &trace::Record<'_>) -> Option<Event> {
        let event = self.decoder.decode(record)?;
        Some(Event { time_ns: self.namespace.from_kernel_ns(event.time_ns), ..event })
    }
}

/// One CPU's buffer.
#[derive(Debug)]
struct OfCpu {
    cpu: u32,
    /// Whether it holds the events of all threads' timers, rather than those of the followed threads.
    of_timers: bool,
    buffer: Buffer,
    /// The sub-buffer that was taken out of it last: one at a time, since what is read long before it is decoded has
    /// left the CPU's caches by then.
    page: Vec<u8>,
    /// The events of that sub-buffer.
    decoded: Vec<Event>,
    /// How many of them were handed on.
    done: usize,
    /// Events that were read.
    events: u64,
    /// Sub-buffers before which the kernel lost something.
    lost_before: u64,
}

impl OfCpu {
    /// The earliest event that was not handed on.
    #[inline]
    fn next(&self) -> Option<&Event> {
        self.decoded.get(self.done)
    }

    /// Goes to the next event.
    #[inline]
    fn advance(&mut self, reading: &Reading) -> Result<(), SourceError> {
        self.done += 1;
        if self.done < self.decoded.len() { Ok(()) } else { self.read(reading) }
    }

    /// Reads the next sub-buffer that holds an event, where there is one by now.
    fn read(&mut self, reading: &Reading) -> Result<(), SourceError> {
        self.done = 0;
        self.decoded.clear();
        while self.decoded.is_empty() {
            let Some(page) = self.buffer.take(&mut self.page).map_err(SourceError::Read)? else { return Ok(()) };
            let mut records = reading.layout.records(page)?;
            self.lost_before += u64::from(records.lost() != Lost::Nothing);
            while let Some(record) = records.next_record()? {
                self.events += 1;
                self.decoded.extend(reading.event(&record));
            }
        }
        Ok(())
    }
}

/// A trace that goes on, in a private instance that is removed with it.
#[derive(Debug)]
pub(super) struct Source {
    /// Closed before the instance is removed.
    buffers: Vec<OfCpu>,
    instance: Instance,
    timers: Instance,
    reading: Reading,
    /// Kinds of events that this kernel does not have.
    pub(super) missing: Vec<EventKind>,
}

impl Source {
    /// Sets a trace up that follows nobody yet and has not begun.
    pub(super) fn new(tracefs: &Tracefs, cpus: &CpuSet, buffers_kib: u64) -> Result<Self, SourceError> {
        let mut decoder = Decoder::new(Endian::NATIVE);
        let (instance, timers) = (Instance::new(tracefs)?, Instance::new(tracefs)?);
        for instance in [&instance, &timers] {
            // Older kernels know one length alone.
            let _ = instance.set("buffer_subbuf_size_kb", SUB_BUFFER_KIB);
        }
        let layout = PageLayout::parse(&instance.header_page()?, Endian::NATIVE)?;
        let count = u64::try_from(cpus.len()).unwrap_or(1).max(1);
        for instance in [&instance, &timers] {
            instance.set("trace_clock", "mono")?;
            instance.set("buffer_size_kb", &(buffers_kib / count).clamp(LEAST_KIB, MOST_KIB).to_string())?;
            // What is full loses the youngest, so that a page that is being read stays whole, and the loss is counted.
            instance.set("options/overwrite", "0")?;
        }
        instance.set("options/event-fork", "1")?;
        let mut missing = Vec::new();
        for (kind, folder, _) in WANTED_FIELDS {
            match tracefs.format(folder) {
                Ok(text) => decoder.learn(kind, &Format::parse(&text)?)?,
                Err(TraceError::EventMissing { .. }) if !NEEDED.contains(&kind) => missing.push(kind),
                Err(error) => return Err(error.into()),
            }
        }
        let of_cpu = |cpu, of_timers: bool| {
            let buffer = if of_timers { timers.buffer(cpu)? } else { instance.buffer(cpu)? };
            let page = vec![0; layout.page_bytes()];
            Ok(OfCpu { cpu, of_timers, buffer, page, decoded: Vec::new(), done: 0, events: 0, lost_before: 0 })
        };
        // Of events of the same time those of timers come first: what a timer's function does follows its beginning.
        let of_timers = cpus.iter().map(|cpu| of_cpu(cpu, true));
        let buffers = of_timers.chain(cpus.iter().map(|cpu| of_cpu(cpu, false))).collect::<Result<_, TraceError>>()?;
        Ok(Self {
            buffers,
            instance,
            timers,
            reading: Reading { layout, decoder, namespace: TimeNamespace::own() },
            missing,
        })
    }

    /// Follows these threads, and those that they make.
    pub(super) fn follow(&self, tids: &[u32]) -> Result<(), SourceError> {
        Ok(self.instance.follow(tids)?)
    }

    /// Starts recording all events that are decoded and that this kernel has. The threads to follow must be set before.
    pub(super) fn begin(&self) -> Result<(), SourceError> {
        for (kind, folder, _) in WANTED_FIELDS {
            if self.missing.contains(&kind) {
                continue;
            }
            if OF_ALL_THREADS.contains(&kind) {
                if kind == EventKind::TimerStart {
                    // Without it there are more events, and no others that matter.
                    let _ = self.timers.set(&format!("events/{folder}/filter"), IN_INTERRUPTS);
                }
                self.timers.enable(folder)?;
            }
            if !matches!(kind, EventKind::TimerExpire | EventKind::TimerDone) {
                self.instance.enable(folder)?;
            }
        }
        self.timers.start()?;
        Ok(self.instance.start()?)
    }

    /// Ends the recording.
    pub(super) fn end(&self) {
        // What is still recorded afterwards costs nobody but the followed, and no longer than until the removal.
        let _ = self.instance.stop();
        let _ = self.timers.stop();
    }

    /// Hands on, in the order of time, what happened before `now_ns`; what is too young for that order to be certain
    /// waits for the next time, unless this is the `last`. Each comes with its CPU, and by this process's monotonic clock.
    pub(super) fn take(
        &mut self,
        now_ns: u64,
        last: bool,
        mut hand_on: impl FnMut(u32, &Event),
    ) -> Result<(), SourceError> {
        let reading = &self.reading;
        for of_cpu in &mut self.buffers {
            if of_cpu.next().is_none() {
                of_cpu.read(reading)?;
            }
        }
        // A buffer that is found empty after `now_ns` has given all that came before.
        let before_ns = if last { u64::MAX } else { now_ns.saturating_sub(SETTLE_NS) };
        let mut busy: Vec<&mut OfCpu> = self.buffers.iter_mut().filter(|of_cpu| of_cpu.next().is_some()).collect();
        // From the CPU whose next event is the earliest, as many as come before the others' next one.
        loop {
            let (mut first, mut until_ns) = (None, before_ns);
            for (place, of_cpu) in busy.iter().enumerate() {
                let Some(event) = of_cpu.next() else { continue };
                match first {
                    Some((_, time_ns)) if event.time_ns >= time_ns => until_ns = until_ns.min(event.time_ns),
                    Some((_, time_ns)) => {
                        until_ns = until_ns.min(time_ns);
                        first = Some((place, event.time_ns));
                    }
                    None => first = Some((place, event.time_ns)),
                }
            }
            let Some((place, time_ns)) = first.filter(|(_, time_ns)| *time_ns < before_ns) else { return Ok(()) };
            // At least the first of them, where another is of the same time.
            let until_ns = until_ns.max(time_ns.saturating_add(1));
            let of_cpu = &mut busy[place];
            while let Some(event) = of_cpu.next().filter(|event| event.time_ns < until_ns) {
                hand_on(of_cpu.cpu, event);
                of_cpu.advance(reading)?;
            }
        }
    }

    /// Events that were read.
    pub(super) fn events(&self) -> u64 {
        self.buffers.iter().map(|of_cpu| of_cpu.events).sum()
    }

    /// Events that were lost so far, as far as the kernel counted them; at least one for each place where some were.
    pub(super) fn lost(&self) -> u64 {
        let lost_of = |of: &OfCpu| if of.of_timers { self.timers.lost(of.cpu) } else { self.instance.lost(of.cpu) };
        let counted = self.buffers.iter().map(lost_of).sum::<u64>();
        counted.max(self.buffers.iter().map(|of_cpu| of_cpu.lost_before).sum())
    }

    /// Whether some events of a kind can be had.
    pub(super) fn has(&self, kind: EventKind) -> bool {
        !self.missing.contains(&kind)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use trace::Body;

    use super::*;

    /// A thread that makes a number of calls on demand, each of two events. It is not the reading thread: reading is a call
    /// too, and a thread that follows itself never reaches the end.
    struct Caller {
        tid: u32,
        wanted: mpsc::Sender<u32>,
        made: mpsc::Receiver<u32>,
    }

    impl Caller {
        fn new() -> Self {
            let (wanted, counts) = mpsc::channel();
            let (report, made) = mpsc::channel();
            std::thread::spawn(move || {
                let _ = report.send(kernel::sched::thread_id());
                for count in counts {
                    (0..count).for_each(|_| _ = std::hint::black_box(kernel::sched::thread_id()));
                    let _ = report.send(count);
                }
            });
            Self { tid: made.recv().expect("its number"), wanted, made }
        }

        fn calls(&self, count: u32) {
            self.wanted.send(count).expect("a thread that waits");
            assert_eq!(self.made.recv(), Ok(count));
        }
    }

    #[test]
    fn events_come_in_order_and_an_overrun_is_counted() {
        let cpus = kernel::sched::affinity_of(0).unwrap_or_default();
        // The least that there is: about six thousand events of a CPU.
        let made = Tracefs::find().map_err(SourceError::from).and_then(|tracefs| Source::new(&tracefs, &cpus, 1));
        let Ok(mut source) = made else {
            println!("not shown here: {:?}", made.err());
            return;
        };
        if !source.has(EventKind::Enter) {
            println!("not shown here: no events of system calls");
            return;
        }
        let caller = Caller::new();
        source.follow(&[caller.tid]).expect("its number is right");
        source.begin().expect("a beginning");
        caller.calls(1_000);
        let mut seen = Vec::new();
        let mut keep = |_: u32, event: &Event| {
            if event.tid == caller.tid && matches!(event.body, Body::Enter { .. } | Body::Exit { .. }) {
                seen.push(event.time_ns);
            }
        };
        source.take(u64::MAX, false, &mut keep).expect("events");
        assert_eq!(source.lost(), 0);
        caller.calls(100_000);
        source.end();
        source.take(0, true, &mut keep).expect("events");
        assert!(seen.len() > 2_000 && seen.is_sorted(), "{}", seen.len());
        let made_by_us = 2 * (1_000 + 100_000);
        assert!(source.lost() > 100_000, "{} of {made_by_us} lost, {} seen", source.lost(), seen.len());
        assert!(source.lost() + u64::try_from(seen.len()).expect("few") >= made_by_us, "none is lost uncounted");
    }
}
