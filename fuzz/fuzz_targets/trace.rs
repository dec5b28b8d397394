//! What tracefs gives: whatever the bytes, descriptions and sub-buffers are read to their end or refused, and times of a
//! real layout never come from outside of the page.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use trace::{Abi, Body, Call, Decoder, Endian, EventKind, Format, PageLayout, WANTED_FIELDS};

const HEADERS: [&str; 2] = [
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
     \tfield: char data;\toffset:16;\tsize:4080;\tsigned:0;\n",
    "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
     \tfield: char data;\toffset:12;\tsize:4084;\tsigned:0;\n",
];

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// A text that should describe an event.
    Text(&'a str),
    /// A sub-buffer, with descriptions whose numbers and places are anything.
    Page {
        big: bool,
        narrow: bool,
        fields: Vec<(u16, u16, u8, bool)>,
        time_ns: u64,
        flags: u8,
        used: u16,
        data: &'a [u8],
    },
    /// The head of a program's file.
    File(&'a [u8]),
}

fuzz_target!(|input: Input<'_>| match input {
    Input::Text(text) => {
        let _ = PageLayout::parse(text, Endian::Little);
        if let Ok(format) = Format::parse(text) {
            let mut decoder = Decoder::new(Endian::Big);
            for (kind, ..) in WANTED_FIELDS {
                let _ = decoder.learn(kind, &format);
            }
        }
    }
    Input::File(head) => {
        if let Some(abi) = Abi::from_elf(head) {
            assert!(!abi.table().is_empty());
        }
    }
    Input::Page { big, narrow, fields, time_ns, flags, used, data } => {
        let endian = if big { Endian::Big } else { Endian::Little };
        let layout = PageLayout::parse(HEADERS[usize::from(narrow)], endian).expect("a real head");
        let decoder = decoder(endian, &fields);
        let page = page(big, narrow, time_ns, flags, used, data);
        let Ok(mut records) = layout.records(&page) else { return };
        let _ = records.lost();
        let mut read = 0;
        while let Ok(Some(record)) = records.next_record() {
            read += 1;
            // Each record takes at least its own word.
            assert!(read * 4 <= page.len());
            if let Some(event) = decoder.decode(&record) {
                assert_eq!(event.time_ns, record.time_ns);
                if let Body::Enter { number, .. } = event.body {
                    let _ = Call::from_number(number, &Abi::I386.table()).name();
                }
            }
        }
        assert_eq!(records.next_record(), Ok(None));
    }
});

fn page(big: bool, narrow: bool, time_ns: u64, flags: u8, used: u16, data: &[u8]) -> Vec<u8> {
    let commit = u64::from(used) | u64::from(flags) << 24;
    let mut page = if big { time_ns.to_be_bytes() } else { time_ns.to_le_bytes() }.to_vec();
    match (big, narrow) {
        (false, false) => page.extend(commit.to_le_bytes()),
        (true, false) => page.extend(commit.to_be_bytes()),
        (false, true) => page.extend((commit as u32).to_le_bytes()),
        (true, true) => page.extend((commit as u32).to_be_bytes()),
    }
    page.extend(data);
    page
}

/// Descriptions with the right names, at any place and of any length.
fn decoder(endian: Endian, fields: &[(u16, u16, u8, bool)]) -> Decoder {
    let mut decoder = Decoder::new(endian);
    let mut given = fields.iter().cycle();
    for (kind, place, names) in WANTED_FIELDS {
        let mut text = format!("name: {}\nID: {}\nformat:\n", place, number(kind));
        let common = [("common_flags", 1), ("common_pid", 4)];
        for (name, size) in common {
            let (offset, ..) = given.next().copied().unwrap_or_default();
            text += &format!("\tfield:int {name};\toffset:{offset};\tsize:{size};\tsigned:1;\n");
        }
        for name in names {
            let (offset, size, choice, signed) = given.next().copied().unwrap_or_default();
            let size = match choice % 5 {
                0 => size,
                1 => 4,
                2 => 48,
                3 => 24,
                _ => 8,
            };
            text += &format!("\tfield:long {name};\toffset:{offset};\tsize:{size};\tsigned:{};\n", u8::from(signed));
        }
        if let Ok(format) = Format::parse(&text) {
            let _ = decoder.learn(kind, &format);
        }
    }
    decoder
}

fn number(kind: EventKind) -> usize {
    WANTED_FIELDS.iter().position(|(known, ..)| *known == kind).expect("in the table")
}
