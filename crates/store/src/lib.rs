//! What a hub keeps: nodes and tokens, every node's worst cases for ever, and what is read of them.
//!
//! [`Store`] is the contract; [`Sqlite`] is the implementation, one file. Everything here blocks: the hub calls it from threads that
//! may wait. No clock is read: the caller says what time it is. What is answered is computed here from integers, so that another
//! implementation answers the same.
//!
//! One thread writes ([`Store`]); any number read ([`Store::reader`], [`Read`]) and never wait for it.
#![forbid(unsafe_code)]

mod batch;
mod cast;
mod coding;
mod contract;
mod drawing;
mod error;
mod people;
mod placing;
mod reading;
mod sqlite;
mod tier;

pub use batch::{Arriving, Committed, Quotas, ReadyBatch};
pub use contract::{Maintained, Read, Store};
pub use error::{BatchError, ChangeError, EnrolError, StoreError};
pub use people::{
    Adopting, AuditRow, By, Change, Enrolling, LastRestore, MOST_LABELS, MOST_NAME_BYTES, NameError, NewToken, Node,
    Place, SecretHash, Token, TokenState, check_label, check_name,
};
pub use reading::{
    AgainstItself, Beyond, Content, ContentAt, CpuHistory, FleetRow, GapSpan, GapWhy, History, HistoryAsked, Maxima,
    Maximum, NodeState, Placed, PlacedBy, Point, SourceHistory, SourcePoint, SpanHistogram, Tier,
};
pub use sqlite::Sqlite;
