//! What the kernel's clock of edges is worth, by one signal on all lines. Pure.

use codecs::logic::kernel_events::Calibrated;
use codecs::logic::{LogicCapture, LogicChannel, LogicSpan};
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
    if capture.channels.len() < 2 {
        return Err(CalibrationError::Alone);
    }
    let mut lines = Vec::new();
    for channel in &capture.channels {
        let [span] = &channel.spans[..] else { return Err(CalibrationError::Gaps { name: channel.name.clone() }) };
        lines.push(SeenLine { name: &channel.name, span, edges_ps: &span.edges_ps });
    }
    let cut = leave_out_cut_edges(&mut lines)?;
    let edges = lines.first().map_or(0, |line| line.edges_ps.len());
    if u64::try_from(edges).is_ok_and(|edges| edges < LEAST_EDGES) {
        return Err(CalibrationError::Few { edges: edges as u64 });
    }
    let apart = |at: usize| {
        let of_edge = || lines.iter().filter_map(|line| line.edges_ps.get(at)).copied();
        of_edge().max().unwrap_or(0) - of_edge().min().unwrap_or(0)
    };
    let apart_ps = (0..edges).map(apart).max().unwrap_or(0);
    let lines: Vec<&[i64]> = lines.iter().map(|line| line.edges_ps).collect();
    let between = lines.iter().flat_map(|line| line.windows(2).map(|pair| pair[1] - pair[0]));
    let shortest_ps = between.min().unwrap_or(0);
    // An edge without the others' is one that a cut parted from them, and lies no farther from it than they do from each other. One
    // that is missing elsewhere puts those behind it beside others.
    if cut.is_some_and(|cut| cut.most_ps > 2 * apart_ps || apart_ps * 2 >= shortest_ps) {
        return Err(counts_differ(capture));
    }
    if apart_ps * 2 >= shortest_ps {
        let (apart_ns, shortest_ns) = (apart_ps / PS_OF_NS, shortest_ps / PS_OF_NS);
        return Err(CalibrationError::Apart { apart_ns, shortest_ns });
    }
    let calibrated = Calibrated {
        // The stamps are whole nanoseconds; one more for what they round away.
        resolution_ns: apart_ps / PS_OF_NS + 1,
        shortest_ns: shortest_ps / PS_OF_NS,
    };
    Ok(Calibration { calibrated, edges: edges as u64 })
}

/// A line of the signal, with those of its edges that count.
struct SeenLine<'a> {
    name: &'a str,
    span: &'a LogicSpan,
    edges_ps: &'a [i64],
}

/// Edges that were left out, since the beginning or the end of the capture parted them from those of the other lines.
#[derive(Clone, Copy)]
struct CutEdges {
    /// The farthest that one of them is from there (ps).
    most_ps: i64,
}

