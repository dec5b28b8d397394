//! chronyd, over its command port: read only, and without rights from the same machine.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::BorrowedFd;
use std::time::Duration;

use ::sync::bound::OffsetBound;
use ::sync::follow::{About, Followed, Follower, Part, SeriesName, Shown};
use codecs::chrony::{Address, BOUND_TRUSTS, Reply, Request, SourceState, Tracking, UtcTime, decode};
use codecs::stated;
use record::{Interval, Moment, Place, SourceChoice, SyncChange, SyncService, SyncState};
use units::ClockId;

use super::live::LiveSource;
use super::source::{NotFollowed, Source};
use crate::clocks::Now;

/// Where chronyd answers unless it is told otherwise.
const COMMAND_PORT: &str = "127.0.0.1:323";
/// From one question about the clock to the next (ns).
const EVERY_NS: i64 = 1_000_000_000;
/// Questions about the clock for one about the sources.
const SOURCES_EVERY: u32 = 5;
/// chronyd answers within a millisecond; one that is stopped does not keep the other sources waiting.
const PATIENCE: Duration = Duration::from_millis(20);
/// Questions without an answer, one after the other, after which it has gone.
const GONE_AFTER: u32 = 2;
/// More sources than anybody has; a damaged answer is no reason to ask for ever.
const MOST_SOURCES: u32 = 64;
const NO_BOUND: &str = "chronyd is not synchronized, or serves this machine's own clock";

/// Follows one chronyd through a run.
pub(crate) struct Chrony {
    address: SocketAddr,
    socket: Option<UdpSocket>,
    sequence: u32,
    follower: Follower,
    has_answered: bool,
    /// Questions since its last answer.
    unanswered: u32,
    /// When it is asked next (ns of the uncorrected clock).
    next_ns: i64,
    asked: u32,
    updated: Option<UtcTime>,
    /// Whether the source that is followed has not answered eight times in a row.
    is_unreachable: bool,
    last: Option<(i64, Option<OffsetBound>)>,
    refusal: Option<String>,
    /// Whether something is at the address: it answers, with what is no answer, or is silent.
    is_there: bool,
}

/// Why an address of chronyd's command port cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("'{text}' is no address of chronyd's command port ({error}): write one such as {COMMAND_PORT} or [::1]:323")]
pub struct AddressError {
    text: String,
    error: std::net::AddrParseError,
}

impl Chrony {
    pub(crate) fn begin(address: Option<&str>, started: Moment, interval_ns: u64) -> Result<Self, AddressError> {
        let text = address.unwrap_or(COMMAND_PORT);
        let address = text.parse().map_err(|error| AddressError { text: text.to_owned(), error })?;
        let about = About {
            service: SyncService::Chrony,
            place: Place::Port { port: "chronyd".to_owned(), domain: None },
            clock: Some(ClockId::Realtime.into()),
            trusts: BOUND_TRUSTS.to_owned(),
            is_judged: true,
            without_bound: NO_BOUND.to_owned(),
        };
        let mut follower = Follower::new(about, started, interval_ns);
        follower.could_miss("changes between two questions, 1 s apart".to_owned());
        Ok(Self {
            address,
            socket: None,
            sequence: std::process::id(),
            follower,
            has_answered: false,
            unanswered: 0,
            next_ns: 0,
            asked: 0,
            updated: None,
            is_unreachable: false,
            last: None,
            refusal: None,
            is_there: false,
        })
    }

