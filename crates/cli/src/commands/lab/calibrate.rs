//! `punctual lab calibrate`: known delays go in, and this program has to find them again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::lab::cache::Cache;
use ::lab::calibrate::event::{EventEvidence, calibrate_event};
use ::lab::calibrate::sync::{SyncCalibration, SyncEvidence, calibrate_sync};
use ::lab::calibrate::{Calibration, Condition, Evidence, Row, RowVerdict, calibrate};
use ::lab::calibrator::{self, Boot, CalibratorError, SEEDS, SyncBoot};
use ::lab::machine::Architecture;
use ::lab::program::{Programs, proof};
use ::lab::running::Lab;
use anyhow::Context as _;
use report::{
    CalibrationCheckView, CalibrationMissedView, CalibrationOutcomeView, CalibrationRowView, CalibrationView,
};

use super::this_program;
use crate::exit::Exit;
use crate::{reporting, save};
use terminal::output;

/// Inject known delays and known clocks into a deterministic machine, and check whether this program finds them
///
/// The machine is a PREEMPT_RT guest on an emulated CPU whose clock counts instructions: nothing that the host does shows
/// in it. Disabled interrupts, a thread of higher priority and steps of the clock go in, each logged by its injector;
/// wakeup and noise have to find them within bounds that docs/calibration.md fixes, beside cyclictest. Then delays inside
/// the calls by which one thread wakes another, which event has to find. Then hardware clocks whose time a kernel module
/// knows: the bounds of sync have to contain the truth, beside ptp4l and phc2sys. Exit code 1 where they do not. Takes about ten minutes on two CPUs.
#[derive(clap::Args)]
pub(super) struct CalibrateArgs {
    /// One part alone.
    #[arg(long, value_name = "PART")]
    only: Option<Part>,
    /// Boots differ by a seed; each is run idle and under load (1 to 6).
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=SEEDS.len() as i64))]
    seeds: u8,
    /// Guests side by side; as many as the host has CPUs where absent.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    jobs: Option<u8>,
    /// Keep the records and the injectors' logs of every boot in this folder.
    #[arg(long, value_name = "DIR", conflicts_with = "judge")]
    keep: Option<PathBuf>,
    /// Boot nothing: judge again what --keep left.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["seeds", "jobs", "program"])]
    judge: Option<PathBuf>,
    /// Calibrate another build of this program, a static one.
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
    /// Write truth against reading of the delays as one HTML page.
    #[arg(long, value_name = "FILE", num_args = 0..=1, default_missing_value = "calibration.html", conflicts_with = "only")]
    report: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    json: bool,
}

/// What is calibrated.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// wakeup, noise and steps of the clock, by injected delays
    Delays,
    /// hand-overs between threads, by delays inside the waking call
    Event,
    /// readings of clocks, by clocks whose time is known
    Sync,
}

/// What the boots left.
#[derive(Default)]
struct Boots {
    delays: Option<Vec<Evidence>>,
    event: Option<Vec<EventEvidence>>,
    sync: Option<Vec<SyncEvidence>>,
}

