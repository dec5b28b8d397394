//! Why a measuring thread did not come up: what the kernel lets run before it, as far as that can be read.

use std::time::Duration;

use units::CpuSet;

use crate::task_stat::read_short;
use crate::witness::{Rank, RequestedScheduling, Rival, find_rivals};

/// How long a thread may take from its birth, or from its order, to its loop; so long a busy machine was seen to take, a few
/// times over.
pub(crate) const COMES_UP_WITHIN: Duration = Duration::from_secs(10);

/// Threads that the reason names.
const NAMED: usize = 3;

/// Who could have run in the place of this thread, in words.
pub(crate) fn why_stuck(wanted: RequestedScheduling) -> String {
    let cpus = match wanted.cpu {
        Some(cpu) => CpuSet::from_iter([cpu]),
        None => kernel::sched::affinity_of(0).unwrap_or_default(),
    };
    let ready = read_short("/proc/loadavg").ok().and_then(|text| ready_threads(&text));
    words(&cpus, &find_rivals(&cpus, Rank::from(wanted.policy), false), ready)
}

/// Threads that are ready to run (Documentation/filesystems/proc.rst, 1.8: the number before the slash).
fn ready_threads(loadavg: &str) -> Option<u32> {
    loadavg.split_ascii_whitespace().nth(3)?.split('/').next()?.parse().ok()
}

fn words(cpus: &CpuSet, rivals: &[Rival], ready: Option<u32>) -> String {
    let on = format!("{} {cpus}", if cpus.len() == 1 { "CPU" } else { "CPUs" });
    if rivals.is_empty() {
        let ready =
            ready.map_or_else(String::new, |ready| format!("; {ready} threads of this machine are ready to run"));
        return format!("no other program's thread that runs before it was found on {on}{ready}");
    }
    let named: Vec<String> = rivals.iter().take(NAMED).map(Rival::text).collect();
    let more = match rivals.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    format!("these can run before it on {on}: {}{more}", named.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_names_who_was_found_and_claims_nobody_where_nobody_was() {
        let cpus = CpuSet::from_iter([1]);
        assert_eq!(
            words(&cpus, &[], ready_threads("7.31 4.02 2.2 9/310 4711\n")),
            "no other program's thread that runs before it was found on CPU 1; 9 threads of this machine are ready to run"
        );
        assert_eq!(words(&cpus, &[], None), "no other program's thread that runs before it was found on CPU 1");
        let rival = |tid| Rival::of("spinner", tid, 90, &cpus);
        let said = words(&cpus, &[rival(7), rival(8), rival(9), rival(10)], Some(9));
        assert!(
            said.starts_with("these can run before it on CPU 1: spinner (fifo 90, CPU 1, thread 7), spinner"),
            "{said}"
        );
        assert!(said.ends_with("thread 9) and 1 more"), "{said}");
    }
}
