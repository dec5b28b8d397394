//! Which life of a hub is the later one: nodes follow the highest epoch that they have seen, and refuse every lower one.

/// Bits of an epoch that are drawn at random; those above are the time (s since 1970).
const RANDOM_BITS: u32 = 20;
/// No clock beyond this is believed (s since 1970; the year 2106): epochs stay below 2^53, which every reader of JSON has exactly.
const LATEST_S: u64 = u32::MAX as u64;

/// The epoch of a hub that is restored now from a backup of the life `earlier`. It is above that life, and above every life that was
/// restored earlier by a clock that was right: also where a later one than the backup's was begun since, elsewhere. Of several that are
/// restored from the same backup the last one is the highest, and of those of one second it is left to `random`; one of a million pairs
/// of such gets the same number. `now_wall_ns`: the clock of the machine (ns since 1970).
#[must_use]
pub fn next_epoch(earlier: u64, now_wall_ns: i64, random: u64) -> u64 {
    let now_s = u64::try_from(now_wall_ns.div_euclid(1_000_000_000)).unwrap_or(0).min(LATEST_S);
    // Where the clock is behind, the number goes on from the earlier one.
    let begun_s = now_s.max((earlier >> RANDOM_BITS).saturating_add(1));
    (begun_s << RANDOM_BITS) | (random & ((1 << RANDOM_BITS) - 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const NOW_NS: i64 = 1_796_000_000_000_000_000;

    #[test]
    fn a_later_restore_has_the_higher_epoch_whatever_its_backup() {
        let first = next_epoch(1, NOW_NS, u64::MAX);
        assert!(first > 1 && first < 1 << 53, "{first}");
        // A second later from the same backup, or from one of before it.
        assert!(next_epoch(1, NOW_NS + 1_000_000_000, 0) > first);
        assert!(next_epoch(first, NOW_NS + 1_000_000_000, 0) > first);
        // From a backup of that life, by a clock that stands in 1970.
        assert!(next_epoch(first, 0, 0) > first && next_epoch(first, -5, 0) > first);
        // Two of the same second differ by what was drawn.
        assert_ne!(next_epoch(1, NOW_NS, 3), next_epoch(1, NOW_NS, 4));
        // One by a clock that is far ahead leaves room for the next ones.
        let ahead = next_epoch(first, i64::MAX, u64::MAX);
        assert!(ahead < 1 << 53 && next_epoch(ahead, NOW_NS, 0) > ahead);
    }

    proptest! {
        #[test]
        fn a_restored_hub_is_above_its_backup_s_life_whatever_the_clock_says(
            earlier in 0..1_u64 << 53, now_wall_ns: i64, random: u64,
        ) {
            prop_assert!(next_epoch(earlier, now_wall_ns, random) > earlier);
        }
    }
}
