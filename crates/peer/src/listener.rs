//! The listening side.

mod pending;

use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use farm::Token;
use kernel::wait::Readable;
use rustls::ServerConfig;

use self::pending::{Outcome, Pending};
use crate::address::{self, AddressError, DEFAULT_PORT, Endpoint};
use crate::channel::Channel;
use crate::identity::{Identity, IdentityError};
use crate::resolve::{ResolveError, resolve};
use crate::settings::Settings;
use crate::tls;
use crate::token_file::{self, TokenFileError};

/// Listens on every address, of both families.
const EVERYWHERE: &str = "*";
/// The most connections that have not proved anything yet. Each takes some 20 KiB.
const MOST_PENDING: usize = 64;
/// The stop flag is looked at this often (ns); a signal handler that ran ends the wait at once.
const LOOK_EVERY_NS: i64 = 100_000_000;
/// Whether a socket for every IPv6 address leaves IPv4 out: 1 if so, which hardly any machine has.
const BIND_V6_ONLY: &str = "/proc/sys/net/ipv6/bindv6only";
/// The lookup of an own name has this long.
const LOOKUP: Duration = Duration::from_secs(6);

/// Why a program cannot listen.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The address is none.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// The name has no address.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Another program has the port.
    #[error("port {port} of {} is in use: another 'punctual listen' may run ('ss -ltnp' shows it); end that, or choose another port with --on {}", address_text(address), example(address, port.wrapping_add(1)))]
    PortInUse {
        /// The address.
        address: IpAddr,
        /// The port.
        port: u16,
    },
    /// No interface has the address.
    #[error("{address} is not an address of this machine: 'ip address' lists them; '*' listens on all")]
    NotOurs {
        /// Address and port.
        address: String,
    },
    /// The port is privileged.
    #[error(
        "port {port} needs the right to ports below 1024 (CAP_NET_BIND_SERVICE): choose one above, such as {DEFAULT_PORT}"
    )]
    Privileged {
        /// The port.
        port: u16,
    },
    /// The kernel refuses for another reason.
    #[error("cannot listen on {address}: {error}")]
    Io {
        /// Address and port.
        address: String,
        /// What the kernel says.
        error: io::Error,
    },
    /// No certificate.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The certificate does not suit TLS.
    #[error("TLS cannot be set up: {0}")]
    Tls(#[from] rustls::Error),
}

fn address_text(address: &IpAddr) -> String {
    if address.is_unspecified() { "this machine".to_owned() } else { address.to_string() }
}

/// An address with a port, as it is typed after `--on`.
fn example(address: &IpAddr, port: u16) -> String {
    let port = if port < 1024 { DEFAULT_PORT + 1 } else { port };
    match address {
        address if address.is_unspecified() => format!("'*:{port}'"),
        address => SocketAddr::new(*address, port).to_string(),
    }
}

/// Why no more connections can be accepted.
#[derive(Debug, thiserror::Error)]
#[error("cannot accept connections on {address}: {error}")]
pub struct AcceptError {
    address: String,
    error: io::Error,
}

/// How many connections were turned away, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TurnedAway {
    /// The proof did not fit: a token with this certificate and another secret.
    pub wrong_secret: u64,
    /// The other side found another certificate than its token says: a token of another run.
    pub other_token: u64,
    /// No protocol version in common.
    pub other_version: u64,
    /// No TLS, no frames, or not of this connection: another program, or a replay.
    pub garbled: u64,
    /// Ended by the other side before it had proved anything.
    pub left: u64,
    /// Proved nothing in time.
    pub too_slow: u64,
    /// Ended in favor of newer ones, since too many waited.
    pub displaced: u64,
    /// Refused since another partner is being served.
    pub busy: u64,
}

impl TurnedAway {
    /// All of them.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.wrong_secret
            + self.other_token
            + self.other_version
            + self.garbled
            + self.left
            + self.too_slow
            + self.displaced
            + self.busy
    }
}

/// A program that waits for another one with its token.
pub struct Listener {
    socket: TcpListener,
    /// As bound, with the port that the kernel gave.
    address: SocketAddr,
    identity: Identity,
    tls: Arc<ServerConfig>,
    settings: Settings,
    pending: Vec<Pending>,
    turned_away: TurnedAway,
}

impl Listener {
    /// Listens on an address: `ADDRESS[:PORT]`, `NAME[:PORT]`, `*[:PORT]` for every address, with the interface of a
    /// link-local one (`[fe80::1%eth0]:5377`). Port 5377 unless one is written. It is ready to serve from here on.
    ///
    /// # Errors
    /// If the address is none or not of this machine, or its port is in use.
    pub fn bind(address: &str) -> Result<Self, BindError> {
        Self::bind_with(address, Settings::default())
    }

