//! An order to act, as a packet brings it: two words beside its header, under the packet's own tag (`packet::header`).
//!
//! An order says at which level the output is to be from when until when: a lost one leaves no output active, and inverts nothing of
//! what follows. To which packet it belongs, and who wrote it, is what the tag says.

use packet::header::{HEADER_BYTES, WORDS_BYTES};

/// Length of the smallest payload of a packet with an order (bytes).
pub const LEAST_BYTES: usize = HEADER_BYTES + WORDS_BYTES;
/// The level of an output that is active, in the lowest bit of the second word; there is no order for another one.
const ACTIVE: u64 = 1;

/// An order to act at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// When the output is to become active (ns, `CLOCK_REALTIME` of the server).
    pub act_at_ns: i64,
    /// When it is to be at its safe level again (ns, `CLOCK_REALTIME` of the server).
    pub until_ns: i64,
}

impl Order {
    /// The words of the order: its time, and how long the output is active, above the bit of the level.
    #[inline]
    #[must_use]
    pub const fn words(&self) -> [u64; 2] {
        let active_ns = self.until_ns.wrapping_sub(self.act_at_ns);
        [u64::from_ne_bytes(self.act_at_ns.to_ne_bytes()), u64::from_ne_bytes(active_ns.to_ne_bytes()) << 1 | ACTIVE]
    }

    /// The order of two words; `None` if they are none.
    #[inline(always)]
    #[must_use]
    pub fn of_words([act_at, active]: [u64; 2]) -> Option<Self> {
        let act_at_ns = i64::from_ne_bytes(act_at.to_ne_bytes());
        let active_ns = i64::from_ne_bytes((active >> 1).to_ne_bytes());
        let is_order = active & ACTIVE != 0 && active_ns > 0;
        let until_ns = act_at_ns.checked_add(active_ns).filter(|_| is_order)?;
        Some(Self { act_at_ns, until_ns })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_order_reads_back(act_at_ns in any::<i64>(), active_ns in 1..=i64::MAX) {
            let order = act_at_ns.checked_add(active_ns).map(|until_ns| Order { act_at_ns, until_ns });
            prop_assume!(order.is_some());
            let order = order.unwrap();
            prop_assert_eq!(Order::of_words(order.words()), Some(order));
        }

        #[test]
        fn what_is_read_ends_after_it_begins(words in any::<[u64; 2]>()) {
            let order = Order::of_words(words);
            prop_assert!(order.is_none_or(|order| order.act_at_ns < order.until_ns && order.words() == words), "{:?}", order);
        }
    }

    #[test]
    fn what_ends_before_it_begins_or_is_for_another_level_is_no_order() {
        let words = |until_ns| Order { act_at_ns: 5, until_ns }.words();
        assert_eq!(words(7), [5, 0b101]);
        assert!(Order::of_words(words(6)).is_some());
        assert_eq!(Order::of_words(words(5)), None);
        assert_eq!(Order::of_words(words(4)), None, "it would be active for centuries");
        assert_eq!(Order::of_words([5, 0b100]), None, "safe");
    }
}
