//! A profile for people: interrupts, network, GPIO, frequencies.

use std::collections::BTreeMap;

use ::profile::GpioChip;
use ::profile::irq::{Irq, Irqs};
use ::profile::net::{Ethtool, Net, Nic};
use ::profile::power::FrequencyPolicy;
use units::CpuSet;

use super::sheet::Sheet;
use super::show::{on_off, set};

/// Names of users are cut here, so that a shared line does not push the table apart.
const USERS_SHOWN_LEN: usize = 32;
/// CPUs whose counts are printed one by one; more are printed as a set.
const COUNTS_SHOWN_MAX: usize = 4;

pub(crate) fn irqs(sheet: &mut Sheet, irqs: &Irqs, isolated: &CpuSet) {
    let window = irqs.window_ns.map_or_else(|| "since boot".to_owned(), |ns| format!("in {}", units::format::span(ns)));
    sheet.section("Interrupts");
    sheet.row("new ones go to", irqs.default_affinity.as_ref().map(set));
    let (active, silent): (Vec<&Irq>, Vec<&Irq>) = irqs.lines.iter().partition(|line| !line.arrived_counts.is_empty());
    sheet.row("counted", Some(format!("{window}; {} of {} lines silent", silent.len(), irqs.lines.len())));
    if !active.is_empty() {
        let lines: Vec<Vec<String>> = active.into_iter().map(|line| irq(line, isolated)).collect();
        sheet.table(&["IRQ", "used by", "allowed", "sent to", "thread", "arrived on CPU"], &lines);
    }
    let noisy: Vec<Vec<String>> = irqs
        .architecture
        .iter()
        .map(|line| vec![line.label.clone(), line.description.clone(), counts(&line.arrived_counts, isolated)])
        .collect();
    if !noisy.is_empty() {
        sheet.table(&["kind", "of the processors themselves", "arrived on CPU"], &noisy);
    }
}

fn irq(irq: &Irq, isolated: &CpuSet) -> Vec<String> {
    let users: String = irq.actions.join(", ");
    let users = if users.chars().count() > USERS_SHOWN_LEN {
        users.chars().take(USERS_SHOWN_LEN - 3).chain("...".chars()).collect()
    } else {
        users
    };
    let cpus = |cpus: &Option<CpuSet>| cpus.as_ref().map_or_else(|| "unknown".to_owned(), set);
    let mut threads: Vec<String> = irq
        .threads
        .iter()
        .map(|thread| match thread.rt_priority {
            0 => thread.policy.clone(),
            priority => format!("{} {priority}", thread.policy),
        })
        .collect();
    threads.sort();
    threads.dedup();
    let threads = if threads.is_empty() { "-".to_owned() } else { threads.join(", ") };
    vec![
        irq.number.to_string(),
        users,
        cpus(&irq.affinity),
        cpus(&irq.effective_affinity),
        threads,
        counts(&irq.arrived_counts, isolated),
    ]
}

/// `0: 41 995, 1: 46 264`; where there are many CPUs, the isolated ones by themselves and the others together.
fn counts(counts: &BTreeMap<u32, u64>, isolated: &CpuSet) -> String {
    if counts.is_empty() {
        return "none".to_owned();
    }
    if counts.len() <= COUNTS_SHOWN_MAX {
        return each(counts);
    }
    let (apart, rest): (BTreeMap<u32, u64>, BTreeMap<u32, u64>) =
        counts.iter().map(|(cpu, count)| (*cpu, *count)).partition(|(cpu, _)| isolated.contains(*cpu));
    let parts = [&apart, &rest].into_iter().filter(|part| !part.is_empty());
    let texts = parts.map(|part| if part.len() <= COUNTS_SHOWN_MAX { each(part) } else { together(part) });
    texts.collect::<Vec<_>>().join(", ")
}

fn each(counts: &BTreeMap<u32, u64>) -> String {
    let texts = counts.iter().map(|(cpu, count)| format!("{cpu}: {}", units::format::count(*count)));
    texts.collect::<Vec<_>>().join(", ")
}

fn together(counts: &BTreeMap<u32, u64>) -> String {
    let cpus: CpuSet = counts.keys().copied().collect();
    let sum = counts.values().fold(0_u64, |sum, count| sum.saturating_add(*count));
    format!("{cpus}: {} together", units::format::count(sum))
}

/// One line for each different policy, the CPUs of equal ones together.
pub(crate) fn frequencies(policies: &[FrequencyPolicy]) -> Vec<String> {
    let mut groups: Vec<(String, CpuSet)> = Vec::new();
    for policy in policies {
        let text = frequency(policy);
        match groups.iter_mut().find(|(other, _)| *other == text) {
            Some((_, cpus)) => *cpus = cpus.union(&policy.cpus),
            None => groups.push((text, policy.cpus.clone())),
        }
    }
    groups.into_iter().map(|(text, cpus)| format!("{}: {text}", set(&cpus))).collect()
}

