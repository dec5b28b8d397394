//! What is cut off, overlong, foreign or contradictory is refused with its place.

use codecs::linuxptp::{DecodeError, ManagementTlv, Message, PortIdentity, SignalingTlv, decode};

use super::fixture::{datagrams, management, only_tlv};

/// `edit` on a good message, then what is wrong with its only TLV.
fn tlv_error(name: &str, edit: impl Fn(&mut Vec<u8>)) -> String {
    let mut datagram = datagrams("4.2", "e2e", name).remove(0);
    edit(&mut datagram);
    let first = management(&datagram).tlvs().next().expect("a TLV");
    first.expect_err("it was spoiled").to_string()
}

fn error(edit: impl Fn(&mut Vec<u8>)) -> String {
    let mut datagram = datagrams("4.2", "e2e", "slave GET CURRENT_DATA_SET").remove(0);
    edit(&mut datagram);
    decode(&datagram).expect_err("it was spoiled").to_string()
}

/// Sets the length in the header to that of the datagram.
fn set_length(datagram: &mut [u8]) {
    let length = u16::try_from(datagram.len()).expect("a short message");
    datagram[2..4].copy_from_slice(&length.to_be_bytes());
}

#[test]
fn messages() {
    assert_eq!(error(|d| d.truncate(0)), "message type at byte 0 needs 1 bytes, but 0 are left");
    assert_eq!(error(|d| d.truncate(25)), "source port identity at byte 20 needs 8 bytes, but 5 are left");
    assert_eq!(error(|d| d.truncate(60)), "the header at byte 2 declares 72 bytes, but 60 were received");
    assert_eq!(error(|d| d.push(0)), "the header at byte 2 declares 72 bytes, but 73 were received");
    assert_eq!(error(|d| d[1] = 0x21), "PTP version at byte 1 is 1, expected 2");
    assert_eq!(error(|d| d[0] = 0), "message type at byte 0 is 0, expected 12 (signaling) or 13 (management)");
    assert_eq!(error(|d| d[46] = 5), "action at byte 46 is 5, expected 0 to 4");
}

#[test]
fn tlvs() {
    let current = "slave GET CURRENT_DATA_SET";
    assert_eq!(tlv_error(current, |d| d[51] = 21), "the TLV length at byte 50 is 21, expected an even number");
    assert_eq!(tlv_error(current, |d| d[51] = 22), "TLV value at byte 52 needs 22 bytes, but 20 are left");
    let overlong = |d: &mut Vec<u8>| {
        d.extend([0; 2]);
        d[51] = 22;
        set_length(d);
    };
    assert_eq!(tlv_error(current, overlong), "CURRENT_DATA_SET at byte 54 has 20 bytes, expected 18");
    assert_eq!(
        tlv_error("slave GET PORT_PROPERTIES_NP", |d| d[66] = 200),
        "interface name at byte 67 needs 200 bytes, but 5 are left"
    );
    assert_eq!(
        tlv_error("slave GET PORT_PROPERTIES_NP", |d| d[66] = 2),
        "PORT_PROPERTIES_NP at byte 54 has 18 bytes, expected 15"
    );
    assert_eq!(tlv_error("slave GET PORT_DATA_SET", |d| d[64] = 11), "port state at byte 64 is 11, expected 1 to 10");
    assert_eq!(
        tlv_error("slave GET TIME_STATUS_NP", |d| d[95] = 2),
        "grandmaster present at byte 92 is 2, expected 0 or 1"
    );
    assert_eq!(
        tlv_error("GET 0xcfff", |d| {
            d[51] = 6;
            d.truncate(58);
            set_length(d);
        }),
        "reserved bytes at byte 56 needs 4 bytes, but 2 are left"
    );
}

#[test]
fn several_tlvs_are_read_up_to_the_first_error() {
    let mut datagram = datagrams("4.2", "e2e", "slave GET CURRENT_DATA_SET").remove(0);
    let parent = datagrams("4.2", "e2e", "slave GET PARENT_DATA_SET").remove(0);
    datagram.extend(&parent[48..]);
    datagram.extend([0x80, 0x08, 0, 2, 0, 0]);
    set_length(&mut datagram);
    let tlvs: Vec<_> = management(&datagram).tlvs().map(|tlv| tlv.expect("three TLVs")).collect();
    assert!(matches!(
        tlvs[..],
        [
            ManagementTlv::CurrentDataSet(_),
            ManagementTlv::ParentDataSet(_),
            ManagementTlv::Foreign { tlv_type: 0x8008, length: 2 }
        ]
    ));
    datagram.extend([0, 1, 0]);
    set_length(&mut datagram);
    let tlvs: Vec<_> = management(&datagram).tlvs().collect();
    assert_eq!(tlvs.len(), 4);
    let at = datagram.len() - 1;
    assert_eq!(tlvs[3], Err(DecodeError::Truncated { what: "TLV length", at, needed: 2, available: 1 }));
}

fn signaling(datagram: &[u8]) -> Vec<Result<SignalingTlv<'_>, DecodeError>> {
    match decode(datagram) {
        Ok(Message::Signaling(message)) => message.tlvs().collect(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn records() {
    let all = datagrams("3.1.1", "p2p", "slave event monitor");
    let mut two = all[0].clone();
    two.extend_from_slice(&all[1][58..]);
    two[47] = 10 + 2 * 34;
    set_length(&mut two);
    let [Ok(SignalingTlv::SyncTiming { records, .. })] = signaling(&two)[..] else { panic!() };
    assert_eq!(records.count(), 2);

    let mut nanoseconds = two.clone();
    nanoseconds[66..70].copy_from_slice(&1_000_000_000_u32.to_be_bytes());
    let [Ok(SignalingTlv::SyncTiming { records, .. })] = signaling(&nanoseconds)[..] else { panic!() };
    let records: Vec<_> = records.collect();
    assert_eq!(records.len(), 1, "an error ends the records");
    let refused = records[0].expect_err("a second has fewer nanoseconds").to_string();
    assert_eq!(refused, "sync origin timestamp at byte 66 is 1000000000, expected at most 999999999 nanoseconds");

    let mut partial = two;
    partial.truncate(58 + 34 + 20);
    partial[47] = 10 + 34 + 20;
    set_length(&mut partial);
    let expected = DecodeError::PartialRecord { what: "sync timing records", at: 58, found: 54, record: 34 };
    assert_eq!(signaling(&partial)[0].expect_err("half a record"), expected);
}

#[test]
fn a_text_in_a_refusal_is_kept() {
    let mut datagram = datagrams("4.2", "e2e", "GET 0xcfff").remove(0);
    datagram.extend(b"\x04busy\0");
    datagram[51] += 6;
    set_length(&mut datagram);
    let ManagementTlv::Error(status) = only_tlv(&datagram) else { panic!() };
    assert_eq!(status.text, b"busy");
}

#[test]
fn identities() {
    for text in ["", "02005e.fffe.005301", "02005e.fffe.005301-", "02005e.fffe.005301-65536", "02005e.fffe.005301-+1"] {
        assert!(text.parse::<PortIdentity>().is_err(), "{text}");
    }
    for text in
        ["02005e.fffe.00530", "02005e.fffe.0053011", "02005efffe005301", "02005g.fffe.005301", "+2005e.fffe.005301"]
    {
        let refused = format!("{text}-1").parse::<PortIdentity>().expect_err(text).to_string();
        assert_eq!(
            refused,
            format!("'{text}' is no clock identity; expected 16 hexadecimal digits as in 02005e.fffe.005301")
        );
    }
}
