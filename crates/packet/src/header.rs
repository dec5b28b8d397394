//! The header of a measured packet: which schedule it belongs to, when it was sent, and a tag that shows who wrote it.
//!
//! All numbers are in network order. The rest of the payload is filler.

use std::num::NonZeroI64;

use crate::stamps::{EarlierStamps, LaterStamps, MOST_EARLIER};
use crate::tag;

/// Length of the header with both stamps of one earlier packet (bytes): no measured packet has a smaller payload.
pub const HEADER_BYTES: usize = STAMPS_AT + LONG_STAMPS_BYTES + TAG_BYTES;
/// Length of the header with all stamps of so many earlier packets (bytes).
pub const LARGEST_HEADER_BYTES: usize = STAMPS_AT + MOST_EARLIER * LONG_STAMPS_BYTES + TAG_BYTES;
/// Length of what a packet can bring for its kind: two words (bytes).
pub const WORDS_BYTES: usize = 16;
/// What every header begins with.
pub(crate) const MAGIC: u32 = 0x504e_4350;
/// The kind of a measured packet; those of the messages that compare clocks are others.
const MEASURED: u8 = 0;
/// The form of the header.
pub(crate) const FORM: u8 = 2;
/// Length of the tag, the last part of the header (bytes).
const TAG_BYTES: usize = 8;
/// Where the packet's own numbers stand, after the first word and the number of the session: its sequence, what it is with how many
/// were sent before it, and its time.
const NUMBERS_AT: usize = 16;
/// Where the stamps of the first earlier packet stand.
const STAMPS_AT: usize = 40;
/// How many were sent before has so many bits: enough for two centuries at 50,000 a second. The byte above them says what the packet
/// is for and how many stamps it brings, the one above that its flow.
const COUNT_BITS: u32 = 48;
const KIND_AT: usize = 25;
const FLOW_AT: usize = 24;
/// In the byte of what a packet is: [`Purpose::FollowUp`].
const IS_FOLLOW_UP: u8 = 0x40;
/// In the same byte: two words for the packet's kind stand behind the stamps.
const HAS_WORDS: u8 = 0x20;
/// In the same byte, the bits that say how many stamps there are.
const STAMPS_MASK: u8 = 0x1f;
/// How long those of each are: in 16 bits how many numbers it is before this packet, in 48 how much this one was sent after its
/// kernel's stamp; and where interfaces stamp, the time of the interface.
const STAMPS_BYTES: usize = 8;
const LONG_STAMPS_BYTES: usize = 16;
/// In the same byte: each has an interface's stamp too.
const ARE_LONG: u8 = 0x80;
/// The bits of [`STAMPS_BYTES`] that are a time: signed, up to 39 hours.
const AGE_BITS: u32 = 48;
/// No stamp of the kernel's.
const NO_AGE_NS: i64 = -(1 << (AGE_BITS - 1));

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
    /// The tag of a message: of what stands before it, without the number of the session. That is compared by itself, and the key
    /// is the session's too.
    fn tag(&self, bytes: &[u8]) -> u64 {
        tag::of_parts(&self.key, [bytes.get(..8), bytes.get(16..)].map(Option::unwrap_or_default))
    }

    /// The tag of a measured packet: also without the first word, which is the same in all of them and compared as well.
    #[inline]
    fn packet_tag(&self, bytes: &[u8]) -> u64 {
        let bytes = bytes.get(NUMBERS_AT..).unwrap_or_default();
        // With one earlier stamp, and with two words for its kind beside.
        if let Ok(four) = bytes.try_into() {
            tag::of_four(&self.key, four)
        } else if let Ok(six) = bytes.try_into() {
            tag::of_six(&self.key, six)
        } else {
            tag::of_parts(&self.key, [bytes, &[]])
        }
    }

    /// Writes the tag of what stands before it at the end of a message.
    pub(crate) fn seal(&self, bytes: &mut [u8]) {
        let Some((body, tag)) = bytes.split_last_chunk_mut::<TAG_BYTES>() else { return };
        *tag = self.tag(body).to_be_bytes();
    }

    /// Whether the last bytes of a message are the tag of those before. Takes the same time wherever they differ.
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

