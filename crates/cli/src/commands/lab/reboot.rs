//! `punctual lab reboot`: a machine with a disk starts again.

use std::time::Instant;

use ::lab::guest::protocol::Restart;
use ::lab::running::{self, Lab};
use ::lab::scenario::{REBOOT_S, Reboot};

use super::find_node;
use crate::exit::Exit;
use terminal::output;

/// Start a machine with a disk again, and wait until it is up
#[derive(clap::Args)]
pub(super) struct RebootArgs {
    /// LAB where it has one machine, else LAB/NODE.
    node: String,
    /// Cut its power instead of asking its system: what it has not brought to its disk is lost.
    #[arg(long)]
    power_cut: bool,
    /// Give up after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = REBOOT_S)]
    within: u64,
}

impl RebootArgs {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let (lab, node) = find_node(&self.node)?;
        let began = Instant::now();
        let order = Restart { power_cut: self.power_cut, within_s: self.within };
        let hello = running::restart(&lab, &node, order)?;
        output::note(&format!("{node}: Linux {}, up again after {} s", hello.release, began.elapsed().as_secs()));
        hello.troubles.iter().for_each(|trouble| output::note(&format!("{node}: {trouble}")));
        Ok(Exit::Holds)
    }
}

/// A step of a scenario: what is wrong after it; `None` where the machine is up again.
pub(super) fn step(lab: &Lab, node: &str, how: Reboot, within_s: Option<u64>) -> Option<String> {
    let order = Restart { power_cut: how == Reboot::PowerCut, within_s: within_s.unwrap_or(REBOOT_S) };
    match running::restart(lab, node, order) {
        Ok(hello) if hello.troubles.is_empty() => None,
        Ok(hello) => Some(hello.troubles.join("; ")),
        Err(error) => Some(error.to_string()),
    }
}
