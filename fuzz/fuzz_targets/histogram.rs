//! Histograms: foreign text, foreign bins in every framing, and our three ways of counting against each other.
#![no_main]

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hdrhistogram::serialization::{Serializer as _, V2DeflateSerializer};
use libfuzzer_sys::arbitrary::{self, Arbitrary};
use libfuzzer_sys::fuzz_target;
use record::{Histogram, HistogramRecorder};

/// The highest value that the format holds.
const MAX_ENCODABLE: u64 = u64::MAX / 4;

#[derive(Arbitrary, Debug)]
enum Input<'a> {
    /// Any text.
    Json(&'a str),
    /// Any bins, compressed or not.
    Bins { summary: Summary, compress: bool, bytes: &'a [u8] },
    /// Bins of the right form with any content.
    Formed { summary: Summary, compress: bool, head: Head, counts: Vec<i64> },
    /// Samples, counted by every means that there is.
    Values(Vec<Sample>),
    /// Samples, counted by another program with other precision.
    Foreign { digits: u8, values: Vec<Sample> },
}

#[derive(Arbitrary, Debug)]
struct Summary {
    count: u64,
    min_ns: u64,
    max_ns: u64,
    sum_ns: u64,
    sum_squares_ns2: u128,
}

#[derive(Arbitrary, Debug)]
struct Head {
    /// Where absent, the true one.
    claimed_len: Option<u32>,
    offset: bool,
    digits: u8,
    low: u8,
    high: u64,
}

#[derive(Arbitrary, Clone, Copy, Debug)]
struct Sample {
    value: u64,
    /// Values of every magnitude are equally likely.
    shift: u8,
    count: u8,
}

impl Sample {
    fn value(self) -> u64 {
        self.value >> (self.shift % 64)
    }

    /// Few, since one by one is one of the means.
    fn count(self) -> u64 {
        u64::from(self.count % 4)
    }
}

fn json(summary: &Summary, bins: &str) -> String {
    let Summary { count, min_ns, max_ns, sum_ns, sum_squares_ns2 } = summary;
    format!(
        r#"{{"count":{count},"min_ns":{min_ns},"max_ns":{max_ns},"sum_ns":{sum_ns},"sum_squares_ns2":"{sum_squares_ns2}","encoding":"hdrhistogram-v2-deflate-base64","bins":"{bins}"}}"#
    )
}

fn read(text: &str) {
    let Ok(histogram) = serde_json::from_str::<Histogram>(text) else { return };
    use_all(&histogram);
    let written = serde_json::to_string(&histogram).expect("it has a JSON form");
    assert_eq!(serde_json::from_str::<Histogram>(&written).expect("what was written is read"), histogram);
}

fn use_all(histogram: &Histogram) {
    let _ = (histogram.mean_ns(), histogram.sd_ns(), histogram.quantiles(), histogram.count_above(histogram.sum_ns()));
    assert!(histogram.bins().all(|bin| bin.from_ns <= bin.to_ns && bin.count > 0));
    let mut twice = histogram.clone();
    twice.merge(histogram);
    assert_eq!(twice.count(), histogram.count().saturating_mul(2));
    let _ = twice.encode();
}

fn framed(compress: bool, inner: &[u8]) -> String {
    if !compress {
        return BASE64.encode(inner);
    }
    let mut packed = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(inner).expect("memory");
    let packed = packed.finish().expect("memory");
    let mut bytes = 0x1c84_9314_u32.to_be_bytes().to_vec();
    bytes.extend(u32::try_from(packed.len()).unwrap_or(u32::MAX).to_be_bytes());
    bytes.extend(packed);
    BASE64.encode(bytes)
}

fn zig_zag(counts: &[i64]) -> Vec<u8> {
    let mut out = Vec::new();
    for &count in counts {
        let mut rest = u64::from_ne_bytes(((count << 1) ^ (count >> 63)).to_ne_bytes());
        for place in 0..9 {
            if place == 8 {
                out.push(rest.to_le_bytes()[0]);
            } else if rest >> 7 == 0 {
                out.push(rest.to_le_bytes()[0]);
                break;
            } else {
                out.push(rest.to_le_bytes()[0] | 0x80);
                rest >>= 7;
            }
        }
    }
    out
}

fn formed(head: &Head, counts: &[i64]) -> Vec<u8> {
    let payload = zig_zag(counts);
    let mut bytes = 0x1c84_9313_u32.to_be_bytes().to_vec();
    bytes.extend(head.claimed_len.unwrap_or(u32::try_from(payload.len()).unwrap_or(u32::MAX)).to_be_bytes());
    bytes.extend(u32::from(head.offset).to_be_bytes());
    bytes.extend(u32::from(head.digits % 8).to_be_bytes());
    bytes.extend(u64::from(head.low).to_be_bytes());
    bytes.extend(head.high.to_be_bytes());
    bytes.extend(1.0_f64.to_be_bytes());
    bytes.extend(payload);
    bytes
}

fn by_value(samples: &[Sample]) -> Histogram {
    let mut compact = Histogram::new();
    for sample in samples {
        compact.record_n(sample.value(), sample.count());
    }
    compact
}

fn counted_alike(samples: &[Sample]) {
    let compact = by_value(samples);
    let mut recorder = HistogramRecorder::new();
    let (mut left, mut right) = (HistogramRecorder::new(), HistogramRecorder::new());
    for (place, sample) in samples.iter().enumerate() {
        let half = if place % 2 == 0 { &mut left } else { &mut right };
        for _ in 0..sample.count() {
            recorder.record(sample.value());
            half.record(sample.value());
        }
    }
    assert_eq!(recorder.snapshot(), compact);
    assert_eq!(counted_in_runs(samples).snapshot(), compact);
    let mut halves = left.snapshot();
    halves.merge(&right.snapshot());
    assert_eq!(halves, compact);
    use_all(&compact);
    let written = serde_json::to_string(&compact).expect("it has a JSON form");
    let again: Histogram = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(again.count(), compact.count());
    if compact.max_ns().is_none_or(|max| max <= MAX_ENCODABLE) {
        assert_eq!(again, compact);
    }
}

/// As the drain does it: one by itself, then as many as are common.
fn counted_in_runs(samples: &[Sample]) -> HistogramRecorder {
    let values: Vec<u64> = samples.iter().flat_map(|sample| (0..sample.count()).map(|_| sample.value())).collect();
    let below = samples.last().map_or(0, |sample| sample.value());
    let mut recorder = HistogramRecorder::new();
    let mut rest = values.as_slice();
    while let Some((&first, others)) = rest.split_first() {
        recorder.record(first);
        let common = recorder.record_common(others, |ns| *ns, below);
        rest = &others[common..];
    }
    recorder
}

/// Their bins of three digits and more lie within ours. Five are left out: 49 MB a try.
fn read_from_another_program(digits: u8, samples: &[Sample]) {
    let mut theirs = hdrhistogram::Histogram::<u64>::new_with_bounds(1, MAX_ENCODABLE, 3 + digits % 2).expect("bounds");
    let taken: Vec<Sample> = samples.iter().copied().filter(|s| s.value() <= MAX_ENCODABLE && s.count() > 0).collect();
    for sample in &taken {
        theirs.record_n(sample.value(), sample.count()).expect("within the bounds");
    }
    let ours = by_value(&taken);
    let (Some(min_ns), Some(max_ns)) = (ours.min_ns(), ours.max_ns()) else { return };
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(&theirs, &mut bytes).expect("memory");
    let summary = serde_json::to_value(&ours).expect("it has a JSON form");
    let sum_squares_ns2 = summary["sum_squares_ns2"].as_str().and_then(|text| text.parse().ok()).expect("digits");
    let summary = Summary { count: ours.count(), min_ns, max_ns, sum_ns: ours.sum_ns(), sum_squares_ns2 };
    let read: Histogram = serde_json::from_str(&json(&summary, &BASE64.encode(bytes))).expect("their bins are read");
    assert_eq!(read, ours);
}

fuzz_target!(|input: Input<'_>| {
    match &input {
        Input::Json(text) => read(text),
        Input::Bins { summary, compress, bytes } => read(&json(summary, &framed(*compress, bytes))),
        Input::Formed { summary, compress, head, counts } => {
            read(&json(summary, &framed(*compress, &formed(head, counts))));
            // A summary that fits, so that the bins are taken.
            let count = counts.iter().filter_map(|count| u64::try_from(*count).ok()).fold(0, u64::saturating_add);
            let at = |place: Option<usize>| place.and_then(|place| u64::try_from(place).ok()).unwrap_or(0);
            let filled = |count: &i64| *count > 0;
            let fitting = Summary {
                count,
                min_ns: at(counts.iter().position(filled)),
                max_ns: at(counts.iter().rposition(filled)),
                sum_ns: summary.sum_ns,
                sum_squares_ns2: summary.sum_squares_ns2,
            };
            read(&json(&fitting, &framed(*compress, &formed(head, counts))));
        }
        Input::Values(samples) => counted_alike(samples),
        Input::Foreign { digits, values } => read_from_another_program(*digits, values),
    }
});
