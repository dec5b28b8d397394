//! Interrupts: where they may go, where they went, and the threads that serve them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// The interrupts of a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Irqs {
    /// The window over which arrivals were counted, in nanoseconds; `None` means since boot.
    pub window_ns: Option<u64>,
    /// Where new interrupts go (/proc/irq/default_smp_affinity).
    pub default_affinity: Option<CpuSet>,
    /// Device interrupts (/proc/interrupts, /proc/irq/N).
    pub lines: Vec<Irq>,
    /// Interrupts of the architecture that arrived at least once: LOC, RES, CAL, … (/proc/interrupts).
    pub architecture: Vec<ArchitectureIrq>,
}

/// A device interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Irq {
    /// The kernel's number, which may change from boot to boot.
    pub number: u32,
    /// The interrupt controller, for example `IO-APIC`, `GICv2`, `PCI-MSIX-0000:00:01.0`.
    pub chip: String,
    /// Who uses it.
    pub actions: Vec<String>,
    /// CPUs where it may arrive (/proc/irq/N/smp_affinity_list).
    pub affinity: Option<CpuSet>,
    /// CPUs where the hardware sends it now (/proc/irq/N/effective_affinity_list).
    pub effective_affinity: Option<CpuSet>,
    /// How often it arrived, by CPU, zeros left out.
    pub arrived_counts: BTreeMap<u32, u64>,
    /// Its threads, empty where the handler runs in interrupt context (tasks named irq/N-…).
    pub threads: Vec<IrqThread>,
}

impl Irq {
    /// The CPUs where it arrived.
    #[must_use]
    pub fn arrived_on(&self) -> CpuSet {
        self.arrived_counts.keys().copied().collect()
    }

    /// Number and users, as a person would say it.
    #[must_use]
    pub fn label(&self) -> String {
        if self.actions.is_empty() {
            format!("IRQ {}", self.number)
        } else {
            format!("IRQ {} ({})", self.number, self.actions.join(", "))
        }
    }
}

/// A thread that serves an interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct IrqThread {
    /// The thread's number.
    pub tid: u32,
    /// The thread's name.
    pub comm: String,
    /// Scheduling policy in words.
    pub policy: String,
    /// Real-time priority, 1 to 99; the kernel's choice is 50, or 49 for a second handler (`irq/N-s-NAME`) since 6.19.
    pub rt_priority: u32,
    /// CPUs where it may run.
    pub affinity: Option<CpuSet>,
}

/// An interrupt of the architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArchitectureIrq {
    /// For example `LOC`.
    pub label: String,
    /// The kernel's words for it.
    pub description: String,
    /// How often it arrived, by CPU, zeros left out.
    pub arrived_counts: BTreeMap<u32, u64>,
}

/// The lines of `/proc/interrupts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Interrupts {
    /// Device interrupts, without their affinities.
    pub lines: Vec<Irq>,
    /// Interrupts of the architecture.
    pub architecture: Vec<ArchitectureIrq>,
}

/// Reads `/proc/interrupts` of any architecture.
///
/// ```text
///            CPU0       CPU1
///  24:          1          0  IO-APIC   5-edge      ACPI:Ged
/// LOC:      41995      46264   Local timer interrupts
/// ```
#[must_use]
pub fn parse_interrupts(text: &str) -> Interrupts {
    let mut lines = text.lines();
    let cpus: Vec<u32> = lines
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .filter_map(|word| crate::cpu::parse_folder(word, "CPU"))
        .collect();
    let mut interrupts = Interrupts::default();
    for line in lines {
        let Some((label, rest)) = line.split_once(':') else { continue };
        let label = label.trim();
        let mut words = rest.split_whitespace().peekable();
        let mut arrived_counts = BTreeMap::new();
        for &cpu in &cpus {
            // Lines such as "ERR: 0" have fewer columns than there are CPUs.
            let Some(count) = words.peek().and_then(|word| word.parse::<u64>().ok()) else { break };
            words.next();
            if count > 0 {
                arrived_counts.insert(cpu, count);
            }
        }
        let rest: Vec<&str> = words.collect();
        if let Ok(number) = label.parse::<u32>() {
            let (chip, actions) = parse_users(&rest);
            interrupts.lines.push(Irq { number, chip, actions, arrived_counts, ..Irq::default() });
        } else if !arrived_counts.is_empty() {
            interrupts.architecture.push(ArchitectureIrq {
                label: label.to_owned(),
                description: rest.join(" "),
                arrived_counts,
            });
        }
    }
    interrupts
}

