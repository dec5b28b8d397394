//! How threads are scheduled, and where they may run.

use super::PlaceKind;

/// Policy and priority of a thread.
pub(super) struct Scheduling<'a> {
    pub(super) path: &'a str,
}

impl<'a> PlaceKind<'a> for Scheduling<'a> {
    fn path(&self) -> &'a str {
        self.path
    }

    fn by(&self) -> Option<String> {
        Some("sched_setattr".to_owned())
    }
}

/// The CPUs of a thread.
pub(super) struct Affinity<'a> {
    pub(super) path: &'a str,
}

impl<'a> PlaceKind<'a> for Affinity<'a> {
    fn path(&self) -> &'a str {
        self.path
    }

    fn by(&self) -> Option<String> {
        Some("sched_setaffinity".to_owned())
    }
}
