//! What the server asks a node for, before the orders come.

use packet::dialog::Endpoints;
use record::{ActsBy, PacketPath, PulseRequest, PulseShape, RunEnd};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

/// What is asked of a node that is to act. The key of the packets is not in it: both programs derive it from their connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub struct PulseJob {
    /// What is ordered, and how.
    pub request: AskedPulses,
    /// Number of the node's flow.
    pub flow: u8,
    /// Where the server sends from.
    pub server: Endpoints,
}

/// The parameters of a run of `pulse` that all nodes share. Each has the meaning of the field of its name in [`PulseRequest`];
/// threads and CPUs are each node's own choice, and no part of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AskedPulses {
    /// The way that orders take through the system.
    pub path: PacketPath,
    /// From one order to the next (10 us to 10 s).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval: Ns,
    /// How long after its schedule on the server an order is to be carried out (up to 10 s).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub lead: Ns,
    /// When the run ends.
    pub end: RunEnd,
    /// The output, by the name that the asked node's policy has for it; `none` switches nothing.
    pub output: String,
    /// What the output does.
    pub shape: PulseShape,
    /// How long the output is active.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub width: Option<Ns>,
    /// Every how many orders one is twice as long; absent: none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<u32>,
    /// By which clock the node acts.
    pub by: ActsBy,
    /// An act that is later than this is a miss.
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub tolerance: Ns,
    /// How long before an ordered time the thread asks the clock without a pause.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub spin: Option<Ns>,
    /// Payload of each packet (bytes, 120 to 65507).
    pub size: u32,
    /// Priority of the packets within the sending system (SO_PRIORITY, 0 to 15).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<u32>,
    /// VLAN of the packets (1 to 4094), on the path `l2`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vlan: Option<u16>,
    /// Differentiated services code point of the packets (0 to 63), on paths with IP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dscp: Option<u8>,
    /// Whether time services of the nodes are asked how far their clocks are apart.
    pub sync: bool,
    /// How much the rates of two uncorrected clocks differ at most (parts per billion, 1 to 100000000).
    pub max_drift_ppb: u32,
}

impl From<PulseRequest> for AskedPulses {
    fn from(request: PulseRequest) -> Self {
        Self {
            path: request.path,
            interval: request.interval,
            lead: request.lead,
            end: request.end,
            output: request.output,
            shape: request.shape,
            width: request.width,
            mark: request.mark,
            by: request.by,
            tolerance: request.tolerance,
            spin: request.spin,
            size: request.size,
            priority: request.priority,
            vlan: request.vlan,
            dscp: request.dscp,
            sync: request.sync,
            max_drift_ppb: request.max_drift_ppb,
        }
    }
}

impl Default for AskedPulses {
    fn default() -> Self {
        PulseRequest::default().into()
    }
}

impl From<AskedPulses> for PulseRequest {
    /// What is each node's own has its default, and has to be chosen.
    fn from(asked: AskedPulses) -> Self {
        Self {
            path: asked.path,
            interval: asked.interval,
            lead: asked.lead,
            end: asked.end,
            output: asked.output,
            shape: asked.shape,
            width: asked.width,
            mark: asked.mark,
            by: asked.by,
            tolerance: asked.tolerance,
            spin: asked.spin,
            size: asked.size,
            priority: asked.priority,
            vlan: asked.vlan,
            dscp: asked.dscp,
            sync: asked.sync,
            max_drift_ppb: asked.max_drift_ppb,
            ..Self::default()
        }
    }
}
