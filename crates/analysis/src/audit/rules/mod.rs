//! The rules, one file each, and the helpers that they share.

pub(super) mod allocation;
pub(super) mod blocking;
pub(super) mod creation;
pub(super) mod files;
pub(super) mod heap;
pub(super) mod helper_threads;
pub(super) mod lock_inheritance;
pub(super) mod logging;
pub(super) mod memory_not_locked;
pub(super) mod no_loop;
pub(super) mod no_real_time;
pub(super) mod page_faults;
pub(super) mod realtime_clock;
pub(super) mod relative_sleep;
pub(super) mod stack_growth;
pub(super) mod top_priority;
pub(super) mod unknown_calls;

use profile::catalogue::{Checked, Found, LINUX};
use record::{Evidence, Severity};
use units::format::{self, span};

use super::Rule;
use super::observed::{CLOCK_REALTIME, Detail, ObservedCall, ObservedFaults, ObservedProgram, ObservedThread, Target};

/// A number of times in words: `once`, `4 times`.
fn times(times: u64) -> String {
    if times == 1 { "once".to_owned() } else { format!("{} times", format::count(times)) }
}

/// The calls of all loops that a rule applies to, as evidence.
fn calls(seen: &ObservedProgram, is_meant: impl Fn(&ObservedThread, &ObservedCall) -> bool) -> Vec<Evidence> {
    seen.threads
        .iter()
        .flat_map(|thread| {
            thread
                .calls
                .iter()
                .filter(|call| is_meant(thread, call))
                .map(|call| Evidence::new(thread.label(), describe(thread, call)))
        })
        .collect()
}

/// Describes a call: `write(1) on a pipe: 400 times in 400 turns, longest 12 us, in all 4 ms, first 1.2 s into the run`.
fn describe(thread: &ObservedThread, call: &ObservedCall) -> String {
    let on = if call.target == Target::Unknown { String::new() } else { format!(" on {}", call.target.text()) };
    let turns =
        thread.periodic.map_or_else(String::new, |periodic| format!(" in {} turns", format::count(periodic.turns)));
    let slept = if call.slept_times == 0 { String::new() } else { format!(", slept {}", times(call.slept_times)) };
    format!(
        "{}{on}: {}{turns}{slept}, longest {}, in all {}, first {} into the run",
        call.what.text(),
        times(call.times),
        span(call.longest_ns),
        span(call.total_ns),
        span(call.first_ns)
    )
}

/// The page faults of a thread, as evidence.
fn faults(thread: &ObservedThread, faults: ObservedFaults) -> Evidence {
    let turns =
        thread.periodic.map_or_else(String::new, |periodic| format!(" in {} turns", format::count(periodic.turns)));
    Evidence::new(
        thread.label(),
        format!("{}{turns}, first {} into the run", times(faults.times), span(faults.first_ns)),
    )
}

/// Whether a call waits for a contended lock without priority inheritance.
fn is_plain_lock(call: &ObservedCall) -> bool {
    matches!(call.what.detail, Detail::Futex { operation: 0 | 9, contended: true, .. })
}

/// Whether a call prints or logs: to a standard stream, a terminal, a log socket or a file.
fn is_logging(call: &ObservedCall) -> bool {
    call.what.call.work() == trace::Work::Output
        && match &call.target {
            Target::Terminal(_) | Target::LogSocket | Target::File(_) => true,
            Target::Pipe | Target::Unknown | Target::Socket => {
                matches!(call.what.detail, Detail::Descriptor(1 | 2))
            }
            Target::Device(path) => path == "/dev/null" && matches!(call.what.detail, Detail::Descriptor(1 | 2)),
            Target::Kernel(_) => false,
        }
}
