//! System calls that the standard library lacks, behind a safe interface: the only unsafe code.
//!
//! Each function is one kernel service with its limits in its documentation; policy lives in the engines above.

#![allow(unsafe_code, reason = "the one crate that talks to the kernel directly; see ARCHITECTURE.md")]

pub mod boot;
pub mod bpf;
pub mod clock;
pub mod clock_set;
pub mod confine;
pub mod control_file;
pub mod discipline;
pub mod ethtool;
pub mod file_lock;
pub mod file_owner;
pub mod folder;
pub mod gpio;
pub mod handover;
pub mod hot_section;
pub mod immutable;
pub mod interface;
pub mod lockdown;
pub mod memory;
pub mod msr;
pub mod packet;
pub mod parport;
pub mod perf;
pub mod phc;
pub mod process;
pub mod refusal;
pub mod sched;
pub mod shared_words;
pub mod signals;
pub mod space;
pub mod supervisor;
pub mod tcp;
mod time64;
pub mod time_namespace;
pub mod tracefs;
pub mod usage;
pub mod wait;
pub mod whole_file;
