//! Two records out of a file are compared without a panic, and what is said of them is JSON.
#![no_main]

use analysis::compare::{CompareOptions, Comparison, Group, compare};
use libfuzzer_sys::fuzz_target;
use record::Record;

fuzz_target!(|data: &[u8]| {
    // Two texts, one after the other, at the first NUL.
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (first, second) = text.split_once('\0').unwrap_or((text, text));
    let (Ok(a), Ok(mut b)) = (Record::from_json(first), Record::from_json(second)) else { return };
    if a.id == b.id {
        b.id.push('b');
    }
    let (a, b) = (Group { name: "a".to_owned(), runs: vec![&a] }, Group { name: "b".to_owned(), runs: vec![&b] });
    let Ok(comparison) = compare(&a, &b, &CompareOptions { resamples: 100, ..CompareOptions::default() }) else {
        return;
    };
    let text = serde_json::to_string(&comparison).expect("every field has a JSON form");
    let _: Comparison = serde_json::from_str(&text).expect("what is written reads back");
});
