//! Replies of real chronyds against what their own `chronyc` made of the same bytes.
//!
//! A file of `fixtures/chrony/VERSION` has the requests of `chronyc -c -n` (`>`) and the replies of chronyd (`<`), as they
//! went through a relay between the two, and the lines that chronyc printed (`=`).
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fmt::Write as _;
use std::path::PathBuf;

use codecs::chrony::{
    Address, DecodeError, LeapStatus, NtpData, NtpMode, Reply, Request, SourceData, SourceMode, SourceState,
    SourceStats, Status, TimestampSource, Tracking, UtcTime, decode,
};
use proptest::prelude::*;

const VERSIONS: [&str; 2] = ["4.3", "4.6.1"];

struct Capture {
    name: String,
    exchanges: Vec<(Vec<u8>, Vec<u8>)>,
    printed: Vec<String>,
}

fn folder(version: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fixtures/chrony").join(version)
}

fn bytes(hex: &str) -> Vec<u8> {
    (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect()
}

fn capture(version: &str, name: &str) -> Capture {
    let text = std::fs::read_to_string(folder(version).join(format!("{name}.txt"))).unwrap();
    let lines = |mark: &'static str| text.lines().filter_map(move |line| line.strip_prefix(mark));
    let exchanges = lines("> ").map(bytes).zip(lines("< ").map(bytes)).collect();
    Capture { name: format!("{version}/{name}"), exchanges, printed: lines("= ").map(str::to_owned).collect() }
}

fn all_captures() -> Vec<Capture> {
    let mut captures = Vec::new();
    for version in VERSIONS {
        for entry in std::fs::read_dir(folder(version)).unwrap() {
            if let Some(name) = entry.unwrap().file_name().to_str().unwrap().strip_suffix(".txt") {
                captures.push(capture(version, name));
            }
        }
    }
    captures
}

fn address(field: &[u8]) -> Address {
    let word = u32::from_be_bytes(field[..4].try_into().unwrap());
    match field[17] {
        1 => Address::V4(word.into()),
        2 => Address::V6(<[u8; 16]>::try_from(&field[..16]).unwrap().into()),
        3 => Address::Unresolved(word),
        _ => Address::Unspecified,
    }
}

/// What chronyc asked with these bytes, and its sequence number.
fn request(sent: &[u8]) -> (Request, u32) {
    let index = || u32::from_be_bytes(sent[20..24].try_into().unwrap());
    let request = match u16::from_be_bytes(sent[4..6].try_into().unwrap()) {
        14 => Request::SourceCount,
        15 => Request::SourceData { index: index() },
        33 => Request::Tracking,
        34 => Request::SourceStats { index: index() },
        44 => Request::Activity,
        51 => Request::Smoothing,
        57 => Request::NtpData { address: address(&sent[20..40]) },
        65 => Request::SourceName { address: address(&sent[20..40]) },
        other => panic!("command {other}"),
    };
    (request, u32::from_be_bytes(sent[8..12].try_into().unwrap()))
}

fn replies(capture: &Capture) -> Vec<Result<Reply, DecodeError>> {
    let answer = |(sent, received): &(Vec<u8>, Vec<u8>)| {
        let (request, sequence) = request(sent);
        decode(received, request, sequence)
    };
    capture.exchanges.iter().map(answer).collect()
}

fn ip(address: Address) -> String {
    match address {
        Address::Unspecified => String::new(),
        Address::V4(address) => address.to_string(),
        Address::V6(address) => address.to_string(),
        Address::Unresolved(id) => format!("ID#{id:010}"),
    }
}

fn letters(id: u32) -> String {
    id.to_be_bytes().iter().filter(|byte| **byte != 0).map(|byte| char::from(*byte)).collect()
}

fn time(time: UtcTime) -> String {
    format!("{}.{:09}", time.seconds, time.nanoseconds)
}

fn leap(leap: LeapStatus) -> &'static str {
    match leap {
        LeapStatus::Normal => "Normal",
        LeapStatus::InsertSecond => "Insert second",
        LeapStatus::DeleteSecond => "Delete second",
        LeapStatus::Unsynchronized => "Not synchronised",
        LeapStatus::Other(_) => "Invalid",
    }
}

