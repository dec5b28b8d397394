//! The files that one boot of the guest leaves.

use std::fs;
use std::path::Path;

use record::Record;

use super::Cyclictest;
use super::bound::Condition;
use crate::inject::{ClockStep, Delay, Injection, LineError};

/// A run, and what was injected meanwhile.
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// What the instrument says.
    pub record: Record,
    /// What the injectors say, in the order of time.
    pub truth: Vec<Delay>,
}

/// A run during which the realtime clock was moved.
#[derive(Clone, Debug, PartialEq)]
pub struct StepRun {
    /// What the instrument says.
    pub record: Record,
    /// What the injector says.
    pub truth: ClockStep,
}

/// The runs of `noise`.
#[derive(Clone, Debug, PartialEq)]
pub struct NoiseEvidence {
    /// With nothing injected.
    pub quiet: Record,
    /// With injections.
    pub run: Run,
}

/// Everything from one boot.
#[derive(Clone, Debug, PartialEq)]
pub struct Evidence {
    /// A word for the boot: its seed and condition.
    pub boot: String,
    /// What else ran.
    pub condition: Condition,
    /// Both clocks at one moment, from a step by nothing.
    pub epoch: ClockStep,
    /// The other instrument's summary, with nothing injected.
    pub cyclictest: Cyclictest,
    /// With nothing injected.
    pub quiet: Record,
    /// Interrupts off.
    pub irqs_off: Run,
    /// A thread of higher priority.
    pub hog: Run,
    /// What must not be felt.
    pub controls: Run,
    /// A run on the monotonic clock while the realtime clock was moved.
    pub step_monotonic: StepRun,
    /// A run on the realtime clock, which was moved forwards.
    pub step_forwards: StepRun,
    /// A run on the realtime clock, which was moved backwards.
    pub step_backwards: StepRun,
    /// Where it was measured.
    pub noise: Option<NoiseEvidence>,
}

/// Why a folder is no evidence.
#[derive(Debug, thiserror::Error)]
pub enum EvidenceError {
    /// A file is missing or cannot be read.
    #[error("{file} of the calibration's guest cannot be read: {error}; its job.log tells what went wrong")]
    File {
        /// Which.
        file: String,
        /// The system's reason.
        error: std::io::Error,
    },
    /// No record.
    #[error("{file}: {error}")]
    Record {
        /// Which.
        file: String,
        /// What is wrong.
        error: record::RecordError,
    },
    /// No log of an injector.
    #[error("{file}: {error}")]
    Line {
        /// Which.
        file: String,
        /// What is wrong.
        error: LineError,
    },
    /// A log without what belongs there.
    #[error("{file} tells of no {what}: the injector was not there in time, or died")]
    Nothing {
        /// Which.
        file: String,
        /// What it should tell of.
        what: &'static str,
    },
}

impl Evidence {
    /// Reads what the guest left in `folder`.
    ///
    /// # Errors
    /// Where a file is missing or is not what its name says.
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

    /// All wake-up records with a name for each.
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

struct Files<'a> {
    folder: &'a Path,
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

    fn run(&self, record: &str, truths: &[&str]) -> Result<Run, EvidenceError> {
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
