//! What a source tells of one thread, checked against itself and made a histogram.
//!
//! The rules, so that nothing imported looks better than it is:
//! - a value stands where the source counted it: at `value × unit`, and in wider bins at their upper end;
//! - samples beyond the source's table stand in no bin ([`Unplaced`]); one of them is the maximum, which is known;
//! - where all values are there, the mean is theirs; else it is the one that the source tells;
//! - numbers that contradict each other are told, and make the record invalid.

use record::{Histogram, ReasonCode, Unplaced};
use units::format::{self, latency};

use crate::error::ForeignError;

/// The highest time (ns) and the most samples that a record's histogram can hold, with room to add them up.
const HIGHEST: u64 = u64::MAX / 4;

/// A mean as a source rounds it, in the source's unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mean {
    pub(super) value: f64,
    /// How much lower the true one can be.
    pub(super) below: f64,
    /// How much higher.
    pub(super) above: f64,
}

impl Mean {
    /// A mean whose fraction was cut off.
    pub(super) fn cut(value: u64) -> Self {
        Self { value: units::approx_f64(value), below: 0.0, above: 1.0 }
    }

    /// A mean rounded to so many decimal digits.
    pub(super) fn rounded(value: f64, digits: i32) -> Self {
        let step = 10.0_f64.powi(-digits);
        Self { value, below: step, above: step }
    }
}

/// What a source tells of one thread, in its own unit.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// The CPU or thread, for people.
    pub(super) place: String,
    /// The source's unit (ns).
    pub(super) unit_ns: u64,
    /// The width of a bin (units); a value of 1 is one bin a unit.
    pub(super) step: u64,
    /// The lowest value of each bin and its samples, ascending; empty ones may be there.
    pub(super) bins: Vec<(u64, u64)>,
    /// All samples, as the source tells.
    pub(super) count: Option<u64>,
    /// Samples beyond the table, as the source tells.
    pub(super) beyond: Option<u64>,
    /// The lowest value that lies beyond the table (units); the one after the last bin that is there, where not known.
    pub(super) table_end: Option<u64>,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) mean: Option<Mean>,
}

impl Tally {
    /// Nothing told yet.
    pub(super) fn of(place: String, unit_ns: u64) -> Self {
        Self {
            place,
            unit_ns,
            step: 1,
            bins: Vec::new(),
            count: None,
            beyond: None,
            table_end: None,
            min: None,
            max: None,
            mean: None,
        }
    }
}

/// What became of a tally.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) histogram: Histogram,
    /// Why it is not as good as it looks, worst first or not.
    pub(super) reasons: Vec<(ReasonCode, String)>,
}

impl Tally {
    fn too_large(&self, what: impl Into<String>) -> ForeignError {
        ForeignError::TooLarge { place: self.place.clone(), what: what.into() }
    }

    /// A value of the source in nanoseconds.
    fn ns(&self, value: u64) -> Result<u64, ForeignError> {
        value
            .checked_mul(self.unit_ns)
            .filter(|ns| *ns <= HIGHEST)
            .ok_or_else(|| self.too_large(format!("a latency of {value}")))
    }

