//! The options by which a command runs a load beside its measurement.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, bail};
use measure::Machine;
use measure::load::{LoadCpus, LoadSpec, PartChoice, RunningLoad, choose_cpus};
use record::LoadRequest;
use units::{CpuSet, Ns};

use crate::begin::AnywayArgs;
use crate::names;
use terminal::output;

/// Intervals of the record for each turn of a load's part.
const INTERVALS_OF_A_TURN: i64 = 20;
/// How long a load of the user's own is tried out before an assessment begins.
const TRIAL: Duration = Duration::from_millis(400);
/// Schedules that such an interval has at the least.
const LEAST_SCHEDULES: i64 = 10;

#[derive(clap::Args)]
pub(crate) struct LoadArgs {
    /// What else runs: none, hard, paper, osadl ('punctual load list' says what they do), or a load file (TOML)
    #[arg(long, value_name = "NAME|FILE", default_value = NONE, conflicts_with = "load_cmd", value_parser = names::load_or_none(), hide_possible_values = true)]
    load: String,
    #[command(flatten)]
    choice: LoadChoice,
}

/// The name that stands for no load.
const NONE: &str = "none";

/// What a user chooses of a load besides its name.
#[derive(Default, clap::Args)]
pub(crate) struct LoadChoice {
    /// Run this command as the load, by the shell, in place of a named one
    #[arg(long, value_name = "COMMAND")]
    load_cmd: Option<String>,
    /// CPUs of the load: all, others (not the measured ones), or a list
    /// [default: others where the measured CPUs are isolated, else all]
    #[arg(long, value_name = "WHERE")]
    load_cpus: Option<LoadCpus>,
    #[command(flatten)]
    parts: PartArgs,
}

/// What can be chosen of a load that is made of parts.
#[derive(Clone, Default, clap::Args)]
pub(crate) struct PartArgs {
    /// Leave these parts of the load out: memory, reclaim, scheduler, timers, file-system, network
    #[arg(long, value_name = "PART,…", value_delimiter = ',')]
    without: Vec<String>,
    /// Let the load's parts run one after the other and then together, and say which of them made it late
    #[arg(long)]
    rotate: bool,
}

impl PartArgs {
    /// Checks the choice against the load that it is made of.
    pub(crate) fn choice(&self, spec: &LoadSpec) -> anyhow::Result<PartChoice> {
        spec.check_has_parts(&self.without)?;
        if self.rotate && spec.part.is_empty() {
            bail!("--rotate needs a load that is made of parts, such as --load hard; '{}' is not", spec.name);
        }
        if spec.part.iter().all(|part| self.without.contains(&part.name)) && !spec.part.is_empty() {
            bail!("--without leaves nothing of the load '{}'", spec.name);
        }
        Ok(PartChoice { without: self.without.clone(), rotate: self.rotate })
    }

    /// The length of an interval of a run of this length, where the load's parts take turns in it: short enough that the
    /// intervals in which the turn passes on are few.
    pub(crate) fn interval_maximum(&self, spec: &LoadSpec, length: Ns, interval: Ns) -> Option<Ns> {
        if !self.rotate {
            return None;
        }
        let parts = spec.part.iter().filter(|part| !self.without.contains(&part.name)).count();
        let windows = i64::try_from(parts).ok()?.saturating_add(1);
        let wanted = length.0 / windows / INTERVALS_OF_A_TURN;
        Some(Ns(wanted.max(interval.0.saturating_mul(LEAST_SCHEDULES))))
    }
}

impl LoadChoice {
    /// The load that is asked for: the user's own command, else the one of this name.
    pub(crate) fn spec(&self, name: &str) -> anyhow::Result<LoadSpec> {
        match &self.load_cmd {
            Some(command) if command.trim().is_empty() => {
                bail!("--load-cmd names no command; write for example --load-cmd 'ping -f localhost'")
            }
            Some(command) => Ok(LoadSpec::from_command(command)),
            None => by_name(name),
        }
    }

    /// What is chosen of the parts of the load.
    pub(crate) const fn parts(&self) -> &PartArgs {
        &self.parts
    }

    /// Chooses the load's CPUs and parts.
    pub(crate) fn prepare(&self, spec: LoadSpec, measured: &CpuSet, machine: &Machine) -> anyhow::Result<PreparedLoad> {
        let parts = self.parts.choice(&spec)?;
        let cpus = choose_cpus(self.load_cpus.as_ref().unwrap_or(&LoadCpus::Default), measured, machine)?;
        Ok(PreparedLoad { spec, parts, cpus })
    }
}

impl LoadArgs {
    /// The same by a request.
    pub(crate) fn from_request(request: Option<LoadRequest>) -> anyhow::Result<Self> {
        let LoadRequest { name, command, cpus, without, rotate } = request.unwrap_or_default();
        Ok(Self {
            load: name.unwrap_or_else(|| NONE.to_owned()),
            choice: LoadChoice {
                load_cmd: command,
                load_cpus: cpus
                    .map(|cpus| cpus.parse())
                    .transpose()
                    .map_err(anyhow::Error::msg)
                    .context("the load's cpus")?,
                parts: PartArgs { without, rotate },
            },
        })
    }

