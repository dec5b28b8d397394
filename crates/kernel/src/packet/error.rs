//! What can go wrong with an end: when it is opened, with words, and in the loop, as numbers.

use std::io;

/// Why an end cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No interface has this name.
    #[error("no interface '{interface}' in this network namespace (`ip link` lists those that exist)")]
    NoInterface {
        /// As it was asked for.
        interface: String,
    },
    /// The interface exists and carries nothing.
    #[error("interface '{interface}' is down (`ip link set {interface} up` starts it)")]
    InterfaceDown {
        /// Its name.
        interface: String,
    },
    /// Frames of this interface have no Ethernet header.
    #[error("interface '{interface}' has no hardware address of Ethernet (choose UDP, or another interface)")]
    NoEthernet {
        /// Its name.
        interface: String,
    },
    /// The interface has no address of IP that packets could come from.
    #[error(
        "interface '{interface}' has no address of this version of IP (`ip address add … dev {interface}` gives it one)"
    )]
    NoAddress {
        /// Its name.
        interface: String,
    },
    /// Packets to the partner leave by another interface.
    #[error("packets to {to} leave by '{by}' and not by '{interface}' (choose that interface, or the VLAN's tag)")]
    OtherWay {
        /// The partner's address.
        to: std::net::IpAddr,
        /// The interface that the routes lead to.
        by: String,
        /// The interface that was asked for.
        interface: String,
    },
    /// Somebody else's program of XDP runs there. It is left alone.
    #[error(
        "interface '{interface}' already runs a program of XDP ('{name}', number {id}), which is left alone \
         (`ip link set dev {interface} xdp off` removes it)"
    )]
    ForeignXdp {
        /// Name of the interface, such as `eth0`.
        interface: String,
        /// The kernel's number of the program (0 where there are several).
        id: u32,
        /// The program's name.
        name: String,
    },
    /// No mode of XDP works.
    #[error("no mode of XDP works on '{interface}': {}", refused.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    NoXdpMode {
        /// Name of the interface, such as `eth0`.
        interface: String,
        /// Those that were tried, with their reasons.
        refused: Vec<super::xdp::RefusedMode>,
    },
    /// No way leads to the partner.
    #[error(transparent)]
    Lookup(LookupError),
    /// Another program receives there.
    #[error("{address} is in use by another program (`ss -ulnp` lists them; choose another port)")]
    AddressInUse {
        /// Address and port.
        address: String,
    },
    /// No interface has this address.
    #[error("{address} is no address of this machine (`ip address` lists them)")]
    AddressMissing {
        /// Address and port.
        address: String,
    },
    /// A link-local address is one of each interface: without its scope it is none in particular.
    #[error("{address} is a link-local address without its interface (write it as {address}%INTERFACE)")]
    NoScope {
        /// The address.
        address: std::net::IpAddr,
    },
    /// One address is of version 4 of IP, the other of version 6.
    #[error("{local} and {partner} are of different versions of IP (choose both of one)")]
    Mismatch {
        /// Where the end receives.
        local: std::net::SocketAddr,
        /// To whom it would send.
        partner: std::net::SocketAddr,
    },
    /// The process may not do this.
    #[error("no right to {action}: it takes {capability} (root has it, or `setcap` grants it to a program)")]
    NoRight {
        /// What was tried.
        action: &'static str,
        /// The capability's name.
        capability: &'static str,
    },
    /// The kernel, driver or interface cannot do this.
    #[error("{action} is not possible here: {needs} ({error})")]
    Unsupported {
        /// What was tried.
        action: &'static str,
        /// What it takes.
        needs: &'static str,
        /// The kernel's words.
        error: io::Error,
    },
    /// A value that was asked for is out of its range.
    #[error("{what} {value} is out of range: {range}")]
    OutOfRange {
        /// What was asked for.
        what: &'static str,
        /// The value.
        value: u64,
        /// What it can be.
        range: &'static str,
    },
    /// A step failed for another reason.
    #[error("cannot {action}: {error}")]
    Failed {
        /// What was tried.
        action: &'static str,
        /// The kernel's words.
        error: io::Error,
    },
}

impl OpenError {
    /// The kernel's refusal of a step that may take a capability or a newer kernel.
    pub(super) fn refused(
        action: &'static str,
        capability: &'static str,
        needs: &'static str,
        error: io::Error,
    ) -> Self {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => Self::NoRight { action, capability },
            Some(
                libc::EOPNOTSUPP
                | libc::ENOPROTOOPT
                | libc::EINVAL
                | libc::ENOSYS
                | libc::EPROTONOSUPPORT
                | libc::EAFNOSUPPORT
                | libc::ESOCKTNOSUPPORT,
            ) => Self::Unsupported { action, needs, error },
            _ => Self::Failed { action, error },
        }
    }
}

/// Why something of the network's configuration cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum LookupError {
    /// No interface has this name or number.
    #[error("no interface '{interface}' in this network namespace (`ip link` lists those that exist)")]
    NoInterface {
        /// As it was asked for.
        interface: String,
    },
    /// No way leads to an address.
    #[error("no route to {to} (`ip route get {to}` shows what the kernel looks at)")]
    NoRoute {
        /// The address.
        to: std::net::IpAddr,
    },
    /// Nobody on the interface's network answers for an address.
    #[error("nobody answers for {address} on the local network (is the partner up? `ip neighbor` shows what is known)")]
    NoNeighbor {
        /// The partner's address or its router's.
        address: std::net::IpAddr,
    },
    /// A step failed for another reason.
    #[error("cannot {action}: {error}")]
    Failed {
        /// What was tried.
        action: &'static str,
        /// The kernel's words.
        error: io::Error,
    },
}

impl From<LookupError> for OpenError {
    fn from(error: LookupError) -> Self {
        match error {
            LookupError::NoInterface { interface } => Self::NoInterface { interface },
            LookupError::Failed { action, error } => Self::Failed { action, error },
            other => Self::Lookup(other),
        }
    }
}

/// Why a payload was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// A queue on this machine has no room: the socket's buffer, the interface's queue or a ring. The next one may be
    /// taken again.
    #[error("a send queue of this machine is full")]
    Full,
    /// The payload does not fit.
    #[error(
        "a payload of {bytes} bytes is too large: at most {most_bytes} (the interface's MTU or the protocol bounds it)"
    )]
    TooLarge {
        /// Of the payload.
        bytes: usize,
        /// That can be sent, as far as is known.
        most_bytes: usize,
    },
    /// A launch time was given to an end that was opened without a clock for it, or that knows none.
    #[error("this end was not opened for launch times")]
    NoLaunchTime,
    /// The queueing discipline does not take this launch time: it has passed already, or is of another clock or mode.
    #[error("the queueing discipline refuses the launch time: it has passed, or is of another clock or mode")]
    LaunchRefused,
    /// The end has no partner to send to.
    #[error("no partner was set to send to")]
    NoPartner,
    /// The kernel refuses it.
    #[error("the kernel does not send: {}", io::Error::from_raw_os_error(*errno))]
    Refused {
        /// The kernel's error number: `ENETDOWN`, `ENETUNREACH`, …
        errno: i32,
    },
}

/// Why nothing can be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kernel does not receive: {}", io::Error::from_raw_os_error(*errno))]
pub struct ReceiveError {
    /// The kernel's error number: `ENETDOWN` where the interface went down.
    pub errno: i32,
}

/// The error number of the call that just failed.
#[inline]
pub(super) fn last_errno() -> i32 {
    io::Error::last_os_error().raw_os_error().unwrap_or(0)
}
