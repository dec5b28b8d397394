//! `punctual assess`: the main job. Reads the machine, measures it idle and under load, concludes, reports.

mod folder;
mod plan;
mod print;

use std::path::PathBuf;
use std::time::Instant;

use analysis::cause::Surroundings;
use analysis::tail::Claim;
use anyhow::{Context as _, bail};
use record::{
    ClockRequest, ExplainRequest, LoadRequest, NoiseRequest, Placement, Record, Request, RunEnd, RunLength, RunRequest,
    WakeupRequest,
};
use run::{Anyway, Explaining};
use run::{Machine, Stop};
use summary::{Answer, Assessment, AssessmentDocument, AssessmentInput, Part};
use units::{CpuSet, Ns};

use self::folder::Folder;
use self::plan::TimePlan;
use crate::begin::AnywayArgs;
use crate::commands::tail::exit_of_claim;
use crate::exit::Exit;
use crate::loads::LoadChoice;
use crate::node::Node;
use crate::{names, records, session};
use terminal::output;

/// Readings of each clock: enough for the cost, a second at most.
const CLOCK_SAMPLES: u64 = 100_000;
/// Why a part did not take place.
const ENDED_BEFORE: &str = "the assessment was ended before it";

#[derive(clap::Args)]
pub(crate) struct AssessArgs {
    /// The limit that no wake-up may exceed
    #[arg(long, value_name = "D", default_value = "100us")]
    deadline: Ns,
    /// How long to measure in all
    #[arg(long, visible_alias = "duration", value_name = "D", default_value = "60s")]
    time: Ns,
    /// CPUs to measure [default: the isolated ones, else all]
    #[arg(long, aliases = ["cpu", "affinity"], value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// Time from one schedule to the next
    #[arg(long, alias = "period", value_name = "D", default_value_t = record::DEFAULT_INTERVAL)]
    interval: Ns,
    /// Real-time priority, 1 to 99
    #[arg(long, alias = "prio", value_name = "P", default_value_t = 98)]
    priority: u32,
    /// Answer this claim from the run under load: "100us for 1 day at 99%"; exit 3 where it is not shown
    #[arg(long, value_name = "TEXT")]
    claim: Option<Claim>,
    /// What runs beside the run under load: hard, paper, osadl ('punctual load list' says what they do), or a load file (TOML)
    #[arg(long, value_name = "NAME|FILE", default_value = "hard", conflicts_with = "load_cmd", value_parser = names::load(), hide_possible_values = true)]
    load: String,
    #[command(flatten)]
    load_choice: LoadChoice,
    #[command(flatten)]
    anyway: AnywayArgs,
    /// Folder for the records and the report [default: punctual-HOST-TIME]
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Do not look for the causes of the worst wake-ups
    #[arg(long)]
    no_explain: bool,
    /// Say of each part and each caveat what was seen
    #[arg(short, long)]
    verbose: bool,
    /// Print the conclusion as JSON on stdout
    #[arg(long)]
    json: bool,
}

