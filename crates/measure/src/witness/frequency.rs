//! Whether measured CPUs kept one frequency, by what each kind of machine has.
//!
//! Drivers with a table of frequencies count their changes (`stats/total_trans`: acpi-cpufreq, cpufreq-dt). With
//! intel_pstate, amd-pstate and cppc_cpufreq the processor chooses, and nothing counts; there the cycles over the time
//! of the run (APERF and MPERF; on ARM the feedback counters of CPPC) give the average, which stands at a limit of the
//! policy only if the frequency stood there all the time, to within the tolerance.
//!
//! Everything is read before and after the run alone: reading another CPU's counters interrupts it, and a measured CPU
//! is not interrupted for this. A change that is shorter than the tolerance times the run and that nothing counts is
//! not seen.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use units::CpuSet;

/// An average this near to a limit stands at it (percent).
const TOLERANCE_PERCENT: u64 = 3;
/// With fewer ticks than these of a CPU at work, the reading itself dominates.
const LEAST_REFERENCE: u64 = 1_000_000;
/// Drivers with which the processor itself chooses between the limits.
const HARDWARE_CHOOSES: [&str; 6] =
    ["intel_pstate", "intel_cpufreq", "amd-pstate", "amd-pstate-epp", "amd_pstate_epp", CPPC];
/// Drivers of x86 processors.
const X86_DRIVERS: [&str; 7] =
    ["intel_pstate", "intel_cpufreq", "amd-pstate", "amd-pstate-epp", "amd_pstate_epp", "acpi-cpufreq", "pcc-cpufreq"];
/// The driver of ARM servers.
const CPPC: &str = "cppc_cpufreq";

/// Cycles of a CPU at work, and time in the same while.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cycles {
    /// Cycles that were executed.
    pub(super) delivered: u64,
    /// Ticks of a constant rate.
    pub(super) reference: u64,
    pub(super) rate: Rate,
}

/// How fast the reference ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rate {
    /// As firmware says (kHz).
    Khz(u64),
    /// As a counter of the same rate that never stops: its ticks, and the time that they were read at (ns).
    Ticks { ticks: u64, at_ns: i64 },
}

impl Default for Rate {
    fn default() -> Self {
        Self::Khz(0)
    }
}

/// What can be read of one CPU's frequency; what the machine lacks is absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frequency {
    pub(super) policy: Option<Policy>,
    pub(super) cycles: Option<Cycles>,
    /// How often the core or its package was slowed down by heat.
    pub(super) heat: Option<u64>,
}

/// The cpufreq policy of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Policy {
    pub(super) driver: String,
    pub(super) governor: String,
    pub(super) min_khz: Option<u64>,
    pub(super) max_khz: Option<u64>,
    /// Changes so far.
    pub(super) changes: Option<u64>,
    /// The frequency that the kernel asked for last.
    pub(super) current_khz: Option<u64>,
}

/// What the two looks say of one CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// It kept one frequency, as far as the evidence reaches.
    Steady,
    /// It did not, or not the one that was set.
    Changed(String),
    /// The machine could show it, and what is needed for that is missing.
    Missing(String),
    /// Nothing on this machine can show it.
    NotObservable(String),
}

fn number(path: &Path) -> Option<u64> {
    crate::kernel_text::read(path).ok()?.trim().parse().ok()
}

fn word(path: &Path) -> Option<String> {
    Some(crate::kernel_text::read(path).ok()?.trim().to_owned())
}

