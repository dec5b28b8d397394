//! The connecting side.

use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd as _;
use std::time::{Duration, Instant};

use farm::frame::{self, Frame, MOST_BEFORE_TRUST};
use farm::{Answer, Knock, Refusal, Token, VersionMismatch, negotiate};
use kernel::wait::Readable;
use rustls::{CertificateError, Connection};

use crate::address;
use crate::channel::{Channel, Partner};
use crate::resolve::{ResolveError, resolve};
use crate::settings::Settings;
use crate::tls;
use crate::wire::{CloseReason, Wire, later};

/// Why no connection stands. Each message states the remedy.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The host has no address.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Nothing listens on the port.
    #[error(
        "nothing listens on {address}: start 'punctual listen' on that node, and compare address and port with what it printed"
    )]
    Refused {
        /// Address and port.
        address: String,
    },
    /// No way to the address.
    #[error(
        "there is no way to {address} ({reason}): check that the machine is up, then cable, interfaces and addresses ('ip route get')"
    )]
    NoRoute {
        /// Address and port.
        address: String,
        /// What the kernel says.
        reason: String,
    },
    /// No answer on the level of TCP.
    #[error("{address} did not answer within {} s: the machine is down, or a firewall drops packets to that port", seconds(*after))]
    NoAnswer {
        /// Address and port.
        address: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// Connected, and no greeting came.
    #[error("{address} took the connection but did not answer within {} s: the program there is stopped or serves another partner, or is no punctual", seconds(*after))]
    NoGreeting {
        /// Address and port.
        address: String,
        /// How long it was waited for.
        after: Duration,
    },
    /// Another certificate than the token's.
    #[error(
        "{address} has another certificate than the token says: the token belongs to another run of 'punctual listen'; take the one that the running program printed"
    )]
    OtherCertificate {
        /// Address and port.
        address: String,
    },
    /// The certificate fits, the secret does not.
    #[error(
        "{address} refused the token's secret: the token was damaged; copy it anew from what 'punctual listen' printed"
    )]
    WrongSecret {
        /// Address and port.
        address: String,
    },
    /// It serves another partner.
    #[error(
        "{address} serves another partner: wait until that is done, or start a second 'punctual listen' on another port"
    )]
    Busy {
        /// Address and port.
        address: String,
    },
    /// No protocol version in common.
    #[error("{address}: {mismatch}")]
    Version {
        /// Address and port.
        address: String,
        /// Both ranges, and who needs a newer program.
        mismatch: Box<VersionMismatch>,
    },
    /// Something else answers there.
    #[error(
        "what answers on {address} is no 'punctual listen' ({reason}): compare address and port with what that printed"
    )]
    NotPunctual {
        /// Address and port.
        address: String,
        /// What gave it away.
        reason: String,
    },
    /// The connection ended before the greeting did.
    #[error(
        "{address} ended the connection before it was agreed upon ({reason}): see what the program there printed, and try again"
    )]
    Ended {
        /// Address and port.
        address: String,
        /// How it ended.
        reason: String,
    },
    /// A failure of this machine.
    #[error("connecting to {address} failed: {error}")]
    Io {
        /// Address and port.
        address: String,
        /// What the kernel says.
        error: io::Error,
    },
}

/// What a failed TLS handshake says of the other side.
fn tls_reason(error: &rustls::Error) -> String {
    match error {
        rustls::Error::InvalidMessage(_) => "it does not speak TLS".to_owned(),
        rustls::Error::AlertReceived(alert) => format!("its TLS refused with {alert:?}"),
        rustls::Error::PeerIncompatible(_) => "its TLS is of another kind".to_owned(),
        error => error.to_string(),
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1}", duration.as_secs_f64())
}

