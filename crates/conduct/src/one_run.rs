//! One run: `punctual measure` as a process of its own, as anybody would start it.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use kernel::process::{Signal, signal, spawn_bound};
use record::{Record, RunRequest};
use run::{ReadRecordError, Stop, read_record};

/// Between two looks at the process.
const PERIOD: Duration = Duration::from_millis(50);
/// How long a run may take to end after the signal.
const PATIENCE: Duration = Duration::from_secs(20);

/// Why a run gave no record.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// A file of it cannot be written.
    #[error("cannot write {}", path.display())]
    Write {
        /// Path of the file.
        path: PathBuf,
        /// The kernel's reason.
        #[source]
        error: io::Error,
    },
    /// The process that measures cannot be started or waited for.
    #[error("{what}")]
    Process {
        /// What could not be done.
        what: &'static str,
        /// The kernel's reason.
        #[source]
        error: io::Error,
    },
    /// The request has no text.
    #[error("a request has no JSON form")]
    Request(#[source] serde_json::Error),
    /// It measured nothing.
    #[error("'punctual measure' of {what} ended with {status}: {said}")]
    Measure {
        /// What was to be measured, in words.
        what: String,
        /// How the process ended.
        status: ExitStatus,
        /// The last lines that it said.
        said: String,
    },
    /// What it left cannot be read.
    #[error(transparent)]
    Record(#[from] ReadRecordError),
}

impl RunError {
    fn process(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::Process { what, error }
    }

    fn write(path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::Write { path: path.to_owned(), error }
    }
}

/// How a run ended.
pub(crate) enum Ended {
    /// With its record, after so long.
    Measured(Box<Record>, Duration),
    /// The user ended it.
    Stopped,
}

/// A run that is to be made.
pub(crate) struct OneRun<'a> {
    /// The program that measures: this one.
    pub(crate) program: &'a Path,
    /// What is measured.
    pub(crate) request: &'a RunRequest,
    pub(crate) label: &'a str,
    /// Where its record goes.
    pub(crate) file: &'a Path,
    /// Where what it says goes.
    pub(crate) said: &'a Path,
}

impl OneRun<'_> {
    /// Measures; `ticks` is called with the time that it has taken.
    pub(crate) fn measure(&self, stop: &Stop, ticks: &mut dyn FnMut(Duration)) -> Result<Ended, RunError> {
        let begun = Instant::now();
        let mut command = self.command()?;
        let mut child = spawn_bound(&mut command).map_err(RunError::process("cannot start 'punctual measure'"))?;
        if let Some(mut to) = child.stdin.take() {
            let text = serde_json::to_vec(self.request).map_err(RunError::Request)?;
            // One that ends before it has read says why, below.
            let _ = to.write_all(&text);
        }
        let mut ended_at: Option<Instant> = None;
        let status = loop {
            if let Some(status) = child.try_wait().map_err(RunError::process("'punctual measure' is lost"))? {
                break status;
            }
            match ended_at {
                None if stop.ended_early() => {
                    // It may have ended by itself in between.
                    let _ = signal(child.id(), Signal::Terminate);
                    ended_at = Some(Instant::now());
                }
                Some(since) if since.elapsed() > PATIENCE => {
                    let _ = child.kill();
                }
                _ => ticks(begun.elapsed()),
            }
            thread::sleep(PERIOD);
        };
        if ended_at.is_some() {
            // What there is of it is kept, under a name that nobody takes for a whole run.
            let _ = fs::rename(self.file, self.file.with_extension("json.interrupted"));
            return Ok(Ended::Stopped);
        }
        // 0 and 1: it holds, or a deadline is broken. 3: invalid, with a record that says so.
        if !matches!(status.code(), Some(0 | 1 | 3)) || !self.file.exists() {
            return Err(RunError::Measure {
                what: campaign::in_words(self.request),
                status,
                said: last_lines(self.said),
            });
        }
        // On the disk before the journal says that it is there.
        File::open(self.file).and_then(|file| file.sync_all()).map_err(RunError::write(self.file))?;
        Ok(Ended::Measured(Box::new(read_record(self.file)?), begun.elapsed()))
    }

    fn command(&self) -> Result<Command, RunError> {
        let messages = File::create(self.said).map_err(RunError::write(self.said))?;
        let mut command = Command::new(self.program);
        command.args(["measure", "request", "-"]).stdin(Stdio::piped());
        // Whatever is known beforehand of a run: its record says so, and the campaign goes on.
        command.arg("--anyway");
        // A run that was killed may have left its file: it is made again.
        command
            .args(["--label", self.label, "--force"])
            .arg("--output")
            .arg(self.file)
            .stdout(Stdio::null())
            .stderr(messages);
        Ok(command)
    }
}

fn last_lines(file: &Path) -> String {
    let said = fs::read_to_string(file).unwrap_or_default();
    let last: Vec<&str> = said.lines().rev().take(5).collect();
    last.into_iter().rev().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    /// A run by a program that does what a script says.
    fn measure_by(script: &str, stop: &Stop) -> (Result<Ended, RunError>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("program");
        fs::write(&program, format!("#!/bin/sh\nwhile [ \"$1\" != --output ]; do shift; done\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o700)).unwrap();
        let request = RunRequest::from_json("{\"request\": {\"kind\": \"noise\"}}").unwrap();
        let file = folder.path().join("run.json");
        let said = folder.path().join("said");
        let run = OneRun { program: &program, request: &request, label: "l", file: &file, said: &said };
        let ended = run.measure(stop, &mut |_| {});
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        (ended, names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    #[test]
    fn one_that_measures_nothing_is_told_with_its_last_words() {
        let (ended, _) = measure_by("for n in 1 2 3 4 5 6; do echo line $n >&2; done; exit 2", &Stop::new());
        let error = ended.err().unwrap().to_string();
        assert!(error.starts_with("'punctual measure' of noise ended with exit status: 2: line 2; line 3"), "{error}");
        let (ended, _) = measure_by("exit 0", &Stop::new());
        assert!(matches!(ended, Err(RunError::Measure { .. })), "it left no record");
        let (ended, _) = measure_by("echo '{}' > $2", &Stop::new());
        assert!(matches!(ended, Err(RunError::Record(_))), "what it left is none");
    }

    #[test]
    fn what_there_is_of_one_that_was_ended_is_kept_under_another_name() {
        let stop = Stop::new();
        stop.end_early();
        let (ended, names) = measure_by("echo half > $2; sleep 20", &stop);
        assert!(matches!(ended, Ok(Ended::Stopped)));
        // It may have been ended before it had written anything.
        assert!(!names.contains(&"run.json".to_owned()), "{names:?}");
    }
}
