//! Imports real logs and captures of time services: the numbers equal those of the source, and nothing looks better than it is.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::PathBuf;

use foreign::{Importer, Options};
use record::{
    HardBound, Origin, ReasonCode, Record, Series, SyncChange, SyncRun, SyncSource, SyncState, ValidityState,
};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/foreign")
}

fn chrony_folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../codecs/fixtures/chrony/4.6.1")
}

fn content(path: &std::path::Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn fixture(name: &str) -> Vec<u8> {
    content(&folder().join(name))
}

fn import(bytes: &[u8]) -> Record {
    let imported = foreign::import(bytes, None, Options::default()).unwrap_or_else(|error| panic!("{error}"));
    let record = imported.into_record("clocks");
    assert_ne!(record.validity.state(), ValidityState::Valid, "an import is never simply valid");
    assert!(record.validity.has(ReasonCode::Imported));
    assert_eq!(Record::from_json(&record.to_json()).unwrap(), record, "it survives a round trip");
    record
}

fn format_of(bytes: &[u8]) -> &'static str {
    foreign::recognize(bytes).unwrap().name
}

fn refused(bytes: &[u8], format: &str) -> String {
    let format = foreign::import_format(format).unwrap();
    foreign::import(bytes, Some(format), Options::default()).unwrap_err().to_string()
}

fn run(record: &Record) -> &SyncRun {
    record.sync().unwrap()
}

fn source<'a>(record: &'a Record, name: &str) -> &'a SyncSource {
    let names: Vec<String> = run(record).sources.iter().map(SyncSource::name).collect();
    run(record).sources.iter().find(|source| source.name() == name).unwrap_or_else(|| panic!("{name}: {names:?}"))
}

fn series<'a>(record: &'a Record, source: &SyncSource, name: &str) -> Option<&'a Series> {
    record.series.iter().find(|series| series.place == source.place && series.name == name)
}

fn events(record: &Record, what: SyncChange) -> Vec<String> {
    run(record).events.iter().filter(|event| event.what == what).map(|event| event.detail.clone()).collect()
}

fn lacks(record: &Record) -> String {
    let Origin::Imported { lacks, .. } = &record.manifest().origin else { panic!("no import") };
    lacks.join("; ")
}

fn reasons(record: &Record, code: ReasonCode) -> String {
    let reasons = record.validity.reasons().iter().filter(|reason| reason.code == code);
    reasons.map(|reason| reason.detail.as_str()).collect::<Vec<_>>().join("; ")
}

fn seconds(ns: i64) -> f64 {
    units::approx_f64_i64(ns) / 1e9
}

#[test]
fn single_offsets_of_ptp4l_4_2_keep_their_signs_and_their_uptimes() {
    let text = fixture("linuxptp-offsets.txt");
    assert_eq!(format_of(&text), "linuxptp-log");
    let record = import(&text);
    // What `grep "master offset"` and a sum of the column give.
    let offsets: Vec<i64> = String::from_utf8(text)
        .unwrap()
        .lines()
        .filter_map(|line| line.split_once("master offset")?.1.split_ascii_whitespace().next()?.parse().ok())
        .collect();
    let ptp = source(&record, "ptp4l lpvb");
    let spread = ptp.spread.unwrap();
    assert_eq!(spread.count, offsets.len() as u64);
    assert_eq!(
        (Some(spread.lowest_ns), Some(spread.highest_ns)),
        (offsets.iter().min().copied(), offsets.iter().max().copied())
    );
    let mean = units::approx_f64_i64(offsets.iter().sum()) / units::approx_f64(offsets.len() as u64);
    assert!((spread.mean_ns - mean).abs() < 1e-6, "{} is not {mean}", spread.mean_ns);
    let below = series(&record, ptp, "reference_to_clock").unwrap().below_zero.as_ref().unwrap().count();
    assert_eq!(below, offsets.iter().filter(|offset| **offset < 0).count() as u64);
    assert_eq!(series(&record, ptp, "sent_to_received").unwrap().taken(), spread.count);
    assert_eq!(ptp.own_estimate.unwrap().count, spread.count);
    assert_eq!(ptp.reference, "grand master 02005e.fffe.000001");
    // Uptimes stay uptimes, and no date is made up.
    assert!((seconds(record.manifest().started.monotonic.as_ns()) - 14_110.69).abs() < 1e-6);
    assert!((seconds(ptp.track[0].at.monotonic.as_ns()) - 14_118.365).abs() < 1e-6);
    assert_eq!(record.manifest().started.realtime.as_ns(), 0);
    assert!(lacks(&record).contains("its times have no date"), "{}", lacks(&record));
    // The log does not say which clock ptp4l steers, and its delay is filtered.
    assert_eq!(ptp.clock, None);
    assert!(
        matches!(&ptp.bound, HardBound::Missing { reason } if reason.contains("raw time stamps")),
        "{:?}",
        ptp.bound
    );
    // It lost its master three times.
    assert!(record.validity.is_invalid());
    assert!(reasons(&record, ReasonCode::SyncLost).contains("starting to lost"), "{:?}", record.validity);
    let states: Vec<SyncState> = ptp.states.iter().map(|change| change.state).collect();
    assert_eq!(&states[..3], [SyncState::Starting, SyncState::Lost, SyncState::Starting]);
}

