//! `punctual lab`: virtual machines with real PREEMPT_RT kernels.

mod analyzer;
mod calibrate;
mod expect;
mod get;
mod link;
mod reboot;
mod scenarios;
mod trace;

use std::path::{Path, PathBuf};

use ::lab::cache::Cache;
use ::lab::guest::protocol::Run;
use ::lab::prepare::prepare;
use ::lab::program::Programs;
use ::lab::running::{self, Lab, Streams};
use ::lab::scenario::{Node, Scenario, is_name};
use anyhow::{Context as _, bail};

use crate::exit::Exit;
use crate::names;
use terminal::output;
use terminal::wrap;

/// Boot real PREEMPT_RT kernels in QEMU, and run this program on them
///
/// Guests are Debian's own kernels, fetched and verified by apt into a cache (PUNCTUAL_LAB_CACHE, else
/// ~/.cache/punctual/lab). Nothing needs root. Latencies in a guest are the emulator's: good to see what works, not how
/// fast it is.
#[derive(clap::Args)]
pub(crate) struct LabArgs {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(clap::Subcommand)]
enum LabCommand {
    /// Start the machines of a scenario, and leave them running
    Up {
        /// A built-in scenario, or a TOML file
        #[arg(value_parser = names::scenario())]
        scenario: String,
        /// The lab's name, where it is not the scenario's: for several of one kind side by side.
        #[arg(long)]
        name: Option<String>,
    },
    /// Run a command on a machine of a running lab; the exit code is the command's
    Exec {
        /// LAB if it has one machine, else LAB/NODE.
        node: String,
        /// Hand standard input to the command.
        #[arg(short, long)]
        input: bool,
        /// The command and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<String>,
    },
    Get(get::GetArgs),
    /// Open a shell on a machine of a running lab
    Ssh {
        /// LAB if it has one machine, else LAB/NODE.
        node: String,
    },
    Reboot(reboot::RebootArgs),
    /// List the running labs
    Status {
        /// Print the result as JSON.
        #[arg(long)]
        json: bool,
    },
    /// Show the settings and counters of a running lab's links, or change a link
    Link(link::LinkArgs),
    /// Which of two machines acts later, and by how much: the pulses on their parallel ports by the host's clock
    Analyzer(analyzer::AnalyzerArgs),
    Trace(trace::TraceArgs),
    /// Start a scenario, check its steps, and end it; without a name all scenarios
    Test {
        /// A built-in scenario, or a TOML file
        #[arg(value_parser = names::scenario())]
        scenario: Option<String>,
        /// Fetch the files that its steps name to be kept: FOLDER/SCENARIO/NODE/NAME; what is there is replaced
        #[arg(long, value_name = "FOLDER")]
        keep: Option<PathBuf>,
    },
    Calibrate(calibrate::CalibrateArgs),
    /// Shut a lab down
    Down {
        /// Name of the lab.
        name: String,
    },
    /// List the built-in scenarios, or print one
    Show {
        /// Name of the scenario
        #[arg(value_parser = names::scenario())]
        scenario: Option<String>,
    },
}

impl LabArgs {
    pub(crate) fn run(self) -> anyhow::Result<Exit> {
        match self.command {
            LabCommand::Up { scenario, name } => up(&scenario, name),
            LabCommand::Exec { node, input, command } => exec(&node, command, input),
            LabCommand::Get(arguments) => arguments.run(),
            LabCommand::Ssh { node } => exec(&node, vec!["sh".to_owned(), "-i".to_owned()], true),
            LabCommand::Reboot(arguments) => arguments.run(),
            LabCommand::Status { json } => status(json),
            LabCommand::Link(args) => args.run(),
            LabCommand::Trace(args) => args.run(),
            LabCommand::Analyzer(args) => args.run(),
            LabCommand::Test { scenario, keep } => scenarios::test(scenario.as_deref(), keep.as_deref()),
            LabCommand::Calibrate(arguments) => arguments.run(),
            LabCommand::Down { name } => {
                running::find(&name)?.down()?;
                output::note(&format!("lab {name} has ended"));
                Ok(Exit::Holds)
            }
            LabCommand::Show { scenario } => show(scenario.as_deref()),
        }
    }
}

fn read_scenario(word: &str) -> anyhow::Result<Scenario> {
    if let Some(scenario) = Scenario::built_in(word) {
        return Ok(scenario);
    }
    if !word.contains(['/', '.']) {
        let known: Vec<String> = Scenario::all_built_in().map(|scenario| scenario.name).collect();
        bail!("there is no scenario {word}; built in are: {}; a file is named with its ending .toml", known.join(", "));
    }
    let text = std::fs::read_to_string(word).with_context(|| format!("cannot read the scenario {word}"))?;
    Scenario::parse(&text).with_context(|| word.to_owned())
}

/// The file that runs now: it keeps the lab.
fn this_program() -> anyhow::Result<PathBuf> {
    std::env::current_exe().context("cannot find this program's own file")
}

