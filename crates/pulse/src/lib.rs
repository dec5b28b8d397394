#![forbid(unsafe_code)]
//! What nodes show that switch an output at ordered times: the orders, what became of each, the edges that a witness saw of them,
//! and how sure it is that a lead suffices.

pub mod account;
pub mod edges;
pub mod job;
pub mod join;
pub mod marks;
pub mod numbering;
pub mod numbers;
pub mod order;
pub mod shift;
pub mod sweep;
pub mod witness;
