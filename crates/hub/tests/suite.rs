//! What a hub does for nodes and people, by its own ports.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod agents;
mod commands;
mod conditions;
mod people;
mod support;
