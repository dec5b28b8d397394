//! `punctual lab test`: the steps of scenarios, one after the other, and what is wrong after each.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use ::lab::cache::Cache;
use ::lab::guest::protocol::Run;
use ::lab::program::Programs;
use ::lab::running::{self, ExecError, Lab, Streams};
use ::lab::scenario::{Scenario, Step};
use anyhow::Context as _;

use super::get::fetch_into;
use super::{bring_up, guest_programs, read_scenario, reboot, this_program};
use crate::exit::Exit;
use terminal::output;

/// How often a scenario is begun that the emulator spoils.
const ATTEMPTS: u32 = 3;

/// Before a step that has time is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// Runs the steps of scenarios; exit 1 where one does not hold, 2 where all hold that could be run, and one could not. What steps name to
/// be kept goes to `keep`, if that is given: `KEEP/SCENARIO/NODE/NAME`.
pub(super) fn test(word: Option<&str>, keep: Option<&Path>) -> anyhow::Result<Exit> {
    let scenarios = match word {
        Some(word) => vec![read_scenario(word)?],
        None => Scenario::all_built_in().collect(),
    };
    let program = this_program()?;
    let cache = Cache::open().context("the lab's cache")?;
    let (mut passed, mut failed, mut not_run) = (0, 0, 0);
    for scenario in &scenarios {
        let programs = match guest_programs(scenario, &program) {
            Ok(programs) => programs,
            Err(reason) => {
                not_run += 1;
                output::error(&reason.context(format!("{} is not run", scenario.name)));
                continue;
            }
        };
        let trial = Trial { scenario, program: &program, cache: &cache, programs: &programs, keep };
        let (holding, broken) = trial.run()?;
        passed += holding;
        failed += broken;
    }
    if passed + failed > 0 {
        output::data(&format!("{passed} passed, {failed} failed\n"));
    }
    Ok(match (failed, not_run) {
        (0, 0) => Exit::Holds,
        (0, _) => Exit::Usage,
        _ => Exit::Broken,
    })
}

/// A scenario to be tried.
struct Trial<'a> {
    scenario: &'a Scenario,
    program: &'a Path,
    cache: &'a Cache,
    programs: &'a [Programs],
    /// The folder for what steps keep; `None` if nobody wants it.
    keep: Option<&'a Path>,
}

/// How an attempt ended.
enum Attempt {
    /// So many steps passed, so many failed; where a machine went down, those behind were not taken.
    Judged(u32, u32),
    /// The emulator brought a machine down, in these words.
    Spoiled(String),
}

