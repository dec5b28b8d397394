//! Whether a line shows the edges that its node says it made.
//!
//! A record counts the orders that a node carried out, and does not name them. So of the orders whose time the capture covers, the node
//! says that it carried out all but as many as it did not carry out in the whole run. A line that surely shows no edge of more of them
//! contradicts it.

use codecs::logic::LogicChannel;

use crate::edges::LinePulses;
use crate::numbering::{NumberedLine, OrderedPulses};

/// By how much the rates of the capture's clock and the server's may differ, as the numbering has it (percent).
const RATE_PERCENT: i64 = 2;

/// What a node says of its orders.
#[derive(Clone, Copy, Debug)]
pub struct SaidByNode {
    /// Orders of the run.
    pub scheduled: u64,
    /// Orders that it carried out.
    pub acted: u64,
    /// How late the edge of one was at most (ps); `None` where it does not say that.
    pub latest_ps: Option<i64>,
}

/// The orders whose time a capture covers, and the edges that the line lacks of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EdgesClaimed {
    /// Orders whose time the capture covers completely.
    pub covered: u64,
    /// How many of them surely have no edge: any pulse that has no number may be that of an order whose edge is not found, and so may
    /// one that is too short to be a pulse, where the node says that it was so late: what begins late ends in time.
    pub without_edge: u64,
    /// Orders that the node does not say it carried out, in the whole run.
    pub not_carried_out: u64,
}

impl EdgesClaimed {
    /// Compares a line with what its node says.
    #[must_use]
    pub fn of_line(
        channel: &LogicChannel,
        line: &LinePulses,
        numbered: &NumberedLine,
        ordered: &OrderedPulses,
        SaidByNode { scheduled, acted, latest_ps }: SaidByNode,
    ) -> Self {
        let not_carried_out = scheduled.saturating_sub(acted);
        let (Some(first), Some(last)) = (numbered.pulses.first(), numbered.pulses.last()) else {
            return Self { not_carried_out, ..Self::default() };
        };
        let time = Time::new(ordered);
        let from_ps = channel.spans.iter().rev().find(|span| span.from_ps <= first.start_ps).map(|span| span.from_ps);
        let until_ps = channel.spans.iter().find(|span| span.until_ps >= last.start_ps).map(|span| span.until_ps);
        let before = time.surely(from_ps.map_or(0, |from_ps| first.start_ps.saturating_sub(from_ps)));
        let after = time.surely(until_ps.map_or(0, |until_ps| until_ps.saturating_sub(last.start_ps)));
        let before = before.min(first.number);
        let after = after.min(scheduled.saturating_sub(last.number.saturating_add(1)));
        let within = last.number.saturating_sub(first.number).saturating_add(1);
        let gaps = channel.spans.windows(2).filter_map(|pair| {
            let [one, next] = pair else { return None };
            let is_within = next.from_ps > first.start_ps && one.until_ps < last.start_ps;
            is_within.then(|| time.perhaps(next.from_ps.saturating_sub(one.until_ps)))
        });
        let in_gaps = gaps.fold(0_u64, u64::saturating_add).min(within);
        let pulses = u64::try_from(line.pulses.len().saturating_sub(numbered.pulses.len())).unwrap_or(u64::MAX);
        let longest_ps = ordered.form.width_ps.saturating_sub(ordered.form.hold_off_ps);
        let is_short = latest_ps.is_none_or(|latest_ps| latest_ps >= longest_ps);
        let may_be_theirs = pulses
            .saturating_sub(numbered.counts.unclear_orders)
            .saturating_add(line.cut)
            .saturating_add(if is_short { line.short_pairs } else { 0 });
        let lacking = numbered.counts.missing.saturating_sub(in_gaps).saturating_add(before).saturating_add(after);
        Self {
            covered: within.saturating_sub(in_gaps).saturating_add(before).saturating_add(after),
            without_edge: lacking.saturating_sub(may_be_theirs),
            not_carried_out,
        }
    }

    /// Whether the line contradicts the node.
    #[must_use]
    pub const fn is_contradiction(&self) -> bool {
        self.without_edge > self.not_carried_out
    }
}

/// How many orders a stretch of a capture has room for.
struct Time {
    interval_ps: i64,
    /// How far a pulse may reach beyond its place: the lateness that numbering allows, and a long pulse with its bounces.
    reach_ps: i64,
}

impl Time {
    const fn new(ordered: &OrderedPulses) -> Self {
        let interval_ps = if ordered.interval_ps < 1 { 1 } else { ordered.interval_ps };
        let form = &ordered.form;
        let reach_ps = interval_ps
            .saturating_add(form.width_ps.saturating_mul(2))
            .saturating_add(form.hold_off_ps.saturating_mul(2));
        Self { interval_ps, reach_ps }
    }

