//! The page of a virtual machine's clock: what the hypervisor says of the guest's counter (`include/uapi/linux/vmclock-abi.h`,
//! Linux 6.13 and newer).
//!
//! Its disruption marker changes when the counter was disrupted, as by a live migration or a restored snapshot: whatever was
//! learned of the clock before is void then. The device's own reading (`/dev/vmclock0`) is taken between two equal, even
//! sequence numbers by the kernel; where the page was copied otherwise, an odd number says that it was being written.
//!
//! ```text
//! 0 magic "VCLK"  4 size (u32)  8 version (u16)  10 counter (u8)  11 kind of time (u8)  12 sequence (u32)
//! 16 disruption marker (u64)  24 flags (u64)  34 status (u8)  36 TAI less UTC (i16 s)
//! 40 counter  48 period  56 and 64 its errors  72 s  80 2^-64 s  88 estimated error (ns)  96 largest error (ns)
//! ```
//! All numbers are little-endian.

/// Bytes of the form that every version has.
pub const BYTES: usize = 104;
const MAGIC: u32 = 0x4b4c_4356;
/// Flag: a disruption is expected within about a day, or within about an hour.
const FLAG_SOON: u64 = 1 << 1;
const FLAG_IMMINENT: u64 = 1 << 2;
const FLAG_LARGEST_ERROR: u64 = 1 << 6;

/// Why a page cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VmClockError {
    /// Fewer bytes than the form has.
    #[error("it has {0} bytes, and a page of a virtual machine's clock at least 104")]
    Short(usize),
    /// Other bytes at its start, or a version that is not known.
    #[error("it does not begin as a page of a virtual machine's clock does")]
    Foreign,
    /// It was being written.
    #[error("the hypervisor was writing it")]
    Writing,
}

/// What the hypervisor says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VmClock {
    /// Changes to another value, and never back, when the counter was disrupted.
    pub disruption_marker: u64,
    /// Whether a disruption is expected, within an hour or a day.
    pub expected: Option<Expected>,
    /// Status of the host's clock.
    pub status: HostStatus,
    /// How wrong the host says that its time is at most (ns); absent where it does not say.
    pub largest_error_ns: Option<u64>,
}

/// How soon a disruption is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expected {
    /// Within about a day.
    WithinADay,
    /// Within about an hour.
    WithinAnHour,
}

/// Status of the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostStatus {
    /// Not known, or a number that is newer than this program.
    Unknown,
    /// It is being started.
    Initializing,
    /// It is corrected.
    Synchronized,
    /// It runs on by itself.
    FreeRunning,
    /// The host does not stand for it.
    Unreliable,
}

impl VmClock {
    /// From the bytes of the page.
    ///
    /// # Errors
    /// Where they are not such a page, or were being written.
    pub fn decode(bytes: &[u8]) -> Result<Self, VmClockError> {
        let page: &[u8; BYTES] =
            bytes.get(..BYTES).and_then(|page| page.try_into().ok()).ok_or(VmClockError::Short(bytes.len()))?;
        let four = |at: usize| u32::from_le_bytes([page[at], page[at + 1], page[at + 2], page[at + 3]]);
        let eight = |at: usize| u64::from(four(at)) | u64::from(four(at + 4)) << 32;
        if four(0) != MAGIC || u16::from_le_bytes([page[8], page[9]]) != 1 {
            return Err(VmClockError::Foreign);
        }
        if four(12) % 2 == 1 {
            return Err(VmClockError::Writing);
        }
        let flags = eight(24);
        Ok(Self {
            disruption_marker: eight(16),
            expected: if flags & FLAG_IMMINENT != 0 {
                Some(Expected::WithinAnHour)
            } else {
                (flags & FLAG_SOON != 0).then_some(Expected::WithinADay)
            },
            status: match page[34] {
                1 => HostStatus::Initializing,
                2 => HostStatus::Synchronized,
                3 => HostStatus::FreeRunning,
                4 => HostStatus::Unreliable,
                _ => HostStatus::Unknown,
            },
            largest_error_ns: (flags & FLAG_LARGEST_ERROR != 0).then(|| eight(96)),
        })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A page with a marker, flags, a status and a largest error.
    fn page(sequence: u32, marker: u64, flags: u64, status: u8, largest_ns: u64) -> Vec<u8> {
        let mut bytes = vec![0; 4096];
        bytes[0..4].copy_from_slice(b"VCLK");
        bytes[4..8].copy_from_slice(&4096_u32.to_le_bytes());
        bytes[8..10].copy_from_slice(&1_u16.to_le_bytes());
        bytes[12..16].copy_from_slice(&sequence.to_le_bytes());
        bytes[16..24].copy_from_slice(&marker.to_le_bytes());
        bytes[24..32].copy_from_slice(&flags.to_le_bytes());
        bytes[34] = status;
        bytes[96..104].copy_from_slice(&largest_ns.to_le_bytes());
        bytes
    }

    #[test]
    fn a_page_is_read_where_nobody_writes_it() {
        let read = VmClock::decode(&page(2, 9, 0, 2, 7)).unwrap();
        let quiet =
            VmClock { disruption_marker: 9, expected: None, status: HostStatus::Synchronized, largest_error_ns: None };
        assert_eq!(read, quiet);
        let read = VmClock::decode(&page(2, 9, 1 << 6 | 1 << 1, 3, 7)).unwrap();
        assert_eq!((read.expected, read.largest_error_ns), (Some(Expected::WithinADay), Some(7)));
        assert_eq!(VmClock::decode(&page(2, 9, 6, 9, 0)).unwrap().expected, Some(Expected::WithinAnHour));
        assert_eq!(VmClock::decode(&page(3, 9, 0, 2, 0)), Err(VmClockError::Writing));
        assert_eq!(VmClock::decode(&page(2, 9, 0, 2, 0)[..103]), Err(VmClockError::Short(103)));
        assert_eq!(VmClock::decode(&[0; 104]), Err(VmClockError::Foreign));
    }

    proptest! {
        #[test]
        fn nothing_panics(mut bytes in prop::collection::vec(any::<u8>(), 0..128), begins in any::<bool>()) {
            if begins {
                let begin = page(2, 1, 0, 0, 0);
                bytes.splice(0..bytes.len().min(16), begin[..16].iter().copied());
            }
            let _ = VmClock::decode(&bytes);
        }
    }
}