    /// The histogram, with all that speaks against it.
    pub(super) fn count(mut self) -> Result<Counted, ForeignError> {
        self.bins.retain(|(_, samples)| *samples > 0);
        if !self.bins.is_sorted_by(|a, b| a.0 < b.0) {
            self.bins.sort_unstable();
            self.bins.dedup_by(|next, kept| {
                let same = next.0 == kept.0;
                kept.1 = if same { kept.1.saturating_add(next.1) } else { kept.1 };
                same
            });
        }
        let mut placed: u64 = 0;
        for &(value, samples) in &self.bins {
            self.ns(value.saturating_add(self.step))?;
            placed = placed
                .checked_add(samples)
                .filter(|sum| *sum <= HIGHEST)
                .ok_or_else(|| self.too_large("the sum of its bins"))?;
        }
        for (value, what) in [(self.min, "the minimum"), (self.max, "the maximum"), (self.table_end, "the table's end")]
        {
            self.ns(value.unwrap_or(0)).map_err(|_| self.too_large(what))?;
        }
        let mut reasons = Vec::new();
        let mut wrong = |text: String| reasons.push((ReasonCode::SourceContradicts, text));
        let beyond = match (self.beyond, self.count) {
            (Some(beyond), Some(count)) if placed.checked_add(beyond) != Some(count) => {
                wrong(format!(
                    "{}: it counted {} samples, and its bins hold {} with {} beyond them",
                    self.place,
                    format::count(count),
                    format::count(placed),
                    format::count(beyond)
                ));
                beyond
            }
            (Some(beyond), _) => beyond,
            (None, Some(count)) => count.checked_sub(placed).unwrap_or_else(|| {
                wrong(format!(
                    "{}: it counted {} samples, and its bins hold {}",
                    self.place,
                    format::count(count),
                    format::count(placed)
                ));
                0
            }),
            (None, None) => 0,
        };
        let all = placed
            .checked_add(beyond)
            .filter(|all| *all <= HIGHEST)
            .ok_or_else(|| self.too_large("its sample count"))?;
        if all == 0 {
            return Ok(Counted { histogram: Histogram::new(), reasons });
        }
        self.check_ends(beyond, &mut wrong);
        self.check_mean(beyond, placed, &mut wrong);
        let Some((min, max)) = self.ends(beyond) else {
            reasons.push((
                ReasonCode::MaximumUnknown,
                format!(
                    "{}: {} samples lie beyond its table, which tells neither minimum nor maximum",
                    self.place,
                    format::count(all)
                ),
            ));
            return Ok(Counted { histogram: Histogram::new(), reasons });
        };
        if self.max.is_none() && self.bins.last().is_some_and(|_| beyond > 0) {
            reasons.push((
                ReasonCode::MaximumUnknown,
                format!("{}: {} samples lie beyond its table, how far is not told", self.place, format::count(beyond)),
            ));
        }
        let histogram = self.histogram(min, max, beyond)?;
        if let Some(unplaced) = histogram.unplaced() {
            reasons.push((
                ReasonCode::ValuesUnknown,
                format!(
                    "{}: {} of {} samples lie somewhere from {} to {}",
                    self.place,
                    format::count(unplaced.count),
                    format::count(all),
                    latency(unplaced.from_ns),
                    latency(histogram.max_ns().unwrap_or(0)),
                ),
            ));
        }
        Ok(Counted { histogram, reasons })
    }

    /// The lowest value that lies beyond the table (units).
    fn beyond_from(&self) -> u64 {
        // The width of the bins may be a guess that is too wide.
        let after_last = self.bins.last().map_or(0, |(value, _)| value.saturating_add(1));
        self.table_end.unwrap_or(0).max(after_last)
    }

    /// Minimum and maximum (units), at least as wide as the bins; `None` where nothing tells them.
    fn ends(&self, beyond: u64) -> Option<(u64, u64)> {
        let (first, last) = (self.bins.first().map(|bin| bin.0), self.bins.last().map(|bin| bin.0 + self.step - 1));
        let min = match (self.min, first) {
            (Some(told), Some(first)) => told.min(first + self.step - 1),
            (told, first) => told.or(first).or(self.max)?,
        };
        let max = match (self.max, last) {
            // What is told lies in the last bin, or beyond it.
            (Some(told), Some(last)) => told.max(last + 1 - self.step),
            (told, last) => told.or(last.map(|last| if beyond > 0 { self.beyond_from() } else { last }))?,
        };
        Some((min.min(max), max))
    }

    /// Whether minimum and maximum lie where the bins say.
    fn check_ends(&self, beyond: u64, wrong: &mut impl FnMut(String)) {
        let place = &self.place;
        if let (Some(min), Some(max)) = (self.min, self.max) {
            if min > max {
                wrong(format!("{place}: its minimum {min} lies above its maximum {max}"));
            }
        }
        let (Some(&(first, _)), Some(&(last, _))) = (self.bins.first(), self.bins.last()) else { return };
        if let Some(min) = self.min.filter(|min| *min < first || *min >= first + self.step) {
            wrong(format!("{place}: its minimum is {min}, and its lowest bin is {first}"));
        }
        let Some(max) = self.max else { return };
        if beyond == 0 && (max < last || max >= last + self.step) {
            wrong(format!("{place}: its maximum is {max}, its highest bin is {last}, and nothing lies beyond"));
        }
        if beyond > 0 && max < self.beyond_from() {
            wrong(format!(
                "{place}: {} samples lie beyond its table, which ends below {}, and its maximum is {max}",
                format::count(beyond),
                self.beyond_from()
            ));
        }
    }

