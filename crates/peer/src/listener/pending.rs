//! A connection that has not proved yet that it has the token.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use farm::frame::{self, Frame, MOST_BEFORE_TRUST};
use farm::{Answer, Knock, Refusal, Token, negotiate};
use rustls::{AlertDescription, Connection, ServerConfig, ServerConnection};

use super::TurnedAway;
use crate::channel::{Channel, Partner};
use crate::settings::Settings;
use crate::tls;
use crate::wire::{CloseReason, Wire, later};

/// After a refusal the other side has this long to read it and to close its end: a socket that is closed with unread data in
/// it sends a reset, which may overtake the refusal.
const LINGER: Duration = Duration::from_secs(1);

/// The counter of a reason.
pub(super) type Count = fn(&mut TurnedAway) -> &mut u64;

/// What came of a connection's turn.
pub(super) enum Outcome {
    /// It goes on.
    Waits,
    /// It has been refused, and goes on until the other side has read that.
    TurnedAway(Count),
    /// It is over.
    Over(Option<Count>),
    /// It has the token.
    Trusted,
}

pub(super) struct Pending {
    wire: Wire,
    address: SocketAddr,
    settings: Settings,
    until: Instant,
    has_shut_down: bool,
    stage: Stage,
}

enum Stage {
    /// Until the proof.
    Unknown,
    /// Reads its refusal.
    Refused,
    /// Has proved that it has the token.
    Trusted(Partner),
}

impl Pending {
    pub(super) fn new(
        socket: TcpStream,
        address: SocketAddr,
        tls: &Arc<ServerConfig>,
        settings: &Settings,
    ) -> io::Result<Self> {
        socket.set_nonblocking(true)?;
        socket.set_nodelay(true)?;
        let tls = ServerConnection::new(Arc::clone(tls)).map_err(io::Error::other)?;
        let wire = Wire::new(socket, Connection::Server(tls), MOST_BEFORE_TRUST);
        let until = later(Instant::now(), settings.handshake);
        Ok(Self { wire, address, settings: settings.clone(), until, has_shut_down: false, stage: Stage::Unknown })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn wants_write(&self) -> bool {
        self.wire.wants_write()
    }

    /// The channel of one that is trusted.
    pub(super) fn into_channel(self) -> Option<Channel> {
        match self.stage {
            Stage::Trusted(partner) => Some(Channel::new(self.wire, partner, self.settings)),
            Stage::Unknown | Stage::Refused => None,
        }
    }

    /// Does what can be done without waiting.
    pub(super) fn advance(&mut self, token: &Token, is_busy: bool, now: Instant) -> Outcome {
        self.wire.fill();
        let outcome = match self.stage {
            Stage::Unknown => self.look_at_knock(token, is_busy, now),
            Stage::Refused => self.linger(now),
            Stage::Trusted(_) => Outcome::Trusted,
        };
        self.wire.flush();
        outcome
    }

    fn look_at_knock(&mut self, token: &Token, is_busy: bool, now: Instant) -> Outcome {
        if let Some(frame) = self.wire.next_frame() {
            let knock = match &frame {
                Frame::Content(content) => frame::decode::<Knock>(content).ok(),
                // Nobody waits long enough for one; many would fill the memory.
                Frame::Heartbeat => None,
            };
            return match knock {
                Some(knock) => self.judge(knock, token, is_busy),
                None => Outcome::Over(Some(|count| &mut count.garbled)),
            };
        }
        match self.wire.end() {
            Some(CloseReason::Tls(rustls::Error::AlertReceived(alert))) if is_about_the_certificate(*alert) => {
                Outcome::Over(Some(|count| &mut count.other_token))
            }
            Some(CloseReason::Tls(_) | CloseReason::Frame(_)) => Outcome::Over(Some(|count| &mut count.garbled)),
            Some(_) => Outcome::Over(Some(|count| &mut count.left)),
            None if now >= self.until => Outcome::Over(Some(|count| &mut count.too_slow)),
            None => Outcome::Waits,
        }
    }

    fn judge(&mut self, knock: Knock, token: &Token, is_busy: bool) -> Outcome {
        if !tls::is_proved(self.wire.tls(), token.secret(), &knock.proof) {
            return self.refuse(Refusal::WrongSecret, |count| &mut count.wrong_secret);
        }
        let hello = self.settings.hello.clone();
        let Ok(version) = negotiate(&hello, &knock.hello) else {
            return self.refuse(Refusal::OtherVersion { hello }, |count| &mut count.other_version);
        };
        if is_busy {
            return self.refuse(Refusal::Busy, |count| &mut count.busy);
        }
        if !self.answer(&Answer::Welcome { hello, version }) {
            return Outcome::Over(Some(|count| &mut count.left));
        }
        self.stage = Stage::Trusted(Partner { hello: knock.hello, address: self.address, version });
        Outcome::Trusted
    }

    fn refuse(&mut self, refusal: Refusal, count: Count) -> Outcome {
        if !self.answer(&Answer::Refused { refusal }) {
            return Outcome::Over(Some(count));
        }
        self.wire.say_goodbye();
        self.stage = Stage::Refused;
        self.until = Instant::now() + LINGER;
        Outcome::TurnedAway(count)
    }

    /// Queues an answer; `false` if it has no form.
    fn answer(&mut self, answer: &Answer) -> bool {
        let frame = frame::encode(answer, MOST_BEFORE_TRUST);
        let is_encoded = frame.is_ok();
        self.wire.queue(frame.unwrap_or_default());
        is_encoded
    }

    fn linger(&mut self, now: Instant) -> Outcome {
        if self.wire.is_drained() && !self.has_shut_down {
            self.has_shut_down = true;
            // The other side may have gone, which ends it as well.
            let _ = self.wire.socket().shutdown(Shutdown::Write);
        }
        while self.wire.next_frame().is_some() {}
        if self.wire.end().is_some() || now >= self.until { Outcome::Over(None) } else { Outcome::Waits }
    }
}

/// What a partner's TLS says where it knows another certificate.
fn is_about_the_certificate(alert: AlertDescription) -> bool {
    matches!(
        alert,
        AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::UnknownCA
            | AlertDescription::AccessDenied
    )
}

impl AsFd for Pending {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.wire.as_fd()
    }
}
