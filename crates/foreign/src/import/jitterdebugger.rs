//! jitterdebugger's `results.json` (0.2 and 0.3).
//!
//! Samples above its table (1000 bins) are part of the count but in no bin; the file does not mention them.

use record::{Measurement, Place, ReasonCode, Series};
use serde::Deserialize;

use super::rt_tests::{Entries, SysInfo, finite};
use super::source::Imported;
use super::tally::{Mean, Tally};
use super::text::head;
use super::{Form, ImportFormat, Options, Reader, Unit};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "jitterdebugger",
    what: "jitterdebugger's results.json",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Document },
};

fn recognize(text: &str) -> bool {
    let head = head(text);
    head.trim_start().starts_with('{')
        && head.contains("\"cpu\"")
        && head.contains("\"histogram\"")
        && text.contains("\"count\"")
        && !head.contains("\"rt_test_version")
        && !head.contains("\"punctual/")
}

#[derive(Debug, Deserialize)]
struct Results {
    #[serde(default)]
    sysinfo: Option<SysInfo>,
    cpu: Entries<u32, Cpu>,
}

#[derive(Debug, Deserialize)]
struct Cpu {
    histogram: Entries<u64, u64>,
    count: u64,
    min: u64,
    max: u64,
    #[serde(default, deserialize_with = "finite")]
    avg: Option<f64>,
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let results: Results = serde_json::from_str(text)
        .map_err(|error| ForeignError::Text(format!("not jitterdebugger's results.json: {error}")))?;
    let mut imported = Imported::from_program("jitterdebugger", Measurement::Wakeup);
    let stated = results.sysinfo.as_ref().and_then(|sysinfo| sysinfo.resolution_in_ns);
    let unit_ns = match (stated, options.unit) {
        (Some(ns @ (1 | 1_000)), _) => ns,
        (Some(other), _) => {
            return Err(ForeignError::Text(format!("resolution_in_ns is {other}; jitterdebugger writes 1000 or 1")));
        }
        (None, Some(unit)) => unit.ns(),
        (None, None) => {
            imported.reason(ReasonCode::UnitAssumed, "microseconds; its files before version 3 do not state the unit");
            Unit::Us.ns()
        }
    };
    if let Some(sysinfo) = results.sysinfo {
        sysinfo.fill(&mut imported);
    }
    imported.lacks_fractions(unit_ns);
    imported.lacks("the interval");
    imported.requested().pinned = true;
    for (thread, (number, cpu)) in results.cpu.0.into_iter().enumerate() {
        imported.requested().cpus.insert(number);
        let tally = Tally {
            bins: cpu.histogram.0,
            count: Some(cpu.count),
            min: Some(cpu.min),
            max: Some(cpu.max),
            mean: cpu.avg.map(|mean| Mean::rounded(mean, 2)),
            ..Tally::new(format!("CPU {number}"), unit_ns)
        };
        let series = Series {
            name: "scheduled_to_woke".to_owned(),
            place: Place::thread(u32::try_from(thread).unwrap_or(u32::MAX), Some(number)),
            ..Series::default()
        };
        imported.add(series, tally)?;
    }
    Ok(imported)
}
