//! Which clock a reading is of, so that readings of different clocks cannot be subtracted by mistake.

use std::fmt;
use std::marker::PhantomData;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Ns;

/// A system clock by the name that users type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ClockId {
    /// `CLOCK_MONOTONIC`: never steps, is slewed.
    Monotonic,
    /// `CLOCK_MONOTONIC_RAW`: never steps, is not slewed; cannot be slept on.
    MonotonicRaw,
    /// `CLOCK_REALTIME`: UTC; can be stepped.
    Realtime,
    /// `CLOCK_TAI`: as realtime without leap seconds; can be stepped.
    Tai,
    /// `CLOCK_BOOTTIME`: as monotonic, and counts suspended time.
    Boottime,
}

impl ClockId {
    /// Every clock, in the order of the documents.
    pub const ALL: [Self; 5] = [Self::Monotonic, Self::MonotonicRaw, Self::Realtime, Self::Tai, Self::Boottime];

    /// The name that users type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Monotonic => "monotonic",
            Self::MonotonicRaw => "monotonic-raw",
            Self::Realtime => "realtime",
            Self::Tai => "tai",
            Self::Boottime => "boottime",
        }
    }

    /// Whether somebody can set this clock to another time while we measure.
    #[must_use]
    pub const fn can_step(self) -> bool {
        matches!(self, Self::Realtime | Self::Tai)
    }
}

impl fmt::Display for ClockId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for ClockId {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::ALL.into_iter().find(|clock| clock.name() == text).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|clock| clock.name()).collect();
            format!("'{text}' is not a clock: {} are", known.join(", "))
        })
    }
}

/// Marker of `CLOCK_MONOTONIC`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Monotonic;
/// Marker of `CLOCK_REALTIME`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Realtime;

/// A reading of the clock `C`: nanoseconds since that clock's own zero.
///
/// Two clocks cannot be mixed:
///
/// ```compile_fail
/// use units::{Monotonic, Realtime, Timestamp};
/// let a = Timestamp::<Monotonic>::from_ns(5);
/// let b = Timestamp::<Realtime>::from_ns(3);
/// let _ = a.since(b);
/// ```
///
/// ```
/// use units::{Monotonic, Ns, Timestamp};
/// let a = Timestamp::<Monotonic>::from_ns(5);
/// let b = Timestamp::<Monotonic>::from_ns(3);
/// assert_eq!(a.since(b), Ns(2));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(transparent, bound = "")]
#[schemars(transparent, bound = "")]
pub struct Timestamp<C>(i64, #[schemars(skip)] PhantomData<C>);

impl<C> Timestamp<C> {
    /// From nanoseconds since the clock's zero.
    #[must_use]
    pub const fn from_ns(ns: i64) -> Self {
        Self(ns, PhantomData)
    }

    /// Nanoseconds since the clock's zero.
    #[must_use]
    pub const fn as_ns(&self) -> i64 {
        self.0
    }

    /// This reading minus an earlier one of the same clock; negative where `earlier` is later. Stops at ±292 years, beyond
    /// which no two readings of a clock lie, and numbers out of a damaged file may.
    #[must_use]
    pub const fn since(self, earlier: Self) -> Ns
    where
        C: Copy,
    {
        Ns(self.0.saturating_sub(earlier.0))
    }

    /// The reading `later` after this one; stops at the ends of what 64 bits hold.
    #[must_use]
    pub const fn plus(self, later: Ns) -> Self
    where
        C: Copy,
    {
        Self::from_ns(self.0.saturating_add(later.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_round_trip() {
        for clock in ClockId::ALL {
            assert_eq!(clock.name().parse::<ClockId>(), Ok(clock));
        }
        assert!("wall".parse::<ClockId>().is_err_and(|e| e.contains("realtime")));
    }
}
