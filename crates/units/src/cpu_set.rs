//! Sets of CPUs as the kernel writes them: `0-3,8`.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The largest CPU number that is accepted: four times the kernel's own limit on x86 (`NR_CPUS` <= 8192),
/// so that a mistyped range cannot ask for gigabytes.
const MAX_CPU: u32 = CpuSet::MAX_CPU;

/// A set of CPUs, written and read in the kernel's list format (Documentation/admin-guide/cputopology.rst).
///
/// It takes at most 4 KiB, so that a file full of `0-32767` needs no gigabytes. A number beyond every kernel's limit
/// is no CPU: a list with one is refused, [`insert`](Self::insert) leaves it out.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct CpuSet(
    /// One bit for each CPU, the lowest first; the last word is not 0.
    Vec<u64>,
);

const WORD_BITS: u32 = u64::BITS;

/// Why a text is not a list of CPUs.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CpuSetError {
    /// An element is neither a number nor a range.
    #[error("'{element}' in '{text}' is not a CPU or a range of CPUs: write for example 2-3 or 0,4-7")]
    Element {
        /// The whole text.
        text: String,
        /// The part that could not be read.
        element: String,
    },
    /// A range runs downwards.
    #[error("the range '{0}' runs downwards: write the lower CPU first")]
    Reversed(String),
    /// A number beyond every kernel's limit.
    #[error("CPU {0} is beyond {MAX_CPU}, more than any Linux kernel supports")]
    TooLarge(u64),
}

impl CpuSet {
    /// The largest CPU number that is accepted.
    pub(crate) const MAX_CPU: u32 = 32_767;

    /// The set with no CPU in it.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Whether no CPU is in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many CPUs are in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether `cpu` is in it.
    #[must_use]
    pub fn contains(&self, cpu: u32) -> bool {
        self.0.get((cpu / WORD_BITS) as usize).is_some_and(|word| word >> (cpu % WORD_BITS) & 1 == 1)
    }

    /// Adds one CPU.
    pub fn insert(&mut self, cpu: u32) {
        if cpu <= MAX_CPU {
            self.insert_range(cpu, cpu);
        }
    }

    /// Adds `first` to `last`, both at most `MAX_CPU`.
    pub(crate) fn insert_range(&mut self, first: u32, last: u32) {
        let (from, to) = ((first / WORD_BITS) as usize, (last / WORD_BITS) as usize);
        if self.0.len() <= to {
            self.0.resize(to + 1, 0);
        }
        let above = u64::MAX << (first % WORD_BITS);
        let below = u64::MAX >> (WORD_BITS - 1 - last % WORD_BITS);
        if from == to {
            self.0[from] |= above & below;
        } else {
            self.0[from] |= above;
            self.0[from + 1..to].fill(u64::MAX);
            self.0[to] |= below;
        }
    }

