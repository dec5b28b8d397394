//! CSV: all bins of all series as rows, for spreadsheets and data frames (RFC 4180).

use std::borrow::Cow;
use std::fmt::Write as _;

use record::Record;
use summary::columns::{COLUMNS, ColumnSeries, Columns, Of, OfRow, OfSeries};

use super::ExportFormat;
use crate::error::ExportError;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    what: "comma-separated values: one row per bin, in nanoseconds",
    endings: &["csv"],
    binary: false,
    write,
};

fn write(records: &[Record]) -> Result<Vec<u8>, ExportError> {
    let names: Vec<&str> = COLUMNS.iter().map(|column| column.name).collect();
    let mut text = names.join(",");
    text.push('\n');
    for series in records.iter().flat_map(|record| Columns::of_record(record).series) {
        // Fields of the series are equal in all of its rows.
        let fields: Vec<Field> = COLUMNS.iter().map(|column| Field::new(column.of, &series)).collect();
        for row in &series.rows {
            for (number, field) in fields.iter().enumerate() {
                if number > 0 {
                    text.push(',');
                }
                let _ = match field {
                    Field::Fixed(fixed) => write!(text, "{fixed}"),
                    Field::Row(OfRow::Text(of)) => write!(text, "{}", of(row)),
                    Field::Row(OfRow::Number(of)) => write!(text, "{}", of(row)),
                };
            }
            text.push('\n');
        }
    }
    Ok(text.into_bytes())
}

/// A field of the rows of one series; empty where there is nothing.
enum Field {
    Fixed(String),
    Row(OfRow),
}

impl Field {
    fn new(of: Of, series: &ColumnSeries) -> Self {
        let number = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
        Self::Fixed(match of {
            Of::Row(of) => return Self::Row(of),
            Of::Series(OfSeries::Text(of)) => field(of(series)).into_owned(),
            Of::Series(OfSeries::OptionalText(of)) => field(of(series).unwrap_or_default()).into_owned(),
            Of::Series(OfSeries::Small(of)) => number(of(series).map(u64::from)),
            Of::Series(OfSeries::Number(of)) => number(of(series)),
        })
    }
}

/// Quotes a field if necessary. A field that a spreadsheet would interpret as a formula gets a leading apostrophe.
fn field(text: &str) -> Cow<'_, str> {
    if text.starts_with(['=', '+', '@', '-', '\t']) {
        return Cow::Owned(field(&format!("'{text}")).into_owned());
    }
    if text.contains([',', '"', '\n', '\r']) {
        Cow::Owned(format!("\"{}\"", text.replace('"', "\"\"")))
    } else {
        Cow::Borrowed(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_if_necessary() {
        assert_eq!(field("under paper load"), "under paper load");
        assert_eq!(field("=1+1"), "'=1+1");
        assert_eq!(field("a \"b\", c"), "\"a \"\"b\"\", c\"");
    }
}
