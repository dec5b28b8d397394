//! Questions to the kernel's network configuration (`rtnetlink(7)`): nothing is changed by them, and none needs a right.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};

use super::address::socket_length;
use super::options::{self, set};

const REQUEST: u16 = 1;
const DUMP: u16 = 0x300;
/// The answer changed while it was put together.
const DUMP_INTERRUPTED: u16 = 0x10;
const ERROR: u16 = 2;
const DONE: u16 = 3;
const HEADER_BYTES: usize = 16;
const ATTRIBUTE_BYTES: usize = 4;
/// Attribute types carry two flags in their upper bits: nested, and of network byte order.
const TYPE_MASK: u16 = 0x3fff;
/// Longer than what one answer of the kernel's takes: it makes them of at most 32 KiB, unless a single one is larger.
const ROOM_BYTES: usize = 64 * 1024;
const SOL_NETLINK: libc::c_int = 270;
const GET_STRICT_CHK: libc::c_int = 12;
const ATTEMPTS: usize = 10;

/// A socket for questions.
#[derive(Debug)]
pub(super) struct Netlink {
    socket: OwnedFd,
    sequence: u32,
}

/// One answer, without its header.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) body: Vec<u8>,
}

impl Answer {
    /// The attributes after a fixed part of so many bytes.
    pub(super) fn attributes(&self, fixed_bytes: usize) -> Attributes<'_> {
        Attributes { rest: self.body.get(align(fixed_bytes)..).unwrap_or_default() }
    }

    /// The value of an attribute.
    pub(super) fn attribute(&self, fixed_bytes: usize, kind: u16) -> Option<&[u8]> {
        self.attributes(fixed_bytes).find(|(found, _)| *found == kind).map(|(_, value)| value)
    }
}

/// Attributes one after the other, by type and value; ends at one that is damaged.
#[derive(Clone, Debug)]
pub(super) struct Attributes<'a> {
    rest: &'a [u8],
}

impl<'a> Attributes<'a> {
    /// Those that another one holds.
    pub(super) const fn nested(value: &'a [u8]) -> Self {
        Self { rest: value }
    }
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (u16, &'a [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let length = usize::from(u16_at(self.rest, 0)?);
        let kind = u16_at(self.rest, 2)? & TYPE_MASK;
        let value = self.rest.get(ATTRIBUTE_BYTES..length)?;
        self.rest = self.rest.get(align(length)..).unwrap_or_default();
        Some((kind, value))
    }
}

impl Netlink {
    pub(super) fn open() -> io::Result<Self> {
        let socket = options::open(libc::AF_NETLINK, libc::SOCK_RAW, libc::NETLINK_ROUTE)?;
        // Filters of a dump are honored since Linux 4.20; before that all is answered, and what was not asked for ignored.
        let _ = set(socket.as_fd(), SOL_NETLINK, GET_STRICT_CHK, &1);
        let patience = libc::timeval { tv_sec: 2, tv_usec: 0 };
        set(socket.as_fd(), libc::SOL_SOCKET, libc::SO_RCVTIMEO, &patience)?;
        Ok(Self { socket, sequence: 0 })
    }

    /// The one answer to a question.
    pub(super) fn ask(&mut self, kind: u16, fixed: &[u8], attributes: &[(u16, &[u8])]) -> io::Result<Answer> {
        self.send(kind, REQUEST, fixed, attributes)?;
        let mut answers = self.receive(false)?;
        answers.answers.pop().ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
    }

    /// All answers to a question, of one moment.
    pub(super) fn dump(&mut self, kind: u16, fixed: &[u8]) -> io::Result<Vec<Answer>> {
        for _ in 0..ATTEMPTS {
            self.send(kind, REQUEST | DUMP, fixed, &[])?;
            let received = self.receive(true)?;
            if !received.was_interrupted {
                return Ok(received.answers);
            }
        }
        Err(io::Error::other("the network configuration changed each time that it was read"))
    }

