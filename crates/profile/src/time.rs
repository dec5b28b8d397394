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
    /// What the kernel knows of how the system clock is synchronized (adjtimex(2)).
    pub discipline: Option<Discipline>,
}

/// What the kernel knows of how the system clock is synchronized.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Discipline {
    /// Whether a program claims to synchronize the clock (STA_UNSYNC is not set).
    pub is_synchronized: bool,
    /// The leap second that is announced.
    pub leap: Leap,
    /// TAI less UTC, in seconds; 0 where nobody has set it.
    pub tai_less_utc_s: i32,
}

/// A leap second as the kernel sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Leap {
    /// None is announced.
    #[default]
    None,
    /// A second will be inserted at the end of the day in UTC (STA_INS).
    Insert,
    /// A second will be left out at the end of the day in UTC (STA_DEL).
    Delete,
    /// The inserted second is now, or was just now.
    Now,
}

/// Reads what a capture stored of it (punctual/time/discipline.json).
#[must_use]
pub fn parse_discipline(text: &str) -> Option<Discipline> {
    serde_json::from_str(text).ok()
}
