//! Which stamps a socket takes, and which sent packet a stamp belongs to.
//!
//! Documentation/networking/timestamping.rst, include/uapi/linux/net_tstamp.h.

use std::net::UdpSocket;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd};
use std::time::{Duration, Instant};

use units::ClockId;

use super::address::RawAddress;
use super::control::{Message, Room, Said};
use super::error::OpenError;
use super::options::{Incoming, Outgoing, set};
use crate::clock::{KernelClock, now_ns};

const TX_HARDWARE: u32 = 1;
const TX_SOFTWARE: u32 = 1 << 1;
const RX_HARDWARE: u32 = 1 << 2;
const RX_SOFTWARE: u32 = 1 << 3;
const REPORT_SOFTWARE: u32 = 1 << 4;
const REPORT_HARDWARE: u32 = 1 << 6;
const OPT_ID: u32 = 1 << 7;
const TX_SCHED: u32 = 1 << 8;
/// A stamp of a sent packet comes without the packet.
const OPT_TSONLY: u32 = 1 << 11;
/// Software stamps of sent packets also where the hardware stamps them.
const OPT_TX_SWHW: u32 = 1 << 14;

/// `SO_TIMESTAMPING`, and the kind of its message. On 32-bit machines the one with 64-bit seconds, since Linux 5.1
/// (include/uapi/asm-generic/socket.h); on others both have them.
const SO_TIMESTAMPING: libc::c_int = if cfg!(target_pointer_width = "64") { 37 } else { 65 };
/// The kind of the message with which a sender numbers a packet's stamps itself, since Linux 6.13.
pub(super) const SCM_TS_OPT_ID: libc::c_int = 81;

/// Which stamps an end asks for. What nothing stamps stays `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamps {
    /// Of sent packets, when they are handed to the queueing discipline.
    pub queued: bool,
    /// By the network stack, of received packets and of sent ones as the driver takes them.
    pub stack: bool,
    /// By the hardware. It stamps only what it was configured for (`hwtstamp_ctl`, or a running `ptp4l`).
    pub hardware: bool,
}

impl Stamps {
    /// All that a machine without hardware stamps has.
    pub const SOFTWARE: Self = Self { queued: true, stack: true, hardware: false };

    /// Which of a sent packet's stamps comes last.
    const fn last(self) -> TakenBy {
        if self.hardware {
            TakenBy::Hardware
        } else if self.stack {
            TakenBy::Driver
        } else {
            TakenBy::Queue
        }
    }

    /// Whether sent packets get any.
    const fn any(self) -> bool {
        self.queued || self.stack || self.hardware
    }

    const fn flags(self) -> u32 {
        let mut flags = 0;
        if self.stack {
            flags |= RX_SOFTWARE | TX_SOFTWARE | REPORT_SOFTWARE;
        }
        if self.queued {
            flags |= TX_SCHED | REPORT_SOFTWARE;
        }
        if self.hardware {
            flags |= RX_HARDWARE | TX_HARDWARE | REPORT_HARDWARE;
        }
        if self.any() { flags | OPT_ID | OPT_TSONLY | OPT_TX_SWHW } else { 0 }
    }
}

/// Has a socket take stamps, and waits until the kernel does.
///
/// # Errors
/// Where the kernel is too old.
pub(super) fn enable(socket: BorrowedFd<'_>, stamps: Stamps) -> Result<Numbering, OpenError> {
    const ACTION: &str = "stamp packets (SO_TIMESTAMPING)";
    if !stamps.any() {
        return Ok(Numbering::new(stamps, false));
    }
    let refused = |error| OpenError::refused(ACTION, "CAP_NET_ADMIN", "it takes Linux 4.13 (5.1 on 32 bits)", error);
    set(socket, libc::SOL_SOCKET, SO_TIMESTAMPING, &stamps.flags()).map_err(refused)?;
    if stamps.stack {
        await_stack_stamps();
    }
    Ok(Numbering::new(stamps, takes_numbers()))
}

