//! Requests to a daemon (IEEE 1588-2019, 15.4.1 and 13.3; linuxptp `pmc_common.c`).

use super::error::EncodeError;
use super::header::{HEADER_BYTES, MAJOR_VERSION, MANAGEMENT};
use super::id::ManagementId;
use super::identity::PortIdentity;
use super::management::Action;
use super::tlv::{SubscribeEvents, TLV_MANAGEMENT};

/// Bytes of the longest request: header, target to reserved byte, TLV head, management id, subscription.
const MAX_BYTES: usize = HEADER_BYTES + 14 + 4 + 2 + SubscribeEvents::BYTES;

/// Bytes before the management id: header, target to reserved byte, TLV head.
const FIXED_BYTES: u16 = 34 + 14 + 4;
/// Bytes of the data of `SUBSCRIBE_EVENTS_NP`.
const SUBSCRIBE_BYTES: u16 = 66;

/// Who asks, and whom. A daemon answers only its own domain and `transportSpecific`, and stays silent otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Requester {
    /// As the daemon is configured: 0 for IEEE 1588, 1 for IEEE 802.1AS (0 to 15).
    pub transport_specific: u8,
    /// As the daemon is configured (0 to 255).
    pub domain_number: u8,
    /// `minorVersionPTP` (0 to 15). linuxptp 3.1 and 4.2 accept any; `pmc` writes 0 up to 3.x and 1 from 4.x.
    pub minor_version: u8,
    /// The asker. Answers name it as their target, and a daemon keeps one subscription for each identity: it should be
    /// different for each client of one daemon, or the clients take each other's notifications.
    pub source: PortIdentity,
}

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Request {
    /// The value of one management TLV.
    Get(ManagementId),
    /// A subscription to notifications, or its end (no event).
    Subscribe(SubscribeEvents),
}

/// A request as bytes.
#[derive(Debug, Clone, Copy)]
pub struct EncodedRequest {
    bytes: [u8; MAX_BYTES],
    len: usize,
}

impl EncodedRequest {
    /// The datagram to send.
    pub fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }

    fn push(&mut self, bytes: &[u8]) {
        let end = self.len + bytes.len();
        // Held by MAX_BYTES, and by the tests that encode every request.
        if let Some(free) = self.bytes.get_mut(self.len..end) {
            free.copy_from_slice(bytes);
            self.len = end;
        }
    }

    fn push_port(&mut self, port: PortIdentity) {
        self.push(&port.clock.0);
        self.push(&port.port.to_be_bytes());
    }
}

impl Requester {
    /// Encodes `request`. The answer has the same `sequence_id`.
    ///
    /// # Errors
    /// Where `transport_specific` or `minor_version` is above 15.
    pub fn encode(&self, sequence_id: u16, request: &Request) -> Result<EncodedRequest, EncodeError> {
        let four_bits = |what, found| if found > 15 { Err(EncodeError::FourBits { what, found }) } else { Ok(found) };
        let transport_specific = four_bits("transportSpecific", self.transport_specific)?;
        let minor_version = four_bits("minorVersionPTP", self.minor_version)?;
        let (action, id, length) = match request {
            Request::Get(id) => (Action::Get, *id, 0),
            Request::Subscribe(_) => (Action::Set, ManagementId::SubscribeEvents, SUBSCRIBE_BYTES),
        };
        let tlv_length = 2 + length;
        let message_length = FIXED_BYTES + tlv_length;

        let mut encoded = EncodedRequest { bytes: [0; MAX_BYTES], len: 0 };
        encoded.push(&[transport_specific << 4 | MANAGEMENT, minor_version << 4 | MAJOR_VERSION]);
        encoded.push(&message_length.to_be_bytes());
        encoded.push(&[self.domain_number]);
        // minorSdoId, flags, correction and the bytes whose meaning depends on the type: all 0.
        encoded.push(&[0; 15]);
        encoded.push_port(self.source);
        encoded.push(&sequence_id.to_be_bytes());
        // control of management messages, and a log message interval that means none.
        encoded.push(&[4, 0x7f]);
        encoded.push_port(PortIdentity::ANY);
        // No boundary hops: the socket's daemon alone is asked.
        encoded.push(&[0, 0, action.number(), 0]);
        encoded.push(&TLV_MANAGEMENT.to_be_bytes());
        encoded.push(&tlv_length.to_be_bytes());
        encoded.push(&id.number().to_be_bytes());
        if let Request::Subscribe(subscription) = request {
            encoded.push(&subscription.duration_s.to_be_bytes());
            encoded.push(&subscription.events.bits);
        }
        Ok(encoded)
    }
}
