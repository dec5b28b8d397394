//! Nodes that act at ordered times: a server sends orders, and each node switches an output when its order says
//! (`ordered_to_acted`).
//!
//! A node's half is that of a run of packets, whose receiving thread acts ([`act`]); the server's half is of one thread that sends
//! to all ([`send`]). At the end the server joins all halves.

mod act;
mod finish;
mod guard;
mod now;
mod obeyed;
mod send;
mod server;

use ::pulse::order::LEAST_BYTES;
use packet::dialog::{Endpoints, Message};
use record::{ActsBy, Live, PulseRequest, PulseShape, ReasonCode, Record, SyncRequest, TrackPoint};
use units::format::{latency, span};
use units::{ClockId, Ns};

use self::act::ActPlan;
use self::act::hot::Bounds;
pub use self::act::output::Output;
use self::act::pending::MOST_PENDING;
use self::guard::Guard;
pub use self::guard::{GUARD_COMMAND, guard};
use self::obeyed::Orders;
use self::server::Server;
pub use self::server::{NodeLink, ServerSetup};
use crate::collect::Keeping;
use crate::context::RunContext;
use crate::crew::now_ns;
use crate::gpio_line::{LineError, take_output};
use crate::interval_sink::hand_on_the_rest;
use crate::machine::Machine;
use crate::nodes::delays::Delays;
use crate::nodes::halves::{Joining, keeping, kept_until};
use crate::nodes::plan::PacketPlan;
use crate::nodes::{self, OfKind, PacketPlanError};
pub use crate::nodes::{Dialog, Ends, NodeThreads, PacketError, Role, Setup};
use crate::parallel_pin::{PinError, take_pin};
use crate::stop::Stop;

/// The longest lead.
const LONGEST_LEAD: Ns = Ns::from_s(10);
/// The longest tolerance.
const LONGEST_TOLERANCE: Ns = Ns::from_s(1);

/// Why a node cannot take part in a run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PulsePlanError {
    /// The packets cannot be sent or received as is asked.
    #[error(transparent)]
    Packets(#[from] PacketPlanError),
    /// More orders would wait than a node keeps.
    #[error(
        "{waiting} orders would wait at once (a lead of {lead} at an interval of {interval}), and a node keeps {MOST_PENDING}: \
         shorten the lead, or lengthen the interval"
    )]
    Pending {
        /// How many would wait.
        waiting: i64,
        /// The lead.
        lead: Ns,
        /// The interval.
        interval: Ns,
    },
    /// An output would still be active when the next order is due.
    #[error(
        "a pulse of {width} does not end before the next one at an interval of {interval}: at most {most}, so that there is an edge"
    )]
    Width {
        /// How long a pulse takes.
        width: Ns,
        /// The interval.
        interval: Ns,
        /// How long it can be.
        most: Ns,
    },
    /// A width for a square wave.
    #[error("a square wave is active for half of its interval: leave the width out, or ask for the shape 'pulse'")]
    SquareWidth,
    /// Marks that do not fit.
    #[error("--mark: {0}")]
    Mark(#[from] ::pulse::marks::MarkError),
    /// A name that no output has.
    #[error(
        "'{0}' is no name of an output: 1 to 64 letters, digits, hyphens and underscores, as the node's policy has it, or 'none'"
    )]
    Output(String),
}

/// Checks a request for one of the nodes, before anybody is asked.
///
/// # Errors
/// As [`PulsePlanError`] says.
pub fn check(
    request: &PulseRequest,
    role: Role,
    threads: NodeThreads,
    machine: &Machine,
) -> Result<(), PulsePlanError> {
    PacketPlan::new(&request.packets(), role, threads, machine)?;
    let range = |what, value: Ns, from: Ns, to: Ns| {
        if (from..=to).contains(&value) { Ok(()) } else { Err(PacketPlanError::Range { what, value, from, to }) }
    };
    range("the lead", request.lead, Ns(1), LONGEST_LEAD)?;
    range("the tolerance", request.tolerance, Ns(1), LONGEST_TOLERANCE)?;
    range("the spin", request.spins(), Ns(0), Ns(request.interval.0 / 10).min(Ns::from_us(100)))?;
    let least = u64::try_from(LEAST_BYTES).unwrap_or(u64::MAX);
    if u64::from(request.size) < least {
        let range = "80 to 65507 bytes (the header of a packet with an order takes 80)";
        return Err(PacketPlanError::Number { what: "the payload", value: request.size.into(), range }.into());
    }
    let (interval, waiting) = (request.interval, request.lead.0 / request.interval.0.max(1) + 1);
    if waiting > i64::try_from(MOST_PENDING).unwrap_or(i64::MAX) {
        return Err(PulsePlanError::Pending { waiting, lead: request.lead, interval });
    }
    if request.shape == PulseShape::Square && request.width.is_some() {
        return Err(PulsePlanError::SquareWidth);
    }
    // A part of the interval has to be left in which it is safe.
    let most = Ns(interval.0 * 9 / 10);
    let width = request.active();
    if width <= Ns(0) || width > most {
        return Err(PulsePlanError::Width { width, interval, most });
    }
    if let Some(mark) = request.mark {
        ::pulse::marks::check(mark.into(), width.unsigned(), interval.unsigned())?;
    }
    let is_name = |text: &str| {
        (1..=64).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    if !is_name(&request.output) {
        return Err(PulsePlanError::Output(request.output.clone()));
    }
    Ok(())
}

/// Where an output of a node is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutputPlace {
    /// A line of a GPIO chip, `CHIP/LINE`.
    Line(String),
    /// A data pin of a parallel port, `PORT/PIN`.
    Pin(String),
}

