//! What holds for every request and for every string of bytes.

use std::hint::black_box;

use codecs::linuxptp::{
    Action, ClockIdentity, EventSet, ManagementId, ManagementTlv, Message, PortIdentity, Request, Requester, ScaledNs,
    SignalingTlv, SubscribeEvents, decode,
};
use proptest::prelude::*;

use super::fixture::{management, sections};

/// Decodes everything in `datagram` and counts the TLVs and records that are good.
fn decode_all(datagram: &[u8]) -> usize {
    match decode(datagram) {
        Err(_) => 0,
        Ok(Message::Management(message)) => message.tlvs().filter(Result::is_ok).count(),
        Ok(Message::Signaling(message)) => {
            let records = |tlv| match tlv {
                SignalingTlv::SyncTiming { records, .. } => records
                    .flatten()
                    .inspect(|record| {
                        black_box(record.transit_and_offset_scaled_ns());
                    })
                    .count(),
                SignalingTlv::DelayTiming { records, .. } => records
                    .flatten()
                    .inspect(|record| {
                        black_box(record.transit_minus_offset_scaled_ns());
                    })
                    .count(),
                SignalingTlv::Unknown { .. } => 1,
            };
            message.tlvs().flatten().map(records).sum()
        }
    }
}

#[test]
fn a_prefix_is_an_error_or_shorter() {
    for datagram in sections().iter().flat_map(|section| &section.datagrams) {
        let whole = decode_all(datagram);
        assert_eq!(whole, 1);
        for length in 0..datagram.len() {
            let mut prefix = datagram[..length].to_vec();
            assert!(decode(&prefix).is_err(), "the header declares more");
            // The same, with a header that agrees.
            if let Some(declared) = prefix.get_mut(2..4) {
                declared.copy_from_slice(&u16::try_from(length).expect("a short message").to_be_bytes());
                assert!(decode_all(&prefix) < whole, "{length} bytes of {datagram:02x?}");
            }
        }
    }
}

fn port() -> impl Strategy<Value = PortIdentity> {
    (any::<[u8; 8]>(), any::<u16>()).prop_map(|(clock, port)| PortIdentity { clock: ClockIdentity(clock), port })
}

fn request() -> impl Strategy<Value = Request> {
    let subscription = (any::<u16>(), any::<[u8; 32]>(), any::<[u8; 32]>()).prop_map(|(duration_s, low, high)| {
        let mut bits = [0; 64];
        bits[..32].copy_from_slice(&low);
        bits[32..].copy_from_slice(&high);
        Request::Subscribe(SubscribeEvents { duration_s, events: EventSet { bits } })
    });
    prop_oneof![proptest::sample::select(ManagementId::ALL).prop_map(Request::Get), subscription]
}

proptest! {
    #[test]
    fn a_request_decodes_to_what_was_asked(
        request in request(), source in port(), domain_number: u8, sequence_id: u16,
        transport_specific in 0..16_u8, minor_version in 0..16_u8,
    ) {
        let requester = Requester { transport_specific, domain_number, minor_version, source };
        let encoded = requester.encode(sequence_id, &request).expect("four bits each");
        let message = management(encoded.as_bytes());
        let header = message.header;
        prop_assert_eq!((header.source, header.sequence_id, header.domain_number), (source, sequence_id, domain_number));
        prop_assert_eq!((header.transport_specific, header.minor_version), (transport_specific, minor_version));
        prop_assert_eq!((message.target, message.boundary_hops), (PortIdentity::ANY, 0));
        let (action, tlv) = match request {
            Request::Get(id) => (Action::Get, ManagementTlv::Empty { id: id.number() }),
            Request::Subscribe(subscription) => (Action::Set, ManagementTlv::SubscribeEvents(subscription)),
        };
        prop_assert_eq!(message.action, action);
        prop_assert_eq!(message.tlvs().collect::<Vec<_>>(), [Ok(tlv)]);
    }

    #[test]
    fn any_bytes_decode_without_a_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        decode_all(&bytes);
    }

    /// Changed in few places, a message reaches past the checks of its header.
    #[test]
    fn a_changed_message_decodes_without_a_panic(
        which: proptest::sample::Index, changes in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 1..4),
    ) {
        let sections = sections();
        let datagrams: Vec<_> = sections.iter().flat_map(|section| &section.datagrams).collect();
        let mut datagram = which.get(&datagrams).to_vec();
        for (place, value) in changes {
            let place = place.index(datagram.len());
            datagram[place] = value;
        }
        decode_all(&datagram);
    }

    #[test]
    fn identities_read_back(port in port()) {
        prop_assert_eq!(port.to_string().parse(), Ok(port));
        prop_assert_eq!(port.clock.to_string().parse(), Ok(port.clock));
    }

    #[test]
    fn ninety_six_bits_are_signed(value in -(1_i128 << 95)..(1_i128 << 95)) {
        let mut bytes = [0; 12];
        bytes.copy_from_slice(&value.to_be_bytes()[4..]);
        prop_assert_eq!(ScaledNs(bytes).scaled_ns(), value);
    }
}
