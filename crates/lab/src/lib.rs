//! The virtual lab: real PREEMPT_RT kernels in QEMU, described by small files, as machines under test.

#![forbid(unsafe_code)]

pub mod switch;
