//! Where the record of a run goes: a file that grows, a table, JSON, a stream of events.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
#[cfg(feature = "packet")]
use record::RefusalClass;
use record::{Interval, Live, Record, RunEvent};
use run::{EventStream, IntervalSink, RecordFile};
use units::CpuSet;

use crate::exit::Exit;
use crate::records;
use crate::save::{self, Saved};
use crate::session::exit_of;
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
    /// Whether what becomes of the run is printed in the place of the record; set by commands that have such an option.
    #[arg(skip)]
    events: bool,
}

/// What is printed on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Printed {
    Table,
    Json,
    Events,
}

impl OutputArgs {
    /// Prints what becomes of the run in the place of the record.
    pub(crate) fn with_events(self) -> Self {
        Self { events: true, ..self }
    }

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
        let printed = match self {
            Self { events: true, .. } => Printed::Events,
            Self { json: true, .. } => Printed::Json,
            _ => Printed::Table,
        };
        Ok(Destination { printed, file: self.output, growing: None, stream: None })
    }
}

/// A checked place for a record.
pub(crate) struct Destination {
    printed: Printed,
    file: Option<PathBuf>,
    growing: Option<RecordFile>,
    stream: Option<EventStream>,
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

    /// Begins to tell what becomes of the run, where that is asked for.
    pub(crate) fn begin(&mut self, housekeeping: &CpuSet) -> anyhow::Result<()> {
        if self.printed == Printed::Events {
            self.stream =
                Some(EventStream::start(io::stdout(), housekeeping.clone()).context("cannot tell of the run")?);
        }
        Ok(())
    }

    /// Tells what whoever asked should know.
    pub(crate) fn warn(&self, texts: Vec<String>) {
        texts.into_iter().for_each(|text| self.tell(RunEvent::Warning { text }));
    }

    /// Tells the run so far.
    pub(crate) fn live(&self, so_far: &Live) {
        if let Some(stream) = &self.stream {
            stream.tell(RunEvent::Live { live: so_far.clone() });
        }
    }

    /// Tells what becomes of the run, where that is asked for.
    pub(crate) fn tell(&self, event: RunEvent) {
        if let Some(stream) = &self.stream {
            stream.tell(event);
        }
    }

    /// Takes intervals that were told of a run elsewhere.
    #[cfg(feature = "packet")]
    pub(crate) fn take_told(&self, record: &Record) {
        let Some(sink) = self.sink() else { return };
        let mut so_far = record.clone();
        let told = so_far.series.iter_mut().enumerate();
        let told =
            told.flat_map(|(at, series)| std::mem::take(&mut series.intervals).into_iter().map(move |one| (at, one)));
        let told = told.collect();
        sink.take(told, so_far);
    }

    /// Says that nothing was measured, and how the command ends.
    #[cfg(feature = "packet")]
    pub(crate) fn refused(self, class: RefusalClass, why: &str) -> Exit {
        match &self.stream {
            Some(stream) => stream.tell(RunEvent::Refused { class, why: why.to_owned() }),
            None => output::error(&anyhow::anyhow!("{why}")),
        }
        if class == RefusalClass::Refused { Exit::Invalid } else { Exit::Usage }
    }

    /// Says that a run that another node had begun was lost before it told of anything, and how the command ends.
    #[cfg(feature = "packet")]
    pub(crate) fn lost(self, why: String) -> Exit {
        output::error(&anyhow::anyhow!("{why}"));
        if let Some(stream) = self.stream {
            stream.lose(why);
        }
        Exit::Usage
    }

    /// As [`Self::deliver`], of a run that another node goes on with or not: what it told until its connection was lost.
    #[cfg(feature = "packet")]
    pub(crate) fn deliver_lost(
        mut self,
        record: &Record,
        why: String,
        table: impl FnOnce(bool) -> String,
    ) -> anyhow::Result<Exit> {
        let stream = self.stream.take();
        let exit = self.deliver(record, table);
        if let Some(stream) = stream {
            stream.lose(why);
        }
        exit
    }

    /// Who takes the intervals of the run as they end.
    pub(crate) fn sink(&self) -> Option<&dyn IntervalSink> {
        (self.growing.is_some() || self.stream.is_some()).then_some(self as &dyn IntervalSink)
    }

    /// Writes and prints the record, and says how the command ends.
    pub(crate) fn deliver(self, record: &Record, table: impl FnOnce(bool) -> String) -> anyhow::Result<Exit> {
        let Self { printed, file, growing, stream } = self;
        let saved = match (growing, file) {
            (Some(growing), _) => Some(finish(growing, record)?),
            (None, Some(file)) => Some(save::write_or_fall_back(&file, record.to_json().as_bytes())?),
            (None, None) => None,
        };
        match printed {
            Printed::Table => output::data(&table(output::color_stdout())),
            Printed::Json => match saved.as_ref().filter(|_| !has_intervals(record)) {
                // Those of a long run are in its file alone.
                Some(saved) => output::bytes(&std::fs::read(&saved.path)?),
                None => output::data(&record.to_json()),
            },
            Printed::Events => {
                if let Some(stream) = stream {
                    stream.finish(record.clone());
                }
            }
        }
        if let Some(saved) = saved {
            saved.announce();
        }
        // Who reads the table has the reasons and remedies in it.
        if printed != Printed::Table || !output::stdout_is_terminal() {
            records::warn_of_invalid([record]);
        }
        Ok(exit_of(record))
    }
}

impl IntervalSink for Destination {
    /// The file comes first: what was told is in it.
    fn take(&self, intervals: Vec<(usize, Interval)>, so_far: Record) {
        match (&self.growing, &self.stream) {
            (Some(file), Some(stream)) => {
                file.take(intervals.clone(), so_far.clone());
                stream.take(intervals, so_far);
            }
            (Some(file), None) => file.take(intervals, so_far),
            (None, Some(stream)) => stream.take(intervals, so_far),
            (None, None) => {}
        }
    }

    fn replace(&self, so_far: Record) {
        match (&self.growing, &self.stream) {
            (Some(file), Some(stream)) => {
                file.replace(so_far.clone());
                stream.replace(so_far);
            }
            (Some(file), None) => file.replace(so_far),
            (None, Some(stream)) => stream.replace(so_far),
            (None, None) => {}
        }
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