#[test]
fn summaries_are_an_estimate_and_never_offsets() {
    let text = fixture("linuxptp-summaries.txt");
    let record = import(&text);
    let ptp = source(&record, "ptp4l");
    let own = ptp.own_estimate.unwrap();
    assert_eq!((own.count, own.largest_ns), (5, 591));
    let expected =
        ((458.0_f64.powi(2) + 181.0_f64.powi(2) + 280.0_f64.powi(2) + 213.0_f64.powi(2) + 370.0_f64.powi(2)) / 5.0)
            .sqrt();
    assert!((own.rms_ns - expected).abs() < 1e-6, "{own:?}");
    assert!(record.series.is_empty() && ptp.spread.is_none(), "no sign, no offset");
    assert!(reasons(&record, ReasonCode::NoSamples).contains("have no sign"), "{:?}", record.validity);
}

#[test]
fn a_journal_of_several_programs_is_taken_apart() {
    let record = import(&fixture("linuxptp-journal.txt"));
    let sources: Vec<String> = run(&record).sources.iter().map(SyncSource::name).collect();
    // The servo set the clock, another master was chosen, and a clock jumped: other times, of which each stands by itself.
    assert_eq!(
        sources,
        [
            "ptp4l eth0",
            "ptp4l eth0 (part 2)",
            "ptp4l eth0 (part 3)",
            "phc2sys CLOCK_REALTIME",
            "phc2sys CLOCK_REALTIME (part 2)",
            "phc2sys /dev/ptp1",
            "phc2sys /dev/ptp1 (part 2)",
            "ts2phc /dev/ptp2",
            "ptp4l",
        ]
    );
    assert_eq!(record.manifest().node.hostname, "node");
    assert_eq!(record.manifest().started.realtime.as_ns(), 1_795_568_070_000_000_000, "2026-11-25T00:54:30Z");
    // -8 and 12 ns, each read within about half a microsecond.
    let system = source(&record, "phc2sys CLOCK_REALTIME");
    assert_eq!(system.clock_words(), "realtime");
    let HardBound::Stated { lowest_ns, highest_ns, widest_ns, trusts, .. } = &system.bound else {
        panic!("{system:?}")
    };
    assert_eq!((*lowest_ns, *highest_ns, *widest_ns), (-8 - 252, 12 + 250, 504));
    assert!(trusts.contains("delay that it prints"), "{trusts}");
    assert_eq!(system.track[0].frequency_ppb, Some(6_990.0), "the correction is the negative of what is printed");
    assert_eq!(source(&record, "phc2sys /dev/ptp1").clock_words(), "phc:ptp1");
    // The servo set the clock, and the port failed.
    let steps = events(&record, SyncChange::Step);
    assert!(steps[0].contains("set by 31.2 us") && steps[1].contains("jumped backward"), "{steps:?}");
    assert_eq!(steps.len(), 3, "which of its two clocks phc2sys means is not said: {steps:?}");
    assert!(lacks(&record).contains("the wall clock to less than a second"));
    let faults = events(&record, SyncChange::Fault);
    assert_eq!(faults.len(), 2, "{faults:?}");
    assert!(faults[0].contains("tx timestamp") && faults[1].contains("send delay request failed"));
    assert_eq!(events(&record, SyncChange::TaiOffset), ["TAI less UTC is 37 s from now on"]);
    assert_eq!(
        events(&record, SyncChange::Reference),
        ["grand master 02005e.fffe.000001 to grand master 02005e.fffe.000009"]
    );
    for code in [ReasonCode::ClockStepped, ReasonCode::ReferenceChanged, ReasonCode::SyncLost] {
        assert!(record.validity.has(code), "{code:?}: {:?}", record.validity);
    }
    assert!(lacks(&record).contains("2 lines of other programs"), "{}", lacks(&record));
}

