//! The header of a measured packet: which schedule it belongs to, when it was sent, and a tag that shows who wrote it.
//!
//! All numbers are in network order. The rest of the payload is filler.

use crate::tag;

/// Length of the header with the stamps of one earlier packet (bytes): no measured packet has a smaller payload.
pub const HEADER_BYTES: usize = 72;
/// Earlier packets whose stamps a packet brings, at most: where its payload has room for them.
pub const MOST_EARLIER: usize = 3;
/// Length of the header with the stamps of so many earlier packets (bytes).
pub const LARGEST_HEADER_BYTES: usize = HEADER_BYTES + (MOST_EARLIER - 1) * STAMPS_BYTES;
/// What every header begins with.
pub(crate) const MAGIC: u32 = 0x504e_4350;
/// The form of the header.
pub(crate) const FORM: u8 = 1;
/// Length of the tag, the last part of the header (bytes).
const TAG_BYTES: usize = 8;
/// Where the stamps of the first earlier packet stand, and how long those of each are: its number and two times.
const STAMPS_AT: usize = 40;
const STAMPS_BYTES: usize = 24;
/// The stamps of an earlier packet that are known; of the next one, these bits are shifted by two.
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
    /// The tag of what stands before it in a packet, without the number of the session: that is compared by itself, and the key
    /// is the session's too.
    fn tag(&self, bytes: &[u8]) -> u64 {
        tag::of_words(&self.key, [bytes.get(..8), bytes.get(16..)].map(Option::unwrap_or_default))
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

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.stack_ns.is_none() && self.hardware_ns.is_none()
    }
}

/// The stamps of the earlier packets that a packet brings: those that were learned since the packet before it, as far as its payload
/// has room, and else the last one once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlierStamps {
    /// Those that were learned last first.
    known: [LaterStamps; MOST_EARLIER],
    /// How many of them, from the first on, no packet has brought yet.
    fresh: usize,
}

impl EarlierStamps {
    /// Takes a stamp that was learned now. Stamps of one packet come apart, and stand together; those that were learned first
    /// go.
    pub fn take(&mut self, stamps: LaterStamps) {
        if stamps.is_empty() {
            return;
        }
        let is_it = |known: &LaterStamps| known.sequence == stamps.sequence && !known.is_empty();
        if let Some((at, known)) = self.known.iter_mut().enumerate().find(|(_, known)| is_it(known)) {
            *known = known.earliest(stamps);
            self.fresh = self.fresh.max(at + 1);
            return;
        }
        self.known.copy_within(..MOST_EARLIER - 1, 1);
        self.known[0] = stamps;
        self.fresh = (self.fresh + 1).min(MOST_EARLIER);
    }

    /// A packet has brought those that were learned until now.
    #[inline]
    pub const fn brought(&mut self) {
        self.fresh = 0;
    }

    /// Those that are known.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = LaterStamps> {
        self.known.iter().copied().filter(|stamps| !stamps.is_empty())
    }

    /// How many there is room for in a payload.
    #[inline]
    fn fitting(payload_bytes: usize) -> usize {
        (payload_bytes.saturating_sub(STAMPS_AT + TAG_BYTES) / STAMPS_BYTES).min(MOST_EARLIER)
    }

    /// How many stand in a header with these flags; room for one is always there.
    #[inline]
    fn counted(flags: u8) -> usize {
        (1..MOST_EARLIER).rev().find(|at| flags >> (2 * at) & 3 != 0).map_or(1, |last| last + 1)
    }
}

