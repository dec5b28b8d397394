//! Findings about network interfaces.

use super::Rule;
use super::Severity::{Note, Warning};
use super::rule::{Found, cpus_label, housekeeping_list, isolated};
use crate::Profile;
use crate::catalogue::{Checked, LINUX};
use crate::net::Nic;

/// Interfaces that are not known to be down.
fn live(profile: &Profile) -> impl Iterator<Item = &Nic> {
    profile.net.interfaces.iter().filter(|nic| nic.state.as_deref() != Some("down"))
}

fn names<'a>(nics: impl IntoIterator<Item = &'a Nic>) -> String {
    nics.into_iter().map(|nic| nic.name.as_str()).collect::<Vec<_>>().join(", ")
}

pub(super) static STEERING: Rule = Rule {
    id: "packet-steering-to-isolated-cpus",
    title: "Received packets are spread to isolated CPUs",
    severities: &[Warning],
    what: "Receive packet steering (rps_cpus) hands received packets to other CPUs in software, isolated ones among \
           them here. The kernel leaves out the CPUs of isolcpus= when a mask is written, but not those of cpuset \
           partitions.",
    why: "Each batch interrupts the CPU with an inter-processor interrupt and runs the network stack there in \
          softirq context.",
    see: "/sys/class/net/NAME/queues/rx-*/rps_cpus (hexadecimal masks).",
    change: "Write a mask without the isolated CPUs, or 0, into each rps_cpus.",
    price: "The other CPUs handle these packets.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/networking/scaling.rst, RPS",
        "Linux net/core/net-sysfs.c, rps_cpumask_housekeeping()",
    ],
    find: |profile| {
        let isolated = isolated(profile)?;
        let steered: Vec<(String, String)> = profile
            .net
            .interfaces
            .iter()
            .filter_map(|nic| {
                let cpus = nic.rps_cpus.as_ref().filter(|cpus| !cpus.intersection(&isolated).is_empty())?;
                Some((format!("/sys/class/net/{}/queues/rx-*/rps_cpus", nic.name), cpus_label(cpus)))
            })
            .collect();
        (!steered.is_empty()).then(|| {
            Found::warning("Received packets are spread to isolated CPUs")
                .read_many(steered)
                .read_isolated(profile)
                .remedy(format!("Steer to CPUs {} only, or write 0 to steer no packets.", housekeeping_list(profile)))
        })
    },
};

/// From this wait on, in microseconds, coalescing decides the latency of a packet: it equals the whole budget for
/// receiving of a common cycle.
const LONG_COALESCING_US: u32 = 50;

/// Below this, in microseconds, it passes without remark: a handler takes as long.
const SHORT_COALESCING_US: u32 = 10;

pub(super) static COALESCING: Rule = Rule {
    id: "interrupt-coalescing",
    title: "The network card delays its interrupts",
    severities: &[Warning, Note],
    what: "To save interrupts the card waits after a packet for more to come, for a fixed time or one that the \
           driver adapts to the traffic.",
    why: "A single packet, which is what control traffic mostly is, may wait the full time; drivers that bound the \
          rate of interrupts instead let only a packet wait that follows another one closely. With adaptation the \
          wait depends on other traffic.",
    see: "`ethtool -c NAME`.",
    change: "ethtool -C NAME adaptive-rx off adaptive-tx off rx-usecs 0 tx-usecs 0, on the interface that carries \
             the control traffic.",
    price: "One interrupt per packet: heavy traffic on the same interface then loads its CPU.",
    checked: Checked::Independent("the behavior of network cards and their drivers"),
    sources: &["ethtool(8), --coalesce", "Linux Documentation/networking/ethtool-netlink.rst, COALESCE_GET"],
    find: |profile| {
        let waits: Vec<(&Nic, u32, bool)> = live(profile)
            .filter_map(|nic| {
                let coalescing = nic.ethtool.coalescing.as_ref()?;
                Some((nic, coalescing.rx_us, coalescing.adaptive_rx || coalescing.adaptive_tx))
            })
            .filter(|(_, rx_us, adaptive)| *adaptive || *rx_us >= SHORT_COALESCING_US)
            .collect();
        if waits.is_empty() {
            return None;
        }
        let title = format!("{} delays its interrupts", names(waits.iter().map(|(nic, ..)| *nic)));
        let is_long = waits.iter().any(|(_, rx_us, adaptive)| *adaptive || *rx_us >= LONG_COALESCING_US);
        let readings = waits
            .iter()
            .map(|(nic, rx_us, adaptive)| {
                (
                    format!("ethtool -c {}", nic.name),
                    format!("rx-usecs {rx_us}, adaptive {}", if *adaptive { "on" } else { "off" }),
                )
            })
            .collect();
        let found = if is_long { Found::warning(title) } else { Found::note(title) };
        Some(found.read_many(readings))
    },
};

