//! Findings about PTP: who disciplines a network card's clock, and whether stamps are what was asked for.

use super::Rule;
use super::Severity::{Note, Problem, Warning};
use super::rule::Found;
use crate::Profile;
use crate::catalogue::Checked;
use crate::net::{Nic, Timestamping};
use crate::ptp_state::PtpPortState;
use crate::time_program::{Ptp4l, PtpPort, PtpStamps, SYSTEM_CLOCK, Steering, TimeProgram, TimeSettings};

/// The interface that a program means, where that is known: names are those of its own network namespace.
fn interface<'a>(profile: &'a Profile, program: &TimeProgram, name: &str) -> Option<&'a Nic> {
    (program.shares_network == Some(true)).then(|| profile.net.interfaces.iter().find(|nic| nic.name == name)).flatten()
}

/// The hardware clock that a program means by a device or an interface; `None` where that is not known.
pub(super) fn phc_of(profile: &Profile, program: &TimeProgram, clock: &str) -> Option<u32> {
    if let Some(number) = clock.strip_prefix("/dev/ptp") {
        return number.parse().ok();
    }
    let nic = interface(profile, program, clock)?;
    let stated = nic.ethtool.timestamping.as_ref().and_then(|stamps| stamps.phc_index);
    stated.or_else(|| profile.net.phcs.iter().find(|phc| phc.interfaces.contains(&nic.name)).map(|phc| phc.index))
}

fn ptp4ls(profile: &Profile) -> impl Iterator<Item = (&TimeProgram, &Ptp4l)> {
    profile.services.time_programs.iter().filter_map(|program| match &program.settings {
        Some(TimeSettings::Ptp4l(ptp4l)) => Some((program, ptp4l)),
        _ => None,
    })
}

/// Ports with a clock of their interface's own.
fn own_clock(port: &&PtpPort) -> bool {
    !port.has_other_clock
}

/// The hardware clocks on TAI of every ptp4l that is not only watching, and whether it steers them.
pub(super) fn clocks_of_ptp4l(profile: &Profile) -> Vec<(u32, Steering)> {
    let is_used = |ptp4l: &Ptp4l| ptp4l.stamps == PtpStamps::Hardware && !ptp4l.free_running;
    // One whose grandmaster distributes a time scale of its own, which may be UTC, says so.
    let is_tai = |program: &TimeProgram| program.ptp.as_ref().and_then(|ptp| ptp.is_ptp_timescale) != Some(false);
    ptp4ls(profile)
        .filter(|(program, ptp4l)| is_used(ptp4l) && is_tai(program))
        .flat_map(|(program, ptp4l)| {
            ptp4l
                .ports
                .iter()
                .filter(own_clock)
                .filter_map(move |port| Some((phc_of(profile, program, &port.interface)?, ptp4l.steers())))
        })
        .collect()
}

/// A program that disciplines a hardware clock.
struct Discipline<'a> {
    phc: u32,
    program: &'a TimeProgram,
    steering: Steering,
}

