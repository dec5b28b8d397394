//! Whole files on a disk, and texts in variables of the firmware's: what the next start of the machine reads.

use super::{Place, PlaceKind};
use crate::{boot, persist, time, tuned};

/// A file as a whole.
pub(super) struct File<'a> {
    pub(super) place: &'a Place,
    pub(super) path: &'a str,
}

impl<'a> PlaceKind<'a> for File<'a> {
    fn path(&self) -> &'a str {
        self.path
    }

    fn is_known(&self) -> bool {
        tuned::from_variables_path(self.path).is_some() || is_ours(self.place)
    }

    fn follow_up(&self) -> Option<&'static [&'static str]> {
        if tuned::from_variables_path(self.path).is_some() { Some(tuned::TAKE_NOTICE) } else { follow_up(self.place) }
    }

    fn outlives_boot(&self) -> bool {
        !self.path.starts_with("/run/")
    }
}

/// A text in a variable.
pub(super) struct EfiString<'a> {
    pub(super) place: &'a Place,
    pub(super) path: &'a str,
}

impl<'a> PlaceKind<'a> for EfiString<'a> {
    fn path(&self) -> &'a str {
        self.path
    }

    fn is_known(&self) -> bool {
        is_ours(self.place)
    }

    fn follow_up(&self) -> Option<&'static [&'static str]> {
        follow_up(self.place)
    }

    fn outlives_boot(&self) -> bool {
        true
    }
}

/// Whether this program writes there for a boot loader or the service manager.
fn is_ours(place: &Place) -> bool {
    boot::owner(place).is_some() || persist::is_place(place) || time::is_place(place)
}

/// What the boot loader or the service manager needs to take notice.
fn follow_up(place: &Place) -> Option<&'static [&'static str]> {
    match boot::owner(place) {
        Some(loader) => loader.follow_up(place),
        None => (persist::is_place(place) || time::is_place(place)).then_some(&["systemctl", "daemon-reload"]),
    }
}
