//! Time services and clocks: who steers what, and whether stamps are what was asked for.

use super::base::{chronyd, ptp4l, time_program};
use super::{Severity::*, check, check_silent};
use crate::Profile;
use crate::ptp_state::{PtpPortState, PtpState};
use crate::time::Leap;
use crate::time_program::{self, Chronyd, FollowedPhc, Ntpd, Ptp4l, PtpStamps, TimeProgram, TimeSettings, Ts2phc};

fn programs(p: &mut Profile) -> &mut Vec<TimeProgram> {
    &mut p.services.time_programs
}

/// A program of linuxptp from its command line.
fn linuxptp(line: &str) -> TimeProgram {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    time_program(&words[0], time_program::linuxptp(&words[0], &words[1..], None).unwrap())
}

/// The same with a configuration file.
fn configured(line: &str, file: &str) -> TimeProgram {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    time_program(&words[0], time_program::linuxptp(&words[0], &words[1..], Some(file)).unwrap())
}

fn chrony(change: impl FnOnce(&mut Chronyd)) -> TimeProgram {
    let mut settings = chronyd();
    change(&mut settings);
    time_program("chronyd", TimeSettings::Chronyd(settings))
}

fn unread(name: &str) -> TimeProgram {
    TimeProgram { name: name.to_owned(), ..TimeProgram::default() }
}

#[test]
fn two_time_services() {
    let id = "two-time-services";
    let beside = |other: TimeProgram| move |p: &mut Profile| programs(p).push(other);
    let rivals = [
        time_program("ntpd", TimeSettings::Ntpd(Ntpd::default())),
        TimeProgram { may_set_system_clock: Some(true), ..unread("systemd-timesyn") },
        linuxptp("phc2sys -s eth0 -w"),
        linuxptp("ptp4l -S -s -i eth1"),
        linuxptp("phc2sys -s /dev/ptp0 -c CLOCK_REALTIME -O -37"),
        linuxptp("phc2sys -a -r"),
    ];
    for rival in rivals {
        check(id, Warning, beside(rival));
    }
    let words =
        check(id, Warning, beside(TimeProgram { may_set_system_clock: Some(true), ..unread("systemd-timesyn") }));
    assert!(words.title.ends_with("chronyd, systemd-timesyncd"), "{words:?}");
    for perhaps in [unread("ntpd"), unread("phc2sys"), linuxptp("phc2sys -a -rr"), linuxptp("ptp4l -S -i eth1")] {
        check(id, Note, beside(perhaps));
    }
    let no_rivals = [
        linuxptp("ptp4l -i eth0 -s"),
        linuxptp("ptp4l -S -i eth1 --free_running 1"),
        linuxptp("ptp4l -S -i eth1 --serverOnly 1"),
        linuxptp("ptp4l -S -i eth1 --masterOnly=1"),
        configured("ptp4l -S -f x", "[global]\nclock_servo ntpshm\n[eth1]\n"),
        linuxptp("phc2sys -a"),
        linuxptp("phc2sys -s CLOCK_REALTIME -c eth0 -w"),
        linuxptp("phc2sys -s eth0 -E ntpshm -w"),
        linuxptp("phc2sys -a -r --clock_servo refclock_sock"),
        linuxptp("ts2phc -c eth0 -s generic"),
        time_program("ntpd", TimeSettings::Ntpd(Ntpd::from_file("# disable ntp in jest\ndisable monitor ntp\n"))),
        TimeProgram { may_set_system_clock: Some(false), ..unread("systemd-timesyn") },
        unread("timemaster"),
        unread("ptp4l"),
        TimeProgram { may_set_system_clock: Some(true), ..unread("qemu-ga") },
        chrony(|chronyd| chronyd.corrects_clock = false),
    ];
    for other in no_rivals {
        check_silent(id, beside(other));
    }
    // A container that may not set the clock.
    check_silent(id, |p| {
        programs(p).push(linuxptp("phc2sys -s eth0 -w"));
        programs(p)[2].may_set_system_clock = Some(false);
    });
    check_silent(id, |p| *programs(p) = vec![linuxptp("phc2sys -s eth0 -w")]);
    check_silent(id, |p| programs(p).clear());
}

