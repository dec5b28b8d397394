//! Values of options that have names: listed in the help and completed by shells, while files and lists are taken as well.

use std::marker::PhantomData;
use std::str::FromStr;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::Error;
use clap::{Arg, Command};
use run::load::LoadSpec;
use units::ClockId;

/// Reads a value as [`FromStr`] does, and lists the names that are known beforehand.
pub(crate) struct Named<T> {
    names: fn() -> Vec<&'static str>,
    value: PhantomData<fn() -> T>,
}

// Derived, it would ask the same of `T`.
impl<T> Clone for Named<T> {
    fn clone(&self) -> Self {
        Self { names: self.names, value: PhantomData }
    }
}

impl<T> Named<T> {
    const fn new(names: fn() -> Vec<&'static str>) -> Self {
        Self { names, value: PhantomData }
    }
}

impl<T> TypedValueParser for Named<T>
where
    T: FromStr + Clone + Send + Sync + 'static,
    T::Err: std::fmt::Display,
{
    type Value = T;

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &std::ffi::OsStr) -> Result<T, Error> {
        let read = |text: &str| text.parse::<T>().map_err(|error| error.to_string());
        TypedValueParser::parse_ref(&read, command, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new((self.names)().into_iter().map(PossibleValue::new)))
    }
}

/// Reads a value as [`FromStr`] does, with the error in its own words.
pub(crate) fn read<T>(text: &str) -> Result<T, String>
where
    T: FromStr,
    T::Err: std::fmt::Display,
{
    text.parse::<T>().map_err(|error| error.to_string())
}

/// Clocks that can be read.
pub(crate) const fn clock() -> Named<ClockId> {
    Named::new(|| ClockId::ALL.map(ClockId::name).to_vec())
}

/// Clocks that can be slept on.
pub(crate) const fn sleeping_clock() -> Named<ClockId> {
    Named::new(|| {
        let sleeps = |clock: &ClockId| *clock != ClockId::MonotonicRaw;
        ClockId::ALL.into_iter().filter(sleeps).map(ClockId::name).collect()
    })
}

/// The loads that come with the program.
pub(crate) const fn load() -> Named<String> {
    Named::new(|| LoadSpec::built_in_names().collect())
}

/// The loads that come with the program, or none of them.
pub(crate) const fn load_or_none() -> Named<String> {
    Named::new(|| LoadSpec::built_in_names().chain(["none"]).collect())
}

/// The findings that can be explained.
pub(crate) const fn finding() -> Named<String> {
    Named::new(|| crate::commands::explain::all().iter().map(|one| one.id).collect())
}

/// The campaigns that come with the program.
pub(crate) const fn campaign() -> Named<String> {
    Named::new(|| campaign::shipped::SHIPPED.iter().map(|(name, _)| *name).collect())
}

/// The scenarios that come with the program.
#[cfg(feature = "lab")]
pub(crate) const fn scenario() -> Named<String> {
    static NAMES: std::sync::OnceLock<Vec<String>> = std::sync::OnceLock::new();
    Named::new(|| {
        let all = NAMES.get_or_init(|| lab::scenario::Scenario::all_built_in().map(|one| one.name).collect());
        all.iter().map(String::as_str).collect()
    })
}
