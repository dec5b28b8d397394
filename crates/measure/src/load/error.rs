//! Why a load cannot run, or did not run to its end; and whether its programs are there.

use std::io;
use std::path::Path;

use units::{CpuSet, Ns};

use super::part::STRESS_NG;
use super::spec::LoadSpec;

/// Why a load cannot run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The wanted CPUs are none.
    #[error("the load has no CPU to run on: all {measured} are measured; use --load-cpus all")]
    NoCpu {
        /// The measured CPUs.
        measured: CpuSet,
    },
    /// A CPU that cannot be used.
    #[error("the load cannot run on CPUs {absent}: usable are {usable}")]
    CpuNotUsable {
        /// Those that cannot be used.
        absent: CpuSet,
        /// Those that can.
        usable: CpuSet,
    },
    /// The guard could not be started.
    #[error("cannot start the load's guard: {0}")]
    Guard(io::Error),
    /// The external program is not installed.
    #[error("{}", missing(program))]
    Missing {
        /// Name of the program.
        program: String,
    },
    /// The shell did not find a program of the load, or may not run it.
    #[error("{what} cannot run ({how}){}; correct it, or install the program that it names", quoted_after(said))]
    NotFound {
        /// Name of the program, or the user's command.
        what: String,
        /// The shell's exit status.
        how: String,
        /// What the shell said; empty if it said nothing.
        said: String,
    },
    /// A program of the load ended before the measurement began.
    #[error("{what} ended by itself ({how}) within {after} of its start{}", quoted_after(said))]
    EndedAtOnce {
        /// Name of the program, or the user's command.
        what: String,
        /// How it ended: its exit status or a signal.
        how: String,
        /// What it wrote last on standard error; empty if it wrote nothing.
        said: String,
        /// How long it had run at the most.
        after: Ns,
    },
    /// A program could not be started.
    #[error("cannot start {program} for the load: {error}")]
    Start {
        /// Name of the program.
        program: String,
        /// The system's error.
        error: String,
    },
}

impl LoadError {
    /// Whether the load could be started and ended by itself, so that a run under it would be invalid; every other error is
    /// one of the command line or of what is installed.
    #[must_use]
    pub const fn is_early_end(&self) -> bool {
        matches!(self, Self::EndedAtOnce { .. })
    }

    /// Whether something of this machine failed, and nothing of the request is wrong or not installed.
    #[must_use]
    pub const fn is_of_the_machine(&self) -> bool {
        matches!(self, Self::Guard(_) | Self::Start { .. })
    }
}

/// Why a program that was not found is missing, with a remedy that is right for it.
fn missing(program: &str) -> String {
    if program == STRESS_NG {
        format!("{program} is not installed; it makes the load. Install it with: apt-get install {program}")
    } else {
        format!("the load's program '{program}' was not found in PATH: correct its name, or install it")
    }
}

fn quoted_after(said: &str) -> String {
    if said.is_empty() { String::new() } else { format!("; it said: {said}") }
}

/// A program of the load that ended while the load should run.
#[derive(Clone, Debug)]
pub(super) struct EndedEarly {
    pub(super) what: String,
    pub(super) how: String,
    /// Its exit status, where it has one.
    pub(super) status: Option<i32>,
    pub(super) said: String,
    /// How long the load had run by then, where that is known.
    pub(super) after: Option<Ns>,
}

impl EndedEarly {
    /// That it ended, in words.
    pub(super) fn describe(&self) -> String {
        let Self { what, how, said, .. } = self;
        format!("{what} ended by itself ({how}){}", quoted_after(said))
    }

    /// The same as an error.
    pub(super) fn to_error(&self) -> LoadError {
        let Self { what, how, status, said, after } = self.clone();
        match status {
            // What a shell exits with where it may not run a program, and where it does not find it (POSIX, 2.8.2).
            Some(126 | 127) => LoadError::NotFound { what, how, said },
            _ => LoadError::EndedAtOnce { what, how, said, after: after.unwrap_or_default() },
        }
    }
}

impl LoadSpec {
    /// Checks that each program that this load starts is in PATH.
    ///
    /// # Errors
    /// Where one is not.
    pub fn check_programs(&self) -> Result<(), LoadError> {
        match self.programs().into_iter().find(|program| !is_in_path(program)) {
            Some(program) => Err(LoadError::Missing { program: program.to_owned() }),
            None => Ok(()),
        }
    }
}

/// Whether a program is found as the system looks for it: by its path where it has one, else in the folders of PATH.
fn is_in_path(program: &str) -> bool {
    use std::os::unix::fs::PermissionsExt as _;
    let may_run =
        |file: &Path| file.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0);
    if program.contains('/') {
        return may_run(Path::new(program));
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| may_run(&folder.join(program)))
}
