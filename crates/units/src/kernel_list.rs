//! Lists of CPUs as the kernel reads them, in boot parameters and in its files: `bitmap_parselist()` of lib/bitmap-str.c, since 5.14.
//!
//! It takes more than people write, and what it takes is in force.
//!
//! ```text
//! list     = { separator } [ region { separator { separator } region } ] { separator }
//! separator = "," or a blank
//! region   = number | number "-" number [ pattern ] | "all" [ pattern ]
//! pattern  = ":" number "/" number            the first ones of each group: used and length
//! number   = digits | "N"                     N is the last CPU; "all" is taken in any case of its letters
//! ```
//!
//! A region that is ended by the end of a line ends the list. What follows the length of a group needs no separator.

use crate::CpuSet;

/// Why the kernel refuses a list; it then applies nothing of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KernelListError {
    /// It is no list (EINVAL).
    #[error("the kernel does not read it as a list of CPUs: write for example 2-3 or 0,4-7")]
    Invalid,
    /// A number is beyond what the kernel has room for (ERANGE, EOVERFLOW).
    #[error("it has a CPU beyond those that any Linux kernel supports")]
    TooLarge,
    /// It says N or all, and which CPU is the last one is not known.
    #[error("it means the last CPU, and which one that is, is not known")]
    LastUnknown,
}

/// What is left of a list while it is read.
struct Rest<'a> {
    bytes: &'a [u8],
    last_cpu: Option<u32>,
}

const fn is_separator(byte: u8) -> bool {
    byte == b',' || byte.is_ascii_whitespace() || byte == 0x0b
}

impl Rest<'_> {
    fn next(&self) -> Option<u8> {
        self.bytes.first().copied().filter(|byte| *byte != 0)
    }

    fn skip(&mut self, count: usize) {
        self.bytes = self.bytes.get(count..).unwrap_or(&[]);
    }

    fn takes(&mut self, byte: u8) -> Result<(), KernelListError> {
        if self.next() != Some(byte) {
            return Err(KernelListError::Invalid);
        }
        self.skip(1);
        Ok(())
    }

    fn is_at_end_of_region(&self) -> bool {
        self.next().is_none_or(is_separator)
    }

    fn number(&mut self) -> Result<u32, KernelListError> {
        if self.next() == Some(b'N') {
            self.skip(1);
            return self.last_cpu.ok_or(KernelListError::LastUnknown);
        }
        let digits = self.bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let text = self.bytes.get(..digits).filter(|digits| !digits.is_empty()).ok_or(KernelListError::Invalid)?;
        let number =
            text.iter().try_fold(0_u32, |number, byte| number.checked_mul(10)?.checked_add(u32::from(byte - b'0')));
        self.skip(digits);
        number.ok_or(KernelListError::TooLarge)
    }
}

