//! What a measuring thread does at an outlier. Nothing here allocates, locks, formats, logs or faults.

use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicU64, Ordering};

/// What a measuring thread and the explainer share.
#[derive(Debug)]
pub(crate) struct Watched {
    /// A latency above this is an outlier (ns).
    pub(crate) above_ns: AtomicI64,
    /// The outlier whose recording waits to be read: its schedule and its wake-up on the measured clock (ns).
    pub(crate) scheduled_ns: AtomicI64,
    pub(crate) woke_ns: AtomicI64,
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
            waits: AtomicBool::new(false),
            outliers: AtomicU64::new(0),
            not_recorded: AtomicU64::new(0),
        }
    }
}

/// The measuring thread's end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutlierWatch<'a> {
    pub(crate) watched: &'a Watched,
    /// The switch of this CPU's recorder.
    pub(crate) armed: &'a AtomicU32,
}

impl OutlierWatch<'_> {
    /// Whether a latency is an outlier.
    #[inline(always)]
    pub(crate) fn is_outlier(&self, latency_ns: i64) -> bool {
        latency_ns > self.watched.above_ns.load(Ordering::Relaxed)
    }

    /// Stops the recorder of this CPU, so that what led to the outlier stays in it.
    #[cold]
    #[inline(never)]
    pub(crate) fn stop(&self, scheduled_ns: i64, woke_ns: i64) {
        let watched = self.watched;
        watched.outliers.fetch_add(1, Ordering::Relaxed);
        if watched.waits.load(Ordering::Acquire) {
            watched.not_recorded.fetch_add(1, Ordering::Relaxed);
            return;
        }
        self.armed.store(0, Ordering::Release);
        watched.scheduled_ns.store(scheduled_ns, Ordering::Relaxed);
        watched.woke_ns.store(woke_ns, Ordering::Relaxed);
        watched.waits.store(true, Ordering::Release);
    }
}
