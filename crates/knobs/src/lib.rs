//! Settings of a node: what can be set ([`catalogue`]), what a user wants set ([`Intent`]), the [`Plan`] of that, and the
//! journal of what was done ([`journal`]), by which it is reverted exactly.
//!
//! Everything here is pure: what a machine says comes in as values, what is to be done goes out as values. The crate
//! `punctual-tune` does it.

#![forbid(unsafe_code)]

pub mod boot;
pub mod catalogue;
mod demand;
mod intent;
pub mod journal;
mod persist;
mod place;
mod plan;
mod propose;
mod scope;
pub mod thread;
pub mod time;
pub mod tuned;

pub use demand::{Cgroup1, Conflict, Demand, Group, PARTITION, RequiredSetting, Site};
pub use intent::{Intent, IntentError, Irqs, KnobValue, Mechanism, PowerWish, RtThrottling};
pub use persist::{Owner, is_own_folder, persist, resume_at_start};
pub use place::{Form, Look, Order, Place, Reading, Value};
pub use plan::{Absent, Plan, PlanError, Step, Withheld, follow_ups};
pub use propose::{isolation, propose};
pub use scope::KnobScope;