    /// Finds the load that is asked for, if any, before anything is started.
    pub(crate) fn prepare(&self, measured: &CpuSet, machine: &Machine) -> anyhow::Result<Option<PreparedLoad>> {
        if !self.is_any() {
            if self.choice.load_cpus.is_some() {
                bail!("--load-cpus needs a load: add --load hard or --load-cmd COMMAND");
            }
            if self.choice.parts.rotate || !self.choice.parts.without.is_empty() {
                bail!("--rotate and --without need a load that is made of parts: add --load hard");
            }
            return Ok(None);
        }
        let spec = self.choice.spec(&self.load)?;
        self.choice.prepare(spec, measured, machine).map(Some)
    }

    /// Whether a load is asked for.
    pub(crate) fn is_any(&self) -> bool {
        self.choice.load_cmd.is_some() || self.load != NONE
    }

    /// As for its parts ([`PartArgs::interval_maximum`]); `None` without a load.
    pub(crate) fn interval_maximum(&self, length: Ns, interval: Ns) -> Option<Ns> {
        self.choice.parts.interval_maximum(&by_name(&self.load).ok()?, length, interval)
    }
}

/// A built-in load, or that of a file.
pub(crate) fn by_name(name: &str) -> anyhow::Result<LoadSpec> {
    if let Some(spec) = LoadSpec::built_in(name) {
        return Ok(spec);
    }
    if !name.contains(['/', '.']) {
        if name == NONE {
            bail!("this needs a load: name one of those that 'punctual load list' lists, or a load file");
        }
        let known: Vec<_> = LoadSpec::built_in_names().collect();
        bail!(
            "there is no load '{name}': {} and none are built in; a file's name has a dot or a slash, and a command of your \
             own is given by --load-cmd",
            known.join(", ")
        );
    }
    let text = fs::read_to_string(name).with_context(|| format!("cannot read the load file {name}"))?;
    LoadSpec::parse(&text).with_context(|| format!("in {name}"))
}

/// A load that can be started.
pub(crate) struct PreparedLoad {
    spec: LoadSpec,
    parts: PartChoice,
    cpus: CpuSet,
}

impl PreparedLoad {
    /// The length of the run (ns) where the load's parts take turns in it.
    pub(crate) fn rotate_over(&self, duration_ns: Option<u64>) -> anyhow::Result<Option<u64>> {
        match (self.parts.rotate, duration_ns) {
            (true, None) => bail!("--rotate shares the run's length out: give it one with --duration"),
            (true, length) => Ok(length),
            (false, _) => Ok(None),
        }
    }

    /// Starts it and waits until it has come up; names the parts that this machine does not let run. A load that has ended by
    /// itself until then is refused: the run would be invalid.
    pub(crate) fn start(self, anyway: AnywayArgs) -> anyhow::Result<RunningLoad> {
        let load = RunningLoad::start(self.spec, &self.parts.without, self.cpus, &own_file()?)?;
        refuse_ended(&load, anyway)?;
        for (part, why) in load.dropped_by_machine() {
            output::warning(&format!("the load runs without its part '{part}': {why}"));
        }
        Ok(load)
    }

    /// Finds out whether it can be started, long before it is: a load of the user's own by starting it for a moment, one that is
    /// built in by looking for its programs, so that nothing of it disturbs what is measured before.
    pub(crate) fn try_out(&self, anyway: AnywayArgs) -> anyhow::Result<()> {
        let tried = if LoadSpec::built_in(&self.spec.name).is_some_and(|built_in| built_in == self.spec) {
            self.spec.check_programs().map(|()| None)
        } else {
            let (spec, cpus) = (self.spec.clone(), self.cpus.clone());
            RunningLoad::start_for(TRIAL, spec, &self.parts.without, cpus, &own_file()?).map(Some)
        };
        match tried {
            Ok(Some(load)) => refuse_ended(&load, anyway),
            Ok(None) => Ok(()),
            Err(error) if anyway.anyway => {
                output::warning(&error.to_string());
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The load as a heading names it.
    pub(crate) fn title(&self) -> String {
        self.spec.title()
    }
}

fn own_file() -> anyhow::Result<std::path::PathBuf> {
    std::env::current_exe().context("cannot find this program's own file, which guards the load")
}

/// Refuses a load of which something has ended already.
fn refuse_ended(load: &RunningLoad, anyway: AnywayArgs) -> anyhow::Result<()> {
    match load.ended_at_once() {
        // Wrong as it is written, whatever the machine; measured all the same only where that is wanted.
        Some(error) if !error.is_early_end() && !anyway.anyway => Err(error.into()),
        Some(error) => anyway.refuse(
            error.to_string(),
            "name a load that runs until it is ended, for example --load-cmd 'while :; do COMMAND; done'",
        ),
        None => Ok(()),
    }
}
