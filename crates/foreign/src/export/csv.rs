//! CSV: all bins of all series as rows, for spreadsheets and data frames (RFC 4180).

use std::borrow::Cow;
use std::fmt::Write as _;

use record::{Record, Series};

use super::ExportFormat;
use super::rows::{rows, series_of};
use crate::error::ExportError;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "csv",
    what: "comma-separated values: one row per bin, in nanoseconds",
    endings: &["csv"],
    binary: false,
    write,
};

const HEAD: &str = "run,label,node,measurement,validity,series,variant,cpu,thread,kind,from_ns,to_ns,count\n";

fn write(records: &[Record]) -> Result<Vec<u8>, ExportError> {
    let mut text = String::from(HEAD);
    for (record, series) in series_of(records) {
        let start = start(record, series);
        for row in rows(series) {
            let _ = writeln!(text, "{start},{},{},{},{}", row.kind, row.from_ns, row.to_ns, row.count);
        }
    }
    Ok(text.into_bytes())
}

fn start(record: &Record, series: &Series) -> String {
    format!(
        "{},{},{},{},{},{},{},{},{}",
        field(&record.id),
        field(&record.label),
        field(&record.manifest().node.hostname),
        record.measurement.name(),
        record.validity.state().word(),
        field(&series.name),
        field(&series.variant),
        series.place.cpu().map_or_else(String::new, |cpu| cpu.to_string()),
        series.place.thread_number().map_or_else(String::new, |thread| thread.to_string())
    )
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
