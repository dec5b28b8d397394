//! The memory that the fbclock daemon of facebook/time shares: a hardware clock that PTP steers, and how wrong it can be.
//!
//! Both of its forms are read, as `fbclock.h` of 2026 has them, in the byte order of the machine. The first has a checksum over
//! its first three numbers (CRC-32C on x86-64 and arm64). The second has two sections, each behind a counter that is odd while the
//! daemon writes, and holds with the hardware clock the reading of a system clock at that moment, so that nobody else has to read
//! the hardware clock.
//!
//! ```text
//! data, version 1: 0 last Sync (i64 ns)  8 error bound (u32 ns)  12 growth (u32, 2^-16 ns a second)
//!                  16 smear start (u64 s)  24 smear end (u64 s)  32 TAI less UTC before (i32 s)  36 and after
//! data, version 2: 0, 8, 12, 16 as above  24 TAI less UTC before (i16 s)  26 and after  28 system clock (u32)
//!                  32 hardware clock (i64 ns)  40 system clock (i64 ns)  48 rate (i64 ppb)
//! memory, version 1: 0 checksum (u64)  8 data
//! memory, version 2: 0 counter (u64)  8 data  64 counter (u64)  72 data
//! ```

/// Bytes of the memory in its first version.
pub const BYTES_1: usize = 48;
/// Bytes of one section of the memory in its second version.
pub const SECTION_BYTES: usize = 64;
/// The daemon renews its data a hundred times a second; after this it is gone (ns).
const STALE_NS: i64 = 1_000_000_000;
/// TAI less UTC where the memory does not say it: since 2017.
const TAI_LESS_UTC_S: i64 = 37;
/// How long a leap second is smeared (s), from the start that the second version states.
const SMEAR_S: u64 = 62_500;

/// Why nothing can be read from the shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FbClockError {
    /// Fewer bytes than the form has.
    #[error("it has {bytes} bytes, and fbclock's shared memory at least {least}")]
    Short {
        /// The bytes that there are.
        bytes: usize,
        /// The least of the form.
        least: usize,
    },
    /// It was being written, or was changed by another.
    #[error("its checksum or counter does not fit: it was being written, or is not fbclock's")]
    Torn,
    /// The daemon has no time to state.
    #[error("the fbclock daemon has no time to state yet")]
    Empty,
    /// The error is larger than the memory can say.
    #[error("the fbclock daemon states no bound on its error: it is too large")]
    TooLarge,
    /// The daemon has not written for too long.
    #[error("the fbclock daemon has not renewed its data for more than a second")]
    Stale,
    /// The clock that is read stands before what the daemon saw of it.
    #[error("a clock was set back since the fbclock daemon read it")]
    SetBack,
    /// A clock that no daemon uses.
    #[error("fbclock's data are by a system clock that is not known here ({0})")]
    Clock(u32),
    /// A leap second is being spread over hours, so that UTC is not defined to the second.
    #[error("a leap second is being smeared")]
    Smearing,
    /// A value that no daemon writes.
    #[error("a value of fbclock's data is out of range")]
    Range,
}

/// A system clock with which the hardware clock was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadBy {
    /// `CLOCK_REALTIME`.
    Realtime,
    /// `CLOCK_MONOTONIC_RAW`.
    MonotonicRaw,
}

/// How the hardware clock stood at one moment of a system clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Anchor {
    /// Which system clock.
    pub by: ReadBy,
    /// The hardware clock (ns of TAI).
    pub phc_ns: i64,
    /// The system clock (ns).
    pub system_ns: i64,
    /// How much faster the hardware clock runs (parts per billion).
    pub rate_ppb: i64,
}

/// What the daemon wrote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FbClock {
    /// When the last Sync came (ns of the hardware clock, in TAI).
    pub last_sync_ns: i64,
    /// How wrong the hardware clock was then at most (ns).
    pub error_bound_ns: u32,
    /// How much that grows in a second (2^-16 ns).
    growth: u32,
    /// When a leap second begins and ends to be smeared (s of TAI).
    smear_s: (u64, u64),
    /// TAI less UTC before and after it (s).
    tai_less_utc_s: (i64, i64),
    /// How the hardware clock stood; the second version alone.
    pub anchor: Option<Anchor>,
}

