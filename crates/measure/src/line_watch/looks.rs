//! How late the kernel's stamps are at most, by looks at the levels of the lines. Pure.
//!
//! An edge happened after the last look that still showed the level before it, and before its own stamp. So a stamp is late by no more
//! than the time from the beginning of that look, whatever kept the interrupt waiting. A calibration with one signal on all lines cannot
//! show that: what keeps an interrupt waiting delays the stamps of all lines alike then, and of edges at different times each by itself.

use std::collections::VecDeque;

use super::order::StampedEdge;

/// A change of a line's level between two looks at it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LookedChange {
    pub(super) line: usize,
    pub(super) is_high: bool,
    /// When the last look that showed the level before began (ns, CLOCK_MONOTONIC).
    pub(super) after_ns: i64,
}

/// The first look at a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FirstLook {
    pub(super) is_high: bool,
    /// When it began (ns, CLOCK_MONOTONIC).
    pub(super) began_ns: i64,
}

/// How late stamps are, from all edges and all looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lateness {
    /// No stamp came later than this after its edge (ns).
    Within(i64),
    /// Of some edge of this line, counted from 0 on, nothing is known.
    Unknown(usize, WhyUnknown),
}

/// Why nothing is known of how late a stamp is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhyUnknown {
    /// The kernel had no room for edges.
    Lost,
    /// What looks saw and the edges that the kernel reported do not belong together: an edge came between two looks, its level was read
    /// late, or one of both lacks an edge.
    Apart,
}

/// A line whose edges and changes are put side by side.
#[derive(Debug)]
struct Line {
    first: FirstLook,
    /// Whether an edge after the first look has come.
    has_begun: bool,
    last_number: Option<u32>,
    edges: VecDeque<StampedEdge>,
    changes: VecDeque<LookedChange>,
    unknown: Option<WhyUnknown>,
}

/// Stamped edges beside the changes that looks saw.
#[derive(Debug)]
pub(super) struct Beside {
    lines: Vec<Line>,
    within_ns: i64,
}

impl Beside {
    pub(super) fn new(first: &[FirstLook]) -> Self {
        let line = |first: &FirstLook| Line {
            first: *first,
            has_begun: false,
            last_number: None,
            edges: VecDeque::new(),
            changes: VecDeque::new(),
            unknown: None,
        };
        Self { lines: first.iter().map(line).collect(), within_ns: 0 }
    }

    /// An edge, in the order of the numbers of its line.
    pub(super) fn edge(&mut self, edge: StampedEdge) {
        let Some(line) = self.lines.get_mut(edge.line) else { return };
        let is_next = line.last_number.is_none_or(|last| edge.number == last.wrapping_add(1));
        line.last_number = Some(edge.number);
        if !line.has_begun {
            // The first look showed what it led to: it came before, and perhaps its stamp after.
            if edge.at_ns < line.first.began_ns || edge.is_high == line.first.is_high {
                return;
            }
            line.has_begun = true;
        } else if !is_next {
            line.unknown = Some(WhyUnknown::Lost);
        }
        line.edges.push_back(edge);
    }

    /// A change, in the order of time.
    pub(super) fn change(&mut self, change: LookedChange) {
        if let Some(line) = self.lines.get_mut(change.line) {
            line.changes.push_back(change);
        }
    }

    /// Puts together what belongs together: each edge and the change that it made.
    pub(super) fn settle(&mut self) {
        for line in &mut self.lines {
            while let (Some(edge), Some(change)) = (line.edges.front(), line.changes.front()) {
                // A look that began after the stamp cannot have shown the level before the edge: one of both is of another edge.
                if edge.is_high != change.is_high || change.after_ns > edge.at_ns {
                    line.unknown.get_or_insert(WhyUnknown::Apart);
                }
                self.within_ns = self.within_ns.max(edge.at_ns.saturating_sub(change.after_ns));
                line.edges.pop_front();
                line.changes.pop_front();
            }
        }
    }

