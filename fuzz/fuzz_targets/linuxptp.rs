//! Datagrams that came to a management or monitoring socket, from a daemon of any version or from anyone: each is decoded
//! or refused, none makes a panic; what is decoded has room in the datagram, and a request decodes to what was asked.
#![no_main]

use codecs::linuxptp::{
    ClockIdentity, EventSet, ManagementId, ManagementTlv, Message, PortIdentity, Request, Requester, SignalingTlv,
    SubscribeEvents, decode,
};
use libfuzzer_sys::fuzz_target;

/// Bytes of the shortest TLV: type and length.
const TLV_HEAD_BYTES: usize = 4;

fn decode_all(datagram: &[u8]) {
    let Ok(message) = decode(datagram) else { return };
    match message {
        Message::Management(message) => {
            let tlvs: Vec<_> = message.tlvs().collect();
            assert!(tlvs.len() * TLV_HEAD_BYTES <= datagram.len());
            assert!(tlvs.iter().rev().skip(1).all(Result::is_ok), "an error ends the list");
            for tlv in tlvs.into_iter().flatten() {
                if let ManagementTlv::TimeStatus(status) = tlv {
                    let scaled = status.last_gm_phase_change.scaled_ns();
                    assert_eq!(scaled.to_be_bytes()[4..], status.last_gm_phase_change.0);
                }
            }
        }
        Message::Signaling(message) => {
            for tlv in message.tlvs().flatten() {
                match tlv {
                    SignalingTlv::SyncTiming { records, .. } => {
                        for record in records.flatten() {
                            let difference = record.t2.as_ns() - record.t1.as_ns();
                            let back = record.transit_and_offset_scaled_ns() + i128::from(record.correction.scaled_ns);
                            assert_eq!(back, difference * 65_536);
                        }
                    }
                    SignalingTlv::DelayTiming { records, .. } => {
                        for record in records.flatten() {
                            let difference = record.t4.as_ns() - record.t3.as_ns();
                            let back =
                                record.transit_minus_offset_scaled_ns() + i128::from(record.correction.scaled_ns);
                            assert_eq!(back, difference * 65_536);
                        }
                    }
                    SignalingTlv::Unknown { length, .. } => assert!(length < datagram.len()),
                }
            }
        }
    }
}

fn ask(bytes: &[u8]) {
    let Some((head, rest)) = bytes.split_first_chunk::<17>() else { return };
    let [kinds, domain_number, which, c0, c1, c2, c3, c4, c5, c6, c7, p0, p1, s0, s1, d0, d1] = *head;
    let clock = ClockIdentity([c0, c1, c2, c3, c4, c5, c6, c7]);
    let source = PortIdentity { clock, port: u16::from_be_bytes([p0, p1]) };
    assert_eq!(source.to_string().parse(), Ok(source));
    let requester = Requester { transport_specific: kinds >> 4, domain_number, minor_version: kinds & 0xf, source };
    let sequence_id = u16::from_be_bytes([s0, s1]);
    let subscription = rest
        .first_chunk::<64>()
        .map(|bits| SubscribeEvents { duration_s: u16::from_be_bytes([d0, d1]), events: EventSet { bits: *bits } });
    let id = ManagementId::ALL[usize::from(which) % ManagementId::ALL.len()];
    let request = subscription.map_or(Request::Get(id), Request::Subscribe);
    let encoded = requester.encode(sequence_id, &request).expect("four bits each");
    let Ok(Message::Management(message)) = decode(encoded.as_bytes()) else { panic!("a request decodes") };
    assert_eq!((message.header.source, message.header.sequence_id), (source, sequence_id));
    let tlvs: Vec<_> = message.tlvs().collect();
    let asked = subscription.map_or(ManagementTlv::Empty { id: id.number() }, ManagementTlv::SubscribeEvents);
    assert_eq!(tlvs, [Ok(asked)]);
}

fuzz_target!(|bytes: &[u8]| {
    decode_all(bytes);
    ask(bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        if let Ok(port) = text.parse::<PortIdentity>() {
            assert_eq!(port.to_string().parse(), Ok(port));
        }
    }
});