#[test]
fn steps() {
    let id = "clock-steps-while-running";
    let only = |program: TimeProgram| move |p: &mut Profile| *programs(p) = vec![program];
    let every_update = chrony(|chronyd| chronyd.step_limit = -1);
    let words = check(id, Warning, only(every_update.clone()));
    assert!(words.title.contains("chronyd") && words.evidence[0].value.contains("beyond 1 s"), "{words:?}");
    check(id, Warning, only(linuxptp("phc2sys -s eth0 -w -S 0.00002")));
    check(id, Warning, only(configured("phc2sys -a -r -f x", "step_threshold 1\n")));
    check(id, Warning, only(linuxptp("ptp4l -S -i eth0 --step_threshold 1")));
    // The card's clock alone.
    check(id, Note, only(configured("ptp4l -f x", "[global]\nslaveOnly 1\nstep_threshold 1\n[eth0]\n")));
    check(id, Note, only(linuxptp("phc2sys -s CLOCK_REALTIME -c eth0 -w -S 1")));
    for quiet in [
        chrony(|_| {}),
        chrony(|chronyd| *chronyd = Chronyd { corrects_clock: false, step_limit: -1, ..chronyd.clone() }),
        // A file that it includes could not be read.
        chrony(|chronyd| *chronyd = Chronyd { step_threshold_ns: None, step_limit: -1, ..chronyd.clone() }),
        TimeProgram { may_set_system_clock: Some(false), ..every_update },
        linuxptp("phc2sys -s eth0 -w -F 1"),
        linuxptp("phc2sys -s eth0 -w -S 1 -E ntpshm"),
        linuxptp("phc2sys -s eth0 -w -S 0.0"),
        linuxptp("ptp4l -i eth0 --step_threshold 1 --free_running 1"),
        linuxptp("ptp4l -i eth0 --step_threshold 1 --serverOnly 1"),
        linuxptp("ptp4l -i eth0 --first_step_threshold 1"),
        linuxptp("ptp4l -i eth0 --step_threshold often"),
        unread("chronyd"),
    ] {
        check_silent(id, only(quiet));
    }
}

#[test]
fn tai_offset() {
    let id = "tai-offset-not-set";
    let tai = |p: &mut Profile, seconds| p.time.discipline.as_mut().unwrap().tai_less_utc_s = seconds;
    let ahead = |p: &mut Profile, ahead_ns| p.net.phcs[0].ahead_of_system_ns = ahead_ns;
    let words = check(id, Warning, |p| tai(p, 0));
    assert!(words.title.contains("37 s"), "{words:?}");
    check(id, Warning, |p| (tai(p, 0), ahead(p, Some(37_000_000_000 - 40_000_000))).1);
    check_silent(id, |p| tai(p, 37));
    // Set to something, if to the wrong second: it is another's to judge.
    check_silent(id, |p| tai(p, 36));
    for other in [
        None,
        Some(0),
        Some(150),
        Some(36_500_000_000),
        Some(-37_000_000_000),
        Some(1_600_000_000_000_000_000),
        Some(10_000_000_000),
    ] {
        check_silent(id, |p| (tai(p, 0), ahead(p, other)).1);
    }
    check_silent(id, |p| p.time.discipline = None);
}

