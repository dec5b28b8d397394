//! Conducts a campaign on the machine that this program runs on: [`Conductor`] goes from visit to visit, [`Setting`] brings
//! the settings of each into force and takes them back, a process of its own measures each run, [`Folder`] keeps what was
//! done, and a [`guard`] takes the settings back where all of this is killed.
//!
//! What comes next is decided in the crate `punctual-campaign` from the journal alone; here it is done. What is said to
//! people meanwhile goes to a [`Watcher`].

#![forbid(unsafe_code)]

mod conductor;
mod folder;
pub mod guard;
mod one_run;
mod setting;

use std::time::Duration;

use record::Live;

pub use conductor::{ConductError, Conducted, Conductor};
pub use folder::{Folder, FolderError, Held, borrowed, by_file, evidence, look, records};
pub use one_run::RunError;
pub use setting::{SetUp, Setting, SettingError};

/// Who is notified of a campaign's progress.
pub trait Watcher {
    /// A run, or what comes before it, begins.
    fn begins(&self, next: &Next<'_>);

    /// It goes on, and the campaign still takes `left`; `live` is the run so far, once it has told of itself.
    fn goes_on(&self, what: &str, left: Duration, live: Option<&Live>);

    /// Something that people should know, in a sentence.
    fn warns(&self, text: &str);

    /// No further run begins.
    fn ends(&self);
}

/// The run that comes next.
#[derive(Clone, Copy, Debug)]
pub struct Next<'a> {
    /// Runs that are over.
    pub done: u64,
    /// Runs in all.
    pub all: u64,
    /// Which it is, in words.
    pub what: &'a str,
    /// The time that the campaign still takes.
    pub left: Duration,
}