#[test]
fn what_is_wrong_with_a_log_is_said_and_nothing_is_lost_silently() {
    let good = "ptp4l[10.000]: master offset 5 s2 freq +1 path delay 9\nptp4l[11.000]: master offset 6 s2 freq +1 path delay 9\n";
    let offsets = |text: &str| {
        let record = import(text.as_bytes());
        let count =
            run(&record).sources.iter().filter_map(|source| source.spread).map(|spread| spread.count).sum::<u64>();
        (count, record)
    };
    let (count, record) = offsets(good);
    assert_eq!((count, record.validity.reasons().len()), (2, 2), "{:?}", record.validity);
    assert_eq!(run(&record).sources[0].reference, "a master that the log does not name");
    // Torn in its last line.
    let (count, record) = offsets(&format!("{good}ptp4l[12.000]: master offset -2"));
    assert!(count == 2 && lacks(&record).contains("the last line (3)"), "{}", lacks(&record));
    // Windows' ends of lines, zeros of a crash, a line of no use.
    let (count, record) = offsets(&good.replace('\n', "\r\n"));
    assert_eq!((count, record.validity.has(ReasonCode::SamplesDropped)), (2, false));
    let (count, _) = offsets(&format!("\0\0\0\0{good}\0\0\0\n"));
    assert_eq!(count, 2);
    let (count, record) = offsets(&format!("{good}{}\n", "x".repeat(1 << 20)));
    assert!(count == 2 && lacks(&record).contains("1 lines of more than 64.0 KiB, first line 3"), "{}", lacks(&record));
    // A line in the middle that cannot be read may have been the worst one.
    let (count, record) = offsets(&format!("ptp4l[9.000]: master offset 1,5 s2 freq +1 path delay 9\n{good}"));
    assert!(
        count == 2 && reasons(&record, ReasonCode::SamplesDropped).contains("the first is line 1"),
        "{:?}",
        record.validity
    );
    // The machine was started again.
    let (count, record) = offsets(&format!("{good}ptp4l[3.000]: master offset 7 s2 freq +1 path delay 9\n"));
    assert!(
        count == 3 && reasons(&record, ReasonCode::SyncLost).contains("go back 1 times, by up to 8 s"),
        "{:?}",
        record.validity
    );
    // No times at all.
    let (count, record) =
        offsets("master offset 5 s2 freq +1 path delay 9\nmaster offset -5 s2 freq +1 path delay 9\n");
    assert!(count == 2 && lacks(&record).contains("the time of 2 lines"), "{}", lacks(&record));
    // A lock that was lost without a line about the port.
    let (_, record) = offsets(&format!("{good}ptp4l[12.000]: master offset 90000 s0 freq +1 path delay 9\n"));
    assert!(reasons(&record, ReasonCode::SyncLost).contains("locked to starting"), "{:?}", record.validity);
    for (text, words) in [
        ("", "no offset, summary or state"),
        ("hello\nworld\n", "2 lines are of other programs"),
        ("ptp4l[1,000]: master offset 1,0 s2 freq +1 path delay 9\n", "1 of their lines cannot be read"),
    ] {
        let error = refused(text.as_bytes(), "linuxptp-log");
        assert!(error.contains(words), "{error}");
    }
}

#[test]
fn a_log_is_the_same_however_it_is_fed() {
    let text = fixture("linuxptp-journal.txt");
    let whole = import(&text);
    for piece in [1, 100, 4_096] {
        let mut importer = Importer::begin(foreign::recognize_stream(&text).unwrap()).unwrap();
        text.chunks(piece).for_each(|bytes| importer.feed(bytes).unwrap());
        assert_eq!(importer.finish().unwrap().into_record("clocks"), whole, "{piece}");
    }
}

