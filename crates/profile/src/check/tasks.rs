//! Tasks that compete with real-time work.

use units::CpuSet;

use super::Rule;
use super::Severity::{Note, Warning};
use super::rule::{Found, count, housekeeping_list, isolated, left_out};
use crate::catalogue::LINUX;
use crate::paths;
use crate::process::{Policy, Task};

fn readings<'a>(tasks: impl Iterator<Item = &'a Task>) -> Vec<(String, String)> {
    tasks
        .map(|task| {
            let cpus = task.affinity.as_ref().map_or_else(|| "unknown".to_owned(), ToString::to_string);
            (
                format!("/proc/{}/task/{}/status, {}", task.pid, task.tid, task.label()),
                format!("may run on CPUs {cpus}"),
            )
        })
        .collect()
}

/// Whether a task may run on isolated CPUs and on others: one that may run on isolated CPUs only was put there on
/// purpose.
fn straddles(task: &Task, isolated: &CpuSet) -> bool {
    task.affinity.as_ref().is_some_and(|cpus| !cpus.intersection(isolated).is_empty() && !cpus.is_subset(isolated))
}

pub(super) static ORDINARY_ON_ISOLATED: Rule = Rule {
    id: "ordinary-tasks-on-isolated-cpus",
    title: "Ordinary tasks may run on isolated CPUs",
    severities: &[Warning],
    what: "Tasks of user space without a real-time policy have isolated CPUs in their affinity, beside others. \
           Isolation by isolcpus= keeps out only tasks that do not ask: a service or a container runtime that sets \
           an affinity of all CPUs gets in.",
    why: "Such a task dirties caches, brings its own interrupts and timers, and with the fair server even takes time \
          from a busy real-time task.",
    see: "Cpus_allowed_list in /proc/PID/task/TID/status.",
    change: "Set CPUAffinity= or AllowedCPUs= of the services, --cpuset-cpus of the containers, or move the tasks \
             now with taskset -a -c -p HOUSEKEEPING-CPUS PID.",
    price: "These tasks have fewer CPUs.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-parameters.txt, isolcpus=",
        "systemd.exec(5), CPUAffinity=",
        "sched_setaffinity(2)",
    ],
    find: |profile| {
        let isolated = isolated(profile)?;
        let on_isolated = &profile.tasks.on_isolated;
        let roaming: Vec<&Task> = on_isolated
            .iter()
            .filter(|task| !task.kernel && !task.policy.is_realtime() && straddles(task, &isolated))
            .collect();
        (!roaming.is_empty()).then(|| {
            Found::warning(format!("{} may run on isolated CPUs", count(roaming.len(), "ordinary task")))
                .read_many(readings(roaming.iter().copied()))
                .read_isolated(profile)
                .remedy(format!(
                    "taskset -a -c -p {} PID, for each, and CPUAffinity= in the unit that starts it.",
                    housekeeping_list(profile)
                ))
        })
    },
};

pub(super) static KERNEL_ON_ISOLATED: Rule = Rule {
    id: "kernel-threads-on-isolated-cpus",
    title: "Movable kernel threads may run on isolated CPUs",
    severities: &[Note],
    what: "Kernel threads that are not bound to a CPU have isolated CPUs in their affinity. Before 7.0 nohz_full= \
           keeps new ones away and isolcpus= does not. From 7.0 on isolcpus= and isolated cpuset partitions keep them \
           away, and nohz_full= alone does not. Threads that were given CPUs of their own stay there.",
    why: "One that last ran on the CPU wakes up there again and takes its time from an ordinary task, or from a \
          real-time task of lower priority.",
    see: "Cpus_allowed_list in /proc/PID/status of the threads in brackets in `ps`.",
    change: "Move them with taskset -c -p HOUSEKEEPING-CPUS PID at boot, those of RCU, rcuo*, too. Before 7.0 \
             nohz_full= keeps new ones away.",
    price: "None worth naming.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
        "Linux kernel/kthread.c, kthread_fetch_affinity() (041ee6f3727a, \"kthread: Rely on HK_TYPE_DOMAIN for \
         preferred affinity management\")",
        "Linux include/linux/sched/isolation.h, HK_TYPE_KTHREAD",
    ],
    find: |profile| {
        let isolated = isolated(profile)?;
        let threads: Vec<&Task> = profile
            .tasks
            .on_isolated
            .iter()
            .filter(|task| task.kernel && !task.bound)
            .filter(|task| task.affinity.as_ref().is_some_and(|cpus| !cpus.intersection(&isolated).is_empty()))
            .collect();
        (!threads.is_empty()).then(|| {
            let rest = housekeeping_list(profile);
            let found =
                Found::note(format!("{} may run on isolated CPUs", count(threads.len(), "movable kernel thread")))
                    .read_many(readings(threads.iter().copied()))
                    .read_isolated(profile)
                    .read_known(paths::RELEASE, profile.kernel.release.as_deref())
                    .remedy(format!("taskset -c -p {rest} PID, for each, at boot."));
            // 041ee6f3727a: until then nohz_full= decided; since then it is isolation from load balancing, which these
            // CPUs have already.
            match profile.kernel.at_least(7, 0) {
                Some(false) if !left_out(profile, "CONFIG_NO_HZ_FULL") => {
                    found.remedy(format!("Or boot with nohz_full={isolated}, which keeps new ones away."))
                }
                _ => found,
            }
        })
    },
};

