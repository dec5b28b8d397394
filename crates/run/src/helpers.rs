//! What a run starts this program again for: processes that outlive a controller that is killed.

use std::io;

/// A helper's life, where `word`, the first of a program's command line, names one; `None` where it names none. Every program
/// that takes measurements asks this before it reads its command line.
///
/// # Errors
/// What the helper could not do.
#[must_use]
pub fn helper(word: &str) -> Option<io::Result<()>> {
    match word {
        // Ends the load, or a program that is followed, when the controller is gone.
        measure::load::GUARD_COMMAND => Some(measure::load::guard()),
        // Takes the time stamps that ptp4l sends, so that it never waits for this program.
        measure::sync::RECEIVER_COMMAND => Some(measure::sync::receive()),
        // Sets an interface to stamp packets, and back when the run is over or gone.
        measure::packet::RESTORER_COMMAND => Some(measure::packet::restore()),
        // Makes an output safe however the program that switches it ends.
        measure::pulse::GUARD_COMMAND => Some(measure::pulse::guard()),
        _ => None,
    }
}
