//! Memory that moves, merges, swaps or runs out.

use units::CpuSet;

use super::Rule;
use super::Severity::{Note, Warning};
use super::rule::{Found, cpus_label, isolated};
use crate::catalogue::LINUX;
use crate::{Preemption, paths};

pub(super) static STATISTICS: Rule = Rule {
    id: "memory-statistics-interval",
    title: "Memory statistics are folded every second",
    severities: &[Note],
    what: "A kernel worker on each CPU adds that CPU's counters of virtual memory to the totals every \
           vm.stat_interval seconds, 1 by default; kernels since 6.5 leave out the CPUs that are isolated at boot, and \
           since 6.8 those of isolated cpuset partitions too.",
    why: "On a busy isolated CPU that is one more wake-up of a kernel worker per second, whenever the counters \
          changed.",
    see: "/proc/sys/vm/stat_interval; trace workqueue_execute_start for vmstat_update.",
    change: "sysctl vm.stat_interval=10, or 120.",
    price: "Totals in /proc/vmstat lag behind.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/sysctl/vm.rst, stat_interval",
        "Linux Documentation/admin-guide/kernel-per-CPU-kthreads.rst",
    ],
    find: |profile| {
        let isolated = isolated(profile)?;
        // be5e015d107d, "vmstat: skip periodic vmstat update for isolated CPUs", came in 6.5 for boot parameters;
        // 3232e7aad11e, "cgroup/cpuset: Include isolated cpuset CPUs in cpu_is_isolated() check", in 6.8.
        let left_out = match (profile.kernel.at_least(6, 5)?, profile.kernel.at_least(6, 8)?) {
            (_, true) => return None,
            // Those without a tick count as isolated too (include/linux/sched/isolation.h, cpu_is_isolated()).
            (true, false) => {
                let tickless = profile.isolation.nohz_full.clone().unwrap_or_default();
                profile.isolation.isolated.clone().unwrap_or_default().union(&tickless)
            }
            (false, false) => CpuSet::new(),
        };
        let folding = isolated.difference(&left_out);
        (!folding.is_empty() && profile.memory.stat_interval_s == Some(1)).then(|| {
            Found::note(format!("Memory statistics are folded on isolated {} each second", cpus_label(&folding)))
                .read(paths::STAT_INTERVAL, 1)
                .read_known(paths::RELEASE, profile.kernel.release.as_deref())
                .read_isolated(profile)
        })
    },
};

pub(super) static HUGE_PAGES: Rule = Rule {
    id: "transparent-huge-pages",
    title: "Memory is merged into huge pages by itself",
    severities: &[Warning],
    what: "With `always`, the kernel gives huge pages to every mapping that fits and lets khugepaged merge small \
           pages later. PREEMPT_RT kernels are built without them.",
    why: "A page fault may have to clear or find 2 MiB, and khugepaged moves pages under a running task, which then \
          faults and waits for a lock; locked memory is not exempt.",
    see: "/sys/kernel/mm/transparent_hugepage/enabled; thp_* in /proc/vmstat.",
    change: "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled, or never; or boot with \
             transparent_hugepage=madvise. A program can opt out with prctl(PR_SET_THP_DISABLE).",
    price: "Databases and virtual machines that profit from huge pages have to ask for them.",
    checked: LINUX,
    sources: &["Linux Documentation/admin-guide/mm/transhuge.rst", "Linux mm/Kconfig, TRANSPARENT_HUGEPAGE"],
    find: |profile| {
        (profile.memory.transparent_huge_pages.as_deref() == Some("always")).then(|| {
            Found::warning("Memory is merged into huge pages by itself, for every program").read(paths::THP, "always")
        })
    },
};

pub(super) static SWAP: Rule = Rule {
    id: "swap",
    title: "Memory may be swapped out",
    severities: &[Warning, Note],
    what: "Swap space exists; a warning where some of it is in use.",
    why: "A page that was swapped out comes back in milliseconds from a disk, in tens of microseconds from flash or \
          compressed memory. Locked memory stays, but what the real-time task calls, shared libraries, the shell that \
          starts it, a server that it asks, may not be locked.",
    see: "`swapon --show`, SwapTotal and SwapFree in /proc/meminfo.",
    change: "swapoff -a and remove the entries from /etc/fstab, or lock all memory of everything that takes part \
             (mlockall).",
    price: "When memory runs out the kernel kills a process sooner: give the machine enough memory and the real-time \
            task OOMScoreAdjust=-1000.",
    checked: LINUX,
    sources: &["mlockall(2)", "Linux Documentation/admin-guide/sysctl/vm.rst, swappiness"],
    find: |profile| {
        let memory = &profile.memory;
        let total_kib = memory.swap_total_kib.filter(|&kib| kib > 0)?;
        let found = match memory.swap_used_kib {
            Some(used_kib) if used_kib > 0 => Found::warning("Memory is swapped out")
                .read("/proc/meminfo, SwapTotal - SwapFree", format!("{used_kib} kB")),
            _ => Found::note("Memory may be swapped out"),
        };
        Some(
            found
                .read("/proc/meminfo, SwapTotal", format!("{total_kib} kB"))
                .read_known(paths::SWAPPINESS, memory.swappiness),
        )
    },
};

