//! This node acts when another one orders it.

use farm::Policy;
use pulse::job::PulseJob;
use record::{Measurement, Record, Request, RunRequest};
use run::{Acts, Beside, Connected, Explaining, Machine, NamedOutput, Part, Stop, Surroundings};

use super::Own;
use super::packets::{Asking, own_name, refuse};
use crate::begin::AnywayArgs;
use crate::connection::Connection;
use crate::destination::Destination;
use crate::session;
use crate::view::live::LiveRun;
use terminal::output;

/// One run with a server.
pub(super) fn act(
    connection: &mut Connection<'_>,
    PulseJob { request, flow, server }: PulseJob,
    policy: &Policy,
    own: &Own,
    (anyway, label, stop): (AnywayArgs, &str, &Stop),
    destination: Option<&mut Destination>,
) -> anyhow::Result<Record> {
    output::note(&format!("{} orders acts of the output '{}'", connection.channel.partner(), request.output));
    let output = match policy.output(&request.output) {
        Ok(output) => output.map(|output| NamedOutput {
            line: output.line.clone(),
            active_low: output.active_low,
            longest_pulse: Some(output.longest_pulse),
            least_apart: Some(output.least_apart()),
        }),
        Err(denied) => return Err(refuse(connection, &denied.to_string())),
    };
    let part = Part { acts: Some(Acts { flow, output }), explain: None, ..own.part.clone() };
    let machine = Machine::read();
    let anyway = anyway.choice();
    let surroundings = Surroundings { machine: &machine, own_program: &own.program, anyway, part: Some(&part) };
    let asked = RunRequest { request: Request::Pulse(request.into()), load: None, partner: Vec::new() };
    let prepared = match run::prepare(asked, Explaining::Known(None), &surroundings) {
        Ok(prepared) => prepared,
        Err(error) => return Err(refuse(connection, &error.to_string())),
    };
    let (addresses, session) = connection.ends()?;
    let destination = match destination {
        Some(destination) => {
            destination.grow(&prepared.about().housekeeping)?;
            Some(&*destination)
        }
        None => None,
    };
    let sink = destination.and_then(Destination::sink);
    let mut live = LiveRun::new(Measurement::Pulse, label, prepared.about());
    let (context, node) = (session::context(label), own_name(&server.node, own.name.as_deref()));
    let mut asking = Asking { connection, endpoints: Some(server) };
    let partners = vec![Connected { node: &node, addresses, session, partner: &mut asking }];
    let record = prepared.run(&surroundings, Beside { sink, partners, ..Beside::new(&context, stop, &mut live) });
    live.finish();
    Ok(record?)
}
