//! Findings about the system clock: who steers it, by how much at once, and what its time means.

use super::Rule;
use super::Severity::{Note, Warning};
use super::ptp::{clocks_of_ptp4l, phc_of};
use super::rule::Found;
use crate::Profile;
use crate::catalogue::{Checked, LINUX};
use crate::time::Leap;
use crate::time_program::{PtpStamps, SYSTEM_CLOCK, Steering, TimeProgram, TimeSettings};

const ADJTIMEX: &str = "adjtimex(2)";
const NS_PER_S: u64 = 1_000_000_000;

fn programs(profile: &Profile) -> &[TimeProgram] {
    &profile.services.time_programs
}

/// How a program steers the system clock, as evidence.
fn steering_words(program: &TimeProgram) -> (String, String) {
    let words = match program.steers_system_clock() {
        Steering::Yes => "is set to steer the system clock",
        Steering::WhileFollowing => "steers the system clock while it follows another clock",
        Steering::Unknown | Steering::No => "may steer the system clock; its settings were not read",
    };
    (program.place(), words.to_owned())
}

pub(super) static TWO_TIME_SERVICES: Rule = Rule {
    id: "two-time-services",
    title: "Several programs may steer the system clock",
    severities: &[Warning, Note],
    what: "More than one running program corrects the system clock: chronyd, ntpd, systemd-timesyncd, ntpd-rs, ptp4l \
           with software time stamps, or phc2sys in the direction of the system clock. A note where one of them does \
           so only while it follows another clock, or where its settings could not be read. Programs that may not or \
           do not are left out: chronyd -x, free_running, a phc2sys that feeds chronyd through shared memory or steers \
           a hardware clock, a container without CAP_SYS_TIME.",
    why: "Each corrects what the other just did, so the clock's rate wanders and steps, and tasks that sleep until a \
          wall-clock time wake early or late. Containers do not help: all of them share one system clock.",
    see: "`systemctl status chronyd ntpd systemd-timesyncd phc2sys`; the direction of phc2sys in its options -s, -c, -a \
          and -r; CapEff in /proc/PID/status.",
    change: "Keep one; where chronyd is to follow PTP, let it read the hardware clock (refclock PHC) and stop \
             phc2sys, or let phc2sys feed it (-E ntpshm).",
    price: "None.",
    checked: Checked::Independent("the behavior of chrony, ntpd, systemd-timesyncd and linuxptp 3.1 to 4.4"),
    sources: &["phc2sys(8)", "ptp4l(8), free_running", "chronyd(8), -x", "chrony.conf(5), refclock"],
    find: |profile| {
        // A ptp4l of which nothing is known has the stamps that it has by default, which steer a hardware clock.
        let may_steer = |program: &&TimeProgram| match program.steers_system_clock() {
            Steering::No => false,
            Steering::Unknown => program.name != "ptp4l",
            Steering::WhileFollowing | Steering::Yes => true,
        };
        let steering: Vec<&TimeProgram> = programs(profile).iter().filter(may_steer).collect();
        let certain = steering.iter().filter(|program| program.steers_system_clock() == Steering::Yes).count();
        let names = steering.iter().map(|program| program.full_name()).collect::<Vec<_>>();
        let found = match (names.as_slice(), certain) {
            ([] | [_], _) => return None,
            (_, 2..) => {
                Found::warning(format!("Several programs are set to steer the system clock: {}", names.join(", ")))
            }
            _ => Found::note(format!("Several programs may steer the system clock: {}", names.join(", "))),
        };
        Some(found.read_many(steering.into_iter().map(steering_words).collect()))
    },
};

/// A correction from which on a program steps a clock while it runs.
struct Step<'a> {
    program: &'a TimeProgram,
    setting: String,
    is_system_clock: bool,
}