    /// From words of bits, of which the last can be 0.
    fn from_words(words: impl Iterator<Item = u64>) -> Self {
        let mut words: Vec<u64> = words.collect();
        let used = words.iter().rposition(|word| *word != 0).map_or(0, |last| last + 1);
        words.truncate(used);
        Self(words)
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0_u32..).step_by(WORD_BITS as usize).zip(&self.0).flat_map(|(first, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(first + bit)
            })
        })
    }

    /// The lowest CPU.
    #[must_use]
    pub fn first(&self) -> Option<u32> {
        self.iter().next()
    }

    /// The highest CPU.
    #[must_use]
    pub fn last(&self) -> Option<u32> {
        let (place, word) = self.0.iter().enumerate().next_back()?;
        Some(u32::try_from(place).ok()? * WORD_BITS + word.ilog2())
    }

    /// CPUs in both.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        Self::from_words(self.0.iter().zip(&other.0).map(|(ours, theirs)| ours & theirs))
    }

    /// CPUs here that are not in `other`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let theirs = other.0.iter().copied().chain(std::iter::repeat(0));
        Self::from_words(self.0.iter().zip(theirs).map(|(ours, theirs)| ours & !theirs))
    }

    /// CPUs in either.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let (longer, shorter) = if self.0.len() >= other.0.len() { (self, other) } else { (other, self) };
        let shorter = shorter.0.iter().copied().chain(std::iter::repeat(0));
        Self(longer.0.iter().zip(shorter).map(|(ours, theirs)| ours | theirs).collect())
    }

    /// Whether every CPU here is in `other` too.
    #[must_use]
    pub fn is_subset(&self, other: &Self) -> bool {
        self.0.len() <= other.0.len() && self.0.iter().zip(&other.0).all(|(ours, theirs)| ours & !theirs == 0)
    }

    /// Reads a hexadecimal mask as in `/proc/irq/*/smp_affinity`: `f`, `00000000,0000000c`; a leading `0x` is allowed.
    #[must_use]
    pub fn from_mask(text: &str) -> Option<Self> {
        let trimmed = text.trim();
        let digits = trimmed.strip_prefix("0x").unwrap_or(trimmed);
        if digits.is_empty() {
            return None;
        }
        let mut cpus = Self::new();
        let mut bit: u32 = 0;
        for c in digits.chars().rev() {
            if c == ',' {
                continue;
            }
            let nibble = c.to_digit(16)?;
            for offset in 0..4 {
                if nibble & (1 << offset) != 0 {
                    cpus.insert(bit + offset);
                }
            }
            bit += 4;
            if bit > MAX_CPU {
                return None;
            }
        }
        Some(cpus)
    }

    /// Writes it as the kernel writes and reads masks: hexadecimal groups of 32 CPUs, the highest first, `1,00000000`.
    #[must_use]
    pub fn to_mask(&self) -> String {
        let half = |word: u64, high: bool| if high { word >> 32 } else { word & 0xffff_ffff };
        let groups = self.0.iter().rev().flat_map(|word| [half(*word, true), half(*word, false)]);
        let mut groups = groups.skip_while(|group| *group == 0);
        let first = format!("{:x}", groups.next().unwrap_or(0));
        groups.fold(first, |text, group| format!("{text},{group:08x}"))
    }
}

impl Ord for CpuSet {
    /// As lists of numbers.
    fn cmp(&self, other: &Self) -> Ordering {
        self.iter().cmp(other.iter())
    }
}

impl PartialOrd for CpuSet {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Debug for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CpuSet({self})")
    }
}

impl FromIterator<u32> for CpuSet {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> Self {
        let mut set = Self::new();
        cpus.into_iter().for_each(|cpu| set.insert(cpu));
        set
    }
}

impl FromStr for CpuSet {
    type Err = CpuSetError;

    /// Reads `0-3,8`, the kernel's stride form `0-31:2/8`, and the empty text as the empty set.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut cpus = Self::new();
        let trimmed = text.trim();
        if trimmed.is_empty() {
            return Ok(cpus);
        }
        let bad = |element: &str| CpuSetError::Element { text: trimmed.to_owned(), element: element.to_owned() };
        let number = |digits: &str, element: &str| -> Result<u32, CpuSetError> {
            let digits = digits.trim();
            if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
                return Err(bad(element));
            }
            let value: u64 = digits.parse().map_err(|_| CpuSetError::TooLarge(u64::MAX))?;
            u32::try_from(value).ok().filter(|&cpu| cpu <= MAX_CPU).ok_or(CpuSetError::TooLarge(value))
        };
        for element in trimmed.split(',') {
            let (range, stride) = match element.split_once(':') {
                None => (element, None),
                Some((range, stride)) => {
                    let (used, group) = stride.split_once('/').ok_or_else(|| bad(element))?;
                    let (used, group) = (number(used, element)?, number(group, element)?);
                    if group == 0 || used == 0 || used > group {
                        return Err(bad(element));
                    }
                    (range, Some((used, group)))
                }
            };
            let (first, last) = match range.split_once('-') {
                None => {
                    let cpu = number(range, element)?;
                    (cpu, cpu)
                }
                Some((first, last)) => (number(first, element)?, number(last, element)?),
            };
            if first > last {
                return Err(CpuSetError::Reversed(element.trim().to_owned()));
            }
            match stride {
                None => cpus.insert_range(first, last),
                Some((used, group)) => {
                    for start in (first..=last).step_by(group as usize) {
                        cpus.insert_range(start, last.min(start + used - 1));
                    }
                }
            }
        }
        Ok(cpus)
    }
}

