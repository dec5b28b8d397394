//! The memory that ClockBound's daemon shares: how far the system clock is from true time at most, as that daemon states it
//! (ClockBound's `docs/PROTOCOL.md`, versions 1 and 2 of the shared memory).
//!
//! The daemon counts a generation up before and after each change: odd while it writes. A reader takes the header, then all of
//! it, then the header again, and decodes only what [`is_whole`] says was not written meanwhile.
//!
//! ```text
//! 0 magic (u64)   8 size (u32)  12 version (u16)  14 generation (u16)
//! 16 as of (i64 s, i64 ns)     32 void after (i64 s, i64 ns)       48 bound (i64 ns)
//! version 1: 56 largest drift (u32 ppb)  60 reserved               64 status (i32)
//! version 2: 56 disruption marker (u64)  64 largest drift (u32 ppb)  68 status (i32)  72 disruptions are watched (u8)
//! ```

/// Bytes of the header.
pub const HEADER_BYTES: usize = 16;
/// Bytes of the longest form.
pub const MOST_BYTES: usize = 80;
/// The first word: the letters "AMZNCB", in two words of 32 bits in the byte order of the machine.
const MAGIC: [u32; 2] = [0x414D_5A4E, 0x4342_0200];
/// A daemon that restarts keeps what it said for so long (`CLOCKBOUND_RESTART_GRACE_PERIOD`), in nanoseconds.
const GRACE_NS: i64 = 5_000_000_000;
/// A stamp of the coarse clock can be that much behind one of the fine clock, or the reverse: a tick at 100 Hz (ns).
const COARSE_NS: i64 = 10_000_000;
/// From here on a drift is no drift.
const MOST_DRIFT_PPB: u32 = 1_000_000_000;

/// Why a bound cannot be read from the shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ClockBoundError {
    /// Fewer bytes than the form has.
    #[error("it has {bytes} bytes, and ClockBound's shared memory at least {least}")]
    Short {
        /// The bytes that there are.
        bytes: usize,
        /// The least of the form.
        least: usize,
    },
    /// Other bytes at its start.
    #[error("it does not begin as ClockBound's shared memory does")]
    Foreign,
    /// A version that is not known.
    #[error("version {0} of ClockBound's shared memory is not known here: 1 and 2 are")]
    Version(u16),
    /// The daemon has not written anything yet.
    #[error("ClockBound's daemon has not written a bound yet")]
    Empty,
    /// A value that no daemon writes.
    #[error("its {0} is out of range")]
    Range(&'static str),
    /// The status says that nothing holds.
    #[error("ClockBound's daemon {0}")]
    NoBound(&'static str),
}

/// What the daemon wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClockBound {
    /// Version of the form: 1 or 2.
    pub version: u16,
    /// When the bound was computed (ns of `CLOCK_MONOTONIC_COARSE`).
    pub as_of_ns: i64,
    /// From when on it holds no more (ns of `CLOCK_MONOTONIC_COARSE`).
    pub void_after_ns: i64,
    /// How far `CLOCK_REALTIME` was from true time at most when it was computed (ns).
    pub bound_ns: u64,
    /// The largest drift since (parts per billion).
    pub max_drift_ppb: u32,
    /// The status as the daemon wrote it.
    pub status: ClockBoundStatus,
    /// The last disruption marker of the virtual machine's clock that the daemon saw; version 2 alone.
    pub disruption_marker: Option<u64>,
}

/// Status of the clock, as the daemon sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockBoundStatus {
    /// Not known.
    Unknown,
    /// The clock is corrected.
    Synchronized,
    /// The clock runs on by itself.
    FreeRunning,
    /// The virtual machine was moved, and nothing is known since.
    Disrupted,
}

/// Whether two headers, taken before and after the rest, belong to one state that was not being written.
#[must_use]
pub fn is_whole(before: &[u8], after: &[u8]) -> bool {
    let header = |bytes: &[u8]| bytes.get(..HEADER_BYTES).map(<[u8]>::to_vec);
    let generation = before.get(14..16).and_then(|two| two.try_into().ok()).map(u16::from_ne_bytes);
    header(before).is_some() && header(before) == header(after) && generation.is_some_and(|number| number % 2 == 0)
}