/// What a program is set to step, and from where on.
fn step_of(program: &TimeProgram) -> Option<Step<'_>> {
    let seconds = |ns: u64| units::format::span(i64::try_from(ns).unwrap_or(i64::MAX));
    let is_system_clock = program.steers_system_clock() != Steering::No;
    let setting = match program.settings.as_ref()? {
        TimeSettings::Chronyd(chronyd) if is_system_clock && chronyd.step_limit < 0 => {
            format!("makestep beyond {}, in every update", seconds(chronyd.step_threshold_ns?))
        }
        TimeSettings::Ptp4l(ptp4l) if ptp4l.step_threshold_ns > 0 && ptp4l.steers() != Steering::No => {
            if ptp4l.stamps == PtpStamps::Software && !is_system_clock {
                return None;
            }
            format!("step_threshold {}", seconds(ptp4l.step_threshold_ns))
        }
        TimeSettings::Phc2sys(phc2sys) if phc2sys.step_threshold_ns > 0 && phc2sys.steers_any() => {
            format!("-S {}", seconds(phc2sys.step_threshold_ns))
        }
        _ => return None,
    };
    Some(Step { program, setting, is_system_clock })
}

pub(super) static STEPS: Rule = Rule {
    id: "clock-steps-while-running",
    title: "A clock may be stepped while it is in use",
    severities: &[Warning, Note],
    what: "A time service is configured to set the clock at once, and not only at its start, when it is off by more \
           than a threshold: makestep with a negative limit (chronyd), step_threshold (ptp4l), -S (phc2sys). A note \
           where that concerns a network card's clock alone.",
    why: "A step moves the time of every sleep and schedule that is stated on that clock: what was due is skipped or \
          comes twice, and a backward step makes intervals negative. CLOCK_MONOTONIC is not stepped.",
    see: "`chronyd -p`, ptp4l's configuration file, the arguments in `ps -ef`. ntpd and systemd-timesyncd also step; \
          ntpd from 128 ms on unless its -x is given.",
    change: "Let it step at its start alone and correct the rate from then on: makestep 1 3 (chronyd), step_threshold \
             0 with first_step_threshold (ptp4l), no -S but -F (phc2sys).",
    price: "A clock that is far off after its start takes long to come back: chronyd corrects up to 83 ms in a second by \
            default, and a rate of 500 parts per million takes 33 minutes for a second.",
    checked: Checked::Independent("the behavior of chrony and of linuxptp 3.1 to 4.4"),
    sources: &["chrony.conf(5), makestep", "ptp4l(8), step_threshold", "phc2sys(8), -S"],
    find: |profile| {
        let steps: Vec<Step<'_>> = programs(profile).iter().filter_map(step_of).collect();
        let system: Vec<&str> =
            steps.iter().filter(|step| step.is_system_clock).map(|step| step.program.full_name()).collect();
        let found = match (steps.first()?, system.as_slice()) {
            (first, []) => {
                Found::note(format!("{} may step a hardware clock while it runs", first.program.full_name()))
            }
            (_, names) => Found::warning(format!("{} may step the system clock while it runs", names.join(" and "))),
        };
        Some(found.read_many(steps.into_iter().map(|step| (step.program.place(), step.setting)).collect()))
    },
};

/// What TAI can be ahead of UTC (s): 37 since 2017, and at most a second more or less in a year.
const TAI_LESS_UTC_S: std::ops::RangeInclusive<u64> = 30..=45;
/// How far from a whole second two clocks are that a service keeps on the same time (ns).
const NEAR_NS: u64 = 50_000_000;

/// The whole seconds by which a clock is ahead, where these can be the difference of TAI and UTC.
fn tai_seconds(ahead_ns: i64) -> Option<u64> {
    let ahead_ns = u64::try_from(ahead_ns).ok()?;
    let seconds = (ahead_ns + NS_PER_S / 2) / NS_PER_S;
    (TAI_LESS_UTC_S.contains(&seconds) && ahead_ns.abs_diff(seconds * NS_PER_S) <= NEAR_NS).then_some(seconds)
}

