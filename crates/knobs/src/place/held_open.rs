//! Files of the kernel's that keep a value only as long as they are open.

use super::{Place, PlaceKind};
use crate::catalogue::{self, How};

/// A file that a process of this program's keeps open.
pub(super) struct HeldOpen<'a> {
    pub(super) path: &'a str,
}

impl<'a> PlaceKind<'a> for HeldOpen<'a> {
    fn path(&self) -> &'a str {
        self.path
    }

    fn by(&self) -> Option<String> {
        Some("held open".to_owned())
    }

    fn is_known(&self) -> bool {
        catalogue::all().any(|knob| knob.how == How::HeldOpen && knob.path == self.path)
    }

    fn better(&self) -> Option<Place> {
        Some(Place::attribute("/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us"))
    }

    fn is_held_by_a_process(&self) -> bool {
        true
    }
}
