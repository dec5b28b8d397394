//! Reads the files that one boot of the guest leaves.

use std::fs;
use std::path::Path;

use record::{Detail, Record, SyncRun, SyncSource};

use super::figures::{Figures, figures};
use super::truth::{TruthError, TruthLog};

/// The runs of a boot, in their order.
pub const RUNS: [&str; 8] =
    ["phc-plain", "phc-slow", "phc-precise", "ptp-lock", "ptp-even", "ptp-uneven", "ptp-step", "phc2sys"];

/// One run of `measure sync`, and the truth of its time.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncRunEvidence {
    /// One of [`RUNS`].
    pub name: String,
    /// The instrument's record.
    pub record: Record,
    /// What the clocks really showed.
    pub truth: TruthLog,
}

/// All evidence from one boot.
#[derive(Clone, Debug, PartialEq)]
pub struct SyncEvidence {
    /// Name of the boot.
    pub boot: String,
    /// Its runs, as [`RUNS`].
    pub runs: Vec<SyncRunEvidence>,
    /// What ptp4l printed of its offsets.
    pub ptp4l: Vec<Figures>,
    /// What phc2sys printed of its offsets.
    pub phc2sys: Vec<Figures>,
    /// The rate errors that were set for the comparisons of hardware clocks (ppb).
    pub rates_ppb: [i64; 2],
}

/// Why a folder does not contain valid evidence.
#[derive(Debug, thiserror::Error)]
pub enum SyncEvidenceError {
    /// A file is missing or cannot be read.
    #[error("{file} of the calibration's guest cannot be read: {error}; see job.log beside it for what went wrong")]
    File {
        /// Name of the file.
        file: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// The file is not a valid record of `measure sync`.
    #[error("{file}: {error}")]
    Record {
        /// Name of the file.
        file: String,
        /// What is invalid.
        error: String,
    },
    /// The file is not a log of the module.
    #[error("{file}: {error}")]
    Truth {
        /// Name of the file.
        file: String,
        /// What is invalid.
        error: TruthError,
    },
}

impl SyncRunEvidence {
    /// What the run saw of the sources; [`SyncEvidence::read`] has checked that it has such a part.
    pub(super) fn seen(&self) -> SyncRun {
        match &self.record.detail {
            Detail::Sync(run) => run.clone(),
            _ => SyncRun::default(),
        }
    }

    /// The sources whose offsets it has.
    pub(super) fn sources(&self) -> Vec<SyncSource> {
        self.seen().sources.into_iter().filter(|source| source.spread.is_some()).collect()
    }
}

impl SyncEvidence {
    /// Reads what the guest left in `folder`.
    ///
    /// # Errors
    /// If a file is missing or invalid.
    pub fn read(folder: &Path, boot: &str) -> Result<Self, SyncEvidenceError> {
        let text = |file: &str| {
            fs::read_to_string(folder.join(file))
                .map_err(|error| SyncEvidenceError::File { file: file.to_owned(), error })
        };
        let run = |name: &str| {
            let (file, truth_file) = (format!("{name}.json"), format!("{name}.truth"));
            let wrong = |error: String| SyncEvidenceError::Record { file: file.clone(), error };
            let record = Record::from_json(&text(&file)?).map_err(|error| wrong(error.to_string()))?;
            if !matches!(record.detail, Detail::Sync(_)) {
                return Err(wrong("it is not a record of 'measure sync'".to_owned()));
            }
            let truth = TruthLog::parse(&text(&truth_file)?)
                .map_err(|error| SyncEvidenceError::Truth { file: truth_file, error })?;
            Ok(SyncRunEvidence { name: name.to_owned(), record, truth })
        };
        let rates = text("rates")?;
        let mut rates = rates.split_whitespace().map(|word| word.parse().unwrap_or(i64::MAX));
        Ok(Self {
            boot: boot.to_owned(),
            runs: RUNS.into_iter().map(run).collect::<Result<_, _>>()?,
            ptp4l: figures(&text("slave.log")?),
            phc2sys: figures(&text("phc2sys.log")?),
            rates_ppb: [(); 2].map(|()| rates.next().unwrap_or(i64::MAX)),
        })
    }

    /// The run of this name.
    pub(super) fn run(&self, name: &str) -> Option<&SyncRunEvidence> {
        self.runs.iter().find(|run| run.name == name)
    }
}
