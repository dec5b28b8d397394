//! `punctual-farmproof demo`: a whole farm on this machine, with a delay that has to be found.
//!
//! A hub, and three guests of the lab that run the agent, enrolled by tokens over the network. Then one CPU is taken for longer than its
//! limit allows, and another one for even longer, but with a limit that allows it. The first has to be at the top of the hub's list, with
//! its excess; a list by maxima alone would have the other one there.

mod guests;
mod judge;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail, ensure};
use kernel::process::{Signal, signal};
use terminal::output;
use terminal::table::Table;
use units::format;

use crate::client::PersonClient;
use crate::processes::{HubProcess, HubProgram, StartingHub};
use guests::{Guests, Machine};
use judge::{Planted, Seen, Verdict, all_measure, beyond, judge, seen};

/// The machine whose planted delay is beyond its limit, by 150 ms.
const LATE: Machine = Machine { name: "late", limit_ms: 400, planted_ms: Some(550) };
/// The one whose planted delay is the longest, and within its limit.
const LENIENT: Machine = Machine { name: "lenient", limit_ms: 1_000, planted_ms: Some(700) };
/// The one to which nothing is done.
const CALM: Machine = Machine { name: "calm", limit_ms: 400, planted_ms: None };
/// In an order that is not that of the list: enrolled and named so that neither makes the late one first.
const MACHINES: [Machine; 3] = [CALM, LENIENT, LATE];
/// How late a guest may be by itself on top of a planted delay (ms): an emulated CPU waits for one of the host's.
const OWN_MS: u32 = 100;

/// How long it may take until the late one is first, from the start on.
const PATIENCE: Duration = Duration::from_secs(600);
/// How long what was run may take to end once this was interrupted, before it is killed.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// How often the hub is asked.
const EVERY: Duration = Duration::from_secs(1);

/// Show a whole farm on this machine: a hub, three emulated machines that are monitored, and one of them late
#[derive(clap::Args)]
pub(crate) struct DemoArgs {
    /// The program of the guests, a static one, with punctual-proof beside it [default: the one beside this program]
    #[arg(long, value_name = "FILE")]
    punctual: Option<PathBuf>,
    /// The hub's program [default: the same code in this program]
    #[arg(long, value_name = "FILE")]
    hub: Option<PathBuf>,
    /// Leave the farm up until Ctrl-C, once the late one is first
    #[arg(long)]
    stay: bool,
    /// What is run once the late one is first, with the hub's address for people and the names of the late node and of the others as
    /// its last arguments; its exit code has to be 0
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// A folder that is removed when it is dropped.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left there is the system's to remove.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The farm, while it is up. Dropped in this order.
struct Farm {
    guests: Guests,
    hub: HubProcess,
    began: Instant,
    stop: Arc<AtomicBool>,
}

impl DemoArgs {
    /// Prints what happens; whether all was as it has to be.
    pub(crate) fn run(self) -> anyhow::Result<bool> {
        let began = Instant::now();
        let stop = Arc::new(AtomicBool::new(false));
        kernel::signals::register(&stop, &Arc::default()).context("cannot handle signals")?;
        let own = crate::processes::own_program()?;
        let punctual = self.punctual.clone().unwrap_or_else(|| own.with_file_name("punctual"));
        let program = HubProgram::new(self.hub.clone())?;
        let folder = Folder(std::env::temp_dir().join(format!("punctual-farm-demo-{}", std::process::id())));
        std::fs::create_dir_all(&folder.0).with_context(|| folder.0.display().to_string())?;
        let hub_folder = folder.0.join("hub");
        let hub = StartingHub::start(&program, &hub_folder, &folder.0.join("hub.log"), None)?.ready()?;
        tell(began, &format!("the hub serves: agents at port {}, people at http://{}/", hub.agents.port(), hub.people));
        let guests = Guests::boot(&MACHINES, &punctual, hub.agents.port())?;
        tell(began, &format!("{} guests are up", MACHINES.len()));
        let farm = Farm { guests, hub, began, stop };
        for machine in &MACHINES {
            farm.go_on()?;
            let token = token(&program, &hub_folder, machine)?;
            farm.guests.enrol(machine, &token, farm.hub.agents.port())?;
            tell(
                began,
                &format!("{} is enrolled, and monitored with a limit of {} ms", machine.name, machine.limit_ms),
            );
        }
        let is_good = farm.find_the_late_one()? && self.run_command(&farm)?;
        if self.stay {
            tell(began, &format!("the farm stays up until Ctrl-C: http://{}/", farm.hub.people));
            while !farm.stop.load(Ordering::Relaxed) {
                thread::sleep(EVERY);
            }
        }
        drop(farm);
        tell(
            began,
            if is_good {
                "all was as it has to be, and has ended"
            } else {
                "NOT all was as it has to be; all has ended"
            },
        );
        Ok(is_good)
    }

