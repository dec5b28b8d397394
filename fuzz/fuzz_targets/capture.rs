//! Captures: read or refused, the same however the bytes come, and no bound without a direction.
//!
//! Input: a byte that chooses the pieces, then the file.
#![no_main]

use codecs::capture::file::{CaptureReader, MOST_FRAME_BYTES};
use codecs::capture::frame::{Carried, carried};
use codecs::capture::{ntp, ptp};
use foreign::Options;
use libfuzzer_sys::fuzz_target;
use record::{Record, ValidityState};

fuzz_target!(|data: &[u8]| {
    let Some((piece, file)) = data.split_first() else { return };
    let read = |piece: usize| {
        let (mut reader, mut frames) = (CaptureReader::default(), Vec::new());
        let fed = file.chunks(piece.max(1)).try_for_each(|bytes| {
            reader.feed(bytes, &mut |frame| {
                assert!(frame.bytes.len() <= usize::try_from(MOST_FRAME_BYTES).unwrap_or(usize::MAX) * 16);
                match carried(frame).0 {
                    Carried::Ptp(bytes) => drop(ptp::decode(bytes)),
                    Carried::Ntp { message, .. } => drop(ntp::decode(message)),
                    _ => {}
                }
                frames.push((frame.at_ns, frame.link_type, frame.is_outgoing, frame.is_cut, frame.bytes.to_vec()));
            })
        });
        (frames, fed, reader.left_over())
    };
    let (whole, pieces) = (read(file.len()), read(usize::from(*piece)));
    assert_eq!((whole.0, &whole.1), (pieces.0, &pieces.1));
    if whole.1.is_ok() {
        assert_eq!(whole.2, pieces.2);
    }
    let format = foreign::import_format("capture").expect("it is in the table");
    let Ok(imported) = foreign::import(file, Some(format), Options::default()) else { return };
    let record = imported.into_record("fuzzed");
    assert!(record.validity.state() > ValidityState::Valid);
    assert_eq!(Record::from_json(&record.to_json()).expect("what was written is read"), record);
    for source in record.sync().into_iter().flat_map(|run| &run.sources) {
        assert!(source.track.is_sorted_by_key(|point| point.at.monotonic));
    }
    for point in record.sync().into_iter().flat_map(|run| &run.sources).flat_map(|source| &source.track) {
        if let Some((lower_ns, upper_ns)) = point.bound_ns {
            assert!(lower_ns <= upper_ns, "bounds that exclude each other are none");
        }
    }
});
