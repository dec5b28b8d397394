//! What the answers of one ptp4l said last, and what follows from all of them together.

use ::sync::linuxptp::{ClockIdentity, PortIdentity, PortState, Timestamping};
use record::SyncState;

/// What its last answers said.
#[derive(Default)]
pub(super) struct Seen {
    pub(super) interface: String,
    pub(super) timestamping: Option<Timestamping>,
    pub(super) ports: Vec<(PortIdentity, PortState)>,
    pub(super) gm_present: bool,
    pub(super) gm: Option<ClockIdentity>,
    pub(super) parent: Option<PortIdentity>,
    pub(super) own: Option<ClockIdentity>,
    pub(super) steps_removed: u16,
    /// When the message came in of which the last offset is.
    pub(super) ingress_ns: Option<i64>,
    pub(super) delay_ns: Option<i64>,
    pub(super) has_stamps: bool,
    pub(super) utc_offset_s: Option<i16>,
    pub(super) leap: Option<(bool, bool)>,
}

impl Seen {
    /// What its clock is compared with.
    pub(super) fn reference(&self) -> String {
        match (self.gm, self.parent, self.own) {
            // Until it has heard of another one, or decided, every clock takes itself for the grand master.
            (Some(gm), _, Some(own)) if gm == own && !self.gives_time() => String::new(),
            (Some(gm), _, Some(own)) if gm == own => "itself: this clock is the grand master".to_owned(),
            // Stamps reach to the next clock alone.
            (Some(gm), Some(parent), _) if parent.clock != gm => {
                format!("boundary clock {} (grand master {gm}, {} steps away)", parent.clock, self.steps_removed)
            }
            (Some(gm), ..) => format!("grand master {gm}"),
            _ => String::new(),
        }
    }

    /// The identity of the clock to which stamps reach: the parent, or this clock where it is itself the grand master.
    pub(super) fn reference_id(&self) -> Option<String> {
        match (self.gm, self.parent, self.own) {
            (Some(gm), _, Some(own)) if gm == own => self.gives_time().then(|| own.to_string()),
            (_, Some(parent), _) => Some(parent.clock.to_string()),
            _ => None,
        }
    }

    /// Whether a port gives the time to others.
    fn gives_time(&self) -> bool {
        self.ports.iter().any(|(_, state)| matches!(state, PortState::Master | PortState::GrandMaster))
    }

    /// Whether the answers state this parent.
    pub(super) fn is_parent(&self, port: PortIdentity) -> bool {
        self.parent == Some(port)
    }

    /// The state of the clock, from those of its ports.
    pub(super) fn state(&self, had_offsets: bool) -> (SyncState, String) {
        let any = |wanted: PortState| self.ports.iter().any(|(_, state)| *state == wanted);
        let words = || {
            let all: Vec<String> =
                self.ports.iter().map(|(port, state)| format!("port {} {state}", port.port)).collect();
            all.join(", ")
        };
        let state = if any(PortState::Slave) {
            SyncState::Locked
        } else if any(PortState::Uncalibrated) {
            SyncState::Starting
        } else if self.gives_time() {
            SyncState::Reference
        } else if had_offsets {
            SyncState::Lost
        } else {
            SyncState::Starting
        };
        (state, words())
    }
}
