//! Stamps of the network interface by which a node reaches its partner: whether it takes any, and its clock, read together with
//! the node's.

mod setting;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use kernel::packet::interface::{HardwareStamping, Interface, ReceivedStamped};
use kernel::packet::route::Route;
use kernel::phc::HardwareClock;
use packet::hardware::{HardwareReading, HardwareScale};
use record::{ClockStep, HardwareMode, HardwareStamps, PacketPath};

use self::setting::SetForRun;
pub use self::setting::{RESTORER_COMMAND, restore};
use super::ends::HANDING_ON;
use crate::clock_watch::moment_now;
use crate::clocks;

/// Between two readings of the interface's clock. The error of a stamp between two grows with it. Some devices lose external
/// time stamps while somebody reads their clock, so it is read no more often than a usual servo corrects it.
const EVERY: Duration = Duration::from_millis(250);
/// Steps that a record lists.
const MOST_STEPS: usize = 64;
/// `HWTSTAMP_TX_ON` and `HWTSTAMP_FILTER_ALL` (include/uapi/linux/net_tstamp.h): their values, and their bits in what a driver offers.
const TX_ON: i32 = 1;
const FILTER_ALL: i32 = 1;

/// Why stamps of the interface that were asked for cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum HardwareError {
    /// The interface has none.
    #[error(
        "stamps of the interface are not possible: {0}; '--hardware-stamps auto' goes on without those that are missing"
    )]
    Impossible(String),
    /// The interface cannot be set.
    #[error(
        "cannot set {interface} to stamp packets (SIOCSHWTSTAMP): {error}; that takes the right to configure networks (CAP_NET_ADMIN), \
         and '--hardware-stamps auto' does without it"
    )]
    Set {
        /// Name of the interface that was to be set.
        interface: String,
        /// What the kernel, or the process that sets it back, says.
        error: std::io::Error,
    },
}

/// Which packets of a run a node has, and wants stamped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StampedDirections {
    pub(super) sends: bool,
    pub(super) receives: bool,
}

/// What an interface stamps of what is wanted, or would if it were set so.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Decided {
    sent: bool,
    received: bool,
    /// What it has to be set to: flags, sent packets, received packets.
    set: Option<[i32; 3]>,
    without: Vec<String>,
}

/// Decides what to do with an interface, by what it says of itself.
fn decide(interface: &Interface, mode: HardwareMode, wanted: StampedDirections) -> Decided {
    let name = &interface.name;
    let none = |why: String| Decided { without: vec![why], ..Decided::default() };
    if let Some(kind) = interface.kind.as_deref().filter(|kind| HANDING_ON.contains(kind)) {
        return none(format!("{name} is a {kind}, and which of the interfaces behind it stamps a packet is not known"));
    }
    let Some(offered) = interface.stamping.filter(|offered| offered.phc_index >= 0) else {
        return none(format!("{name} has no clock of its own"));
    };
    let Some(state) = interface.hardware_stamping else {
        return none(format!("the driver of {name} does not say which packets it stamps (SIOCGHWTSTAMP)"));
    };
    if state != HardwareStamping::OFF {
        // Somebody else's, who needs it so.
        let (sent, received) = (wanted.sends && state.sends, wanted.receives && state.receives == ReceivedStamped::All);
        let mut without = Vec::new();
        if wanted.sends && !sent {
            without.push(format!("another program has set {name} to stamp no sent packet, and that is left alone"));
        }
        if wanted.receives && !received {
            let which = if state.receives == ReceivedStamped::Some { "those of PTP alone" } else { "none" };
            without.push(format!(
                "of received packets another program has set {name} to stamp {which}, and that is left alone"
            ));
        }
        return Decided { sent, received, set: None, without };
    }
    if mode != HardwareMode::On {
        return none(format!("{name} is set to stamp nothing ('--hardware-stamps on' sets it for the run)"));
    }
    let (sent, received) = (
        wanted.sends && offered.tx_types & (1 << TX_ON) != 0,
        wanted.receives && offered.rx_filters & (1 << FILTER_ALL) != 0,
    );
    let mut without = Vec::new();
    if wanted.sends && !sent {
        without.push(format!("the hardware of {name} stamps no sent packets"));
    }
    if wanted.receives && !received {
        without.push(format!("of received packets the hardware of {name} stamps those of PTP at most"));
    }
    let set = [0, if sent { TX_ON } else { 0 }, if received { FILTER_ALL } else { 0 }];
    Decided { sent, received, set: (sent || received).then_some(set), without }
}

