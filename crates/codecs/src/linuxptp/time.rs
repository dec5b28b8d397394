//! Instants and intervals as they stand in messages: integers, never rounded.

use super::error::DecodeError;
use super::reader::Reader;

/// An interval in units of 2^-16 ns (IEEE 1588-2019, 5.3.2 `TimeInterval`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TimeInterval {
    /// The interval times 65536 (2^-16 ns). The extreme values mean "too large to be expressed".
    pub scaled_ns: i64,
}

impl TimeInterval {
    pub(crate) fn read(reader: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        Ok(Self { scaled_ns: reader.i64(what)? })
    }

    /// Whole nanoseconds, rounded toward minus infinity.
    pub fn floor_ns(self) -> i64 {
        self.scaled_ns >> 16
    }
}

/// An instant on the clock of whoever took it (IEEE 1588-2019, 5.3.3 `Timestamp`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp {
    /// Whole seconds since the epoch of that clock (48 bits).
    pub seconds: u64,
    /// Nanoseconds within the second (0 to 999999999).
    pub nanoseconds: u32,
}

impl Timestamp {
    pub(crate) fn read(reader: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        let seconds = u64::from(reader.u16(what)?) << 32 | u64::from(reader.u32(what)?);
        let at = reader.at();
        let nanoseconds = reader.u32(what)?;
        if nanoseconds > 999_999_999 {
            let expected = "at most 999999999 nanoseconds";
            return Err(DecodeError::Value { what, at, found: nanoseconds.into(), expected });
        }
        Ok(Self { seconds, nanoseconds })
    }

    /// Nanoseconds since the epoch of that clock; 48 bits of seconds do not fit 64 bits of nanoseconds.
    pub fn as_ns(self) -> i128 {
        i128::from(self.seconds) * 1_000_000_000 + i128::from(self.nanoseconds)
    }
}

/// A signed number of 96 bits in units of 2^-16 ns (IEEE 802.1AS-2020, 6.4.3.1 `ScaledNs`), as its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct ScaledNs(pub [u8; 12]);

impl ScaledNs {
    /// The value in units of 2^-16 ns.
    pub fn scaled_ns(self) -> i128 {
        let negative = self.0.first().is_some_and(|byte| byte & 0x80 != 0);
        let start = if negative { -1 } else { 0 };
        self.0.iter().fold(start, |value, &byte| value << 8 | i128::from(byte))
    }
}
