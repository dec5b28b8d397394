//! Which parts the way of a flow's packets is divided into: that depends on who stamped them.

use record::{Latency, LatencyRole, PacketFlow, Record, Series};

use super::series_of;

/// What is said of a part that is divided itself, and listed once more as a whole.
const WHOLE: &str = "together from driver to kernel";

/// The parts that a delay of a flow is divided into: by the stamps of the interfaces too where there are all of them, since fewer
/// do not add up to the whole. An import's delay may begin where no other does, and is divided from there on.
#[must_use]
pub fn parts_of(record: &Record, flow: &PacketFlow) -> Vec<&'static Latency> {
    let kind = record.measurement.kind();
    let is_known = |name: &str| series_of(record, flow, name).is_some_and(|series| series.taken() > 0);
    let begins = |name: &str| kind.parts_of(name).next().is_some_and(|first| is_known(first.name));
    let wholes = kind.latencies.iter().filter(|latency| latency.part_of.is_empty());
    let mut known = wholes.map(|latency| latency.name).filter(|name| is_known(name) && begins(name));
    known.next().or(kind.compared).map_or_else(Vec::new, |whole| kind.divided(whole, &is_known))
}

/// All latencies of which a flow has series besides those that limits and forecasts are about, with their words: those that it is
/// divided into first, then the others in the order of the table; no name stands twice.
#[must_use]
pub fn known_parts<'a>(record: &'a Record, flow: &PacketFlow) -> Vec<(&'static str, &'a Series)> {
    let kind = record.measurement.kind();
    let divided = parts_of(record, flow);
    let is_divided = |latency: &Latency| divided.iter().any(|part| part.part_of.contains(&latency.name));
    let words = |latency: &'static Latency| {
        if is_divided(latency) && !latency.part_of.is_empty() { WHOLE } else { latency.words }
    };
    let is_listed = |latency: &&Latency| {
        !divided.iter().any(|part| part.name == latency.name)
            && Some(latency.name) != kind.compared
            && latency.role == LatencyRole::Way
    };
    let others = kind.latencies.iter().filter(is_listed);
    let all = divided.iter().copied().chain(others);
    all.filter_map(|latency| {
        let series = series_of(record, flow, latency.name).filter(|series| series.taken() > 0)?;
        Some((words(latency), series))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use record::{Histogram, Validity};

    use super::*;
    use samples::packets;

    fn with(record: &Record, names: &[&str]) -> Record {
        let mut record = record.clone();
        for name in names {
            let mut histogram = Histogram::default();
            histogram.record_n(300, 2);
            record.series.push(Series {
                name: (*name).to_owned(),
                histogram,
                judged: false,
                ..record.series[0].clone()
            });
        }
        record
    }

    #[test]
    fn a_delay_from_the_sender_s_wake_up_is_divided_from_there_on() {
        let mut record = packets(&[4_000, 9_000], 3_000, 0, Validity::default());
        record.series.retain(|series| series.name != "sent_to_received");
        let record = with(&record, &["woke_to_transmitted", "transmitted_to_arrived", "woke_to_received"]);
        let flow = &record.packets().unwrap().flows[0];
        let names: Vec<&str> = parts_of(&record, flow).iter().map(|latency| latency.name).collect();
        assert_eq!(names, ["woke_to_transmitted", "transmitted_to_arrived", "arrived_to_received"]);
    }

    #[test]
    fn stamps_of_interfaces_divide_the_way_where_there_are_all_of_them_and_are_listed_anyway() {
        let record = packets(&[4_000, 9_000], 3_000, 0, Validity::default());
        let flow = &record.packets().unwrap().flows[0];
        let names = |record: &Record| parts_of(record, flow).iter().map(|latency| latency.name).collect::<Vec<_>>();
        let words = |record: &Record| known_parts(record, flow).iter().map(|(words, _)| *words).collect::<Vec<_>>();
        assert_eq!(names(&record)[1], "transmitted_to_arrived");
        let one = with(&record, &["transmitted_to_hw_transmitted"]);
        assert_eq!(names(&one).len(), 3);
        assert_eq!(words(&one), ["receiving kernel to program", "driver to sending interface"]);
        let all = with(&one, &["transmitted_to_arrived", "hw_transmitted_to_hw_arrived", "hw_arrived_to_arrived"]);
        let divided = [
            "sent_to_transmitted",
            "transmitted_to_hw_transmitted",
            "hw_transmitted_to_hw_arrived",
            "hw_arrived_to_arrived",
            "arrived_to_received",
        ];
        assert_eq!(names(&all), divided);
        let listed = words(&all);
        assert_eq!(listed.len(), 5, "the first part is not known: {listed:?}");
        assert_eq!(listed[4], WHOLE, "the sum of three others comes behind them");
    }
}