/// Bytes that may be missing, at their places.
struct Numbers<'a>(&'a [u8]);

impl Numbers<'_> {
    fn at<const N: usize>(&self, place: usize) -> [u8; N] {
        self.0.get(place..place + N).and_then(|bytes| bytes.try_into().ok()).unwrap_or([0; N])
    }

    fn u64(&self, place: usize) -> u64 {
        u64::from_ne_bytes(self.at(place))
    }

    fn i64(&self, place: usize) -> i64 {
        i64::from_ne_bytes(self.at(place))
    }

    fn u32(&self, place: usize) -> u32 {
        u32::from_ne_bytes(self.at(place))
    }
}

/// CRC-32C over eight bytes, lowest first, without a last inversion: the processors' own instruction.
fn crc32c(crc: u32, value: u64) -> u32 {
    value.to_le_bytes().into_iter().fold(crc, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| if crc & 1 == 1 { crc >> 1 ^ 0x82f6_3b78 } else { crc >> 1 })
    })
}

impl FbClock {
    /// From the bytes of the first version.
    ///
    /// # Errors
    /// Where they are too few, do not fit their checksum, or state nothing.
    pub fn decode_1(bytes: &[u8]) -> Result<Self, FbClockError> {
        let numbers = Numbers(bytes.get(..BYTES_1).ok_or(FbClockError::Short { bytes: bytes.len(), least: BYTES_1 })?);
        let data = Numbers(&numbers.0[8..]);
        let covered = [data.u64(0), u64::from(data.u32(8)), u64::from(data.u32(12))];
        let sum = covered.into_iter().fold(u32::MAX, crc32c) ^ u32::MAX;
        if numbers.u64(0) != u64::from(sum) {
            return Err(FbClockError::Torn);
        }
        let offset_s = |place: usize| i64::from(i32::from_ne_bytes(data.at(place)));
        Self {
            last_sync_ns: data.i64(0),
            error_bound_ns: data.u32(8),
            growth: data.u32(12),
            smear_s: (data.u64(16), data.u64(24)),
            tai_less_utc_s: (offset_s(32), offset_s(36)),
            anchor: None,
        }
        .stated()
    }

    /// From the bytes of a section of the second version, taken twice, one after the other.
    ///
    /// # Errors
    /// Where they are too few, differ or were being written, or state nothing.
    pub fn decode_2(section: &[u8], again: &[u8]) -> Result<Self, FbClockError> {
        let short = FbClockError::Short { bytes: section.len(), least: SECTION_BYTES };
        let numbers = Numbers(section.get(..SECTION_BYTES).ok_or(short)?);
        let data = Numbers(&numbers.0[8..]);
        let counter = numbers.u64(0);
        if counter % 2 == 1 || again.get(..SECTION_BYTES) != Some(numbers.0) {
            return Err(FbClockError::Torn);
        }
        if counter == 0 {
            return Err(FbClockError::Empty);
        }
        let offset_s = |place: usize| i64::from(i16::from_ne_bytes(data.at(place)));
        let start_s = data.u64(16);
        let by = match data.u32(28) {
            0 => ReadBy::Realtime,
            4 => ReadBy::MonotonicRaw,
            other => return Err(FbClockError::Clock(other)),
        };
        let anchor = Anchor { by, phc_ns: data.i64(32), system_ns: data.i64(40), rate_ppb: data.i64(48) };
        if anchor.phc_ns == 0 || anchor.system_ns == 0 {
            return Err(FbClockError::Empty);
        }
        Self {
            last_sync_ns: data.i64(0),
            error_bound_ns: data.u32(8),
            growth: data.u32(12),
            smear_s: (start_s, start_s.saturating_add(SMEAR_S)),
            tai_less_utc_s: (offset_s(24), offset_s(26)),
            anchor: Some(anchor),
        }
        .stated()
    }

    fn stated(self) -> Result<Self, FbClockError> {
        if self.error_bound_ns == 0 || self.last_sync_ns == 0 {
            Err(FbClockError::Empty)
        } else if self.error_bound_ns == u32::MAX || self.growth == u32::MAX {
            Err(FbClockError::TooLarge)
        } else {
            Ok(self)
        }
    }

