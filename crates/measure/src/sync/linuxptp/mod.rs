//! ptp4l of linuxptp, over its management socket, and the raw time stamps that it passes on.
//!
//! Only questions are asked; nothing is set. The last offset that it shows is repeated until the next message, so each is known by
//! the time at which its message came in, and counted once.

mod find;
mod receiver;
mod stamps;

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use ::sync::bound::OffsetBound;
use ::sync::follow::{About, Followed, Follower, Part, Shown};
use ::sync::linuxptp::{
    ClockIdentity, ManagementId, ManagementTlv, Message, PortIdentity, PortState, Request, Requester, SignalingTlv,
    Timestamping, decode,
};
use host::NamedSocket;
use record::{Interval, Moment, Place, SyncChange, SyncService, SyncState};
use units::{ClockId, ClockName};

use self::find::Found;
pub use self::receiver::{RECEIVER_COMMAND, receive};
use self::receiver::{Receiver, Stamped};
use self::stamps::Stamps;
use super::clocks::{self, Now};
use super::live::LiveSource;
use super::source::Source;

/// Silence after which it has gone (ns).
const GONE_NS: i64 = 3_000_000_000;
/// From one look to the next, if this program had no CPU for a while (ns).
const STILL_NS: i64 = 1_000_000_000;
/// Looks for one at which everything is asked, and not only what can change at any moment.
const ALL_EVERY: u32 = 4;
const NO_EVENTS: &str = "ptp4l passes no raw time stamps on; give it a line such as 'slave_event_monitor /run/ptp4l-events' in \
                         the section [global] of its configuration, and start it again";
const MAY_NOT: &str = "run as root, or have ptp4l's uds_file_mode (4.0 and later) let this user ask";
/// Answers that are taken before the other sources have their turn, should somebody send them without end.
const MOST_AT_ONCE: usize = 256;
/// More ports than a clock has; forged answers do not fill the memory.
const MOST_PORTS: usize = 256;
const ONE_WAY: &str = "no raw time stamps of both directions came; with the peer-to-peer delay mechanism ptp4l passes on those of \
                       one direction alone";
/// Asked at every look: what can change at any moment.
const CHANGING: [ManagementId; 3] = [ManagementId::TimeStatus, ManagementId::PortDataSet, ManagementId::ParentDataSet];
/// Asked once a second.
const SLOW: [ManagementId; 3] =
    [ManagementId::TimePropertiesDataSet, ManagementId::CurrentDataSet, ManagementId::PortProperties];

/// Follows one ptp4l.
pub(crate) struct Ptp {
    found: Found,
    own: Option<NamedSocket>,
    events: Option<Receiver>,
    /// Why the raw time stamps cannot be received, in words.
    no_events: String,
    socket: Option<PathBuf>,
    requester: Requester,
    sequence: u16,
    looks: u32,
    answered_ns: i64,
    /// When it was first asked without an answer since, and when it was looked at last (ns of the uncorrected clock).
    asked_ns: Option<i64>,
    looked_ns: i64,
    follower: Option<Follower>,
    begun: (Moment, u64),
    seen: Seen,
    stamps: Stamps,
    last: Option<(i64, Option<OffsetBound>)>,
    refusal: Option<String>,
}

/// What its last answers said.
#[derive(Default)]
struct Seen {
    interface: String,
    timestamping: Option<Timestamping>,
    ports: Vec<(PortIdentity, PortState)>,
    gm_present: bool,
    gm: Option<ClockIdentity>,
    parent: Option<PortIdentity>,
    own: Option<ClockIdentity>,
    steps_removed: u16,
    /// When the message came in of which the last offset is.
    ingress_ns: Option<i64>,
    delay_ns: Option<i64>,
    has_stamps: bool,
    utc_offset_s: Option<i16>,
    leap: Option<(bool, bool)>,
}

