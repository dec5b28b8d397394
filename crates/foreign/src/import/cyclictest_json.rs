//! cyclictest's `--json` (rt-tests 2.x).

use record::{Measurement, Place, Series};
use serde::Deserialize;

use super::rt_tests::{self, Entries};
use super::source::Imported;
use super::tally::{Mean, Tally};
use super::text::head;
use super::{Form, ImportFormat, Options, Reader, Unit};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "cyclictest-json",
    what: "cyclictest --json, with or without -h",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Document },
};

/// Other programs of rt-tests: their JSON has the same keys, but their numbers are other latencies.
const OTHERS: &[&str] =
    &["cyclicdeadline", "deadline_test", "pmqtest", "ptsematest", "signaltest", "sigwaittest", "ssdd", "svsematest"];

fn recognize(text: &str) -> bool {
    let head = head(text);
    rt_tests::is_json(head)
        && head.contains("\"resolution_in_ns\"")
        && text.contains("\"cycles\"")
        && !OTHERS.iter().any(|name| head.contains(&format!("\"{name} ")) || head.contains(&format!("/{name} ")))
}

#[derive(Debug, Deserialize)]
struct Thread {
    #[serde(default)]
    histogram: Entries<u64, u64>,
    cycles: u64,
    min: u64,
    max: u64,
    #[serde(default, deserialize_with = "rt_tests::finite")]
    avg: Option<f64>,
    /// Negative if the thread was not pinned.
    #[serde(default = "unpinned")]
    cpu: i64,
}

const fn unpinned() -> i64 {
    -1
}

fn read(text: &str, options: Options) -> Result<Imported, ForeignError> {
    let mut file = rt_tests::read::<Thread>(text, "cyclictest")?;
    let mut imported = Imported::from_program("cyclictest", Measurement::Wakeup);
    file.fill(&mut imported)?;
    let unit_ns = match (file.resolution_in_ns, options.unit) {
        (Some(0), _) => Unit::Us.ns(),
        (Some(1), _) => Unit::Ns.ns(),
        (None, Some(unit)) => unit.ns(),
        (other, _) => {
            let found = other.map_or_else(|| "absent".to_owned(), |value| value.to_string());
            return Err(ForeignError::Text(format!(
                "resolution_in_ns is {found}; it must be 0 for microseconds or 1 for nanoseconds"
            )));
        }
    };
    imported.lacks_fractions(unit_ns);
    let requested = imported.requested();
    requested.pinned = !file.thread.0.is_empty() && file.thread.0.iter().all(|(_, thread)| thread.cpu >= 0);
    for (_, thread) in &file.thread.0 {
        if let Ok(cpu) = u32::try_from(thread.cpu) {
            requested.cpus.insert(cpu);
        }
    }
    imported.lacks("the interval, except in the command line");
    for (number, thread) in file.thread.0 {
        let cpu = u32::try_from(thread.cpu).ok();
        let place = cpu.map_or_else(|| format!("thread {number}"), |cpu| format!("CPU {cpu}"));
        let tally = Tally {
            bins: thread.histogram.0,
            count: Some(thread.cycles),
            min: Some(thread.min),
            max: Some(thread.max),
            mean: thread.avg.map(|mean| Mean::rounded(mean, 2)),
            ..Tally::new(place, unit_ns)
        };
        let series =
            Series { name: "scheduled_to_woke".to_owned(), place: Place::thread(number, cpu), ..Series::default() };
        imported.add(series, tally)?;
    }
    Ok(imported)
}
