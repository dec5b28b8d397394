//! Reads a live machine or a captured tree into a profile, and makes such trees.
//!
//! A machine is read partially by nature: [`read_profile`] always gives a profile, in which what could not be read
//! is unknown, and a list of [`ProbeIssue`]s for what is there and could not be understood or opened.
//! A file that is missing is an answer (the kernel lacks the feature), not an issue.
//! Nothing on the machine is changed.
//!
//! Every file and folder is reached through one accessor, which for [`capture`] keeps a copy of what it read;
//! a captured tree therefore holds exactly what the reader reads, and cannot drift from it.
//! What has no file, ethtool's answers, is kept in the tree under `punctual/`.

#![forbid(unsafe_code)]

pub mod boot;
mod capture;
mod ethtool;
mod named_socket;
mod read;
mod root;
mod source;
mod window;

pub use capture::{CaptureError, CaptureSummary, capture};
pub use named_socket::NamedSocket;
pub use profile::{IssueReason, ProbeIssue, Profile};
pub use read::{read_profile, virtual_machine};
pub use root::{Root, RootError};
pub use window::{IrqWindow, read_irq_window, read_irq_window_during};
