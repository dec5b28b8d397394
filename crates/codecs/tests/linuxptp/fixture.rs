//! Reads the fixtures.

use codecs::linuxptp::{ManagementMessage, ManagementTlv, Message, decode};

const FILES: &[(&str, &str, &str)] = &[
    ("3.1.1", "e2e", include_str!("../../fixtures/linuxptp/3.1.1/e2e.txt")),
    ("3.1.1", "p2p", include_str!("../../fixtures/linuxptp/3.1.1/p2p.txt")),
    ("3.1.1", "gptp", include_str!("../../fixtures/linuxptp/3.1.1/gptp.txt")),
    ("4.2", "e2e", include_str!("../../fixtures/linuxptp/4.2/e2e.txt")),
    ("4.2", "p2p", include_str!("../../fixtures/linuxptp/4.2/p2p.txt")),
    ("4.2", "gptp", include_str!("../../fixtures/linuxptp/4.2/gptp.txt")),
];

/// What was asked of one pair of daemons, and what came.
pub(crate) struct Section {
    pub(crate) version: &'static str,
    pub(crate) mechanism: &'static str,
    pub(crate) name: &'static str,
    pub(crate) datagrams: Vec<Vec<u8>>,
    pub(crate) pmc: Vec<&'static str>,
}

pub(crate) fn sections() -> Vec<Section> {
    let mut sections = Vec::new();
    for &(version, mechanism, text) in FILES {
        for section in text.split("=== ").filter(|section| !section.is_empty()) {
            let mut lines = section.lines();
            let name = lines.next().expect("a section has a name");
            let mut section = Section { version, mechanism, name, datagrams: Vec::new(), pmc: Vec::new() };
            for line in lines {
                match line.split_once(' ').expect("a line has a kind") {
                    ("hex", hex) => section.datagrams.push(from_hex(hex)),
                    ("pmc", text) => section.pmc.push(text.trim()),
                    _ => panic!("{line}"),
                }
            }
            sections.push(section);
        }
    }
    sections
}

/// All sections with this name.
pub(crate) fn named(name: &str) -> Vec<Section> {
    let found: Vec<_> = sections().into_iter().filter(|section| section.name == name).collect();
    assert!(!found.is_empty(), "{name}");
    found
}

/// The datagrams of the section with this name of one pair of daemons.
pub(crate) fn datagrams(version: &str, mechanism: &str, name: &str) -> Vec<Vec<u8>> {
    let mut found = named(name);
    found.retain(|section| (section.version, section.mechanism) == (version, mechanism));
    assert_eq!(found.len(), 1, "{version} {mechanism} {name}");
    found.remove(0).datagrams
}

pub(crate) fn from_hex(hex: &str) -> Vec<u8> {
    let digits: Vec<_> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pairs = digits.chunks(2).map(|pair| std::str::from_utf8(pair).expect("hexadecimal digits are ASCII"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).expect("hexadecimal digits")).collect()
}

pub(crate) fn management(datagram: &[u8]) -> ManagementMessage<'_> {
    match decode(datagram) {
        Ok(Message::Management(message)) => message,
        other => panic!("{other:?}"),
    }
}

/// The only TLV of a management message.
pub(crate) fn only_tlv(datagram: &[u8]) -> ManagementTlv<'_> {
    let mut tlvs = management(datagram).tlvs();
    let tlv = tlvs.next().expect("one TLV").expect("a TLV of a daemon decodes");
    assert_eq!(tlvs.next(), None);
    tlv
}
