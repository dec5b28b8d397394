//! How runs look on a terminal.

pub(crate) mod app;
pub(crate) mod blocks;
pub(crate) mod explanation;
pub(crate) mod findings;
pub(crate) mod live;
pub(crate) mod live_run;
pub(crate) mod load;
pub(crate) mod packet;
#[cfg(feature = "packet")]
pub(crate) mod packet_live;
pub(crate) mod result;
pub(crate) mod rhythm;
pub(crate) mod sync;