#[inline(always)]
fn put(to: &mut [u8], at: usize, value: u64) {
    if let Some(place) = to.get_mut(at..at + 8) {
        place.copy_from_slice(&value.to_be_bytes());
    }
}

#[inline(always)]
pub(crate) fn word(from: &[u8], at: usize) -> u64 {
    from.get(at..).and_then(<[u8]>::first_chunk::<8>).map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The same bits; a number that is not below zero is the same.
#[inline(always)]
pub(crate) const fn unsigned(ns: i64) -> u64 {
    u64::from_ne_bytes(ns.to_ne_bytes())
}

const fn signed(word: u64) -> i64 {
    i64::from_ne_bytes(word.to_ne_bytes())
}

#[inline(always)]
pub(crate) fn time_ns(from: &[u8], at: usize) -> i64 {
    signed(word(from, at))
}

/// Writes words, beginning with the second one of a packet.
#[inline(always)]
pub(crate) fn put_words<const N: usize>(to: &mut [u8], words: [u64; N]) {
    for (at, value) in words.into_iter().enumerate() {
        put(to, 8 + 8 * at, value);
    }
}

/// The first word of a packet.
#[inline(always)]
pub(crate) fn put_first(to: &mut [u8], kind: u8) {
    let [a, b, c, d] = MAGIC.to_be_bytes();
    put(to, 0, u64::from_be_bytes([a, b, c, d, FORM, kind, 0, 0]));
}

/// The kind of message that a packet of this program begins with; `None` of others.
#[inline(always)]
pub(crate) fn first(from: &[u8]) -> Option<u8> {
    let [a, b, c, d, form, kind, 0, 0] = *from.first_chunk::<8>()? else { return None };
    (u32::from_be_bytes([a, b, c, d]) == MAGIC && form == FORM).then_some(kind)
}

/// How many stamps of such a length there is room for in a payload.
#[inline]
const fn fitting(payload_bytes: usize, stamps_bytes: usize) -> usize {
    payload_bytes.saturating_sub(STAMPS_AT + TAG_BYTES) / stamps_bytes
}

impl Header {
    /// Writes the header, with its tag, to the front of a payload of at least [`HEADER_BYTES`], with the stamps of as many earlier
    /// packets as there is room for. Of a shorter one nothing is written.
    #[inline]
    pub fn write(&self, session: &Session, payload: &mut [u8]) {
        self.write_with(session, None, payload);
    }

    /// The same with two words for the packet's kind, which the tag covers too: they take [`WORDS_BYTES`] more, also in the shortest
    /// payload.
    pub fn write_with(&self, session: &Session, words: Option<[u64; 2]>, payload: &mut [u8]) {
        let words_bytes = if words.is_some() { WORDS_BYTES } else { 0 };
        if payload.len() < HEADER_BYTES + words_bytes {
            return;
        }
        let fresh = usize::from(self.earlier.fresh).clamp(1, MOST_EARLIER);
        let are_long = self.earlier.known[..fresh].iter().any(|stamps| stamps.hardware_ns.is_some());
        let (stamps_bytes, long) = if are_long { (LONG_STAMPS_BYTES, ARE_LONG) } else { (STAMPS_BYTES, 0) };
        let count = fresh.min(fitting(payload.len() - words_bytes, stamps_bytes));
        let words_at = STAMPS_AT + count * stamps_bytes;
        let Some(header) = payload.get_mut(..words_at + words_bytes + TAG_BYTES) else { return };
        if let Some([first, second]) = words {
            put(header, words_at, first);
            put(header, words_at + 8, second);
        }
        let Some((front, rest)) = header.split_first_chunk_mut::<STAMPS_AT>() else { return };
        put_first(front, MEASURED);
        let purpose = if self.purpose == Purpose::FollowUp { IS_FOLLOW_UP } else { 0 };
        let kind = u8::try_from(count).unwrap_or(0) | long | purpose | if words.is_some() { HAS_WORDS } else { 0 };
        let sent_before = self.sent_before & ((1 << COUNT_BITS) - 1);
        let what = u64::from(u16::from_be_bytes([self.flow, kind])) << COUNT_BITS | sent_before;
        put_words(front, [session.number, self.sequence, what, unsigned(self.sent_ns)]);
        for (place, stamps) in rest.chunks_exact_mut(stamps_bytes).zip(&self.earlier.known[..count]) {
            put(place, 0, self.before_this(stamps));
            put(place, STAMPS_BYTES, unsigned(stamps.hardware_ns.map_or(0, NonZeroI64::get)));
        }
        let Some((body, tag)) = header.split_last_chunk_mut::<TAG_BYTES>() else { return };
        *tag = session.packet_tag(body).to_be_bytes();
    }

    /// Number and kernel's stamp of an earlier packet in one word; 0 where they are too far from this packet's own.
    #[inline]
    fn before_this(&self, stamps: &LaterStamps) -> u64 {
        let numbers = self.sequence.wrapping_sub(stamps.sequence);
        let age_ns = stamps.stack_ns.map_or(NO_AGE_NS, |ns| self.sent_ns.wrapping_sub(ns.get()));
        let is_near = (1..1 << (u64::BITS - AGE_BITS)).contains(&numbers) && (NO_AGE_NS..-NO_AGE_NS).contains(&age_ns);
        if is_near { numbers << AGE_BITS | unsigned(age_ns) & ((1 << AGE_BITS) - 1) } else { 0 }
    }
}

/// Length of what stands before the tag (bytes), at most.
const UNSEALED_BYTES: usize = LARGEST_HEADER_BYTES - TAG_BYTES;

/// A header as it came, whose tag was found right. What it says is read when somebody asks: who receives is in a hurry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Genuine([u8; UNSEALED_BYTES]);

impl Genuine {
    /// Reads the header of a payload that the session's partner wrote.
    ///
    /// # Errors
    /// If it is something else.
    pub fn read(session: &Session, payload: &[u8]) -> Result<Self, NotOurs> {
        Self::check(session, payload)?;
        Ok(Self::copied(payload))
    }

    /// The flow of a payload that the session's partner wrote; an error of others.
    #[inline]
    pub(crate) fn check(session: &Session, payload: &[u8]) -> Result<u8, NotOurs> {
        let front = payload.first_chunk::<STAMPS_AT>().ok_or(NotOurs::Foreign)?;
        let is_ours = first(front) == Some(MEASURED) && word(front, 8) == session.number;
        if !is_ours || payload.len() < HEADER_BYTES {
            return Err(NotOurs::Foreign);
        }
        let kind = front[KIND_AT];
        let words_at = words_at(kind);
        let end = words_at + if kind & HAS_WORDS == 0 { 0 } else { WORDS_BYTES };
        let Some((body, tag)) = payload.get(..end + TAG_BYTES).and_then(<[u8]>::split_last_chunk::<TAG_BYTES>) else {
            return Err(NotOurs::Forged);
        };
        // Takes the same time wherever they differ. Whoever made the tag knows how many stamps there can be.
        let is_genuine = session.packet_tag(body) ^ u64::from_be_bytes(*tag) == 0 && words_at <= UNSEALED_BYTES;
        if is_genuine { Ok(front[FLOW_AT]) } else { Err(NotOurs::Forged) }
    }

    /// The header of a payload that was checked. What stands behind its tag is never looked at.
    #[inline]
    pub(crate) fn copied(payload: &[u8]) -> Self {
        Self::whole(payload).unwrap_or_else(|| Self::padded(payload))
    }

    /// The same, where the payload is at least as long as the longest header.
    #[inline(always)]
    pub(crate) fn whole(payload: &[u8]) -> Option<Self> {
        payload.first_chunk().copied().map(Self)
    }

    /// The same, of a shorter payload.
    #[cold]
    pub(crate) fn padded(payload: &[u8]) -> Self {
        let mut bytes = [0; UNSEALED_BYTES];
        bytes.iter_mut().zip(payload).for_each(|(to, from)| *to = *from);
        Self(bytes)
    }

    /// What the packet is for.
    #[inline(always)]
    #[must_use]
    pub const fn purpose(&self) -> Purpose {
        if self.0[KIND_AT] & IS_FOLLOW_UP == 0 { Purpose::Measured } else { Purpose::FollowUp }
    }

    /// As [`Header::flow`].
    #[inline(always)]
    #[must_use]
    pub const fn flow(&self) -> u8 {
        self.0[FLOW_AT]
    }

    /// As [`Header::sequence`].
    #[inline(always)]
    #[must_use]
    pub fn sequence(&self) -> u64 {
        word(&self.0, 16)
    }

    /// As [`Header::sent_before`].
    #[inline(always)]
    #[must_use]
    pub fn sent_before(&self) -> u64 {
        word(&self.0, FLOW_AT) & ((1 << COUNT_BITS) - 1)
    }

    /// As [`Header::sent_ns`].
    #[inline(always)]
    #[must_use]
    pub fn sent_ns(&self) -> i64 {
        time_ns(&self.0, 32)
    }

    /// As [`Header::earlier`].
    #[inline]
    pub fn earlier(&self) -> impl Iterator<Item = LaterStamps> {
        let kind = self.0[KIND_AT];
        let bytes = stamps_bytes(kind);
        let one = move |number: usize| {
            let at = STAMPS_AT + number * bytes;
            let hardware_ns = if bytes == STAMPS_BYTES { 0 } else { time_ns(&self.0, at + STAMPS_BYTES) };
            self.earlier_one(word(&self.0, at), hardware_ns)
        };
        // Nearly always one, by the kernel.
        let is_one = kind & (ARE_LONG | STAMPS_MASK) == 1;
        let only = if is_one { self.earlier_one(word(&self.0, STAMPS_AT), 0) } else { None };
        let others = if is_one { 0 } else { usize::from(kind & STAMPS_MASK) };
        only.into_iter().chain((0..others).filter_map(one))
    }

    /// What [`Header::before_this`] has written; `None` where that is nothing.
    #[inline]
    fn earlier_one(&self, word: u64, hardware_ns: i64) -> Option<LaterStamps> {
        let numbers = word >> AGE_BITS;
        let age_ns = signed(word << (u64::BITS - AGE_BITS)) >> (u64::BITS - AGE_BITS);
        let stack_ns = if age_ns == NO_AGE_NS { None } else { NonZeroI64::new(self.sent_ns().wrapping_sub(age_ns)) };
        let hardware_ns = NonZeroI64::new(hardware_ns);
        let stamps = LaterStamps { sequence: self.sequence().wrapping_sub(numbers), stack_ns, hardware_ns };
        (numbers > 0 && !stamps.is_empty()).then_some(stamps)
    }
}

/// The two words that a payload brings for its kind, once it was found genuine; `None` where it brings none.
#[inline(always)]
#[must_use]
pub fn words(payload: &[u8]) -> Option<[u64; 2]> {
    let kind = *payload.get(KIND_AT).filter(|kind| **kind & HAS_WORDS != 0)?;
    let at = words_at(kind);
    Some([word(payload, at), word(payload, at + 8)])
}

/// Where the stamps end, by the byte of what a packet is.
#[inline(always)]
const fn words_at(kind: u8) -> usize {
    STAMPS_AT + (kind & STAMPS_MASK) as usize * stamps_bytes(kind)
}

/// How long the stamps of an earlier packet are, by the byte of what a packet is.
#[inline(always)]
const fn stamps_bytes(kind: u8) -> usize {
    if kind & ARE_LONG == 0 { STAMPS_BYTES } else { LONG_STAMPS_BYTES }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::stamps::stamp;

    const SESSION: Session = Session { number: 7, key: [9; 16] };

    fn header() -> Header {
        Header {
            purpose: Purpose::Measured,
            flow: 1,
            sequence: 1_000_000_007,
            sent_before: 999_999_990,
            sent_ns: 1_790_000_000_000_012_345,
            earlier: LaterStamps { hardware_ns: None, ..stamps(6) }.into(),
        }
    }

    /// All that a genuine header says.
    fn read(session: &Session, payload: &[u8]) -> Result<Header, NotOurs> {
        Genuine::read(session, payload).map(|header| {
            let mut earlier = EarlierStamps::default();
            header.earlier().collect::<Vec<_>>().into_iter().rev().for_each(|stamps| earlier.take(stamps));
            Header {
                purpose: header.purpose(),
                flow: header.flow(),
                sequence: header.sequence(),
                sent_before: header.sent_before(),
                sent_ns: header.sent_ns(),
                earlier,
            }
        })
    }

    /// Stamps of a packet that was sent shortly before, by the last digits of its number.
    fn stamps(number: u8) -> LaterStamps {
        let stack_ns = stamp(Some(1_790_000_000_000_000_000 + i64::from(number)));
        LaterStamps { sequence: 1_000_000_000 + u64::from(number), stack_ns, hardware_ns: stamp(Some(-60)) }
    }

    #[test]
    fn as_many_earlier_stamps_come_along_as_the_payload_has_room_for() {
        let mut earlier = EarlierStamps::default();
        for number in 1..=4 {
            earlier.take(LaterStamps { hardware_ns: None, ..stamps(number) });
        }
        // The second stamp of a packet comes after the first one of the next.
        earlier.take(LaterStamps { stack_ns: None, ..stamps(3) });
        let known =
            [LaterStamps { hardware_ns: None, ..stamps(4) }, stamps(3), LaterStamps { hardware_ns: None, ..stamps(2) }];
        assert_eq!(earlier.iter().collect::<Vec<_>>(), known);
        let mut without = EarlierStamps::default();
        known.iter().rev().for_each(|one| without.take(LaterStamps { hardware_ns: None, ..*one }));
        let of_kernel: Vec<_> = without.iter().collect();
        // Those of interfaces take more room.
        let cases = [
            (earlier, &known[..], LONG_STAMPS_BYTES, [(64, 1), (79, 1), (80, 2), (95, 2), (96, 3), (1_400, 3)]),
            (without, &of_kernel[..], STAMPS_BYTES, [(64, 2), (71, 2), (72, 3), (80, 3), (96, 3), (1_400, 3)]),
        ];
        for (earlier, known, stamps_bytes, rooms) in cases {
            for (bytes, expected) in rooms {
                let mut payload = vec![0xff; bytes];
                Header { earlier, ..header() }.write(&SESSION, &mut payload);
                let came = read(&SESSION, &payload).unwrap();
                assert_eq!(came.earlier.iter().collect::<Vec<_>>(), known[..expected], "{bytes} bytes");
                // A header that was cut claims to be ours.
                let whole = STAMPS_AT + expected * stamps_bytes + TAG_BYTES;
                if whole > HEADER_BYTES {
                    assert_eq!(read(&SESSION, &payload[..whole - 1]), Err(NotOurs::Forged));
                }
            }
        }
        assert_eq!((HEADER_BYTES, LARGEST_HEADER_BYTES), (64, 96));
        // What came along once does not come again, save the last one where there is no other.
        let brings = |earlier: EarlierStamps| {
            let mut payload = [0; LARGEST_HEADER_BYTES];
            Header { earlier, ..header() }.write(&SESSION, &mut payload);
            read(&SESSION, &payload).unwrap().earlier.iter().map(|one| one.sequence - 1_000_000_000).collect::<Vec<_>>()
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

    #[test]
    fn what_is_written_is_read() {
        let mut bytes = [0; HEADER_BYTES];
        header().write(&SESSION, &mut bytes);
        assert_eq!(read(&SESSION, &bytes), Ok(header()));
        let mut longer = bytes.to_vec();
        longer.extend([0xff; 1_000]);
        assert_eq!(read(&SESSION, &longer), Ok(header()), "what follows is filler");
    }

    #[test]
    fn another_session_is_foreign_and_another_key_a_forgery() {
        let mut bytes = [0; HEADER_BYTES];
        header().write(&SESSION, &mut bytes);
        assert_eq!(read(&Session { number: 8, ..SESSION }, &bytes), Err(NotOurs::Foreign));
        assert_eq!(read(&Session { key: [8; 16], ..SESSION }, &bytes), Err(NotOurs::Forged));
        assert_eq!(read(&SESSION, &bytes[..HEADER_BYTES - 1]), Err(NotOurs::Foreign));
        assert_eq!(read(&SESSION, b"hello"), Err(NotOurs::Foreign));
    }

    #[test]
    fn words_of_a_kind_come_along_with_every_stamp_and_under_the_one_tag() {
        let words = [0x0102_0304_0506_0708, u64::MAX];
        let mut earlier = EarlierStamps::default();
        (1..=4).for_each(|number| earlier.take(stamps(number)));
        let least = HEADER_BYTES + WORDS_BYTES;
        let one = Header { earlier: stamps(6).into(), ..header() };
        for (header, bytes, stamps) in [(header(), least, 1), (one, least, 1), (Header { earlier, ..header() }, 112, 3)]
        {
            let mut payload = vec![0xff; bytes];
            header.write_with(&SESSION, Some(words), &mut payload);
            let came = read(&SESSION, &payload).unwrap();
            assert_eq!((came.sequence, came.sent_ns, came.purpose), (header.sequence, header.sent_ns, header.purpose));
            assert_eq!(came.earlier.iter().count(), stamps);
            assert_eq!(super::words(&payload), Some(words));
            for bit in 0..payload.len() * 8 {
                let mut changed = payload.clone();
                changed[bit / 8] ^= 1 << (bit % 8);
                let is_filler = read(&SESSION, &changed) == Ok(came);
                assert!(!is_filler || super::words(&changed) == Some(words), "bit {bit}");
                assert!(!is_filler || bit / 8 >= STAMPS_AT + WORDS_BYTES + STAMPS_BYTES + TAG_BYTES, "bit {bit}");
            }
            assert!(read(&SESSION, &payload[..least - WORDS_BYTES]).is_err(), "cut");
            header.write(&SESSION, &mut payload);
            assert_eq!(super::words(&payload), None);
        }
        let mut short = vec![0; least - 1];
        header().write_with(&SESSION, Some(words), &mut short);
        assert!(short.iter().all(|byte| *byte == 0), "nothing is written");
        assert_eq!(super::words(&[]), None);
    }

    proptest! {
        #[test]
        fn no_changed_bit_passes(at in 0..LARGEST_HEADER_BYTES, bit in 0..8_u8) {
            let mut bytes = [0; LARGEST_HEADER_BYTES];
            let mut earlier = header().earlier;
            (4..6).for_each(|number| earlier.take(stamps(number)));
            Header { earlier, ..header() }.write(&SESSION, &mut bytes);
            prop_assert!(read(&SESSION, &bytes).is_ok());
            bytes[at] ^= 1 << bit;
            prop_assert!(read(&SESSION, &bytes).is_err());
        }

        #[test]
        fn stamps_come_along_as_they_are_or_not_at_all(
            numbers in 0..70_000_u64, age_ns in any::<i64>(), shift in 0..63_u32, has_stack in any::<bool>(), hardware_ns in any::<i64>(),
        ) {
            let age_ns = age_ns >> shift;
            let stack_ns = stamp(has_stack.then(|| header().sent_ns.wrapping_sub(age_ns)));
            let sequence = header().sequence - numbers;
            let one = LaterStamps { sequence, stack_ns, hardware_ns: stamp(Some(hardware_ns)) };
            let mut bytes = [0; LARGEST_HEADER_BYTES];
            Header { earlier: one.into(), ..header() }.write(&SESSION, &mut bytes);
            let came: Vec<_> = read(&SESSION, &bytes).unwrap().earlier.iter().collect();
            let is_near = (1..65_536).contains(&numbers) && (stack_ns.is_none() || age_ns.saturating_abs() < 1 << 47);
            prop_assert_eq!(came, if is_near && !one.is_empty() { vec![one] } else { Vec::new() });
        }

        #[test]
        fn bytes_of_others_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            prop_assert!(read(&SESSION, &bytes).is_err());
        }
    }
}