    /// What all of it came to, where the last look at the lines began at this moment (ns, CLOCK_MONOTONIC), and until when the lines are
    /// known: an edge whose stamp came after that moment may have been before it.
    pub(super) fn end(mut self, last_look_ns: i64) -> (Lateness, i64) {
        self.settle();
        let mut known_until_ns = last_look_ns;
        for line in &mut self.lines {
            // An edge after the last look has no change, and needs none.
            while line.edges.back().is_some_and(|edge| edge.at_ns >= last_look_ns) {
                line.edges.pop_back();
            }
            // The other way round, a change whose edge has not been reported ends what is known.
            while let Some(change) = line.changes.pop_back() {
                known_until_ns = known_until_ns.min(change.after_ns);
            }
            if !line.edges.is_empty() {
                line.unknown.get_or_insert(WhyUnknown::Apart);
            }
        }
        let unknown = self.lines.iter().enumerate().find_map(|(number, line)| Some((number, line.unknown?)));
        match unknown {
            Some((line, why)) => (Lateness::Unknown(line, why), known_until_ns),
            None => (Lateness::Within(self.within_ns), known_until_ns),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A line that is low at first, and looked at each 1 us from 0 on: edges at these times (ns), each stamped so much later.
    struct Truth {
        edges: Vec<(i64, i64)>,
    }

    impl Truth {
        /// Pulses of 20 us each 100 us, whose edges are stamped 700 ns later.
        fn new() -> Self {
            Self { edges: (1..=50_i64).flat_map(|at| [(at * 100_000, 700), (at * 100_000 + 20_000, 700)]).collect() }
        }

        fn stamped(&self) -> Vec<StampedEdge> {
            let edge = |(at, (ns, late_ns)): (usize, &(i64, i64))| StampedEdge {
                line: 0,
                at_ns: ns + late_ns,
                is_high: at % 2 == 0,
                number: u32::try_from(at + 1).unwrap(),
            };
            self.edges.iter().enumerate().map(edge).collect()
        }

        /// What looks see that begin at each multiple of 1 us, but for those of these stretches.
        fn looked(&self, without: &[(i64, i64)]) -> (Vec<LookedChange>, i64) {
            let (mut changes, mut is_high, mut after_ns) = (Vec::new(), false, 0);
            for at_ns in (0..6_000_000).step_by(1_000) {
                if without.iter().any(|(from, until)| (*from..*until).contains(&at_ns)) {
                    continue;
                }
                let level = self.edges.iter().filter(|(ns, _)| *ns <= at_ns).count() % 2 == 1;
                if level != is_high {
                    changes.push(LookedChange { line: 0, is_high: level, after_ns });
                    is_high = level;
                }
                after_ns = at_ns;
            }
            (changes, after_ns)
        }

        fn outcome(&self, without: &[(i64, i64)], change: impl Fn(&mut Vec<StampedEdge>)) -> (Lateness, i64) {
            let mut beside = Beside::new(&[FirstLook { is_high: false, began_ns: 0 }]);
            let mut edges = self.stamped();
            change(&mut edges);
            let (changes, last_ns) = self.looked(without);
            edges.into_iter().for_each(|edge| beside.edge(edge));
            changes.into_iter().for_each(|change| beside.change(change));
            beside.end(last_ns)
        }
    }

    #[test]
    fn no_stamp_is_later_than_is_said_and_one_late_stamp_is_enough() {
        let mut truth = Truth::new();
        assert_eq!(truth.outcome(&[], |_| ()), (Lateness::Within(1_700), 5_999_000));
        truth.edges[33].1 = 61_000;
        assert_eq!(truth.outcome(&[], |_| ()).0, Lateness::Within(62_000));
        // Where nobody looked for a while, it may have been anywhere in between.
        assert_eq!(Truth::new().outcome(&[(1_990_000, 2_004_000)], |_| ()).0, Lateness::Within(11_700));
    }

    #[test]
    fn of_an_edge_that_no_look_or_no_stamp_shows_nothing_is_known() {
        let truth = Truth::new();
        // A pulse between two looks, the first and the last one too.
        for pulse in [1, 20, 50] {
            let gap = (pulse * 100_000 - 1_000, pulse * 100_000 + 21_000);
            assert_eq!(truth.outcome(&[gap], |_| ()).0, Lateness::Unknown(0, WhyUnknown::Apart), "{pulse}");
        }
        let lost = truth.outcome(&[], |edges| drop(edges.drain(20..22)));
        assert_eq!(lost.0, Lateness::Unknown(0, WhyUnknown::Lost), "the numbers have a gap");
        let level = truth.outcome(&[], |edges| edges[7].is_high = true);
        assert_eq!(level.0, Lateness::Unknown(0, WhyUnknown::Apart), "the level was read late");
        let silent = truth.outcome(&[], |edges| {
            edges.drain(20..22);
            edges.iter_mut().zip(1..).for_each(|(edge, number)| edge.number = number);
        });
        assert!(
            matches!(silent.0, Lateness::Within(100_000..)),
            "two interrupts are missing, and nobody counted: {silent:?}"
        );
    }

    #[test]
    fn two_faults_that_leave_as_many_edges_as_changes_are_seen() {
        // No look showed the 20th pulse, and the kernel reported no edge of the 30th: those in between meet changes of later pulses.
        let (gap, truth) = ((1_999_000, 2_021_000), Truth::new());
        let outcome = truth.outcome(&[gap], |edges| {
            edges.drain(58..60);
            edges.iter_mut().zip(1..).for_each(|(edge, number)| edge.number = number);
        });
        assert_eq!(outcome.0, Lateness::Unknown(0, WhyUnknown::Apart));
    }

    #[test]
    fn what_came_before_the_first_look_and_after_the_last_one_needs_no_change() {
        let truth = Truth { edges: vec![(100_000, 700), (120_000, 700), (5_999_500, 700)] };
        assert_eq!(truth.outcome(&[], |_| ()), (Lateness::Within(1_700), 5_999_000));
        // An edge before the first look, and one just before it whose stamp comes after.
        let mut beside = Beside::new(&[FirstLook { is_high: true, began_ns: 1_000 }]);
        let edge = |at_ns, is_high, number| StampedEdge { line: 0, at_ns, is_high, number };
        [edge(400, false, 7), edge(1_200, true, 8), edge(5_400, false, 9)]
            .into_iter()
            .for_each(|edge| beside.edge(edge));
        beside.change(LookedChange { line: 0, is_high: false, after_ns: 5_000 });
        assert_eq!(beside.end(9_000), (Lateness::Within(400), 9_000));
        // A change whose edge was not reported before the end: the line is known until then.
        let mut beside = Beside::new(&[FirstLook { is_high: false, began_ns: 1_000 }]);
        beside.edge(edge(5_400, true, 1));
        beside.change(LookedChange { line: 0, is_high: true, after_ns: 5_000 });
        beside.change(LookedChange { line: 0, is_high: false, after_ns: 8_000 });
        assert_eq!(beside.end(9_000), (Lateness::Within(400), 8_000));
    }

    proptest::proptest! {
        /// However late stamps are, whenever nobody looks, or whichever pulses the kernel reports no edge of: what is said is true, or
        /// nothing is said. Both at once, with stamps that are later than the time from pulse to pulse, can leave as many edges as changes.
        #[test]
        fn what_is_said_is_true(
            seed in proptest::prelude::any::<u64>(),
            late in 0_usize..300_000,
            gaps in 0_usize..30,
            unreported in proptest::option::of(0_usize..4),
        ) {
            let mut random = units::Random::new(seed);
            let mut truth = Truth::new();
            for edge in &mut truth.edges {
                edge.1 = i64::try_from(random.below(late + 1)).unwrap();
            }
            // Stamps of one line come in their order.
            let mut last_ns = 0;
            for edge in &mut truth.edges {
                last_ns = (edge.0 + edge.1).max(last_ns + 1);
                edge.1 = last_ns - edge.0;
            }
            let gaps: Vec<(i64, i64)> = (0..gaps).map(|_| {
                let from = i64::try_from(random.below(5_900_000)).unwrap();
                (from, from + i64::try_from(random.below(60_000)).unwrap())
            }).collect();
            let gaps = if unreported.is_some() { Vec::new() } else { gaps };
            let unreported: Vec<usize> = (0..unreported.unwrap_or(0)).map(|_| random.below(50)).collect();
            let is_reported = |at: usize| !unreported.contains(&(at / 2));
            let (lateness, until_ns) = truth.outcome(&gaps, |edges| {
                let mut at = 0;
                edges.retain(|_| { at += 1; is_reported(at - 1) });
                edges.iter_mut().zip(1..).for_each(|(edge, number)| edge.number = number);
            });
            // Of edges that are in the capture.
            let stamped = truth.edges.iter().enumerate().filter(|(at, (ns, late_ns))| is_reported(*at) && ns + late_ns <= until_ns);
            let worst = stamped.map(|(_, (_, late_ns))| *late_ns).max().unwrap_or(0);
            if let Lateness::Within(ns) = lateness {
                proptest::prop_assert!(ns >= worst, "{ns} < {worst}");
            }
        }
    }
}
