//! Virtual machines and mitigations.

use super::Rule;
use super::Severity::{Note, Warning};
use super::rule::{Found, count};
use crate::catalogue::{Checked, LINUX};
use crate::{Profile, paths};
use units::format::span;

fn read_guest(found: Found, profile: &Profile) -> Found {
    match profile.virt.guest_source.as_deref().and_then(|source| source.split_once(": ")) {
        Some((source, value)) => found.read(source, value),
        None => found.read("virtual machine", "yes"),
    }
}

pub(super) static STEAL: Rule = Rule {
    id: "host-takes-time",
    title: "The host took time from this virtual machine",
    severities: &[Warning],
    what: "Steal time is what the machine's CPUs were ready to run and did not, since the host ran something else.",
    why: "Each such stretch stops the CPU as a whole, between any two instructions, for as long as the host likes; \
          no setting inside the guest helps.",
    see: "The eighth number of the line cpu in /proc/stat; column st of top.",
    change: "On the host: bind each virtual CPU to a host CPU of its own, isolated and with a real-time policy, and \
             do not overcommit.",
    price: "The host's CPU is then this guest's alone.",
    checked: LINUX,
    sources: &["Linux Documentation/filesystems/proc.rst, steal", "Linux Documentation/virt/kvm"],
    find: |profile| {
        let steal_ms = profile.virt.steal_ms.filter(|&ms| ms > 0)?;
        (profile.virt.guest == Some(true)).then(|| {
            read_guest(
                Found::warning(format!("The host took {} since boot", span(steal_ms.saturating_mul(1_000_000))))
                    .read(paths::STAT, format!("steal {steal_ms} ms")),
                profile,
            )
        })
    },
};

pub(super) static GUEST: Rule = Rule {
    id: "virtual-machine",
    title: "This is a virtual machine",
    severities: &[Note],
    what: "The kernel runs on a hypervisor; its CPUs are threads of a host.",
    why: "Every latency seen here contains the host's own, and timers, interrupts and many instructions leave the \
          guest and come back in microseconds. A figure from a guest says little about the same kernel on hardware.",
    see: "`systemd-detect-virt`; on x86 the flag hypervisor in /proc/cpuinfo, on ARM and RISC-V the board's name in \
          /proc/device-tree/model.",
    change: "Measure on hardware, or treat guest and host as one system: a PREEMPT_RT host, bound virtual CPUs, no \
             overcommitment, huge pages.",
    price: "The host's resources are then reserved.",
    checked: Checked::Independent("the behavior of hypervisors"),
    sources: &["Linux Documentation/virt/kvm/halt-polling.rst", "proc_cpuinfo(5)", "QEMU hw/arm/virt.c"],
    find: |profile| {
        (profile.virt.guest == Some(true))
            .then(|| read_guest(Found::note("This is a virtual machine: every latency contains its host's"), profile))
    },
};

pub(super) static MITIGATIONS: Rule = Rule {
    id: "mitigations",
    title: "Mitigations of processor faults and their price",
    severities: &[Note],
    what: "The kernel works around faults by which one program can read another's data: it clears buffers, separates \
           page tables and guards branches at each entry to and exit from the kernel.",
    why: "Every system call, interrupt and task switch takes some hundred nanoseconds to a few microseconds more, \
          depending on the processor.",
    see: "/sys/devices/system/cpu/vulnerabilities/*; mitigations= in /proc/cmdline.",
    change: "Leave them on, unless every program on the machine is trusted, none runs code from elsewhere, and a \
             measurement shows that the price matters; newer processors need fewer of them.",
    price: "mitigations=off opens the machine: any program, a web page's script or another tenant among them, may \
            read secrets of the kernel and of other programs.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/admin-guide/hw-vuln/index.rst",
        "Linux Documentation/admin-guide/kernel-parameters.txt, mitigations=",
    ],
    find: |profile| {
        let active: Vec<(String, String)> = profile
            .virt
            .vulnerabilities
            .iter()
            .filter(|(_, state)| state.starts_with("Mitigation"))
            .map(|(name, state)| (format!("{}/{name}", paths::VULNERABILITIES), state.clone()))
            .collect();
        if profile.kernel.param_value("mitigations") == Some("off") {
            return Some(
                Found::note("Mitigations are off: fast, and open to attacks from any program on the machine")
                    .read_param(profile, "mitigations")
                    .remedy("Drop mitigations=off, unless every program is trusted and none runs code from elsewhere."),
            );
        }
        (!active.is_empty()).then(|| {
            Found::note(format!(
                "{} in force, at a cost for each entry to the kernel",
                count(active.len(), "mitigation")
            ))
            .read_many(active)
            .remedy(MITIGATIONS.change)
        })
    },
};