pub(super) static MERGING: Rule = Rule {
    id: "same-page-merging",
    title: "Equal pages are merged",
    severities: &[Warning],
    what: "Kernel same-page merging looks for pages with the same content in programs that opted in, mostly virtual \
           machines, and lets them share one.",
    why: "The scanner takes CPU time and dirties caches, and writing to a shared page costs a page fault and a copy \
          at a moment that nobody planned.",
    see: "/sys/kernel/mm/ksm/run and pages_sharing.",
    change: "echo 2 > /sys/kernel/mm/ksm/run, which stops it and takes the sharing apart; disable ksmtuned.",
    price: "Virtual machines use more memory.",
    checked: LINUX,
    sources: &["Linux Documentation/admin-guide/mm/ksm.rst"],
    find: |profile| {
        (profile.memory.ksm_run == Some(1))
            .then(|| Found::warning("Equal pages of programs are merged in the background").read(paths::KSM, 1))
    },
};

pub(super) static LOCKED_PAGES_MOVE: Rule = Rule {
    id: "locked-pages-move",
    title: "Compaction may move locked pages",
    severities: &[Warning, Note],
    what: "To make room for large pieces of memory, compaction moves pages to other places. With \
           vm.compact_unevictable_allowed=1 it moves locked ones too (mlock, mlockall). The default is 1, and 0 on \
           PREEMPT_RT; a warning where it is 1 on PREEMPT_RT.",
    why: "Locking keeps a page in memory, not in its place. A thread that touches a page while it is moved takes a \
          page fault and waits until the copy is complete, although all memory was locked and touched beforehand.",
    see: "/proc/sys/vm/compact_unevictable_allowed; compact_migrate_scanned and pgmigrate_success in /proc/vmstat.",
    change: "sysctl vm.compact_unevictable_allowed=0; where little has to be moved, also \
             vm.compaction_proactiveness=0.",
    price: "Large pieces of memory, huge pages among them, are found less often. Other reasons to move a locked page \
            remain: a driver's request for contiguous memory (CMA), NUMA balancing, memory hot-unplug.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/sysctl/vm.rst, compact_unevictable_allowed",
        "Linux mm/Kconfig, COMPACT_UNEVICTABLE_DEFAULT",
        "Linux mm/compaction.c, isolate_migratepages()",
    ],
    find: |profile| {
        if profile.memory.compact_unevictable_allowed != Some(true) {
            return None;
        }
        let found = match profile.kernel.preemption {
            Preemption::Realtime => {
                Found::warning("Compaction may move locked pages, which PREEMPT_RT forbids by default")
            }
            _ => Found::note("Compaction may move locked pages; a thread that touches one meanwhile waits"),
        };
        Some(found.read(paths::COMPACT_UNEVICTABLE, 1))
    },
};

/// Below this share of available memory the kernel is close to reclaiming memory within allocations, in percent.
/// A rule of thumb: the kernel's own watermarks lie at one to a few percent, and grow with watermark_scale_factor.
const LOW_PERCENT: u64 = 5;

pub(super) static LOW: Rule = Rule {
    id: "memory-low",
    title: "Memory is nearly used up",
    severities: &[Warning],
    what: "Little memory is left that could be had without swapping.",
    why: "An allocating thread has to free memory first, write pages back and wait for disks, inside its own page fault \
          or system call; at the end a process is killed.",
    see: "MemAvailable in /proc/meminfo; /proc/pressure/memory.",
    change: "Stop or bound what takes the memory (MemoryMax= in units), and allocate and lock all memory of the \
             real-time task at its start.",
    price: "None.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/mm/concepts.rst, Reclaim",
        "Linux Documentation/filesystems/proc.rst, MemAvailable",
    ],
    find: |profile| {
        let (total_kib, available_kib) = profile.memory.total_kib.zip(profile.memory.available_kib)?;
        let is_low = u128::from(available_kib) * 100 < u128::from(total_kib) * u128::from(LOW_PERCENT);
        (is_low && total_kib > 0).then(|| {
            Found::warning(format!("Less than {LOW_PERCENT} % of memory is available"))
                .read("/proc/meminfo, MemAvailable", format!("{available_kib} kB"))
                .read("/proc/meminfo, MemTotal", format!("{total_kib} kB"))
        })
    },
};
