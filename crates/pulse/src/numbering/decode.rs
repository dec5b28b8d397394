//! Reads the marks of a block of pulses on one grid: which number does its first place have?
//!
//! Every number that a block could begin with foretells which of its pulses are long. The one that contradicts the fewest pulses is
//! taken, if each other one contradicts more of them, by a margin: as long as fewer pulses than that look like the other kind, it is the
//! right one. Bits that are missing in one mark stand in others, since numbers of marks ascend by one, and this search knows that.

use crate::marks::MARK_BITS;

/// Bits of a mark, and its long pulse.
const PLACES: i64 = 1 + MARK_BITS as i64;
/// The bits of a number, as a mask.
const ALL_BITS: u32 = (1 << MARK_BITS) - 1;
/// By how many pulses any other number has to be worse.
const LEAST_MARGIN: u32 = 2;
/// The most marks of a block.
const MOST_MARKS: usize = 256;

/// What the width of a pulse says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Nothing: it is neither short nor long, or it is not sure that it is an order's pulse.
    Nothing,
    /// It is a short one.
    Short,
    /// It is a long one.
    Long,
}

/// A number that a block may begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Candidate {
    /// How many pulses contradict it.
    against: u32,
    /// The number of the order at place 0.
    zero: i64,
}

/// The best number so far, and how many pulses contradict the second best.
#[derive(Clone, Copy, Debug)]
struct Ranking {
    best: Option<Candidate>,
    second: u32,
}

impl Ranking {
    fn take(&mut self, candidate: Candidate) {
        match self.best {
            Some(best) if best.against <= candidate.against => self.second = self.second.min(candidate.against),
            _ => {
                self.second = self.best.map_or(self.second, |best| best.against.min(self.second));
                self.best = Some(candidate);
            }
        }
    }
}

/// What a block shows of one mark.
#[derive(Clone, Copy, Debug, Default)]
struct Shown {
    /// Bits that were seen.
    known: u32,
    /// Of these, those that are 1.
    ones: u32,
}

/// Reads blocks with a mark every so many orders.
#[derive(Clone, Debug)]
pub(crate) struct Decoder {
    every: i64,
    /// Bits that numbers of marks can have, by how many orders there were.
    bits: u32,
    /// By residue, how many long pulses a mark that begins there would hold; zero between two blocks.
    held: Vec<u32>,
    touched: Vec<usize>,
}

impl Decoder {
    /// `every` is at least [`crate::marks::LEAST_EVERY`]; `orders` says how many orders there were, where that is known.
    pub(crate) fn new(every: u64, orders: Option<u64>) -> Self {
        let last_mark = orders.map(|orders| orders.saturating_sub(1) / every.max(1));
        Self {
            every: i64::try_from(every).unwrap_or(i64::MAX),
            bits: last_mark.map_or(MARK_BITS, |last| (u64::BITS - last.leading_zeros()).min(MARK_BITS)),
            held: vec![0; usize::try_from(every).unwrap_or(0)],
            touched: Vec::new(),
        }
    }

    /// The number of the order at place 0, by the pulses at these ascending places; `None` where they do not suffice.
    pub(crate) fn read(&mut self, places: &[i64], said: &[Said]) -> Option<i64> {
        let (&first, &last) = places.first().zip(places.last())?;
        let mut longs = 0;
        for (place, _) in places.iter().zip(said).filter(|(_, said)| **said == Said::Long) {
            longs += 1;
            for back in 0..PLACES {
                let residue = usize::try_from((place - back).rem_euclid(self.every)).unwrap_or(0);
                if self.held[residue] == 0 {
                    self.touched.push(residue);
                }
                self.held[residue] += 1;
            }
        }
        // Marks that begin elsewhere would hold none of the long pulses: all of these contradict them.
        let mut ranking = Ranking { best: None, second: longs };
        let mut phases: Vec<(u32, usize)> =
            self.touched.iter().map(|residue| (longs - self.held[*residue], *residue)).collect();
        phases.sort_unstable();
        for residue in self.touched.drain(..) {
            self.held[residue] = 0;
        }
        let mut read_marks = 0;
        for (outside, residue) in phases {
            if outside >= ranking.second && ranking.best.is_some() {
                break;
            }
            let phase = i64::try_from(residue).unwrap_or(0);
            let begin = first - (first - phase).rem_euclid(self.every);
            let (shown, against) = self.shown(places, said, begin, last)?;
            if outside + against >= ranking.second {
                continue;
            }
            let before = ranking.best;
            self.search(&shown, outside + against, begin, &mut ranking);
            if ranking.best != before {
                read_marks = shown.iter().filter(|shown| shown.known != 0).count();
            }
        }
        let margin = LEAST_MARGIN.max(u32::try_from(read_marks / 4).unwrap_or(u32::MAX));
        let best = ranking.best?;
        (ranking.second >= best.against.saturating_add(margin)).then_some(best.zero)
    }

