//! Lines of linuxptp's logs: each shape of 3.1 to 4.x, lines that are cut, and lines of other programs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failed step of a test is a failed test")]

use codecs::linuxptp::log::{LogLine, Message, Offset, Program, Summary, parse};

fn read(line: &str) -> LogLine<'_> {
    parse(line.as_bytes()).unwrap_or_else(|| panic!("not taken: {line}"))
}

fn offset_of(line: &str) -> Offset<'_> {
    match read(line).message {
        Message::Offset(offset) => offset,
        other => panic!("{other:?}: {line}"),
    }
}

#[test]
fn single_offsets_of_each_program_and_prefix() {
    let line = read("ptp4l[448720.905]: master offset         40 s2 freq     +41 path delay       413");
    assert_eq!((line.program, line.process, line.uptime_ns), (Program::Ptp4l, None, Some(448_720_905_000_000)));
    let expected = Offset {
        clock: b"",
        source: b"master",
        offset_ns: 40,
        servo: Some(2),
        frequency_ppb: Some(41),
        delay_ns: Some(413),
        is_holdover: false,
    };
    assert_eq!(line.message, Message::Offset(expected));
    let line = read(
        "Nov 25 00:54:40 node phc2sys[813]: [448720.905] [ptp4l.0.config:6] CLOCK_REALTIME phc offset -8 s2 freq -6990 delay 502",
    );
    assert_eq!((line.process, line.uptime_ns), (Some(813), Some(448_720_905_000_000)));
    assert_eq!((line.before, line.tag), (&b"Nov 25 00:54:40 node"[..], &b"[ptp4l.0.config:6]"[..]));
    let Message::Offset(offset) = line.message else { panic!("{line:?}") };
    assert_eq!((offset.clock, offset.source, offset.offset_ns), (&b"CLOCK_REALTIME"[..], &b"phc"[..], -8));
    assert_eq!(offset_of("phc2sys[1.002]: /dev/ptp0 sys offset 9 s1 freq +0").delay_ns, None);
    // ts2phc of 3.1, of 4.0 and of 4.4, steering and not.
    for (line, clock, source, servo, is_holdover) in [
        ("ts2phc[5.000]: eth1 master offset          3 s2 freq     -12", "eth1", "master", Some(2), false),
        ("ts2phc[5.000]: /dev/ptp1 source offset 3 s3 freq -12", "/dev/ptp1", "source", Some(3), false),
        ("ts2phc[5.000]: /dev/ptp1 offset 3 s3 freq -12 holdover", "/dev/ptp1", "", Some(3), true),
        ("ts2phc[5.000]: /dev/ptp1 offset          3", "/dev/ptp1", "", None, false),
    ] {
        let offset = offset_of(line);
        assert_eq!((offset.clock, offset.source), (clock.as_bytes(), source.as_bytes()), "{line}");
        assert_eq!((offset.offset_ns, offset.servo, offset.is_holdover), (3, servo, is_holdover), "{line}");
    }
    let cat = read("[448720.905] master offset -3 s2 freq +10 path delay 415");
    assert_eq!((cat.program, cat.uptime_ns), (Program::Ptp4l, Some(448_720_905_000_000)));
    let tagged = read("ptp4l[74737.942]: [ptp4l.0.config] master offset -1 s2 freq -3972 path delay 89\r");
    assert_eq!(tagged.tag, b"[ptp4l.0.config]");
}

#[test]
fn summaries() {
    let line = read("ptp4l[14060.189]: rms 1378 max 1628 freq   +105 +/- 376 delay  1474 +/-  56");
    assert_eq!(line.message, Message::Summary(Summary { clock: b"", rms_ns: 1_378, largest_ns: 1_628 }));
    let line = read("phc2sys[1163.122]: CLOCK_REALTIME rms  384 max  386 freq  -9958 +/-  55 delay  1684 +/-   2");
    let expected = Summary { clock: b"CLOCK_REALTIME", rms_ns: 384, largest_ns: 386 };
    assert_eq!(line.message, Message::Summary(expected));
    let line = read("ptp4l[1.000]: rms 3 max 9 freq +1 +/- 0");
    assert_eq!(line.message, Message::Summary(Summary { clock: b"", rms_ns: 3, largest_ns: 9 }));
}

