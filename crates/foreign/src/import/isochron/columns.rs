//! What the columns of a table hold.

use super::RECIPE;
use crate::error::ForeignError;
use crate::import::text::quoted;

macro_rules! variables {
    ($($(#[doc = $meaning:literal])+ $name:ident = $letter:literal,)+) => {
        /// A variable that isochron prints of each packet.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Variable {
            $($(#[doc = $meaning])+ $name,)+
        }

        /// All variables with the letters that isochron's `--printf-args` takes for them.
        pub(super) const VARIABLES: &[(Variable, char)] = &[$((Variable::$name, $letter),)+];
    };
}

variables! {
    /// How long before the scheduled time the sender asked to be woken.
    Advance = 'A',
    /// The schedule of the first packet.
    Base = 'B',
    /// From one packet to the next.
    Cycle = 'C',
    /// By how much the schedule was shifted.
    Shift = 'H',
    /// How long the gate of the schedule is open.
    Window = 'W',
    /// When the packet was to be on the wire (TAI).
    Scheduled = 'S',
    /// The sender's first reading of `CLOCK_TAI` after its sleep.
    Woke = 'w',
    /// The sending interface's stamp.
    HwTransmitted = 'T',
    /// The sending kernel's stamp, when it hands the packet to the driver.
    Transmitted = 't',
    /// The sending kernel's stamp, before the queueing discipline.
    Queued = 's',
    /// Number of the packet, from 1.
    Sequence = 'q',
    /// The receiver's reading of `CLOCK_TAI` once it has the packet.
    Received = 'a',
    /// The receiving interface's stamp.
    HwArrived = 'R',
    /// The receiving kernel's stamp.
    Arrived = 'r',
}

impl Variable {
    fn of(letter: char) -> Option<Self> {
        VARIABLES.iter().find(|(_, known)| *known == letter).map(|(variable, _)| *variable)
    }

    pub(super) fn letter(self) -> char {
        VARIABLES.iter().find(|(variable, _)| *variable == self).map_or('?', |(_, letter)| *letter)
    }

    /// Whether it is a moment, which isochron prints as 0 where it does not have it.
    pub(super) const fn is_moment(self) -> bool {
        !matches!(self, Self::Advance | Self::Base | Self::Cycle | Self::Shift | Self::Window | Self::Sequence)
    }
}

/// What the columns of a table of isochron hold, from left to right: each variable at most once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct IsochronColumns {
    variables: [Variable; VARIABLES.len()],
    length: usize,
}

impl std::fmt::Debug for IsochronColumns {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.letters())
    }
}

impl IsochronColumns {
    /// Reads the letters of isochron's `--printf-args`: `qSwTR`.
    ///
    /// # Errors
    /// If one of them is none of isochron's, if one comes twice, or if there is none.
    pub fn parse(letters: &str) -> Result<Self, ForeignError> {
        Self::collect(letters.chars()).map_err(ForeignError::Text)
    }

    /// The columns that a first line names, each by its letter: `q,S,w` or `# q,S,w`; `None` if it names none.
    pub(super) fn of_line(line: &str) -> Option<Self> {
        Self::of_words(line)?.ok()
    }

    /// As [`Self::of_line`], with what is wrong with a line that has letters and no numbers.
    pub(super) fn of_words(line: &str) -> Option<Result<Self, String>> {
        let line = line.trim_start_matches('#').trim();
        let words: Vec<&str> = Separator::of(line).split(line).collect();
        let letters = words.iter().map(|word| {
            let mut letters = word.chars();
            letters.next().filter(|letter| letters.next().is_none() && letter.is_ascii_alphabetic())
        });
        let letters: Vec<char> = letters.collect::<Option<_>>()?;
        Some(Self::collect(letters.into_iter()))
    }

    fn collect(letters: impl Iterator<Item = char>) -> Result<Self, String> {
        let mut columns = Self { variables: [Variable::Advance; VARIABLES.len()], length: 0 };
        for letter in letters {
            let variable = Variable::of(letter).ok_or_else(|| {
                let known: Vec<String> = VARIABLES.iter().map(|(_, letter)| letter.to_string()).collect();
                format!(
                    "isochron has no variable '{}'; those of its --printf-args are {}",
                    quoted(&letter.to_string()),
                    known.join(" ")
                )
            })?;
            if columns.at(variable).is_some() {
                return Err(format!("the variable {letter} stands twice: each column needs one of its own"));
            }
            columns.variables[columns.length] = variable;
            columns.length += 1;
        }
        if columns.length == 0 {
            return Err(format!("it names no column: {RECIPE}"));
        }
        Ok(columns)
    }

    /// The number of columns.
    pub(super) const fn len(&self) -> usize {
        self.length
    }

    /// The variables, from left to right.
    pub(super) fn variables(&self) -> &[Variable] {
        &self.variables[..self.length]
    }

    /// The column of a variable, from 0; `None` if it was not printed.
    pub(super) fn at(&self, variable: Variable) -> Option<usize> {
        self.variables().iter().position(|one| *one == variable)
    }

    /// The letters, as `--printf-args` takes them.
    pub(super) fn letters(&self) -> String {
        self.variables().iter().map(|variable| variable.letter()).collect()
    }
}

/// What stands between two columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Separator {
    One(char),
    Blanks,
}

impl Separator {
    /// The separator of a row: a comma, a semicolon, or else blanks and tabulators.
    pub(super) fn of(row: &str) -> Self {
        [',', ';'].into_iter().find(|one| row.contains(*one)).map_or(Self::Blanks, Self::One)
    }

    pub(super) fn split(self, row: &str) -> impl Iterator<Item = &str> {
        let by_one = match self {
            Self::One(one) => Some(row.split(one).map(str::trim)),
            Self::Blanks => None,
        };
        let by_blanks = matches!(self, Self::Blanks).then(|| row.split_ascii_whitespace());
        by_one.into_iter().flatten().chain(by_blanks.into_iter().flatten())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_named_by_the_letters_of_isochron() {
        let columns = IsochronColumns::parse("qSwTR").unwrap();
        assert_eq!((columns.len(), columns.letters().as_str()), (5, "qSwTR"));
        assert_eq!((columns.at(Variable::HwTransmitted), columns.at(Variable::Transmitted)), (Some(3), None));
        for line in ["q,S,w,T,R", "# q;S;w;T;R", "q S\tw T R"] {
            assert_eq!(IsochronColumns::of_line(line), Some(columns), "{line}");
        }
        for line in ["1,2,3", "seqid,S", "", "q,x", "q,q"] {
            assert_eq!(IsochronColumns::of_line(line), None, "{line}");
        }
        for (bad, part) in
            [("qx", "no variable 'x'"), ("qSq", "q stands twice"), ("", "names no column"), ("q S", "' '")]
        {
            let error = IsochronColumns::parse(bad).unwrap_err().to_string();
            assert!(error.contains(part), "{bad}: {error}");
        }
    }
}
