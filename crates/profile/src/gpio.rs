//! The GPIO chips of a machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A GPIO chip.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct GpioChip {
    /// For example `gpiochip0` (/sys/bus/gpio/devices).
    pub name: String,
    /// The device that drives it (/sys/class/gpio/gpiochipN/label), where the old interface is built in.
    pub label: Option<String>,
    /// How many lines it has (/sys/class/gpio/gpiochipN/ngpio), where the old interface is built in.
    pub line_count: Option<u64>,
}