/// An interface's clock, read together with the node's.
struct InterfaceClock {
    clock: HardwareClock,
    scale: HardwareScale,
    next: Instant,
}

/// What a node knows of its interface's stamps.
pub(super) struct Hardware {
    about: HardwareStamps,
    clock: Option<InterfaceClock>,
    /// Readings that the partner was not told of.
    unsaid: Vec<HardwareReading>,
    /// Set back as this goes.
    _set: Option<SetForRun>,
}

impl Hardware {
    /// Finds out what the interface stamps by which a node is reached, and sets it where that is wanted; `None` if nobody asks.
    ///
    /// # Errors
    /// Where it is to be set, and that is not possible.
    pub(super) fn find(
        mode: HardwareMode,
        path: PacketPath,
        reaches: SocketAddr,
        wanted: StampedDirections,
    ) -> Result<Option<Self>, HardwareError> {
        if mode.is_off() {
            return Ok(None);
        }
        let interface = match interface_to(path, reaches) {
            Ok(interface) => interface,
            Err(why) => return Self::without(mode, HardwareStamps { without: vec![why], ..HardwareStamps::default() }),
        };
        let decided = decide(&interface, mode, wanted);
        let index = interface.stamping.map_or(-1, |offered| offered.phc_index);
        let mut about = HardwareStamps {
            interface: Some(interface.name.clone()),
            clock: (index >= 0).then(|| format!("ptp{index}")),
            without: decided.without,
            ..HardwareStamps::default()
        };
        if !decided.sent && !decided.received {
            return Self::without(mode, about);
        }
        let clock = match open_clock(index) {
            Ok(clock) => clock,
            Err(why) => {
                about.without.push(why);
                return Self::without(mode, about);
            }
        };
        let (mut sent, mut received) = (decided.sent, decided.received);
        let mut set = None;
        if let Some(config) = decided.set {
            let name = &interface.name;
            let (guarded, made) =
                SetForRun::set(name, config).map_err(|error| HardwareError::Set { interface: name.clone(), error })?;
            let made = HardwareStamping::from_config(made);
            (sent, received) = (sent && made.sends, received && made.receives == ReceivedStamped::All);
            if (sent, received) != (decided.sent, decided.received) {
                about.without.push(format!("the driver of {name} did not set all that was asked for"));
            }
            if !sent && !received {
                return Self::without(mode, about);
            }
            set = Some(guarded);
        }
        (about.sent, about.received, about.was_set) = (sent, received, set.is_some());
        let mut found = Self { about, clock: Some(clock), unsaid: Vec::new(), _set: set };
        // What comes first lies between this reading and the next.
        found.read();
        Ok(Some(found))
    }

    fn without(mode: HardwareMode, about: HardwareStamps) -> Result<Option<Self>, HardwareError> {
        match mode {
            HardwareMode::On => Err(HardwareError::Impossible(about.without.join("; "))),
            _ => Ok(Some(Self { about, clock: None, unsaid: Vec::new(), _set: None })),
        }
    }

    /// Whether it stamps what this node sends.
    pub(super) const fn stamps_sent(&self) -> bool {
        self.about.sent
    }

    /// Whether it stamps what this node receives.
    pub(super) const fn stamps_received(&self) -> bool {
        self.about.received
    }

    /// Converts its stamps of received packets; `None` if there are none.
    pub(super) fn receiving_scale(&self) -> Option<&HardwareScale> {
        self.clock.as_ref().filter(|_| self.about.received).map(|clock| &clock.scale)
    }

