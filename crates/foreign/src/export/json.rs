//! A flat summary: one object per series, with units in the names of the keys.
//!
//! Unknown values are `null`: missed periods of an import, and quantiles among samples of which only the range is known.

use record::{Direction, Histogram, Origin, PacketFlow, Place, Record, Series};
use serde_json::{Map, Value, json};
use summary::columns::{ColumnSeries, OfSeries, flow, node, of_each_series};

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
    let manifest = &node(record, series).manifest;
    let (origin, imported) = match &manifest.origin {
        Origin::Punctual => ("punctual", false),
        Origin::Imported { format, .. } => (format.as_str(), true),
    };
    let time = |value: i64| if imported && value == 0 { Value::Null } else { value.into() };
    // Packets that come follow no schedule of the node that receives them.
    let has_schedule =
        !matches!(series.place, Place::Flow { direction: Direction::Received | Direction::RoundTrip, .. });
    let missed = if imported || !has_schedule { Value::Null } else { series.counters.missed_periods.into() };
    let reasons: Vec<Value> = record.validity.reasons().iter().map(|reason| json!(reason.code)).collect();
    let mut row = Map::new();
    let mut put = |key: &str, value: Value| {
        row.insert(key.to_owned(), value);
    };
    let columns = ColumnSeries::without_rows(record, series);
    for (name, of) in of_each_series() {
        let value = match of {
            OfSeries::Text(of) => of(&columns).into(),
            OfSeries::OptionalText(of) => of(&columns).into(),
            OfSeries::Small(of) => of(&columns).into(),
            OfSeries::Number(of) => of(&columns).into(),
        };
        put(name, value);
    }
    put("origin", origin.into());
    put("reasons", reasons.into());
    put("kernel_release", manifest.node.kernel_release.as_str().into());
    put("started_realtime_ns", time(manifest.started.realtime.as_ns()));
    put("duration_ns", time(manifest.ended.monotonic.as_ns().saturating_sub(manifest.started.monotonic.as_ns())));
    put("interval_ns", series.interval_ns.into());
    put("missed_periods", missed);
    numbers(&mut put, &series.histogram);
    put("samples_below_zero", series.below_zero.as_ref().map_or(0, Histogram::count).into());
    if let Some(flow) = flow(record, series) {
        put("packets", packets(flow));
    }
    Value::Object(row)
}

/// What became of the packets of the flow: of all of its series the same.
fn packets(flow: &PacketFlow) -> Value {
    json!({
        "sent": flow.sent,
        "skipped": flow.skipped,
        "refused": flow.refused,
        "arrived": flow.arrived,
        "lost": flow.lost,
        "doubled": flow.arrived.map(|_| flow.doubled),
        "reordered": flow.arrived.map(|_| flow.reordered),
        "too_old": flow.arrived.map(|_| flow.too_old),
    })
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
