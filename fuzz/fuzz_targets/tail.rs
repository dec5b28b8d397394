//! A record out of a file tells of the time to come without a panic, what is said of it is JSON, and a claim's text is read.
#![no_main]

use analysis::tail::{Claim, Tail, TailOptions, parse_span, tail};
use libfuzzer_sys::fuzz_target;
use record::Record;

fuzz_target!(|data: &[u8]| {
    // A claim and a record, one after the other, at the first NUL.
    let Ok(text) = std::str::from_utf8(data) else { return };
    let (claim, record) = text.split_once('\0').unwrap_or(("", text));
    let _ = parse_span(claim);
    let claim = claim.parse::<Claim>().ok();
    let Ok(record) = Record::from_json(record) else { return };
    let Ok(told) = tail(&[&record], &TailOptions { resamples: 60, claim, ..TailOptions::default() }) else { return };
    let text = serde_json::to_string(&told).expect("every field has a JSON form");
    let _: Tail = serde_json::from_str(&text).expect("what is written reads back");
});
