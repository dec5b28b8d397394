//! Runs apt with its own folders, independent of the host's package state.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use kernel::file_lock::FileLock;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::cache::{CACHE_VARIABLE, Cache};
use crate::tool::{self, ToolError};

/// Environment variable that names another mirror of Debian; default: the host's, otherwise
/// `http://deb.debian.org/debian`.
pub const MIRROR_VARIABLE: &str = "PUNCTUAL_LAB_MIRROR";
/// Environment variable that names another mirror of Debian's security updates.
const SECURITY_VARIABLE: &str = "PUNCTUAL_LAB_SECURITY_MIRROR";
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
const DEFAULT_SECURITY_MIRROR: &str = "http://deb.debian.org/debian-security";
/// The keys with which Debian signs its package lists.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// Package lists older than this are fetched again; a package that the mirror has replaced also causes a new fetch.
const LISTS_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// A release of Debian.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum Suite {
    /// Debian 12.
    #[default]
    #[serde(rename = "debian-12")]
    Bookworm,
    /// Debian 13.
    #[serde(rename = "debian-13")]
    Trixie,
}

impl Suite {
    /// Whether it is the release that packages are from if nothing else is said.
    #[must_use]
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Debian's code name of the release, as in the folders of a mirror.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }
}

/// Why packages could not be obtained.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A program of the host is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The keys with which Debian signs packages are missing.
    #[error("{KEYRING}, which verifies packages, is missing; install it with: apt-get install debian-archive-keyring")]
    NoKeyring,
    /// The mirror could not be reached, or its answer is unusable.
    #[error(
        "cannot fetch the package lists from {mirror}: {message}; check the network, or set {MIRROR_VARIABLE} to another mirror"
    )]
    Mirror {
        /// URI of the mirror.
        mirror: String,
        /// Error messages of apt.
        message: String,
    },
    /// The disk is full.
    #[error(
        "no space left for the lab's downloads in {folder} ({message}): free some space, or set {CACHE_VARIABLE} to \
         another folder; a scenario takes up to 2 GiB"
    )]
    NoSpace {
        /// The lab's cache.
        folder: PathBuf,
        /// Error messages of apt or dpkg.
        message: String,
    },
    /// The mirror has no such package.
    #[error("the mirror {mirror} has no package {package} in {suite}")]
    NoPackage {
        /// URI of the mirror.
        mirror: String,
        /// Name of the package, or several with commas.
        package: String,
        /// Code name of the release.
        suite: &'static str,
    },
    /// The cache cannot be written.
    #[error("the cache of the lab: {0}")]
    Cache(#[from] io::Error),
    /// A package does not have the expected content.
    #[error("{package}: {what}")]
    Odd {
        /// The package or kernel module.
        package: String,
        /// What is unexpected.
        what: String,
    },
}

/// A file whose modification time is the time of the last fetch of the package lists.
const REFRESHED: &str = "refreshed";
/// Length of a file name that every file system supports (bytes).
const MAX_FILE_NAME: usize = 200;

/// Prefix of the name of a download folder; the id of the process that fills it follows.
const DOWNLOAD: &str = "download-";

/// The file of apt's sources, in the folder of an [`AptRoot`].
const SOURCES: &str = "sources.list";

/// A package in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// `name=version`.
    pub package: String,
    /// The folder with its unpacked files.
    pub folder: PathBuf,
}

impl Unpacked {
    /// The package's name, without the version.
    #[must_use]
    pub fn name(&self) -> &str {
        package_name(&self.package)
    }
}

/// A separate apt for one Debian release and one architecture.
#[derive(Debug)]
pub struct AptRoot {
    cache: Cache,
    folder: PathBuf,
    suite: Suite,
    architecture: String,
    mirror: String,
}

