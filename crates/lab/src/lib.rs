//! The virtual lab: real PREEMPT_RT kernels in QEMU, described by small files, as machines under test.

#![forbid(unsafe_code)]

// What runs inside, which the lab speaks with.
pub use guest;

pub mod analyser;
pub mod cache;
pub mod calibrate;
pub mod calibrator;
mod console;
mod deterministic;
pub mod disk;
pub mod image;
pub mod inject;
pub mod machine;
pub mod own_modules;
pub mod packages;
pub mod prepare;
pub mod program;
pub mod running;
pub mod scenario;
pub mod switch;
pub mod tool;
