//! The hub of a farm: takes what nodes measured, keeps every worst case, and shows which machine to look at.
//!
//! Two ports: agents send signed messages to one ([`agents`]), people read on the other ([`people`]). One thread writes to the store
//! ([`writer`]); nobody changes anything over the network, that is done by commands on the hub's machine ([`commands`]).
#![forbid(unsafe_code)]

pub mod agents;
pub mod apart;
pub mod backup;
pub mod certificates;
mod clock;
pub mod commands;
pub mod door;
mod fleet;
pub mod folder;
mod hub;
pub mod keys;
pub mod limits;
pub mod news;
mod own_machine;
mod pages;
pub mod people;
pub mod programs;
pub mod readers;
pub mod restore;
pub mod serve;
pub mod sessions;
pub mod spent;
pub mod tls;
pub mod writer;

pub use hub::Hub;
