//! A connection between two programs that trust each other: messages both ways, and a partner that is gone is noticed.

use std::fmt;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use farm::Hello;
use farm::frame::{self, Frame, FrameError, MOST_AFTER_TRUST};
use kernel::wait::Readable;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::Settings;
use crate::address;
use crate::tls;
use crate::wire::{CloseReason, Wire, later};

/// The program at the other end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partner {
    /// How it introduced itself.
    pub hello: Hello,
    /// Its address and port.
    pub address: SocketAddr,
    /// The protocol version that both programs speak.
    pub version: u32,
}

impl fmt::Display for Partner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "punctual {} on {} ({})", self.hello.program, self.hello.host, address::text(self.address))
    }
}

/// Why a message cannot be sent or received. What came before can still be fetched with [`Channel::receive`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelError {
    /// The partner closed the channel in order.
    #[error("{partner} has ended the connection")]
    Closed {
        /// The other end.
        partner: Box<Partner>,
    },
    /// The connection broke off.
    #[error(
        "the connection to {partner} broke off ({reason}): that program was ended or killed, or its machine restarted; see what it printed"
    )]
    Lost {
        /// The other end.
        partner: Box<Partner>,
        /// How the socket ended.
        reason: String,
    },
    /// Nothing came for too long.
    #[error("nothing has come from {partner} for {} s: that program is stopped, its machine is down or overloaded, or the network between is interrupted", seconds(*silence))]
    Silent {
        /// The other end.
        partner: Box<Partner>,
        /// How long nothing came.
        silence: Duration,
    },
    /// The partner has not closed its end after this side did.
    #[error("{partner} has not ended its side of the connection within {} s: it may not have received the last messages", seconds(*after))]
    NotClosed {
        /// The other end.
        partner: Box<Partner>,
        /// How long it was waited for.
        after: Duration,
    },
    /// A message that cannot be written or read.
    #[error("{partner}: {error}")]
    Message {
        /// The other end.
        partner: Box<Partner>,
        /// What is wrong with the message.
        error: FrameError,
    },
    /// Received messages were not fetched.
    #[error("{partner} has sent {bytes} bytes that were not fetched, and at most {most} are kept")]
    Unfetched {
        /// The other end.
        partner: Box<Partner>,
        /// Bytes that wait.
        bytes: usize,
        /// The bound.
        most: usize,
    },
    /// The kernel refuses to wait for the socket.
    #[error("waiting for {partner} failed: {reason}")]
    Wait {
        /// The other end.
        partner: Box<Partner>,
        /// What the kernel says.
        reason: String,
    },
}

fn seconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64())
}

/// A connection between two programs that trust each other.
///
/// Use it from one thread. Heartbeats are sent while one of its methods runs: call one at least once a second
/// ([`Self::keep_alive`] where there is nothing to say), or the partner takes this program for stopped after four.
///
/// Dropping it breaks the connection off, which the partner reports as lost: end in order with [`Self::close`].
pub struct Channel {
    wire: Wire,
    partner: Partner,
    settings: Settings,
    silence: Option<Duration>,
}

impl Channel {
    pub(crate) fn new(mut wire: Wire, partner: Partner, settings: Settings) -> Self {
        wire.set_most(MOST_AFTER_TRUST);
        Self { wire, partner, settings, silence: None }
    }

    /// The program at the other end.
    #[must_use]
    pub const fn partner(&self) -> &Partner {
        &self.partner
    }

    /// The address by which this node reaches its partner, and the port of the connection.
    ///
    /// # Errors
    /// If the socket is broken.
    pub fn local_address(&self) -> Result<SocketAddr, ChannelError> {
        self.wire.socket().local_addr().map(address::canonical).map_err(|error| self.lost(error.to_string()))
    }

    /// The interface that has this node's address of the connection, which a policy may restrict jobs to; `None` if none has
    /// it any more.
    #[must_use]
    pub fn interface(&self) -> Option<String> {
        let local = address::canonical(self.wire.socket().local_addr().ok()?);
        let scope = if let SocketAddr::V6(local) = local { local.scope_id() } else { 0 };
        let mut all = kernel::interface::addresses().ok()?.into_iter();
        all.find(|one| one.address == local.ip() && one.scope == scope).map(|one| one.interface)
    }

