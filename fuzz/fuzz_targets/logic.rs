//! Captures of logic analyzers: whatever stands there is read or refused, edges are in the order of time and within their span, and
//! spans do not overlap.
//!
//! Input: a byte that chooses the form, then the file.
#![no_main]

use codecs::logic::{self, kernel_events, saleae_binary, saleae_csv, sigrok_csv, sigrok_session, vcd};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let Some((choice, file)) = data.split_first() else { return };
    let read = match choice % 7 {
        0 => saleae_binary::parse(file, "line"),
        1 => saleae_csv::parse(file),
        2 => sigrok_csv::parse(file),
        3 => vcd::parse(file),
        4 => sigrok_session::parse(file),
        6 => kernel_events::parse(file),
        _ => logic::read(file, "line"),
    };
    let capture = match read {
        Ok(capture) => capture,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    assert!(!capture.channels.is_empty() || matches!(choice % 7, 3 | 5 | 6));
    for channel in &capture.channels {
        assert!(channel.spans.windows(2).all(|pair| pair[0].until_ps <= pair[1].from_ps));
        for span in &channel.spans {
            assert!(span.edges_ps.windows(2).all(|pair| pair[0] <= pair[1]));
            assert!(span.edges_ps.iter().all(|at_ps| (span.from_ps..=span.until_ps).contains(at_ps)));
        }
    }
});