impl CpuSet {
    /// Reads a list as the kernel does; `last_cpu` is what `N` and `all` mean, where that is known.
    ///
    /// # Errors
    /// Where the kernel refuses it, or where it rests on a last CPU that is not known.
    pub fn from_kernel_list(text: &str, last_cpu: Option<u32>) -> Result<Self, KernelListError> {
        let mut cpus = Self::new();
        let mut rest = Rest { bytes: text.as_bytes(), last_cpu };
        loop {
            while rest.next().is_some_and(is_separator) {
                rest.skip(1);
            }
            if rest.next().is_none() {
                return Ok(cpus);
            }
            let is_all = rest.bytes.get(..3).is_some_and(|word| word.eq_ignore_ascii_case(b"all"));
            let (first, last) = if is_all {
                rest.skip(3);
                (0, last_cpu.ok_or(KernelListError::LastUnknown)?)
            } else {
                let first = rest.number()?;
                if rest.is_at_end_of_region() {
                    (first, first)
                } else {
                    rest.takes(b'-')?;
                    (first, rest.number()?)
                }
            };
            let (used, length) = if rest.is_at_end_of_region() {
                (u32::MAX, u32::MAX)
            } else {
                rest.takes(b':')?;
                let used = rest.number()?;
                rest.takes(b'/')?;
                (used, rest.number()?)
            };
            if first > last || length == 0 || used > length {
                return Err(KernelListError::Invalid);
            }
            if last > Self::MAX_CPU {
                return Err(KernelListError::TooLarge);
            }
            let step = usize::try_from(length).unwrap_or(usize::MAX);
            for start in (first..=last).step_by(step).filter(|_| used > 0) {
                cpus.insert_range(start, last.min(start.saturating_add(used - 1)));
            }
            if length == u32::MAX && rest.next() == Some(b'\n') {
                return Ok(cpus);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<String, KernelListError> {
        CpuSet::from_kernel_list(text, Some(7)).map(|cpus| cpus.to_string())
    }

    #[test]
    fn what_the_kernel_takes_is_taken() {
        for (text, cpus) in [
            ("2-3", "2-3"),
            (",2-3", "2-3"),
            ("2,3,", "2-3"),
            ("2,,3", "2-3"),
            (",, 2 ,\t3 ,,", "2-3"),
            ("", ""),
            (",", ""),
            ("all", "0-7"),
            ("ALL:1/2", "0,2,4,6"),
            ("N", "7"),
            ("6-N", "6-7"),
            ("0-7:1/2", "0,2,4,6"),
            ("0-7:3/4", "0-2,4-6"),
            ("0-7:0/2", ""),
            ("0-7:2/2", "0-7"),
            ("1-5,3-6", "1-6"),
            ("2\n3", "2"),
            ("2,\n3", "2-3"),
            ("0-3:1/2all", "0-7"),
            ("0-3:1/2\n5", "0,2,5"),
        ] {
            assert_eq!(read(text).as_deref(), Ok(cpus), "{text:?}");
        }
    }

    #[test]
    fn what_the_kernel_refuses_is_refused() {
        for text in
            ["x", "2-", "-2", "3-2", "2 - 3", "0-7:1", "0-7:1/0", "0-7:3/2", "2:1/2", "n", "1.5", "+2", "0x2", "2;3"]
        {
            assert_eq!(read(text), Err(KernelListError::Invalid), "{text:?}");
        }
        assert_eq!(read("4294967296"), Err(KernelListError::TooLarge));
        assert_eq!(read("0-99999"), Err(KernelListError::TooLarge));
        assert_eq!(CpuSet::from_kernel_list("2,N", None), Err(KernelListError::LastUnknown));
        assert_eq!(CpuSet::from_kernel_list("2,3", None).unwrap().to_string(), "2-3");
    }

    /// A region of the grammar, with the CPUs that it means.
    fn region() -> impl Strategy<Value = (String, Vec<u32>)> {
        let range = (0_u32..200, 0_u32..60, prop::option::of((0_u32..9, 1_u32..9)));
        prop_oneof![
            (0_u32..200).prop_map(|cpu| (cpu.to_string(), vec![cpu])),
            Just(("N".to_owned(), vec![255])),
            range.prop_map(|(first, more, pattern)| {
                let last = first + more;
                match pattern.map(|(used, length)| (used.min(length), length)) {
                    None => (format!("{first}-{last}"), (first..=last).collect()),
                    Some((used, length)) => (
                        format!("{first}-{last}:{used}/{length}"),
                        (first..=last).filter(|cpu| (cpu - first) % length < used).collect(),
                    ),
                }
            }),
        ]
    }

    proptest! {
        #[test]
        fn every_list_of_the_grammar_means_its_regions(
            regions in prop::collection::vec((region(), "[, \t]{1,3}"), 0..9),
            before in "[, \t]{0,3}",
        ) {
            let mut text = before;
            let mut expected = CpuSet::new();
            for ((region, cpus), separators) in &regions {
                text.push_str(region);
                text.push_str(separators);
                cpus.iter().for_each(|cpu| expected.insert(*cpu));
            }
            prop_assert_eq!(CpuSet::from_kernel_list(&text, Some(255)), Ok(expected), "{:?}", text);
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[-0-9,:/ \nNaAlL]{0,24}|\\PC{0,24}") {
            // What the usual form has, the kernel reads alike.
            if let (Ok(cpus), true) = (text.parse::<CpuSet>(), !text.contains(char::is_whitespace)) {
                prop_assert_eq!(CpuSet::from_kernel_list(&text, Some(7)), Ok(cpus));
            } else {
                let _ = CpuSet::from_kernel_list(&text, Some(7));
            }
        }
    }
}
