//! The request for a run of `pulse`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use super::{KindRequest, PacketDirection, PacketPath, PacketRequest, ReceiveMode, RunEnd};
use crate::Measurement;

/// The name of the output that switches nothing.
pub const NO_OUTPUT: &str = "none";

/// The parameters of a run of `pulse`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PulseRequest {
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
    /// The output that every node switches, by the name that its policy has for it; `none` switches nothing.
    pub output: String,
    /// What the output does.
    pub shape: PulseShape,
    /// How long the output is active; absent: a quarter of the interval, at most 1 ms. Of `square` it is half the interval.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub width: Option<Ns>,
    /// Every how many orders one is twice as long, followed by its number in long and short ones; absent: none is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<u32>,
    /// By which clock the nodes act.
    pub by: ActsBy,
    /// An act that is later than this is a miss.
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub tolerance: Ns,
    /// How long before an ordered time a node's thread asks the clock without a pause; absent: 100 us, at most 10 % of the interval.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub spin: Option<Ns>,
    /// Payload of each packet (bytes, 80 to 65507); the headers of the network come on top.
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
    /// The CPU of the sending thread; absent: the first isolated one, or none in particular. Each node has its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Priority of this thread under SCHED_FIFO (1 to 99); absent: SCHED_OTHER.
    pub sched_priority: Option<u32>,
    /// Whether time services of the nodes are asked how far their clocks are apart.
    pub sync: bool,
    /// How much the rates of two uncorrected clocks differ at most (parts per billion, 1 to 100000000).
    pub max_drift_ppb: u32,
}

/// What an output does at each order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PulseShape {
    /// It is active for a short time.
    #[default]
    Pulse,
    /// It is active for half of the interval.
    Square,
}

impl PulseShape {
    /// The name that users type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pulse => "pulse",
            Self::Square => "square",
        }
    }
}

/// By which clock nodes act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ActsBy {
    /// Each by its own CLOCK_REALTIME, as its time service has it.
    #[default]
    Service,
    /// Each by the server's CLOCK_REALTIME, as the exchange of messages with the server shows it, whatever a time service says.
    Exchange,
}

impl ActsBy {
    /// The name that users type.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Service => "service",
            Self::Exchange => "exchange",
        }
    }
}

impl Default for PulseRequest {
    fn default() -> Self {
        let PacketRequest { path, size, sched_priority, sync, max_drift_ppb, .. } = PacketRequest::default();
        Self {
            path,
            interval: Ns::from_ms(1),
            lead: Ns::from_us(800),
            end: RunEnd::After(Ns::from_s(60)),
            output: NO_OUTPUT.to_owned(),
            shape: PulseShape::Pulse,
            width: None,
            mark: None,
            by: ActsBy::Service,
            tolerance: Ns::from_us(100),
            spin: None,
            size,
            priority: None,
            vlan: None,
            dscp: None,
            cpu: None,
            sched_priority,
            sync,
            max_drift_ppb,
        }
    }
}

impl PulseRequest {
    /// How long the output is active at an order that is not marked.
    #[must_use]
    pub fn active(&self) -> Ns {
        match (self.shape, self.width) {
            (PulseShape::Square, _) => Ns(self.interval.0 / 2),
            (PulseShape::Pulse, Some(width)) => width,
            (PulseShape::Pulse, None) => Ns(self.interval.0 / 4).min(Ns::from_ms(1)),
        }
    }

    /// How long before an ordered time the thread asks the clock without a pause.
    #[must_use]
    pub fn spins(&self) -> Ns {
        self.spin.unwrap_or_else(|| Ns(self.interval.0 / 10).min(Ns::from_us(100)))
    }

    /// The packets that bring the orders.
    #[must_use]
    pub fn packets(&self) -> PacketRequest {
        PacketRequest {
            path: self.path,
            direction: PacketDirection::To,
            interval: self.interval,
            end: self.end,
            size: self.size,
            receive: ReceiveMode::Block,
            limit: None,
            priority: self.priority,
            vlan: self.vlan,
            dscp: self.dscp,
            cpu: self.cpu,
            sched_priority: self.sched_priority,
            sync: self.sync,
            max_drift_ppb: self.max_drift_ppb,
            ..PacketRequest::default()
        }
    }
}

impl KindRequest for PulseRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Pulse
    }

    fn deadline(&self) -> Option<Ns> {
        Some(self.tolerance)
    }

    fn takes(&self) -> Option<Ns> {
        self.packets().takes()
    }

    fn real_time_priority(&self) -> Option<u32> {
        self.sched_priority
    }

    fn last_for(&mut self, duration: Ns) -> bool {
        self.end = RunEnd::After(duration);
        true
    }
}