    /// As [`Self::bind`], with settings.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_with(address: &str, settings: Settings) -> Result<Self, BindError> {
        let endpoint = Endpoint::parse(address)?;
        Self::bind_endpoint(&endpoint.host, endpoint.port_or_default(), settings)
    }

    /// As [`Self::bind_with`], on any free port, which [`Self::address`] states.
    ///
    /// # Errors
    /// As [`Self::bind`].
    pub fn bind_to_free_port(host: &str, settings: Settings) -> Result<Self, BindError> {
        Self::bind_endpoint(host, 0, settings)
    }

    fn bind_endpoint(host: &str, port: u16, settings: Settings) -> Result<Self, BindError> {
        let identity = Identity::new()?;
        let tls = tls::server_config(&identity)?;
        let socket = if host == EVERYWHERE { bind_everywhere(port)? } else { bind_host(host, port)? };
        let text = Endpoint { host: host.to_owned(), port: Some(port) }.to_string();
        let failed = |error| BindError::Io { address: text.clone(), error };
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        let (pending, turned_away) = (Vec::new(), TurnedAway::default());
        Ok(Self { socket, address, identity, tls, settings, pending, turned_away })
    }

    /// The address that was bound, and the port.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address as people write it: a link-local one with its interface's name.
    #[must_use]
    pub fn listens_at(&self) -> String {
        address::text(self.address)
    }

    /// The token for those who may connect.
    #[must_use]
    pub const fn token(&self) -> &Token {
        self.identity.token()
    }

    /// How many connections were turned away until now.
    #[must_use]
    pub const fn turned_away(&self) -> TurnedAway {
        self.turned_away
    }

    /// The host and port for the other side's `--to`. Where this program listens on every address, one of an interface that
    /// is up: a global IPv4 address before an IPv6 one, before a link-local one.
    ///
    /// A link-local address has the place of the interface's name in it, since that name is the other side's.
    #[must_use]
    pub fn reachable_at(&self) -> String {
        let ip = if self.address.ip().is_unspecified() { own_address() } else { self.address.ip().to_canonical() };
        let port = self.address.port();
        match ip {
            IpAddr::V6(ip) if ip.is_unicast_link_local() => format!("[{ip}%INTERFACE]:{port}"),
            ip => SocketAddr::new(ip, port).to_string(),
        }
    }

    /// The command for the other node, with the token in it. Whoever sees that node's processes sees the token too: where
    /// that matters, [`Self::write_token`] and `--token-file`.
    #[must_use]
    pub fn one_line_for_the_other_side(&self) -> String {
        let to = self.reachable_at();
        // Brackets are patterns to a shell.
        let to = if to.contains('[') { format!("'{to}'") } else { to };
        format!("punctual packet send --to {to} --token {}", self.token().reveal())
    }

    /// Writes the token to a file that only its owner reads (mode 0600), as a whole or not at all. An existing file is
    /// replaced only if it is a regular file of this user's with a token in it.
    ///
    /// # Errors
    /// If something else stands there, or the file cannot be written.
    pub fn write_token(&self, path: &Path) -> Result<(), TokenFileError> {
        token_file::write(path, self.token())
    }

    /// Removes the file of the token, which is worthless once nobody listens any more. A file with another token stays.
    pub fn withdraw_token(&self, path: &Path) {
        token_file::withdraw(path, self.token());
    }

    /// Waits for a program that has the token; `None` once `stop` says so. Whoever has no token, speaks no TLS or says nothing
    /// is turned away or waits without keeping others from their turn.
    ///
    /// # Errors
    /// If the kernel refuses to accept or to wait.
    pub fn accept(&mut self, stop: &dyn Fn() -> bool) -> Result<Option<Channel>, AcceptError> {
        loop {
            if stop() {
                return Ok(None);
            }
            self.wait(LOOK_EVERY_NS)?;
            self.take_new()?;
            if let Some(channel) = self.advance(false) {
                return Ok(Some(channel));
            }
        }
    }

    /// Tells everybody who has the token that another partner is being served, and turns the others away as
    /// [`Self::accept`] does. Never waits: call it now and then while a channel is in use, or leave it, and who connects
    /// meanwhile waits.
    ///
    /// # Errors
    /// If the kernel refuses to accept.
    pub fn refuse_others(&mut self) -> Result<(), AcceptError> {
        self.take_new()?;
        let served = self.advance(true);
        debug_assert!(served.is_none(), "nobody is let in");
        Ok(())
    }

    /// Waits until something can be done, `wait_ns` at the longest.
    fn wait(&self, wait_ns: i64) -> Result<(), AcceptError> {
        let sockets = self.pending.iter().map(|one| (one.as_fd(), one.wants_write()));
        let mut ready = Readable::or_writable([(self.socket.as_fd(), false)].into_iter().chain(sockets));
        ready.wait(wait_ns).map_err(|error| self.failed(error))
    }

    /// Takes the connections that wait in the kernel.
    fn take_new(&mut self) -> Result<(), AcceptError> {
        // No more than can be pending, so that those which are get their turn.
        for _ in 0..MOST_PENDING {
            match self.socket.accept() {
                Ok((socket, from)) => self.take(socket, from),
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(()),
                // The other side has gone already.
                Err(error) if [ErrorKind::Interrupted, ErrorKind::ConnectionAborted].contains(&error.kind()) => {}
                Err(error) => return Err(self.failed(error)),
            }
        }
        Ok(())
    }

    fn take(&mut self, socket: TcpStream, from: SocketAddr) {
        if self.pending.len() >= MOST_PENDING {
            self.displace();
        }
        let pending = Pending::new(socket, address::canonical(from), &self.tls, &self.settings);
        match pending {
            Ok(pending) => self.pending.push(pending),
            Err(_) => self.turned_away.left += 1,
        }
    }

    /// Ends the oldest connection of the address that has most: one host that opens many does not displace another.
    fn displace(&mut self) {
        let count = |ip: IpAddr| self.pending.iter().filter(|one| one.address().ip() == ip).count();
        let most = self.pending.iter().map(|one| count(one.address().ip())).max();
        let oldest = self.pending.iter().position(|one| Some(count(one.address().ip())) == most);
        if let Some(oldest) = oldest {
            self.pending.remove(oldest);
            self.turned_away.displaced += 1;
        }
    }

    /// Lets every pending connection do what it can; the first that proves to have the token becomes a channel, unless
    /// `is_busy`.
    fn advance(&mut self, is_busy: bool) -> Option<Channel> {
        let now = Instant::now();
        let mut place = 0;
        while let Some(pending) = self.pending.get_mut(place) {
            match pending.advance(self.identity.token(), is_busy, now) {
                Outcome::Waits => place += 1,
                Outcome::TurnedAway(count) => {
                    *count(&mut self.turned_away) += 1;
                    place += 1;
                }
                Outcome::Over(count) => {
                    if let Some(count) = count {
                        *count(&mut self.turned_away) += 1;
                    }
                    self.pending.remove(place);
                }
                Outcome::Trusted => {
                    let channel = self.pending.remove(place).into_channel();
                    if channel.is_some() {
                        return channel;
                    }
                }
            }
        }
        None
    }

    fn failed(&self, error: io::Error) -> AcceptError {
        AcceptError { address: address::text(self.address), error }
    }
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Listener").field("address", &self.address).finish_non_exhaustive()
    }
}

