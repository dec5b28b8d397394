//! TuneD, a service that applies profiles of settings: which of its profiles set CPUs apart, and what they set
//! (tuned-adm(8), tuned-profiles-realtime(7), tuned-profiles-cpu-partitioning(7)).

use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::demand::Site;
use crate::intent::{Intent, PowerWish};
use crate::propose::propose;

/// What says which profile is active; what says whether it was chosen by a person stands beside it.
pub const ACTIVE: &str = "/etc/tuned/active_profile";
/// Who chose it: `manual` or `auto`.
pub const MODE: &str = "/etc/tuned/profile_mode";
/// The command-line program of TuneD.
pub const PROGRAM: &str = "/usr/sbin/tuned-adm";
/// The systemd service of TuneD.
pub const UNIT: &str = "tuned.service";

/// What has to run when a file of variables has changed: `tuned-adm profile` with the profile that is active, where that
/// reads the file and the service runs. It returns when all is set, which a restart of the service does not.
pub const TAKE_NOTICE: &[&str] = &["tuned-adm", "profile"];

/// One of its profiles that set CPUs apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TunedProfile {
    /// `isolcpus=`, no throttle, the highest frequency.
    Realtime,
    /// `nohz_full=`, everything that can be moved away, the highest frequency; the throttle stays.
    CpuPartitioning,
}

/// What a profile that comes with TuneD is for, as an intent for this node; `None` if TuneD has no such profile.
///
/// # Errors
/// If the profile is for something else than acting on time: with what it is for.
pub fn counterpart(name: &str, site: &Site) -> Option<Result<Intent, &'static str>> {
    let steady = Intent { power: Some(PowerWish::Steady), ..Intent::default() };
    Some(Ok(match name {
        "realtime" | "realtime-virtual-guest" | "realtime-virtual-host" => propose(site),
        // The throttle of real-time threads stays.
        "cpu-partitioning" => Intent { rt_throttling: None, ..propose(site) },
        "cpu-partitioning-powersave" => Intent { rt_throttling: None, power: None, ..propose(site) },
        "latency-performance" | "network-latency" | "hpc-compute" => steady,
        "throughput-performance" | "network-throughput" | "accelerator-performance" => {
            return Some(Err("throughput, which costs worst cases"));
        }
        "balanced"
        | "balanced-battery"
        | "powersave"
        | "desktop"
        | "default"
        | "laptop-ac-powersave"
        | "laptop-battery-powersave"
        | "server-powersave"
        | "desktop-powersave" => {
            return Some(Err("saving energy or for everyday use, which costs worst cases"));
        }
        "virtual-guest" | "virtual-host" => return Some(Err("throughput of or in virtual machines")),
        _ => return None,
    }))
}

impl TunedProfile {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::Realtime, Self::CpuPartitioning];

    /// As `tuned-adm` calls it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Realtime => "realtime",
            Self::CpuPartitioning => "cpu-partitioning",
        }
    }

    /// Where it is installed: newer versions have a folder more.
    #[must_use]
    pub fn definitions(self) -> [String; 2] {
        ["/usr/lib/tuned", "/usr/lib/tuned/profiles"].map(|folder| format!("{folder}/{}/tuned.conf", self.name()))
    }

    /// The file that names its CPUs.
    #[must_use]
    pub fn variables(self) -> String {
        format!("/etc/tuned/{}-variables.conf", self.name())
    }

    /// The boot parameter by which it sets CPUs apart.
    #[must_use]
    pub const fn parameter(self) -> &'static str {
        match self {
            Self::Realtime => "isolcpus",
            Self::CpuPartitioning => "nohz_full",
        }
    }

    /// What it sets while the machine runs, by the names of our knobs, but for what depends on the CPUs: as the profile and
    /// those that it includes, `network-latency` and `latency-performance`, have it in version 2.20 and later.
    #[must_use]
    pub const fn settings(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Realtime => &[
                ("kernel.sched_rt_runtime_us", "-1"),
                ("kernel.nmi_watchdog", "0"),
                ("kernel.timer_migration", "0"),
                ("vm.stat_interval", "10"),
                ("cpu.governor", "performance"),
            ],
            Self::CpuPartitioning => &[
                ("kernel.nmi_watchdog", "0"),
                ("kernel.timer_migration", "0"),
                ("vm.stat_interval", "10"),
                ("cpu.governor", "performance"),
            ],
        }
    }
}

/// What of TuneD a machine has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuned {
    /// Its profiles that set CPUs apart, and what stands in their files of variables.
    pub profiles: Vec<(TunedProfile, String)>,
}