impl CalibrateArgs {
    fn wants(&self, part: Part) -> bool {
        self.only.is_none_or(|only| only == part)
    }

    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        if let Some(page) = &self.report {
            save::check_file(page)?;
        }
        let boots = match &self.judge {
            Some(folder) => self.kept(folder)?,
            None => match self.boot() {
                Ok(boots) => boots,
                // It was there and did not do its job: nothing for which this could not be tried.
                Err(error) if is_of_the_guest(&error) => {
                    output::error(&error.context("the calibration has failed"));
                    return Ok(Exit::Broken);
                }
                Err(error) => return Err(error),
            },
        };
        // One table: both are delays of known length.
        let parts = [boots.delays.map(|boots| calibrate(&boots)), boots.event.map(|boots| calibrate_event(&boots))];
        let delays = parts.into_iter().flatten().reduce(Calibration::with);
        let sync = boots.sync.map(|boots| calibrate_sync(&boots));
        self.print(delays.as_ref(), sync.as_ref())?;
        if let (Some(page), Some(calibration)) = (&self.report, &delays) {
            save::write_or_fall_back(page, reporting::render_calibration(view(calibration)).as_bytes())?.announce();
        }
        let passes = delays.is_none_or(|of| of.passes()) && sync.is_none_or(|of| of.passes());
        Ok(if passes { Exit::Holds } else { Exit::Broken })
    }

    fn print(&self, delays: Option<&Calibration>, sync: Option<&SyncCalibration>) -> anyhow::Result<()> {
        if !self.json {
            let delays = delays.map(ToString::to_string);
            let sync = sync.map(ToString::to_string);
            delays.into_iter().chain(sync).for_each(|text| output::data(&format!("{text}\n")));
            return Ok(());
        }
        let mut values = delays.map(serde_json::to_value).into_iter().chain(sync.map(serde_json::to_value));
        let mut whole = values.next().transpose()?.unwrap_or_default();
        if let (Some(part), Some(fields)) = (values.next().transpose()?, whole.as_object_mut()) {
            fields.insert("sync".to_owned(), part);
        }
        output::data(&format!("{}\n", serde_json::to_string_pretty(&whole)?));
        Ok(())
    }

    /// What --keep left: without --only all parts, as far as the folder has them.
    fn kept(&self, folder: &Path) -> anyhow::Result<Boots> {
        let delays = if self.wants(Part::Delays) { calibrator::kept(folder)? } else { Vec::new() };
        let event = if self.wants(Part::Event) { calibrator::kept_event(folder)? } else { Vec::new() };
        let sync = if self.wants(Part::Sync) { calibrator::kept_sync(folder)? } else { Vec::new() };
        if delays.is_empty() && event.is_empty() && sync.is_empty() {
            let names = match self.only {
                Some(Part::Delays) => "idle-N or load-N",
                Some(Part::Event) => "event-idle-N or event-load-N",
                Some(Part::Sync) => "sync-N",
                None => "idle-N, load-N, event-idle-N, event-load-N or sync-N",
            };
            anyhow::bail!("{} has no folder {names} from a calibration", folder.display());
        }
        Ok(Boots {
            delays: (!delays.is_empty()).then_some(delays),
            event: (!event.is_empty()).then_some(event),
            sync: (!sync.is_empty()).then_some(sync),
        })
    }

    fn boot(&self) -> anyhow::Result<Boots> {
        let program = match &self.program {
            Some(program) => program.clone(),
            None => this_program()?,
        };
        ::lab::program::check(Architecture::Amd64, &program)?;
        let cache = Cache::open().context("the lab's cache")?;
        let lab = Lab::create(&format!("calibrate-{}", std::process::id()))?;
        let _held = lab.hold().context("the folder of running labs")?;
        let boots = self.in_place(&lab, &cache, &program);
        lab.discard();
        boots
    }

    fn in_place(&self, lab: &Lab, cache: &Cache, program: &Path) -> anyhow::Result<Boots> {
        let stop = Arc::new(AtomicBool::new(false));
        kernel::signals::register(&stop, &Arc::default()).context("cannot take over SIGINT and SIGTERM")?;
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let at_once = |boots: usize| self.jobs.map_or(cpus, usize::from).min(boots);
        let folder = self.keep.clone().unwrap_or_else(|| lab.folder.join("boots"));
        let mut found = Boots::default();
        if self.wants(Part::Delays) {
            let proof = Some(proof(&this_program()?)?);
            let programs = Programs { punctual: program.to_owned(), proof, others: Vec::new() };
            let guest = calibrator::guest(cache, &programs, &lab.folder, &mut output::note)?;
            let boots = Boot::all(usize::from(self.seeds));
            let at_once = at_once(boots.len());
            output::note(&format!(
                "calibrating on Linux {}: {} boots, {at_once} at a time; the first under load takes the longest",
                guest.kernel.release,
                boots.len()
            ));
            let mut done = 0;
            let mut report_boot = |boot: Boot, took: std::time::Duration| {
                done += 1;
                output::note(&format!("{}: done in {} s ({done} of {})", boot.name(), took.as_secs(), boots.len()));
            };
            found.delays = Some(calibrator::run(&guest, &boots, at_once, &folder, &stop, &mut report_boot)?);
        }
        if self.wants(Part::Event) {
            let guest = calibrator::event_guest(cache, program, &lab.folder, &mut output::note)?;
            let boots = Boot::all(usize::from(self.seeds));
            let at_once = at_once(boots.len());
            output::note(&format!(
                "calibrating hand-overs between threads: {} boots, {at_once} at a time",
                boots.len()
            ));
            let mut done = 0;
            let mut report_boot = |name: &str, took: std::time::Duration| {
                done += 1;
                output::note(&format!("{name}: done in {} s ({done} of {})", took.as_secs(), boots.len()));
            };
            found.event = Some(calibrator::run_event(&guest, &boots, at_once, &folder, &stop, &mut report_boot)?);
        }
        if self.wants(Part::Sync) {
            let boots = SyncBoot::all(usize::from(self.seeds));
            let at_once = at_once(boots.len());
            output::note(&format!("calibrating readings of clocks: {} boots, {at_once} at a time", boots.len()));
            let sync = calibrator::run_sync(cache, program, &boots, at_once, &folder, &stop, &mut output::note)?;
            found.sync = Some(sync);
        }
        Ok(found)
    }
}