/// Connects to a listening program that has the token's certificate, and proves to have the token's secret.
///
/// `host` is an address (a link-local one with its interface, `fe80::1%eth0`) or a name. `timeout` bounds all of it, the
/// lookup of a name included.
///
/// # Errors
/// If nobody is there, it is not who the token says, or it refuses.
pub fn connect(host: &str, port: u16, token: &Token, timeout: Duration) -> Result<Channel, ConnectError> {
    connect_with(host, port, token, timeout, Settings::default())
}

/// As [`connect`], with settings.
///
/// # Errors
/// As [`connect`].
pub fn connect_with(
    host: &str,
    port: u16,
    token: &Token,
    timeout: Duration,
    settings: Settings,
) -> Result<Channel, ConnectError> {
    let until = later(Instant::now(), timeout);
    let addresses = resolve(host, port, until)?;
    let (socket, address) = open(&addresses, until, timeout)?;
    Greeting { address, text: address::text(address), token, until, timeout }.exchange(socket, settings)
}

/// Connects to the first address that answers. The error is that of the one which came closest to an answer.
fn open(addresses: &[SocketAddr], until: Instant, timeout: Duration) -> Result<(TcpStream, SocketAddr), ConnectError> {
    let mut closest: Option<(u8, ConnectError)> = None;
    for (place, address) in addresses.iter().enumerate() {
        let left = until.saturating_duration_since(Instant::now());
        // Each of the remaining ones gets its share, so that one which drops packets does not keep the next from its turn.
        let share = left / u32::try_from(addresses.len() - place).unwrap_or(u32::MAX);
        if share.is_zero() {
            break;
        }
        match TcpStream::connect_timeout(address, share) {
            Ok(socket) => return Ok((socket, *address)),
            Err(error) => {
                let failure = open_failure(address::text(*address), error, timeout);
                if closest.as_ref().is_none_or(|(rank, _)| failure.0 > *rank) {
                    closest = Some(failure);
                }
            }
        }
    }
    let text = || addresses.first().map(|address| address::text(*address)).unwrap_or_default();
    Err(closest.map_or_else(|| ConnectError::NoAnswer { address: text(), after: timeout }, |(_, failure)| failure))
}

/// What a failure to connect means, and how close it came to an answer.
fn open_failure(address: String, error: io::Error, timeout: Duration) -> (u8, ConnectError) {
    match error.kind() {
        ErrorKind::ConnectionRefused => (3, ConnectError::Refused { address }),
        ErrorKind::TimedOut => (2, ConnectError::NoAnswer { address, after: timeout }),
        ErrorKind::HostUnreachable | ErrorKind::NetworkUnreachable | ErrorKind::AddrNotAvailable => {
            (1, ConnectError::NoRoute { address, reason: error.to_string() })
        }
        _ => (0, ConnectError::Io { address, error }),
    }
}

/// What is needed to agree with whoever answers.
struct Greeting<'token> {
    address: SocketAddr,
    text: String,
    token: &'token Token,
    until: Instant,
    timeout: Duration,
}

