//! What a machine is, as far as a plan depends on it.

use host::Root;
use knobs::boot::Loader;
use knobs::{Reading, Site, Value};
use profile::Profile;
use profile::cpuset::parse_mounts;

use crate::Machine;

/// Reads it: the profile, where cgroup v2 is, and which boot loader has a configuration that is known.
pub fn read_site(root: &Root, machine: &mut dyn Machine) -> Site {
    let (profile, _) = host::read_profile(root);
    site_of(profile, root, machine)
}

fn site_of(profile: Profile, root: &Root, machine: &mut dyn Machine) -> Site {
    let at = |path: &str| root.prefix().join(path.trim_start_matches('/'));
    let mounts = std::fs::read_to_string(at("proc/mounts")).unwrap_or_default();
    let has = |paths: &[&str]| paths.iter().any(|path| at(path).exists());
    let is_grub = has(&["etc/default/grub"]) && has(&["usr/sbin/update-grub"]);
    let boot_loader = is_grub.then_some(Loader::GrubDropIn);
    let boot_content = boot_loader.and_then(|loader| match machine.read(&loader.place()) {
        Reading::Is(Value::Text(text)) => Some(text),
        _ => None,
    });
    let controllers = |mounted: &String| std::fs::read_to_string(at(&format!("{mounted}/cgroup.controllers")));
    let has_cpuset =
        |mounted: &String| controllers(mounted).is_ok_and(|text| text.split_whitespace().any(|one| one == "cpuset"));
    let cgroup2_cpuset = parse_mounts(&mounts).v2.filter(has_cpuset);
    Site { profile, cgroup2_cpuset, boot_loader, boot_content }
}
