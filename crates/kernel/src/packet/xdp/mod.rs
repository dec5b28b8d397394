//! Past the network stack: frames between user space and the interface's driver (AF_XDP, Documentation/networking/af_xdp.rst).
//!
//! A program of some thirty instructions hands our packets to us and passes all others on to the stack. Headers are built
//! and checked here: Ethernet, a VLAN tag where one is wanted, and UDP over IP or an EtherType of its own.
//! Nothing that the stack does applies: no queueing discipline, no launch time, no fragments, no firewall.
//!
//! No stamps but the caller's own exist: the stack does not see the packets, and the hardware's stamps are handed only to
//! programs that are bound to one device and built for one kernel (kfuncs of XDP), which this one is not.
//! Where an interface takes VLAN tags off by hardware, they are unknown too.

mod abi;
mod headers;
mod open;
mod program;
mod queue;
mod ring;
mod umem;

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;

use super::address::Source;
use super::error::{OpenError, ReceiveError, SendError};
use super::interface::Interface;
use super::link::VlanTag;
use super::options::BusyPoll;
use super::{Counters, Launch, PacketEndpoint, Received, SentStamp};
use crate::clock::{KernelClock, nanoseconds, now_ns};
use headers::{Headers, ReceiveFilter, parse};
use queue::{ReceiveQueue, SendQueue};

/// How packets get from the driver to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The hardware writes to our memory, and reads from it.
    ZeroCopy,
    /// The driver runs our program and copies frames.
    Native,
    /// The stack runs our program, on its own buffers, and copies frames. Every interface can do this.
    Generic,
}

impl Mode {
    /// All of them, the best first.
    pub const ALL: [Self; 3] = [Self::ZeroCopy, Self::Native, Self::Generic];

    /// The name in results and messages.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::ZeroCopy => "zero-copy",
            Self::Native => "native",
            Self::Generic => "generic",
        }
    }
}

/// A mode that was tried and is not to be had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefusedMode {
    /// The mode.
    pub mode: Mode,
    /// The step and the kernel's reason.
    pub reason: String,
}

impl std::fmt::Display for RefusedMode {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{}: {}", self.mode.name(), self.reason)
    }
}

/// Which packets are ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// Datagrams of UDP to an address and port of the interface. An unspecified address (`0.0.0.0`, `::`) stands for the
    /// interface's own, port 0 for one that the kernel chooses.
    Udp {
        /// Where it receives.
        local: SocketAddr,
        /// To whom it sends; can be set later by [`XdpEndpoint::set_partner`].
        partner: Option<SocketAddr>,
    },
    /// Frames of an EtherType.
    Link {
        /// What tells its frames from others (0x0600 to 0xffff).
        ethertype: u16,
        /// To whom it sends; can be set later by [`XdpEndpoint::set_partner_mac`].
        partner: Option<[u8; 6]>,
    },
}

/// How an end past the stack is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct XdpPlan {
    /// The interface. Of one with several receive queues each gets a socket, and all of them are polled.
    pub interface: String,
    /// Which packets are ours.
    pub flow: Flow,
    /// The tag that sent frames get. Received ones are ours with and without one.
    pub vlan: Option<VlanTag>,
    /// Differentiated-services code point of sent IP packets (0 to 63).
    pub dscp: u8,
    /// Which modes may be taken; the first that works is.
    pub modes: Vec<Mode>,
    /// Polls the driver while it waits.
    pub busy_poll: Option<BusyPoll>,
    /// How many received frames of a queue can wait (a power of two, 64 to 32768).
    pub receive_slots: u32,
}

impl XdpPlan {
    /// Packets of a flow on an interface, in the best mode that works.
    #[must_use]
    pub fn new(interface: &str, flow: Flow) -> Self {
        Self {
            interface: interface.to_owned(),
            flow,
            vlan: None,
            dscp: 0,
            modes: Mode::ALL.to_vec(),
            busy_poll: None,
            receive_slots: 512,
        }
    }
}

/// Sockets of AF_XDP on all receive queues of an interface, with the program that feeds them.
#[derive(Debug)]
pub struct XdpEndpoint {
    sender: XdpSender,
    receiver: XdpReceiver,
    interface: Interface,
    plan: XdpPlan,
    mode: Mode,
    refused: Vec<RefusedMode>,
}

