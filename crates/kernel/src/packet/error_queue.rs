//! A socket's error queue: stamps of sent packets, and packets that were not sent.

use std::os::fd::{AsRawFd as _, BorrowedFd};

use super::control::{Room, Said};
use super::options::Incoming;
use super::stamping::{Numbering, Stamped, TakenBy, Times};
use super::{Counters, SentStamp};

/// `ee_origin` and what goes with it, include/uapi/linux/errqueue.h.
const ORIGIN_ICMP: u8 = 2;
const ORIGIN_ICMP6: u8 = 3;
const ORIGIN_TIMESTAMPING: u8 = 4;
const ORIGIN_TXTIME: u8 = 6;
const TXTIME_INVALID: u8 = 1;
const KIND_QUEUED: u32 = 1;
/// `PACKET_TX_TIMESTAMP`, include/uapi/linux/if_packet.h.
const PACKET_TX_TIMESTAMP: libc::c_int = 16;
/// Stamps that [`super::PacketEndpoint::wait`] takes out of the way before anybody asks for them.
const KEPT: usize = 256;
/// So many messages that are no stamps are read before [`ErrorQueue::next`] returns.
const PASSED_OVER: usize = 64;

/// The error queue of one socket.
#[derive(Debug)]
pub(super) struct ErrorQueue {
    room: Room,
    kept: Box<[SentStamp; KEPT]>,
    first: usize,
    count: usize,
}

impl ErrorQueue {
    pub(super) fn new() -> Self {
        Self { room: Room::new(), kept: Box::new([SentStamp::default(); KEPT]), first: 0, count: 0 }
    }

    /// The next stamp; other messages are counted.
    #[inline]
    pub(super) fn next(
        &mut self,
        socket: BorrowedFd<'_>,
        numbers: &mut Numbering,
        counters: &mut Counters,
    ) -> Option<SentStamp> {
        if self.count > 0 {
            let stamp = self.kept[self.first];
            (self.first, self.count) = ((self.first + 1) % KEPT, self.count - 1);
            return Some(stamp);
        }
        self.read(socket, numbers, counters)
    }

    /// Takes all that lies there out of the queue, so that it does not end a wait again; whether there was anything.
    pub(super) fn empty(&mut self, socket: BorrowedFd<'_>, numbers: &mut Numbering, counters: &mut Counters) -> bool {
        let before = *counters;
        let mut found = false;
        while let Some(stamp) = self.read(socket, numbers, counters) {
            found = true;
            if self.count == KEPT {
                counters.stamps_lost += 1;
            } else {
                self.kept[(self.first + self.count) % KEPT] = stamp;
                self.count += 1;
            }
        }
        found || *counters != before
    }

    #[inline]
    fn read(&mut self, socket: BorrowedFd<'_>, numbers: &mut Numbering, counters: &mut Counters) -> Option<SentStamp> {
        const FLAGS: libc::c_int = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
        for _ in 0..PASSED_OVER {
            let call = Incoming::receive(socket.as_raw_fd(), &mut [], None, &mut self.room, FLAGS).ok()?;
            let (mut times, mut error) = (Times::NONE, ExtendedError::NONE);
            for said in self.room.messages(call.control_bytes) {
                if let Some(found) = Times::parse(&said) {
                    times = found;
                } else if let Some(found) = ExtendedError::parse(&said) {
                    error = found;
                }
            }
            match error.origin {
                ORIGIN_TIMESTAMPING if times != Times::NONE => {
                    let taken_by = match (error.info, times.hardware_ns()) {
                        (KIND_QUEUED, _) => TakenBy::Queue,
                        (_, None) => TakenBy::Driver,
                        (_, Some(_)) => TakenBy::Hardware,
                    };
                    let number = match numbers.attribute(error.data, taken_by) {
                        Stamped::Number(number) => number,
                        Stamped::Unsent => continue,
                        Stamped::Unknown => {
                            counters.stamps_lost += 1;
                            continue;
                        }
                    };
                    let is_queued = taken_by == TakenBy::Queue;
                    return Some(SentStamp {
                        number,
                        queued_ns: times.stack_ns().filter(|_| is_queued),
                        stack_ns: times.stack_ns().filter(|_| !is_queued),
                        hardware_ns: times.hardware_ns(),
                    });
                }
                ORIGIN_TIMESTAMPING => counters.stamps_lost += 1,
                ORIGIN_TXTIME if error.code == TXTIME_INVALID => counters.launch_invalid += 1,
                ORIGIN_TXTIME => counters.launch_missed += 1,
                ORIGIN_ICMP | ORIGIN_ICMP6 => counters.undeliverable += 1,
                _ => {}
            }
        }
        None
    }
}

/// `struct sock_extended_err`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ExtendedError {
    origin: u8,
    code: u8,
    info: u32,
    data: u32,
}

impl ExtendedError {
    /// `SO_EE_ORIGIN_NONE`.
    const NONE: Self = Self { origin: 0, code: 0, info: 0, data: 0 };

    #[inline]
    fn parse(said: &Said<'_>) -> Option<Self> {
        let is_error = matches!(
            (said.level, said.kind),
            (libc::SOL_IP, libc::IP_RECVERR)
                | (libc::SOL_IPV6, libc::IPV6_RECVERR)
                | (libc::SOL_PACKET, PACKET_TX_TIMESTAMP)
        );
        if !is_error || said.data.len() < 16 {
            return None;
        }
        Some(Self { origin: said.data[4], code: said.data[6], info: said.u32_at(8), data: said.u32_at(12) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_read_as_the_kernel_lays_it_out() {
        let mut data = [0_u8; 16];
        (data[4], data[6]) = (4, 2);
        data[8..12].copy_from_slice(&1_u32.to_ne_bytes());
        data[12..].copy_from_slice(&77_u32.to_ne_bytes());
        let expected = Some(ExtendedError { origin: 4, code: 2, info: 1, data: 77 });
        for (level, kind) in [(0, 11), (41, 25), (263, 16)] {
            assert_eq!(ExtendedError::parse(&Said { level, kind, data: &data }), expected);
        }
        assert_eq!(ExtendedError::parse(&Said { level: 1, kind: 11, data: &data }), None);
        assert_eq!(ExtendedError::parse(&Said { level: 0, kind: 11, data: &data[..15] }), None);
    }
}
