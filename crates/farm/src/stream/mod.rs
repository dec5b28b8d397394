//! Streams of entries from nodes to a hub, of which nothing is lost and nothing counted twice, whatever carries them.
//!
//! A node writes entries, each with the next sequence of a stream that began with its agent; the entries are chained by hash. It sends
//! what follows on the hub's last mark; the hub commits it, and answers with a mark: up to there all is held. No time of day takes part.
//! What each side does is decided here; crates `agent` and `hub` move and keep it. `tests.rs` is the model that tries every order of loss,
//! copy, delay, kill, snapshot and restore.

mod acknowledged;
mod holdings;
mod id;
mod item;
mod kept;
mod life;
mod spool;
#[cfg(test)]
mod tests;

pub use acknowledged::{Acknowledgment, Acknowledgments, KEEP_ACKNOWLEDGED_S};
pub use holdings::{Common, Held, MOST_ASIDE, MOST_LACKING, Taken, common, may_branch, take};
pub use id::{
    Base, ContentHash, NODE_KEY_BYTES, NoSpan, NodeKey, NotHexadecimal, PLACE_BYTES, Place, Span, StreamId,
    bytes_of_hexadecimal, hexadecimal,
};
pub use item::{Body, Entry, GoneReason, Head, Item, Says};
pub use kept::{KeptStream, StreamState};
pub use life::next_epoch;
pub use spool::{Batch, Mark, Marked, Spool};
