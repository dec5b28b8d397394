//! The flight recorder: small programs that the kernel runs at its own trace points, each of which writes one slot into
//! a ring of the CPU that it runs on. Nothing is read while a run goes; after an outlier the ring is stopped and read.
//!
//! Here are its programs as instructions ([`programs`]), what of the kernel's types they need ([`btf`]), and what stands
//! in its memory ([`ring`]); `kernel` loads the programs, `measure` reads the rings.
//!
//! It costs a wake-up some tens of instructions, where the kernel's own ring buffer costs a thousand
//! (docs/decisions/0011-flight-recorder.md), and it is gone with the process that loaded it, however that ends.

#![forbid(unsafe_code)]

pub mod btf;
pub mod instruction;
pub mod programs;
pub mod ring;
