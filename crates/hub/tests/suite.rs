//! What a hub does for nodes and people, by its own ports.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

mod agents;
mod backup;
mod commands;
mod conditions;
mod news;
mod own_machine;
mod people;
mod restore;
mod support;
