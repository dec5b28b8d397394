//! What both ports share.

use std::sync::Arc;

use crate::apart::ApartLog;
use crate::keys::Keys;
use crate::limits::Limits;
use crate::news::Newsroom;
use crate::programs::Programs;
use crate::readers::Readers;
use crate::sessions::Sessions;
use crate::spent::Spent;
use crate::writer::Writer;

/// A hub that serves.
pub struct Hub {
    /// What it is known by.
    pub keys: Keys,
    /// Its life: raised by a restore from a backup, and never while it serves.
    pub epoch: u64,
    /// The way to the thread that writes.
    pub writer: Writer,
    /// Readers for the agents' port, which also look at messages.
    pub for_agents: Arc<Readers>,
    /// Readers for the people's port: long answers to people do not keep nodes waiting.
    pub for_people: Arc<Readers>,
    /// The log of enrolments and revocations that is in no backup.
    pub apart: ApartLog,
    /// Bounds.
    pub limits: Limits,
    /// What nodes have cost of whose messages nothing was taken.
    pub spent: Spent,
    /// What nodes are told, and who waits for it.
    pub newsroom: Arc<Newsroom>,
    /// What it hands to machines without a program.
    pub programs: Arc<Programs>,
    /// Who may read.
    pub sessions: Sessions,
    /// Whether everybody may read.
    pub is_public: bool,
    /// Whether people speak TLS with the hub itself.
    pub is_over_tls: bool,
}
