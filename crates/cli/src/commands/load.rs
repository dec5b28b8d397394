//! `punctual load`: the loads that come with the program, and load files.

use std::fmt::Write as _;

use anyhow::{Context as _, bail};
use run::load::LoadSpec;
use serde::Serialize;

use crate::exit::Exit;
use crate::names;
use terminal::output;
use terminal::wrap;

/// List and print the loads that come with the program, and check a load file of your own
///
/// A load is what else runs during a measurement: `--load NAME` or `--load FILE` of `measure wakeup`, `measure noise`, `assess`
/// and `app`; `--load-cmd COMMAND` needs no file. docs/load.md describes the form of the file.
#[derive(clap::Args)]
pub(crate) struct LoadCommandArgs {
    #[command(subcommand)]
    command: LoadCommand,
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
}

#[derive(clap::Subcommand)]
enum LoadCommand {
    /// List the loads that come with the program, and what they do
    List,
    /// Print the file of a load, to start a load of your own from
    Show {
        /// Name of the load
        #[arg(value_name = "NAME", value_parser = names::load(), hide_possible_values = true)]
        name: String,
    },
    /// Check a load file: what it would run, and whether its programs are installed
    Check {
        /// The load file (TOML)
        #[arg(value_name = "FILE")]
        file: String,
    },
}

/// A load as it is described before it runs.
#[derive(Serialize)]
struct Described {
    name: String,
    description: String,
    /// What it runs, in words made of its parts and commands.
    runs: String,
    /// CPU time that it should use at least (CPUs); absent for a load with a share, and where none is stated.
    #[serde(skip_serializing_if = "Option::is_none")]
    wanted_cpu: Option<f64>,
    /// Part of the time for which it runs (above 0, up to 1); absent where it runs all the time.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<f64>,
    /// Parts that can be left out by `--without`.
    parts: Vec<String>,
    /// Programs that it starts.
    programs: Vec<String>,
    /// Why a program of it cannot be started here; absent where all are installed.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<String>,
}

impl Described {
    fn new(spec: &LoadSpec) -> Self {
        Self {
            name: spec.name.clone(),
            description: spec.description.clone(),
            runs: spec.describe(),
            wanted_cpu: spec.wanted_cpu,
            share: spec.share,
            parts: spec.part.iter().map(|part| part.name.clone()).collect(),
            programs: spec.programs().into_iter().map(str::to_owned).collect(),
            missing: spec.check_programs().err().map(|error| error.to_string()),
        }
    }

    /// The CPU time that it should use, in words; empty where it states none.
    fn cpu_time(&self) -> String {
        match (self.wanted_cpu, self.share) {
            (Some(cpus), _) => format!("at least {cpus} CPUs, whatever the machine has"),
            (None, Some(share)) => format!("{:.0} % of every CPU that it may use", share * 100.0),
            (None, None) => String::new(),
        }
    }
}

impl LoadCommandArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match &self.command {
            LoadCommand::List => self.list(),
            LoadCommand::Show { name } => self.show(name),
            LoadCommand::Check { file } => self.check(file),
        }
    }

    fn print<T: Serialize>(&self, value: &T, text: impl FnOnce() -> String) -> anyhow::Result<()> {
        let text = if self.json { serde_json::to_string_pretty(value)? + "\n" } else { text() };
        output::data(&text);
        Ok(())
    }

    fn list(&self) -> anyhow::Result<Exit> {
        let all: Vec<Described> =
            LoadSpec::built_in_names().filter_map(LoadSpec::built_in).map(|spec| Described::new(&spec)).collect();
        self.print(&all, || {
            all.iter().fold(String::new(), |mut text, load| {
                let _ = writeln!(text, "{}", load.name);
                describe(&mut text, load);
                text
            })
        })?;
        Ok(Exit::Holds)
    }

    fn show(&self, name: &str) -> anyhow::Result<Exit> {
        let Some((text, spec)) = LoadSpec::built_in_text(name).zip(LoadSpec::built_in(name)) else {
            let hint = if name.contains(['/', '.']) {
                format!("; 'punctual load check {name}' reads a file")
            } else {
                String::new()
            };
            let known: Vec<&str> = LoadSpec::built_in_names().collect();
            bail!("there is no load '{name}': {} come with the program{hint}", known.join(", "));
        };
        self.print(&spec, || text.to_owned())?;
        Ok(Exit::Holds)
    }

    fn check(&self, file: &str) -> anyhow::Result<Exit> {
        // A name that is built in is a load too, and a file needs no dot here.
        let spec = match LoadSpec::built_in(file) {
            Some(spec) => spec,
            None if file.contains(['/', '.']) => run::load_by_name(file)?,
            None => run::load_by_name(&format!("./{file}")).with_context(|| {
                let known: Vec<&str> = LoadSpec::built_in_names().collect();
                format!(
                    "'{file}' is neither a file nor one of the loads that come with the program ({})",
                    known.join(", ")
                )
            })?,
        };
        let load = Described::new(&spec);
        self.print(&load, || {
            let mut text = format!("{file} is a load: '{}'\n", load.name);
            describe(&mut text, &load);
            text
        })?;
        if let Some(missing) = &load.missing {
            output::warning(missing);
        }
        Ok(if load.missing.is_some() { Exit::Broken } else { Exit::Holds })
    }
}

fn describe(text: &mut String, load: &Described) {
    let mut line = |label: &str, words: &str| {
        if !words.is_empty() {
            text.push_str(&wrap::after_lead(&format!("  {label:<9} "), words, wrap::width()));
        }
    };
    line("what", &load.description);
    line("runs", &load.runs);
    line("CPU time", &load.cpu_time());
    line("programs", &load.programs.join(", "));
}