/// Why an output cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum OutputError {
    /// It is a line.
    #[error(transparent)]
    Line(#[from] LineError),
    /// It is a pin.
    #[error(transparent)]
    Pin(#[from] PinError),
}

/// An output as this node's policy has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedOutput {
    /// Where it is.
    pub place: OutputPlace,
    /// Whether its low level is the active one.
    pub active_low: bool,
    /// How long it may be active; `None`: as long as is asked.
    pub longest_pulse: Option<Ns>,
    /// From one act to the next, at least; `None`: as is asked.
    pub least_apart: Option<Ns>,
}

/// What an output of a node is, and what it allows.
#[derive(Debug)]
pub struct OpenOutput {
    /// What is switched.
    pub output: Output,
    /// What it is, in words; `None` of one that switches nothing.
    pub words: Option<String>,
    /// How long it may be active; `None`: as long as is asked.
    pub longest_pulse: Option<Ns>,
    /// From one act to the next, at least; `None`: as is asked.
    pub least_apart: Option<Ns>,
}

impl OpenOutput {
    /// The one that switches nothing.
    #[must_use]
    pub const fn nothing() -> Self {
        Self { output: Output::Nothing, words: None, longest_pulse: None, least_apart: None }
    }

    /// Opens an output of this node; it is at its safe level then.
    ///
    /// # Errors
    /// Where its line or pin cannot be had.
    pub fn open(named: &NamedOutput) -> Result<Self, OutputError> {
        let (output, place) = match &named.place {
            OutputPlace::Line(line) => (Output::Line(take_output(line, named.active_low)?), line),
            OutputPlace::Pin(pin) => (Output::Pin(take_pin(pin, named.active_low)?), pin),
        };
        let level = if named.active_low { "low" } else { "high" };
        Ok(Self {
            output,
            words: Some(format!("{place}, active {level}")),
            longest_pulse: named.longest_pulse,
            least_apart: named.least_apart,
        })
    }
}

/// What a node that acts needs, beside what every half does.
pub struct ActSetup<'a> {
    /// What is asked.
    pub request: &'a PulseRequest,
    /// Number of the node's flow.
    pub flow: u8,
    /// What it switches.
    pub output: OpenOutput,
}

/// The node that acts: its ends are open, and it has answered with them. `setup` has the request of the packets.
///
/// # Errors
/// If the run does not take place. Once it has begun there is a record, whatever happens.
pub fn act(
    setup: &Setup<'_>,
    ActSetup { request, flow, output }: ActSetup<'_>,
    ends: Ends,
    server: &Endpoints,
    dialog: &mut dyn Dialog,
    observe: &mut dyn FnMut(&Live),
) -> Result<Record, PacketError> {
    let plan = PacketPlan::new(setup.request, setup.role, setup.threads, setup.machine)?;
    let OpenOutput { output, words, longest_pulse, least_apart } = output;
    let bounds = Bounds {
        longest_ns: longest_pulse.map_or(i64::MAX, |longest| longest.0),
        least_apart_ns: least_apart.map_or(0, |apart| apart.0),
    };
    let (lead_ns, spin_ns, interval_ns) = (request.lead.0, request.spins().0, request.interval.0);
    let act_plan = ActPlan { bounds, by: request.by, lead_ns, spin_ns, interval_ns };
    let guard = Guard::of(&output, setup.threads.sched_priority.unwrap_or(0)).map_err(|error| {
        PacketError::Failed(format!("the output cannot be guarded, so that nothing is switched: {error}"))
    })?;
    let words = words.map(|words| match guard.as_ref().map(|guard| &*guard.lacks) {
        Some(lacks) if !lacks.is_empty() => format!("{words}; its guard lacks {lacks}"),
        _ => words,
    });
    let (start, acting) = act::prepare(act_plan, output, guard);
    let start_ns = now_ns(ClockId::Realtime);
    let (keeping, are_handed_on) = (keeping(setup), setup.sink.is_some() || server.wants_half);
    let series = |name| Delays::new(name, start_ns, plan.interval_maximum_ns).keeping(keeping, are_handed_on);
    let beside = Box::new(Orders::new(request, flow, setup.node, words, acting, series));
    let of_kind = OfKind { start, beside, flow: Some(flow), follow_services, joining: JOINING };
    let mut record = nodes::follow(setup, ends, server, of_kind, dialog, observe)?;
    only_of(&mut record, flow);
    complete(&mut record);
    Ok(record)
}