#[test]
fn tai_as_utc() {
    let id = "tai-taken-for-utc";
    let beside = |other: TimeProgram| move |p: &mut Profile| programs(p)[0] = other;
    let follows = |device: &str, is_taken_for_utc| {
        let clock = FollowedPhc { device: device.to_owned(), is_taken_for_utc };
        chrony(|chronyd| chronyd.hardware_clocks = vec![clock])
    };
    check(id, Warning, beside(linuxptp("phc2sys -s eth0 -O 0")));
    check(id, Warning, beside(linuxptp("phc2sys -s CLOCK_REALTIME -c /dev/ptp0 -O 0")));
    check(id, Warning, beside(follows("/dev/ptp0", true)));
    // As a grand master, too: the network gets UTC for TAI.
    check(id, Warning, |p| {
        *programs(p) =
            vec![linuxptp("phc2sys -s CLOCK_REALTIME -c eth0 -O 0"), linuxptp("ptp4l -i eth0 --serverOnly 1")];
    });
    for quiet in [
        linuxptp("phc2sys -s eth0 -w"),
        linuxptp("phc2sys -s eth0 -O -37"),
        linuxptp("phc2sys -a -r"),
        // Two cards: both are on TAI.
        linuxptp("phc2sys -s eth0 -c eth1 -O 0"),
        // A clock that ptp4l does not use.
        linuxptp("phc2sys -s /dev/ptp1 -O 0"),
        linuxptp("phc2sys -d /dev/pps0 -s eth0 -O 0"),
        follows("/dev/ptp0", false),
        follows("/dev/ptp1", true),
    ] {
        check_silent(id, beside(quiet));
    }
    let zero = || linuxptp("phc2sys -s eth0 -O 0");
    let other_network = TimeProgram { shares_network: Some(false), ..zero() };
    check_silent(id, beside(other_network));
    check_silent(id, beside(TimeProgram { shares_network: None, ..zero() }));
    check_silent(id, |p| *programs(p) = vec![zero(), linuxptp("ptp4l -S -i eth0")]);
    check_silent(id, |p| *programs(p) = vec![zero(), linuxptp("ptp4l -i eth0 --free_running 1")]);
    check_silent(id, |p| *programs(p) = vec![zero()]);
    // The grandmaster says that its time scale is not TAI.
    let arbitrary = PtpState { is_ptp_timescale: Some(false), ..PtpState::default() };
    check_silent(id, |p| {
        *programs(p) = vec![zero(), TimeProgram { ptp: Some(arbitrary), ..linuxptp("ptp4l -i eth0") }];
    });
    // A server whose clock chronyd reads: what it serves is for whoever sets it to know.
    check_silent(id, |p| *programs(p) = vec![follows("/dev/ptp0", true), linuxptp("ptp4l -i eth0 --serverOnly 1")]);
}

#[test]
fn leap_second() {
    let id = "leap-second-ahead";
    let set = |p: &mut Profile, leap| p.time.discipline.as_mut().unwrap().leap = leap;
    for leap in [Leap::Insert, Leap::Delete, Leap::Now] {
        check(id, Note, |p| set(p, leap));
    }
    check_silent(id, |p| set(p, Leap::None));
    check_silent(id, |p| p.time.discipline = None);
}

#[test]
fn host_sets_clock() {
    let id = "host-may-set-clock";
    let agent = |name: &str, may| TimeProgram { may_set_system_clock: may, ..unread(name) };
    let guest = |p: &mut Profile, program: TimeProgram| {
        p.virt.guest = Some(true);
        p.net.phcs.push(crate::net::Phc {
            index: 1,
            name: Some("KVM virtual PTP".to_owned()),
            ..crate::net::Phc::default()
        });
        programs(p).push(program);
    };
    let words = check(id, Note, |p| guest(p, agent("qemu-ga", Some(true))));
    assert!(words.evidence.iter().any(|one| one.value == "KVM virtual PTP"), "{words:?}");
    check(id, Note, |p| guest(p, agent("vmtoolsd", Some(true))));
    check(id, Note, |p| guest(p, agent("VBoxService", Some(true))));
    check_silent(id, |p| guest(p, agent("qemu-ga", Some(false))));
    check_silent(id, |p| guest(p, agent("qemu-ga", None)));
    check_silent(id, |p| guest(p, agent("systemd-timesyn", Some(true))));
    check_silent(id, |p| programs(p).push(agent("qemu-ga", Some(true))));
}

