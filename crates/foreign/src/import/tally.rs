//! Checks what a source contains about one thread for consistency, and makes a histogram of it.
//!
//! These rules ensure that nothing imported looks better than it was:
//! - a sample counts at the source's value, `value × unit`, and in a wider bin at the bin's upper end;
//! - samples above the source's table are in no bin ([`Unplaced`]), except for one of them: the maximum, if it is known;
//! - the mean is that of the values if all of them are known, or else the one that the source states; of wide bins whose source
//!   states none it is that of their middles, and so is the deviation;
//! - contradictions between numbers are reported, and make the record invalid.

use record::{Histogram, ReasonCode, Unplaced};
use units::format::{self, latency};

use crate::error::ForeignError;

/// The highest time (ns) and the highest number of samples in a record's histogram, with room for sums.
const HIGHEST: u64 = u64::MAX / 4;

/// A mean as the source rounded it, in the source's unit.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mean {
    pub(super) value: f64,
    /// How much lower the true mean can be.
    pub(super) below: f64,
    /// How much higher the true mean can be.
    pub(super) above: f64,
}

impl Mean {
    /// A mean that was truncated to a whole number.
    pub(super) fn truncated(value: u64) -> Self {
        Self { value: units::approx_f64(value), below: 0.0, above: 1.0 }
    }

    /// A mean that was rounded to `digits` decimal digits.
    pub(super) fn rounded(value: f64, digits: i32) -> Self {
        let step = 10.0_f64.powi(-digits);
        Self { value, below: step, above: step }
    }
}

/// What a source contains about one thread, in its own unit.
#[derive(Clone, Debug)]
pub(super) struct Tally {
    /// The CPU or thread, in words: `CPU 3`.
    pub(super) place: String,
    /// The source's unit (ns).
    pub(super) unit_ns: u64,
    /// The width of a bin (units); 1 means one bin per unit.
    pub(super) step: u64,
    /// The lowest value of each bin and its sample count; bins may be empty.
    pub(super) bins: Vec<(u64, u64)>,
    /// The number of all samples, as the source states it.
    pub(super) count: Option<u64>,
    /// The number of samples above the table, as the source states it.
    pub(super) beyond: Option<u64>,
    /// The lowest value above the table (units); if `None`, the value after the last non-empty bin.
    pub(super) table_end: Option<u64>,
    pub(super) min: Option<u64>,
    pub(super) max: Option<u64>,
    pub(super) mean: Option<Mean>,
}

