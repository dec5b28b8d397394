//! What commands that measure have in common: the context of a run, and where its record goes.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use measure::{IntervalSink, RecordFile, RunContext};
use record::Record;
use units::CpuSet;

use crate::exit::Exit;
use crate::records;
use crate::save::{self, Saved};
use terminal::output;

/// Where the record goes.
#[derive(Clone, clap::Args)]
pub(crate) struct OutputArgs {
    /// Print the record as JSON on stdout instead of a table
    #[arg(long)]
    json: bool,
    /// Also write the record to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Replace the file of --output if it is there already
    #[arg(long, requires = "output")]
    force: bool,
    /// Print what was seen for each caveat, and what cannot be observed here
    #[arg(short, long)]
    verbose: bool,
}

/// What the record of a measurement is called; one that is read from elsewhere has a rule of its own.
#[derive(clap::Args)]
pub(crate) struct LabelArgs {
    /// A word for people in the record, by which 'punctual compare --label' finds it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) label: String,
}

impl OutputArgs {
    /// Whether the record goes anywhere; if not, only a table of it is shown.
    pub(crate) const fn keeps_the_record(&self) -> bool {
        self.json || self.output.is_some()
    }

    /// Finds out before measuring whether the file can be written.
    pub(crate) fn prepare(self) -> anyhow::Result<Destination> {
        output::set_verbose(self.verbose);
        if let Some(file) = &self.output {
            // A run of hours is lost by one arrow key too many. What is no regular file takes the record beside others.
            if file.is_file() && !self.force {
                bail!("{} is there already: name another file, or replace it with --force", file.display());
            }
            save::check_file(file)?;
        }
        Ok(Destination { json: self.json, file: self.output, growing: None })
    }
}

/// A checked place for a record.
pub(crate) struct Destination {
    json: bool,
    file: Option<PathBuf>,
    growing: Option<RecordFile>,
}

impl Destination {
    /// Has the file grow while the run goes on, so that a run that is killed leaves what it measured. A pipe or a device gets the
    /// record at the end.
    pub(crate) fn grow(&mut self, housekeeping: &CpuSet) -> anyhow::Result<()> {
        let Some(file) = self.file.as_ref().filter(|file| !file.exists() || file.is_file()) else { return Ok(()) };
        let shown = file.display().to_string();
        let warn = move |error: &io::Error| {
            output::warning(&format!(
                "{shown} does not take what was measured until now ({error}); it is tried again as the run goes on"
            ));
        };
        self.growing = Some(RecordFile::claim(file, housekeeping.clone(), warn)?);
        Ok(())
    }

    /// The file that will hold the record; `None` if it is not kept.
    pub(crate) fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Who takes the intervals of the run as they end.
    pub(crate) fn sink(&self) -> Option<&dyn IntervalSink> {
        self.growing.as_ref().map(|file| file as &dyn IntervalSink)
    }

    /// Writes and prints the record, and says how the command ends.
    pub(crate) fn deliver(self, record: &Record, table: impl FnOnce(bool) -> String) -> anyhow::Result<Exit> {
        let Self { json, file, growing } = self;
        let saved = match (growing, file) {
            (Some(growing), _) => Some(finish(growing, record)?),
            (None, Some(file)) => Some(save::write_or_fall_back(&file, record.to_json().as_bytes())?),
            (None, None) => None,
        };
        if json {
            match saved.as_ref().filter(|_| !has_intervals(record)) {
                // Those of a long run are in its file alone.
                Some(saved) => output::bytes(&std::fs::read(&saved.path)?),
                None => output::data(&record.to_json()),
            }
        } else {
            output::data(&table(output::colour_stdout()));
        }
        if let Some(saved) = saved {
            saved.announce();
        }
        // Who reads the table has the reasons and remedies in it.
        if json || !output::stdout_is_terminal() {
            records::warn_of_invalid([record]);
        }
        Ok(exit_of(record))
    }
}

fn has_intervals(record: &Record) -> bool {
    record.series.iter().any(|series| !series.intervals.is_empty())
}

/// Puts the finished record into the place of the one that grew.
fn finish(growing: RecordFile, record: &Record) -> anyhow::Result<Saved> {
    let path = growing.path().to_owned();
    match growing.finish(record) {
        Ok(()) => Ok(Saved::at(path)),
        Err(_) if has_intervals(record) => save::write_or_fall_back(&path, record.to_json().as_bytes()),
        Err(error) => Err(error).with_context(|| {
            format!("cannot write the end of {}; it holds the run up to its last interval", path.display())
        }),
    }
}

/// The exit code of a run.
pub(crate) fn exit_of(record: &Record) -> Exit {
    match analyse::outcome(record) {
        analyse::RunOutcome::Holds => Exit::Holds,
        analyse::RunOutcome::Broken => Exit::Broken,
        analyse::RunOutcome::Invalid => Exit::Invalid,
    }
}

/// The context of a run of this process.
pub(crate) fn context(label: &str) -> RunContext {
    RunContext {
        command: std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect(),
        label: label.to_owned(),
        profile_sha256: None,
        time_zone: jiff::tz::TimeZone::system().iana_name().map(str::to_owned),
    }
}
