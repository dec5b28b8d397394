//! What people decide: tokens, nodes, and the log of what was changed.

use std::collections::BTreeMap;

use farm::stream::{ContentHash, NodeKey};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The most bytes of a node's name (a host name has at most 253 on Linux's file systems and in DNS).
pub const MOST_NAME_BYTES: usize = 253;
/// The most labels of a node.
pub const MOST_LABELS: usize = 64;

/// Why a text is no name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Nothing, or too much.
    #[error("a name of {0} bytes: 1 to {MOST_NAME_BYTES} are allowed")]
    Length(usize),
    /// Something that steers terminals, or is not seen.
    #[error("a name with a character that is not printable: letters, digits, spaces and signs are allowed")]
    NotPrintable,
    /// Something that leads elsewhere when it is taken for a path.
    #[error("a name with a slash, a backslash, or of dots alone: it would be taken for a path")]
    Path,
    /// A space at its end, which nobody sees.
    #[error("a name that begins or ends with a space")]
    Space,
    /// More labels than a node may have.
    #[error("{0} labels: at most {MOST_LABELS} are allowed")]
    TooManyLabels(usize),
}

/// Whether a text may be a name of a node.
///
/// # Errors
/// Where it may not, with why.
pub fn check_name(name: &str) -> Result<(), NameError> {
    if name.is_empty() || name.len() > MOST_NAME_BYTES {
        return Err(NameError::Length(name.len()));
    }
    if name.chars().any(units::printable::is_unprintable) {
        return Err(NameError::NotPrintable);
    }
    if name.contains(['/', '\\']) || name.chars().all(|letter| letter == '.') {
        return Err(NameError::Path);
    }
    if name.trim() != name {
        return Err(NameError::Space);
    }
    Ok(())
}

/// Whether a text may be the key or the value of a label, a rack or a slot; a value may hold slashes, and be empty.
///
/// # Errors
/// Where it may not, with why.
pub fn check_label(text: &str) -> Result<(), NameError> {
    if text.len() > MOST_NAME_BYTES {
        return Err(NameError::Length(text.len()));
    }
    if text.chars().any(units::printable::is_unprintable) {
        return Err(NameError::NotPrintable);
    }
    Ok(())
}

/// SHA-256 of a token's secret: all that is kept of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecretHash(pub [u8; 32]);

impl SecretHash {
    /// Of a secret.
    #[must_use]
    pub fn of(secret: &[u8]) -> Self {
        Self(Sha256::digest(secret).into())
    }
}

/// Who does something, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct By {
    /// Who: the user of the command, or the node itself.
    pub who: String,
    /// When, by the hub's clock (ns since 1970).
    pub at_wall_ns: i64,
}

/// What a token is made for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewToken {
    /// The name that the node gets; its own host name where absent.
    pub name: Option<String>,
    /// Labels that the node gets.
    pub labels: BTreeMap<String, String>,
    /// The node whose history goes on in the new one's, which is retired by it.
    pub replaces: Option<NodeKey>,
}

/// What became of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenState {
    /// It may be used.
    Open,
    /// A node has used it.
    Used(NodeKey),
    /// It was ended.
    Ended,
}

/// A token, without its secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// Its number on this hub.
    pub id: i64,
    /// What it is made for.
    pub made_for: NewToken,
    /// When it was made, by the hub's clock (ns since 1970).
    pub made_wall_ns: i64,
    /// What became of it.
    pub state: TokenState,
}

/// A node asks to be enrolled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Enrolling {
    /// Its key.
    pub node: NodeKey,
    /// Of the token's secret.
    pub secret: SecretHash,
    /// The name that it gives itself. Where another node has it, a number is put behind it.
    pub name: String,
    /// Version of its program.
    pub version: String,
    /// When, by the hub's clock (ns since 1970).
    pub at_wall_ns: i64,
}

/// A node shows an enrolment that this hub has signed and does not remember: it was restored to before that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Adopting {
    /// Its key.
    pub node: NodeKey,
    /// Its name, as signed. Where another node has it by now, a number is put behind it.
    pub name: String,
    /// When, by the hub's clock (ns since 1970).
    pub at_wall_ns: i64,
}

