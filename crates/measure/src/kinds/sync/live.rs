//! What a person sees while clocks are compared.

use ::sync::bound::OffsetBound;
use record::SyncState;

/// One source so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveSource {
    /// The source: "ptp4l eth0", "chronyd".
    pub name: String,
    /// The state that was seen last; absent until it answered.
    pub state: Option<SyncState>,
    /// The last offset (ns).
    pub offset_ns: Option<i64>,
    /// The bound in force.
    pub bound: Option<OffsetBound>,
}

/// The run so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LiveSync {
    /// Time since the start (ns).
    pub elapsed_ns: u64,
    /// The sources in the order in which they were found.
    pub sources: Vec<LiveSource>,
}