    /// The hardware clock at a moment of the system clock by which the daemon read it (ns of TAI).
    ///
    /// # Errors
    /// Where the daemon has not written for too long, or a clock was set back.
    pub fn phc_at(&self, anchor: Anchor, system_ns: i64) -> Result<i64, FbClockError> {
        let passed_ns = system_ns.checked_sub(anchor.system_ns).ok_or(FbClockError::Range)?;
        if passed_ns < 0 {
            return Err(FbClockError::SetBack);
        }
        if passed_ns > STALE_NS {
            return Err(FbClockError::Stale);
        }
        let gained_ns = i128::from(passed_ns) * i128::from(anchor.rate_ppb) / 1_000_000_000;
        let phc_ns = i128::from(anchor.phc_ns) + i128::from(passed_ns) + gained_ns;
        i64::try_from(phc_ns).map_err(|_| FbClockError::Range)
    }

    /// How wrong the hardware clock can be when it reads `phc_ns` (ns), rounded up.
    ///
    /// # Errors
    /// Where it stands before the last Sync.
    pub fn error_at(&self, phc_ns: i64) -> Result<u64, FbClockError> {
        let age_ns = phc_ns.checked_sub(self.last_sync_ns).and_then(|age| u64::try_from(age).ok());
        let age_ns = age_ns.ok_or(FbClockError::SetBack)?;
        let grown_ns = (u128::from(age_ns) * u128::from(self.growth)).div_ceil(65_536 * 1_000_000_000);
        Ok(u64::try_from(u128::from(self.error_bound_ns) + grown_ns).unwrap_or(u64::MAX))
    }

