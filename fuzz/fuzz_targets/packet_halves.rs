//! The half of a run that a partner hands over: with it or without it, what this node measured is written and read again.
#![no_main]

use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use packet::join::join;
use punctual_fuzz::edited;
use record::Record;

const INITIATOR: &str = include_str!("../seeds/packet_halves/initiator.json");
const PARTNER: &str = include_str!("../seeds/packet_halves/partner.json");

fuzz_target!(|data: &[u8]| {
    if data.first() == Some(&b'{') {
        if let Ok(text) = std::str::from_utf8(data) {
            joined(text, true);
            joined(text, false);
        }
        return;
    }
    let Some((choice, data)) = data.split_first() else { return };
    let partner_asked = choice % 2 == 0;
    let base = if partner_asked { INITIATOR } else { PARTNER };
    if let Ok(text) = edited(base, &mut Unstructured::new(data)) {
        joined(&text, partner_asked);
    }
});

/// `said` is what the partner hands over, which has asked for the run or was asked.
fn joined(said: &str, partner_asked: bool) {
    let Ok(said) = Record::from_json(said) else { return };
    let own = Record::from_json(if partner_asked { PARTNER } else { INITIATOR }).expect("a seed is a record");
    let joined = if partner_asked { join(said, own) } else { join(own, said) };
    let Ok(joined) = joined else { return };
    let _ = analysis::verdict(&joined, 10_000);
    let again = Record::from_json(&joined.to_json()).expect("what was written is read");
    // Both are far too long to be printed.
    assert!(again == joined, "what was written reads back otherwise");
}
