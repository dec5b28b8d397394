//! What was lost on either side of a comparison: what never arrived is in no mean and no quantile.

use record::Record;
use units::format;

/// Samples of a latency that were lost in a group, of all that are known of; `None` where nothing of the kind is counted, or not
/// in each run.
fn lost(runs: &[&Record], latency: &str) -> Option<(u64, u64)> {
    let series = || runs.iter().flat_map(|run| run.series.iter().filter(|series| series.name == latency));
    let lost = series().map(|series| series.counters.lost).collect::<Option<Vec<u64>>>()?;
    let lost = units::total(lost);
    Some((lost, units::total(series().map(record::Series::taken)).saturating_add(lost)))
}

/// The sentence about it; `None` where nothing was lost on either side, or none can be.
pub(super) fn note(a: &[&Record], b: &[&Record], latency: &str) -> Option<String> {
    let sides = [lost(a, latency), lost(b, latency)];
    if sides.iter().flatten().all(|(lost, _)| *lost == 0) {
        return None;
    }
    let samples = a.iter().chain(b).next().map_or("samples", |run| run.measurement.kind().samples);
    let words = sides.map(|side| {
        side.map_or_else(
            || "a number that is not known".to_owned(),
            |(lost, all)| format!("{} of {}", format::count(lost), format::count(all)),
        )
    });
    Some(format!(
        "Lost {samples}: {} on side A, {} on side B. What never arrived is in none of these numbers.",
        words[0], words[1]
    ))
}

#[cfg(test)]
mod tests {
    use record::Measurement;

    use super::*;
    use samples::record_of;

    fn run(lost: Option<u64>) -> Record {
        let mut record = record_of(Measurement::Packet, &[5_000; 100]);
        for series in &mut record.series {
            series.name = "sent_to_received".to_owned();
            series.counters.lost = lost;
        }
        record
    }

    #[test]
    fn what_was_lost_on_either_side_is_said() {
        let note = |a: Option<u64>, b: Option<u64>| note(&[&run(a)], &[&run(b)], "sent_to_received");
        assert_eq!(note(Some(0), Some(0)), None);
        assert_eq!(note(None, None), None, "of wake-ups nothing can be lost");
        let said =
            "Lost packets: 0 of 100 on side A, 7 of 107 on side B. What never arrived is in none of these numbers.";
        assert_eq!(note(Some(0), Some(7)).as_deref(), Some(said));
        assert!(note(None, Some(7)).is_some_and(|said| said.contains("a number that is not known on side A")));
    }
}
