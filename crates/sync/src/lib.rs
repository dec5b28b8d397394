#![forbid(unsafe_code)]
//! How far clocks are apart: the bounds and spread that follow from exchanges, and what a source states of its time.

pub mod allan;
pub mod bound;
pub mod exchange;
pub mod facts;
pub mod follow;
mod followed;
pub mod growth;
mod intervals;
pub mod judge;
pub mod signed;
mod stretch;
pub mod track;