    /// Orders next to a numbered one that the stretch beside it covers whole.
    fn surely(&self, stretch_ps: i64) -> u64 {
        let orders = i128::from(stretch_ps.saturating_sub(self.reach_ps).max(0)) * 100
            / (i128::from(self.interval_ps) * i128::from(100 + RATE_PERCENT));
        u64::try_from(orders).unwrap_or(u64::MAX)
    }

    /// Orders of which a gap may hide a part.
    fn perhaps(&self, gap_ps: i64) -> u64 {
        let gap_ps = i128::from(gap_ps.max(0)) + 2 * i128::from(self.reach_ps);
        let orders = gap_ps * 100 / (i128::from(self.interval_ps) * i128::from(100 - RATE_PERCENT)) + 1;
        u64::try_from(orders).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use codecs::logic::LogicSpan;
    use proptest::prelude::*;

    use super::*;
    use crate::edges::{ActiveLevel, PulseForm};
    use crate::marks::is_long;
    use crate::numbering::number;

    const INTERVAL_PS: i64 = 1_000_000_000;
    const WIDTH_PS: i64 = INTERVAL_PS / 5;

    fn ordered() -> OrderedPulses {
        let form = PulseForm::new(ActiveLevel::High, WIDTH_PS);
        OrderedPulses { form, interval_ps: INTERVAL_PS, every: 49, orders: Some(1_000) }
    }

    /// A line with the pulses of these orders, each a thousandth of an interval late of its place at so many intervals, in spans (intervals).
    fn line(numbers: impl Iterator<Item = u64>, spans: &[(i64, i64)]) -> LogicChannel {
        let mut spans: Vec<LogicSpan> = spans
            .iter()
            .map(|(from, until)| LogicSpan {
                from_ps: from * INTERVAL_PS,
                until_ps: until * INTERVAL_PS,
                begins_high: false,
                edges_ps: Vec::new(),
            })
            .collect();
        for number in numbers {
            let start_ps = i64::try_from(number).unwrap() * INTERVAL_PS + INTERVAL_PS / 1_000;
            let width_ps = if is_long(number, 49) { 2 * WIDTH_PS } else { WIDTH_PS };
            let shown = spans.iter_mut().find(|span| span.from_ps <= start_ps && start_ps < span.until_ps);
            if let Some(span) = shown {
                span.edges_ps.extend([start_ps, start_ps + width_ps]);
            }
        }
        LogicChannel { name: "D0".to_owned(), spans }
    }

    fn claimed(channel: &LogicChannel, acted: u64) -> EdgesClaimed {
        claimed_late(channel, acted, INTERVAL_PS / 1_000)
    }

    fn claimed_late(channel: &LogicChannel, acted: u64, latest_ps: i64) -> EdgesClaimed {
        let pulses = LinePulses::of_channel(channel, &ordered().form);
        let numbered = number(&pulses, &ordered()).unwrap();
        let said = SaidByNode { scheduled: 1_000, acted, latest_ps: Some(latest_ps) };
        EdgesClaimed::of_line(channel, &pulses, &numbered, &ordered(), said)
    }

    #[test]
    fn edges_that_a_node_did_not_make_are_missing_and_no_others() {
        let all = claimed(&line(0..1_000, &[(-5, 1_010)]), 1_000);
        assert_eq!(all, EdgesClaimed { covered: 1_000, without_edge: 0, not_carried_out: 0 });
        let seven = || (0..1_000).filter(|number| !(300..307).contains(number));
        let honest = claimed(&line(seven(), &[(-5, 1_010)]), 993);
        assert_eq!((honest.without_edge, honest.not_carried_out, honest.is_contradiction()), (7, 7, false));
        assert!(claimed(&line(seven(), &[(-5, 1_010)]), 994).is_contradiction());
    }

    #[test]
    fn orders_that_the_capture_does_not_cover_are_not_held_against_the_node() {
        let part = claimed(&line(0..1_000, &[(100, 600)]), 1_000);
        // The first one's beginning is too close to the capture's to be used.
        assert_eq!((part.covered, part.without_edge), (499, 0));
        // A gap of fifty intervals.
        let gap = claimed(&line(0..1_000, &[(-5, 400), (450, 1_010)]), 1_000);
        assert!((930..=950).contains(&gap.covered), "{gap:?}");
        assert_eq!(gap.without_edge, 0);
    }

    #[test]
    fn a_line_that_falls_silent_while_the_capture_goes_on_lacks_the_rest() {
        let silent = claimed(&line(0..600, &[(-5, 1_010)]), 1_000);
        assert_eq!(silent.covered, 1_000);
        assert_eq!(silent.without_edge, 400);
        // Of the last orders the capture is over too early to be sure.
        let early = claimed(&line(0..600, &[(-5, 703)]), 1_000);
        assert!((95..=101).contains(&early.without_edge), "{early:?}");
        let late = claimed(&line(400..1_000, &[(-5, 1_010)]), 1_000);
        assert!((385..=400).contains(&late.without_edge) && late.is_contradiction(), "{late:?}");
    }

    #[test]
    fn a_pulse_without_a_number_may_be_any_that_is_missing() {
        let mut channel = line((0..1_000).filter(|number| *number != 300), &[(-5, 1_010)]);
        let at = channel.spans[0].edges_ps.partition_point(|at_ps| *at_ps < 700 * INTERVAL_PS + INTERVAL_PS / 2);
        let extra_ps = 700 * INTERVAL_PS + INTERVAL_PS / 2;
        channel.spans[0].edges_ps.splice(at..at, [extra_ps, extra_ps + WIDTH_PS]);
        assert_eq!(claimed(&channel, 1_000).without_edge, 0);
    }

    #[test]
    fn an_order_that_was_carried_out_so_late_that_its_pulse_is_a_glitch_has_an_edge() {
        let mut channel = line((0..1_000).filter(|number| !(300..302).contains(number)), &[(-5, 1_010)]);
        let edges = &mut channel.spans[0].edges_ps;
        let end_ps = 301 * INTERVAL_PS + INTERVAL_PS / 1_000 + WIDTH_PS;
        let at = edges.partition_point(|at_ps| *at_ps < end_ps);
        // Two orders right after each other, when the node could run again.
        let late = [4, 3, 1, 0].map(|back| end_ps - back * WIDTH_PS / 100);
        edges.splice(at..at, late);
        assert_eq!(claimed_late(&channel, 1_000, WIDTH_PS + INTERVAL_PS).without_edge, 0);
        // A node that says that none of its edges was late has no pulse that is so short.
        assert!(claimed(&channel, 1_000).is_contradiction());
        assert_eq!(claimed(&channel, 1_000).without_edge, 2);
    }

    /// What a capture shows of edges between these moments: the line is low before the first.
    fn shown(edges: &[i64], from_ps: i64, until_ps: i64) -> LogicSpan {
        let before = edges.partition_point(|at_ps| *at_ps < from_ps);
        let end = edges.partition_point(|at_ps| *at_ps < until_ps);
        LogicSpan { from_ps, until_ps, begins_high: before % 2 == 1, edges_ps: edges[before..end.max(before)].to_vec() }
    }

    proptest! {
        /// Whatever orders a node misses, and whatever of the time the capture leaves out: a node that says how many it missed is not
        /// contradicted.
        #[test]
        fn an_honest_node_is_never_contradicted(
            seed in any::<u64>(),
            lost_percent in 0_usize..30,
            burst in 0_usize..200,
            cuts in prop::collection::btree_set(-5_000..1_010_000_i64, 2..7),
            rate_ppm in -10_000..10_000_i64,
            jitter_percent in 0_i64..9,
        ) {
            let mut random = units::Random::new(seed);
            let begin = random.below(1_000);
            let (mut edges, mut acted) = (Vec::new(), 0);
            for (number, place) in (0_u64..1_000).zip(0_i64..) {
                let in_burst = (begin..begin + burst).contains(&usize::try_from(number).unwrap());
                if in_burst || random.below(100) < lost_percent {
                    continue;
                }
                acted += 1;
                let jitter_ps = i64::try_from(random.below(1_001)).unwrap() * jitter_percent * (INTERVAL_PS / 100_000);
                let start_ps = place * (INTERVAL_PS + INTERVAL_PS / 1_000_000 * rate_ppm) + jitter_ps;
                edges.extend([start_ps, start_ps + if is_long(number, 49) { 2 * WIDTH_PS } else { WIDTH_PS }]);
            }
            let moments: Vec<i64> = cuts.into_iter().map(|thousandths| thousandths * (INTERVAL_PS / 1_000)).collect();
            let spans = moments.chunks_exact(2).map(|pair| shown(&edges, pair[0], pair[1])).collect();
            let channel = LogicChannel { name: "D0".to_owned(), spans };
            let pulses = LinePulses::of_channel(&channel, &ordered().form);
            let Ok(numbered) = number(&pulses, &ordered()) else { return Ok(()) };
            let said = SaidByNode { scheduled: 1_000, acted, latest_ps: Some(0) };
            let claimed = EdgesClaimed::of_line(&channel, &pulses, &numbered, &ordered(), said);
            prop_assert!(!claimed.is_contradiction(), "{:?}", claimed);
        }
    }
}
