//! Management messages (IEEE 1588-2019, 15.4; linuxptp `msg.h`).

use super::error::DecodeError;
use super::header::Header;
use super::identity::PortIdentity;
use super::reader::Reader;
use super::tlv::ManagementTlv;

/// What a management message is for (IEEE 1588-2019, table 57).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    /// Asks for values.
    Get,
    /// Asks to set values.
    Set,
    /// Answers GET and SET; linuxptp's notifications have it too.
    Response,
    /// Asks to do something.
    Command,
    /// Answers COMMAND.
    Acknowledge,
}

impl Action {
    pub(super) fn number(self) -> u8 {
        match self {
            Self::Get => 0,
            Self::Set => 1,
            Self::Response => 2,
            Self::Command => 3,
            Self::Acknowledge => 4,
        }
    }

    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let (what, at) = ("action", reader.at());
        // The upper four bits are reserved.
        Ok(match reader.u8(what)? & 0xf {
            0 => Self::Get,
            1 => Self::Set,
            2 => Self::Response,
            3 => Self::Command,
            4 => Self::Acknowledge,
            found => return Err(DecodeError::Value { what, at, found: found.into(), expected: "0 to 4" }),
        })
    }
}

/// A management message; its TLVs are decoded as they are asked for.
#[derive(Debug, Clone, Copy)]
pub struct ManagementMessage<'a> {
    /// Who sent it, in which domain, as which answer.
    pub header: Header,
    /// For whom it is; an answer names the identity in the request, a notification that of the subscriber.
    pub target: PortIdentity,
    /// Boundary clocks that it might pass when it was sent.
    pub starting_boundary_hops: u8,
    /// Boundary clocks that it may still pass.
    pub boundary_hops: u8,
    /// What it is for.
    pub action: Action,
    suffix: Reader<'a>,
}

impl<'a> ManagementMessage<'a> {
    pub(super) fn read(header: Header, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let target = PortIdentity::read(reader, "target port identity")?;
        let starting_boundary_hops = reader.u8("starting boundary hops")?;
        let boundary_hops = reader.u8("boundary hops")?;
        let action = Action::read(reader)?;
        let _reserved = reader.u8("reserved byte")?;
        Ok(Self { header, target, starting_boundary_hops, boundary_hops, action, suffix: *reader })
    }

    /// Its TLVs in order; the first error ends them.
    pub fn tlvs(&self) -> ManagementTlvs<'a> {
        ManagementTlvs { rest: Some(self.suffix) }
    }
}

/// TLVs of a management message.
#[derive(Debug, Clone)]
pub struct ManagementTlvs<'a> {
    /// None once the list is at its end or broken.
    rest: Option<Reader<'a>>,
}

impl<'a> Iterator for ManagementTlvs<'a> {
    type Item = Result<ManagementTlv<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut reader = self.rest.take()?;
        if reader.len() == 0 {
            return None;
        }
        let tlv = ManagementTlv::read(&mut reader);
        if tlv.is_ok() {
            self.rest = Some(reader);
        }
        Some(tlv)
    }
}

impl std::iter::FusedIterator for ManagementTlvs<'_> {}
