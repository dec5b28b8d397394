//! Programs that concern themselves with a clock of the machine, and what each was started with.
//!
//! All time namespaces share the system clock, `CLOCK_REALTIME`: a program in a container steers the same clock as one
//! outside of it, if it has the right to. What a program calls `eth0` is an interface of its own network namespace.

use crate::time_config::chrony::{Arguments, Configuration, MakeStep};
use crate::time_config::{Program, Settings};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ptp_state::PtpState;

/// Names of such programs, cut to the 15 characters that the kernel keeps (TASK_COMM_LEN).
pub const WATCHED: [&str; 15] = [
    "VBoxService",
    "chronyd",
    "ntp-daemon",
    "ntpd",
    "phc2sys",
    "ptp4l",
    "ptpd",
    "ptpd2",
    "qemu-ga",
    "sfptpd",
    "sptp",
    "systemd-timesyn",
    "timemaster",
    "ts2phc",
    "vmtoolsd",
];

/// A running program that concerns itself with a clock.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TimeProgram {
    /// Its name, cut to 15 characters.
    pub name: String,
    /// Whether the kernel lets it set the system clock: CAP_SYS_TIME, outside of user namespaces.
    pub may_set_system_clock: Option<bool>,
    /// Whether its network interfaces are those of this profile.
    pub shares_network: Option<bool>,
    /// The configuration file that was read, or `command line`.
    pub configuration: Option<String>,
    /// What it was started with; absent where that is not known.
    pub settings: Option<TimeSettings>,
    /// What a ptp4l says of itself; absent where it was not asked, or did not answer.
    pub ptp: Option<PtpState>,
}

/// What a program was started with, as far as it decides which clock it corrects and how.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "program", rename_all = "kebab-case")]
pub enum TimeSettings {
    /// ptp4l of linuxptp.
    Ptp4l(Ptp4l),
    /// phc2sys of linuxptp.
    Phc2sys(Phc2sys),
    /// ts2phc of linuxptp.
    Ts2phc(Ts2phc),
    /// chronyd of chrony.
    Chronyd(Chronyd),
    /// ntpd, whoever's it is.
    Ntpd(Ntpd),
}

/// Where ptp4l's packets are stamped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PtpStamps {
    /// In the network card, in one of several modes: the clock that is steered is the card's.
    #[default]
    Hardware,
    /// In the kernel: the clock that is steered is the system clock.
    Software,
}

/// Settings of a ptp4l, with the defaults of linuxptp 3.1 to 4.4 for what is not stated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ptp4l {
    /// Where packets are stamped (`time_stamping`).
    pub stamps: PtpStamps,
    /// Its ports.
    pub ports: Vec<PtpPort>,
    /// Whether it measures and corrects nothing (`free_running`).
    pub free_running: bool,
    /// Whether it is never a grand master (`clientOnly`, before 4.0 `slaveOnly`).
    pub client_only: bool,
    /// Whether it only passes messages on (`clock_type` P2P_TC or E2E_TC).
    pub is_transparent: bool,
    /// The servo (`clock_servo`): `ntpshm`, `refclock_sock` and `nullf` steer no clock.
    pub servo: String,
    /// The offset from which on it steps the clock while it runs (`step_threshold`), in nanoseconds; 0 for never.
    pub step_threshold_ns: u64,
    /// Whether it sends what IEEE 802.1AS adds, and has its ports checked for `asCapable` (`follow_up_info`).
    pub is_802_1as: bool,
}

/// A port of a ptp4l.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PtpPort {
    /// The network interface.
    pub interface: String,
    /// Whether it never follows another clock (`serverOnly`, before 4.0 `masterOnly`).
    pub server_only: bool,
    /// Whether the delay of the link is measured between neighbors (`delay_mechanism` P2P).
    pub is_peer_to_peer: bool,
    /// The longest delay of the link with which the port takes part (`neighborPropDelayThresh`), in nanoseconds.
    pub neighbor_delay_threshold_ns: u64,
    /// Whether the checks for `asCapable` are left out (`asCapable true`).
    pub skips_checks: bool,
    /// Whether another hardware clock than the interface's own is used (`phc_index`, or the option `-p`).
    pub has_other_clock: bool,
}

