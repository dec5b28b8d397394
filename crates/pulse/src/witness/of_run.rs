//! What a witness saw of the nodes of a run, each against the first, beside what the run's record says of them.

use std::borrow::Cow;

use codecs::logic::LogicChannel;
use record::{PulseNode, PulseRun, PulseShape, ReasonCode, Record};

use super::{EdgesClaimed, SaidByNode, WitnessError, Witnessed, witness};
use crate::edges::{ActiveLevel, LinePulses, PulseForm};
use crate::numbering::{NumberedLine, NumberingCounts, NumberingFault, OrderedPulses};
use crate::shift::{CaptureError, NotStated, Part, ShiftParts, StatedMeans, split};

/// The line of a node.
#[derive(Clone, Copy, Debug)]
pub struct LineOfNode<'a> {
    /// The node, of the run's record.
    pub node: &'a PulseNode,
    /// What was captured of its line.
    pub channel: &'a LogicChannel,
    /// The level of the line during a pulse.
    pub active: ActiveLevel,
}

/// How the capture is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CaptureReading {
    /// The time between two samples (ps): an edge lies up to that much before the moment that is stated. `None` if it is not known.
    pub resolution_ps: Option<i64>,
    /// Edges closer together than this belong to one edge (ps); `None` takes the rule's own, a quarter of a pulse's width.
    pub hold_off_ps: Option<i64>,
}

/// What a line shows, and what its node says.
#[derive(Clone, Debug, PartialEq)]
pub struct LineSeen {
    /// Pulses of which both edges are shown.
    pub pulses: u64,
    /// Edges that were taken as part of the edge before them.
    pub bounces: u64,
    /// Groups of edges that left the level as it was.
    pub glitches: u64,
    /// Pulses that are not used, since an edge of theirs is not shown.
    pub cut: u64,
    /// Pulses that are neither short nor long.
    pub odd: u64,
    /// Pulses with the number of an order; `None` where the line was not numbered.
    pub numbered: Option<u64>,
    /// What was counted as they were numbered; `None` where the line was not.
    pub counts: Option<NumberingCounts>,
    /// What in the marks cannot be; the first of them.
    pub faults: Vec<NumberingFault>,
    /// The edges that are there against those that the node says it made; `None` where the line was not numbered.
    pub claimed: Option<EdgesClaimed>,
}

/// What was seen of a node against the first one.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSeen {
    /// The shift, or why there is none.
    pub witnessed: Result<Witnessed, WitnessError>,
    /// What the shift is made of, or why that is not known; `None` without a shift.
    pub parts: Option<Result<SplitShift, NotSplit>>,
}

/// What the mean shift is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SplitShift {
    /// Each part as it most likely is, without an error.
    pub likely: ShiftParts,
    /// Each part with what it cannot be outside of. The witness contradicts the nodes where the rest cannot be zero.
    pub bounds: ShiftParts,
}

/// Why a shift cannot be split, in words for people.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotSplit {
    /// Nobody knows how exact the capture is.
    #[error("the capture does not say how far apart its samples are: state it by --resolution")]
    Resolution,
    /// The record does not say enough.
    #[error(transparent)]
    NotStated(#[from] NotStated),
}

/// What was seen of all nodes.
#[derive(Clone, Debug, PartialEq)]
pub struct RunSeen {
    /// What each line shows, in their order.
    pub lines: Vec<LineSeen>,
    /// Each line but the first, against it.
    pub pairs: Vec<PairSeen>,
}

/// What is known of a run's orders by its record: how many there were only where it tells of the run to its end.
#[must_use]
pub fn ordered_pulses(record: &Record, run: &PulseRun, active: ActiveLevel, hold_off_ps: Option<i64>) -> OrderedPulses {
    let ps = |ns: u64| i64::try_from(ns).unwrap_or(i64::MAX).saturating_mul(1_000);
    let form = PulseForm::new(active, ps(run.width_ns));
    // A run that was cut short may have gone on after what its file tells.
    let is_whole =
        !record.validity.has(ReasonCode::InterruptedEarly) && run.nodes.iter().all(|node| node.orders.unknown == 0);
    let scheduled = run.nodes.iter().map(|node| node.orders.scheduled).max();
    OrderedPulses {
        form: PulseForm { hold_off_ps: hold_off_ps.unwrap_or(form.hold_off_ps), ..form },
        interval_ps: ps(run.interval_ns),
        every: run.mark.filter(|_| run.shape == PulseShape::Pulse).map_or(0, u64::from),
        orders: scheduled.filter(|scheduled| *scheduled > 0 && is_whole),
    }
}

