//! How a run is ended early.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use units::format;

/// A real-time thread that ran this long without a sleep is stopped by the kernel (s).
pub(crate) const WATCHDOG_S: u64 = 2;

/// The flags that signals set; clones share them.
#[derive(Clone, Debug, Default)]
pub struct Stop {
    ended_early: Arc<AtomicBool>,
    watchdog: Arc<AtomicBool>,
}

impl Stop {
    /// Flags that nothing sets but their owner: for tests and for runs inside runs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Flags that Ctrl-C, SIGTERM and SIGHUP set, and the kernel's watchdog.
    ///
    /// # Errors
    /// Where the kernel refuses a signal handler.
    pub fn on_signals() -> io::Result<Self> {
        let stop = Self::default();
        kernel::signals::register(&stop.ended_early, &stop.watchdog)?;
        Ok(stop)
    }

    /// Asks the run to end; all that was measured is kept.
    pub fn end_early(&self) {
        self.ended_early.store(true, Ordering::Release);
    }

    /// Whether somebody asked.
    #[must_use]
    pub fn ended_early(&self) -> bool {
        self.ended_early.load(Ordering::Acquire)
    }

    /// Whether the kernel's watchdog stopped a real-time thread.
    #[must_use]
    pub fn watchdog_fired(&self) -> bool {
        self.watchdog.load(Ordering::Acquire)
    }

    pub(crate) fn watchdog(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.watchdog)
    }
}

/// When a run was ended before its time, or at all where it has none, for people.
pub(crate) fn ended_after(elapsed_ns: i64, duration_ns: Option<u64>) -> String {
    let elapsed = format::span(elapsed_ns);
    match duration_ns {
        Some(duration_ns) => format!("after {elapsed} of {}", format::span(duration_ns)),
        None => format!("after {elapsed}, as was asked for: its duration was unlimited"),
    }
}