fn tracking_line(report: &Tracking) -> String {
    format!(
        "{:08X},{},{},{},{:.9},{:.9},{:.9},{:.3},{:.3},{:.3},{:.9},{:.9},{:.1},{}",
        report.reference_id,
        ip(report.address),
        report.stratum,
        if report.reference_time.seconds == 0 { "0.000000000".to_owned() } else { time(report.reference_time) },
        report.system_offset.seconds(),
        report.last_offset.seconds(),
        report.rms_offset.seconds(),
        report.frequency_ppm.value(),
        report.residual_frequency_ppm.value(),
        report.skew_ppm.value(),
        report.root_delay.seconds(),
        report.root_dispersion.seconds(),
        report.last_update_interval.seconds(),
        leap(report.leap),
    )
}

fn source_line(report: &SourceData, name: &str) -> String {
    format!(
        "{},{},{name},{},{},{:o},{},{:.9},{:.9},{:.9}",
        match report.mode {
            SourceMode::Server => '^',
            SourceMode::Peer => '=',
            SourceMode::ReferenceClock => '#',
            SourceMode::Other(_) => ' ',
        },
        match report.state {
            SourceState::Selected => '*',
            SourceState::Nonselectable => '?',
            SourceState::Falseticker => 'x',
            SourceState::Jittery => '~',
            SourceState::Combined => '+',
            SourceState::NotCombined => '-',
            SourceState::Other(_) => ' ',
        },
        report.stratum,
        report.poll_log2_s,
        report.reachability,
        report.since_sample_s.unwrap_or(u32::MAX),
        report.adjusted_offset.seconds(),
        report.measured_offset.seconds(),
        report.offset_error.seconds(),
    )
}

fn stats_line(report: &SourceStats) -> String {
    format!(
        "{},{},{},{},{:.3},{:.3},{:.9},{:.9}",
        if report.address == Address::Unspecified { letters(report.reference_id) } else { ip(report.address) },
        report.samples,
        report.runs,
        report.span_s,
        report.residual_frequency_ppm.value(),
        report.skew_ppm.value(),
        report.estimated_offset.seconds(),
        report.standard_deviation.seconds(),
    )
}

/// As `printed`, but for the reference IDs of both addresses, which chronyc computes itself.
fn ntp_data_line(report: &NtpData) -> String {
    let who = |source| match source {
        TimestampSource::Daemon => "Daemon",
        TimestampSource::Kernel => "Kernel",
        TimestampSource::Hardware => "Hardware",
        TimestampSource::Other(_) => "Invalid",
    };
    let yes = |is| if is { "Yes" } else { "No" };
    let local =
        if report.local_address == Address::Unspecified { "[UNSPEC]".to_owned() } else { ip(report.local_address) };
    let tests = report.tests_passed;
    let mut line = format!(
        "{},{},{local},{},{},{},{},{},{:.0},{},{:.9},{:.6},{:.6},{:08X},{},{},",
        ip(report.remote_address),
        report.remote_port,
        leap(report.leap),
        report.version,
        match report.mode {
            NtpMode::SymmetricActive => "Symmetric active",
            NtpMode::SymmetricPassive => "Symmetric passive",
            NtpMode::Server => "Server",
            NtpMode::Other(_) => "Invalid",
        },
        report.stratum,
        report.poll_log2_s,
        2f64.powi(report.poll_log2_s.into()),
        report.precision_log2_s,
        2f64.powi(report.precision_log2_s.into()),
        report.root_delay.seconds(),
        report.root_dispersion.seconds(),
        report.reference_id,
        if report.stratum <= 1 { letters(report.reference_id & 0x7f00_0000) } else { String::new() }
            .replace('\x7f', ""),
        time(report.reference_time),
    );
    write!(
        line,
        "{:.9},{:.9},{:.9},{:.9},{:.2},{:03b},{:03b},{:04b},{},{},{},{},{},{},{}",
        report.offset.seconds(),
        report.peer_delay.seconds(),
        report.peer_dispersion.seconds(),
        report.response_time.seconds(),
        report.jitter_asymmetry.value(),
        tests >> 7,
        tests >> 4 & 7,
        tests & 15,
        yes(report.is_interleaved),
        yes(report.is_authenticated),
        who(report.transmit_timestamps),
        who(report.receive_timestamps),
        report.sent_packets,
        report.received_packets,
        report.valid_packets,
    )
    .unwrap();
    let counts = [
        report.good_packets,
        report.kernel_transmit_timestamps,
        report.kernel_receive_timestamps,
        report.hardware_transmit_timestamps,
        report.hardware_receive_timestamps,
    ];
    for count in counts.into_iter().flatten() {
        write!(line, ",{count}").unwrap();
    }
    line
}

