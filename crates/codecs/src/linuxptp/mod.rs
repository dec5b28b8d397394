//! Management messages of linuxptp: what `pmc` asks a `ptp4l`, what that answers, and what it sends unasked.
//!
//! The daemon speaks IEEE 1588 management messages over Unix datagram sockets (`uds.c`). This module turns requests into
//! bytes and bytes into values. It opens no socket, reads no clock, and allocates nothing for a message: values are plain
//! copies, or borrow from the datagram. It covers linuxptp 3.1 to 4.x; every layout was checked against bytes of the
//! daemons 3.1.1 and 4.2 (`fixtures/linuxptp`), but for `CMLDS_INFO_NP`, which 4.3 added.
//!
//! For whoever opens the sockets:
//! - A daemon answers to the address of the asker, so the asker binds one; without it there is no answer.
//! - A daemon sends without a time limit. Where a subscriber or slave event monitor stops reading, its queue fills and
//!   the daemon stands still, and with it the synchronization: read at once, or close the socket.
//! - An address is a path, or an abstract name where both sides are in one network namespace.
//! - Messages of slave event monitoring come from the daemon's management socket to the path in its configuration, which
//!   the monitor binds.
//! - Requests for another domain or `transportSpecific` get no answer, not even an error.
//!
//! ```
//! use codecs::linuxptp::{ManagementId, PortIdentity, Request, Requester};
//!
//! let source: PortIdentity = "000000.0000.00abcd-1".parse()?;
//! let requester = Requester { transport_specific: 0, domain_number: 0, minor_version: 0, source };
//! let datagram = requester.encode(7, &Request::Get(ManagementId::CurrentDataSet))?;
//! assert_eq!(datagram.as_bytes().len(), 54);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod header;
mod id;
mod identity;
pub mod log;
mod management;
mod reader;
mod request;
mod signaling;
mod time;
mod tlv;

pub use error::{DecodeError, EncodeError, IdentityError};
pub use header::Header;
pub use id::{ManagementErrorId, ManagementId};
pub use identity::{ClockIdentity, PortIdentity};
pub use management::{Action, ManagementMessage, ManagementTlvs};
pub use request::{EncodedRequest, Request, Requester};
pub use signaling::{DelayRecord, Record, Records, SignalingMessage, SignalingTlv, SignalingTlvs, SyncRecord};
pub use time::{ScaledNs, TimeInterval, Timestamp};
pub use tlv::{
    ClockQuality, CmldsInfo, CurrentDataSet, DefaultDataSet, DelayMechanism, Event, EventSet, GrandmasterSettings,
    ManagementErrorStatus, ManagementTlv, MessageCounts, ParentDataSet, PortDataSet, PortDataSetNp, PortHwClock,
    PortProperties, PortState, PortStats, SubscribeEvents, TimeProperties, TimeSource, TimeStatus, Timestamping,
};

pub(crate) use reader::Reader;

/// A message that a daemon sends to a management or monitoring socket.
#[derive(Debug, Clone, Copy)]
pub enum Message<'a> {
    /// An answer, a notification, or a request.
    Management(ManagementMessage<'a>),
    /// Raw time stamps for a slave event monitor.
    Signaling(SignalingMessage<'a>),
}

/// Decodes one datagram. Its TLVs are decoded when they are asked for.
///
/// # Errors
/// Where `datagram` is cut off, has another length than it declares, another version of PTP, or is neither a management
/// nor a signaling message.
pub fn decode(datagram: &[u8]) -> Result<Message<'_>, DecodeError> {
    let mut reader = Reader::new(datagram, 0);
    let (header, kind) = Header::read(&mut reader)?;
    match kind {
        header::MANAGEMENT => ManagementMessage::read(header, &mut reader).map(Message::Management),
        header::SIGNALING => SignalingMessage::read(header, &mut reader).map(Message::Signaling),
        found => {
            let expected = "12 (signaling) or 13 (management)";
            Err(DecodeError::Value { what: "message type", at: 0, found: found.into(), expected })
        }
    }
}
