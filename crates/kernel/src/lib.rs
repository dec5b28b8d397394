//! System calls that the standard library lacks, behind a safe interface: the only unsafe code.

#![allow(unsafe_code, reason = "the one crate that talks to the kernel directly; see ARCHITECTURE.md")]

pub mod ethtool;
