//! The head of an NTP message (RFC 5905, 7.3).

/// Who sends a message of a client and its server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NtpSide {
    /// A question.
    Client,
    /// Its answer.
    Server,
}

/// What a message of a client or server says of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NtpMessage {
    /// Who sends it.
    pub side: NtpSide,
    /// Whether the sender says that it is synchronized.
    pub is_synchronized: bool,
    /// Distance of the sender from its source of time: 1 at the source, 0 for a refusal.
    pub stratum: u8,
    /// How much the sender's stamps can be wrong by their own resolution, as a power of two of seconds.
    pub precision_log2_s: i8,
    /// The announced leap second: one more, or one less.
    pub leap: (bool, bool),
    /// What the sender follows, in a form that depends on its stratum.
    pub reference_id: u32,
    /// Delay from the sender to its source of time and back (2^-16 s).
    pub root_delay: u32,
    /// Error of the sender against its source of time, as it estimates it (2^-16 s).
    pub root_dispersion: u32,
    /// What the question had as time of transmission: it tells which question is answered.
    pub origin: u64,
    /// When the question arrived (2^-32 s since 1900).
    pub receive: u64,
    /// When this message was sent (2^-32 s since 1900); clients may put any number here.
    pub transmit: u64,
}

/// Reads a message; `None` if it is no question or answer of versions 1 to 4.
#[must_use]
pub fn decode(bytes: &[u8]) -> Option<NtpMessage> {
    let head = bytes.first_chunk::<48>()?;
    let [first, stratum, _, precision, ..] = *head;
    let side = match first & 7 {
        3 => NtpSide::Client,
        4 => NtpSide::Server,
        _ => return None,
    };
    if !(1..=4).contains(&(first >> 3 & 7)) {
        return None;
    }
    let word = |at: usize| head.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_be_bytes(*bytes));
    let stamp = |at: usize| head.get(at..)?.first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes));
    let leap = first >> 6;
    Some(NtpMessage {
        side,
        is_synchronized: leap != 3 && (1..16).contains(&stratum),
        stratum,
        precision_log2_s: i8::from_be_bytes([precision]),
        leap: (leap == 1, leap == 2),
        reference_id: word(12)?,
        root_delay: word(4)?,
        root_dispersion: word(8)?,
        origin: stamp(24)?,
        receive: stamp(32)?,
        transmit: stamp(40)?,
    })
}

impl NtpMessage {
    /// How much the sender's stamps can be wrong by their own resolution (ns): chronyd fills what is below it with random bits.
    #[must_use]
    pub fn precision_ns(&self) -> i64 {
        let shift = u32::from(self.precision_log2_s.unsigned_abs()).min(40);
        if self.precision_log2_s < 0 { (1_000_000_000_i64 >> shift) + 1 } else { 1_000_000_000_i64 << shift.min(20) }
    }
}

/// Seconds from 1900 to 1970.
const TO_1970_S: i128 = 2_208_988_800;
/// Seconds in an era.
const ERA_S: i128 = 1 << 32;

/// A stamp in ns since 1970, of the era that brings it nearest to `near_ns`: its seconds begin again every 136 years. `None` for
/// 0, which means that there is none. Rounded down.
#[must_use]
pub fn stamp_ns(stamp: u64, near_ns: i64) -> Option<i64> {
    if stamp == 0 {
        return None;
    }
    let ns = |seconds: i128| seconds * 1_000_000_000;
    let fraction_ns = (i128::from(stamp & 0xffff_ffff) * 1_000_000_000) >> 32;
    let within_era = ns(i128::from(stamp >> 32) - TO_1970_S) + fraction_ns;
    let eras = (i128::from(near_ns) - within_era + ns(ERA_S) / 2).div_euclid(ns(ERA_S));
    i64::try_from(within_era + ns(ERA_S) * eras).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_of_the_era_that_is_near() {
        let second = |unix: i128| u64::try_from((unix + TO_1970_S).rem_euclid(ERA_S)).unwrap() << 32;
        for unix in [0, 1_700_000_000, 2_085_978_496, 2_200_000_000] {
            let near = i64::try_from(unix).unwrap() * 1_000_000_000 + 5_000_000_000;
            assert_eq!(stamp_ns(second(unix) | 1 << 31, near), Some(near - 4_500_000_000), "{unix}");
        }
        assert_eq!(stamp_ns(0, 0), None);
    }

    #[test]
    fn fields_are_where_the_standard_has_them() {
        let mut bytes = [0; 48];
        bytes[0] = 0b0110_0100;
        bytes[1] = 2;
        bytes[7] = 9;
        bytes[47] = 5;
        let message = decode(&bytes).unwrap();
        assert_eq!((message.side, message.stratum, message.leap), (NtpSide::Server, 2, (true, false)));
        assert_eq!((message.root_delay, message.transmit, message.is_synchronized), (9, 5, true));
        bytes[0] = 0b1110_0011;
        assert!(!decode(&bytes).unwrap().is_synchronized);
        assert_eq!(decode(&bytes[..47]), None);
        bytes[0] = 0b1110_0001;
        assert_eq!(decode(&bytes), None, "symmetric active");
    }
}
