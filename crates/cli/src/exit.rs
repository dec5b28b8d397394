//! The exit codes of every command but `cyclictest`, which keeps its model's own.

use std::process::ExitCode;

use run::{Class, RunError};

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// 0: what was asked holds (or nothing was asked), and the result is valid or degraded.
    Holds,
    /// 1: the stated limit is broken.
    Broken,
    /// 1, of `cyclictest` alone, whose model exits so: the kernel did not let the run begin.
    NotBegun,
    /// 2: wrong usage, configuration or environment; nothing was measured.
    Usage,
    /// 3: the result does not mean what was asked, or it was known beforehand that it would not; outranks `Broken`.
    Invalid,
    /// What a command that was run elsewhere ended with.
    #[cfg(feature = "lab")]
    OfCommand(u8),
}

impl Exit {
    /// How a command ends that failed: 3 where a run was refused since it would have been invalid, else 2.
    pub(crate) fn from_error(error: &anyhow::Error) -> Self {
        let class = error.downcast_ref::<RunError>().map(RunError::class);
        if class == Some(Class::Refused) { Self::Invalid } else { Self::Usage }
    }

    /// The one that outranks the other: invalid outranks broken, and broken outranks what holds.
    pub(crate) fn graver(self, other: Self) -> Self {
        match (self, other) {
            (Self::Invalid, _) | (_, Self::Invalid) => Self::Invalid,
            (Self::Holds, other) => other,
            (own, _) => own,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Holds => 0,
            Exit::Broken | Exit::NotBegun => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            #[cfg(feature = "lab")]
            Exit::OfCommand(code) => code,
        })
    }
}
