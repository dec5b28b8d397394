//! Takes lines of GPIO chips, as users and policies name them: `CHIP/LINE`.

use std::io;

use kernel::gpio::{Chip, EdgeLine, OutputLine, WatchedLines};

/// What the kernel tells others of who uses the line.
const CONSUMER: &str = "punctual";
/// The most lines of a chip that are asked for at once, which is the kernel's bound.
const MOST_WATCHED: usize = 64;

/// Why a line cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It names no line.
    #[error("'{0}' is not CHIP/LINE: name a chip and a line by its number or its name, for example gpiochip0/17")]
    Form(String),
    /// The chip cannot be opened.
    #[error("GPIO chip {chip}: {error}{there}")]
    Chip {
        /// What was asked.
        chip: String,
        /// What the system said to that.
        error: io::Error,
        /// What there is, with what to do.
        there: String,
    },
    /// The chip has no such line.
    #[error("{chip} has no line '{line}': its lines are 0 to {last}, by number or by name")]
    Line {
        /// Name of the chip that was asked for, as in /dev.
        chip: String,
        /// What was asked.
        line: String,
        /// The highest.
        last: u32,
    },
    /// Somebody else has the line.
    #[error("line {line} of {chip} is used by {consumer}: release it there, or name another one")]
    Used {
        /// Name of the chip that was asked for, as in /dev.
        chip: String,
        /// The number of the line on its chip.
        line: u32,
        /// Who, as the kernel names it.
        consumer: String,
    },
    /// The kernel refuses the line.
    #[error("line {line} of {chip} cannot be an output: {error}")]
    Refused {
        /// Name of the chip that was asked for, as in /dev.
        chip: String,
        /// The number of the line on its chip.
        line: u32,
        /// The kernel's reason.
        error: io::Error,
    },
    /// The kernel reports no edges of the line.
    #[error(
        "the kernel reports no edges of line {line} of {chip}: {error}; name a line whose chip raises an interrupt for edges (a column of its own in /proc/interrupts once somebody waits for one)"
    )]
    NoEdges {
        /// Name of the chip that was asked for, as in /dev.
        chip: String,
        /// The number of the line on its chip.
        line: u32,
        /// The kernel's reason.
        error: io::Error,
    },
    /// The kernel reports no edges of lines together, though of each by itself.
    #[error("the kernel reports no edges of the lines {lines} of {chip} together, though of each by itself: {error}")]
    NotTogether {
        /// Name of the chip that was asked for, as in /dev.
        chip: String,
        /// The lines, as numbers with commas.
        lines: String,
        /// The kernel's reason.
        error: io::Error,
    },
    /// More lines than a request to the kernel can have.
    #[error("{lines} lines of {chip}: the kernel takes {MOST_WATCHED} of a chip at most")]
    TooMany {
        /// Name of the chip that was asked for, as in /dev.
        chip: String,
        /// How many were asked for.
        lines: usize,
    },
    /// Nothing can be learned of the line.
    #[error("the kernel does not say what line {line} of {chip} is: {error}")]
    NotDescribed {
        /// Name of the chip that was asked for, as in /dev.
        chip: String,
        /// The number of the line on its chip.
        line: u32,
        /// The kernel's reason.
        error: io::Error,
    },
    /// One line twice.
    #[error("line {line} of {chip} is named twice")]
    Twice {
        /// Name of the chip that was asked for, as in /dev.
        chip: String,
        /// The number of the line on its chip.
        line: u32,
    },
    /// One line that is to be both ends of a wire.
    #[error("line {line} of {chip} cannot be the output and the input: name two lines")]
    SameLine {
        /// Name of the chip that was asked for, as in /dev.
        chip: String,
        /// The number of the line on its chip.
        line: u32,
    },
}

/// Takes the line `CHIP/LINE`, as an output that is inactive.
///
/// # Errors
/// Where there is no such line, or it is in use.
pub(crate) fn take_output(named: &str, active_low: bool) -> Result<OutputLine, LineError> {
    FreeLine::find(named)?.into_output(active_low)
}

/// Takes two lines that a wire joins: an output that is inactive, and an input whose edges are reported.
///
/// # Errors
/// Where there is no such line, one of them is in use, or both are the same; or if the kernel reports no edges of the input.
pub(crate) fn take_loop_back(output: &str, input: &str, active_low: bool) -> Result<(OutputLine, EdgeLine), LineError> {
    take_two(output, input, (active_low, active_low))
}

fn take_two(
    output: &str,
    input: &str,
    (output_active_low, input_active_low): (bool, bool),
) -> Result<(OutputLine, EdgeLine), LineError> {
    let (output, input) = (FreeLine::find(output)?, FreeLine::find(input)?);
    if (&output.chip.name, output.number) == (&input.chip.name, input.number) {
        return Err(LineError::SameLine { chip: input.chip.name, line: input.number });
    }
    // The input first: nothing is switched where the other cannot be had.
    let input = input.into_edges(input_active_low)?;
    Ok((output.into_output(output_active_low)?, input))
}

/// Takes two lines that go to a board which makes edges and stamps answers: an output that is low, and an input whose falling edges are
/// reported.
///
/// # Errors
/// As of two lines that a wire joins.
pub(crate) fn take_answering(output: &str, input: &str) -> Result<(OutputLine, EdgeLine), LineError> {
    // Low is what is active of the input, and edges to active are reported.
    take_two(output, input, (false, true))
}

