//! A record's text: refused or taken, and what is taken is written and read again unchanged.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use record::Record;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    let Ok(record) = Record::from_json(text) else { return Corpus::Keep };
    let _ = (record.samples(), record.worst_of_all(), record.shortfall(), analysis::verdict(&record, 10_000));
    let again = Record::from_json(&record.to_json()).expect("what was written is read");
    assert_eq!(again, record);
    Corpus::Keep
});