/// Takes `GICv2 29 Level arch_timer` apart: chip, hardware number (left out), trigger (left out), users.
fn parse_users(words: &[&str]) -> (String, Vec<String>) {
    // The chip's name may hold blanks ("RISC-V INTC"); the hardware number is the first word after it that is one.
    let is_hardware_number = |word: &&str| word.split('-').next().is_some_and(|w| w.parse::<u64>().is_ok());
    let chip_len =
        words.iter().skip(1).position(is_hardware_number).map_or(words.len().min(1), |position| position + 1);
    let mut users = words.get(chip_len + 1..).unwrap_or_default();
    if let [first, rest @ ..] = users {
        if ["Level", "Edge", "None"].contains(first) {
            users = rest;
        }
    }
    let actions = users.join(" ");
    let actions = actions.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect();
    (words[..chip_len].join(" "), actions)
}

/// What arrived between two readings; an interrupt that is new counts from zero, one that went away is left out.
#[must_use]
pub fn arrivals_between(before: &Interrupts, after: &Interrupts) -> Interrupts {
    fn delta(before: Option<&BTreeMap<u32, u64>>, after: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
        let old = |cpu| before.and_then(|counts| counts.get(cpu)).copied().unwrap_or(0);
        after
            .iter()
            .map(|(cpu, count)| (*cpu, count.saturating_sub(old(cpu))))
            .filter(|&(_, count)| count > 0)
            .collect()
    }
    let lines = after.lines.iter().map(|line| {
        let old = before.lines.iter().find(|old| old.number == line.number).map(|old| &old.arrived_counts);
        Irq { arrived_counts: delta(old, &line.arrived_counts), ..line.clone() }
    });
    let architecture = after.architecture.iter().map(|line| {
        let old = before.architecture.iter().find(|old| old.label == line.label).map(|old| &old.arrived_counts);
        ArchitectureIrq { arrived_counts: delta(old, &line.arrived_counts), ..line.clone() }
    });
    Interrupts {
        lines: lines.collect(),
        architecture: architecture.filter(|line| !line.arrived_counts.is_empty()).collect(),
    }
}

/// The interrupt that a thread named `irq/24-eth0` serves.
#[must_use]
pub fn parse_thread_name(comm: &str) -> Option<u32> {
    let rest = comm.strip_prefix("irq/")?;
    rest.split('-').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, number: u32, chip: &str, actions: &[&str]) {
        let interrupts = parse_interrupts(text);
        let irq = interrupts.lines.iter().find(|irq| irq.number == number).unwrap();
        assert_eq!(
            (irq.chip.as_str(), irq.actions.iter().map(String::as_str).collect::<Vec<_>>()),
            (chip, actions.to_vec())
        );
    }

    #[test]
    fn forms_of_architectures() {
        let head = "           CPU0       CPU1\n";
        check(&format!("{head} 26:  0  16  IO-APIC   4-edge      ttyS0\n"), 26, "IO-APIC", &["ttyS0"]);
        check(
            &format!("{head} 30:  1  0  PCI-MSIX-0000:00:01.0   2-edge      virtio0-deflate"),
            30,
            "PCI-MSIX-0000:00:01.0",
            &["virtio0-deflate"],
        );
        check(&format!("{head} 19:  5  6  GICv2  29 Level     arch_timer"), 19, "GICv2", &["arch_timer"]);
        check(&format!("{head}  5:  5  6  RISC-V INTC   5 Edge      riscv-timer"), 5, "RISC-V INTC", &["riscv-timer"]);
        check(
            &format!("{head} 60:  5  6  GICv2  71 Level     ehci_hcd:usb2, ohci_hcd:usb4"),
            60,
            "GICv2",
            &["ehci_hcd:usb2", "ohci_hcd:usb4"],
        );
        check(&format!("{head} 99:  0  0"), 99, "", &[]);
    }

    #[test]
    fn counts_follow_the_head_s_cpus() {
        let interrupts =
            parse_interrupts("  CPU0 CPU2\n 1: 5 7 GICv2 1 Edge a\nLOC: 3 0 Local timer interrupts\nERR: 0\n");
        assert_eq!(interrupts.lines[0].arrived_on().to_string(), "0,2");
        assert_eq!(interrupts.architecture.len(), 1);
        assert_eq!(interrupts.architecture[0].description, "Local timer interrupts");
    }

    #[test]
    fn windows() {
        let before = parse_interrupts("CPU0 CPU1\n 1: 5 7 GICv2 1 Edge a\n");
        let after = parse_interrupts("CPU0 CPU1\n 1: 5 9 GICv2 1 Edge a\n 2: 1 0 GICv2 2 Edge b\n");
        let window = arrivals_between(&before, &after);
        assert_eq!(window.lines[0].arrived_counts, BTreeMap::from([(1, 2)]));
        assert_eq!(window.lines[1].arrived_counts, BTreeMap::from([(0, 1)]));
    }

    #[test]
    fn thread_names() {
        assert_eq!(parse_thread_name("irq/24-eth0"), Some(24));
        assert_eq!(parse_thread_name("irq/9-acpi"), Some(9));
        assert_eq!(parse_thread_name("irqbalance"), None);
    }
}
