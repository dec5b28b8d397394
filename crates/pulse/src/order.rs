//! An order to act: what stands in a packet right behind its header, with a tag of its own.
//!
//! All numbers are in network order. An order says when the output is to be active, and until when: a lost one leaves no output
//! active, and inverts nothing of what follows.

use packet::header::{HEADER_BYTES, Session};

/// Length of an order (bytes).
const ORDER_BYTES: usize = 56;
/// Length of the smallest payload of a packet with an order (bytes).
pub const LEAST_BYTES: usize = HEADER_BYTES + ORDER_BYTES;
/// What every order begins with, the number of its form at the end.
const MAGIC: u64 = 0x504e_434f_0000_0001;
/// The level of an output that is active; there is no order for another one.
const ACTIVE: u64 = 1;

/// An order to act at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// When the output is to become active (ns, `CLOCK_REALTIME` of the server).
    pub act_at_ns: i64,
    /// When it is to be at its safe level again (ns, `CLOCK_REALTIME` of the server).
    pub until_ns: i64,
}

/// The words of an order before its tag; the number of the session stands where its tag leaves it out.
fn words(order: &Order, session: &Session, sequence: u64) -> [u64; 6] {
    let [act_at, until] = [order.act_at_ns, order.until_ns].map(|ns| u64::from_ne_bytes(ns.to_ne_bytes()));
    [MAGIC, session.number, sequence, act_at, until, ACTIVE]
}

impl Order {
    /// Writes the order of a sequence number into a payload of at least [`LEAST_BYTES`], behind the header. Of a shorter one nothing
    /// is written.
    #[inline]
    pub fn write(&self, session: &Session, sequence: u64, payload: &mut [u8]) {
        let Some(place) = payload.get_mut(HEADER_BYTES..LEAST_BYTES) else { return };
        for (to, word) in place.chunks_exact_mut(8).zip(words(self, session, sequence)) {
            to.copy_from_slice(&word.to_be_bytes());
        }
        session.seal(place);
    }

    /// Reads the order of a packet whose header has this sequence number; `None` if that is none, or its tag is wrong.
    #[inline]
    #[must_use]
    pub fn read(session: &Session, sequence: u64, payload: &[u8]) -> Option<Self> {
        let place: &[u8; ORDER_BYTES] = payload.get(HEADER_BYTES..)?.first_chunk()?;
        let word =
            |at: usize| place.get(8 * at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_be_bytes(*bytes));
        let [magic, number, of, act_at, until, level, tag] =
            [word(0), word(1), word(2), word(3), word(4), word(5), word(6)];
        let [act_at_ns, until_ns] = [act_at, until].map(|ns| i64::from_ne_bytes(ns.to_ne_bytes()));
        let is_of_this = magic == MAGIC && number == session.number && of == sequence && level == ACTIVE;
        // In the same time wherever the tags differ.
        let is_sealed = session.tag_of_words([magic, of, act_at, until, level]) ^ tag == 0;
        (is_sealed && is_of_this && act_at_ns < until_ns).then_some(Self { act_at_ns, until_ns })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SESSION: Session = Session { number: 7, key: [9; 16] };

    proptest! {
        #[test]
        fn an_order_reads_back_and_a_changed_one_does_not(
            act_at_ns in -5_i64..i64::MAX / 2, takes_ns in 1_i64..1_000_000_000, sequence: u64,
            at in 0..ORDER_BYTES * 8, rest in 0_usize..40,
        ) {
            let order = Order { act_at_ns, until_ns: act_at_ns + takes_ns };
            let mut payload = vec![0; LEAST_BYTES + rest];
            order.write(&SESSION, sequence, &mut payload);
            prop_assert_eq!(Order::read(&SESSION, sequence, &payload), Some(order));
            prop_assert_eq!(Order::read(&SESSION, sequence ^ 1, &payload), None, "of another packet");
            prop_assert_eq!(Order::read(&Session { number: 8, ..SESSION }, sequence, &payload), None);
            prop_assert_eq!(Order::read(&Session { key: [8; 16], ..SESSION }, sequence, &payload), None);
            payload[HEADER_BYTES + at / 8] ^= 1 << (at % 8);
            prop_assert_eq!(Order::read(&SESSION, sequence, &payload), None);
        }
    }

    #[test]
    fn what_is_too_short_or_ends_before_it_begins_is_no_order() {
        let mut payload = [0; LEAST_BYTES];
        Order { act_at_ns: 5, until_ns: 5 }.write(&SESSION, 1, &mut payload);
        assert_eq!(Order::read(&SESSION, 1, &payload), None);
        Order { act_at_ns: 5, until_ns: 6 }.write(&SESSION, 1, &mut payload);
        assert!(Order::read(&SESSION, 1, &payload).is_some());
        assert_eq!(Order::read(&SESSION, 1, &payload[..LEAST_BYTES - 1]), None);
    }
}