/// Takes lines as inputs of which every edge is reported: those of each chip together, with the place of each in what was asked.
///
/// # Errors
/// Where there is no such line, one of them is in use or asked for twice, or if the kernel reports no edges of one.
pub(crate) fn take_watched(named: &[&str]) -> Result<Vec<(WatchedLines, Vec<usize>)>, LineError> {
    let mut chips: Vec<(Chip, Vec<u32>, Vec<usize>)> = Vec::new();
    for (at, named) in named.iter().enumerate() {
        let FreeLine { chip, number } = FreeLine::find(named)?;
        match chips.iter_mut().find(|(other, ..)| other.name == chip.name) {
            Some((_, numbers, _)) if numbers.contains(&number) => {
                return Err(LineError::Twice { chip: chip.name, line: number });
            }
            Some((_, numbers, places)) => {
                numbers.push(number);
                places.push(at);
            }
            None => chips.push((chip, vec![number], vec![at])),
        }
    }
    let take = |(chip, numbers, places): (Chip, Vec<u32>, Vec<usize>)| {
        if numbers.len() > MOST_WATCHED {
            return Err(LineError::TooMany { chip: chip.name, lines: numbers.len() });
        }
        chip.watch(&numbers, CONSUMER).map(|watched| (watched, places)).map_err(|error| {
            let alone = |line: u32| chip.watch(&[line], CONSUMER).map(drop);
            why_not_watched(&chip.name, &numbers, error, alone)
        })
    };
    chips.into_iter().map(take).collect()
}

/// Of which of some lines the kernel reports no edges, which it refuses as a whole: `alone` asks for one by itself.
fn why_not_watched(chip: &str, numbers: &[u32], error: io::Error, alone: impl Fn(u32) -> io::Result<()>) -> LineError {
    let chip = chip.to_owned();
    match numbers.iter().find_map(|line| Some((*line, alone(*line).err()?))) {
        Some((line, error)) => LineError::NoEdges { chip, line, error },
        None => {
            let lines: Vec<String> = numbers.iter().map(u32::to_string).collect();
            LineError::NotTogether { chip, lines: lines.join(", "), error }
        }
    }
}

/// A line that nobody has.
struct FreeLine {
    chip: Chip,
    number: u32,
}

impl FreeLine {
    fn find(named: &str) -> Result<Self, LineError> {
        let (chip, line) = named
            .rsplit_once('/')
            .filter(|(chip, line)| !chip.is_empty() && !line.is_empty())
            .ok_or_else(|| LineError::Form(named.to_owned()))?;
        let chip = Chip::open(chip).map_err(|error| LineError::Chip {
            chip: chip.to_owned(),
            there: what_there_is(&error),
            error,
        })?;
        let number = number_of(&chip, line)?;
        let not_described = |error| LineError::NotDescribed { chip: chip.name.clone(), line: number, error };
        let known = chip.line(number).map_err(not_described)?;
        if known.is_used {
            let consumer =
                if known.consumer.is_empty() { "somebody who gives no name".to_owned() } else { known.consumer };
            return Err(LineError::Used { chip: chip.name, line: number, consumer });
        }
        Ok(Self { chip, number })
    }

    fn into_output(self, active_low: bool) -> Result<OutputLine, LineError> {
        let taken = self.chip.output(self.number, active_low, CONSUMER);
        taken.map_err(|error| LineError::Refused { chip: self.chip.name, line: self.number, error })
    }

    fn into_edges(self, active_low: bool) -> Result<EdgeLine, LineError> {
        let taken = self.chip.edges(self.number, active_low, CONSUMER);
        taken.map_err(|error| LineError::NoEdges { chip: self.chip.name, line: self.number, error })
    }
}

/// A line by its number, or by the name that the board gives it.
fn number_of(chip: &Chip, line: &str) -> Result<u32, LineError> {
    let by_number = line.parse::<u32>().ok().filter(|number| *number < chip.lines);
    let by_name = || (0..chip.lines).find(|number| chip.line(*number).is_ok_and(|known| known.name == line));
    by_number.or_else(by_name).ok_or_else(|| LineError::Line {
        chip: chip.name.clone(),
        line: line.to_owned(),
        last: chip.lines.saturating_sub(1),
    })
}

/// What this machine has, and what would help, as the end of a sentence.
fn what_there_is(error: &io::Error) -> String {
    if error.kind() == io::ErrorKind::PermissionDenied {
        return ": be in the group that owns it ('gpio' on most boards), or root".to_owned();
    }
    match Chip::names().as_slice() {
        [] => "; this machine's kernel has no GPIO chip".to_owned(),
        names => format!("; this machine has {}", names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_lines_the_one_is_named_of_which_the_kernel_reports_no_edges() {
        let whole = || io::Error::from_raw_os_error(22);
        let alone = |line: u32| if line == 6 { Err(io::Error::from_raw_os_error(6)) } else { Ok(()) };
        let refused = why_not_watched("gpiochip0", &[5, 6], whole(), alone);
        assert!(matches!(refused, LineError::NoEdges { line: 6, .. }), "{refused}");
        let together = why_not_watched("gpiochip0", &[5, 7], whole(), alone);
        assert!(
            matches!(together, LineError::NotTogether { .. }) && together.to_string().contains("5, 7"),
            "{together}"
        );
    }
}
