//! What lets the kernel stop real-time threads that could run, by its settings. Pure.
//!
//! Up to Linux 6.11 that is the throttle: `sched_rt_runtime_us` of each `sched_rt_period_us`, for each CPU
//! (Documentation/scheduler/sched-rt-group.rst). From 6.12 on the fair server does its work: a deadline server that
//! gives waiting ordinary threads 50 ms of each second, whatever the two settings say (kernel/sched/deadline.c).
//! With CONFIG_RT_GROUP_SCHED the budgets of the thread's control group and of the groups above it hold too, on every
//! kernel (kernel/sched/rt.c, `update_curr_rt`); -1 in `sched_rt_runtime_us` lifts them, but not the fair server. Groups
//! of version 2 have no files for them: all real-time threads share the root group's budget, which keeps the value that
//! it got at boot (kernel/sched/core.c, `sched_init`).

use std::collections::BTreeMap;
use units::format::span;

/// The release from which on the fair server stands where the throttle stood.
const FAIR_SERVER_SINCE: (u32, u32) = (6, 12);
/// What a fair server gives ordinary threads unless somebody changed it: time and period (ns).
const FAIR_SERVER_DEFAULT_NS: (u64, u64) = (50_000_000, 1_000_000_000);
/// The kernel's own defaults of the throttle, and what the root group's budget is at boot: runtime and period (us).
const THROTTLE_DEFAULT_US: (i64, i64) = (950_000, 1_000_000);

/// A control group's budget for real-time threads (cgroup version 1, CONFIG_RT_GROUP_SCHED).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GroupBudget {
    /// The group's folder.
    pub(crate) path: String,
    /// Time for real-time threads in each period (us, `cpu.rt_runtime_us`); negative means no limit.
    pub(crate) runtime_us: i64,
    /// The period (us, `cpu.rt_period_us`).
    pub(crate) period_us: i64,
}

/// The settings as they were read; what could not be read is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// The kernel's release, first two numbers.
    pub(crate) release: Option<(u32, u32)>,
    /// `kernel.sched_rt_runtime_us` (us); -1 means no limit.
    pub(crate) runtime_us: Option<i64>,
    /// `kernel.sched_rt_period_us` (us).
    pub(crate) period_us: Option<i64>,
    /// Budgets of this process's control group and of the groups above it; empty with groups of version 2.
    pub(crate) groups: Vec<GroupBudget>,
    /// Whether the kernel has CONFIG_RT_GROUP_SCHED; `None` where its configuration is not readable as text.
    pub(crate) has_group_budgets: Option<bool>,
    /// Fair servers by CPU: time for ordinary threads and period (ns).
    pub(crate) fair_servers: BTreeMap<u32, (u64, u64)>,
}

/// The kernel's limits that stop a real-time thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LimitKind {
    /// The throttle of all real-time threads of a CPU.
    Throttle,
    /// The budget of a control group, by its path.
    Group(String),
    /// The fair server of a CPU.
    FairServer,
}

/// One limit that is in force on a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Limit {
    /// The kernel's limit that stops the thread.
    pub(crate) kind: LimitKind,
    /// The longest stop in one period (ns).
    pub(crate) longest_stop_ns: u64,
    /// The period (ns).
    pub(crate) period_ns: u64,
    /// Whether it could not be read here, and has its default: it can be likely at most that it stopped a thread.
    pub(crate) is_presumed: bool,
    /// Whether every real-time thread of the CPU uses it up, and not those of a control group alone.
    pub(crate) is_of_all: bool,
}

impl Limit {
    /// Time that real-time threads have to use within a period before this limit acts (ns).
    pub(crate) fn acts_after_ns(&self) -> u64 {
        self.period_ns.saturating_sub(self.longest_stop_ns)
    }

    /// In words, with its numbers.
    pub(crate) fn describe(&self) -> String {
        let (stop, period) = (span(self.longest_stop_ns), span(self.period_ns));
        match &self.kind {
            LimitKind::Throttle => format!("the throttle of real-time threads (up to {stop} in each {period})"),
            LimitKind::Group(path) => {
                format!("the real-time budget of control group {path} (up to {stop} in each {period})")
            }
            LimitKind::FairServer => format!("the fair server (up to {stop} in each {period})"),
        }
    }
}

