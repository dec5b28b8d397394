//! A zlib stream (RFC 1950) of one deflate block (RFC 1951) whose bytes have codes of their own, with no repetitions.
//!
//! Counts of samples have frequent bytes and hardly any repetitions: the text of an interval is a tenth shorter by this than by
//! a compressor that looks for them, which keeps 0.3 MiB to do so.

/// Literals and the end of the block.
const SYMBOLS: usize = 257;
/// The symbol behind the last byte.
const END_OF_BLOCK: usize = 256;
/// The longest code of a literal (bits).
const LONGEST_CODE: usize = 15;
/// The longest code of the lengths of codes (bits).
const LONGEST_CODE_OF_LENGTHS: usize = 7;
/// In which order the lengths of the codes of lengths are written, RFC 1951 section 3.2.7.
const ORDER: [usize; 19] = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];

/// Compresses bytes; every reader of zlib streams reads the result.
pub(super) fn zlib(bytes: &[u8]) -> Vec<u8> {
    let mut counts = [0_u32; SYMBOLS];
    bytes.iter().for_each(|byte| counts[usize::from(*byte)] += 1);
    counts[END_OF_BLOCK] = 1;
    let lengths = code_lengths(&counts, LONGEST_CODE);
    // A window of 32 KiB, the fastest method; the two bytes are a multiple of 31.
    let mut out = Bits { bytes: vec![0x78, 0x01], held: 0, held_bits: 0 };
    // The last block, with codes of its own.
    out.push(0b101, 3);
    push_lengths(&mut out, &lengths);
    let codes = codes(&lengths);
    for symbol in bytes.iter().map(|byte| usize::from(*byte)).chain([END_OF_BLOCK]) {
        out.push(codes[symbol], lengths[symbol]);
    }
    let mut stream = out.finish();
    stream.extend(adler32(bytes).to_be_bytes());
    stream
}

/// Bits, the lowest of a byte first.
struct Bits {
    bytes: Vec<u8>,
    held: u32,
    held_bits: u8,
}

impl Bits {
    fn push(&mut self, value: u16, bits: u8) {
        self.held |= u32::from(value) << self.held_bits;
        self.held_bits += bits;
        while self.held_bits >= 8 {
            let [low, ..] = self.held.to_le_bytes();
            self.bytes.push(low);
            self.held >>= 8;
            self.held_bits -= 8;
        }
    }

    fn finish(mut self) -> Vec<u8> {
        self.push(0, 7);
        self.bytes
    }
}

/// Writes how long the codes of the literals are, and of the distances of repetitions.
fn push_lengths(out: &mut Bits, lengths: &[u8]) {
    // No repetition has a distance. zlib up to 1.2.1 reads no block without two codes for them, of one bit each.
    let all = [lengths, &[1, 1]].concat();
    let runs = runs(&all);
    let mut counts = [0_u32; ORDER.len()];
    runs.iter().for_each(|run| counts[run.symbol] += 1);
    let of_lengths = code_lengths(&counts, LONGEST_CODE_OF_LENGTHS);
    let written = ORDER.iter().rposition(|symbol| of_lengths[*symbol] > 0).map_or(4, |last| (last + 1).max(4));
    // Less 257, 1 and 4.
    out.push(0, 5);
    out.push(1, 5);
    out.push(u16::try_from(written - 4).unwrap_or(0), 4);
    ORDER[..written].iter().for_each(|symbol| out.push(u16::from(of_lengths[*symbol]), 3));
    let codes = codes(&of_lengths);
    for run in runs {
        out.push(codes[run.symbol], of_lengths[run.symbol]);
        out.push(run.extra, run.extra_bits);
    }
}

/// A length, or how often one is repeated.
struct Run {
    symbol: usize,
    extra: u16,
    extra_bits: u8,
}

/// Lengths with those that are equal taken together, RFC 1951 section 3.2.7.
fn runs(lengths: &[u8]) -> Vec<Run> {
    let mut runs = Vec::new();
    for equal in lengths.chunk_by(|one, next| one == next) {
        let (length, mut left) = (equal[0], equal.len());
        if length > 0 {
            runs.push(Run { symbol: usize::from(length), extra: 0, extra_bits: 0 });
            left -= 1;
        }
        while left > 0 {
            let (symbol, least, most, extra_bits) = match (length, left) {
                (_, ..3) => (usize::from(length), 1, 1, 0),
                (1.., _) => (16, 3, 6, 2),
                (0, ..11) => (17, 3, 10, 3),
                (0, _) => (18, 11, 138, 7),
            };
            let taken = left.min(most);
            runs.push(Run { symbol, extra: u16::try_from(taken - least).unwrap_or(0), extra_bits });
            left -= taken;
        }
    }
    runs
}

