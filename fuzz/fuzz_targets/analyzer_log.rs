//! QEMU's logs of parallel ports: any bytes, or logs of the right form with any writes; what is found in two of them is
//! put side by side, and each pulse is accounted for at most once.
#![no_main]

use lab::analyzer::{Log, compare};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// As they come.
    Bytes(&'a [u8], &'a [u8]),
    /// Of the form that QEMU writes.
    Formed { a: Vec<Write>, b: Vec<Write>, window_ns: i64 },
}

#[derive(Arbitrary, Debug)]
struct Write {
    /// From the write before (us).
    after_us: u32,
    /// Where set, the data register's, of a pulse with this label: low, then high.
    label: Option<u8>,
    register: u8,
    value: u8,
}

fn log(writes: &[Write]) -> Log {
    let mut at_us: u64 = 0;
    let mut text = String::new();
    let mut pulses = 0;
    for Write { after_us, label, register, value } in writes {
        at_us += u64::from(*after_us) + 1;
        let mut line = |register: u8, value: u8, more_us: u64| {
            let (seconds, within) = ((at_us + more_us) / 1_000_000, (at_us + more_us) % 1_000_000);
            text += &format!(
                "7@{seconds}.{within:06}:parallel_ioport_write write [SW] addr 0x{register:02x} val 0x{value:02x}\n"
            );
        };
        match label {
            Some(label) => {
                let [low, high] = lab::analyzer::pulse_bytes(*label);
                line(0, low, 0);
                line(0, high, 1);
                at_us += 1;
                pulses += 1;
            }
            None => line(*register, *value, 0),
        }
    }
    let log = Log::read(text.as_bytes()).expect("it is of the form");
    assert!(log.pulses.len() >= pulses, "each pulse that was written is found");
    assert!(log.pulses.is_sorted_by_key(|pulse| pulse.at_ns));
    log
}

fn beside(a: &Log, b: &Log, window_ns: i64) {
    let found = compare(a, b, window_ns);
    for node in [&found.a, &found.b] {
        assert!(found.pairs.len() + node.unmatched + node.ambiguous <= node.pulses);
    }
    let turned = compare(b, a, window_ns);
    assert_eq!((turned.pairs.len(), turned.a.unmatched), (found.pairs.len(), found.b.unmatched));
    let shift = found.shift();
    assert_eq!(shift.is_some(), !found.pairs.is_empty());
    assert!(shift.is_none_or(|shift| shift.min_ns <= shift.median_ns && shift.median_ns <= shift.max_ns));
    assert!(found.pairs.iter().all(|pair| pair.shift_ns.saturating_abs() <= window_ns.max(0)));
    let _ = (found.drift_ppm(), found.alternation_ns());
}

fuzz_target!(|input: Input<'_>| match input {
    Input::Bytes(a, b) => {
        if let (Ok(a), Ok(b)) = (Log::read(a), Log::read(b)) {
            beside(&a, &b, lab::analyzer::DEFAULT_WINDOW_NS);
        }
    }
    Input::Formed { a, b, window_ns } => beside(&log(&a), &log(&b), window_ns),
});
