//! Subscriptions to notifications (`SUBSCRIBE_EVENTS_NP`, linuxptp `tlv.h` and `notification.h`).

use super::super::error::DecodeError;
use super::super::reader::Reader;

/// Something that a daemon can notify of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// A port changed its state: `PORT_DATA_SET` is sent.
    PortState,
    /// A Sync was evaluated: `TIME_STATUS_NP` is sent, with `free_running` too (by 4.2, not by 3.1.1).
    TimeSync,
    /// Parent or grandmaster changed: `PARENT_DATA_SET` is sent (by 4.2, not by 3.1.1).
    ParentDataSet,
    /// The common mean link delay service measured: `CMLDS_INFO_NP` is sent (linuxptp 4.3 and later).
    Cmlds,
}

/// A set of events. A daemon echoes bits that it does not know and never fires them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventSet {
    /// Bit n % 8 of byte n / 8 stands for event n.
    pub bits: [u8; Self::BYTES],
}

impl EventSet {
    pub(in super::super) const BYTES: usize = 64;
    /// No event: asking for it ends a subscription.
    pub const NONE: Self = Self { bits: [0; Self::BYTES] };

    /// This set with `event`.
    #[must_use]
    pub fn with(mut self, event: Event) -> Self {
        let [first, ..] = &mut self.bits;
        *first |= event.bit();
        self
    }

    /// Whether `event` is in the set.
    pub fn contains(&self, event: Event) -> bool {
        let [first, ..] = self.bits;
        first & event.bit() != 0
    }
}

impl Event {
    fn bit(self) -> u8 {
        match self {
            Self::PortState => 1,
            Self::TimeSync => 1 << 1,
            Self::ParentDataSet => 1 << 2,
            Self::Cmlds => 1 << 3,
        }
    }
}

/// A subscription as asked for, or as it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SubscribeEvents {
    /// Asked for: how long it lasts. In an answer to GET: how long it still lasts, 0 without one (s). 65535 runs out in
    /// 3.1.1 and 4.2, and never in later versions (`clock.c`); whoever renews in time need not know.
    pub duration_s: u16,
    /// What is notified.
    pub events: EventSet,
}

impl SubscribeEvents {
    pub(in super::super) const BYTES: usize = 2 + EventSet::BYTES;

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        Ok(Self {
            duration_s: reader.u16("subscription duration")?,
            events: EventSet { bits: reader.array("event bits")? },
        })
    }
}
