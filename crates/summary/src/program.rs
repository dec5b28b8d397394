//! What is said of a program that was followed.

use record::{AppRun, AppThread, Record};

/// What was followed, in words: "'./controller'", "process 4711".
#[must_use]
pub fn what(app: &AppRun) -> String {
    app.command.as_ref().map_or_else(|| format!("process {}", app.pid), |command| format!("'{command}'"))
}

/// Schedules that late wake-ups skipped; `None` if the thread's requested wake-up times are unknown, so that none were
/// counted.
#[must_use]
pub fn missed_periods(one: &AppThread, record: &Record) -> Option<u64> {
    let series = record
        .series
        .iter()
        .find(|series| series.place.thread_number() == Some(one.thread) && series.interval_ns.is_some());
    series.map(|series| series.counters.missed_periods)
}
