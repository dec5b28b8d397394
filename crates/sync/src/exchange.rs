//! Exchanges of messages with raw time stamps, put together from their halves.

/// A message from the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// When its sender stamped it (ns of the reference).
    pub t1_ns: i64,
    /// When it was stamped on the clock (ns).
    pub t2_ns: i64,
    /// By how much less than `t2 - t1` the message was on its way: the time that relays held it, as they say (ns).
    pub held_ns: i64,
}

/// A message to the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sent {
    /// When it was stamped on the clock (ns).
    pub t3_ns: i64,
    /// When its receiver stamped it (ns of the reference).
    pub t4_ns: i64,
    /// As in [`Received`].
    pub held_ns: i64,
}

/// An exchange of one message in each direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// The clock less the reference, if both messages took equally long (ns).
    pub offset_ns: i64,
    /// Half of the round trip (ns).
    pub delay_ns: i64,
}

/// Puts halves together: each message to the reference with the last one from it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pairing {
    last: Option<Received>,
}

impl Pairing {
    /// Without a message yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { last: None }
    }

    /// Takes a message from the reference.
    pub const fn received(&mut self, message: Received) {
        self.last = Some(message);
    }

    /// Takes a message to the reference; the exchange that it completes, if one came from there before.
    pub fn sent(&mut self, message: Sent) -> Option<Exchange> {
        // Each message is in one exchange: the next needs another one from the reference.
        let received = self.last.take()?;
        let forward_ns = i128::from(received.t2_ns) - i128::from(received.t1_ns) - i128::from(received.held_ns);
        let backward_ns = i128::from(message.t4_ns) - i128::from(message.t3_ns) - i128::from(message.held_ns);
        Some(Exchange {
            offset_ns: i64::try_from((forward_ns - backward_ns).div_euclid(2)).ok()?,
            delay_ns: i64::try_from((forward_ns + backward_ns).div_euclid(2)).ok()?,
        })
    }

    /// Forgets what was received: the reference changed, or the clock was set.
    pub const fn forget(&mut self) {
        self.last = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exchange_gives_offset_and_delay_and_is_counted_once() {
        let mut pairing = Pairing::default();
        assert_eq!(pairing.sent(Sent { t3_ns: 0, t4_ns: 10, held_ns: 0 }), None);
        // The clock is 1000 ns ahead; 40 ns there, of which a relay held 10; 60 ns back.
        pairing.received(Received { t1_ns: 100, t2_ns: 1_140, held_ns: 10 });
        let sent = Sent { t3_ns: 2_000, t4_ns: 1_060, held_ns: 0 };
        assert_eq!(pairing.sent(sent), Some(Exchange { offset_ns: 985, delay_ns: 45 }));
        assert_eq!(pairing.sent(sent), None, "its first half was used");
        pairing.received(Received { t1_ns: i64::MIN, t2_ns: i64::MAX, held_ns: 0 });
        assert_eq!(pairing.sent(Sent { t3_ns: i64::MAX, t4_ns: i64::MIN, held_ns: 0 }), None, "out of range");
    }
}
