//! What the kernel's clock of edges is worth, by one signal on all lines. Pure.

use codecs::logic::LogicCapture;
use codecs::logic::kernel_events::Calibrated;
use units::format;

/// Fewer edges of each line say too little of the worst.
pub const LEAST_EDGES: u64 = 1_000;
const PS_OF_NS: i64 = 1_000;

/// What was found out, and of how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calibration {
    /// What holds of the lines.
    pub calibrated: Calibrated,
    /// Edges of each line.
    pub edges: u64,
}

/// Why a signal says nothing of the lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalibrationError {
    /// One line, which has nothing beside it.
    #[error("a calibration takes two lines or more, with one signal on all of them")]
    Alone,
    /// Edges are missing, or are of another signal.
    #[error(
        "{name} has {edges} edges and {other} has {others}: join all lines with one signal, and calibrate with pulses that the kernel can tell (wider, or fewer)"
    )]
    Counts {
        /// The line that has this many edges, as it was asked for.
        name: String,
        /// How many edges of it were seen.
        edges: u64,
        /// The line that has another number of them, on the same signal.
        other: String,
        /// How many edges of it were seen.
        others: u64,
    },
    /// Fewer edges than an error can be stated of.
    #[error(
        "{edges} edges of each line: {LEAST_EDGES} are the fewest that say something of the worst; calibrate for longer"
    )]
    Few {
        /// How many there are.
        edges: u64,
    },
    /// What was lost, or came with the same level twice.
    #[error(
        "{name} was not seen whole: edges of it were lost, or pulses are so short that the kernel reads one level for both of their edges; calibrate with wider pulses"
    )]
    Gaps {
        /// The line that is meant, as it was asked for.
        name: String,
    },
    /// Farther apart than the edges themselves.
    #[error("an edge came {} apart on two lines, and the shortest time between two edges is {}: which belong together is not certain; calibrate with wider pulses", format::span(*.apart_ns), format::span(*.shortest_ns))]
    Apart {
        /// The most (ns).
        apart_ns: i64,
        /// The shortest time between two edges of a line (ns).
        shortest_ns: i64,
    },
}

/// What a capture of one signal on all of its lines says of the kernel's clock.
///
/// # Errors
/// Where the lines did not all show the same signal whole.
pub fn calibrate(capture: &LogicCapture) -> Result<Calibration, CalibrationError> {
    let [first, others @ ..] = &capture.channels[..] else { return Err(CalibrationError::Alone) };
    if others.is_empty() {
        return Err(CalibrationError::Alone);
    }
    let mut lines = Vec::new();
    for channel in &capture.channels {
        let [span] = &channel.spans[..] else { return Err(CalibrationError::Gaps { name: channel.name.clone() }) };
        let edges = span.edges_ps.len() as u64;
        if edges != first.spans.first().map_or(0, |span| span.edges_ps.len() as u64) {
            let others = first.spans.first().map_or(0, |span| span.edges_ps.len() as u64);
            let (name, other) = (channel.name.clone(), first.name.clone());
            return Err(CalibrationError::Counts { name, edges, other, others });
        }
        lines.push(&span.edges_ps);
    }
    let edges = lines.first().map_or(0, |line| line.len() as u64);
    if edges < LEAST_EDGES {
        return Err(CalibrationError::Few { edges });
    }
    let apart = |at: usize| {
        let of_edge = || lines.iter().filter_map(|line| line.get(at)).copied();
        of_edge().max().unwrap_or(0) - of_edge().min().unwrap_or(0)
    };
    let apart_ps = (0..lines.first().map_or(0, |line| line.len())).map(apart).max().unwrap_or(0);
    let between = lines.iter().flat_map(|line| line.windows(2).map(|pair| pair[1] - pair[0]));
    let shortest_ps = between.min().unwrap_or(0);
    if apart_ps * 2 >= shortest_ps {
        let (apart_ns, shortest_ns) = (apart_ps / PS_OF_NS, shortest_ps / PS_OF_NS);
        return Err(CalibrationError::Apart { apart_ns, shortest_ns });
    }
    let calibrated = Calibrated {
        // The stamps are whole nanoseconds; one more for what they round away.
        resolution_ns: apart_ps / PS_OF_NS + 1,
        shortest_ns: shortest_ps / PS_OF_NS,
    };
    Ok(Calibration { calibrated, edges })
}

#[cfg(test)]
mod tests {
    use codecs::logic::{LogicChannel, LogicSpan};

    use super::*;

    /// Lines with one signal of 1 ms, each of which is stamped later by what the function says of line and edge (ns).
    fn capture(lines: i64, edges: i64, later_ns: impl Fn(i64, i64) -> i64) -> LogicCapture {
        let channel = |line: i64| LogicChannel {
            name: format!("line-{line}"),
            spans: vec![LogicSpan {
                from_ps: 0,
                until_ps: i64::MAX,
                begins_high: false,
                edges_ps: (0..edges).map(|at| (at * 500_000 + 1_000 + later_ns(line, at)) * PS_OF_NS).collect(),
            }],
        };
        LogicCapture { channels: (0..lines).map(channel).collect(), resolution_ps: None }
    }

    #[test]
    fn the_farthest_apart_and_the_shortest_pulse_are_found() {
        let later = |line: i64, at: i64| line * 700 + if (line, at) == (2, 555) { 4_000 } else { 0 };
        let found = calibrate(&capture(3, 2_000, later)).unwrap();
        // The edge after it came 4 us sooner after it.
        assert_eq!(found.calibrated, Calibrated { resolution_ns: 5_401, shortest_ns: 496_000 });
        assert_eq!(found.edges, 2_000);
    }

    #[test]
    fn what_is_not_one_signal_seen_whole_is_refused() {
        let none = |_: i64, _: i64| 0;
        assert_eq!(calibrate(&capture(1, 2_000, none)), Err(CalibrationError::Alone));
        assert_eq!(calibrate(&capture(2, 999, none)), Err(CalibrationError::Few { edges: 999 }));
        let mut lacking = capture(2, 2_000, none);
        lacking.channels[1].spans[0].edges_ps.pop();
        assert!(matches!(calibrate(&lacking), Err(CalibrationError::Counts { edges: 1_999, others: 2_000, .. })));
        let mut parted = capture(2, 2_000, none);
        let span = parted.channels[1].spans[0].clone();
        parted.channels[1].spans.push(span);
        assert!(matches!(calibrate(&parted), Err(CalibrationError::Gaps { .. })));
        let shifted = calibrate(&capture(2, 2_000, |line, _| line * 250_000));
        assert!(matches!(shifted, Err(CalibrationError::Apart { .. })), "{shifted:?}");
    }
}
