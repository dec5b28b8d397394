//! From files to a profile: one module for each part of the profile, in the order of what needs what.

mod cpus;
mod cpusets;
mod irqs;
mod kernel;
mod net;
mod places;
mod power;
mod process_files;
mod ptp4l;
mod settings;
mod tasks;
mod timekeeping;

use profile::{ProbeIssue, Profile};

use crate::root::Root;
use crate::source::Source;

/// Reads a node: what is known, and what could not be understood or opened.
#[must_use]
pub fn read_profile(root: &Root) -> (Profile, Vec<ProbeIssue>) {
    let source = Source::new(root);
    let profile = read(&source);
    (profile, source.finish().0)
}

/// The evidence that a node is a virtual machine, a file and its value; `None` if it is none, or nothing shows it.
#[must_use]
pub fn virtual_machine(root: &Root) -> Option<String> {
    let source = Source::new(root);
    let cpuinfo = kernel::cpuinfo(&source);
    let identity = kernel::identity(&source, &cpuinfo);
    let (guest, told_by) = settings::guest(&source, &cpuinfo, identity.model.as_deref());
    told_by.filter(|_| guest == Some(true))
}

pub(crate) use irqs::interrupts;

pub(crate) fn read(source: &Source<'_>) -> Profile {
    let cpuinfo = kernel::cpuinfo(source);
    let identity = kernel::identity(source, &cpuinfo);
    let kernel = kernel::kernel(source);
    let cpus = cpus::cpus(source);
    let mounts = cpusets::mounts(source);
    let mut profile = Profile {
        virt: settings::virt(source, &cpuinfo, identity.model.as_deref()),
        isolation: settings::isolation(source, &kernel, &cpus),
        cpusets: cpusets::cpusets(source, &mounts, cpus.online.as_ref()),
        power: power::power(source, cpus.possible.as_ref().or(cpus.present.as_ref()).or(cpus.online.as_ref())),
        irqs: irqs::irqs(source),
        sched: settings::sched(source, &kernel, &mounts),
        time: settings::time(source, &cpuinfo),
        memory: settings::memory(source),
        net: net::net(source),
        gpio: places::gpio(source),
        identity,
        kernel,
        cpus,
        ..Profile::default()
    };
    // Whose affinity matters depends on what is isolated.
    let tasks = tasks::read(source, !profile.isolated_cpus().is_empty());
    irqs::add_threads(&mut profile.irqs, &tasks);
    profile.services = places::services(source, &tasks);
    profile.tasks = profile::Tasks::sort(tasks, profile.cpus.online.as_ref(), &profile.isolated_cpus());
    profile
}
