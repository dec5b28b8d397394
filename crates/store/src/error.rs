//! What can go wrong, each with the bound and the remedy.

use farm::monitor::NotAllowed;

use crate::NameError;

/// Why the store itself could not do it. Nothing of what was asked has happened then.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The file is damaged.
    #[error(
        "the store {path} is damaged ({why}): stop the hub, move its folder aside, and restore the latest backup \
         ('punctual-hub restore FILE'); nodes send again what it lacks"
    )]
    Damaged {
        /// The file.
        path: String,
        /// What the engine says.
        why: String,
    },
    /// There is no room.
    #[error("no room left for the store {path}: free some on its file system; nodes keep what was not committed")]
    Full {
        /// The file.
        path: String,
    },
    /// Another program writes to it.
    #[error("the store {path} is locked by another program for {waited_ms} ms: one hub at a time writes to it")]
    Locked {
        /// The file.
        path: String,
        /// How long was waited (ms).
        waited_ms: u64,
    },
    /// A later release has written it.
    #[error(
        "the store {path} is of version {found}, and this program knows up to {known}: use a release that knows it"
    )]
    Newer {
        /// The file.
        path: String,
        /// The version of its schema.
        found: i64,
        /// The latest version that this program knows.
        known: i64,
    },
    /// It is some other file.
    #[error("{path} is no store of punctual-hub: give it a path of its own")]
    Foreign {
        /// The file.
        path: String,
    },
    /// Anything else that the engine says.
    #[error("the store {path}: {why}")]
    Engine {
        /// The file.
        path: String,
        /// What the engine says.
        why: String,
    },
}

/// Why a node was not enrolled.
#[derive(Debug, thiserror::Error)]
pub enum EnrolError {
    /// No such token.
    #[error("no such token: `punctual-hub enrol` on the hub's machine prints one")]
    NoSuchToken,
    /// Another node has used it.
    #[error("another node has used this token: one token enrols one node; `punctual-hub enrol` prints another")]
    TokenUsed,
    /// It was ended.
    #[error("this token was ended: `punctual-hub enrol` prints another")]
    TokenEnded,
    /// The key is enrolled by another token.
    #[error("this node is enrolled already, as {name}")]
    AlreadyEnrolled {
        /// Its name on the hub.
        name: String,
    },
    /// The node's enrolment was taken back.
    #[error("this node was revoked: it needs a new key (`punctual agent new-key`)")]
    Revoked,
    /// Its name is not allowed.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why nothing of a batch was taken.
#[derive(Debug, thiserror::Error)]
pub enum BatchError {
    /// The node is not enrolled here.
    #[error("this node is not enrolled here")]
    NotEnrolled,
    /// The node's enrolment was taken back.
    #[error("this node was revoked")]
    Revoked,
    /// More than the node may send.
    #[error("{what}: {found} in a day, and {most} are allowed; it is taken after midnight (UTC) of the hub's clock")]
    Quota {
        /// Of what.
        what: &'static str,
        /// How many there would be.
        found: u64,
        /// How many are allowed.
        most: u64,
    },
    /// It is no batch.
    #[error(transparent)]
    NotAllowed(#[from] NotAllowed),
    /// A sequence that no stream comes to.
    #[error("sequence {found}: below 2^63 are allowed")]
    Sequence {
        /// The sequence.
        found: u64,
    },
    /// A stream begins where its name and what is held of it do not let it.
    #[error("a stream that does not begin where its name says, or where it began before")]
    Base,
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Why nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum ChangeError {
    /// No such node.
    #[error("no such node: `punctual-hub nodes` lists them")]
    NoSuchNode,
    /// No such token.
    #[error("no such token: `punctual-hub enrol --list` lists them")]
    NoSuchToken,
    /// Another node has the name.
    #[error("another node is called {name}")]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A note is longer than is kept.
    #[error("a note of {found} bytes: at most {most} are kept")]
    NoteTooLong {
        /// Its bytes.
        found: usize,
        /// How many are kept.
        most: usize,
    },
    /// No change that is asked of a node.
    #[error("this is no change of a node")]
    NotOfANode,
    /// No change that is logged of the hub.
    #[error("this is no change of the hub")]
    NotOfTheHub,
    /// The name is not allowed.
    #[error(transparent)]
    Name(#[from] NameError),
    /// The store could not do it.
    #[error(transparent)]
    Store(#[from] StoreError),
}
