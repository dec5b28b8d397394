//! The text by which the kernel describes an event's binary form (`events/SYSTEM/EVENT/format`), and the head of a
//! sub-buffer (`events/header_page`).
//!
//! ```text
//! name: sched_waking
//! ID: 375
//! format:
//!     field:pid_t pid;  offset:24;  size:4;  signed:1;
//! ```

/// Where a value stands in an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name, without the length of an array.
    pub name: String,
    /// From the event's first byte (bytes).
    pub offset: usize,
    /// Its length (bytes).
    pub size: usize,
    /// Whether it has a sign.
    pub signed: bool,
}

/// The layout of an event's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Format {
    /// Name of the event.
    pub name: String,
    /// The number by which the ring buffer names it, given out at each boot.
    pub id: u16,
    /// Its fields, the common ones first.
    pub fields: Vec<Field>,
}

/// Why a text is no event's form.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// A line that every form has is not there.
    #[error("the description of an event has no line '{0}'")]
    Missing(&'static str),
    /// A line that cannot be read.
    #[error("line {line} of the description of an event: '{text}' is not {expected}")]
    Line {
        /// Counted from 1.
        line: usize,
        /// As it stands there.
        text: String,
        /// What it should be.
        expected: &'static str,
    },
    /// An event that this program must know lacks a field.
    #[error(
        "the event {event} has no field '{field}' of a form that is known: this kernel is newer, or older, than this program knows"
    )]
    Field {
        /// Name of the event.
        event: String,
        /// What is not there.
        field: &'static str,
    },
}

/// No event is longer than a sub-buffer.
const LONGEST: usize = 1 << 20;

impl Format {
    /// Reads the text of an event's `format` file.
    ///
    /// # Errors
    /// Where it has no name, no number, or a field that cannot be read.
    pub fn parse(text: &str) -> Result<Self, FormatError> {
        let (mut name, mut id, mut fields) = (None, None, Vec::new());
        for (line, text) in (1..).zip(text.lines()) {
            let wrong = |expected| FormatError::Line { line, text: text.trim().chars().take(80).collect(), expected };
            let trimmed = text.trim();
            if let Some(rest) = trimmed.strip_prefix("name:") {
                name = Some(rest.trim().to_owned());
            } else if let Some(rest) = trimmed.strip_prefix("ID:") {
                id = Some(rest.trim().parse().map_err(|_| wrong("a number up to 65535"))?);
            } else if trimmed.starts_with("field:") {
                fields.push(field(trimmed).ok_or_else(|| wrong("a field with offset, size and sign"))?);
            } else if trimmed.starts_with("print fmt:") {
                // What follows is for people.
                break;
            }
        }
        Ok(Self {
            name: name.ok_or(FormatError::Missing("name:"))?,
            id: id.ok_or(FormatError::Missing("ID:"))?,
            fields,
        })
    }

    /// The field of a name.
    #[must_use]
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }
}

/// The fields of a text without name and number, such as `events/header_page`.
pub(crate) fn fields(text: &str) -> Vec<Field> {
    text.lines().map(str::trim).filter(|line| line.starts_with("field:")).filter_map(field).collect()
}

fn field(line: &str) -> Option<Field> {
    let mut parts = line.split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    let (mut offset, mut size, mut signed) = (None, None, false);
    for part in parts {
        match part.split_once(':') {
            Some(("offset", value)) => offset = value.trim().parse::<usize>().ok(),
            Some(("size", value)) => size = value.trim().parse::<usize>().ok(),
            Some(("signed", value)) => signed = value.trim() == "1",
            _ => {}
        }
    }
    // `char comm[16]` is the field comm; `__data_loc char[] comm` too.
    let without_length = declaration.trim_end().trim_end_matches(']');
    let declared = if without_length.len() < declaration.trim_end().len() {
        without_length.rsplit_once('[').map_or(without_length, |(before, _)| before)
    } else {
        without_length
    };
    let name = declared.split(|c: char| c.is_whitespace() || c == '*').rfind(|word| !word.is_empty())?;
    let (offset, size) = (offset?, size?);
    (offset <= LONGEST && size <= LONGEST).then(|| Field { name: name.to_owned(), offset, size, signed })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn names_of_fields_are_found_in_their_declarations() {
        let check = |line: &str, name: &str, offset: usize, size: usize, signed: bool| {
            let expected = Field { name: name.to_owned(), offset, size, signed };
            assert_eq!(field(line), Some(expected), "{line}");
        };
        check("field:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;", "prev_comm", 8, 16, false);
        check("field:__data_loc char[] comm;\toffset:8;\tsize:4;\tsigned:0;", "comm", 8, 4, false);
        check("field:unsigned long args[6];\toffset:16;\tsize:48;\tsigned:0;", "args", 16, 48, false);
        check("field:void * hrtimer;\toffset:8;\tsize:8;\tsigned:0;", "hrtimer", 8, 8, false);
        check("field:pid_t pid;\toffset:24;\tsize:4;\tsigned:1;", "pid", 24, 4, true);
        assert_eq!(field("field:pid_t pid;\toffset:24;\tsigned:1;"), None);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_line() {
        let check = |text: &str, part: &str| {
            let error = Format::parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        };
        check("ID: 3\n", "no line 'name:'");
        check("name: x\nID: many\n", "line 2");
        check("name: x\nID: 3\nformat:\n\tfield:int a;\toffset:z;\n", "line 4");
    }

    proptest! {
        #[test]
        fn odd_text_is_no_panic(text in "(name: [a-z]{0,4}|ID:[ 0-9a]{0,6}|\tfield:.{0,40}|.{0,20}\n){0,8}") {
            let _ = Format::parse(&text);
            let _ = fields(&text);
        }
    }
}