pub(super) static ROAMING: Rule = Rule {
    id: "realtime-tasks-roam",
    title: "Real-time tasks may run on isolated and on other CPUs",
    severities: &[Note],
    what: "A real-time task of user space has both isolated and other CPUs in its affinity.",
    why: "The scheduler does not balance across the border of the isolation, so the task stays where it was started, \
          perhaps with another real-time task, and its caches are cold after each move by hand.",
    see: "Cpus_allowed_list in /proc/PID/task/TID/status.",
    change: "Bind each real-time task to the CPUs that are meant for it: taskset -c, pthread_setaffinity_np(), \
             CPUAffinity=.",
    price: "None; with isolated CPUs, placement is the designer's task.",
    checked: LINUX,
    sources: &["sched_setaffinity(2)", "Linux Documentation/admin-guide/kernel-parameters.txt, isolcpus="],
    find: |profile| {
        let isolated = isolated(profile)?;
        // Deadline tasks must be allowed on a whole root domain (Documentation/scheduler/sched-deadline.rst, 5).
        let roaming: Vec<&Task> = profile
            .tasks
            .realtime
            .iter()
            .filter(|task| !task.kernel && task.policy.is_realtime() && task.policy != Policy::Deadline)
            .filter(|task| straddles(task, &isolated))
            .collect();
        (!roaming.is_empty()).then(|| {
            Found::note(format!("{} may run on isolated and on other CPUs", count(roaming.len(), "real-time task")))
                .read_many(readings(roaming.iter().copied()))
                .read_isolated(profile)
        })
    },
};

/// The highest priority of SCHED_FIFO and SCHED_RR. The kernel's threads migration/N have it by name only: they are of
/// the stop class, which outranks it (kernel/sched/core.c, sched_set_stop_task()).
const HIGHEST_PRIORITY: u32 = 99;

pub(super) static TOP_PRIORITY: Rule = Rule {
    id: "realtime-priority-99",
    title: "Tasks of user space run at priority 99",
    severities: &[Warning],
    what: "A task of user space has the highest priority of SCHED_FIFO and SCHED_RR. Some services take it by \
           default, for example multipathd. SCHED_DEADLINE outranks it, and so does the stop class: the threads \
           migration/N, which `ps` shows as FIFO 99, do not wait for it. Since 6.12 the fair server outranks it too.",
    why: "No other SCHED_FIFO or SCHED_RR task can be placed above it: while it runs, the other real-time tasks of \
          its CPU wait. Where interrupts are threaded (PREEMPT_RT, threadirqs), their threads at 50 wait as well, and \
          so do the devices that they serve. On PREEMPT_RT the same holds for softirqs and the timers that run in \
          them.",
    see: "`ps -eLo rtprio,cls,pid,comm --sort=-rtprio | head`.",
    change: "Give it the lowest priority that meets its own deadline, for example 80 for a cyclic task, above the \
             interrupt threads (50) only where needed; for a service set CPUSchedulingPriority= in its unit.",
    price: "None; order among real-time tasks stays as it was.",
    checked: LINUX,
    sources: &[
        "sched(7)",
        "Linux kernel/sched/core.c, sched_set_stop_task()",
        "Linux include/asm-generic/vmlinux.lds.h, SCHED_DATA (the order of the classes)",
        "ros-realtime/ros-realtime-rpi4-image issue 30 (multipathd at 99)",
    ],
    find: |profile| {
        let top: Vec<&Task> = profile
            .tasks
            .realtime
            .iter()
            .filter(|task| {
                !task.kernel
                    && task.rt_priority == HIGHEST_PRIORITY
                    && matches!(task.policy, Policy::Fifo | Policy::RoundRobin)
            })
            .collect();
        (!top.is_empty()).then(|| {
            let readings =
                top.iter().map(|task| (format!("/proc/{}/task/{}/stat", task.pid, task.tid), task.label())).collect();
            Found::warning(format!("{} of user space at priority {HIGHEST_PRIORITY}", count(top.len(), "task")))
                .read_many(readings)
        })
    },
};
