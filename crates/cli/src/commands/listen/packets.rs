//! This node's half of a measurement of packets.

use std::error::Error;

use packet::dialog::{Endpoints, Message, PacketJob};
use record::{Record, Request, RunRequest};
use run::{Beside, Connected, Dialog, Explaining, Machine, Part, Partner, Stop, Surroundings};

use super::Own;
use crate::begin::AnywayArgs;
use crate::connection::Connection;
use crate::destination::Destination;
use crate::session;
use crate::view::live::LiveRun;
use terminal::output;

/// One run with a partner.
pub(super) fn measure(
    connection: &mut Connection<'_>,
    PacketJob { request, initiator }: PacketJob,
    own: &Own,
    anyway: AnywayArgs,
    label: &str,
    stop: &Stop,
    destination: Option<&mut Destination>,
) -> anyhow::Result<Record> {
    output::note(&format!("{} measures packets", connection.channel.partner()));
    let asked = RunRequest { request: Request::Packet(request.into()), load: None, partner: Vec::new() };
    let cost = Explaining::Known(own.cost.clone());
    carry_out(connection, (asked, cost, initiator), (own, &own.part), (anyway, label, stop), destination)
}

/// This node's half of a run that another one asks for, whose ends are `initiator`.
pub(super) fn carry_out(
    connection: &mut Connection<'_>,
    (asked, explaining, initiator): (RunRequest, Explaining, Endpoints),
    (own, part): (&Own, &Part),
    (anyway, label, stop): (AnywayArgs, &str, &Stop),
    destination: Option<&mut Destination>,
) -> anyhow::Result<Record> {
    let (machine, measurement) = (Machine::read(), asked.kind().measurement);
    let anyway = anyway.choice();
    let surroundings = Surroundings { machine: &machine, own_program: &own.program, anyway, part: Some(part) };
    let prepared = match run::prepare(asked, explaining, &surroundings) {
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
    let mut live = LiveRun::new(measurement, label, prepared.about());
    let (context, node) = (session::context(label), own_name(&initiator.node, own.name.as_deref()));
    let mut asking = Asking { connection, endpoints: Some(initiator) };
    let partners = vec![Connected { node: &node, addresses, session, partner: &mut asking }];
    let record = prepared.run(&surroundings, Beside { sink, partners, ..Beside::new(&context, stop, &mut live) });
    live.finish();
    Ok(record?)
}

/// Tells the partner why not, and makes an error of it.
pub(super) fn refuse(connection: &mut Connection<'_>, why: &str) -> anyhow::Error {
    let _ = connection.say(&Message::Refused { why: why.to_owned() });
    anyhow::anyhow!("refused: {why}")
}

/// A partner that has asked.
struct Asking<'a, 'l> {
    connection: &'a mut Connection<'l>,
    /// Where it sends and receives, until it is answered.
    endpoints: Option<Endpoints>,
}

impl Partner for Asking<'_, '_> {
    fn dialog(&mut self) -> &mut dyn Dialog {
        self.connection
    }

    fn agree(&mut self, own: Endpoints, _: &mut dyn FnMut()) -> Result<Endpoints, Box<dyn Error + Send + Sync>> {
        let its = self.endpoints.take().ok_or("the partner was answered before")?;
        self.connection.say(&Message::Ready { partner: own })?;
        Ok(its)
    }
}

/// The name of this node in a run with another one: the one that its user gave it, or its host name. Two namespaces of a machine
/// have one host name.
fn own_name(initiator: &str, given: Option<&str>) -> String {
    if let Some(given) = given {
        return given.to_owned();
    }
    let (_, _, _, host) = kernel::process::system_names();
    if host == initiator { format!("{host} (partner)") } else { host }
}
