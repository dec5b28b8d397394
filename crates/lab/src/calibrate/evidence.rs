//! Reads the files that one boot of the guest leaves.

use std::fs;
use std::path::Path;

use record::Record;

use super::Cyclictest;
use super::bound::Condition;
use crate::injection::{ClockStep, Delay, Injection, LineError};

/// A run, and what was injected during it.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// The instrument's record.
    pub record: Record,
    /// The injectors' logs, ordered by time.
    pub truth: Vec<Delay>,
}

/// A run during which CLOCK_REALTIME was stepped.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRun {
    /// The instrument's record.
    pub record: Record,
    /// The injector's log of the step.
    pub truth: ClockStep,
}

/// The runs of `noise`.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseEvidence {
    /// The run with nothing injected.
    pub quiet: Record,
    /// The run with injections.
    pub run: Run,
}

/// All evidence from one boot.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// Name of the boot, from its condition and seed.
    pub boot: String,
    /// Idle or under load.
    pub condition: Condition,
    /// Both clocks at one moment, from a clock step of 0 ns.
    pub epoch: ClockStep,
    /// Cyclictest's summary, with nothing injected.
    pub cyclictest: Cyclictest,
    /// The wake-up run with nothing injected.
    pub quiet: Record,
    /// A run with interrupts off.
    pub irqs_off: Run,
    /// A run with a thread of higher priority.
    pub hog: Run,
    /// A run with injections that must not delay a real-time thread.
    pub controls: Run,
    /// A run on CLOCK_MONOTONIC while CLOCK_REALTIME was stepped.
    pub step_monotonic: StepRun,
    /// A run on CLOCK_REALTIME, which was stepped forwards.
    pub step_forwards: StepRun,
    /// A run on CLOCK_REALTIME, which was stepped backwards.
    pub step_backwards: StepRun,
    /// The runs of `noise`; only from idle boots.
    pub noise: Option<NoiseEvidence>,
}

/// Why a folder does not contain valid evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// A file is missing or cannot be read.
    #[error("{file} of the calibration's guest cannot be read: {error}; see job.log beside it for what went wrong")]
    File {
        /// Name of the file.
        file: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// The file is not a valid record.
    #[error("{file}: {error}")]
    Record {
        /// Name of the file.
        file: String,
        /// What is invalid.
        error: record::RecordError,
    },
    /// The file is not a valid log of an injector.
    #[error("{file}: {error}")]
    Line {
        /// Name of the file.
        file: String,
        /// What is invalid.
        error: LineError,
    },
    /// A log lacks what the injector has to write.
    #[error("{file} contains no {what}: the injector did not start in time, or died")]
    Nothing {
        /// Name of the file.
        file: String,
        /// What is missing.
        what: &'static str,
    },
}

impl Evidence {
    /// Reads what the guest left in `folder`.
    ///
    /// # Errors
    /// If a file is missing or invalid.
    pub fn read(folder: &Path, boot: &str, condition: Condition) -> Result<Self, EvidenceError> {
        let files = Files { folder };
        let cyclictest = Cyclictest::parse(&files.text("cyclictest.txt")?)
            .ok_or_else(|| EvidenceError::Nothing { file: "cyclictest.txt".to_owned(), what: "summary" })?;
        let noise = match condition {
            Condition::Load => None,
            Condition::Idle => Some(NoiseEvidence {
                quiet: files.record("noise-quiet.json")?,
                run: files.run("noise.json", &["noise-irqs-off.truth", "noise-hog.truth"])?,
            }),
        };
        Ok(Self {
            boot: boot.to_owned(),
            condition,
            epoch: files.step("epoch.truth")?,
            cyclictest,
            quiet: files.record("quiet.json")?,
            irqs_off: files.run("irqs-off.json", &["irqs-off.truth"])?,
            hog: files.run("hog.json", &["hog.truth"])?,
            controls: files.run("controls.json", &["controls-hog.truth", "controls-softirq.truth"])?,
            step_monotonic: files.step_run("step-monotonic")?,
            step_forwards: files.step_run("step-forwards")?,
            step_backwards: files.step_run("step-backwards")?,
            noise,
        })
    }

    /// All wake-up records, each with a name.
    pub(super) fn wakeup_records(&self) -> [(&'static str, &Record); 7] {
        [
            ("quiet", &self.quiet),
            ("irqs-off", &self.irqs_off.record),
            ("hog", &self.hog.record),
            ("controls", &self.controls.record),
            ("step-monotonic", &self.step_monotonic.record),
            ("step-forwards", &self.step_forwards.record),
            ("step-backwards", &self.step_backwards.record),
        ]
    }
}

pub(super) struct Files<'a> {
    pub(super) folder: &'a Path,
}

impl Files<'_> {
    fn text(&self, file: &str) -> Result<String, EvidenceError> {
        fs::read_to_string(self.folder.join(file)).map_err(|error| EvidenceError::File { file: file.to_owned(), error })
    }

    fn record(&self, file: &str) -> Result<Record, EvidenceError> {
        Record::from_json(&self.text(file)?).map_err(|error| EvidenceError::Record { file: file.to_owned(), error })
    }

    fn injections(&self, file: &str) -> Result<Vec<Injection>, EvidenceError> {
        Injection::from_log(&self.text(file)?).map_err(|error| EvidenceError::Line { file: file.to_owned(), error })
    }

    /// A record, and the delays of some logs in the order of time.
    pub(super) fn run(&self, record: &str, truths: &[&str]) -> Result<Run, EvidenceError> {
        let mut truth = Vec::new();
        for file in truths {
            let before = truth.len();
            truth.extend(self.injections(file)?.into_iter().filter_map(|injection| match injection {
                Injection::Delay(delay) => Some(delay),
                Injection::ClockStep(_) => None,
            }));
            if truth.len() == before {
                return Err(EvidenceError::Nothing { file: (*file).to_owned(), what: "delay" });
            }
        }
        truth.sort_by_key(|delay| delay.true_start_ns);
        Ok(Run { record: self.record(record)?, truth })
    }

    fn step(&self, file: &str) -> Result<ClockStep, EvidenceError> {
        match self.injections(file)?.as_slice() {
            [Injection::ClockStep(step)] => Ok(*step),
            _ => Err(EvidenceError::Nothing { file: file.to_owned(), what: "single step of the clock" }),
        }
    }

    fn step_run(&self, name: &str) -> Result<StepRun, EvidenceError> {
        Ok(StepRun { record: self.record(&format!("{name}.json"))?, truth: self.step(&format!("{name}.truth"))? })
    }
}
