//! The parts of a load and how they grow with the machine. Pure: what the machine has is an argument.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::spec::LoadCommand;

/// stress-ng's `stream` makes three arrays, together twelve times as large as the cache size that it is given.
const STREAM_BYTES_PER_CACHE_BYTE: u64 = 12;
/// The least that the arrays of `stream` take together, where the caches are small or unknown (bytes).
const LEAST_STREAM_BYTES: u64 = 16 << 20;
/// How much larger than all last-level caches together the memory is that lies beyond them.
const BEYOND_CACHES: u64 = 2;
/// Bounds of the memory control group in which pages are reclaimed (bytes).
const GROUP_BYTES: std::ops::RangeInclusive<u64> = (16 << 20)..=(64 << 20);
/// The file that is read there is larger than the group by this factor.
const FILE_BEYOND_GROUP: u64 = 4;
/// The parts together may take this part of the memory that is available when the load starts.
const MEMORY_SHARE: u64 = 2;
/// Bounds of what each writer of files writes (bytes).
const FILE_BYTES: std::ops::RangeInclusive<u64> = (1 << 20)..=(16 << 20);
/// All writers together may take this part of the free space.
const DISK_SHARE: u64 = 16;
/// The program that runs stressors.
pub(crate) const STRESS_NG: &str = "stress-ng";

/// One part of a load: what can be left out, and what has a turn of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Part {
    /// The name by which it is left out: lower-case letters, digits and hyphens.
    pub name: String,
    /// What it cannot do without; where the machine does not have it, the part is dropped and named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// Nice level of its programs (0 to 19): parts whose many short wake-ups would crowd the others out have a higher one.
    #[serde(default)]
    pub nice: u8,
    /// Memory that its programs take, beside what its needs take.
    #[serde(default)]
    pub memory: PartMemory,
    /// What stress-ng runs for it, in one process tree; what this stress-ng does not have is left out and named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stressor: Vec<Stressor>,
    /// A program instead of stressors; `{cpus}` is the number of CPUs that the load may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<LoadCommand>,
}

/// What a part cannot do without.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Memory for twice the size of all last-level caches; gives `{stream-l3-size}`.
    MemoryBeyondCaches,
    /// A memory control group of its own with a limit; gives `{reclaimed-file}`, four times as large as the limit.
    MemoryGroup,
    /// A network namespace of its own, whose loopback is up.
    NetworkNamespace,
    /// Free space on a disk; gives `{file-bytes}`, what each worker may write.
    DiskSpace,
}

/// Memory that a part's programs take at most (MiB).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct PartMemory {
    /// On every machine (MiB, 0 to 1048576).
    #[serde(default)]
    pub fixed_mib: u32,
    /// For each CPU that the load may use (MiB, 0 to 1048576).
    #[serde(default)]
    pub per_cpu_mib: u32,
}

/// One of stress-ng's stressors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Stressor {
    /// Its name, as `stress-ng --stressors` lists it.
    pub name: String,
    /// Workers for each CPU that the load may use (above 0, up to 64); rounded up to whole workers.
    pub per_cpu: f64,
    /// Further options of stress-ng.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
}

/// What the machine has for a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Resources {
    /// CPUs that the load may use.
    pub(crate) cpus: u32,
    /// All last-level caches of these CPUs together (bytes); 0 where unknown.
    pub(crate) cache_bytes: u64,
    /// Memory that can be had without harm to others (bytes).
    pub(crate) available_bytes: u64,
    /// The folder of the load's files.
    pub(crate) folder: String,
    /// Whether that folder is on a disk, so that its pages can be reclaimed without swap.
    pub(crate) is_on_disk: bool,
    /// Free space there (bytes).
    pub(crate) free_bytes: u64,
    /// What `stress-ng --stressors` lists; `None` where stress-ng is not installed.
    pub(crate) stressors: Option<BTreeSet<String>>,
}

/// A part as it can run here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScaledPart {
    /// The program and its arguments, in which `{scratch}` still stands.
    pub(crate) command: Vec<String>,
    /// What it does without, in words.
    pub(crate) lacks: Vec<String>,
    /// Memory that it takes (bytes).
    pub(crate) memory_bytes: u64,
    /// Limit of its memory control group (bytes), where it needs one.
    pub(crate) group_bytes: Option<u64>,
    /// Size of the sparse file in the folder (bytes), where it needs one.
    pub(crate) sparse_file_bytes: Option<u64>,
    /// Whether it runs in a network namespace of its own.
    pub(crate) own_network: bool,
    /// Nice level of its programs.
    pub(crate) nice: u8,
}