#[test]
fn tracking_has_chronyd_s_own_bound_with_all_that_it_still_had_to_correct() {
    let text = content(&chrony_folder().join("tracking.log"));
    assert_eq!(format_of(&text), "chrony-tracking");
    let record = import(&text);
    let chrony = source(&record, "chronyd");
    assert_eq!((chrony.clock_words(), &*chrony.reference), ("realtime".to_owned(), "server 10.77.0.1"));
    // The second synchronized line: Offset -4.292e-07, Rem. corr. -5.010e-02, Root delay 1.685e-05, Root disp. 3.711e-05.
    let point = &chrony.track.iter().filter(|point| point.count > 0).nth(1).unwrap();
    assert_eq!(point.lowest_ns, Some(50_099_571));
    // 37.11 us + 8.425 us, and 0.05 % of all four values: 45.558 us + 25.050 us.
    let (lower_ns, upper_ns) = point.bound_ns.unwrap();
    assert!((upper_ns - 50_099_571 - 70_608).abs() < 5, "{upper_ns}");
    assert!((50_099_571 - lower_ns - 70_608).abs() < 5, "{lower_ns}");
    let HardBound::Stated { highest_ns, trusts, .. } = &chrony.bound else { panic!("{:?}", chrony.bound) };
    // 5.049e-02 is the largest error that chronyd states between two updates; the last offset is 50.48 ms.
    assert!((50_480_000..50_600_000).contains(highest_ns), "{highest_ns}");
    assert!(trusts.contains("server is right"), "{trusts}");
    assert_eq!(
        chrony.states.iter().map(|change| change.state).collect::<Vec<_>>(),
        [SyncState::Starting, SyncState::Locked]
    );
    assert_eq!(chrony.track[0].frequency_ppb, Some(-22_353.0), "it runs fast by 22.353 ppm without the correction");
}

#[test]
fn what_chronyd_still_corrects_is_not_in_the_other_two_logs_and_they_say_so() {
    for (name, format, delay) in
        [("statistics.log", "chrony-statistics", false), ("measurements.log", "chrony-measurements", true)]
    {
        let text = content(&chrony_folder().join(name));
        assert_eq!(format_of(&text), format);
        let record = import(&text);
        let chrony = source(&record, "chronyd 10.77.0.1");
        assert_eq!(chrony.clock, None, "{name}");
        assert!(lacks(&record).contains("still had to correct"), "{name}: {}", lacks(&record));
        assert!(matches!(&chrony.bound, HardBound::Missing { reason } if reason.contains("tracking.log")));
        assert_eq!(series(&record, chrony, "sent_to_received").is_some(), delay, "{name}");
        assert!(chrony.spread.unwrap().count > 10);
    }
    // The last measurement of this server states -1.825e-06 s, and positive means behind.
    let text = content(&chrony_folder().join("measurements.log"));
    let record = import(&text);
    let last = source(&record, "chronyd 10.77.0.1").track.last().unwrap().lowest_ns;
    assert_eq!(last, Some(1_825), "the clock is ahead");
    assert!(source(&record, "chronyd fd77::1").spread.is_some());
    assert!(lacks(&record).contains("4 measurements that failed a test"), "{}", lacks(&record));
}

#[test]
fn bad_logs_of_chronyd() {
    let text = String::from_utf8(content(&chrony_folder().join("tracking.log"))).unwrap();
    let torn = import(&text.as_bytes()[..text.len() - 20]);
    assert!(lacks(&torn).contains("the last line"), "{}", lacks(&torn));
    let whole = run(&import(text.as_bytes())).sources[0].spread.unwrap().count;
    assert_eq!(run(&torn).sources[0].spread.unwrap().count, whole - 1);
    let broken = import(text.replacen("22.282", "22,282", 1).as_bytes());
    assert!(reasons(&broken, ReasonCode::SamplesDropped).contains("frequency"), "{:?}", broken.validity);
    // The clock was set back while it was logged.
    let back = import(text.replace("00:55:18", "00:51:18").as_bytes());
    assert!(reasons(&back, ReasonCode::ClockStepped).contains("go back"), "{:?}", back.validity);
    // One second of disorder is no step, and no time of the record goes back.
    let disorder = import(text.replace("00:55:18", "00:55:16").as_bytes());
    assert!(!disorder.validity.has(ReasonCode::ClockStepped), "{:?}", disorder.validity);
    assert!(run(&disorder).sources[0].track.is_sorted_by_key(|point| point.at.monotonic));
    let commas = refused(text.replace('.', ",").as_bytes(), "chrony-tracking");
    assert!(commas.contains("line 4"), "{commas}");
    let heading: String = text.split_inclusive('\n').take(3).collect();
    assert_eq!(format_of(heading.as_bytes()), "chrony-tracking");
    assert!(refused(heading.as_bytes(), "chrony-tracking").contains("headings at most"));
}