pub(super) static TAI_OFFSET: Rule = Rule {
    id: "tai-offset-not-set",
    title: "CLOCK_TAI reads UTC beside a hardware clock on TAI",
    severities: &[Warning],
    what: "A network card's clock is a whole TAI-UTC difference ahead of the system clock, as PTP keeps it, while the \
           kernel's own difference between TAI and UTC is 0, so CLOCK_TAI equals CLOCK_REALTIME.",
    why: "What is stated on CLOCK_TAI is then 37 s off for the card: schedules of taprio and launch times of etf, which \
          take that clock, are in the past, and packets are dropped or sent at once.",
    see: "`ntptime` (TAI offset), or `python3 -c 'import time; print(time.clock_gettime(11) - time.time())'`; `phc_ctl eth0 \
          cmp`.",
    change: "Let the service that steers the system clock state it: leapsectz right/UTC or leapseclist in chrony.conf; \
             phc2sys -a -r or -w, with a grandmaster that marks its UTC offset as valid and its time as traceable, \
             without which phc2sys does not set it. `punctual sync` sets it where it sets services up (tai-less-utc).",
    price: "None.",
    checked: LINUX,
    sources: &[
        "Linux kernel/time/ntp.c, process_adjtimex_modes()",
        "tc-taprio(8), tc-etf(8)",
        "linuxptp phc2sys.c, clock_handle_leap()",
        "chrony.conf(5), leapsectz",
    ],
    find: |profile| {
        let discipline = profile.time.discipline.filter(|discipline| discipline.tai_less_utc_s == 0)?;
        let ahead: Vec<(String, String)> = profile
            .net
            .phcs
            .iter()
            .filter_map(|phc| {
                let seconds = tai_seconds(phc.ahead_of_system_ns?)?;
                Some((format!("/dev/ptp{}", phc.index), format!("{seconds} s ahead of the system clock")))
            })
            .collect();
        let seconds = ahead.first()?.1.split(' ').next().unwrap_or_default().to_owned();
        Some(
            Found::warning(format!("A hardware clock is {seconds} s ahead, and CLOCK_TAI is not"))
                .read_many(ahead)
                .read(ADJTIMEX, format!("TAI less UTC {} s", discipline.tai_less_utc_s)),
        )
    },
};

/// Programs that copy a hardware clock of ptp4l's to or from the system clock without the difference of TAI and UTC.
fn taken_for_utc(profile: &Profile) -> Vec<(String, String)> {
    let follows_ptp = clocks_of_ptp4l(profile);
    let is_ptp = |program: &TimeProgram, clock: &str, must_be_steered: bool| {
        phc_of(profile, program, clock).is_some_and(|index| {
            follows_ptp.iter().any(|(of, steering)| *of == index && (!must_be_steered || *steering != Steering::No))
        })
    };
    let mut found = Vec::new();
    for program in programs(profile) {
        match &program.settings {
            Some(TimeSettings::Phc2sys(phc2sys)) if phc2sys.stated_offset_s == Some(0) && !phc2sys.is_pulse => {
                let mut clocks: Vec<&str> = phc2sys.sinks.iter().map(String::as_str).collect();
                clocks.extend(phc2sys.source.as_deref());
                let has_system_clock = clocks.contains(&SYSTEM_CLOCK);
                if has_system_clock && clocks.iter().any(|clock| is_ptp(program, clock, false)) {
                    found.push((program.place(), "-O 0".to_owned()));
                }
            }
            Some(TimeSettings::Chronyd(chronyd)) => {
                for clock in chronyd.hardware_clocks.iter().filter(|clock| clock.is_taken_for_utc) {
                    if is_ptp(program, &clock.device, true) {
                        let words = format!("refclock PHC {} without tai, pps or offset", clock.device);
                        found.push((program.place(), words));
                    }
                }
            }
            _ => {}
        }
    }
    found
}

pub(super) static TAI_AS_UTC: Rule = Rule {
    id: "tai-taken-for-utc",
    title: "A hardware clock on PTP's time scale is read as UTC",
    severities: &[Warning],
    what: "ptp4l with hardware time stamps keeps the card's clock on PTP's time scale, which is TAI unless the \
           grandmaster says otherwise, and another program copies it to or from the system clock with a difference of \
           0 s.",
    why: "The system clock, or every clock that follows this machine by PTP, is then wrong by 37 s. It is right only \
          where the grandmaster distributes UTC (ptpTimescale 0 in its time properties).",
    see: "`pmc -u -b 0 'GET TIME_PROPERTIES_DATA_SET'` (ptpTimescale, currentUtcOffset); the arguments of phc2sys; \
          refclock in chrony.conf.",
    change: "phc2sys: -w in place of -O 0, or -a -r, which take the difference from ptp4l. chronyd: refclock PHC with \
             tai and leapsectz, or with offset -37.",
    price: "The clock that was wrong is set by 37 s once.",
    checked: Checked::Independent("IEEE 1588 and the behavior of chrony and of linuxptp 3.1 to 4.4"),
    sources: &["IEEE 1588-2019 clause 7.2", "phc2sys(8), TIME SCALE USAGE", "chrony.conf(5), refclock PHC"],
    find: |profile| {
        let found = taken_for_utc(profile);
        (!found.is_empty())
            .then(|| Found::warning("A hardware clock on PTP's time scale is read as UTC").read_many(found))
    },
};

