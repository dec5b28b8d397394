//! Which parts the way of a flow's packets is divided into: that depends on who stamped them.

use record::{PacketFlow, Record, Series};

use super::series_of;

/// A latency, and what it is in words.
type Part = (&'static str, &'static str);

const TO_DRIVER: Part = ("sent_to_transmitted", "sending program to driver");
const TO_PROGRAM: Part = ("arrived_to_received", "receiving kernel to program");
/// The parts of a delay by the stamps of the kernels, in the order in which a packet passes them.
const PARTS: [Part; 3] = [TO_DRIVER, ("transmitted_to_arrived", "network"), TO_PROGRAM];
/// The way from one kernel's stamp to the other's, by the stamps of the network interfaces.
const HARDWARE: [Part; 3] = [
    ("transmitted_to_hw_transmitted", "driver to sending interface"),
    ("hw_transmitted_to_hw_arrived", "interface to interface"),
    ("hw_arrived_to_arrived", "receiving interface to kernel"),
];
/// The three of them together.
const WHOLE: &str = "together from driver to kernel";
/// The parts of a delay of isochron's, which begins when the sender wakes up.
const FROM_WAKE_UP: [Part; 3] = [("woke_to_transmitted", "the sender's wake-up to driver"), PARTS[1], TO_PROGRAM];
/// All parts of a delay where both interfaces stamped.
const ALL_PARTS: [Part; 5] = [TO_DRIVER, HARDWARE[0], HARDWARE[1], HARDWARE[2], TO_PROGRAM];

/// The parts that a delay of a flow is divided into: by the stamps of the interfaces too where there are all of them, since fewer
/// do not add up to the whole.
pub(crate) fn parts_of(record: &Record, flow: &PacketFlow) -> &'static [Part] {
    let is_known = |name: &str| series_of(record, flow, name).is_some_and(|series| series.taken() > 0);
    if HARDWARE.iter().all(|(name, _)| is_known(name)) {
        &ALL_PARTS
    } else if is_known("woke_to_received") && is_known(FROM_WAKE_UP[0].0) {
        &FROM_WAKE_UP
    } else {
        &PARTS
    }
}

/// All latencies of which a flow may have series, those that it is divided into first; no name stands twice.
pub(crate) fn known_parts<'a>(record: &'a Record, flow: &PacketFlow) -> Vec<(&'static str, &'a Series)> {
    let divided = parts_of(record, flow);
    // Where the way between the kernels is divided, it comes once more as a whole.
    let others = PARTS.into_iter().map(|(name, words)| (name, if divided.len() > PARTS.len() { WHOLE } else { words }));
    let others = others.chain(OTHERS).filter(|(name, _)| !divided.iter().any(|(divided, _)| divided == name));
    let all = divided.iter().copied().chain(others);
    all.filter_map(|(name, words)| Some((words, series_of(record, flow, name).filter(|series| series.taken() > 0)?)))
        .collect()
}

/// The latencies that divide no delay, in the order in which a packet passes their points: of imports from isochron, and of
/// interfaces of which one alone stamped.
const OTHERS: [Part; 9] = [
    ("scheduled_to_woke", "schedule to the sender's wake-up"),
    FROM_WAKE_UP[0],
    ("queued_to_transmitted", "queueing discipline and driver"),
    ("scheduled_to_hw_transmitted", "schedule to the sending interface's stamp"),
    HARDWARE[0],
    HARDWARE[1],
    HARDWARE[2],
    ("hw_arrived_to_received", "the receiving interface's stamp to program"),
    ("woke_to_received", "the sender's wake-up to receiving program"),
];

#[cfg(test)]
mod tests {
    use record::{Histogram, Validity};

    use super::*;
    use crate::sample::packets;

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
        let names: Vec<&str> = parts_of(&record, flow).iter().map(|(name, _)| *name).collect();
        assert_eq!(names, ["woke_to_transmitted", "transmitted_to_arrived", "arrived_to_received"]);
    }

    #[test]
    fn stamps_of_interfaces_divide_the_way_where_there_are_all_of_them_and_are_listed_anyway() {
        let record = packets(&[4_000, 9_000], 3_000, 0, Validity::default());
        let flow = &record.packets().unwrap().flows[0];
        let names = |record: &Record| parts_of(record, flow).iter().map(|(name, _)| *name).collect::<Vec<_>>();
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
