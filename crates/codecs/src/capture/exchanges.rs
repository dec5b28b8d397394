//! Puts captured messages together to exchanges, and follows each pair of clocks.

use core::net::SocketAddr;
use std::collections::VecDeque;

use record::{Moment, SyncChange};
use units::{Timestamp, format};

use super::counts::Counts;
use super::file::Frame;
use super::frame::{Carried, carried};
use super::ntp::{self, NtpSide};
use super::pair::{Key, Network, Source};
use super::ptp::{self, PtpBody, PtpMessage};
use super::waiting::{MOST_WAITING, Matched, State, Waiting, asked, matched, push};
use crate::linuxptp::{ClockIdentity, PortIdentity, TimeInterval};
use crate::stated;
use sync::facts::Statement;
use sync::follow::Followed;

/// More masters, or pairs of clocks, are not followed: they are counted.
const MOST_SOURCES: usize = 64;
/// A Sync that is older says too little of the offset when an answer comes (ns).
const MOST_SYNC_AGE_NS: i64 = 10_000_000_000;
/// A capture whose stamps go back by more was made by a clock that was set; less is the disorder of several queues (ns).
const MOST_DISORDER_NS: i64 = 100_000_000;

/// Times of Syncs of one master that are remembered, so that their copies are known.
const MOST_REMEMBERED: usize = 64;

/// A Sync with its time.
#[derive(Clone, Copy, Debug)]
struct Synced {
    number: u64,
    at_ns: i64,
    t1_ns: i64,
    t2_ns: i64,
    latest_t2_ns: i64,
    held_ns: i64,
    is_directed: bool,
}

/// A port that sends Sync.
#[derive(Debug)]
struct Master {
    network: Network,
    port: PortIdentity,
    grandmaster: Option<(ClockIdentity, u16)>,
    /// By how many seconds its time is ahead of UTC; known from its Announce.
    scale_s: Option<i64>,
    /// What its last Announce states of its time.
    stated: Vec<Statement>,
    two_step: VecDeque<Waiting<u16>>,
    last: Option<Synced>,
    syncs: u64,
    /// Numbers and times of the last Syncs: they name a transmission, of which copies say nothing new.
    known: VecDeque<(u16, i64)>,
}

/// Follows the exchanges of a capture.
#[derive(Debug)]
pub struct Exchanges {
    max_drift_ppb: u32,
    started: Option<i64>,
    last_ns: i64,
    /// By how much the capture's stamps went back in all.
    shift_ns: i64,
    masters: Vec<Master>,
    sources: Vec<Source>,
    requests: VecDeque<Waiting<(Network, PortIdentity, u16)>>,
    questions: VecDeque<Waiting<(SocketAddr, SocketAddr, u64)>>,
    /// The master that each requester followed last.
    parents: Vec<((Network, PortIdentity), PortIdentity)>,
    counts: Counts,
}

/// What a capture showed.
#[derive(Debug)]
pub struct Captured {
    /// When its first and its last frame were captured; `None` if it has none with a time.
    pub span: Option<(Moment, Moment)>,
    /// Each pair of clocks.
    pub followed: Vec<Followed>,
    /// Bounds that excluded each other: of which pair, and when first.
    pub contradictions: Vec<(String, Moment)>,
    /// Exchanges that gave an offset.
    pub offsets: u64,
    /// What of the capture gave nothing and why, as sentences.
    pub notes: Vec<String>,
}

fn nanoseconds(stamp: crate::linuxptp::Timestamp) -> Option<i64> {
    i64::try_from(stamp.as_ns()).ok()
}

impl Exchanges {
    /// Follows a capture whose clock, uncorrected, differs from its references' rate by at most `max_drift_ppb`.
    #[must_use]
    pub fn new(max_drift_ppb: u32) -> Self {
        Self {
            max_drift_ppb,
            started: None,
            last_ns: 0,
            shift_ns: 0,
            masters: Vec::new(),
            sources: Vec::new(),
            requests: VecDeque::new(),
            questions: VecDeque::new(),
            parents: Vec::new(),
            counts: Counts::default(),
        }
    }

