//! What is said of a program that was followed.

use record::{AppRun, AppThread, Record, TracingCost};
use serde::Serialize;
use units::{approx_f64, format, round_u64};

/// What is said of a program that was followed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProgramSummary {
    /// What was followed, how long, and how it ended, as a clause.
    pub followed: String,
    /// Its threads.
    pub threads: Vec<ThreadRow>,
    /// How many other threads were seen and left out, as a clause; `None` if there were none.
    pub left_out: Option<String>,
    /// What the audit looked for and found, as sentences without their full stops.
    pub audit: Vec<String>,
    /// What following cost, as clauses.
    pub cost: Vec<String>,
}

/// A thread of a followed program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ThreadRow {
    /// Name, number and policy: "motor (4711, fifo 80)".
    pub thread: String,
    /// How it waits for its next turn, or that no loop was recognized.
    pub waits_by: String,
    /// Its period (ns); `None` without a loop.
    pub period_ns: Option<u64>,
    /// The shortest time from one activation to the next (ns); `None` without a loop.
    pub shortest_ns: Option<u64>,
    /// The longest (ns); `None` without a loop.
    pub longest_ns: Option<u64>,
    /// Schedules that late wake-ups skipped; `None` if its schedule is not known.
    pub missed_periods: Option<u64>,
    /// How often another thread took its CPU.
    pub preempted: u64,
    /// How long that was in all, in words.
    pub preempted_for: String,
    /// Who took it, the one that took the most first.
    pub preempted_by: Vec<PreemptionRow>,
}

/// A thread that took the CPU of a followed one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PreemptionRow {
    /// Name of the thread.
    pub name: String,
    /// How often.
    pub times: u64,
    /// How long in all, in words.
    pub total: String,
    /// The longest (ns).
    pub longest_ns: u64,
}

/// What is said of a program that was followed; `None` if the run followed none.
#[must_use]
pub fn summary(record: &Record) -> Option<ProgramSummary> {
    let app = record.app()?;
    let mut followed = format!("{}, followed for {}", what(app), format::span(record.measured_ns()));
    if let Some(how) = &app.ended {
        followed.push_str(&format!(", until it ended ({how})"));
    }
    Some(ProgramSummary {
        followed,
        threads: app.threads.iter().map(|thread| thread_row(thread, record)).collect(),
        left_out: match app.threads_left_out {
            0 => None,
            1 => Some("1 other thread was seen and left out".to_owned()),
            many => Some(format!("{} other threads were seen and left out", format::count(many))),
        },
        audit: app.looked_for(),
        cost: cost(&app.tracing),
    })
}

/// A thread as tables name it: "motor (4711, fifo 80)".
#[must_use]
pub fn thread_words(thread: &AppThread) -> String {
    match thread.priority {
        0 => format!("{} ({}, {})", thread.name, thread.tid, thread.policy),
        priority => format!("{} ({}, {} {priority})", thread.name, thread.tid, thread.policy),
    }
}

fn thread_row(thread: &AppThread, record: &Record) -> ThreadRow {
    ThreadRow {
        thread: thread_words(thread),
        waits_by: thread.waits_by.clone().unwrap_or_else(|| "no loop recognized".to_owned()),
        period_ns: thread.period_ns,
        shortest_ns: thread.periods.min_ns(),
        longest_ns: thread.periods.max_ns(),
        missed_periods: missed_periods(thread, record),
        preempted: thread.preempted,
        preempted_for: format::span(thread.preempted_ns),
        preempted_by: thread
            .preempted_by
            .iter()
            .map(|by| PreemptionRow {
                name: by.name.clone(),
                times: by.times,
                total: format::span(by.total_ns),
                longest_ns: by.longest_ns,
            })
            .collect(),
    }
}

/// What following a program cost, as clauses: events and those that were lost, each activation, the way back, reading.
#[must_use]
pub fn cost(cost: &TracingCost) -> Vec<String> {
    let lost = match cost.lost_events {
        0 => "none lost".to_owned(),
        lost => format!("{} lost: what happened then is unknown", format::count(lost)),
    };
    let mut parts = vec![format!("{} events, {lost}", format::count(cost.events))];
    if let (Some(event_ns), Some(events)) = (cost.event_ns, cost.events_per_activation) {
        let each_ns = round_u64(approx_f64(event_ns) * events);
        let event = format::latency(event_ns);
        parts.push(format!(
            "{events:.1} for each activation at {event}, measured before: about {} each",
            format::latency(each_ns)
        ));
    }
    if let Some(return_ns) = cost.return_ns {
        parts.push(format!("{} of each return measured before and included", format::latency(return_ns)));
    }
    parts.push(format!("{:.1} % of one CPU for reading them", cost.own_cpu * 100.0));
    parts
}

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
