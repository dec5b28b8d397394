//! Why a sample was late: what its CPU did from the moment that the thread was to wake to the moment that it did, and
//! what of that took the time.
//!
//! A cause is *shown* where it covers the time on what was recorded, *likely* where counters say so or all else is
//! excluded, and else *unknown*. Nothing is guessed.

mod arrival;
mod below_kernel;
mod classify;
mod coincidence;
mod conclusion;
mod counted;
mod event;
mod evidence;
mod parts;
mod reconcile;
mod remedy;
mod same_moment;
mod silence;
mod surroundings;
mod timeline;
mod totals;
mod way;

pub use arrival::{Receiver, explain_arrival};
pub use below_kernel::BelowKernel;
pub use classify::{explain, is_interrupt_entry};
pub use coincidence::{Around, BY_ACCIDENT, Usual, chance_by_rate};
pub use counted::{Coincidence, Counted, Seldom, explain_by_counters};
pub use event::{Event, Frame, POLICY_NOT_TOLD, Thread, What};
pub use evidence::{Evidence, LATE_TIMER_NS, LEAD_NS, Late, Leg};
pub use remedy::{Remedy, remedy};
pub use silence::LATE_TICK_NS;
pub use surroundings::{DEEP_EXIT_US, IdleStates, Surroundings};
pub use timeline::{Timeline, timeline};
pub use totals::{Totals, join_alike, put_remedies};

#[cfg(test)]
mod tests;