impl Tally {
    /// A tally of which only the place and the unit are known.
    pub(super) fn new(place: String, unit_ns: u64) -> Self {
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

/// The histogram made from a tally.
#[derive(Debug)]
pub(super) struct Counted {
    pub(super) histogram: Histogram,
    /// Reasons against the record's validity, in no particular order.
    pub(super) reasons: Vec<(ReasonCode, String)>,
}

impl Tally {
    fn too_large(&self, what: impl Into<String>) -> ForeignError {
        ForeignError::TooLarge { place: self.place.clone(), what: what.into() }
    }

    /// The width of the source's bins (ns), which begin at its multiples; `None` if it counted to the nanosecond.
    pub(super) fn resolution_ns(&self) -> Option<u64> {
        // A width that was guessed from one row can be any number. Its own unit is certain.
        let step = if self.bins.iter().all(|(value, _)| value % self.step.max(1) == 0) { self.step } else { 1 };
        Some(step.saturating_mul(self.unit_ns)).filter(|width_ns| *width_ns > 1)
    }

    /// Whether the source says that there is no sample, or says nothing of its samples.
    fn is_stated_empty(&self) -> bool {
        self.count == Some(0) || self.beyond == Some(0) || self.max.is_none()
    }

    /// Converts a value of the source to nanoseconds.
    fn ns(&self, value: u64) -> Result<u64, ForeignError> {
        value
            .checked_mul(self.unit_ns)
            .filter(|ns| *ns <= HIGHEST)
            .ok_or_else(|| self.too_large(format!("a latency of {value}")))
    }

    /// Makes the histogram, and lists the reasons against its validity.
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
        if self.bins.is_empty()
            && self.count.unwrap_or(0) == 0
            && self.beyond.unwrap_or(0) == 0
            && self.is_stated_empty()
        {
            // What a program prints as minimum and maximum of no sample is where it began: the highest number, or 0.
            return Ok(Counted { histogram: Histogram::new(), reasons: Vec::new() });
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
                    "{}: it counted {} samples, but its bins hold {} with {} above them",
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
                    "{}: it counted {} samples, but its bins hold {}",
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
                    "{}: {} samples are above its table, and it states neither minimum nor maximum",
                    self.place,
                    format::count(all)
                ),
            ));
            return Ok(Counted { histogram: Histogram::new(), reasons });
        };
        if self.max.is_none() && self.bins.last().is_some_and(|_| beyond > 0) {
            reasons.push((
                ReasonCode::MaximumUnknown,
                format!("{}: {} samples are above its table, by an unknown amount", self.place, format::count(beyond)),
            ));
        }
        let histogram = self.histogram(min, max, beyond)?;
        if let Some(unplaced) = histogram.unplaced() {
            reasons.push((
                ReasonCode::ValuesUnknown,
                format!(
                    "{}: {} of {} samples are somewhere between {} and {}",
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

    /// The lowest value above the table (units).
    fn beyond_from(&self) -> u64 {
        // Add 1 instead of the width of the bins, which may be guessed too large.
        let after_last = self.bins.last().map_or(0, |(value, _)| value.saturating_add(1));
        self.table_end.unwrap_or(0).max(after_last)
    }

    /// Minimum and maximum (units), widened so that the bins fit between them; `None` if nothing determines them.
    fn ends(&self, beyond: u64) -> Option<(u64, u64)> {
        let (first, last) = (self.bins.first().map(|bin| bin.0), self.bins.last().map(|bin| bin.0 + self.step - 1));
        let min = match (self.min, first) {
            (Some(stated), Some(first)) => stated.min(first + self.step - 1),
            (stated, first) => stated.or(first).or(self.max)?,
        };
        let max = match (self.max, last) {
            // The stated maximum must be in the last bin, or above it.
            (Some(stated), Some(last)) => stated.max(last + 1 - self.step),
            (stated, last) => stated.or(last.map(|last| if beyond > 0 { self.beyond_from() } else { last }))?,
        };
        Some((min.min(max), max))
    }

    /// Checks minimum and maximum against each other and against the bins.
    fn check_ends(&self, beyond: u64, wrong: &mut impl FnMut(String)) {
        let place = &self.place;
        if let (Some(min), Some(max)) = (self.min, self.max) {
            if min > max {
                wrong(format!("{place}: its minimum {min} is above its maximum {max}"));
            }
        }
        let (Some(&(first, _)), Some(&(last, _))) = (self.bins.first(), self.bins.last()) else { return };
        if let Some(min) = self.min.filter(|min| *min < first || *min >= first + self.step) {
            wrong(format!("{place}: its minimum is {min}, but its lowest bin is {first}"));
        }
        let Some(max) = self.max else { return };
        if beyond == 0 && (max < last || max >= last + self.step) {
            wrong(format!("{place}: its maximum is {max}, but its highest bin is {last}, with no samples above it"));
        }
        if beyond > 0 && max < self.beyond_from() {
            wrong(format!(
                "{place}: {} samples are above its table, which ends below {}, but its maximum is {max}",
                format::count(beyond),
                self.beyond_from()
            ));
        }
    }

    /// Checks that the mean is possible for the bins and the samples above them.
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
        // Without samples above the table, avoid the product of 0 and infinity.
        let farthest = if beyond == 0 { 0.0 } else { far * self.max.map_or(f64::INFINITY, units::approx_f64) };
        let most = (sum(self.step - 1) + farthest) / n;
        // The sums are exact only to the 53 bits of a float.
        let slack = most.min(f64::MAX) * 1e-9;
        if mean.value + mean.above + slack < least || mean.value - mean.below - slack > most {
            wrong(format!(
                "{}: it states a mean of {}, but that of its samples is between {least:.2} and {most:.2}",
                self.place, mean.value
            ));
        }
    }

    /// Mean and deviation of wide bins: of their middles, moved so that they have the mean that the source states, if it does.
    fn set_sums_of_middles(&self, whole: &mut Histogram, (min_ns, max_ns): (u64, u64)) {
        let width_ns = self.step.saturating_mul(self.unit_ns);
        let middle = |value: u64| value.saturating_mul(self.unit_ns).saturating_add(width_ns / 2).clamp(min_ns, max_ns);
        let n = units::approx_f64(whole.count());
        let of_middles: f64 =
            self.bins.iter().map(|bin| units::approx_f64(middle(bin.0)) * units::approx_f64(bin.1)).sum();
        let stated_ns = self.mean.map(|mean| mean.value * units::approx_f64(self.unit_ns));
        let by_ns = stated_ns.map_or(0.0, |stated_ns| stated_ns - of_middles / n);
        let (mut sum_ns, mut squares) = (0_u64, 0_u128);
        for &(value, samples) in &self.bins {
            let ns = units::round_u64((units::approx_f64(middle(value)) + by_ns).max(0.0));
            sum_ns = sum_ns.saturating_add(ns.saturating_mul(samples));
            squares = squares.saturating_add((u128::from(ns) * u128::from(ns)).saturating_mul(u128::from(samples)));
        }
        whole.set_sums(sum_ns, squares);
    }

    fn histogram(&self, min: u64, max: u64, beyond: u64) -> Result<Histogram, ForeignError> {
        let (min_ns, max_ns) = (self.ns(min)?, self.ns(max)?);
        let mut whole = Histogram::new();
        let last = self.bins.len().saturating_sub(1);
        for (at, &(value, samples)) in self.bins.iter().enumerate() {
            let high_ns = self.ns(value + self.step - 1)?.clamp(min_ns, max_ns);
            let mut rest = samples;
            // Minimum and maximum are known more precisely than their bins.
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
        if unplaced == 0 && self.step > 1 {
            self.set_sums_of_middles(&mut whole, (min_ns, max_ns));
        }
        if unplaced > 0 {
            // Without a stated mean, each unplaced sample counts as the maximum.
            let at_worst = u128::from(whole.sum_ns()) + u128::from(unplaced) * u128::from(max_ns);
            let stated = self.mean.map(|mean| {
                units::round_u64(mean.value * units::approx_f64(self.unit_ns) * units::approx_f64(whole.count()))
            });
            whole.set_sum_ns(stated.unwrap_or_else(|| u64::try_from(at_worst).unwrap_or(u64::MAX)));
        }
        Ok(whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(bins: &[(u64, u64)]) -> Tally {
        Tally { bins: bins.to_vec(), ..Tally::new("CPU 3".to_owned(), 1_000) }
    }

    fn codes(counted: &Counted) -> Vec<ReasonCode> {
        counted.reasons.iter().map(|(code, _)| *code).collect()
    }

    fn contradiction(tally: Tally, part: &str) {
        let counted = tally.count().unwrap();
        let reported =
            counted.reasons.iter().any(|(code, text)| *code == ReasonCode::SourceContradicts && text.contains(part));
        assert!(reported, "{:?}", counted.reasons);
    }

    #[test]
    fn a_whole_table_is_exact() {
        let whole = Tally {
            count: Some(10),
            beyond: Some(0),
            min: Some(5),
            max: Some(9),
            mean: Some(Mean::truncated(6)),
            ..tally(&[(5, 7), (6, 0), (9, 3)])
        };
        let counted = whole.count().unwrap();
        assert!(counted.reasons.is_empty(), "{:?}", counted.reasons);
        let histogram = counted.histogram;
        assert_eq!((histogram.count(), histogram.min_ns(), histogram.max_ns()), (10, Some(5_000), Some(9_000)));
        assert_eq!((histogram.sum_ns(), histogram.unplaced()), (62_000, None));
    }

    #[test]
    fn samples_above_the_table_are_counted_without_values() {
        let cut = Tally {
            beyond: Some(3),
            table_end: Some(60),
            min: Some(5),
            max: Some(500),
            mean: Some(Mean::truncated(70)),
            ..tally(&[(5, 17)])
        };
        let counted = cut.count().unwrap();
        assert_eq!(codes(&counted), [ReasonCode::ValuesUnknown]);
        assert!(
            counted.reasons[0].1.contains("2 of 20 samples are somewhere between 60.0 us and 500 us"),
            "{:?}",
            counted.reasons
        );
        let histogram = counted.histogram;
        assert_eq!(histogram.unplaced(), Some(Unplaced { count: 2, from_ns: 60_000 }));
        assert_eq!((histogram.count(), histogram.max_ns(), histogram.mean_ns()), (20, Some(500_000), Some(70_000.0)));
    }

    #[test]
    fn a_summary_without_bins_gives_only_minimum_maximum_and_mean() {
        let summary =
            Tally { count: Some(100), min: Some(3), max: Some(40), mean: Some(Mean::truncated(9)), ..tally(&[]) };
        let histogram = summary.count().unwrap().histogram;
        assert_eq!((histogram.count(), histogram.min_ns(), histogram.max_ns()), (100, Some(3_000), Some(40_000)));
        assert_eq!(histogram.unplaced(), Some(Unplaced { count: 98, from_ns: 3_000 }));
        assert_eq!((histogram.quantile_ns(0.5), histogram.mean_ns()), (None, Some(9_000.0)));
        let one = Tally { count: Some(1), min: Some(7), max: Some(7), ..tally(&[]) }.count().unwrap();
        assert_eq!((one.histogram.count(), one.histogram.unplaced()), (1, None));
    }

    #[test]
    fn contradictions_are_reported() {
        contradiction(Tally { count: Some(11), ..tally(&[(5, 12)]) }, "counted 11 samples, but its bins hold 12");
        contradiction(Tally { count: Some(11), beyond: Some(0), ..tally(&[(5, 10)]) }, "hold 10 with 0 above");
        contradiction(Tally { min: Some(4), ..tally(&[(5, 10)]) }, "minimum is 4");
        contradiction(Tally { max: Some(9), ..tally(&[(5, 10)]) }, "maximum is 9");
        contradiction(Tally { max: Some(4), ..tally(&[(5, 10)]) }, "maximum is 4");
        contradiction(Tally { max: Some(8), beyond: Some(1), table_end: Some(60), ..tally(&[(5, 10)]) }, "below 60");
        contradiction(Tally { mean: Some(Mean::truncated(7)), ..tally(&[(5, 10)]) }, "mean of 7");
        contradiction(Tally { mean: Some(Mean::truncated(3)), ..tally(&[(5, 10)]) }, "mean of 3");
        contradiction(Tally { mean: Some(Mean::rounded(5.02, 2)), ..tally(&[(5, 10)]) }, "mean of 5.02");
        contradiction(Tally { count: Some(5), min: Some(9), max: Some(3), ..tally(&[]) }, "above its maximum");
    }

    #[test]
    fn the_resolution_is_the_width_of_bins_that_begin_at_its_multiples() {
        let of = |step, bins: &[(u64, u64)]| Tally { step, ..tally(bins) }.resolution_ns();
        assert_eq!((of(1, &[(5, 1)]), of(10, &[(0, 8), (10, 2)])), (Some(1_000), Some(10_000)));
        assert_eq!(of(7, &[(5, 1)]), Some(1_000), "a bin of 5 to 12 us begins at no multiple of its width");
        assert_eq!(Tally { unit_ns: 1, ..tally(&[(5, 1)]) }.resolution_ns(), None);
    }

    #[test]
    fn wide_bins_count_at_their_upper_end() {
        let wide = Tally {
            step: 10,
            min: Some(3),
            max: Some(14),
            mean: Some(Mean::truncated(6)),
            ..tally(&[(0, 8), (10, 2)])
        };
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
    fn mean_and_deviation_of_wide_bins_are_those_of_their_middles() {
        // 0 to 9 and 10 to 19 us, half and half: the middles are 5 and 15 us.
        let wide = Tally { step: 10, min: Some(0), max: Some(19), ..tally(&[(0, 500), (10, 500)]) };
        let histogram = wide.clone().count().unwrap().histogram;
        assert_eq!(histogram.mean_ns(), Some(10_000.0));
        assert!((histogram.sd_ns().unwrap() - 5_000.0).abs() < 1.0, "{:?}", histogram.sd_ns());
        let stated = Tally { mean: Some(Mean::truncated(8)), ..wide }.count().unwrap().histogram;
        assert!((stated.mean_ns().unwrap() - 8_000.0).abs() < 1.0);
        assert!((stated.sd_ns().unwrap() - 5_000.0).abs() < 1.0, "{:?}", stated.sd_ns());
    }

    #[test]
    fn samples_above_the_table_without_a_stated_maximum_make_it_unknown() {
        let counted = Tally { beyond: Some(4), ..tally(&[(5, 10)]) }.count().unwrap();
        assert!(codes(&counted).contains(&ReasonCode::MaximumUnknown), "{:?}", counted.reasons);
        assert_eq!(counted.histogram.count(), 14);
        let counted = Tally { beyond: Some(4), ..tally(&[]) }.count().unwrap();
        assert!(codes(&counted).contains(&ReasonCode::MaximumUnknown), "{:?}", counted.reasons);
    }

    #[test]
    fn minimum_and_maximum_of_no_sample_are_none() {
        let none = Tally { count: Some(0), beyond: Some(0), min: Some(u64::MAX), max: Some(0), ..tally(&[]) };
        let counted = none.count().unwrap();
        assert!(counted.histogram.is_empty() && counted.reasons.is_empty(), "{:?}", counted.reasons);
    }

    #[test]
    fn numbers_that_a_record_cannot_hold_are_refused() {
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
