//! Numbers for the pulses of a line: which order did each of them come from?
//!
//! No clock is trusted. The capture may begin anywhere, its clock and the server's may differ in rate by 2 %, orders may be missing,
//! also those of a mark, and there may be pulses of no order. First the pulses are put on a grid (`grid`), then the marks of some dozen
//! thousand orders at a time say which number the grid's first place has (`decode`). Blocks of one grid have to agree, stretches of
//! different grids have to follow each other as time allows, and a mark has to look as its number says. What contradicts that gets no
//! number, and is reported; nothing is averaged.
//!
//! # What is promised, within which limits
//!
//! A pulse that an order made gets that order's number, or none, if
//! - the rates of the two clocks differ by up to 2 %, and the mean rate over a gap differs by less than 0.02 % from that before it;
//! - pulses lie within a tenth of an interval of a grid that follows their mean, but for less than half of any 32 in a row; and these are
//!   late by less than seven tenths of an interval, and not early;
//! - of two neighboring marks fewer than 2 pulses look short that are long, or long that are short;
//! - no line leaps by whole intervals without a gap.
//!
//! A pulse of no order that stands where the pulse of an order is missing, near its place and as wide, cannot be told from it, and gets
//! its number.

mod by_time;
mod decode;
mod grid;
mod numbers;

pub use by_time::{PairingError, pair_by_time};

use crate::edges::{LinePulses, PulseForm, PulseWidth};
use crate::marks::{MarkError, check};

/// What is known of the orders before a capture of them is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderedPulses {
    /// What the pulses look like.
    pub form: PulseForm,
    /// The time from order to order, on the server's clock (ps).
    pub interval_ps: i64,
    /// Each so many orders there is a mark; 0 if there is none.
    pub every: u64,
    /// How many orders there were, where that is known: numbers beyond it are not considered.
    pub orders: Option<u64>,
}

/// A pulse with the number of its order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberedPulse {
    /// The number of the order, from 0 on.
    pub number: u64,
    /// When the pulse begins (ps, on the capture's clock).
    pub start_ps: i64,
}

/// What was counted of a line while its pulses were numbered. Each pulse of the line is numbered or counted in exactly one of `unclear`,
/// `displaced`, `wrong_width`, `between`, `unplaced` and `undecided`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NumberingCounts {
    /// Orders between the first and the last numbered one of which the line shows no pulse, where that is sure.
    pub missing: u64,
    /// Orders between the first and the last numbered one of which nobody knows that: beside them are pulses that got no number.
    pub maybe_missing: u64,
    /// Orders with more than one pulse: which of them it was is not decided.
    pub unclear_orders: u64,
    /// Their pulses.
    pub unclear: u64,
    /// Pulses that are not near their place, where those around them are not all near theirs, either.
    pub displaced: u64,
    /// Pulses that are long where their order's is short, or short where it is long.
    pub wrong_width: u64,
    /// Pulses between the places of two orders, before the first order and after the last one.
    pub between: u64,
    /// Pulses that stand on no grid: too few in a row are an interval apart.
    pub unplaced: u64,
    /// Pulses whose grid has a number that the marks do not say, or contradict.
    pub undecided: u64,
    /// Marks that look as their number says, in a long pulse at least.
    pub marks: u64,
    /// Marks that do not.
    pub wrong_marks: u64,
    /// Stretches of pulses on one grid.
    pub stretches: u64,
    /// Of these, those that got no number.
    pub undecided_stretches: u64,
}

impl NumberingCounts {
    /// Pulses that no order made, as far as the line shows that: those between the places of two orders, and all but one of each order
    /// with several.
    #[must_use]
    pub const fn extra(&self) -> u64 {
        self.between.saturating_add(self.unclear.saturating_sub(self.unclear_orders))
    }
}

/// A stretch of a capture's time (ps) in the unit that reads best, to the next ns.
fn time(ps: i64) -> String {
    units::format::latency(ps.saturating_add(500).div_euclid(1_000))
}

/// A moment of a capture (ps), in seconds from its zero on, to the microsecond in which it lies.
fn moment(ps: i64) -> String {
    let us = ps.div_euclid(1_000_000);
    let sign = if us < 0 { "-" } else { "" };
    format!("{sign}{}.{:06} s", us.unsigned_abs() / 1_000_000, us.unsigned_abs() % 1_000_000)
}

/// Something that cannot be if all is as it should. The pulses around it got no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberingFault {
    /// Marks of one unbroken row of pulses contradict each other.
    #[error(
        "marks contradict each other: the pulse at {} has number {found} by the marks from it on, and {expected} by those up to {}",
        moment(*after_ps),
        moment(*before_ps)
    )]
    Marks {
        /// The moment of the last pulse that the earlier marks count (ps).
        before_ps: i64,
        /// The moment of the first pulse that the later marks count (ps).
        after_ps: i64,
        /// The number of that pulse by the earlier marks.
        expected: i64,
        /// The number of that pulse by the later marks.
        found: i64,
    },
    /// A mark does not look as the marks before and after it say.
    #[error("the mark of order {number}, at {}, does not look like one", moment(*at_ps))]
    Mark {
        /// The number of its order.
        number: u64,
        /// The moment of its first pulse that is there (ps).
        at_ps: i64,
    },
    /// A row of pulses cannot follow the one before it.
    #[error(
        "pulses from {} on have numbers from {number} on, which the time since those before them, up to number {before}, does not allow: \
         does the capture show two runs?",
        moment(*from_ps)
    )]
    Order {
        /// The moment of its first pulse (ps).
        from_ps: i64,
        /// The number of that pulse.
        number: u64,
        /// The last number before it.
        before: u64,
    },
}

