//! Tables of isochron, with and without stated columns: refused or taken. What is taken is never simply valid, has each packet
//! once in each of its series and in one interval, claims no error between two clocks, and is written and read again unchanged.
#![no_main]

use analysis::{RunOutcome, outcome, verdict};
use foreign::{IMPORTS, IsochronColumns, Options};
use libfuzzer_sys::fuzz_target;
use record::{Interval, Record, ValidityState};

fuzz_target!(|data: &[u8]| {
    // The letters end with the first zero, if there is one among the first bytes.
    let end = data.iter().take(16).position(|byte| *byte == 0);
    let (letters, text) = end.map_or((&[][..], data), |end| (&data[..end], &data[end + 1..]));
    let stated = std::str::from_utf8(letters).ok().and_then(|letters| IsochronColumns::parse(letters).ok());
    let format = IMPORTS.iter().find(|format| format.name == "isochron");
    let options = Options { isochron: stated, ..Options::default() };
    let _ = foreign::recognize(text);
    let imported = match foreign::import(text, format, options) {
        Ok(imported) => imported,
        Err(error) => {
            assert!(error.to_string().len() < 1_000, "an error stays short");
            return;
        }
    };
    let mut record = imported.into_record("fuzzed");
    assert!(record.validity.state() > ValidityState::Valid, "another program's run is never simply valid");
    let flow = &record.packets().expect("it is about packets").flows[0];
    let sent = flow.sent.unwrap_or(u64::MAX);
    assert!(flow.arrived.unwrap_or(0) <= sent && flow.lost.unwrap_or(0) <= sent);
    for series in &record.series {
        assert!(series.taken() > 0 && series.taken() <= sent);
        if !series.intervals.is_empty() {
            assert_eq!(series.intervals.iter().map(Interval::taken).sum::<u64>(), series.taken());
            assert!(series.intervals.windows(2).all(|two| two[0].start_offset_ns < two[1].start_offset_ns));
        }
        assert!(!series.judged || series.uncertainty.is_some_and(|error| error.is_unknown()));
    }
    let written = Record::from_json(&record.to_json()).expect("what was written is read");
    assert_eq!(written, record);
    record.verdict = Some(verdict(&record, u64::MAX));
    assert_ne!(outcome(&record), RunOutcome::Holds, "no limit holds without a known error");
});
