//! `/proc/PID/stat` of a process or thread (Documentation/filesystems/proc.rst, table 1-4).

use std::fs::File;
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
        // The kernel writes one blank before each field. Counting them by bytes takes a fifth of what splitting takes, and
        // this is read for many threads.
        let mut blanks = field.checked_sub(2)?;
        let start = self.fields.bytes().position(|byte| {
            blanks -= usize::from(byte == b' ');
            blanks == 0
        })?;
        self.fields.get(start + 1..)?.split(' ').next()?.trim_ascii_end().parse().ok()
    }
}

/// Reads a short file of the kernel, whose length is not known beforehand: at once and without asking for a length, which
/// costs a third of what [`std::fs::read`] does. One that is longer is read whole too.
pub(crate) fn read_short(path: &str) -> io::Result<String> {
    let mut bytes = Vec::new();
    let filled = fill(path, &mut bytes)?;
    bytes.truncate(filled);
    Ok(crate::kernel_text::lossy(bytes))
}

/// Reads a file into `bytes`, which grow where they do not suffice; returns how many were read.
pub(crate) fn fill(path: &str, bytes: &mut Vec<u8>) -> io::Result<usize> {
    let mut file = File::open(path)?;
    bytes.resize(bytes.len().max(1_024), 0);
    let mut filled = 0;
    loop {
        match file.read(&mut bytes[filled..])? {
            0 if filled < bytes.len() => return Ok(filled),
            more => filled += more,
        }
        if filled == bytes.len() {
            bytes.resize(2 * filled, 0);
        }
    }
}

/// Reads short files of many threads one after the other, with one path and one buffer for all of them.
#[derive(Debug, Default)]
pub(crate) struct ThreadFiles {
    path: String,
    bytes: Vec<u8>,
    /// What is no UTF-8, replaced.
    text: String,
}

impl ThreadFiles {
    /// The text of `/proc/TID/FILE`.
    pub(crate) fn read(&mut self, tid: u32, file: &str) -> io::Result<&str> {
        let filled = self.fill(tid, file)?;
        match std::str::from_utf8(&self.bytes[..filled]) {
            Ok(text) => Ok(text),
            Err(_) => {
                self.text = String::from_utf8_lossy(&self.bytes[..filled]).into_owned();
                Ok(&self.text)
            }
        }
    }

    /// The bytes of `/proc/TID/FILE`, for files of numbers alone.
    pub(crate) fn read_bytes(&mut self, tid: u32, file: &str) -> io::Result<&[u8]> {
        let filled = self.fill(tid, file)?;
        Ok(&self.bytes[..filled])
    }

    fn fill(&mut self, tid: u32, file: &str) -> io::Result<usize> {
        self.path.clear();
        self.path.push_str("/proc/");
        push_number(&mut self.path, tid);
        self.path.push('/');
        self.path.push_str(file);
        fill(&self.path, &mut self.bytes)
    }
}

/// Appends a number in decimal digits; formatting takes five times as many instructions.
fn push_number(text: &mut String, number: u32) {
    if number >= 10 {
        push_number(text, number / 10);
    }
    text.extend(char::from_digit(number % 10, 10));
}

/// The numbers among the names in a folder: the processes in `/proc`, the threads in `/proc/PID/task`.
pub(crate) fn numbers_in(path: &str) -> Vec<u32> {
    let mut numbers = Vec::new();
    // A folder that ends while it is read has what was read of it.
    let _ = kernel::folder::for_each_name(path, |name| numbers.extend(number(name)));
    numbers
}

/// A name that consists of digits alone, as a number.
fn number(name: &[u8]) -> Option<u32> {
    let digit = |byte: &u8| byte.is_ascii_digit().then(|| u32::from(byte - b'0'));
    let (first, others) = name.split_first()?;
    others.iter().try_fold(digit(first)?, |number, byte| number.checked_mul(10)?.checked_add(digit(byte)?))
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
    fn a_field_at_the_end_of_the_line_is_read_and_one_beyond_it_is_none() {
        let stat = TaskStat::parse("7 (x) S 1 23\n").unwrap();
        assert_eq!((stat.number::<u32>(4), stat.number::<u32>(5), stat.number::<u32>(6)), (Some(1), Some(23), None));
    }

    #[test]
    fn files_of_threads_are_read_by_their_numbers() {
        let mut files = ThreadFiles::default();
        let own = std::process::id();
        let text = files.read(own, "stat").unwrap().to_owned();
        assert!(text.starts_with(&format!("{own} (")), "{text}");
        // A shorter text after a longer one has nothing of that.
        let name = files.read(own, "comm").unwrap();
        assert_eq!(name, std::fs::read_to_string("/proc/self/comm").unwrap());
        assert!(files.read(u32::MAX, "stat").is_err());
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
