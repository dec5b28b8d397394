//! Marks: long pulses that spell the numbers of orders, so that a capture that begins anywhere can be numbered.
//!
//! Every `every`-th order makes a pulse of twice the width. The [`MARK_BITS`] orders after it spell the number of the mark (the order's
//! number divided by `every`), the most significant bit first: a long pulse is a 1, a short one a 0. All other pulses are short.

/// Orders after a mark's long pulse that spell its number.
pub const MARK_BITS: u32 = 24;

/// The least distance from mark to mark, in orders: the mark's long pulse, its bits, and as many short pulses.
///
/// A long pulse that is a bit follows its mark's long pulse by at most [`MARK_BITS`] orders. A mark's long pulse follows at least as
/// many short ones. So a long pulse after [`MARK_BITS`] short ones begins a mark, and every other one is a bit; at a smaller distance
/// the bits of one mark could reach up to the next.
pub const LEAST_EVERY: u64 = 1 + 2 * MARK_BITS as u64;

/// The greatest distance from mark to mark, in orders: beyond it no capture would hold two.
pub const MOST_EVERY: u64 = 1_000_000;

/// Why pulses cannot be marked as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MarkError {
    /// The marks are too close to each other, or too far apart.
    #[error(
        "a mark every {every} orders: it takes at least {LEAST_EVERY}, so that a mark is found from anywhere, and at most {MOST_EVERY}"
    )]
    Every {
        /// The distance asked for, in orders.
        every: u64,
    },
    /// A long pulse would not end well before the next one begins.
    #[error(
        "long pulses of {} ns do not fit into an interval of {interval_ns} ns: marks need at least {} ns, three times the width; make \
         pulses narrower or the interval longer, or leave out the marks",
        2 * u128::from(*.width_ns), 3 * u128::from(*.width_ns)
    )]
    Width {
        /// How wide a short pulse is (ns).
        width_ns: u64,
        /// The time from order to order (ns).
        interval_ns: u64,
    },
}

/// Whether the pulse of order `number` is a long one, with a mark every `every` orders; 0 marks none.
///
/// Numbers of marks repeat after 2^24 of them: see [`numbers`]. For a thread that acts: it neither allocates nor branches on more than
/// its arguments.
#[inline]
#[must_use]
pub const fn is_long(number: u64, every: u64) -> bool {
    let (Some(mark), Some(place)) = (number.checked_div(every), number.checked_rem(every)) else { return false };
    is_long_at(mark, place)
}

/// Whether the pulse `place` orders after the beginning of a mark with the number `mark` is a long one.
#[inline]
#[must_use]
pub const fn is_long_at(mark: u64, place: u64) -> bool {
    place == 0 || (place <= MARK_BITS as u64 && (mark >> (MARK_BITS as u64 - place)) & 1 == 1)
}

/// How many orders have numbers of their own with a mark every `every` orders: 2^24 marks. Later ones look like the first again.
#[must_use]
pub const fn numbers(every: u64) -> u64 {
    every.saturating_mul(1 << MARK_BITS)
}

/// Whether pulses of this width (ns), one in each interval (ns), can be marked every `every` orders.
///
/// A long pulse is twice as wide, and the line has to be at rest for another width before the next one begins: that is room for a late
/// end, and without it neither pulse could be told from a wider one. A square wave, whose pulses take half an interval, has no room.
///
/// # Errors
/// Where they cannot, with what would do.
pub const fn check(every: u64, width_ns: u64, interval_ns: u64) -> Result<(), MarkError> {
    if every < LEAST_EVERY || every > MOST_EVERY {
        return Err(MarkError::Every { every });
    }
    match width_ns.checked_mul(3) {
        Some(least_ns) if least_ns <= interval_ns => Ok(()),
        _ => Err(MarkError::Width { width_ns, interval_ns }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The pulses of a stretch, long ones as `#`.
    fn drawn(from: u64, count: u64, every: u64) -> String {
        (from..from + count).map(|number| if is_long(number, every) { '#' } else { '.' }).collect()
    }

    #[test]
    fn a_mark_is_a_long_pulse_and_then_its_number_in_bits() {
        assert_eq!(drawn(0, 30, 1_000), "#.............................");
        assert_eq!(drawn(999, 28, 1_000), ".#.......................#..");
        assert_eq!(drawn(5_000, 26, 1_000), "#.....................#.#.");
        assert_eq!(drawn(0x00a0_0001 * 49, 26, 49), "##.#....................#.");
        assert_eq!(drawn(numbers(49), 60, 49), drawn(0, 60, 49), "they begin anew");
        assert!(!is_long(0, 0), "no marks");
    }

    #[test]
    fn what_cannot_be_marked_is_refused_with_what_can() {
        assert_eq!(check(49, 1_000, 3_000), Ok(()));
        assert_eq!(check(48, 1_000, 3_000), Err(MarkError::Every { every: 48 }));
        assert_eq!(check(1_000_001, 1_000, 3_000), Err(MarkError::Every { every: 1_000_001 }));
        assert!(check(0, 1, 9).unwrap_err().to_string().contains("at least 49"));
        let square = check(1_000, 5_000, 10_000).unwrap_err().to_string();
        assert!(square.contains("long pulses of 10000 ns do not fit into an interval of 10000 ns"), "{square}");
        assert!(square.contains("at least 15000 ns"), "{square}");
        assert!(check(1_000, u64::MAX, u64::MAX).unwrap_err().to_string().contains("do not fit"));
    }

    proptest! {
        #[test]
        fn a_long_pulse_after_as_many_short_ones_as_there_are_bits_begins_a_mark_and_no_other_does(
            from in any::<u64>(),
            every in LEAST_EVERY..200,
        ) {
            let from = from % (numbers(every) - 1_000);
            for number in from + u64::from(MARK_BITS)..from + 1_000 {
                let shorts = (number - u64::from(MARK_BITS)..number).all(|before| !is_long(before, every));
                let begins = shorts && is_long(number, every);
                prop_assert_eq!(begins, number % every == 0, "{}", number);
            }
        }
    }
}