#[test]
fn changes() {
    let state = |line| match read(line).message {
        Message::PortState { port, interface, state, event } => {
            let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
            (port, text(interface), text(state), text(event))
        }
        other => panic!("{other:?}: {line}"),
    };
    let expected = |interface: &str, state: &str, event: &str| (1, interface.into(), state.into(), event.into());
    assert_eq!(
        state("ptp4l[1.000]: port 1: UNCALIBRATED to SLAVE on MASTER_CLOCK_SELECTED"),
        expected("", "SLAVE", "MASTER_CLOCK_SELECTED")
    );
    assert_eq!(
        state("ptp4l[1.000]: port 1 (eth0): SLAVE to FAULTY on FAULT_DETECTED (FT_UNSPECIFIED)"),
        expected("eth0", "FAULTY", "FAULT_DETECTED")
    );
    let said = |line| read(line).message;
    assert_eq!(
        said("ptp4l[1.000]: selected best master clock 02005e.fffe.000001"),
        Message::BestMaster(b"02005e.fffe.000001")
    );
    assert_eq!(said("ptp4l[1.000]: selected local clock 02005e.fffe.000001 as best master"), Message::OwnClockIsBest);
    assert_eq!(said("phc2sys[1.000]: selecting eth0 as the master clock"), Message::SelectedSource(b"eth0"));
    assert_eq!(said("ptp4l[1.000]: updating UTC offset to 37"), Message::UtcOffset(37));
    for fault in [
        "ptp4l[1.000]: timed out while polling for tx timestamp",
        "ptp4l[1.000]: port 1 (eth0): send delay request failed",
        "ptp4l[1.000]: port 1: link down",
        "ts2phc[1.000]: nmea source timed out",
        "ts2phc[1.000]: /dev/ptp1 lost holdover lock (offset 9)",
    ] {
        assert!(matches!(said(fault), Message::Fault(_)), "{fault}: {:?}", said(fault));
    }
    let jump = "phc2sys[1.000]: clockcheck: clock jumped backward or running slower than expected!";
    assert!(matches!(said(jump), Message::ClockJumped(_)));
}

#[test]
fn a_line_that_is_cut_or_in_another_format_is_broken_and_never_a_number() {
    for line in [
        "ptp4l[1.000]: master offset",
        "ptp4l[1.000]: master offset -23",
        "ptp4l[1.000]: master offset -23 s2 fre",
        "ptp4l[1.000]: master offset -23 s2 freq +12 path",
        "ptp4l[1.000]: master offset -23 s2 freq +12 path delay 9 9",
        "ptp4l[1.000]: master offset -23,5 s2 freq +12 path delay 9",
        "ptp4l[1.000]: master offset 99999999999999999999 s2 freq +12 path delay 9",
        "ptp4l[1.000]: master offset -23 s7 freq +12 path delay 9",
        "phc2sys[1.000]: CLOCK_REALTIME phc offset 12",
        "ptp4l[1.000]: rms 12 max",
        "ptp4l[1.000]: rms 1,2 max 3 freq +1 +/- 0",
        "ptp4l[1,000]: master offset -23 s2 freq +12 path delay 9",
    ] {
        assert_eq!(read(line).message, Message::Broken, "{line}");
    }
}

#[test]
fn other_programs_lines_are_not_taken() {
    for line in [
        "",
        "Nov 25 00:54:40 node kernel: [  12.345678] eth0: link up",
        "Nov 25 00:54:40 node chronyd[7]: Selected source 10.0.0.1",
        "Nov 25 00:54:40 node thing[7]: master offset 5 s2 freq +1 path delay 3",
        "Nov 25 00:54:40 node myptp4l[7]: master offset 5 s2 freq +1 path delay 3",
        "[12.345] usb 1-1: new device",
        "offset 12 of the file",
        "port 80 to 443 on eth0",
    ] {
        assert!(parse(line.as_bytes()).is_none(), "{line}: {:?}", parse(line.as_bytes()));
    }
    assert_eq!(read("ptp4l[1.000]: config item (null).servo_offset_threshold is 0").message, Message::Other);
    assert_eq!(read("ptp4l[1.000]: port 1 (lpvb): delay timeout").message, Message::Other);
}
