//! What commands that measure have in common: the context of a run, and where its record goes.

use std::path::PathBuf;

use measure::RunContext;
use record::Record;

use crate::exit::Exit;
use crate::output;
use crate::save;

/// Where the record goes.
#[derive(clap::Args)]
pub(crate) struct OutputArgs {
    /// Print the record as JSON on stdout instead of a table
    #[arg(long)]
    json: bool,
    /// Also write the record to this file
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// What the record of a measurement is called; one that is read from elsewhere has a rule of its own.
#[derive(clap::Args)]
pub(crate) struct LabelArgs {
    /// A word for people in the record, by which 'punctual compare --label' finds it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) label: String,
}

impl OutputArgs {
    /// Finds out before measuring whether the file can be written.
    pub(crate) fn prepare(self) -> anyhow::Result<Destination> {
        if let Some(file) = &self.output {
            save::check_file(file)?;
        }
        Ok(Destination { json: self.json, file: self.output })
    }
}

/// A checked place for a record.
pub(crate) struct Destination {
    json: bool,
    file: Option<PathBuf>,
}

impl Destination {
    /// Writes and prints the record, and says how the command ends.
    pub(crate) fn deliver(&self, record: &Record, table: impl FnOnce(bool) -> String) -> anyhow::Result<Exit> {
        let json = record.to_json();
        let saved = self.file.as_ref().map(|file| save::write_or_fall_back(file, json.as_bytes())).transpose()?;
        if self.json {
            output::data(&json);
        } else {
            output::data(&table(output::colour_stdout()));
        }
        if let Some(saved) = saved {
            saved.tell();
        }
        Ok(exit_of(record))
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