/// Settings of a phc2sys, with the defaults of linuxptp 3.1 to 4.4 for what is not stated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Phc2sys {
    /// Whether clocks and directions come from ptp4l (`-a`).
    pub automatic: bool,
    /// What the system clock is in automatic mode: 0 left alone, 1 steered, 2 steered or a source (`-r`, `-rr`).
    pub system_clock: u8,
    /// The clock that is followed (`-s`): a device, an interface or `CLOCK_REALTIME`.
    pub source: Option<String>,
    /// The clocks that are steered (`-c`); the system clock unless stated.
    pub sinks: Vec<String>,
    /// Whether it follows a pulse per second (`-d`).
    pub is_pulse: bool,
    /// The servo (`clock_servo`): `ntpshm` and `refclock_sock` steer no clock.
    pub servo: String,
    /// The offset from which on it steps the clock while it runs (`-S`), in nanoseconds; 0 for never.
    pub step_threshold_ns: u64,
    /// The stated difference of the two clocks' time scales (`-O`), in seconds.
    pub stated_offset_s: Option<i64>,
}

/// Settings of a ts2phc.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ts2phc {
    /// The hardware clocks that it steers (`-c`, and sections of its configuration): devices or interfaces.
    pub sinks: Vec<String>,
    /// Whether clocks and directions come from ptp4l (`-a`).
    pub automatic: bool,
}

/// Settings of a chronyd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Chronyd {
    /// Whether it may correct the system clock: not with `-x`.
    pub corrects_clock: bool,
    /// The correction from which on it steps the clock (`makestep`), in nanoseconds; absent where it never does.
    pub step_threshold_ns: Option<u64>,
    /// In how many updates after its start it may step; below 0 in all of them.
    pub step_limit: i64,
    /// Interfaces whose packets are to be stamped in hardware (`hwtimestamp`); `*` for all that can.
    pub hardware_stamps: Vec<String>,
    /// The hardware clocks that it follows (`refclock PHC`).
    pub hardware_clocks: Vec<FollowedPhc>,
}

/// A hardware clock that chronyd follows.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct FollowedPhc {
    /// The device: `/dev/ptp0`.
    pub device: String,
    /// Whether its seconds are taken as they are, as UTC: not with `tai`, `pps`, or an `offset` of a second and more.
    pub is_taken_for_utc: bool,
}

/// Settings of an ntpd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Ntpd {
    /// Whether its configuration keeps it from correcting the system clock (`disable ntp`).
    pub is_disabled: bool,
}

/// Whether a program steers a clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Steering {
    /// It does not.
    No,
    /// That is not known.
    Unknown,
    /// It does while it follows another clock, which it may never do.
    WhileFollowing,
    /// It is set to.
    Yes,
}

/// Servos of linuxptp that correct no clock.
const PASSIVE_SERVOS: [&str; 3] = ["ntpshm", "refclock_sock", "nullf"];
/// The name of the system clock among clocks of linuxptp.
pub const SYSTEM_CLOCK: &str = "CLOCK_REALTIME";

impl TimeProgram {
    /// The program's name as people know it, without the kernel's cut.
    #[must_use]
    pub fn full_name(&self) -> &str {
        if self.name == "systemd-timesyn" { "systemd-timesyncd" } else { &self.name }
    }

    /// Where its settings were read, for evidence.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.configuration {
            Some(file) => format!("{}, {file}", self.full_name()),
            None => format!("running programs, {}", self.full_name()),
        }
    }

    /// Whether it steers the system clock.
    #[must_use]
    pub fn steers_system_clock(&self) -> Steering {
        if self.may_set_system_clock == Some(false) {
            return Steering::No;
        }
        match &self.settings {
            Some(TimeSettings::Ptp4l(ptp4l)) if ptp4l.stamps == PtpStamps::Software => ptp4l.steers(),
            Some(TimeSettings::Ptp4l(_) | TimeSettings::Ts2phc(_)) => Steering::No,
            Some(TimeSettings::Phc2sys(phc2sys)) => phc2sys.steers_system_clock(),
            Some(TimeSettings::Chronyd(chronyd)) if chronyd.corrects_clock => Steering::Yes,
            Some(TimeSettings::Ntpd(ntpd)) if !ntpd.is_disabled => Steering::Yes,
            Some(TimeSettings::Chronyd(_) | TimeSettings::Ntpd(_)) => Steering::No,
            None => match self.name.as_str() {
                "systemd-timesyn" | "ntp-daemon" => Steering::Yes,
                "chronyd" | "ntpd" | "phc2sys" | "ptp4l" | "ptpd" | "ptpd2" | "sfptpd" => Steering::Unknown,
                // timemaster starts others, ts2phc and sptp steer hardware clocks, and agents act on orders.
                _ => Steering::No,
            },
        }
    }
}

