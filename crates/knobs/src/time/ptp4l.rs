//! The configuration of ptp4l and phc2sys (ptp4l(8), phc2sys(8)). The names of options are those of linuxptp 3.1, which
//! later versions know as well.

use std::fmt::Write as _;

use super::{EVENTS, TimeIntent, TimeProfile, TimeRole};

/// Longest delay to a neighbor with stamps in software (ns): 802.1AS means 800 ns, which only hardware measures.
pub(super) const SOFTWARE_NEIGHBOR_DELAY_NS: u32 = 20_000_000;

/// The file that both programs read; `tai_less_utc_s` where it is known.
pub(super) fn configuration(intent: &TimeIntent, in_hardware: bool, tai_less_utc_s: Option<u8>) -> String {
    let mut text =
        "# Written by punctual; it goes with 'revert', or with the next start of the machine.\n[global]\n".to_owned();
    let mut set = |name: &str, value: &str| {
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name} {value}");
    };
    set("domainNumber", &intent.domain.to_string());
    set("time_stamping", if in_hardware { "hardware" } else { "software" });
    match intent.role {
        // 802.1AS has no slaves: an instance that may not become grand master says so by gmCapable, and ptp4l refuses both.
        TimeRole::Follow if intent.profile == TimeProfile::Gptp => {}
        TimeRole::Follow => set("slaveOnly", "1"),
        TimeRole::Give => set("masterOnly", "1"),
        TimeRole::BestMaster => {}
    }
    match intent.profile {
        TimeProfile::Gptp => {
            // IEEE 802.1AS-2020: peer-to-peer delays over Ethernet, Sync eight times a second, Announce once.
            let best = if intent.role == TimeRole::Follow { "255" } else { "246" };
            for (name, value) in [
                ("gmCapable", if intent.role == TimeRole::Follow { "0" } else { "1" }),
                ("priority1", best),
                ("priority2", "248"),
                ("logAnnounceInterval", "0"),
                ("logSyncInterval", "-3"),
                ("syncReceiptTimeout", "3"),
                ("transportSpecific", "0x1"),
                ("network_transport", "L2"),
                ("delay_mechanism", "P2P"),
                ("ptp_dst_mac", "01:80:C2:00:00:0E"),
                ("p2p_dst_mac", "01:80:C2:00:00:0E"),
                ("assume_two_step", "1"),
                ("path_trace_enabled", "1"),
                ("follow_up_info", "1"),
                ("min_neighbor_prop_delay", "-20000000"),
            ] {
                set(name, value);
            }
            let threshold_ns = if in_hardware { 800 } else { SOFTWARE_NEIGHBOR_DELAY_NS };
            set("neighborPropDelayThresh", &threshold_ns.to_string());
        }
        TimeProfile::PtpUdp | TimeProfile::PtpEthernet | TimeProfile::Ntp => {
            set("network_transport", if intent.profile == TimeProfile::PtpEthernet { "L2" } else { "UDPv4" });
            set("delay_mechanism", "E2E");
        }
    }
    for (name, value) in [
        // Set once at the start, if it is farther off than 20 us; only slewed from then on.
        ("first_step_threshold", "0.00002"),
        ("step_threshold", "0.0"),
        // Some drivers take longer than the default of 1 ms.
        ("tx_timestamp_timeout", "10"),
        ("summary_interval", "0"),
    ] {
        set(name, value);
    }
    if let Some(seconds) = tai_less_utc_s {
        // What a grand master announces, and what a slave takes until its grand master states another.
        set("utc_offset", &seconds.to_string());
    }
    if intent.role != TimeRole::Give {
        set("slave_event_monitor", EVENTS);
    }
    for interface in &intent.interfaces {
        let _ = writeln!(text, "[{interface}]");
    }
    text
}

/// The arguments of phc2sys: which clock follows which goes by the state of ptp4l's ports. The system clock may give the time
/// only where this node may.
pub(super) fn phc2sys_arguments(intent: &TimeIntent, configuration: &str) -> String {
    let may_give = if intent.role == TimeRole::Follow { "-a -r" } else { "-a -r -r" };
    format!("{may_give} -f {configuration}")
}
