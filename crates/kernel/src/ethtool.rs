//! What network drivers answer to ethtool's questions, and single settings of theirs, over the `SIOCETHTOOL` call.
//!
//! Questions need no right, settings CAP_NET_ADMIN.
//! The structures are those of `include/uapi/linux/ethtool.h`, which the kernel keeps forever.

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};

/// `ioctl` request of every ethtool command: `SIOCETHTOOL`, include/uapi/linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;
/// `ioctl` request that sets which packets the hardware stamps: `SIOCSHWTSTAMP`, the same header.
const SIOCSHWTSTAMP: libc::Ioctl = 0x89b0;
/// `ioctl` request that reads which packets the hardware stamps, since Linux 3.14: `SIOCGHWTSTAMP`, the same header.
const SIOCGHWTSTAMP: libc::Ioctl = 0x89b1;
/// Command that reads the driver's name: `ETHTOOL_GDRVINFO`.
const GET_DRIVER: u32 = 0x03;
/// Command that reads interrupt coalescing: `ETHTOOL_GCOALESCE`.
const GET_COALESCE: u32 = 0x0e;
/// Command that sets interrupt coalescing: `ETHTOOL_SCOALESCE`.
const SET_COALESCE: u32 = 0x0f;
/// Command that reads ring sizes: `ETHTOOL_GRINGPARAM`.
const GET_RINGS: u32 = 0x10;
/// Command that sets ring sizes: `ETHTOOL_SRINGPARAM`.
const SET_RINGS: u32 = 0x11;
/// Command that reads the number of channels: `ETHTOOL_GCHANNELS`.
const GET_CHANNELS: u32 = 0x3c;
/// Command that sets the number of channels: `ETHTOOL_SCHANNELS`.
const SET_CHANNELS: u32 = 0x3d;
/// Command that reads the supported time stamps: `ETHTOOL_GET_TS_INFO`.
const GET_TS_INFO: u32 = 0x41;
/// Command that reads Energy-Efficient Ethernet: `ETHTOOL_GEEE`.
const GET_EEE: u32 = 0x44;
/// Command that sets Energy-Efficient Ethernet: `ETHTOOL_SEEE`.
const SET_EEE: u32 = 0x45;

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

/// `struct ethtool_ringparam`: how many packets wait in a card's rings.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    cmd: u32,
    /// Received packets, at most.
    pub rx_max_count: u32,
    rx_mini_max_count: u32,
    rx_jumbo_max_count: u32,
    /// Packets to send, at most.
    pub tx_max_count: u32,
    /// Received packets that may wait.
    pub rx_count: u32,
    rx_mini_count: u32,
    rx_jumbo_count: u32,
    /// Packets to send that may wait.
    pub tx_count: u32,
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

/// `struct ethtool_drvinfo`, of which only the name is read.
#[repr(C)]
struct DriverInfo {
    cmd: u32,
    name: [u8; 32],
    rest: [u8; 160],
}

/// `struct hwtstamp_config`, include/uapi/linux/net_tstamp.h: flags, `HWTSTAMP_TX_*`, `HWTSTAMP_FILTER_*`.
#[repr(C)]
struct HardwareStampingConfig([i32; 3]);

/// One field of [`Coalesce`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoalesceField {
    /// How long a received packet may wait (us).
    RxUs,
    /// How many received packets may wait.
    RxFrames,
    /// How long a sent packet's completion may wait (us).
    TxUs,
    /// How many completions may wait.
    TxFrames,
    /// Whether the driver changes the receive values by itself.
    AdaptiveRx,
    /// Whether the driver changes the transmit values by itself.
    AdaptiveTx,
}

impl CoalesceField {
    const fn value_in(self, all: &mut Coalesce) -> &mut u32 {
        match self {
            Self::RxUs => &mut all.rx_us,
            Self::RxFrames => &mut all.rx_frame_count,
            Self::TxUs => &mut all.tx_us,
            Self::TxFrames => &mut all.tx_frame_count,
            Self::AdaptiveRx => &mut all.adaptive_rx,
            Self::AdaptiveTx => &mut all.adaptive_tx,
        }
    }
}

/// One field of [`Rings`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RingField {
    /// Slots for received packets.
    Rx,
    /// Slots for packets to send.
    Tx,
}

impl RingField {
    const fn value_in(self, all: &mut Rings) -> &mut u32 {
        match self {
            Self::Rx => &mut all.rx_count,
            Self::Tx => &mut all.tx_count,
        }
    }
}

/// One field of [`ChannelCounts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelField {
    /// Channels that only receive.
    Rx,
    /// Channels that only transmit.
    Tx,
    /// Channels that receive and transmit.
    Combined,
}

impl ChannelField {
    const fn value_in(self, all: &mut ChannelCounts) -> &mut u32 {
        match self {
            Self::Rx => &mut all.rx_count,
            Self::Tx => &mut all.tx_count,
            Self::Combined => &mut all.combined_count,
        }
    }
}