impl Ptp4l {
    /// Whether it steers the clock of its stamps.
    #[must_use]
    pub fn steers(&self) -> Steering {
        let serves_alone = !self.ports.is_empty() && self.ports.iter().all(|port| port.server_only);
        if self.free_running || PASSIVE_SERVOS.contains(&self.servo.as_str()) || serves_alone {
            Steering::No
        } else if self.is_transparent {
            Steering::Unknown
        } else if self.client_only {
            Steering::Yes
        } else {
            Steering::WhileFollowing
        }
    }

    /// From its arguments and configuration.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        const SOFTWARE: [&str; 2] = ["software", "SOFTWARE"];
        let flag = |names: &[&str]| settings.named(names).is_some_and(is_on);
        let stated = settings.named(&["time_stamping"]).is_some_and(|word| SOFTWARE.contains(&word));
        // Of -S and -H the last counts, which one cannot see here; nobody gives both.
        let is_software = settings.count('S') > 0 || (settings.count('H') == 0 && stated);
        let mut interfaces: Vec<String> = settings.values('i').map(str::to_owned).collect();
        // Tables of other kinds stand in sections of their own.
        let ports = settings.sections().filter(|name| !name.contains("table") && !name.contains("association"));
        interfaces.extend(ports.map(str::to_owned));
        interfaces.sort();
        interfaces.dedup();
        let letter_p2p = settings.count('P') > 0;
        let port = |interface: &String| {
            let named = |names: &[&str]| settings.named_for(interface, names);
            let mechanism = named(&["delay_mechanism"]).map(str::to_ascii_uppercase);
            PtpPort {
                server_only: named(&["serverOnly", "masterOnly"]).is_some_and(is_on),
                is_peer_to_peer: letter_p2p
                    || settings.count('E') + settings.count('A') == 0 && mechanism.as_deref() == Some("P2P"),
                neighbor_delay_threshold_ns: named(&["neighborPropDelayThresh"])
                    .and_then(|value| value.parse().ok())
                    .unwrap_or(20_000_000),
                skips_checks: named(&["asCapable"]) == Some("true"),
                has_other_clock: settings.value('p').is_some()
                    || named(&["phc_index"]).is_some_and(|index| index != "-1"),
                interface: interface.clone(),
            }
        };
        Self {
            stamps: if is_software { PtpStamps::Software } else { PtpStamps::Hardware },
            ports: interfaces.iter().map(port).collect(),
            free_running: flag(&["free_running"]),
            client_only: settings.count('s') > 0 || flag(&["clientOnly", "slaveOnly"]),
            is_transparent: settings.named(&["clock_type"]).is_some_and(|kind| kind.ends_with("TC")),
            servo: settings.named(&["clock_servo"]).unwrap_or("pi").to_owned(),
            step_threshold_ns: settings.named(&["step_threshold", "pi_offset_const"]).map_or(0, ns_of_seconds),
            is_802_1as: flag(&["follow_up_info"]),
        }
    }
}

impl Phc2sys {
    /// Whether it corrects any clock, and not only passes on what it measured.
    #[must_use]
    pub fn steers_any(&self) -> bool {
        !PASSIVE_SERVOS.contains(&self.servo.as_str())
    }

    fn steers_system_clock(&self) -> Steering {
        if !self.steers_any() {
            return Steering::No;
        }
        match (self.automatic, self.system_clock) {
            (true, 0) => Steering::No,
            (true, 1) => Steering::Yes,
            // Where ptp4l is a grand master, the system clock is the source.
            (true, _) => Steering::WhileFollowing,
            (false, _) if self.sinks.iter().any(|sink| sink == SYSTEM_CLOCK) => Steering::Yes,
            (false, _) => Steering::No,
        }
    }

    /// From its arguments and configuration.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        let mut sinks: Vec<String> = settings.values('c').map(str::to_owned).collect();
        let automatic = settings.count('a') > 0;
        if sinks.is_empty() && !automatic {
            sinks.push(SYSTEM_CLOCK.to_owned());
        }
        let step = settings.value('S').or_else(|| settings.named(&["step_threshold", "pi_offset_const"]));
        Self {
            automatic,
            system_clock: u8::try_from(settings.count('r').min(2)).unwrap_or(2),
            source: settings.value('s').or_else(|| settings.value('i')).map(str::to_owned),
            sinks,
            is_pulse: settings.value('d').is_some(),
            servo: settings
                .value('E')
                .or_else(|| settings.named(&["clock_servo"]))
                .unwrap_or("pi")
                .to_ascii_lowercase(),
            step_threshold_ns: step.map_or(0, ns_of_seconds),
            stated_offset_s: settings.value('O').and_then(|value| value.parse().ok()),
        }
    }
}