/// Where a node stands.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct Place {
    /// The rack.
    pub rack: String,
    /// The slot in it.
    pub slot: String,
}

/// A node, as the hub knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Its key.
    pub key: NodeKey,
    /// Its name: no other node has it.
    pub name: String,
    /// Free labels.
    pub labels: BTreeMap<String, String>,
    /// Where it stands, where somebody said so.
    pub place: Option<Place>,
    /// When it was enrolled, by the hub's clock (ns since 1970).
    pub enrolled_wall_ns: i64,
    /// When something of it was last taken, by the hub's clock (ns since 1970).
    pub seen_wall_ns: Option<i64>,
    /// Version of its agent, as last sent.
    pub version: String,
    /// When it was revoked, by the hub's clock (ns since 1970): nothing of it is taken since.
    pub revoked_wall_ns: Option<i64>,
    /// When it was retired, by the hub's clock (ns since 1970): it is kept and not expected to send.
    pub retired_wall_ns: Option<i64>,
    /// The node whose history goes on in this one's.
    pub replaces: Option<NodeKey>,
}

/// A change, as the log keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "change")]
pub enum Change {
    /// The hub's life was raised.
    Epoch {
        /// The new one.
        epoch: u64,
    },
    /// A backup of the hub was made.
    BackedUp {
        /// Of which moment it is, by the hub's clock (ns since 1970).
        of_wall_ns: i64,
        /// Until when it has all that nodes had sent (ns since 1970): an earlier moment where the hub was restored itself, and nodes
        /// have not sent all again.
        complete_until_wall_ns: i64,
    },
    /// The hub was restored from a backup.
    Restored {
        /// Of which moment the backup is, by the clock of the hub that made it (ns since 1970).
        of_wall_ns: i64,
        /// Until when it has all that nodes had sent (ns since 1970).
        complete_until_wall_ns: i64,
        /// From here on until the restore nothing is known of what was revoked (ns since 1970); absent where all of it is.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        revoked_unknown_since_wall_ns: Option<i64>,
    },
    /// The certificate of the agents' port was changed.
    CertificateChanged {
        /// SHA-256 of the one that it has from the hub's next start on.
        present: ContentHash,
        /// SHA-256 of the one that comes after it.
        next: ContentHash,
    },
    /// Nodes are told where they find the hub.
    Announced {
        /// Each HOST or HOST:PORT; none where nothing is announced any more.
        addresses: Vec<String>,
    },
    /// A token was made.
    TokenMade {
        /// Its number.
        token: i64,
    },
    /// A token was ended.
    TokenEnded {
        /// Its number.
        token: i64,
    },
    /// A node was enrolled.
    Enrolled {
        /// By this token; none where it showed an enrolment that the hub had signed before it was restored.
        token: Option<i64>,
        /// Under this name.
        name: String,
    },
    /// A node has another name. To ask for it: [`Store::change_node`](crate::Store::change_node).
    Renamed {
        /// The new name.
        name: String,
    },
    /// A node stands elsewhere.
    Placed {
        /// Where; absent where nobody says so any more.
        place: Option<Place>,
    },
    /// A node has a label, or has it no more.
    Labeled {
        /// Its key.
        key: String,
        /// Its value; absent where the label was taken off.
        value: Option<String>,
    },
    /// A node is not expected to send any more.
    Retired,
    /// A node is expected to send again.
    Unretired,
    /// Nothing is taken from a node any more.
    Revoked,
    /// Somebody wrote something down about a node.
    Noted {
        /// What.
        text: String,
    },
}

/// When a hub was restored, and from what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastRestore {
    /// When, by the hub's clock (ns since 1970).
    pub at_wall_ns: i64,
    /// Until when the backup had all that nodes had sent (ns since 1970).
    pub complete_until_wall_ns: i64,
}

/// A line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditRow {
    /// Its number, ascending.
    pub id: i64,
    /// Who and when.
    pub by: By,
    /// Of which node; absent where it is of the hub.
    pub node: Option<NodeKey>,
    /// What.
    pub change: Change,
}
