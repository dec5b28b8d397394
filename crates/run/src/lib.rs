//! From a request to its record: the one way to take a measurement on this node.
//!
//! [`prepare`] refuses all that can be refused before anything starts: a request that this machine cannot carry out, a load that
//! is not there, a priority that the kernel does not give. [`Prepared::run`] starts the load, arms the measurement, opens the
//! load's window as the measurement begins, and makes the record. Each kind of measurement is one file in `kinds`.

#![forbid(unsafe_code)]

mod error;
mod helpers;
mod kinds;
mod load;
mod policy;
mod prepared;
mod stream;
mod surroundings;

pub use error::{Class, Refusal, RunError};
pub use helpers::helper;
pub use kinds::{About, Explaining};
pub use load::load_by_name;
pub use policy::{Anyway, try_policy};
pub use prepared::{Beside, Prepared, prepare};
pub use stream::EventStream;
pub use surroundings::{Surroundings, Unseen, Watch};
