//! A request's text: refused or taken, and what is taken is written and read again unchanged.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use record::Request;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(request) = serde_json::from_slice::<Request>(data) else { return Corpus::Keep };
    let _ = (request.measurement(), request.deadline());
    let text = serde_json::to_string(&request).expect("a request has a JSON form");
    let again: Request = serde_json::from_str(&text).expect("what was written is read");
    assert_eq!(again, request);
    Corpus::Keep
});