    /// One question and its answer.
    fn ask(&mut self, request: Request) -> Result<Reply, String> {
        let io = |error: io::Error| match error.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => "no answer".to_owned(),
            _ => error.to_string(),
        };
        if self.socket.is_none() {
            let own = if self.address.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" };
            let own = if self.address.ip().is_loopback() {
                own
            } else {
                if self.address.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }
            };
            let socket = UdpSocket::bind(own).map_err(io)?;
            socket.connect(self.address).map_err(io)?;
            socket.set_read_timeout(Some(PATIENCE)).map_err(io)?;
            self.socket = Some(socket);
        }
        let Some(socket) = &self.socket else { return Err("no socket".to_owned()) };
        self.sequence = self.sequence.wrapping_add(1);
        socket.send(request.encode(self.sequence, 0).as_bytes()).map_err(io)?;
        let mut buffer = [0; 1_024];
        // Late answers to earlier questions may stand before it.
        for _ in 0..8 {
            let received = socket.recv(&mut buffer);
            // Silence, too, is of somebody: where nobody has the port, the kernel refuses.
            self.is_there |= received.as_ref().map_or_else(|error| error.kind() == io::ErrorKind::WouldBlock, |_| true);
            let length = received.map_err(io)?;
            match decode(buffer.get(..length).unwrap_or(&[]), request, self.sequence) {
                Ok(reply) => return Ok(reply),
                // An answer that comes late is of one that runs.
                Err(codecs::chrony::DecodeError::OtherRequest { .. }) => self.unanswered = 0,
                Err(codecs::chrony::DecodeError::Foreign { .. }) => {}
                Err(error) => return Err(error.to_string()),
            }
        }
        Err("only answers to other questions".to_owned())
    }

    fn take_tracking(&mut self, now: &Now, tracking: &Tracking) {
        let at = now.moment;
        let state = match () {
            () if tracking.is_local_clock() => SyncState::Reference,
            () if !tracking.leap.is_synchronized() => {
                if self.last.is_some() {
                    SyncState::Lost
                } else {
                    SyncState::Starting
                }
            }
            () if self.is_unreachable => SyncState::Holdover,
            () => SyncState::Locked,
        };
        self.follower.state(at, state, if self.is_unreachable { "its source does not answer" } else { "" });
        if !tracking.leap.is_synchronized() {
            return;
        }
        if !tracking.is_local_clock() {
            self.take_reference(at, tracking);
        }
        self.follower.states(at, &stated::of_tracking(tracking));
        let server = (!tracking.is_local_clock()).then(|| match tracking.address {
            Address::Unspecified => letters(tracking.reference_id),
            address => address.to_string(),
        });
        self.follower.reference_id(server);
        let Some(correction_ns) = tracking.system_offset.nearest_ns() else { return };
        // It states what has to be added to the clock.
        let offset_ns = correction_ns.saturating_neg();
        let bound = bound_of(tracking, offset_ns);
        if self.updated == Some(tracking.reference_time) {
            if let Some(bound) = bound {
                self.follower.bound(at, bound);
            }
        } else {
            self.updated = Some(tracking.reference_time);
            let shown = Shown {
                offset_ns,
                delay_ns: tracking.root_delay.nearest_ns().map(|ns| ns / 2),
                // The correction is the negative of how fast the clock would run without it.
                frequency_ppb: Some(-tracking.frequency_ppm.value() * 1_000.0),
            };
            self.follower.offset(at, shown, bound);
        }
        self.last = Some((offset_ns, bound));
    }

    /// The same server in another stratum is no other reference.
    fn take_reference(&mut self, at: Moment, tracking: &Tracking) {
        let server = match tracking.address {
            Address::Unspecified => format!("reference clock {}", letters(tracking.reference_id)),
            address => format!("server {address}"),
        };
        let words = format!("{server} (stratum {})", tracking.stratum.saturating_sub(1));
        let held = self.follower.current_reference().unwrap_or_default().to_owned();
        if held.split(" (").next() == Some(server.as_str()) {
            self.follower.name_reference(&held, &words);
        }
        self.follower.reference(at, &words);
    }

    /// Whether the source that is followed still answers.
    fn look_at_sources(&mut self) {
        let Ok(Reply::SourceCount(count)) = self.ask(Request::SourceCount) else { return };
        for index in 0..count.min(MOST_SOURCES) {
            let Ok(Reply::SourceData(source)) = self.ask(Request::SourceData { index }) else { continue };
            if source.state == SourceState::Selected {
                self.is_unreachable = source.reachability == 0;
                return;
            }
        }
    }
}

