//! What is said of the load of a run.

use record::{DroppedPart, LoadPart, PartRate};
use units::{format, round_u64};

/// Why a part did not run, in words.
#[must_use]
pub fn dropped(part: &LoadPart) -> Option<String> {
    match part.dropped.as_ref()? {
        DroppedPart::Request => Some("left out on request".to_owned()),
        DroppedPart::Machine { why } => Some(why.clone()),
    }
}

/// A rate in words: `61 493 packets received per second`.
#[must_use]
pub fn rate(rate: &PartRate) -> String {
    let value = round_u64(rate.value);
    match rate.unit.as_str() {
        "bytes/s" => format!("{} read and written per second", format::bytes(value)),
        "operations/s" => format!("{} operations of {} per second", format::count(value), rate.metric),
        _ => format!("{} {} per second", format::count(value), rate.metric),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_described_in_words() {
        let words = |metric: &str, value, unit: &str| {
            rate(&PartRate { metric: metric.to_owned(), value, unit: unit.to_owned() })
        };
        assert_eq!(words("packets received", 12.4, "1/s"), "12 packets received per second");
        assert_eq!(words("udp", 12.6, "operations/s"), "13 operations of udp per second");
        assert!(words("bytes read and written", 2_097_152.0, "bytes/s").starts_with("2.0 MiB"));
    }
}