impl Ts2phc {
    /// From its arguments and configuration.
    #[must_use]
    pub fn from_settings(settings: &Settings) -> Self {
        let is_source = |section: &str| {
            settings.named_for(section, &["ts2phc.master", "ts2phc.source"]).is_some_and(is_on)
                || settings.value('s') == Some(section)
        };
        let sections = settings.sections().filter(|section| !is_source(section));
        let mut sinks: Vec<String> = settings.values('c').chain(sections).map(str::to_owned).collect();
        sinks.sort();
        sinks.dedup();
        Self { sinks, automatic: settings.count('a') > 0 }
    }
}

impl Chronyd {
    /// From its arguments, and the directives of its files and of its command line.
    #[must_use]
    pub fn from_configuration(arguments: &Arguments, read: &Configuration) -> Self {
        let followed = read
            .reference_clocks
            .iter()
            .filter(|clock| clock.driver == "PHC" && !clock.stamps_pulses && !clock.is_not_selected);
        let step = read.make_step.filter(|step| step.limit != 0);
        Self {
            corrects_clock: arguments.corrects_clock,
            step_threshold_ns: step.map(|MakeStep { threshold_s, .. }| ns(threshold_s)),
            step_limit: step.map_or(0, |step| step.limit),
            hardware_stamps: read.hardware_stamps.clone(),
            hardware_clocks: followed
                .map(|clock| FollowedPhc {
                    device: clock.parameter.clone(),
                    is_taken_for_utc: !clock.is_tai
                        && !clock.is_pulse
                        && clock.offset_s.is_none_or(|offset_s| offset_s.abs() < 1.0),
                })
                .collect(),
        }
    }
}

impl Ntpd {
    /// From its configuration file.
    #[must_use]
    pub fn from_file(text: &str) -> Self {
        let mut is_disabled = false;
        for line in text.lines() {
            let line = line.split('#').next().unwrap_or_default();
            let mut words = line.split_whitespace();
            match words.next() {
                Some("disable") if words.any(|word| word == "ntp") => is_disabled = true,
                Some("enable") if words.any(|word| word == "ntp") => is_disabled = false,
                _ => {}
            }
        }
        Self { is_disabled }
    }
}

/// The settings of a program of linuxptp by its name; `None` for another program.
#[must_use]
pub fn linuxptp(name: &str, arguments: &[String], file: Option<&str>) -> Option<TimeSettings> {
    let program = program(name)?;
    let mut settings = Settings::from_arguments(program, arguments);
    if let Some(text) = file {
        settings = settings.with_file(text);
    }
    Some(match program {
        Program::Ptp4l => TimeSettings::Ptp4l(Ptp4l::from_settings(&settings)),
        Program::Phc2sys => TimeSettings::Phc2sys(Phc2sys::from_settings(&settings)),
        Program::Ts2phc => TimeSettings::Ts2phc(Ts2phc::from_settings(&settings)),
    })
}

/// The program of linuxptp that has this name.
#[must_use]
pub fn program(name: &str) -> Option<Program> {
    match name {
        "ptp4l" => Some(Program::Ptp4l),
        "phc2sys" => Some(Program::Phc2sys),
        "ts2phc" => Some(Program::Ts2phc),
        _ => None,
    }
}

/// Reads what a capture stored of the programs (punctual/time/programs.json).
#[must_use]
pub fn parse(text: &str) -> Option<Vec<TimeProgram>> {
    serde_json::from_str(text).ok()
}

/// Whether a process has the right to set the system clock, from its `status` and `uid_map` under `/proc`.
///
/// The right is asked for in the first user namespace (`kernel/time/ntp.c`, `kernel/time/posix-timers.c`), and only there
/// all numbers of users stand for themselves.
#[must_use]
pub fn may_set_system_clock(status: &str, uid_map: &str) -> Option<bool> {
    /// CAP_SYS_TIME, include/uapi/linux/capability.h.
    const SYS_TIME: u64 = 1 << 25;
    let held = u64::from_str_radix(crate::text::keyed(status, ':', "CapEff")?, 16).ok()?;
    let is_first_namespace = crate::text::words(uid_map) == ["0", "0", "4294967295"];
    Some(held & SYS_TIME != 0 && is_first_namespace)
}

fn is_on(value: &str) -> bool {
    value.parse::<i64>().is_ok_and(|value| value != 0)
}

fn ns_of_seconds(text: &str) -> u64 {
    text.parse::<f64>().map_or(0, ns)
}

/// Seconds as nanoseconds; what is no length of time is none.
fn ns(seconds: f64) -> u64 {
    u64::try_from(std::time::Duration::try_from_secs_f64(seconds).unwrap_or_default().as_nanos()).unwrap_or(u64::MAX)
}