    /// The moment of a stamp; time that goes back is held, since nothing is known of what was between.
    fn moment(&self, at_ns: i64) -> Moment {
        let elapsed_ns = at_ns.saturating_add(self.shift_ns).saturating_sub(self.started.unwrap_or(at_ns));
        Moment { monotonic: Timestamp::from_ns(elapsed_ns.max(0)), realtime: Timestamp::from_ns(at_ns) }
    }

    /// Takes the next frame.
    pub fn take(&mut self, frame: &Frame<'_>) {
        self.counts.frames += 1;
        let (carried, is_outgoing) = carried(frame);
        match carried {
            Carried::Other => {}
            Carried::Cut => self.counts.cut += 1,
            Carried::UnknownLink => self.counts.unknown_link += 1,
            Carried::Ptp(_) | Carried::Ntp { .. } => {
                let Some(at_ns) = frame.at_ns else {
                    self.counts.untimed += 1;
                    return;
                };
                self.counts.messages += 1;
                self.advance(at_ns);
                match carried {
                    Carried::Ptp(bytes) => match ptp::decode(bytes) {
                        Ok(Some(message)) => self.ptp(at_ns, frame.resolution_ns, is_outgoing, &message),
                        Ok(None) => {}
                        Err(_) if frame.is_cut => self.counts.cut += 1,
                        Err(_) => self.counts.unreadable += 1,
                    },
                    Carried::Ntp { from, to, message } => {
                        self.ntp(at_ns, frame.resolution_ns, is_outgoing, (from, to), message);
                    }
                    _ => {}
                }
                return;
            }
        }
        if let Some(at_ns) = frame.at_ns {
            self.advance(at_ns);
        }
    }

    /// Notices a clock that was set back by its stamps alone.
    fn advance(&mut self, at_ns: i64) {
        if self.started.is_none() {
            (self.started, self.last_ns) = (Some(at_ns), at_ns);
        }
        let back_ns = self.last_ns.saturating_sub(at_ns);
        if back_ns > MOST_DISORDER_NS {
            self.shift_ns = self.shift_ns.saturating_add(back_ns);
            let at = self.moment(at_ns);
            for source in &mut self.sources {
                source.flush(false);
                source.bounds.forget();
                source.follower.step(at, back_ns.saturating_neg());
            }
            self.requests.clear();
            self.questions.clear();
            for master in &mut self.masters {
                master.two_step.clear();
                master.last = None;
            }
            self.last_ns = at_ns;
        }
        self.last_ns = self.last_ns.max(at_ns);
    }

    fn ptp(&mut self, at_ns: i64, resolution_ns: i64, is_outgoing: Option<bool>, message: &PtpMessage) {
        let network = Network { transport_specific: message.transport_specific, domain: message.domain };
        match message.body {
            PtpBody::PeerDelay => self.counts.peer_delay += 1,
            PtpBody::DelayReq => match is_outgoing {
                // Another machine's: this one received it, at a time that says nothing of when it was sent.
                Some(false) => self.counts.from_others += 1,
                _ => {
                    let request = Waiting {
                        key: (network, message.source, message.sequence),
                        at_ns,
                        stamp_ns: at_ns,
                        latest_ns: at_ns,
                        correction: message.correction,
                        is_directed: is_outgoing == Some(true),
                        state: State::Open,
                    };
                    self.counts.copies += u64::from(asked(&mut self.requests, request));
                }
            },
            _ if is_outgoing == Some(true) => self.counts.sent_as_master += 1,
            PtpBody::DelayResp { received, requester } => {
                let key = (network, requester, message.sequence);
                let request = match matched(&mut self.requests, key, at_ns) {
                    Matched::Answer(request) => request,
                    Matched::Copy => return self.counts.copies += 1,
                    Matched::None => return self.counts.unmatched += 1,
                };
                let Some(t4_ns) = nanoseconds(received) else {
                    self.counts.unreadable += 1;
                    return;
                };
                self.answered(network, message.source, &request, t4_ns, message.correction);
            }
            PtpBody::Sync { .. } | PtpBody::FollowUp(_) | PtpBody::Announce(_) => {
                let at = self.moment(at_ns);
                let Some(master) = self.master(network, message.source) else {
                    self.counts.too_many += 1;
                    return;
                };
                match message.body {
                    PtpBody::Sync { origin, is_two_step } => {
                        let sync = Waiting {
                            key: message.sequence,
                            at_ns,
                            stamp_ns: at_ns.saturating_add(resolution_ns),
                            latest_ns: at_ns.saturating_add(resolution_ns),
                            correction: message.correction,
                            is_directed: is_outgoing == Some(false),
                            state: State::Open,
                        };
                        if is_two_step {
                            self.counts.copies += u64::from(master.received(sync));
                        } else if let Some(t1_ns) = nanoseconds(origin) {
                            self.counts.copies += u64::from(!master.synced(&sync, t1_ns, TimeInterval::default()));
                        }
                    }
                    PtpBody::FollowUp(origin) => match matched(&mut master.two_step, message.sequence, at_ns) {
                        Matched::Answer(sync) => match nanoseconds(origin) {
                            Some(t1_ns) => {
                                self.counts.copies += u64::from(!master.synced(&sync, t1_ns, message.correction));
                            }
                            None => self.counts.unreadable += 1,
                        },
                        Matched::Copy => self.counts.copies += 1,
                        Matched::None => self.counts.unmatched += 1,
                    },
                    PtpBody::Announce(announce) => {
                        master.grandmaster = Some((announce.grandmaster, announce.steps_removed));
                        let scale_s =
                            if announce.time.ptp_timescale { i64::from(announce.time.current_utc_offset_s) } else { 0 };
                        if master.scale_s.replace(scale_s).is_some_and(|before| before != scale_s) {
                            master.last = None;
                            master.two_step.clear();
                        }
                        master.stated = stated::of_announce(&announce);
                        let stated = master.stated.clone();
                        self.stated(network, message.source, at, &stated);
                    }
                    _ => {}
                }
            }
        }
    }

