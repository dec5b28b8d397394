//! HdrHistogram's V2 format, compressed or not: the bins of a histogram as bytes.

mod huffman;
mod read;
mod write;

pub(crate) use self::read::bins;
pub(crate) use self::write::compressed;

/// What an uncompressed histogram begins with.
const COOKIE: u32 = 0x1c84_9313;
/// What a compressed histogram begins with.
const COOKIE_COMPRESSED: u32 = 0x1c84_9314;
