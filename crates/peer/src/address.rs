//! Addresses as people write them: `192.168.1.5`, `lime2:5377`, `[2001:db8::1]:5377`, `fe80::1%eth0`.

use std::fmt;
use std::net::{IpAddr, Ipv6Addr, SocketAddr, SocketAddrV4, SocketAddrV6};

/// The TCP port of a listening program unless another one is asked for. IANA's registry has it for nobody (5365 to 5396 are
/// free), and Linux gives it to no outgoing connection (32768 and above).
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
    #[error("'{port}' in '{text}' is no port: it is a number from 1 to 65535")]
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_ports_are_read_in_every_form() {
        let check = |text: &str, host: &str, port: Option<u16>, again: &str| {
            let expected = Endpoint { host: host.to_owned(), port };
            assert_eq!(Endpoint::parse(text).as_ref(), Ok(&expected), "{text}");
            assert_eq!(expected.to_string(), again);
            assert_eq!(Endpoint::parse(again), Ok(expected), "{again}");
        };
        check("lime2", "lime2", None, "lime2");
        check(" lime2:4000\n", "lime2", Some(4000), "lime2:4000");
        check("192.168.1.5:1", "192.168.1.5", Some(1), "192.168.1.5:1");
        check("2001:db8::1", "2001:db8::1", None, "[2001:db8::1]");
        check("[2001:db8::1]", "2001:db8::1", None, "[2001:db8::1]");
        check("[fe80::1%eth0]:65535", "fe80::1%eth0", Some(65_535), "[fe80::1%eth0]:65535");
        check("fe80::1%eth0", "fe80::1%eth0", None, "[fe80::1%eth0]");
        check("*:7", "*", Some(7), "*:7");
        assert_eq!(Endpoint::parse("a").unwrap().port_or_default(), 5377);
    }

    #[test]
    fn what_is_no_address_is_said_precisely() {
        let check = |text: &str, expected: AddressError| assert_eq!(Endpoint::parse(text), Err(expected));
        let port = |text: &str, port: &str| AddressError::Port { text: text.to_owned(), port: port.to_owned() };
        check("", AddressError::NoHost(String::new()));
        check(":5377", AddressError::NoHost(":5377".to_owned()));
        check("[]:5377", AddressError::NoHost("[]:5377".to_owned()));
        check("a:", port("a:", ""));
        check("a:0", port("a:0", "0"));
        check("a:65536", port("a:65536", "65536"));
        check("a:+5", port("a:+5", "+5"));
        check("[::1]:x", port("[::1]:x", "x"));
        check("[::1", AddressError::Brackets("[::1".to_owned()));
        check("::1]", AddressError::Brackets("::1]".to_owned()));
        check("[::1]5377", AddressError::Brackets("[::1]5377".to_owned()));
    }

    #[test]
    fn a_link_local_address_takes_its_interface_and_no_other_does() {
        let loopback = kernel::interface::index("lo").unwrap();
        let expected = SocketAddr::from(SocketAddrV6::new("fe80::1".parse().unwrap(), 9, 0, loopback));
        assert_eq!(literal("fe80::1%lo", 9), Ok(Some(expected)));
        assert_eq!(literal(&format!("fe80::1%{loopback}"), 9), Ok(Some(expected)));
        assert_eq!(text(expected), "[fe80::1%lo]:9");
        assert_eq!(literal("fe80::1", 9), Err(AddressError::NoScope("fe80::1".to_owned())));
        for scope in ["", "no-such-if", "4294967295", "lo%lo"] {
            let text = format!("fe80::1%{scope}");
            assert_eq!(
                literal(&text, 9),
                Err(AddressError::NoInterface { text: text.clone(), scope: scope.to_owned() })
            );
        }
        for other in ["::1%lo", "127.0.0.1%lo"] {
            assert_eq!(literal(other, 9), Err(AddressError::ScopeNotAllowed(other.to_owned())));
        }
        assert_eq!(literal("lime2", 9), Ok(None));
        assert_eq!(literal("127.0.0.1", 9), Ok(Some("127.0.0.1:9".parse().unwrap())));
    }

    #[test]
    fn an_ipv4_partner_of_an_ipv6_socket_has_an_ipv4_address() {
        assert_eq!(canonical("[::ffff:10.0.0.7]:9".parse().unwrap()), "10.0.0.7:9".parse().unwrap());
        assert_eq!(canonical("[::1]:9".parse().unwrap()), "[::1]:9".parse().unwrap());
    }
}
