//! The form in which bodies are kept: our own, a few bytes for each CPU and interval. Pure.

mod bits;
mod heads;
mod histograms;
mod rows;
mod words;

pub(crate) use bits::Damaged;
pub(crate) use heads::{
    PackedHead, SHORT_HASH_BYTES, heads_from_bytes, heads_to_bytes, numbers_from_bytes, numbers_to_bytes,
};
pub(crate) use histograms::{histograms_from_bytes, histograms_to_bytes};
pub(crate) use rows::{Row, RowCpu, rows_from_bytes, rows_to_bytes};
pub(crate) use words::{compress, decompress};
