//! The header of a measured packet: which schedule it belongs to, when it was sent, and a tag that shows who wrote it.
//!
//! All numbers are in network order. The rest of the payload is filler.

use siphasher::sip::SipHasher24;

/// Length of the header (bytes): no measured packet has a smaller payload.
pub const HEADER_BYTES: usize = 80;
/// What every header begins with.
pub(crate) const MAGIC: u32 = 0x504e_4350;
/// The form of the header.
pub(crate) const FORM: u8 = 1;
/// Length of the tag, the last part of the header (bytes).
const TAG_BYTES: usize = 8;
/// The stamps of an earlier packet that are known.
const HAS_STACK_STAMP: u8 = 1;
const HAS_HARDWARE_STAMP: u8 = 2;

/// What the two programs of one run share: packets of others are recognized by it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Session {
    /// Number of the session, the same in each of its packets.
    pub number: u64,
    /// The key of the tags, which never leaves the two programs.
    pub key: [u8; 16],
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Session {{ number: {:016x} }}", self.number)
    }
}

impl Session {
    /// The tag of some bytes: SipHash-2-4 with the key of the session (Aumasson and Bernstein, 2012).
    fn tag(&self, bytes: &[u8]) -> u64 {
        SipHasher24::new_with_key(&self.key).hash(bytes)
    }

    /// Writes the tag of what stands before it at the end of `bytes`.
    pub(crate) fn seal(&self, bytes: &mut [u8]) {
        let Some((body, tag)) = bytes.split_last_chunk_mut::<TAG_BYTES>() else { return };
        *tag = self.tag(body).to_be_bytes();
    }

    /// Whether the last bytes are the tag of those before. Takes the same time wherever they differ.
    pub(crate) fn has_sealed(&self, bytes: &[u8]) -> bool {
        bytes.split_last_chunk::<TAG_BYTES>().is_some_and(|(body, tag)| self.tag(body) ^ u64::from_be_bytes(*tag) == 0)
    }
}

/// What a packet is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Purpose {
    /// Its delay is measured.
    Measured = 0,
    /// It only brings the stamps of the packets before it, at the end of a run.
    FollowUp = 1,
}

/// The stamps that a packet got after it had left the program. They are known too late for the packet itself, so a later
/// one brings them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaterStamps {
    /// Sequence number of the packet that they belong to.
    pub sequence: u64,
    /// When the kernel handed it to the network's driver (ns, `CLOCK_REALTIME` of the sender); `None` if it was not stamped.
    pub stack_ns: Option<i64>,
    /// When the network interface sent it (ns, on its own clock); `None` if it was not stamped.
    pub hardware_ns: Option<i64>,
}

impl LaterStamps {
    /// The earlier one of both, of each kind: a packet that the network doubled is stamped once more for its copy.
    #[inline]
    #[must_use]
    pub fn earliest(self, other: Self) -> Self {
        let earlier = |one: Option<i64>, other: Option<i64>| match (one, other) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        Self {
            sequence: self.sequence,
            stack_ns: earlier(self.stack_ns, other.stack_ns),
            hardware_ns: earlier(self.hardware_ns, other.hardware_ns),
        }
    }
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// What the packet is for.
    pub purpose: Purpose,
    /// Number of the flow.
    pub flow: u8,
    /// The number of its schedule, from 0: a schedule that the sender skipped has no packet.
    pub sequence: u64,
    /// How many packets of the flow were sent before it.
    pub sent_before: u64,
    /// When it was to be sent (ns, `CLOCK_REALTIME` of the sender).
    pub scheduled_ns: i64,
    /// When the program began to send it (ns, `CLOCK_REALTIME` of the sender).
    pub sent_ns: i64,
    /// Stamps of an earlier packet.
    pub earlier: LaterStamps,
}

/// Why some bytes are no packet of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotOurs {
    /// It is something else, or belongs to another session.
    Foreign,
    /// It claims to belong to the session, and its tag is wrong: it was forged or damaged.
    Forged,
}

