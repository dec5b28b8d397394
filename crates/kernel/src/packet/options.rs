//! What a socket is asked for, and its calls with raw pointers.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd as _, AsRawFd as _, BorrowedFd, FromRawFd as _, OwnedFd, RawFd};

use super::address::{RawAddress, socket_length};
use super::control::Room;
use super::error::{LookupError, OpenError, last_errno};
use crate::time_namespace::TimeNamespace;

/// What all sockets can be asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SocketOptions {
    /// Priority of sent packets on this machine (`SO_PRIORITY`, 0 to 15 for most disciplines; above 6 it takes
    /// CAP_NET_ADMIN), which also chooses the priority of a VLAN tag through the interface's egress map.
    pub priority: Option<u32>,
    /// Differentiated-services code point of sent IP packets (0 to 63, RFC 2474).
    pub dscp: Option<u8>,
    /// Polls the driver while it waits.
    pub busy_poll: Option<BusyPoll>,
    /// Clock for launch times; without one none can be given.
    pub launch: Option<LaunchClock>,
    /// Room for received packets that nobody has taken yet (bytes, with the kernel's own overhead).
    pub receive_buffer_bytes: Option<u32>,
}

/// Polling of the driver by the waiting thread (Documentation/networking/napi.rst).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BusyPoll {
    /// How long a blocking call polls (us).
    pub us: u32,
    /// Whether interrupts stay off as long as the thread polls in time (`SO_PREFER_BUSY_POLL`).
    pub prefer: bool,
}

/// The clock of launch times (`SO_TXTIME`). A queueing discipline has to honor them: `etf` takes the clock that it was
/// configured with, `fq` CLOCK_MONOTONIC; without either they change nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LaunchClock {
    /// The clock; others than CLOCK_MONOTONIC take CAP_NET_ADMIN.
    pub clock: units::ClockId,
    /// Whether the time is the latest rather than the exact one to leave at (`SOF_TXTIME_DEADLINE_MODE`).
    pub is_deadline: bool,
}

/// `struct sock_txtime`, include/uapi/linux/net_tstamp.h.
#[repr(C)]
#[derive(Clone, Copy)]
struct TxTime {
    clock: libc::clockid_t,
    flags: u32,
}

const TXTIME_DEADLINE_MODE: u32 = 1;
const TXTIME_REPORT_ERRORS: u32 = 2;
const SO_PREFER_BUSY_POLL: libc::c_int = 69;
const SO_RCVBUFFORCE: libc::c_int = 33;
const SO_MEMINFO: libc::c_int = 55;
/// `SK_MEMINFO_DROPS`, include/uapi/linux/sock_diag.h.
const MEMINFO_DROPS: usize = 8;
const MEMINFO_VALUES: usize = 9;
/// Differentiated services stand above the two bits of congestion notification.
const DSCP_SHIFT: u32 = 2;

impl SocketOptions {
    /// Sets them.
    pub(super) fn apply(&self, socket: BorrowedFd<'_>, family: libc::c_int) -> Result<(), OpenError> {
        if let Some(dscp) = self.dscp {
            if dscp > 63 {
                return Err(OpenError::OutOfRange { what: "DSCP", value: dscp.into(), range: "0 to 63 (RFC 2474)" });
            }
            let byte = libc::c_int::from(dscp) << DSCP_SHIFT;
            let (level, option) = match family {
                libc::AF_INET => (libc::IPPROTO_IP, libc::IP_TOS),
                _ => (libc::IPPROTO_IPV6, libc::IPV6_TCLASS),
            };
            set(socket, level, option, &byte).map_err(|error| failed("set the DSCP (IP_TOS, IPV6_TCLASS)", error))?;
        }
        // After the DSCP, which sets a priority of its own (net/ipv4/ip_sockglue.c, ip_sock_set_tos).
        if let Some(priority) = self.priority {
            let refused =
                |error| OpenError::refused("set a priority above 6 (SO_PRIORITY)", "CAP_NET_ADMIN", "0 to 15", error);
            set(socket, libc::SOL_SOCKET, libc::SO_PRIORITY, &priority).map_err(refused)?;
        }
        if let Some(busy_poll) = self.busy_poll {
            busy_poll.apply(socket)?;
        }
        if let Some(launch) = self.launch {
            launch.apply(socket)?;
        }
        if let Some(bytes) = self.receive_buffer_bytes {
            // Beyond the limit of net.core.rmem_max only CAP_NET_ADMIN may go; what was granted can be read back.
            // The kernel doubles what it is given.
            let half = libc::c_int::try_from(bytes / 2).unwrap_or(libc::c_int::MAX / 2);
            if set(socket, libc::SOL_SOCKET, SO_RCVBUFFORCE, &half).is_err() {
                set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, &half)
                    .map_err(|error| failed("set the receive buffer (SO_RCVBUF)", error))?;
            }
        }
        Ok(())
    }
}

