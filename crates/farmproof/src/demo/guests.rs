//! The machines of the demonstration: guests of the lab that run the agent, and what is done on them.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Cursor;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use lab::cache::Cache;
use lab::guest::protocol::Run;
use lab::injection::{Delay, Injection};
use lab::prepare::prepare;
use lab::program::Programs;
use lab::running::{self, Lab, Started, Streams};
use lab::scenario::{HOST_ADDRESS, Scenario};
use terminal::output;

/// A machine of the demonstration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Machine {
    /// Its name, in the lab and at the hub.
    pub(crate) name: &'static str,
    /// The latency that none should exceed there (ms).
    pub(crate) limit_ms: u32,
    /// How long its CPU is taken from everything else, once (ms); `None`: not at all.
    pub(crate) planted_ms: Option<u32>,
}

/// How long an interval of the agents is (s): each sends its maximum that often.
const INTERVAL_S: u64 = 30;
/// Time from one expected wake-up to the next (ms).
pub(crate) const PERIOD_MS: u32 = 5;
/// When the delay begins after its injector was started (s): the injector has to be asleep before, on an emulated CPU.
const LEAD_S: u64 = 4;

/// Guests that are up. They end with this process, however it ends.
pub(crate) struct Guests {
    lab: Lab,
    started: Option<Started>,
}

impl Guests {
    /// Boots one guest for each machine; `punctual` is the program's file, with `punctual-proof` beside it, and `hub_port` the
    /// only port of this machine that they reach.
    pub(crate) fn boot(machines: &[Machine], punctual: &Path, hub_port: u16) -> anyhow::Result<Self> {
        let scenario = Scenario::parse(&scenario(machines, hub_port))?;
        let programs: Vec<Programs> = scenario
            .node
            .iter()
            .map(|node| Programs::for_node(node, punctual))
            .collect::<Result<_, _>>()
            .context("the programs for the guests")?;
        let cache = Cache::open().context("the lab's cache")?;
        let lab = Lab::create(&format!("farm-demo-{}", std::process::id()))?;
        let mut nodes = Vec::new();
        for ((place, node), programs) in scenario.node.iter().enumerate().zip(&programs) {
            let prepared = prepare(&cache, node, scenario.interfaces(place), programs, &lab.folder, &mut output::note);
            nodes.push(prepared.inspect_err(|_| lab.discard())?);
        }
        let started = running::start(&lab, nodes, scenario.segment, punctual)?;
        let troubles: Vec<String> = started.hellos.iter().flat_map(|hello| hello.troubles.clone()).collect();
        ensure!(troubles.is_empty(), "the guests are not as they were described: {}", troubles.join("; "));
        Ok(Self { lab, started: Some(started) })
    }

    /// Enrols a machine at the hub, and starts its agent, which goes on by itself.
    pub(crate) fn enrol(&self, machine: &Machine, token: &str, hub_port: u16) -> anyhow::Result<()> {
        let settings = format!(
            "interval = \"{PERIOD_MS}ms\"\nlimit = \"{}ms\"\ninterval-maximum = \"{INTERVAL_S}s\"\nexplain = \"on\"\n",
            machine.limit_ms
        );
        let script = format!(
            "mkdir -p /etc/punctual && printf '%s' '{settings}' > /etc/punctual/agent.toml && \
             punctual agent enrol {HOST_ADDRESS}:{hub_port} && \
             {{ setsid punctual agent run > /run/agent.log 2>&1 < /dev/null & }}"
        );
        self.run(machine.name, &script, token).map(|_| ())
    }

    /// Takes the CPU of a machine for a time once, above the agent's priority, and returns when that truly was.
    pub(crate) fn plant(&self, machine: &Machine, length_ms: u32) -> anyhow::Result<Delay> {
        let script = format!(
            "read up idle < /proc/uptime && \
             punctual-proof inject hog --cpu 0 --priority 99 $((${{up%.*}} + {LEAD_S}))000000000:{length_ms}ms"
        );
        let printed = self.run(machine.name, &script, "")?;
        match Injection::from_log(&printed)?.as_slice() {
            [Injection::Delay(delay)] => Ok(*delay),
            other => bail!("the injector on {} said something else: {other:?}", machine.name),
        }
    }

    /// What the agent of a machine has said so far.
    pub(crate) fn agent_log(&self, machine: &Machine) -> String {
        self.run(machine.name, "cat /run/agent.log; punctual agent status", "")
            .unwrap_or_else(|error| format!("{error:#}"))
    }

    /// Runs a script in a guest and returns what it printed.
    fn run(&self, node: &str, script: &str, input: &str) -> anyhow::Result<String> {
        let arguments = ["sh", "-c", script].map(str::to_owned).to_vec();
        let (mut printed, mut said) = (Vec::new(), Vec::new());
        let input = Cursor::new(input.to_owned().into_bytes());
        let streams = Streams { input: Some(Box::new(input)), output: &mut printed, error: &mut said };
        let code = running::exec(&self.lab, node, &Run { arguments, environment: BTreeMap::new() }, streams)?;
        ensure!(code == 0, "on {node}: exit code {code}: {}", String::from_utf8_lossy(&said).trim());
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }
}

impl Drop for Guests {
    fn drop(&mut self) {
        if let Some(started) = self.started.take() {
            started.end();
        }
    }
}

/// The scenario that the lab is made of.
fn scenario(machines: &[Machine], hub_port: u16) -> String {
    let mut text = "name = \"farm-demo\"\nabout = \"machines of a farm\"\n".to_owned();
    for machine in machines {
        // Writing to a string cannot fail.
        let _ = write!(
            text,
            "[[node]]\nname = \"{}\"\nkernel = \"6.12-rt\"\nmemory-mib = 384\nproof = {}\nhost-ports = [{hub_port}]\n",
            machine.name,
            machine.planted_ms.is_some(),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_guests_reach_the_hub_s_port_and_nothing_else() {
        let machine = |name, planted_ms| Machine { name, limit_ms: 400, planted_ms };
        let machines = [machine("late", Some(550)), machine("calm", None)];
        let scenario = Scenario::parse(&scenario(&machines, 5_378)).unwrap();
        let described: Vec<_> = scenario.node.iter().map(|node| (node.host_ports.as_slice(), node.proof)).collect();
        assert_eq!(described, [([5_378].as_slice(), true), ([5_378].as_slice(), false)]);
        assert!(scenario.segment.is_empty());
    }
}
