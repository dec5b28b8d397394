//! Network interfaces and PTP hardware clocks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

/// Network interfaces and PTP hardware clocks.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Net {
    /// Interfaces (/sys/class/net); loopback and, unless physical, purely virtual ones are counted only.
    pub interfaces: Vec<Nic>,
    /// Interfaces without hardware: bridges, tunnels, containers.
    pub virtual_interface_count: u64,
    /// PTP hardware clocks (/sys/class/ptp).
    pub phcs: Vec<Phc>,
}

/// A network interface with a device behind it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Nic {
    /// For example `eth0`.
    pub name: String,
    /// The kernel driver (device/driver).
    pub driver: Option<String>,
    /// `up`, `down` or `unknown` (operstate).
    pub state: Option<String>,
    /// Link speed, in megabits per second (speed).
    pub speed_mbps: Option<u64>,
    /// Largest packet, in bytes (mtu).
    pub mtu_bytes: Option<u64>,
    /// Receive queues (queues/rx-*).
    pub rx_queue_count: u64,
    /// Transmit queues (queues/tx-*).
    pub tx_queue_count: u64,
    /// CPUs to which received packets are spread in software (queues/rx-*/rps_cpus).
    pub rps_cpus: Option<CpuSet>,
    /// How often busy polling may put interrupts off (napi_defer_hard_irqs).
    pub napi_defer_hard_irqs: Option<u64>,
    /// How long it may, in nanoseconds (gro_flush_timeout).
    pub gro_flush_timeout_ns: Option<u64>,
    /// Whether packets are received in threads (threaded).
    pub threaded_napi: Option<bool>,
    /// What the driver answers to ethtool's questions.
    pub ethtool: Ethtool,
}

/// What the driver answers to ethtool's questions; `None` where it does not answer or nobody asked.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ethtool {
    /// Supported time stamps (ETHTOOL_GET_TS_INFO).
    pub timestamping: Option<Timestamping>,
    /// Interrupt coalescing (ETHTOOL_GCOALESCE).
    pub coalescing: Option<Coalescing>,
    /// Numbers of channels (ETHTOOL_GCHANNELS).
    pub channels: Option<Channels>,
    /// Energy-Efficient Ethernet (ETHTOOL_GEEE).
    pub energy_efficient: Option<EnergyEfficient>,
}

/// Where packets can be stamped.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Timestamping {
    /// Whether sent packets can be stamped in hardware (SOF_TIMESTAMPING_TX_HARDWARE).
    pub tx_hardware: bool,
    /// Whether received packets can be stamped in hardware (SOF_TIMESTAMPING_RX_HARDWARE).
    pub rx_hardware: bool,
    /// Whether sent packets can be stamped by the driver (SOF_TIMESTAMPING_TX_SOFTWARE).
    pub tx_software: bool,
    /// Whether received packets can be stamped by the kernel (SOF_TIMESTAMPING_RX_SOFTWARE).
    pub rx_software: bool,
    /// The PTP hardware clock behind the stamps, N of /dev/ptpN.
    pub phc_index: Option<u32>,
    /// Whether every received packet can be stamped (HWTSTAMP_FILTER_ALL).
    pub rx_filter_all: bool,
}

/// How interrupts are gathered.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Coalescing {
    /// How long a received packet may wait for an interrupt, in microseconds.
    pub rx_us: u32,
    /// How many received packets may wait.
    pub rx_frame_count: u32,
    /// How long a sent packet's completion may wait, in microseconds.
    pub tx_us: u32,
    /// How many completions may wait.
    pub tx_frame_count: u32,
    /// Whether the driver changes the receive values by itself.
    pub adaptive_rx: bool,
    /// Whether the driver changes the transmit values by itself.
    pub adaptive_tx: bool,
}

/// How many queues of each kind are in use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Channels {
    /// Receive only, in use.
    pub rx_count: u32,
    /// Transmit only, in use.
    pub tx_count: u32,
    /// Both ways, in use.
    pub combined_count: u32,
    /// Both ways, at most.
    pub combined_max_count: u32,
}

/// Energy-Efficient Ethernet (IEEE 802.3az).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct EnergyEfficient {
    /// Whether it is offered to the peer.
    pub enabled: bool,
    /// Whether both ends agreed.
    pub active: bool,
    /// How long the transmitter idles before it sleeps, in microseconds.
    pub tx_lpi_timer_us: u32,
}

/// A PTP hardware clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Phc {
    /// N of /dev/ptpN.
    pub index: u32,
    /// The driver's name for it (clock_name).
    pub name: Option<String>,
    /// Interfaces that stamp with it (/sys/class/net/*/device/ptp).
    pub interfaces: Vec<String>,
    /// The largest frequency correction, in parts per billion (max_adjustment).
    pub max_adjustment_ppb: Option<u64>,
    /// Inputs that can be stamped (n_external_timestamps).
    pub external_timestamp_count: Option<u64>,
    /// Outputs that can be driven (n_periodic_outputs).
    pub periodic_output_count: Option<u64>,
    /// Pins that can be assigned (n_programmable_pins).
    pub pin_count: Option<u64>,
    /// Whether it gives a pulse per second to the kernel (pps_available).
    pub pps: Option<bool>,
    /// The hardware clock less the system clock, CLOCK_REALTIME, in nanoseconds, good to a millisecond or better.
    pub ahead_of_system_ns: Option<i64>,
}

/// Replaces a clock's name that is the port's address: some drivers know no better one (`igc_ptp_init()`).
#[must_use]
pub fn reduce_clock_name(text: &str) -> String {
    let digits: String = text.trim().chars().filter(|c| !matches!(c, ':' | '-')).collect();
    if digits.len() == 12 && digits.bytes().all(|b| b.is_ascii_hexdigit()) {
        "(address)\n".to_owned()
    } else {
        text.to_owned()
    }
}

/// Whether an interface is named after its address, as systemd names USB adapters: `enx001122334455`.
#[must_use]
pub fn is_named_by_address(interface: &str) -> bool {
    interface
        .find('x')
        .and_then(|x| interface.get(x + 1..))
        .is_some_and(|rest| rest.len() == 12 && rest.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// Reads what a capture stored of ethtool's answers (punctual/ethtool/NAME.json).
#[must_use]
pub fn parse_ethtool(text: &str) -> Option<Ethtool> {
    serde_json::from_str(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_recognized() {
        assert_eq!(reduce_clock_name("a0369f123456\n"), "(address)\n");
        assert_eq!(reduce_clock_name("a0:36:9f:12:34:56"), "(address)\n");
        assert_eq!(reduce_clock_name("stmmac ptp\n"), "stmmac ptp\n");
        assert!(is_named_by_address("enx001122aabbcc"));
        assert!(is_named_by_address("wlx001122aabbcc"));
        assert!(!is_named_by_address("enp2s0"));
        assert!(!is_named_by_address("enx"));
    }
}