/// Reads the numbers of a form at their places.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn at<const N: usize>(&self, place: usize, least: usize) -> Result<[u8; N], ClockBoundError> {
        let short = ClockBoundError::Short { bytes: self.0.len(), least };
        self.0.get(place..place + N).and_then(|bytes| bytes.try_into().ok()).ok_or(short)
    }

    fn time_ns(&self, place: usize, what: &'static str) -> Result<i64, ClockBoundError> {
        let seconds = i64::from_ne_bytes(self.at(place, MOST_BYTES)?);
        let ns = i64::from_ne_bytes(self.at(place + 8, MOST_BYTES)?);
        if !(0..1_000_000_000).contains(&ns) || seconds < 0 {
            return Err(ClockBoundError::Range(what));
        }
        seconds.checked_mul(1_000_000_000).and_then(|whole| whole.checked_add(ns)).ok_or(ClockBoundError::Range(what))
    }
}

impl ClockBound {
    /// From the bytes of the shared memory.
    ///
    /// # Errors
    /// Where they are not what a daemon of a known version writes.
    pub fn decode(bytes: &[u8]) -> Result<Self, ClockBoundError> {
        let numbers = Numbers(bytes);
        let word = |place| numbers.at(place, HEADER_BYTES).map(u32::from_ne_bytes);
        let half = |place| numbers.at(place, HEADER_BYTES).map(u16::from_ne_bytes);
        if [word(0)?, word(4)?] != MAGIC {
            return Err(ClockBoundError::Foreign);
        }
        let (version, generation) = (half(12)?, half(14)?);
        let places = match version {
            0 => return Err(ClockBoundError::Empty),
            1 => (56, 64, None),
            2 => (64, 68, Some(56)),
            other => return Err(ClockBoundError::Version(other)),
        };
        if generation == 0 {
            return Err(ClockBoundError::Empty);
        }
        let (drift, status, marker) = places;
        let max_drift_ppb = u32::from_ne_bytes(numbers.at(drift, MOST_BYTES)?);
        if max_drift_ppb >= MOST_DRIFT_PPB {
            return Err(ClockBoundError::Range("largest drift"));
        }
        let bound_ns = i64::from_ne_bytes(numbers.at(48, MOST_BYTES)?);
        Ok(Self {
            version,
            as_of_ns: numbers.time_ns(16, "time of the bound")?,
            void_after_ns: numbers.time_ns(32, "end of the bound")?,
            bound_ns: u64::try_from(bound_ns).map_err(|_| ClockBoundError::Range("bound"))?,
            max_drift_ppb,
            status: match i32::from_ne_bytes(numbers.at(status, MOST_BYTES)?) {
                0 => ClockBoundStatus::Unknown,
                1 => ClockBoundStatus::Synchronized,
                2 => ClockBoundStatus::FreeRunning,
                3 => ClockBoundStatus::Disrupted,
                _ => return Err(ClockBoundError::Range("status")),
            },
            disruption_marker: marker.map(|place| numbers.at(place, MOST_BYTES).map(u64::from_ne_bytes)).transpose()?,
        })
    }