impl AssessArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        if self.deadline.0 <= 0 {
            bail!("the deadline is {}: it must be above zero", self.deadline);
        }
        let (machine, own_program) = (Machine::read(), session::own_program()?);
        let here = |anyway| run::Surroundings { machine: &machine, own_program: &own_program, anyway, part: None };
        let asked = here(self.anyway.choice());
        let all_the_same = here(AnywayArgs { anyway: true }.choice());
        let times = TimePlan::new(self.time, run::can_disable_idle_states())?;
        // All is planned before anything is measured, so that errors are reported at once; what is refused is said once.
        let silent = here(Anyway { is_wanted: true, warn: &|_| () });
        let plan = |request: Request, load: Option<&LoadRequest>, surroundings: &run::Surroundings<'_>| {
            let request = RunRequest { request, load: load.cloned(), partner: Vec::new() };
            run::prepare(request, Explaining::Known(None), surroundings)
        };
        let mut idle = self.wakeup(times.idle, None, !self.no_explain);
        let measured = plan(Request::Wakeup(idle.clone()), None, &asked)?.about().measured.clone();
        let held = times.held.map(|time| self.wakeup(time, Some(0), false));
        if let Some(held) = &held {
            plan(Request::Wakeup(held.clone()), None, &silent)?;
        }
        let times = times.with_explaining(run::affordable_takes(&idle));
        let load = self.load_choice.request(&self.load);
        let mut loaded = self.wakeup(times.loaded, None, !self.no_explain);
        let under_load = plan(Request::Wakeup(loaded.clone()), Some(&load), &silent)?;
        let load_title = under_load.load_title().unwrap_or_default();
        let noise = NoiseRequest {
            cpus: Some(measured.clone()),
            duration: RunLength::For(times.noise),
            ..NoiseRequest::default()
        };
        plan(Request::Noise(noise.clone()), None, &silent)?;
        let folder = Folder::prepare(self.output.clone())?;
        // What would make the assessment worthless is said now, not after all of it was measured.
        if let Err(refused) = under_load.try_load(&asked) {
            folder.discard();
            return Err(refused.into());
        }
        let stop = Stop::on_signals().context("cannot handle signals")?;
        let measure = |request: Request, load: Option<LoadRequest>, cost, label: &str| {
            session::measure_part(request, load, Explaining::Known(cost), &all_the_same, &stop, label)
        };

        let mut steps = Steps { done: 0, all: 5 + u32::from(held.is_some()), times: &times, began: Instant::now() };
        steps.next("reading the machine", None);
        let node = Node::read();

        steps.next("cost of reading clocks", None);
        let clock = ClockRequest { samples: CLOCK_SAMPLES, cpu: measured.last(), ..ClockRequest::default() };
        let clock = measure(Request::Clock(clock), None, None, "clock")?;

        steps.next("wake-ups, idle", Some(times.idle));
        let (explain, cost) = run::affordable(&idle, &machine, &stop);
        (idle.explain, loaded.explain) = (explain, explain);
        let idle = measure(Request::Wakeup(idle), None, cost.clone(), "idle")?;
        let held = held.map(|held| {
            attempt(&stop, || {
                steps.next("wake-ups, idle states disabled", times.held);
                measure(Request::Wakeup(held), None, None, "idle states disabled")
            })
        });
        let loaded = attempt(&stop, || {
            steps.next(&format!("wake-ups, under load {load_title}"), Some(times.loaded));
            measure(Request::Wakeup(loaded), Some(load), cost, "under load")
        });
        let noise = attempt(&stop, || {
            steps.next("gaps of a thread that never sleeps", Some(times.noise));
            measure(Request::Noise(noise), None, None, "noise")
        });

        let changes = node.changes();
        let input = AssessmentInput {
            deadline_ns: self.deadline.unsigned(),
            idle: Part::Measured(&idle),
            held: held.as_ref().map_or(Part::NotAsked, part),
            loaded: part(&loaded),
            noise: part(&noise),
            changes,
            surroundings: Surroundings::from_profile(&node.profile, &measured),
        };
        let mut assessment = summary::assess(&input);
        if let Some(claim) = self.claim {
            assessment.answer_claim(claim, loaded.as_ref().map_err(String::as_str));
        }
        let document = AssessmentDocument::new(&assessment, &input);
        let exit = exit_of(&assessment);
        let mut runs = vec![idle];
        runs.extend(held.and_then(Result::ok));
        runs.extend(loaded.ok());
        runs.push(clock);
        runs.extend(noise.ok());
        for run in &mut runs {
            run.manifest_mut().profile_sha256 = Some(node.sha256.clone());
        }
        let written = folder.write(&assessment, &document, &runs, &node)?;
        self.print(&assessment, document, &runs, &written)?;
        records::warn_of_invalid(&runs);
        Ok(exit)
    }

    fn wakeup(&self, time: Ns, hold_dma_latency_us: Option<u32>, explain: bool) -> WakeupRequest {
        WakeupRequest {
            placement: self.cpus.clone().map_or(Placement::Default, Placement::Pinned),
            priority: self.priority,
            interval: self.interval,
            end: RunEnd::After(time),
            deadline: Some(self.deadline),
            hold_dma_latency_us,
            explain: explain.then(ExplainRequest::default),
            ..WakeupRequest::default()
        }
    }

    fn print(
        &self,
        assessment: &Assessment,
        document: AssessmentDocument,
        runs: &[Record],
        written: &folder::Written,
    ) -> anyhow::Result<()> {
        if self.json {
            let document = AssessmentDocument {
                folder: Some(written.folder.display().to_string()),
                report: Some(written.report.display().to_string()),
                ..document
            };
            output::data(
                &(serde_json::to_string_pretty(&document).context("cannot write the conclusion as JSON")? + "\n"),
            );
        } else {
            output::data(&print::conclusion(assessment, runs, written, output::color_stdout(), self.verbose));
        }
        Ok(())
    }
}

/// Measures a part, or says why it did not take place: the parts before it are concluded from and kept in either case.
fn attempt(stop: &Stop, measure: impl FnOnce() -> anyhow::Result<Record>) -> Result<Record, String> {
    if stop.ended_early() {
        return Err(ENDED_BEFORE.to_owned());
    }
    measure().map_err(|error| {
        let error = format!("{error:#}");
        output::warning(&error);
        error
    })
}

fn part(measured: &Result<Record, String>) -> Part<'_> {
    Part::from_result(measured.as_ref().map_err(String::as_str))
}

/// The graver one of the deadline's and the claim's.
fn exit_of(assessment: &Assessment) -> Exit {
    let of_deadline = match assessment.answer {
        Answer::Holds => Exit::Holds,
        Answer::DoesNotHold => Exit::Broken,
        Answer::CannotBeTold => Exit::Invalid,
    };
    let of_claim = assessment.claim.as_ref().map_or(Exit::Holds, |claim| exit_of_claim(claim.state));
    of_deadline.graver(of_claim)
}

/// Which step comes, and how long all of them still take.
struct Steps<'a> {
    done: u32,
    all: u32,
    times: &'a TimePlan,
    began: Instant,
}

impl Steps<'_> {
    fn next(&mut self, what: &str, takes: Option<Ns>) {
        self.done += 1;
        let taken = i64::try_from(self.began.elapsed().as_nanos()).unwrap_or(i64::MAX);
        let left = self.times.left_from(self.done, self.all, Ns(taken));
        let takes = takes.map_or_else(String::new, |time| format!(", {}", units::format::span(time.0)));
        let left = units::format::span(left.0);
        output::note(&format!("[{}/{}] {what}{takes} (about {left} to go)", self.done, self.all));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_fails_or_never_begins_is_missing_with_its_reason() {
        let stop = Stop::new();
        let failed = attempt(&stop, || Err(anyhow::anyhow!("no such device").context("cannot hold idle states off")));
        assert!(matches!(part(&failed), Part::Missing("cannot hold idle states off: no such device")));
        stop.end_early();
        let never = attempt(&stop, || Err(anyhow::anyhow!("it began all the same")));
        assert!(matches!(part(&never), Part::Missing(ENDED_BEFORE)));
    }
}
