//! Time services as something that is wanted of a node: which protocol, in which role, on which interfaces. From it follow
//! the configuration of linuxptp or chrony, and the units of systemd's that run them: files of this program's own, in folders
//! that a restart of the machine empties. What the user or the distribution configured is not rewritten.

mod chrony;
mod leap_seconds;
mod ptp4l;
mod unit;

use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::Place;

pub use self::leap_seconds::LEAP_SECOND_FILES;
pub(crate) use self::leap_seconds::{NoTai, StatedTai, day};
pub(crate) use self::unit::Service;

/// Folder of the configuration that is written here.
pub(crate) const FOLDER: &str = "/run/punctual/time";
/// Folder of units that are gone with the next start of the machine (systemd.unit(5)).
const UNITS: &str = "/run/systemd/system";
/// The socket that ptp4l sends its raw time stamps to, as `punctual measure sync` expects it.
const EVENTS: &str = "/run/ptp4l-events";

/// The protocol, and how it is spoken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeProfile {
    /// IEEE 802.1AS over Ethernet, with peer-to-peer delays.
    Gptp,
    /// The default profile of IEEE 1588 (annex I.3, delay request and response) over UDP.
    PtpUdp,
    /// The same over Ethernet.
    PtpEthernet,
    /// NTP, by chrony.
    Ntp,
}

impl TimeProfile {
    /// All of them, by the names that users type.
    pub const ALL: [(&'static str, Self); 4] =
        [("gptp", Self::Gptp), ("ptp-udp", Self::PtpUdp), ("ptp-ethernet", Self::PtpEthernet), ("ntp", Self::Ntp)];

    /// Whether linuxptp speaks it.
    #[must_use]
    pub fn is_ptp(self) -> bool {
        self != Self::Ntp
    }
}

/// The part of a node in the distribution of time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TimeRole {
    /// It follows others, and never gives the time: a PTP slave, an NTP client.
    #[default]
    Follow,
    /// It gives the time from its system clock: a PTP grand master, an NTP server.
    Give,
    /// Whichever the best master clock algorithm decides; PTP alone.
    BestMaster,
}

impl TimeRole {
    /// All of them, by the names that users type; each protocol has its own words.
    pub const ALL: [(&'static str, Self); 7] = [
        ("follow", Self::Follow),
        ("slave", Self::Follow),
        ("client", Self::Follow),
        ("give", Self::Give),
        ("master", Self::Give),
        ("server", Self::Give),
        ("best-master", Self::BestMaster),
    ];
}

/// Where packets are stamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stamps {
    /// In hardware if every interface can, else in software.
    #[default]
    Auto,
    /// In hardware; a conflict if an interface cannot.
    Hardware,
    /// In software, by the kernel.
    Software,
}

/// The wanted time service: the part `[time]` of an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct TimeIntent {
    /// The protocol, and how it is spoken.
    pub profile: TimeProfile,
    /// The part of this node.
    #[serde(default, with = "role_words", skip_serializing_if = "is_default")]
    pub role: TimeRole,
    /// Network interfaces: one for each port of PTP; with NTP those that stamp in hardware.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<String>,
    /// Domain of PTP, 0 to 127.
    #[serde(default, skip_serializing_if = "is_default")]
    pub domain: u8,
    /// Where packets are stamped.
    #[serde(default, skip_serializing_if = "is_default")]
    pub stamps: Stamps,
    /// Whether the system clock follows as well, where the card has a clock of its own; true unless it is set to false.
    #[serde(default = "yes", skip_serializing_if = "Clone::clone")]
    pub system_clock: bool,
    /// TAI less UTC (s, 0 to 255), by which the kernel's CLOCK_TAI is to be ahead; without it what the machine's list of leap
    /// seconds states.
    #[serde(default, rename = "tai-less-utc", skip_serializing_if = "Option::is_none")]
    pub tai_less_utc_s: Option<u8>,
    /// Servers of NTP, by name or address.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// Networks whose clients an NTP server answers, as `192.168.1.0/24`; without one it answers all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allow: Vec<String>,
    /// Priority of the services in the class SCHED_FIFO, 1 to 99; without it they are ordinary processes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<u8>,
    /// CPUs that the services run on; without it those that are not isolated.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuSet>,
}