    /// What the marks show if one begins at the place `begin` and at each `every` places behind it; and how many of the pulses that
    /// would begin them are short. `None` where they are too many.
    fn shown(&self, places: &[i64], said: &[Said], begin: i64, last: i64) -> Option<(Vec<Shown>, u32)> {
        let count = usize::try_from((last - begin) / self.every).ok().filter(|count| *count < MOST_MARKS)? + 1;
        let (mut all, mut against, mut at) = (Vec::with_capacity(count), 0, 0);
        let mut mark = begin;
        while mark <= last {
            let mut shown = Shown::default();
            at += places[at..].partition_point(|place| *place < mark);
            for (place, said) in places[at..].iter().zip(&said[at..]) {
                let Ok(behind) = u32::try_from(place - mark) else { continue };
                if behind > MARK_BITS {
                    break;
                }
                match (said, behind) {
                    (Said::Nothing, _) | (Said::Long, 0) => {}
                    (Said::Short, 0) => against += 1,
                    (said, behind) => {
                        let bit = 1 << (MARK_BITS - behind);
                        shown.known |= bit;
                        shown.ones |= if *said == Said::Long { bit } else { 0 };
                    }
                }
            }
            all.push(shown);
            mark += self.every;
        }
        Some((all, against))
    }

    /// Ranks all numbers that the first of these marks can have, `begin` being its place.
    ///
    /// A number is a high and a low part, so that the low one carries into the high one at most once in the block. For each low part the
    /// high bits are counted before and behind the carry. A high part and its successor differ in its trailing ones and in the zero
    /// above these; so for each number of trailing ones each bit above is chosen by itself.
    fn search(&self, shown: &[Shown], against: u32, begin: i64, ranking: &mut Ranking) {
        let low_bits = (usize::BITS - shown.len().saturating_sub(1).leading_zeros()).min(MARK_BITS);
        let counts = BitCounts::new(shown);
        for low in 0..1_u32 << low_bits.min(self.bits) {
            let low_mask = (1_u32 << low_bits) - 1;
            let wrong = |(shown, number): (&Shown, u32)| ((shown.ones ^ number) & shown.known & low_mask).count_ones();
            let fixed = against + shown.iter().zip(low..).map(wrong).sum::<u32>();
            // Every other number of this low part is as bad or worse.
            if fixed >= ranking.second {
                continue;
            }
            let carry = usize::try_from((1_u32 << low_bits) - low).unwrap_or(usize::MAX);
            let high = HighPart { counts: &counts, carry: carry.min(shown.len()), low_bits, bits: self.bits };
            high.rank(fixed, |against, high| {
                let number = i64::from(high | low);
                ranking.take(Candidate { against, zero: number * self.every - begin });
            });
        }
    }
}

/// How often each bit was seen as 0 and as 1, up to each mark.
#[derive(Clone, Debug)]
struct BitCounts {
    /// By mark, before it: for each bit how often it was 0 and 1.
    before: Vec<[[u32; 2]; MARK_BITS as usize]>,
}

impl BitCounts {
    fn new(shown: &[Shown]) -> Self {
        let mut now = [[0_u32; 2]; MARK_BITS as usize];
        let mut before = Vec::with_capacity(shown.len() + 1);
        before.push(now);
        for mark in shown {
            for (bit, count) in now.iter_mut().enumerate().filter(|(bit, _)| mark.known >> bit & 1 == 1) {
                count[usize::from(mark.ones >> bit & 1 == 1)] += 1;
            }
            before.push(now);
        }
        Self { before }
    }
}

