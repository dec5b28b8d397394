//! The latencies that packets between nodes have, whatever is done with them.

use super::table::LATENCY;
use super::{Latency, LatencyRole, Sign};

pub(super) const SENT_TO_RECEIVED: Latency = Latency {
    name: "sent_to_received",
    words: "sending program to receiving program",
    from: "the sending program's reading of its CLOCK_REALTIME right before it hands the packet to the kernel",
    to: "the receiving program's reading of its CLOCK_REALTIME right after it has the packet, less the offset of the two clocks",
    at: "received at",
    sign: Sign::NegativeIsEarly,
    way: "one way",
    ..LATENCY
};
pub(super) const SCHEDULED_TO_SENT: Latency = Latency {
    name: "scheduled_to_sent",
    words: "schedule to sending program",
    from: "the time at which the packet was to be sent, on the sender's clock",
    to: "the sending program's reading of that clock right before it hands the packet to the kernel",
    at: "sent at",
    sign: Sign::NotNegative,
    role: LatencyRole::SenderLateness,
    ..LATENCY
};
pub(super) const SENT_TO_TRANSMITTED: Latency = Latency {
    name: "sent_to_transmitted",
    words: "sending program to driver",
    from: "the sending program's reading of its CLOCK_REALTIME right before it hands the packet to the kernel",
    to: "the kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE) when it hands the packet to the network's driver, on the same clock",
    at: "transmitted at",
    sign: Sign::NotNegative,
    part_of: &["sent_to_received"],
    ..LATENCY
};
pub(super) const TRANSMITTED_TO_ARRIVED: Latency = Latency {
    name: "transmitted_to_arrived",
    words: "network",
    from: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE)",
    to: "the receiving kernel's stamp (SOF_TIMESTAMPING_RX_SOFTWARE), less the offset of the two clocks (an import from isochron subtracts nothing)",
    at: "arrived at",
    sign: Sign::NegativeIsEarly,
    part_of: &["sent_to_received", "woke_to_received"],
    way: "from kernel to kernel",
    ..LATENCY
};
pub(super) const TRANSMITTED_TO_HW_TRANSMITTED: Latency = Latency {
    name: "transmitted_to_hw_transmitted",
    words: "driver to sending interface",
    from: "the sending kernel's stamp (SOF_TIMESTAMPING_TX_SOFTWARE)",
    to: "the sending interface's stamp (SOF_TIMESTAMPING_TX_HARDWARE), by its clock, compared with that node's",
    at: "transmitted at",
    sign: Sign::NegativeIsEarly,
    part_of: &["transmitted_to_arrived"],
    ..LATENCY
};
pub(super) const HW_TRANSMITTED_TO_HW_ARRIVED: Latency = Latency {
    name: "hw_transmitted_to_hw_arrived",
    words: "interface to interface",
    from: "the sending interface's stamp (SOF_TIMESTAMPING_TX_HARDWARE)",
    to: "the receiving interface's stamp (SOF_TIMESTAMPING_RX_HARDWARE), less the offset of the two clocks (an import from isochron subtracts nothing)",
    at: "arrived at",
    sign: Sign::NegativeIsEarly,
    part_of: &["transmitted_to_arrived"],
    way: "from interface to interface",
    ..LATENCY
};
pub(super) const HW_ARRIVED_TO_ARRIVED: Latency = Latency {
    name: "hw_arrived_to_arrived",
    words: "receiving interface to kernel",
    from: "the receiving interface's stamp (SOF_TIMESTAMPING_RX_HARDWARE), by its clock, compared with that node's",
    to: "the receiving kernel's stamp (SOF_TIMESTAMPING_RX_SOFTWARE)",
    at: "arrived at",
    sign: Sign::NegativeIsEarly,
    part_of: &["transmitted_to_arrived"],
    ..LATENCY
};
pub(super) const ARRIVED_TO_RECEIVED: Latency = Latency {
    name: "arrived_to_received",
    words: "receiving kernel to program",
    from: "the receiving kernel's stamp (SOF_TIMESTAMPING_RX_SOFTWARE)",
    to: "the receiving program's reading of its CLOCK_REALTIME right after it has the packet",
    at: "received at",
    sign: Sign::NotNegative,
    part_of: &["sent_to_received", "woke_to_received"],
    ..LATENCY
};
pub(super) const ASKED_TO_ANSWERED: Latency = Latency {
    name: "asked_to_answered",
    words: "round trip of the exchange",
    from: "a kernel sends a question to the partner (its stamp)",
    to: "the same kernel receives the answer, less the time that the partner held the question (by that kernel's stamps): the round trip",
    at: "answered at",
    sign: Sign::NotNegative,
    role: LatencyRole::RoundTrip,
    ..LATENCY
};