/// The files that go into the guests, in the order of the nodes.
fn guest_programs(scenario: &Scenario, program: &Path) -> anyhow::Result<Vec<Programs>> {
    let for_node = |node: &Node| Ok(Programs::for_node(node, program)?);
    scenario.node.iter().map(for_node).collect()
}

fn up(word: &str, name: Option<String>) -> anyhow::Result<Exit> {
    let scenario = read_scenario(word)?;
    let name = name.unwrap_or_else(|| scenario.name.clone());
    if !is_name(&name) {
        bail!("'{name}' cannot name a lab: use letters, digits and dashes");
    }
    let program = this_program()?;
    let programs = guest_programs(&scenario, &program)?;
    let cache = Cache::open().context("the lab's cache")?;
    let lab = Lab::create(&name)?;
    let started = bring_up(&scenario, &lab, &cache, &program, &programs)?;
    for hello in &started.hellos {
        output::note(&format!("{}: Linux {}", hello.host_name, hello.release));
        hello.troubles.iter().for_each(|trouble| output::note(&format!("{}: {trouble}", hello.host_name)));
    }
    started.stay().context("the lab's keeper is gone")?;
    output::note(&format!(
        "lab {name} is up; 'punctual lab exec {name} -- punctual check' runs a command on it, \
         'punctual lab down {name}' ends it"
    ));
    Ok(Exit::Holds)
}

fn bring_up(
    scenario: &Scenario,
    lab: &Lab,
    cache: &Cache,
    program: &Path,
    guest_programs: &[Programs],
) -> anyhow::Result<running::Started> {
    let mut nodes = Vec::new();
    for ((place, node), guest_program) in scenario.node.iter().enumerate().zip(guest_programs) {
        let interfaces = scenario.interfaces(place);
        // Where nothing was started there is no reason to look for.
        let prepared = prepare(cache, node, interfaces, guest_program, &lab.folder, &mut output::note);
        nodes.push(prepared.inspect_err(|_| lab.discard())?);
    }
    let booting: Vec<String> = nodes.iter().map(|node| format!("{} ({})", node.node.name, node.what_boots())).collect();
    output::note(&format!("booting {}", booting.join(", ")));
    Ok(running::start(lab, nodes, scenario.segment.clone(), program)?)
}

/// `LAB/NODE`, or `LAB` where it has one machine.
fn find_node(word: &str) -> anyhow::Result<(Lab, String)> {
    if let Some((lab, node)) = word.split_once('/') {
        return Ok((running::find(lab)?, node.to_owned()));
    }
    let lab = running::find(word)?;
    let nodes = lab.nodes();
    match nodes.as_slice() {
        [only] => Ok((lab, only.clone())),
        _ => bail!("lab {word} has the nodes {}: name one as {word}/NODE", nodes.join(", ")),
    }
}

fn exec(word: &str, arguments: Vec<String>, input: bool) -> anyhow::Result<Exit> {
    let (lab, node) = find_node(word)?;
    let run = Run { arguments, environment: std::collections::BTreeMap::new() };
    let streams = Streams {
        input: input.then(|| Box::new(std::io::stdin()) as Box<dyn std::io::Read + Send>),
        output: &mut std::io::stdout().lock(),
        error: &mut std::io::stderr().lock(),
    };
    let code = running::exec(&lab, &node, &run, streams)?;
    get::announce_written(&lab, &node, word, &run.arguments);
    Ok(Exit::OfCommand(u8::try_from(code).unwrap_or(u8::MAX)))
}

fn status(json: bool) -> anyhow::Result<Exit> {
    let labs = running::all()?;
    if json {
        let about = |lab: &Lab| {
            // Absent as long as a lab is not yet up, or where a switch of it has failed.
            let segments = running::segments(lab).ok();
            serde_json::json!({ "name": lab.name, "nodes": lab.nodes(), "segments": segments })
        };
        let labs: Vec<serde_json::Value> = labs.iter().map(about).collect();
        output::data(&format!("{}\n", serde_json::to_string_pretty(&labs)?));
        return Ok(Exit::Holds);
    }
    if labs.is_empty() {
        output::note("no lab is up");
    }
    for lab in labs {
        output::data(&format!("{:<24}  {}\n", lab.name, lab.nodes().join(", ")));
    }
    Ok(Exit::Holds)
}

fn show(name: Option<&str>) -> anyhow::Result<Exit> {
    match name {
        Some(name) => match Scenario::built_in_text(name) {
            Some(text) => output::data(text),
            None => bail!("there is no scenario {name}; 'punctual lab show' lists those that are built in"),
        },
        None => {
            let scenarios: Vec<Scenario> = Scenario::all_built_in().collect();
            let columns = scenarios.iter().map(|scenario| scenario.name.len()).max().unwrap_or(0);
            for scenario in scenarios {
                output::data(&wrap::entry(&scenario.name, columns, &scenario.about, wrap::row_width()));
            }
        }
    }
    Ok(Exit::Holds)
}
