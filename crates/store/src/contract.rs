//! The contract: what a hub asks of a store.

use farm::stream::{Common, ContentHash, NodeKey, Place as ChainPlace, StreamId};

use crate::{
    Adopting, Arriving, AuditRow, BatchError, By, Change, ChangeError, Committed, Content, ContentAt, EnrolError,
    Enrolling, FleetRow, History, HistoryAsked, LastRestore, NewToken, Node, SecretHash, SpanHistogram, StoreError,
    Token,
};

/// What may be read, by any thread, while another one writes. What is read is of one moment, after a commit.
pub trait Read: Send {
    /// The hub's life: 1 at first, and a higher number when it is restored from a backup ([`farm::stream::next_epoch`]).
    ///
    /// # Errors
    /// Where the store cannot be read; so with all of these.
    fn epoch(&self) -> Result<u64, StoreError>;

    /// Until when the latest backup that was made, or from which the hub was restored, has all that nodes had sent (ns since 1970, by
    /// the hub's clock); `None` where there was none.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn last_backup(&self) -> Result<Option<i64>, StoreError>;

    /// When the hub was last restored from a backup; `None` where it never was.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn last_restore(&self) -> Result<Option<LastRestore>, StoreError>;

    /// All tokens, the newest first.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn tokens(&self) -> Result<Vec<Token>, StoreError>;

    /// All nodes by their names, also those that were retired or revoked.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn nodes(&self) -> Result<Vec<Node>, StoreError>;

    /// A node by its key.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn node(&self, key: NodeKey) -> Result<Option<Node>, StoreError>;

    /// A node by its name.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn node_named(&self, name: &str) -> Result<Option<Node>, StoreError>;

    /// The log of changes, the newest first: of a node, or of all.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn audit(&self, node: Option<NodeKey>, most: usize) -> Result<Vec<AuditRow>, StoreError>;

    /// The end of the longest history of a stream that a node's places and the store have in common; 0 for none
    /// ([`farm::stream::common`]).
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn common(&self, node: NodeKey, stream: StreamId, places: &[(u64, ChainPlace)]) -> Result<Common, StoreError>;

    /// All nodes that are not revoked, by their names: what is known of each, and its latest. `now_wall_ns`: the hub's clock, for
    /// whether a node is silent.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn fleet(&self, now_wall_ns: i64) -> Result<Vec<FleetRow>, StoreError>;

    /// One node as it stands among all of them ([`fleet`](Self::fleet)); `None` where there is none, or it was revoked.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn fleet_row(&self, node: NodeKey, now_wall_ns: i64) -> Result<Option<FleetRow>, StoreError>;

    /// What was measured on a node in a stretch of time, CPU by CPU.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn history(&self, node: NodeKey, asked: &HistoryAsked) -> Result<History, StoreError>;

    /// The wake-ups of a stretch of time (ns since 1970), one histogram for each CPU and condition, by their CPUs: all hours that begin
    /// in it, and no others.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn histograms(&self, node: NodeKey, from_utc_ns: i64, to_utc_ns: i64) -> Result<Vec<SpanHistogram>, StoreError>;

    /// The contents that a node named (profiles, conditions), from the oldest on.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn contents(&self, node: NodeKey) -> Result<Vec<ContentAt>, StoreError>;

    /// A content by its hash.
    ///
    /// # Errors
    /// Where the store cannot be read.
    fn content(&self, hash: ContentHash) -> Result<Option<Content>, StoreError>;
}

/// What [`Store::maintain`] did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Maintained {
    /// Hours and days that were computed again.
    pub cells: usize,
    /// Rows that were packed with their neighbors.
    pub packed: usize,
    /// Histograms of hours that became part of a day's.
    pub merged: usize,
    /// Whether there is more to do.
    pub is_more: bool,
}

/// What a hub keeps. One thread writes; what a method answers is durable.
pub trait Store: Read {
    /// Another reader, for another thread.
    ///
    /// # Errors
    /// Where it cannot be opened.
    fn reader(&self) -> Result<Box<dyn Read>, StoreError>;

