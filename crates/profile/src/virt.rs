//! Virtualisation, time taken by the host, and mitigations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Virtualisation and mitigations.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Virt {
    /// Whether this is a virtual machine; `None` if nothing shows it.
    pub guest: Option<bool>,
    /// The evidence: a file and its value.
    pub guest_source: Option<String>,
    /// Time that the host took since boot, over all CPUs, in milliseconds (/proc/stat, steal).
    pub steal_ms: Option<u64>,
    /// Each vulnerability and what is done about it (/sys/devices/system/cpu/vulnerabilities).
    pub vulnerabilities: BTreeMap<String, String>,
}

/// Reads the steal time of all CPUs from `/proc/stat`, in milliseconds.
///
/// The kernel counts in USER_HZ, which is 100 on every architecture that this runs on (proc_stat(5)).
#[must_use]
pub fn parse_steal_ms(text: &str) -> Option<u64> {
    let all = text.lines().find(|line| line.starts_with("cpu "))?;
    let ticks: u64 = all.split_whitespace().nth(8)?.parse().ok()?;
    ticks.checked_mul(10)
}

/// The line of `/proc/stat` that the reader needs.
#[must_use]
pub fn reduce_stat(text: &str) -> String {
    crate::text::lines_where(text, |line| line.starts_with("cpu "))
}

/// The evidence that distinguishes a virtual machine from bare metal.
#[derive(Clone, Copy, Debug, Default)]
pub struct GuestHints<'a> {
    /// Flags of /proc/cpuinfo; the CPU itself says `hypervisor` on x86.
    pub cpu_flags: &'a [String],
    /// Content of /sys/hypervisor/type.
    pub hypervisor_type: Option<&'a str>,
    /// /sys/class/dmi/id/sys_vendor and product_name, or /proc/device-tree/model.
    pub model: Option<&'a str>,
    /// Content of /proc/device-tree/hypervisor/compatible.
    pub device_tree: Option<&'a str>,
}

/// Boards that exist in no hardware: ARM's and RISC-V's machine `virt` (QEMU's hw/arm/virt.c and hw/riscv/virt.c; other
/// monitors of virtual machines name theirs so too).
const VIRTUAL_BOARDS: [&str; 2] = ["linux,dummy-virt", "riscv-virtio,qemu"];

/// Decides whether this is a guest, with the source that decided.
#[must_use]
pub fn guest(hints: GuestHints<'_>) -> (Option<bool>, Option<String>) {
    if hints.cpu_flags.iter().any(|flag| flag == "hypervisor") {
        return (Some(true), Some("/proc/cpuinfo: flags has hypervisor".to_owned()));
    }
    if let Some(kind) = hints.hypervisor_type.and_then(crate::text::line) {
        return (Some(true), Some(format!("/sys/hypervisor/type: {kind}")));
    }
    if let Some(tree) = hints.device_tree.and_then(crate::text::line) {
        return (Some(true), Some(format!("/proc/device-tree/hypervisor/compatible: {tree}")));
    }
    const VENDORS: [&str; 7] = ["QEMU", "KVM", "VMware", "VirtualBox", "innotek", "Xen", "Amazon EC2"];
    if let Some(dmi) = hints.model.filter(|model| VENDORS.iter().any(|vendor| model.contains(vendor))) {
        return (Some(true), Some(format!("/sys/class/dmi/id: {}", dmi.trim())));
    }
    if let Some(board) = hints.model.filter(|model| VIRTUAL_BOARDS.contains(&model.trim())) {
        return (Some(true), Some(format!("/proc/device-tree/model: {}", board.trim())));
    }
    // On x86 the absent flag is an answer; elsewhere nothing is.
    let is_x86 = hints.cpu_flags.iter().any(|flag| flag == "tsc");
    (is_x86.then_some(false), is_x86.then(|| "/proc/cpuinfo: flags lacks hypervisor".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steal() {
        assert_eq!(parse_steal_ms("cpu  1 2 3 4 5 6 7 80 0 0\ncpu0 1 2\n"), Some(800));
        assert_eq!(parse_steal_ms("cpu  1 2\n"), None);
        assert_eq!(parse_steal_ms(&reduce_stat("cpu  1 2 3 4 5 6 7 80 0 0\nintr 1 2 3\n")), Some(800));
    }

    #[test]
    fn guests() {
        let flags = |text: &str| crate::text::words(text);
        assert_eq!(
            guest(GuestHints { cpu_flags: &flags("fpu tsc hypervisor"), ..GuestHints::default() }).0,
            Some(true)
        );
        assert_eq!(guest(GuestHints { cpu_flags: &flags("fpu tsc"), ..GuestHints::default() }).0, Some(false));
        assert_eq!(guest(GuestHints { cpu_flags: &flags("half thumb"), ..GuestHints::default() }).0, None);
        let model = |model| guest(GuestHints { model: Some(model), ..GuestHints::default() });
        assert_eq!(model("QEMU Standard PC").0, Some(true));
        assert_eq!(model("linux,dummy-virt").1.as_deref(), Some("/proc/device-tree/model: linux,dummy-virt"));
        assert_eq!(model("Olimex A20-OLinuXino-LIME2"), (None, None));
    }
}
