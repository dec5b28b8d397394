//! A scenario of the lab: refused or taken, and what is taken is written and read again unchanged.
#![no_main]

use lab::scenario::Scenario;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(scenario) = Scenario::parse(text) else { return };
    let written = toml::to_string(&scenario).expect("a scenario has a TOML form");
    assert_eq!(Scenario::parse(&written).expect("what was written is read"), scenario);
    for place in 0..scenario.node.len() {
        let interfaces = scenario.interfaces(place);
        assert!(interfaces.iter().all(|interface| interface.name.len() <= 15));
    }
});
