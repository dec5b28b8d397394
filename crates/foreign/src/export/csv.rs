//! All bins of all series as rows, for spreadsheets and data frames (RFC 4180).

use std::borrow::Cow;
use std::fmt::Write as _;

use record::{Histogram, Record, Series};

use super::ExportFormat;
use crate::error::ExportError;

pub(super) const FORMAT: ExportFormat =
    ExportFormat { name: "csv", what: "comma-separated: one row a bin, in nanoseconds", write };

/// `kind` is `bin`; `below-zero`, by the magnitude; or `unplaced`, for samples of which only the range is known.
const HEAD: &str = "run,label,node,measurement,validity,series,variant,cpu,thread,kind,from_ns,to_ns,count\n";

fn write(records: &[Record]) -> Result<String, ExportError> {
    let mut text = String::from(HEAD);
    for record in records {
        for series in &record.series {
            let start = start(record, series);
            rows(&mut text, &start, "bin", &series.histogram);
            if let Some(below) = &series.below_zero {
                rows(&mut text, &start, "below-zero", below);
            }
        }
    }
    Ok(text)
}

fn start(record: &Record, series: &Series) -> String {
    format!(
        "{},{},{},{},{},{},{},{},{}",
        field(&record.id),
        field(&record.label),
        field(&record.manifest.node.hostname),
        record.measurement.name(),
        record.validity.state().word(),
        field(&series.name),
        field(&series.variant),
        series.cpu.map_or_else(String::new, |cpu| cpu.to_string()),
        series.thread
    )
}

fn rows(text: &mut String, start: &str, kind: &str, histogram: &Histogram) {
    for bin in histogram.bins() {
        let _ = writeln!(text, "{start},{kind},{},{},{}", bin.from_ns, bin.to_ns, bin.count);
    }
    if let (Some(unplaced), Some(max_ns)) = (histogram.unplaced(), histogram.max_ns()) {
        let _ = writeln!(text, "{start},unplaced,{},{max_ns},{}", unplaced.from_ns, unplaced.count);
    }
}

/// Quoted where it must be; a spreadsheet would take some beginnings for a formula.
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
    fn fields_are_quoted_where_they_must_be() {
        assert_eq!(field("under paper load"), "under paper load");
        assert_eq!(field("=1+1"), "'=1+1");
        assert_eq!(field("a \"b\", c"), "\"a \"\"b\"\", c\"");
    }
}
