//! What the ends that are sockets have in common: calls without blocking, and stamps beside what they carry.

use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::time::Timespec;
use units::ClockId;

use super::address::{RawAddress, Source};
use super::control::{Message, Room, Said};
use super::error::{ReceiveError, SendError};
use super::error_queue::ErrorQueue;
use super::options::{self, Incoming, Outgoing};
use super::stamping::{Numbering, SCM_TS_OPT_ID, Times};
use super::{Counters, Launch, Received, SentStamp, Waited};
use crate::clock::{KernelClock, nanoseconds, now_ns};

/// Room for any datagram.
const ROOM_BYTES: usize = 65_536;

/// The control messages of a packet to send. Either may be left out, as they lie one after the other.
#[repr(C)]
#[derive(Debug)]
struct SendControl {
    id: Message<4>,
    launch: Message<8>,
}

/// A socket with stamps.
#[derive(Debug)]
pub(super) struct MeasuredSocket {
    socket: OwnedFd,
    numbers: Numbering,
    takes_launch: bool,
    control: SendControl,
    queue: ErrorQueue,
    room: Room,
    payload: Box<[u8]>,
    /// Who sent what was received last.
    from: RawAddress,
    counters: Counters,
    /// The kernel's count of dropped packets as it was last seen; it has 32 bits.
    dropped: u32,
    monotonic: KernelClock,
}

impl MeasuredSocket {
    pub(super) fn new(socket: OwnedFd, numbers: Numbering, takes_launch: bool) -> Self {
        let dropped = options::dropped(socket.as_fd());
        Self {
            socket,
            numbers,
            takes_launch,
            control: SendControl { id: Message::new(SCM_TS_OPT_ID), launch: Message::new(libc::SCM_TXTIME) },
            queue: ErrorQueue::new(),
            room: Room::new(),
            // Of ones, so that its pages are touched.
            payload: vec![1; ROOM_BYTES].into_boxed_slice(),
            from: RawAddress::empty(),
            counters: Counters::default(),
            dropped,
            monotonic: ClockId::Monotonic.into(),
        }
    }