fn limit(kind: LimitKind, runtime_us: i64, period_us: i64) -> Option<Limit> {
    let stop_us = u64::try_from(period_us.checked_sub(runtime_us)?).ok().filter(|us| *us > 0)?;
    let period_us = u64::try_from(period_us).ok()?;
    // One without any runtime stops nobody (kernel/sched/rt.c, `sched_rt_runtime_exceeded`).
    (runtime_us > 0).then(|| Limit {
        is_of_all: !matches!(kind, LimitKind::Group(_)),
        kind,
        longest_stop_ns: stop_us.saturating_mul(1_000),
        period_ns: period_us.saturating_mul(1_000),
        is_presumed: false,
    })
}

impl Settings {
    /// What may stop a thread of SCHED_FIFO or SCHED_RR on a CPU.
    pub(crate) fn limits(&self, cpu: u32) -> Vec<Limit> {
        let has_fair_server =
            !self.fair_servers.is_empty() || self.release.is_some_and(|release| release >= FAIR_SERVER_SINCE);
        let (default_runtime_us, default_period_us) = THROTTLE_DEFAULT_US;
        let runtime_us = self.runtime_us.unwrap_or(default_runtime_us);
        // The files need debugfs and the right to open them; a server that nobody touched has the default.
        let server = has_fair_server.then(|| self.fair_servers.get(&cpu).copied().unwrap_or(FAIR_SERVER_DEFAULT_NS));
        let server = server.filter(|(stop_ns, _)| *stop_ns > 0);
        // Where nobody can say whether groups have budgets, a stop that no fair server makes can only be theirs.
        let has_group_budgets = self.has_group_budgets.unwrap_or(has_fair_server && server.is_none());
        let mut limits = Vec::new();
        if runtime_us >= 0 {
            // Where groups have budgets the root group's stands in place of the setting.
            if !self.groups.is_empty() {
                let root = self.groups.iter().map(|group| group.path.len()).min();
                let of = |group: &GroupBudget| {
                    let limit = limit(LimitKind::Group(group.path.clone()), group.runtime_us, group.period_us)?;
                    Some(Limit { is_of_all: Some(group.path.len()) == root, ..limit })
                };
                limits.extend(self.groups.iter().filter_map(of));
            } else if has_group_budgets {
                let root = limit(LimitKind::Group("/".to_owned()), default_runtime_us, default_period_us);
                let is_presumed = self.has_group_budgets.is_none();
                limits.extend(root.map(|root| Limit { is_presumed, is_of_all: true, ..root }));
            } else if !has_fair_server {
                let period_us = self.period_us.unwrap_or(default_period_us);
                let throttle = limit(LimitKind::Throttle, runtime_us, period_us);
                // Of a kernel whose release is not known nobody knows whether it has one.
                let is_read = self.runtime_us.is_some() && self.period_us.is_some() && self.release.is_some();
                limits.extend(throttle.map(|throttle| Limit { is_presumed: !is_read, ..throttle }));
            }
        }
        limits.extend(server.map(|(stop_ns, period_ns)| Limit {
            kind: LimitKind::FairServer,
            longest_stop_ns: stop_ns,
            period_ns,
            is_presumed: !self.fair_servers.contains_key(&cpu),
            is_of_all: true,
        }));
        limits
    }

    /// What may stop one that no CPU is named for: the limits of all CPUs, equal ones once.
    pub(crate) fn limits_of_any_cpu(&self) -> Vec<Limit> {
        let cpus = if self.fair_servers.is_empty() { vec![0] } else { self.fair_servers.keys().copied().collect() };
        let mut limits: Vec<Limit> = Vec::new();
        for limit in cpus.into_iter().flat_map(|cpu| self.limits(cpu)) {
            if !limits.contains(&limit) {
                limits.push(limit);
            }
        }
        limits
    }
}

/// Whether a kernel's configuration, as /boot has it, gives control groups budgets of real-time threads.
pub(crate) fn parse_has_group_budgets(config: &str) -> bool {
    config.lines().any(|line| line.trim() == "CONFIG_RT_GROUP_SCHED=y")
}

