//! The log of the kernel module `punctual_time`: what its clocks and the system clock really showed.

/// One line of the log: all clocks at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TruthLine {
    /// `sample`, or which change of which clock: `set0`, `step0`, `rate0`, `set1`, `step1`, `rate1`.
    pub why: String,
    /// CLOCK_MONOTONIC (ns).
    pub monotonic_ns: i64,
    /// CLOCK_REALTIME (ns).
    pub realtime_ns: i64,
    /// The two hardware clocks (ns).
    pub clock_ns: [i64; 2],
}

/// The log of one run, in the order of time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TruthLog {
    lines: Vec<TruthLine>,
}

/// The difference of two clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// A hardware clock less the system clock (CLOCK_REALTIME).
    ToSystem(usize),
    /// The first hardware clock less the second.
    ToOther,
}

/// Lowest and highest value of a difference within a time (ns).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The lowest (ns).
    pub lowest_ns: i64,
    /// The highest (ns).
    pub highest_ns: i64,
}

/// Why a text is not such a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TruthError {
    /// A line that the module does not write.
    #[error("line {0} is not 'WHY RAW MONOTONIC REALTIME CLOCK0 CLOCK1' in the order of time: '{1}'")]
    Line(usize, String),
    /// The log was too long for the module's memory.
    #[error("the module left out {0} lines: its log is shorter than the run")]
    LeftOut(u64),
    /// The last line is missing.
    #[error("the log does not end with 'left-out N': it was cut")]
    Cut,
}

impl TruthLog {
    /// Parses what the module's file `log` contains.
    ///
    /// # Errors
    /// If a line is not of the module's form, or some are missing.
    pub fn parse(text: &str) -> Result<Self, TruthError> {
        let mut lines: Vec<TruthLine> = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let wrong = || TruthError::Line(number, line.chars().take(80).collect());
            if let Some(count) = line.strip_prefix("left-out ") {
                return match count.parse().map_err(|_| wrong())? {
                    0 => Ok(Self { lines }),
                    count => Err(TruthError::LeftOut(count)),
                };
            }
            let mut words = line.split(' ');
            let why = words.next().unwrap_or_default().to_owned();
            let numbers: Option<Vec<i64>> = words.map(|word| word.parse().ok()).collect();
            let Some([_, monotonic_ns, realtime_ns, first_ns, second_ns]) = numbers.as_deref() else {
                return Err(wrong());
            };
            let line = TruthLine {
                why,
                monotonic_ns: *monotonic_ns,
                realtime_ns: *realtime_ns,
                clock_ns: [*first_ns, *second_ns],
            };
            if lines.last().is_some_and(|last| last.monotonic_ns > line.monotonic_ns) {
                return Err(wrong());
            }
            lines.push(line);
        }
        Err(TruthError::Cut)
    }

    /// The lines, in the order of time.
    #[must_use]
    pub fn lines(&self) -> &[TruthLine] {
        &self.lines
    }

    /// The difference at a moment (ns of CLOCK_MONOTONIC), by the lines before and after it; both sides of a change if
    /// the clock was changed right then. `None` outside of the log.
    #[must_use]
    pub fn at(&self, monotonic_ns: i64, difference: Difference) -> Option<Span> {
        self.within(monotonic_ns, monotonic_ns, difference)
    }

    /// Lowest and highest difference between two moments, both included (ns of CLOCK_MONOTONIC).
    #[must_use]
    pub fn within(&self, from_ns: i64, to_ns: i64, difference: Difference) -> Option<Span> {
        let first = self.lines.partition_point(|line| line.monotonic_ns < from_ns);
        let end = self.lines.partition_point(|line| line.monotonic_ns <= to_ns);
        let inside = self.lines[first..end.max(first)].iter().map(|line| line.difference_ns(difference));
        let ends = [(first, from_ns), (end, to_ns)].map(|(after, at_ns)| self.between(after, at_ns, difference));
        // At the very ends of the log there is a line on the moment itself, or nothing to say.
        let has_ends = |after: usize, at_ns: i64| {
            self.lines.get(after).or_else(|| self.lines.last()).is_some_and(|line| line.monotonic_ns == at_ns)
        };
        if (ends[0].is_none() && !has_ends(first, from_ns)) || (ends[1].is_none() && !has_ends(end, to_ns)) {
            return None;
        }
        inside.chain(ends.into_iter().flatten()).fold(None, |span: Option<Span>, ns| {
            Some(span.map_or(Span { lowest_ns: ns, highest_ns: ns }, |span| Span {
                lowest_ns: span.lowest_ns.min(ns),
                highest_ns: span.highest_ns.max(ns),
            }))
        })
    }

    /// The difference between the line at place `after` and the one before it.
    fn between(&self, after: usize, at_ns: i64, difference: Difference) -> Option<i64> {
        let (before, after) = (self.lines.get(after.checked_sub(1)?)?, self.lines.get(after)?);
        let [from_ns, to_ns] = [before, after].map(|line| line.difference_ns(difference));
        let length_ns = i128::from(after.monotonic_ns) - i128::from(before.monotonic_ns);
        if length_ns == 0 {
            return Some(to_ns);
        }
        let passed_ns = i128::from(at_ns) - i128::from(before.monotonic_ns);
        let moved_ns = (i128::from(to_ns) - i128::from(from_ns)) * passed_ns / length_ns;
        i64::try_from(i128::from(from_ns) + moved_ns).ok()
    }
}

