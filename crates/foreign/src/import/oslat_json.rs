//! oslat's `--json` (rt-tests 2.x).
//!
//! A bin named `n` holds iterations of the loop that took n - 1 to n microseconds. The last bin of the table holds all
//! longer ones too. The file does not say which bin is the last one; a maximum above the highest bin shows it.

use record::{Measurement, NoiseTotals, Place, Rounding, Series, SeriesDetail};
use serde::Deserialize;

use super::rt_tests::{self, Entries};
use super::source::Imported;
use super::tally::{Mean, Tally};
use super::text::head;
use super::{Form, ImportFormat, Options, Reader, Unit};
use crate::error::ForeignError;

pub(super) const FORMAT: ImportFormat = ImportFormat {
    name: "oslat-json",
    what: "oslat --json",
    is_distinct: true,
    reader: Reader::Text { recognize, read, form: Form::Document },
};

fn recognize(text: &str) -> bool {
    let head = head(text);
    rt_tests::is_json(head) && head.contains("\"freq\"") && !head.contains("\"resolution_in_ns\"")
}

#[derive(Debug, Deserialize)]
struct Thread {
    cpu: u32,
    min: u64,
    max: u64,
    #[serde(default, deserialize_with = "rt_tests::finite")]
    avg: Option<f64>,
    #[serde(default)]
    duration: Option<f64>,
    histogram: Entries<u64, u64>,
}

fn read(text: &str, _options: Options) -> Result<Imported, ForeignError> {
    let mut file = rt_tests::read::<Thread>(text, "oslat")?;
    let mut imported = Imported::from_program("oslat", Measurement::Noise);
    file.fill(&mut imported)?;
    about(&mut imported);
    for (number, thread) in file.thread.0 {
        let one =
            OneCore { cpu: thread.cpu, thread: number, min: thread.min, max: thread.max, duration_s: thread.duration };
        add(&mut imported, one, thread.histogram.0, thread.avg.map(|mean| Mean::rounded(mean, 6)))?;
    }
    Ok(imported)
}

/// Adds what the JSON and the text of oslat both lack.
pub(super) fn about(imported: &mut Imported) {
    imported.lacks("fractions of 1 us: each value is rounded up, and the true one can be up to that much lower");
    imported.lacks("gaps only: it counts each iteration of the loop, so almost all samples are undisturbed iterations");
    imported.lacks("the time of each gap, and the duration of shorter iterations");
}

/// What oslat contains about a core in addition to its bins.
#[derive(Clone, Copy)]
pub(super) struct OneCore {
    pub(super) cpu: u32,
    pub(super) thread: u32,
    pub(super) min: u64,
    pub(super) max: u64,
    pub(super) duration_s: Option<f64>,
}

/// Adds a core. If the maximum is above the highest bin, that bin is the table's last one, which also holds all samples
/// above the table.
pub(super) fn add(
    imported: &mut Imported,
    core: OneCore,
    mut bins: Vec<(u64, u64)>,
    mean: Option<Mean>,
) -> Result<(), ForeignError> {
    bins.retain(|(_, samples)| *samples > 0);
    let mut beyond = 0;
    let mut table_end = None;
    if let Some(&(highest, samples)) = bins.last().filter(|(highest, _)| *highest < core.max) {
        bins.pop();
        (beyond, table_end) = (samples, Some(highest));
    }
    let tally = Tally {
        bins,
        beyond: Some(beyond),
        table_end,
        min: Some(core.min),
        max: Some(core.max),
        mean,
        ..Tally::new(format!("CPU {}", core.cpu), Unit::Us.ns())
    };
    let gaps = core
        .duration_s
        .filter(|seconds| (0.0..1e9).contains(seconds))
        .map(|seconds| NoiseTotals { observed_ns: units::round_u64(seconds * 1e9), ..NoiseTotals::default() });
    let requested = imported.requested();
    requested.cpus.insert(core.cpu);
    requested.pinned = true;
    let series = Series {
        name: "left_to_resumed".to_owned(),
        place: Place::thread(core.thread, Some(core.cpu)),
        rounding: Rounding::Up,
        detail: gaps.map_or(SeriesDetail::None, SeriesDetail::Gaps),
        ..Series::default()
    };
    imported.add(series, tally)
}
