//! Clock sources and flags of the time stamp counter.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The clock sources of a machine, and the processor's flags about time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Time {
    /// The clock source in use (/sys/devices/system/clocksource/clocksource0/current_clocksource).
    pub clocksource: Option<String>,
    /// The clock sources that could be used (…/available_clocksource).
    pub clocksources_available: Vec<String>,
    /// The device that wakes CPUs whose own timer stops in deep idle states; `None` where none is needed
    /// (/sys/devices/system/clockevents/broadcast/current_device).
    pub broadcast_device: Option<String>,
    /// Processor flags that concern time: constant_tsc, nonstop_tsc, tsc_known_freq, tsc_deadline_timer
    /// (/proc/cpuinfo).
    pub tsc_flags: Vec<String>,
}
