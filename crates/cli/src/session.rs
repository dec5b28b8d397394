//! What commands that measure have in common: the road from a request to its record, and where that goes.

use std::io;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use measure::{Decider, IntervalSink, Machine, RecordFile, RunContext, Stop};
use record::{LoadRequest, Record, Request, RunRequest};
use run::{Anyway, Beside, Explaining, Surroundings};
use units::CpuSet;

use crate::begin::AnywayArgs;
use crate::commands::measure::claim::{ClaimArgs, Sure};
use crate::exit::Exit;
use crate::records;
use crate::save::{self, Saved};
use crate::view::live_run::LiveRun;
use crate::view::{app, result};
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

/// This program's own file, which guards loads and programs that are followed.
pub(crate) fn own_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find this program's own file, which guards what it starts")
}

/// How a user wants a request carried out.
pub(crate) struct Asked<'a> {
    /// Whether a run is made that will be invalid.
    pub(crate) anyway: AnywayArgs,
    /// Where its record goes.
    pub(crate) output: OutputArgs,
    /// A word for people in the record.
    pub(crate) label: &'a str,
    /// A claim that the run answers.
    pub(crate) claim: &'a ClaimArgs,
}

/// Measures one part of something larger, with a live view on the terminal.
pub(crate) fn measure_part(
    (request, load): (Request, Option<LoadRequest>),
    explaining: Explaining,
    surroundings: &Surroundings<'_>,
    stop: &Stop,
    label: &str,
) -> anyhow::Result<Record> {
    let measurement = request.measurement();
    // What would make it invalid was said before the first part.
    let silent = Surroundings { anyway: Anyway { is_wanted: true, warn: &|_| () }, ..*surroundings };
    let prepared = run::prepare(RunRequest { request, load, partner: None }, explaining, &silent)?;
    let mut live = LiveRun::new(measurement, label, prepared.about());
    let beside = Beside { context: &context(label), stop, watch: &mut live, sink: None, decider: None };
    let record = prepared.run(surroundings, beside);
    live.finish();
    Ok(record?)
}

/// Carries a request out, with a live view on the terminal, and delivers its record.
pub(crate) fn carry_out(request: RunRequest, asked: Asked<'_>) -> anyhow::Result<Exit> {
    let Asked { anyway, output, label, claim } = asked;
    let (machine, own_program) = (Machine::read(), own_program()?);
    let surroundings = Surroundings { machine: &machine, own_program: &own_program, anyway: anyway.choice() };
    let measurement = request.request.measurement();
    let prepared = run::prepare(request, Explaining::MeasuredFirst, &surroundings)?;
    let mut destination = output.prepare()?;
    let stop = Stop::on_signals().context("cannot handle signals")?;
    if prepared.about().hands_on {
        destination.grow(&prepared.about().housekeeping)?;
    }
    if prepared.about().measures_cost_first {
        output::note("first what explaining costs: four short runs, without, with, with, without");
    }
    let sure = claim.sure();
    let mut live = LiveRun::new(measurement, label, prepared.about());
    let beside = Beside {
        context: &context(label),
        stop: &stop,
        watch: &mut live,
        sink: destination.sink(),
        decider: sure.as_ref().map(|sure| sure as &dyn Decider),
    };
    let record = prepared.run(&surroundings, beside);
    live.finish();
    let mut record = record?;
    if let Some(why) = sure.as_ref().and_then(Sure::decided) {
        record.manifest_mut().ended_because = Some(why);
        // It was judged before it was known that the claim ended it, as one that was cut short.
        if let Some(deadline_ns) = record.verdict.as_ref().map(|verdict| verdict.deadline_ns) {
            record.verdict = Some(analyse::verdict(&record, deadline_ns));
        }
    }
    let file = destination.file().map(Path::to_owned);
    let exit = destination.deliver(&record, |colour| match record.app() {
        Some(_) => app::app(&record, colour),
        None => result::table_of_file(&record, file.as_deref(), colour),
    })?;
    claim.conclude(&record, sure.as_ref(), exit)
}