/// Reads the CPUs' frequencies below `root` (`/`, but in tests); `cycles` reads the counters of one CPU.
pub(super) fn read(root: &Path, cpus: &CpuSet, cycles: impl Fn(u32) -> Option<Cycles>) -> BTreeMap<u32, Frequency> {
    let folder = root.join("sys/devices/system/cpu");
    let mut policies: BTreeMap<u32, Policy> = BTreeMap::new();
    for entry in fs::read_dir(folder.join("cpufreq")).into_iter().flatten().flatten() {
        let path = entry.path();
        let Some(driver) = word(&path.join("scaling_driver")) else { continue };
        let is_x86 = X86_DRIVERS.contains(&driver.as_str());
        let policy = Policy {
            governor: word(&path.join("scaling_governor")).unwrap_or_default(),
            min_khz: number(&path.join("scaling_min_freq")),
            max_khz: number(&path.join("scaling_max_freq")),
            changes: number(&path.join("stats/total_trans")),
            // On x86 the file asks the CPU itself, and before 5.18 interrupts it (arch/x86/kernel/cpu/aperfmperf.c).
            current_khz: number(&path.join("scaling_cur_freq")).filter(|_| !is_x86),
            driver,
        };
        let affected = word(&path.join("affected_cpus")).unwrap_or_default();
        for cpu in affected.split_ascii_whitespace().filter_map(|cpu| cpu.parse().ok()) {
            policies.insert(cpu, policy.clone());
        }
    }
    cpus.iter()
        .map(|cpu| {
            let of = folder.join(format!("cpu{cpu}"));
            let heat = |name: &str| number(&of.join("thermal_throttle").join(name));
            let heat = match (heat("core_throttle_count"), heat("package_throttle_count")) {
                (None, None) => None,
                (core, package) => Some(core.unwrap_or(0) + package.unwrap_or(0)),
            };
            let cycles = cycles(cpu).or_else(|| feedback(&of.join("acpi_cppc")));
            (cpu, Frequency { policy: policies.get(&cpu).cloned(), cycles, heat })
        })
        .collect()
}

/// The counters of CPPC (Documentation/admin-guide/acpi/cppc_sysfs.rst): `ref:N del:N`.
fn feedback(folder: &Path) -> Option<Cycles> {
    let text = word(&folder.join("feedback_ctrs"))?;
    let of = |name: &str| text.split_ascii_whitespace().find_map(|part| part.strip_prefix(name)?.parse::<u64>().ok());
    let value = |name: &str| number(&folder.join(name));
    // In MHz; firmware that does not say it writes 0.
    let nominal_mhz = value("nominal_freq").filter(|mhz| *mhz > 0)?;
    let nominal = value("nominal_perf").filter(|perf| *perf > 0)?;
    let khz = nominal_mhz.checked_mul(1_000)?.checked_mul(value("reference_perf")?)? / nominal;
    Some(Cycles { delivered: of("del:")?, reference: of("ref:")?, rate: Rate::Khz(khz) })
}

/// The average frequency of a CPU at work between two looks (kHz).
fn average_khz(before: Cycles, after: Cycles) -> Option<u64> {
    let reference = after.reference.checked_sub(before.reference).filter(|ticks| *ticks >= LEAST_REFERENCE)?;
    let delivered = after.delivered.checked_sub(before.delivered)?;
    let reference_khz = match (before.rate, after.rate) {
        (Rate::Khz(_), Rate::Khz(khz)) => khz,
        (Rate::Ticks { ticks: first, at_ns: from_ns }, Rate::Ticks { ticks: last, at_ns: to_ns }) => {
            let (ticks, ns) = (last.checked_sub(first)?, u64::try_from(to_ns - from_ns).ok().filter(|ns| *ns > 0)?);
            u64::try_from(u128::from(ticks) * 1_000_000 / u128::from(ns)).ok()?
        }
        _ => return None,
    };
    u64::try_from(u128::from(reference_khz) * u128::from(delivered) / u128::from(reference)).ok()
}

fn is_at(khz: u64, limit_khz: u64) -> bool {
    khz.abs_diff(limit_khz) <= limit_khz / 100 * TOLERANCE_PERCENT
}

fn mhz(khz: u64) -> String {
    format!("{} MHz", (khz + 500) / 1_000)
}

