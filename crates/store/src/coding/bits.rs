//! Numbers as few bits: what rows are made of.
//!
//! A number is written as the difference of its length in bits to an expected length, and then its bits after the leading one. Where
//! a number is as long as expected, that is as many bits as it has; a bit or two more where it is a little longer or shorter, and
//! eleven where nobody expected it.

use crate::cast::{WithSign, WithoutSign};

/// Bytes that do not say what they should: the file was damaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Damaged;

/// Differences of lengths that are written in unary are less than this; of others the length itself is written.
const FAR: u64 = 5;
/// Bits of a length: 0 to 64.
const LENGTH_BITS: u32 = 7;

/// The bits of a number without leading zeros (0 to 64).
pub(crate) const fn length(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// A number with its sign in the last bit, so that small ones of both signs are short.
pub(crate) fn folded(value: i64) -> u64 {
    (value << 1 ^ value >> 63).without_sign()
}

/// What [`folded`] made of it.
pub(crate) fn unfolded(value: u64) -> i64 {
    (value >> 1).with_sign() ^ -((value & 1).with_sign())
}

/// How many bits numbers up to this take, and how many of them take one less.
const fn evenly(most: u64) -> (u32, u64) {
    let length = length(most);
    // 2^length - (most + 1), which is less than 2^63 where the length is 64.
    let short = (u64::MAX >> (u64::BITS - if length == 0 { 1 } else { length })).wrapping_sub(most);
    (length, if length == 0 { 0 } else { short })
}

/// Writes bits, the highest of a number first.
#[derive(Debug, Default)]
pub(crate) struct BitWriter {
    bytes: Vec<u8>,
    /// Bits that are not in `bytes` yet, fewer than eight, as the lowest of a number.
    open: u32,
    open_bits: u32,
}

impl BitWriter {
    /// Writes one bit.
    pub(crate) fn bit(&mut self, is_set: bool) {
        self.few(u32::from(is_set), 1);
    }

    /// Writes the lowest `count` bits (at most 64) of a value.
    pub(crate) fn bits(&mut self, value: u64, count: u32) {
        let mut left = count.min(u64::BITS);
        while left > 0 {
            let count = left.min(8);
            left -= count;
            let part = value >> left & 0xff;
            self.few(u32::try_from(part).unwrap_or(0), count);
        }
    }

    /// Writes the lowest `count` bits, at most eight.
    fn few(&mut self, value: u32, count: u32) {
        self.open = self.open << count | value & ((1 << count) - 1);
        self.open_bits += count;
        if self.open_bits >= 8 {
            self.open_bits -= 8;
            let [byte, ..] = (self.open >> self.open_bits).to_le_bytes();
            self.bytes.push(byte);
            self.open &= (1 << self.open_bits) - 1;
        }
    }

    /// Writes a number of which `expected` bits are expected.
    pub(crate) fn number(&mut self, value: u64, expected: u32) {
        let length = length(value);
        let difference = folded(i64::from(length) - i64::from(expected));
        for _ in 0..difference.min(FAR) {
            self.bit(true);
        }
        if difference < FAR {
            self.bit(false);
        } else {
            self.bits(u64::from(length), LENGTH_BITS);
        }
        // The leading one is known.
        self.bits(value, length.saturating_sub(1));
    }

    /// Writes a number that is at most `most`, any as likely as another.
    pub(crate) fn at_most(&mut self, value: u64, most: u64) {
        let (length, short) = evenly(most);
        // The first ones take a bit less.
        if value < short {
            self.bits(value, length.saturating_sub(1));
        } else {
            self.bits(value.wrapping_add(short), length);
        }
    }

    /// Writes a number with a sign.
    pub(crate) fn signed(&mut self, value: i64, expected: u32) {
        self.number(folded(value), expected);
    }

    /// All of it, filled up with zeros.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        while self.open_bits != 0 {
            self.bit(false);
        }
        self.bytes
    }
}

