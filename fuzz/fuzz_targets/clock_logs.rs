//! Logs of linuxptp and chronyd: read or refused, the same however the bytes come, and never better than the log.
//!
//! Input: a byte that chooses the format and one that chooses the pieces, then the log.
#![no_main]

use foreign::{Importer, Options};
use libfuzzer_sys::fuzz_target;
use record::{HardBound, Record, ValidityState};

const FORMATS: [&str; 4] = ["linuxptp-log", "chrony-tracking", "chrony-statistics", "chrony-measurements"];

fuzz_target!(|data: &[u8]| {
    let Some(([choice, piece], text)) = data.split_first_chunk::<2>() else { return };
    for line in text.split(|byte| *byte == b'\n') {
        let _ = codecs::linuxptp::log::parse(line);
    }
    let format = foreign::import_format(FORMATS[usize::from(*choice) % FORMATS.len()]).expect("it is in the table");
    let whole = foreign::import(text, Some(format), Options::default());
    let mut importer = Importer::begin(format).expect("it is read piece by piece");
    let fed = text.chunks(usize::from(*piece).max(1)).try_for_each(|bytes| importer.feed(bytes));
    let pieces = fed.and_then(|()| importer.finish());
    let (Ok(whole), Ok(pieces)) = (&whole, &pieces) else {
        assert_eq!(whole.err(), pieces.err());
        return;
    };
    let record = whole.clone().into_record("fuzzed");
    assert_eq!(record, pieces.clone().into_record("fuzzed"), "however the bytes come");
    assert!(record.validity.state() > ValidityState::Valid);
    assert_eq!(Record::from_json(&record.to_json()).expect("what was written is read"), record);
    let run = record.sync().expect("it is about clocks");
    for source in &run.sources {
        if let HardBound::Stated { lowest_ns, highest_ns, .. } = source.bound {
            for (lower_ns, upper_ns) in source.track.iter().filter_map(|point| point.bound_ns) {
                assert!(lowest_ns <= lower_ns && upper_ns <= highest_ns, "the run's bound contains each moment's");
            }
        }
        assert!(source.track.iter().zip(source.track.iter().skip(1)).all(|(a, b)| a.at.monotonic <= b.at.monotonic));
    }
});
