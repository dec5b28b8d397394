//! The switch without sockets and clock: frames and times in, frames and their due times out. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::{SwitchConfig, SwitchConfigError};
use super::direction::{Direction, DirectionCounters, Fate, Place, REORDER_HOLD_NS};
use super::impairment::Impairment;
use super::random::Generator;

/// Shortest Ethernet frame: destination, source and type (bytes). QEMU's network cards do not pad frames to 60 bytes.
pub const MIN_FRAME_BYTES: usize = 14;

/// Longest accepted frame (bytes): longer than any that a guest's network card can send.
pub const MAX_FRAME_BYTES: usize = 65_536;

/// How many addresses the switch learns; frames to further addresses are flooded.
const MAX_ADDRESSES: usize = 4_096;

type Mac = [u8; 6];

/// Whether it is a broadcast or multicast address: the lowest bit of the first byte is set (IEEE 802-2014, 8.2.2).
fn is_group(address: Mac) -> bool {
    address[0] & 1 == 1
}

/// A frame to be sent to a guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// Index of the guest's port in the configuration.
    pub port: usize,
    /// The frame from the destination address to the last byte of data, without check sequence.
    pub frame: Arc<[u8]>,
    /// When it was due (ns, on the clock of the arrivals).
    pub due_ns: i64,
}

/// Counters of one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortCounters {
    /// Frames received from the guest.
    pub received: u64,
    /// Received frames that were dropped, being shorter than [`MIN_FRAME_BYTES`] or longer than [`MAX_FRAME_BYTES`].
    pub odd_length: u64,
    /// Frames not forwarded, since the destination is behind the port that they came from.
    pub local: u64,
    /// Counters from the guest to the switch.
    pub from_guest: DirectionCounters,
    /// Counters from the switch to the guest.
    pub to_guest: DirectionCounters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leg {
    FromGuest,
    ToGuest,
}

#[derive(Clone, Debug)]
struct InTransit {
    port: usize,
    leg: Leg,
    frame: Arc<[u8]>,
    copies: u8,
}

#[derive(Clone, Debug)]
struct Port {
    received: u64,
    odd_length: u64,
    local: u64,
    from_guest: Direction,
    to_guest: Direction,
}

impl Port {
    fn direction(&mut self, leg: Leg) -> &mut Direction {
        match leg {
            Leg::FromGuest => &mut self.from_guest,
            Leg::ToGuest => &mut self.to_guest,
        }
    }
}

/// The switch as a state machine. The caller supplies the time from any clock that does not go backwards.
#[derive(Clone, Debug)]
pub struct Switch {
    ports: Vec<Port>,
    /// The port on which an address was last seen.
    learned: HashMap<Mac, usize>,
    /// Frames in transit by due time; equal times keep the order of entry.
    queue: BTreeMap<Place, InTransit>,
    next_sequence: u64,
}

impl Switch {
    /// A switch that has not seen any frame yet.
    ///
    /// # Errors
    /// If the configuration is out of bounds.
    pub fn new(config: &SwitchConfig) -> Result<Self, SwitchConfigError> {
        config.check()?;
        let mut streams = (0..).map(|stream| Generator::for_stream(config.seed, stream));
        let mut direction = |impairment: &Impairment| {
            // The range is endless, so there is always a next stream.
            let generator = streams.next().unwrap_or_else(|| Generator::for_stream(config.seed, u64::MAX));
            Direction::new(impairment.clone(), generator)
        };
        let ports = config.port.iter().map(|port| Port {
            received: 0,
            odd_length: 0,
            local: 0,
            from_guest: direction(&port.from_guest),
            to_guest: direction(&port.to_guest),
        });
        Ok(Self { ports: ports.collect(), learned: HashMap::new(), queue: BTreeMap::new(), next_sequence: 0 })
    }

