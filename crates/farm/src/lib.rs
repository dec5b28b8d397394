//! What nodes say to each other: greetings, tokens, jobs, the policy that judges jobs, and the frames of their connection.
//!
//! Everything here is a value, a parser or a decision. The crate `peer` moves these values over a network.

#![forbid(unsafe_code)]

mod asked;
pub mod frame;
mod greeting;
mod job;
pub mod monitor;
mod policy;
mod protocol;
pub mod stream;
mod token;

pub use asked::{AskedCpus, AskedLoad, AskedRequest, AskedRun, AskedSync, AskedWakeup, NotAsked, ShippedLoad};
pub use greeting::{Answer, Knock, PROOF_BYTES, Proof, Refusal};
pub use job::{Job, JobClass, ToRun};
pub use policy::{Denied, OutputPolicy, Policy, PolicyError};
pub use protocol::{Hello, NeedsUpdate, OUR_PROTOCOLS, Protocols, ProtocolsError, VersionMismatch, negotiate};
pub use token::{FINGERPRINT_BYTES, SECRET_BYTES, Secret, Token, TokenError};
