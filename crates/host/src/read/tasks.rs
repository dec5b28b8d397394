//! All tasks, with one small file each, and a second one only where its answer matters.

use profile::process::{Task, parse_stat, parse_status_affinity, reduce_stat, reduce_status};

use crate::source::Source;

/// `stat` is one line, `status` about 1.5 KiB; cpusets and groups of large machines make it longer.
const TASK_MAX_BYTES: u64 = 64 * 1024;

pub(crate) fn read(source: &Source<'_>, some_cpu_is_isolated: bool) -> Vec<Task> {
    let mut tasks = Vec::new();
    for pid in source.numbered("/proc", "") {
        let folder = format!("/proc/{pid}/task");
        for tid in source.numbered(&folder, "") {
            tasks.extend(task(source, &format!("{folder}/{tid}"), pid, some_cpu_is_isolated));
        }
    }
    tasks
}

fn task(source: &Source<'_>, folder: &str, pid: u32, some_cpu_is_isolated: bool) -> Option<Task> {
    let path = format!("{folder}/stat");
    // A task may end between the listing and the reading: no text, no task.
    let text = source.reduced(&path, TASK_MAX_BYTES, reduce_stat)?;
    let Some(mut task) = parse_stat(&text) else {
        source.odd(&path);
        return None;
    };
    task.pid = pid;
    if affinity_matters(&task, some_cpu_is_isolated) {
        let status = source.reduced(&format!("{folder}/status"), TASK_MAX_BYTES, reduce_status);
        task.affinity = status.as_deref().and_then(parse_status_affinity);
    }
    Some(task)
}

/// Where the kernel forbids moving a task, its CPU is its own business, save for interrupts' threads;
/// an ordinary task of user space matters only where there are CPUs that it should leave alone.
fn affinity_matters(task: &Task, some_cpu_is_isolated: bool) -> bool {
    if task.kernel {
        !task.bound || task.policy.is_realtime()
    } else {
        some_cpu_is_isolated || task.policy.is_realtime()
    }
}
