//! What the server asks a node for, before the orders come.

use packet::dialog::Endpoints;
use record::PulseRequest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is asked of a node that is to act. The key of the packets is not in it: both programs derive it from their connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PulseJob {
    /// What is ordered, and how. The thread and the CPU in it are the server's: a node chooses its own.
    pub request: PulseRequest,
    /// Number of the node's flow.
    pub flow: u8,
    /// Where the server sends from.
    pub server: Endpoints,
}

impl PulseJob {
    /// The request as the node carries it out: with neither the CPU nor the priority of the server.
    #[must_use]
    pub fn for_node(self) -> PulseRequest {
        let PulseRequest { cpu, sched_priority, .. } = PulseRequest::default();
        PulseRequest { cpu, sched_priority, ..self.request }
    }
}

#[cfg(test)]
mod tests {
    use units::Ns;

    use super::*;

    #[test]
    fn a_server_chooses_neither_cpu_nor_priority_of_a_node() {
        let lead = Ns::from_us(123);
        let request = PulseRequest { cpu: Some(3), sched_priority: Some(99), lead, ..PulseRequest::default() };
        let server = Endpoints {
            node: "s".to_owned(),
            clock_port: 1,
            data_port: None,
            hardware_address: None,
            hardware_stamps: false,
            wants_half: false,
        };
        let asked = PulseJob { request, flow: 0, server }.for_node();
        assert_eq!(asked, PulseRequest { lead, ..PulseRequest::default() });
        assert_ne!(asked.sched_priority, Some(99));
    }
}