/// Whether this kernel takes the numbers of stamps from the sender: one that does not refuses the message.
fn takes_numbers() -> bool {
    let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else { return false };
    let flags = TX_SOFTWARE | OPT_ID;
    if set(socket.as_fd(), libc::SOL_SOCKET, SO_TIMESTAMPING, &flags).is_err() {
        return false;
    }
    let Ok(own) = socket.local_addr() else { return false };
    let to = RawAddress::from(own);
    let message = Message::<4>::new(SCM_TS_OPT_ID);
    let call = Outgoing {
        to: Some(&to),
        head: &[],
        payload: &[],
        control: (std::ptr::from_ref(&message).cast(), size_of_val(&message)),
    };
    !matches!(call.send(socket.as_fd()), Err(libc::EINVAL))
}

/// The kernel begins to stamp received packets some time after the first socket asks for it (it changes its own code,
/// net/core/dev.c `net_enable_timestamp`), and until then gives the time of the *reading* instead. A packet to ourselves
/// shows whether it has begun.
fn await_stack_stamps() {
    const LONGEST: Duration = Duration::from_millis(500);
    let realtime = KernelClock::from(ClockId::Realtime);
    let began = Instant::now();
    let probe = || -> Option<bool> {
        let socket = UdpSocket::bind("127.0.0.1:0").ok()?;
        set(socket.as_fd(), libc::SOL_SOCKET, SO_TIMESTAMPING, &(RX_SOFTWARE | REPORT_SOFTWARE)).ok()?;
        socket.send_to(&[0], socket.local_addr().ok()?).ok()?;
        let mut room = Room::new();
        // The loopback delivers before the send returns, so whatever the packet waits for now is the reading.
        std::thread::sleep(Duration::from_micros(200));
        let before_ns = now_ns(realtime);
        let call = Incoming::receive(socket.as_raw_fd(), &mut [0], None, &mut room, libc::MSG_DONTWAIT);
        let filled = call.ok()?.control_bytes;
        let stack_ns = room.messages(filled).find_map(|said| Times::parse(&said))?.stack_ns()?;
        Some(stack_ns < before_ns)
    };
    while began.elapsed() < LONGEST {
        match probe() {
            Some(true) => return,
            Some(false) => {}
            // The loopback is down, as in a new network namespace: the change takes milliseconds at most.
            None => return std::thread::sleep(Duration::from_millis(50)),
        }
    }
}

/// The times in one message of the kernel's; 0 is its word for none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    stack_ns: i64,
    hardware_ns: i64,
}

impl Times {
    pub(super) const NONE: Self = Self { stack_ns: 0, hardware_ns: 0 };

    /// `struct scm_timestamping64`: three times of which the second is not used any more.
    #[inline]
    pub(super) fn parse(said: &Said<'_>) -> Option<Self> {
        const ONE_BYTES: usize = 16;
        if (said.level, said.kind) != (libc::SOL_SOCKET, SO_TIMESTAMPING) || said.data.len() < 3 * ONE_BYTES {
            return None;
        }
        let time_ns = |place: usize| {
            let (seconds, within_ns) = (said.i64_at(place * ONE_BYTES), said.i64_at(place * ONE_BYTES + 8));
            seconds.wrapping_mul(1_000_000_000).wrapping_add(within_ns)
        };
        Some(Self { stack_ns: time_ns(0), hardware_ns: time_ns(2) })
    }

    #[inline]
    pub(super) const fn stack_ns(self) -> Option<i64> {
        if self.stack_ns == 0 { None } else { Some(self.stack_ns) }
    }

    #[inline]
    pub(super) const fn hardware_ns(self) -> Option<i64> {
        if self.hardware_ns == 0 { None } else { Some(self.hardware_ns) }
    }
}

/// Which sent packet a stamp belongs to. The kernel gives 32 bits.
///
/// Since Linux 6.13 the sender numbers its packets. Older kernels count by themselves, and whether a packet that was not
/// sent counts depends on how far it got. There, the count is begun anew after each failure, and a stamp whose number can
/// be of both counts is not attributed.
#[derive(Debug)]
pub(super) struct Numbering {
    stamps: Stamps,
    by_sender: bool,
    sent: u64,
    /// Of the kernel's own counting: how many had been sent when its present count began.
    count_began: u64,
    /// Its numbers that may belong to a packet from before that.
    doubtful: std::ops::Range<u32>,
    /// The lowest of the numbers in this count that a stamp may still come for.
    unstamped_from: u32,
}

