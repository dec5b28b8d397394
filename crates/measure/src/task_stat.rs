//! `/proc/PID/stat` of a process or thread (Documentation/filesystems/proc.rst, table 1-4).

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::str::FromStr;

/// The name, and the fields behind it.
#[derive(Clone, Debug)]
pub(crate) struct TaskStat<'a> {
    pub(crate) name: &'a str,
    /// The fields from number 3 on, separated by blanks.
    fields: &'a str,
}

impl<'a> TaskStat<'a> {
    /// Reads the text of the file; `None` where it has no name.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        // The name stands in parentheses and can hold any character, parentheses too.
        let (open, close) = (text.find('(')?, text.rfind(')')?);
        let name = text.get(open + 1..close)?;
        Some(Self { name, fields: text.get(close + 1..)? })
    }

    /// Its state by the kernel's letter, field 3.
    pub(crate) fn state(&self) -> Option<&'a str> {
        self.fields.split_ascii_whitespace().next()
    }

    /// The number in a field, counted as the kernel's table counts them, from 3 on.
    pub(crate) fn number<T: FromStr>(&self, field: usize) -> Option<T> {
        self.fields.split_ascii_whitespace().nth(field.checked_sub(3)?)?.parse().ok()
    }
}

/// Reads a short file of the kernel, whose length is not known beforehand: at once and without asking for a length, which
/// costs a third of what [`fs::read_to_string`] does.
pub(crate) fn read_short(path: &str) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut bytes = vec![0; 1_024];
    let mut filled = 0;
    loop {
        match file.read(&mut bytes[filled..])? {
            0 if filled < bytes.len() => break,
            more => filled += more,
        }
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
    }
    bytes.truncate(filled);
    String::from_utf8(bytes).map_err(io::Error::other)
}

/// The numbers among the names in a folder: the processes in `/proc`, the threads in `/proc/PID/task`.
pub(crate) fn numbers_in(path: &str) -> Vec<u32> {
    let entries = fs::read_dir(path).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_counted_behind_a_name_with_parentheses() {
        let stat = TaskStat::parse("123 (od)d (name) S 1 2 3 4 -1 2097152 10").unwrap();
        assert_eq!((stat.name, stat.state()), ("od)d (name", Some("S")));
        assert_eq!((stat.number::<u32>(4), stat.number::<i32>(8)), (Some(1), Some(-1)));
        assert_eq!(stat.number::<u64>(9), Some(0x0020_0000));
        assert_eq!((stat.number::<u32>(8), stat.number::<u32>(11), stat.number::<u32>(0)), (None, None, None));
    }

    #[test]
    fn this_process_is_among_the_numbers() {
        assert!(numbers_in("/proc").contains(&std::process::id()));
        assert!(numbers_in("/nowhere").is_empty());
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in ".{0,120}") {
            let _ = TaskStat::parse(&text).map(|stat| stat.number::<u64>(40));
        }
    }
}