    fn send(&mut self, kind: u16, flags: u16, fixed: &[u8], attributes: &[(u16, &[u8])]) -> io::Result<()> {
        self.sequence += 1;
        let mut request = vec![0; HEADER_BYTES];
        request.extend_from_slice(fixed);
        for (kind, value) in attributes {
            request.resize(align(request.len()), 0);
            let length = u16::try_from(ATTRIBUTE_BYTES + value.len()).map_err(io::Error::other)?;
            request.extend_from_slice(&length.to_ne_bytes());
            request.extend_from_slice(&kind.to_ne_bytes());
            request.extend_from_slice(value);
        }
        request.resize(align(request.len()), 0);
        let length = u32::try_from(request.len()).map_err(io::Error::other)?;
        request[..4].copy_from_slice(&length.to_ne_bytes());
        request[4..6].copy_from_slice(&kind.to_ne_bytes());
        request[6..8].copy_from_slice(&flags.to_ne_bytes());
        request[8..12].copy_from_slice(&self.sequence.to_ne_bytes());
        // SAFETY: all zeros is a value of this structure of integers: the kernel, which is process 0.
        let mut kernel: libc::sockaddr_nl = unsafe { MaybeUninit::zeroed().assume_init() };
        kernel.nl_family = libc::sa_family_t::try_from(libc::AF_NETLINK).unwrap_or_default();
        // SAFETY: request and address are valid for reads of their lengths for the length of the call.
        let sent = unsafe {
            libc::sendto(
                self.socket.as_raw_fd(),
                request.as_ptr().cast(),
                request.len(),
                0,
                (&raw const kernel).cast(),
                socket_length(size_of::<libc::sockaddr_nl>()),
            )
        };
        if sent < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }

    fn receive(&self, is_dump: bool) -> io::Result<Received> {
        let mut room = vec![0_u8; ROOM_BYTES];
        let mut received = Received::default();
        loop {
            // SAFETY: the room is valid for writes of its length for the length of the call.
            let bytes =
                unsafe { libc::recv(self.socket.as_raw_fd(), room.as_mut_ptr().cast(), room.len(), libc::MSG_TRUNC) };
            let bytes = usize::try_from(bytes).map_err(|_| io::Error::last_os_error())?;
            let datagram = room.get(..bytes).ok_or_else(|| io::Error::other("an answer of the kernel was cut"))?;
            if received.take(datagram, self.sequence, is_dump)? {
                return Ok(received);
            }
        }
    }
}

#[derive(Debug, Default)]
struct Received {
    answers: Vec<Answer>,
    was_interrupted: bool,
}

impl Received {
    /// Takes the messages of a datagram; whether the answer is complete.
    fn take(&mut self, mut datagram: &[u8], sequence: u32, is_dump: bool) -> io::Result<bool> {
        while let (Some(length), Some(kind), Some(flags), Some(of)) =
            (u32_at(datagram, 0), u16_at(datagram, 4), u16_at(datagram, 6), u32_at(datagram, 8))
        {
            let length = usize::try_from(length).map_err(io::Error::other)?;
            let Some(body) = datagram.get(HEADER_BYTES..length) else { break };
            // An answer to a question that was given up is passed over.
            if of == sequence {
                self.was_interrupted |= flags & DUMP_INTERRUPTED != 0;
                match kind {
                    DONE => return Ok(true),
                    ERROR => {
                        let errno = u32_at(body, 0).map_or(0, |bits| i32::from_ne_bytes(bits.to_ne_bytes()));
                        return if errno == 0 { Ok(true) } else { Err(io::Error::from_raw_os_error(-errno)) };
                    }
                    _ => self.answers.push(Answer { body: body.to_vec() }),
                }
                if !is_dump {
                    return Ok(true);
                }
            }
            datagram = datagram.get(align(length)..).unwrap_or_default();
        }
        Ok(false)
    }
}

const fn align(bytes: usize) -> usize {
    bytes.next_multiple_of(4)
}

