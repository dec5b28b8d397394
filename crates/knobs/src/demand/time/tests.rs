//! What is planned for time services on a machine with two cards that stamp in hardware, and one that does not.

use profile::Profile;
use profile::net::{Nic, Timestamping};
use profile::time::Discipline;

use super::*;
use crate::boot::BootFiles;
use crate::{Intent, Plan, Reading};

/// A list of leap seconds that is complete until 2026-06-28, and a moment before.
const LIST: &str = "/usr/share/zoneinfo/leap-seconds.list";
const LEAP_SECONDS: &str = "#$ 3960835200\n#@ 3991593600\n3644697600 36\n3692217600 37\n#h 49db2447\n";
const NOW_S: i64 = 1_760_000_000;
const EXPIRED_S: i64 = 1_782_604_800;

fn site() -> Site {
    let mut profile = Profile::default();
    profile.time.discipline = Some(Discipline::default());
    profile.kernel.release = Some("6.12.9".to_owned());
    profile.cpus.online = "0-3".parse().ok();
    let nic = |name: &str, phc_index: Option<u32>| {
        let mut nic = Nic { name: name.to_owned(), ..Nic::default() };
        let has = phc_index.is_some();
        nic.ethtool.timestamping =
            Some(Timestamping { tx_hardware: has, rx_hardware: has, phc_index, ..Timestamping::default() });
        nic
    };
    profile.net.interfaces = vec![nic("eth0", Some(0)), nic("eth1", Some(1)), nic("eth2", None)];
    let time = TimeSite {
        programs: ["/usr/sbin/ptp4l", "/usr/sbin/phc2sys", "/usr/sbin/chronyd"].map(str::to_owned).to_vec(),
        interfaces: ["eth0", "eth1", "eth2", "br0"].map(str::to_owned).to_vec(),
        running: Vec::new(),
        leap_seconds: vec![(LIST.to_owned(), LEAP_SECONDS.to_owned())],
        now_s: NOW_S,
    };
    Site { profile, cgroup2_cpuset: None, cgroup1_cpuset: None, tuned: None, boot: BootFiles::default(), time }
}

fn running(comm: &str, unit: Option<&str>) -> RunningService {
    RunningService { pid: 77, comm: comm.to_owned(), unit: unit.map(str::to_owned), is_elsewhere: false }
}

fn demand(text: &str, site: &Site) -> Demand {
    Demand::from_intent(&Intent::from_toml(&format!("[time]\n{text}")).unwrap(), site)
}

fn content<'a>(demand: &'a Demand, of: &str, knob: &str) -> &'a str {
    let found = demand.wanted.iter().find(|one| one.of == of && one.knob == knob);
    match found.map(|one| &one.value) {
        Some(Value::Text(text)) => text,
        _ => panic!("no {knob} of {of}: {demand:?}"),
    }
}

#[test]
fn hardware_stamps_need_both_programs_and_software_stamps_say_what_is_lost() {
    let hardware = demand("profile = \"gptp\"\ninterfaces = [\"eth0\"]\npriority = 30\n", &site());
    assert!(hardware.conflicts.is_empty() && hardware.notes.is_empty(), "{hardware:?}");
    let order: Vec<String> = hardware.wanted.iter().map(|one| format!("{} {}", one.knob, one.of)).collect();
    let expected = [
        "time.configuration ptp4l",
        "time.unit ptp4l",
        "time.unit phc2sys",
        "time.tai-less-utc ",
        "time.service ptp4l",
        "time.service phc2sys",
    ];
    assert_eq!(order, expected);
    assert!(hardware.wanted.iter().all(|one| one.place.is_known() && !one.place.outlives_boot()));
    let text = content(&hardware, "ptp4l", "time.configuration");
    for line in ["time_stamping hardware", "gmCapable 0", "neighborPropDelayThresh 800", "step_threshold 0.0"] {
        assert!(text.contains(&format!("\n{line}\n")), "{line}: {text}");
    }
    assert!(text.ends_with("\n[eth0]\n") && !text.contains("slaveOnly"), "ptp4l refuses both: {text}");
    let unit = content(&hardware, "phc2sys", "time.unit");
    assert!(unit.contains("ExecStart=/usr/sbin/phc2sys -a -r -f /run/punctual/time/ptp4l.conf\n"), "{unit}");
    assert!(unit.contains("BindsTo=punctual-ptp4l.service\n"));
    assert!(unit.contains("CPUSchedulingPolicy=fifo\nCPUSchedulingPriority=30\n") && !unit.contains("CPUAffinity"));

    let software = demand("profile = \"gptp\"\ninterfaces = [\"eth2\"]\n", &site());
    assert!(software.notes[0].contains("eth2 are stamped in software") && software.notes[0].contains("800 ns"));
    let text = content(&software, "ptp4l", "time.configuration");
    assert!(text.contains("time_stamping software\n") && text.contains("neighborPropDelayThresh 20000000\n"));
    assert!(!software.wanted.iter().any(|one| one.of == "phc2sys"), "there is one clock");
}

