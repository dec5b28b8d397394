//! Every rule on any profile: text as it comes, or a whole profile that is wrong in few places.
#![no_main]

use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::fuzz_target;
use profile::Profile;
use profile::check::{Findings, summary};
use punctual_fuzz::edited;

/// A profile that most rules have something to say about.
const BASE: &str = include_str!("../seeds/findings_json/profile.json");

fuzz_target!(|data: &[u8]| {
    if data.first() == Some(&b'{') {
        if let Ok(text) = std::str::from_utf8(data) {
            judged(text);
        }
    } else if let Ok(text) = edited(BASE, &mut Unstructured::new(data)) {
        judged(&text);
    }
});

fn judged(text: &str) {
    let Ok(profile) = serde_json::from_str::<Profile>(text) else { return };
    let written = serde_json::to_string(&profile).expect("a profile has a JSON form");
    let again: Profile = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(again, profile);
    assert_eq!(again.hash(), profile.hash());
    let findings = Findings::from_profile(&profile, Vec::new());
    let _ = summary(&findings.findings);
    let written = serde_json::to_string(&findings).expect("findings have a JSON form");
    assert_eq!(serde_json::from_str::<Findings>(&written).expect("what was written is read"), findings);
}