impl TruthLine {
    /// The difference of two clocks (ns).
    #[must_use]
    pub const fn difference_ns(&self, difference: Difference) -> i64 {
        match difference {
            Difference::ToSystem(clock) => self.clock_ns[clock % 2].saturating_sub(self.realtime_ns),
            Difference::ToOther => self.clock_ns[0].saturating_sub(self.clock_ns[1]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "sample 1 1000 5000 7000 6000\n\
                       sample 2 2000 6000 8010 7000\n\
                       set0 3 2500 6500 8515 7500\n\
                       set0 3 2500 6500 9000 7500\n\
                       sample 4 3000 7000 9500 8000\n\
                       left-out 0\n";

    #[test]
    fn a_difference_is_linear_between_two_lines() {
        let log = TruthLog::parse(LOG).unwrap();
        let at = |ns, difference| log.at(ns, difference).map(|span| (span.lowest_ns, span.highest_ns));
        assert_eq!(at(1_000, Difference::ToSystem(0)), Some((2_000, 2_000)));
        assert_eq!(at(1_500, Difference::ToSystem(0)), Some((2_005, 2_005)));
        assert_eq!(at(1_500, Difference::ToOther), Some((1_005, 1_005)));
        assert_eq!(at(2_750, Difference::ToSystem(1)), Some((1_000, 1_000)));
        // Both sides of the change.
        assert_eq!(at(2_500, Difference::ToOther), Some((1_015, 1_500)));
        assert_eq!(at(3_000, Difference::ToOther), Some((1_500, 1_500)));
        assert_eq!((at(999, Difference::ToOther), at(3_001, Difference::ToOther)), (None, None));
        let within = log.within(1_500, 2_600, Difference::ToOther).unwrap();
        assert_eq!((within.lowest_ns, within.highest_ns), (1_005, 1_500));
        assert_eq!(log.within(2_900, 3_100, Difference::ToOther), None);
    }

    #[test]
    fn a_log_that_is_cut_or_incomplete_is_refused() {
        let error = |text: &str| TruthLog::parse(text).unwrap_err().to_string();
        assert!(error("sample 1 2 3 4 5\n").contains("was cut"));
        assert!(error("left-out 7\n").contains("left out 7 lines"));
        assert!(error("sample 1 2 3 4\nleft-out 0\n").starts_with("line 1"));
        assert!(error("sample 1 9 3 4 5\nsample 1 8 3 4 5\nleft-out 0\n").starts_with("line 2"));
        assert_eq!(TruthLog::parse("left-out 0\n").unwrap().at(0, Difference::ToOther), None);
    }
}
