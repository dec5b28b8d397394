//! Durations, sets of CPUs and clocks: refused or taken, and what is shown is read again as the same value.
#![no_main]

use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use units::{ClockId, CpuSet, Ns, format};

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    Text(&'a str),
    Number(i64),
    Cpus(Vec<u32>),
}

fn shown(cpus: &CpuSet) {
    let text = cpus.to_string();
    if cpus.last().is_none_or(|last| last <= 32_767) {
        assert_eq!(text.parse::<CpuSet>().as_ref(), Ok(cpus), "{text}");
    }
}

fn texts(text: &str) {
    if let Ok(ns) = text.parse::<Ns>() {
        assert_eq!(ns.to_string().parse::<Ns>(), Ok(ns));
    }
    if let Ok(cpus) = text.parse::<CpuSet>() {
        assert!(cpus.len() <= 32_768);
        shown(&cpus);
    }
    if let Some(cpus) = CpuSet::from_mask(text) {
        assert!(cpus.len() <= 4 * text.len());
        shown(&cpus);
    }
    if let Ok(clock) = text.parse::<ClockId>() {
        assert_eq!(clock.to_string().parse::<ClockId>(), Ok(clock));
    }
}

fuzz_target!(|input: Input<'_>| {
    match input {
        Input::Text(text) => texts(text),
        Input::Number(number) => {
            assert_eq!(Ns(number).to_string().parse::<Ns>(), Ok(Ns(number)));
            let magnitude = number.unsigned_abs();
            let _ = (format::latency(number), format::span(number), format::count(magnitude));
            let bits = u64::from_ne_bytes(number.to_ne_bytes());
            let _ = (format::bytes(bits), format::microseconds(bits));
        }
        Input::Cpus(cpus) => shown(&cpus.into_iter().collect()),
    }
});
