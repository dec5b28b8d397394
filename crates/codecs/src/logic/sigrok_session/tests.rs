use std::io::Write as _;

use proptest::prelude::*;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::*;

const METADATA: &str = "[global]\nsigrok version=0.5.2\n\n[device 1]\ncapturefile=logic-1\ntotal probes=8\nsamplerate=1 MHz\n\
    total analog=0\nprobe1=D0\nprobe2=D1\nprobe4=strobe\nunitsize=1\n";

fn archive(members: &[(&str, &[u8])], method: CompressionMethod) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in members {
        writer.start_file(*name, SimpleFileOptions::default().compression_method(method)).unwrap();
        writer.write_all(bytes).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

fn session(metadata: &str, chunks: &[&[u8]]) -> Vec<u8> {
    session_by(CompressionMethod::Deflated, metadata, chunks)
}

fn session_by(method: CompressionMethod, metadata: &str, chunks: &[&[u8]]) -> Vec<u8> {
    let names: Vec<String> = (1..=chunks.len()).map(|number| format!("logic-1-{number}")).collect();
    let mut members: Vec<(&str, &[u8])> = vec![("version", b"2"), ("metadata", metadata.as_bytes())];
    members.extend(names.iter().map(String::as_str).zip(chunks.iter().copied()));
    archive(&members, method)
}

fn said(bytes: &[u8]) -> String {
    parse(bytes).unwrap_err().to_string()
}

#[test]
fn bits_are_lines_and_members_follow_each_other() {
    let read = parse(&session(METADATA, &[&[0b0001, 0b0001, 0b0110], &[0b1110, 0b1110, 0b1111, 0b0111]])).unwrap();
    assert_eq!(read.channels.iter().map(|line| line.name.as_str()).collect::<Vec<_>>(), ["D0", "D1", "strobe"]);
    assert_eq!(read.resolution_ps, Some(1_000_000));
    let span = |line: usize| &read.channels[line].spans[0];
    assert_eq!(span(0).edges().collect::<Vec<_>>(), [(2_000_000, false), (5_000_000, true)]);
    assert_eq!(span(1).edges().collect::<Vec<_>>(), [(2_000_000, true)]);
    assert_eq!(
        span(2).edges().collect::<Vec<_>>(),
        [(3_000_000, true), (6_000_000, false)],
        "the third line is not named"
    );
    assert!((0..3).all(|line| (span(line).from_ps, span(line).until_ps) == (0, 6_000_000)));
}

#[test]
fn samples_of_several_bytes_may_go_on_in_the_next_member() {
    for unit_size in [2_usize, 3, 4, 5, 8, 16] {
        let bit = unit_size * 8 - 3;
        let metadata = METADATA
            .replace("probe4=strobe", &format!("probe{}=last", bit + 1))
            .replace("unitsize=1", &format!("unitsize={unit_size}"));
        let mut bytes = Vec::new();
        for sample in 0..100_000_usize {
            let mut unit = vec![0; unit_size];
            unit[0] = u8::from(sample >= 49_000);
            unit[unit_size - 1] |= u8::from(sample % 7_000 < 10) << 5;
            bytes.extend(unit);
        }
        // Within a sample, behind its first byte.
        let (first, second) = bytes.split_at(49_003 * unit_size + 1);
        let read = parse(&session(&metadata, &[first, second])).unwrap();
        assert_eq!(read.channels[0].spans[0].edges_ps, [49_000_000_000], "{unit_size}");
        let expected: Vec<i64> = (0..100_000)
            .filter(|sample| *sample > 0 && matches!(sample % 7_000, 0 | 10))
            .map(|sample| sample * 1_000_000)
            .collect();
        assert_eq!(read.channels[2].spans[0].edges_ps, expected, "{unit_size}");
        assert!(read.channels[2].spans[0].begins_high && read.channels[1].spans[0].edges_ps.is_empty());
    }
}

#[test]
fn stored_members_and_files_of_the_first_version_are_read_too() {
    let members: [(&str, &[u8]); 3] =
        [("version", b"1"), ("metadata", METADATA.as_bytes()), ("logic-1", &[0, 1, 1, 0])];
    let read = parse(&archive(&members, CompressionMethod::Stored)).unwrap();
    assert_eq!(read.channels[0].spans[0].edges_ps, [1_000_000, 3_000_000]);
}

#[test]
fn what_is_damaged_or_contradictory_is_refused_with_its_member() {
    assert_eq!(said(b"Time [s],D0"), "it does not begin as a session file of sigrok does");
    assert!(said(b"PK\x03\x04").contains("no capture can be read from it"), "{}", said(b"PK\x03\x04"));
    assert_eq!(
        said(&archive(&[("word/document.xml", b"<w/>")], CompressionMethod::Stored)),
        LogicError::Foreign(FORM).to_string()
    );
    let whole = session(METADATA, &[&[0, 1, 0]]);
    assert!(said(&whole[..whole.len() - 30]).contains("was it cut off?"), "{}", said(&whole[..whole.len() - 30]));
    let changed = |from: &str, to: &str| said(&session(&METADATA.replace(from, to), &[&[0, 1, 0]]));
    assert_eq!(
        changed("samplerate=1 MHz\n", ""),
        "'metadata' in it: no sample rate: when the levels changed is not known"
    );
    let padded = format!("; {}\n{METADATA}", "x".repeat(1 << 20));
    assert!(said(&session(&padded, &[&[0, 1, 0]])).contains("more than 1048576 bytes"));
    assert_eq!(changed("1 MHz", "fast"), "'metadata' in it: 'fast' is no sample rate");
    assert_eq!(
        changed("unitsize=1", "unitsize=0"),
        "'metadata' in it: unitsize=0: samples of 1 to 128 bytes can be read"
    );
    assert_eq!(
        changed("probe4", "probe9"),
        "'metadata' in it: unitsize=1: samples of so many bytes cannot hold 9 lines"
    );
    assert_eq!(
        changed("unitsize=1", "unitsize=99999999"),
        "'metadata' in it: unitsize=99999999: samples of 1 to 128 bytes can be read"
    );
    assert_eq!(changed("probe4", "probe0"), "'metadata' in it: probe 0: 1 to 1024 can be read");
    assert_eq!(changed("probe4", "probe2"), "'metadata' in it: probe2 stands in it twice");
    assert_eq!(changed("capturefile=logic-1", "analog9=A0"), LogicError::Analog.to_string());
    assert!(changed("unitsize=1", "[device 2]\ncapturefile=logic-2").contains("two devices"));
    assert_eq!(
        changed("capturefile=logic-1", "capturefile=other"),
        "'other-1' in it: it is missing: there are no samples"
    );
    assert!(said(&session(METADATA, &[&[]])).contains("it has no samples"));
    let odd = METADATA.replace("unitsize=1", "unitsize=2");
    assert!(said(&session(&odd, &[&[0, 1, 0]])).contains("its samples end within one"));
    let members: [(&str, &[u8]); 4] =
        [("version", b"2"), ("metadata", METADATA.as_bytes()), ("logic-1-1", b"ab"), ("logic-1-3", b"ab")];
    assert_eq!(
        said(&archive(&members, CompressionMethod::Stored)),
        "'logic-1-2' in it: it is missing, and later ones are there"
    );
    let newer: [(&str, &[u8]); 2] = [("version", b"3"), ("metadata", METADATA.as_bytes())];
    assert_eq!(
        said(&archive(&newer, CompressionMethod::Stored)),
        "'version' in it: version '3' is not known here: 1 and 2 are"
    );
    // A byte of the stored samples is not what it was: the sum tells.
    let members: [(&str, &[u8]); 3] =
        [("version", b"2"), ("metadata", METADATA.as_bytes()), ("logic-1-1", &[b'q'; 64])];
    let mut damaged = archive(&members, CompressionMethod::Stored);
    let at = damaged.windows(64).position(|all| all == [b'q'; 64]).unwrap();
    damaged[at + 9] = b'p';
    assert!(said(&damaged).starts_with("'logic-1-1' in it: it cannot be unpacked"), "{}", said(&damaged));
}

#[test]
fn more_members_than_a_short_directory_can_count_are_read_and_a_claim_of_countless_ones_is_not_believed() {
    let chunks: Vec<[u8; 1]> = (0..66_000_u32).map(|number| [u8::from(number % 1_000 == 999)]).collect();
    let chunks: Vec<&[u8]> = chunks.iter().map(<[u8; 1]>::as_slice).collect();
    let mut bytes = session_by(CompressionMethod::Stored, METADATA, &chunks);
    let read = parse(&bytes).unwrap();
    assert_eq!(read.channels[0].spans[0].edges_ps.len(), 131);
    // The long directory's end has the number of members at its bytes 24 to 40.
    let end = bytes.windows(4).rposition(|all| all == b"PK\x06\x06").unwrap();
    bytes[end + 24..end + 40].copy_from_slice(&[0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
    assert!(said(&bytes).contains("inconsistent number of files"), "{}", said(&bytes));
}

#[test]
fn a_small_archive_of_endless_edges_is_refused_at_a_bound() {
    // Eight lines that change with every sample: sixty-four bytes of edges a byte, a thousand bytes a byte of the archive.
    let names = (1..=8).fold(String::new(), |names, number| names + &format!("probe{number}=D{number}\n"));
    let metadata = format!("[device 1]\ncapturefile=logic-1\nsamplerate=1 MHz\nunitsize=1\n{names}");
    let samples: Vec<u8> = (0..2 << 20).map(|sample: usize| if sample % 2 == 0 { 0 } else { 0xff }).collect();
    let bytes = session(&metadata, &[&samples, &samples]);
    assert!(bytes.len() < 20_000, "{}", bytes.len());
    let mut samples = Samples::new(&Device::of(&metadata).unwrap(), SampleRate::of_text("1 MHz").unwrap());
    samples.edges = MOST_EDGES - 8;
    assert_eq!(samples.take(&[0, 0xff]), Ok(()));
    assert!(samples.take(&[0]).unwrap_err().starts_with("more than 134217728 edges"));
    let mut piece = Piece { bytes: vec![0; 8], filled: 0, unpacked: MOST_BYTES - 8 };
    assert_eq!(piece.fill(&mut &[0; 8][..]), Ok(8));
    piece.filled = 0;
    assert!(piece.fill(&mut &[0; 8][..]).unwrap_err().starts_with("more than 17179869184 bytes of samples"));
}

proptest! {
    #[test]
    fn damaged_files_never_make_it_panic(at in any::<usize>(), byte in any::<u8>(), more in any::<usize>(), cut in any::<usize>()) {
        let mut bytes = session(METADATA, &[&[0, 1, 3, 9, 0], &[1, 1, 1]]);
        let length = bytes.len();
        bytes[at % length] = byte;
        bytes[more % length] ^= 0x55;
        if cut % 3 == 0 {
            bytes.truncate(cut % length);
        }
        if let Ok(read) = parse(&bytes) {
            for span in read.channels.iter().flat_map(|line| &line.spans) {
                prop_assert!(span.edges_ps.windows(2).all(|pair| pair[0] < pair[1]));
            }
        }
    }
}