impl Trial<'_> {
    /// How many steps passed and failed. A machine that goes down has failed, but for the emulator's own fault, after which
    /// the scenario starts again.
    fn run(&self) -> anyhow::Result<(u32, u32)> {
        let Scenario { name, about, .. } = self.scenario;
        output::note(&format!("{name}: {about}"));
        let mut attempt = 1;
        loop {
            match self.attempt()? {
                Attempt::Judged(passed, failed) => return Ok((passed, failed)),
                Attempt::Spoiled(fault) if attempt == ATTEMPTS => {
                    output::data(&format!("FAILED  {name}: {ATTEMPTS} times {fault}\n"));
                    return Ok((0, 1));
                }
                Attempt::Spoiled(fault) => {
                    attempt += 1;
                    output::note(&format!("{name}: {fault}; it starts again, and earlier steps do not count"));
                }
            }
        }
    }

    fn attempt(&self) -> anyhow::Result<Attempt> {
        let Scenario { name, step: steps, .. } = self.scenario;
        // A name of its own: tests side by side do not meet.
        let lab = Lab::create(&format!("{name:.14}-{}", std::process::id()))?;
        let started = match bring_up(self.scenario, &lab, self.cache, self.program, self.programs) {
            Ok(started) => started,
            Err(error) => {
                if let Some(fault) = lab.emulator_fault() {
                    return Ok(Attempt::Spoiled(fault));
                }
                if !lab.has_booted() {
                    return Err(error);
                }
                output::data(&format!("FAILED  {name}: to come up: {error:#}\n"));
                return Ok(Attempt::Judged(0, 1));
            }
        };
        let (mut passed, mut failed) = (0, 0);
        for (place, step) in steps.iter().enumerate() {
            let (fault, is_end) = match self.step(&lab, step) {
                Ok(None) => {
                    passed += 1;
                    output::data(&format!("passed  {name}: {}\n", step.about));
                    continue;
                }
                Ok(Some(fault)) => (fault, false),
                Err(error) if went_down(&error) => (format!("{error:#}"), true),
                Err(error) => return Err(error),
            };
            if let Some(fault) = lab.emulator_fault() {
                started.end();
                return Ok(Attempt::Spoiled(fault));
            }
            failed += 1;
            output::data(&format!("FAILED  {name}: {}: {fault}\n", step.about));
            if is_end {
                let behind = steps.len() - place - 1;
                output::note(&format!("{name}: steps that are not taken, since a machine is gone: {behind}"));
                break;
            }
        }
        started.end();
        Ok(Attempt::Judged(passed, failed))
    }

    /// What is wrong after a step, with what its command printed; `None` where it holds.
    fn step(&self, lab: &Lab, step: &Step) -> anyhow::Result<Option<String>> {
        let first = || self.scenario.node.first().map(|node| node.name.as_str());
        let node = step.node.as_deref().or_else(first).unwrap_or_default();
        if let Some(how) = step.reboot {
            return Ok(reboot::step(lab, node, how, step.within_s));
        }
        let once = || {
            let (exit, printed, complained) = match &step.lab {
                Some(words) => on_host(lab, self.program, words)?,
                None => in_guest(lab, node, &step.run)?,
            };
            let fault = step.fault(exit, &String::from_utf8_lossy(&printed));
            Ok(fault.map(|fault| format!("{fault}\n{}", words(&printed, &complained))))
        };
        let until = Instant::now() + Duration::from_secs(step.within_s.unwrap_or(0));
        loop {
            match once() {
                Ok(None) => return Ok(self.kept(lab, node, step)),
                // A node that starts again is gone for a while.
                _ if Instant::now() < until => thread::sleep(AGAIN),
                Ok(Some(fault)) => {
                    // They say more of what went wrong; that one of them is missing would not.
                    let _ = self.kept(lab, node, step);
                    return Ok(Some(fault));
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Fetches what a step names to be kept; what is wrong if one of it cannot be had.
    fn kept(&self, lab: &Lab, node: &str, step: &Step) -> Option<String> {
        let folder = self.keep?.join(&self.scenario.name).join(node);
        let fault = |path: &String| {
            let error = fetch_into(lab, node, path, &folder).err()?;
            Some(format!("{path} cannot be kept: {error:#}"))
        };
        step.keep.iter().filter_map(fault).next()
    }
}

/// Whether that is a machine's end, and not a reason for which nothing could be tried. Scenarios name nodes that they
/// have, so one that is not there is there no longer.
fn went_down(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(ExecError::Gone { .. } | ExecError::Lost { .. } | ExecError::NoNode { .. }))
}

/// Exit code, standard output and standard error.
type Ended = (i32, Vec<u8>, Vec<u8>);

fn in_guest(lab: &Lab, node: &str, command: &str) -> anyhow::Result<Ended> {
    let arguments = ["sh", "-c", command].map(str::to_owned).to_vec();
    let run = Run { arguments, environment: BTreeMap::new() };
    let (mut printed, mut complained) = (Vec::new(), Vec::new());
    let streams = Streams { input: None, output: &mut printed, error: &mut complained };
    match running::exec(lab, node, &run, streams) {
        Ok(exit) => Ok((exit, printed, complained)),
        Err(error) => Err(anyhow::Error::from(error).context(format!("\n{}", words(&printed, &complained)))),
    }
}

/// The output of a step's command, to see what went wrong.
fn words(printed: &[u8], complained: &[u8]) -> String {
    let (printed, complained) = (String::from_utf8_lossy(printed), String::from_utf8_lossy(complained));
    format!("--- its output\n{printed}--- its complaints\n{complained}---")
}

/// Another command of this program about the same lab, whose name stands behind the command's.
fn on_host(lab: &Lab, program: &Path, words: &str) -> anyhow::Result<Ended> {
    let mut words = words.split_ascii_whitespace();
    let mut command = Command::new(program);
    command.arg("lab").args(words.next()).arg(&lab.name).args(words).stdin(Stdio::null());
    let ended = command.output().context("cannot start this program again")?;
    Ok((ended.status.code().unwrap_or(-1), ended.stdout, ended.stderr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_that_goes_down_has_failed_and_one_that_cannot_be_tried_has_not() {
        let lost = ExecError::Lost { node: "n".to_owned(), why: "its kernel panicked".to_owned() };
        // With what was printed before, as for a step.
        assert!(went_down(&anyhow::Error::from(lost).context(words(b"before", b""))));
        let gone = ExecError::NoNode { lab: "l".to_owned(), node: "n".to_owned(), nodes: String::new() };
        assert!(went_down(&gone.into()));
        let not_started = ExecError::NotStarted { node: "n".to_owned(), why: "no such file".to_owned() };
        assert!(!went_down(&not_started.into()));
        assert!(!went_down(&anyhow::anyhow!("cannot start this program again")));
    }
}