/// Who disciplines which hardware clock, and whether nobody else can.
fn disciplines(profile: &Profile) -> (Vec<Discipline<'_>>, bool) {
    let mut all = Vec::new();
    let mut is_complete = true;
    for program in &profile.services.time_programs {
        let (clocks, steering) = match &program.settings {
            Some(TimeSettings::Ptp4l(ptp4l)) if ptp4l.stamps == PtpStamps::Hardware => {
                is_complete &= ptp4l.ports.iter().all(|port| own_clock(&port));
                let clocks = ptp4l.ports.iter().filter(own_clock).filter(|port| !port.server_only);
                (clocks.map(|port| port.interface.as_str()).collect(), ptp4l.steers())
            }
            Some(TimeSettings::Phc2sys(phc2sys)) if phc2sys.steers_any() => {
                is_complete &= !phc2sys.automatic;
                let sinks = phc2sys.sinks.iter().map(String::as_str).filter(|sink| *sink != SYSTEM_CLOCK);
                (sinks.collect::<Vec<_>>(), Steering::Yes)
            }
            Some(TimeSettings::Ts2phc(ts2phc)) => {
                is_complete &= !ts2phc.automatic;
                (ts2phc.sinks.iter().map(String::as_str).collect(), Steering::Yes)
            }
            Some(_) => continue,
            None => {
                let steers_hardware = ["ptp4l", "phc2sys", "ts2phc", "ptpd", "ptpd2", "sfptpd", "sptp", "timemaster"];
                is_complete &= !steers_hardware.contains(&program.name.as_str());
                continue;
            }
        };
        if steering == Steering::No {
            continue;
        }
        let mut known: Vec<u32> = Vec::new();
        for clock in clocks {
            match phc_of(profile, program, clock) {
                Some(phc) if !known.contains(&phc) => {
                    known.push(phc);
                    all.push(Discipline { phc, program, steering });
                }
                Some(_) => {}
                None => is_complete = false,
            }
        }
    }
    (all, is_complete)
}

pub(super) static TWO_DISCIPLINE: Rule = Rule {
    id: "hardware-clock-steered-twice",
    title: "Several programs steer one hardware clock",
    severities: &[Warning, Note],
    what: "More than one of ptp4l with hardware time stamps, phc2sys with a hardware clock behind -c, and ts2phc steer \
           the same clock of a network card. A note where one of them does so only while it follows another clock: a \
           ptp4l that is a grandmaster today, and follows as soon as a better clock appears.",
    why: "Each corrects what the other just did; the clock's rate wanders, and every stamp of that card with it.",
    see: "`ps -ef | grep -e ptp4l -e phc2sys -e ts2phc`; `ethtool -T NAME` says which clock an interface has.",
    change: "Keep one. A ptp4l that is to stay a grandmaster gets serverOnly 1 (masterOnly 1 before linuxptp 4.0); \
             phc2sys -a -rr changes its direction with the state of ptp4l's ports; a second PTP domain on one card \
             takes free_running 1 or a virtual clock (n_vclocks).",
    price: "With serverOnly the machine no longer follows a better clock.",
    checked: Checked::Independent("the behavior of linuxptp 3.1 to 4.4"),
    sources: &["ptp4l(8), serverOnly and free_running", "phc2sys(8), -a and -c", "ts2phc(8)"],
    find: |profile| {
        let (all, _) = disciplines(profile);
        let of = |phc: u32| all.iter().filter(move |one| one.phc == phc);
        let phc = all.iter().map(|one| one.phc).find(|phc| of(*phc).count() > 1)?;
        let names = of(phc).map(|one| one.program.full_name()).collect::<Vec<_>>().join(" and ");
        let is_certain = of(phc).filter(|one| one.steering == Steering::Yes).count() > 1;
        let found = if is_certain {
            Found::warning(format!("Several programs steer /dev/ptp{phc}: {names}"))
        } else {
            Found::note(format!("Several programs may steer /dev/ptp{phc}: {names}"))
        };
        let words = |one: &Discipline<'_>| match one.steering {
            Steering::Yes => format!("steers /dev/ptp{phc}"),
            _ => format!("steers /dev/ptp{phc} while it follows another clock"),
        };
        Some(found.read_many(of(phc).map(|one| (one.program.place(), words(one))).collect()))
    },
};

/// Drivers of cards whose clock is disciplined from outside of this machine's programs: by a hypervisor, by the card itself or by
/// a receiver on it.
const DISCIPLINED_ELSEWHERE: [&str; 7] = ["ena", "gve", "hv_netvsc", "ice", "mana", "mlx5_core", "sfc"];