impl Greeting<'_> {
    fn exchange(&self, socket: TcpStream, settings: Settings) -> Result<Channel, ConnectError> {
        let io_error = |error| ConnectError::Io { address: self.text.clone(), error };
        let tls_error = |error: rustls::Error| io_error(io::Error::other(error));
        socket.set_nonblocking(true).map_err(io_error)?;
        socket.set_nodelay(true).map_err(io_error)?;
        let client = tls::client(self.token).map_err(tls_error)?;
        let mut wire = Wire::new(socket, Connection::Client(client), MOST_BEFORE_TRUST);
        self.advance(&mut wire, |wire| !wire.tls().is_handshaking())?;
        if wire.tls().alpn_protocol() != Some(tls::PROTOCOL_NAME) {
            return Err(self.not_punctual("it speaks another protocol"));
        }
        let proof = tls::prove(wire.tls(), self.token.secret()).map_err(tls_error)?;
        let knock = Knock { hello: settings.hello.clone(), proof };
        let frame = frame::encode(&knock, MOST_BEFORE_TRUST).map_err(|error| io_error(io::Error::other(error)))?;
        wire.queue(frame);
        self.advance(&mut wire, Wire::has_frame)?;
        let answer = match wire.next_frame() {
            Some(Frame::Content(content)) => frame::decode::<Answer>(&content),
            Some(Frame::Heartbeat) => return Err(self.not_punctual("it answered with a heartbeat")),
            None => return Err(self.ended(wire.end())),
        };
        let answer = answer.map_err(|error| self.not_punctual(&error.to_string()))?;
        self.judge(answer, wire, settings)
    }

    fn judge(&self, answer: Answer, wire: Wire, settings: Settings) -> Result<Channel, ConnectError> {
        let address = self.text.clone();
        match answer {
            Answer::Welcome { hello, version } => match negotiate(&settings.hello, &hello) {
                Ok(ours) if ours == version => {
                    let partner = Partner { hello, address: self.address, version };
                    Ok(Channel::new(wire, partner, settings))
                }
                Ok(_) => Err(self.not_punctual("it chose a protocol version that was not agreed upon")),
                Err(mismatch) => Err(ConnectError::Version { address, mismatch: Box::new(mismatch) }),
            },
            Answer::Refused { refusal: Refusal::WrongSecret } => Err(ConnectError::WrongSecret { address }),
            Answer::Refused { refusal: Refusal::Busy } => Err(ConnectError::Busy { address }),
            Answer::Refused { refusal: Refusal::OtherVersion { hello } } => match negotiate(&settings.hello, &hello) {
                Err(mismatch) => Err(ConnectError::Version { address, mismatch: Box::new(mismatch) }),
                Ok(_) => Err(self.not_punctual("it refused a protocol version that it speaks")),
            },
            Answer::Refused { refusal: Refusal::Unknown } => {
                Err(ConnectError::Ended { address, reason: "for a reason that only a newer program knows".to_owned() })
            }
        }
    }

    /// Reads and writes until `is_done`.
    fn advance(&self, wire: &mut Wire, is_done: impl Fn(&Wire) -> bool) -> Result<(), ConnectError> {
        loop {
            wire.fill();
            wire.flush();
            if is_done(wire) {
                return Ok(());
            }
            if wire.end().is_some() {
                return Err(self.ended_in(wire));
            }
            let left = self.until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(ConnectError::NoGreeting { address: self.text.clone(), after: self.timeout });
            }
            let mut ready = Readable::or_writable([(wire.as_fd(), wire.wants_write())]);
            ready
                .wait(i64::try_from(left.as_nanos()).unwrap_or(i64::MAX))
                .map_err(|error| ConnectError::Io { address: self.text.clone(), error })?;
        }
    }

    /// What an end before the agreement means.
    fn ended_in(&self, wire: &Wire) -> ConnectError {
        let is_punctual = wire.tls().alpn_protocol() == Some(tls::PROTOCOL_NAME);
        match wire.end() {
            Some(CloseReason::Tls(rustls::Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            ))) => {
                if is_punctual {
                    ConnectError::OtherCertificate { address: self.text.clone() }
                } else {
                    self.not_punctual("it speaks TLS, with another certificate and another protocol")
                }
            }
            Some(CloseReason::Tls(error)) => self.not_punctual(&tls_reason(error)),
            end => self.ended(end),
        }
    }

    fn ended(&self, end: Option<&CloseReason>) -> ConnectError {
        let reason = match end {
            Some(CloseReason::Closed) => "with a goodbye".to_owned(),
            Some(CloseReason::Cut) | None => "without a word".to_owned(),
            Some(CloseReason::Socket(_, reason)) => reason.clone(),
            Some(CloseReason::Tls(error)) => error.to_string(),
            Some(CloseReason::Frame(error)) => return self.not_punctual(&error.to_string()),
        };
        ConnectError::Ended { address: self.text.clone(), reason }
    }

    fn not_punctual(&self, reason: &str) -> ConnectError {
        ConnectError::NotPunctual { address: self.text.clone(), reason: reason.to_owned() }
    }
}
