//! Tables that `isochron report --printf-format … --printf-args …` prints: one packet a line (isochron 0.8 and 0.9).
//!
//! isochron (NXP, by Vladimir Oltean) keeps what it measured in a binary file, `isochron.dat`. Users turn it into text with
//! a format of their own, in isochron's manual a table with commas that no line names. So a first line may name the columns by
//! the letters of `--printf-args`, or these letters are stated with [`Options::isochron`](super::Options::isochron).
//! Times are nanoseconds (`%d`, `%u`) or seconds with nine digits behind the point (`%T`); 0 is a stamp that isochron does not
//! have. A packet that did not arrive has a line of its own, whose receiving side is all zeros.

mod columns;
mod packets;
mod table;

pub use self::columns::IsochronColumns;
use self::columns::Separator;
use super::source::Imported;
use super::text::head;
use super::{Form, ImportFormat, Options, Reader};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "isochron",
    what: "table of isochron report --printf-format, with the letters of --printf-args as its first line or as --printf-args here",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Document },
};

/// First bytes of isochron's own file.
const MAGIC: &str = "ISOCHRON";

/// How to get what this reader takes.
const RECIPE: &str = "isochron report --input-file isochron.dat --printf-format \"%u,%d,%d,%d,%d,%d,%d,%d,%d,%d,%d\\n\" --printf-args \
                      qSACwstTRra > run.csv, and then: punctual import run.csv --printf-args qSACwstTRra";

fn recognize(text: &str) -> bool {
    if is_binary(text) {
        return true;
    }
    let head = head(text);
    // The last line of the head may be incomplete.
    let Some((whole, _)) = head.rsplit_once('\n') else { return false };
    let mut rows = whole.lines().map(str::trim).filter(|row| !row.is_empty());
    let Some(first) = rows.next() else { return false };
    let named = IsochronColumns::of_line(first);
    let Some(row) = (if named.is_some() { rows.find(|row| !row.starts_with('#')) } else { Some(first) }) else {
        return false;
    };
    let words: Vec<&str> = Separator::of(row).split(row).collect();
    let is_table = words.iter().all(|word| table::value(word).is_ok());
    match named {
        Some(columns) => is_table && words.len() == columns.len(),
        // Nothing else writes several times of this length side by side, with nothing beside them.
        None => is_table && words.iter().filter(|word| table::is_stamp(word)).count() > 1,
    }
}

fn is_binary(text: &str) -> bool {
    text.strip_prefix(MAGIC).is_some_and(|rest| rest.starts_with('\0'))
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    if is_binary(text) {
        let what = format!("this is isochron's own binary file, which isochron turns into text: {RECIPE}");
        return Err(ForeignError::Text(what));
    }
    let table = table::read(text, options.isochron)?;
    packets::imported(&table)
}
