//! Edges of several lines in the order of time, with what was lost between them. Pure.

use codecs::logic::kernel_events::LineEvent;

use super::{LineCounts, SeenEvent};

/// An edge, as the kernel reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StampedEdge {
    pub(super) line: usize,
    /// The kernel's stamp (ns, CLOCK_MONOTONIC).
    pub(super) at_ns: i64,
    pub(super) is_high: bool,
    /// Its number among the edges of the line, from 1 on.
    pub(super) number: u32,
}

/// What is known of a line.
#[derive(Clone, Debug, Default)]
struct Line {
    is_high: bool,
    /// The number of its last edge.
    last: u32,
    counts: LineCounts,
}

/// Edges that wait until no earlier one can come.
#[derive(Debug)]
pub(super) struct InOrder {
    start_ns: i64,
    lines: Vec<Line>,
    waiting: Vec<StampedEdge>,
    /// The latest that was handed on (ns from the start).
    last_ns: i64,
}

impl InOrder {
    /// Of lines with these levels at a moment.
    pub(super) fn new(start_ns: i64, levels: &[bool]) -> Self {
        let lines = levels.iter().map(|is_high| Line { is_high: *is_high, ..Line::default() }).collect();
        Self { start_ns, lines, waiting: Vec::new(), last_ns: 0 }
    }

    pub(super) fn add(&mut self, edge: StampedEdge) {
        self.waiting.push(edge);
    }

    /// What came before the start only tells the levels, and the numbers of the edges.
    pub(super) fn begin(&mut self) {
        let start_ns = self.start_ns;
        self.waiting.sort_by_key(|edge| edge.at_ns);
        let later = self.waiting.partition_point(|edge| edge.at_ns < start_ns);
        for edge in self.waiting.drain(..later) {
            if let Some(line) = self.lines.get_mut(edge.line) {
                (line.is_high, line.last) = (edge.is_high, edge.number);
            }
        }
    }

    /// The level of each line.
    pub(super) fn levels(&self) -> impl Iterator<Item = bool> + '_ {
        self.lines.iter().map(|line| line.is_high)
    }

    /// What became of the lines until a moment (ns, CLOCK_MONOTONIC), in the order of time, from the start on.
    pub(super) fn take_until(&mut self, until_ns: i64) -> Vec<SeenEvent> {
        self.waiting.sort_by_key(|edge| edge.at_ns);
        let later = self.waiting.partition_point(|edge| edge.at_ns <= until_ns);
        let mut events = Vec::new();
        for edge in self.waiting.drain(..later) {
            let Some(line) = self.lines.get_mut(edge.line) else { continue };
            let stamped_ns = edge.at_ns.saturating_sub(self.start_ns);
            let at_ns = stamped_ns.max(self.last_ns);
            self.last_ns = at_ns;
            let lost = edge.number.wrapping_sub(line.last).saturating_sub(1);
            // Later ones stand in the file already: when it was is not written, and nothing else in its place.
            let is_late = stamped_ns < at_ns;
            line.counts.lost += u64::from(lost);
            if lost > 0 || is_late {
                events.push((edge.line, at_ns, LineEvent::Lost));
            }
            events.push((edge.line, at_ns, LineEvent::Level(edge.is_high)));
            let counted = if is_late { &mut line.counts.late } else { &mut line.counts.edges };
            *counted += 1;
            (line.is_high, line.last) = (edge.is_high, edge.number);
        }
        events
    }

    pub(super) fn counts(&self) -> Vec<LineCounts> {
        self.lines.iter().map(|line| line.counts.clone()).collect()
    }

    /// The latest that was handed on (ns from the start).
    pub(super) const fn last_ns(&self) -> i64 {
        self.last_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(line: usize, at_ns: i64, is_high: bool, number: u32) -> StampedEdge {
        StampedEdge { line, at_ns, is_high, number }
    }

    #[test]
    fn edges_of_all_lines_come_in_the_order_of_time_and_gaps_in_their_numbers_are_said() {
        let mut order = InOrder::new(1_000, &[false, true]);
        [edge(1, 900, false, 4), edge(1, 1_500, true, 5), edge(0, 1_200, true, 1)]
            .into_iter()
            .for_each(|edge| order.add(edge));
        order.begin();
        assert_eq!(order.levels().collect::<Vec<_>>(), [false, false], "one came before the start");
        assert_eq!(order.take_until(1_300), [(0, 200, LineEvent::Level(true))]);
        // Two edges of the second line are missing; one of the first comes later than it should.
        [edge(1, 1_700, false, 8), edge(0, 1_450, false, 2)].into_iter().for_each(|edge| order.add(edge));
        let level = LineEvent::Level;
        assert_eq!(
            order.take_until(i64::MAX),
            [(0, 450, level(false)), (1, 500, level(true)), (1, 700, LineEvent::Lost), (1, 700, level(false))]
        );
        let counts = |edges, lost| LineCounts { edges, lost, late: 0 };
        assert_eq!((order.counts(), order.last_ns()), (vec![counts(2, 0), counts(2, 2)], 700));
    }

    #[test]
    fn an_edge_that_comes_after_later_ones_were_written_parts_its_line_and_is_at_no_other_time() {
        let mut order = InOrder::new(0, &[false, false]);
        [edge(0, 100, true, 1), edge(1, 900, true, 1)].into_iter().for_each(|edge| order.add(edge));
        assert_eq!(order.take_until(1_000).len(), 2);
        [edge(0, 400, false, 2), edge(0, 1_400, true, 3)].into_iter().for_each(|edge| order.add(edge));
        assert_eq!(
            order.take_until(2_000),
            [(0, 900, LineEvent::Lost), (0, 900, LineEvent::Level(false)), (0, 1_400, LineEvent::Level(true))]
        );
        assert_eq!(order.counts()[0], LineCounts { edges: 2, lost: 0, late: 1 });
    }

    #[test]
    fn the_first_edges_of_a_line_can_be_lost_too() {
        let mut order = InOrder::new(0, &[false]);
        order.begin();
        order.add(edge(0, 10, true, 3));
        assert_eq!(order.take_until(10)[0], (0, 10, LineEvent::Lost));
    }
}