/// Offsets and bounds in ns as computed by hand from the frames (`t2 - t1` above, `-(t4 - t3)` below) of the fixture.
const PTP_BY_HAND: [(i64, i64); 7] = [
    (2_224, -78_907),
    (2_063, -10_786),
    (2_013, -19_529),
    (1_893, -11_247),
    (1_943, -11_387),
    (2_133, -16_685),
    (2_104, -11_587),
];

#[test]
fn a_capture_at_the_slave_bounds_the_clock_that_stamped_it() {
    let record = import(&fixture("capture-any.pcap"));
    let ptp = run(&record).sources.iter().find(|source| source.name().contains("domain 0")).unwrap();
    assert_eq!(ptp.name(), "capture 02005e.fffe.000001-1 domain 0");
    assert_eq!(ptp.reference, "grand master 02005e.fffe.000001");
    assert_eq!(ptp.clock_words(), "that stamped the capture");
    let shown: Vec<i64> = ptp.track.iter().filter_map(|point| point.lowest_ns).collect();
    let by_hand: Vec<i64> = PTP_BY_HAND.iter().map(|(upper, lower)| (upper + lower).div_euclid(2)).collect();
    assert!(shown.len() >= 4, "{shown:?}");
    assert_eq!(shown, by_hand[by_hand.len() - shown.len()..], "each exchange after the first Announce");
    // Both machines had one clock: the truth is 0.
    let HardBound::Stated { lowest_ns, highest_ns, trusts, .. } = &ptp.bound else { panic!("{:?}", ptp.bound) };
    assert!(*lowest_ns < 0 && *highest_ns > 0, "{lowest_ns} {highest_ns}");
    for point in ptp.track.iter().filter_map(|point| point.bound_ns) {
        assert!(point.0 <= 0 && 0 <= point.1, "{point:?}");
    }
    assert!(trusts.contains("one clock") && trusts.contains("100 ppm") && trusts.contains("500 ppm"), "{trusts}");
    assert_eq!(run(&record).max_drift_ppb, 100_000);
    // NTP of the same capture.
    let ntp = source(&record, "capture 10.78.0.1 asked by 10.78.0.2");
    let shown: Vec<i64> = ntp.track.iter().filter_map(|point| point.lowest_ns).collect();
    let by_hand = [821_i64, -349, -1_675, -1_640, -785];
    assert_eq!(shown.len(), by_hand.len());
    for (shown, by_hand) in shown.iter().zip(by_hand) {
        assert!((shown - by_hand).abs() <= 1, "{shown} {by_hand}");
    }
    let HardBound::Stated { lowest_ns, highest_ns, .. } = &ntp.bound else { panic!("{:?}", ntp.bound) };
    assert!(*lowest_ns < 0 && *highest_ns > 0);
    assert!(series(&record, ptp, "reference_to_clock").unwrap().judged);
}

#[test]
fn without_the_direction_of_its_frames_a_capture_has_no_bound() {
    let record = import(&fixture("capture-ethernet.pcap"));
    let sources = &run(&record).sources;
    assert_eq!(sources.len(), 2, "{sources:?}");
    for source in sources {
        assert!(source.spread.is_some());
        assert!(
            matches!(&source.bound, HardBound::Missing { reason } if reason.contains("tcpdump -i any")),
            "{source:?}"
        );
        assert!(!series(&record, source, "reference_to_clock").unwrap().judged);
    }
}

#[test]
fn a_capture_at_the_master_is_not_sold_as_the_slave_s_clock() {
    let record = import(&fixture("capture-at-master.pcap"));
    assert!(run(&record).sources.iter().all(|source| !source.name().contains("domain")), "{:?}", run(&record).sources);
    assert!(lacks(&record).contains("made at the master itself"), "{}", lacks(&record));
}

