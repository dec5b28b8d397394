//! A flat summary: one object per series, with units in the names of the keys.
//!
//! Unknown values are `null`: missed periods of an import, and quantiles among samples of which only the range is known.

use record::{Histogram, Origin, Record, Series};
use serde_json::{Map, Value, json};

use super::ExportFormat;
use crate::error::ExportError;

pub(super) const FORMAT: ExportFormat = ExportFormat {
    name: "json",
    what: "JSON: one flat object per series, without the bins",
    endings: &["json"],
    binary: false,
    write,
};

fn write(records: &[Record]) -> Result<Vec<u8>, ExportError> {
    let rows: Vec<Value> =
        records.iter().flat_map(|record| record.series.iter().map(|series| row(record, series))).collect();
    Ok(format!("{:#}\n", Value::Array(rows)).into_bytes())
}

fn row(record: &Record, series: &Series) -> Value {
    let manifest = &record.manifest();
    let (origin, imported) = match &manifest.origin {
        Origin::Punctual => ("punctual", false),
        Origin::Imported { format, .. } => (format.as_str(), true),
    };
    let time = |value: i64| if imported && value == 0 { Value::Null } else { value.into() };
    let missed = if imported { Value::Null } else { series.counters.missed_periods.into() };
    let reasons: Vec<Value> = record.validity.reasons().iter().map(|reason| json!(reason.code)).collect();
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| {
        row.insert(key.to_owned(), value);
    };
    put("run", record.id.as_str().into());
    put("label", record.label.as_str().into());
    put("measurement", record.measurement.name().into());
    put("origin", origin.into());
    put("validity", record.validity.state().word().into());
    put("reasons", reasons.into());
    put("node", manifest.node.hostname.as_str().into());
    put("kernel_release", manifest.node.kernel_release.as_str().into());
    put("started_realtime_ns", time(manifest.started.realtime.as_ns()));
    put("duration_ns", time(manifest.ended.monotonic.as_ns().saturating_sub(manifest.started.monotonic.as_ns())));
    put("series", series.name.as_str().into());
    put("variant", series.variant.as_str().into());
    put("cpu", series.place.cpu().into());
    put("thread", series.place.thread_number().into());
    put("interval_ns", series.interval_ns.into());
    put("missed_periods", missed);
    numbers(&mut put, &series.histogram);
    put("samples_below_zero", series.below_zero.as_ref().map_or(0, Histogram::count).into());
    Value::Object(row)
}

fn numbers(put: &mut impl FnMut(&str, Value), histogram: &Histogram) {
    put("samples", histogram.count().into());
    put("samples_unplaced", histogram.unplaced().map_or(0, |unplaced| unplaced.count).into());
    put("min_ns", histogram.min_ns().into());
    put("mean_ns", histogram.mean_ns().into());
    put("sd_ns", histogram.sd_ns().into());
    for (key, share) in [("p50_ns", 0.5), ("p90_ns", 0.9), ("p99_ns", 0.99), ("p99_9_ns", 0.999), ("p99_99_ns", 0.9999)]
    {
        put(key, histogram.stated_quantile_ns(share).into());
    }
    put("max_ns", histogram.max_ns().into());
}