/// Leaves the edges out that fell on the beginning or the end of the capture: of one signal a line then has an edge there that another one
/// has not. Afterwards all have as many.
fn leave_out_cut_edges(lines: &mut [SeenLine<'_>]) -> Result<Option<CutEdges>, CalibrationError> {
    let mut most_ps = None;
    let begins = |line: &SeenLine<'_>| line.edges_ps.first().map(|at_ps| (*at_ps, line.span.begins_high));
    // Lines begin with other levels where the edge had come on some: it is the first one of the others.
    if lines.iter().any(|line| line.span.begins_high != lines[0].span.begins_high) {
        let earlier = lines.iter().filter_map(begins).min();
        for line in &mut *lines {
            if let [first, rest @ ..] = line.edges_ps {
                if earlier.is_some_and(|(_, begins_high)| begins_high == line.span.begins_high) {
                    most_ps = most_ps.max(Some(first - line.span.from_ps));
                    line.edges_ps = rest;
                }
            }
        }
    }
    let fewest = lines.iter().map(|line| line.edges_ps.len()).min().unwrap_or(0);
    for line in &mut *lines {
        if let [rest @ .., last] = line.edges_ps {
            if rest.len() == fewest {
                most_ps = most_ps.max(Some(line.span.until_ps - last));
                line.edges_ps = rest;
            }
        }
    }
    let count = |line: &SeenLine<'_>| line.edges_ps.len() as u64;
    let more = lines.iter().find(|line| line.edges_ps.len() != fewest);
    match (more, lines.iter().find(|line| line.edges_ps.len() == fewest)) {
        (Some(more), Some(other)) => Err(CalibrationError::Counts {
            name: more.name.to_owned(),
            edges: count(more),
            other: other.name.to_owned(),
            others: count(other),
        }),
        _ => Ok(most_ps.map(|most_ps| CutEdges { most_ps })),
    }
}

/// That lines of a capture have other numbers of edges.
fn counts_differ(capture: &LogicCapture) -> CalibrationError {
    let edges = |channel: &LogicChannel| channel.spans.iter().map(|span| span.edges_ps.len() as u64).sum::<u64>();
    let all = || capture.channels.iter().map(|channel| (edges(channel), channel.name.clone()));
    let ((edges, name), (others, other)) = (all().max().unwrap_or_default(), all().min().unwrap_or_default());
    CalibrationError::Counts { name, edges, other, others }
}

#[cfg(test)]
mod tests {
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

    /// Edges of the second line come 5 us after those of the first one.
    #[test]
    fn an_edge_that_the_beginning_or_the_end_parts_from_those_of_other_lines_is_left_out() {
        let of = |from_ns: i64, until_ns: i64| {
            let mut capture = capture(3, 2_000, |line, _| if line == 0 { 0 } else { 5_000 });
            for channel in &mut capture.channels {
                let span = &mut channel.spans[0];
                (span.from_ps, span.until_ps) = (from_ns * PS_OF_NS, until_ns * PS_OF_NS);
                let before = span.edges_ps.iter().filter(|at_ps| **at_ps < span.from_ps).count();
                span.begins_high ^= before % 2 == 1;
                span.edges_ps.retain(|at_ps| (span.from_ps..=span.until_ps).contains(at_ps));
            }
            calibrate(&capture).map(|found| (found.edges, found.calibrated.resolution_ns))
        };
        // The first edge is at 1,000 ns on the first line, and at 6,000 ns on the others; the last at 999,501,000 and 999,506,000 ns.
        assert_eq!(of(0, 1_000_000_000), Ok((2_000, 5_001)));
        assert_eq!(of(3_000, 1_000_000_000), Ok((1_999, 5_001)), "its beginning");
        assert_eq!(of(0, 999_503_000), Ok((1_999, 5_001)), "its end");
        assert_eq!(of(3_000, 999_503_000), Ok((1_998, 5_001)), "both");
    }

    #[test]
    fn an_edge_that_is_missing_far_from_the_end_is_none_that_was_cut() {
        let mut lacking = capture(2, 2_000, |line, _| line * 5_000);
        for channel in &mut lacking.channels {
            channel.spans[0].until_ps = 1_000_000_000 * PS_OF_NS;
        }
        // 499 us before the end, and 5 us apart.
        lacking.channels[1].spans[0].edges_ps.pop();
        let refused = calibrate(&lacking);
        assert!(matches!(refused, Err(CalibrationError::Counts { edges: 2_000, others: 1_999, .. })), "{refused:?}");
    }

    #[test]
    fn what_is_not_one_signal_seen_whole_is_refused() {
        let none = |_: i64, _: i64| 0;
        assert_eq!(calibrate(&capture(1, 2_000, none)), Err(CalibrationError::Alone));
        assert_eq!(calibrate(&capture(2, 999, none)), Err(CalibrationError::Few { edges: 999 }));
        let mut lacking = capture(2, 2_000, none);
        lacking.channels[1].spans[0].edges_ps.remove(700);
        assert!(matches!(calibrate(&lacking), Err(CalibrationError::Counts { edges: 2_000, others: 1_999, .. })));
        let mut parted = capture(2, 2_000, none);
        let span = parted.channels[1].spans[0].clone();
        parted.channels[1].spans.push(span);
        assert!(matches!(calibrate(&parted), Err(CalibrationError::Gaps { .. })));
        let shifted = calibrate(&capture(2, 2_000, |line, _| line * 250_000));
        assert!(matches!(shifted, Err(CalibrationError::Apart { .. })), "{shifted:?}");
    }
}
