//! Durations, CPU lists, clocks, the one formatter of numbers and the one generator of random ones.
//!
//! Everything inside the product is integer nanoseconds; microseconds exist only in [`format`].
//! Nothing here reads a clock or a file.

#![forbid(unsafe_code)]

mod clock;
mod clock_name;
mod convert;
mod cpu_set;
mod duration;
pub mod duration_text;
pub mod format;
mod kernel_list;
mod lines;
pub mod printable;
mod random;

pub use clock::{ClockId, Monotonic, Realtime, Timestamp};
pub use clock_name::ClockName;
pub use convert::{approx_f64, approx_f64_i64, clamp_i64, round_i64, round_u64, total};
pub use cpu_set::{CpuSet, CpuSetError};
pub use duration::{DurationError, Ns};
pub use kernel_list::KernelListError;
pub use lines::whole_lines;
pub use random::Random;
