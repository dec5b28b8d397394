//! The user's program, started under a guard and held until it is being followed.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use kernel::process::Signal;
use units::CpuSet;

use crate::load::guard::{Answer, Orders};
use crate::load::guarded::{Guarded, START_TIMEOUT};
use crate::load::{LoadSpec, tree};
use crate::task_stat::TaskStat;

/// How often it is looked whether the program has come up to where it is held.
const LOOK: Duration = Duration::from_millis(2);

/// A program that was started here.
#[derive(Debug)]
pub(super) struct Program {
    guard: Guarded,
    /// The process as which it begins.
    pub(super) pid: u32,
    ended: Option<String>,
}

impl Program {
    /// Starts a command by the shell, under a guard (`own` is this program's own file), and holds it before its first
    /// instruction. What it prints goes to standard error.
    pub(super) fn start(command: &str, cpus: &CpuSet, own: &Path) -> io::Result<Self> {
        let orders =
            Orders { spec: LoadSpec::from_command(command), cpus: cpus.clone(), held: true, without: Vec::new() };
        let guard = Guarded::start(&orders, own, Stdio::inherit())?;
        match guard.first_answer()? {
            Answer::Started { .. } | Answer::Ended { .. } => {}
            Answer::Failed { program, error, .. } => return Err(io::Error::other(format!("{program}: {error}"))),
            Answer::EndedEarly { how, .. } => return Err(io::Error::other(how)),
        }
        let began = Instant::now();
        while began.elapsed() < START_TIMEOUT {
            if let Some(pid) = tree::descendants(guard.id()).first().copied().filter(|pid| is_stopped(*pid)) {
                return Ok(Self { guard, pid, ended: None });
            }
            std::thread::sleep(LOOK);
        }
        Err(io::Error::other("it did not come up within 10 s"))
    }

    /// Lets it begin.
    pub(super) fn release(&self) -> io::Result<()> {
        kernel::process::signal(self.pid, Signal::Continue)
    }

    /// How it ended, once it and all that it left behind have.
    pub(super) fn ended(&mut self) -> Option<&str> {
        if self.ended.is_none() {
            self.ended = self.guard.answers().find_map(|answer| match answer {
                Answer::EndedEarly { how, .. } => Some(how),
                Answer::Started { .. } | Answer::Ended { .. } | Answer::Failed { .. } => None,
            });
        }
        // A shell may be gone and what it started go on.
        if self.ended.is_some() && !tree::descendants(self.guard.id()).is_empty() {
            return None;
        }
        self.ended.as_deref()
    }
}

fn is_stopped(pid: u32) -> bool {
    let text = crate::kernel_text::read(format!("/proc/{pid}/stat")).unwrap_or_default();
    TaskStat::parse(&text).is_some_and(|stat| stat.state() == Some("T"))
}