#[test]
fn requests_are_byte_for_byte_what_chronyc_sends() {
    let mut compared = 0;
    for capture in all_captures() {
        for (sent, _) in &capture.exchanges {
            let (request, sequence) = request(sent);
            let ours = request.encode(sequence, 0);
            let ours = ours.as_bytes();
            assert!(ours.starts_with(sent), "{}: {request:?}", capture.name);
            // What newer versions reply to ntpdata is longer, and so is our request to any version; the rest is zeros.
            let is_older = capture.name.starts_with("4.3") && matches!(request, Request::NtpData { .. });
            assert_eq!(ours.len(), if is_older { 172 } else { sent.len() }, "{}: {request:?}", capture.name);
            assert!(ours[sent.len()..].iter().all(|byte| *byte == 0));
            compared += 1;
        }
    }
    assert_eq!(compared, 70);
}

#[test]
fn a_request_counts_its_attempts() {
    let first = Request::Activity.encode(0x0102_0304, 0);
    let third = Request::Activity.encode(0x0102_0304, 2);
    assert_eq!(first.as_bytes()[6..12], [0, 0, 1, 2, 3, 4]);
    assert_eq!(third.as_bytes()[6..12], [0, 2, 1, 2, 3, 4]);
}

#[test]
fn no_reply_is_longer_than_its_request() {
    for capture in all_captures() {
        for (sent, received) in &capture.exchanges {
            let (request, sequence) = request(sent);
            assert!(received.len() <= request.encode(sequence, 0).as_bytes().len(), "{}", capture.name);
        }
    }
}

#[test]
fn tracking_is_what_chronyc_prints() {
    for version in VERSIONS {
        for name in ["client-tracking", "local-tracking", "observer-tracking", "unsynchronised-tracking"] {
            let capture = capture(version, name);
            let Ok(Reply::Tracking(report)) = replies(&capture)[0] else { panic!("{}", capture.name) };
            assert_eq!(tracking_line(&report), capture.printed[0], "{}", capture.name);
        }
    }
}

#[test]
fn sources_are_what_chronyc_prints() {
    for version in VERSIONS {
        for name in ["client-sources", "observer-sources", "unsynchronised-sources"] {
            let capture = capture(version, name);
            let mut lines = Vec::new();
            let mut count = None;
            for reply in replies(&capture) {
                match reply.unwrap() {
                    Reply::SourceCount(sources) => count = Some(usize::try_from(sources).unwrap()),
                    Reply::SourceData(report) => {
                        let name = report.reference_clock_id().map_or_else(|| ip(report.address), letters);
                        lines.push(source_line(&report, &name));
                    }
                    other => panic!("{other:?}"),
                }
            }
            assert_eq!(lines, capture.printed, "{}", capture.name);
            assert_eq!(count, Some(lines.len()), "{}", capture.name);
        }
    }
}

#[test]
fn source_statistics_are_what_chronyc_prints() {
    for version in VERSIONS {
        for name in ["client-sourcestats", "observer-sourcestats"] {
            let capture = capture(version, name);
            let lines: Vec<String> = replies(&capture)
                .into_iter()
                .filter_map(|reply| match reply.unwrap() {
                    Reply::SourceStats(report) => Some(stats_line(&report)),
                    _ => None,
                })
                .collect();
            assert_eq!(lines, capture.printed, "{}", capture.name);
            assert!(!lines.is_empty());
        }
    }
}

#[test]
fn measurements_are_what_chronyc_prints() {
    for version in VERSIONS {
        for name in ["client-ntpdata", "client-ntpdata-ipv6", "client-ntpdata-unreached", "observer-ntpdata"] {
            let capture = capture(version, name);
            let Some(Ok(Reply::NtpData(report))) = replies(&capture).pop() else { panic!("{}", capture.name) };
            let mut printed: Vec<&str> = capture.printed[0].split(',').collect();
            printed.remove(4);
            printed.remove(1);
            assert_eq!(ntp_data_line(&report), printed.join(","), "{}", capture.name);
            assert_eq!(report.kernel_receive_timestamps.is_some(), version == "4.6.1");
        }
    }
}

