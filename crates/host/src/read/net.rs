//! Network interfaces and PTP hardware clocks.

use std::collections::BTreeMap;

use profile::net::{Ethtool, Net, Nic, Phc, is_named_by_address, reduce_clock_name};
use profile::{paths, text};
use units::CpuSet;

use crate::ethtool::Answers;
use crate::source::Source;

pub(crate) fn net(source: &Source<'_>) -> Net {
    let mut net = Net::default();
    let answers = Answers::new(source);
    let mut users: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    // Names are recorded one by one: those of tunnels and containers reveal too much, and are only counted.
    for name in source.folder_names(paths::NET, |name| name != "lo") {
        let folder = format!("{}/{name}", paths::NET);
        if is_named_by_address(&name) {
            source.hide(&name, "nic");
        }
        if !source.has_folder(&format!("{folder}/device")) {
            source.record_folder(&format!("{}/virtual{}", paths::NET, net.virtual_interface_count));
            net.virtual_interface_count += 1;
            continue;
        }
        let interface = name;
        let name = source.shown(&interface);
        for phc in source.numbered(&format!("{folder}/device/ptp"), "ptp") {
            users.entry(phc).or_default().push(name.clone());
        }
        net.interfaces.push(nic(source, name, &folder, answers.read(&interface)));
    }
    for index in source.numbered(paths::PTP, "ptp") {
        net.phcs.push(phc(source, index, users.remove(&index).unwrap_or_default()));
    }
    net
}

fn nic(source: &Source<'_>, name: String, folder: &str, ethtool: Ethtool) -> Nic {
    let path = |file: &str| format!("{folder}/{file}");
    let number = |file: &str| source.value(&path(file), text::number);
    let count = |names: &[u32]| u64::try_from(names.len()).unwrap_or(u64::MAX);
    let receive = source.numbered(&path("queues"), "rx-");
    let transmit = source.numbered(&path("queues"), "tx-");
    let rps = receive
        .iter()
        .filter_map(|queue| source.value(&path(&format!("queues/rx-{queue}/rps_cpus")), CpuSet::from_mask));
    Nic {
        driver: source.link_name(&path("device/driver")),
        state: source.value(&path("operstate"), text::line),
        // A link that is down reads -1 on some drivers.
        speed_mbps: source.value(&path("speed"), text::signed).and_then(|speed| u64::try_from(speed).ok()),
        mtu_bytes: number("mtu"),
        rx_queue_count: count(&receive),
        tx_queue_count: count(&transmit),
        rps_cpus: rps.reduce(|all, cpus| all.union(&cpus)),
        napi_defer_hard_irqs: number("napi_defer_hard_irqs"),
        gro_flush_timeout_ns: number("gro_flush_timeout"),
        threaded_napi: source.value(&path("threaded"), text::switch),
        ethtool,
        name,
    }
}

fn phc(source: &Source<'_>, index: u32, interfaces: Vec<String>) -> Phc {
    let path = |file: &str| format!("{}/ptp{index}/{file}", paths::PTP);
    let number = |file: &str| source.value(&path(file), text::number);
    Phc {
        index,
        name: source.reduced(&path("clock_name"), 4096, reduce_clock_name).and_then(|name| text::line(&name)),
        interfaces,
        max_adjustment_ppb: number("max_adjustment"),
        external_timestamp_count: number("n_external_timestamps"),
        periodic_output_count: number("n_periodic_outputs"),
        pin_count: number("n_programmable_pins"),
        pps: source.value(&path("pps_available"), text::switch),
        ahead_of_system_ns: super::timekeeping::ahead_of_system_ns(source, index),
    }
}
