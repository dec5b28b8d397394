//! Other programs' outputs, through recognition or as each format: refused or taken; what is taken is never simply
//! valid, is written and read again unchanged, and every form that can hold it is written.
#![no_main]

use foreign::{EXPORTS, IMPORTS, Options, Unit};
use libfuzzer_sys::fuzz_target;
use record::{Record, ValidityState};

fuzz_target!(|data: &[u8]| {
    let Some((choice, text)) = data.split_first() else { return };
    let unit = [None, Some(Unit::Us), Some(Unit::Ns)][usize::from(choice >> 6) % 3];
    // Most texts find their own way.
    let format = IMPORTS.get(usize::from(choice & 0x3f));
    let Ok(imported) = foreign::import(text, format, Options { unit, ..Options::default() }) else { return };
    let record = imported.into_record("fuzzed");
    assert!(record.validity.state() > ValidityState::Valid, "another program's run is never simply valid");
    for series in &record.series {
        let histogram = &series.histogram;
        assert!(histogram.min_ns() <= histogram.max_ns());
        let placed: u64 = histogram.bins().map(|bin| bin.count).sum();
        assert_eq!(placed + histogram.unplaced().map_or(0, |unplaced| unplaced.count), histogram.count());
    }
    let written = Record::from_json(&record.to_json()).expect("what was written is read");
    assert_eq!(written, record);
    for format in EXPORTS {
        let _ = foreign::export(std::slice::from_ref(&record), format);
    }
});