#[test]
fn hardware_clock_steered_twice() {
    let id = "hardware-clock-steered-twice";
    let beside = |other: TimeProgram| move |p: &mut Profile| programs(p).push(other);
    for rival in [
        linuxptp("ptp4l -i eth0 -s --domainNumber 1"),
        linuxptp("phc2sys -s CLOCK_REALTIME -c eth0 -w"),
        linuxptp("phc2sys -s CLOCK_REALTIME -c /dev/ptp0 -O 37"),
        linuxptp("ts2phc -s generic -c eth0"),
        configured("ts2phc -s generic -f x", "[global]\n[/dev/ptp0]\n"),
    ] {
        check(id, Warning, beside(rival));
    }
    check(id, Note, beside(linuxptp("ptp4l -i eth0")));
    for quiet in [
        linuxptp("ptp4l -i eth0 --free_running 1"),
        linuxptp("ptp4l -i eth0 --serverOnly 1"),
        linuxptp("ptp4l -i eth0 -s --clock_servo nullf"),
        linuxptp("ptp4l -S -i eth0 -s"),
        // A virtual clock of its own.
        linuxptp("ptp4l -i eth0 -s --phc_index 3"),
        linuxptp("phc2sys -s eth0 -w"),
        linuxptp("phc2sys -a -rr"),
        linuxptp("phc2sys -s CLOCK_REALTIME -c /dev/ptp1 -w"),
        configured("ts2phc -s eth0 -f x", "[eth0]\nts2phc.master 1\n[eth1]\n"),
        TimeProgram { shares_network: Some(false), ..linuxptp("ptp4l -i eth0 -s") },
        TimeProgram { shares_network: None, ..linuxptp("ptp4l -i eth0 -s") },
        unread("ptp4l"),
        chrony(|chronyd| chronyd.hardware_stamps = vec!["eth0".to_owned()]),
    ] {
        check_silent(id, beside(quiet));
    }
}

#[test]
fn hardware_clock_not_steered() {
    let id = "hardware-clock-not-steered";
    let only = |program: TimeProgram| move |p: &mut Profile| *programs(p) = vec![program];
    let refclock = || {
        let clock = FollowedPhc { device: "/dev/ptp0".to_owned(), is_taken_for_utc: false };
        chrony(|chronyd| chronyd.hardware_clocks = vec![clock])
    };
    check(id, Warning, only(linuxptp("phc2sys -s eth0 -w")));
    check(id, Warning, only(refclock()));
    check(id, Warning, |p| *programs(p) = vec![refclock(), linuxptp("ptp4l -i eth0 --free_running 1")]);
    check(id, Warning, |p| *programs(p) = vec![refclock(), linuxptp("ptp4l -S -i eth0")]);
    for steering in ["ptp4l -i eth0", "ptp4l -i eth0 -s", "ts2phc -s nmea -c eth0", "phc2sys -s /dev/ptp1 -c eth0 -O 0"]
    {
        check_silent(id, |p| *programs(p) = vec![refclock(), linuxptp(steering)]);
    }
    // What is not known may steer it.
    for unknown in [
        unread("ptp4l"),
        unread("sfptpd"),
        linuxptp("phc2sys -a"),
        linuxptp("ptp4l -i bond0 -s"),
        TimeProgram { shares_network: None, ..linuxptp("ptp4l -i eth0") },
    ] {
        check_silent(id, |p| *programs(p) = vec![refclock(), unknown]);
    }
    let spoilt = |spoil: fn(&mut Profile)| {
        move |p: &mut Profile| {
            *programs(p) = vec![refclock()];
            spoil(p);
        }
    };
    check_silent(id, spoilt(|p| p.tasks.kernel_per_cpu_count = 0));
    check_silent(id, spoilt(|p| p.virt.guest = Some(true)));
    check_silent(id, spoilt(|p| p.virt.guest = None));
    check_silent(id, spoilt(|p| p.net.interfaces[0].driver = Some("ena".to_owned())));
    check_silent(id, spoilt(|p| p.net.interfaces[0].driver = None));
    check_silent(id, spoilt(|p| p.net.phcs[0].interfaces.clear()));
    check_silent(id, only(linuxptp("phc2sys -s CLOCK_REALTIME -c eth1 -w")));
    check_silent(id, only(linuxptp("phc2sys -d /dev/pps0 -s eth0 -O 0")));
}

