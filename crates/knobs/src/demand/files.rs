//! Files of the kernel's that are no known knobs.

use std::path::Path;

use super::off_limits::form_of_file;
use super::{Demand, Group, RequiredSetting, Site};
use crate::intent::KnobValue;
use crate::{Form, Place, Value};

/// Cannot be written back by what it showed.
const BOTH_WATCHDOGS: &str = "/proc/sys/kernel/watchdog";

impl Demand {
    /// A file below `/sys` or `/proc`, which is written and read back as it is.
    pub(super) fn file(&mut self, path: &str, value: &KnobValue, site: &Site) {
        let place = Place::attribute(path);
        if !place.is_known() {
            let why = "it is not below /sys or /proc, or leaves them by '..'";
            return self.conflict(format!("[file] \"{path}\""), why, "name a file of the kernel's by its whole path");
        }
        if Path::new(path) == Path::new(BOTH_WATCHDOGS) {
            let why = "it switches two detectors at once, and once both are off it no longer says which of them ran";
            let remedy = "set the knobs kernel.soft_watchdog and kernel.nmi_watchdog";
            return self.conflict(format!("[file] \"{path}\""), why, remedy);
        }
        let form = form_of_file(path).unwrap_or(match value {
            KnobValue::Number(_) => Form::Integer,
            KnobValue::Switch(_) => Form::Switch,
            KnobValue::Text(_) => Form::AsShown,
        });
        let wanted = Value::text(value.text());
        if !self.are_online(&format!("[file] \"{path}\""), form.cpus(&wanted).as_ref(), site) {
            return;
        }
        self.wanted.push(RequiredSetting {
            knob: "file".to_owned(),
            of: path.to_owned(),
            place,
            form,
            value: wanted,
            group: Group::Single,
            why: "it was asked for by its path".to_owned(),
            cost: "not known: it is none of the knobs that this program knows".to_owned(),
            may_refuse: false,
            is_named: true,
            in_new_folder: false,
        });
    }
}
