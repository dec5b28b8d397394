//! Intervals read in one go, as agents write them.
//!
//! That an entry's kind stands among its fields, and its times do too, has serde keep each entry in pieces before it knows what they are:
//! four fifths of the time in which a hub reads what a thousand nodes send it. Here the kind is known by the first bytes. Whatever is
//! written otherwise, or is not understood, is read the long way, which alone says what is wrong.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{BootId, CpuInterval, GapReason, Interval, LeftTimes, SourceInterval, WallTime};
use crate::stream::ContentHash;

/// How an interval begins where serde has written it.
const BEGINS: &str = "{\"entry\":\"interval\",";

/// An [`Interval`] with all its fields side by side.
#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Flat {
    #[serde(rename = "entry")]
    _entry: IgnoredAny,
    boot: BootId,
    start_ns: i64,
    length_ns: u64,
    #[serde(default)]
    wall: Option<WallTime>,
    condition: ContentHash,
    #[serde(default = "one")]
    made_of: u64,
    #[serde(default)]
    cut_short: Option<GapReason>,
    cpus: Vec<CpuInterval>,
    #[serde(default)]
    sources: Vec<SourceInterval>,
}

const fn one() -> u64 {
    1
}

/// The interval that a text is; `None` where it is something else, or has to be read the long way.
pub(super) fn interval(json: &str) -> Option<Interval> {
    if !json.starts_with(BEGINS) {
        return None;
    }
    let Flat { _entry, boot, start_ns, length_ns, wall, condition, made_of, cut_short, cpus, sources } =
        serde_json::from_str(json).ok()?;
    let times = LeftTimes { boot, start_ns, length_ns, wall };
    Some(Interval { times, condition, made_of, cut_short, cpus, sources })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::monitor::{Cause, Figures, MonitorEntry};

    fn sample(numbers: &[i64]) -> Interval {
        let at = |at: usize| numbers.get(at).copied().unwrap_or(3);
        let figures = |of: usize| Figures {
            maximum_ns: at(of),
            maximum_at_ns: at(of + 1).unsigned_abs(),
            samples: at(of + 2).unsigned_abs(),
            cause: (at(of) % 3 == 0).then(|| Cause {
                class: "interrupt".to_owned(),
                name: "irq \"4\" \u{e4}".to_owned(),
                is_shown: at(of) % 2 == 0,
                covers_percent: (at(of) % 5 == 0).then_some(90),
            }),
            ..Figures::default()
        };
        let wall = WallTime { ns: at(3), is_synchronized: at(4) > 0, error_ns: (at(5) > 0).then_some(7) };
        Interval {
            times: LeftTimes {
                boot: BootId("b".to_owned()),
                start_ns: at(0),
                length_ns: at(1).unsigned_abs(),
                wall: (at(6) > 0).then_some(wall),
            },
            condition: ContentHash::of("{}"),
            made_of: at(2).unsigned_abs(),
            cut_short: match at(7) % 3 {
                0 => None,
                1 => Some(GapReason::Killed),
                _ => Some(GapReason::Other("new".to_owned())),
            },
            cpus: (0..2)
                .map(|cpu| CpuInterval {
                    cpu,
                    valid: (at(8) > 0).then(|| figures(0)),
                    spoiled: (at(9) > 0).then(|| figures(3)),
                    reasons: (at(10) > 0).then(|| "stopped".to_owned()).into_iter().collect(),
                })
                .collect(),
            sources: (at(11) > 0)
                .then(|| SourceInterval {
                    source: "ptp".to_owned(),
                    bound_ns: Some(4),
                    state: String::new(),
                    steps: u64::from(at(0) % 2 == 0),
                    largest_step_ns: at(1),
                })
                .into_iter()
                .collect(),
        }
    }

    #[test]
    fn what_an_agent_writes_is_read_in_one_go() {
        let text = serde_json::to_string(&MonitorEntry::Interval(sample(&[1; 12]))).unwrap();
        assert_eq!(interval(&text), Some(sample(&[1; 12])));
    }

    /// Texts near to intervals: parts of one put into another, or left out.
    fn near(text: &str, other: &str, edits: &[(usize, usize, usize)]) -> String {
        let mut bytes = text.as_bytes().to_vec();
        for (at, kind, from) in edits {
            let fields: Vec<usize> =
                bytes.iter().enumerate().filter(|(_, byte)| b",:{}[]\"".contains(byte)).map(|(at, _)| at).collect();
            let Some(place) = fields.get(at % fields.len().max(1)).copied() else { break };
            let words =
                ["null", "-1", "1.5", "[]", "{}", "\"entry\":\"gap\",", "\"boot\":\"c\",", "\"new\":[3],", ",", "0"];
            match kind % 4 {
                0 => drop(bytes.splice(place + 1..place + 1, words[from % words.len()].bytes())),
                1 => drop(bytes.remove(place)),
                2 => {
                    let end = (place + 1 + from % 24).min(bytes.len());
                    bytes.drain(place + 1..end);
                }
                _ => {
                    let part: Vec<u8> = other.bytes().skip(from % other.len()).take(40).collect();
                    bytes.splice(place..place, part);
                }
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn what_is_read_in_one_go_is_what_is_read_the_long_way(
            numbers in proptest::collection::vec(any::<i64>(), 12),
            others in proptest::collection::vec(-2_i64..3, 12),
            edits in proptest::collection::vec((any::<usize>(), any::<usize>(), any::<usize>()), 0..4),
        ) {
            let text = |numbers: &[i64]| serde_json::to_string(&MonitorEntry::Interval(sample(numbers))).unwrap();
            let text = near(&text(&numbers), &text(&others), &edits);
            if let Some(interval) = interval(&text) {
                let long: Result<MonitorEntry, _> = serde_json::from_str(&text);
                prop_assert_eq!(long.ok(), Some(MonitorEntry::Interval(interval)), "{}", text);
            }
        }
    }
}