    /// Runs what was asked for; whether it went well.
    fn run_command(&self, farm: &Farm) -> anyhow::Result<bool> {
        let Some((program, words)) = self.command.split_first() else { return Ok(true) };
        let mut command = Command::new(program);
        command.args(words).arg(format!("http://{}/", farm.hub.people));
        command.arg(LATE.name).args(MACHINES.iter().map(|machine| machine.name).filter(|name| *name != LATE.name));
        let mut running =
            kernel::process::spawn_bound(&mut command).with_context(|| format!("cannot start {program}"))?;
        let mut interrupted: Option<Instant> = None;
        let ended = loop {
            if let Some(ended) = running.try_wait()? {
                break ended;
            }
            if let (None, Err(_)) = (interrupted, farm.go_on()) {
                // It has something to end, too, as a browser.
                let _ = signal(running.id(), Signal::Terminate);
                interrupted = Some(Instant::now());
            }
            if interrupted.is_some_and(|at| at.elapsed() > END_PATIENCE) {
                let _ = running.kill();
            }
            thread::sleep(EVERY / 10);
        };
        farm.go_on()?;
        if !ended.success() {
            tell(farm.began, &format!("WRONG: {program} has ended with {ended}"));
        }
        Ok(ended.success())
    }
}

impl Farm {
    /// Plants the delays once all measure, and waits until the hub's list is as it has to be; whether it is.
    fn find_the_late_one(&self) -> anyhow::Result<bool> {
        let nodes = self.wait(|nodes| all_measure(nodes, &MACHINES)).context("not all machines are monitored")?;
        tell(self.began, &format!("all {} machines are monitored, and the hub lists them", nodes.len()));
        let early = beyond(&nodes);
        // Then nothing that follows would show that the hub finds what was planted.
        ensure!(
            early.is_empty(),
            "before anything was planted a guest was late already ({}): this machine is too busy to emulate three",
            early.join(", ")
        );
        let plant = |machine: Machine| -> anyhow::Result<Planted> {
            let length_ms = machine.planted_ms.context("nothing is planted on this machine")?;
            let truth = self.guests.plant(&machine, length_ms)?;
            let planted = Planted { machine, truth };
            tell(
                self.began,
                &format!(
                    "the CPU of {} was taken for {} ms, of a limit of {} ms",
                    machine.name, length_ms, machine.limit_ms
                ),
            );
            Ok(planted)
        };
        let (longer, late) = (plant(LENIENT)?, plant(LATE)?);
        let mut verdict = Verdict::Waits;
        let waited = self.wait(|nodes| {
            verdict = judge(nodes, &late, &longer, OWN_MS);
            verdict != Verdict::Waits
        });
        let nodes = waited.context("what was planted has not arrived")?;
        output::data(&table(&nodes));
        Ok(match verdict {
            Verdict::First(by_ns) => {
                tell(self.began, &format!("{} is first: {} beyond its limit", LATE.name, format::latency(by_ns)));
                true
            }
            Verdict::Wrong(why) => {
                tell(self.began, &format!("WRONG: {why}"));
                false
            }
            Verdict::Disturbed(what) => {
                bail!("{what}: this machine is too busy to emulate three, and nothing is shown")
            }
            Verdict::Waits => bail!("nothing was decided"),
        })
    }

    /// Asks the hub until what it says is wanted.
    fn wait(&self, mut is_wanted: impl FnMut(&[Seen]) -> bool) -> anyhow::Result<Vec<Seen>> {
        loop {
            self.go_on()?;
            let answer = PersonClient::connect(self.hub.people)?.get("/api/v1/fleet")?;
            ensure!(answer.status == 200, "the hub answers {}: {}", answer.status, answer.text());
            let nodes = seen(&answer.body)?;
            if is_wanted(&nodes) {
                return Ok(nodes);
            }
            if self.began.elapsed() > PATIENCE {
                output::data(&table(&nodes));
                let logs = MACHINES.map(|machine| format!("{}:\n{}", machine.name, self.guests.agent_log(&machine)));
                bail!("{} s are over; what the agents say:\n{}", PATIENCE.as_secs(), logs.join("\n"));
            }
            thread::sleep(EVERY);
        }
    }

    /// An error once somebody has interrupted this.
    fn go_on(&self) -> anyhow::Result<()> {
        ensure!(!self.stop.load(Ordering::Relaxed), "interrupted");
        Ok(())
    }
}

/// A token that enrols a machine by its name.
fn token(program: &HubProgram, hub_folder: &Path, machine: &Machine) -> anyhow::Result<String> {
    let output = program.command(hub_folder).args(["enrol", "--name", machine.name]).output()?;
    ensure!(output.status.success(), "no token: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8(output.stdout)?)
}

fn tell(began: Instant, what: &str) {
    output::data(&format!("{:>4} s  {what}\n", began.elapsed().as_secs()));
}

/// The hub's list, for people.
fn table(nodes: &[Seen]) -> String {
    let mut table =
        Table::new(&["node", "state", "beyond its limit", "limit", "worst of a day", "cause"]).left(0).left(1).left(5);
    let latency = |ns: Option<u64>| ns.map_or_else(|| "-".to_owned(), format::latency);
    for node in nodes {
        table.row(vec![
            node.name.clone(),
            node.state.clone(),
            latency(node.beyond_ns),
            latency(node.limit_ns),
            latency(node.day_ns),
            node.cause.clone().unwrap_or_default(),
        ]);
    }
    table.render()
}
