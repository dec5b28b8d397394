//! Identities of clocks and ports (IEEE 1588-2019, 5.3.4 and 5.3.5), printed and read as linuxptp does (`util.c`).

use std::fmt;
use std::str::FromStr;

use super::error::{DecodeError, IdentityError};
use super::reader::Reader;

/// An EUI-64 that names one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ClockIdentity(pub [u8; 8]);

/// One port of one clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PortIdentity {
    /// The clock that the port belongs to.
    pub clock: ClockIdentity,
    /// Number of the port, from 1; 0 where linuxptp speaks for the whole clock.
    pub port: u16,
}

impl ClockIdentity {
    pub(crate) fn read(reader: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        reader.array(what).map(Self)
    }
}

impl PortIdentity {
    /// All bits set: the message is meant for every clock and port (IEEE 1588-2019, 15.3.1).
    pub const ANY: Self = Self { clock: ClockIdentity([0xff; 8]), port: 0xffff };

    pub(crate) fn read(reader: &mut Reader<'_>, what: &'static str) -> Result<Self, DecodeError> {
        Ok(Self { clock: ClockIdentity::read(reader, what)?, port: reader.u16(what)? })
    }
}

impl fmt::Display for ClockIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g, h, i] = self.0;
        write!(f, "{a:02x}{b:02x}{c:02x}.{d:02x}{e:02x}.{g:02x}{h:02x}{i:02x}")
    }
}

impl fmt::Display for PortIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.clock, self.port)
    }
}

impl FromStr for ClockIdentity {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let refused = || IdentityError::Clock(text.to_owned());
        let (mut identity, mut digits) = (0_u64, 0);
        for (place, character) in text.chars().enumerate() {
            match (place, character) {
                (6 | 11, '.') => {}
                (6 | 11, _) => return Err(refused()),
                (..18, _) => {
                    let digit = character.to_digit(16).ok_or_else(refused)?;
                    identity = identity << 4 | u64::from(digit);
                    digits += 1;
                }
                _ => return Err(refused()),
            }
        }
        if digits == 16 { Ok(Self(identity.to_be_bytes())) } else { Err(refused()) }
    }
}

impl FromStr for PortIdentity {
    type Err = IdentityError;

    fn from_str(text: &str) -> Result<Self, IdentityError> {
        let refused = || IdentityError::Port(text.to_owned());
        let (clock, port) = text.split_once('-').ok_or_else(refused)?;
        // `u16::from_str` takes a sign, which linuxptp never prints.
        if !port.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(refused());
        }
        Ok(Self { clock: clock.parse()?, port: port.parse().map_err(|_| refused())? })
    }
}
