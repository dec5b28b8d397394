//! What commands that measure have in common: the road from a request to its record, and where that goes.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use record::{Live, LoadRequest, Measurement, Record, Request, RunEvent, RunRequest};
use run::{About, Anyway, Beside, Explaining, Machine, RunContext, Stop, Surroundings, Watch};

use crate::begin::AnywayArgs;
use crate::commands::measure::claim::ClaimArgs;
use crate::destination::{Destination, OutputArgs};
use crate::exit::Exit;
use crate::view::live::LiveRun;
use crate::view::{app, result};
use terminal::output;

/// What the record of a measurement is called; one that is read from elsewhere has a rule of its own.
#[derive(clap::Args)]
pub(crate) struct LabelArgs {
    /// A word for people in the record, by which 'punctual compare --label' finds it
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    pub(crate) label: String,
}

/// The exit code of a run.
pub(crate) fn exit_of(record: &Record) -> Exit {
    match analysis::outcome(record) {
        analysis::RunOutcome::Holds => Exit::Holds,
        analysis::RunOutcome::Broken => Exit::Broken,
        analysis::RunOutcome::Invalid => Exit::Invalid,
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
    request: Request,
    load: Option<LoadRequest>,
    explaining: Explaining,
    surroundings: &Surroundings<'_>,
    stop: &Stop,
    label: &str,
) -> anyhow::Result<Record> {
    let measurement = request.measurement();
    // What would make it invalid was said before the first part.
    let silent = Surroundings { anyway: Anyway { is_wanted: true, warn: &|_| () }, ..*surroundings };
    let prepared = run::prepare(RunRequest { request, load, partner: Vec::new() }, explaining, &silent)?;
    let mut live = LiveRun::new(measurement, label, prepared.about());
    let record = prepared.run(surroundings, Beside::new(&context(label), stop, &mut live));
    live.finish();
    Ok(record?)
}

/// Shows a run while it goes on: to a person at the terminal, and to whoever reads its events.
pub(crate) struct ProgressReporter<'a> {
    terminal: LiveRun,
    destination: &'a Destination,
    started: RunEvent,
    warned: Vec<String>,
}

impl<'a> ProgressReporter<'a> {
    /// Before it begins. `warned` is what whoever asked for the run should know of it.
    pub(crate) fn new(
        measurement: Measurement,
        label: &str,
        about: &About,
        destination: &'a Destination,
        warned: Vec<String>,
    ) -> Self {
        let started = RunEvent::Started { measurement, label: label.to_owned(), duration_ns: about.length_ns };
        Self { terminal: LiveRun::new(measurement, label, about), destination, started, warned }
    }

    /// Takes the picture away; the result follows.
    pub(crate) fn finish(&self) {
        self.terminal.finish();
    }
}

impl Watch for ProgressReporter<'_> {
    fn begins(&mut self) {
        self.destination.tell(self.started.clone());
        self.destination.warn(std::mem::take(&mut self.warned));
    }

    fn live(&mut self, so_far: &Live) {
        self.terminal.show(so_far);
        self.destination.live(so_far);
    }

    fn wants_bins(&self) -> bool {
        self.terminal.is_shown()
    }
}

/// Carries a request out, with a live view on the terminal, and delivers its record.
pub(crate) fn carry_out(request: RunRequest, asked: Asked<'_>) -> anyhow::Result<Exit> {
    let Asked { anyway, output, label, claim } = asked;
    let (machine, own_program) = (Machine::read(), own_program()?);
    let warned = RefCell::new(Vec::new());
    let warn = |text: &str| {
        output::warning(text);
        warned.borrow_mut().push(text.to_owned());
    };
    let anyway = Anyway { is_wanted: anyway.anyway, warn: &warn };
    let surroundings = Surroundings { machine: &machine, own_program: &own_program, anyway, part: None };
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
    destination.begin(&prepared.about().housekeeping)?;
    let mut seen = ProgressReporter::new(measurement, label, prepared.about(), &destination, warned.take());
    let context = context(label);
    let beside = Beside { sink: destination.sink(), ..Beside::new(&context, &stop, &mut seen) };
    let record = prepared.run(&surroundings, beside);
    seen.finish();
    destination.warn(warned.take());
    let record = record?;
    let file = destination.file().map(Path::to_owned);
    let exit = destination.deliver(&record, |color| match record.app() {
        Some(_) => app::app(&record, color),
        None => result::table_of_file(&record, file.as_deref(), color),
    })?;
    claim.conclude(&record, exit)
}
