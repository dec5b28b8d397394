//! One run: `punctual measure` as a process of its own, as anybody would start it.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use record::{Live, Record, RefusalClass, RunEvent, RunRequest};
use run::{NextOfRun, ProcessError, ProcessPlan, ProcessRun, ReadRecordError, Stop, read_record};

/// Between two looks at whether somebody wants it to end.
const PERIOD: Duration = Duration::from_millis(50);

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
    #[error(transparent)]
    Process(#[from] ProcessError),
    /// It was refused before anything was measured.
    #[error("nothing was measured of {what}: {why}")]
    Refused {
        /// What was to be measured, in words.
        what: String,
        /// What whoever asked can do about it.
        class: RefusalClass,
        /// Why, and the remedy.
        why: String,
    },
    /// It ended without a record, and without a word about why.
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

/// Who sees a run while it goes on.
pub(crate) trait Sees {
    /// It goes on, for so long now; `live` is the run so far, once it has told of itself.
    fn goes_on(&mut self, lasted: Duration, live: Option<&Live>);

    /// Something that people should know, in a sentence.
    fn warns(&mut self, text: &str);
}

impl OneRun<'_> {
    /// Has the process measure, and waits for its record.
    pub(crate) fn measure(&self, stop: &Stop, sees: &mut dyn Sees) -> Result<Ended, RunError> {
        let begun = Instant::now();
        let mut run = ProcessRun::start(ProcessPlan {
            program: self.program,
            request: self.request,
            label: self.label,
            // A run that was killed may have left its file: it is made again.
            file: Some(self.file),
            // Whatever is known beforehand of a run: its record says so, and the campaign goes on.
            is_wanted_anyway: true,
            messages: File::create(self.said).map_err(RunError::write(self.said))?,
        })?;
        let (mut live, mut refused, mut is_finished) = (None, None, false);
        let status = loop {
            match run.next(PERIOD)? {
                NextOfRun::Event(event) => match *event {
                    RunEvent::Live { live: so_far } => live = Some(so_far),
                    RunEvent::Warning { text } => sees.warns(&text),
                    RunEvent::Refused { class, why } => refused = Some((class, why)),
                    RunEvent::Finished { .. } => is_finished = true,
                    // Intervals are in the file, where they came first.
                    RunEvent::Started { .. }
                    | RunEvent::Intervals { .. }
                    | RunEvent::SoFar { .. }
                    | RunEvent::Gap { .. }
                    | RunEvent::Lost { .. } => {}
                },
                NextOfRun::Nothing => {}
                NextOfRun::Ended(status) => break status,
            }
            if stop.ended_early() {
                run.end();
            }
            sees.goes_on(begun.elapsed(), live.as_ref());
        };
        let lasted = begun.elapsed();
        if run.was_ended() {
            // What there is of it is kept, under a name that nobody takes for a whole run.
            let _ = fs::rename(self.file, self.file.with_extension("json.interrupted"));
            return Ok(Ended::Stopped);
        }
        let what = || campaign::in_words(self.request);
        if let Some((class, why)) = refused {
            return Err(RunError::Refused { what: what(), class, why });
        }
        // Whatever the run found: its record says so.
        if !is_finished || !self.file.exists() {
            return Err(RunError::Measure { what: what(), status, said: last_lines(self.said) });
        }
        // On the disk before the journal says that it is there.
        File::open(self.file).and_then(|file| file.sync_all()).map_err(RunError::write(self.file))?;
        Ok(Ended::Measured(Box::new(read_record(self.file)?), lasted))
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

    struct Unseen;

    impl Sees for Unseen {
        fn goes_on(&mut self, _: Duration, _: Option<&Live>) {}

        fn warns(&mut self, _: &str) {}
    }

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
        let ended = run.measure(stop, &mut Unseen);
        let names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name());
        (ended, names.map(|name| name.to_string_lossy().into_owned()).collect())
    }

    /// What tells that the run has ended.
    fn finished() -> String {
        let record = Record::empty("1".to_owned(), record::Measurement::Noise, record::Manifest::default());
        let line = RunEvent::Finished { record: Box::new(record) }.to_line();
        format!("echo '{}'", line.trim_end())
    }

    #[test]
    fn one_that_measures_nothing_is_told_with_its_last_words() {
        let (ended, _) = measure_by("for n in 1 2 3 4 5 6; do echo line $n >&2; done; exit 2", &Stop::new());
        let error = ended.err().unwrap().to_string();
        assert!(error.starts_with("'punctual measure' of noise ended with exit status: 2: line 2; line 3"), "{error}");
        let (ended, _) = measure_by(&format!("{}; exit 0", finished()), &Stop::new());
        assert!(matches!(ended, Err(RunError::Measure { .. })), "it left no record");
        let (ended, _) = measure_by(&format!("echo '{{}}' > $2; {}", finished()), &Stop::new());
        assert!(matches!(ended, Err(RunError::Record(_))), "what it left is none");
        let (ended, _) = measure_by("echo '{}' > $2; exit 0", &Stop::new());
        assert!(matches!(ended, Err(RunError::Measure { .. })), "it never said that it has finished");
    }

    #[test]
    fn one_that_is_refused_says_why_itself() {
        let refused = RunEvent::Refused { class: RefusalClass::Usage, why: "no CPU 9".to_owned() }.to_line();
        let (ended, _) = measure_by(&format!("echo '{}'; echo noise >&2; exit 2", refused.trim_end()), &Stop::new());
        let error = ended.err().unwrap();
        assert_eq!(error.to_string(), "nothing was measured of noise: no CPU 9");
        assert!(matches!(error, RunError::Refused { class: RefusalClass::Usage, .. }), "{error:?}");
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
