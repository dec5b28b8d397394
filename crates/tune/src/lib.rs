//! Changes the settings of a machine as a journalled transaction, verifies them, and takes them back exactly.
//!
//! What is to be done is decided in the crate `punctual-knobs`; here it is done: to a [`Machine`], with a [`Store`] that
//! holds the journal. Both are traits, so that tests can let a machine die at every single operation.

#![forbid(unsafe_code)]

mod apply;
mod live;
mod place;
mod revert;
mod site;
mod store;
#[cfg(test)]
mod tests;
mod trial;
mod verify;

use knobs::{Order, Place, Reading};

pub use apply::{Adjusted, Application, Applied, ApplyError, Refused, apply};
pub use live::LiveMachine;
pub use place::{HOLDER_COMMAND, hold_latency};
pub use revert::{Left, RevertError, Reverted, revert, revert_one};
pub use site::{in_force, journal_folder, read_boot_files, read_site, read_started};
pub use store::{FileStore, Store, StoreError};
pub use trial::{Outcome, Trial, try_all};
pub use verify::{Standing, Verified, verify};

/// What settings are read from and written to.
pub trait Machine {
    /// What stands at a place.
    fn read(&mut self, place: &Place) -> Reading;

    /// Makes a value stand there.
    ///
    /// # Errors
    /// With the system's reason.
    fn write(&mut self, place: &Place, order: &Order) -> Result<(), String>;

    /// Takes away what a write that was never finished has left beside a place.
    fn tidy(&mut self, _: &Place) {}

    /// Runs a program of the system's.
    ///
    /// # Errors
    /// With its last words.
    fn run(&mut self, command: &[&str]) -> Result<(), String>;

    /// The kernel's identity of this start of the machine.
    fn boot_id(&self) -> &str;
}