    fn master(&mut self, network: Network, port: PortIdentity) -> Option<&mut Master> {
        let place = self.masters.iter().position(|master| master.network == network && master.port == port);
        let place = match place {
            Some(place) => place,
            None if self.masters.len() == MOST_SOURCES => return None,
            None => {
                self.masters.push(Master {
                    network,
                    port,
                    grandmaster: None,
                    scale_s: None,
                    stated: Vec::new(),
                    two_step: VecDeque::new(),
                    last: None,
                    syncs: 0,
                    known: VecDeque::new(),
                });
                self.masters.len() - 1
            }
        };
        self.masters.get_mut(place)
    }

    /// What a master states of its time from now on. Where that is another time, nothing that was known still holds.
    fn stated(&mut self, network: Network, port: PortIdentity, at: Moment, statements: &[Statement]) {
        for source in &mut self.sources {
            if matches!(source.key, Key::Ptp { network: of, master, .. } if of == network && master == port) {
                source.states(at, statements);
            }
        }
    }

    /// A request to a master and its answer.
    fn answered(
        &mut self,
        network: Network,
        port: PortIdentity,
        request: &Waiting<(Network, PortIdentity, u16)>,
        t4_ns: i64,
        correction: TimeInterval,
    ) {
        let Some(master) = self.masters.iter().find(|master| master.network == network && master.port == port) else {
            self.counts.unmatched += 1;
            return;
        };
        let Some(scale_ns) = master.scale_s.map(|scale_s| scale_s.saturating_mul(1_000_000_000)) else {
            self.counts.before_announce += 1;
            return;
        };
        let age_ns = |sync: &Synced| request.at_ns.saturating_sub(sync.at_ns).saturating_abs();
        let Some(sync) = master.last.filter(|sync| age_ns(sync) <= MOST_SYNC_AGE_NS) else {
            self.counts.unmatched += 1;
            return;
        };
        let is_directed = request.is_directed && sync.is_directed;
        let (_, requester, _) = request.key;
        let key = Key::Ptp { network, master: port, requester: (!request.is_directed).then_some(requester) };
        let (grandmaster, stated) = (master.grandmaster, master.stated.clone());
        let t4_ns = t4_ns.saturating_sub(scale_ns);
        let t1_ns = sync.t1_ns.saturating_sub(scale_ns);
        let held_ns = correction.floor_ns();
        let forward_ns = sync.t2_ns.saturating_sub(t1_ns).saturating_sub(sync.held_ns);
        let backward_ns = t4_ns.saturating_sub(request.stamp_ns).saturating_sub(held_ns);
        // What relays add is left in, so that the bound does not rest on them; what is taken away is left out.
        let upper_ns = sync.latest_t2_ns.saturating_sub(t1_ns.saturating_add(sync.held_ns.min(0)));
        let lower_ns = request.stamp_ns.saturating_sub(t4_ns.saturating_sub(held_ns.min(0)));
        let before = self.parent(network, requester, port);
        let at = self.moment(request.at_ns.max(sync.at_ns));
        let Some(source) = self.source(key, is_directed, at) else { return };
        if source.last_sync == sync.number {
            self.counts.unmatched += 1;
            return;
        }
        source.last_sync = sync.number;
        if let Some(before) = before {
            source.flush(false);
            source.bounds.forget();
            source.follower.cut(at);
            source.follower.event(at, SyncChange::Reference, format!("master {before} to master {port}"));
        }
        if let Some((grandmaster, steps)) = grandmaster {
            let words = if grandmaster == port.clock {
                format!("grand master {grandmaster}")
            } else {
                format!("boundary clock {} (grand master {grandmaster}, {steps} steps away)", port.clock)
            };
            source.reference((grandmaster, steps), at, &words);
        }
        source.states(at, &stated);
        source.exchanged(
            at,
            request.at_ns.max(sync.at_ns),
            (forward_ns, backward_ns),
            (upper_ns, sync.at_ns),
            (lower_ns, request.at_ns),
        );
    }