/// Programs that follow a hardware clock, with the clock.
fn followers(profile: &Profile) -> Vec<(u32, &TimeProgram)> {
    let mut all = Vec::new();
    for program in &profile.services.time_programs {
        match &program.settings {
            Some(TimeSettings::Phc2sys(phc2sys)) if !phc2sys.automatic && !phc2sys.is_pulse => {
                let clock = phc2sys.source.as_deref().and_then(|clock| phc_of(profile, program, clock));
                all.extend(clock.map(|clock| (clock, program)));
            }
            Some(TimeSettings::Chronyd(chronyd)) => {
                let clocks = chronyd.hardware_clocks.iter();
                all.extend(clocks.filter_map(|clock| Some((phc_of(profile, program, &clock.device)?, program))));
            }
            _ => {}
        }
    }
    all
}

pub(super) static UNDISCIPLINED: Rule = Rule {
    id: "hardware-clock-not-steered",
    title: "A hardware clock is followed that nobody disciplines",
    severities: &[Warning],
    what: "phc2sys or chronyd follow the clock of a network card, and no program that runs here steers that clock: no \
           ptp4l with hardware time stamps on it, no ts2phc, no other phc2sys. Clocks of hypervisors and of cards that \
           discipline themselves are left out.",
    why: "The system clock then follows the card's crystal, which drifts by seconds a day, and looks synchronized to \
          every tool.",
    see: "`ps -ef | grep -e ptp4l -e ts2phc`; `phc_ctl eth0 cmp`, some seconds apart.",
    change: "Start ptp4l (or ts2phc) for that clock, look why it ended (`journalctl -u 'ptp4l*'`), or let the follower \
             take another source.",
    price: "None.",
    checked: Checked::Independent("the behavior of chrony and of linuxptp 3.1 to 4.4"),
    sources: &["phc2sys(8)", "chrony.conf(5), refclock PHC"],
    find: |profile| {
        let (all, is_complete) = disciplines(profile);
        // In a container the programs of the host are not seen, nor are the kernel's threads; a guest's card may be its host's.
        let sees_everything = profile.tasks.kernel_per_cpu_count > 0;
        if !is_complete || !sees_everything || profile.virt.guest != Some(false) {
            return None;
        }
        let is_left_alone = |index: u32| {
            let phc = profile.net.phcs.iter().find(|phc| phc.index == index);
            phc.is_some_and(|phc| {
                let drivers = profile.net.interfaces.iter().filter(|nic| phc.interfaces.contains(&nic.name));
                let mut drivers = drivers.map(|nic| nic.driver.as_deref()).peekable();
                drivers.peek().is_some()
                    && drivers.all(|driver| driver.is_some_and(|name| !DISCIPLINED_ELSEWHERE.contains(&name)))
            })
        };
        let followed: Vec<(u32, &TimeProgram)> = followers(profile)
            .into_iter()
            .filter(|(phc, _)| is_left_alone(*phc) && !all.iter().any(|one| one.phc == *phc))
            .collect();
        let (phc, program) = followed.first()?;
        Some(
            Found::warning(format!("{} follows /dev/ptp{phc}, which nobody disciplines", program.full_name()))
                .read_many(followed.iter().map(|(phc, one)| (one.place(), format!("follows /dev/ptp{phc}"))).collect())
                .read("running programs", "none that steers it"),
        )
    },
};

fn stamps_words(stamps: &Timestamping) -> String {
    let yes_no = |value: bool| if value { "yes" } else { "no" };
    let clock = stamps.phc_index.map_or_else(|| "none".to_owned(), |index| format!("ptp{index}"));
    format!(
        "hardware stamps: sent {}, received {}; hardware clock {clock}",
        yes_no(stamps.tx_hardware),
        yes_no(stamps.rx_hardware)
    )
}

/// An interface with what its driver says of stamps, where both are known.
fn stamps_of<'a>(profile: &'a Profile, program: &TimeProgram, name: &str) -> Option<&'a Timestamping> {
    interface(profile, program, name)?.ethtool.timestamping.as_ref()
}

