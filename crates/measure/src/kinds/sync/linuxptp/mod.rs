//! ptp4l of linuxptp, over its management socket, and the raw time stamps that it passes on.
//!
//! Only questions are asked; nothing is set. The last offset that it shows is repeated until the next message, so each is known by
//! the time at which its message came in, and counted once.

mod answers;
mod find;
mod last_answers;
mod pending;
mod receiver;
mod silence;
mod stamps;
mod strays;

use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use ::sync::bound::OffsetBound;
use ::sync::follow::{About, Followed, Follower, Part, SeriesName, Shown};
use codecs::linuxptp::{
    ClockIdentity, ManagementId, Message, PortIdentity, Request, Requester, SignalingTlv, Timestamping, decode,
};
use host::NamedSocket;
use kernel::refusal::{Refusal, explain};
use record::{Interval, Moment, Place, SourceChoice, SyncChange, SyncService, SyncState};
use units::{ClockId, ClockName};

pub(crate) use self::find::Found;
use self::last_answers::LastAnswers;
use self::pending::Pending;
pub use self::receiver::{RECEIVER_COMMAND, receive};
use self::receiver::{Receiver, Stamped};
use self::silence::Silence;
use self::stamps::Stamps;
use self::strays::Strays;
use super::live::LiveSource;
use super::source::{NotFollowed, Source};
use super::system_clock::Occasions;
use crate::clocks::{self, Now};

/// Looks for one at which everything is asked, and not only what can change at any moment.
const ALL_EVERY: u32 = 4;
const NO_EVENTS: &str = "ptp4l passes no raw time stamps on; give it a line such as 'slave_event_monitor /run/ptp4l-events' in \
                         the section [global] of its configuration, and start it again";
const MAY_ASK: &str = "or have ptp4l's uds_file_mode (4.0 and later) let this user ask";
/// Answers that are taken before the other sources have their turn, should somebody send them without end.
const MOST_AT_ONCE: usize = 256;
/// Answers that are taken from one look to the next: many times those to all questions. What is sent beyond that costs no CPU time,
/// and the kernel lets the sender wait.
const MOST_BETWEEN_LOOKS: usize = 1_024;
/// More ports than a clock has; forged answers do not fill the memory.
const MOST_PORTS: usize = 256;
const ONE_WAY: &str = "no raw time stamps of both directions came; with the peer-to-peer delay mechanism ptp4l passes on those of \
                       one direction alone";
/// Asked at every look: what can change at any moment.
const CHANGING: [ManagementId; 3] = [ManagementId::TimeStatus, ManagementId::PortDataSet, ManagementId::ParentDataSet];
/// The question that ends each look: its answer, after all others, confirms what was shown before it was asked.
const LAST: ManagementId = ManagementId::TimePropertiesDataSet;
/// Asked once a second.
const SLOW: [ManagementId; 2] = [ManagementId::CurrentDataSet, ManagementId::PortProperties];
/// What a question that is refused would have told.
const NO_SCALE: &str = "changes of the time scale: ptp4l does not say which one its grand master has";

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
    silence: Silence,
    follower: Option<Follower>,
    begun: (Moment, u64),
    seen: LastAnswers,
    stamps: Stamps,
    last: Option<(i64, Option<OffsetBound>)>,
    pending: Pending,
    refusal: Option<String>,
    /// Whether a socket is there that this user may not use.
    is_refused: bool,
    strays: Strays,
    /// Answers that may still be taken until the next look.
    allowance: usize,
    /// Whether it was found while the run went on.
    is_late: bool,
    occasions: Occasions,
}