    /// Raises the hub's life to a number, and by one at least; the new one.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn raise_epoch(&mut self, to: u64, by: &By) -> Result<u64, StoreError>;

    /// Writes into the log of changes what happened to the hub: [`Change::BackedUp`], [`Change::Restored`],
    /// [`Change::CertificateChanged`] or [`Change::Announced`].
    ///
    /// # Errors
    /// Where it is none of these, or the store cannot be written.
    fn log_of_hub(&mut self, change: &Change, by: &By) -> Result<(), ChangeError>;

    /// Keeps a new token; its number.
    ///
    /// # Errors
    /// Where its name or labels are not allowed, no node is there to be replaced, or the store cannot be written.
    fn add_token(&mut self, secret: SecretHash, made_for: &NewToken, by: &By) -> Result<i64, ChangeError>;

    /// Ends a token that was not used. One that was used stays so, and nothing is changed.
    ///
    /// # Errors
    /// Where there is none, or the store cannot be written.
    fn end_token(&mut self, token: i64, by: &By) -> Result<(), ChangeError>;

    /// Ends all tokens that were not used: those of a hub's earlier life. How many.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn end_all_tokens(&mut self, by: &By) -> Result<usize, StoreError>;

    /// Enrols a node. The same key with the same token gets the same answer again.
    ///
    /// # Errors
    /// Where it is refused, or the store cannot be written.
    fn enrol(&mut self, asked: &Enrolling) -> Result<Node, EnrolError>;

    /// Enrols a node that has shown an enrolment signed by this hub. One that is enrolled stays as it is.
    ///
    /// # Errors
    /// Where it is refused, or the store cannot be written.
    fn adopt(&mut self, asked: &Adopting) -> Result<Node, EnrolError>;

    /// Changes a node by [`Change::Renamed`], [`Placed`](Change::Placed), [`Labeled`](Change::Labeled), [`Retired`](Change::Retired),
    /// [`Unretired`](Change::Unretired), [`Revoked`](Change::Revoked) or [`Noted`](Change::Noted), and logs it; the node as it is now.
    ///
    /// # Errors
    /// Where there is no such node, the change is not allowed or none of these, or the store cannot be written.
    fn change_node(&mut self, node: NodeKey, change: &Change, by: &By) -> Result<Node, ChangeError>;

    /// Takes several batches in one transaction; each has its own answer, and nothing of a refused one stays. They are durable when
    /// this returns.
    ///
    /// # Errors
    /// Where the store cannot be written; nothing of any of them stays then.
    fn take_batches(&mut self, arriving: &[Arriving]) -> Result<Vec<Result<Committed, BatchError>>, StoreError>;

    /// Takes one batch ([`take_batches`](Self::take_batches)).
    ///
    /// # Errors
    /// Where it is refused, or the store cannot be written.
    fn take_batch(&mut self, arriving: &Arriving) -> Result<Committed, BatchError> {
        let mut answers = self.take_batches(std::slice::from_ref(arriving))?;
        answers.pop().unwrap_or(Err(BatchError::NotEnrolled))
    }

    /// Does a little of what is left to do: computes hours and days again that have changed, packs rows of finished days, puts the
    /// histograms of hours of more than 112 days ago together to those of days, and moves what was committed to its place in the file. Called every few seconds; what is read is right without it, and slower.
    /// `most`: hours and rows, about. `now_wall_ns`: the hub's clock.
    ///
    /// # Errors
    /// Where the store cannot be written.
    fn maintain(&mut self, most: usize, now_wall_ns: i64) -> Result<Maintained, StoreError>;

    /// Writes a copy of all that is committed to a file that is not there yet, or empty, while the hub goes on.
    ///
    /// # Errors
    /// Where something is there, or it cannot be written.
    fn back_up(&self, to: &std::path::Path) -> Result<(), StoreError>;
}