impl fmt::Display for CpuSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        let mut cpus = self.iter().peekable();
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if(|next| last.checked_add(1) == Some(*next)) {
                last = next;
            }
            if first == last {
                write!(f, "{separator}{first}")?;
            } else {
                write!(f, "{separator}{first}-{last}")?;
            }
            separator = ",";
        }
        Ok(())
    }
}

impl Serialize for CpuSet {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for CpuSet {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

schemars::only_where_made! {
    impl schemars::JsonSchema for CpuSet {
        fn schema_name() -> std::borrow::Cow<'static, str> {
            "CpuSet".into()
        }

        fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
            schemars::json_schema!({
                "type": "string",
                "description": "CPUs in the kernel's list format, for example 0-3,8"
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expected: &[u32]) {
        assert_eq!(text.parse::<CpuSet>(), Ok(expected.iter().copied().collect()), "{text}");
    }

    #[test]
    fn reads_the_kernel_s_list_format() {
        check("", &[]);
        check("\n", &[]);
        check("0", &[0]);
        check("0-3,8\n", &[0, 1, 2, 3, 8]);
        check("0-7:2/4", &[0, 1, 4, 5]);
    }

    #[test]
    fn refuses_with_the_remedy() {
        for text in ["a", "1,,2", "-1", "1-", "0-7:3", "0-7:0/4", "0x3", "+1"] {
            assert!(matches!(text.parse::<CpuSet>(), Err(CpuSetError::Element { .. })), "{text}");
        }
        assert!(matches!("3-1".parse::<CpuSet>(), Err(CpuSetError::Reversed(_))));
        assert!(matches!("0-99999999999999999999999".parse::<CpuSet>(), Err(CpuSetError::TooLarge(_))));
        assert!(matches!("0-4000000000".parse::<CpuSet>(), Err(CpuSetError::TooLarge(_))));
    }

    #[test]
    fn writes_what_it_reads() {
        for text in ["", "0", "0-3,8", "1,3,5-6"] {
            assert_eq!(text.parse::<CpuSet>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn what_is_no_cpu_is_left_out() {
        assert_eq!([7, 32_767, 32_768, u32::MAX].into_iter().collect::<CpuSet>().to_string(), "7,32767");
    }

    #[test]
    fn the_widest_list_needs_4_kib() {
        for text in ["0-32767", "0-32767:1/2"] {
            assert!(text.parse::<CpuSet>().unwrap().0.capacity() <= 512, "{text}");
        }
    }

    #[test]
    fn a_long_list_of_wide_ranges_takes_no_longer_than_its_text() {
        let text = ["0-32767,0-32767:16384/16385"; 2_000].join(",");
        let started = std::time::Instant::now();
        assert_eq!(text.parse::<CpuSet>().unwrap().len(), 32_768);
        assert!(started.elapsed() < std::time::Duration::from_secs(5));
    }

    #[test]
    fn masks() {
        assert_eq!(CpuSet::from_mask("c"), Some([2, 3].into_iter().collect()));
        assert_eq!(CpuSet::from_mask("00000001,00000003"), Some([0, 1, 32].into_iter().collect()));
        assert_eq!(CpuSet::from_mask("xyz"), None);
    }

    proptest! {
        #[test]
        fn does_what_a_plain_set_does(a in proptest::collection::btree_set(0_u32..200, 0..40),
                                      b in proptest::collection::btree_set(0_u32..300, 0..40)) {
            let of = |cpus: &BTreeSet<u32>| cpus.iter().copied().collect::<CpuSet>();
            let (x, y) = (of(&a), of(&b));
            prop_assert!(x.iter().eq(a.iter().copied()));
            prop_assert_eq!((x.len(), x.first(), x.last()), (a.len(), a.first().copied(), a.last().copied()));
            prop_assert_eq!(x.is_empty(), a.is_empty());
            prop_assert!((0..400).all(|cpu| x.contains(cpu) == a.contains(&cpu)));
            prop_assert_eq!(x.intersection(&y), of(&(&a & &b)));
            prop_assert_eq!(x.difference(&y), of(&(&a - &b)));
            prop_assert_eq!(x.union(&y), of(&(&a | &b)));
            prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
            prop_assert!(x.intersection(&y).is_subset(&y));
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
            prop_assert_eq!(x.to_string().parse::<CpuSet>(), Ok(x));
        }
    }
}
