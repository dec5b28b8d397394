//! What would help, where nobody said what is wanted.

use profile::Profile;
use units::CpuSet;

use crate::intent::{Intent, Irqs, Mechanism, PowerWish, RtThrottling};
use crate::{Site, boot};

/// An intent for a node: the upper half of its CPUs isolated, at most eight, whole cores; everything else runs on the others.
///
/// If the kernel was booted with isolated CPUs, the proposal is about these. Nothing is isolated if there is one CPU,
/// or no way to do it that is known.
#[must_use]
pub fn propose(site: &Site) -> Intent {
    let profile = &site.profile;
    let at_boot = profile.isolated_cpus();
    let isolate = if at_boot.is_empty() { upper_half(profile) } else { Some(at_boot.clone()) };
    let steady = Intent { power: Some(PowerWish::Steady), rt_throttling: Some(RtThrottling::Off), ..Intent::default() };
    let Some(cpus) = isolate else { return steady };
    // They are isolated already: that stays as it is.
    let mechanism = if at_boot.is_empty() { mechanism(site) } else { Some(Mechanism::Isolcpus) };
    if mechanism.is_none() {
        return steady;
    }
    Intent { isolate: Some(cpus), mechanism, irqs: Some(Irqs::Housekeeping), ..steady }
}

/// The intent to isolate these CPUs, by what this node has for it, with interrupts on the other CPUs and nothing else.
///
/// Where the node has nothing for it, the plan of the intent names what is missing.
#[must_use]
pub fn isolation(site: &Site, cpus: &CpuSet) -> Intent {
    let mechanism = mechanism(site).or(Some(Mechanism::default()));
    Intent { isolate: Some(cpus.clone()), mechanism, irqs: Some(Irqs::Housekeeping), ..Intent::default() }
}

/// What this node has to isolate CPUs with; `None` if nothing.
fn mechanism(site: &Site) -> Option<Mechanism> {
    match (&site.cgroup2_cpuset, boot::find(&site.boot)) {
        (Some(_), _) => Some(Mechanism::Cpuset),
        (None, Ok(_)) => Some(Mechanism::Isolcpus),
        // By cgroup v1, where nothing else is known.
        (None, Err(_)) if site.cgroup1_cpuset.is_some() => Some(Mechanism::Cpuset),
        (None, Err(_)) => None,
    }
}

fn upper_half(profile: &Profile) -> Option<CpuSet> {
    const MOST: usize = 8;
    let online = profile.cpus.online.as_ref()?;
    let wanted = (online.len() / 2).min(MOST);
    let cpus: Vec<u32> = online.iter().collect();
    let mut chosen = CpuSet::new();
    for cpu in cpus.into_iter().rev() {
        let core = profile.cpus.cores.iter().find(|core| core.contains(cpu));
        let with_siblings = core.map_or_else(|| [cpu].into_iter().collect(), |core| core.intersection(online));
        let more = chosen.union(&with_siblings);
        if more.len() > wanted {
            break;
        }
        chosen = more;
    }
    (!chosen.is_empty()).then_some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cgroup1;
    use crate::boot::BootFiles;
    use crate::time::TimeSite;

    fn machine(online: &str, cores: &[&str]) -> Profile {
        let mut profile = Profile::default();
        profile.cpus.online = online.parse().ok();
        profile.cpus.cores = cores.iter().map(|core| core.parse().unwrap()).collect();
        profile
    }

    fn site(profile: &Profile, cgroup2_cpuset: Option<&str>, has_grub: bool) -> Site {
        let cgroup2_cpuset = cgroup2_cpuset.map(str::to_owned);
        let mut boot = BootFiles::default();
        if has_grub {
            ["/etc/default/grub", "/usr/sbin/update-grub"].into_iter().for_each(|path| boot.add(path));
        }
        Site {
            profile: profile.clone(),
            cgroup2_cpuset,
            cgroup1_cpuset: None,
            tuned: None,
            boot,
            time: TimeSite::default(),
        }
    }

    fn isolated(profile: &Profile) -> String {
        let intent = propose(&site(profile, Some("/sys/fs/cgroup"), true));
        intent.isolate.map(|cpus| cpus.to_string()).unwrap_or_default()
    }

    #[test]
    fn by_a_mechanism_that_is_there() {
        let four = machine("0-3", &[]);
        let mechanism = |cgroup, loader| propose(&site(&four, cgroup, loader)).mechanism;
        assert_eq!(mechanism(Some("/c"), false), Some(Mechanism::Cpuset));
        assert_eq!(mechanism(None, true), Some(Mechanism::Isolcpus));
        assert_eq!(propose(&site(&four, None, false)).isolate, None);
        let old = Cgroup1 { path: "/c".to_owned(), mems: "0".to_owned() };
        let board = Site { cgroup1_cpuset: Some(old), ..site(&four, None, false) };
        assert_eq!(propose(&board).mechanism, Some(Mechanism::Cpuset));
    }

    #[test]
    fn whole_cores_of_the_upper_half() {
        assert_eq!(isolated(&machine("0-3", &[])), "2-3");
        assert_eq!(isolated(&machine("0-1", &[])), "1");
        assert_eq!(isolated(&machine("0", &[])), "");
        assert_eq!(isolated(&machine("0-63", &[])), "56-63");
        // Two cores of two threads each, numbered as Intel's are: one core.
        assert_eq!(isolated(&machine("0-3", &["0,2", "1,3"])), "1,3");
        // One core of two threads: none can be isolated as a whole.
        assert_eq!(isolated(&machine("0-1", &["0-1"])), "");
    }

    #[test]
    fn what_the_kernel_was_started_with_stays() {
        let mut profile = machine("0-7", &[]);
        profile.isolation.isolated = "5".parse().ok();
        assert_eq!(isolated(&profile), "5");
    }
}
