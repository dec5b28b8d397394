//! The options by which a command runs a load beside its measurement.

use std::fs;

use anyhow::{Context as _, bail};
use measure::Machine;
use measure::load::{LoadCpus, LoadSpec, RunningLoad, choose_cpus};
use units::CpuSet;

#[derive(clap::Args)]
pub(crate) struct LoadArgs {
    /// What else runs: none, paper, osadl, or a load file (TOML)
    #[arg(long, value_name = "NAME|FILE", default_value = "none", conflicts_with = "load_cmd")]
    load: String,
    /// Run this command as the load, by the shell
    #[arg(long, value_name = "COMMAND")]
    load_cmd: Option<String>,
    /// CPUs of the load: all, others (not the measured ones), or a list
    /// [default: others where the measured CPUs are isolated, else all]
    #[arg(long, value_name = "WHERE")]
    load_cpus: Option<LoadCpus>,
}

impl LoadArgs {
    /// Finds the load that is asked for, if any, before anything is started.
    pub(crate) fn prepare(&self, measured: &CpuSet, machine: &Machine) -> anyhow::Result<Option<PreparedLoad>> {
        let spec = match (&self.load_cmd, self.load.as_str()) {
            (Some(command), _) => LoadSpec::of_command(command),
            (None, "none") => {
                if self.load_cpus.is_some() {
                    bail!("--load-cpus needs a load: add --load paper or --load-cmd COMMAND");
                }
                return Ok(None);
            }
            (None, name) => by_name(name)?,
        };
        prepared(spec, self.load_cpus.as_ref().unwrap_or(&LoadCpus::Default), measured, machine).map(Some)
    }
}

/// A load with its CPUs chosen.
pub(crate) fn prepared(
    spec: LoadSpec,
    wanted: &LoadCpus,
    measured: &CpuSet,
    machine: &Machine,
) -> anyhow::Result<PreparedLoad> {
    let cpus = choose_cpus(wanted, measured, machine)?;
    Ok(PreparedLoad { spec, cpus })
}

fn by_name(name: &str) -> anyhow::Result<LoadSpec> {
    if let Some(spec) = LoadSpec::built_in(name) {
        return Ok(spec);
    }
    if !name.contains(['/', '.']) {
        let known: Vec<_> = LoadSpec::built_in_names().collect();
        bail!(
            "there is no load '{name}': {} and none are built in; a file's name has a dot or a slash",
            known.join(", ")
        );
    }
    let text = fs::read_to_string(name).with_context(|| format!("cannot read the load file {name}"))?;
    LoadSpec::parse(&text).with_context(|| format!("in {name}"))
}

/// A load that can be started.
pub(crate) struct PreparedLoad {
    spec: LoadSpec,
    cpus: CpuSet,
}

impl PreparedLoad {
    /// Starts it and waits until it has come up.
    pub(crate) fn start(self) -> anyhow::Result<RunningLoad> {
        let program = std::env::current_exe().context("cannot find this program's own file, which guards the load")?;
        Ok(RunningLoad::start(self.spec, self.cpus, &program)?)
    }
}
