//! Campaigns and their journals: refused or taken; what is taken reads back, every visit has a condition, and what came
//! of a journal without a record is concluded without a panic.
#![no_main]

use std::collections::BTreeMap;

use campaign::journal::State;
use campaign::result::Evidence;
use campaign::{Campaign, Choice, declared};
use libfuzzer_sys::fuzz_target;

/// More visits than this only take time.
const MOST_VISITS: usize = 2_000;

fuzz_target!(|bytes: &[u8]| {
    // A journal may stand behind a campaign.
    let (text, journal) = match bytes.windows(5).position(|five| five == b"\n---\n") {
        Some(place) => (&bytes[..place], &bytes[place + 5..]),
        None => (bytes, bytes),
    };
    let state = State::read(journal).ok();
    let Ok(text) = std::str::from_utf8(text) else { return };
    let values = declared(text).into_keys().map(|name| (name, "1".to_owned())).collect();
    for choice in [Choice::default(), Choice { is_short: true, values }] {
        let Ok(campaign) = Campaign::from_toml(text, &choice) else { continue };
        let kept = Campaign::from_toml(&campaign.to_toml(), &Choice::default()).expect("what was kept is read");
        assert_eq!(kept, campaign);
        if campaign.conditions().len() * campaign.repetitions as usize > MOST_VISITS {
            continue;
        }
        let winners = state.as_ref().and_then(|state| state.winners.clone());
        let layout = campaign.layout(winners.as_deref());
        for visit in &layout.visits {
            let condition = &layout.conditions[visit.condition];
            assert!(!campaign.name_of(condition).is_empty());
        }
        let (state, records) = (state.clone().unwrap_or_default(), BTreeMap::new());
        let evidence = Evidence { campaign: &campaign, state: &state, records: &records, resamples: 100 };
        assert!(!evidence.conclude().headline.is_empty());
    }
});