impl BusyPoll {
    pub(super) fn apply(self, socket: BorrowedFd<'_>) -> Result<(), OpenError> {
        const NEEDS: &str = "it takes a kernel with CONFIG_NET_RX_BUSY_POLL, and Linux 5.11 to prefer it";
        let refused = |error| OpenError::refused("poll the driver (SO_BUSY_POLL)", "CAP_NET_ADMIN", NEEDS, error);
        set(socket, libc::SOL_SOCKET, libc::SO_BUSY_POLL, &self.us).map_err(refused)?;
        if self.prefer {
            set(socket, libc::SOL_SOCKET, SO_PREFER_BUSY_POLL, &1_u32).map_err(refused)?;
        }
        Ok(())
    }
}

impl LaunchClock {
    fn apply(self, socket: BorrowedFd<'_>) -> Result<(), OpenError> {
        const NEEDS: &str = "it takes Linux 4.19 and a clock of the system";
        let clock = match self.clock {
            units::ClockId::Monotonic => libc::CLOCK_MONOTONIC,
            units::ClockId::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            units::ClockId::Realtime => libc::CLOCK_REALTIME,
            units::ClockId::Tai => libc::CLOCK_TAI,
            units::ClockId::Boottime => libc::CLOCK_BOOTTIME,
        };
        let is_apart = TimeNamespace::own() != TimeNamespace::default();
        if is_apart && !matches!(self.clock, units::ClockId::Tai | units::ClockId::Realtime) {
            const WHERE: &str = "it takes a process outside of time namespaces, or the clock tai: the kernel holds the packets \
                                 until its own clock shows that time, and this process sees another one";
            let error = io::Error::from_raw_os_error(libc::EINVAL);
            return Err(OpenError::refused("set launch times (SO_TXTIME)", "CAP_NET_ADMIN", WHERE, error));
        }
        let flags = TXTIME_REPORT_ERRORS | if self.is_deadline { TXTIME_DEADLINE_MODE } else { 0 };
        set(socket, libc::SOL_SOCKET, libc::SO_TXTIME, &TxTime { clock, flags })
            .map_err(|error| OpenError::refused("set launch times (SO_TXTIME)", "CAP_NET_ADMIN", NEEDS, error))
    }
}

/// A new socket that is closed by exec.
pub(super) fn open(family: libc::c_int, kind: libc::c_int, protocol: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: the call takes three numbers and touches no memory of ours.
    let file = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, protocol) };
    if file < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened, is not negative, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(file) })
}

/// Sets an option to a value, which consists of integers and of addresses of what outlives the call.
pub(super) fn set<T: Copy>(
    socket: BorrowedFd<'_>,
    level: libc::c_int,
    option: libc::c_int,
    value: &T,
) -> io::Result<()> {
    let length = socket_length(size_of::<T>());
    // SAFETY: the value is valid for reads of its size for the length of the call.
    let status =
        unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, std::ptr::from_ref(value).cast(), length) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Lets through what a classic filter takes.
