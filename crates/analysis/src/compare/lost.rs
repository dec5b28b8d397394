//! What was lost on either side of a comparison: what never arrived, and an order that was not carried out, is in no mean and no
//! quantile.

use record::{LatencyRole, Record};
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
    let kind = a.iter().chain(b).next().map(|run| run.measurement.kind());
    let samples = kind.map_or("samples", |kind| kind.samples);
    let words = sides.map(|side| {
        side.map_or_else(
            || "a number that is not known".to_owned(),
            |(lost, all)| format!("{} of {}", format::count(lost), format::count(all)),
        )
    });
    let sides = format!("{} on side A, {} on side B", words[0], words[1]);
    // An order that is missing arrived too late as often as never, so that it is not said to be lost.
    let is_of_acts =
        kind.and_then(|kind| kind.latency(latency)).is_some_and(|known| known.role == LatencyRole::OrderedAct);
    Some(if is_of_acts {
        format!("Orders that were not carried out: {sides}. They are in none of these numbers.")
    } else {
        format!("Lost {samples}: {sides}. What never arrived is in none of these numbers.")
    })
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

    #[test]
    fn an_order_that_was_not_carried_out_is_not_said_to_be_lost() {
        let run = |too_late: u64| {
            let mut record = samples::pulses(|run| run.nodes[0].orders.too_late = too_late);
            record.series.retain(|series| series.node == "b");
            for series in &mut record.series {
                series.counters.lost = Some(too_late);
            }
            record
        };
        let said = |latency: &str| note(&[&run(0)], &[&run(7)], latency).unwrap();
        assert_eq!(
            said("ordered_to_acted"),
            "Orders that were not carried out: 0 of 1\u{202f}000 on side A, 7 of 1\u{202f}007 on side B. They are in none of these \
             numbers."
        );
        assert!(said("sent_to_received").starts_with("Lost "), "{}", said("sent_to_received"));
    }
}
