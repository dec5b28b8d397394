//! Lines of a run's events, as another process or node sends them: refused or taken, never two of them in one line, and whatever
//! comes in whatever order has a fold.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use record::{Fold, Record, RunEvent};

fuzz_target!(|data: &[u8]| -> Corpus {
    let Ok(text) = std::str::from_utf8(data) else { return Corpus::Reject };
    let mut fold = Fold::default();
    for line in text.lines() {
        let Ok(event) = RunEvent::from_line(line) else { continue };
        let again = event.to_line();
        assert_eq!(again.matches('\n').count(), 1, "one line");
        assert!(RunEvent::from_line(&again).is_ok(), "what was written is read");
        fold.take(event);
    }
    let _ = (fold.record().map(Record::samples), fold.missing());
    Corpus::Keep
});
