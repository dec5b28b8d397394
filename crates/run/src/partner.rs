//! The other node of a run that takes two: connected by the caller, who also knows its token and ends the connection.

use std::net::SocketAddr;

use measure::packet::{Dialog, Role};
use measure::pulse::NamedOutput;
use packet::dialog::Endpoints;
use packet::header::Session;
use record::{ExplainRequest, HardwareMode, PacketRequest};

/// The partner's program, which has let this one in or was let in.
pub trait Partner {
    /// What is said to it and heard of it while the run goes on.
    fn dialog(&mut self) -> &mut dyn Dialog;

    /// Tells it where this node sends and receives, and returns where it does itself. `meanwhile` is called at least each second until
    /// it has said that.
    ///
    /// # Errors
    /// Why the run does not take place, as a sentence.
    fn agree(
        &mut self,
        own: Endpoints,
        meanwhile: &mut dyn FnMut(),
    ) -> Result<Endpoints, Box<dyn std::error::Error + Send + Sync>>;

    /// Lets it know that this program lives, where nothing is said to it or heard of it.
    fn keep_alive(&mut self) {}
}

/// A connection to a partner.
pub struct Connected<'a> {
    /// The name of this node in the run.
    pub node: &'a str,
    /// This node's address of the connection, and the partner's: the measured packets go between them.
    pub addresses: (SocketAddr, SocketAddr),
    /// What the packets of the run are recognized by: both programs derive it from their connection.
    pub session: Session,
    /// The partner's program.
    pub partner: &'a mut dyn Partner,
}

/// What this node chooses itself for its part in a run of two nodes. The partner cannot ask for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which of the two nodes it is.
    pub role: Role,
    /// The CPU of its sending and receiving threads; `None` leaves it to this program.
    pub cpu: Option<u32>,
    /// Their real-time priority (1 to 99); `None` is none.
    pub sched_priority: Option<u32>,
    /// Whether it uses the stamps of its network interface.
    pub hardware_stamps: HardwareMode,
    /// Whether, and how, its own late packets are explained.
    pub explain: Option<ExplainRequest>,
    /// What it switches, where it is ordered to.
    pub acts: Option<Acts>,
}

/// What a node switches when it is ordered to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Acts {
    /// Number of the flow that brings its orders.
    pub flow: u8,
    /// The output; `None` is one that switches nothing.
    pub output: Option<NamedOutput>,
}

impl Part {
    /// That of the node that asks for the run: threads and stamps are those of its request.
    #[must_use]
    pub const fn asking(request: &PacketRequest, explain: Option<ExplainRequest>) -> Self {
        Self {
            role: Role::Initiator,
            cpu: request.cpu,
            sched_priority: request.sched_priority,
            hardware_stamps: request.hardware_stamps,
            explain,
            acts: None,
        }
    }
}