/// The packets of a pcap file as they are: link type, stamp, bytes.
fn packets(pcap: &[u8]) -> Vec<(u64, Vec<u8>)> {
    let word = |at: usize| u32::from_le_bytes(pcap[at..at + 4].try_into().unwrap());
    let mut at = 24;
    let mut packets = Vec::new();
    while at < pcap.len() {
        let length = usize::try_from(word(at + 8)).unwrap();
        let stamp = u64::from(word(at)) * 1_000_000_000 + u64::from(word(at + 4));
        packets.push((stamp, pcap[at + 16..at + 16 + length].to_vec()));
        at += 16 + length;
    }
    packets
}

fn pcapng(link: u16, packets: &[(u64, Vec<u8>)], outgoing: impl Fn(&[u8]) -> Option<bool>) -> Vec<u8> {
    let block = |kind: u32, body: &[u8]| {
        let length = u32::try_from(body.len().next_multiple_of(4) + 12).unwrap().to_le_bytes();
        let mut whole = [&kind.to_le_bytes(), &length, body].concat();
        whole.resize(whole.len().next_multiple_of(4), 0);
        [&whole[..], &length].concat()
    };
    let mut file = block(0x0a0d_0d0a, &[&[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0][..], &[0xff; 8]].concat());
    file.extend(block(1, &[&link.to_le_bytes()[..], &[0; 6], &[9, 0, 1, 0, 9, 0, 0, 0]].concat()));
    for (stamp, bytes) in packets {
        let length = u32::try_from(bytes.len()).unwrap().to_le_bytes();
        let high = u32::try_from(stamp >> 32).unwrap().to_le_bytes();
        let low = u32::try_from(stamp & 0xffff_ffff).unwrap().to_le_bytes();
        let mut body = [&[0; 4][..], &high, &low, &length, &length, bytes].concat();
        body.resize(body.len().next_multiple_of(4), 0);
        if let Some(is_outgoing) = outgoing(bytes) {
            body.extend([2, 0, 4, 0, if is_outgoing { 2 } else { 1 }, 0, 0, 0]);
        }
        file.extend(block(6, &body));
    }
    file
}

#[test]
fn pcapng_gives_what_pcap_gives_and_its_directions_count() {
    let cooked = fixture("capture-any.pcap");
    let plain = import(&cooked);
    let same = import(&pcapng(276, &packets(&cooked), |_| None));
    assert_eq!(run(&same).sources, run(&plain).sources);
    // Ethernet, with directions in the options: by the address of the slave.
    let ethernet = packets(&fixture("capture-ethernet.pcap"));
    let record = import(&pcapng(1, &ethernet, |bytes| Some(bytes[6..12] == [2, 0, 0x5e, 0, 0, 2])));
    let bounds = |record: &Record| run(record).sources.iter().map(|source| source.bound.clone()).collect::<Vec<_>>();
    assert_eq!(bounds(&record), bounds(&plain));
    // The same frames seen from the other side are those of a master.
    let mirrored = import(&pcapng(1, &ethernet, |bytes| Some(bytes[6..12] != [2, 0, 0x5e, 0, 0, 2])));
    assert!(mirrored.validity.has(ReasonCode::NoSamples));
    assert!(lacks(&mirrored).contains("as master or server"), "{}", lacks(&mirrored));
}

#[test]
fn a_step_in_a_capture_forgets_both_sides() {
    let mut packets = packets(&fixture("capture-any.pcap"));
    let middle = packets.len() / 2;
    for (stamp, _) in packets.iter_mut().skip(middle) {
        *stamp += 5_000_000;
    }
    let record = import(&pcapng(276, &packets, |_| None));
    assert!(record.validity.has(ReasonCode::ClockStepped), "{:?}", record.validity);
    let ptp = run(&record).sources.iter().find(|source| source.name().contains("domain 0")).unwrap();
    for point in ptp.track.iter().filter(|point| point.count > 0) {
        let (Some(offset_ns), Some((lower_ns, upper_ns))) = (point.lowest_ns, point.bound_ns) else { continue };
        let truth_ns = if offset_ns > 2_000_000 { 5_000_000 } else { 0 };
        assert!(lower_ns <= truth_ns && truth_ns <= upper_ns, "{point:?}");
    }
    // Back by a second: its own stamps show it.
    for (stamp, _) in packets.iter_mut().skip(middle) {
        *stamp -= 1_000_000_000;
    }
    let record = import(&pcapng(276, &packets, |_| None));
    assert!(reasons(&record, ReasonCode::ClockStepped).contains("set by -"), "{:?}", record.validity);
}

