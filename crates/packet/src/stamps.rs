//! The stamps that packets get after they have left the program, and that later packets bring.

use std::num::NonZeroI64;

/// Earlier packets whose stamps a packet brings, at most: where its payload has room for them.
pub const MOST_EARLIER: usize = 3;

/// A stamp (ns); 0 is the kernel's word for none, and takes no room beside the time.
pub type Stamp = Option<NonZeroI64>;

/// The stamps that a packet got after it had left the program. They are known too late for the packet itself, so a later
/// one brings them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaterStamps {
    /// Sequence number of the packet that they belong to.
    pub sequence: u64,
    /// When the kernel handed it to the network's driver (ns, `CLOCK_REALTIME` of the sender); `None` if it was not stamped.
    pub stack_ns: Stamp,
    /// When the network interface sent it (ns, on its own clock); `None` if it was not stamped.
    pub hardware_ns: Stamp,
}

/// A stamp as the kernel gave it.
#[inline]
#[must_use]
pub fn stamp(ns: Option<i64>) -> Stamp {
    ns.and_then(NonZeroI64::new)
}

/// The earlier one of both, where there are two.
#[inline]
pub(crate) fn earlier(one: Stamp, other: Stamp) -> Stamp {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

impl LaterStamps {
    /// The earlier one of both, of each kind: a packet that the network doubled is stamped once more for its copy.
    #[inline]
    #[must_use]
    pub fn earliest(self, other: Self) -> Self {
        Self {
            sequence: self.sequence,
            stack_ns: earlier(self.stack_ns, other.stack_ns),
            hardware_ns: earlier(self.hardware_ns, other.hardware_ns),
        }
    }

    /// Whether there is none.
    #[inline]
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.stack_ns.is_none() && self.hardware_ns.is_none()
    }
}

/// The stamps of the earlier packets that a packet brings: those that were learned since the packet before it, as far as its payload
/// has room, and else the last one once more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EarlierStamps {
    /// Those that were learned last first.
    pub(crate) known: [LaterStamps; MOST_EARLIER],
    /// How many of them, from the first on, no packet has brought yet.
    pub(crate) fresh: u8,
}

impl EarlierStamps {
    /// No stamp of any packet.
    pub const NONE: Self =
        Self { known: [LaterStamps { sequence: 0, stack_ns: None, hardware_ns: None }; MOST_EARLIER], fresh: 0 };

    /// Takes a stamp that was learned now. Stamps of one packet come apart, and stand together; those that were learned first
    /// go.
    pub fn take(&mut self, stamps: LaterStamps) {
        if stamps.is_empty() {
            return;
        }
        let is_it = |known: &LaterStamps| known.sequence == stamps.sequence && !known.is_empty();
        if let Some((at, known)) = self.known.iter_mut().enumerate().find(|(_, known)| is_it(known)) {
            *known = known.earliest(stamps);
            self.fresh = self.fresh.max(u8::try_from(at + 1).unwrap_or(u8::MAX));
            return;
        }
        self.known.copy_within(..MOST_EARLIER - 1, 1);
        self.known[0] = stamps;
        self.fresh = self.fresh.saturating_add(1);
    }

    /// A packet has brought those that were learned until now.
    #[inline]
    pub const fn brought(&mut self) {
        self.fresh = 0;
    }

    /// Those that are known.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = LaterStamps> {
        // They stand from the first place on.
        self.known.iter().copied().take_while(|stamps| !stamps.is_empty())
    }
}

impl From<LaterStamps> for EarlierStamps {
    fn from(stamps: LaterStamps) -> Self {
        let mut earlier = Self::default();
        earlier.take(stamps);
        earlier
    }
}