    /// Accepts a frame that the guest at `port` sent at `now_ns`; [`Self::due`] returns the resulting deliveries.
    ///
    /// # Panics
    /// If the configuration has no such port.
    pub fn arrived(&mut self, port: usize, frame: &[u8], now_ns: i64) {
        let at = &mut self.ports[port];
        at.received += 1;
        if (MIN_FRAME_BYTES..=MAX_FRAME_BYTES).contains(&frame.len()) {
            self.enter(port, Leg::FromGuest, Arc::from(frame), now_ns);
        } else {
            at.odd_length += 1;
        }
    }

    /// The frames due until `now_ns`, in the order of their due times.
    pub fn due(&mut self, now_ns: i64) -> Vec<Delivery> {
        let mut deliveries = Vec::new();
        while let Some(entry) = self.queue.first_entry() {
            if entry.key().0 > now_ns {
                break;
            }
            let (place, InTransit { port, leg, frame, copies }) = entry.remove_entry();
            self.ports[port].direction(leg).leave(place, copies);
            for _ in 0..copies {
                let (due_ns, frame) = (place.0, Arc::clone(&frame));
                match leg {
                    // The second leg begins when the first one ended, not at the time of this call.
                    Leg::FromGuest => self.forward(port, &frame, due_ns),
                    Leg::ToGuest => deliveries.push(Delivery { port, frame, due_ns }),
                }
            }
        }
        deliveries
    }

    /// Changes the link of a port from now on; frames in transit are not affected.
    ///
    /// # Panics
    /// If the configuration has no such port.
    pub fn set_link(&mut self, port: usize, from_guest: Impairment, to_guest: Impairment) {
        self.ports[port].from_guest.set(from_guest);
        self.ports[port].to_guest.set(to_guest);
    }

    /// When the next frame is due (ns); `None` if none is in transit.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<i64> {
        self.queue.first_key_value().map(|((due_ns, _), _)| *due_ns)
    }

    /// The counters so far of each port.
    #[must_use]
    pub fn counters(&self) -> Vec<PortCounters> {
        let counters = self.ports.iter().map(|port| PortCounters {
            received: port.received,
            odd_length: port.odd_length,
            local: port.local,
            from_guest: port.from_guest.counters,
            to_guest: port.to_guest.counters,
        });
        counters.collect()
    }

    fn forward(&mut self, from: usize, frame: &Arc<[u8]>, at_ns: i64) {
        let [Some(destination), Some(source)] = [frame.get(..6), frame.get(6..12)].map(|part| part?.try_into().ok())
        else {
            return; // `arrived` has dropped shorter frames.
        };
        // A group address is not a valid source. If it were learned, all other members would lose the group's frames.
        if !is_group(source) && (self.learned.len() < MAX_ADDRESSES || self.learned.contains_key(&source)) {
            self.learned.insert(source, from);
        }
        match self.learned.get(&destination) {
            Some(&to) if to == from => self.ports[from].local += 1,
            Some(&to) => self.enter(to, Leg::ToGuest, Arc::clone(frame), at_ns),
            None => {
                for to in (0..self.ports.len()).filter(|to| *to != from) {
                    self.enter(to, Leg::ToGuest, Arc::clone(frame), at_ns);
                }
            }
        }
    }

    fn enter(&mut self, port: usize, leg: Leg, frame: Arc<[u8]>, at_ns: i64) {
        let Some(fate) = self.ports[port].direction(leg).enter(&frame, at_ns) else { return };
        let Fate { due_ns, copies, held, spared } = fate;
        let in_transit = InTransit { port, leg, frame, copies };
        if held {
            let place = self.queue_at(due_ns.saturating_add(REORDER_HOLD_NS), in_transit);
            self.ports[port].direction(leg).hold(place);
            return;
        }
        self.queue_at(due_ns, in_transit);
        if spared {
            return;
        }
        for place in self.ports[port].direction(leg).overtake(due_ns) {
            if let Some(overtaken) = self.queue.remove(&place) {
                self.queue_at(due_ns, overtaken);
            }
        }
    }

    fn queue_at(&mut self, due_ns: i64, in_transit: InTransit) -> Place {
        let place = (due_ns, self.next_sequence);
        self.next_sequence += 1;
        self.queue.insert(place, in_transit);
        place
    }
}

#[cfg(test)]
mod tests;