#[test]
fn services_stay_off_isolated_cpus() {
    let intent =
        "isolate = \"2-3\"\nmechanism = \"isolcpus\"\n[time]\nprofile = \"ptp-udp\"\ninterfaces = [\"eth2\"]\n";
    let demand = Demand::from_intent(&Intent::from_toml(intent).unwrap(), &site());
    assert!(content(&demand, "ptp4l", "time.unit").contains("CPUAffinity=0-1\n"));
    let mut isolated = site();
    isolated.profile.isolation.isolated = "3".parse().ok();
    let demand = self::demand("profile = \"ntp\"\nservers = [\"a.example\"]\n", &isolated);
    assert!(content(&demand, "chronyd", "time.unit").contains("CPUAffinity=0-2\n"));
}

#[test]
fn an_ntp_server_and_a_client_have_their_directives() {
    let client = demand("profile = \"ntp\"\nservers = [\"a.example\", \"fe80::1%eth0\"]\n", &site());
    assert!(client.conflicts[0].why.contains("fe80::1%eth0"), "a % means something to systemd: {client:?}");
    let client = demand("profile = \"ntp\"\nservers = [\"a.example\"]\ninterfaces = [\"eth0\"]\n", &site());
    let unit = content(&client, "chronyd", "time.unit");
    let line = "ExecStart=/usr/sbin/chronyd -n \"server a.example iburst\" \"makestep 1 3\" \"rtcsync\" \"hwtimestamp eth0\"\n";
    assert!(unit.contains(line), "{unit}");
    let server = demand("profile = \"ntp\"\nrole = \"server\"\nallow = [\"10.0.0.0/8\"]\n", &site());
    let unit = content(&server, "chronyd", "time.unit");
    assert!(unit.contains("-n \"allow 10.0.0.0/8\" \"local stratum 10\"\n"), "{unit}");
}

#[test]
fn who_would_steer_the_same_clock_is_stopped_and_nobody_else() {
    let gptp = "profile = \"gptp\"\ninterfaces = [\"eth0\"]\n";
    let in_software = "profile = \"ptp-udp\"\ninterfaces = [\"eth2\"]\n";
    let ntp = "profile = \"ntp\"\nservers = [\"a\"]\n";
    for (text, comm, unit, is_stopped) in [
        (gptp.to_owned(), "chronyd", "chrony.service", true),
        (format!("{gptp}system-clock = false\n"), "chronyd", "chrony.service", false),
        (format!("{gptp}system-clock = false\n"), "ptp4l", "ptp4l@eth0.service", true),
        // A grand master gives its system clock, which NTP may well steer.
        (format!("{in_software}role = \"master\"\n"), "chronyd", "chrony.service", false),
        (format!("{in_software}role = \"best-master\"\n"), "systemd-timesyn", "systemd-timesyncd.service", true),
        (ntp.to_owned(), "systemd-timesyn", "systemd-timesyncd.service", true),
        (ntp.to_owned(), "ntpd", "ntpsec.service", true),
        (ntp.to_owned(), "bash", "chrony.service", false),
        (ntp.to_owned(), "chronyd", "punctual-chronyd.service", false),
    ] {
        let site = Site { time: TimeSite { running: vec![running(comm, Some(unit))], ..site().time }, ..site() };
        let demand = demand(&text, &site);
        assert!(demand.conflicts.is_empty(), "{demand:?}");
        let stopped: Vec<&Place> =
            demand.wanted.iter().filter(|one| one.group == Group::Services).map(|one| &one.place).collect();
        let expected = Place::Service { unit: unit.to_owned() };
        assert_eq!(stopped, if is_stopped { vec![&expected] } else { Vec::new() }, "{text} {comm}");
        assert!(expected.is_known() || !is_stopped);
    }
    // One that nobody can start again is in the way.
    for unit in [None, Some("my-ptp.service"), Some("session-3.scope")] {
        let site = Site { time: TimeSite { running: vec![running("ptp4l", unit)], ..site().time }, ..site() };
        let demand = demand(gptp, &site);
        assert!(demand.wanted.is_empty() && demand.conflicts[0].why.contains("process 77"), "{demand:?}");
    }
    let elsewhere = RunningService { is_elsewhere: true, ..running("chronyd", Some("docker-1.scope")) };
    let site = Site { time: TimeSite { running: vec![elsewhere], ..site().time }, ..site() };
    let demand = demand(gptp, &site);
    assert!(demand.conflicts.is_empty() && demand.notes[0].contains("another network namespace"), "{demand:?}");
}