fn is_of_the_guest(error: &anyhow::Error) -> bool {
    matches!(
        error.downcast_ref(),
        Some(CalibratorError::Guest { .. } | CalibratorError::Evidence { .. } | CalibratorError::SyncEvidence { .. })
    )
}

/// As the page shows it.
fn view(calibration: &Calibration) -> CalibrationView {
    let check = |check: &::lab::calibrate::Check| CalibrationCheckView {
        boot: check.boot.clone(),
        name: check.name.clone(),
        holds: check.holds,
        found: check.found.clone(),
    };
    CalibrationView {
        tool: format!("punctual {}", calibration.tool_version),
        machine: format!("one emulated CPU whose clock counts instructions, Linux {}", calibration.kernel_release),
        passes: calibration.passes(),
        rows: calibration.rows.iter().map(row_view).collect(),
        checks: calibration.checks.iter().map(check).collect(),
    }
}

fn row_view(row: &Row) -> CalibrationRowView {
    CalibrationRowView {
        boot: row.boot.clone(),
        condition: match row.condition {
            Condition::Idle => "idle",
            Condition::Load => "load",
        }
        .to_owned(),
        measurement: row.measurement.clone(),
        kind: row.kind.name().to_owned(),
        asked_length_ns: row.asked_length_ns.into(),
        truth_ns: row.truth_ns.into(),
        baseline_ns: row.baseline_ns.into(),
        reading_ns: row.reading_ns.map(Into::into),
        difference_ns: row.difference_ns.map(Into::into),
        least_ns: row.bound.least_ns.into(),
        most_ns: row.bound.most_ns.into(),
        exception_ns: row.bound.exception_ns.into(),
        missed: row.missed.map(|missed| CalibrationMissedView {
            reading: missed.reading.into(),
            least: missed.least.into(),
            most: missed.most.into(),
        }),
        outcome: match row.verdict {
            RowVerdict::Within => CalibrationOutcomeView::Within,
            RowVerdict::Exception => CalibrationOutcomeView::Exception,
            RowVerdict::Outside => CalibrationOutcomeView::Outside,
            RowVerdict::NotFound => CalibrationOutcomeView::NotFound,
        },
    }
}
