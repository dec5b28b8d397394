//! Single measured packets, sent and received with every time stamp that exists.
//!
//! Each path for packets is one [`PacketEndpoint`]: [`udp`] through the network stack, [`link`] right above the interface, [`xdp`] past the stack.
//! The loop of a measurement is generic over the trait, so that each path is compiled for itself.
//! Opening an end may allocate, block and fail with words; nothing of that happens in the methods of the trait.
//!
//! Four points of a packet's way are stamped by others than the caller:
//! it is handed to the queueing discipline, the driver takes it, the receiver's stack takes it from its driver, and on
//! both sides the hardware sees it. What a path or a machine cannot stamp is `None`, never an estimate.

mod address;
mod control;
mod error;
mod error_queue;
pub mod interface;
pub mod link;
mod netlink;
mod options;
pub mod qdisc;
pub mod route;
mod socket;
mod stamping;
pub mod udp;
pub mod xdp;

use units::ClockId;

pub use address::Origin;
pub use error::{LookupError, OpenError, ReceiveError, SendError};
pub use options::{BusyPoll, LaunchClock, SocketOptions};
pub use stamping::Stamps;

use crate::clock::{KernelClock, now_ns};

/// One end of a path for measured packets.
///
/// None of its methods allocates, locks, formats or writes a log.
pub trait PacketEndpoint {
    /// Sends one payload to the partner; never blocks. A payload that was taken has the number of those taken before it.
    ///
    /// # Errors
    /// [`SendError::Full`] where a queue on this machine has no room; the payload is not sent then. Others where it is
    /// too large, or a launch time was given that this end was not opened for.
    fn send(&mut self, payload: &[u8], launch: Option<Launch>) -> Result<(), SendError>;

    /// Hands one received payload to `take`, if there is one; never blocks.
    ///
    /// Payloads come from anybody: the caller judges by [`Received::from`] and by what is in them.
    ///
    /// # Errors
    /// Where the interface is gone or down, or the kernel has no memory.
    fn receive<R>(&mut self, take: impl FnOnce(Received<'_>) -> R) -> Result<Option<R>, ReceiveError>;

    /// Waits until something can be received or `deadline_ns` has passed on CLOCK_MONOTONIC; whether something can.
    ///
    /// A packet that is then found damaged is not received, so [`Self::receive`] may still find nothing. Returns `false`
    /// before the deadline where a signal handler ran.
    ///
    /// # Errors
    /// As [`Self::receive`].
    fn wait(&mut self, deadline_ns: i64) -> Result<bool, ReceiveError>;

    /// The same for `rest_ns` from now on, by who knows what time it is: no clock need be read.
    ///
    /// # Errors
    /// As [`Self::receive`].
    #[inline]
    fn wait_for(&mut self, rest_ns: i64) -> Result<Waited, ReceiveError> {
        let deadline_ns = now_ns(KernelClock::from(ClockId::Monotonic)).saturating_add(rest_ns);
        Ok(match self.wait(deadline_ns)? {
            true => Waited::Packet,
            false if now_ns(KernelClock::from(ClockId::Monotonic)) < deadline_ns => Waited::Early,
            false => Waited::Over,
        })
    }

    /// The next stamp of a sent payload, if one has arrived. Each stamp of a payload may come by itself.
    fn sent_stamp(&mut self) -> Option<SentStamp>;

    /// What happened to packets of this end so far, beyond what the other methods return. What concerns sent packets is
    /// known once [`Self::sent_stamp`] has passed it.
    fn counters(&mut self) -> Counters;

    /// The largest payload (bytes) that this end sends.
    fn largest_payload(&self) -> usize;

    /// An end of the same kind that reaches itself alone, over the loopback interface: a loop is warmed up with it, so that
    /// nothing passes the real end before the measurement begins. Opening it may allocate and block.
    ///
    /// `None` where there is none, as for [`xdp`], or where this machine has no loopback interface that is up.
    fn rehearsal(&self) -> Option<Self>
    where
        Self: Sized;
}

/// How a wait for packets ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Waited {
    /// Something can be received.
    Packet,
    /// All of its time has passed.
    Over,
    /// Something else ended it, as a signal handler or a stamp of a sent packet.
    Early,
}

/// The time at which a packet is to leave, on the clock of the end's [`LaunchClock`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Nanoseconds of that clock.
    pub at_ns: i64,
}

/// A payload that was received, with what is known of its way.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// The bytes that the sender passed to [`PacketEndpoint::send`], if it was ours.
    pub payload: &'a [u8],
    /// When the network stack took it from the driver (ns, CLOCK_REALTIME).
    pub stack_ns: Option<i64>,
    /// When the hardware received it (ns of the interface's own clock).
    pub hardware_ns: Option<i64>,
    source: address::Source<'a>,
    /// The VLAN tag that it came with, priority included (IEEE 802.1Q, tag control information); on [`udp`] unknown.
    pub vlan_tag: Option<u16>,
}

impl<'a> Received<'a> {
    /// Some bytes of whose way nothing is known, as a scripted end hands them out.
    #[must_use]
    pub const fn of_unknown_way(payload: &'a [u8]) -> Self {
        let source = address::Source::Read(Origin::Unknown);
        Self { payload, stack_ns: None, hardware_ns: None, source, vlan_tag: None }
    }

    /// Who sent it.
    #[must_use]
    pub fn from(&self) -> Origin {
        self.source.origin()
    }
}

/// One or more stamps of one payload that was sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SentStamp {
    /// How many payloads this end had sent before it.
    pub number: u64,
    /// When it was handed to the queueing discipline (ns, CLOCK_REALTIME).
    pub queued_ns: Option<i64>,
    /// When the driver took it (ns, CLOCK_REALTIME).
    pub stack_ns: Option<i64>,
    /// When the hardware sent it (ns of the interface's own clock).
    pub hardware_ns: Option<i64>,
}

/// What happened to packets of an end since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets that arrived and that the kernel dropped since nobody had taken those before them.
    pub receive_dropped: u64,
    /// Packets that arrived damaged or cut.
    pub receive_damaged: u64,
    /// Sent packets that were dropped since their launch time passed while they waited in the queueing discipline.
    pub launch_missed: u64,
    /// Packets that the queueing discipline did not take since their launch time had passed already, or is of another clock
    /// or mode; [`PacketEndpoint::send`] returned [`SendError::LaunchRefused`] for them.
    pub launch_invalid: u64,
    /// Times that a host or router answered that a packet cannot be delivered: nobody listens on the port, no such host.
    pub undeliverable: u64,
    /// Stamps of sent packets that could not be attributed to one of them, or came while too many waited to be taken.
    pub stamps_lost: u64,
}