/// Those that run here, or the one behind a named socket.
pub(crate) fn all(socket: Option<&str>, events: Option<&str>, max_drift_ppb: u32, begun: (Moment, u64)) -> Vec<Ptp> {
    let mut found = find::with_named(find::running(), socket, events);
    if found.is_empty() {
        // One in another process namespace is still reached by its socket.
        found = find::with_named(vec![find::somewhere()], socket, events);
    }
    found.into_iter().map(|one| Ptp::begin(one, max_drift_ppb, begun)).collect()
}

impl Ptp {
    fn begin(found: Found, max_drift_ppb: u32, begun: (Moment, u64)) -> Self {
        let (events, no_events) = match found.events.as_deref().map(|path| (path, Receiver::start(Path::new(path)))) {
            None => (None, NO_EVENTS.to_owned()),
            Some((_, Ok(receiver))) => (Some(receiver), ONE_WAY.to_owned()),
            Some((path, Err(error))) => {
                (None, format!("its raw time stamps go to {path}, where they cannot be received: {error}"))
            }
        };
        let (own, refusal) = match NamedSocket::for_answers() {
            Ok(own) => (Some(own), None),
            Err(error) => (None, Some(format!("no socket for the answers of ptp4l can be made: {error}"))),
        };
        let requester = Requester {
            transport_specific: found.transport_specific,
            domain_number: found.domain_number,
            minor_version: 0,
            source: asker(),
        };
        Self {
            found,
            own,
            events,
            no_events,
            socket: None,
            requester,
            sequence: 0,
            looks: 0,
            answered_ns: 0,
            asked_ns: None,
            looked_ns: 0,
            follower: None,
            begun,
            seen: Seen::default(),
            stamps: Stamps::new(max_drift_ppb),
            last: None,
            refusal,
        }
    }

    /// Asks; where no socket is known to work, at each in turn.
    fn ask(&mut self, ids: &[ManagementId]) {
        let Some(own) = &self.own else { return };
        let candidates: Vec<PathBuf> = match &self.socket {
            Some(socket) => vec![socket.clone()],
            None => self.found.sockets.iter().map(PathBuf::from).collect(),
        };
        for id in ids {
            self.sequence = self.sequence.wrapping_add(1);
            let Ok(request) = self.requester.encode(self.sequence, &Request::Get(*id)) else { continue };
            for candidate in &candidates {
                match own.send_to(request.as_bytes(), candidate) {
                    Ok(()) => {
                        self.socket = Some(candidate.clone());
                        break;
                    }
                    Err(error) => {
                        let shown = candidate.display();
                        if error.kind() == io::ErrorKind::PermissionDenied {
                            self.refusal = Some(format!("{shown}: {error}: {MAY_NOT}"));
                        } else if self.refusal.is_none() {
                            self.refusal = Some(format!("{shown}: {error}"));
                        }
                        self.socket = None;
                    }
                }
            }
        }
    }

    /// The follower, once it is known what is followed.
    fn follower(&mut self) -> Option<&mut Follower> {
        if self.follower.is_none() {
            let timestamping = self.seen.timestamping?;
            let clock = match timestamping {
                Timestamping::Software => ClockName::from(ClockId::Realtime),
                _ => ClockName::Phc(stamps::hardware_clock_of(&self.seen.interface)?),
            };
            let ppm = units::approx_f64(self.stamps.max_drift_ppb().into()) / 1_000.0;
            let about = About {
                service: SyncService::Linuxptp,
                place: Place::Port { port: self.seen.interface.clone(), domain: Some(self.found.domain_number) },
                clock: Some(clock.clone()),
                trusts: format!(
                    "no message was received before it was sent (raw time stamps of the exchanges with its parent in domain {}), and \
                     that an uncorrected clock drifts by at most {ppm} ppm",
                    self.found.domain_number
                ),
                is_judged: true,
                without_bound: self.no_events.clone(),
            };
            let mut follower = Follower::new(about, self.begun.0, self.begun.1);
            follower.could_miss("changes of state between two questions, 250 ms apart".to_owned());
            if self.events.is_none() {
                follower.could_miss("offsets between two questions, 250 ms apart".to_owned());
            }
            self.stamps.follow(&clock);
            self.follower = Some(follower);
        }
        self.follower.as_mut()
    }

