//! `--expect NAME=LEAST..MOST`: what a number that a command read off a lab must lie between.

use std::fmt::Display;
use std::str::FromStr;

/// One expectation; the bounds belong to what is allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Expectation {
    name: String,
    least: String,
    most: String,
}

impl FromStr for Expectation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' expects nothing: write NAME=LEAST..MOST, for example median=-2ms..2ms");
        let (name, range) = text.split_once('=').ok_or_else(wrong)?;
        let (least, most) = range.split_once("..").ok_or_else(wrong)?;
        Ok(Self { name: name.to_owned(), least: least.to_owned(), most: most.to_owned() })
    }
}

impl Expectation {
    /// What is not as expected of a number that was found under this name, or none was (`None`); in words.
    ///
    /// # Errors
    /// Where a bound is not of the number's kind.
    fn fault<T: FromStr<Err: Display> + PartialOrd + Display>(
        &self,
        found: Option<T>,
    ) -> anyhow::Result<Option<String>> {
        let Self { name, least, most } = self;
        let bound = |text: &str| {
            text.parse::<T>()
                .map_err(|error| anyhow::anyhow!("cannot expect {name} between {least} and {most}: {error}"))
        };
        let (from, to) = (bound(least)?, bound(most)?);
        Ok(match found {
            Some(found) if from <= found && found <= to => None,
            Some(found) => Some(format!("{name} is {found}, expected are {least} to {most}")),
            None => Some(format!("there is no {name}, expected are {least} to {most}")),
        })
    }
}

/// A number with its kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Found {
    /// A span of time.
    Time(Option<units::Ns>),
    /// A count, without a unit.
    Count(u64),
    /// Any other number.
    Number(Option<f64>),
}

/// What is not as expected, a line each; `known` gives the number of a name.
///
/// # Errors
/// Where a name is not known or a bound is not of its kind.
pub(super) fn faults(expectations: &[Expectation], known: &[(String, Found)]) -> anyhow::Result<Vec<String>> {
    let mut faults = Vec::new();
    for expectation in expectations {
        let found = known.iter().find(|(name, _)| *name == expectation.name).map(|(_, found)| *found);
        let fault = match found {
            Some(Found::Time(time)) => expectation.fault(time)?,
            Some(Found::Count(count)) => expectation.fault(Some(count))?,
            Some(Found::Number(number)) => expectation.fault(number)?,
            None => {
                let names: Vec<&str> = known.iter().map(|(name, _)| name.as_str()).collect();
                anyhow::bail!("nothing here is named {}: {} are", expectation.name, names.join(", "));
            }
        };
        faults.extend(fault);
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use units::Ns;

    use super::*;

    fn verdict(expected: &str, found: Found) -> String {
        match faults(&[expected.parse().unwrap()], &[("median".to_owned(), found)]) {
            Ok(faults) => faults.join("\n"),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_number_holds_or_is_told_with_its_bounds() {
        let time = |us| Found::Time(Some(Ns::from_us(us)));
        assert_eq!(verdict("median=-2ms..2ms", time(-2_000)), "");
        assert_eq!(verdict("median=-2ms..2ms", time(2_000)), "");
        assert_eq!(verdict("median=-2ms..2ms", time(2_001)), "median is 2001us, expected are -2ms to 2ms");
        assert_eq!(verdict("median=1..5", Found::Count(0)), "median is 0, expected are 1 to 5");
        assert_eq!(verdict("median=-1.5..5", Found::Number(Some(-1.25))), "");
        assert_eq!(verdict("median=0..5", Found::Number(None)), "there is no median, expected are 0 to 5");
    }

    #[test]
    fn what_cannot_be_expected_is_an_error() {
        assert!(verdict("median=1..2", Found::Time(None)).contains("no unit"));
        assert_eq!(verdict("mean=1..2", Found::Count(1)), "nothing here is named mean: median are");
        for text in ["median", "median=5", "=", ""] {
            assert!(text.parse::<Expectation>().unwrap_err().contains("NAME=LEAST..MOST"), "{text}");
        }
    }
}