    /// How far the system clock can be from true time at a moment (ns), rounded up.
    ///
    /// # Errors
    /// Where the daemon says that nothing holds, or was not heard for longer than it said that its bound holds.
    pub fn bound_at(&self, monotonic_ns: i64) -> Result<u64, ClockBoundError> {
        match self.status {
            ClockBoundStatus::Unknown => return Err(ClockBoundError::NoBound("does not know the state of the clock")),
            ClockBoundStatus::Disrupted => {
                return Err(ClockBoundError::NoBound(
                    "saw that the virtual machine was moved, and knows nothing since",
                ));
            }
            ClockBoundStatus::Synchronized | ClockBoundStatus::FreeRunning => {}
        }
        let age_ns = monotonic_ns.saturating_sub(self.as_of_ns);
        if age_ns < -COARSE_NS {
            return Err(ClockBoundError::Range("time of the bound"));
        }
        if age_ns >= GRACE_NS && monotonic_ns >= self.void_after_ns {
            return Err(ClockBoundError::NoBound("has not renewed its bound in time"));
        }
        // The stamp of the coarse clock lies up to a tick before what it stands for.
        let age_ns = u128::from(u64::try_from(age_ns.max(0)).unwrap_or(0)) + u128::from(COARSE_NS.unsigned_abs());
        let grown_ns = (age_ns * u128::from(self.max_drift_ppb)).div_ceil(1_000_000_000);
        Ok(u64::try_from(u128::from(self.bound_ns) + grown_ns).unwrap_or(u64::MAX))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The bytes that a daemon of a version writes.
    fn written(version: u16, generation: u16, status: i32) -> Vec<u8> {
        let mut bytes = Vec::new();
        for word in MAGIC {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(80_u32.to_ne_bytes());
        bytes.extend(version.to_ne_bytes());
        bytes.extend(generation.to_ne_bytes());
        for (seconds, ns) in [(100_i64, 500_i64), (1_100, 0)] {
            bytes.extend(seconds.to_ne_bytes());
            bytes.extend(ns.to_ne_bytes());
        }
        bytes.extend(40_000_i64.to_ne_bytes());
        if version == 2 {
            bytes.extend(77_u64.to_ne_bytes());
        }
        bytes.extend(50_000_u32.to_ne_bytes());
        if version == 1 {
            bytes.extend(0_u32.to_ne_bytes());
        }
        bytes.extend(status.to_ne_bytes());
        bytes.resize(MOST_BYTES, 0);
        bytes
    }

    #[test]
    fn both_versions_are_read() {
        let one = ClockBound::decode(&written(1, 4, 1)).unwrap();
        assert_eq!((one.as_of_ns, one.void_after_ns), (100_000_000_500, 1_100_000_000_000));
        assert_eq!((one.bound_ns, one.max_drift_ppb, one.status), (40_000, 50_000, ClockBoundStatus::Synchronized));
        let two = ClockBound::decode(&written(2, 4, 1)).unwrap();
        assert_eq!(two, ClockBound { version: 2, disruption_marker: Some(77), ..one });
    }

    #[test]
    fn what_no_daemon_wrote_is_refused_with_its_reason() {
        let refused = |bytes: &[u8]| ClockBound::decode(bytes).unwrap_err();
        assert_eq!(refused(&[]), ClockBoundError::Short { bytes: 0, least: HEADER_BYTES });
        assert_eq!(refused(&written(2, 4, 1)[..60]), ClockBoundError::Short { bytes: 60, least: MOST_BYTES });
        assert_eq!(refused(&[0; 80]), ClockBoundError::Foreign);
        assert_eq!(refused(&written(3, 4, 1)), ClockBoundError::Version(3));
        assert_eq!(refused(&written(2, 0, 1)), ClockBoundError::Empty);
        assert_eq!(refused(&written(2, 4, 4)), ClockBoundError::Range("status"));
        let mut negative = written(2, 4, 1);
        negative[48..56].copy_from_slice(&(-1_i64).to_ne_bytes());
        assert_eq!(refused(&negative), ClockBoundError::Range("bound"));
        let mut drifts = written(2, 4, 1);
        drifts[64..68].copy_from_slice(&u32::MAX.to_ne_bytes());
        assert_eq!(refused(&drifts), ClockBoundError::Range("largest drift"));
    }

    #[test]
    fn a_bound_grows_by_the_drift_and_ends() {
        let read = ClockBound::decode(&written(2, 4, 1)).unwrap();
        // A tick of the coarse clock at 50 ppm, and 2 s of it.
        assert_eq!(read.bound_at(100_000_000_500), Ok(40_000 + 500));
        assert_eq!(read.bound_at(102_000_000_500), Ok(40_000 + 500 + 100_000));
        assert_eq!(read.bound_at(99_995_000_500), Ok(40_000 + 500));
        assert_eq!(read.bound_at(99_000_000_000), Err(ClockBoundError::Range("time of the bound")));
        assert!(read.bound_at(1_099_999_999_999).is_ok());
        assert!(matches!(read.bound_at(1_100_000_000_000), Err(ClockBoundError::NoBound(_))));
        for status in [ClockBoundStatus::Unknown, ClockBoundStatus::Disrupted] {
            assert!(matches!(
                ClockBound { status, ..read }.bound_at(100_000_000_500),
                Err(ClockBoundError::NoBound(_))
            ));
        }
        assert!(ClockBound { status: ClockBoundStatus::FreeRunning, ..read }.bound_at(102_000_000_000).is_ok());
    }

    #[test]
    fn what_is_being_written_is_not_whole() {
        let (even, odd) = (written(2, 4, 1), written(2, 5, 1));
        assert!(is_whole(&even, &even));
        assert!(!is_whole(&odd, &odd) && !is_whole(&even, &written(2, 6, 1)) && !is_whole(&even[..9], &even[..9]));
    }

    proptest! {
        #[test]
        fn nothing_panics_and_a_bound_never_shrinks(
            mut bytes in prop::collection::vec(any::<u8>(), 0..96),
            begins in any::<bool>(),
            at in any::<i64>(),
            later_ns in 0_i64..100_000_000_000,
        ) {
            if begins {
                let begin = written(2, 4, 1);
                bytes.splice(0..bytes.len().min(16), begin[..16].iter().copied());
            }
            let _ = is_whole(&bytes, &bytes);
            if let Ok(read) = ClockBound::decode(&bytes) {
                if let (Ok(now), Ok(later)) = (read.bound_at(at), read.bound_at(at.saturating_add(later_ns))) {
                    prop_assert!(read.bound_ns <= now && now <= later);
                }
            }
        }
    }
}