#[test]
fn hardware_stamps_asked_and_missing() {
    let id = "hardware-timestamps-asked-and-missing";
    let without = |p: &mut Profile| p.net.interfaces[0].ethtool.timestamping.as_mut().unwrap().tx_hardware = false;
    let stamped = |name: &str| chrony(|chronyd| chronyd.hardware_stamps = vec![name.to_owned()]);
    check(id, Problem, without);
    check(id, Warning, |p| (*programs(p) = vec![stamped("eth0")], without(p)).1);
    check(id, Problem, |p| p.net.interfaces[0].ethtool.timestamping.as_mut().unwrap().rx_hardware = false);
    // chronyd uses the kernel's stamps of received packets then.
    check_silent(id, |p| {
        *programs(p) = vec![stamped("eth0")];
        p.net.interfaces[0].ethtool.timestamping.as_mut().unwrap().rx_hardware = false;
    });
    check_silent(id, |_| {});
    for quiet in [
        stamped("*"),
        stamped("eth1"),
        linuxptp("ptp4l -S -i eth0"),
        linuxptp("ptp4l -i eth0.7"),
        unread("ptp4l"),
        TimeProgram { shares_network: Some(false), ..linuxptp("ptp4l -i eth0") },
    ] {
        check_silent(id, |p| (*programs(p) = vec![quiet], without(p)).1);
    }
    check_silent(id, |p| p.net.interfaces[0].ethtool.timestamping = None);
}

#[test]
fn software_stamps_beside_hardware() {
    let id = "software-timestamps-beside-hardware";
    let only = |program: TimeProgram| move |p: &mut Profile| *programs(p) = vec![program];
    check(id, Warning, only(linuxptp("ptp4l -S -i eth0")));
    check(id, Warning, only(configured("ptp4l -f x", "[global]\ntime_stamping software\n[eth0]\n")));
    for quiet in [
        linuxptp("ptp4l -i eth0"),
        linuxptp("ptp4l -S -i veth0"),
        configured("ptp4l -H -f x", "time_stamping software\n[eth0]\n"),
        TimeProgram { shares_network: Some(false), ..linuxptp("ptp4l -S -i eth0") },
        TimeProgram { shares_network: None, ..linuxptp("ptp4l -S -i eth0") },
        chrony(|_| {}),
    ] {
        check_silent(id, only(quiet));
    }
    check_silent(id, |p| {
        *programs(p) = vec![linuxptp("ptp4l -S -i eth0")];
        p.net.interfaces[0].ethtool.timestamping.as_mut().unwrap().rx_hardware = false;
    });
}

#[test]
fn neighbor_delay_threshold() {
    let id = "neighbor-delay-threshold";
    /// What of linuxptp's example for IEEE 802.1AS matters here.
    const GPTP: &str = "[global]\nneighborPropDelayThresh\t800\nfollow_up_info\t\t1\ndelay_mechanism\t\tP2P\n";
    let only = |program: TimeProgram| move |p: &mut Profile| *programs(p) = vec![program];
    let refused = || configured("ptp4l -S -i eth0 -f x", GPTP);
    check(id, Warning, only(refused()));
    check(id, Warning, only(configured("ptp4l -S -P -i eth0 -f x", &GPTP.replace("P2P", "E2E"))));
    let says = |as_capable| {
        let port = PtpPortState { number: 1, as_capable, ..PtpPortState::default() };
        TimeProgram { ptp: Some(PtpState { ports: vec![port], ..PtpState::default() }), ..refused() }
    };
    check(id, Warning, only(says(Some(false))));
    check_silent(id, only(says(Some(true))));
    // Between virtual interfaces the delay is below the threshold, and those of another namespace may be such.
    check_silent(id, only(configured("ptp4l -S -i veth0 -f x", GPTP)));
    check_silent(id, only(TimeProgram { shares_network: Some(false), ..refused() }));
    check_silent(id, only(TimeProgram { shares_network: None, ..refused() }));
    for (line, file) in [
        ("ptp4l -i eth0 -f x", GPTP.to_owned()),
        ("ptp4l -S -i eth0 -f x", GPTP.replace("800", "20000000")),
        ("ptp4l -S -i eth0 -f x", format!("{GPTP}asCapable true\n")),
        ("ptp4l -S -i eth0 -f x", GPTP.replace("follow_up_info\t\t1", "")),
        ("ptp4l -S -i eth0 -f x", GPTP.replace("P2P", "E2E")),
        ("ptp4l -S -E -i eth0 -f x", GPTP.to_owned()),
        ("ptp4l -S -f x", format!("{GPTP}[eth0]\nneighborPropDelayThresh 100000\n")),
        ("ptp4l -S -i eth0 --neighborPropDelayThresh=50000 -f x", GPTP.to_owned()),
    ] {
        check_silent(id, only(configured(line, &file)));
    }
}