/// One setting of a driver's, as a number; switches are 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// How interrupts are gathered.
    Coalesce(CoalesceField),
    /// How long rings are.
    Ring(RingField),
    /// How many queues there are.
    Channels(ChannelField),
    /// Whether Energy-Efficient Ethernet is offered to the peer.
    EnergyEfficient,
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

    /// The name of an interface's driver.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`) or its driver has no answer (`EOPNOTSUPP`).
    pub fn driver(&self, interface: &str) -> io::Result<String> {
        let mut answer = DriverInfo { cmd: GET_DRIVER, name: [0; 32], rest: [0; 160] };
        self.ask(interface, &mut answer)?;
        let name = answer.name.split(|&byte| byte == 0).next().unwrap_or_default();
        Ok(String::from_utf8_lossy(name).into_owned())
    }

    /// Which packets an interface's hardware stamps at present: flags, `HWTSTAMP_TX_*`, `HWTSTAMP_FILTER_*`.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`) or its driver has no answer (`EOPNOTSUPP`).
    pub fn hardware_stamping(&self, interface: &str) -> io::Result<[i32; 3]> {
        let mut answer = HardwareStampingConfig([0; 3]);
        self.call(SIOCGHWTSTAMP, interface, &mut answer)?;
        Ok(answer.0)
    }

    /// Sets which packets an interface's hardware stamps: flags, `HWTSTAMP_TX_*`, `HWTSTAMP_FILTER_*`. Returns what the driver
    /// made of it: it may stamp more received packets than were asked for.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`), its driver cannot do that (`EOPNOTSUPP`, `ERANGE`), or the process may not
    /// (`EPERM`).
    pub fn set_hardware_stamping(&self, interface: &str, config: [i32; 3]) -> io::Result<[i32; 3]> {
        let mut question = HardwareStampingConfig(config);
        self.call(SIOCSHWTSTAMP, interface, &mut question)?;
        Ok(question.0)
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

    /// How long an interface's rings are.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`) or its driver has no answer (`EOPNOTSUPP`).
    pub fn rings(&self, interface: &str) -> io::Result<Rings> {
        let mut answer = Rings { cmd: GET_RINGS, ..Rings::default() };
        self.ask(interface, &mut answer)?;
        Ok(answer)
    }

    /// A single setting.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`) or its driver has no answer (`EOPNOTSUPP`).
    pub fn setting(&self, interface: &str, setting: Setting) -> io::Result<u32> {
        Ok(match setting {
            Setting::Coalesce(field) => *field.value_in(&mut self.coalesce(interface)?),
            Setting::Ring(field) => *field.value_in(&mut self.rings(interface)?),
            Setting::Channels(field) => *field.value_in(&mut self.channels(interface)?),
            Setting::EnergyEfficient => u32::from(self.eee(interface)?.enabled != 0),
        })
    }

    /// Changes a single setting. The kernel takes a structure as a whole, so what stands in it is read first and given
    /// back with that one field changed; someone who changes another field in between is overwritten.
    ///
    /// # Errors
    /// Where the interface is missing (`ENODEV`), its driver cannot change this (`EOPNOTSUPP`) or not to this value
    /// (`EINVAL`), or the process may not (`EPERM`).
    pub fn set(&self, interface: &str, setting: Setting, value: u32) -> io::Result<()> {
        match setting {
            Setting::Coalesce(field) => {
                let mut all = Coalesce { cmd: SET_COALESCE, ..self.coalesce(interface)? };
                *field.value_in(&mut all) = value;
                self.ask(interface, &mut all)
            }
            Setting::Ring(field) => {
                let mut all = Rings { cmd: SET_RINGS, ..self.rings(interface)? };
                *field.value_in(&mut all) = value;
                self.ask(interface, &mut all)
            }
            Setting::Channels(field) => {
                let mut all = ChannelCounts { cmd: SET_CHANNELS, ..self.channels(interface)? };
                *field.value_in(&mut all) = value;
                self.ask(interface, &mut all)
            }
            Setting::EnergyEfficient => {
                let mut all = Eee { cmd: SET_EEE, enabled: value, ..self.eee(interface)? };
                self.ask(interface, &mut all)
            }
        }
    }

    fn ask<T: Question>(&self, interface: &str, question: &mut T) -> io::Result<()> {
        self.call(SIOCETHTOOL, interface, question)
    }

    fn call<T: Question>(&self, request_number: libc::Ioctl, interface: &str, question: &mut T) -> io::Result<()> {
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
        let result = unsafe { libc::ioctl(self.socket.as_raw_fd(), request_number, &raw mut request) };
        if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// A structure that is exactly as long as the kernel's answer to its request, and where that is `SIOCETHTOOL` begins with
/// its command number.
trait Question {}
impl Question for TsInfo {}
impl Question for Coalesce {}
impl Question for Rings {}
impl Question for ChannelCounts {}
impl Question for Eee {}
impl Question for DriverInfo {}
impl Question for HardwareStampingConfig {}

#[cfg(test)]
mod tests {
    use std::mem::{offset_of, size_of};

    use super::*;

    #[test]
    fn sizes_are_the_kernel_s() {
        assert_eq!(size_of::<TsInfo>(), 44);
        assert_eq!(size_of::<Coalesce>(), 92);
        assert_eq!(size_of::<Rings>(), 36);
        assert_eq!(size_of::<ChannelCounts>(), 36);
        assert_eq!(size_of::<Eee>(), 40);
        assert_eq!(size_of::<DriverInfo>(), 196);
        assert_eq!(size_of::<HardwareStampingConfig>(), 12);
    }

    #[test]
    fn offsets_are_the_kernel_s() {
        assert_eq!(offset_of!(TsInfo, phc_index), 8);
        assert_eq!(offset_of!(TsInfo, rx_filters), 28);
        assert_eq!(offset_of!(Coalesce, tx_us), 20);
        assert_eq!(offset_of!(Coalesce, adaptive_rx), 40);
        assert_eq!(offset_of!(Rings, tx_max_count), 16);
        assert_eq!(offset_of!(Rings, tx_count), 32);
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

    /// A thread's own network namespace with a TAP device in it, which gathers by frames (drivers/net/tun.c) and whose
    /// settings nobody else sees; `None` where this process may not have one.
    fn with_tap<T: Send + 'static>(work: impl FnOnce(&str) -> T + Send + 'static) -> Option<T> {
        let in_own_space = move || {
            // SAFETY: the call takes one number; it changes this thread alone, which ends below.
            if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
                return None;
            }
            let device = std::fs::OpenOptions::new().read(true).write(true).open("/dev/net/tun").ok()?;
            let mut request: libc::ifreq = libc::ifreq {
                ifr_name: [0; libc::IFNAMSIZ],
                ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: libc::c_short::try_from(libc::IFF_TAP).ok()? },
            };
            // SAFETY: the structure lives until the call returns, and is as long as TUNSETIFF reads and writes.
            if unsafe { libc::ioctl(device.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &raw mut request) } < 0 {
                return None;
            }
            // The device goes with its file, the namespace with the thread.
            Some(work("tap0"))
        };
        std::thread::spawn(in_own_space).join().unwrap()
    }

    #[test]
    fn each_name_is_of_its_own_field() {
        let coalesce = |field: CoalesceField| {
            let mut all = Coalesce::default();
            *field.value_in(&mut all) = 7;
            all
        };
        let none = Coalesce::default();
        assert_eq!(coalesce(CoalesceField::RxUs), Coalesce { rx_us: 7, ..none });
        assert_eq!(coalesce(CoalesceField::RxFrames), Coalesce { rx_frame_count: 7, ..none });
        assert_eq!(coalesce(CoalesceField::TxUs), Coalesce { tx_us: 7, ..none });
        assert_eq!(coalesce(CoalesceField::TxFrames), Coalesce { tx_frame_count: 7, ..none });
        assert_eq!(coalesce(CoalesceField::AdaptiveRx), Coalesce { adaptive_rx: 7, ..none });
        assert_eq!(coalesce(CoalesceField::AdaptiveTx), Coalesce { adaptive_tx: 7, ..none });
        let mut rings = Rings::default();
        *RingField::Rx.value_in(&mut rings) = 1;
        *RingField::Tx.value_in(&mut rings) = 2;
        assert_eq!(rings, Rings { rx_count: 1, tx_count: 2, ..Rings::default() });
        let mut channels = ChannelCounts::default();
        *ChannelField::Rx.value_in(&mut channels) = 1;
        *ChannelField::Tx.value_in(&mut channels) = 2;
        *ChannelField::Combined.value_in(&mut channels) = 3;
        let expected = ChannelCounts { rx_count: 1, tx_count: 2, combined_count: 3, ..ChannelCounts::default() };
        assert_eq!(channels, expected);
    }

    #[test]
    fn one_field_is_set_and_the_others_stay() {
        let tried = with_tap(|tap| {
            let ethtool = Ethtool::open().unwrap();
            let frames = Setting::Coalesce(CoalesceField::RxFrames);
            let before = ethtool.coalesce(tap).unwrap();
            ethtool.set(tap, frames, 7).unwrap();
            assert_eq!(ethtool.setting(tap, frames).unwrap(), 7);
            assert_eq!(Coalesce { rx_frame_count: before.rx_frame_count, ..ethtool.coalesce(tap).unwrap() }, before);
            // It has no timer to gather by, and says so.
            let refused = ethtool.set(tap, Setting::Coalesce(CoalesceField::RxUs), 5).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::EOPNOTSUPP));
            let missing = ethtool.setting(tap, Setting::Ring(RingField::Rx)).unwrap_err();
            assert_eq!(missing.raw_os_error(), Some(libc::EOPNOTSUPP));
        });
        if tried.is_none() {
            eprintln!("not tried: no network namespace or no /dev/net/tun for this process");
        }
    }
}