#[test]
fn what_cannot_be_had_is_a_conflict_with_its_remedy() {
    for (text, expected) in [
        ("profile = \"gptp\"\n", "by which interface"),
        ("profile = \"gptp\"\ninterfaces = [\"eth9\"]\n", "no interface 'eth9'"),
        ("profile = \"gptp\"\ninterfaces = [\"eth0]\\n[global]\"]\n", "no interface"),
        ("profile = \"gptp\"\ninterfaces = [\"eth0\", \"eth0\"]\n", "named twice"),
        ("profile = \"gptp\"\ninterfaces = [\"eth0\", \"eth1\"]\n", "clocks of their own"),
        ("profile = \"gptp\"\ninterfaces = [\"eth2\"]\nstamps = \"hardware\"\n", "does not stamp packets in hardware"),
        ("profile = \"gptp\"\ninterfaces = [\"eth2\"]\nsystem-clock = false\n", "the system clock that follows"),
        ("profile = \"gptp\"\ninterfaces = [\"eth0\"]\ndomain = 200\n", "0 to 127"),
        ("profile = \"gptp\"\ninterfaces = [\"eth0\"]\npriority = 100\n", "1 to 99"),
        ("profile = \"gptp\"\ninterfaces = [\"eth0\"]\ncpus = \"7\"\n", "not among the CPUs"),
        ("profile = \"gptp\"\ninterfaces = [\"eth0\"]\nservers = [\"a\"]\n", "finds its grand master"),
        ("profile = \"ntp\"\n", "needs a server"),
        ("profile = \"ntp\"\nrole = \"best-master\"\n", "no best-master"),
        ("profile = \"ntp\"\nservers = [\"a\\\" x\"]\n", "no name or address"),
        ("profile = \"ntp\"\nservers = [\"-d\"]\n", "no name or address"),
        ("profile = \"ntp\"\nservers = [\"a\"]\nallow = [\"10.0.0.0/8\"]\n", "answers nobody"),
    ] {
        let demand = demand(text, &site());
        assert!(
            demand.conflicts.iter().any(|one| one.why.contains(expected) && !one.remedy.is_empty()),
            "{text}: {demand:?}"
        );
        assert!(demand.wanted.is_empty(), "nothing of it is planned: {text}");
    }
    let bare = Site { time: TimeSite { programs: Vec::new(), ..site().time }, ..site() };
    let demand = demand("profile = \"gptp\"\ninterfaces = [\"eth0\"]\n", &bare);
    assert_eq!(demand.conflicts.len(), 2, "ptp4l and phc2sys");
    assert_eq!(demand.conflicts[0].remedy, "apt-get install linuxptp");
    let refused = |text: &str| Intent::from_toml(&format!("[time]\n{text}")).unwrap_err().to_string();
    assert!(refused("profile = \"gptp\"\nrole = \"king\"\n").contains("best-master"));
    assert!(refused("profile = \"irig\"\n").contains("ptp-udp"));
}

#[test]
fn a_service_of_an_earlier_intent_is_not_passed_off_as_the_new_one() {
    let demand = demand("profile = \"gptp\"\ninterfaces = [\"eth0\"]\n", &site());
    let standing = |configuration: &str| {
        let configuration = configuration.to_owned();
        Plan::from_demand(demand.clone(), &mut |place| {
            Reading::Is(match place {
                Place::Service { .. } => Value::text("active"),
                Place::File { path } if path.ends_with("ptp4l.conf") => Value::Text(configuration.clone()),
                _ => Value::Absent,
            })
        })
    };
    let other = standing("[global]\ndomainNumber 4\n");
    assert!(other.conflicts[0].why.contains("earlier intent"), "{other:?}");
    let same = content(&demand, "ptp4l", "time.configuration").to_owned();
    assert!(standing(&same).conflicts.is_empty());
}

/// The step that tells the kernel of TAI.
fn tai(demand: &Demand) -> Option<&RequiredSetting> {
    demand.wanted.iter().find(|one| one.place == Place::TaiOffset)
}

const GPTP: &str = "profile = \"gptp\"\ninterfaces = [\"eth0\"]\n";
const IN_SOFTWARE: &str = "profile = \"ptp-udp\"\ninterfaces = [\"eth2\"]\n";
const NTP: &str = "profile = \"ntp\"\nservers = [\"a\"]\n";