/// Every address of both families; of IPv4 alone where the kernel has no IPv6, or keeps the two apart.
fn bind_everywhere(port: u16) -> Result<TcpListener, BindError> {
    let ipv4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), port);
    let both = SocketAddr::new(Ipv6Addr::UNSPECIFIED.into(), port);
    let bind = |address| TcpListener::bind(address).map_err(|error| bind_failure(address, error));
    if std::fs::read_to_string(BIND_V6_ONLY).is_ok_and(|text| text.trim() == "1") {
        return bind(ipv4);
    }
    match TcpListener::bind(both) {
        Err(error) if !is_about_the_port(&error) => bind(ipv4),
        bound => bound.map_err(|error| bind_failure(both, error)),
    }
}

fn is_about_the_port(error: &io::Error) -> bool {
    [ErrorKind::AddrInUse, ErrorKind::PermissionDenied].contains(&error.kind())
}

/// The first address of the host that this machine has.
fn bind_host(host: &str, port: u16) -> Result<TcpListener, BindError> {
    let addresses = resolve(host, port, Instant::now() + LOOKUP)?;
    let mut failure = None;
    for address in addresses {
        match TcpListener::bind(address) {
            Ok(socket) => return Ok(socket),
            Err(error) => failure = failure.or(Some(bind_failure(address, error))),
        }
    }
    Err(failure.unwrap_or_else(|| ResolveError::Unknown(host.to_owned()).into()))
}

fn bind_failure(address: SocketAddr, error: io::Error) -> BindError {
    match error.kind() {
        ErrorKind::AddrInUse => BindError::PortInUse { address: address.ip(), port: address.port() },
        ErrorKind::AddrNotAvailable => BindError::NotOurs { address: address::text(address) },
        ErrorKind::PermissionDenied => BindError::Privileged { port: address.port() },
        _ => BindError::Io { address: address::text(address), error },
    }
}

/// An address of this machine that others may reach.
fn own_address() -> IpAddr {
    let rank = |ip: IpAddr| match ip {
        ip if ip.is_loopback() => 3,
        IpAddr::V4(ip) if ip.is_link_local() => 2,
        IpAddr::V4(_) => 0,
        IpAddr::V6(ip) if ip.is_unicast_link_local() => 2,
        IpAddr::V6(_) => 1,
    };
    let all = kernel::interface::addresses().unwrap_or_default();
    let best = all.into_iter().filter(|one| !one.is_loopback).map(|one| one.address).min_by_key(|ip| rank(*ip));
    best.unwrap_or(IpAddr::V4(Ipv4Addr::LOCALHOST))
}