impl From<LaterStamps> for EarlierStamps {
    fn from(stamps: LaterStamps) -> Self {
        let mut earlier = Self::default();
        earlier.take(stamps);
        earlier
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
    /// When the program began to send it (ns, `CLOCK_REALTIME` of the sender).
    pub sent_ns: i64,
    /// Stamps of earlier packets.
    pub earlier: EarlierStamps,
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

/// Writes words, beginning with the second one of a packet.
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
    /// Writes the header, with its tag, to the front of a payload of at least [`HEADER_BYTES`], with the stamps of as many earlier
    /// packets as there is room for. Of a shorter one nothing is written.
    pub fn write(&self, session: &Session, payload: &mut [u8]) {
        let bringing = self.earlier.fresh.clamp(1, EarlierStamps::fitting(payload.len()).max(1));
        let mut flags = 0;
        for (at, stamps) in self.earlier.known.iter().take(bringing).enumerate() {
            let known = if stamps.stack_ns.is_some() { HAS_STACK_STAMP } else { 0 }
                | if stamps.hardware_ns.is_some() { HAS_HARDWARE_STAMP } else { 0 };
            flags |= known << (2 * at);
        }
        let count = EarlierStamps::counted(flags);
        let Some(header) = payload.get_mut(..STAMPS_AT + count * STAMPS_BYTES + TAG_BYTES) else { return };
        put_first(header, self.purpose as u8, self.flow, flags);
        put_words(header, [session.number, self.sequence, self.sent_before, unsigned(self.sent_ns)]);
        for (at, stamps) in self.earlier.known.iter().take(count).enumerate() {
            let place = STAMPS_AT + at * STAMPS_BYTES;
            put(header, place, stamps.sequence);
            put(header, place + 8, unsigned(stamps.stack_ns.unwrap_or(0)));
            put(header, place + 16, unsigned(stamps.hardware_ns.unwrap_or(0)));
        }
        session.seal(header);
    }

    /// Reads the header of a payload that the session's partner wrote.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(session: &Session, payload: &[u8]) -> Result<Self, NotOurs> {
        let bytes = payload.get(..HEADER_BYTES).ok_or(NotOurs::Foreign)?;
        let [purpose, flow, flags] = first(bytes).ok_or(NotOurs::Foreign)?;
        if word(bytes, 8) != session.number {
            return Err(NotOurs::Foreign);
        }
        let purpose = match purpose {
            0 => Purpose::Measured,
            1 => Purpose::FollowUp,
            _ => return Err(NotOurs::Foreign),
        };
        let count = EarlierStamps::counted(flags);
        let bytes = payload.get(..STAMPS_AT + count * STAMPS_BYTES + TAG_BYTES).ok_or(NotOurs::Forged)?;
        if !session.has_sealed(bytes) {
            return Err(NotOurs::Forged);
        }
        let mut earlier = EarlierStamps::default();
        for (at, stamps) in earlier.known.iter_mut().take(count).enumerate() {
            let (place, known) = (STAMPS_AT + at * STAMPS_BYTES, flags >> (2 * at));
            *stamps = LaterStamps {
                sequence: word(bytes, place),
                stack_ns: (known & HAS_STACK_STAMP != 0).then(|| time_ns(bytes, place + 8)),
                hardware_ns: (known & HAS_HARDWARE_STAMP != 0).then(|| time_ns(bytes, place + 16)),
            };
        }
        Ok(Self {
            purpose,
            flow,
            sequence: word(bytes, 16),
            sent_before: word(bytes, 24),
            sent_ns: time_ns(bytes, 32),
            earlier,
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
            sent_ns: 1_790_000_000_000_012_345,
            earlier: LaterStamps { sequence: 1_000_000_006, stack_ns: Some(-5), hardware_ns: None }.into(),
        }
    }

    #[test]
    fn as_many_earlier_stamps_come_along_as_the_payload_has_room_for() {
        let stamps = |sequence| LaterStamps { sequence, stack_ns: Some(50), hardware_ns: Some(-60) };
        let mut earlier = EarlierStamps::default();
        for sequence in 1..=4 {
            earlier.take(LaterStamps { hardware_ns: None, ..stamps(sequence) });
        }
        // The second stamp of a packet comes after the first one of the next.
        earlier.take(LaterStamps { stack_ns: None, ..stamps(3) });
        let known =
            [LaterStamps { hardware_ns: None, ..stamps(4) }, stamps(3), LaterStamps { hardware_ns: None, ..stamps(2) }];
        assert_eq!(earlier.iter().collect::<Vec<_>>(), known);
        for (bytes, expected) in [(72, 1), (95, 1), (96, 2), (119, 2), (120, 3), (1_400, 3)] {
            let mut payload = vec![0xff; bytes];
            Header { earlier, ..header() }.write(&SESSION, &mut payload);
            let read = Header::read(&SESSION, &payload).unwrap();
            assert_eq!(read.earlier.iter().collect::<Vec<_>>(), known[..expected], "{bytes} bytes");
            // A header that was cut claims to be ours.
            let whole = HEADER_BYTES + (expected - 1) * STAMPS_BYTES;
            if expected > 1 {
                assert_eq!(Header::read(&SESSION, &payload[..whole - 1]), Err(NotOurs::Forged));
            }
        }
        assert_eq!(LARGEST_HEADER_BYTES, 120);
        // What came along once does not come again, save the last one where there is no other.
        let brings = |earlier: EarlierStamps| {
            let mut payload = [0; LARGEST_HEADER_BYTES];
            Header { earlier, ..header() }.write(&SESSION, &mut payload);
            Header::read(&SESSION, &payload).unwrap().earlier.iter().map(|one| one.sequence).collect::<Vec<_>>()
        };
        earlier.brought();
        assert_eq!(brings(earlier), [4]);
        earlier.take(stamps(5));
        assert_eq!(brings(earlier), [5]);
        // A late one of a packet before brings that of the last packet along.
        earlier.brought();
        earlier.take(stamps(4));
        assert_eq!(brings(earlier), [5, 4]);
    }

    /// The stamps that a header brought are not its own to bring.
    fn known(mut header: Header) -> Header {
        header.earlier.brought();
        header
    }

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = [0; HEADER_BYTES];
        header().write(&SESSION, &mut bytes);
        assert_eq!(Header::read(&SESSION, &bytes).map(known), Ok(known(header())));
        let mut longer = bytes.to_vec();
        longer.extend([0xff; 1_000]);
        assert_eq!(Header::read(&SESSION, &longer).map(known), Ok(known(header())), "what follows is filler");
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
        fn no_changed_bit_passes(at in 0..LARGEST_HEADER_BYTES, bit in 0..8_u8) {
            let mut bytes = [0; LARGEST_HEADER_BYTES];
            let mut earlier = header().earlier;
            (0..2).for_each(|sequence| earlier.take(LaterStamps { sequence, stack_ns: Some(1), hardware_ns: None }));
            Header { earlier, ..header() }.write(&SESSION, &mut bytes);
            bytes[at] ^= 1 << bit;
            prop_assert!(Header::read(&SESSION, &bytes).is_err());
        }

        #[test]
        fn bytes_of_others_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(Header::read(&SESSION, &bytes).is_err());
        }
    }
}
