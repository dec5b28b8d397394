//! What the programs say on a terminal: messages, data, prose and tables of its width.

#![forbid(unsafe_code)]

pub mod output;
pub mod table;
pub mod wrap;