/// What the parts have taken of the memory, so that all of them together stay within their share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MemoryBudget {
    left_bytes: u64,
}

impl MemoryBudget {
    pub(crate) fn new(resources: &Resources) -> Self {
        Self { left_bytes: resources.available_bytes / MEMORY_SHARE }
    }

    fn take(&mut self, bytes: u64) -> Result<(), String> {
        match self.left_bytes.checked_sub(bytes) {
            Some(left) => {
                self.left_bytes = left;
                Ok(())
            }
            None => Err(format!(
                "it takes {} of memory, and of the half of what is available that a load may take {} are left",
                units::format::bytes(bytes),
                units::format::bytes(self.left_bytes)
            )),
        }
    }
}

impl Part {
    /// The part as this machine can run it, or why it cannot.
    pub(crate) fn scale(&self, resources: &Resources, budget: &mut MemoryBudget) -> Result<ScaledPart, String> {
        let mut scaled = ScaledPart {
            nice: self.nice,
            memory_bytes: u64::from(self.memory.fixed_mib)
                .saturating_add(u64::from(self.memory.per_cpu_mib).saturating_mul(u64::from(resources.cpus)))
                .saturating_mul(1 << 20),
            ..ScaledPart::default()
        };
        let mut words = vec![("{cpus}", resources.cpus.to_string())];
        for need in &self.needs {
            match need {
                Need::MemoryBeyondCaches => {
                    let bytes = resources.cache_bytes.saturating_mul(BEYOND_CACHES).max(LEAST_STREAM_BYTES);
                    scaled.memory_bytes = scaled.memory_bytes.saturating_add(bytes);
                    words.push(("{stream-l3-size}", format!("{}K", bytes.div_ceil(STREAM_BYTES_PER_CACHE_BYTE << 10))));
                }
                Need::MemoryGroup => {
                    if !resources.is_on_disk {
                        return Err(format!(
                            "{} is in memory, and the pages of files there cannot be reclaimed without swap",
                            resources.folder
                        ));
                    }
                    // A power of two, so that small differences of what is available do not make another load.
                    let wanted = (resources.available_bytes / 16).clamp(*GROUP_BYTES.start(), *GROUP_BYTES.end());
                    let bytes = (wanted.saturating_add(1).next_power_of_two() / 2).max(*GROUP_BYTES.start());
                    scaled.memory_bytes = scaled.memory_bytes.saturating_add(bytes);
                    scaled.group_bytes = Some(bytes);
                    scaled.sparse_file_bytes = Some(bytes.saturating_mul(FILE_BEYOND_GROUP));
                    words.push(("{reclaimed-file}", "{scratch}/sparse".to_owned()));
                }
                Need::NetworkNamespace => scaled.own_network = true,
                Need::DiskSpace => {
                    let workers: u64 = self.stressor.iter().map(|one| u64::from(one.workers(resources.cpus))).sum();
                    let share = resources.free_bytes / DISK_SHARE / workers.max(1);
                    if share < *FILE_BYTES.start() {
                        return Err(format!(
                            "only {} are free in {}",
                            units::format::bytes(resources.free_bytes),
                            resources.folder
                        ));
                    }
                    // A power of two, so that a disk that fills or empties a little does not make another load.
                    let bytes = 1_u64 << share.min(*FILE_BYTES.end()).ilog2();
                    if !resources.is_on_disk {
                        scaled.memory_bytes = scaled.memory_bytes.saturating_add(bytes.saturating_mul(workers));
                        scaled.lacks.push(format!("a disk: {} is in memory", resources.folder));
                    }
                    words.push(("{file-bytes}", format!("{}K", bytes >> 10)));
                }
            }
        }
        let command = match &self.command {
            Some(command) => std::iter::once(&command.program).chain(&command.arguments).cloned().collect(),
            None => self.stress_ng(resources, &mut scaled.lacks)?,
        };
        scaled.command = command
            .into_iter()
            .map(|argument| words.iter().fold(argument, |text, (word, value)| text.replace(word, value)))
            .collect();
        budget.take(scaled.memory_bytes)?;
        Ok(scaled)
    }