pub(super) static STAMPS_MISSING: Rule = Rule {
    id: "hardware-timestamps-asked-and-missing",
    title: "Hardware time stamps are configured that the interface does not have",
    severities: &[Problem, Warning],
    what: "ptp4l is set to hardware time stamps, its default, or chronyd has hwtimestamp for an interface, and the \
           interface's driver offers none for sent packets, or no hardware clock. A warning for chronyd alone.",
    why: "ptp4l does not synchronize over such a port. chronyd says so in its log once, goes on with the kernel's \
          stamps, and its offsets are some ten times less exact than the configuration promises.",
    see: "`ethtool -T NAME`; `journalctl -u 'ptp4l*' -u 'chrony*'`.",
    change: "time_stamping software (or -S) for ptp4l, and no hwtimestamp for chronyd on that interface; or an \
             interface, driver or kernel that has them.",
    price: "Software time stamps are good to tens of microseconds at best.",
    checked: Checked::Independent("the behavior of chrony and of linuxptp 3.1 to 4.4"),
    sources: &["ptp4l(8), time_stamping", "chrony.conf(5), hwtimestamp", "ethtool(8), -T"],
    find: |profile| {
        let mut readings = Vec::new();
        let mut is_ptp = false;
        let mut names = Vec::new();
        for program in &profile.services.time_programs {
            let (wanted, is_ptp4l): (Vec<&str>, bool) = match &program.settings {
                Some(TimeSettings::Ptp4l(ptp4l)) if ptp4l.stamps == PtpStamps::Hardware => {
                    (ptp4l.ports.iter().map(|port| port.interface.as_str()).collect(), true)
                }
                Some(TimeSettings::Chronyd(chronyd)) => {
                    (chronyd.hardware_stamps.iter().map(String::as_str).filter(|name| *name != "*").collect(), false)
                }
                _ => continue,
            };
            for name in wanted {
                let Some(stamps) = stamps_of(profile, program, name) else { continue };
                let has = stamps.tx_hardware && stamps.phc_index.is_some() && (stamps.rx_hardware || !is_ptp4l);
                if !has {
                    is_ptp |= is_ptp4l;
                    names.push(name);
                    readings.push((program.place(), format!("hardware time stamps on {name}")));
                    readings.push((format!("ethtool -T {name}"), stamps_words(stamps)));
                }
            }
        }
        let title = format!("Hardware time stamps are configured that {} does not have", names.join(" and "));
        (!readings.is_empty())
            .then(|| if is_ptp { Found::problem(title) } else { Found::warning(title) }.read_many(readings))
    },
};

pub(super) static SOFTWARE_STAMPS: Rule = Rule {
    id: "software-timestamps-beside-hardware",
    title: "ptp4l uses software time stamps where the card has better ones",
    severities: &[Warning],
    what: "ptp4l is set to software time stamps (-S, time_stamping software) on an interface that stamps sent and \
           received packets in hardware and has a clock of its own.",
    why: "Software stamps contain interrupt and scheduling latency: microseconds to milliseconds under load in place of \
          tens of nanoseconds, in every offset.",
    see: "`ethtool -T NAME`; the arguments and the configuration of ptp4l.",
    change: "time_stamping hardware (-H), and phc2sys -a -r to bring the time of the card's clock to the system clock.",
    price: "A second program; and the card's clock is then ptp4l's, so that taprio schedules and other users of it follow \
            PTP.",
    checked: Checked::Independent("the behavior of network cards and of linuxptp 3.1 to 4.4"),
    sources: &["ptp4l(8), time_stamping", "IEEE 1588-2019 clause 7.3.4"],
    find: |profile| {
        let has_better =
            |stamps: &&Timestamping| stamps.tx_hardware && stamps.rx_hardware && stamps.phc_index.is_some();
        let better: Vec<(&TimeProgram, &str, &Timestamping)> = ptp4ls(profile)
            .filter(|(_, ptp4l)| ptp4l.stamps == PtpStamps::Software)
            .flat_map(|(program, ptp4l)| ptp4l.ports.iter().map(move |port| (program, port.interface.as_str())))
            .filter_map(|(program, name)| Some((program, name, stamps_of(profile, program, name).filter(has_better)?)))
            .collect();
        let (_, name, _) = better.first()?;
        let found = Found::warning(format!("ptp4l uses software time stamps, though {name} has hardware ones"));
        Some(better.iter().fold(found, |found, (program, name, stamps)| {
            found
                .read(program.place(), format!("software time stamps on {name}"))
                .read(format!("ethtool -T {name}"), stamps_words(stamps))
        }))
    },
};

