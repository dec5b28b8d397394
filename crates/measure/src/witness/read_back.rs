//! What the kernel grants the measuring threads: asked for once, read back before the run, during it and at its end.

use std::fs;
use std::path::Path;
use units::format::span;

use kernel::sched::{Attributes, Policy, policy_name};
use record::{Effective, Reason, ReasonCode};
use units::CpuSet;

use crate::task_stat::read_short;

/// What one measuring thread asks the kernel for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestedScheduling {
    /// Its number, from 0.
    pub(crate) thread: u32,
    /// Its policy with all that belongs to it.
    pub(crate) policy: Policy,
    /// The CPU that it measures; `None` where the scheduler chooses.
    pub(crate) cpu: Option<u32>,
}

/// What the kernel says of one thread at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReadBack {
    /// Its kernel id.
    pub(crate) tid: u32,
    /// How it is scheduled.
    attributes: Attributes,
    /// CPUs that it may run on.
    affinity: CpuSet,
    /// The process that traces it (`TracerPid` in `/proc/PID/status`), with its name.
    tracer: Option<String>,
}

impl ReadBack {
    /// Asks the kernel about a thread of this process; `None` where it has ended.
    pub(crate) fn read(tid: u32) -> Option<Self> {
        let read_back = Self::with_number(tid)?;
        // Its number may be another process's by now.
        fs::exists(format!("/proc/self/task/{tid}")).is_ok_and(|is_ours| is_ours).then_some(read_back)
    }

    /// Asks the kernel about the calling thread.
    pub(crate) fn read_calling_thread() -> Option<Self> {
        Self::with_number(kernel::sched::thread_id())
    }

    fn with_number(tid: u32) -> Option<Self> {
        let attributes = kernel::sched::attributes_of(tid).ok()?;
        let affinity = kernel::sched::affinity_of(tid).ok()?;
        let tracer = tracer(&read_short(&format!("/proc/self/task/{tid}/status")).unwrap_or_default());
        Some(Self { tid, attributes, affinity, tracer })
    }

    fn scheduling(&self) -> String {
        let Attributes { scheduling, runtime_ns, period_ns } = self.attributes;
        let policy = policy_name(scheduling.policy);
        match scheduling.policy {
            1 | 2 => format!("{policy} {}", scheduling.priority),
            6 => format!("{policy} {} of every {}", span(runtime_ns), span(period_ns)),
            _ if scheduling.nice != 0 => format!("{policy} nice {}", scheduling.nice),
            _ => policy.to_owned(),
        }
    }
}

/// Who traces a thread, by the text of its `/proc/PID/status`.
fn tracer(status: &str) -> Option<String> {
    let pid = status.lines().find_map(|line| line.strip_prefix("TracerPid:"))?.trim();
    if pid == "0" || pid.is_empty() {
        return None;
    }
    let name = crate::kernel_text::read(format!("/proc/{pid}/comm")).unwrap_or_default();
    Some(if name.trim().is_empty() { format!("process {pid}") } else { format!("{} (process {pid})", name.trim()) })
}

/// What one measuring thread was granted when it asked.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) wanted: RequestedScheduling,
    /// What the kernel said once all was asked; `None` where it could not be read back.
    pub(crate) first: Option<ReadBack>,
    /// What the kernel refused, in its own words.
    pub(crate) refusals: Vec<Reason>,
}

impl Grant {
    /// Asks for the CPU and the policy on behalf of the calling thread, makes its stack resident, and reads back.
    pub(crate) fn ask(wanted: RequestedScheduling) -> Self {
        let RequestedScheduling { thread, policy, cpu } = wanted;
        let mut refusals = Vec::new();
        if let Some(cpu) = cpu {
            if let Err(error) = crate::partition::pin(cpu) {
                let detail = format!("thread {thread} was not let onto CPU {cpu}: {error}");
                refusals.push(Reason { code: ReasonCode::AffinityNotGranted, detail });
            }
        }
        kernel::memory::touch_stack();
        if let Err(error) = kernel::sched::set_policy(policy) {
            let (name, priority) = (policy.name(), policy.priority());
            let detail = format!("thread {thread} was refused policy {name} priority {priority}: {error}");
            refusals.push(Reason { code: ReasonCode::SchedulingNotGranted, detail });
        }
        Self { wanted, first: ReadBack::read_calling_thread(), refusals }
    }