    /// Notes whom a requester follows now; whom it followed before, if that was another one.
    fn parent(&mut self, network: Network, requester: PortIdentity, now: PortIdentity) -> Option<PortIdentity> {
        let key = (network, requester);
        match self.parents.iter_mut().find(|(of, _)| *of == key) {
            Some((_, held)) => Some(std::mem::replace(held, now)).filter(|before| *before != now),
            None => {
                if self.parents.len() < MOST_WAITING {
                    self.parents.push((key, now));
                }
                None
            }
        }
    }

    fn source(&mut self, key: Key, is_directed: bool, at: Moment) -> Option<&mut Source> {
        let place = match self.sources.iter().position(|source| source.key == key && source.is_directed == is_directed)
        {
            Some(place) => place,
            None if self.sources.len() == MOST_SOURCES => {
                self.counts.too_many += 1;
                return None;
            }
            None => {
                let started = self.started.map_or(at, |started| Moment {
                    monotonic: Timestamp::from_ns(0),
                    realtime: Timestamp::from_ns(started),
                });
                self.sources.push(Source::begin(key, is_directed, self.max_drift_ppb, started));
                self.sources.len() - 1
            }
        };
        self.sources.get_mut(place)
    }

    fn ntp(
        &mut self,
        at_ns: i64,
        resolution_ns: i64,
        is_outgoing: Option<bool>,
        (from, to): (SocketAddr, SocketAddr),
        bytes: &[u8],
    ) {
        let Some(message) = ntp::decode(bytes) else {
            self.counts.unreadable += 1;
            return;
        };
        match (message.side, is_outgoing) {
            (NtpSide::Client, Some(false)) => self.counts.from_others += 1,
            (NtpSide::Server, Some(true)) => self.counts.sent_as_master += 1,
            (NtpSide::Client, _) => {
                let question = Waiting {
                    key: (from, to, message.transmit),
                    at_ns,
                    stamp_ns: at_ns,
                    latest_ns: at_ns,
                    correction: TimeInterval::default(),
                    is_directed: is_outgoing == Some(true),
                    state: State::Open,
                };
                self.counts.copies += u64::from(asked(&mut self.questions, question));
            }
            (NtpSide::Server, _) => {
                let key = (to, from, message.origin);
                let question = match matched(&mut self.questions, key, at_ns) {
                    Matched::Answer(question) => question,
                    Matched::Copy => return self.counts.copies += 1,
                    Matched::None => return self.counts.unmatched += 1,
                };
                if !message.is_synchronized {
                    self.counts.unsynchronized += 1;
                    return;
                }
                let stamp = |stamp| ntp::stamp_ns(stamp, at_ns);
                let Some((t2_ns, t3_ns)) = stamp(message.receive).zip(stamp(message.transmit)) else {
                    self.counts.unreadable += 1;
                    return;
                };
                if t3_ns < t2_ns {
                    // In interleaved mode a server says when its answer before this one was sent.
                    self.counts.unmatched += 1;
                    return;
                }
                let is_directed = question.is_directed && is_outgoing == Some(false);
                let at = self.moment(at_ns);
                let key = Key::Ntp { server: from.ip(), client: to.ip() };
                let Some(source) = self.source(key, is_directed, at) else { return };
                source.follower.reference(at, &format!("server {}", from.ip()));
                source.states(at, &stated::of_ntp(&message));
                let wrong_ns = message.precision_ns();
                // The server's stamps are rounded down, and the capture's too.
                let upper_ns = at_ns.saturating_add(resolution_ns).saturating_sub(t3_ns).saturating_add(wrong_ns);
                let lower_ns = question.stamp_ns.saturating_sub(t2_ns).saturating_sub(wrong_ns + 1);
                let (forward_ns, backward_ns) = (at_ns.saturating_sub(t3_ns), t2_ns.saturating_sub(question.stamp_ns));
                source.exchanged(at, at_ns, (forward_ns, backward_ns), (upper_ns, at_ns), (lower_ns, question.at_ns));
            }
        }
    }