    /// A key that both ends derive alike from their TLS session, and nobody else can; another one for each purpose. It
    /// serves for packets that do not travel through this channel.
    ///
    /// # Errors
    /// If the connection is broken.
    pub fn shared_key(&self, purpose: &str) -> Result<[u8; 32], ChannelError> {
        tls::shared_key(self.wire.tls(), purpose).map_err(|error| self.lost(error.to_string()))
    }

    /// Sends a message: returns when the kernel has taken all of it. What comes meanwhile is kept, so that two programs that
    /// both send much do not wait for each other.
    ///
    /// # Errors
    /// If the message is too long (64 MiB of JSON) or the partner is gone.
    pub fn send<T: Serialize + ?Sized>(&mut self, message: &T) -> Result<(), ChannelError> {
        let frame = frame::encode(message, MOST_AFTER_TRUST).map_err(|error| self.message_error(error))?;
        self.wire.queue(frame);
        self.drain(None).map(|_| ())
    }

    /// Sends a message that can wait: where the kernel has not taken all of what was sent before, it is not sent, and `false` is
    /// returned. It never waits.
    ///
    /// # Errors
    /// As [`Self::send`].
    pub fn offer<T: Serialize + ?Sized>(&mut self, message: &T) -> Result<bool, ChannelError> {
        self.turn();
        let failure = |channel: &Self| channel.wire.write_failure().map(|end| channel.describe(end));
        if let Some(failure) = self.failure().or_else(|| failure(self)) {
            return Err(failure);
        }
        if !self.wire.is_drained() {
            return Ok(false);
        }
        let frame = frame::encode(message, MOST_AFTER_TRUST).map_err(|error| self.message_error(error))?;
        self.wire.queue(frame);
        self.turn();
        Ok(true)
    }

    /// The next message, waiting for it no longer than `within`. `None` if none came in time, or if a signal handler ran
    /// meanwhile, so that the caller can look at its flags.
    ///
    /// Every message that came is returned before an error is. A message of another type is an error, and the next call
    /// returns the one after it.
    ///
    /// # Errors
    /// If the partner has closed the channel, is gone or silent, or sent something that is not of the type
    pub fn receive<T: DeserializeOwned>(&mut self, within: Duration) -> Result<Option<T>, ChannelError> {
        let until = later(Instant::now(), within);
        loop {
            self.turn();
            while let Some(frame) = self.wire.next_frame() {
                if let Frame::Content(content) = frame {
                    return frame::decode(&content).map(Some).map_err(|error| self.message_error(error));
                }
            }
            if let Some(failure) = self.failure() {
                return Err(failure);
            }
            if until <= Instant::now() || !self.wait(until.min(self.due()))? {
                return Ok(None);
            }
        }
    }

    /// Reads what came, sends what waits and a heartbeat when it is due, without waiting. What came is kept for
    /// [`Self::receive`].
    ///
    /// # Errors
    /// If the partner is gone or silent and nothing is left to fetch.
    pub fn keep_alive(&mut self) -> Result<(), ChannelError> {
        self.turn();
        if self.wire.has_frame() {
            return self.check_unfetched();
        }
        self.failure().map_or(Ok(()), Err)
    }

    /// Whether [`Self::receive`] has something without reading from the socket. Look at it before polling the descriptor,
    /// since what came with an earlier message makes no descriptor readable.
    #[must_use]
    pub fn has_received(&self) -> bool {
        self.wire.has_frame()
    }

    /// How long polling the descriptor may last before [`Self::keep_alive`] or another method has to run.
    #[must_use]
    pub fn next_due(&self) -> Duration {
        self.due().saturating_duration_since(Instant::now())
    }

    /// Ends the channel in order: sends what waits, says goodbye, and waits no longer than `within` until the partner has
    /// taken all of it. Messages that come meanwhile are dropped.
    ///
    /// # Errors
    /// If the partner is gone, or has not closed its end in time.
    pub fn close(mut self, within: Duration) -> Result<(), ChannelError> {
        let until = later(Instant::now(), within);
        let not_closed = |channel: &Self| ChannelError::NotClosed { partner: channel.boxed_partner(), after: within };
        self.wire.say_goodbye();
        match self.drain(Some(until)) {
            Ok(true) => {}
            // Both close at the same time.
            _ if self.wire.end() == Some(&CloseReason::Closed) => return Ok(()),
            Ok(false) => return Err(not_closed(&self)),
            Err(error) => return Err(error),
        }
        // The partner's kernel has all of it once the partner closes its end. It may have done so already.
        let _ = self.wire.socket().shutdown(Shutdown::Write);
        loop {
            self.wire.fill();
            while self.wire.next_frame().is_some() {}
            if self.wire.end().is_some() {
                return Ok(());
            }
            if until <= Instant::now() {
                return Err(not_closed(&self));
            }
            self.wait(until)?;
        }
    }