impl Numbering {
    pub(super) const fn new(stamps: Stamps, by_sender: bool) -> Self {
        Self { stamps, by_sender, sent: 0, count_began: 0, doubtful: 0..0, unstamped_from: 0 }
    }

    /// The number that the next packet is sent with, where the kernel takes one.
    #[inline]
    pub(super) const fn next_id(&self) -> Option<u32> {
        if self.by_sender { Some(low_bits(self.sent)) } else { None }
    }

    #[inline]
    pub(super) const fn sent_one(&mut self) {
        self.sent += 1;
    }

    /// Whether the kernel numbers the packets, so that its count has to begin anew after one that was not sent.
    pub(super) const fn counts_by_kernel(&self) -> bool {
        !self.by_sender && self.stamps.any()
    }

    /// After a packet that was not sent, and whose own stamps have been read.
    pub(super) fn count_anew(&mut self, socket: BorrowedFd<'_>) {
        let beyond = low_bits(self.sent - self.count_began);
        let waiting = self.unstamped_from.min(beyond)..beyond;
        if self.doubtful.is_empty() {
            self.doubtful = waiting;
        } else if !waiting.is_empty() {
            self.doubtful = self.doubtful.start.min(waiting.start)..self.doubtful.end.max(waiting.end);
        }
        // The count begins anew where the flag is set that was not (net/core/sock.c, sock_set_timestamping). Neither can
        // fail where the first setting did not.
        let flags = self.stamps.flags();
        let _ = set(socket, libc::SOL_SOCKET, SO_TIMESTAMPING, &(flags & !OPT_ID));
        let _ = set(socket, libc::SOL_SOCKET, SO_TIMESTAMPING, &flags);
        (self.count_began, self.unstamped_from) = (self.sent, 0);
    }

    /// The packet that a stamp belongs to.
    #[inline]
    pub(super) fn attribute(&mut self, id: u32, taken_by: TakenBy) -> Stamped {
        let in_count = self.sent - self.count_began;
        // How many packets ago it was.
        let back = u64::from(low_bits(in_count).wrapping_sub(id));
        if back == 0 {
            return Stamped::Unsent;
        }
        if back > in_count || (!self.by_sender && self.doubtful.contains(&id)) {
            return Stamped::Unknown;
        }
        if taken_by == self.stamps.last() {
            self.unstamped_from = self.unstamped_from.max(id.saturating_add(1));
        } else if taken_by == TakenBy::Driver {
            // The hardware's comes soon, or never.
            self.unstamped_from = self.unstamped_from.max(id.saturating_sub(MOST_IN_HARDWARE));
        }
        Stamped::Number(self.sent - back)
    }
}

/// Whose a stamp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stamped {
    /// The packet's before which so many were sent.
    Number(u64),
    /// A packet's that a queueing discipline dropped at once, so that it does not count as sent.
    Unsent,
    /// Nobody's for certain.
    Unknown,
}

/// At which point a stamp of a sent packet was taken, in the order of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TakenBy {
    /// On the way into the queueing discipline.
    Queue,
    /// As the driver took it.
    Driver,
    /// By the hardware.
    Hardware,
}

/// More packets than wait in a card's ring to be sent.
const MOST_IN_HARDWARE: u32 = 4_096;

