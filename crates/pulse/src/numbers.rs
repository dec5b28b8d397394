//! Sets of the numbers of orders, which are nearly always long stretches without a gap.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// The most stretches of a set: orders of which every second one was missed, for some minutes at 10,000 a second.
const MOST_STRETCHES: usize = 1 << 20;

/// A set of numbers of orders.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OrderNumbers {
    /// Each from its first number to the one behind its last, in order, with a gap after each.
    stretches: Vec<(u64, u64)>,
    /// Whether numbers were left out since there were too many stretches.
    is_cut: bool,
}

/// Numbers in bursts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bursts {
    /// How many bursts there are.
    pub count: u64,
    /// How many numbers the longest has; 0 without any.
    pub longest: u64,
    /// From its first number to its last, in numbers.
    pub longest_span: u64,
}

/// Why a text is no set of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the numbers of its orders cannot be read")]
pub struct NoNumbers;

impl OrderNumbers {
    /// All numbers below one.
    #[must_use]
    pub fn below(end: u64) -> Self {
        Self::between(0, end)
    }

    /// All numbers from one on that are below another.
    #[must_use]
    pub fn between(from: u64, end: u64) -> Self {
        Self { stretches: if from < end { vec![(from, end)] } else { Vec::new() }, is_cut: false }
    }

    /// The one behind its last number; 0 without any.
    #[must_use]
    pub fn end(&self) -> u64 {
        self.stretches.last().map_or(0, |(_, end)| *end)
    }

    /// The least of its numbers; `None` without any.
    #[must_use]
    pub fn first(&self) -> Option<u64> {
        self.stretches.first().map(|(from, _)| *from)
    }

    /// Adds a number, nearly always above all those before. Where there is no more room, those at the end are left out.
    pub fn push(&mut self, number: u64) {
        self.push_stretch(number, number.saturating_add(1));
    }

    /// The same of all numbers from one on that are below another.
    pub fn push_stretch(&mut self, from: u64, end: u64) {
        if from >= end {
            return;
        }
        // Once numbers were left out, nothing is known from its end on, so that it must not move any more.
        let has_room = self.stretches.len() < MOST_STRETCHES && !self.is_cut;
        match self.stretches.last_mut() {
            Some((last_from, last_end)) if (*last_from..=*last_end).contains(&from) => *last_end = end.max(*last_end),
            Some((last_from, _)) if from < *last_from => self.put_between(from, end),
            _ if has_room => self.stretches.push((from, end)),
            _ => self.is_cut = true,
        }
    }

    /// Adds numbers that begin before the last stretch: packets overtake each other.
    fn put_between(&mut self, from: u64, end: u64) {
        let first = self.stretches.partition_point(|(_, other_end)| *other_end < from);
        let behind = self.stretches.partition_point(|(other_from, _)| *other_from <= end);
        let touched = self.stretches.get(first..behind).unwrap_or_default();
        let joined = match (touched.first(), touched.last()) {
            (Some((first_from, _)), Some((_, last_end))) => (from.min(*first_from), end.max(*last_end)),
            _ => (from, end),
        };
        self.stretches.splice(first..behind, [joined]);
        if self.stretches.len() > MOST_STRETCHES {
            self.stretches.pop();
            self.is_cut = true;
        }
    }

