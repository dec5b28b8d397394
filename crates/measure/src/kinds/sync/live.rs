//! What is shown of a source of time while clocks are compared.

use ::sync::bound::OffsetBound;
use record::{LiveSeries, SyncState};

/// One source so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct LiveSource {
    /// The source: "ptp4l eth0", "chronyd".
    pub(crate) name: String,
    /// The state that was seen last; absent until it answered.
    pub(crate) state: Option<SyncState>,
    /// The last offset (ns).
    pub(crate) offset_ns: Option<i64>,
    /// The bound in force.
    pub(crate) bound: Option<OffsetBound>,
}

impl LiveSource {
    pub(crate) fn series(&self) -> LiveSeries {
        let bound_ns = self.bound.map(|bound| (bound.lower_ns, bound.upper_ns));
        LiveSeries::clock(&self.name, self.state, self.offset_ns, bound_ns)
    }
}
