//! Addresses as people write them: `192.168.1.5`, `lime2:5377`, `[2001:db8::1]:5377`, `fe80::1%eth0`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// The TCP port of a listening program unless another one is asked for. IANA has assigned it to nobody, and Linux gives it to
/// no outgoing connection.
pub const DEFAULT_PORT: u16 = 5377;

/// A host with an optional port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    /// An address, without brackets and with the interface of a link-local one (`fe80::1%eth0`), or a name.
    pub host: String,
    /// The port, if one was written.
    pub port: Option<u16>,
}

/// Why a text is no address.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AddressError {
    /// No host.
    #[error("'{0}' names no host: write HOST or HOST:PORT, such as lime2:5377, 192.168.1.5 or [fe80::1%eth0]:5377")]
    NoHost(String),
    /// The port is no number from 1 to 65535.
    #[error("'{port}' in '{text}' is no port: it is a number from 1 to 65535 ({DEFAULT_PORT} if none is written)")]
    Port {
        /// All that was written.
        text: String,
        /// The part that should be a port.
        port: String,
    },
    /// A bracket is missing, or something stands outside of them.
    #[error("'{0}' has an unpaired bracket: an IPv6 address with a port is written [2001:db8::1]:5377")]
    Brackets(String),
    /// No interface of this name or number.
    #[error("'{text}': this machine has no interface '{scope}' ('ip link' lists them)")]
    NoInterface {
        /// All that was written.
        text: String,
        /// The part after `%`.
        scope: String,
    },
    /// A link-local address without its interface.
    #[error(
        "'{0}' is a link-local address, which each interface has for itself: add this machine's interface, as in {0}%eth0"
    )]
    NoScope(String),
    /// An interface after an address that has none.
    #[error(
        "'{0}' names an interface, which only a link-local IPv6 address (fe80::…) takes: leave '%' and what follows out"
    )]
    ScopeNotAllowed(String),
    /// Neither an address nor a name.
    #[error("'{0}' is neither an address nor a host name")]
    NotAName(String),
}

impl Endpoint {
    /// Reads `HOST`, `HOST:PORT`, `[ADDRESS]` or `[ADDRESS]:PORT`. An IPv6 address without brackets has no port.
    ///
    /// # Errors
    /// With what is wrong. Whether the host exists is not looked at.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        let text = text.trim();
        let unpaired = || AddressError::Brackets(text.to_owned());
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest.split_once(']').ok_or_else(unpaired)?;
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return Err(unpaired()),
            }
        } else if text.matches(':').count() == 1 {
            text.split_once(':').map_or((text, None), |(host, port)| (host, Some(port)))
        } else {
            (text, None)
        };
        if host.contains(['[', ']']) {
            return Err(unpaired());
        }
        if host.is_empty() {
            return Err(AddressError::NoHost(text.to_owned()));
        }
        let port = port.map(|port| match port.parse() {
            // A leading `+` is a number to Rust.
            Ok(number @ 1..) if port.bytes().all(|byte| byte.is_ascii_digit()) => Ok(number),
            _ => Err(AddressError::Port { text: text.to_owned(), port: port.to_owned() }),
        });
        Ok(Self { host: host.to_owned(), port: port.transpose()? })
    }

    /// The port that was written, or the default one.
    #[must_use]
    pub fn port_or_default(&self) -> u16 {
        self.port.unwrap_or(DEFAULT_PORT)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.host.contains(':'), self.port) {
            (false, None) => f.write_str(&self.host),
            (false, Some(port)) => write!(f, "{}:{port}", self.host),
            (true, None) => write!(f, "[{}]", self.host),
            (true, Some(port)) => write!(f, "[{}]:{port}", self.host),
        }
    }
}

/// The address that `host` spells, with `port`; `None` if it is no address, and so perhaps a name.
pub(crate) fn literal(host: &str, port: u16) -> Result<Option<SocketAddr>, AddressError> {
    let (address, scope) = match host.split_once('%') {
        Some((address, scope)) => (address, Some(scope)),
        None => (host, None),
    };
    let Ok(address) = address.parse::<IpAddr>() else { return Ok(None) };
    match (address, scope) {
        (IpAddr::V4(address), None) => Ok(Some(SocketAddrV4::new(address, port).into())),
        (IpAddr::V6(address), None) if is_link_local(address) => Err(AddressError::NoScope(host.to_owned())),
        (IpAddr::V6(address), None) => Ok(Some(SocketAddrV6::new(address, port, 0, 0).into())),
        (IpAddr::V6(address), Some(scope)) if is_link_local(address) => {
            let missing = || AddressError::NoInterface { text: host.to_owned(), scope: scope.to_owned() };
            let index = kernel::interface::index(scope).or_else(|_| scope.parse().map_err(|_| missing()))?;
            // A number is of an interface only if that has a name.
            kernel::interface::name(index).map_err(|_| missing())?;
            Ok(Some(SocketAddrV6::new(address, port, 0, index).into()))
        }
        (_, Some(_)) => Err(AddressError::ScopeNotAllowed(host.to_owned())),
    }
}

/// Whether an address is of `fe80::/10`.
const fn is_link_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xffc0 == 0xfe80
}

/// An address with the interface's name instead of its number, and an IPv4 address as such where the kernel gave it as an
/// IPv6 one.
pub(crate) fn canonical(address: SocketAddr) -> SocketAddr {
    match address.ip().to_canonical() {
        IpAddr::V4(ip) => SocketAddrV4::new(ip, address.port()).into(),
        IpAddr::V6(_) => address,
    }
}

/// An address as people write it: a link-local one with its interface's name.
pub(crate) fn text(address: SocketAddr) -> String {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 => {
            let scope = kernel::interface::name(v6.scope_id()).unwrap_or_else(|_| v6.scope_id().to_string());
            format!("[{}%{scope}]:{}", v6.ip(), v6.port())
        }
        _ => address.to_string(),
    }
}