/// The server: the nodes have answered with their ends.
///
/// # Errors
/// If the run does not take place. Once it has begun there is a record, whatever happens.
pub fn order<'a>(
    setup: &'a ServerSetup<'a>,
    links: Vec<NodeLink<'a>>,
    observe: &mut dyn FnMut(&Live),
) -> Result<Record, PacketError> {
    let (mut server, watching) = Server::arm(setup, links, follow_services)?;
    server.begin()?;
    server.carry_out(&watching, observe);
    let (own, followed) = server.finish(watching);
    let text: String = own.to_json().lines().map(str::trim_start).collect();
    let mut record = own;
    for mut node in followed {
        if node.gone.is_none() {
            // One that goes now has handed its half over.
            let _ = node.dialog.say(&Message::Half { record: text.clone() });
        }
        let (half, unread) = node.take_half();
        let joined = half.map(|half| ::pulse::join::join(record.clone(), half)).transpose();
        let unjoined = match joined {
            Ok(Some(joined)) => {
                record = joined;
                None
            }
            Ok(None) => None,
            Err(error) => Some(format!("its half cannot be joined with this one: {error}")),
        };
        for why in unread.into_iter().chain(unjoined) {
            record.validity.add(ReasonCode::PartnerLost, format!("{}: {why}", node.endpoints.node));
        }
    }
    record.label.clone_from(&setup.context.label);
    complete(&mut record);
    if let Some(sink) = setup.sink.filter(|_| kept_until(setup.request.end, true) == Keeping::None) {
        hand_on_the_rest(&mut record, sink);
    }
    Ok(record)
}

/// What a record has once all halves are joined that are there.
fn complete(record: &mut Record) {
    ::pulse::join::conclude(record);
    if let Some(limit_ns) = record.manifest().requested.deadline_ns {
        record.verdict = Some(analysis::verdict(record, limit_ns));
    }
}

/// How the half of a node that acts is joined with what the server tells.
pub(crate) const JOINING: Joining =
    Joining { join: ::pulse::join::join, goes_on: ::pulse::join::goes_on, conclude_so_far: conclude_own };

/// What the record of a node that acts has while its run goes on, or was cut short.
fn conclude_own(record: &mut Record) {
    // The node itself alone says how long it takes to get ready.
    let own = record.pulses().and_then(|run| run.nodes.iter().find(|node| node.arming_ns.is_some()));
    if let Some(flow) = own.and_then(|node| u8::try_from(node.flow).ok()) {
        only_of(record, flow);
        complete(record);
    }
}

/// Of what the server told, what is of one node.
fn only_of(record: &mut Record, flow: u8) {
    let flow = u32::from(flow);
    let record::Detail::Pulse(run) = &mut record.detail else { return };
    run.nodes.retain(|node| node.flow == flow);
    run.packets.flows.retain(|one| one.flow == flow);
    record.series.retain(|series| !matches!(series.place, record::Place::Flow { flow: of, .. } if of != flow));
    let names: Vec<String> = run.nodes.iter().map(|node| node.node.clone()).collect();
    run.packets.clocks.retain(|clocks| names.contains(&clocks.node) || names.contains(&clocks.partner));
}

/// The time services beside the orders.
fn follow_services(request: &SyncRequest, machine: &Machine, stop: &Stop) -> Result<Record, String> {
    crate::kinds::sync::measure(request, machine, &RunContext::default(), stop, &mut |_| {}, None)
        .map_err(|error| error.to_string())
}

/// Why nodes that act each by its own clock are of different times, where a comparison of the clocks excludes anything else.
fn clocks_apart(request: &PulseRequest, node: &str, track: &[TrackPoint]) -> Option<String> {
    if request.by != ActsBy::Service {
        return None;
    }
    let tolerance_ns = request.tolerance.0;
    let excluded = track
        .iter()
        .filter_map(|point| point.bound_ns)
        .find(|(lower_ns, upper_ns)| *lower_ns > tolerance_ns || *upper_ns < -tolerance_ns);
    let (lower_ns, upper_ns) = excluded?;
    Some(format!(
        "the clocks of this node and of {node} are between {} and {} apart by the exchange of both, and the tolerance is {}: let \
         both follow one time ('punctual sync'), or act by the exchange (--by exchange)",
        latency(lower_ns),
        latency(upper_ns),
        span(tolerance_ns)
    ))
}

#[cfg(test)]
mod tests;