    /// For the record.
    pub(crate) fn effective(&self, memory_locked: bool) -> Effective {
        let thread = self.wanted.thread;
        match &self.first {
            Some(ReadBack { tid, attributes, affinity, .. }) => Effective {
                thread,
                tid: *tid,
                policy: policy_name(attributes.scheduling.policy).to_owned(),
                priority: attributes.scheduling.priority,
                affinity: affinity.clone(),
                memory_locked,
            },
            None => Effective { thread, policy: policy_name(u32::MAX).to_owned(), ..Effective::default() },
        }
    }

    /// What was not granted at first: by the kernel's refusal, or else by what it reads back.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        let RequestedScheduling { thread, policy, cpu } = self.wanted;
        if !self.refusals.is_empty() {
            return self.refusals.clone();
        }
        let Some(first) = &self.first else {
            let detail = format!("thread {thread}: the kernel did not say how it is scheduled");
            return vec![Reason { code: ReasonCode::SchedulingNotGranted, detail }];
        };
        let mut reasons = Vec::new();
        if !first.attributes.is(policy) {
            let (name, priority) = (policy.name(), policy.priority());
            let detail = format!("thread {thread} runs as {} instead of {name} {priority}", first.scheduling());
            reasons.push(Reason { code: ReasonCode::SchedulingNotGranted, detail });
        }
        if let Some(cpu) = cpu.filter(|cpu| first.affinity != CpuSet::from_iter([*cpu])) {
            let detail = format!("thread {thread} may run on CPUs {} instead of {cpu}", first.affinity);
            reasons.push(Reason { code: ReasonCode::AffinityNotGranted, detail });
        }
        reasons
    }

    /// What differs between a later reading and the first one; `when` says in words when it was seen.
    pub(crate) fn changes(&self, now: &ReadBack, when: &dyn Fn() -> String) -> Vec<Reason> {
        let Some(first) = &self.first else { return Vec::new() };
        let RequestedScheduling { thread, cpu, .. } = self.wanted;
        let mut reasons = Vec::new();
        if now.attributes != first.attributes {
            let detail = format!(
                "thread {thread} ran as {} and was changed to {}, seen {}",
                first.scheduling(),
                now.scheduling(),
                when()
            );
            reasons.push(Reason { code: ReasonCode::SchedulingNotGranted, detail });
        }
        // A pinned thread that was not let onto its CPU at first, and now is, is no worse off.
        let is_home = cpu.is_some_and(|cpu| now.affinity == CpuSet::from_iter([cpu]));
        if now.affinity != first.affinity && !is_home {
            let home = cpu.map_or_else(|| format!("CPUs {}", first.affinity), |cpu| format!("CPU {cpu}"));
            let why = match cpu {
                Some(cpu) if is_leaving(cpu, Path::new("/sys/devices/system/cpu")) => {
                    format!("CPU {cpu} went offline")
                }
                _ => "its affinity was changed".to_owned(),
            };
            let detail = format!("thread {thread} left {home} for {}: {why}, seen {}", now.affinity, when());
            reasons.push(Reason { code: ReasonCode::AffinityNotGranted, detail });
        }
        if let Some(tracer) = &now.tracer {
            let detail = format!("thread {thread} was traced by {tracer}, seen {}", when());
            reasons.push(Reason { code: ReasonCode::Stopped, detail });
        }
        reasons
    }
}

/// Whether a CPU is offline, or on its way there: its threads are moved away before it is taken from the CPUs that are online
/// (`sched_cpu_deactivate` and `take_cpu_down`, kernel/cpu.c). Where it is going is its `hotplug/target`, 0 from the beginning.
fn is_leaving(cpu: u32, folder: &Path) -> bool {
    let read = |name: &str| crate::kernel_text::read(folder.join(name)).ok();
    let online: Option<CpuSet> = read("online").and_then(|text| text.parse().ok());
    let is_offline = online.is_some_and(|online| !online.contains(cpu));
    is_offline || read(&format!("cpu{cpu}/hotplug/target")).is_some_and(|target| target.trim() == "0")
}

#[cfg(test)]
mod tests {
    use kernel::sched::Scheduling;

    use super::*;

    fn read_back(policy: u32, priority: u32, affinity: &str) -> ReadBack {
        let scheduling = Scheduling { policy, priority, nice: 0 };
        let attributes = Attributes { scheduling, runtime_ns: 0, period_ns: 0 };
        ReadBack { tid: 7, attributes, affinity: affinity.parse().unwrap(), tracer: None }
    }