#[test]
fn the_kernel_learns_tai_from_the_machine_s_list_whichever_service_runs() {
    for text in [GPTP.to_owned(), IN_SOFTWARE.to_owned(), NTP.to_owned(), format!("{GPTP}role = \"master\"\n")] {
        let demand = demand(&text, &site());
        let step = tai(&demand).unwrap();
        assert_eq!((&step.value, step.may_refuse), (&Value::text("37"), false), "{text}");
        assert!(
            step.why.contains("37 s (/usr/share/zoneinfo/leap-seconds.list, complete until 2026-06-28)"),
            "{step:?}"
        );
        assert_eq!(step.why.contains("valid and traceable"), text != NTP, "{step:?}");
        assert!(step.place.is_known() && !step.place.outlives_boot() && !step.cost.is_empty());
        let of_service = demand.wanted.iter().find(|one| one.group == Group::TimeServices).unwrap();
        assert!(step.group < of_service.group, "a service is never begun before");
        // A client of a server that smears leap seconds must not have a list of its own.
        let has_list =
            demand.wanted.iter().any(|one| matches!(&one.value, Value::Text(text) if text.contains("leapsec")));
        assert!(!has_list, "{demand:?}");
        if text != NTP {
            assert!(content(&demand, "ptp4l", "time.configuration").contains("\nutc_offset 37\n"), "{text}");
        }
    }
}

#[test]
fn what_the_intent_states_of_tai_outranks_the_list_and_is_held_against_it() {
    let own = demand(&format!("{GPTP}tai-less-utc = 38\n"), &site());
    let step = tai(&own).unwrap();
    assert_eq!((&step.value, step.why.contains("38 s (the intent)")), (&Value::text("38"), true), "{step:?}");
    assert!(
        own.notes[0].contains("tai-less-utc is 38 s, and") && own.notes[0].contains("states 37 s until 2026-06-28")
    );
    assert!(content(&own, "ptp4l", "time.configuration").contains("\nutc_offset 38\n"));
    let same = demand(&format!("{GPTP}tai-less-utc = 37\n"), &site());
    assert!(same.notes.is_empty() && tai(&same).is_some(), "{same:?}");
    for wrong in ["-1", "256", "\"37\""] {
        assert!(Intent::from_toml(&format!("[time]\n{GPTP}tai-less-utc = {wrong}\n")).is_err(), "{wrong}");
    }
}

#[test]
fn without_a_list_that_is_complete_nothing_is_made_up() {
    let with = |change: &dyn Fn(&mut Site)| {
        let mut site = site();
        change(&mut site);
        site
    };
    for (site, why) in [
        (with(&|site| site.time.now_s = EXPIRED_S), "leap-seconds.list expired on 2026-06-28"),
        (with(&|site| site.time.now_s = 1_000), "a time before 2025-07-07"),
        (with(&|site| site.time.leap_seconds.clear()), "this machine has no"),
        (with(&|site| site.time.leap_seconds[0].1 = "x".to_owned()), "no list of leap seconds of a known form"),
    ] {
        let unknown = demand(IN_SOFTWARE, &site);
        assert!(tai(&unknown).is_none() && unknown.conflicts.is_empty(), "{unknown:?}");
        let note = unknown.notes.iter().find(|note| note.starts_with("TAI less UTC is not known")).unwrap();
        assert!(
            note.contains(why) && note.contains("stays at 0 s") && note.contains("ptp4l takes a number of its own"),
            "{note}"
        );
        assert!(!content(&unknown, "ptp4l", "time.configuration").contains("utc_offset"));
        let named = demand(&format!("{IN_SOFTWARE}tai-less-utc = 37\n"), &site);
        assert!(tai(&named).is_some() && named.notes.len() == 1, "{named:?}");
        assert!(!demand(NTP, &site).notes[0].contains("ptp4l"));
    }
}

#[test]
fn the_kernel_s_tai_is_left_with_a_system_clock_that_is_left() {
    let left = demand(&format!("{GPTP}system-clock = false\n"), &site());
    assert!(tai(&left).is_none() && left.notes.is_empty(), "{left:?}");
    assert!(tai(&demand(&format!("{GPTP}system-clock = false\ntai-less-utc = 37\n"), &site())).is_some());
}

#[test]
fn a_kernel_that_takes_no_zero_back_is_named_as_such() {
    let mut old = site();
    old.profile.kernel.release = Some("4.19.0-27-amd64".to_owned());
    let planned = demand(GPTP, &old);
    assert!(tai(&planned).unwrap().may_refuse && planned.notes[0].contains("until the next start"), "{planned:?}");
    old.profile.time.discipline = Some(Discipline { tai_less_utc_s: 36, ..Discipline::default() });
    let planned = demand(GPTP, &old);
    assert!(!tai(&planned).unwrap().may_refuse && planned.notes.is_empty(), "{planned:?}");
}