/// Judges the two looks at one CPU.
pub(super) fn judge(before: &Frequency, after: &Frequency) -> Finding {
    let grown = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
    let heat = grown(before.heat, after.heat).unwrap_or(0);
    if heat > 0 {
        return Finding::Changed(format!("slowed down by heat {heat} times"));
    }
    let (Some(earlier), Some(policy)) = (&before.policy, &after.policy) else {
        return match (&before.policy, &after.policy) {
            (None, None) => Finding::NotObservable(
                "no driver of frequencies: nothing in the kernel changes them, and what the firmware does is not seen"
                    .to_owned(),
            ),
            _ => Finding::Changed("its cpufreq driver came or went".to_owned()),
        };
    };
    let settings = |policy: &Policy| {
        let limit = |khz: Option<u64>| khz.map_or_else(|| "an unknown limit".to_owned(), mhz);
        format!("{} {} {} to {}", policy.driver, policy.governor, limit(policy.min_khz), limit(policy.max_khz))
    };
    if settings(earlier) != settings(policy) {
        return Finding::Changed(format!(
            "its settings changed: {} before, {} after",
            settings(earlier),
            settings(policy)
        ));
    }
    let changes = grown(earlier.changes, policy.changes);
    if let Some(changes) = changes.filter(|changes| *changes > 0) {
        return Finding::Changed(format!("{changes} changes"));
    }
    let average = before.cycles.zip(after.cycles).and_then(|(before, after)| average_khz(before, after));
    match (average, policy.min_khz, policy.max_khz) {
        (Some(average), Some(min), Some(max)) => by_average(average, (min, max), policy, changes.is_some()),
        _ => by_settings(earlier, policy, changes.is_some()),
    }
}

fn by_average(average_khz: u64, (min_khz, max_khz): (u64, u64), policy: &Policy, is_counted: bool) -> Finding {
    let ran = format!("ran at {} on average", mhz(average_khz));
    if is_at(average_khz, max_khz) || is_at(average_khz, min_khz) {
        return Finding::Steady;
    }
    if min_khz == max_khz {
        return Finding::Changed(format!("{ran}, though {} was set", mhz(max_khz)));
    }
    if average_khz > max_khz {
        return Finding::Changed(format!("{ran}, above the {} of its limit: boost", mhz(max_khz)));
    }
    if policy.governor == "performance" {
        return Finding::Changed(format!(
            "{ran}, below the {} that it was asked for: limits of boost, heat or power",
            mhz(max_khz)
        ));
    }
    if is_counted {
        return Finding::Steady;
    }
    Finding::Changed(format!(
        "{ran}, between its limits of {} and {}, where the governor {} lets the processor choose",
        mhz(min_khz),
        mhz(max_khz),
        policy.governor
    ))
}

/// Without an average: what the kernel counted, or what it cannot have changed.
fn by_settings(earlier: &Policy, policy: &Policy, is_counted: bool) -> Finding {
    let driver = policy.driver.as_str();
    if HARDWARE_CHOOSES.contains(&driver) {
        let how = if driver == CPPC {
            "firmware with CPPC feedback counters and nominal_freq"
        } else {
            "modprobe msr and the right to read /dev/cpu/*/msr, or the right to use perf"
        };
        return Finding::Missing(format!("frequency changes, which {driver} leaves to the processor ({how})"));
    }
    if is_counted {
        return Finding::Steady;
    }
    if earlier.current_khz != policy.current_khz {
        let khz = |of: &Policy| of.current_khz.map_or_else(|| "unknown".to_owned(), mhz);
        return Finding::Changed(format!("{} before, {} after", khz(earlier), khz(policy)));
    }
    let is_fixed = policy.governor == "performance"
        || policy.min_khz.zip(policy.max_khz).is_some_and(|(min_khz, max_khz)| min_khz == max_khz);
    if is_fixed {
        return Finding::Steady;
    }
    Finding::Missing("frequency changes (CONFIG_CPU_FREQ_STAT)".to_owned())
}
