//! Segments of an agent's spool, as a damaged disk gives them back.
//!
//! Input: a byte that chooses, then the bytes of a segment, or the JSON of its lines, which get checksums that fit.
#![no_main]

use agent::segment::{self, HEAD};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let bytes = match choice % 2 {
        0 => data.to_vec(),
        _ => {
            let lines = data.split(|byte| *byte == b'\n').map(segment::framed);
            std::iter::once(HEAD.as_bytes().to_vec()).chain(lines).collect::<Vec<_>>().concat()
        }
    };
    let found = segment::parse(&bytes);
    let good = usize::try_from(found.good_bytes).expect("it is within the bytes");
    let mut end = 0;
    for placed in &found.lines {
        let (offset, length) = (usize::try_from(placed.offset).unwrap(), usize::try_from(placed.length).unwrap());
        assert!(offset >= end && offset + length <= good);
        end = offset + length;
        // It is read back from its place alone, and what is written of it is it.
        assert_eq!(segment::line(&bytes[offset..end]).as_ref(), Some(&placed.line));
        let text = segment::text(&placed.line).expect("what was read has a form");
        assert_eq!(segment::line(&text).as_ref(), Some(&placed.line));
    }
    // What is cut off after the last whole line leaves all of them.
    assert_eq!(segment::parse(&bytes[..good]).lines, found.lines);
});
