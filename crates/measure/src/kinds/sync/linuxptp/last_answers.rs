//! What the answers of one ptp4l said last, and what follows from all of them together.

use ::sync::facts::Statement;
use codecs::linuxptp::{
    ClockIdentity, CurrentDataSet, ParentDataSet, PortIdentity, PortState, TimeProperties, TimeStatus, Timestamping,
};
use codecs::stated;
use record::SyncState;

/// What its last answers said.
#[derive(Default)]
pub(super) struct LastAnswers {
    pub(super) interface: String,
    pub(super) timestamping: Option<Timestamping>,
    pub(super) ports: Vec<(PortIdentity, PortState)>,
    pub(super) gm_present: bool,
    pub(super) parent: Option<ParentDataSet>,
    pub(super) current: Option<CurrentDataSet>,
    pub(super) time: Option<TimeProperties>,
    pub(super) status: Option<TimeStatus>,
    pub(super) own: Option<ClockIdentity>,
    /// When the message came in of which the last offset is.
    pub(super) ingress_ns: Option<i64>,
    pub(super) delay_ns: Option<i64>,
    pub(super) has_stamps: bool,
}

impl LastAnswers {
    fn gm(&self) -> Option<ClockIdentity> {
        self.parent.map(|parent| parent.grandmaster_identity)
    }

    /// What its clock is compared with.
    pub(super) fn reference(&self) -> String {
        let parent = self.parent.map(|parent| parent.parent_port_identity);
        // A port is named where it is not the only one that a clock is likely to have.
        let port =
            parent.filter(|parent| parent.port > 1).map_or_else(String::new, |parent| format!(" port {}", parent.port));
        match (self.gm(), parent, self.own) {
            // Until it has heard of another one, or decided, every clock takes itself for the grand master.
            (Some(gm), _, Some(own)) if gm == own && !self.gives_time() => String::new(),
            (Some(gm), _, Some(own)) if gm == own => "itself: this clock is the grand master".to_owned(),
            // Stamps reach to the next clock alone.
            (Some(gm), Some(parent), _) if parent.clock != gm => {
                let steps =
                    self.current.map_or_else(String::new, |current| format!(", {} steps away", current.steps_removed));
                format!("boundary clock {}{port} (grand master {gm}{steps})", parent.clock)
            }
            (Some(gm), ..) => format!("grand master {gm}{port}"),
            _ => String::new(),
        }
    }

    /// All that was stated of the time until now.
    pub(super) fn statements(&self) -> Vec<Statement> {
        let parts = [
            self.time.as_ref().map(stated::of_time),
            self.parent.as_ref().map(stated::of_parent),
            self.current.as_ref().map(stated::of_current),
            self.status.as_ref().map(stated::of_status),
        ];
        parts.into_iter().flatten().flatten().collect()
    }

    /// The identity of the clock to which stamps reach: the parent, or this clock where it is itself the grand master.
    pub(super) fn reference_id(&self) -> Option<String> {
        match (self.gm(), self.parent, self.own) {
            (Some(gm), _, Some(own)) if gm == own => self.gives_time().then(|| own.to_string()),
            (_, Some(parent), _) => Some(parent.parent_port_identity.clock.to_string()),
            _ => None,
        }
    }

    /// Whether a port gives the time to others.
    fn gives_time(&self) -> bool {
        self.ports.iter().any(|(_, state)| matches!(state, PortState::Master | PortState::GrandMaster))
    }

    /// Whether the answers state this parent.
    pub(super) fn is_parent(&self, port: PortIdentity) -> bool {
        self.parent.is_some_and(|parent| parent.parent_port_identity == port)
    }

    /// The state of the clock, from those of its ports.
    pub(super) fn state(&self, had_offsets: bool, is_free_running: bool) -> (SyncState, String) {
        let any = |wanted: PortState| self.ports.iter().any(|(_, state)| *state == wanted);
        let words = || {
            let all: Vec<String> =
                self.ports.iter().map(|(port, state)| format!("port {} {state}", port.port)).collect();
            all.join(", ")
        };
        let state = if any(PortState::Slave) {
            SyncState::Locked
        } else if any(PortState::Uncalibrated) {
            // A clock that is not to be steered is never said to be a slave.
            if is_free_running { SyncState::Free } else { SyncState::Starting }
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
