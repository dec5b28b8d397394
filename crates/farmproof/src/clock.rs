//! This machine's clock.

use std::time::{SystemTime, UNIX_EPOCH};

/// The wall clock (ns since 1970).
pub(crate) fn now_wall_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// A seed that nobody has chosen.
pub(crate) fn some_seed() -> u64 {
    now_wall_ns().unsigned_abs() % 1_000_000
}
