//! Fields of messages: integers, addresses and times, read one after the other.

use std::fmt;
// The types of addresses alone: `core` has no sockets.
use core::net::{Ipv4Addr, Ipv6Addr};

use super::float::{Seconds, WireFloat};
use super::reply::DecodeError;

const FAMILY_UNSPECIFIED: u16 = 0;
const FAMILY_IPV4: u16 = 1;
const FAMILY_IPV6: u16 = 2;
const FAMILY_ID: u16 = 3;

/// Bytes of an address in a message: sixteen of the address, the family, two unused ones.
pub(super) const ADDRESS_BYTES: usize = 20;

/// High half of a time's seconds where the sender has 32-bit times.
const NO_HIGH_SECONDS: u32 = 0x7fff_ffff;

/// The address of a source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Address {
    /// None: the machine follows a reference clock, its own clock, or nothing.
    #[default]
    Unspecified,
    /// A server or peer, or the reference ID of a reference clock in [`super::SourceData`].
    V4(Ipv4Addr),
    /// A server or peer.
    V6(Ipv6Addr),
    /// A source whose name has not been resolved yet, by chronyd's own number.
    Unresolved(u32),
}

impl Address {
    pub(super) fn encode(self) -> [u8; ADDRESS_BYTES] {
        let mut bytes = [0; ADDRESS_BYTES];
        let family = match self {
            Self::Unspecified => FAMILY_UNSPECIFIED,
            Self::V4(address) => {
                bytes[..4].copy_from_slice(&address.octets());
                FAMILY_IPV4
            }
            Self::V6(address) => {
                bytes[..16].copy_from_slice(&address.octets());
                FAMILY_IPV6
            }
            Self::Unresolved(id) => {
                bytes[..4].copy_from_slice(&id.to_be_bytes());
                FAMILY_ID
            }
        };
        bytes[16..18].copy_from_slice(&family.to_be_bytes());
        bytes
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unspecified => f.write_str("no address"),
            Self::V4(address) => address.fmt(f),
            Self::V6(address) => address.fmt(f),
            Self::Unresolved(id) => write!(f, "unresolved name (ID#{id:010})"),
        }
    }
}

/// A time in UTC as chronyd counts it, since 1970-01-01, without leap seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UtcTime {
    /// Whole seconds since 1970-01-01 00:00:00 UTC, rounded down. Zero with no nanoseconds: there is no such time.
    pub seconds: i64,
    /// Nanoseconds after these seconds, below 1 000 000 000.
    pub nanoseconds: u32,
}

/// Reads fields of a reply from its start; a field beyond the end is an error.
pub(super) struct Fields<'a> {
    bytes: &'a [u8],
    offset: usize,
}

impl<'a> Fields<'a> {
    pub(super) const fn new(bytes: &'a [u8], offset: usize) -> Self {
        Self { bytes, offset }
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let rest = self.bytes.get(self.offset..).unwrap_or_default();
        let Some(field) = rest.first_chunk::<N>() else {
            return Err(DecodeError::Truncated { bytes: self.bytes.len(), needed: self.offset + N });
        };
        self.offset += N;
        Ok(*field)
    }

    pub(super) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.take().map(u8::from_be_bytes)
    }

    pub(super) fn i8(&mut self) -> Result<i8, DecodeError> {
        self.take().map(i8::from_be_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.take().map(u16::from_be_bytes)
    }

    pub(super) fn i16(&mut self) -> Result<i16, DecodeError> {
        self.take().map(i16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.take().map(u32::from_be_bytes)
    }

    pub(super) fn float(&mut self) -> Result<WireFloat, DecodeError> {
        self.u32().map(WireFloat::from_bits)
    }

    pub(super) fn seconds(&mut self) -> Result<Seconds, DecodeError> {
        self.u32().map(Seconds::from_bits)
    }

    /// A count for which all ones stand for "unknown".
    pub(super) fn known_u32(&mut self) -> Result<Option<u32>, DecodeError> {
        self.u32().map(|count| (count != u32::MAX).then_some(count))
    }

    pub(super) fn address(&mut self) -> Result<Address, DecodeError> {
        let octets: [u8; 16] = self.take()?;
        let family_at = self.offset;
        let family = self.u16()?;
        self.u16()?;
        let [a, b, c, d, ..] = octets;
        match family {
            FAMILY_UNSPECIFIED => Ok(Address::Unspecified),
            FAMILY_IPV4 => Ok(Address::V4(Ipv4Addr::new(a, b, c, d))),
            FAMILY_IPV6 => Ok(Address::V6(Ipv6Addr::from(octets))),
            FAMILY_ID => Ok(Address::Unresolved(u32::from_be_bytes([a, b, c, d]))),
            _ => Err(DecodeError::Malformed { field: "address family", offset: family_at, value: u32::from(family) }),
        }
    }

    pub(super) fn time(&mut self) -> Result<UtcTime, DecodeError> {
        let high = self.u32()?;
        let low = self.u32()?;
        let nanoseconds_at = self.offset;
        let nanoseconds = self.u32()?;
        if nanoseconds >= 1_000_000_000 {
            let (field, value) = ("nanoseconds of a time", nanoseconds);
            return Err(DecodeError::Malformed { field, offset: nanoseconds_at, value });
        }
        let high = if high == NO_HIGH_SECONDS { 0 } else { high };
        let seconds = i64::from_be_bytes((u64::from(high) << 32 | u64::from(low)).to_be_bytes());
        Ok(UtcTime { seconds, nanoseconds })
    }
}