/// A port of a ptp4l that is up, with the settings of IEEE 802.1AS, and not asCapable.
fn refused_ports<'a>(program: &'a TimeProgram, ptp4l: &Ptp4l) -> Vec<&'a PtpPortState> {
    let can_be = ptp4l.is_802_1as && ptp4l.ports.iter().any(|port| port.is_peer_to_peer && !port.skips_checks);
    let ports = program.ptp.iter().flat_map(|ptp| &ptp.ports).filter(|_| can_be);
    ports.filter(|port| port.as_capable == Some(false) && port.is_up()).collect()
}

/// Why a port is not asCapable, as far as its counters and its delay show it.
fn refusal(port: &PtpPortState) -> &'static str {
    let counts = port.delay_requests_sent.zip(port.delay_answers_received);
    let delay = port.link_delay_ns.zip(port.delay_threshold_ns);
    match (counts, delay) {
        // Of a pair some are always under way; half as many again are of another neighbor.
        (Some((sent, received)), _) if sent >= 4 && received > sent + sent / 2 => "several neighbors answer",
        (Some((sent, 0)), _) if sent >= 4 => "no neighbor answers",
        (_, Some((delay_ns, threshold_ns))) if u64::try_from(delay_ns).is_ok_and(|ns| ns > threshold_ns) => {
            "the delay of the link is above the threshold"
        }
        _ => "the reason is not known",
    }
}

pub(super) static NOT_CAPABLE: Rule = Rule {
    id: "port-not-as-capable",
    title: "A port of ptp4l is not asCapable, and takes no part in 802.1AS",
    severities: &[Warning],
    what: "A port with the settings of IEEE 802.1AS is up and said, when it was asked, that it is not asCapable: its \
           neighbor does not answer, several do, or the delay of the link is above neighborPropDelayThresh. A ptp4l that \
           was started seconds ago is not asCapable yet.",
    why: "Such a port neither sends nor takes Sync: the clock runs free, and what follows it drifts.",
    see: "`pmc -u -b 0 'GET PORT_DATA_SET_NP' 'GET PORT_STATS_NP'`: rx_Pdelay_Resp above tx_Pdelay_Req means several \
          neighbors; `journalctl -u 'ptp4l*' | grep -e asCapable -e 'peer responses'`.",
    change: "Several neighbors: a switch or a hub that does not speak 802.1AS stands between; the delay of a link takes \
             two ends, so put one that does there, or use the end-to-end mechanism of IEEE 1588. None: speak 802.1AS at \
             the other end. Too long a delay: see neighbor-delay-threshold. asCapable true leaves the checks out.",
    price: "Without the checks time also comes over paths whose delay varies.",
    checked: Checked::Independent("IEEE 802.1AS and the behavior of linuxptp 3.1 to 4.4"),
    sources: &["IEEE 802.1AS-2020 clause 11.2.2", "linuxptp port.c, port_capable()", "ptp4l(8), asCapable"],
    find: |profile| {
        let mut readings = Vec::new();
        let mut words = "";
        for (program, ptp4l) in ptp4ls(profile) {
            for port in refused_ports(program, ptp4l) {
                words = refusal(port);
                let mut value =
                    format!("port {} {}: not asCapable, {words}", port.number, port.state.as_deref().unwrap_or(""));
                if let Some((sent, received)) = port.delay_requests_sent.zip(port.delay_answers_received) {
                    value = format!("{value}; {sent} questions for the delay sent, {received} answers received");
                }
                if let Some((delay_ns, threshold_ns)) = port.link_delay_ns.zip(port.delay_threshold_ns) {
                    value = format!("{value}; delay of the link {delay_ns} ns, threshold {threshold_ns} ns");
                }
                readings.push((program.place(), value));
            }
        }
        (!readings.is_empty())
            .then(|| Found::warning(format!("A port of ptp4l is not asCapable: {words}")).read_many(readings))
    },
};