#[test]
fn activity_smoothing_and_names_are_what_chronyc_prints() {
    for version in VERSIONS {
        for name in ["client-activity", "unsynchronised-activity"] {
            let capture = capture(version, name);
            let Ok(Reply::Activity(report)) = replies(&capture)[0] else { panic!("{}", capture.name) };
            let counts = [report.online, report.offline, report.burst_online, report.burst_offline, report.unresolved];
            assert_eq!(counts.map(|count| count.to_string()).join(","), capture.printed[0]);
        }
        let smoothing = capture(version, "smoothing");
        let Ok(Reply::Smoothing(report)) = replies(&smoothing)[0] else { panic!("{}", smoothing.name) };
        let line = format!(
            "{},{},{:.9},{:.6},{:.6},{:.1},{:.1}",
            if report.is_active { "Yes" } else { "No" },
            if report.is_leap_only { "(leap second only)" } else { "" },
            report.offset.seconds(),
            report.frequency_ppm.value(),
            report.wander_ppm_per_s.value(),
            report.last_update_ago.seconds(),
            report.remaining_time.seconds(),
        );
        assert_eq!(line, smoothing.printed[0]);
        let name = capture(version, "client-sourcename");
        let Ok(Reply::SourceName(report)) = replies(&name)[0] else { panic!("{}", name.name) };
        assert_eq!(report.as_str(), Some(name.printed[0].as_str()));
    }
}

#[test]
fn refusals_have_their_reason() {
    for version in VERSIONS {
        for (name, status) in [
            ("client-ntpdata-unauthorised", Status::Unauthorised),
            ("client-sourcename-unknown", Status::NoSuchSource),
            ("client-smoothing", Status::NotEnabled),
        ] {
            let capture = capture(version, name);
            let Err(DecodeError::Refused { status: refused, .. }) = replies(&capture)[0] else { panic!("{name}") };
            assert_eq!(refused, status, "{}", capture.name);
        }
    }
}

/// The observer's source was 50 ms behind the system clock and 20 ppm slower, by an NTP query that was not chrony's.
#[test]
fn signs_are_as_documented() {
    for version in VERSIONS {
        let Some(Ok(Reply::SourceData(source))) = replies(&capture(version, "observer-sources")).pop() else {
            panic!()
        };
        let Some(Ok(Reply::SourceStats(stats))) = replies(&capture(version, "observer-sourcestats")).pop() else {
            panic!()
        };
        let Some(Ok(Reply::NtpData(ntp))) = replies(&capture(version, "observer-ntpdata")).pop() else { panic!() };
        let Some(Ok(Reply::Tracking(client))) = replies(&capture(version, "client-tracking")).pop() else { panic!() };
        let fifty_ms = 50_000_000..51_000_000;
        assert!(fifty_ms.contains(&source.measured_offset.nearest_ns().unwrap()));
        assert!(fifty_ms.contains(&stats.estimated_offset.nearest_ns().unwrap()));
        assert!((19.5..20.5).contains(&stats.residual_frequency_ppm.value()));
        assert!(fifty_ms.contains(&-ntp.offset.nearest_ns().unwrap()));
        // The client of the same server takes its own clock to be fast by as much.
        assert!(fifty_ms.contains(&-client.system_offset.nearest_ns().unwrap()));
        assert!((19.5..20.5).contains(&client.frequency_ppm.value()));
    }
}

#[test]
fn only_who_follows_a_source_has_a_bound() {
    for version in VERSIONS {
        let tracking = |name| match replies(&capture(version, name))[0] {
            Ok(Reply::Tracking(report)) => report,
            ref other => panic!("{other:?}"),
        };
        let client = tracking("client-tracking");
        let bound_ns = client.bound_ns().unwrap();
        let sum_ns = 1e9
            * (client.system_offset.seconds().abs()
                + client.root_dispersion.seconds()
                + client.root_delay.seconds() / 2.0);
        // Above the sum by what chronyd's rounding can hide: 3.7 ns of 50 ms, less of the others, and three roundings up.
        let above_ns = u32::try_from(bound_ns - 50_000_000).map(f64::from).unwrap() + 5e7 - sum_ns;
        assert!((0.0..8.0).contains(&above_ns), "{above_ns}");
        assert_eq!(tracking("unsynchronised-tracking").bound_ns(), None);
        assert_eq!(tracking("observer-tracking").bound_ns(), None);
        let local = tracking("local-tracking");
        assert_eq!((local.leap, local.is_local_clock(), local.bound_ns()), (LeapStatus::Normal, true, None));
        for leap in [LeapStatus::Unsynchronized, LeapStatus::Other(9)] {
            assert_eq!(Tracking { leap, ..client }.bound_ns(), None);
        }
        assert_eq!(Tracking { reference_id: 0, ..client }.bound_ns(), None);
        assert!(Tracking { leap: LeapStatus::InsertSecond, ..client }.bound_ns().is_some());
    }
}

