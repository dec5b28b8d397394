//! Why a sample was late: what its CPU did from the moment that the thread was to wake to the moment that it did, and
//! what of that took the time.
//!
//! A cause is *shown* where it covers the time on what was recorded, *likely* where counters say so or all else is
//! excluded, and else *unknown*. Nothing is guessed.

mod classify;
mod event;
mod remedy;
mod timeline;
mod totals;

pub use classify::{Evidence, Late, Place, explain, is_interrupt_entry};
pub use event::{Event, Frame, Thread, What};
pub use timeline::{Timeline, timeline};
pub use totals::{Totals, join_alike};

#[cfg(test)]
mod tests;