/// Holds what a witness saw of the lines of nodes against each other, and against what the record of their run says.
#[must_use]
pub fn witness_run(record: &Record, run: &PulseRun, lines: &[LineOfNode<'_>], reading: CaptureReading) -> RunSeen {
    let ordered = |line: &LineOfNode<'_>| ordered_pulses(record, run, line.active, reading.hold_off_ps);
    let pulses: Vec<LinePulses> =
        lines.iter().map(|line| LinePulses::of_channel(line.channel, &ordered(line).form)).collect();
    let mut seen = RunSeen { lines: pulses.iter().map(line_seen).collect(), pairs: Vec::new() };
    let (Some(first), Some(first_pulses)) = (lines.first(), pulses.first()) else { return seen };
    for (place, (second, second_pulses)) in lines.iter().zip(&pulses).enumerate().skip(1) {
        let apart_ps = apart_ps(first.node, second.node, reading.resolution_ps);
        // The level is in the pulses already: what is left of the form is their width.
        let witnessed = witness([first_pulses, second_pulses], &ordered(first), apart_ps, reading.resolution_ps);
        if let Ok(Witnessed { lines: Some(numbered), .. }) = &witnessed {
            for ((place, line), numbered) in [(0, first), (place, second)].into_iter().zip(numbered) {
                let (Some(seen), Some(pulses)) = (seen.lines.get_mut(place), pulses.get(place)) else { continue };
                let node = line.node;
                let said = SaidByNode {
                    scheduled: node.orders.scheduled,
                    acted: node.orders.acted,
                    latest_ps: node.ordered_to_returned_max_ns.map(|ns| ns.saturating_mul(1_000)),
                };
                seen.numbered = u64::try_from(numbered.pulses.len()).ok();
                seen.counts = Some(numbered.counts);
                seen.faults.clone_from(&numbered.faults);
                let is_told = numbered.pulses.last().is_none_or(|last| last.number < said.scheduled);
                let told = if is_told { Cow::Borrowed(numbered) } else { Cow::Owned(told(numbered, said.scheduled)) };
                seen.claimed = Some(EdgesClaimed::of_line(line.channel, pulses, &told, &ordered(line), said));
            }
        }
        let parts = witnessed
            .as_ref()
            .ok()
            .map(|witnessed| split_mean(record, run, [first.node, second.node], witnessed, reading.resolution_ps));
        seen.pairs.push(PairSeen { witnessed, parts });
    }
    seen
}

/// The pulses of the orders that the record tells of: of a run that was cut short the later ones are claimed by nobody.
fn told(numbered: &NumberedLine, scheduled: u64) -> NumberedLine {
    let end = numbered.pulses.partition_point(|pulse| pulse.number < scheduled);
    let pulses = numbered.pulses.get(..end).unwrap_or_default().to_vec();
    let missing = pulses.first().zip(pulses.last()).map_or(0, |(first, last)| {
        let orders = last.number.saturating_sub(first.number).saturating_add(1);
        orders.saturating_sub(u64::try_from(pulses.len()).unwrap_or(u64::MAX)).min(numbered.counts.missing)
    });
    let counts = NumberingCounts { missing, ..numbered.counts };
    NumberedLine { pulses, counts, faults: numbered.faults.clone() }
}

fn line_seen(line: &LinePulses) -> LineSeen {
    LineSeen {
        pulses: u64::try_from(line.pulses.len()).unwrap_or(u64::MAX),
        bounces: line.bounces,
        glitches: line.glitches,
        cut: line.cut,
        odd: line.odd,
        numbered: None,
        counts: None,
        faults: Vec::new(),
        claimed: None,
    }
}

/// How far apart the edges of one order can be at most, by what the record says of both nodes (ps).
fn apart_ps(first: &PulseNode, second: &PulseNode, resolution_ps: Option<i64>) -> Option<i64> {
    let both_ns = first.within_ns()?.saturating_add(second.within_ns()?);
    let both_ps = i64::try_from(both_ns).unwrap_or(i64::MAX).saturating_mul(1_000);
    Some(both_ps.saturating_add(resolution_ps.unwrap_or(0)))
}

fn split_mean(
    record: &Record,
    run: &PulseRun,
    nodes: [&PulseNode; 2],
    witnessed: &Witnessed,
    resolution_ps: Option<i64>,
) -> Result<SplitShift, NotSplit> {
    let shift = &witnessed.shift;
    let ps = units::round_i64(shift.mean_ps);
    let capture = CaptureError { resolution_ps, rate_ppb: witnessed.capture_rate_ppb };
    // The mean was rounded.
    let error_ps = capture.of_shift_ps(ps).ok_or(NotSplit::Resolution)?.saturating_add(1);
    let [first, second] = nodes.map(|node| StatedMeans::of_node(record, run, node, shift.count));
    let (first, second) = (first?, second?);
    Ok(SplitShift {
        likely: split(Part { ps, error_ps: 0 }, &first.likely, &second.likely),
        bounds: split(Part { ps, error_ps }, &first.bounds, &second.bounds),
    })
}

#[cfg(test)]
mod tests {
    use codecs::logic::LogicSpan;
    use record::PulseRun;
    use samples::pulses;

    use super::*;
    use crate::marks::is_long;
    use crate::numbering::NumberingError;
    use crate::witness::Pairing;

    const NS: i64 = 1_000;
    const INTERVAL_PS: i64 = 1_000_000 * NS;
    const WIDTH_PS: i64 = 250_000 * NS;

    /// The line of a node whose edges are so much after a grid (ps).
    fn channel(every: u64, late_ps: i64, is_lost: impl Fn(u64) -> bool) -> LogicChannel {
        let edges = (0..1_000_u64).filter(|number| !is_lost(*number)).flat_map(|number| {
            let start_ps = (i64::try_from(number).unwrap() + 5) * INTERVAL_PS + late_ps;
            [start_ps, start_ps + if is_long(number, every) { 2 * WIDTH_PS } else { WIDTH_PS }]
        });
        let span =
            LogicSpan { from_ps: 0, until_ps: 1_010 * INTERVAL_PS, begins_high: false, edges_ps: edges.collect() };
        LogicChannel { name: "D0".to_owned(), spans: vec![span] }
    }

    fn seen(record: &Record, channels: &[LogicChannel; 2]) -> RunSeen {
        let run = record.pulses().unwrap();
        let lines: Vec<LineOfNode<'_>> = run
            .nodes
            .iter()
            .zip(channels)
            .map(|(node, channel)| LineOfNode { node, channel, active: ActiveLevel::High })
            .collect();
        witness_run(record, run, &lines, CaptureReading { resolution_ps: Some(10 * NS), hold_off_ps: None })
    }

    fn marked(change: impl FnOnce(&mut PulseRun)) -> Record {
        pulses(|run| {
            run.mark = Some(49);
            change(run);
        })
    }

    #[test]
    fn a_shift_that_the_clocks_explain_is_no_contradiction_and_one_beyond_them_is() {
        // Both act alike, and c's clock is 0.4 to 0.5 ms behind b's.
        let record = marked(|run| {
            run.nodes[0].clock_ahead_ns = Some((300_000, 400_000));
            run.nodes[1].clock_ahead_ns = Some((-100_000, -100_000));
        });
        let of = |shift_ns: i64| {
            let seen = seen(&record, &[channel(49, 0, |_| false), channel(49, shift_ns * NS, |_| false)]);
            let pair = &seen.pairs[0];
            assert_eq!(pair.witnessed.as_ref().unwrap().shift.min_ps, shift_ns * NS);
            pair.parts.clone().unwrap().unwrap()
        };
        let parts = of(450_000);
        assert_eq!(parts.bounds.clock, Part { ps: 450_000 * NS, error_ps: 50_000 * NS });
        assert_eq!((parts.bounds.rest.ps, parts.bounds.is_contradiction()), (0, false));
        // Beside the clocks' 50 us: what switching takes, up to 3 us of either node twice, the resolution and the reading.
        assert!(!of(506_000).bounds.is_contradiction());
        assert!(of(507_000).bounds.is_contradiction());
        assert!(!of(394_000).bounds.is_contradiction());
        assert!(of(393_000).bounds.is_contradiction());
    }

    #[test]
    fn a_line_that_lacks_edges_which_its_node_claims_contradicts_it() {
        let lost = |number: u64| (500..510).contains(&number);
        let channels = [channel(49, 0, |_| false), channel(49, 10_000 * NS, lost)];
        let claims = seen(&marked(|_| ()), &channels);
        assert_eq!(claims.lines[1].claimed.map(|claimed| claimed.without_edge), Some(10));
        assert!(
            claims.lines[1].claimed.unwrap().is_contradiction() && !claims.lines[0].claimed.unwrap().is_contradiction()
        );
        let admits = marked(|run| (run.nodes[1].orders.acted, run.nodes[1].orders.lost) = (990, 10));
        assert!(!seen(&admits, &channels).lines[1].claimed.unwrap().is_contradiction());
    }

    #[test]
    fn unmarked_lines_and_square_waves_are_paired_by_time_as_far_as_the_nodes_allow() {
        let channels = [channel(0, 0, |_| false), channel(0, 20_000 * NS, |number| number == 7)];
        let square = pulses(|run| (run.mark, run.shape) = (Some(1_000), PulseShape::Square));
        for record in [pulses(|_| ()), square] {
            let seen = seen(&record, &channels);
            let witnessed = seen.pairs[0].witnessed.as_ref().unwrap();
            assert_eq!(witnessed.pairing, Pairing::Time(NumberingError::Unmarked));
            assert_eq!((witnessed.shift.count, witnessed.shift.only_first), (999, 1));
            assert_eq!((seen.lines[0].claimed, seen.lines[0].numbered), (None, None));
        }
        // Nodes that may be half an interval apart.
        let far = pulses(|run| run.nodes[0].ordered_to_returned_max_ns = Some(600_000));
        assert!(matches!(seen(&far, &channels).pairs[0].witnessed, Err(WitnessError::Neither { .. })));
        let unknown = pulses(|run| run.nodes[0].clock_ahead_ns = None);
        assert!(matches!(seen(&unknown, &channels).pairs[0].witnessed, Err(WitnessError::Numbering { .. })));
    }

    #[test]
    fn orders_behind_the_last_one_that_a_record_tells_of_are_numbered_where_the_run_was_cut_short() {
        // The server was killed after what its file has, and its nodes did the rest of the 1,000.
        let channels = [channel(49, 0, |_| false), channel(49, 20_000 * NS, |_| false)];
        let told = |run: &mut PulseRun| {
            for node in &mut run.nodes {
                (node.orders.scheduled, node.orders.acted) = (500, 500);
            }
        };
        let counts = |record: &Record| {
            let counts = seen(record, &channels).lines[1].counts.unwrap();
            (counts.extra(), counts.wrong_marks)
        };
        let mut cut = marked(told);
        cut.validity.add(ReasonCode::InterruptedEarly, "the program was ended");
        assert_eq!(counts(&cut), (0, 0));
        // Nobody says that those behind were carried out.
        let lacks = [channel(49, 0, |_| false), channel(49, 0, |number| (600..610).contains(&number))];
        let claimed = seen(&cut, &lacks).lines[1].claimed.unwrap();
        assert!(!claimed.is_contradiction() && claimed.covered == 500, "{claimed:?}");
        // One that is whole had 500, so that these are pulses of none.
        assert_eq!(counts(&marked(told)).0, 500);
        let unknown = marked(|run| {
            told(run);
            run.nodes[0].orders = record::OrderCounts { acted: 499, unknown: 1, ..run.nodes[0].orders };
        });
        assert_eq!(counts(&unknown), (0, 0));
    }

    #[test]
    fn a_shift_is_not_split_where_its_error_is_not_known() {
        let record = marked(|_| ());
        let run = record.pulses().unwrap();
        let channels = [channel(49, 0, |_| false), channel(49, 0, |_| false)];
        let lines: Vec<LineOfNode<'_>> = run
            .nodes
            .iter()
            .zip(&channels)
            .map(|(node, channel)| LineOfNode { node, channel, active: ActiveLevel::High })
            .collect();
        let seen = witness_run(&record, run, &lines, CaptureReading::default());
        assert_eq!(seen.pairs[0].parts, Some(Err(NotSplit::Resolution)));
    }
}
