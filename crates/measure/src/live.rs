//! What a person can look at while a run goes on.

use std::sync::{Arc, Mutex, PoisonError};

use record::Live;

/// Called a few times a second on the controller's thread, never on a measured CPU where there is another.
pub trait Observer {
    /// All is armed, and the first schedule is next: what has to begin together with the measurement begins here.
    fn begins(&mut self) {}
    /// Shows the run so far.
    fn observe(&mut self, view: &Live);
}

/// A view that shows nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Silent;

impl Observer for Silent {
    fn observe(&mut self, _: &Live) {}
}

/// Where the drain leaves the latest view; a slow terminal never holds the drain up.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shown(Arc<Mutex<Live>>);

impl Shown {
    /// Leaves a view unless the viewer is just copying the last one.
    pub(crate) fn publish(&self, fill: impl FnOnce(&mut Live)) {
        if let Ok(mut view) = self.0.try_lock() {
            fill(&mut view);
        }
    }

    pub(crate) fn copy(&self) -> Live {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