pub(super) fn attach_filter(socket: BorrowedFd<'_>, steps: &mut [libc::sock_filter]) -> io::Result<()> {
    let len = libc::c_ushort::try_from(steps.len()).map_err(io::Error::other)?;
    // The kernel copies the steps before the call returns.
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, &libc::sock_fprog { len, filter: steps.as_mut_ptr() })
}

/// Reads an option of integers; `None` where the kernel gives none, or fewer bytes.
pub(super) fn get<T: Integers>(socket: BorrowedFd<'_>, level: libc::c_int, option: libc::c_int) -> Option<T> {
    let (mut value, mut length) = (T::ZERO, socket_length(size_of::<T>()));
    // SAFETY: value and length are valid for writes for the length of the call, and the kernel writes at most `length`
    // bytes; `Integers` promises that any bytes are a value.
    let status = unsafe {
        libc::getsockopt(socket.as_raw_fd(), level, option, std::ptr::from_mut(&mut value).cast(), &raw mut length)
    };
    (status == 0 && length == socket_length(size_of::<T>())).then_some(value)
}

/// A value that any bytes are one of.
pub(super) trait Integers: Copy {
    const ZERO: Self;
}
impl Integers for libc::c_int {
    const ZERO: Self = 0;
}
impl<const N: usize> Integers for [u32; N] {
    const ZERO: Self = [0; N];
}
impl<const N: usize> Integers for [u64; N] {
    const ZERO: Self = [0; N];
}

/// How many packets the kernel dropped since the socket had no room (or, on UDP, since their checksum was wrong).
pub(super) fn dropped(socket: BorrowedFd<'_>) -> u32 {
    get::<[u32; MEMINFO_VALUES]>(socket, libc::SOL_SOCKET, SO_MEMINFO).map_or(0, |values| values[MEMINFO_DROPS])
}

/// Room for received packets as the kernel granted it (bytes).
pub(super) fn receive_buffer_bytes(socket: BorrowedFd<'_>) -> u32 {
    get::<libc::c_int>(socket, libc::SOL_SOCKET, libc::SO_RCVBUF).and_then(|bytes| bytes.try_into().ok()).unwrap_or(0)
}

/// Binds a socket to an interface.
pub(super) fn bind_to_device(socket: BorrowedFd<'_>, interface: &str) -> Result<(), OpenError> {
    let name = interface.as_bytes();
    let mut padded = [0_u8; libc::IFNAMSIZ];
    if name.is_empty() || name.len() >= padded.len() || name.contains(&0) {
        return Err(OpenError::NoInterface { interface: interface.to_owned() });
    }
    padded[..name.len()].copy_from_slice(name);
    match set(socket, libc::SOL_SOCKET, libc::SO_BINDTODEVICE, &padded) {
        Ok(()) => Ok(()),
        Err(error) if error.raw_os_error() == Some(libc::ENODEV) => {
            Err(OpenError::NoInterface { interface: interface.to_owned() })
        }
        Err(error) => Err(OpenError::refused(
            "bind a socket to an interface (SO_BINDTODEVICE)",
            "CAP_NET_RAW",
            "Linux 5.7 lets everybody",
            error,
        )),
    }
}

/// Binds a socket to an address; the address that it then has.
pub(super) fn bind(socket: &OwnedFd, address: SocketAddr) -> Result<SocketAddr, OpenError> {
    let raw = RawAddress::from(address);
    // SAFETY: the address is valid for reads of its length for the length of the call.
    if unsafe { libc::bind(socket.as_raw_fd(), raw.as_ptr(), raw.length()) } != 0 {
        let error = io::Error::last_os_error();
        return Err(match error.raw_os_error() {
            Some(libc::EADDRINUSE) => OpenError::AddressInUse { address: address.to_string() },
            Some(libc::EADDRNOTAVAIL) => OpenError::AddressMissing { address: address.to_string() },
            // A link-local address without its interface.
            Some(libc::EINVAL) if lacks_scope(address) => OpenError::NoScope { address: address.ip() },
            Some(libc::EACCES) => {
                OpenError::NoRight { action: "bind a port below 1024", capability: "CAP_NET_BIND_SERVICE" }
            }
            _ => failed("bind the socket", error),
        });
    }
    Ok(own_address(socket.as_fd())?.unwrap_or(address))
}