/// A line whose pulses have numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumberedLine {
    /// The pulses that got a number, in the order of time and of numbers; no number occurs twice.
    pub pulses: Vec<NumberedPulse>,
    /// What was counted.
    pub counts: NumberingCounts,
    /// What cannot be, in the order of time: the first [`MOST_FAULTS`] of each kind.
    pub faults: Vec<NumberingFault>,
}

/// The most faults of one kind that are kept; all of them are counted.
pub const MOST_FAULTS: usize = 100;

/// Why the pulses of a line cannot be numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NumberingError {
    /// There are no marks in them.
    #[error(
        "these pulses have no marks, so they have no numbers: have them marked (--mark), or pair two lines by time"
    )]
    Unmarked,
    /// They cannot have been marked as is said.
    #[error(transparent)]
    Mark(#[from] MarkError),
    /// There is no pulse.
    #[error("the line shows no pulse: is it the right channel, and the right level?")]
    Empty,
    /// The pulses do not come as they were ordered.
    #[error(
        "{pulses} pulses, but nowhere 24 in a row that are a multiple of {} apart: is it the right channel, level and interval?",
        time(*interval_ps)
    )]
    NoGrid {
        /// How many pulses there are.
        pulses: u64,
        /// The time from order to order (ps).
        interval_ps: i64,
    },
    /// The marks do not suffice.
    #[error(
        "{pulses} pulses, but their marks do not say which numbers they have: it takes two marks in a row without a gap, one each {every} \
         orders, and widths of {} and twice that (here {long} have the latter, and {odd} neither); capture for longer, or have them \
         marked more often (--mark)",
        time(*width_ps)
    )]
    Undecided {
        /// How many pulses there are.
        pulses: u64,
        /// The distance from mark to mark, in orders.
        every: u64,
        /// How wide a short pulse is (ps).
        width_ps: i64,
        /// Pulses that are long.
        long: u64,
        /// Pulses that are neither short nor long.
        odd: u64,
    },
    /// What the marks say contradicts itself wherever they say something.
    #[error("no pulse can be numbered: {}{}", .0, remedy(*.0))]
    Contradiction(NumberingFault),
}

/// What helps where one contradiction leaves no pulse a number; empty where its own words ask for it.
const fn remedy(fault: NumberingFault) -> &'static str {
    match fault {
        NumberingFault::Mark { .. } => {
            "; pulses that nodes end too late or too early look like others: order wider ones (--width, with a longer interval)"
        }
        NumberingFault::Marks { .. } | NumberingFault::Order { .. } => "",
    }
}

/// Gives the pulses of a line the numbers of their orders.
///
/// # Errors
/// Where not one of them can be numbered.
pub fn number(line: &LinePulses, ordered: &OrderedPulses) -> Result<NumberedLine, NumberingError> {
    if ordered.every == 0 {
        return Err(NumberingError::Unmarked);
    }
    let ns = |ps: i64| u64::try_from(ps / 1_000).unwrap_or(0);
    check(ordered.every, ns(ordered.form.width_ps), ns(ordered.interval_ps.saturating_add(999)))?;
    let pulses = u64::try_from(line.pulses.len()).unwrap_or(u64::MAX);
    if pulses == 0 {
        return Err(NumberingError::Empty);
    }
    let counted = |width: PulseWidth| {
        let all = line.pulses.iter().filter(|pulse| ordered.form.width(pulse.width_ps) == width);
        u64::try_from(all.count()).unwrap_or(u64::MAX)
    };
    let undecided = || NumberingError::Undecided {
        pulses,
        every: ordered.every,
        width_ps: ordered.form.width_ps,
        long: counted(PulseWidth::Long),
        odd: counted(PulseWidth::Odd),
    };
    // So few that nothing can be said of them: they may well come as they were ordered.
    if line.pulses.len() < grid::LEAST_FOUND {
        return Err(undecided());
    }
    let grid = grid::Grid::find(&line.pulses, ordered.interval_ps);
    if grid.stretches.is_empty() {
        return Err(NumberingError::NoGrid { pulses, interval_ps: ordered.interval_ps });
    }
    let numbered = numbers::Numbering::new(&line.pulses, ordered, &grid).finish();
    match (numbered.pulses.is_empty(), numbered.faults.first()) {
        (true, Some(fault)) => Err(NumberingError::Contradiction(*fault)),
        (true, None) => Err(undecided()),
        (false, _) => Ok(numbered),
    }
}

#[cfg(test)]
mod tests;
