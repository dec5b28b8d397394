//! Writes frames with their timestamps as pcap files, which Wireshark and tcpdump read.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Magic number of pcap with nanoseconds (draft-ietf-opsawg-pcap, section 4). The draft allows either byte order; this
/// is the machine's.
const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const VERSION_MAJOR: u16 = 2;
const VERSION_MINOR: u16 = 4;
/// Longer than any frame, so that none is truncated (bytes).
const SNAP_LENGTH: u32 = 262_144;
/// `LINKTYPE_ETHERNET`.
const LINK_TYPE: u32 = 1;

/// A pcap file that is being written.
#[derive(Debug)]
pub(super) struct Capture<W: Write> {
    to: W,
}

impl Capture<BufWriter<File>> {
    /// Creates the file; an existing one is overwritten.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        Self::begin(BufWriter::new(File::create(path)?))
    }
}

impl<W: Write> Capture<W> {
    fn begin(mut to: W) -> io::Result<Self> {
        to.write_all(&MAGIC_NANOSECONDS.to_ne_bytes())?;
        to.write_all(&VERSION_MAJOR.to_ne_bytes())?;
        to.write_all(&VERSION_MINOR.to_ne_bytes())?;
        for field in [0, 0, SNAP_LENGTH, LINK_TYPE] {
            to.write_all(&field.to_ne_bytes())?;
        }
        Ok(Self { to })
    }

    /// Adds a frame with the timestamp `at_ns` (0 to 136 years, since seconds have 32 bits).
    pub(super) fn add(&mut self, at_ns: i64, frame: &[u8]) -> io::Result<()> {
        let bits_32 = |value: i64| u32::try_from(value).map_err(io::Error::other);
        let seconds = bits_32(at_ns.div_euclid(1_000_000_000))?;
        let nanoseconds = bits_32(at_ns.rem_euclid(1_000_000_000))?;
        let length = u32::try_from(frame.len()).map_err(io::Error::other)?;
        for field in [seconds, nanoseconds, length, length] {
            self.to.write_all(&field.to_ne_bytes())?;
        }
        self.to.write_all(frame)
    }

    /// Writes what is still buffered.
    pub(super) fn finish(mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_offsets_of_the_draft() {
        let mut capture = Capture::begin(Vec::new()).unwrap();
        capture.add(5_000_000_007, b"abcdefghijklmno").unwrap();
        let bytes = capture.to;
        let u32_at = |at: usize| u32::from_ne_bytes(bytes[at..at + 4].try_into().unwrap());
        assert_eq!(u32_at(0), 0xa1b2_3c4d);
        assert_eq!([u32_at(8), u32_at(12), u32_at(16), u32_at(20)], [0, 0, 262_144, 1]);
        assert_eq!([u32_at(24), u32_at(28), u32_at(32), u32_at(36)], [5, 7, 15, 15]);
        assert_eq!(&bytes[40..], b"abcdefghijklmno");
    }

    #[test]
    fn a_timestamp_out_of_range_is_refused() {
        let mut capture = Capture::begin(Vec::new()).unwrap();
        assert!(capture.add(-1, b"x").is_err());
        assert!(capture.add(i64::MAX, b"x").is_err());
    }
}