#[test]
fn datagrams_that_are_not_the_reply_are_named() {
    let capture = capture("4.6.1", "client-tracking");
    let (sent, reply) = &capture.exchanges[0];
    let (request, sequence) = request(sent);
    let changed = |at: usize, value: u8| {
        let mut bytes = reply.clone();
        bytes[at] = value;
        decode(&bytes, request, sequence)
    };
    assert!(changed(0, 6).is_ok());
    let older = changed(0, 5).unwrap_err();
    assert_eq!(older, DecodeError::WrongVersion { answered: 5 });
    assert!(older.to_string().contains("older than version 6"));
    assert!(changed(0, 7).unwrap_err().to_string().contains("newer than version 6"));
    for at in [1, 2, 3] {
        assert!(matches!(changed(at, 1), Err(DecodeError::Foreign { .. })));
    }
    assert!(matches!(changed(5, 34), Err(DecodeError::OtherRequest { command: 34, asked_command: 33, .. })));
    assert!(matches!(changed(19, reply[19] ^ 1), Err(DecodeError::OtherRequest { .. })));
    assert!(matches!(changed(7, 6), Err(DecodeError::UnknownReply { reply: 6, .. })));
    for (number, status) in
        [(2, Status::Unauthorised), (3, Status::UnknownCommand), (18, Status::BadVersion), (20, Status::Other(20))]
    {
        assert_eq!(changed(9, number), Err(DecodeError::Refused { request: "tracking", status }));
    }
    let family = changed(49, 9);
    assert_eq!(family, Err(DecodeError::Malformed { field: "address family", offset: 48, value: 9 }));
    assert!(matches!(changed(64, 0xff), Err(DecodeError::Malformed { field: "nanoseconds of a time", .. })));
}

#[test]
fn every_prefix_of_a_reply_is_an_error_and_what_follows_it_is_ignored() {
    for capture in all_captures() {
        for (sent, received) in &capture.exchanges {
            let (request, sequence) = request(sent);
            let whole = decode(received, request, sequence);
            for length in 0..received.len() {
                let cut = decode(&received[..length], request, sequence);
                let is_truncated =
                    matches!(cut, Err(DecodeError::Truncated { bytes, needed }) if bytes == length && needed > length);
                assert!(is_truncated, "{} {length} of {}: {cut:?}", capture.name, received.len());
            }
            let longer = [received.as_slice(), &[0xff; 9]].concat();
            assert_eq!(decode(&longer, request, sequence), whole);
        }
    }
}

fn any_request() -> impl Strategy<Value = Request> {
    let address = any::<(u8, [u8; 16])>().prop_map(|(family, octets)| {
        let mut field = [0; 20];
        field[..16].copy_from_slice(&octets);
        field[17] = family % 4;
        address(&field)
    });
    (0..8_u8, any::<u32>(), address).prop_map(|(kind, index, address)| match kind {
        0 => Request::SourceCount,
        1 => Request::SourceData { index },
        2 => Request::SourceStats { index },
        3 => Request::Tracking,
        4 => Request::Activity,
        5 => Request::Smoothing,
        6 => Request::NtpData { address },
        _ => Request::SourceName { address },
    })
}

proptest! {
    #[test]
    fn any_request_comes_back(asked in any_request(), sequence: u32, attempt: u16) {
        prop_assert_eq!(request(asked.encode(sequence, attempt).as_bytes()), (asked, sequence));
    }

    #[test]
    fn any_bytes_are_read_or_refused(asked in any_request(), sequence: u32, bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
        let _ = decode(&bytes, asked, sequence);
    }

    /// As above behind a header that is right, so that fields are read.
    #[test]
    fn any_fields_are_read_or_refused(asked in any_request(), form in 1..27_u16, fields in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut bytes = vec![6, 2, 0, 0];
        bytes.extend(asked.command().to_be_bytes());
        bytes.extend(form.to_be_bytes());
        bytes.extend([0; 20]);
        bytes.extend(fields);
        if let Ok(Reply::Tracking(report)) = decode(&bytes, asked, 0) {
            if let Some(bound_ns) = report.bound_ns() {
                prop_assert!(report.system_offset.nearest_ns().is_none_or(|ns| ns.unsigned_abs() <= bound_ns));
            }
        }
    }
}
