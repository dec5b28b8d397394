//! Memory that daemons and hypervisors share about clocks: whatever stands there is read or refused, and a bound never shrinks.
//!
//! Input: a byte that chooses the form, eight bytes of a clock, then the memory.
#![no_main]

use codecs::clockbound::{self, ClockBound};
use codecs::fbclock::FbClock;
use codecs::vmclock::VmClock;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let Some((at, memory)) = data.split_first_chunk::<8>() else { return };
    let at = i64::from_le_bytes(*at);
    match choice % 4 {
        0 => {
            let _ = clockbound::is_whole(memory, memory);
            if let Ok(read) = ClockBound::decode(memory) {
                if let (Ok(now), Ok(later)) = (read.bound_at(at), read.bound_at(at.saturating_add(1_000_000))) {
                    assert!(read.bound_ns <= now && now <= later);
                }
            }
        }
        1 => {
            if let Err(error) = VmClock::decode(memory) {
                assert!(!error.to_string().is_empty());
            }
        }
        form => {
            let read = if form == 2 { FbClock::decode_1(memory) } else { FbClock::decode_2(memory, memory) };
            let Ok(read) = read else { return };
            let _ = read.utc_ns(at);
            if let (Ok(now), Ok(later)) = (read.error_at(at), read.error_at(at.saturating_add(1_000_000))) {
                assert!(u64::from(read.error_bound_ns) <= now && now <= later);
            }
            if let Some(anchor) = read.anchor {
                let _ = read.phc_at(anchor, at);
            }
        }
    }
});