    fn grant(first: ReadBack) -> Grant {
        let wanted = RequestedScheduling { thread: 3, policy: Policy::Fifo(80), cpu: Some(1) };
        Grant { wanted, first: Some(first), refusals: Vec::new() }
    }

    fn codes(reasons: &[Reason]) -> Vec<ReasonCode> {
        reasons.iter().map(|reason| reason.code).collect()
    }

    #[test]
    fn what_is_read_back_is_compared_with_what_was_asked() {
        let check = |first: ReadBack, expected: &[ReasonCode]| assert_eq!(codes(&grant(first).reasons()), expected);
        check(read_back(1, 80, "1"), &[]);
        check(read_back(2, 80, "1"), &[ReasonCode::SchedulingNotGranted]);
        check(read_back(1, 79, "1"), &[ReasonCode::SchedulingNotGranted]);
        check(read_back(0, 0, "0-1"), &[ReasonCode::SchedulingNotGranted, ReasonCode::AffinityNotGranted]);
        let unread = Grant { first: None, ..grant(read_back(1, 80, "1")) };
        assert_eq!(codes(&unread.reasons()), [ReasonCode::SchedulingNotGranted]);
        assert_eq!(unread.effective(true).policy, "unknown");
        assert!(!unread.effective(true).memory_locked, "nothing is claimed of a thread that nothing is known of");
    }

    #[test]
    fn what_changes_later_is_named_once_for_each_kind() {
        let grant = grant(read_back(1, 80, "1"));
        let check = |now: &ReadBack, expected: &[ReasonCode]| {
            assert_eq!(codes(&grant.changes(now, &|| "2 s into the run".to_owned())), expected);
        };
        check(&read_back(1, 80, "1"), &[]);
        check(&read_back(1, 10, "1"), &[ReasonCode::SchedulingNotGranted]);
        check(&read_back(0, 0, "0"), &[ReasonCode::SchedulingNotGranted, ReasonCode::AffinityNotGranted]);
        check(&ReadBack { tracer: Some("gdb".to_owned()), ..read_back(1, 80, "1") }, &[ReasonCode::Stopped]);
        let changed = &grant.changes(&read_back(0, 0, "1"), &|| "2 s into the run".to_owned())[0];
        assert_eq!(changed.detail, "thread 3 ran as fifo 80 and was changed to other, seen 2 s into the run");
    }

    #[test]
    fn a_cpu_that_is_on_its_way_offline_is_leaving() {
        let folder = tempfile::tempdir().unwrap();
        let leaving = |online: &str, target: Option<&str>| {
            fs::create_dir_all(folder.path().join("cpu3/hotplug")).unwrap();
            fs::write(folder.path().join("online"), online).unwrap();
            let file = folder.path().join("cpu3/hotplug/target");
            target.map_or_else(|| drop(fs::remove_file(&file)), |target| fs::write(&file, target).unwrap());
            is_leaving(3, folder.path())
        };
        assert!(!leaving("0-3\n", Some("238\n")), "its affinity was changed by somebody");
        assert!(leaving("0-3\n", Some("0\n")), "its threads are moved away first");
        assert!(leaving("0-2\n", Some("0\n")) && leaving("0-2\n", None));
        assert!(!leaving("0-3\n", None), "a kernel without hotplug");
        let own = kernel::sched::affinity_of(0).unwrap().first().unwrap();
        assert!(!is_leaving(own, Path::new("/sys/devices/system/cpu")));
    }

    #[test]
    fn a_thread_of_another_process_is_none_of_ours() {
        assert_eq!(ReadBack::read(1).map(|of| of.tid), None);
        let own = ReadBack::read_calling_thread().unwrap();
        assert_eq!(ReadBack::read(own.tid), Some(own));
    }

    #[test]
    fn a_tracer_is_read_from_the_status() {
        assert_eq!(tracer("Name:\tx\nTracerPid:\t0\nUid:\t0\n"), None);
        assert_eq!(tracer("Name:\tx\n"), None);
        assert_eq!(tracer("TracerPid:\t4194305\n").unwrap(), "process 4194305");
        let own = tracer(&format!("TracerPid:\t{}\n", std::process::id())).unwrap();
        assert!(own.ends_with(&format!("(process {})", std::process::id())), "{own}");
    }
}