/// The two bytes at an offset, in the machine's order.
pub(super) fn u16_at(bytes: &[u8], offset: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(offset..offset + 2)?.try_into().ok()?))
}

/// The four bytes at an offset, in the machine's order.
pub(super) fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
}

/// The four bytes at an offset as a signed number, in the machine's order.
pub(super) fn i32_at(bytes: &[u8], offset: usize) -> Option<i32> {
    Some(i32::from_ne_bytes(bytes.get(offset..offset + 4)?.try_into().ok()?))
}

/// The eight bytes at an offset as a signed number, in the machine's order.
pub(super) fn i64_at(bytes: &[u8], offset: usize) -> Option<i64> {
    Some(i64::from_ne_bytes(bytes.get(offset..offset + 8)?.try_into().ok()?))
}

/// A text that ends in a NUL.
pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.split(|&byte| byte == 0).next().unwrap_or_default()).into_owned()
}

/// An address of 4 or 16 bytes.
pub(super) fn internet_address(bytes: &[u8]) -> Option<std::net::IpAddr> {
    match bytes.len() {
        4 => <[u8; 4]>::try_from(bytes).ok().map(Into::into),
        16 => <[u8; 16]>::try_from(bytes).ok().map(Into::into),
        _ => None,
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// An attribute as the kernel lays it out.
    pub(in crate::packet) fn attribute(kind: u16, value: &[u8]) -> Vec<u8> {
        let mut bytes = u16::try_from(4 + value.len()).unwrap().to_ne_bytes().to_vec();
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(value);
        bytes.resize(align(bytes.len()), 0);
        bytes
    }

    fn message(kind: u16, flags: u16, sequence: u32, body: &[u8]) -> Vec<u8> {
        let mut bytes = u32::try_from(HEADER_BYTES + body.len()).unwrap().to_ne_bytes().to_vec();
        bytes.extend_from_slice(&kind.to_ne_bytes());
        bytes.extend_from_slice(&flags.to_ne_bytes());
        bytes.extend_from_slice(&sequence.to_ne_bytes());
        bytes.extend_from_slice(&[0; 4]);
        bytes.extend_from_slice(body);
        bytes.resize(align(bytes.len()), 0);
        bytes
    }

    #[test]
    fn answers_are_taken_until_they_are_complete() {
        let mut received = Received::default();
        let part = [message(16, 2, 7, b"abcde"), message(16, 2, 6, b"of another"), message(16, 2, 7, b"f")].concat();
        assert!(!received.take(&part, 7, true).unwrap());
        assert!(received.take(&message(DONE, 2, 7, &[0; 4]), 7, true).unwrap());
        assert_eq!(received.answers.iter().map(|one| &*one.body).collect::<Vec<_>>(), [&b"abcde"[..], b"f"]);
        assert!(!received.was_interrupted);
        received.take(&message(16, 2 | DUMP_INTERRUPTED, 7, b""), 7, true).unwrap();
        assert!(received.was_interrupted);
        let refused = received.take(&message(ERROR, 0, 7, &(-19_i32).to_ne_bytes()), 7, false).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(19));
        // What is cut is not an answer.
        assert!(!Received::default().take(&message(16, 2, 7, b"abcde")[..18], 7, false).unwrap());
    }

    #[test]
    fn attributes_are_found_after_the_fixed_part() {
        let body = [vec![9; 6], vec![0; 2], attribute(3, b"lo\0"), attribute(0x8012, &7_u32.to_ne_bytes())].concat();
        let answer = Answer { body };
        assert_eq!(answer.attribute(6, 3).map(text).as_deref(), Some("lo"));
        assert_eq!(answer.attribute(6, 0x12).and_then(|value| u32_at(value, 0)), Some(7));
        assert_eq!(answer.attribute(6, 4), None);
        // Shorter than itself, or longer than what is there.
        for length in [0_u16, 3, 200] {
            assert_eq!(Attributes::nested(&[length.to_ne_bytes(), [1, 0]].concat()).count(), 0);
        }
    }
}