/// Reads what a [`BitWriter`] wrote.
#[derive(Debug)]
pub(crate) struct BitReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> BitReader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Reads one bit.
    pub(crate) fn bit(&mut self) -> Result<bool, Damaged> {
        let byte = self.bytes.get(self.at / 8).ok_or(Damaged)?;
        let is_set = byte >> (7 - self.at % 8) & 1 == 1;
        self.at += 1;
        Ok(is_set)
    }

    /// Reads `count` bits (at most 64).
    pub(crate) fn bits(&mut self, count: u32) -> Result<u64, Damaged> {
        let mut value = 0_u64;
        let mut left = count.min(64);
        while left > 0 {
            let byte = u64::from(*self.bytes.get(self.at / 8).ok_or(Damaged)?);
            // Of this byte what is left of it, or as much as is wanted.
            let in_byte = 8 - u32::try_from(self.at % 8).map_err(|_| Damaged)?;
            let taken = in_byte.min(left);
            let part = byte >> (in_byte - taken) & ((1 << taken) - 1);
            value = value << taken | part;
            self.at += usize::try_from(taken).map_err(|_| Damaged)?;
            left -= taken;
        }
        Ok(value)
    }

    /// Reads a number of which `expected` bits were expected.
    pub(crate) fn number(&mut self, expected: u32) -> Result<u64, Damaged> {
        let mut difference = 0;
        while difference < FAR && self.bit()? {
            difference += 1;
        }
        let length = if difference < FAR {
            u32::try_from(i64::from(expected) + unfolded(difference)).map_err(|_| Damaged)?
        } else {
            u32::try_from(self.bits(LENGTH_BITS)?).map_err(|_| Damaged)?
        };
        match length {
            0 => Ok(0),
            1..=64 => Ok(1_u64 << (length - 1) | self.bits(length - 1)?),
            _ => Err(Damaged),
        }
    }

    /// Reads a number that is at most `most`.
    pub(crate) fn at_most(&mut self, most: u64) -> Result<u64, Damaged> {
        let (length, short) = evenly(most);
        let value = self.bits(length.saturating_sub(1))?;
        if value < short || length == 0 {
            return Ok(value);
        }
        Ok((value << 1 | u64::from(self.bit()?)).wrapping_sub(short))
    }

    /// Reads a number with a sign.
    pub(crate) fn signed(&mut self, expected: u32) -> Result<i64, Damaged> {
        self.number(expected).map(unfolded)
    }
}

/// Puts a number behind bytes, seven bits a byte.
pub(crate) fn put_varint(bytes: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        bytes.push(u8::try_from(value & 0x7f).unwrap_or(0) | 0x80);
        value >>= 7;
    }
    bytes.push(u8::try_from(value).unwrap_or(0));
}

/// Takes a number off the front of bytes.
pub(crate) fn take_varint(bytes: &mut &[u8]) -> Result<u64, Damaged> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (first, rest) = bytes.split_first().ok_or(Damaged)?;
        *bytes = rest;
        value |= u64::from(first & 0x7f).checked_shl(shift).ok_or(Damaged)?;
        if first & 0x80 == 0 {
            return Ok(value);
        }
    }
    Err(Damaged)
}

/// Takes so many bytes off the front of bytes.
pub(crate) fn take_bytes<'a>(bytes: &mut &'a [u8], count: u64) -> Result<&'a [u8], Damaged> {
    let count = usize::try_from(count).map_err(|_| Damaged)?;
    let (taken, rest) = bytes.split_at_checked(count).ok_or(Damaged)?;
    *bytes = rest;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn numbers_read_back(
            values in proptest::collection::vec((any::<u64>(), 0..=64_u32, 0..=64_u32, any::<i64>(), any::<bool>()), 0..40),
        ) {
            let mut writer = BitWriter::default();
            let mut varints = Vec::new();
            for (value, shift, expected, signed, bit) in &values {
                let value = value.checked_shr(*shift).unwrap_or(0);
                writer.number(value, *expected);
                writer.signed(*signed, *expected);
                writer.bit(*bit);
                writer.bits(value, length(value));
                writer.at_most(value, value.max(signed.unsigned_abs()));
                put_varint(&mut varints, value);
            }
            let bytes = writer.finish();
            let mut reader = BitReader::new(&bytes);
            let mut left = &varints[..];
            for (value, shift, expected, signed, bit) in &values {
                let value = value.checked_shr(*shift).unwrap_or(0);
                prop_assert_eq!(reader.number(*expected), Ok(value));
                prop_assert_eq!(reader.signed(*expected), Ok(*signed));
                prop_assert_eq!(reader.bit(), Ok(*bit));
                prop_assert_eq!(reader.bits(length(value)), Ok(value));
                prop_assert_eq!(reader.at_most(value.max(signed.unsigned_abs())), Ok(value));
                prop_assert_eq!(take_varint(&mut left), Ok(value));
            }
            prop_assert!(left.is_empty());
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..40), expected in 0..=64_u32) {
            let mut reader = BitReader::new(&bytes);
            while reader.number(expected).is_ok() {}
            let _ = take_varint(&mut &bytes[..]);
        }
    }

    #[test]
    fn numbers_up_to_a_bound_take_no_more_bits_than_it_has() {
        for most in [0, 1, 2, 5, 7, 8, 300] {
            let mut writer = BitWriter::default();
            (0..=most).for_each(|value| writer.at_most(value, most));
            let bytes = writer.finish();
            assert!(u64::try_from(bytes.len()).unwrap() <= ((most + 1) * u64::from(length(most))).div_ceil(8));
            let mut reader = BitReader::new(&bytes);
            assert!((0..=most).all(|value| reader.at_most(most) == Ok(value)), "up to {most}");
        }
    }

    #[test]
    fn a_number_as_long_as_expected_takes_as_many_bits_as_it_has() {
        let mut writer = BitWriter::default();
        (0..8).for_each(|_| writer.number(20_000, 15));
        assert_eq!(writer.finish().len(), 15);
    }
}