    /// Ends with the capture.
    #[must_use]
    pub fn finish(mut self) -> Captured {
        let end = self.moment(self.last_ns);
        let span = self
            .started
            .map(|started| (Moment { monotonic: Timestamp::from_ns(0), realtime: Timestamp::from_ns(started) }, end));
        let mut captured =
            Captured { span, followed: Vec::new(), contradictions: Vec::new(), offsets: 0, notes: self.counts.notes() };
        for mut source in std::mem::take(&mut self.sources) {
            source.flush(false);
            if let (false, Key::Ptp { master, requester, .. }) = (source.is_directed, source.key) {
                // Wherever else it is captured, a Sync comes later than it was sent, or a request earlier than it arrived.
                if source.is_at_master() {
                    captured.notes.push(format!(
                        "{} exchanges of master {master} with {}: their round trips are not above 0, as in a capture that was made at \
                         the master itself; they show nothing of another clock",
                        format::count(source.exchanges),
                        requester.map_or_else(|| "this machine".to_owned(), |requester| requester.to_string()),
                    ));
                    continue;
                }
            }
            captured.offsets += source.exchanges;
            let contradiction = source.contradiction();
            let followed = source.follower.finish(end);
            if let Some((at, place)) = contradiction.zip(followed.place()) {
                captured.contradictions.push((place.to_string(), at));
            }
            captured.followed.push(followed);
        }
        captured
    }
}

impl Master {
    /// Puts a Sync to those whose Follow_Up has not come; whether it is a copy.
    fn received(&mut self, sync: Waiting<u16>) -> bool {
        if let Some(present) = self.two_step.iter_mut().rev().find(|one| one.key == sync.key && one.is_near(sync.at_ns))
        {
            // The time that follows may be of either: not after the later one came.
            present.latest_ns = present.latest_ns.max(sync.latest_ns);
            return true;
        }
        push(&mut self.two_step, MOST_REMEMBERED, sync);
        false
    }

    /// Takes a Sync with its time; not if it is a copy.
    fn synced(&mut self, sync: &Waiting<u16>, t1_ns: i64, more: TimeInterval) -> bool {
        if self.known.contains(&(sync.key, t1_ns)) {
            return false;
        }
        push(&mut self.known, MOST_REMEMBERED, (sync.key, t1_ns));
        self.syncs += 1;
        let held = TimeInterval { scaled_ns: sync.correction.scaled_ns.saturating_add(more.scaled_ns) };
        self.last = Some(Synced {
            number: self.syncs,
            at_ns: sync.at_ns,
            t1_ns,
            t2_ns: sync.at_ns,
            latest_t2_ns: sync.latest_ns,
            held_ns: held.floor_ns(),
            is_directed: sync.is_directed,
        });
        true
    }
}

impl Exchanges {
    /// Frames and messages of PTP or NTP so far.
    #[must_use]
    pub const fn counted(&self) -> (u64, u64) {
        (self.counts.frames, self.counts.messages())
    }
}
