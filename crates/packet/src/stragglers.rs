//! How long a receiver waits for packets after its partner has said that it sent the last one.
//!
//! Nothing tells a packet that is lost from one that is still on its way. The connection that said it may be quicker than the
//! packets' own way, and slower. So the wait follows from the delays that were seen, and what it leaves open is not called lost.

use std::time::Duration;

/// How long packets and their stamps may come after the partner's word at least, whatever was seen.
pub const LEAST: Duration = Duration::from_millis(300);
/// How long the first one, of which no delay says how long it takes, may be on its way.
pub const WITHOUT_A_DELAY: Duration = Duration::from_secs(3);
/// The longest wait after the partner's word: a path that is slower, or that brings ever later packets, does not hold a run up.
pub const LONGEST: Duration = Duration::from_secs(8);
/// A missing packet has to be late by so many times the longest delay that was seen, before it counts as lost.
const TIMES: u32 = 2;

/// What a receiver knows after the partner's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaiting {
    /// Since the partner said how many it sent.
    pub since_said: Duration,
    /// How many that were.
    pub sent: u64,
    /// How many of them have arrived.
    pub arrived: u64,
    /// Since the last one arrived; `None` if none did.
    pub since_arrival: Option<Duration>,
    /// The longest delay of those that arrived; `None` as long as none is known.
    pub longest_delay: Option<Duration>,
}

/// What follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// More can come.
    GoOn,
    /// All have arrived.
    Complete,
    /// Some are missing, and none came for longer than [`Awaiting::expected`]: they are lost.
    Lost,
    /// Some are missing at the end of the longest wait, and may still be on their way.
    Open,
}

impl Awaiting {
    /// How long nothing may come before what is missing counts as lost: twice the longest time that a packet is known to have been
    /// on its way. One that arrived after the partner's word was on its way since then at least.
    #[must_use]
    pub fn expected(&self) -> Duration {
        let after_word = self.since_arrival.map_or(Duration::ZERO, |since| self.since_said.saturating_sub(since));
        match (self.since_arrival, self.longest_delay) {
            (Some(_), Some(longest)) => LEAST.max(longest.max(after_word).saturating_mul(TIMES)),
            // Of none, or of those that came, is known how long they took.
            (None, _) | (Some(_), None) => WITHOUT_A_DELAY.max(after_word.saturating_mul(TIMES)),
        }
    }