fn put(to: &mut [u8], at: usize, value: u64) {
    if let Some(place) = to.get_mut(at..at + 8) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

pub(crate) fn word(from: &[u8], at: usize) -> u64 {
    from.get(at..).and_then(<[u8]>::first_chunk::<8>).map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

const fn unsigned(ns: i64) -> u64 {
    u64::from_ne_bytes(ns.to_ne_bytes())
}

pub(crate) fn time_ns(from: &[u8], at: usize) -> i64 {
    i64::from_ne_bytes(word(from, at).to_ne_bytes())
}

/// Writes eight words, beginning with the second one of a packet.
pub(crate) fn put_words<const N: usize>(to: &mut [u8], words: [u64; N]) {
    for (at, value) in words.into_iter().enumerate() {
        put(to, 8 + 8 * at, value);
    }
}

/// The first word of a packet.
pub(crate) fn put_first(to: &mut [u8], purpose: u8, flow: u8, flags: u8) {
    let [a, b, c, d] = MAGIC.to_be_bytes();
    put(to, 0, u64::from_be_bytes([a, b, c, d, FORM, purpose, flow, flags]));
}

/// Whether the first word is that of a packet of this program, and the three bytes that it carries then.
pub(crate) fn first(from: &[u8]) -> Option<[u8; 3]> {
    let [a, b, c, d, form, purpose, flow, flags] = *from.first_chunk::<8>()?;
    (u32::from_be_bytes([a, b, c, d]) == MAGIC && form == FORM).then_some([purpose, flow, flags])
}

pub(crate) const fn word_of_time(ns: i64) -> u64 {
    unsigned(ns)
}

impl Header {
    /// Writes the header, with its tag, to the front of a payload.
    #[inline]
    pub fn write(&self, session: &Session, payload: &mut [u8; HEADER_BYTES]) {
        let flags = if self.earlier.stack_ns.is_some() { HAS_STACK_STAMP } else { 0 }
            | if self.earlier.hardware_ns.is_some() { HAS_HARDWARE_STAMP } else { 0 };
        put_first(payload, self.purpose as u8, self.flow, flags);
        put_words(
            payload,
            [
                session.number,
                self.sequence,
                self.sent_before,
                unsigned(self.scheduled_ns),
                unsigned(self.sent_ns),
                self.earlier.sequence,
                unsigned(self.earlier.stack_ns.unwrap_or(0)),
                unsigned(self.earlier.hardware_ns.unwrap_or(0)),
            ],
        );
        session.seal(payload);
    }

    /// Reads the header of a payload that the session's partner wrote.
    ///
    /// # Errors
    /// If it is something else.
    #[inline]
    pub fn read(session: &Session, payload: &[u8]) -> Result<Self, NotOurs> {
        let bytes = payload.first_chunk::<HEADER_BYTES>().ok_or(NotOurs::Foreign)?;
        let [purpose, flow, flags] = first(bytes).ok_or(NotOurs::Foreign)?;
        if word(bytes, 8) != session.number {
            return Err(NotOurs::Foreign);
        }
        let purpose = match purpose {
            0 => Purpose::Measured,
            1 => Purpose::FollowUp,
            _ => return Err(NotOurs::Foreign),
        };
        if !session.has_sealed(bytes) {
            return Err(NotOurs::Forged);
        }
        let stamp = |flag: u8, at: usize| (flags & flag != 0).then(|| time_ns(bytes, at));
        Ok(Self {
            purpose,
            flow,
            sequence: word(bytes, 16),
            sent_before: word(bytes, 24),
            scheduled_ns: time_ns(bytes, 32),
            sent_ns: time_ns(bytes, 40),
            earlier: LaterStamps {
                sequence: word(bytes, 48),
                stack_ns: stamp(HAS_STACK_STAMP, 56),
                hardware_ns: stamp(HAS_HARDWARE_STAMP, 64),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SESSION: Session = Session { number: 7, key: [9; 16] };

    fn header() -> Header {
        Header {
            purpose: Purpose::Measured,
            flow: 1,
            sequence: 1_000_000_007,
            sent_before: 999_999_990,
            scheduled_ns: 1_790_000_000_000_000_000,
            sent_ns: 1_790_000_000_000_012_345,
            earlier: LaterStamps { sequence: 1_000_000_006, stack_ns: Some(-5), hardware_ns: None },
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = [0; HEADER_BYTES];
        header().write(&SESSION, &mut bytes);
        assert_eq!(Header::read(&SESSION, &bytes), Ok(header()));
        let mut longer = bytes.to_vec();
        longer.extend([0xff; 1_000]);
        assert_eq!(Header::read(&SESSION, &longer), Ok(header()), "what follows is filler");
    }

    #[test]
    fn another_session_is_foreign_and_another_key_a_forgery() {
        let mut bytes = [0; HEADER_BYTES];
        header().write(&SESSION, &mut bytes);
        assert_eq!(Header::read(&Session { number: 8, ..SESSION }, &bytes), Err(NotOurs::Foreign));
        assert_eq!(Header::read(&Session { key: [8; 16], ..SESSION }, &bytes), Err(NotOurs::Forged));
        assert_eq!(Header::read(&SESSION, &bytes[..HEADER_BYTES - 1]), Err(NotOurs::Foreign));
        assert_eq!(Header::read(&SESSION, b"hello"), Err(NotOurs::Foreign));
    }

    proptest! {
        #[test]
        fn no_changed_bit_passes(at in 0..HEADER_BYTES, bit in 0..8_u8) {
            let mut bytes = [0; HEADER_BYTES];
            header().write(&SESSION, &mut bytes);
            bytes[at] ^= 1 << bit;
            prop_assert!(Header::read(&SESSION, &bytes).is_err());
        }

        #[test]
        fn bytes_of_others_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Header::read(&SESSION, &bytes).is_err());
        }
    }
}
