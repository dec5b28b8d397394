//! What a machine is, as far as a plan depends on it.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use host::Root;
use knobs::boot::{self, BootFiles, efi};
use knobs::time::{self, RunningService, TimeSite};
use knobs::tuned::{self, Tuned, TunedProfile};
use knobs::{Cgroup1, Owner, Site, Step, Value};
use profile::cpuset::parse_mounts;

/// Reads the site: the profile, where control groups are, which TuneD profiles exist, and the files that show which boot
/// loader is used.
#[must_use]
pub fn read_site(root: &Root) -> Site {
    let (profile, _) = host::read_profile(root);
    let text = |path: &str| std::fs::read_to_string(at(root, path)).unwrap_or_default();
    let has_cpuset = |mounted: &String| {
        text(&format!("{mounted}/cgroup.controllers")).split_whitespace().any(|controller| controller == "cpuset")
    };
    let mounts = parse_mounts(&text("/proc/mounts"));
    let cgroup2_cpuset = mounts.v2.filter(has_cpuset);
    let cgroup1_cpuset = mounts.v1_cpuset.and_then(|path| {
        let mems = text(&format!("{path}/cpuset.mems")).trim().to_owned();
        (!mems.is_empty()).then_some(Cgroup1 { path, mems })
    });
    let has = |path: &str| at(root, path).exists();
    let tuned = has(tuned::PROGRAM).then(|| {
        let installed = TunedProfile::ALL.into_iter().filter(|one| one.definitions().iter().any(|path| has(path)));
        Tuned { profiles: installed.map(|one| (one, text(&one.variables()))).collect() }
    });
    let boot = read_boot_files(root);
    Site { profile, cgroup2_cpuset, cgroup1_cpuset, tuned, boot, time: read_time_site(root) }
}

/// Time services that are installed, and those that run.
fn read_time_site(root: &Root) -> TimeSite {
    let folder = |path: &str| -> Vec<String> {
        let Ok(entries) = std::fs::read_dir(at(root, path)) else { return Vec::new() };
        let mut names: Vec<String> = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect();
        names.sort();
        names
    };
    let text = |path: String| std::fs::read_to_string(at(root, &path)).unwrap_or_default();
    let network = |pid: &str| std::fs::read_link(at(root, &format!("/proc/{pid}/ns/net"))).ok();
    let own_network = network("self");
    let mut running: Vec<RunningService> = folder("/proc")
        .iter()
        .filter_map(|name| {
            let comm = text(format!("/proc/{name}/comm"));
            let comm = comm.trim();
            if !time::STEERING.contains(&comm) {
                return None;
            }
            Some(RunningService {
                pid: name.parse().ok()?,
                comm: comm.to_owned(),
                unit: unit_of(&text(format!("/proc/{name}/cgroup"))),
                is_elsewhere: own_network.is_some() && network(name) != own_network,
            })
        })
        .collect();
    // A service can have several processes.
    running.sort_by_key(|one| (one.unit.clone(), one.pid));
    running.dedup_by(|later, earlier| later.unit.is_some() && later.unit == earlier.unit);
    TimeSite {
        programs: TimeSite::candidates().filter(|path| at(root, path).exists()).collect(),
        interfaces: folder("/sys/class/net").into_iter().filter(|name| name != "lo").collect(),
        running,
        leap_seconds: time::LEAP_SECOND_FILES
            .iter()
            .map(|path| ((*path).to_owned(), text((*path).to_owned())))
            .filter(|(_, text)| !text.is_empty())
            .collect(),
        now_s: SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .map_or(0, |now| i64::try_from(now.as_secs()).unwrap_or(i64::MAX)),
    }
}

/// The unit of systemd's that a process belongs to, by its control groups (proc_pid_cgroup(5)).
fn unit_of(cgroups: &str) -> Option<String> {
    cgroups.lines().find_map(|line| {
        let path = line.splitn(3, ':').nth(2)?;
        path.rsplit('/').find(|part| part.ends_with(".service")).map(str::to_owned)
    })
}

/// The configuration files of boot loaders.
#[must_use]
pub fn read_boot_files(root: &Root) -> BootFiles {
    let mut files = BootFiles::default();
    let (reads, looks) = boot::needs();
    for path in reads.iter().flat_map(|pattern| host::boot::matching_files(root, pattern)) {
        let read = host::boot::read_file(root, &path);
        files.add_read(path, read);
    }
    for path in looks.iter().flat_map(|pattern| host::boot::matching_files(root, pattern)) {
        files.add(path);
    }
    files
}

/// How the machine was started.
#[must_use]
pub fn read_started(root: &Root) -> boot::Started {
    let text = |path: &str| std::fs::read_to_string(at(root, path)).unwrap_or_default();
    let entry = host::boot::read_file(root, efi::ENTRY_SELECTED).ok();
    boot::Started {
        cmdline: text("/proc/cmdline"),
        release: text("/proc/sys/kernel/osrelease").trim().to_owned(),
        entry: entry.and_then(|bytes| efi::text_of(&bytes)),
    }
}

/// Returns a function that says of a step whether the running kernel was booted with what the step wrote for the boot loader.
pub fn in_force(root: &Root) -> impl Fn(&Step) -> bool + use<> {
    let started = read_started(root);
    move |step| match &step.wanted {
        Value::Text(content) if tuned::from_variables_path(step.place.path()).is_some() => {
            tuned::is_started_with(step.place.path(), content, &started.cmdline)
        }
        _ => boot::is_in_force(&step.place, &step.before, &step.wanted, &started),
    }
}

/// Where the journal of a command's settings of a machine is.
#[must_use]
pub fn journal_folder(root: &Root, owner: Owner) -> PathBuf {
    root.prefix().join(owner.journal_folder())
}

fn at(root: &Root, path: &str) -> PathBuf {
    root.prefix().join(path.trim_start_matches('/'))
}