/// The half of an end that sends; the other half may be another thread's.
#[derive(Debug)]
pub struct XdpSender {
    queue: SendQueue,
    headers: Option<Headers>,
    most_bytes: usize,
    _attachment: Arc<Attachment>,
}

/// The half of an end that receives; the other half may be another thread's.
#[derive(Debug)]
pub struct XdpReceiver {
    /// One for each of the queues, in their order.
    polled: Vec<PollFd<'static>>,
    queues: Vec<ReceiveQueue>,
    wanted: ReceiveFilter,
    /// The queue that is looked at first, so that none is served worse.
    next: usize,
    damaged: u64,
    is_busy_polling: bool,
    monotonic: KernelClock,
    _attachment: Arc<Attachment>,
}

/// What is on the interface until both halves are dropped.
#[derive(Debug)]
struct Attachment {
    _link: OwnedFd,
    _program: OwnedFd,
    _map: program::SocketMap,
    /// A socket of the stack's with our port, so that nobody else takes it and nobody is told that it is closed.
    _port: Option<OwnedFd>,
}

impl XdpEndpoint {
    /// The mode that was taken.
    #[must_use]
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    /// Better modes that were tried before, with the reason why they are not to be had.
    #[must_use]
    pub fn refused_modes(&self) -> &[RefusedMode] {
        &self.refused
    }

    /// The interface as it was when the end was opened.
    #[must_use]
    pub const fn interface(&self) -> &Interface {
        &self.interface
    }

    /// How many receive queues are polled.
    #[must_use]
    pub fn queue_count(&self) -> usize {
        self.receiver.queues.len()
    }

    /// Where it receives; `None` for frames of an EtherType.
    #[must_use]
    pub const fn local(&self) -> Option<SocketAddr> {
        match self.receiver.wanted {
            ReceiveFilter::Udp(local, _) => Some(local),
            ReceiveFilter::Link(_) => None,
        }
    }

    /// Both halves, for a thread each: an interface takes one program, and so one end, at a time.
    #[must_use]
    pub fn split(self) -> (XdpSender, XdpReceiver) {
        (self.sender, self.receiver)
    }
}

impl PacketEndpoint for XdpSender {
    /// Sends one payload.
    ///
    /// # Errors
    /// As for every end. In mode zero-copy, a packet that the driver refused for another reason than a full queue may leave
    /// later all the same, since it stays in the ring.
    #[inline]
    fn send(&mut self, payload: &[u8], launch: Option<Launch>) -> Result<(), SendError> {
        if launch.is_some() {
            return Err(SendError::NoLaunchTime);
        }
        let Some(headers) = &self.headers else { return Err(SendError::NoPartner) };
        let most_bytes = self.most_bytes;
        if payload.len() > most_bytes {
            return Err(SendError::TooLarge { bytes: payload.len(), most_bytes });
        }
        self.queue.send(|chunk| headers.write(chunk, payload))
    }

    /// Nothing ever: the other half receives.
    #[inline]
    fn receive<R>(&mut self, _take: impl FnOnce(Received<'_>) -> R) -> Result<Option<R>, ReceiveError> {
        Ok(None)
    }

    /// False at once: the other half receives.
    #[inline]
    fn wait(&mut self, _deadline_ns: i64) -> Result<bool, ReceiveError> {
        Ok(false)
    }

    /// Never one: nobody stamps these packets.
    #[inline]
    fn sent_stamp(&mut self) -> Option<SentStamp> {
        None
    }

    fn counters(&mut self) -> Counters {
        Counters::default()
    }

    fn largest_payload(&self) -> usize {
        self.most_bytes
    }

    /// Never one: it would be a program on the loopback interface, which others may have a program on.
    fn rehearsal(&self) -> Option<Self> {
        None
    }
}

impl PacketEndpoint for XdpReceiver {
    /// Refused always: the other half sends.
    #[inline]
    fn send(&mut self, _payload: &[u8], _launch: Option<Launch>) -> Result<(), SendError> {
        Err(SendError::NoPartner)
    }

