//! The lab's Ethernet switch: joins QEMU guests without any right, and makes each link as bad as was asked for.
//!
//! Each guest has `-netdev dgram,…` over a pair of Unix datagram sockets, and each datagram is one Ethernet frame
//! ([`PortConfig::netdev_argument`]). The switch learns MAC addresses and floods broadcast, multicast and what it does
//! not know yet. Unlike a switch after IEEE 802.1Q it forwards the link-local addresses 01:80:C2:00:00:0x too, so
//! that PTP's peer-delay messages (01:80:C2:00:00:0E) pass as on one cable; it is no PTP clock and corrects nothing.
//! It knows no VLANs, does not age what it learned, and has no line rate: a frame takes as long as its link's delay.
//!
//! ```text
//! seed = 7                    # the same seed and the same frames have the same fate
//!
//! [[port]]
//! local = "run/switch-0"      # our socket
//! remote = "run/guest-0"      # the guest's
//! capture = "run/port-0.pcap" # what passed here, with the host's monotonic time
//! from-guest = { delay = "2ms", jitter = "100us", drop = 0.01 }
//! to-guest = { delay = "1ms", duplicate = 0.001, reorder = 0.001 }
//! ```
//!
//! [`Switch`] is pure: frames and times go in, frames with the moment at which each is due come out.
//! [`BoundSwitch`] puts sockets, a clock and capture files around it.

mod capture;
mod config;
mod direction;
mod impairment;
mod outlet;
mod random;
mod run;
mod state;

pub use self::config::{MAX_PORTS, PortConfig, SwitchConfig, SwitchConfigError};
pub use self::direction::{DirectionCounters, MAX_WAITING_FRAMES, REORDER_HOLD_NS};
pub use self::impairment::{Impairment, ImpairmentError, MAX_DELAY};
pub use self::outlet::{MAX_OUTLET_FRAMES, OUTLET_PATIENCE_NS, PortOutcome};
pub use self::run::{BoundSwitch, LinkChange, SwitchError, SwitchOrder, SwitchOutcome};
pub use self::state::{Delivery, MAX_FRAME_BYTES, MIN_FRAME_BYTES, PortCounters, Switch};
