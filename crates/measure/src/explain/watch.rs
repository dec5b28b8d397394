//! What a measuring thread does at an outlier. Nothing here allocates, locks, formats, logs or faults.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

use super::parts::PartsWriter;

/// What a measuring thread and the explainer share.
#[derive(Debug)]
pub(crate) struct Watched {
    /// A latency above this is an outlier (ns).
    pub(crate) above_ns: AtomicI64,
    /// The outlier whose recording waits to be read: its schedule and its wake-up on the measured clock (ns).
    pub(crate) scheduled_ns: AtomicI64,
    pub(crate) woke_ns: AtomicI64,
    /// The CPU that the thread woke on; of a pinned one it is known beforehand.
    pub(crate) cpu: AtomicU32,
    /// Whether one waits.
    pub(crate) waits: AtomicBool,
    pub(crate) outliers: AtomicU64,
    /// Outliers that came while another waited.
    pub(crate) not_recorded: AtomicU64,
}

impl Watched {
    pub(crate) fn new(above_ns: i64) -> Self {
        Self {
            above_ns: AtomicI64::new(above_ns),
            scheduled_ns: AtomicI64::new(0),
            woke_ns: AtomicI64::new(0),
            cpu: AtomicU32::new(0),
            waits: AtomicBool::new(false),
            outliers: AtomicU64::new(0),
            not_recorded: AtomicU64::new(0),
        }
    }
}

/// The measuring thread's end.
#[derive(Debug)]
pub(crate) struct OutlierWatch<'a> {
    pub(crate) watched: &'a Watched,
    /// The switches of the recorders of all CPUs that the thread may be on, where they have any.
    pub(crate) armed: &'a [&'a AtomicU32],
    /// Whether one of the threads that share these recorders has stopped them.
    pub(crate) taken: &'a AtomicBool,
    /// Whether the thread may run on any CPU, so that the CPU on which it woke has to be recorded.
    pub(crate) may_move: bool,
    /// Where the parts of every wake-up go, if they are recorded.
    pub(crate) parts: Option<PartsWriter<'a>>,
}

impl OutlierWatch<'_> {
    /// Looks at a wake-up: writes its parts down, where they are recorded, and stops the recorders where it is an outlier. Not
    /// part of the loop, whose registers it would take from runs without it.
    #[inline(never)]
    pub(crate) fn look(&mut self, scheduled_ns: i64, woke_ns: i64) {
        if let Some(parts) = &mut self.parts {
            parts.push(scheduled_ns, woke_ns);
        }
        if woke_ns - scheduled_ns > self.watched.above_ns.load(Ordering::Relaxed) {
            self.stop(scheduled_ns, woke_ns);
        }
    }

    /// Stops the recorders of the CPUs that it may have been on, so that what led to the outlier stays in it.
    #[cold]
    #[inline(never)]
    fn stop(&self, scheduled_ns: i64, woke_ns: i64) {
        let watched = self.watched;
        watched.outliers.fetch_add(1, Ordering::Relaxed);
        let stops = !self.armed.is_empty();
        if watched.waits.load(Ordering::Acquire) || (stops && self.taken.swap(true, Ordering::AcqRel)) {
            watched.not_recorded.fetch_add(1, Ordering::Relaxed);
            return;
        }
        for armed in self.armed {
            armed.store(0, Ordering::Release);
        }
        if self.may_move {
            watched.cpu.store(kernel::sched::current_cpu(), Ordering::Relaxed);
        }
        watched.scheduled_ns.store(scheduled_ns, Ordering::Relaxed);
        watched.woke_ns.store(woke_ns, Ordering::Relaxed);
        watched.waits.store(true, Ordering::Release);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_the_threads_that_share_a_recorder_stops_it_and_the_others_are_counted() {
        let (one, other) = (Watched::new(10), Watched::new(10));
        let (armed, taken) = (AtomicU32::new(1), AtomicBool::new(false));
        let switches = [&armed];
        let watch = |watched| OutlierWatch { watched, armed: &switches, taken: &taken, may_move: false, parts: None };
        watch(&one).stop(5, 20);
        assert_eq!(armed.load(Ordering::Relaxed), 0);
        watch(&other).stop(5, 21);
        let state = |of: &Watched| (of.waits.load(Ordering::Relaxed), of.not_recorded.load(Ordering::Relaxed));
        assert_eq!((state(&one), state(&other)), ((true, 0), (false, 1)), "nothing was recorded of the second");
        assert_eq!(other.outliers.load(Ordering::Relaxed), 1);
        // What goes on being recorded serves both.
        let goes_on = |watched| OutlierWatch { watched, armed: &[], taken: &taken, may_move: false, parts: None };
        goes_on(&other).stop(5, 22);
        assert_eq!(state(&other), (true, 1));
    }
}