    #[inline]
    fn receive<R>(&mut self, take: impl FnOnce(Received<'_>) -> R) -> Result<Option<R>, ReceiveError> {
        /// So many damaged packets are passed over in one call.
        const PASSED_OVER: u64 = 64;
        let wanted = self.wanted;
        let mut take = Some(take);
        let (mut empty_queues, mut damaged) = (0, 0);
        // With busy polling, what the driver's polling brought is looked for at once.
        let mut rounds = if self.is_busy_polling { 2 } else { 1 };
        let mut result = None;
        while damaged < PASSED_OVER {
            let Some(queue) = self.queues.get_mut(self.next) else { break };
            let received = queue.receive(|frame| {
                let parsed = parse(frame, wanted)?;
                let take = take.take()?;
                Some(take(Received {
                    payload: frame.get(parsed.payload).unwrap_or_default(),
                    stack_ns: None,
                    hardware_ns: None,
                    source: Source::Read(parsed.from),
                    vlan_tag: parsed.vlan_tag,
                }))
            });
            match received {
                Some(Some(taken)) => {
                    result = Some(taken);
                    break;
                }
                Some(None) => damaged += 1,
                None => {
                    if self.is_busy_polling || queue.needs_wakeup() {
                        queue.wake();
                    }
                    self.next = if self.next + 1 < self.queues.len() { self.next + 1 } else { 0 };
                    empty_queues += 1;
                    if empty_queues == self.queues.len() {
                        rounds -= 1;
                        if rounds == 0 {
                            break;
                        }
                        empty_queues = 0;
                    }
                }
            }
        }
        self.damaged += damaged;
        Ok(result)
    }

    /// Waits for a packet.
    ///
    /// # Errors
    /// Where the interface is gone, which the kernel wakes nobody for: at the deadline.
    #[inline]
    fn wait(&mut self, deadline_ns: i64) -> Result<bool, ReceiveError> {
        if self.queues.iter_mut().any(ReceiveQueue::has_any) {
            return Ok(true);
        }
        let rest_ns = deadline_ns.saturating_sub(now_ns(self.monotonic)).max(0);
        let timeout = Timespec { tv_sec: rest_ns / 1_000_000_000, tv_nsec: nanoseconds(rest_ns % 1_000_000_000) };
        match poll(&mut self.polled, Some(&timeout)) {
            Ok(count) => {
                // Where its interface is gone, a socket has an error and wakes nobody.
                let is_readable = self.polled.iter().any(|file| file.revents().contains(PollFlags::IN));
                let errno = if is_readable { None } else { self.queues.iter().find_map(ReceiveQueue::pending_errno) };
                errno.map_or(Ok(count > 0), |errno| Err(ReceiveError { errno }))
            }
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(ReceiveError { errno: error.raw_os_error() }),
        }
    }

    /// Never one: the other half sends, and nobody stamps these packets.
    #[inline]
    fn sent_stamp(&mut self) -> Option<SentStamp> {
        None
    }

    fn counters(&mut self) -> Counters {
        Counters {
            receive_dropped: self.queues.iter().map(ReceiveQueue::dropped).sum(),
            receive_damaged: self.damaged,
            ..Counters::default()
        }
    }

    fn largest_payload(&self) -> usize {
        0
    }

    /// Never one: it would be a program on the loopback interface, which others may have a program on.
    fn rehearsal(&self) -> Option<Self> {
        None
    }
}

impl PacketEndpoint for XdpEndpoint {
    #[inline]
    fn send(&mut self, payload: &[u8], launch: Option<Launch>) -> Result<(), SendError> {
        self.sender.send(payload, launch)
    }

    #[inline]
    fn receive<R>(&mut self, take: impl FnOnce(Received<'_>) -> R) -> Result<Option<R>, ReceiveError> {
        self.receiver.receive(take)
    }

    #[inline]
    fn wait(&mut self, deadline_ns: i64) -> Result<bool, ReceiveError> {
        self.receiver.wait(deadline_ns)
    }

    /// Never one: nobody stamps these packets.
    #[inline]
    fn sent_stamp(&mut self) -> Option<SentStamp> {
        None
    }

    fn counters(&mut self) -> Counters {
        self.receiver.counters()
    }

    fn largest_payload(&self) -> usize {
        self.sender.largest_payload()
    }

    /// Never one: it would be a program on the loopback interface, which others may have a program on.
    fn rehearsal(&self) -> Option<Self> {
        None
    }
}
