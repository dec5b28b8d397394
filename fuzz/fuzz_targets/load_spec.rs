//! A load file: refused or taken, and what is taken is written and read again unchanged.
#![no_main]

use libfuzzer_sys::fuzz_target;
use measure::load::LoadSpec;

fuzz_target!(|text: &str| {
    let Ok(spec) = LoadSpec::parse(text) else { return };
    let written = toml::to_string(&spec).expect("a load has a TOML form");
    assert_eq!(LoadSpec::parse(&written).expect("what was written is read"), spec);
});
