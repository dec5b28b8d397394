//! Services of systemd's, and the profile of the one that sets a machine up itself.

use super::PlaceKind;
use crate::catalogue::{self, How};
use crate::{time, tuned};

/// The active profile of TuneD's.
pub(super) struct TunedProfile;

impl<'a> PlaceKind<'a> for TunedProfile {
    fn path(&self) -> &'a str {
        tuned::ACTIVE
    }

    fn by(&self) -> Option<String> {
        Some("tuned-adm".to_owned())
    }

    fn is_known(&self) -> bool {
        true
    }

    fn absence(&self) -> (String, &'static str) {
        ("TuneD is not installed".to_owned(), "install it, or take another mechanism")
    }

    fn outlives_boot(&self) -> bool {
        true
    }
}

/// A unit that runs or not.
pub(super) struct Service<'a> {
    pub(super) unit: &'a str,
}

impl<'a> PlaceKind<'a> for Service<'a> {
    fn path(&self) -> &'a str {
        self.unit
    }

    fn is_known(&self) -> bool {
        let is_knob = || catalogue::all().any(|knob| knob.how == How::Service && knob.path == self.unit);
        self.unit == tuned::UNIT || time::is_own_unit(self.unit) || time::is_steering_unit(self.unit) || is_knob()
    }

    fn absence(&self) -> (String, &'static str) {
        let why = format!("systemd does not run here, or knows no {}", self.unit);
        (why, "have your own service manager see to it")
    }
}