/// Connects a socket of datagrams to its partner; the address of its own that the kernel chose then.
pub(super) fn connect(socket: BorrowedFd<'_>, partner: &RawAddress) -> Result<Option<SocketAddr>, OpenError> {
    // SAFETY: the address is valid for reads of its length for the length of the call.
    if unsafe { libc::connect(socket.as_raw_fd(), partner.as_ptr(), partner.length()) } != 0 {
        let error = io::Error::last_os_error();
        return Err(match (error.raw_os_error(), partner.to_internet()) {
            (Some(libc::ENETUNREACH | libc::EHOSTUNREACH), Some(partner)) => {
                OpenError::Lookup(LookupError::NoRoute { to: partner.ip() })
            }
            _ => failed("connect the socket to its partner", error),
        });
    }
    own_address(socket)
}

fn own_address(socket: BorrowedFd<'_>) -> Result<Option<SocketAddr>, OpenError> {
    let mut own = RawAddress::empty();
    let length = std::ptr::from_mut(own.length_mut());
    // SAFETY: address and length are valid for writes for the length of the call.
    if unsafe { libc::getsockname(socket.as_raw_fd(), own.as_mut_ptr(), length) } != 0 {
        return Err(failed("read the socket's own address", io::Error::last_os_error()));
    }
    Ok(own.to_internet())
}

/// Whether an address is link-local and does not say of which interface.
pub(super) fn lacks_scope(address: SocketAddr) -> bool {
    matches!(address, SocketAddr::V6(address) if address.scope_id() == 0 && address.ip().is_unicast_link_local())
}

pub(super) const fn failed(action: &'static str, error: io::Error) -> OpenError {
    OpenError::Failed { action, error }
}

/// A call of `sendmsg(2)`.
pub(super) struct Outgoing<'a> {
    pub(super) to: Option<&'a RawAddress>,
    /// Headers that the kernel does not build.
    pub(super) head: &'a [u8],
    pub(super) payload: &'a [u8],
    /// Start and length of whole control messages, or (null, 0).
    pub(super) control: (*const libc::c_void, usize),
}

impl Outgoing<'_> {
    /// Sends without blocking; the kernel's error number where it does not.
    #[inline]
    pub(super) fn send(&self, socket: BorrowedFd<'_>) -> Result<usize, i32> {
        let mut parts = [self.head, self.payload]
            .map(|part| libc::iovec { iov_base: part.as_ptr().cast_mut().cast(), iov_len: part.len() });
        let first = usize::from(self.head.is_empty());
        let parts = &mut parts[first..];
        let mut message = empty_message();
        if let Some(to) = self.to {
            (message.msg_name, message.msg_namelen) = (to.as_ptr().cast_mut().cast(), to.length());
        }
        (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), parts.len() as _);
        message.msg_control = self.control.0.cast_mut();
        set_control_length(&mut message, self.control.1);
        let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
        // SAFETY: name, payload and control messages are valid for reads of their lengths for the length of the call; the
        // kernel writes to none of them.
        let status = unsafe { libc::syscall(libc::SYS_sendmsg, socket.as_raw_fd(), &raw const message, flags) };
        usize::try_from(status).map_err(|_| last_errno())
    }
}

/// What a call of `recvmsg(2)` filled in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Incoming {
    pub(super) payload_bytes: usize,
    pub(super) control_bytes: usize,
    /// Whether payload or control messages did not fit.
    pub(super) is_cut: bool,
}