/// The high bits of the numbers of marks, of which those from `carry` on are one higher.
struct HighPart<'a> {
    counts: &'a BitCounts,
    carry: usize,
    low_bits: u32,
    bits: u32,
}

impl HighPart<'_> {
    /// How many pulses contradict a bit that is `value` before the carry and `later` behind it.
    fn cost(&self, bit: u32, value: bool, later: bool) -> u32 {
        let bit = usize::try_from(bit).unwrap_or(0);
        let of = |mark: usize, value: bool| self.counts.before[mark][bit][usize::from(!value)];
        let all = self.counts.before.len() - 1;
        of(self.carry, value) + of(all, later) - of(self.carry, later)
    }

    /// Calls `take` with the best high part, and with the second best or one that is as bad.
    fn rank(&self, fixed: u32, mut take: impl FnMut(u32, u32)) {
        let has_carry = self.carry + 1 < self.counts.before.len();
        let top = if has_carry { MARK_BITS } else { self.low_bits + 1 };
        for zero in self.low_bits..top {
            // With a carry the bit `zero` is the lowest that is 0; below it there are ones, and behind the carry zeros.
            let (mut against, mut number, mut free_from) = (fixed, 0, self.low_bits);
            if has_carry {
                if zero >= self.bits {
                    return;
                }
                for bit in self.low_bits..zero {
                    against += self.cost(bit, true, false);
                    number |= 1 << bit;
                }
                against += self.cost(zero, false, true);
                free_from = zero + 1;
            }
            let mut closest: Option<(u32, u32)> = None;
            for bit in free_from..MARK_BITS {
                let [zero, one] = [false, true].map(|value| self.cost(bit, value, value));
                if bit >= self.bits || zero <= one {
                    against += zero;
                } else {
                    against += one;
                    number |= 1 << bit;
                }
                let more = zero.abs_diff(one);
                if bit < self.bits && closest.is_none_or(|(least, _)| more < least) {
                    closest = Some((more, bit));
                }
            }
            take(against, number & ALL_BITS);
            if let Some((more, bit)) = closest {
                take(against + more, (number ^ (1 << bit)) & ALL_BITS);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::marks::{is_long, numbers};

    fn said(from: u64, places: &[i64], every: u64) -> Vec<Said> {
        let one = |place: &i64| is_long(from.checked_add_signed(*place).unwrap(), every);
        places.iter().map(|place| if one(place) { Said::Long } else { Said::Short }).collect()
    }

    #[test]
    fn two_marks_say_the_number_and_one_does_not() {
        let mut decoder = Decoder::new(1_000, None);
        let places: Vec<i64> = (0..1_100).collect();
        assert_eq!(decoder.read(&places, &said(77_990, &places, 1_000)), Some(77_990));
        assert_eq!(decoder.read(&places[..900], &said(77_990, &places[..900], 1_000)), None, "one wrong bit would do");
        assert_eq!(decoder.read(&places[50..900], &said(77_990, &places[50..900], 1_000)), None, "no mark at all");
        assert_eq!(decoder.read(&[], &[]), None);
    }

    #[test]
    fn a_carry_within_a_block_is_found() {
        for mark in [0x0000_ffff_u64, 0x00ff_fff0, 0x0080_0000, 0x007f_fff8] {
            let places: Vec<i64> = (0..16 * 49 - 30).collect();
            let from = (mark - 5) * 49 + 13;
            assert_eq!(Decoder::new(49, None).read(&places, &said(from, &places, 49)), i64::try_from(from).ok());
        }
    }

    #[test]
    fn one_pulse_that_looks_long_is_no_mark_where_all_long_ones_may_be_lost() {
        // Mark 4 is at place 500 and mark 5 at 1500; their long pulses are lost, and so is what would contradict mark 0 at place 100.
        let lost = [500, 522, 1_500, 1_522, 1_524, 1_100, 1_124];
        let places: Vec<i64> = (100..1_900).filter(|place| !lost.contains(place)).collect();
        let mut said = said(3_500, &places, 1_000);
        assert!(said.iter().all(|one| *one == Said::Short));
        said[0] = Said::Long;
        assert_eq!(Decoder::new(1_000, None).read(&places, &said), None);
    }

    /// The best two numbers by trying each, which is what the search must find.
    fn tried(places: &[i64], said: &[Said], every: u64, bits: u32) -> (u32, Vec<i64>, u32) {
        let mut all: Vec<(u32, i64)> = Vec::new();
        let every_signed = i64::try_from(every).unwrap();
        // Neither negative numbers nor such with a mark beyond the bits.
        for zero in -places[0]..(every_signed << bits) - places.last().unwrap() {
            let against = places.iter().zip(said).filter(|(place, said)| {
                let number = u64::try_from(zero + **place).unwrap();
                **said != Said::Nothing && (**said == Said::Long) != is_long(number, every)
            });
            all.push((u32::try_from(against.count()).unwrap(), zero));
        }
        all.sort_unstable();
        let best = all[0].0;
        let ties = all.iter().take_while(|one| one.0 == best).map(|one| one.1).collect();
        (best, ties, all[1].0)
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

        /// Against trying each of the numbers that a run of some hundred orders has: what is read is the best one, and it is read
        /// where it is the best by the margin, also with pulses missing and wrong.
        #[test]
        fn the_search_finds_what_trying_each_number_finds(
            from in 0_u64..49 * 12,
            length in 30_i64..49 * 5,
            seed in any::<u64>(),
            lost_percent in 0_usize..60,
            wrong_percent in 0_usize..4,
        ) {
            let mut random = units::Random::new(seed);
            let places: Vec<i64> = (0..length).filter(|_| random.below(100) >= lost_percent).collect();
            prop_assume!(!places.is_empty());
            let mut said = said(from, &places, 49);
            for one in &mut said {
                if random.below(100) < wrong_percent {
                    *one = if *one == Said::Long { Said::Short } else { Said::Long };
                }
            }
            let read = Decoder::new(49, Some(49 << 5)).read(&places, &said);
            let (best, ties, second) = tried(&places, &said, 49, 5);
            let longs = said.iter().filter(|one| **one == Said::Long).count();
            if second < best + 2 {
                prop_assert_eq!(read, None);
            } else if longs >= usize::try_from(best + 2).unwrap() {
                prop_assert_eq!(read, Some(ties[0]));
            } else {
                // Also where no mark is at all nothing contradicts.
                prop_assert!(read.is_none_or(|read| read == ties[0]), "{:?} {:?}", read, ties);
            }
        }

        /// Fewer wrong widths than the margin never make a wrong number.
        #[test]
        fn a_wrong_width_never_makes_a_wrong_number(
            from in any::<u64>(),
            length in 100_i64..49 * 40,
            seed in any::<u64>(),
            lost_percent in 0_usize..80,
        ) {
            let from = from % (numbers(49) - 49 * 41);
            let mut random = units::Random::new(seed);
            let places: Vec<i64> = (0..length).filter(|_| random.below(100) >= lost_percent).collect();
            prop_assume!(!places.is_empty());
            let mut said = said(from, &places, 49);
            let wrong = random.below(said.len());
            said[wrong] = if said[wrong] == Said::Long { Said::Short } else { Said::Long };
            let read = Decoder::new(49, None).read(&places, &said);
            prop_assert!(read.is_none_or(|read| u64::try_from(read) == Ok(from)), "{:?} {}", read, from);
        }

        /// A block of sixteen marks of which two in five pulses are lost is read, whatever its number.
        #[test]
        fn sixteen_marks_of_which_four_tenths_are_lost_are_read(from in any::<u64>(), seed in any::<u64>()) {
            let from = from % (numbers(1_000) - 20_000);
            let mut random = units::Random::new(seed);
            let places: Vec<i64> = (0..16_000).filter(|_| random.below(100) >= 40).collect();
            let read = Decoder::new(1_000, None).read(&places, &said(from, &places, 1_000));
            // Some bit may be seen in fewer than four of the marks: then nothing is said.
            prop_assert!(read.is_none_or(|read| u64::try_from(read) == Ok(from)));
            let whole: Vec<i64> = (0..64_000).filter(|_| random.below(100) >= 40).collect();
            prop_assert!(from >= numbers(1_000) - 70_000
                || Decoder::new(1_000, None).read(&whole, &said(from, &whole, 1_000)) == i64::try_from(from).ok());
        }
    }
}