/// Every ptp4l that runs here now.
pub(crate) fn running() -> Vec<Found> {
    find::running()
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
        let (own, refusal) = match NamedSocket::for_answers("sync") {
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
            silence: Silence::default(),
            follower: None,
            begun,
            seen: LastAnswers::default(),
            stamps: Stamps::new(max_drift_ppb),
            last: None,
            pending: Pending::default(),
            refusal,
            is_refused: false,
            strays: Strays::default(),
            allowance: MOST_BETWEEN_LOOKS,
            is_late: false,
            occasions: Occasions::begin(),
        }
    }

    /// One that was found while the run went on.
    pub(crate) fn begin_late(found: Found, max_drift_ppb: u32, begun: (Moment, u64)) -> Self {
        Self { is_late: true, ..Self::begin(found, max_drift_ppb, begun) }
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
            if *id == LAST {
                self.pending.asked(self.sequence);
            }
            for candidate in &candidates {
                match own.send_to(request.as_bytes(), candidate) {
                    Ok(()) => {
                        self.socket = Some(candidate.clone());
                        break;
                    }
                    Err(error) => {
                        let shown = candidate.display();
                        if error.kind() == io::ErrorKind::PermissionDenied {
                            let Refusal { why, remedy } = explain(candidate, &error);
                            self.refusal = Some(format!("{shown}: {why}: {remedy}, {MAY_ASK}"));
                            self.is_refused = true;
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
            if self.is_late {
                let process = self.found.pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
                follower.event(
                    clocks::now().moment,
                    SyncChange::Source,
                    format!("ptp4l{process} is followed from here on"),
                );
            }
            self.follower = Some(follower);
            let (at, statements) = (clocks::now().moment, self.seen.statements());
            if let Some(follower) = &mut self.follower {
                follower.states(at, &statements);
            }
        }
        self.follower.as_mut()
    }

    fn take_events(&mut self) {
        let Some(events) = &mut self.events else { return };
        let all = events.fetch();
        self.strays.dropped = events.dropped();
        for Stamped { now, bytes } in all {
            let message = match decode(&bytes) {
                Ok(Message::Signaling(message)) => message,
                Ok(_) => {
                    self.strays.foreign += 1;
                    continue;
                }
                Err(error) => {
                    self.strays.refused(&error);
                    continue;
                }
            };
            // Until it has said which clock it has, any of them can be another program's.
            let Some(own) = self.seen.own else { continue };
            if message.header.domain_number != self.found.domain_number || message.header.source.clock != own {
                self.strays.foreign += 1;
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
            self.pending.drop_all();
            if self.stamps.is_of_system_clock() {
                follower.set(at, self.occasions.step_words(step_ns));
            } else {
                follower.step(at, step_ns);
            }
        }
        if let Some(parent) = concluded.other_parent.filter(|parent| !self.seen.is_parent(*parent)) {
            self.pending.drop_all();
            follower.reference(at, &clock_words(parent));
        }
        for exchange in &concluded.exchanges {
            self.seen.has_stamps = true;
            let shown = Shown {
                offset_ns: exchange.offset_ns,
                delay_ns: Some(exchange.delay_ns),
                frequency_ppb: concluded.frequency_ppb,
            };
            self.pending.offset(at, shown, concluded.bound, concluded.steering);
            self.last = Some((exchange.offset_ns, concluded.bound));
        }
        if let (true, Some(bound)) = (concluded.exchanges.is_empty(), concluded.bound) {
            self.pending.bound(at, bound);
            self.last = self.last.map(|(offset_ns, _)| (offset_ns, Some(bound)));
        }
    }
}

/// A parent of which the stamps alone are known yet.
fn clock_words(parent: PortIdentity) -> String {
    format!("clock {}", parent.clock)
}

/// An identity of our own: a daemon answers to it, and no clock has it (the middle of an EUI-64 made from an address is `fffe`).
fn asker() -> PortIdentity {
    let [a, b, c, d] = std::process::id().to_be_bytes();
    PortIdentity { clock: ClockIdentity([b'p', b'u', b'n', 0, a, b, c, d]), port: 1 }
}

impl Source for Ptp {
    fn kind(&self) -> Option<SourceChoice> {
        Some(SourceChoice::Ptp)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        let own = self.own.iter().filter(|_| self.allowance > 0).map(NamedSocket::descriptor);
        own.chain(self.events.iter().map(Receiver::descriptor)).collect()
    }

    fn take(&mut self) {
        self.take_events();
        let now = clocks::now();
        let mut buffer = [0; 2_048];
        for _ in 0..MOST_AT_ONCE.min(self.allowance) {
            let Some(datagram) = self.own.as_ref().and_then(|own| own.receive(&mut buffer)) else { break };
            self.allowance -= 1;
            let message = match decode(datagram) {
                Ok(Message::Management(message)) if message.header.domain_number == self.found.domain_number => message,
                Ok(_) => {
                    self.strays.foreign += 1;
                    continue;
                }
                Err(error) => {
                    self.strays.refused(&error);
                    continue;
                }
            };
            self.answered_ns = now.realtime.raw_ns;
            self.silence.answered();
            for tlv in message.tlvs().map_while(Result::ok) {
                self.take_tlv(now.moment, &tlv);
            }
            let sequence = message.header.sequence_id;
            if self.pending.is_answer(sequence) {
                if let Some(follower) = &mut self.follower {
                    self.pending.confirm(sequence, follower);
                    if self.seen.time.is_none() {
                        follower.could_miss(NO_SCALE.to_owned());
                    }
                }
            }
        }
        self.conclude_stamps(&now);
    }

    fn look(&mut self, now: &Now) {
        self.strays.unread += u64::from(self.allowance == 0);
        self.allowance = MOST_BETWEEN_LOOKS;
        let raw_ns = now.realtime.raw_ns;
        if self.answered_ns != 0 && self.silence.is_long(raw_ns) {
            self.socket = None;
            if let Some(follower) = &mut self.follower {
                follower.state(now.moment, SyncState::Lost, "ptp4l does not answer");
            }
        }
        if self.looks % ALL_EVERY == 0 {
            self.ask(&SLOW);
        }
        self.ask(&CHANGING);
        self.ask(&[LAST]);
        self.looks = self.looks.wrapping_add(1);
        self.silence.asked(raw_ns);
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

    fn hand_on(&mut self, at: Moment) -> Vec<(SeriesName, Interval)> {
        self.follower.as_mut().map_or_else(Vec::new, |follower| follower.hand_on(at))
    }

    fn process(&self) -> Option<u32> {
        self.found.pid
    }

    fn meets(&mut self, found: &Found) -> bool {
        // Two that run can have sockets of one name, each in a file system of its own.
        if self.found.pid.is_some_and(|pid| Path::new("/proc").join(pid.to_string()).exists()) {
            return false;
        }
        let is_unanswered = self.answered_ns == 0;
        let is_same_socket = self.found.sockets.first() == found.sockets.first();
        let may_be_ours = is_same_socket || (is_unanswered && self.found.pid.is_none());
        if !may_be_ours {
            return false;
        }
        // The one that was looked for at the known places, or one that was started again.
        if is_unanswered {
            *self = Self::begin_late(found.clone(), self.stamps.max_drift_ppb(), self.begun);
        } else {
            self.found.pid = found.pid;
        }
        true
    }

    fn is_waiting(&self) -> bool {
        self.pending.is_waiting()
    }

    fn sees_system_clock(&self) -> bool {
        self.follower.is_some() && self.stamps.is_of_system_clock()
    }

    fn so_far(&self, part: Part) -> Result<Followed, NotFollowed> {
        match &self.follower {
            Some(follower) => {
                let mut follower = follower.clone();
                // A bound that has grown is no offset of another time.
                self.pending.clone().release_bounds(&mut follower);
                let mut followed = follower.so_far(part);
                for part in &mut followed.parts {
                    part.source.could_be_missed.extend(self.strays.words());
                    part.source.could_be_missed.extend(self.pending.words());
                }
                Ok(followed)
            }
            None if self.answered_ns != 0 => Err(NotFollowed::there(format!(
                "ptp4l answers, but not which clock its interface '{}' has",
                self.seen.interface
            ))),
            None => {
                let why = self.refusal.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
                let pid = self.found.pid.map_or_else(String::new, |pid| format!(" (process {pid})"));
                let at = self.found.sockets.first().map_or_else(String::new, |socket| format!(" at {socket}"));
                let words = format!("ptp4l{pid} does not answer{at} in domain {}{why}", self.found.domain_number);
                // Without a process to be seen there is something only where the socket is there, and refuses.
                let is_there = self.found.pid.is_some() || self.is_refused;
                Err(if is_there { NotFollowed::there(words) } else { NotFollowed::absent(words) })
            }
        }
    }
}