    fn stress_ng(&self, resources: &Resources, lacks: &mut Vec<String>) -> Result<Vec<String>, String> {
        let known = resources.stressors.as_ref().ok_or("stress-ng is not installed")?;
        let (here, missing): (Vec<&Stressor>, Vec<&Stressor>) =
            self.stressor.iter().partition(|stressor| known.contains(&stressor.name));
        let names = |of: &[&Stressor]| of.iter().map(|one| one.name.as_str()).collect::<Vec<_>>().join(", ");
        if here.is_empty() {
            return Err(format!("this stress-ng does not have {}", names(&missing)));
        }
        if !missing.is_empty() {
            lacks.push(format!("stressors that this stress-ng does not have: {}", names(&missing)));
        }
        let mut command: Vec<String> =
            [STRESS_NG, "--quiet", "--metrics", "--temp-path", "{scratch}"].map(str::to_owned).into_iter().collect();
        command.extend(["--yaml".to_owned(), format!("{{scratch}}/{}.yaml", self.name)]);
        for stressor in here {
            command.extend([format!("--{}", stressor.name), stressor.workers(resources.cpus).to_string()]);
            command.extend(stressor.options.iter().cloned());
        }
        Ok(command)
    }

    /// Why this is no part that could run.
    pub(crate) fn fault(&self) -> Option<&'static str> {
        let is_name = |text: &str| {
            !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
        };
        let too_much = |mib: u32| mib > 1 << 20;
        if !is_name(&self.name) {
            Some("its name must be of lower-case letters, digits and hyphens")
        } else if self.command.is_some() != self.stressor.is_empty() {
            Some("it must have either a command or stressors")
        } else if self.stressor.iter().any(|one| !is_name(&one.name)) {
            Some("the name of a stressor must be of lower-case letters, digits and hyphens")
        } else if self.stressor.iter().any(|one| !(one.per_cpu > 0.0 && one.per_cpu <= 64.0)) {
            Some("per-cpu of a stressor must be above 0 and at most 64")
        } else if self.nice > 19 {
            Some("its nice level must be 0 to 19")
        } else if too_much(self.memory.fixed_mib) || too_much(self.memory.per_cpu_mib) {
            Some("its memory must be at most 1048576 MiB")
        } else {
            None
        }
    }
}

