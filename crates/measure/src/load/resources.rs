//! What this machine has for a load: CPUs, caches, memory, a folder, stress-ng.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use units::CpuSet;

use super::group;
use super::part::{Resources, STRESS_NG};
use super::stress;

const CPU_FOLDER: &str = "/sys/devices/system/cpu";

impl Resources {
    /// Reads what a load on these CPUs has, with its files in `folder`.
    pub(super) fn read(cpus: &CpuSet, folder: &Path) -> Self {
        Self {
            cpus: u32::try_from(cpus.len()).unwrap_or(u32::MAX).max(1),
            cache_bytes: cache_bytes(Path::new(CPU_FOLDER), cpus),
            available_bytes: available_bytes(),
            folder: folder.parent().unwrap_or(folder).display().to_string(),
            is_on_disk: kernel::space::is_in_memory(folder).is_ok_and(|in_memory| !in_memory),
            free_bytes: kernel::space::free_bytes(folder).unwrap_or(0),
            stressors: stressors(),
        }
    }
}

fn stressors() -> Option<std::collections::BTreeSet<String>> {
    let output = Command::new(STRESS_NG).arg("--stressors").stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    Some(stress::parse_stressors(&String::from_utf8_lossy(&output.stdout)))
}

/// Memory that can be had without harm to others: what the machine has, or what the limits of this process's own memory
/// control groups leave (bytes).
pub(super) fn available_bytes() -> u64 {
    let of_machine = crate::machine::available_bytes().unwrap_or(0);
    group::left_in_own_groups().map_or(of_machine, |left| left.min(of_machine))
}

/// The last-level caches of these CPUs together (bytes), each counted once; 0 if the kernel does not report them.
fn cache_bytes(root: &Path, cpus: &CpuSet) -> u64 {
    let mut caches: BTreeMap<String, u64> = BTreeMap::new();
    for cpu in cpus.iter() {
        let folders = fs::read_dir(root.join(format!("cpu{cpu}/cache"))).into_iter().flatten().flatten();
        let last = folders.filter_map(|folder| cache(&folder.path())).max_by_key(|(level, ..)| *level);
        if let Some((_, shared_by, bytes)) = last {
            caches.insert(shared_by, bytes);
        }
    }
    units::total(caches.into_values())
}

/// Level, CPUs that share it, and size (bytes) of a cache that holds data.
fn cache(folder: &Path) -> Option<(u32, String, u64)> {
    let read = |name: &str| Some(crate::kernel_text::read(folder.join(name)).ok()?.trim().to_owned());
    if read("type")? == "Instruction" {
        return None;
    }
    let kib: u64 = read("size")?.strip_suffix('K')?.parse().ok()?;
    Some((read("level")?.parse().ok()?, read("shared_cpu_list")?, kib.saturating_mul(1024)))
}

/// A folder for the load's files, gone with it; on a disk where there is one.
pub(super) struct Scratch(Option<PathBuf>);

impl Scratch {
    /// Makes it, readable by this user alone; its name is new, so that nobody can have put anything there before.
    pub(super) fn make(on_disk: bool) -> Self {
        let first = std::env::temp_dir();
        let in_memory = |folder: &Path| kernel::space::is_in_memory(folder).unwrap_or(true);
        let mut bases = vec![first.clone()];
        if on_disk && in_memory(&first) && !in_memory(Path::new("/var/tmp")) {
            bases.insert(0, PathBuf::from("/var/tmp"));
        }
        Self(bases.into_iter().find_map(|base| {
            let path = base.join(format!("punctual-load-{}", std::process::id()));
            let mut builder = fs::DirBuilder::new();
            std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
            builder.create(&path).is_ok().then_some(path)
        }))
    }

    /// The folder; the root, in which an ordinary user can write nothing, where none could be made: a load that needs it
    /// says so itself.
    pub(super) fn path(&self) -> &Path {
        self.0.as_deref().unwrap_or(Path::new("/"))
    }

    /// Whether there is one.
    pub(super) fn exists(&self) -> bool {
        self.0.is_some()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Some(path) = &self.0 {
            let _ = fs::remove_dir_all(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_caches_count_once_and_instruction_caches_never() {
        let root = tempfile::tempdir().unwrap();
        let cache = |cpu: u32, index: u32, level: &str, kind: &str, shared: &str, size: &str| {
            let folder = root.path().join(format!("cpu{cpu}/cache/index{index}"));
            fs::create_dir_all(&folder).unwrap();
            for (name, text) in [("level", level), ("type", kind), ("shared_cpu_list", shared), ("size", size)] {
                fs::write(folder.join(name), format!("{text}\n")).unwrap();
            }
        };
        for cpu in 0..4 {
            cache(cpu, 0, "1", "Data", &cpu.to_string(), "32K");
            cache(cpu, 1, "1", "Instruction", &cpu.to_string(), "64K");
            cache(cpu, 2, "2", "Unified", if cpu < 2 { "0-1" } else { "2-3" }, "1024K");
        }
        let cpus = |text: &str| text.parse().unwrap();
        assert_eq!(cache_bytes(root.path(), &cpus("0-3")), 2 << 20);
        assert_eq!(cache_bytes(root.path(), &cpus("0")), 1 << 20);
        assert_eq!(cache_bytes(root.path(), &cpus("7")), 0, "nothing is known of it");
    }

    #[test]
    fn the_folder_is_its_users_alone_and_goes() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = Scratch::make(true);
        let path = scratch.path().to_owned();
        assert!(scratch.exists());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        assert!(
            !Scratch::make(true).exists() || Scratch::make(true).path() != path,
            "a name that is taken is not used"
        );
        fs::write(path.join("file"), "x").unwrap();
        drop(scratch);
        assert!(!path.exists());
    }
}
