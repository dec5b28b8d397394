//! Captures that sigrok-cli 0.7.2 wrote of its demonstration device: the same 20 samples of four lines in four forms, and others.

use codecs::logic::{LogicCapture, LogicError, read, sigrok_csv, sigrok_session, vcd};

const MIXED: &[u8] = include_bytes!("logic/sigrok-mixed.sr");

/// A microsecond (ps).
const US: i64 = 1_000_000;

fn edges_us(capture: &LogicCapture, channel: usize) -> Vec<(i64, bool)> {
    let spans = &capture.channels[channel].spans;
    assert_eq!(spans.len(), 1);
    spans[0].edges().map(|(at_ps, is_high)| (at_ps / US, is_high)).collect()
}

#[test]
fn four_forms_of_one_capture_have_the_same_edges() {
    let dump = vcd::parse(include_bytes!("logic/sigrok.vcd")).unwrap();
    let session = sigrok_session::parse(include_bytes!("logic/sigrok.sr")).unwrap();
    let samples = sigrok_csv::parse(include_bytes!("logic/sigrok.csv")).unwrap();
    let changes = sigrok_csv::parse(include_bytes!("logic/sigrok-changes.csv")).unwrap();
    // Counted by hand in the samples.
    let first = [(1, false), (4, true), (8, false), (12, true), (17, false)];
    let last = [(1, false), (4, true), (9, false), (11, true), (16, false), (17, true), (19, false)];
    for capture in [&dump, &session, &samples, &changes] {
        let names: Vec<&str> = capture.channels.iter().map(|channel| channel.name.as_str()).collect();
        assert_eq!((names, capture.resolution_ps), (vec!["D0", "D1", "D2", "D3"], Some(US)));
    }
    for capture in [&dump, &session, &samples] {
        assert_eq!((edges_us(capture, 0), edges_us(capture, 3)), (first.to_vec(), last.to_vec()));
        assert_eq!(capture.channels[2].spans[0].edges_ps, samples.channels[2].spans[0].edges_ps);
        assert_eq!(capture.channels[1].spans[0].edges_ps, samples.channels[1].spans[0].edges_ps);
    }
    assert_eq!(session, samples, "also from when to when they know the levels");
    // Its times are those of the ends of the samples: one sample later, on all lines.
    assert_eq!(edges_us(&changes, 0), first.map(|(at, is_high)| (at + 1, is_high)));
    assert_eq!(edges_us(&changes, 3), last.map(|(at, is_high)| (at + 1, is_high)));
}

#[test]
fn voltages_beside_levels_are_passed_over_and_alone_refused() {
    let capture = sigrok_session::parse(MIXED).unwrap();
    // Counted in what `sigrok-cli -O bits` writes of this file, in samples. (Its value change dump names the wrong lines where a line
    // between them was not captured.)
    let expected: [(&str, usize, &[i64], i64); 3] =
        [("D0", 750, &[1, 4, 8], 2_989), ("D2", 937, &[1, 9, 11], 2_987), ("D7", 0, &[], 0)];
    assert_eq!(capture.channels.len(), expected.len());
    for (channel, (name, count, first, last)) in capture.channels.iter().zip(expected) {
        let span = &channel.spans[0];
        let samples: Vec<i64> = span.edges_ps.iter().map(|at_ps| (at_ps * 24 + US / 2) / US).collect();
        assert_eq!((channel.name.as_str(), samples.len()), (name, count));
        assert_eq!((&samples[..first.len()], samples.last().copied().unwrap_or(0)), (first, last));
        assert_eq!((span.from_ps, span.until_ps), (0, (2_999 * US + 12) / 24), "3,000 samples at 24 MHz");
    }
    assert_eq!(sigrok_session::parse(include_bytes!("logic/sigrok-analog.sr")), Err(LogicError::Analog));
}

#[test]
fn a_dump_in_which_sigrok_mixed_up_the_lines_is_refused() {
    // D0, D2 and D3 of a device whose D3 never changed: the file says that it does.
    let dump = include_bytes!("logic/sigrok-gap.vcd");
    let error = vcd::parse(dump).unwrap_err().to_string();
    assert!(error.contains("libsigrok wrote it without D1") && error.contains("-o FILE.sr"), "{error}");
    let renamed = String::from_utf8_lossy(dump).replace(" D2 ", " D1 ").replace(" D3 ", " D2 ");
    assert_eq!(vcd::parse(renamed.as_bytes()).unwrap().channels.len(), 3);
    let of_another_program = String::from_utf8_lossy(dump).replace("libsigrok", "GHDL");
    assert_eq!(vcd::parse(of_another_program.as_bytes()).unwrap().channels[1].name, "D2");
}

#[test]
fn sixteen_lines_are_two_bytes_a_sample() {
    let capture = sigrok_session::parse(include_bytes!("logic/sigrok-wide.sr")).unwrap();
    let counts: Vec<usize> = capture.channels.iter().map(|channel| channel.spans[0].edges_ps.len()).collect();
    // Counted in what `sigrok-cli -O bits` writes of this file.
    assert_eq!(counts, [250, 377, 313, 284, 346, 347, 282, 0, 250, 377, 313, 284, 347, 347, 282, 0]);
    assert_eq!((capture.channels[15].name.as_str(), capture.channels[0].spans[0].until_ps), ("D15", 999 * US / 10));
}

#[test]
fn a_form_is_told_by_how_a_file_begins_and_no_other_is_taken() {
    let session = include_bytes!("logic/sigrok.sr");
    let dump = include_bytes!("logic/sigrok.vcd");
    assert_eq!(read(session, "x.csv"), sigrok_session::parse(session));
    assert_eq!(read(dump, "x"), vcd::parse(dump));
    let samples = include_bytes!("logic/sigrok.csv");
    assert_eq!(read(samples, "x.sr"), sigrok_csv::parse(samples));
    for heading in ["Time [s],a\n", "\u{feff}Time [s],a\n", "Time[s], 0-a\n"] {
        assert_eq!(read(format!("{heading}0,0\n1,1\n").as_bytes(), "").unwrap().channels[0].spans[0].edges_ps.len(), 1);
    }
    let mut binary = b"<SALEAE>".to_vec();
    binary.extend([0; 36]);
    assert_eq!(read(&binary, "digital_3").unwrap().channels[0].name, "digital_3");
    let port = b"7@1795315738.299807:parallel_ioport_write write [SW] addr 0x00 val 0xaa\n";
    assert_eq!(read(port, "node").unwrap().channels[1].name, "node D1");
    let said = |bytes: &[u8]| read(bytes, "").unwrap_err().to_string();
    assert!(said(b"%PDF-1.7").contains("sigrok's session file (.sr)"), "{}", said(b"%PDF-1.7"));
    assert!(said(b" \r\n").contains("it is empty"));
}

#[test]
fn a_session_that_was_cut_anywhere_is_refused_with_what_is_wrong() {
    for length in 0..MIXED.len() {
        let error = read(&MIXED[..length], "").unwrap_err();
        assert!(length < 2 || matches!(error, LogicError::Archive(_)), "{length}: {error}");
        assert!(error.to_string().len() > 20);
    }
}