impl Stressor {
    /// Whole workers on so many CPUs, at least one.
    fn workers(&self, cpus: u32) -> u32 {
        u32::try_from(units::round_u64((self.per_cpu * f64::from(cpus)).ceil())).unwrap_or(u32::MAX).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::LoadSpec;
    use super::*;

    fn hard() -> Vec<Part> {
        LoadSpec::built_in("hard").unwrap().part
    }

    fn resources(cpus: u32) -> Resources {
        let all = hard().into_iter().flat_map(|part| part.stressor).map(|stressor| stressor.name);
        Resources {
            cpus,
            cache_bytes: 8 << 20,
            available_bytes: 8 << 30,
            folder: "/var/tmp".to_owned(),
            is_on_disk: true,
            free_bytes: 10 << 30,
            stressors: Some(all.collect()),
        }
    }

    fn scale_all(resources: &Resources) -> Vec<(String, Result<ScaledPart, String>)> {
        let mut budget = MemoryBudget::new(resources);
        hard().iter().map(|part| (part.name.clone(), part.scale(resources, &mut budget))).collect()
    }

    fn of<'a>(all: &'a [(String, Result<ScaledPart, String>)], name: &str) -> &'a Result<ScaledPart, String> {
        &all.iter().find(|(known, _)| known == name).unwrap().1
    }

    /// What stands behind an option.
    fn value<'a>(part: &'a ScaledPart, option: &str) -> &'a str {
        let at = part.command.iter().position(|argument| argument == option).unwrap();
        &part.command[at + 1]
    }

    #[test]
    fn workers_grow_with_the_cpus_and_memory_with_the_caches() {
        let (two, eight) = (scale_all(&resources(2)), scale_all(&resources(8)));
        let workers = |all: &[_], part: &str, option: &str| {
            value(of(all, part).as_ref().unwrap(), option).parse::<u32>().unwrap()
        };
        assert_eq!((workers(&two, "memory", "--stream"), workers(&eight, "memory", "--stream")), (2, 8));
        assert_eq!((workers(&two, "network", "--udp"), workers(&eight, "network", "--udp")), (1, 4));
        assert_eq!((workers(&two, "scheduler", "--pipeherd"), workers(&eight, "scheduler", "--pipeherd")), (1, 1));
        let stream_bytes = |cache_bytes: u64| {
            let all = scale_all(&Resources { cache_bytes, ..resources(2) });
            let size = value(of(&all, "memory").as_ref().unwrap(), "--stream-l3-size").trim_end_matches('K').to_owned();
            size.parse::<u64>().unwrap() * 1024 * STREAM_BYTES_PER_CACHE_BYTE
        };
        assert!((64 << 20..66 << 20).contains(&stream_bytes(32 << 20)), "twice the caches");
        assert!((16 << 20..17 << 20).contains(&stream_bytes(0)), "where they are unknown");
    }

    #[test]
    fn all_parts_together_stay_within_half_of_the_memory() {
        for available_bytes in [0, 64 << 20, 200 << 20, 512 << 20, 4 << 30] {
            for cpus in [1, 4, 64] {
                let all = scale_all(&Resources { available_bytes, ..resources(cpus) });
                let taken: u64 =
                    all.iter().filter_map(|(_, part)| part.as_ref().ok()).map(|part| part.memory_bytes).sum();
                assert!(taken <= available_bytes / 2, "{taken} of {available_bytes} on {cpus} CPUs");
            }
        }
        let all = scale_all(&Resources { cache_bytes: 1 << 30, available_bytes: 2 << 30, ..resources(2) });
        let why = of(&all, "memory").as_ref().unwrap_err();
        assert!(why.contains("of memory"), "{why}");
        assert!(of(&all, "timers").is_ok(), "what does not fit leaves its room to the others");
    }

    #[test]
    fn pages_are_reclaimed_from_a_file_larger_than_its_group_and_never_in_memory() {
        let all = scale_all(&resources(2));
        let part = of(&all, "reclaim").as_ref().unwrap();
        assert_eq!((part.group_bytes, part.sparse_file_bytes), (Some(64 << 20), Some(256 << 20)));
        assert!(part.command[2].starts_with("n=2;"), "{:?}", part.command);
        let all = scale_all(&Resources { available_bytes: 700 << 20, ..resources(2) });
        assert_eq!(of(&all, "reclaim").as_ref().unwrap().group_bytes, Some(32 << 20));
        let all = scale_all(&Resources { is_on_disk: false, ..resources(2) });
        assert!(of(&all, "reclaim").as_ref().unwrap_err().contains("/var/tmp is in memory"));
        let files = of(&all, "file-system").as_ref().unwrap();
        assert!(files.lacks[0].contains("a disk"), "{files:?}");
    }

    #[test]
    fn files_never_fill_the_disk() {
        for free_bytes in [100 << 20, 200 << 20, 10 << 30] {
            let all = scale_all(&Resources { free_bytes, ..resources(4) });
            let kib: u64 =
                value(of(&all, "file-system").as_ref().unwrap(), "--hdd-bytes").trim_end_matches('K').parse().unwrap();
            assert!(2 * (kib << 10) <= free_bytes / DISK_SHARE, "{kib} KiB of {free_bytes}");
        }
        let command = |free_bytes| {
            let all = scale_all(&Resources { free_bytes, ..resources(4) });
            of(&all, "file-system").as_ref().unwrap().command.clone()
        };
        assert_eq!(command(200 << 20), command(197 << 20), "a disk that fills a little makes no other load");
        let all = scale_all(&Resources { free_bytes: 20 << 20, ..resources(4) });
        assert!(of(&all, "file-system").as_ref().unwrap_err().contains("are free in /var/tmp"));
    }

    #[test]
    fn what_stress_ng_does_not_have_is_named() {
        let mut here = resources(2);
        here.stressors = Some(["udp", "timer"].map(str::to_owned).into());
        let all = scale_all(&here);
        assert!(of(&all, "memory").as_ref().unwrap_err().contains("stream"));
        let timers = of(&all, "timers").as_ref().unwrap();
        assert!(timers.lacks[0].contains("membarrier") && !timers.command.contains(&"--itimer".to_owned()));
        here.stressors = None;
        let all = scale_all(&here);
        assert_eq!(of(&all, "network").as_ref().unwrap_err(), "stress-ng is not installed");
        assert!(of(&all, "reclaim").is_ok(), "it needs a shell alone");
    }

    /// Stressors that raise themselves to real-time priority would measure themselves.
    #[test]
    fn no_part_raises_itself_to_real_time_priority() {
        let real_time = ["cyclic", "hrtimers", "schedmix", "schedpolicy", "sched-deadline", "softlockup", "rt"];
        for stressor in hard().iter().flat_map(|part| &part.stressor) {
            assert!(!real_time.contains(&stressor.name.as_str()), "{}", stressor.name);
            assert!(!stressor.options.iter().any(|option| option.starts_with("--sched")));
        }
    }
}