    fn take_tlv(&mut self, at: Moment, tlv: &ManagementTlv<'_>) {
        match tlv {
            ManagementTlv::PortProperties(port) => {
                // Of several ports the one that follows somebody, as far as that is known.
                let follows = self.seen.ports.iter().any(|(identity, state)| {
                    *identity == port.port_identity && matches!(state, PortState::Slave | PortState::Uncalibrated)
                });
                if self.seen.interface.is_empty() || follows {
                    self.seen.interface = String::from_utf8_lossy(port.interface).into_owned();
                    self.seen.timestamping = Some(port.timestamping);
                }
            }
            ManagementTlv::PortDataSet(port) => {
                self.seen.own = Some(port.port_identity.clock);
                self.seen.ports.retain(|(identity, _)| *identity != port.port_identity);
                if self.seen.ports.len() < MOST_PORTS {
                    self.seen.ports.push((port.port_identity, port.port_state));
                }
                self.take_state(at);
            }
            ManagementTlv::ParentDataSet(parent) => {
                let before = self.seen.parent.replace(parent.parent_port_identity);
                self.seen.gm = Some(parent.grandmaster_identity);
                if before.is_some_and(|before| before != parent.parent_port_identity) {
                    self.stamps.forget();
                }
                let reference = self.seen.reference();
                if let Some(follower) = self.follower() {
                    follower.reference(at, &reference);
                }
            }
            ManagementTlv::CurrentDataSet(current) => {
                self.seen.steps_removed = current.steps_removed;
                self.seen.delay_ns = Some(current.mean_path_delay.floor_ns());
            }
            ManagementTlv::TimeProperties(time) => {
                self.take_properties(at, time.leap61, time.leap59);
                let offset_s = time.current_utc_offset_s;
                let before = self.seen.utc_offset_s.replace(offset_s);
                if let (Some(before), Some(follower)) = (before.filter(|before| *before != offset_s), self.follower()) {
                    let detail = format!("its grand master states TAI less UTC as {offset_s} s, before {before} s");
                    follower.event(at, SyncChange::TaiOffset, detail);
                }
                let is_software = self.seen.timestamping == Some(Timestamping::Software);
                // With software stamps its clock runs on UTC, and the stamps of its master may be of TAI.
                self.stamps.set_scale(if is_software && time.ptp_timescale { i64::from(offset_s) } else { 0 });
            }
            ManagementTlv::TimeStatus(status) => {
                self.seen.gm_present = status.gm_present;
                let is_new = self.seen.ingress_ns.replace(status.ingress_time_ns) != Some(status.ingress_time_ns);
                // Its first value may be of long ago.
                if !is_new || !status.gm_present || status.ingress_time_ns == 0 || self.looks <= ALL_EVERY {
                    return;
                }
                let (has_stamps, delay_ns) = (self.seen.has_stamps, self.seen.delay_ns);
                let offset_ns = status.master_offset_ns;
                let Some(follower) = self.follower() else { return };
                follower.own_estimate(offset_ns);
                if !has_stamps {
                    follower.offset(at, Shown { offset_ns, delay_ns, frequency_ppb: None }, None);
                    self.last = Some((offset_ns, None));
                }
            }
            _ => {}
        }
    }

    fn take_properties(&mut self, at: Moment, leap_61: bool, leap_59: bool) {
        let before = self.seen.leap.replace((leap_61, leap_59));
        let words = match (leap_61, leap_59) {
            (true, _) => "its grand master announces an inserted second",
            (_, true) => "its grand master announces a second that is left out",
            _ => "its grand master announces no leap second",
        };
        let is_change =
            before.is_some_and(|before| before != (leap_61, leap_59)) || before.is_none() && (leap_61 || leap_59);
        if let (true, Some(follower)) = (is_change, self.follower()) {
            follower.event(at, SyncChange::Leap, words.to_owned());
        }
    }

