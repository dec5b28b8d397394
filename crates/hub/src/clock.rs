//! The hub's clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// ns since 1970, by this machine's clock; what lies beyond what can be counted is its bound.
#[must_use]
pub(crate) fn now_wall_ns() -> i64 {
    match SystemTime::now().duration_since(UNIX_EPOCH) {
        Ok(since) => i64::try_from(since.as_nanos()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_nanos()).map_or(i64::MIN, |ns| -ns),
    }
}