/// A delay of the link that software stamps on a network card do not show (ns): a frame of 1 Gbit/s takes 0.7 us by itself, and the
/// two stamps lie before the card fetches it and after its interrupt was handled. Virtual interfaces do: veth shows 0.3 us.
const SHORTEST_SOFTWARE_DELAY_NS: u64 = 1_000;

pub(super) static NEIGHBOR_DELAY: Rule = Rule {
    id: "neighbor-delay-threshold",
    title: "The neighbor delay threshold refuses software time stamps",
    severities: &[Warning],
    what: "A port of ptp4l with the settings of IEEE 802.1AS (follow_up_info 1, delay_mechanism P2P) takes part only \
           where the delay of the link to its neighbor is measured below neighborPropDelayThresh. The gPTP.cfg of \
           linuxptp has 800 ns, and ptp4l uses software time stamps on a network card here.",
    why: "A delay that is measured with software time stamps contains the way through the driver and the interrupt, \
          microseconds and more, so the port does not become asCapable: it sends and takes no Sync, and calls \
          itself MASTER all the same. Its log says nothing of a port that never was asCapable.",
    see: "`pmc -u -b 0 'GET PORT_DATA_SET_NP'` (asCapable).",
    change: "neighborPropDelayThresh 20000000 (linuxptp's default) for software time stamps; asCapable true where both \
             ends are known; or hardware time stamps.",
    price: "A neighbor that does not speak 802.1AS, or a switch between, is no longer found out by its delay.",
    checked: Checked::Independent("IEEE 802.1AS and the behavior of linuxptp 3.1 to 4.4"),
    sources: &[
        "IEEE 802.1AS-2020 clause 11.2.2",
        "linuxptp port.c, port_capable()",
        "linuxptp configs/gPTP.cfg",
        "ptp4l(8), asCapable",
    ],
    find: |profile| {
        let refuses = |port: &&PtpPort| {
            port.is_peer_to_peer && !port.skips_checks && port.neighbor_delay_threshold_ns <= SHORTEST_SOFTWARE_DELAY_NS
        };
        let readings: Vec<(String, String)> = ptp4ls(profile)
            .filter(|(_, ptp4l)| ptp4l.stamps == PtpStamps::Software && ptp4l.is_802_1as)
            // One that says that it takes part is the better witness.
            .filter(|(program, _)| {
                !program.ptp.iter().flat_map(|ptp| &ptp.ports).any(|port| port.as_capable == Some(true))
            })
            .flat_map(|(program, ptp4l)| {
                let on_card = move |port: &&PtpPort| interface(profile, program, &port.interface).is_some();
                ptp4l.ports.iter().filter(refuses).filter(on_card).map(move |port| {
                    let threshold_ns = port.neighbor_delay_threshold_ns;
                    let words = format!(
                        "software time stamps, neighborPropDelayThresh {threshold_ns} ns on {}",
                        port.interface
                    );
                    (program.place(), words)
                })
            })
            .collect();
        (!readings.is_empty())
            .then(|| Found::warning("The neighbor delay threshold refuses software time stamps").read_many(readings))
    },
};