#[test]
fn port_not_as_capable() {
    let id = "port-not-as-capable";
    const GPTP: &str = "[global]\nfollow_up_info 1\ndelay_mechanism P2P\n";
    let says = |port: PtpPortState, file: &str| {
        let ptp = Some(PtpState { ports: vec![port], ..PtpState::default() });
        TimeProgram { ptp, ..configured("ptp4l -i eth0 -f x", file) }
    };
    let port = |sent, received, delay_ns| PtpPortState {
        number: 1,
        state: Some("LISTENING".to_owned()),
        as_capable: Some(false),
        link_delay_ns: Some(delay_ns),
        delay_threshold_ns: Some(800),
        delay_requests_sent: Some(sent),
        delay_answers_received: Some(received),
    };
    let only = |program: TimeProgram| move |p: &mut Profile| *programs(p) = vec![program];
    for (port, words) in [
        (port(100, 199, 300), "several neighbors answer"),
        (port(100, 0, 0), "no neighbor answers"),
        (port(100, 99, 4_000), "above the threshold"),
        (port(2, 2, 300), "not known"),
        (PtpPortState { delay_requests_sent: None, link_delay_ns: None, ..port(1, 1, 0) }, "not known"),
    ] {
        let found = check(id, Warning, only(says(port, GPTP)));
        assert!(found.title.ends_with(words), "{found:?}");
    }
    for quiet in [
        says(PtpPortState { as_capable: Some(true), ..port(9, 9, 1) }, GPTP),
        says(PtpPortState { as_capable: None, ..port(9, 9, 1) }, GPTP),
        // A link that is down.
        says(PtpPortState { state: Some("FAULTY".to_owned()), ..port(9, 0, 0) }, GPTP),
        says(PtpPortState { state: None, ..port(9, 0, 0) }, GPTP),
        says(port(9, 0, 0), "[global]\nasCapable true\nfollow_up_info 1\ndelay_mechanism P2P\n"),
        says(port(9, 0, 0), "[global]\ndelay_mechanism P2P\n"),
        configured("ptp4l -i eth0 -f x", GPTP),
    ] {
        check_silent(id, only(quiet));
    }
}

#[test]
fn defaults_of_what_is_not_stated() {
    let TimeSettings::Ptp4l(read) = linuxptp("ptp4l -i eth0 -s").settings.unwrap() else { panic!("no ptp4l") };
    assert_eq!(read, ptp4l());
    let TimeSettings::Phc2sys(read) = linuxptp("phc2sys -s eth0 -w").settings.unwrap() else { panic!("no phc2sys") };
    assert_eq!((read.sinks.as_slice(), read.servo.as_str()), (["CLOCK_REALTIME".to_owned()].as_slice(), "pi"));
    assert_eq!((read.step_threshold_ns, read.stated_offset_s), (0, None));
    let TimeSettings::Ts2phc(read) = linuxptp("ts2phc -a -c eth0").settings.unwrap() else { panic!("no ts2phc") };
    assert_eq!(read, Ts2phc { sinks: vec!["eth0".to_owned()], automatic: true });
    assert_eq!(Ptp4l::default().stamps, PtpStamps::Hardware);
}