impl AptRoot {
    /// Makes the folders and the settings; does not contact a mirror yet.
    ///
    /// # Errors
    /// If the cache cannot be written or Debian's keys are missing.
    pub fn open(cache: &Cache, suite: Suite, architecture: &str) -> Result<Self, PackageError> {
        if !Path::new(KEYRING).exists() {
            return Err(PackageError::NoKeyring);
        }
        let folder = cache.path().join("apt").join(format!("{}-{architecture}", suite.name()));
        for part in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(part))?;
        }
        // An empty status file: nothing counts as installed, so apt lists all dependencies of a package.
        fs::write(folder.join("status"), "")?;
        fs::write(folder.join("apt.conf"), settings(&folder, architecture))?;
        let mirror = match kept_mirror(&folder) {
            Some(mirror) => mirror,
            None => {
                let (mirror, security) = mirrors();
                fs::write(folder.join(SOURCES), sources(suite, architecture, &mirror, &security))?;
                mirror
            }
        };
        Ok(Self { cache: cache.clone(), folder, suite, architecture: architecture.to_owned(), mirror })
    }

    /// The Debian release.
    #[must_use]
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// The file of apt's sources (`sources.list`).
    #[must_use]
    pub fn sources(&self) -> PathBuf {
        self.folder.join(SOURCES)
    }

    /// Debian's name of the architecture, such as `amd64`.
    #[must_use]
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// The cache into which packages are unpacked.
    #[must_use]
    pub const fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Fetches packages and their dependencies, as far as `wants` accepts them by name, and unpacks each into a folder
    /// of the cache. Packages in the cache are not fetched again. The result has the order in which apt would install
    /// them. `progress` is called with what is about to happen.
    ///
    /// # Errors
    /// If the mirror cannot be reached or lacks a package, a checksum is wrong, or there is no space left.
    pub fn get(
        &self,
        names: &[&str],
        wants: impl Fn(&str) -> bool,
        progress: &mut dyn FnMut(&str),
    ) -> Result<Vec<Unpacked>, PackageError> {
        let wanted = || -> Result<Vec<String>, PackageError> {
            let mut packages = self.needed(names)?;
            packages.retain(|package| wants(package_name(package)));
            Ok(packages)
        };
        let packages = wanted()?;
        match self.unpacked(&packages, progress) {
            // A mirror keeps only the newest version, and our lists may be older.
            Err(PackageError::Tool(ToolError::Failed { .. })) => {
                self.locked_refresh()?;
                self.unpacked(&wanted()?, progress)
            }
            other => other,
        }
    }

    /// These packages and their dependencies as `name=version`, in the order in which apt would install them.
    ///
    /// # Errors
    /// If the mirror cannot be reached or lacks one.
    pub fn needed(&self, packages: &[&str]) -> Result<Vec<String>, PackageError> {
        let _held = FileLock::wait(&self.folder.join("lock"))?;
        self.refresh(false)?;
        // apt takes a second for the answer, which stays the same until the lists change.
        let answer = self.folder.join("needed").join(file_name(packages));
        let modified = |path: &Path| fs::metadata(path).and_then(|about| about.modified()).ok();
        if modified(&answer).is_some_and(|at| modified(&self.folder.join(REFRESHED)).is_some_and(|lists| at > lists)) {
            return Ok(fs::read_to_string(answer)?.lines().map(str::to_owned).collect());
        }
        let needed = self.look_up(packages)?;
        fs::create_dir_all(self.folder.join("needed"))?;
        fs::write(answer, needed.join("\n"))?;
        Ok(needed)
    }

    fn look_up(&self, packages: &[&str]) -> Result<Vec<String>, PackageError> {
        match self.simulate(packages) {
            Err(PackageError::Tool(ToolError::Failed { message, .. })) if message.contains("Unable to locate") => {
                // The lists may be older than the package.
                self.refresh(true)?;
                self.simulate(packages).map_err(|_| PackageError::NoPackage {
                    mirror: self.mirror.clone(),
                    package: packages.join(", "),
                    suite: self.suite.name(),
                })
            }
            other => other,
        }
    }

    fn simulate(&self, packages: &[&str]) -> Result<Vec<String>, PackageError> {
        let mut command = self.apt_get();
        command.args(["--simulate", "--assume-yes", "install"]).args(packages);
        let output = tool::run(&mut command, "looking up packages")?;
        Ok(installs(&String::from_utf8_lossy(&output.stdout)))
    }

    fn unpacked(&self, packages: &[String], progress: &mut dyn FnMut(&str)) -> Result<Vec<Unpacked>, PackageError> {
        let missing: Vec<&String> =
            packages.iter().filter(|package| !self.cache.path().join(self.place(package)).exists()).collect();
        if !missing.is_empty() {
            progress(&format!("fetching {}", list_packages(&missing)));
            self.remove_abandoned();
            let download = self.folder.join(format!("{DOWNLOAD}{}", std::process::id()));
            fs::create_dir_all(&download)?;
            let done = self.fetch(&missing, &download).and_then(|()| self.unpack(&missing, &download));
            // What was fetched is unpacked now, or of no use.
            let _ = fs::remove_dir_all(&download);
            done?;
        }
        let unpacked = |package: &String| Unpacked {
            package: package.clone(),
            folder: self.cache.path().join(self.place(package)),
        };
        Ok(packages.iter().map(unpacked).collect())
    }

    /// Removes the download folders of processes that were killed.
    fn remove_abandoned(&self) {
        for entry in fs::read_dir(&self.folder).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let process = name.to_str().and_then(|name| name.strip_prefix(DOWNLOAD));
            if process.is_some_and(|process| !Path::new("/proc").join(process).exists()) {
                // Somebody else may be removing it too.
                let _ = fs::remove_dir_all(entry.path());
            }
        }
    }

    fn place(&self, package: &str) -> String {
        format!("unpacked/{}-{}/{package}", self.suite.name(), self.architecture)
    }

    fn fetch(&self, packages: &[&String], into: &Path) -> Result<(), PackageError> {
        let mut fetch = self.apt_get();
        fetch.arg("download").args(packages).current_dir(into);
        tool::run(&mut fetch, "fetching packages").map(drop).map_err(|error| self.full(error))
    }

    /// A full disk is an error variant of its own, since its remedy differs.
    fn full(&self, error: ToolError) -> PackageError {
        match error {
            ToolError::Failed { message, .. } if is_full(&message) => {
                PackageError::NoSpace { folder: self.cache.path().to_owned(), message }
            }
            other => other.into(),
        }
    }

    fn unpack(&self, packages: &[&String], from: &Path) -> Result<(), PackageError> {
        let files: Vec<PathBuf> = fs::read_dir(from)?.flatten().map(|entry| entry.path()).collect();
        for package in packages {
            let beginning = format!("{}_", package_name(package));
            let is_ours = |file: &&PathBuf| {
                file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&beginning))
            };
            let file = files.iter().find(is_ours).ok_or_else(|| PackageError::Odd {
                package: (*package).clone(),
                what: "apt reported that it had fetched it, but the file is missing".to_owned(),
            })?;
            self.cache.once(&self.place(package), |folder| {
                let mut unpack = Command::new("dpkg-deb");
                tool::run(unpack.arg("-x").arg(file).arg(folder), &format!("unpacking {package}"))
                    .map(drop)
                    .map_err(|error| self.full(error))
            })?;
        }
        Ok(())
    }

    fn locked_refresh(&self) -> Result<(), PackageError> {
        let _held = FileLock::wait(&self.folder.join("lock"))?;
        self.refresh(true)
    }

    /// Fetches the mirror's package lists if ours are old, or in any case with `even_if_new`.
    fn refresh(&self, even_if_new: bool) -> Result<(), PackageError> {
        let stamp = self.folder.join(REFRESHED);
        if !even_if_new && lists_are_new(&self.folder) {
            return Ok(());
        }
        let updated = tool::run(self.apt_get().arg("update"), "fetching the package lists");
        match updated {
            Ok(_) => Ok(fs::write(stamp, "")?),
            Err(ToolError::Failed { message, .. }) if is_full(&message) => {
                Err(PackageError::NoSpace { folder: self.cache.path().to_owned(), message })
            }
            // Without network the old lists still name what is in the cache.
            Err(ToolError::Failed { .. }) if stamp.exists() && !even_if_new => Ok(()),
            Err(ToolError::Failed { message, .. }) => {
                Err(PackageError::Mirror { mirror: self.mirror.clone(), message })
            }
            Err(other) => Err(other.into()),
        }
    }

    fn apt_get(&self) -> Command {
        let mut command = Command::new("apt-get");
        command.env("APT_CONFIG", self.folder.join("apt.conf")).env("LC_ALL", "C").arg("--quiet=2");
        command
    }
}