    /// Whether the mean can be that of the bins.
    fn check_mean(&self, beyond: u64, placed: u64, wrong: &mut impl FnMut(String)) {
        let Some(mean) = self.mean else { return };
        let sum = |add: u64| -> f64 {
            self.bins.iter().map(|&(value, samples)| units::approx_f64(value + add) * units::approx_f64(samples)).sum()
        };
        let far = units::approx_f64(beyond);
        let n = units::approx_f64(placed) + far;
        let beyond_from = if self.bins.is_empty() {
            self.min.unwrap_or(0).max(self.table_end.unwrap_or(0))
        } else {
            self.beyond_from()
        };
        let least = (sum(0) + far * units::approx_f64(beyond_from)) / n;
        // None beyond, however far that may be, is nothing.
        let farthest = if beyond == 0 { 0.0 } else { far * self.max.map_or(f64::INFINITY, units::approx_f64) };
        let most = (sum(self.step - 1) + farthest) / n;
        // Sums of this size have 53 bits.
        let slack = most.min(f64::MAX) * 1e-9;
        if mean.value + mean.above + slack < least || mean.value - mean.below - slack > most {
            wrong(format!(
                "{}: it tells a mean of {}, and its samples have one from {least:.2} to {most:.2}",
                self.place, mean.value
            ));
        }
    }