    fn take_state(&mut self, at: Moment) {
        let (state, why) = self.seen.state(self.last.is_some());
        if let Some(follower) = self.follower() {
            follower.state(at, state, &why);
        }
    }

    fn take_events(&mut self) {
        let Some(events) = &mut self.events else { return };
        let (all, dropped) = (events.fetch(), events.dropped());
        for Stamped { now, bytes } in all {
            let Ok(Message::Signaling(message)) = decode(&bytes) else { continue };
            // Stamps of another domain are of another clock.
            if message.header.domain_number != self.found.domain_number {
                continue;
            }
            for tlv in message.tlvs().map_while(Result::ok) {
                match tlv {
                    SignalingTlv::SyncTiming { source, records } => {
                        for record in records.map_while(Result::ok) {
                            self.stamps.received(source, &record);
                        }
                    }
                    SignalingTlv::DelayTiming { source, records } => {
                        for record in records.map_while(Result::ok) {
                            self.stamps.sent(source, &record);
                        }
                    }
                    SignalingTlv::Unknown { .. } => {}
                }
            }
            self.conclude_stamps(&now);
        }
        if let (1.., Some(follower)) = (dropped, &mut self.follower) {
            follower.could_miss("time stamps that came in while this program was stopped or had no CPU".to_owned());
        }
    }

    /// What the stamps that came in show now.
    fn conclude_stamps(&mut self, now: &Now) {
        if self.seen.timestamping.is_none() || self.follower().is_none() {
            return;
        }
        let concluded = self.stamps.conclude(now);
        let Some(follower) = self.follower.as_mut() else { return };
        let at = concluded.at;
        if concluded.is_blind {
            follower.state(at, SyncState::Lost, "its hardware clock cannot be read any more");
        }
        if let Some(step_ns) = concluded.step_ns {
            follower.step(at, step_ns);
        }
        if let Some(other) = concluded.other_parent {
            follower.reference(at, &other);
        }
        for exchange in &concluded.exchanges {
            self.seen.has_stamps = true;
            let shown = Shown {
                offset_ns: exchange.offset_ns,
                delay_ns: Some(exchange.delay_ns),
                frequency_ppb: concluded.frequency_ppb,
            };
            if let Some(steering) = concluded.steering {
                follower.steered(steering);
            }
            follower.offset(at, shown, concluded.bound);
            self.last = Some((exchange.offset_ns, concluded.bound));
        }
        if let (true, Some(bound)) = (concluded.exchanges.is_empty(), concluded.bound) {
            follower.bound(at, bound);
            self.last = self.last.map(|(offset_ns, _)| (offset_ns, Some(bound)));
        }
    }
}

/// An identity of our own: a daemon answers to it, and no clock has it (the middle of an EUI-64 made from an address is `fffe`).
fn asker() -> PortIdentity {
    let [a, b, c, d] = std::process::id().to_be_bytes();
    PortIdentity { clock: ClockIdentity([b'p', b'u', b'n', 0, a, b, c, d]), port: 1 }
}

impl Seen {
    /// What its clock is compared with.
    fn reference(&self) -> String {
        match (self.gm, self.parent, self.own) {
            (Some(gm), _, Some(own)) if gm == own => "itself: this clock is the grand master".to_owned(),
            // Stamps reach to the next clock alone.
            (Some(gm), Some(parent), _) if parent.clock != gm => {
                format!("boundary clock {} (grand master {gm}, {} steps away)", parent.clock, self.steps_removed)
            }
            (Some(gm), ..) => format!("grand master {gm}"),
            _ => String::new(),
        }
    }

