//! What kinds of measurements share that several nodes carry out: a node's half of a run.
//!
//! Each node does the same half: it sends one flow or receives one, or both; beside that both exchange messages by which
//! their clocks are compared. The receiver of a flow computes its delays. At the end the halves are joined. What else becomes of
//! the packets that a node receives is the kind's own ([`ReceiverStart`], [`Beside`]).

mod beside;
pub(crate) mod clocks;
pub(crate) mod clocks_seen;
mod cost;
pub(crate) mod delays;
pub(crate) mod ends;
mod explain;
pub(crate) mod finish;
mod flows;
pub(crate) mod half;
pub(crate) mod halves;
mod hardware;
mod launch;
pub(crate) mod pause;
pub(crate) mod plan;
pub(crate) mod receive;
pub(crate) mod send;
pub(crate) mod services;

use std::time::{Duration, Instant};

use packet::dialog::{Endpoints, Message};
use packet::header::Session;
use packet::join::JoinError;
use record::{ExplainRequest, ExplainingCost, Live, PacketRequest, ReasonCode, Record};

pub(crate) use self::beside::{Beside, PacketsAlone, PlainReceiver, ReceiverStart};
pub use self::cost::receiving_cost;
pub use self::ends::{Ends, EndsError, check_way, check_ways_from};
pub use self::halves::wants_half;
use self::halves::{Halves, Joining};
pub use self::hardware::{HardwareError, RESTORER_COMMAND, restore};
pub use self::plan::{PacketPlanError, Role};
use self::services::FollowServices;
use crate::context::RunContext;
use crate::crew::ArmError;
use crate::interval_sink::IntervalSink;
use crate::machine::Machine;
use crate::stop::Stop;

/// How long the partner may take for its part of what is agreed upon before the run.
pub(crate) const AGREEMENT: Duration = Duration::from_secs(30);
/// How long it may take to hand its half over: a long run's record is megabytes.
pub(crate) const HANDING_OVER: Duration = Duration::from_secs(60);

/// Says messages to the partner's program and hears its own.
pub trait Dialog {
    /// Says something.
    ///
    /// # Errors
    /// If the partner is gone: why, as a sentence.
    fn say(&mut self, message: &Message) -> Result<(), PartnerGone>;

    /// Says something that can wait: where something said before has not left this node yet it is not said, which `false` means.
    /// It never waits.
    ///
    /// # Errors
    /// If the partner is gone: why, as a sentence.
    fn offer(&mut self, message: &Message) -> Result<bool, PartnerGone>;

    /// Waits for what the partner says; `None` if that is nothing within the time.
    ///
    /// # Errors
    /// If the partner is gone: why, as a sentence.
    fn hear(&mut self, within: Duration) -> Result<Option<Message>, PartnerGone>;
}

/// The partner's program can no longer be reached.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PartnerGone(pub String);

