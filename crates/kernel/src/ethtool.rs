//! What network drivers answer to ethtool's questions, over the `SIOCETHTOOL` call.
//!
//! Questions only: nothing here changes a setting, and none of them needs a right.
//! The structures are those of `include/uapi/linux/ethtool.h`, which the kernel keeps forever.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// `SIOCETHTOOL`, include/uapi/linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
/// `ETHTOOL_GCOALESCE`.
const GET_COALESCE: u32 = 0x0e;
/// `ETHTOOL_GCHANNELS`.
const GET_CHANNELS: u32 = 0x3c;
/// `ETHTOOL_GET_TS_INFO`.
const GET_TS_INFO: u32 = 0x41;
/// `ETHTOOL_GEEE`.
const GET_EEE: u32 = 0x44;

/// `struct ethtool_ts_info`: where packets can be stamped.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TsInfo {
    cmd: u32,
    /// `SOF_TIMESTAMPING_*` bits (include/uapi/linux/net_tstamp.h).
    pub so_timestamping: u32,
    /// N of /dev/ptpN, -1 where there is none.
    pub phc_index: i32,
    /// One bit for each `HWTSTAMP_TX_*` value.
    pub tx_types: u32,
    tx_reserved: [u32; 3],
    /// One bit for each `HWTSTAMP_FILTER_*` value.
    pub rx_filters: u32,
    rx_reserved: [u32; 3],
}

/// `struct ethtool_coalesce`: how interrupts are gathered.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Coalesce {
    cmd: u32,
    /// Longest wait of a received packet, in microseconds.
    pub rx_us: u32,
    /// Received packets that may wait.
    pub rx_frame_count: u32,
    rx_us_irq: u32,
    rx_frame_count_irq: u32,
    /// Longest wait of a sent packet's completion, in microseconds.
    pub tx_us: u32,
    /// Completions that may wait.
    pub tx_frame_count: u32,
    tx_us_irq: u32,
    tx_frame_count_irq: u32,
    stats_block_us: u32,
    /// Not 0 where the driver changes the receive values by itself.
    pub adaptive_rx: u32,
    /// Not 0 where the driver changes the transmit values by itself.
    pub adaptive_tx: u32,
    // Values for low and high packet rates, and the rate's sampling interval, which only adaptive drivers use.
    by_rate: [u32; 11],
}

/// `struct ethtool_channels`: queues of each kind.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelCounts {
    cmd: u32,
    /// Receive only, at most.
    pub rx_max_count: u32,
    /// Transmit only, at most.
    pub tx_max_count: u32,
    other_max_count: u32,
    /// Both ways, at most.
    pub combined_max_count: u32,
    /// Receive only, in use.
    pub rx_count: u32,
    /// Transmit only, in use.
    pub tx_count: u32,
    other_count: u32,
    /// Both ways, in use.
    pub combined_count: u32,
}

/// `struct ethtool_eee`: Energy-Efficient Ethernet.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Eee {
    cmd: u32,
    supported: u32,
    advertised: u32,
    peer_advertised: u32,
    /// Not 0 where both ends agreed.
    pub active: u32,
    /// Not 0 where it is offered to the peer.
    pub enabled: u32,
    /// Not 0 where the transmitter may sleep.
    pub tx_lpi_enabled: u32,
    /// How long the transmitter idles before it sleeps, in microseconds.
    pub tx_lpi_timer_us: u32,
    reserved: [u32; 2],
}

/// A socket to ask through; it carries no packets.
#[derive(Debug)]
pub struct Ethtool {
    socket: OwnedFd,
}

impl Ethtool {
    /// Opens the socket.
    ///
    /// # Errors
    /// Where the kernel has no IPv4 or the process may open no more files.
    pub fn open() -> io::Result<Self> {
        // SAFETY: the call takes three numbers and touches no memory of ours.
        let fd = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: the descriptor was just opened, is not negative, and nobody else owns it.
        Ok(Self { socket: unsafe { OwnedFd::from_raw_fd(fd) } })
    }

    /// Where an interface can stamp packets.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`) or its driver has no answer (`EOPNOTSUPP`).
    pub fn ts_info(&self, interface: &str) -> io::Result<TsInfo> {
        let mut answer = TsInfo { cmd: GET_TS_INFO, ..TsInfo::default() };
        self.ask(interface, &mut answer)?;
        Ok(answer)
    }

    /// How an interface gathers interrupts.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`) or its driver has no answer (`EOPNOTSUPP`).
    pub fn coalesce(&self, interface: &str) -> io::Result<Coalesce> {
        let mut answer = Coalesce { cmd: GET_COALESCE, ..Coalesce::default() };
        self.ask(interface, &mut answer)?;
        Ok(answer)
    }

    /// How many queues an interface has.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`) or its driver has no answer (`EOPNOTSUPP`).
    pub fn channels(&self, interface: &str) -> io::Result<ChannelCounts> {
        let mut answer = ChannelCounts { cmd: GET_CHANNELS, ..ChannelCounts::default() };
        self.ask(interface, &mut answer)?;
        Ok(answer)
    }

    /// Whether an interface saves energy between packets.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`) or its driver has no answer (`EOPNOTSUPP`).
    pub fn eee(&self, interface: &str) -> io::Result<Eee> {
        let mut answer = Eee { cmd: GET_EEE, ..Eee::default() };
        self.ask(interface, &mut answer)?;
        Ok(answer)
    }

    fn ask<T: Question>(&self, interface: &str, question: &mut T) -> io::Result<()> {
        let name = interface.as_bytes();
        // The kernel's names end in a NUL (IFNAMSIZ counts it).
        if name.is_empty() || name.len() >= libc::IFNAMSIZ || name.contains(&0) {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let mut ifr_name = [0; libc::IFNAMSIZ];
        for (to, &from) in ifr_name.iter_mut().zip(name) {
            *to = libc::c_char::from_ne_bytes([from]);
        }
        let data = std::ptr::from_mut(question).cast::<libc::c_char>();
        let mut request = libc::ifreq { ifr_name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_data: data } };
        // SAFETY: `request` and the structure that it points to live until the call returns, nothing else refers to
        // them meanwhile, and `Question` promises that the structure has the size that the kernel writes.
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), SIOCETHTOOL, &raw mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// A structure that begins with its command number and is exactly as long as the kernel's answer to it.
trait Question {}
impl Question for TsInfo {}
impl Question for Coalesce {}
impl Question for ChannelCounts {}
impl Question for Eee {}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn sizes_are_the_kernel_s() {
        assert_eq!(size_of::<TsInfo>(), 44);
        assert_eq!(size_of::<Coalesce>(), 92);
        assert_eq!(size_of::<ChannelCounts>(), 36);
        assert_eq!(size_of::<Eee>(), 40);
    }

    #[test]
    fn offsets_are_the_kernel_s() {
        assert_eq!(offset_of!(TsInfo, phc_index), 8);
        assert_eq!(offset_of!(TsInfo, rx_filters), 28);
        assert_eq!(offset_of!(Coalesce, tx_us), 20);
        assert_eq!(offset_of!(Coalesce, adaptive_rx), 40);
        assert_eq!(offset_of!(ChannelCounts, combined_count), 32);
        assert_eq!(offset_of!(Eee, enabled), 20);
        assert_eq!(offset_of!(Eee, tx_lpi_timer_us), 28);
    }

    #[test]
    fn impossible_names_are_refused_before_the_call() {
        let ethtool = Ethtool::open().unwrap();
        for name in ["", "sixteen-letters!", "a\0b"] {
            assert_eq!(ethtool.ts_info(name).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{name:?}");
        }
    }
}