const KEY: &str = "isolated_cores";

/// Whether a line gives the variable its value.
fn is_assignment(line: &str) -> bool {
    line.split_once('=').is_some_and(|(key, _)| key.trim() == KEY)
}

/// A file of variables with these CPUs; all else stays as it is.
#[must_use]
pub fn with_cores(content: &str, cpus: &CpuSet) -> String {
    let ours = format!("{KEY}={cpus}\n");
    let mut text = String::new();
    let mut is_told = false;
    for line in content.split_inclusive('\n') {
        if !is_assignment(line) {
            text.push_str(line);
        } else if !is_told {
            is_told = true;
            text.push_str(&ours);
        }
    }
    if !is_told {
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&ours);
    }
    text
}

/// The CPUs of a file of variables, where it names them as they are.
#[must_use]
pub fn cores(content: &str) -> Option<CpuSet> {
    let value =
        content.lines().filter(|line| is_assignment(line)).filter_map(|line| line.split_once('=')).next_back()?.1;
    value.trim().parse().ok()
}

/// Which profile's variables stand at a path.
#[must_use]
pub fn from_variables_path(path: &str) -> Option<TunedProfile> {
    TunedProfile::ALL.into_iter().find(|profile| profile.variables() == path)
}

/// Whether a kernel was booted with the CPUs of a file of variables isolated as its profile does it; also true if the file
/// is none of these, or names no CPUs.
#[must_use]
pub fn is_started_with(variables: &str, content: &str, command_line: &str) -> bool {
    let (Some(profile), Some(cpus)) = (from_variables_path(variables), cores(content)) else { return true };
    let lists = command_line
        .split_ascii_whitespace()
        .filter_map(|word| word.strip_prefix(profile.parameter())?.strip_prefix('='));
    // isolcpus= may have flags before its list.
    let list = |text: &str| text.trim_start_matches(|c: char| !c.is_ascii_digit()).parse::<CpuSet>();
    lists.map(list).any(|found| found.is_ok_and(|found| found == cpus))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn whatever_stood_there_the_cpus_are_told_once_and_all_else_stays(
            lines in proptest::collection::vec("(isolated_cores *=|#|x=|)[ -~]{0,12}", 0..6),
            ends in proptest::bool::ANY,
        ) {
            let content = lines.join("\n") + if ends { "\n" } else { "" };
            let cpus: CpuSet = "1,3-5".parse().unwrap();
            let made = with_cores(&content, &cpus);
            prop_assert_eq!(cores(&made), Some(cpus.clone()));
            prop_assert_eq!(with_cores(&made, &cpus), made.clone());
            let others = |text: &str| -> Vec<String> {
                text.lines().filter(|line| !is_assignment(line)).map(str::to_owned).collect()
            };
            prop_assert_eq!(others(&made), others(&content));
            prop_assert_eq!(made.lines().filter(|line| is_assignment(line)).count(), 1);
        }
    }

    #[test]
    fn the_cpus_that_a_kernel_was_started_with_are_behind_the_flags_of_their_parameter() {
        let is = |command_line: &str| {
            is_started_with("/etc/tuned/realtime-variables.conf", "isolated_cores=2-3\n", command_line)
        };
        assert!(is("quiet isolcpus=managed_irq,domain,2-3") && is("isolcpus=2,3"));
        assert!(!is("quiet isolcpus=2") && !is("nohz_full=2-3") && !is(""));
        assert!(is_started_with("/etc/other", "isolated_cores=2-3\n", ""));
    }

    #[test]
    fn one_line_of_a_file_of_variables_is_ours() {
        let cpus: CpuSet = "2-3".parse().unwrap();
        let packaged =
            "# isolated_cores=2,4-7\n#\nisolated_cores=${f:calc_isolated_cores:1}\n\nisolate_managed_irq=Y\n";
        let made = with_cores(packaged, &cpus);
        assert_eq!(made, "# isolated_cores=2,4-7\n#\nisolated_cores=2-3\n\nisolate_managed_irq=Y\n");
        assert_eq!(with_cores("isolated_cores = 1\nx=1\nisolated_cores=5", &cpus), "isolated_cores=2-3\nx=1\n");
        assert_eq!(with_cores("x=1", &cpus), "x=1\nisolated_cores=2-3\n");
        assert_eq!(with_cores("", &cpus), "isolated_cores=2-3\n");
        assert_eq!((cores(packaged), cores(&made)), (None, Some(cpus)));
    }
}