    /// Whether numbers were left out since there were too many gaps.
    #[must_use]
    pub const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        units::total(self.stretches.iter().map(|(from, end)| end - from))
    }

    /// Those that are in both.
    #[must_use]
    pub fn and(&self, other: &Self) -> Self {
        let (mut ours, mut theirs) = (self.stretches.iter().peekable(), other.stretches.iter().peekable());
        let mut stretches = Vec::new();
        while let (Some((from, end)), Some((other_from, other_end))) = (ours.peek(), theirs.peek()) {
            let both = (*from.max(other_from), *end.min(other_end));
            if both.0 < both.1 {
                stretches.push(both);
            }
            if end <= other_end {
                ours.next();
            } else {
                theirs.next();
            }
        }
        Self { stretches, is_cut: self.is_cut || other.is_cut }
    }

    /// Those that are in one of both.
    #[must_use]
    pub fn or(&self, other: &Self) -> Self {
        let mut all: Vec<(u64, u64)> = self.stretches.iter().chain(&other.stretches).copied().collect();
        all.sort_unstable();
        let mut stretches: Vec<(u64, u64)> = Vec::with_capacity(all.len());
        for (from, end) in all {
            match stretches.last_mut() {
                Some((_, last_end)) if from <= *last_end => *last_end = end.max(*last_end),
                _ => stretches.push((from, end)),
            }
        }
        Self { stretches, is_cut: self.is_cut || other.is_cut }
    }

    /// Those below a number that are not in it.
    #[must_use]
    pub fn missing_below(&self, end: u64) -> Self {
        let mut stretches = Vec::new();
        let mut next = 0;
        for (from, behind) in self.stretches.iter().copied().chain([(end, end)]) {
            let from = from.min(end);
            if next < from {
                stretches.push((next, from));
            }
            next = behind;
        }
        Self { stretches, is_cut: self.is_cut }
    }

    /// The numbers in bursts: those of which each follows the one before within less than `apart` numbers are one.
    #[must_use]
    pub fn bursts(&self, apart: u64) -> Bursts {
        let (mut count, mut longest, mut longest_span, mut length, mut last) = (0, 0_u64, 0, 0, None);
        let mut first = 0;
        for (from, end) in &self.stretches {
            // The distance of two numbers, of which neighbors have 1.
            let is_near = last.is_some_and(|last: u64| from - last < apart);
            if !is_near {
                (count, length, first) = (count + 1, 0, *from);
            }
            // Within a stretch each follows the one before by 1.
            if apart > 1 {
                length += end - from;
                if length > longest {
                    (longest, longest_span) = (length, end - 1 - first);
                }
            } else {
                count += end - from - 1;
                longest = longest.max(1);
            }
            last = Some(end - 1);
        }
        Bursts { count, longest, longest_span }
    }

    /// As text: the lengths of gaps and stretches in turn, each in as few bytes as it takes, in Base64.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut bytes = vec![u8::from(self.is_cut)];
        let mut next = 0;
        for (from, end) in &self.stretches {
            for mut length in [from - next, end - from] {
                while length >= 0x80 {
                    bytes.push(u8::try_from(length & 0x7f).unwrap_or(0) | 0x80);
                    length >>= 7;
                }
                bytes.push(u8::try_from(length).unwrap_or(0));
            }
            next = *end;
        }
        STANDARD_NO_PAD.encode(bytes)
    }

    /// Reads what [`Self::to_text`] has written.
    ///
    /// # Errors
    /// If it is something else.
    pub fn from_text(text: &str) -> Result<Self, NoNumbers> {
        let bytes = STANDARD_NO_PAD.decode(text).map_err(|_| NoNumbers)?;
        let (is_cut, bytes) = match bytes.split_first() {
            Some((0, rest)) => (false, rest),
            Some((1, rest)) => (true, rest),
            _ => return Err(NoNumbers),
        };
        let (mut lengths, mut length, mut shift) = (Vec::new(), 0_u64, 0_u32);
        for byte in bytes {
            let part = u64::from(byte & 0x7f);
            length |= part.checked_shl(shift).filter(|shifted| shifted >> shift == part).ok_or(NoNumbers)?;
            if byte & 0x80 == 0 {
                lengths.push(length);
                (length, shift) = (0, 0);
            } else {
                shift += 7;
            }
        }
        if shift != 0 || lengths.len() % 2 != 0 || lengths.len() / 2 > MOST_STRETCHES {
            return Err(NoNumbers);
        }
        let (mut stretches, mut next) = (Vec::new(), 0_u64);
        for pair in lengths.chunks_exact(2) {
            let [gap, length] = *pair else { return Err(NoNumbers) };
            if length == 0 || (gap == 0 && next != 0) {
                return Err(NoNumbers);
            }
            let from = next.checked_add(gap).ok_or(NoNumbers)?;
            next = from.checked_add(length).ok_or(NoNumbers)?;
            stretches.push((from, next));
        }
        Ok(Self { stretches, is_cut })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn set(numbers: &BTreeSet<u64>) -> OrderNumbers {
        let mut set = OrderNumbers::default();
        numbers.iter().for_each(|number| set.push(*number));
        set
    }

    /// The same, in any order and some of them twice.
    fn shuffled(numbers: &BTreeSet<u64>, random: &mut units::Random) -> OrderNumbers {
        let mut all: Vec<u64> = numbers.iter().copied().collect();
        for place in 1..all.len() {
            let other = random.next() % (u64::try_from(place).unwrap() + 1);
            all.swap(place, usize::try_from(other).unwrap());
        }
        let mut set = OrderNumbers::default();
        for number in all {
            set.push(number);
            if random.next() % 4 == 0 {
                set.push(number);
            }
        }
        set
    }

    /// Runs of numbers with gaps of all lengths between them.
    fn numbers() -> impl Strategy<Value = BTreeSet<u64>> {
        prop::collection::vec((0_u64..300, 1_u64..300), 0..20).prop_map(|all| {
            let mut at = 0;
            let mut numbers = BTreeSet::new();
            for (gap, length) in all {
                at += gap;
                numbers.extend(at..at + length);
                at += length;
            }
            numbers
        })
    }

    proptest! {
        #[test]
        fn a_set_is_what_was_put_into_it(ours in numbers(), theirs in numbers(), end in 0_u64..8_000, apart in 1_u64..200, seed: u64) {
            let (one, other) = (set(&ours), set(&theirs));
            prop_assert_eq!(one.count(), u64::try_from(ours.len()).unwrap());
            let mut by_stretches = OrderNumbers::default();
            for (from, end) in one.stretches.iter().copied() {
                // In two parts, one that is empty, and one that was there.
                let middle = from + (end - from) / 2;
                [(from, middle), (middle, middle), (middle, end), (from, middle)].into_iter().for_each(|(from, end)| by_stretches.push_stretch(from, end));
            }
            prop_assert_eq!(&by_stretches, &one);
            prop_assert_eq!(&shuffled(&ours, &mut units::Random::new(seed)), &one);
            prop_assert_eq!(one.and(&other), set(&ours.intersection(&theirs).copied().collect()));
            prop_assert_eq!(one.or(&other), set(&ours.union(&theirs).copied().collect()));
            prop_assert_eq!(one.missing_below(end), set(&(0..end).filter(|number| !ours.contains(number)).collect()));
            prop_assert_eq!(OrderNumbers::from_text(&one.to_text()), Ok(one.clone()));
            // One after the other.
            let mut bursts: Vec<u64> = Vec::new();
            let mut last = None;
            for number in &ours {
                match bursts.last_mut() {
                    Some(burst) if last.is_some_and(|last| number - last < apart) => *burst += 1,
                    _ => bursts.push(1),
                }
                last = Some(*number);
            }
            let expected = (u64::try_from(bursts.len()).unwrap(), bursts.iter().copied().max().unwrap_or(0));
            let seen = one.bursts(apart);
            prop_assert_eq!((seen.count, seen.longest), expected);
            prop_assert!(seen.longest == 0 || seen.longest_span >= seen.longest - 1);
            prop_assert!(seen.longest_span <= (seen.longest.max(1) - 1) * (apart.max(2) - 1));
        }

        #[test]
        fn any_text_is_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Ok(read) = OrderNumbers::from_text(&STANDARD_NO_PAD.encode(bytes)) {
                prop_assert_eq!(OrderNumbers::from_text(&read.to_text()), Ok(read.clone()));
                prop_assert!(read.stretches.windows(2).all(|pair| pair[0].1 < pair[1].0));
            }
        }
    }

    #[test]
    fn a_number_that_another_one_overtook_is_in_the_set() {
        let mut set = OrderNumbers::default();
        [3, 4, 2, 4, 6].into_iter().for_each(|number| set.push(number));
        assert_eq!((set.count(), set.missing_below(7).count()), (4, 3));
        set.push_stretch(0, 6);
        assert_eq!((set.stretches.as_slice(), set.is_cut()), (&[(0, 7)][..], false));
    }

    #[test]
    fn of_a_set_without_room_nothing_is_said_from_its_end_on() {
        let most = u64::try_from(MOST_STRETCHES).unwrap();
        let full = || OrderNumbers {
            stretches: (1..=most).map(|number| (10 * number, 10 * number + 5)).collect(),
            is_cut: false,
        };
        let mut later = full();
        later.push(10 * most + 9);
        assert_eq!((later.is_cut(), later.end()), (true, 10 * most + 5));
        // One between two of them puts the last one out, and what comes then must not seem to follow it.
        let mut between = full();
        between.push(17);
        let end = 10 * (most - 1) + 5;
        assert_eq!((between.is_cut(), between.end()), (true, end));
        between.push_stretch(15, 20);
        between.push(10 * most + 9);
        assert_eq!((between.is_cut(), between.end()), (true, end));
        assert_eq!(between.stretches[..2], [(10, 25), (30, 35)]);
    }
}