    fn histogram(&self, min: u64, max: u64, beyond: u64) -> Result<Histogram, ForeignError> {
        let (min_ns, max_ns) = (self.ns(min)?, self.ns(max)?);
        let mut whole = Histogram::new();
        let last = self.bins.len().saturating_sub(1);
        for (at, &(value, samples)) in self.bins.iter().enumerate() {
            let high_ns = self.ns(value + self.step - 1)?.clamp(min_ns, max_ns);
            let mut rest = samples;
            // The outermost samples are known better than their bins.
            if at == 0 && min_ns < high_ns && (rest > 1 || at != last || beyond > 0) {
                whole.record_n(min_ns, 1);
                rest -= 1;
            }
            if at == last && beyond == 0 && rest > 0 && high_ns < max_ns {
                whole.record_n(max_ns, 1);
                rest -= 1;
            }
            whole.record_n(high_ns, rest);
        }
        let mut unplaced = beyond;
        if unplaced > 0 {
            whole.record_n(max_ns, 1);
            unplaced -= 1;
        }
        if unplaced > 0 && self.bins.is_empty() {
            whole.record_n(min_ns, 1);
            unplaced -= 1;
        }
        let from = if self.bins.is_empty() { min.max(self.table_end.unwrap_or(0)) } else { self.beyond_from() };
        whole.add_unplaced(Unplaced { count: unplaced, from_ns: self.ns(from.min(max))? });
        if unplaced > 0 || self.step > 1 {
            // Where no mean is told either, each unplaced sample counts as the maximum.
            let at_worst = u128::from(whole.sum_ns()) + u128::from(unplaced) * u128::from(max_ns);
            let told = self.mean.map(|mean| {
                units::round_u64(mean.value * units::approx_f64(self.unit_ns) * units::approx_f64(whole.count()))
            });
            whole.set_sum_ns(told.unwrap_or_else(|| u64::try_from(at_worst).unwrap_or(u64::MAX)));
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(bins: &[(u64, u64)]) -> Tally {
        Tally { bins: bins.to_vec(), ..Tally::of("CPU 3".to_owned(), 1_000) }
    }

    fn codes(counted: &Counted) -> Vec<ReasonCode> {
        counted.reasons.iter().map(|(code, _)| *code).collect()
    }

    fn contradiction(tally: Tally, part: &str) {
        let counted = tally.count().unwrap();
        let told =
            counted.reasons.iter().any(|(code, text)| *code == ReasonCode::SourceContradicts && text.contains(part));
        assert!(told, "{:?}", counted.reasons);
    }

    #[test]
    fn a_whole_table_is_exact() {
        let whole = Tally {
            count: Some(10),
            beyond: Some(0),
            min: Some(5),
            max: Some(9),
            mean: Some(Mean::cut(6)),
            ..tally(&[(5, 7), (6, 0), (9, 3)])
        };
        let counted = whole.count().unwrap();
        assert!(counted.reasons.is_empty(), "{:?}", counted.reasons);
        let histogram = counted.histogram;
        assert_eq!((histogram.count(), histogram.min_ns(), histogram.max_ns()), (10, Some(5_000), Some(9_000)));
        assert_eq!((histogram.sum_ns(), histogram.unplaced()), (62_000, None));
    }

    #[test]
    fn what_lies_beyond_the_table_is_counted_and_not_invented() {
        let cut = Tally {
            beyond: Some(3),
            table_end: Some(60),
            min: Some(5),
            max: Some(500),
            mean: Some(Mean::cut(70)),
            ..tally(&[(5, 17)])
        };
        let counted = cut.count().unwrap();
        assert_eq!(codes(&counted), [ReasonCode::ValuesUnknown]);
        assert!(
            counted.reasons[0].1.contains("2 of 20 samples lie somewhere from 60.0 us to 500 us"),
            "{:?}",
            counted.reasons
        );
        let histogram = counted.histogram;
        assert_eq!(histogram.unplaced(), Some(Unplaced { count: 2, from_ns: 60_000 }));
        assert_eq!((histogram.count(), histogram.max_ns(), histogram.mean_ns()), (20, Some(500_000), Some(70_000.0)));
    }

    #[test]
    fn a_summary_alone_has_its_ends_and_nothing_between() {
        let summary = Tally { count: Some(100), min: Some(3), max: Some(40), mean: Some(Mean::cut(9)), ..tally(&[]) };
        let histogram = summary.count().unwrap().histogram;
        assert_eq!((histogram.count(), histogram.min_ns(), histogram.max_ns()), (100, Some(3_000), Some(40_000)));
        assert_eq!(histogram.unplaced(), Some(Unplaced { count: 98, from_ns: 3_000 }));
        assert_eq!((histogram.quantile_ns(0.5), histogram.mean_ns()), (None, Some(9_000.0)));
        let one = Tally { count: Some(1), min: Some(7), max: Some(7), ..tally(&[]) }.count().unwrap();
        assert_eq!((one.histogram.count(), one.histogram.unplaced()), (1, None));
    }

    #[test]
    fn contradictions_are_told() {
        contradiction(Tally { count: Some(11), ..tally(&[(5, 12)]) }, "counted 11 samples, and its bins hold 12");
        contradiction(Tally { count: Some(11), beyond: Some(0), ..tally(&[(5, 10)]) }, "hold 10 with 0 beyond");
        contradiction(Tally { min: Some(4), ..tally(&[(5, 10)]) }, "minimum is 4");
        contradiction(Tally { max: Some(9), ..tally(&[(5, 10)]) }, "maximum is 9");
        contradiction(Tally { max: Some(4), ..tally(&[(5, 10)]) }, "maximum is 4");
        contradiction(Tally { max: Some(8), beyond: Some(1), table_end: Some(60), ..tally(&[(5, 10)]) }, "below 60");
        contradiction(Tally { mean: Some(Mean::cut(7)), ..tally(&[(5, 10)]) }, "mean of 7");
        contradiction(Tally { mean: Some(Mean::cut(3)), ..tally(&[(5, 10)]) }, "mean of 3");
        contradiction(Tally { mean: Some(Mean::rounded(5.02, 2)), ..tally(&[(5, 10)]) }, "mean of 5.02");
        contradiction(Tally { count: Some(5), min: Some(9), max: Some(3), ..tally(&[]) }, "above its maximum");
    }

    #[test]
    fn wide_bins_count_at_their_upper_end() {
        let wide =
            Tally { step: 10, min: Some(3), max: Some(14), mean: Some(Mean::cut(6)), ..tally(&[(0, 8), (10, 2)]) };
        let counted = wide.count().unwrap();
        assert!(counted.reasons.is_empty(), "{:?}", counted.reasons);
        let histogram = counted.histogram;
        assert_eq!(
            (histogram.min_ns(), histogram.max_ns(), histogram.mean_ns()),
            (Some(3_000), Some(14_000), Some(6_000.0))
        );
        assert_eq!(histogram.quantile_ns(0.5), Some(9_007));
        let few =
            Tally { step: 10, min: Some(3), max: Some(14), ..tally(&[(0, 1), (10, 2)]) }.count().unwrap().histogram;
        assert_eq!((few.count(), few.min_ns(), few.max_ns()), (3, Some(3_000), Some(14_000)));
    }

    #[test]
    fn a_table_that_ends_before_its_samples_do_tells_no_maximum() {
        let counted = Tally { beyond: Some(4), ..tally(&[(5, 10)]) }.count().unwrap();
        assert!(codes(&counted).contains(&ReasonCode::MaximumUnknown), "{:?}", counted.reasons);
        assert_eq!(counted.histogram.count(), 14);
        let counted = Tally { beyond: Some(4), ..tally(&[]) }.count().unwrap();
        assert!(codes(&counted).contains(&ReasonCode::MaximumUnknown), "{:?}", counted.reasons);
    }

    #[test]
    fn numbers_beyond_all_clocks_are_refused() {
        for odd in [
            tally(&[(u64::MAX / 1_000, 1)]),
            tally(&[(1, u64::MAX), (2, u64::MAX)]),
            Tally { max: Some(u64::MAX), ..tally(&[(1, 1)]) },
            Tally { count: Some(u64::MAX), ..tally(&[]) },
        ] {
            assert!(matches!(odd.count(), Err(ForeignError::TooLarge { .. })));
        }
    }
}
