//! What the loops of several kinds do alike. Nothing here allocates, locks, formats, logs or faults; a tidy test reads this file for
//! words that would.

use kernel::clock::Schedule;

/// A stamp with what it is of: below zero where the thread did not sleep, so that what it came for is no wake-up.
#[inline(always)]
pub(crate) const fn stamp_of(at_ns: i64, is_wake_up: bool) -> i64 {
    if is_wake_up { at_ns } else { -at_ns }
}

/// Moves on from a schedule after a turn that ended so late (ns); whether another second has begun, or schedules were slept
/// through.
#[inline(always)]
pub(crate) fn move_on(next: &mut Schedule, interval_ns: i64, late_ns: i64) -> bool {
    if late_ns < interval_ns {
        return next.advance(interval_ns);
    }
    *next = after_stall(next.ns(), interval_ns, late_ns);
    true
}

/// The first schedule after a turn that lasted beyond the next one, however long it was; the drain counts those between.
#[cold]
#[inline(never)]
fn after_stall(scheduled_ns: i64, interval_ns: i64, late_ns: i64) -> Schedule {
    Schedule::at_ns(scheduled_ns + (late_ns / interval_ns + 1) * interval_ns)
}

/// Schedules that came up, with those that the thread itself slept through.
#[inline(always)]
pub(crate) fn schedules_between(first_ns: i64, next: &Schedule, interval_ns: i64) -> u64 {
    (next.ns() - first_ns).unsigned_abs() / interval_ns.unsigned_abs().max(1)
}
