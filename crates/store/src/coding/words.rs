//! Words that rows name, each written once and all of them compressed; and the compression itself.

use std::collections::HashMap;
use std::io::{Read as _, Write as _};

use super::bits::{Damaged, put_varint, take_bytes, take_varint};

/// Below this compressing words costs more bytes than it saves.
const WORTH_COMPRESSING: usize = 64;
/// The most bytes of the words of a sequence: a damaged length must not fill the memory.
const MOST_WORD_BYTES: u64 = 64 << 20;

/// Words of a sequence, each written once.
#[derive(Default)]
pub(super) struct Words {
    places: HashMap<String, u64>,
    bytes: Vec<u8>,
}

impl Words {
    /// The place of a word among them.
    pub(super) fn place(&mut self, word: &str) -> u64 {
        if let Some(place) = self.places.get(word) {
            return *place;
        }
        let place = u64::try_from(self.places.len()).unwrap_or(u64::MAX);
        put_varint(&mut self.bytes, u64::try_from(word.len()).unwrap_or(u64::MAX));
        self.bytes.extend_from_slice(word.as_bytes());
        self.places.insert(word.to_owned(), place);
        place
    }
}

/// Puts the words behind bytes.
pub(super) fn put_words(bytes: &mut Vec<u8>, words: &Words) {
    let written = u64::try_from(words.bytes.len()).unwrap_or(u64::MAX);
    put_varint(bytes, written);
    if words.bytes.len() < WORTH_COMPRESSING {
        bytes.extend_from_slice(&words.bytes);
        return;
    }
    let compressed = compress(&words.bytes);
    put_varint(bytes, u64::try_from(compressed.len()).unwrap_or(u64::MAX));
    bytes.extend(compressed);
}

/// Takes words off the front of bytes.
pub(super) fn take_words(bytes: &mut &[u8]) -> Result<Vec<String>, Damaged> {
    let written = take_varint(bytes)?;
    let text;
    let mut left = if written < u64::try_from(WORTH_COMPRESSING).map_err(|_| Damaged)? {
        take_bytes(bytes, written)?
    } else {
        let compressed = take_varint(bytes)?;
        text = decompress(take_bytes(bytes, compressed)?, MOST_WORD_BYTES)?;
        &text
    };
    let mut words = Vec::new();
    while !left.is_empty() {
        let length = take_varint(&mut left)?;
        let word = std::str::from_utf8(take_bytes(&mut left, length)?).map_err(|_| Damaged)?;
        words.push(word.to_owned());
    }
    Ok(words)
}

/// Compresses bytes (deflate).
pub(crate) fn compress(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to memory does not fail.
    let _ = writer.write_all(bytes);
    writer.finish().unwrap_or_default()
}

/// What [`compress`] made of bytes, at most so many.
pub(crate) fn decompress(bytes: &[u8], most: u64) -> Result<Vec<u8>, Damaged> {
    let mut text = Vec::new();
    let mut reader = flate2::read::DeflateDecoder::new(bytes).take(most.saturating_add(1));
    reader.read_to_end(&mut text).map_err(|_| Damaged)?;
    if u64::try_from(text.len()).map_err(|_| Damaged)? > most { Err(Damaged) } else { Ok(text) }
}

/// The word at a place.
pub(super) fn word(words: &[String], place: u64) -> Result<&str, Damaged> {
    usize::try_from(place).ok().and_then(|place| words.get(place)).map(String::as_str).ok_or(Damaged)
}
