//! `punctual lab trace`: what QEMU itself says of a machine's emulated devices.

use ::lab::{running, trace};

use super::analyzer::copy;
use crate::exit::Exit;

/// Copy what QEMU wrote of the devices of machines: a witness of what a program in them did
///
/// The nodes have 'trace = ["EVENT"]' in the scenario, with events of QEMU ('qemu-system-arm -trace help'). Each event is a line with
/// the host's time: PID@SECONDS.MICROSECONDS:EVENT TEXT. That time has the host's scheduling in it; how many lines there are, and in
/// which order, has not.
#[derive(clap::Args)]
pub(super) struct TraceArgs {
    /// Name of the lab.
    lab: String,
    /// The machines, each of which becomes a file NODE.trace with all since the lab was started.
    #[arg(long, value_name = "NODE,...", value_delimiter = ',', required = true)]
    copy: Vec<String>,
    /// The folder that copies go to, here or on a machine of the lab.
    #[arg(long, value_name = "[NODE:]FOLDER")]
    to: String,
}

impl TraceArgs {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let lab = running::find(&self.lab)?;
        copy(&lab, &self.copy, &self.to, "trace", &|node| Ok(trace::log(&lab.name, &lab.folder, node)?))
    }
}