impl Incoming {
    /// Receives into memory of ours; the kernel's error number where it does not.
    #[inline]
    pub(super) fn receive(
        socket: RawFd,
        payload: &mut [u8],
        from: Option<&mut RawAddress>,
        control: &mut Room,
        flags: libc::c_int,
    ) -> Result<Self, i32> {
        let mut part = libc::iovec { iov_base: payload.as_mut_ptr().cast(), iov_len: payload.len() };
        let mut message = empty_message();
        if let Some(from) = from {
            from.forget();
            message.msg_namelen = super::address::SIZE;
            message.msg_name = from.as_mut_ptr().cast();
        }
        (message.msg_iov, message.msg_iovlen) = (&raw mut part, 1);
        message.msg_control = control.as_mut_ptr();
        set_control_length(&mut message, Room::BYTES);
        // SAFETY: name, payload and control room are valid for writes of their lengths for the length of the call, and
        // nothing else refers to them.
        let status = unsafe { libc::syscall(libc::SYS_recvmsg, socket, &raw mut message, flags) };
        let payload_bytes = usize::try_from(status).map_err(|_| last_errno())?;
        Ok(Self {
            payload_bytes,
            control_bytes: control_length(&message),
            is_cut: message.msg_flags & (libc::MSG_TRUNC | libc::MSG_CTRUNC) != 0,
        })
    }
}

/// Padding is zero too, where the kernel's lengths are longer than the C library's. The calls are made without the C library's own
/// functions: those take several times the instructions, since a thread may be canceled in them.
#[inline]
const fn empty_message() -> libc::msghdr {
    // SAFETY: null pointers and zero lengths are a value of this structure: nothing of each.
    unsafe { std::mem::zeroed() }
}

#[allow(clippy::cast_possible_truncation, clippy::unnecessary_cast, reason = "the type differs by C library")]
#[inline]
const fn set_control_length(message: &mut libc::msghdr, bytes: usize) {
    message.msg_controllen = bytes as _;
}

#[allow(clippy::unnecessary_cast, reason = "the type differs by C library")]
#[inline]
const fn control_length(message: &libc::msghdr) -> usize {
    message.msg_controllen as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_structure_of_launch_times_is_the_kernel_s() {
        assert_eq!(size_of::<TxTime>(), 8);
    }

    #[test]
    fn what_is_out_of_range_is_refused_with_the_range() {
        let socket = open(libc::AF_INET, libc::SOCK_DGRAM, 0).unwrap();
        let options = SocketOptions { dscp: Some(64), ..SocketOptions::default() };
        let error = options.apply(socket.as_fd(), libc::AF_INET).unwrap_err().to_string();
        assert_eq!(error, "DSCP 64 is out of range: 0 to 63 (RFC 2474)");
    }

    #[test]
    fn options_are_set_and_the_priority_survives_the_dscp() {
        let socket = open(libc::AF_INET, libc::SOCK_DGRAM, 0).unwrap();
        let options = SocketOptions {
            priority: Some(5),
            dscp: Some(46),
            receive_buffer_bytes: Some(100_000),
            ..SocketOptions::default()
        };
        options.apply(socket.as_fd(), libc::AF_INET).unwrap();
        assert_eq!(get::<libc::c_int>(socket.as_fd(), libc::SOL_SOCKET, libc::SO_PRIORITY), Some(5));
        assert_eq!(get::<libc::c_int>(socket.as_fd(), libc::IPPROTO_IP, libc::IP_TOS), Some(46 << 2));
        assert_eq!(receive_buffer_bytes(socket.as_fd()), 100_000);
        assert_eq!(dropped(socket.as_fd()), 0);
    }

    #[test]
    fn an_interface_that_does_not_exist_is_named() {
        let socket = open(libc::AF_INET, libc::SOCK_DGRAM, 0).unwrap();
        for name in ["", "none0", "longer-than-names-are"] {
            let error = bind_to_device(socket.as_fd(), name).unwrap_err();
            assert!(matches!(&error, OpenError::NoInterface { interface } if interface == name), "{error}");
        }
    }
}