/// Lengths of an optimal prefix code (bits), none above `longest`; 0 for what does not occur. By package-merge (Larmore and
/// Hirschberg, "A fast algorithm for optimal length-limited Huffman codes", 1990).
fn code_lengths(counts: &[u32], longest: usize) -> Vec<u8> {
    let mut lengths = vec![0; counts.len()];
    let present = counts.iter().enumerate().filter(|(_, count)| **count > 0);
    let mut leaves: Vec<(u32, usize)> = present.map(|(symbol, count)| (*count, symbol)).collect();
    leaves.sort_unstable();
    if let [(_, only)] = leaves[..] {
        lengths[only] = 1;
        return lengths;
    }
    // For each length: whether what can be taken, the lightest first, is a leaf, or else two things of the length before.
    let mut levels: Vec<Vec<bool>> = Vec::new();
    let mut packages: Vec<u32> = Vec::new();
    for _ in 0..longest {
        let items = leaves.iter().map(|(count, _)| (*count, true));
        let mut items: Vec<(u32, bool)> = items.chain(packages.iter().map(|count| (*count, false))).collect();
        items.sort_by_key(|(count, _)| *count);
        packages = items.chunks_exact(2).map(|pair| pair[0].0 + pair[1].0).collect();
        levels.push(items.into_iter().map(|(_, is_leaf)| is_leaf).collect());
    }
    let mut taken = (2 * leaves.len()).saturating_sub(2);
    for level in levels.iter().rev() {
        let of_leaves = level[..taken].iter().filter(|is_leaf| **is_leaf).count();
        leaves[..of_leaves].iter().for_each(|(_, symbol)| lengths[*symbol] += 1);
        taken = 2 * (taken - of_leaves);
    }
    lengths
}

/// The codes of these lengths, RFC 1951 section 3.2.2, with their first bit lowest, as they are written.
fn codes(lengths: &[u8]) -> Vec<u16> {
    let mut next = [0_u16; LONGEST_CODE + 2];
    for length in 1..=LONGEST_CODE {
        let shorter = lengths.iter().filter(|of| usize::from(**of) == length).count();
        next[length + 1] = (next[length] + u16::try_from(shorter).unwrap_or(0)) << 1;
    }
    let code = |length: &u8| {
        let code = next[usize::from(*length)];
        next[usize::from(*length)] = code.wrapping_add(1);
        if *length == 0 { 0 } else { code.reverse_bits() >> (16 - *length) }
    };
    lengths.iter().map(code).collect()
}

/// The checksum of a zlib stream, RFC 1950 section 8.2.
fn adler32(bytes: &[u8]) -> u32 {
    const MODULUS: u32 = 65_521;
    let (mut sum, mut of_sums) = (1, 0);
    // So many can be added before the sum of sums exceeds 32 bits.
    for some in bytes.chunks(5_552) {
        for byte in some {
            sum += u32::from(*byte);
            of_sums += sum;
        }
        (sum, of_sums) = (sum % MODULUS, of_sums % MODULUS);
    }
    of_sums << 16 | sum
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::ZlibDecoder;
    use proptest::prelude::*;

    use super::*;

    fn read(stream: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        ZlibDecoder::new(stream).read_to_end(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_reader_of_zlib_streams_finds_every_byte() {
        let all: Vec<u8> = (0..=255).collect();
        // Counts as Fibonacci's numbers make codes of 25 bits where nothing limits them.
        let mut steep = Vec::new();
        let (mut one, mut next) = (1_usize, 1);
        for byte in 0..25 {
            steep.extend(std::iter::repeat_n(byte, one));
            (one, next) = (next, one + next);
        }
        for bytes in [&[][..], &[7], &[7; 1_000], &[0; 70_000], &all, &steep, &[255; 5_552 * 3]] {
            assert!(read(&zlib(bytes)) == bytes, "{} bytes", bytes.len());
        }
    }

    #[test]
    fn no_code_is_longer_than_asked_and_all_of_them_are_used_up() {
        let mut counts = [0_u32; 40];
        let (mut one, mut next) = (1, 1);
        for count in &mut counts {
            *count = one;
            (one, next) = (next, one + next);
        }
        let lengths = code_lengths(&counts, LONGEST_CODE);
        assert!(lengths.iter().all(|length| (1..=15).contains(length)), "{lengths:?}");
        // Kraft's sum is 1.
        let sum: u32 = lengths.iter().map(|length| 1 << (15 - length)).sum();
        assert_eq!(sum, 1 << 15);
        assert!(lengths.is_sorted_by(|one, next| one >= next), "what is more frequent has no longer code");
        // Without a limit that matters, by hand: 1, 1, 2, 4 take 3, 3, 2 and 1 bits.
        assert_eq!(code_lengths(&[1, 1, 0, 2, 4], 7), [3, 3, 0, 2, 1]);
    }

    proptest! {
        #[test]
        fn whatever_the_bytes_are(bytes in proptest::collection::vec(any::<(u8, u8)>(), 0..2_000)) {
            // Small bytes are frequent, as in counts.
            let bytes: Vec<u8> = bytes.iter().map(|(byte, shift)| byte >> (shift % 8)).collect();
            prop_assert_eq!(read(&zlib(&bytes)), bytes);
        }
    }
}
