//! The binary export of Saleae's Logic 2, versions 0 and 1, of one digital channel (Saleae, "Binary Export Format - Version 0" and
//! "Binary and CSV Export Formats - 2025 Update"). All of it is little-endian; moments are doubles of seconds.
//!
//! ```text
//! 0 "<SALEAE>"  8 version (i32)  12 kind (i32: 0 levels, 1 voltages)
//! version 0: first level (u32), begin, end (f64 s), count (u64), then so many moments (f64 s)
//! version 1: count of chunks (u64), each: first level (u32), samples a second, begin, end (f64), count (u64), then so many moments
//! ```
//!
//! Between two chunks nothing is known. The level changes at each moment.

use super::{BACKWARDS, LogicCapture, LogicChannel, LogicError, LogicSpan, PS};

const MAGIC: &[u8; 8] = b"<SALEAE>";

/// Reads a file; the channel's name stands nowhere in it, and is that of the file.
///
/// # Errors
/// With the byte, where it is no such file, is cut off, or says what cannot be.
pub fn parse(bytes: &[u8], name: &str) -> Result<LogicCapture, LogicError> {
    let mut rest = Rest { bytes, at: 0 };
    if rest.take::<8>("its head").ok() != Some(*MAGIC) {
        return Err(LogicError::Foreign("a binary export of Saleae's Logic 2"));
    }
    let version = i32::from_le_bytes(rest.take("its version")?);
    if !matches!(version, 0 | 1) {
        return Err(LogicError::Version(version));
    }
    match i32::from_le_bytes(rest.take("its kind")?) {
        0 => {}
        1 => return Err(LogicError::Analog),
        other => return Err(rest.wrong(4, format!("kind {other} is neither levels (0) nor voltages (1)"))),
    }
    let chunks = if version == 0 { 1 } else { rest.count("the number of chunks")? };
    let mut channel = LogicChannel { name: name.to_owned(), spans: Vec::new() };
    let mut resolution_ps = None;
    for _ in 0..chunks {
        let (span, rate) = chunk(&mut rest, version)?;
        if channel.spans.last().is_some_and(|before| before.until_ps > span.from_ps) {
            return Err(rest.wrong(0, format!("a chunk that begins before the end of the one before: {BACKWARDS}")));
        }
        resolution_ps = resolution_ps.max(rate);
        channel.spans.push(span);
    }
    match rest.bytes.len() - rest.at {
        0 => Ok(LogicCapture { channels: vec![channel], resolution_ps }),
        more => Err(LogicError::Rest(more)),
    }
}

/// A chunk, and the time from sample to sample (ps) where it says that.
fn chunk(rest: &mut Rest<'_>, version: i32) -> Result<(LogicSpan, Option<i64>), LogicError> {
    let begins_high = match u32::from_le_bytes(rest.take("a chunk's first level")?) {
        0 => false,
        1 => true,
        other => return Err(rest.wrong(4, format!("a first level of {other} is neither 0 nor 1"))),
    };
    let mut period_ps = None;
    if version == 1 {
        let rate = f64::from_le_bytes(rest.take("a chunk's sample rate")?);
        if !(rate.is_finite() && rate > 0.0) {
            return Err(rest.wrong(8, format!("{rate} samples a second")));
        }
        // Rounded up, since it bounds an error; but not for what a double adds to a whole number.
        let period = (units::approx_f64_i64(PS) / rate - 1e-6).ceil().max(1.0);
        if period > 9.0e18 {
            return Err(rest.wrong(8, format!("{rate} samples a second")));
        }
        period_ps = Some(units::round_i64(period));
    }
    let from_ps = rest.moment("a chunk's begin")?;
    let until_ps = rest.moment("a chunk's end")?;
    if until_ps < from_ps {
        return Err(rest.wrong(8, "a chunk ends before it begins".to_owned()));
    }
    let count = rest.count("a chunk's number of edges")?;
    // Before room is made for them.
    let begin = rest.at;
    let moments = usize::try_from(count)
        .ok()
        .and_then(|count| rest.bytes.get(begin..begin.checked_add(count.checked_mul(8)?)?))
        .ok_or(LogicError::Short { bytes: rest.bytes.len(), what: "a chunk's edges" })?;
    let mut edges_ps = Vec::with_capacity(moments.len() / 8);
    let mut before_ps = from_ps;
    for (number, moment) in moments.chunks_exact(8).enumerate() {
        let at = begin + 8 * number;
        let seconds = f64::from_le_bytes(moment.try_into().unwrap_or_default());
        let at_ps = ps_of(seconds).ok_or_else(|| LogicError::Byte { at, what: out_of_range(seconds) })?;
        if at_ps < before_ps || at_ps > until_ps {
            let what = format!("edge {number} lies outside of its chunk, or {BACKWARDS}");
            return Err(LogicError::Byte { at, what });
        }
        before_ps = at_ps;
        edges_ps.push(at_ps);
    }
    rest.at = begin + moments.len();
    Ok((LogicSpan { from_ps, until_ps, begins_high, edges_ps }, period_ps))
}

/// What was not read yet.
struct Rest<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Rest<'_> {
    fn take<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], LogicError> {
        let taken = self.bytes.get(self.at..).and_then(<[u8]>::first_chunk::<N>);
        let taken = *taken.ok_or(LogicError::Short { bytes: self.bytes.len(), what })?;
        self.at += N;
        Ok(taken)
    }

    fn count(&mut self, what: &'static str) -> Result<u64, LogicError> {
        Ok(u64::from_le_bytes(self.take(what)?))
    }

    fn moment(&mut self, what: &'static str) -> Result<i64, LogicError> {
        let seconds = f64::from_le_bytes(self.take(what)?);
        ps_of(seconds).ok_or_else(|| self.wrong(8, out_of_range(seconds)))
    }

    /// An error of what was read `back` bytes ago.
    const fn wrong(&self, back: usize, what: String) -> LogicError {
        LogicError::Byte { at: self.at - back, what }
    }
}