    /// Reads the clock where it is time for that.
    pub(super) fn look(&mut self) {
        if self.clock.as_ref().is_some_and(|clock| Instant::now() >= clock.next) {
            self.read();
        }
    }

    /// The readings that the partner needs, which has what this interface stamped, and was not told of yet.
    pub(super) fn take_unsaid(&mut self) -> Vec<HardwareReading> {
        std::mem::take(&mut self.unsaid)
    }

    /// Reads the clock now. Where that fails, it is counted.
    pub(super) fn read(&mut self) {
        let Some(clock) = self.clock.as_mut() else { return };
        clock.next = Instant::now() + EVERY;
        let Some((reading, method)) = read(&mut clock.clock) else {
            self.about.failed_readings += 1;
            return;
        };
        self.about.readings += 1;
        self.about.read_by.get_or_insert_with(|| method.to_owned());
        self.about.reading_error_ns = self.about.reading_error_ns.max(reading.error_ns.unsigned_abs());
        if let Some(step_ns) = clock.scale.take(reading) {
            if self.about.steps.len() < MOST_STEPS {
                self.about.steps.push(ClockStep { noticed: moment_now(), step_ns });
            }
        }
        if self.about.sent {
            self.unsaid.push(reading);
        }
    }

    /// What is recorded of it.
    pub(super) fn describe(&self, node: &str) -> HardwareStamps {
        HardwareStamps { node: node.to_owned(), ..self.about.clone() }
    }
}

/// The interface by which a node is reached; if it stamps nothing of ours, why.
fn interface_to(path: PacketPath, reaches: SocketAddr) -> Result<Interface, String> {
    if path == PacketPath::Xdp {
        return Err("on the path 'xdp' no stamps of the interface are taken".to_owned());
    }
    let route = Route::to(reaches).map_err(|error| error.to_string())?;
    if route.is_local {
        return Err("the partner is reached within this machine, and no interface stamps anything".to_owned());
    }
    Interface::read_by_index(route.interface_index).map_err(|error| error.to_string())
}

/// Opens an interface's clock; if that is of no use, why.
fn open_clock(index: i32) -> Result<InterfaceClock, String> {
    let device = PathBuf::from(format!("/dev/ptp{index}"));
    let name = device.display();
    let clock = HardwareClock::open(&device).map_err(|error| format!("{name} cannot be opened: {error}"))?;
    if clock.correction_ppb().is_none() {
        return Err(format!(
            "the kernel does not say to this user how {name} is corrected: that takes write access to it"
        ));
    }
    Ok(InterfaceClock { clock, scale: HardwareScale::default(), next: Instant::now() })
}

/// Both clocks of a node, and by which request the interface's was read. `None` if it cannot be read, or the system clock was set
/// meanwhile.
fn read(clock: &mut HardwareClock) -> Option<(HardwareReading, &'static str)> {
    let before = clocks::now();
    let compared = clock.compare().ok()?;
    let correction_ppb = clock.correction_ppb()?;
    let after = clocks::now();
    let then = before.when(compared.middle_ns());
    let [from, then, to] = [before, then, after].map(|now| now.realtime);
    // The comparison is of the system clock: it has to have gone on in between, as fast as the one that nobody corrects.
    let passed_ns = to.raw_ns.saturating_sub(from.raw_ns);
    let shown_ns = to.clock_ns.saturating_sub(from.clock_ns);
    let errors_ns = from.error_ns.saturating_add(to.error_ns).saturating_add(passed_ns / 1_000 + 1);
    let is_between = from.clock_ns < then.clock_ns && compared.middle_ns() == then.clock_ns;
    if !is_between || shown_ns.abs_diff(passed_ns) > errors_ns.unsigned_abs() {
        return None;
    }
    // The kernel rounds each time down to whole nanoseconds.
    let window_ns = compared.width_ns() / 2 + 2;
    Some((
        HardwareReading {
            raw_ns: then.raw_ns,
            clock_ns: compared.phc_ns,
            error_ns: window_ns.saturating_add(then.error_ns),
            correction_ppb,
        },
        compared.method.name(),
    ))
}

#[cfg(test)]
mod tests;
