//! Reads a live machine or a captured tree into a profile.

#![forbid(unsafe_code)]
