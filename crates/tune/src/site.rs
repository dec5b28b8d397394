//! What a machine is, as far as a plan depends on it.

use std::path::PathBuf;

use host::Root;
use knobs::boot::{self, BootFiles, efi};
use knobs::tuned::{self, Tuned, TunedProfile};
use knobs::{Cgroup1, Site, Step, Value};
use profile::cpuset::parse_mounts;

/// Where the journal is, below the machine's root.
const JOURNAL_FOLDER: &str = "var/lib/punctual/tune";

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
    Site { profile, cgroup2_cpuset, cgroup1_cpuset, tuned, boot: read_boot_files(root) }
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

/// Where the journal of a machine's settings is.
#[must_use]
pub fn journal_folder(root: &Root) -> PathBuf {
    root.prefix().join(JOURNAL_FOLDER)
}

fn at(root: &Root, path: &str) -> PathBuf {
    root.prefix().join(path.trim_start_matches('/'))
}
