//! Threads of the kernel: how they are scheduled, and where they may run.

use units::CpuSet;

use super::{Demand, Group, RequiredSetting, Site};
use crate::thread::{Scheduling, is_like};
use crate::{Form, Place, Value};

/// A thread as plans know it.
struct Thread {
    tid: u32,
    comm: String,
}

/// The threads of the kernel whose scheduling can matter: those of interrupts, and real-time ones.
fn known(site: &Site) -> Vec<Thread> {
    let of_irqs = site.profile.irqs.lines.iter().flat_map(|irq| &irq.threads);
    let of_irqs = of_irqs.map(|thread| Thread { tid: thread.tid, comm: thread.comm.clone() });
    let realtime = site.profile.tasks.kernel_realtime.iter();
    let mut known: Vec<Thread> =
        of_irqs.chain(realtime.map(|task| Thread { tid: task.tid, comm: task.comm.clone() })).collect();
    known.sort_by_key(|thread| thread.tid);
    known.dedup_by_key(|thread| thread.tid);
    known
}

impl Demand {
    /// Those whose names are like `pattern` are scheduled so.
    pub(super) fn threads(&mut self, pattern: &str, scheduling: &str, site: &Site) {
        let about = format!("[thread] \"{pattern}\"");
        let scheduling: Scheduling = match scheduling.parse() {
            Ok(scheduling) => scheduling,
            Err(error) => return self.conflict(about, format!("it {error}"), "sched(7)"),
        };
        let found: Vec<Thread> = known(site).into_iter().filter(|thread| is_like(pattern, &thread.comm)).collect();
        if found.is_empty() {
            let remedy = "'punctual profile' lists them; interrupts have threads with PREEMPT_RT, or with threadirqs";
            return self.conflict(about, "no interrupt's or real-time thread of the kernel has such a name", remedy);
        }
        for Thread { tid, comm } in found {
            self.wanted.push(RequiredSetting {
                knob: "thread.scheduling".to_owned(),
                of: comm.clone(),
                place: Place::Scheduling { path: format!("/proc/{tid}"), comm },
                form: Form::Text,
                value: Value::text(scheduling.to_string()),
                group: Group::Threads,
                why: "it was asked for by name".to_owned(),
                cost: "what has a lower priority waits for it".to_owned(),
                may_refuse: false,
                is_named: true,
                in_new_folder: false,
            });
        }
    }

    /// Threads of the kernel that can be moved leave the isolated CPUs.
    pub(super) fn kernel_threads(&mut self, isolated: &CpuSet, rest: &CpuSet, site: &Site) {
        let movable = site.profile.tasks.on_isolated.iter().filter(|task| task.kernel && !task.bound);
        for task in movable {
            let Some(affinity) = &task.affinity else { continue };
            let kept = affinity.intersection(rest).difference(isolated);
            let to = if kept.is_empty() { rest } else { &kept };
            self.wanted.push(RequiredSetting {
                knob: "thread.cpus".to_owned(),
                of: task.comm.clone(),
                place: Place::Affinity { path: format!("/proc/{}", task.tid), comm: task.comm.clone() },
                form: Form::CpuList,
                value: Value::text(to.to_string()),
                group: Group::Work,
                why: "threads of the kernel leave the isolated CPUs".to_owned(),
                cost: String::new(),
                // Some bind themselves again, or end.
                may_refuse: true,
                is_named: false,
                in_new_folder: false,
            });
        }
    }
}