/// The letters of a reference clock, which chronyd has as a number.
fn letters(id: u32) -> String {
    let text: String =
        id.to_be_bytes().iter().take_while(|byte| byte.is_ascii_graphic()).map(|byte| char::from(*byte)).collect();
    if text.is_empty() { format!("{id:08x}") } else { text }
}

/// The remaining correction, and on both sides of it what dispersion and delay allow.
fn bound_of(tracking: &Tracking, offset_ns: i64) -> Option<OffsetBound> {
    let whole_ns = i64::try_from(tracking.bound_ns()?).ok()?;
    let correction_ns = i64::try_from(tracking.system_offset.magnitude_upper_ns()?).ok()?;
    // One more, for the fraction by which the offset itself was rounded.
    let margin_ns = whole_ns.saturating_sub(correction_ns).saturating_add(1);
    Some(OffsetBound { lower_ns: offset_ns.saturating_sub(margin_ns), upper_ns: offset_ns.saturating_add(margin_ns) })
}

impl Source for Chrony {
    fn kind(&self) -> Option<SourceChoice> {
        Some(SourceChoice::Chrony)
    }

    fn descriptors(&self) -> Vec<BorrowedFd<'_>> {
        // It says nothing unasked, and each answer is waited for.
        Vec::new()
    }

    fn take(&mut self) {}

    fn look(&mut self, now: &Now) {
        let raw_ns = now.realtime.raw_ns;
        if raw_ns < self.next_ns {
            return;
        }
        self.next_ns = raw_ns.saturating_add(EVERY_NS);
        if self.has_answered && self.asked % SOURCES_EVERY == 0 {
            self.look_at_sources();
        }
        self.asked = self.asked.wrapping_add(1);
        match self.ask(Request::Tracking) {
            Ok(Reply::Tracking(tracking)) => {
                if self.has_answered && self.follower.current_state() == Some(SyncState::Lost) {
                    self.follower.event(now.moment, SyncChange::Source, "chronyd answers again".to_owned());
                }
                self.has_answered = true;
                self.unanswered = 0;
                // The clock may have moved while it was asked; the answer is of now.
                self.take_tracking(now, &tracking);
            }
            answer => {
                let why = answer.map_or_else(|error| error, |_| "an answer to another question".to_owned());
                self.unanswered = self.unanswered.saturating_add(1);
                if self.has_answered && self.unanswered >= GONE_AFTER {
                    self.follower.state(now.moment, SyncState::Lost, &format!("chronyd does not answer: {why}"));
                }
                self.refusal = Some(why);
                // A new socket, in case the old one is why.
                self.socket = None;
            }
        }
    }

    fn live(&self) -> LiveSource {
        LiveSource {
            name: "chronyd".to_owned(),
            state: self.follower.current_state(),
            offset_ns: self.last.map(|(offset_ns, _)| offset_ns),
            bound: self.last.and_then(|(_, bound)| bound),
        }
    }

    fn hand_on(&mut self, at: Moment) -> Vec<(SeriesName, Interval)> {
        self.follower.hand_on(at)
    }

    fn system_clock_was_set(&mut self, at: Moment) {
        self.follower.cut(at);
    }

    fn so_far(&self, part: Part) -> Result<Followed, NotFollowed> {
        if self.has_answered {
            Ok(self.follower.so_far(part))
        } else {
            let why = self.refusal.as_ref().map_or_else(String::new, |why| format!(" ({why})"));
            let words = format!("chronyd does not answer at {}{why}", self.address);
            Err(if self.is_there { NotFollowed::there(words) } else { NotFollowed::absent(words) })
        }
    }
}
