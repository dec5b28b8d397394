//! The request for a run of `sync`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Ns;

use super::{KindRequest, LocalAddress, LocalPath, RunLength};
use crate::Measurement;

/// An ordinary quartz within its temperatures; IEEE 1588-2019, Annex I, asks for no more than 100 parts per million.
pub(super) const DEFAULT_MAX_DRIFT_PPB: u32 = 100_000;

/// The parameters of a run of `sync`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct SyncRequest {
    /// Which sources of time are looked at.
    pub source: SourceChoice,
    /// How long (100 ms to 400 days, or `unlimited`).
    pub duration: RunLength,
    /// The magnitude that no offset may exceed, within its hard bound.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub limit: Option<Ns>,
    /// How much the rate of an uncorrected clock differs from the reference's at most (parts per billion, 1 to 100000000).
    pub max_drift_ppb: u32,
    /// ptp4l's management socket; `None`: the sockets of the running ptp4l, then the known places.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptp_socket: Option<LocalPath>,
    /// The socket that ptp4l's configuration names as `slave_event_monitor`; `None`: the one in the configuration of the running
    /// ptp4l. Its messages are the raw time stamps, without which there is no hard bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptp_events: Option<LocalPath>,
    /// The address of chronyd's command port; `None`: 127.0.0.1:323.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chrony_address: Option<LocalAddress>,
    /// The file of the memory that ClockBound's daemon shares; `None`: the known places below /var/run/clockbound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clockbound_memory: Option<LocalPath>,
    /// The file of the memory that an fbclock daemon shares, whose name ends in `_v2` where it has the second form; `None`: the
    /// known places below /run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fbclock_memory: Option<LocalPath>,
}

impl SyncRequest {
    /// Whether sources of this kind were asked for by name: by `source`, or by where they are.
    #[must_use]
    pub fn names(&self, kind: SourceChoice) -> bool {
        let Self {
            source,
            duration: _,
            limit: _,
            max_drift_ppb: _,
            ptp_socket,
            ptp_events,
            chrony_address,
            clockbound_memory,
            fbclock_memory,
        } = self;
        let is_placed = match kind {
            SourceChoice::Ptp => ptp_socket.is_some() || ptp_events.is_some(),
            SourceChoice::Chrony => chrony_address.is_some(),
            SourceChoice::Clockbound => clockbound_memory.is_some(),
            SourceChoice::Fbclock => fbclock_memory.is_some(),
            SourceChoice::Auto | SourceChoice::Kernel | SourceChoice::Phc => false,
        };
        is_placed || kind != SourceChoice::Auto && *source == kind
    }
}

/// Which sources of time are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SourceChoice {
    /// All that are found.
    #[default]
    Auto,
    /// ptp4l.
    Ptp,
    /// chronyd, over its command protocol.
    Chrony,
    /// The kernel's clock discipline alone.
    Kernel,
    /// PTP hardware clocks against the system clock.
    Phc,
    /// ClockBound's daemon, over the memory that it shares.
    Clockbound,
    /// The fbclock daemon, over the memory that it shares.
    Fbclock,
}

impl Default for SyncRequest {
    fn default() -> Self {
        Self {
            source: SourceChoice::Auto,
            duration: RunLength::For(Ns::from_s(60)),
            limit: None,
            max_drift_ppb: DEFAULT_MAX_DRIFT_PPB,
            ptp_socket: None,
            ptp_events: None,
            chrony_address: None,
            clockbound_memory: None,
            fbclock_memory: None,
        }
    }
}

impl KindRequest for SyncRequest {
    fn measurement(&self) -> Measurement {
        Measurement::Sync
    }

    fn deadline(&self) -> Option<Ns> {
        self.limit
    }

    fn takes(&self) -> Option<Ns> {
        self.duration.limit()
    }

    fn real_time_priority(&self) -> Option<u32> {
        None
    }

    fn last_for(&mut self, duration: Ns) -> bool {
        self.duration = RunLength::For(duration);
        true
    }
}
