//! Where packed pieces stand in their stream, and the worst of each.

use super::bits::{BitReader, BitWriter, Damaged, folded, length, put_varint, take_bytes, take_varint};

/// The most pieces in one pack.
const MOST_HEADS: u64 = 1 << 16;

/// Bytes of a place in a chain that are kept: they tell apart the histories of one node, which nobody else can write, and 2^48 of them
/// are enough for that.
pub(crate) const SHORT_HASH_BYTES: usize = 6;

/// A piece in a pack: it follows on the one before it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PackedHead {
    /// Its sequences.
    pub(crate) count: u64,
    /// The beginning of the place in the chain after it.
    pub(crate) after: [u8; SHORT_HASH_BYTES],
    /// Those within it, where several sequences were merged and they are known.
    pub(crate) within: Vec<[u8; SHORT_HASH_BYTES]>,
    /// The number of its kind.
    pub(crate) kind: u8,
}

/// Writes heads.
pub(crate) fn heads_to_bytes(heads: &[PackedHead]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity((SHORT_HASH_BYTES + 2) * heads.len());
    put_varint(&mut bytes, u64::try_from(heads.len()).unwrap_or(u64::MAX));
    for head in heads {
        // Most are of one sequence: one byte for kind and count.
        put_varint(&mut bytes, (head.count - 1) << 4 | u64::from(head.kind & 0xf));
        bytes.extend(head.after);
        if head.count > 1 {
            put_varint(&mut bytes, u64::try_from(head.within.len()).unwrap_or(u64::MAX));
            head.within.iter().for_each(|place| bytes.extend(place));
        }
    }
    bytes
}

/// Reads heads.
pub(crate) fn heads_from_bytes(mut bytes: &[u8]) -> Result<Vec<PackedHead>, Damaged> {
    let count = take_varint(&mut bytes)?;
    if count > MOST_HEADS {
        return Err(Damaged);
    }
    let place = |bytes: &mut &[u8]| take_bytes(bytes, SHORT_HASH_BYTES as u64)?.try_into().map_err(|_| Damaged);
    let head = |_| {
        let word = take_varint(&mut bytes)?;
        let after = place(&mut bytes)?;
        let kind = u8::try_from(word & 0xf).map_err(|_| Damaged)?;
        let count = (word >> 4) + 1;
        let places = if count > 1 { take_varint(&mut bytes)? } else { 0 };
        if places >= count {
            return Err(Damaged);
        }
        let within = (0..places).map(|_| place(&mut bytes)).collect::<Result<_, Damaged>>()?;
        Ok(PackedHead { count, after, within, kind })
    };
    (0..count).map(head).collect()
}

/// Writes numbers that are about as long as each other.
pub(crate) fn numbers_to_bytes(numbers: &[i64]) -> Vec<u8> {
    let mut bits = BitWriter::default();
    bits.number(u64::try_from(numbers.len()).unwrap_or(u64::MAX), 9);
    let mut expected = 16;
    for number in numbers {
        bits.signed(*number, expected);
        expected = length(folded(*number));
    }
    bits.finish()
}

/// Reads numbers.
pub(crate) fn numbers_from_bytes(bytes: &[u8]) -> Result<Vec<i64>, Damaged> {
    let mut bits = BitReader::new(bytes);
    let count = bits.number(9)?;
    if count > MOST_HEADS {
        return Err(Damaged);
    }
    let mut expected = 16;
    let number = |_| {
        let number = bits.signed(expected)?;
        expected = length(folded(number));
        Ok(number)
    };
    (0..count).map(number).collect()
}