/// Why a run between two nodes did not take place.
#[derive(Debug, thiserror::Error)]
pub enum PacketError {
    /// The request cannot be carried out on this node.
    #[error(transparent)]
    Plan(#[from] PacketPlanError),
    /// What packets are sent and received with cannot be opened.
    #[error(transparent)]
    Ends(#[from] EndsError),
    /// A thread cannot be started.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// The partner is gone before anything was measured.
    #[error(transparent)]
    Gone(#[from] PartnerGone),
    /// The partner does not take part.
    #[error("the partner refuses: {0}")]
    Refused(String),
    /// The partner said something else than what was agreed upon.
    #[error("the partner said something unexpected ({0}): the programs of both nodes have to be of the same version")]
    Unexpected(&'static str),
    /// The halves do not fit together.
    #[error(transparent)]
    Join(#[from] JoinError),
    /// Another step failed.
    #[error("{0}")]
    Failed(String),
}

/// How the measuring threads of one node run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeThreads {
    /// The CPU that they share; `None` where the scheduler chooses.
    pub cpu: Option<u32>,
    /// Their real-time priority (1 to 99, SCHED_FIFO); `None` for what is usual on the machine.
    pub sched_priority: Option<u32>,
}

/// What a node's half needs.
pub struct Setup<'a> {
    /// What is asked.
    pub request: &'a PacketRequest,
    /// Which node this is.
    pub role: Role,
    /// The threads of this node.
    pub threads: NodeThreads,
    /// What the packets are recognized by.
    pub session: Session,
    /// The name of this node in the run.
    pub node: &'a str,
    /// The machine.
    pub machine: &'a Machine,
    /// What the record is given about the surroundings.
    pub context: &'a RunContext,
    /// Ends the run early.
    pub stop: &'a Stop,
    /// Takes the intervals of both nodes as they end.
    pub sink: Option<&'a dyn IntervalSink>,
    /// Whether this node explains its own late packets, and what that costs, where it was measured. It is this node's user who
    /// asks for it, never the partner.
    pub explain: Option<(ExplainRequest, Option<ExplainingCost>)>,
}

/// What is a kind's own about a half.
pub(crate) struct OfKind<'a, S> {
    /// Starts the thread that receives.
    pub(crate) start: S,
    /// What is collected beside the packets, and what the record says.
    pub(crate) beside: Box<dyn Beside + 'a>,
    /// The number of the flow between the two nodes, where there is one alone; `None`: each node sends one of its own.
    pub(crate) flow: Option<u8>,
    /// Follows the sources of time, where they are asked.
    pub(crate) follow_services: FollowServices,
    /// Makes one record of two halves.
    pub(crate) joining: Joining,
}

/// What connects a half with its partner's: the conversation, and both halves as far as they were told.
struct PartnerLink<'a, 'run> {
    dialog: &'a mut dyn Dialog,
    halves: &'a mut Halves<'run>,
}

/// Checks a request for one of the nodes, before anybody is asked.
///
/// # Errors
/// As [`PacketPlanError`] says.
pub fn check(
    request: &PacketRequest,
    role: Role,
    threads: NodeThreads,
    machine: &Machine,
) -> Result<(), PacketPlanError> {
    plan::PacketPlan::new(request, role, threads, machine).map(drop)
}

/// The node that asks: its ends are open, and the partner has answered with its own.
///
/// # Errors
/// If the run does not take place. Once it has begun there is a record, whatever happens.
pub(crate) fn lead(
    setup: &Setup<'_>,
    ends: Ends,
    partner: &Endpoints,
    of_kind: OfKind<'_, impl ReceiverStart>,
    dialog: &mut dyn Dialog,
    observe: &mut dyn FnMut(&Live),
) -> Result<Record, PacketError> {
    let mut halves = Halves::new(setup, partner, of_kind.joining);
    let (mut half, watching) = half::Half::arm(setup, ends, partner, of_kind)?;
    half.wait_for_clocks();
    half.listen()?;
    let said = dialog.say(&Message::Begin);
    // One that is gone may have said before why it does not take part.
    hear_begin(dialog, setup.stop)?;
    said?;
    half.start(&watching);
    let mut link = PartnerLink { dialog, halves: &mut halves };
    let (own, ending) = half.carry_out(watching, &mut link, observe);
    Ok(conclude(own, ending, setup, &mut link))
}

/// The node that was asked: its ends are open, and it has answered with them.
///
/// # Errors
/// As [`lead`].
pub(crate) fn follow(
    setup: &Setup<'_>,
    ends: Ends,
    initiator: &Endpoints,
    of_kind: OfKind<'_, impl ReceiverStart>,
    dialog: &mut dyn Dialog,
    observe: &mut dyn FnMut(&Live),
) -> Result<Record, PacketError> {
    let mut halves = Halves::new(setup, initiator, of_kind.joining);
    let (mut half, watching) = half::Half::arm(setup, ends, initiator, of_kind)?;
    // Before and after: the initiator's receiver waits for the answer.
    half.wait_for_clocks();
    hear_begin(dialog, setup.stop)?;
    half.wait_for_clocks();
    half.listen()?;
    half.start(&watching);
    dialog.say(&Message::Begin)?;
    let mut link = PartnerLink { dialog, halves: &mut halves };
    let (own, ending) = half.carry_out(watching, &mut link, observe);
    Ok(conclude(own, ending, setup, &mut link))
}

fn hear_begin(dialog: &mut dyn Dialog, stop: &Stop) -> Result<(), PacketError> {
    let until = Instant::now() + AGREEMENT;
    loop {
        match dialog.hear(Duration::from_millis(100))? {
            Some(Message::Begin) => return Ok(()),
            Some(Message::Refused { why }) => return Err(PacketError::Refused(why)),
            Some(Message::Stop { why }) => {
                return Err(PacketError::Failed(format!("the partner ended the run before it began: {why}")));
            }
            Some(Message::Ready { .. }) => return Err(PacketError::Unexpected("that it is ready")),
            Some(Message::Sent { .. }) => return Err(PacketError::Unexpected("that it has sent all")),
            Some(Message::HardwareClock { .. }) => return Err(PacketError::Unexpected("the time of its interface")),
            Some(Message::Half { .. } | Message::Told { .. } | Message::Heard) => {
                return Err(PacketError::Unexpected("a record"));
            }
            None if stop.ended_early() => {
                let _ = dialog.say(&Message::Stop { why: "it was ended there".to_owned() });
                return Err(PacketError::Failed("ended before the run began".to_owned()));
            }
            None if Instant::now() > until => {
                let within = AGREEMENT.as_secs();
                return Err(PacketError::Failed(format!("the partner did not get ready within {within} s")));
            }
            None => {}
        }
    }
}

/// Hands this node's half over, takes the partner's, and makes one record of both. Where the partner is gone, what it told of its
/// half until then is the other half.
fn conclude(own: Record, ending: half::Ending, setup: &Setup<'_>, link: &mut PartnerLink<'_, '_>) -> Record {
    let mut record = match ending.gone {
        None => match exchange_halves(&own, ending.partner_half, link) {
            Ok(record) => record,
            Err(PacketError::Gone(gone)) => with_partner_lost(link.halves.conclude_alone(own), &gone.0),
            // What this node measured stands, whatever is wrong with the other half.
            Err(other) => with_partner_lost(own, &format!("its half cannot be joined with this one: {other}")),
        },
        Some(_) => link.halves.conclude_alone(own),
    };
    if let Some(why) = link.halves.unread() {
        record.validity.add(ReasonCode::PartnerLost, format!("what it told of its half could not be read: {why}"));
    }
    record.label.clone_from(&setup.context.label);
    if let Some(limit_ns) = record.manifest().requested.deadline_ns {
        record.verdict = Some(analysis::verdict(&record, limit_ns));
    }
    link.halves.hand_on_the_rest(&mut record);
    record
}

fn with_partner_lost(mut own: Record, why: &str) -> Record {
    own.validity.add(ReasonCode::PartnerLost, why.to_owned());
    own
}

fn exchange_halves(own: &Record, heard: Option<String>, link: &mut PartnerLink<'_, '_>) -> Result<Record, PacketError> {
    // On one line, since a partner escapes each control character of a message. A line ends between values alone.
    let record = link.halves.rest(own).to_json().lines().map(str::trim_start).collect();
    let said = link.dialog.say(&Message::Half { record });
    let text = match heard {
        Some(text) => text,
        None => said.map_err(PacketError::from).and_then(|()| hear_half(own, link))?,
    };
    let partner =
        Record::from_json(&text).map_err(|error| PacketError::Failed(format!("the partner's half: {error}")))?;
    Ok(link.halves.conclude(own.clone(), partner)?)
}

fn hear_half(own: &Record, link: &mut PartnerLink<'_, '_>) -> Result<String, PacketError> {
    let until = Instant::now() + HANDING_OVER;
    loop {
        match link.dialog.hear(Duration::from_millis(100))? {
            Some(Message::Half { record }) => return Ok(record),
            // What it tells of its half and says of its packets may come after this node has given up waiting for it.
            Some(Message::Told { piece }) => {
                link.halves.hear(&piece, || own.clone());
            }
            Some(Message::Sent { .. } | Message::HardwareClock { .. } | Message::Stop { .. } | Message::Heard) => {}
            Some(_) => return Err(PacketError::Unexpected("something else than its half of the record")),
            None if Instant::now() > until => {
                return Err(PacketError::Gone(PartnerGone(
                    "the partner did not hand its half of the record over".to_owned(),
                )));
            }
            None => {}
        }
    }
}

#[cfg(test)]
mod warm_up_tests;
