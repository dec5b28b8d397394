//! The virtual lab: QEMU guests with real PREEMPT_RT kernels as machines under test, described by small files.

#![forbid(unsafe_code)]

// The part that runs inside guests, and the protocol with it.
pub use guest;

pub mod analyzer;
pub mod cache;
pub mod calibrate;
pub mod calibrator;
mod console;
mod deterministic;
pub mod disk;
pub mod image;
pub mod injection;
pub mod machine;
pub mod own_modules;
pub mod packages;
pub mod prepare;
pub mod program;
pub mod running;
pub mod scenario;
pub mod switch;
pub mod tool;
pub mod trace;
