//! The tag of a measured packet: SipHash-1-3 (Aumasson and Bernstein, 2012) over whole words.
//!
//! It is a large part of what a packet costs in both loops, so it is computed without the buffer that a hash of any bytes needs,
//! and with fewer rounds than SipHash-2-4 (docs/decisions/0032).

/// The length of a word (bytes).
const WORD: usize = 8;

/// Computes the tag of some bytes that stand in two places, of whole words each: what is no whole word does not count.
pub(crate) fn of_parts(key: &[u8; 16], parts: [&[u8]; 2]) -> u64 {
    let mut state = State::new(key);
    let mut words = 0;
    for word in parts.into_iter().flat_map(|part| part.chunks_exact(WORD)).filter_map(<[u8]>::first_chunk::<WORD>) {
        state.absorb(u64::from_le_bytes(*word));
        words += 1;
    }
    state.finish(words)
}

/// The same of four words in one place, as most packets have.
#[inline]
pub(crate) fn of_four(key: &[u8; 16], bytes: &[u8; 4 * WORD]) -> u64 {
    let mut state = State::new(key);
    state.absorb(word(bytes, 0));
    state.absorb(word(bytes, 1));
    state.absorb(word(bytes, 2));
    state.absorb(word(bytes, 3));
    state.finish(4)
}

/// The same of six, as the header of a packet with an order has.
#[inline]
pub(crate) fn of_six(key: &[u8; 16], bytes: &[u8; 6 * WORD]) -> u64 {
    let mut state = State::new(key);
    state.absorb(word(bytes, 0));
    state.absorb(word(bytes, 1));
    state.absorb(word(bytes, 2));
    state.absorb(word(bytes, 3));
    state.absorb(word(bytes, 4));
    state.absorb(word(bytes, 5));
    state.finish(6)
}

#[inline(always)]
fn word(bytes: &[u8], number: usize) -> u64 {
    bytes.get(number * WORD..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
}

struct State([u64; 4]);

impl State {
    #[inline(always)]
    fn new(key: &[u8; 16]) -> Self {
        let half = |at: usize| {
            key.get(at..).and_then(<[u8]>::first_chunk::<WORD>).map_or(0, |bytes| u64::from_le_bytes(*bytes))
        };
        let (low, high) = (half(0), half(WORD));
        Self([
            low ^ 0x736f_6d65_7073_6575,
            high ^ 0x646f_7261_6e64_6f6d,
            low ^ 0x6c79_6765_6e65_7261,
            high ^ 0x7465_6462_7974_6573,
        ])
    }

    /// After so many words.
    #[inline(always)]
    fn finish(mut self, words: u64) -> u64 {
        // Last comes the length in bytes, above the bytes of a word that is not whole: there is none.
        self.absorb((words * WORD as u64) << 56);
        self.0[2] ^= 0xff;
        (0..3).for_each(|_| self.round());
        self.0.into_iter().fold(0, |tag, word| tag ^ word)
    }

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
        self.round();
        self.0[0] ^= word;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use siphasher::sip::SipHasher13;

    use super::*;

    proptest! {
        #[test]
        fn it_is_that_of_a_hash_of_bytes(
            key in any::<[u8; 16]>(), bytes in proptest::collection::vec(any::<u8>(), 0..400), at in any::<prop::sample::Index>(),
        ) {
            let whole = bytes.len() / WORD;
            let (first, others) = bytes[..whole * WORD].split_at(at.index(whole + 1) * WORD);
            if let Some(four) = bytes.first_chunk() {
                prop_assert_eq!(of_four(&key, four), SipHasher13::new_with_key(&key).hash(four));
            }
            if let Some(six) = bytes.first_chunk() {
                prop_assert_eq!(of_six(&key, six), SipHasher13::new_with_key(&key).hash(six));
            }
            prop_assert_eq!(of_parts(&key, [first, others]), SipHasher13::new_with_key(&key).hash(&bytes[..whole * WORD]));
        }
    }
}
