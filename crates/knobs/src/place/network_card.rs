//! Settings of network drivers.

use super::{Place, PlaceKind};
use crate::catalogue::{self, How};

/// One field of what ethtool asks a driver for.
pub(super) struct Ethtool<'a> {
    pub(super) path: &'a str,
    pub(super) field: &'a str,
}

impl<'a> PlaceKind<'a> for Ethtool<'a> {
    fn path(&self) -> &'a str {
        self.path
    }

    fn by(&self) -> Option<String> {
        Some(format!("ethtool {}", self.field))
    }

    fn is_known(&self) -> bool {
        let interface = self.path.strip_prefix("/sys/class/net/").unwrap_or_default();
        let is_name = !interface.is_empty() && !interface.contains('/') && interface != "..";
        is_name && catalogue::find(self.field).is_some_and(|knob| knob.how == How::Ethtool)
    }

    fn absence(&self) -> (String, &'static str) {
        let interface = self.path.rsplit('/').next().unwrap_or(self.path);
        let why = format!("the driver of {interface} knows no {}", self.field);
        (why, "leave it out; 'ethtool' shows what the driver supports")
    }

    fn most(&self) -> Option<Place> {
        let has_most = self.field.starts_with("ring-") || self.field.starts_with("channels-");
        has_most.then(|| Place::Ethtool { path: self.path.to_owned(), field: format!("{}-max", self.field) })
    }

    fn is_asked_for_by_itself(&self) -> bool {
        true
    }
}