const fn yes() -> bool {
    true
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A role is written by any of its words.
mod role_words {
    use serde::de::Error as _;
    use serde::{Deserialize as _, Deserializer, Serializer};

    use super::TimeRole;

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    pub(super) fn serialize<S: Serializer>(role: &TimeRole, to: S) -> Result<S::Ok, S::Error> {
        let word = TimeRole::ALL.iter().find(|(_, one)| one == role).map_or("follow", |(word, _)| word);
        to.serialize_str(word)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<TimeRole, D::Error> {
        let word = String::deserialize(from)?;
        let known = TimeRole::ALL.iter().find(|(name, _)| *name == word);
        known.map(|(_, role)| *role).ok_or_else(|| {
            let words: Vec<&str> = TimeRole::ALL.iter().map(|(name, _)| *name).collect();
            D::Error::custom(format!("unknown role '{word}', expected one of {}", words.join(", ")))
        })
    }
}

impl TimeIntent {
    /// A node that follows by a protocol, with nothing else decided.
    #[must_use]
    pub const fn new(profile: TimeProfile) -> Self {
        Self {
            profile,
            role: TimeRole::Follow,
            interfaces: Vec::new(),
            domain: 0,
            stamps: Stamps::Auto,
            system_clock: true,
            tai_less_utc_s: None,
            servers: Vec::new(),
            allow: Vec::new(),
            priority: None,
            cpus: None,
        }
    }

    /// TAI less UTC (s): as wanted, else as a list of leap seconds states it; `None` where neither is there.
    pub(crate) fn known_tai_s(&self, site: &TimeSite) -> Option<u8> {
        self.tai_less_utc_s.or_else(|| site.stated_tai().ok().map(|stated| stated.tai_less_utc_s))
    }

    /// Whether a service of it corrects the system clock, so that no other one may.
    #[must_use]
    pub(crate) fn steers_system_clock(&self, in_hardware: bool) -> bool {
        match self.profile {
            TimeProfile::Ntp => self.role != TimeRole::Give || !self.servers.is_empty(),
            _ => self.role != TimeRole::Give && (!in_hardware || self.system_clock),
        }
    }
}

/// What a node has of time services.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimeSite {
    /// Paths of the programs that are installed.
    pub programs: Vec<String>,
    /// Network interfaces, virtual ones too.
    pub interfaces: Vec<String>,
    /// Processes that give or take time.
    pub running: Vec<RunningService>,
    /// Lists of leap seconds ([`LEAP_SECOND_FILES`]): path and text of each that is there.
    pub leap_seconds: Vec<(String, String)>,
    /// The time of the system clock (s since 1970, UTC), by which an expired list is known.
    pub now_s: i64,
}

/// A process that gives or takes time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningService {
    /// Number of the process.
    pub pid: u32,
    /// Name of the process, of which the kernel keeps 15 characters.
    pub comm: String,
    /// Unit of systemd's that it belongs to.
    pub unit: Option<String>,
    /// Whether it is in another network namespace than this program.
    pub is_elsewhere: bool,
}

/// Programs that this plans for, with the places where distributions install them.
const PROGRAMS: [(&str, &str); 3] = [("ptp4l", "linuxptp"), ("phc2sys", "linuxptp"), ("chronyd", "chrony")];
/// Folders of programs of the system.
pub const PROGRAM_FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/local/sbin", "/usr/bin", "/usr/local/bin"];
/// Processes that may steer a clock, as the kernel names them.
pub const STEERING: [&str; 9] =
    ["chronyd", "ntpd", "openntpd", "systemd-timesyn", "ptp4l", "phc2sys", "ts2phc", "timemaster", "ptpd"];
/// Units that distributions run them by; `*` stands for the name of an instance.
const STEERING_UNITS: [&str; 16] = [
    "chrony.service",
    "chronyd.service",
    "chronyd-restricted.service",
    "systemd-timesyncd.service",
    "ntp.service",
    "ntpd.service",
    "ntpsec.service",
    "openntpd.service",
    "ptp4l.service",
    "ptp4l@*.service",
    "phc2sys.service",
    "phc2sys@*.service",
    "ts2phc.service",
    "ts2phc@*.service",
    "timemaster.service",
    "ptpd.service",
];

impl TimeSite {
    /// Path of an installed program.
    pub(crate) fn program(&self, name: &str) -> Option<&str> {
        self.programs
            .iter()
            .map(String::as_str)
            .find(|path| path.rsplit_once('/').is_some_and(|(_, last)| last == name))
    }

    /// Package of Debian's that has a program.
    pub(crate) fn package(name: &str) -> &'static str {
        PROGRAMS.iter().find(|(program, _)| *program == name).map_or("linuxptp", |(_, package)| package)
    }

    /// What this machine's lists of leap seconds state now.
    pub(crate) fn stated_tai(&self) -> Result<StatedTai, NoTai> {
        leap_seconds::stated(&self.leap_seconds, self.now_s)
    }

    /// Paths at which the programs may be.
    pub fn candidates() -> impl Iterator<Item = String> {
        PROGRAMS.iter().flat_map(|(name, _)| PROGRAM_FOLDERS.iter().map(move |folder| format!("{folder}/{name}")))
    }
}

/// Whether a unit is one of a distribution's time services.
#[must_use]
pub(crate) fn is_steering_unit(unit: &str) -> bool {
    let is_plain = unit.chars().all(|c| c.is_ascii_alphanumeric() || "@._-\\:".contains(c));
    is_plain
        && STEERING_UNITS.iter().any(|known| match known.split_once('*') {
            Some((start, end)) => unit.len() > known.len() - 1 && unit.starts_with(start) && unit.ends_with(end),
            None => unit == *known,
        })
}

/// Whether a unit is one that is written here.
#[must_use]
pub fn is_own_unit(unit: &str) -> bool {
    Service::ALL.iter().any(|service| service.unit() == unit)
}

/// Whether a place is a file that is written here.
pub(crate) fn is_place(place: &Place) -> bool {
    matches!(place, Place::File { path } if Service::ALL.iter().any(|service| {
        service.unit_path() == *path || service.configuration_path().is_some_and(|file| file == *path)
    }))
}
