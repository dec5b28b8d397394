//! Parses the summary that cyclictest prints with `-q -N`.

use serde::{Deserialize, Serialize};

/// Summary of one thread of cyclictest (ns).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cyclictest {
    /// Number of wake-ups.
    pub cycles: u64,
    /// Smallest latency of the run (ns).
    pub min_ns: i64,
    /// Mean of all latencies (ns).
    pub mean_ns: i64,
    /// Largest latency of the run (ns).
    pub max_ns: i64,
}

impl Cyclictest {
    /// Parses the first line that starts with `T:`, in nanoseconds; `None` if there is no such line.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let line = text.lines().find(|line| line.starts_with("T:"))?;
        let after = |label: &str| line.split_once(label)?.1.split_whitespace().next();
        Some(Self {
            cycles: after(" C:")?.parse().ok()?,
            min_ns: after("Min:")?.parse().ok()?,
            mean_ns: after("Avg:")?.parse().ok()?,
            max_ns: after("Max:")?.parse().ok()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_is_parsed_by_its_labels() {
        let text = "# /dev/cpu_dma_latency set to 0us\n\
                    T: 0 (  151) P:98 I:200 C:  20000 Min:   7468 Act:   10456 Avg:    7650 Max:   12350\n";
        let expected = Cyclictest { cycles: 20_000, min_ns: 7_468, mean_ns: 7_650, max_ns: 12_350 };
        assert_eq!(Cyclictest::parse(text), Some(expected));
        for text in ["", "T: 0", "T: 0 ( 1) P: 0 I:1 C: x Min: 1 Act: 1 Avg: 1 Max: 1"] {
            assert_eq!(Cyclictest::parse(text), None, "{text}");
        }
    }
}