#[expect(clippy::cast_possible_truncation, reason = "the kernel keeps the low 32 bits")]
#[inline]
const fn low_bits(number: u64) -> u32 {
    number as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_ask_for_what_they_name() {
        assert_eq!(Stamps::default().flags(), 0);
        assert_eq!(Stamps::SOFTWARE.flags(), 0b0100_1001_1001_1010);
        assert_eq!(Stamps { hardware: true, ..Stamps::default() }.flags(), 0b0100_1000_1100_0101);
    }

    #[test]
    fn times_are_read_and_none_is_none() {
        let mut data = [0_u8; 48];
        data[..8].copy_from_slice(&3_i64.to_ne_bytes());
        data[8..16].copy_from_slice(&7_i64.to_ne_bytes());
        let said = Said { level: libc::SOL_SOCKET, kind: SO_TIMESTAMPING, data: &data };
        let times = Times::parse(&said).unwrap();
        assert_eq!((times.stack_ns(), times.hardware_ns()), (Some(3_000_000_007), None));
        assert_eq!(Times::parse(&Said { data: &data[..47], ..said }), None);
        assert_eq!(Times::parse(&Said { kind: 1, ..said }), None);
    }

    #[test]
    fn thirty_two_bits_are_extended_by_what_was_sent() {
        let mut numbers = Numbering::new(Stamps::SOFTWARE, true);
        assert_eq!(numbers.attribute(0, TakenBy::Driver), Stamped::Unsent);
        numbers.sent = (1 << 32) + 5;
        assert_eq!(numbers.attribute(4, TakenBy::Driver), Stamped::Number((1 << 32) + 4));
        assert_eq!(numbers.attribute(0, TakenBy::Driver), Stamped::Number(1 << 32));
        assert_eq!(numbers.attribute(u32::MAX, TakenBy::Driver), Stamped::Number((1 << 32) - 1));
        assert_eq!(numbers.attribute(5, TakenBy::Driver), Stamped::Unsent);
        assert_eq!(numbers.next_id(), Some(5));
    }

    #[test]
    fn after_a_failure_no_stamp_is_attributed_that_could_be_of_either_count() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let file = socket.as_fd();
        let mut numbers = Numbering::new(Stamps::SOFTWARE, false);
        assert_eq!(numbers.next_id(), None);
        (0..10).for_each(|_| numbers.sent_one());
        (0..8).for_each(|id| assert_eq!(numbers.attribute(id, TakenBy::Driver), Stamped::Number(u64::from(id))));
        numbers.count_anew(file);
        // 8 and 9 of the old count may still come.
        (0..20).for_each(|_| numbers.sent_one());
        assert_eq!(numbers.attribute(7, TakenBy::Driver), Stamped::Number(17));
        assert_eq!([8, 9].map(|id| numbers.attribute(id, TakenBy::Driver)), [Stamped::Unknown; 2]);
        assert_eq!(numbers.attribute(10, TakenBy::Driver), Stamped::Number(20));
        assert_eq!(numbers.attribute(19, TakenBy::Driver), Stamped::Number(29));
        // With no packet under way there is no doubt, however often it fails.
        let before = numbers.doubtful.clone();
        (0..3).for_each(|_| numbers.count_anew(file));
        assert_eq!(numbers.doubtful, before);
        (0..15).for_each(|_| numbers.sent_one());
        numbers.count_anew(file);
        (0..30).for_each(|_| numbers.sent_one());
        assert_eq!(
            [0, 8, 14].map(|id| numbers.attribute(id, TakenBy::Driver)),
            [Stamped::Unknown; 3],
            "they may come still"
        );
        assert_eq!(numbers.attribute(15, TakenBy::Driver), Stamped::Number(60));
        assert_eq!(numbers.attribute(29, TakenBy::Driver), Stamped::Number(74));
    }

    #[test]
    fn a_packet_is_under_way_until_its_last_stamp_has_come() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let doubtful = |stamps, taken_by| {
            let mut numbers = Numbering::new(stamps, false);
            (0..5_000).for_each(|_| numbers.sent_one());
            assert_eq!(numbers.attribute(4_999, taken_by), Stamped::Number(4_999));
            numbers.count_anew(socket.as_fd());
            numbers.doubtful.len()
        };
        let hardware = Stamps { hardware: true, ..Stamps::SOFTWARE };
        assert_eq!(doubtful(Stamps::SOFTWARE, TakenBy::Queue), 5_000);
        assert_eq!(doubtful(Stamps { stack: false, ..Stamps::SOFTWARE }, TakenBy::Queue), 0);
        assert_eq!(doubtful(Stamps::SOFTWARE, TakenBy::Driver), 0);
        assert_eq!(doubtful(hardware, TakenBy::Driver), 4_097);
        assert_eq!(doubtful(hardware, TakenBy::Hardware), 0);
    }
}
