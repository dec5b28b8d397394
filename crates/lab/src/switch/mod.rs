//! The lab's Ethernet switch: connects QEMU guests without privileges, and impairs each link as configured.
//!
//! Each guest has `-netdev dgram,…` over a pair of Unix datagram sockets, and each datagram is one Ethernet frame
//! ([`PortConfig::netdev_argument`]). The switch learns MAC addresses and floods broadcast, multicast and unknown
//! addresses. Unlike an IEEE 802.1Q switch it also forwards the link-local addresses 01:80:C2:00:00:0x, so that PTP's
//! peer-delay messages (01:80:C2:00:00:0E) pass as on one cable. It is not a PTP clock and corrects nothing. It has no
//! VLANs, no ageing of learned addresses and no line rate: a frame takes only the delay of its links.
//!
//! ```text
//! seed = 7                    # the same seed and the same frames give the same result
//!
//! [[port]]
//! local = "run/switch-0"      # the switch's socket
//! remote = "run/guest-0"      # the guest's socket
//! capture = "run/port-0.pcap" # all frames of the port, with the host's CLOCK_REALTIME
//! from-guest = { delay = "2ms", jitter = "100us", drop = 0.01 }
//! to-guest = { delay = "30ms", only = "ptp/sync" } # of one flow; the rest passes at once
//! ```
//!
//! [`Switch`] is pure: frames and times go in, frames with their due times come out.
//! [`BoundSwitch`] adds sockets, a clock and capture files.

mod capture;
mod config;
mod direction;
mod flow;
mod impairment;
mod outlet;
mod random;
mod run;
mod state;

pub use self::config::{MAX_PORTS, PortConfig, SwitchConfig, SwitchConfigError};
pub use self::direction::{DirectionCounters, MAX_WAITING_FRAMES, REORDER_HOLD_NS};
pub use self::flow::{Flow, FlowError};
pub use self::impairment::{Impairment, ImpairmentError, MAX_DELAY};
pub use self::outlet::{MAX_OUTLET_FRAMES, OUTLET_PATIENCE_NS, PortOutcome};
pub use self::run::{BoundSwitch, LinkChange, SwitchError, SwitchOrder, SwitchOutcome};
pub use self::state::{Delivery, MAX_FRAME_BYTES, MIN_FRAME_BYTES, PortCounters, Switch};