    /// What follows from it.
    #[must_use]
    pub fn judge(&self) -> Wait {
        if self.since_said < LEAST {
            return Wait::GoOn;
        }
        if self.arrived >= self.sent {
            return Wait::Complete;
        }
        // What is missing was sent before the partner's word.
        let quiet = self.since_arrival.map_or(self.since_said, |since| since.min(self.since_said));
        if quiet >= self.expected() {
            Wait::Lost
        } else if self.since_said >= LONGEST {
            Wait::Open
        } else {
            Wait::GoOn
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A packet: when it was sent, before the partner's word (ms), and how long it was on its way (ms); `None` if it was lost.
    type Packet = (u64, Option<u64>);

    /// Looks every 20 ms at a flow whose truth is known. `settles_ms`: until the delay of one that arrived is known.
    fn watched(packets: &[Packet], word_ms: u64, settles_ms: u64) -> (Wait, Awaiting, u64) {
        let last_ms = packets.iter().map(|(before_ms, _)| *before_ms).max().unwrap_or(0);
        let arrives = |(before_ms, delay_ms): &Packet| Some(last_ms - before_ms + (*delay_ms)?);
        // The word comes after the last packet was sent.
        let said_ms = last_ms + word_ms;
        for now_ms in (said_ms..).step_by(20) {
            let came: Vec<u64> = packets.iter().filter_map(arrives).filter(|at_ms| *at_ms <= now_ms).collect();
            let settled = packets.iter().filter(|one| arrives(one).is_some_and(|at_ms| at_ms + settles_ms <= now_ms));
            let ms = Duration::from_millis;
            let awaiting = Awaiting {
                since_said: ms(now_ms - said_ms),
                sent: packets.len() as u64,
                arrived: came.len() as u64,
                since_arrival: came.iter().max().map(|at_ms| ms(now_ms - at_ms)),
                longest_delay: settled.filter_map(|(_, delay_ms)| *delay_ms).max().map(ms),
            };
            match awaiting.judge() {
                Wait::GoOn => {}
                end => return (end, awaiting, now_ms),
            }
        }
        unreachable!("the loop has no end of its own")
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Over all delays, losses and orders: the wait ends, what it calls complete is, and what it calls lost is, unless it is on
        /// its way for longer than the rule says, and than twice all that was seen.
        #[test]
        fn what_is_called_lost_was_on_its_way_for_longer_than_the_rule_says(
            packets in prop::collection::vec((0_u64..20_000, prop::option::weighted(0.8, 0_u64..12_000)), 1..40),
            word_ms in 0_u64..3_000,
            settles_ms in 0_u64..2_000,
        ) {
            let last_ms = packets.iter().map(|(before_ms, _)| *before_ms).max().unwrap();
            let (end, awaiting, now_ms) = watched(&packets, word_ms, settles_ms);
            let arrives = |(before_ms, delay_ms): &Packet| Some(last_ms - before_ms + (*delay_ms)?);
            let under_way: Vec<&Packet> =
                packets.iter().filter(|one| arrives(one).is_some_and(|at_ms| at_ms > now_ms)).collect();
            prop_assert!(awaiting.since_said <= LONGEST + Duration::from_millis(20));
            match end {
                Wait::Complete => prop_assert!(packets.iter().all(|one| arrives(one).is_some_and(|at_ms| at_ms <= now_ms))),
                Wait::Lost => {
                    for (_, delay_ms) in under_way {
                        let delay = Duration::from_millis(delay_ms.unwrap_or(0));
                        prop_assert!(delay > awaiting.expected(), "{delay:?} {awaiting:?}");
                    }
                }
                Wait::Open => prop_assert!(awaiting.since_said >= LONGEST),
                Wait::GoOn => prop_assert!(false),
            }
        }

        /// A path with one delay, however long up to the bound, loses nothing, in whatever interval it was sent.
        #[test]
        fn no_packet_of_a_path_with_one_delay_is_called_lost(
            count in 1_u64..60,
            interval_ms in 1_u64..4_000,
            delay_ms in 0_u64..3_000,
            settles_ms in 0_u64..2_000,
        ) {
            let packets: Vec<Packet> = (0..count).map(|number| (number * interval_ms, Some(delay_ms))).collect();
            prop_assert_eq!(watched(&packets, 0, settles_ms).0, Wait::Complete);
        }

        /// As a queue fills, the delay grows, here by a tenth of the time that passes: that is no loss either.
        #[test]
        fn a_delay_that_grows_is_no_loss(count in 2_u64..60, interval_ms in 1_u64..300, first_ms in 0_u64..1_000) {
            let packets: Vec<Packet> = (0..count)
                .map(|number| ((count - 1 - number) * interval_ms, Some(first_ms + number * interval_ms / 10)))
                .collect();
            prop_assert_eq!(watched(&packets, 0, 300).0, Wait::Complete);
        }
    }

    #[test]
    fn the_word_lost_is_kept_for_what_nothing_came_of_and_the_wait_is_short_where_nothing_is_missing() {
        let quick: Vec<Packet> = (0..100).map(|number| (number * 10, Some(1))).collect();
        assert_eq!(watched(&quick, 0, 300).0, Wait::Complete);
        assert_eq!(watched(&quick, 0, 300).1.since_said, LEAST);
        // One of them is lost: a moment longer, not seconds.
        let mut lossy = quick;
        lossy[3].1 = None;
        let (end, awaiting, _) = watched(&lossy, 0, 250);
        assert_eq!(end, Wait::Lost);
        assert!(awaiting.since_said <= Duration::from_millis(320), "{awaiting:?}");
        // 600 ms one way, five packets, none of whose delays is known when the word comes.
        let slow: Vec<Packet> = (0..5).map(|number| (number * 500, Some(600))).collect();
        assert_eq!(watched(&slow, 0, 1_300).0, Wait::Complete);
        // Beyond the bound nothing is called lost while more comes.
        let ever_later: Vec<Packet> = (0..20).map(|number| (0, Some(500 + number * 600))).collect();
        assert_eq!(watched(&ever_later, 0, 300).0, Wait::Open);
        // None ever came.
        assert_eq!(watched(&[(0, None), (10, None)], 0, 300).0, Wait::Lost);
    }
}