    /// Gives everything to the kernel; `false` if that is not done at `until`.
    fn drain(&mut self, until: Option<Instant>) -> Result<bool, ChannelError> {
        loop {
            self.turn();
            if let Some(failure) = self.failure().or_else(|| self.wire.write_failure().map(|end| self.describe(end))) {
                return Err(failure);
            }
            if self.wire.is_drained() {
                return Ok(true);
            }
            self.check_unfetched()?;
            if until.is_some_and(|until| until <= Instant::now()) {
                return Ok(false);
            }
            self.wait(until.map_or(self.due(), |until| until.min(self.due())))?;
        }
    }

    /// Reads, sends, and looks whether the partner is still there.
    fn turn(&mut self) {
        // A partner that sends faster than its messages are fetched waits.
        let reads = self.wire.unfetched_bytes() <= self.settings.unfetched_bytes || !self.wire.has_frame();
        if reads {
            self.wire.fill();
        }
        if self.wire.end() == Some(&CloseReason::Closed) {
            // The partner waits for it.
            self.wire.say_goodbye();
        } else if self.wire.is_drained() && self.wire.last_sent().elapsed() >= self.settings.heartbeat {
            self.wire.queue(frame::HEARTBEAT.to_vec());
        }
        self.wire.flush();
        // All that came was read before: silence is never this program's own absence.
        let silence = self.wire.last_heard().elapsed();
        if reads && silence >= self.settings.silence {
            self.silence.get_or_insert(silence);
        }
    }

    /// Waits until the socket is ready or `until`; `false` if a signal handler ran before.
    fn wait(&self, until: Instant) -> Result<bool, ChannelError> {
        let wait = until.saturating_duration_since(Instant::now());
        let wait_ns = i64::try_from(wait.as_nanos()).unwrap_or(i64::MAX);
        let mut ready = Readable::or_writable([(self.wire.as_fd(), self.wire.wants_write())]);
        ready
            .wait(wait_ns)
            .map_err(|error| ChannelError::Wait { partner: self.boxed_partner(), reason: error.to_string() })?;
        Ok(ready.ready().next().is_some() || Instant::now() >= until)
    }

    /// When a heartbeat or the partner's silence is due.
    fn due(&self) -> Instant {
        let silent = later(self.wire.last_heard(), self.settings.silence);
        let heartbeat = later(self.wire.last_sent(), self.settings.heartbeat);
        // While something waits to be sent, that is what shows this program to be alive.
        if self.wire.is_drained() && self.wire.can_send() { silent.min(heartbeat) } else { silent }
    }

    fn check_unfetched(&self) -> Result<(), ChannelError> {
        let (bytes, most) = (self.wire.unfetched_bytes(), self.settings.unfetched_bytes);
        if bytes <= most {
            return Ok(());
        }
        Err(ChannelError::Unfetched { partner: self.boxed_partner(), bytes, most })
    }

    /// Why nothing more will come.
    fn failure(&self) -> Option<ChannelError> {
        let silent = || self.silence.map(|silence| ChannelError::Silent { partner: self.boxed_partner(), silence });
        self.wire.end().map(|end| self.describe(end)).or_else(silent)
    }

    fn describe(&self, end: &CloseReason) -> ChannelError {
        match end {
            CloseReason::Closed => ChannelError::Closed { partner: self.boxed_partner() },
            CloseReason::Cut => self.lost("closed without a goodbye".to_owned()),
            CloseReason::Socket(_, reason) => self.lost(reason.clone()),
            CloseReason::Tls(error) => self.lost(format!("damaged data: {error}")),
            CloseReason::Frame(error) => self.message_error(error.clone()),
        }
    }

    fn lost(&self, reason: String) -> ChannelError {
        ChannelError::Lost { partner: self.boxed_partner(), reason }
    }

    fn message_error(&self, error: FrameError) -> ChannelError {
        ChannelError::Message { partner: self.boxed_partner(), error }
    }

    fn boxed_partner(&self) -> Box<Partner> {
        Box::new(self.partner.clone())
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("partner", &self.partner).finish_non_exhaustive()
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wire.as_fd()
    }
}

impl AsRawFd for Channel {
    fn as_raw_fd(&self) -> RawFd {
        self.wire.as_fd().as_raw_fd()
    }
}