/// The first two numbers of a kernel release such as `6.1.0-31-rt-amd64`.
pub(crate) fn parse_release(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.trim().split(|c: char| !c.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn kernel(release: &str, runtime_us: i64) -> Settings {
        Settings {
            release: parse_release(release),
            runtime_us: Some(runtime_us),
            period_us: Some(1_000_000),
            ..Settings::default()
        }
    }

    fn check(settings: &Settings, expected: &[(LimitKind, u64)]) {
        let found: Vec<_> =
            settings.limits(1).into_iter().map(|limit| (limit.kind, limit.longest_stop_ns / MS)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn the_release_says_who_stops_real_time_threads() {
        check(&kernel("6.1.0-31-rt-amd64", 950_000), &[(LimitKind::Throttle, 50)]);
        check(&kernel("6.11.2", 800_000), &[(LimitKind::Throttle, 200)]);
        check(&kernel("6.1.0-31-rt-amd64", -1), &[]);
        check(&kernel("6.1.0-31-rt-amd64", 1_000_000), &[]);
        check(&kernel("6.12.9+deb13-rt-amd64", 950_000), &[(LimitKind::FairServer, 50)]);
        check(&kernel("7.0", 950_000), &[(LimitKind::FairServer, 50)]);
        check(&Settings::default(), &[(LimitKind::Throttle, 50)]);
        let old = kernel("6.1.0", 950_000);
        let unread = [
            Settings { release: None, ..old.clone() },
            Settings { runtime_us: None, ..old.clone() },
            Settings { period_us: None, ..old.clone() },
        ];
        assert!(unread.iter().all(|settings| settings.limits(1)[0].is_presumed) && !old.limits(1)[0].is_presumed);
    }

    #[test]
    fn lifting_the_throttle_does_not_lift_the_fair_server() {
        check(&kernel("6.12.9", -1), &[(LimitKind::FairServer, 50)]);
        let mut settings = kernel("6.12.9", -1);
        settings.fair_servers = BTreeMap::from([(0, (20 * MS, 1_000 * MS)), (1, (0, 1_000 * MS))]);
        check(&settings, &[]);
        settings.fair_servers.insert(1, (20 * MS, 1_000 * MS));
        check(&settings, &[(LimitKind::FairServer, 20)]);
    }

    #[test]
    fn budgets_of_groups_hold_on_every_kernel() {
        let group = |path: &str, runtime_us| GroupBudget { path: path.to_owned(), runtime_us, period_us: 1_000_000 };
        let of = |path: &str, stop| (LimitKind::Group(path.to_owned()), stop);
        let mut settings = kernel("6.18.44", 950_000);
        settings.groups = vec![group("/", 950_000), group("/audio", 100_000)];
        check(&settings, &[of("/", 50), of("/audio", 900), (LimitKind::FairServer, 50)]);
        settings.release = parse_release("5.10.0-33-rt-amd64");
        check(&settings, &[of("/", 50), of("/audio", 900)]);
        settings.groups = vec![group("/", -1)];
        check(&settings, &[]);
        settings.groups = vec![group("/", 950_000)];
        settings.runtime_us = Some(-1);
        check(&settings, &[]);
    }

    #[test]
    fn the_root_groups_budget_holds_where_groups_of_version_2_do_not_show_it() {
        let root = || (LimitKind::Group("/".to_owned()), 50);
        let mut settings = kernel("6.12.9", 900_000);
        settings.has_group_budgets = Some(true);
        check(&settings, &[root(), (LimitKind::FairServer, 50)]);
        settings.fair_servers = BTreeMap::from([(1, (0, 1_000 * MS))]);
        check(&settings, &[root()]);
        assert!(!settings.limits(1)[0].is_presumed);
        settings.has_group_budgets = None;
        check(&settings, &[root()]);
        assert!(settings.limits(1)[0].is_presumed);
        settings.has_group_budgets = Some(false);
        check(&settings, &[]);
        let mut old = kernel("6.1.0-31-amd64", 900_000);
        old.has_group_budgets = Some(true);
        check(&old, &[root()]);
        old.runtime_us = Some(-1);
        check(&old, &[]);
        assert!(parse_has_group_budgets("CONFIG_HZ=250\nCONFIG_RT_GROUP_SCHED=y\n"));
        assert!(!parse_has_group_budgets("# CONFIG_RT_GROUP_SCHED is not set\nCONFIG_HZ=250\n"));
    }

    #[test]
    fn a_thread_without_a_cpu_may_meet_the_limit_of_any() {
        let kinds = |settings: &Settings| {
            let limits = settings.limits_of_any_cpu();
            limits.into_iter().map(|limit| (limit.kind, limit.longest_stop_ns / MS)).collect::<Vec<_>>()
        };
        let mut settings = kernel("6.12.9", 950_000);
        assert_eq!(kinds(&settings), [(LimitKind::FairServer, 50)]);
        let server = |stop| (stop * MS, 1_000 * MS);
        settings.fair_servers = BTreeMap::from([(0, server(50)), (1, server(20)), (2, server(50)), (3, server(0))]);
        settings.has_group_budgets = Some(false);
        assert_eq!(kinds(&settings), [(LimitKind::FairServer, 50), (LimitKind::FairServer, 20)]);
        assert_eq!(kinds(&kernel("6.1.0", -1)), []);
    }
}
