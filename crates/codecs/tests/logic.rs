//! Captures that sigrok-cli 0.7.2 wrote of its demonstration device: the same 20 samples of four lines in three forms.

use codecs::logic::{LogicCapture, sigrok_csv, vcd};

/// A microsecond (ps).
const US: i64 = 1_000_000;

fn edges_us(capture: &LogicCapture, channel: usize) -> Vec<(i64, bool)> {
    let spans = &capture.channels[channel].spans;
    assert_eq!(spans.len(), 1);
    spans[0].edges().map(|(at_ps, is_high)| (at_ps / US, is_high)).collect()
}

#[test]
fn three_forms_of_one_capture_have_the_same_edges() {
    let dump = vcd::parse(include_bytes!("logic/sigrok.vcd")).unwrap();
    let samples = sigrok_csv::parse(include_bytes!("logic/sigrok.csv")).unwrap();
    let changes = sigrok_csv::parse(include_bytes!("logic/sigrok-changes.csv")).unwrap();
    // Counted by hand in the samples.
    let first = [(1, false), (4, true), (8, false), (12, true), (17, false)];
    let last = [(1, false), (4, true), (9, false), (11, true), (16, false), (17, true), (19, false)];
    for capture in [&dump, &samples, &changes] {
        let names: Vec<&str> = capture.channels.iter().map(|channel| channel.name.as_str()).collect();
        assert_eq!((names, capture.resolution_ps), (vec!["D0", "D1", "D2", "D3"], Some(US)));
    }
    for capture in [&dump, &samples] {
        assert_eq!((edges_us(capture, 0), edges_us(capture, 3)), (first.to_vec(), last.to_vec()));
        assert_eq!(capture.channels[1].spans[0].edges_ps, samples.channels[1].spans[0].edges_ps);
    }
    // Its times are those of the ends of the samples: one sample later, on all lines.
    assert_eq!(edges_us(&changes, 0), first.map(|(at, is_high)| (at + 1, is_high)));
    assert_eq!(edges_us(&changes, 3), last.map(|(at, is_high)| (at + 1, is_high)));
}
