//! The `punctual` command.

#![forbid(unsafe_code)]

fn main() {}