    /// The state of the clock, from those of its ports.
    fn state(&self, had_offsets: bool) -> (SyncState, String) {
        let any = |wanted: PortState| self.ports.iter().any(|(_, state)| *state == wanted);
        let words = || {
            let all: Vec<String> =
                self.ports.iter().map(|(port, state)| format!("port {} {state}", port.port)).collect();
            all.join(", ")
        };
        let gives_time = |state: PortState| matches!(state, PortState::Master | PortState::GrandMaster);
        let state = if any(PortState::Slave) {
            SyncState::Locked
        } else if any(PortState::Uncalibrated) {
            SyncState::Starting
        } else if !self.ports.is_empty() && self.ports.iter().any(|(_, state)| gives_time(*state)) {
            SyncState::Reference
        } else if had_offsets {
            SyncState::Lost
        } else {
            SyncState::Starting
        };
        (state, words())
    }
}

impl Source for Ptp {
    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let own = self.own.iter().map(NamedSocket::descriptor);
        own.chain(self.events.iter().map(Receiver::descriptor)).collect()
    }

    fn take(&mut self) {
        self.take_events();
        let now = clocks::now();
        let mut buffer = [0; 2_048];
        for _ in 0..MOST_AT_ONCE {
            let Some(datagram) = self.own.as_ref().and_then(|own| own.receive(&mut buffer)) else { break };
            let Ok(Message::Management(message)) = decode(datagram) else { continue };
            if message.header.domain_number != self.found.domain_number {
                continue;
            }
            self.answered_ns = now.realtime.raw_ns;
            self.asked_ns = None;
            for tlv in message.tlvs().map_while(Result::ok) {
                self.take_tlv(now.moment, &tlv);
            }
        }
        self.conclude_stamps(&now);
    }

    fn look(&mut self, now: &Now) {
        let raw_ns = now.realtime.raw_ns;
        // Where this program did not run for a while, answers wait to be read: that is no silence.
        if raw_ns - self.looked_ns > STILL_NS {
            self.asked_ns = None;
        }
        self.looked_ns = raw_ns;
        if self.answered_ns != 0 && self.asked_ns.is_some_and(|asked_ns| raw_ns - asked_ns > GONE_NS) {
            self.socket = None;
            if let Some(follower) = &mut self.follower {
                follower.state(now.moment, SyncState::Lost, "ptp4l does not answer");
            }
        }
        if self.looks % ALL_EVERY == 0 {
            self.ask(&SLOW);
        }
        self.ask(&CHANGING);
        self.looks = self.looks.wrapping_add(1);
        self.asked_ns.get_or_insert(raw_ns);
        // The socket that answers questions alone refuses PORT_PROPERTIES_NP (seen with 4.2).
        if self.seen.timestamping.is_none() && self.answered_ns != 0 && self.looks > 2 * ALL_EVERY {
            if let Some((interface, is_software)) = self.found.port.clone() {
                self.seen.interface = interface;
                self.seen.timestamping =
                    Some(if is_software { Timestamping::Software } else { Timestamping::Hardware });
            }
        }
        self.conclude_stamps(now);
    }

    fn live(&self) -> LiveSource {
        LiveSource {
            name: format!("ptp4l {}", self.seen.interface),
            state: self.follower.as_ref().and_then(Follower::current_state),
            offset_ns: self.last.map(|(offset_ns, _)| offset_ns),
            bound: self.last.and_then(|(_, bound)| bound),
        }
    }

    fn hand_on(&mut self, at: Moment) -> Vec<(&'static str, Interval)> {
        self.follower.as_mut().map_or_else(Vec::new, |follower| follower.hand_on(at))
    }

    fn so_far(&self, part: Part) -> Result<Followed, String> {
        match &self.follower {
            Some(follower) => Ok(follower.so_far(part)),
            None if self.answered_ns != 0 => {
                Err(format!("ptp4l answers, but not which clock its interface '{}' has", self.seen.interface))
            }
            None => {
                let why = self.refusal.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
                let pid = self.found.pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
                Err(format!("ptp4l{pid} does not answer in domain {}{why}", self.found.domain_number))
            }
        }
    }
}
