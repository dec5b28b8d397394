//! What chronyd says: whatever the datagram or the line of a log, it is read or refused, and bounds cover their parts.
//!
//! Input: a byte that chooses the request or the log, then the datagram or the line.
#![no_main]

use codecs::chrony::log::{Measurement, Statistics, TrackingUpdate};
use codecs::chrony::{Address, Reply, Request, Seconds, decode};
use libfuzzer_sys::fuzz_target;

/// A number is between its bound and its nearest nanosecond, and never more exact than it was sent.
fn number(value: Seconds) {
    assert!(value.seconds().is_finite());
    if let (Some(nearest_ns), Some(upper_ns)) = (value.nearest_ns(), value.magnitude_upper_ns()) {
        assert!(nearest_ns.unsigned_abs() <= upper_ns);
    }
}

fn reply(request: Request, datagram: &[u8]) {
    // The sequence number is the datagram's own, so that what follows it is read.
    let sequence = datagram.get(16..20).and_then(|word| word.try_into().ok()).map_or(0, u32::from_be_bytes);
    let sent = request.encode(sequence, 0);
    match decode(datagram, request, sequence) {
        Ok(Reply::Tracking(report)) => {
            number(report.system_offset);
            if let Some(bound_ns) = report.bound_ns() {
                assert!(report.system_offset.magnitude_upper_ns().is_some_and(|ns| ns <= bound_ns));
                assert!(report.root_dispersion.magnitude_upper_ns().is_some_and(|ns| ns <= bound_ns));
                assert!(report.reference_id != 0 && !report.is_local_clock());
            }
        }
        Ok(Reply::SourceData(report)) => number(report.measured_offset),
        Ok(Reply::SourceStats(report)) => number(report.estimated_offset),
        Ok(Reply::NtpData(report)) => number(report.offset),
        Ok(Reply::SourceName(name)) => {
            assert!(name.as_str().is_none_or(|name| name.bytes().all(|byte| byte.is_ascii_graphic())));
        }
        Ok(Reply::SourceCount(_) | Reply::Activity(_) | Reply::Smoothing(_)) => {}
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    assert!(decode(sent.as_bytes(), request, sequence).is_err(), "a request is no reply");
    // A successful reply is never longer than the request that was sent for it.
    if decode(datagram, request, sequence).is_ok() {
        let needed = datagram.get(..sent.as_bytes().len()).unwrap_or(datagram);
        assert_eq!(decode(needed, request, sequence), decode(datagram, request, sequence));
    }
}

fuzz_target!(|data: &[u8]| {
    let Some((choice, data)) = data.split_first() else { return };
    let index = u32::from(*choice);
    let address = Address::V4(index.into());
    let request = match choice % 11 {
        0 => Request::SourceCount,
        1 => Request::SourceData { index },
        2 => Request::SourceStats { index },
        3 => Request::Tracking,
        4 => Request::Activity,
        5 => Request::Smoothing,
        6 => Request::NtpData { address },
        7 => Request::SourceName { address },
        log => {
            let Ok(line) = std::str::from_utf8(data) else { return };
            match log {
                8 => drop(Measurement::parse(line)),
                9 => drop(Statistics::parse(line)),
                _ => drop(TrackingUpdate::parse(line)),
            }
            return;
        }
    };
    reply(request, data);
});
