//! Programs that concern themselves with a clock, with what they were started with, and how the clocks stand.
//!
//! Of command lines and configuration files a capture keeps what [`TimeProgram`] holds, and no line of them.

use std::collections::BTreeSet;

use kernel::discipline::LeapState;
use kernel::phc::HardwareClock;
use profile::process::Task;
use profile::ptp_state::PtpState;
use profile::time::{Discipline, Leap, parse_discipline};
use profile::time_config::chrony::{Arguments, Configuration};
use profile::time_config::{Config, Program, Settings};
use profile::time_program::{self, Chronyd, Ntpd, SYSTEM_CLOCK, TimeProgram, TimeSettings, WATCHED};
use profile::{IssueReason, text};

use super::process_files::{Files, read_text};
use super::ptp4l::{self, NoAnswer};
use crate::source::Source;

/// Where a capture keeps the programs.
const PROGRAMS: &str = "/punctual/time/programs.json";
/// Where a capture keeps the state of the system clock.
const DISCIPLINE: &str = "/punctual/time/discipline.json";
/// Where chronyd finds its configuration unless its command line names one: Debian's place, then that of others.
const CHRONY_FILES: [&str; 2] = ["/etc/chrony/chrony.conf", "/etc/chrony.conf"];
/// The same of the programs that are called ntpd.
const NTP_FILES: [&str; 3] = ["/etc/ntpsec/ntp.conf", "/etc/ntp.conf", "/etc/openntpd/ntpd.conf"];

/// What the kernel knows of how the system clock is synchronized.
pub(crate) fn discipline(source: &Source<'_>) -> Option<Discipline> {
    if !source.is_live() {
        return source.value(DISCIPLINE, parse_discipline);
    }
    let read = kernel::discipline::read().ok()?;
    let discipline = Discipline {
        is_synchronized: read.is_synchronized,
        leap: match read.leap {
            LeapState::None => Leap::None,
            LeapState::Insert => Leap::Insert,
            LeapState::Delete => Leap::Delete,
            LeapState::Now => Leap::Now,
        },
        tai_less_utc_s: read.tai_less_utc_s,
    };
    record(source, DISCIPLINE, &discipline);
    Some(discipline)
}

/// A hardware clock less the system clock (ns).
pub(crate) fn ahead_of_system_ns(source: &Source<'_>, index: u32) -> Option<i64> {
    let path = format!("/punctual/time/ptp{index}");
    if !source.is_live() {
        return source.value(&path, text::signed);
    }
    let device = format!("/dev/ptp{index}");
    let compared = HardwareClock::open(std::path::Path::new(&device)).and_then(|mut clock| clock.compare());
    match compared {
        Ok(compared) => {
            let ahead_ns = compared.offset_ns();
            source.record(&path, format!("{ahead_ns}\n").as_bytes());
            Some(ahead_ns)
        }
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            let effect = "how far it is from the system clock stays unknown; root may read it";
            source.issue(&device, IssueReason::Denied, effect);
            None
        }
        // A clock that cannot be compared has no answer.
        Err(_) => None,
    }
}

/// The programs that concern themselves with a clock.
pub(crate) fn programs(source: &Source<'_>, tasks: &[Task]) -> Vec<TimeProgram> {
    let processes: Vec<(u32, &str)> = tasks
        .iter()
        .filter(|task| task.pid == task.tid && !task.kernel && WATCHED.contains(&task.comm.as_str()))
        .map(|task| (task.pid, task.comm.as_str()))
        .collect();
    if !source.is_live() {
        return source.value(PROGRAMS, time_program::parse).unwrap_or_else(|| named_alone(&processes));
    }
    let mut programs = of_processes(source, &processes);
    if source.is_capturing() && !programs.is_empty() {
        let mut hidden = Vec::new();
        for program in &mut programs {
            hide_names(source, program, &mut hidden);
        }
        record(source, PROGRAMS, &programs);
    }
    programs
}

fn record(source: &Source<'_>, path: &str, value: &impl serde::Serialize) {
    if source.is_capturing() {
        // Plain values, which JSON can always say.
        let text = serde_json::to_string_pretty(value).unwrap_or_default() + "\n";
        source.record(path, text.as_bytes());
    }
}

/// Programs of a tree that holds nothing of them but their names.
fn named_alone(processes: &[(u32, &str)]) -> Vec<TimeProgram> {
    let names: BTreeSet<&str> = processes.iter().map(|(_, name)| *name).collect();
    names.into_iter().map(|name| TimeProgram { name: name.to_owned(), ..TimeProgram::default() }).collect()
}