#[test]
fn bad_captures() {
    let whole = fixture("capture-any.pcap");
    let cut = import(&whole[..whole.len() - 5]);
    assert!(reasons(&cut, ReasonCode::InterruptedEarly).contains("cut off"), "{:?}", cut.validity);
    // A snap length that leaves no message whole.
    let short: Vec<_> = packets(&whole).into_iter().map(|(stamp, bytes)| (stamp, bytes[..60].to_vec())).collect();
    let error = refused(&pcapng(276, &short, |_| None), "capture");
    assert!(error.contains("no message of PTP or NTP"), "{error}");
    let mut hostile = whole.clone();
    hostile[24 + 8..24 + 12].copy_from_slice(&u32::MAX.to_le_bytes());
    let error = refused(&hostile, "capture");
    assert!(error.contains("byte 24") && error.contains("4294967295"), "{error}");
    for (bytes, words) in [(&b""[..], "0 frames"), (&whole[..10], "cut off"), (b"hello", "no pcap or pcapng")] {
        let error = refused(bytes, "capture");
        assert!(error.contains(words), "{error}");
    }
    // A damaged record after good ones leaves these.
    let mut damaged = whole.clone();
    damaged.extend([0xff; 16]);
    let record = import(&damaged);
    assert!(reasons(&record, ReasonCode::InterruptedEarly).contains("damaged from here on"), "{:?}", record.validity);
}

#[test]
fn documents_that_quote_a_log_are_no_logs() {
    let quoted = "{\n\"text\": \"\nptp4l[10.000]: master offset 5 s2 freq +1 path delay 9\n\"}";
    assert!(foreign::recognize_stream(quoted.as_bytes()).is_none());
    for name in ["cyclictest-histogram.txt", "rteval.xml", "oslat.txt", "osadl-columns.txt"] {
        assert!(foreign::recognize_stream(&fixture(name)).is_none(), "{name}");
    }
}

#[test]
fn a_tag_with_the_level_of_each_line_is_one_source() {
    let record = import(&fixture("linuxptp-tag-level.txt"));
    assert_eq!(record.sync().unwrap().sources.len(), 1, "{:?}", record.sync().unwrap().sources);
    assert_eq!(record.series[0].taken(), 2);
    // Instances whose numbers differ as levels do stay apart.
    let two = "ptp4l[1.0]: [ptp4l.0.config] port 1 (eth0): UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED\n"
        .replace("1.0]", "1.000]")
        + "ptp4l[2.000]: [ptp4l.1.config] port 1 (eth1): UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED\n\
           ptp4l[3.000]: [ptp4l.0.config] master offset          5 s2 freq   -1000 path delay       100\n\
           ptp4l[3.100]: [ptp4l.1.config] master offset          9 s2 freq   -1000 path delay       100\n";
    assert_eq!(import(two.as_bytes()).sync().unwrap().sources.len(), 2);
}

#[test]
fn offsets_of_many_years_are_offsets() {
    let record = import(&fixture("linuxptp-far.txt"));
    assert!(!record.validity.has(ReasonCode::SamplesDropped), "{:?}", record.validity);
    let step = record.sync().unwrap().events.iter().find(|event| event.what == SyncChange::Step).unwrap();
    assert!(step.detail.contains("19222 d 11 h"), "{step:?}");
}

#[test]
fn a_unit_s_standard_output_in_a_journal_is_one_source_and_is_read_once() {
    let of = |name: &str| import(&fixture(name));
    let (output, twice) = (of("linuxptp-output.txt"), of("linuxptp-twice.txt"));
    for record in [&output, &twice] {
        let sources = &record.sync().unwrap().sources;
        assert_eq!(sources.len(), 1, "{sources:?}");
        assert_eq!(record.series.iter().map(Series::taken).collect::<Vec<_>>(), [3, 3], "offsets and delays");
        assert_eq!(record.manifest().node.hostname, "node");
    }
    assert_eq!(numbers(&output), numbers(&twice));
}

fn numbers(record: &Record) -> Vec<(record::Histogram, Option<record::Histogram>)> {
    record.series.iter().map(|one| (one.histogram.clone(), one.below_zero.clone())).collect()
}
