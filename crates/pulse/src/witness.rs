//! What a witness saw of two nodes: their lines' pulses numbered, or paired by time where they have no numbers, and the shift.

mod claims;
mod of_run;

use crate::edges::LinePulses;
use crate::numbering::{NumberedLine, NumberingError, OrderedPulses, PairingError, number, pair_by_time};
use crate::shift::{CaptureError, Shift, capture_rate_ppb};

pub use claims::{EdgesClaimed, SaidByNode};
pub use of_run::{
    CaptureReading, LineOfNode, LineSeen, NotSplit, PairSeen, RunSeen, SplitShift, ordered_pulses, witness_run,
};

/// How it was told which pulses of two lines are of one order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pairing {
    /// By the numbers that the marks of each line say.
    Numbers,
    /// By time alone: by what is known of the nodes, pulses of one order are less than half an interval apart. Here is why not by numbers.
    Time(NumberingError),
}

/// What a witness saw of two lines.
#[derive(Clone, Debug, PartialEq)]
pub struct Witnessed {
    /// How the pulses were paired.
    pub pairing: Pairing,
    /// The two lines with their numbers; `None` where they were paired by time. Their counts say what is missing and extra.
    pub lines: Option<[NumberedLine; 2]>,
    /// The shift of the second line against the first one.
    pub shift: Shift,
    /// How fast the capture's clock goes against the server's (parts per billion), by the numbers of the first line.
    pub capture_rate_ppb: Option<i64>,
}

/// Why nothing can be said of two lines.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WitnessError {
    /// A line cannot be numbered, and was not to be paired by time.
    #[error("the {line} line: {why}")]
    Numbering {
        /// Which line.
        line: &'static str,
        /// Why it cannot.
        why: NumberingError,
    },
    /// Neither by numbers nor by time.
    #[error("the {line} line: {numbering}; and by time alone pulses cannot be paired either: {pairing}")]
    Neither {
        /// Which line has no numbers.
        line: &'static str,
        /// Why it has none.
        numbering: NumberingError,
        /// Why time does not help.
        pairing: PairingError,
    },
    /// A line has no numbers, and its pulses are not as wide as they were ordered.
    #[error(
        "the {line} line: {numbering}; and it is not to be paired by time, since {odd} of its {pulses} pulses are neither as wide as \
         ordered nor twice that: is it the right channel, and the right level?"
    )]
    Widths {
        /// Which line has such pulses.
        line: &'static str,
        /// Why one of the lines has no numbers.
        numbering: NumberingError,
        /// Pulses that are neither short nor long.
        odd: u64,
        /// All its pulses.
        pulses: usize,
    },
    /// Both lines have numbers, and none in common.
    #[error(
        "the lines have no order in common: the first one shows {first_from} to {first_to}, the second one {second_from} to {second_to}"
    )]
    Disjoint {
        /// The first number of the first line.
        first_from: u64,
        /// Its last one.
        first_to: u64,
        /// The first number of the second line.
        second_from: u64,
        /// Its last one.
        second_to: u64,
    },
}

/// Finds the shift of the second of two lines against the first one: by numbers, or, if a line has none, by time. A line that contradicts
/// itself, is empty or has no pulses an interval apart is not paired by time, nor is one that has more odd pulses than others: there is
/// something wrong with it.
///
/// `apart_ps` is how far apart the pulses of one order can be at most, by what is known of the nodes (ps): see [`pair_by_time`]; `None`
/// where that is not known, and then pulses are not paired by time. `resolution_ps` is the capture's.
///
/// # Errors
/// If no shift can be told.
pub fn witness(
    lines: [&LinePulses; 2],
    ordered: &OrderedPulses,
    apart_ps: Option<i64>,
    resolution_ps: Option<i64>,
) -> Result<Witnessed, WitnessError> {
    let errors = match lines.map(|line| number(line, ordered)) {
        [Ok(first), Ok(second)] => return by_numbers([first, second], ordered, resolution_ps),
        [first, second] => [("first", first.err()), ("second", second.err())],
    };
    let may_have_none = |why: NumberingError| {
        matches!(why, NumberingError::Unmarked | NumberingError::Mark(_) | NumberingError::Undecided { .. })
    };
    let errors = || errors.iter().filter_map(|(line, why)| Some((*line, (*why)?)));
    // What is wrong with one line decides, whichever of them it is.
    let wrong = errors().find(|(_, why)| !may_have_none(*why));
    let (line, why) = wrong.or_else(|| errors().next()).unwrap_or(("first", NumberingError::Unmarked));
    let may_have_none = wrong.is_none();
    let Some(apart_ps) = apart_ps.filter(|_| may_have_none) else {
        return Err(WitnessError::Numbering { line, why });
    };
    // At the wrong level a line shows what lies between its pulses, each of which begins where one of them ends.
    for (line, shown) in ["first", "second"].into_iter().zip(lines) {
        let pulses = shown.pulses.len();
        if shown.odd > u64::try_from(pulses / 2).unwrap_or(u64::MAX) {
            return Err(WitnessError::Widths { line, numbering: why, odd: shown.odd, pulses });
        }
    }
    let neither = |pairing| WitnessError::Neither { line, numbering: why, pairing };
    let [first, second] =
        pair_by_time(lines.map(|line| line.pulses.as_slice()), ordered.interval_ps, apart_ps).map_err(neither)?;
    let capture = CaptureError { resolution_ps, rate_ppb: None };
    let shift = Shift::between(&first, &second, capture).ok_or_else(|| neither(PairingError::None { apart_ps }))?;
    Ok(Witnessed { pairing: Pairing::Time(why), lines: None, shift, capture_rate_ppb: None })
}

fn by_numbers(
    lines: [NumberedLine; 2],
    ordered: &OrderedPulses,
    resolution_ps: Option<i64>,
) -> Result<Witnessed, WitnessError> {
    let [first, second] = &lines;
    let capture_rate_ppb = capture_rate_ppb(&first.pulses, ordered.interval_ps);
    let capture = CaptureError { resolution_ps, rate_ppb: capture_rate_ppb };
    let Some(shift) = Shift::between(&first.pulses, &second.pulses, capture) else {
        let ends = |line: &NumberedLine| {
            let number = |pulse: Option<&crate::numbering::NumberedPulse>| pulse.map_or(0, |pulse| pulse.number);
            (number(line.pulses.first()), number(line.pulses.last()))
        };
        let ((first_from, first_to), (second_from, second_to)) = (ends(first), ends(second));
        return Err(WitnessError::Disjoint { first_from, first_to, second_from, second_to });
    };
    Ok(Witnessed { pairing: Pairing::Numbers, lines: Some(lines), shift, capture_rate_ppb })
}

#[cfg(test)]
mod tests;