/// Reads each process; several of one program that started each other are one.
fn of_processes(source: &Source<'_>, processes: &[(u32, &str)]) -> Vec<TimeProgram> {
    let mut programs = Vec::new();
    let mut is_network_unknown = false;
    for &(pid, name) in processes {
        let status = read_text(source, &format!("/proc/{pid}/status")).unwrap_or_default();
        let parent = text::keyed(&status, ':', "PPid").and_then(|parent| parent.parse::<u32>().ok());
        // chronyd has a helper, openntpd two.
        if parent.is_some_and(|parent| processes.contains(&(parent, name))) {
            continue;
        }
        let uid_map = read_text(source, &format!("/proc/{pid}/uid_map"));
        let network = source.link(&format!("/proc/{pid}/ns/net"));
        let shares_network = source.link("/proc/self/ns/net").zip(network).map(|(own, other)| own == other);
        is_network_unknown |= shares_network.is_none();
        let mut program = TimeProgram {
            name: name.to_owned(),
            may_set_system_clock: uid_map.and_then(|map| time_program::may_set_system_clock(&status, &map)),
            shares_network,
            configuration: None,
            settings: None,
            ptp: None,
        };
        if let Some(arguments) = arguments(source, pid) {
            if is_kept_from_the_clock(source, name, &arguments) {
                continue;
            }
            let files = Files { source, pid };
            settings(source, &files, &mut program, &arguments);
            if source.is_live() && name == "ptp4l" && program.settings.is_some() {
                program.ptp = state(source, &files, &arguments);
            }
        }
        programs.push(program);
    }
    if is_network_unknown {
        let effect = "whether time services see the same interfaces stays unknown, and with it what concerns their ports; \
                      root may read it";
        source.issue("/proc/PID/ns/net of time services", IssueReason::Denied, effect);
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    programs
}

/// What a ptp4l says of itself.
fn state(source: &Source<'_>, files: &Files<'_, '_>, arguments: &[String]) -> Option<PtpState> {
    let settings = Settings::from_arguments(Program::Ptp4l, arguments);
    let text = settings.file().and_then(|file| files.text(file)).unwrap_or_default();
    match ptp4l::ask(&Config::from_settings(&settings.with_file(&text)), &|path| files.located(path)) {
        Ok(state) => Some(state),
        Err(NoAnswer::Denied) => {
            let effect = "the state of its ports and its UTC offset stay unknown; root may ask";
            source.issue("the management socket of ptp4l", IssueReason::Denied, effect);
            None
        }
        Err(NoAnswer::Silent) => None,
    }
}

/// The arguments of a process without its name; `None` where they cannot be read, or a program replaced them by a title.
fn arguments(source: &Source<'_>, pid: u32) -> Option<Vec<String>> {
    let line = read_text(source, &format!("/proc/{pid}/cmdline"))?;
    let mut words = line.strip_suffix('\0')?.split('\0').map(str::to_owned);
    words.next()?;
    Some(words.collect())
}

/// Whether the agent of a hypervisor is configured not to set the clock, or may be: what names its command is not judged further.
fn is_kept_from_the_clock(source: &Source<'_>, name: &str, arguments: &[String]) -> bool {
    let names = |word: &str| arguments.iter().any(|argument| argument.contains(word));
    match name {
        "qemu-ga" => {
            const COMMAND: &str = "guest-set-time";
            let file = "/etc/qemu/qemu-ga.conf";
            let is_in_file = source.is_file(file) && read_text(source, file).is_some_and(|text| text.contains(COMMAND));
            names(COMMAND) || is_in_file
        }
        "VBoxService" => names("--disable-timesync"),
        _ => false,
    }
}

fn settings(source: &Source<'_>, files: &Files<'_, '_>, program: &mut TimeProgram, arguments: &[String]) {
    let command_line = || Some("command line".to_owned());
    match program.name.as_str() {
        "chronyd" => {
            let arguments = Arguments::parse(arguments);
            let mut read = Configuration::default();
            let mut is_complete = true;
            if arguments.directives.is_empty() {
                let named = arguments.file.as_deref();
                let Some((path, text)) = files.first(named, &CHRONY_FILES) else {
                    unread(source, "chronyd", named);
                    return;
                };
                is_complete = files.take_chrony(&mut read, &text);
                program.configuration = Some(path);
            } else {
                read.take(&arguments.directives.join("\n"));
                program.configuration = command_line();
            }
            let mut chronyd = Chronyd::from_configuration(&arguments, &read);
            if !is_complete {
                // A file that was not read may say otherwise.
                chronyd.step_threshold_ns = None;
            }
            program.settings = Some(TimeSettings::Chronyd(chronyd));
        }
        "ntpd" => {
            // BusyBox's takes -w for looking alone, others for waiting.
            if arguments.iter().any(|argument| argument == "-w") {
                return;
            }
            let named = arguments.iter().position(|argument| argument == "-c").and_then(|at| arguments.get(at + 1));
            let Some((path, text)) = files.first(named.map(String::as_str), &NTP_FILES) else {
                unread(source, "ntpd", named.map(String::as_str));
                return;
            };
            program.configuration = Some(path);
            program.settings = Some(TimeSettings::Ntpd(Ntpd::from_file(&text)));
        }
        name => {
            let Some(kind) = time_program::program(name) else { return };
            let named = Settings::from_arguments(kind, arguments).file().map(str::to_owned);
            let file = match &named {
                None => None,
                Some(path) => {
                    let Some(text) = files.text(path) else {
                        unread(source, name, Some(path));
                        return;
                    };
                    Some(text)
                }
            };
            program.settings = time_program::linuxptp(name, arguments, file.as_deref());
            program.configuration = named.or_else(command_line);
        }
    }
}

fn unread(source: &Source<'_>, name: &str, path: Option<&str>) {
    let place = path.map_or_else(|| format!("the configuration of {name}"), str::to_owned);
    source.missing(&place, &format!("what {name} steers, and how, stays unknown; root may read it"));
}

/// Puts other names in the place of interfaces that a capture must not name, and no path of a user's.
fn hide_names(source: &Source<'_>, program: &mut TimeProgram, hidden: &mut Vec<String>) {
    if program.configuration.as_ref().is_some_and(|path| path != "command line" && !path.starts_with("/etc/")) {
        program.configuration = Some("a file of its own".to_owned());
    }
    let mut hide = |name: &mut String| {
        if name.is_empty() || name == "*" || name == SYSTEM_CLOCK {
            return;
        }
        let shown = source.shown(name);
        let is_device = name.strip_prefix("/dev/ptp").is_some_and(|number| number.parse::<u32>().is_ok());
        if shown != *name {
            *name = shown;
        } else if !is_device && !source.has_device(name) {
            let at = hidden.iter().position(|known| known == name).unwrap_or_else(|| {
                hidden.push(name.clone());
                hidden.len() - 1
            });
            *name = format!("other{at}");
        }
    };
    match &mut program.settings {
        Some(TimeSettings::Ptp4l(ptp4l)) => ptp4l.ports.iter_mut().for_each(|port| hide(&mut port.interface)),
        Some(TimeSettings::Phc2sys(phc2sys)) => {
            phc2sys.source.iter_mut().for_each(&mut hide);
            phc2sys.sinks.iter_mut().for_each(hide);
        }
        Some(TimeSettings::Ts2phc(ts2phc)) => ts2phc.sinks.iter_mut().for_each(hide),
        Some(TimeSettings::Chronyd(chronyd)) => {
            chronyd.hardware_stamps.iter_mut().for_each(&mut hide);
            chronyd.hardware_clocks.iter_mut().for_each(|clock| hide(&mut clock.device));
        }
        Some(TimeSettings::Ntpd(_)) | None => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use profile::time_program::Steering;

    use super::*;
    use crate::root::Root;

    const FULL: &str = "CapEff:\t000001ffffffffff\n";

    /// A machine with one process after the other, as the live one shows them.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Self {
            let machine = Self(tempfile::tempdir().unwrap());
            machine.link("proc/self/ns/net", "net:[1]");
            machine
        }

        fn write(&self, path: &str, text: &str) {
            let place = self.0.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            fs::write(place, text).unwrap();
        }

        fn link(&self, path: &str, target: &str) {
            let place = self.0.path().join(path);
            fs::create_dir_all(place.parent().unwrap()).unwrap();
            symlink(target, place).unwrap();
        }

        fn process(&self, pid: u32, parent: u32, line: &str) {
            self.write(
                &format!("proc/{pid}/cmdline"),
                &line.split(' ').flat_map(|word| [word, "\0"]).collect::<String>(),
            );
            self.write(&format!("proc/{pid}/status"), &format!("PPid:\t{parent}\n{FULL}"));
            self.write(&format!("proc/{pid}/uid_map"), "         0          0 4294967295\n");
            self.link(&format!("proc/{pid}/ns/net"), "net:[1]");
            self.link(&format!("proc/{pid}/root"), "../..");
        }

        fn read(&self, processes: &[(u32, &str)]) -> (Vec<TimeProgram>, Vec<profile::ProbeIssue>) {
            let root = Root::tree(self.0.path()).unwrap();
            let source = Source::new(&root);
            let programs = of_processes(&source, processes);
            (programs, source.finish().0)
        }
    }

    #[test]
    fn debians_chronyd_with_its_helper_is_one_and_its_files_are_followed() {
        let machine = Machine::new();
        machine.process(7, 1, "/usr/sbin/chronyd -F 1");
        machine.process(8, 7, "/usr/sbin/chronyd -F 1");
        machine.write(
            "etc/chrony/chrony.conf",
            "makestep 1 -1\nconfdir /etc/chrony/conf.d /usr/lib/chrony\nhwtimestamp *\n",
        );
        machine.link("etc/chrony/conf.d", "/var/lib/chrony.d");
        machine.write("var/lib/chrony.d/b.conf", "makestep 1 3\nrefclock PHC /dev/ptp0 tai\n");
        machine.write("var/lib/chrony.d/README", "makestep 9 9\n");
        machine.write("usr/lib/chrony/a.conf", "makestep 5 5\ninclude /etc/chrony/extra*.txt\n");
        machine.write("usr/lib/chrony/b.conf", "makestep 7 7\n");
        machine.write("etc/chrony/extra1.txt", "hwtimestamp eth0\n");
        let (programs, issues) = machine.read(&[(7, "chronyd"), (8, "chronyd")]);
        assert_eq!((programs.len(), issues), (1, Vec::new()));
        assert_eq!((programs[0].may_set_system_clock, programs[0].shares_network), (Some(true), Some(true)));
        assert_eq!(programs[0].configuration.as_deref(), Some("/etc/chrony/chrony.conf"));
        let Some(TimeSettings::Chronyd(chronyd)) = &programs[0].settings else { panic!("{programs:?}") };
        // The file of the first folder, and in the order of names the last.
        assert_eq!((chronyd.step_threshold_ns, chronyd.step_limit), (Some(1_000_000_000), 3));
        assert_eq!(chronyd.hardware_stamps, ["eth0", "*"]);
        assert_eq!(chronyd.hardware_clocks.len(), 1);
    }

    #[test]
    fn what_a_missing_file_would_say_is_unknown() {
        let machine = Machine::new();
        machine.process(7, 1, "chronyd");
        machine.write("etc/chrony.conf", "makestep 1 -1\ninclude /etc/more.conf\n");
        let (programs, _) = machine.read(&[(7, "chronyd")]);
        let Some(TimeSettings::Chronyd(chronyd)) = &programs[0].settings else { panic!("{programs:?}") };
        assert!(chronyd.corrects_clock && chronyd.step_threshold_ns.is_none());
        // ptp4l whose file cannot be read may be anything.
        machine.process(9, 1, "ptp4l -f /etc/ptp4l.conf -i eth0");
        let (programs, issues) = machine.read(&[(9, "ptp4l")]);
        assert_eq!((programs[0].settings.as_ref(), issues.len()), (None, 1));
        assert_eq!(programs[0].steers_system_clock(), Steering::Unknown);
        machine.write("etc/ptp4l.conf", "[global]\nfree_running 1\n");
        let (programs, issues) = machine.read(&[(9, "ptp4l")]);
        assert!(programs[0].settings.is_some() && issues.is_empty());
    }

    #[test]
    fn another_namespace_another_right_and_another_root_are_seen() {
        let machine = Machine::new();
        machine.process(7, 1, "ptp4l -S -i eth0 -f ptp.conf");
        machine.write("proc/7/cwd/ptp.conf", "slaveOnly 1\n");
        let (programs, _) = machine.read(&[(7, "ptp4l")]);
        assert_eq!(programs[0].steers_system_clock(), Steering::Yes);
        for (file, text) in
            [("proc/7/status", "PPid:\t1\nCapEff:\t00000000a80425fb\n"), ("proc/7/uid_map", "0 100000 65536\n")]
        {
            let before = fs::read_to_string(machine.0.path().join(file)).unwrap();
            machine.write(file, text);
            assert_eq!(machine.read(&[(7, "ptp4l")]).0[0].may_set_system_clock, Some(false), "{file}");
            machine.write(file, &before);
        }
        fs::remove_file(machine.0.path().join("proc/7/ns/net")).unwrap();
        let (programs, issues) = machine.read(&[(7, "ptp4l")]);
        assert_eq!((programs[0].shares_network, issues.len()), (None, 1));
        machine.link("proc/7/ns/net", "net:[2]");
        assert_eq!(machine.read(&[(7, "ptp4l")]).0[0].shares_network, Some(false));
        // Its root may not be looked through: the path as it stands is right for a service of systemd alone.
        machine.process(9, 1, "ptp4l -f /etc/ptp4l.conf");
        machine.write("etc/ptp4l.conf", "[eth0]\n");
        // A link is followed within the root of the process.
        fs::remove_file(machine.0.path().join("etc/ptp4l.conf")).unwrap();
        machine.link("etc/ptp4l.conf", "/etc/linuxptp/../linuxptp/./real.conf");
        machine.write("etc/linuxptp/real.conf", "[eth0]\n");
        assert!(machine.read(&[(9, "ptp4l")]).0[0].settings.is_some());
        fs::remove_file(machine.0.path().join("etc/ptp4l.conf")).unwrap();
        machine.link("etc/ptp4l.conf", "ptp4l.conf");
        assert_eq!(machine.read(&[(9, "ptp4l")]).0[0].settings, None);
        fs::remove_file(machine.0.path().join("etc/ptp4l.conf")).unwrap();
        machine.write("etc/ptp4l.conf", "[eth0]\n");
        fs::remove_file(machine.0.path().join("proc/9/root")).unwrap();
        machine.write("proc/9/cgroup", "0::/system.slice/docker-8f.scope\n");
        assert_eq!(machine.read(&[(9, "ptp4l")]).0[0].settings, None);
        machine.write("proc/9/cgroup", "0::/system.slice/system-ptp4l.slice/ptp4l@eth0.service\n");
        assert!(machine.read(&[(9, "ptp4l")]).0[0].settings.is_some());
    }

    #[test]
    fn an_agent_that_is_kept_from_the_clock_is_left_out() {
        let machine = Machine::new();
        machine.process(7, 1, "/usr/sbin/qemu-ga");
        assert_eq!(machine.read(&[(7, "qemu-ga")]).0.len(), 1);
        machine.write("etc/qemu/qemu-ga.conf", "[general]\nblock-rpcs=guest-set-time\n");
        assert!(machine.read(&[(7, "qemu-ga")]).0.is_empty());
    }

    #[test]
    fn a_configuration_that_is_a_pipe_or_includes_itself_ends() {
        let machine = Machine::new();
        machine.process(7, 1, "chronyd -f /etc/chrony.conf");
        machine.write("etc/chrony.conf", "include /etc/chrony.conf\n");
        assert_eq!(machine.read(&[(7, "chronyd")]).0.len(), 1);
        assert!(!Source::new(&Root::live()).is_file("/dev/zero"));
        assert!(Path::new("/dev/zero").exists());
    }

    #[test]
    fn a_capture_names_no_interface_that_it_must_not() {
        let machine = Machine::new();
        machine.write("sys/class/net/eth0/device/uevent", "");
        let root = Root::tree(machine.0.path()).unwrap();
        let source = Source::recording(&root);
        source.hide("enx001122aabbcc", "nic");
        let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let line = "-f /home/bob/x -i eth0 -i enx001122aabbcc -i wg-customer -i br-customer";
        let mut program = TimeProgram {
            configuration: Some("/home/bob/x".to_owned()),
            settings: time_program::linuxptp("ptp4l", &words(line), Some("")),
            ..TimeProgram::default()
        };
        let mut hidden = Vec::new();
        hide_names(&source, &mut program, &mut hidden);
        let Some(TimeSettings::Ptp4l(ptp4l)) = &program.settings else { panic!("{program:?}") };
        let mut names: Vec<&str> = ptp4l.ports.iter().map(|port| port.interface.as_str()).collect();
        names.sort_unstable();
        assert_eq!(names, ["eth0", "nic0", "other0", "other1"]);
        assert_eq!(program.configuration.as_deref(), Some("a file of its own"));
    }
}
