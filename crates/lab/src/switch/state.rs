//! The switch without sockets and clock: frames and times in, frames and the moments at which they are due out. Pure.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::config::{SwitchConfig, SwitchConfigError};
use super::direction::{Direction, DirectionCounters, Fate, Place, REORDER_HOLD_NS};
use super::impairment::Impairment;
use super::random::Generator;

/// Destination, source and type: less is no Ethernet frame. Padding to 60 bytes is the sender's affair, and QEMU's
/// network cards leave it out.
pub const MIN_FRAME_BYTES: usize = 14;

/// Longer than any frame that a guest's network card can send.
pub const MAX_FRAME_BYTES: usize = 65_536;

/// How many addresses are remembered; frames to others are flooded, as those to unknown ones are.
const MAX_ADDRESSES: usize = 4_096;

type Mac = [u8; 6];

/// The lowest bit of the first byte marks broadcast and multicast (IEEE 802-2014, 8.2.2).
fn is_group(address: Mac) -> bool {
    address[0] & 1 == 1
}

/// A frame that is to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// To the guest at this port (its place in the configuration).
    pub port: usize,
    /// From destination address to the last byte of data, without check sequence.
    pub frame: Arc<[u8]>,
    /// When it was due (ns, on the clock that was given with the arrivals).
    pub due_ns: i64,
}

/// What was counted at one port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PortCounters {
    /// Frames that came from the guest.
    pub received: u64,
    /// Of them, shorter than [`MIN_FRAME_BYTES`] or longer than [`MAX_FRAME_BYTES`]: dropped.
    pub odd_length: u64,
    /// Not forwarded, since the destination is behind the port that they came from.
    pub local: u64,
    /// From the guest to the switch.
    pub from_guest: DirectionCounters,
    /// From the switch to the guest.
    pub to_guest: DirectionCounters,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    FromGuest,
    ToGuest,
}

#[derive(Clone, Debug)]
struct UnderWay {
    port: usize,
    way: Way,
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
    fn direction(&mut self, way: Way) -> &mut Direction {
        match way {
            Way::FromGuest => &mut self.from_guest,
            Way::ToGuest => &mut self.to_guest,
        }
    }
}

/// The switch as a state machine, on a clock of the caller's choice that does not go back.
#[derive(Clone, Debug)]
pub struct Switch {
    ports: Vec<Port>,
    /// The port behind which an address was seen last.
    learned: HashMap<Mac, usize>,
    /// Ordered by time, and by the order of entering where times are equal.
    queue: BTreeMap<Place, UnderWay>,
    next_sequence: u64,
}

impl Switch {
    /// A switch that has seen nothing yet.
    ///
    /// # Errors
    /// Where the configuration is out of its bounds.
    pub fn new(config: &SwitchConfig) -> Result<Self, SwitchConfigError> {
        config.check()?;
        let mut streams = (0..).map(|stream| Generator::of_stream(config.seed, stream));
        let mut direction = |impairment: &Impairment| {
            // An endless range has always a next one.
            let generator = streams.next().unwrap_or_else(|| Generator::of_stream(config.seed, u64::MAX));
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

    /// Takes a frame that the guest at `port` sent at `now_ns`; what follows from it comes out of [`Self::due`].
    ///
    /// # Panics
    /// Where the configuration has no such port.
    pub fn arrived(&mut self, port: usize, frame: &[u8], now_ns: i64) {
        let at = &mut self.ports[port];
        at.received += 1;
        if (MIN_FRAME_BYTES..=MAX_FRAME_BYTES).contains(&frame.len()) {
            self.enter(port, Way::FromGuest, Arc::from(frame), now_ns);
        } else {
            at.odd_length += 1;
        }
    }

    /// The frames that are to be sent by `now_ns`, in the order in which they were due.
    pub fn due(&mut self, now_ns: i64) -> Vec<Delivery> {
        let mut deliveries = Vec::new();
        while let Some(entry) = self.queue.first_entry() {
            if entry.key().0 > now_ns {
                break;
            }
            let (place, UnderWay { port, way, frame, copies }) = entry.remove_entry();
            self.ports[port].direction(way).leave(place, copies);
            for _ in 0..copies {
                let (due_ns, frame) = (place.0, Arc::clone(&frame));
                match way {
                    // The second half of the way begins when the first ended, not when somebody looked.
                    Way::FromGuest => self.forward(port, &frame, due_ns),
                    Way::ToGuest => deliveries.push(Delivery { port, frame, due_ns }),
                }
            }
        }
        deliveries
    }

    /// Makes the link of a port another from now on; what is under way keeps its fate.
    ///
    /// # Panics
    /// Where the configuration has no such port.
    pub fn set_link(&mut self, port: usize, from_guest: Impairment, to_guest: Impairment) {
        self.ports[port].from_guest.set(from_guest);
        self.ports[port].to_guest.set(to_guest);
    }

    /// When [`Self::due`] has something to do next (ns); `None` where nothing is under way.
    #[must_use]
    pub fn next_due_ns(&self) -> Option<i64> {
        self.queue.first_key_value().map(|((due_ns, _), _)| *due_ns)
    }

    /// What was counted so far, port by port.
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
            return; // Shorter frames do not get here.
        };
        // Nobody may send from a group address; learned, it would take the group's frames away from all the others.
        if !is_group(source) && (self.learned.len() < MAX_ADDRESSES || self.learned.contains_key(&source)) {
            self.learned.insert(source, from);
        }
        match self.learned.get(&destination) {
            Some(&to) if to == from => self.ports[from].local += 1,
            Some(&to) => self.enter(to, Way::ToGuest, Arc::clone(frame), at_ns),
            None => {
                for to in (0..self.ports.len()).filter(|to| *to != from) {
                    self.enter(to, Way::ToGuest, Arc::clone(frame), at_ns);
                }
            }
        }
    }

    fn enter(&mut self, port: usize, way: Way, frame: Arc<[u8]>, at_ns: i64) {
        let Some(Fate { due_ns, copies, held }) = self.ports[port].direction(way).enter(at_ns) else { return };
        let under_way = UnderWay { port, way, frame, copies };
        if held {
            let place = self.queue_at(due_ns.saturating_add(REORDER_HOLD_NS), under_way);
            self.ports[port].direction(way).hold(place);
            return;
        }
        self.queue_at(due_ns, under_way);
        for place in self.ports[port].direction(way).overtake(due_ns) {
            if let Some(overtaken) = self.queue.remove(&place) {
                self.queue_at(due_ns, overtaken);
            }
        }
    }

    fn queue_at(&mut self, due_ns: i64, under_way: UnderWay) -> Place {
        let place = (due_ns, self.next_sequence);
        self.next_sequence += 1;
        self.queue.insert(place, under_way);
        place
    }
}

#[cfg(test)]
mod tests;
