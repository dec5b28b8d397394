//! The virtual lab: real PREEMPT_RT kernels in QEMU, described by small files, as machines under test.

#![forbid(unsafe_code)]

pub mod cache;
pub mod calibrate;
pub mod calibrator;
pub mod disk;
pub mod guest;
pub mod image;
pub mod inject;
pub mod own_modules;
pub mod packages;
pub mod prepare;
pub mod running;
pub mod scenario;
pub mod switch;
pub mod tool;