    /// The hardware clock as UTC (ns since 1970).
    ///
    /// # Errors
    /// Where a leap second is being smeared at that moment.
    pub fn utc_ns(&self, phc_ns: i64) -> Result<i64, FbClockError> {
        let (before_s, after_s) = self.tai_less_utc_s;
        let less_s = if (before_s, after_s) == (0, 0) {
            TAI_LESS_UTC_S
        } else {
            let (start_s, end_s) = self.smear_s;
            let now_s = u64::try_from(phc_ns).map_err(|_| FbClockError::Range)? / 1_000_000_000;
            if now_s > end_s {
                after_s
            } else if now_s < start_s {
                before_s
            } else {
                return Err(FbClockError::Smearing);
            }
        };
        less_s.checked_mul(1_000_000_000).and_then(|less_ns| phc_ns.checked_sub(less_ns)).ok_or(FbClockError::Range)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PHC_NS: i64 = 1_700_000_037_500_000_000;

    fn data_1(error_bound_ns: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(PHC_NS.to_ne_bytes());
        bytes.extend(error_bound_ns.to_ne_bytes());
        // 100 ns a second.
        bytes.extend((100_u32 << 16).to_ne_bytes());
        bytes.extend(1_483_228_836_u64.to_ne_bytes());
        bytes.extend(1_483_291_336_u64.to_ne_bytes());
        bytes.extend(36_i32.to_ne_bytes());
        bytes.extend(37_i32.to_ne_bytes());
        bytes
    }

    fn written_1(error_bound_ns: u32) -> Vec<u8> {
        let data = data_1(error_bound_ns);
        let covered = [PHC_NS.unsigned_abs(), u64::from(error_bound_ns), u64::from(100_u32 << 16)];
        let sum = covered.into_iter().fold(u32::MAX, crc32c) ^ u32::MAX;
        let mut bytes = u64::from(sum).to_ne_bytes().to_vec();
        bytes.extend(data);
        bytes
    }

    fn written_2(counter: u64, clock: u32) -> Vec<u8> {
        let mut bytes = counter.to_ne_bytes().to_vec();
        bytes.extend(&data_1(900)[..24]);
        bytes.extend(36_i16.to_ne_bytes());
        bytes.extend(37_i16.to_ne_bytes());
        bytes.extend(clock.to_ne_bytes());
        bytes.extend((PHC_NS + 1_000_000).to_ne_bytes());
        bytes.extend(5_000_000_000_i64.to_ne_bytes());
        bytes.extend((-20_000_i64).to_ne_bytes());
        bytes
    }

    #[test]
    fn the_checksum_is_the_processors() {
        // CRC-32C of "123456789" is e3069283; of its first eight letters, without the last inversion, this.
        let first_eight = crc32c(u32::MAX, u64::from_le_bytes(*b"12345678"));
        assert_eq!(first_eight ^ u32::MAX, 0x6087_809a);
    }

    #[test]
    fn the_first_version_is_read_where_its_checksum_fits() {
        let read = FbClock::decode_1(&written_1(900)).unwrap();
        assert_eq!((read.last_sync_ns, read.error_bound_ns, read.anchor), (PHC_NS, 900, None));
        assert_eq!(read.error_at(PHC_NS + 2_000_000_000), Ok(1_100));
        assert_eq!(read.error_at(PHC_NS - 1), Err(FbClockError::SetBack));
        assert_eq!(read.utc_ns(PHC_NS), Ok(PHC_NS - 37_000_000_000));
        let mut torn = written_1(900);
        torn[16] ^= 1;
        assert_eq!(FbClock::decode_1(&torn), Err(FbClockError::Torn));
        assert_eq!(FbClock::decode_1(&torn[..40]), Err(FbClockError::Short { bytes: 40, least: BYTES_1 }));
        assert_eq!(FbClock::decode_1(&written_1(0)), Err(FbClockError::Empty));
        assert_eq!(FbClock::decode_1(&written_1(u32::MAX)), Err(FbClockError::TooLarge));
    }

    #[test]
    fn the_second_version_follows_the_hardware_clock_by_a_system_clock() {
        let bytes = written_2(8, 4);
        let read = FbClock::decode_2(&bytes, &bytes).unwrap();
        let anchor = read.anchor.unwrap();
        assert_eq!(anchor.by, ReadBy::MonotonicRaw);
        // Half a second later, 20 ppm slow.
        assert_eq!(read.phc_at(anchor, 5_500_000_000), Ok(PHC_NS + 1_000_000 + 500_000_000 - 10_000));
        assert_eq!(read.phc_at(anchor, 4_999_999_999), Err(FbClockError::SetBack));
        assert_eq!(read.phc_at(anchor, 6_000_000_001), Err(FbClockError::Stale));
        let odd = written_2(9, 4);
        assert_eq!(FbClock::decode_2(&odd, &odd), Err(FbClockError::Torn));
        assert_eq!(FbClock::decode_2(&bytes, &written_2(10, 4)), Err(FbClockError::Torn));
        let empty = written_2(0, 4);
        assert_eq!(FbClock::decode_2(&empty, &empty), Err(FbClockError::Empty));
        let other = written_2(8, 7);
        assert_eq!(FbClock::decode_2(&other, &other), Err(FbClockError::Clock(7)));
    }

    #[test]
    fn utc_is_not_told_while_a_leap_second_is_smeared() {
        let read = FbClock { smear_s: (2_000, 3_000), ..FbClock::decode_1(&written_1(900)).unwrap() };
        assert_eq!(read.utc_ns(1_999_000_000_000), Ok(1_963_000_000_000));
        assert_eq!(read.utc_ns(3_001_000_000_000), Ok(2_964_000_000_000));
        assert_eq!(read.utc_ns(2_500_000_000_000), Err(FbClockError::Smearing));
        let unknown = FbClock { tai_less_utc_s: (0, 0), ..read };
        assert_eq!(unknown.utc_ns(2_500_000_000_000), Ok(2_463_000_000_000));
    }

    proptest! {
        #[test]
        fn nothing_panics(bytes in prop::collection::vec(any::<u8>(), 0..130), at in any::<i64>(), system_ns in any::<i64>()) {
            for read in [FbClock::decode_1(&bytes), FbClock::decode_2(&bytes, &bytes)].into_iter().flatten() {
                let _ = (read.error_at(at), read.utc_ns(at));
                if let Some(anchor) = read.anchor {
                    let _ = read.phc_at(anchor, system_ns);
                }
            }
        }
    }
}
