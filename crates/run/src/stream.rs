//! The events of a run on their way to a reader that may be slow, or gone: neither keeps the measurement waiting.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use measure::IntervalSink;
use record::{Interval, Live, Record, RunEvent, Told};
use units::CpuSet;

/// Events that wait for the reader. Of more, those that tell of intervals are left out, and the reader is told how many.
const MOST_WAITING: usize = 64;

/// Tells the events of one run, each as a line of JSON. A thread of its own writes.
#[derive(Debug)]
pub struct EventStream {
    shared: Arc<Shared>,
    told: Mutex<Told>,
    writer: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    waiting: Mutex<Waiting>,
    news: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    events: VecDeque<RunEvent>,
    /// The latest figures; those before them were never read.
    live: Option<Live>,
    /// The latest record of a run that tells it anew each time; those before it were never read.
    so_far: Option<Box<Record>>,
    left_out: u64,
    is_over: bool,
    /// Whether nobody reads any more.
    is_gone: bool,
}

impl Shared {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Waiting {
    fn take(&mut self, event: RunEvent) {
        match event {
            _ if self.is_gone => {}
            RunEvent::Live { live } => self.live = Some(live),
            RunEvent::SoFar { record } => self.so_far = Some(record),
            RunEvent::Intervals { .. } if self.events.len() >= MOST_WAITING => self.left_out += 1,
            event => {
                if self.left_out > 0 {
                    self.events.push_back(RunEvent::Gap { events: std::mem::take(&mut self.left_out) });
                }
                self.events.push_back(event);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.events.is_empty() && self.so_far.is_none() && self.live.is_none()
    }

    /// All that waits, the figures last: they are of after it.
    fn drain(&mut self) -> Vec<RunEvent> {
        let so_far = self.so_far.take().map(|record| RunEvent::SoFar { record });
        let live = self.live.take().map(|live| RunEvent::Live { live });
        self.events.drain(..).chain(so_far).chain(live).collect()
    }
}

impl EventStream {
    /// Begins to write to `out`, by a thread on the CPUs for all that a run needs beside.
    ///
    /// # Errors
    /// Where no thread is to be had.
    pub fn start(out: impl Write + Send + 'static, housekeeping: CpuSet) -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let of_writer = Arc::clone(&shared);
        let writer = std::thread::Builder::new().name("punctual-events".to_owned()).spawn(move || {
            // It runs wherever it may where those are not given.
            let _ = kernel::sched::set_affinity(0, &housekeeping);
            write_all(&of_writer, out);
        })?;
        Ok(Self { shared, told: Mutex::default(), writer: Some(writer) })
    }

    /// Tells an event. It never waits for the reader.
    pub fn tell(&self, event: RunEvent) {
        self.shared.waiting().take(event);
        self.shared.news.notify_one();
    }

    /// Tells that nothing is known any more of a run that another node carries out, and waits until the reader has everything, or is
    /// gone.
    pub fn lose(self, why: String) {
        let mut waiting = self.shared.waiting();
        // A record so far stands, and nothing follows the last event.
        let so_far = waiting.so_far.take().map(|record| RunEvent::SoFar { record });
        waiting.live = None;
        waiting.events.extend(so_far);
        waiting.take(RunEvent::Lost { why });
    }

    /// Tells that the run has ended, and waits until the reader has everything, or is gone.
    pub fn finish(self, record: Record) {
        let finished = self.told.lock().unwrap_or_else(PoisonError::into_inner).finished(record);
        let mut waiting = self.shared.waiting();
        // The record is newer than any before it, and than any figure.
        (waiting.so_far, waiting.live) = (None, None);
        waiting.take(finished);
    }
}

impl Drop for EventStream {
    /// Waits until the reader has everything, or is gone.
    fn drop(&mut self) {
        self.shared.waiting().is_over = true;
        self.shared.news.notify_one();
        if let Some(writer) = self.writer.take() {
            let _ = writer.join();
        }
    }
}

impl IntervalSink for EventStream {
    fn take(&self, intervals: Vec<(usize, Interval)>, so_far: Record) {
        let event = self.told.lock().unwrap_or_else(PoisonError::into_inner).intervals(&intervals, so_far);
        self.tell(event);
    }

    fn replace(&self, so_far: Record) {
        self.tell(RunEvent::SoFar { record: Box::new(so_far) });
    }
}

fn write_all(shared: &Shared, mut out: impl Write) {
    loop {
        let (events, is_over) = {
            let waiting = shared.waiting();
            let mut waiting = shared
                .news
                .wait_while(waiting, |waiting| waiting.is_empty() && !waiting.is_over)
                .unwrap_or_else(PoisonError::into_inner);
            (waiting.drain(), waiting.is_over)
        };
        let written = events.iter().try_for_each(|event| out.write_all(event.to_line().as_bytes()));
        if written.and_then(|()| out.flush()).is_err() {
            // A closed pipe ends the stream and not the run.
            shared.waiting().is_gone = true;
            return;
        }
        if is_over && shared.waiting().is_empty() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use record::Fold;

    use super::*;

    /// A reader that takes a line whenever it is allowed to.
    struct Slow {
        allowed: Receiver<()>,
        read: Sender<String>,
    }

    impl Write for Slow {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.allowed.recv().map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))?;
            self.read.send(String::from_utf8_lossy(bytes).into_owned()).map_err(io::Error::other)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn live(elapsed_ns: u64) -> RunEvent {
        RunEvent::Live { live: Live { elapsed_ns, ..Live::default() } }
    }

    fn interval(at: u64) -> Vec<(usize, Interval)> {
        let mut histogram = record::Histogram::new();
        histogram.record_n(1_000 + at, 1);
        vec![(0, Interval { start_offset_ns: at * 10, length_ns: 10, histogram, ..Interval::default() })]
    }

    fn so_far() -> Record {
        let mut record = Record::empty("1".to_owned(), record::Measurement::Wakeup, record::Manifest::default());
        record.series.push(record::Series { name: "scheduled_to_woke".to_owned(), ..record::Series::default() });
        record
    }

    #[test]
    fn a_reader_that_lags_is_told_the_gap_and_keeps_nobody_waiting() {
        let (allow, allowed) = channel();
        let (read, lines) = channel();
        let stream = EventStream::start(Slow { allowed, read }, CpuSet::new()).unwrap();
        // Nothing is read meanwhile, and all of it returns at once.
        for at in 0..200 {
            stream.take(interval(at), so_far());
            stream.tell(live(at));
        }
        (0..400).for_each(|_| allow.send(()).unwrap());
        stream.finish(so_far());
        let events: Vec<RunEvent> = lines.iter().map(|line| RunEvent::from_line(&line).unwrap()).collect();
        let mut fold = Fold::default();
        events.iter().cloned().for_each(|event| fold.take(event));
        let kept = fold.record().unwrap().series[0].intervals.len() as u64;
        // As many as wait were taken by the writer at once, and as many waited behind them.
        let least = 200 - 2 * MOST_WAITING as u64;
        assert!(fold.is_finished() && fold.missing() >= least, "{}", fold.missing());
        assert_eq!(kept + fold.missing(), 200, "each interval is there, or is counted as lost");
        let seen = events.iter().filter(|event| matches!(event, RunEvent::Live { .. })).count();
        assert!(seen < 3, "figures that nobody had read are replaced: {seen}");
    }

    #[test]
    fn a_reader_that_is_gone_ends_the_stream_and_not_the_run() {
        let (allow, allowed) = channel();
        let (read, lines) = channel();
        let stream = EventStream::start(Slow { allowed, read }, CpuSet::new()).unwrap();
        drop((allow, lines));
        for at in 0..200 {
            stream.take(interval(at), so_far());
        }
        stream.finish(so_far());
    }
}
