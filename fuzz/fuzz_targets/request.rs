//! A request's text, alone or with its load: refused or taken, and what is taken is written and read again unchanged.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use record::{Request, RunRequest};
use units::Ns;

fuzz_target!(|data: &[u8]| -> Corpus {
    if let Some(run) = std::str::from_utf8(data).ok().and_then(|text| RunRequest::from_json(text).ok()) {
        let text = serde_json::to_string(&run).expect("a request has a JSON form");
        assert_eq!(RunRequest::from_json(&text).as_ref(), Ok(&run));
        // Written over itself it stays as it is, and whatever is written over it is refused or taken.
        let own: serde_json::Value = serde_json::from_str(&text).expect("what was written is read");
        assert_eq!(run.with(&own).as_ref(), Ok(&run));
        let _ = (run.takes(), run.kind(), run.clone().lasting(Ns::from_s(1)));
    }
    let Ok(request) = serde_json::from_slice::<Request>(data) else { return Corpus::Keep };
    let _ = (request.measurement(), request.deadline());
    let text = serde_json::to_string(&request).expect("a request has a JSON form");
    let again: Request = serde_json::from_str(&text).expect("what was written is read");
    assert_eq!(again, request);
    Corpus::Keep
});
