//! What a node switches.

use kernel::gpio::OutputLine;
use kernel::parport::OutputPin;

/// An output, at its safe level unless it is told otherwise.
#[derive(Debug)]
pub enum Output {
    /// Nothing is switched: times are stamped, and there is no edge.
    Nothing,
    /// A line of a GPIO chip.
    Line(OutputLine),
    /// A data pin of a parallel port.
    Pin(OutputPin),
}

impl Output {
    /// Makes it active, or safe; whether the driver did.
    #[inline(always)]
    pub(crate) fn set(&self, is_active: bool) -> bool {
        match self {
            Self::Nothing => true,
            Self::Line(line) => line.set(is_active).is_ok(),
            Self::Pin(pin) => pin.set(is_active).is_ok(),
        }
    }
}
