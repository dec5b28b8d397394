//! What a person can look at while a run goes on.

use std::sync::{Arc, Mutex, PoisonError};

use record::Bin;

/// One thread so far.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LiveThread {
    /// Number of the thread, from 0.
    pub thread: u32,
    /// Its kernel id.
    pub tid: u32,
    /// Real-time priority (0 for ordinary threads).
    pub priority: u32,
    /// The CPU it is pinned to.
    pub cpu: Option<u32>,
    /// Its interval (ns).
    pub interval_ns: u64,
    /// Samples so far.
    pub samples: u64,
    /// The latest latency (ns).
    pub last_ns: i64,
    /// The smallest so far (ns).
    pub min_ns: u64,
    /// The mean so far (ns).
    pub mean_ns: f64,
    /// The largest so far (ns).
    pub max_ns: u64,
    /// Schedules swallowed so far.
    pub missed_periods: u64,
}

/// The whole run so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveView {
    /// Time since the first schedule (ns).
    pub elapsed_ns: u64,
    /// Time that the run will take (ns), where it is known.
    pub duration_ns: Option<u64>,
    /// The measuring threads, by number.
    pub threads: Vec<LiveThread>,
    /// All samples of all threads in bins, ascending.
    pub bins: Vec<Bin>,
}

/// Called a few times a second on the controller's thread, never on a measured CPU where there is another.
pub trait Observer {
    /// All is armed, and the first schedule is next: what has to begin together with the measurement begins here.
    fn begins(&mut self) {}
    /// Shows the run so far.
    fn observe(&mut self, view: &LiveView);
}

/// A view that shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _: &LiveView) {}
}

/// Where the drain leaves the latest view; a slow terminal never holds the drain up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown(Arc<Mutex<LiveView>>);

impl Shown {
    /// Leaves a view unless the viewer is just copying the last one.
    pub(crate) fn publish(&self, fill: impl FnOnce(&mut LiveView)) {
        if let Ok(mut view) = self.0.try_lock() {
            fill(&mut view);
        }
    }

    pub(crate) fn copy(&self) -> LiveView {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
