//! Every parser of a node's files, chosen by the first byte.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use profile::fuzz::ENTRIES;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some((chosen, rest)) = data.split_first() else { return Corpus::Reject };
    let Ok(text) = std::str::from_utf8(rest) else { return Corpus::Reject };
    let (_, entry) = ENTRIES[usize::from(*chosen) % ENTRIES.len()];
    entry(text);
    Corpus::Keep
});