pub(super) static ENERGY_EFFICIENT: Rule = Rule {
    id: "energy-efficient-ethernet",
    title: "The network link sleeps between packets",
    severities: &[Warning, Note],
    what: "Energy-Efficient Ethernet (IEEE 802.3az) lets both ends of a link sleep while nothing is sent. A warning \
           where both agreed, a note where it is only offered.",
    why: "The first packet after a pause waits for the link to wake, 16.5 us at 1 Gbit/s and 30 us at 100 Mbit/s, \
          and PTP sees a path whose delay varies.",
    see: "`ethtool --show-eee NAME`.",
    change: "ethtool --set-eee NAME eee off, or switch it off at the switch's port.",
    price: "Some hundred milliwatts per port.",
    checked: Checked::Independent("IEEE 802.3"),
    sources: &["IEEE 802.3 clause 78, table 78-4", "ethtool(8), --set-eee"],
    find: |profile| {
        let offered: Vec<_> = live(profile)
            .filter_map(|nic| nic.ethtool.energy_efficient.as_ref().map(|eee| (nic, eee.active, eee.enabled)))
            .filter(|(_, active, enabled)| *active || *enabled)
            .collect();
        if offered.is_empty() {
            return None;
        }
        let is_active = offered.iter().any(|(_, active, _)| *active);
        let title = names(offered.iter().map(|(nic, ..)| *nic));
        let readings = offered
            .iter()
            .map(|(nic, active, _)| {
                (
                    format!("ethtool --show-eee {}", nic.name),
                    if *active { "active" } else { "enabled, not active" }.to_owned(),
                )
            })
            .collect();
        let found = if is_active {
            Found::warning(format!("The link of {title} sleeps between packets"))
        } else {
            Found::note(format!("The link of {title} would sleep between packets if the other end agreed"))
        };
        Some(found.read_many(readings))
    },
};

pub(super) static DEFERRED: Rule = Rule {
    id: "deferred-network-interrupts",
    title: "Network interrupts are put off for busy polling",
    severities: &[Warning, Note],
    what: "napi_defer_hard_irqs and gro_flush_timeout together keep a card's interrupt off while a program polls. A \
           warning where only the first is set, which does nothing.",
    why: "With both set, packets wait up to gro_flush_timeout whenever the program does not poll in time; with only \
          the first, interrupts come as before and busy polling gains nothing.",
    see: "/sys/class/net/NAME/napi_defer_hard_irqs and gro_flush_timeout.",
    change: "Set both for an interface whose sockets are busy polled, with a timeout above the polling cycle, and \
             neither for all others.",
    price: "Each polled queue needs a CPU that polls.",
    checked: LINUX,
    sources: &[
        "Linux Documentation/networking/napi.rst, IRQ mitigation",
        "Linux net/core/dev.c, napi_complete_done()",
        "Linutronix RTC-Testbench pull requests 55 and 62",
    ],
    find: |profile| {
        let deferred: Vec<(&Nic, u64, u64)> = live(profile)
            .filter_map(|nic| Some((nic, nic.napi_defer_hard_irqs?, nic.gro_flush_timeout_ns?)))
            .filter(|(_, count, _)| *count > 0)
            .collect();
        if deferred.is_empty() {
            return None;
        }
        let useless = deferred.iter().any(|(_, _, timeout_ns)| *timeout_ns == 0);
        let title = names(deferred.iter().map(|(nic, ..)| *nic));
        let readings = deferred
            .iter()
            .flat_map(|(nic, count, timeout_ns)| {
                [
                    (format!("/sys/class/net/{}/napi_defer_hard_irqs", nic.name), count.to_string()),
                    (format!("/sys/class/net/{}/gro_flush_timeout", nic.name), format!("{timeout_ns} ns")),
                ]
            })
            .collect();
        let found = if useless {
            Found::warning(format!(
                "Interrupts of {title} are to be put off, but without gro_flush_timeout they are not"
            ))
        } else {
            Found::note(format!("Interrupts of {title} are put off while a program polls"))
        };
        Some(found.read_many(readings))
    },
};

pub(super) static NO_HARDWARE_STAMPS: Rule = Rule {
    id: "no-hardware-timestamps",
    title: "An interface cannot stamp packets in hardware",
    severities: &[Note],
    what: "The driver offers no hardware time stamps for sent and received packets, or no PTP hardware clock.",
    why: "Time synchronization over it is good to tens of microseconds at best instead of tens of nanoseconds, since \
          its stamps contain interrupt and scheduling latency; measurements of packets on the wire share that error.",
    see: "`ethtool -T NAME`.",
    change: "Use an interface with a PTP hardware clock (for example Intel i210, i225, i226, and many SoC Ethernet \
             controllers), or a kernel whose driver supports it.",
    price: "Hardware.",
    checked: Checked::Independent("the behavior of network cards and their drivers"),
    sources: &["IEEE 1588-2019 clause 7.3.4", "Linux Documentation/networking/timestamping.rst"],
    find: |profile| {
        let without: Vec<(String, String)> = live(profile)
            .filter_map(|nic| {
                let stamps = nic.ethtool.timestamping.as_ref()?;
                let complete = stamps.tx_hardware && stamps.rx_hardware && stamps.phc_index.is_some();
                (!complete).then(|| {
                    let clock = stamps.phc_index.map_or_else(|| "none".to_owned(), |index| format!("ptp{index}"));
                    let (tx, rx) = (yes_no(stamps.tx_hardware), yes_no(stamps.rx_hardware));
                    (
                        format!("ethtool -T {}", nic.name),
                        format!("hardware stamps: sent {tx}, received {rx}; hardware clock {clock}"),
                    )
                })
            })
            .collect();
        (!without.is_empty())
            .then(|| Found::note("Not every interface can stamp packets in hardware").read_many(without))
    },
};

const fn yes_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}
