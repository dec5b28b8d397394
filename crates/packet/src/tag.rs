//! The tag of a measured packet: SipHash-2-4 (Aumasson and Bernstein, 2012) over whole words.
//!
//! It is the largest part of what a packet costs in both loops, so it is computed without the buffer that a hash of any bytes
//! needs.

/// The length of a word (bytes).
const WORD: usize = 8;

/// Computes the tag of some bytes that stand in two places, of whole words each: what is no whole word does not count.
#[inline]
pub(crate) fn of_words(key: &[u8; 16], parts: [&[u8]; 2]) -> u64 {
    let half =
        |at: usize| key.get(at..).and_then(<[u8]>::first_chunk::<WORD>).map_or(0, |bytes| u64::from_le_bytes(*bytes));
    let (low, high) = (half(0), half(WORD));
    let mut state = State([
        low ^ 0x736f_6d65_7073_6575,
        high ^ 0x646f_7261_6e64_6f6d,
        low ^ 0x6c79_6765_6e65_7261,
        high ^ 0x7465_6462_7974_6573,
    ]);
    let mut words = 0_u64;
    for mut rest in parts {
        while let Some((word, after)) = rest.split_first_chunk::<WORD>() {
            state.absorb(u64::from_le_bytes(*word));
            (words, rest) = (words + 1, after);
        }
    }
    // Last comes the length in bytes, above the bytes of a word that is not whole: there is none.
    state.absorb((words * WORD as u64) << 56);
    state.0[2] ^= 0xff;
    (0..4).for_each(|_| state.round());
    state.0.into_iter().fold(0, |tag, word| tag ^ word)
}

struct State([u64; 4]);

impl State {
    #[inline(always)]
    const fn round(&mut self) {
        let [mut a, mut b, mut c, mut d] = self.0;
        a = a.wrapping_add(b);
        b = b.rotate_left(13) ^ a;
        a = a.rotate_left(32);
        c = c.wrapping_add(d);
        d = d.rotate_left(16) ^ c;
        a = a.wrapping_add(d);
        d = d.rotate_left(21) ^ a;
        c = c.wrapping_add(b);
        b = b.rotate_left(17) ^ c;
        c = c.rotate_left(32);
        self.0 = [a, b, c, d];
    }

    #[inline(always)]
    fn absorb(&mut self, word: u64) {
        self.0[3] ^= word;
        (0..2).for_each(|_| self.round());
        self.0[0] ^= word;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use siphasher::sip::SipHasher24;

    use super::*;

    #[test]
    fn it_is_that_of_the_reference() {
        // The key and the message of the reference's vectors: the bytes 0, 1, 2 and so on; those of 8 bytes and of 16.
        let key: [u8; 16] = std::array::from_fn(|at| u8::try_from(at).unwrap());
        assert_eq!(of_words(&key, [&key[..8], &[]]), 0x93f5_f579_9a93_2462);
        assert_eq!(of_words(&key, [&key[..8], &key[8..]]), 0x3f2a_cc7f_57c2_9bdb);
    }

    proptest! {
        #[test]
        fn it_is_that_of_a_hash_of_bytes(
            key in any::<[u8; 16]>(), bytes in proptest::collection::vec(any::<u8>(), 0..400), at in any::<prop::sample::Index>(),
        ) {
            let whole = bytes.len() / WORD;
            let (first, others) = bytes[..whole * WORD].split_at(at.index(whole + 1) * WORD);
            prop_assert_eq!(of_words(&key, [first, others]), SipHasher24::new_with_key(&key).hash(&bytes[..whole * WORD]));
        }
    }
}
