//! What a witness of answers says: whatever arrives is read or refused, a frame has no shorter maximum than mean, and nothing follows a
//! histogram.
//!
//! Input: a byte of how the bytes are cut, a byte of the cells, then the bytes.
#![no_main]

use codecs::latmon::{Message, Reader, Request, announced};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((piece, data)) = data.split_first() else { return };
    let Some((cells, data)) = data.split_first() else { return };
    let _ = announced(data);
    let mut reader = Reader::new(Request { period_us: 1_000, cells: u32::from(*cells) });
    let mut is_over = false;
    for piece in data.chunks(usize::from(*piece).max(1)) {
        reader.push(piece);
        loop {
            match reader.next_message() {
                Ok(Some(Message::Frame(frame))) => {
                    assert!(!is_over);
                    if let (Some(min_ns), Some(max_ns)) = (frame.min_ns, frame.max_ns) {
                        let mean_ns = frame.sum_ns / u64::from(frame.samples);
                        assert!(min_ns <= mean_ns && mean_ns <= max_ns);
                    }
                }
                Ok(Some(Message::Histogram(cells_read))) => {
                    assert!(!is_over);
                    assert_eq!(cells_read.len(), usize::from(*cells));
                    is_over = true;
                }
                Ok(None) => break,
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    return;
                }
            }
        }
    }
});
