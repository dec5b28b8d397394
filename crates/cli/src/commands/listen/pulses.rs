//! This node acts when another one orders it.

use farm::{OutputPolicy, Policy};
use pulse::job::PulseJob;
use record::{Record, Request, RunRequest};
use run::{Acts, Explaining, NamedOutput, OutputPlace, Part, Stop};

use super::Own;
use super::packets::{self, refuse};
use crate::begin::AnywayArgs;
use crate::connection::Connection;
use crate::destination::Destination;
use terminal::output;

/// An output as the policy has it, which has either a line or a pin.
fn named(output: &OutputPolicy) -> NamedOutput {
    let line = || OutputPlace::Line(output.line.clone().unwrap_or_default());
    NamedOutput {
        place: output.port.clone().map_or_else(line, OutputPlace::Pin),
        active_low: output.active_low,
        longest_pulse: Some(output.longest_pulse),
        least_apart: Some(output.least_apart()),
    }
}

/// One run with a server.
pub(super) fn act(
    connection: &mut Connection<'_>,
    job: PulseJob,
    policy: &Policy,
    own: &Own,
    beside: (AnywayArgs, &str, &Stop),
    destination: Option<&mut Destination>,
) -> anyhow::Result<Record> {
    let (flow, server, request) = (job.flow, job.server.clone(), job.for_node());
    output::note(&format!("{} orders acts of the output '{}'", connection.channel.partner(), request.output));
    let output = match policy.output(&request.output) {
        Ok(output) => output.map(named),
        Err(denied) => return Err(refuse(connection, &denied.to_string())),
    };
    let part = Part { acts: Some(Acts { flow, output }), explain: None, ..own.part.clone() };
    let asked = RunRequest { request: Request::Pulse(request), load: None, partner: Vec::new() };
    let asks = (asked, Explaining::Known(None), server);
    packets::carry_out(connection, asks, (own, &part), beside, destination)
}
