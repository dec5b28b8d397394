//! What a machine is, as far as a plan depends on it.

use std::path::PathBuf;

use host::Root;
use knobs::boot::Loader;
use knobs::tuned::{self, Tuned, TunedProfile};
use knobs::{Cgroup1, Reading, Site, Value};
use profile::cpuset::parse_mounts;

use crate::Machine;

/// Reads it: the profile, where control groups are, and which boot loader has a configuration that is known.
pub fn read_site(root: &Root, machine: &mut dyn Machine) -> Site {
    let (profile, _) = host::read_profile(root);
    let boot_loader = read_boot_loader(root);
    let boot_content = boot_loader.and_then(|loader| match machine.read(&loader.place()) {
        Reading::Is(Value::Text(text)) => Some(text),
        _ => None,
    });
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
    Site { profile, cgroup2_cpuset, cgroup1_cpuset, tuned, boot_loader, boot_content }
}

/// The boot loader whose configuration is known; `None` where none is.
#[must_use]
pub fn read_boot_loader(root: &Root) -> Option<Loader> {
    let has = |path: &str| at(root, path).exists();
    (has("/etc/default/grub") && has("/usr/sbin/update-grub")).then_some(Loader::GrubDropIn)
}

fn at(root: &Root, path: &str) -> PathBuf {
    root.prefix().join(path.trim_start_matches('/'))
}