    pub(super) fn file(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Sends `head` and `payload` as one packet, of which the payload may have `most_bytes`.
    #[inline]
    pub(super) fn send(
        &mut self,
        to: Option<&RawAddress>,
        head: &[u8],
        payload: &[u8],
        launch: Option<Launch>,
        most_bytes: usize,
    ) -> Result<(), SendError> {
        if launch.is_some() && !self.takes_launch {
            return Err(SendError::NoLaunchTime);
        }
        if let Some(launch) = launch {
            self.control.launch.value = launch.at_ns.to_ne_bytes();
        }
        let id = self.numbers.next_id();
        if let Some(id) = id {
            self.control.id.value = id.to_ne_bytes();
        }
        let control = |control: &SendControl| -> (*const libc::c_void, usize) {
            match (id, launch) {
                (None, None) => (std::ptr::null(), 0),
                (Some(_), None) => ((&raw const control.id).cast(), size_of::<Message<4>>()),
                (None, Some(_)) => ((&raw const control.launch).cast(), size_of::<Message<8>>()),
                (Some(_), Some(_)) => (std::ptr::from_ref(control).cast(), size_of::<SendControl>()),
            }
        };
        let mut status = Outgoing { to, head, payload, control: control(&self.control) }.send(self.socket.as_fd());
        if let Err(errno) = status {
            if errno != libc::EAGAIN && errno != libc::ENOBUFS {
                // The answer to an earlier packet that could not be delivered is returned here once, and this one not sent.
                self.failed(errno);
                status = Outgoing { to, head, payload, control: control(&self.control) }.send(self.socket.as_fd());
            }
        }
        match status {
            Ok(_) => {
                self.numbers.sent_one();
                Ok(())
            }
            Err(errno) => {
                let refused_before = self.counters.launch_invalid;
                self.failed(errno);
                Err(match errno {
                    // Both have one error number; what was reported beside it was read just now.
                    libc::ENOBUFS if self.counters.launch_invalid > refused_before => SendError::LaunchRefused,
                    libc::EAGAIN | libc::ENOBUFS => SendError::Full,
                    libc::EMSGSIZE => SendError::TooLarge { bytes: payload.len(), most_bytes },
                    errno => SendError::Refused { errno },
                })
            }
        }
    }

    /// After a packet that was not sent, with the kernel's error number.
    #[cold]
    fn failed(&mut self, errno: i32) {
        let counts_by_kernel = self.numbers.counts_by_kernel();
        // One that a queueing discipline dropped was stamped on its way there: that stamp must not be taken for the next
        // packet's. And stamps that have come are attributed by the kernel's count before that begins anew.
        if errno == libc::ENOBUFS || counts_by_kernel {
            self.queue.empty(self.socket.as_fd(), &mut self.numbers, &mut self.counters);
        }
        if counts_by_kernel {
            self.numbers.count_anew(self.socket.as_fd());
        }
    }

    /// Hands what was received to `take`, with the address in the kernel's form; `None` of `take` passes it over.
    #[inline]
    pub(super) fn receive<R>(
        &mut self,
        take: impl FnOnce(Received<'_>, &RawAddress) -> Option<R>,
    ) -> Result<Option<R>, ReceiveError> {
        let Some(Taken { payload_bytes, times, vlan_tag }) = self.take_one()? else { return Ok(None) };
        let received = Received {
            payload: self.payload.get(..payload_bytes).unwrap_or_default(),
            stack_ns: times.stack_ns(),
            hardware_ns: times.hardware_ns(),
            source: Source::Raw(&self.from),
            vlan_tag,
        };
        Ok(take(received, &self.from))
    }

    /// Takes what was received into this end's own memory. It is no part of [`Self::receive`], since that is compiled with its caller.
    fn take_one(&mut self) -> Result<Option<Taken>, ReceiveError> {
        let mut is_second = false;
        let call = loop {
            let (payload, room) = (&mut self.payload, &mut self.room);
            match Incoming::receive(self.socket.as_raw_fd(), payload, Some(&mut self.from), room, libc::MSG_DONTWAIT) {
                Ok(call) => break call,
                Err(libc::EAGAIN | libc::EINTR) => return Ok(None),
                Err(errno @ (libc::ENETDOWN | libc::ENODEV | libc::ENXIO | libc::ENOMEM)) => {
                    return Err(ReceiveError { errno });
                }
                // The answer to a packet that could not be delivered is returned here once. The error queue has it too.
                Err(_) if !is_second => is_second = true,
                Err(errno) => return Err(ReceiveError { errno }),
            }
        };
        if call.is_cut {
            self.counters.receive_damaged += 1;
            return Ok(None);
        }
        let (mut times, mut vlan_tag) = (Times::NONE, None);
        for said in self.room.messages(call.control_bytes) {
            if let Some(found) = Times::parse(&said) {
                times = found;
            } else if let Some(found) = parse_vlan_tag(&said) {
                vlan_tag = Some(found);
            }
        }
        Ok(Some(Taken { payload_bytes: call.payload_bytes, times, vlan_tag }))
    }

    #[inline]
    pub(super) fn wait(&mut self, deadline_ns: i64) -> Result<bool, ReceiveError> {
        loop {
            match self.wait_once(deadline_ns.saturating_sub(now_ns(self.monotonic)))? {
                Some(Waited::Packet) => return Ok(true),
                Some(Waited::Over | Waited::Early) => return Ok(false),
                None => {}
            }
        }
    }

    #[inline]
    pub(super) fn wait_for(&mut self, rest_ns: i64) -> Result<Waited, ReceiveError> {
        Ok(self.wait_once(rest_ns)?.unwrap_or(Waited::Early))
    }

    /// Waits for so long; `None` where a stamp of a sent packet ended that.
    #[inline]
    fn wait_once(&mut self, rest_ns: i64) -> Result<Option<Waited>, ReceiveError> {
        let rest_ns = rest_ns.max(0);
        let timeout = Timespec { tv_sec: rest_ns / 1_000_000_000, tv_nsec: nanoseconds(rest_ns % 1_000_000_000) };
        let mut file = [PollFd::from_borrowed_fd(self.socket.as_fd(), PollFlags::IN)];
        match poll(&mut file, Some(&timeout)) {
            Ok(0) => return Ok(Some(Waited::Over)),
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => return Ok(Some(Waited::Early)),
            Err(error) => return Err(ReceiveError { errno: error.raw_os_error() }),
        }
        // A stamp of a sent packet ends the wait as well, and would end each one after it.
        let is_readable = file[0].revents().contains(PollFlags::IN);
        let was_stamp = !is_readable && self.queue.empty(self.socket.as_fd(), &mut self.numbers, &mut self.counters);
        Ok(if was_stamp { None } else { Some(Waited::Packet) })
    }

    #[inline]
    pub(super) fn sent_stamp(&mut self) -> Option<SentStamp> {
        self.queue.next(self.socket.as_fd(), &mut self.numbers, &mut self.counters)
    }

    pub(super) fn counters(&mut self) -> Counters {
        let dropped = options::dropped(self.socket.as_fd());
        self.counters.receive_dropped += u64::from(dropped.wrapping_sub(self.dropped));
        self.dropped = dropped;
        self.counters
    }
}

/// What was received, beside the payload.
struct Taken {
    payload_bytes: usize,
    times: Times,
    vlan_tag: Option<u16>,
}

/// `PACKET_AUXDATA` and its `struct tpacket_auxdata` (include/uapi/linux/if_packet.h): the tag that the driver or the
/// stack took off the frame.
#[inline]
fn parse_vlan_tag(said: &Said<'_>) -> Option<u16> {
    const PACKET_AUXDATA: libc::c_int = 8;
    const VLAN_VALID: u32 = 1 << 4;
    const TAG_AT: usize = 16;
    let is_tagged = (said.level, said.kind) == (libc::SOL_PACKET, PACKET_AUXDATA) && said.u32_at(0) & VLAN_VALID != 0;
    is_tagged.then(|| said.u16_at(TAG_AT))
}

#[cfg(test)]
mod tests {
    use std::mem::offset_of;

    use super::*;
    use crate::packet::Stamps;

    #[test]
    fn control_messages_lie_one_after_the_other() {
        assert_eq!(offset_of!(SendControl, launch), size_of::<Message<4>>());
        assert_eq!(size_of::<SendControl>(), size_of::<Message<4>>() + size_of::<Message<8>>());
    }

    #[test]
    fn a_tag_is_read_where_the_kernel_says_that_there_is_one() {
        let mut data = [0_u8; 20];
        data[16..18].copy_from_slice(&0x6005_u16.to_ne_bytes());
        let tag = |data: &[u8]| parse_vlan_tag(&Said { level: 263, kind: 8, data });
        assert_eq!(tag(&data), None);
        data[..4].copy_from_slice(&0x11_u32.to_ne_bytes());
        assert_eq!(tag(&data), Some(0x6005));
    }

    #[test]
    fn the_kernel_s_own_count_begins_anew_after_a_failure() {
        let socket = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
        let own = RawAddress::from(socket.local_addr().unwrap());
        let stamps = Stamps { stack: true, ..Stamps::default() };
        crate::packet::stamping::enable(socket.as_fd(), stamps).unwrap();
        // As on a kernel that does not take numbers.
        let mut end = MeasuredSocket::new(socket.into(), Numbering::new(stamps, false), false);
        let numbers = |end: &mut MeasuredSocket, packets: usize| -> Vec<u64> {
            for _ in 0..packets {
                end.send(Some(&own), &[], &[1], None, 65_507).unwrap();
            }
            let began = std::time::Instant::now();
            let mut numbers = Vec::new();
            while numbers.len() < packets && began.elapsed() < std::time::Duration::from_secs(5) {
                numbers.extend(end.sent_stamp().map(|stamp| stamp.number));
            }
            numbers
        };
        assert_eq!(numbers(&mut end, 5), [0, 1, 2, 3, 4]);
        for _ in 0..3 {
            let too_large = end.send(Some(&own), &[], &[0; 70_000], None, 65_507).unwrap_err();
            assert_eq!(too_large, SendError::TooLarge { bytes: 70_000, most_bytes: 65_507 });
        }
        assert_eq!(numbers(&mut end, 5), [5, 6, 7, 8, 9]);
        assert_eq!(end.counters(), Counters { receive_dropped: 0, ..Counters::default() });
    }
}
