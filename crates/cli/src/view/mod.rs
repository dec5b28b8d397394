//! How runs look on a terminal.

mod answer;
pub(crate) mod app;
pub(crate) mod blocks;
pub(crate) mod explanation;
pub(crate) mod findings;
pub(crate) mod live;
pub(crate) mod load;
pub(crate) mod packet;
mod pulse;
pub(crate) mod result;
pub(crate) mod rhythm;
#[cfg(feature = "packet")]
pub(crate) mod shift;
pub(crate) mod sync;

#[cfg(test)]
mod tests;