/// A file name for these packages: their names, or a digest if the names are too long.
fn file_name(packages: &[&str]) -> String {
    let names = packages.join("+");
    if names.len() <= MAX_FILE_NAME {
        return names;
    }
    let digest = Sha256::digest(&names);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The name in `name=version`.
fn package_name(package: &str) -> &str {
    package.split('=').next().unwrap_or(package)
}

/// Whether apt or dpkg reports a full disk.
fn is_full(message: &str) -> bool {
    ["No space left on device", "enough free space"].iter().any(|words| message.contains(words))
}

fn list_packages(packages: &[&String]) -> String {
    match packages {
        [one] => (*one).clone(),
        [first, .., last] => format!("{} packages, {first} to {last}", packages.len()),
        [] => String::new(),
    }
}

/// `name=version` of each line `Inst name (version ...)` of a simulation.
fn installs(simulation: &str) -> Vec<String> {
    simulation
        .lines()
        .filter_map(|line| {
            let (name, rest) = line.strip_prefix("Inst ")?.split_once(" (")?;
            let version = rest.split_ascii_whitespace().next()?;
            Some(format!("{name}={version}"))
        })
        .collect()
}

fn lists_are_new(folder: &Path) -> bool {
    let fetched = fs::metadata(folder.join(REFRESHED)).and_then(|about| about.modified());
    matches!(fetched.map(|at| SystemTime::now().duration_since(at)), Ok(Ok(age)) if age < LISTS_AGE)
}

/// The mirror of recent lists. It saves asking the host's apt, which takes a second.
fn kept_mirror(folder: &Path) -> Option<String> {
    let is_named = [MIRROR_VARIABLE, SECURITY_VARIABLE].iter().any(|name| std::env::var_os(name).is_some());
    if is_named || !lists_are_new(folder) {
        return None;
    }
    first_uri(&fs::read_to_string(folder.join(SOURCES)).ok()?)
}

/// The URI of the first line `deb [OPTIONS] URI SUITE ...`.
fn first_uri(sources: &str) -> Option<String> {
    let (_, rest) = sources.lines().next()?.split_once("] ")?;
    rest.split(' ').next().map(str::to_owned)
}

/// The Debian mirror and the security mirror: from the environment, otherwise the host's if it runs Debian, otherwise
/// Debian's own.
fn mirrors() -> (String, String) {
    let known = host_mirrors();
    let choose = |variable: &str, ending: &str, default: &str| {
        std::env::var(variable)
            .ok()
            .filter(|value| !value.is_empty())
            .or_else(|| known.iter().find(|uri| uri.ends_with(ending)).cloned())
            .unwrap_or_else(|| default.to_owned())
    };
    (
        choose(MIRROR_VARIABLE, "/debian", DEFAULT_MIRROR),
        choose(SECURITY_VARIABLE, "/debian-security", DEFAULT_SECURITY_MIRROR),
    )
}

fn host_mirrors() -> Vec<String> {
    let mut command = Command::new("apt-get");
    command.args(["indextargets", "--format", "$(REPO_URI)", "Created-By: Packages"]);
    // If the host has no apt, the first fetch reports it.
    let output = tool::run(&mut command, "looking up the mirror").map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().map(|uri| uri.trim().trim_end_matches('/').to_owned()).collect()
}

fn sources(suite: Suite, architecture: &str, mirror: &str, security: &str) -> String {
    let name = suite.name();
    let options = format!("[arch={architecture} signed-by={KEYRING}]");
    let mut text = format!("deb {options} {mirror} {name} main\ndeb {options} {mirror} {name}-updates main\n");
    // For boards the kernels of the stable release are enough; mirrors with updates for both architectures are rare.
    if architecture == "amd64" {
        text += &format!("deb {options} {security} {name}-security main\n");
    }
    text
}

fn settings(folder: &Path, architecture: &str) -> String {
    let folder = folder.display();
    format!(
        "// Written by punctual. The host's settings in /etc/apt/apt.conf.d stay in force.\n\
         Dir::State \"{folder}/state\";\n\
         Dir::State::status \"{folder}/status\";\n\
         Dir::Cache \"{folder}/cache\";\n\
         Dir::Etc::sourcelist \"{folder}/sources.list\";\n\
         Dir::Etc::sourceparts \"/dev/null\";\n\
         Dir::Etc::preferences \"/dev/null\";\n\
         Dir::Etc::preferencesparts \"/dev/null\";\n\
         APT::Architecture \"{architecture}\";\n\
         APT::Architectures {{ \"{architecture}\"; }};\n\
         APT::Install-Recommends \"false\";\n\
         APT::Sandbox::User \"\";\n\
         Acquire::Languages \"none\";\n\
         Acquire::Retries \"2\";\n\
         // Lists that cannot be fetched are an error, not a warning.\n\
         APT::Update::Error-Mode \"any\";\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn simulation_of_apt_is_parsed() {
        let text = "NOTE: This is only a simulation!\nInst libc6 (2.36-9+deb12u14 Debian:12.15/oldstable [amd64]) []\n\
                    Inst rt-tests (2.4-1 Debian:12 [amd64])\nConf libc6 (2.36-9 Debian:12 [amd64])\n";
        assert_eq!(installs(text), ["libc6=2.36-9+deb12u14", "rt-tests=2.4-1"]);
    }

    #[test]
    fn many_packages_have_a_valid_file_name() {
        let many: Vec<String> = (0..100).map(|n| format!("package-{n}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(file_name(&names[..2]), "package-0+package-1");
        assert_eq!(file_name(&names).len(), 64);
        assert_ne!(file_name(&names), file_name(&names[..99]));
    }

    #[test]
    fn a_full_disk_is_distinguished_from_a_failing_mirror() {
        assert!(is_full("E: Failed to fetch http://a/b  Error writing to file - write (28: No space left on device)"));
        assert!(is_full("E: You don't have enough free space in /var/cache/apt/archives/."));
        assert!(!is_full("E: Failed to fetch http://a/b  Could not connect to 127.0.0.1:9"));
    }

    #[test]
    fn downloads_of_killed_processes_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let root = AptRoot {
            cache: Cache::at(&folder.path().join("cache")).unwrap(),
            folder: folder.path().to_owned(),
            suite: Suite::Bookworm,
            architecture: "amd64".to_owned(),
            mirror: String::new(),
        };
        // No process has this id: it exceeds the kernel's PID_MAX_LIMIT.
        let (abandoned, ours) = ("download-4194305".to_owned(), format!("download-{}", std::process::id()));
        for name in [&abandoned, &ours] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        root.remove_abandoned();
        assert!(!folder.path().join(abandoned).exists() && folder.path().join(ours).exists());
    }

    #[test]
    fn nothing_is_written_to_folders_of_the_host() {
        let text = settings(Path::new("/cache/apt"), "armhf");
        let written = ["Dir::State ", "Dir::State::status ", "Dir::Cache "];
        assert!(written.iter().all(|key| text.contains(&format!("{key}\"/cache/apt/"))), "{text}");
        let sources = sources(Suite::Trixie, "armhf", "http://a/debian", "http://a/debian-security");
        assert!(!sources.contains("security"));
        assert_eq!(first_uri(&sources).as_deref(), Some("http://a/debian"));
    }
}