fn out_of_range(seconds: f64) -> String {
    format!("{seconds} s is no moment of a capture")
}

/// A moment, where it is one (ps).
fn ps_of(seconds: f64) -> Option<i64> {
    let ps = (seconds * units::approx_f64_i64(PS)).round();
    // Beyond that, doubles of seconds say nothing of nanoseconds.
    (ps.abs() < 9.0e18).then(|| units::round_i64(ps))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn head(version: i32, kind: i32) -> Vec<u8> {
        [&MAGIC[..], &version.to_le_bytes(), &kind.to_le_bytes()].concat()
    }

    fn put_chunk(bytes: &mut Vec<u8>, rate: Option<f64>, first: u32, (begin, end): (f64, f64), edges: &[f64]) {
        bytes.extend(first.to_le_bytes());
        bytes.extend(rate.iter().flat_map(|rate| rate.to_le_bytes()));
        bytes.extend([begin, end].iter().flat_map(|at| at.to_le_bytes()));
        bytes.extend((edges.len() as u64).to_le_bytes());
        bytes.extend(edges.iter().flat_map(|at| at.to_le_bytes()));
    }

    fn version_0() -> Vec<u8> {
        let mut bytes = head(0, 0);
        put_chunk(&mut bytes, None, 1, (-0.5, 2.0), &[0.0, 0.000_000_002, 1.25]);
        bytes
    }

    fn version_1() -> Vec<u8> {
        let mut bytes = head(1, 0);
        bytes.extend(2_u64.to_le_bytes());
        put_chunk(&mut bytes, Some(5e8), 0, (0.0, 1.0), &[0.5]);
        put_chunk(&mut bytes, Some(2.5e8), 1, (3.0, 4.0), &[]);
        bytes
    }

    #[test]
    fn both_versions_give_their_edges_and_a_gap_parts_two_chunks() {
        let read = parse(&version_0(), "digital_0").unwrap();
        let channel = &read.channels[0];
        assert_eq!((channel.name.as_str(), read.resolution_ps), ("digital_0", None));
        assert_eq!((channel.spans[0].from_ps, channel.spans[0].until_ps), (-PS / 2, 2 * PS));
        let edges: Vec<_> = channel.spans[0].edges().collect();
        assert_eq!(edges, [(0, false), (2_000, true), (5 * PS / 4, false)]);
        let read = parse(&version_1(), "").unwrap();
        assert_eq!(read.resolution_ps, Some(4_000), "the coarser of two rates");
        let of_rate = |rate: f64| {
            let mut bytes = head(1, 0);
            bytes.extend(1_u64.to_le_bytes());
            put_chunk(&mut bytes, Some(rate), 0, (0.0, 1.0), &[]);
            parse(&bytes, "digital_0").map(|read| read.resolution_ps)
        };
        assert_eq!((of_rate(24e6), of_rate(4e12)), (Ok(Some(41_667)), Ok(Some(1))), "an error is not rounded down");
        assert!(of_rate(1e-9).is_err());
        let spans = &read.channels[0].spans;
        assert_eq!((spans.len(), spans[0].until_ps, spans[1].from_ps, spans[1].begins_high), (2, PS, 3 * PS, true));
    }

    #[test]
    fn what_is_cut_off_foreign_or_contradictory_is_refused_with_its_byte() {
        let said = |bytes: &[u8]| parse(bytes, "").unwrap_err().to_string();
        assert_eq!(said(b"Time [s],D0"), "it does not begin as a binary export of Saleae's Logic 2 does");
        assert_eq!(said(&head(2, 0)), "version 2 of Saleae's binary form is not known here: 0 and 1 are");
        assert_eq!(said(&head(0, 1)), LogicError::Analog.to_string());
        let whole = version_0();
        assert_eq!(
            said(&whole[..whole.len() - 1]),
            format!("it ends at byte {}, within a chunk's edges: it was cut off", whole.len() - 1)
        );
        assert_eq!(said(&[&whole[..], &[0]].concat()), "1 bytes follow its end");
        let mut late = head(0, 0);
        put_chunk(&mut late, None, 0, (0.0, 1.0), &[0.5, 0.4]);
        assert!(said(&late).starts_with("byte 52: edge 1 lies outside of its chunk"), "{}", said(&late));
        let mut huge = head(0, 0);
        huge.extend(0_u32.to_le_bytes());
        huge.extend([0.0_f64, 1.0].iter().flat_map(|at| at.to_le_bytes()));
        huge.extend(u64::MAX.to_le_bytes());
        assert!(said(&huge).contains("within a chunk's edges"), "no room is made for what is not there");
    }

    proptest! {
        #[test]
        fn damaged_files_never_make_it_panic(at in 0..120_usize, byte in any::<u8>(), cut in 0..120_usize, is_1 in any::<bool>()) {
            let mut bytes = if is_1 { version_1() } else { version_0() };
            let length = bytes.len();
            bytes[at % length] = byte;
            bytes.truncate(cut.max(1));
            if let Ok(read) = parse(&bytes, "") {
                prop_assert!(read.channels[0].spans.iter().all(|span| span.edges_ps.windows(2).all(|pair| pair[0] <= pair[1])));
            }
        }
    }
}
