//! What the shift of two nodes' edges is made of, and whether a witness contradicts what the nodes say of themselves.
//!
//! A node acts when its clock shows the ordered moment. Its edge is early by as much as its clock is ahead, late by as much as it acts
//! later than was ordered, and late by what passes from the moment that it read before the output to the edge. That last one lies
//! between nothing and the time until the output's call returned. So the shift of two nodes is the sum of three differences, each
//! known with an error; what the witness sees beyond that is the rest.

/// A time with its error.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Part {
    /// The time (ps).
    pub ps: i64,
    /// By how much the true one can differ at most, to either side (ps).
    pub error_ps: i64,
}

impl Part {
    /// The middle of two bounds (ps).
    #[must_use]
    pub const fn between(lower_ps: i64, upper_ps: i64) -> Self {
        let middle_ps = lower_ps.saturating_add(upper_ps.saturating_sub(lower_ps) / 2);
        Self { ps: middle_ps, error_ps: upper_ps.saturating_sub(middle_ps) }
    }

    const fn less(self, other: Self) -> Self {
        Self { ps: self.ps.saturating_sub(other.ps), error_ps: self.error_ps.saturating_add(other.error_ps) }
    }

    const fn plus(self, other: Self) -> Self {
        Self { ps: self.ps.saturating_add(other.ps), error_ps: self.error_ps.saturating_add(other.error_ps) }
    }
}

/// What a node's record states of a stretch of time, in the mean over the orders that the witness numbered, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeMeans {
    /// How far the node's clock was ahead of the server's, with the bound on that.
    pub clock_ahead: Part,
    /// By how much the node acted later than was ordered, on its own clock.
    pub ordered_to_acted: Part,
    /// From the moment that was read before the output to that after its call (ps): the edge lies in between.
    pub acted_to_returned_ps: i64,
}

impl NodeMeans {
    /// From the moment before the output to the edge.
    fn output(&self) -> Part {
        Part::between(0, self.acted_to_returned_ps.max(0))
    }
}

/// What a shift is made of. The four parts add up to the shift that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftParts {
    /// The part of the clocks: the first node's less the second one's, since a clock that is ahead makes its node act early.
    pub clock: Part,
    /// The part of acting later than was ordered.
    pub ordered_to_acted: Part,
    /// The part of the output itself.
    pub output: Part,
    /// What is left: zero, within its error, if the nodes' records and the witness are right.
    pub rest: Part,
}

impl ShiftParts {
    /// Whether the witness contradicts the nodes: what is left is more than all errors together.
    #[must_use]
    pub const fn is_contradiction(&self) -> bool {
        self.rest.ps.unsigned_abs() > self.rest.error_ps.unsigned_abs()
    }
}

/// Splits the mean shift of the second node against the first one.
#[must_use]
pub fn split(measured: Part, first: &NodeMeans, second: &NodeMeans) -> ShiftParts {
    let clock = first.clock_ahead.less(second.clock_ahead);
    let ordered_to_acted = second.ordered_to_acted.less(first.ordered_to_acted);
    let output = second.output().less(first.output());
    let rest = measured.less(clock.plus(ordered_to_acted).plus(output));
    ShiftParts { clock, ordered_to_acted, output, rest }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const fn part(ps: i64, error_ps: i64) -> Part {
        Part { ps, error_ps }
    }

    #[test]
    fn a_clock_that_is_ahead_makes_its_node_early() {
        let first = NodeMeans::default();
        let ahead = NodeMeans { clock_ahead: part(700, 20), ..first };
        let parts = split(part(-690, 5), &first, &ahead);
        assert_eq!((parts.clock, parts.rest), (part(-700, 20), part(10, 25)));
        assert!(!parts.is_contradiction());
        assert!(split(part(-674, 5), &first, &ahead).is_contradiction());
        assert!(!split(part(-675, 5), &first, &ahead).is_contradiction());
    }

    #[test]
    fn the_edge_lies_between_acting_and_returning() {
        let first = NodeMeans { acted_to_returned_ps: 100, ..NodeMeans::default() };
        let second = NodeMeans { acted_to_returned_ps: 301, ordered_to_acted: part(40, 1), ..first };
        let parts = split(part(90, 0), &first, &second);
        assert_eq!((parts.output, parts.ordered_to_acted), (part(100, 201), part(40, 1)));
        assert_eq!(parts.rest, part(-50, 202));
    }

    proptest! {
        /// Of two nodes whose records are right, the witness never says that it contradicts them; and the parts add up.
        #[test]
        fn right_records_are_never_contradicted(
            offsets in prop::array::uniform2((-1_000_000..1_000_000_i64, 0..10_000_i64, -1.0..1.0_f64)),
            acted in prop::array::uniform2(0..1_000_000_i64),
            returned in prop::array::uniform2((0..500_000_i64, 0.0..1.0_f64)),
            resolution in 0..10_000_i64,
            within in -1.0..1.0_f64,
        ) {
            let share = |ps: i64, share: f64| units::round_i64(units::approx_f64_i64(ps) * share);
            let node = |at: usize| NodeMeans {
                clock_ahead: part(offsets[at].0 + share(offsets[at].1, offsets[at].2), offsets[at].1),
                ordered_to_acted: part(acted[at], 0),
                acted_to_returned_ps: returned[at].0,
            };
            let edge = |at: usize| -offsets[at].0 + acted[at] + share(returned[at].0, returned[at].1);
            let measured = part(edge(1) - edge(0) + share(resolution, within), resolution);
            let parts = split(measured, &node(0), &node(1));
            prop_assert!(!parts.is_contradiction(), "{:?}", parts);
            let sum = parts.clock.ps + parts.ordered_to_acted.ps + parts.output.ps + parts.rest.ps;
            prop_assert_eq!(sum, measured.ps);
        }
    }
}