pub(super) static LEAP_SECOND: Rule = Rule {
    id: "leap-second-ahead",
    title: "A leap second is announced",
    severities: &[Note],
    what: "A time service told the kernel that the last minute of this day in UTC has 61 or 59 seconds.",
    why: "At midnight in UTC the kernel steps CLOCK_REALTIME by one second: a second comes twice or is left out, and \
          sleeps until a wall-clock time are a second off. A false announcement, which some servers have sent, does \
          the same.",
    see: "`ntptime` (INS or DEL in its status); `chronyc tracking` (Leap status).",
    change: "Do not measure or act by CLOCK_REALTIME over that midnight; use CLOCK_MONOTONIC or CLOCK_TAI, or let \
             chronyd correct it slowly (leapsecmode slew).",
    price: "With slewing the clock is off by up to a second for some time.",
    checked: LINUX,
    sources: &["Linux kernel/time/ntp.c, second_overflow()", "chrony.conf(5), leapsecmode"],
    find: |profile| {
        let words = match profile.time.discipline?.leap {
            Leap::None => return None,
            Leap::Insert => "a second will be inserted at the end of this day in UTC",
            Leap::Delete => "a second will be left out at the end of this day in UTC",
            Leap::Now => "a second is being inserted, or was just now",
        };
        Some(Found::note(format!("A leap second is announced: {words}")).read(ADJTIMEX, words))
    },
};

/// Agents of hypervisors that set the clock of a guest, with whose agents they are.
const AGENTS: [(&str, &str); 3] = [
    ("VBoxService", "VirtualBox's service sets the clock where it is far off"),
    ("qemu-ga", "QEMU's agent sets the clock when the host asks for it, as after a pause or a restored snapshot"),
    (
        "vmtoolsd",
        "VMware's tools set the clock after a pause, a migration or a snapshot, and once a minute if so configured",
    ),
];

pub(super) static HOST_SETS_CLOCK: Rule = Rule {
    id: "host-may-set-clock",
    title: "The hypervisor can set this machine's clock",
    severities: &[Note],
    what: "An agent of the hypervisor runs in this virtual machine and has the right to set the system clock.",
    why: "After a pause, a live migration or a restored snapshot it steps CLOCK_REALTIME under every program, beside \
          whatever time service runs.",
    see: "`systemctl status qemu-guest-agent open-vm-tools vboxadd-service`.",
    change: "Keep the agent from it where a time service steers the clock: qemu-ga --block-rpcs=guest-set-time; \
             VMware: time.synchronize.* in the machine's configuration; VBoxService --disable-timesync. A guest can \
             follow the host's clock without steps by a hardware clock of the hypervisor's: refclock PHC with ptp_kvm \
             or vmclock.",
    price: "After a pause the clock is wrong until the time service has corrected it.",
    checked: Checked::Independent("the behavior of QEMU's, VMware's and VirtualBox's agents"),
    sources: &["qemu-ga(8)", "VMware knowledge base 1189", "VirtualBox manual, Tuning Time Synchronization"],
    find: |profile| {
        if profile.virt.guest != Some(true) {
            return None;
        }
        let agents: Vec<(String, String)> = programs(profile)
            .iter()
            .filter(|program| program.may_set_system_clock == Some(true))
            .filter_map(|program| {
                let (_, words) = AGENTS.into_iter().find(|(name, _)| *name == program.name)?;
                Some((program.place(), words.to_owned()))
            })
            .collect();
        (!agents.is_empty()).then(|| {
            let followed: Vec<(String, String)> = profile
                .net
                .phcs
                .iter()
                .filter(|phc| phc.interfaces.is_empty())
                .filter_map(|phc| Some((format!("/dev/ptp{}", phc.index), phc.name.clone()?)))
                .collect();
            Found::note("The hypervisor can set this machine's clock").read_many(agents).read_many(followed)
        })
    },
};
