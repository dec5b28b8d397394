//! What drivers answer to ethtool's questions: asked live, kept by a capture, read back from its tree.

use kernel::ethtool::Ethtool as Socket;
use profile::net::{Channels, Coalescing, EnergyEfficient, Ethtool, Timestamping, parse_ethtool};

use crate::source::Source;

/// Names of the bits `SOF_TIMESTAMPING_*` (include/uapi/linux/net_tstamp.h).
const TX_HARDWARE: u32 = 1 << 0;
const TX_SOFTWARE: u32 = 1 << 1;
const RX_HARDWARE: u32 = 1 << 2;
const RX_SOFTWARE: u32 = 1 << 3;
/// `HWTSTAMP_FILTER_ALL` as a bit of `rx_filters`.
const FILTER_ALL: u32 = 1 << 1;

/// The answers of one node.
pub(crate) struct Answers<'s, 'r> {
    source: &'s Source<'r>,
    socket: Option<Socket>,
}

impl<'s, 'r> Answers<'s, 'r> {
    pub(crate) fn new(source: &'s Source<'r>) -> Self {
        // A kernel without IPv4 has nobody to ask: unknown.
        Self { source, socket: if source.is_live() { Socket::open().ok() } else { None } }
    }

    pub(crate) fn read(&self, interface: &str) -> Ethtool {
        let path = format!("/punctual/ethtool/{interface}.json");
        let Some(socket) = &self.socket else {
            return self.source.value(&path, parse_ethtool).unwrap_or_default();
        };
        let answers = ask(socket, interface);
        if self.source.is_capturing() && answers != Ethtool::default() {
            // Plain values, which JSON can always say.
            let text = serde_json::to_string_pretty(&answers).unwrap_or_default() + "\n";
            self.source.record(&path, text.as_bytes());
        }
        answers
    }
}

/// A question that a driver does not answer stays unknown.
fn ask(socket: &Socket, interface: &str) -> Ethtool {
    let timestamping = socket.ts_info(interface).ok().map(|info| Timestamping {
        tx_hardware: info.so_timestamping & TX_HARDWARE != 0,
        rx_hardware: info.so_timestamping & RX_HARDWARE != 0,
        tx_software: info.so_timestamping & TX_SOFTWARE != 0,
        rx_software: info.so_timestamping & RX_SOFTWARE != 0,
        phc_index: u32::try_from(info.phc_index).ok(),
        rx_filter_all: info.rx_filters & FILTER_ALL != 0,
    });
    let coalescing = socket.coalesce(interface).ok().map(|coalesce| Coalescing {
        rx_us: coalesce.rx_us,
        rx_frame_count: coalesce.rx_frame_count,
        tx_us: coalesce.tx_us,
        tx_frame_count: coalesce.tx_frame_count,
        adaptive_rx: coalesce.adaptive_rx != 0,
        adaptive_tx: coalesce.adaptive_tx != 0,
    });
    let channels = socket.channels(interface).ok().map(|channels| Channels {
        rx_count: channels.rx_count,
        tx_count: channels.tx_count,
        combined_count: channels.combined_count,
        combined_max_count: channels.combined_max_count,
    });
    let energy_efficient = socket.eee(interface).ok().map(|eee| EnergyEfficient {
        enabled: eee.enabled != 0,
        active: eee.active != 0,
        tx_lpi_timer_us: eee.tx_lpi_timer_us,
    });
    Ethtool { timestamping, coalescing, channels, energy_efficient }
}