fn frequency(policy: &FrequencyPolicy) -> String {
    let word = |text: &Option<String>| text.clone().unwrap_or_else(|| "unknown".to_owned());
    let range = |low: Option<u64>, high: Option<u64>| match (low, high) {
        (Some(low), Some(high)) if low == high => format!("{} MHz", low / 1000),
        (Some(low), Some(high)) => format!("{} to {} MHz", low / 1000, high / 1000),
        _ => "unknown range".to_owned(),
    };
    let mut text = format!(
        "governor {}, {} (hardware {}), driver {}",
        word(&policy.governor),
        range(policy.scaling_min_khz, policy.scaling_max_khz),
        range(policy.hardware_min_khz, policy.hardware_max_khz),
        word(&policy.driver),
    );
    if let Some(preference) = &policy.energy_preference {
        text.push_str(&format!(", preference {preference}"));
    }
    text
}

pub(crate) fn net(sheet: &mut Sheet, net: &Net) {
    sheet.section("Network");
    for nic in &net.interfaces {
        sheet.rows(&nic.name, &interface(nic), "");
    }
    let plural = if net.virtual_interface_count == 1 { "" } else { "s" };
    let virtual_ones = format!("{} virtual interface{plural} besides", net.virtual_interface_count);
    if net.interfaces.is_empty() {
        sheet.row("interfaces", Some(format!("none with hardware; {virtual_ones}")));
    } else if net.virtual_interface_count > 0 {
        sheet.row("", Some(virtual_ones));
    }
    for phc in &net.phcs {
        let users = if phc.interfaces.is_empty() { "no interface".to_owned() } else { phc.interfaces.join(", ") };
        let count = |count: Option<u64>| count.map_or_else(|| "unknown".to_owned(), |count| count.to_string());
        let text = format!(
            "{} of {users}; external timestamps {}, periodic outputs {}, pins {}, pulse per second {}",
            phc.name.as_deref().unwrap_or("unnamed"),
            count(phc.external_timestamp_count),
            count(phc.periodic_output_count),
            count(phc.pin_count),
            phc.pps.map_or("unknown", |pps| if pps { "yes" } else { "no" }),
        );
        sheet.row(&format!("/dev/ptp{}", phc.index), Some(text));
    }
}

fn interface(nic: &Nic) -> Vec<String> {
    let unknown = || "unknown".to_owned();
    let speed = nic.speed_mbps.map_or_else(String::new, |speed| format!(", {speed} Mbit/s"));
    let mut lines = vec![
        format!(
            "{}, driver {}{speed}",
            nic.state.clone().unwrap_or_else(unknown),
            nic.driver.clone().unwrap_or_else(unknown)
        ),
        queues(nic),
    ];
    lines.extend(answers(&nic.ethtool));
    lines
}

fn queues(nic: &Nic) -> String {
    let mut text = format!("queues {} receive, {} transmit", nic.rx_queue_count, nic.tx_queue_count);
    if let Some(cpus) = nic.rps_cpus.as_ref().filter(|cpus| !cpus.is_empty()) {
        text.push_str(&format!(", packets spread to {cpus}"));
    }
    if let Some(on) = nic.threaded_napi {
        text.push_str(&format!(", threaded NAPI {}", on_off(on)));
    }
    text
}

fn answers(ethtool: &Ethtool) -> Vec<String> {
    let yes = |yes: bool| if yes { "yes" } else { "no" };
    let mut lines = Vec::new();
    lines.push(ethtool.timestamping.as_ref().map_or_else(
        || "timestamps unknown".to_owned(),
        |stamps| {
            let clock = stamps.phc_index.map_or_else(|| "no clock".to_owned(), |index| format!("/dev/ptp{index}"));
            let (tx, rx) = (yes(stamps.tx_hardware), yes(stamps.rx_hardware));
            let all = if stamps.rx_filter_all { ", any packet" } else { "" };
            format!("hardware timestamps: transmit {tx}, receive {rx}{all}; {clock}")
        },
    ));
    lines.extend(ethtool.coalescing.as_ref().map(|c| {
        format!(
            "coalescing: receive {} us or {} frames{}, transmit {} us or {} frames{}",
            c.rx_us,
            c.rx_frame_count,
            if c.adaptive_rx { " (adaptive)" } else { "" },
            c.tx_us,
            c.tx_frame_count,
            if c.adaptive_tx { " (adaptive)" } else { "" },
        )
    }));
    lines.extend(ethtool.channels.as_ref().map(|c| {
        format!(
            "channels: {} combined of {}, {} receive, {} transmit",
            c.combined_count, c.combined_max_count, c.rx_count, c.tx_count
        )
    }));
    lines.extend(ethtool.energy_efficient.as_ref().map(|eee| {
        format!(
            "energy-efficient Ethernet: {}, {}",
            if eee.enabled { "offered" } else { "off" },
            if eee.active { "active" } else { "not active" }
        )
    }));
    lines
}

pub(crate) fn gpio(sheet: &mut Sheet, chips: &[GpioChip]) {
    sheet.section("GPIO");
    let lines: Vec<String> = chips
        .iter()
        .map(|chip| {
            let label = chip.label.as_deref().map(|label| format!(" {label}")).unwrap_or_default();
            let count = chip.line_count.map(|count| format!(", {count} lines")).unwrap_or_default();
            format!("{}{label}{count}", chip.name)
        })
        .collect();
    sheet.rows("chips", &lines, "none");
}
