//! An apt with folders of its own.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use kernel::file_lock::FileLock;
use sha2::{Digest as _, Sha256};

use crate::cache::{CACHE_VARIABLE, Cache};
use crate::tool::{self, ToolError};

/// Names another mirror of Debian (`http://deb.debian.org/debian` where nothing else is known).
pub const MIRROR_VARIABLE: &str = "PUNCTUAL_LAB_MIRROR";
/// Names another mirror of Debian's security updates.
const SECURITY_VARIABLE: &str = "PUNCTUAL_LAB_SECURITY_MIRROR";
const DEFAULT_MIRROR: &str = "http://deb.debian.org/debian";
const DEFAULT_SECURITY_MIRROR: &str = "http://deb.debian.org/debian-security";
/// What the lists of packages are signed with.
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";
/// After which the lists are asked for again; a kernel that has moved on is noticed at once all the same.
const LISTS_AGE: Duration = Duration::from_secs(24 * 60 * 60);

/// A release of Debian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Suite {
    /// Debian 12.
    Bookworm,
    /// Debian 13.
    Trixie,
}

impl Suite {
    /// Its name among Debian's folders.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bookworm => "bookworm",
            Self::Trixie => "trixie",
        }
    }
}

/// Why packages could not be had.
#[derive(Debug, thiserror::Error)]
pub enum PackageError {
    /// A program of the host is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The keys that Debian signs with are missing.
    #[error(
        "{KEYRING} is missing, by which packages are verified; get it with: apt-get install debian-archive-keyring"
    )]
    NoKeyring,
    /// The mirror could not be reached, or gave nothing usable.
    #[error(
        "cannot fetch the lists of packages from {mirror}: {said}; is the network up? {MIRROR_VARIABLE} names another mirror"
    )]
    Mirror {
        /// The mirror.
        mirror: String,
        /// What apt said.
        said: String,
    },
    /// The disk is full.
    #[error(
        "no space left for the lab's downloads in {folder} ({said}): free some, or name another folder by \
         {CACHE_VARIABLE}; a scenario takes up to 2 GiB"
    )]
    NoSpace {
        /// The folder.
        folder: PathBuf,
        /// What apt or dpkg said.
        said: String,
    },
    /// No such package there.
    #[error("the mirror {mirror} has no package {package} in {suite}")]
    NoPackage {
        /// The mirror.
        mirror: String,
        /// The package.
        package: String,
        /// The release.
        suite: &'static str,
    },
    /// The cache cannot be written.
    #[error("the cache of the lab: {0}")]
    Cache(#[from] io::Error),
    /// A package is not made as expected.
    #[error("{package}: {what}")]
    Odd {
        /// The package.
        package: String,
        /// What is odd.
        what: String,
    },
}

/// A file as old as the lists.
const REFRESHED: &str = "refreshed";
/// Bytes of a file's name that every file system takes.
const MAX_FILE_NAME: usize = 200;

/// The beginning of a folder's name that fills with packages; the number of the process that fills it follows.
const DOWNLOAD: &str = "download-";

/// Where apt finds packages, among its folders.
const SOURCES: &str = "sources.list";

/// A package in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unpacked {
    /// `name=version`.
    pub package: String,
    /// What it holds.
    pub folder: PathBuf,
}

impl Unpacked {
    /// Its name, without the version.
    #[must_use]
    pub fn name(&self) -> &str {
        name_of(&self.package)
    }
}

/// One release for one architecture.
#[derive(Debug)]
pub struct AptRoot {
    cache: Cache,
    folder: PathBuf,
    suite: Suite,
    architecture: String,
    mirror: String,
}

impl AptRoot {
    /// Makes the folders and the settings; asks no mirror yet.
    ///
    /// # Errors
    /// Where the cache cannot be written or Debian's keys are missing.
    pub fn open(cache: &Cache, suite: Suite, architecture: &str) -> Result<Self, PackageError> {
        if !Path::new(KEYRING).exists() {
            return Err(PackageError::NoKeyring);
        }
        let folder = cache.path().join("apt").join(format!("{}-{architecture}", suite.name()));
        for part in ["state/lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(part))?;
        }
        // Nothing counts as installed: what a package needs is then named in whole.
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

    /// Which release.
    #[must_use]
    pub const fn suite(&self) -> Suite {
        self.suite
    }

    /// The file that says where apt finds packages.
    #[must_use]
    pub fn sources(&self) -> PathBuf {
        self.folder.join(SOURCES)
    }

    /// Debian's word for the architecture of its packages.
    #[must_use]
    pub fn architecture(&self) -> &str {
        &self.architecture
    }

    /// The cache that it fills.
    #[must_use]
    pub const fn cache(&self) -> &Cache {
        &self.cache
    }

    /// Fetches packages and those that they need, as far as `wants` takes them by name, and unpacks each into a folder of
    /// the cache; what is there already is not fetched again. In the order that apt would install them. `told` is called
    /// with what is about to happen.
    ///
    /// # Errors
    /// Where the mirror cannot be reached or lacks one, the sums do not agree, or there is no space.
    pub fn get(
        &self,
        names: &[&str],
        wants: impl Fn(&str) -> bool,
        told: &mut dyn FnMut(&str),
    ) -> Result<Vec<Unpacked>, PackageError> {
        let wanted = || -> Result<Vec<String>, PackageError> {
            let mut packages = self.needed(names)?;
            packages.retain(|package| wants(name_of(package)));
            Ok(packages)
        };
        let packages = wanted()?;
        match self.unpacked(&packages, told) {
            // The mirror keeps only the newest, and the lists may be older than that.
            Err(PackageError::Tool(ToolError::Failed { .. })) => {
                self.locked_refresh()?;
                self.unpacked(&wanted()?, told)
            }
            other => other,
        }
    }

    /// The packages that these need, themselves included, as `name=version`, in the order that apt would install them.
    ///
    /// # Errors
    /// Where the mirror cannot be reached or lacks one.
    pub fn needed(&self, packages: &[&str]) -> Result<Vec<String>, PackageError> {
        let _held = FileLock::wait(&self.folder.join("lock"))?;
        self.refresh(false)?;
        // As long as the lists are the same, so is the answer, which takes apt a second to find.
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
            Err(PackageError::Tool(ToolError::Failed { said, .. })) if said.contains("Unable to locate") => {
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

    fn unpacked(&self, packages: &[String], told: &mut dyn FnMut(&str)) -> Result<Vec<Unpacked>, PackageError> {
        let missing: Vec<&String> =
            packages.iter().filter(|package| !self.cache.path().join(self.place(package)).exists()).collect();
        if !missing.is_empty() {
            told(&format!("fetching {}", in_words(&missing)));
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

    /// What a killed process was fetching.
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

    /// A full disk has a name of its own, since its way out is another one.
    fn full(&self, error: ToolError) -> PackageError {
        match error {
            ToolError::Failed { said, .. } if is_full(&said) => {
                PackageError::NoSpace { folder: self.cache.path().to_owned(), said }
            }
            other => other.into(),
        }
    }

    fn unpack(&self, packages: &[&String], from: &Path) -> Result<(), PackageError> {
        let files: Vec<PathBuf> = fs::read_dir(from)?.flatten().map(|entry| entry.path()).collect();
        for package in packages {
            let beginning = format!("{}_", name_of(package));
            let is_ours = |file: &&PathBuf| {
                file.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with(&beginning))
            };
            let file = files.iter().find(is_ours).ok_or_else(|| PackageError::Odd {
                package: (*package).clone(),
                what: "apt said that it had fetched it, and had not".to_owned(),
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

    /// Asks the mirror for its lists where ours are old.
    fn refresh(&self, even_if_new: bool) -> Result<(), PackageError> {
        let stamp = self.folder.join(REFRESHED);
        if !even_if_new && lists_are_new(&self.folder) {
            return Ok(());
        }
        let updated = tool::run(self.apt_get().arg("update"), "fetching the lists of packages");
        match updated {
            Ok(_) => Ok(fs::write(stamp, "")?),
            Err(ToolError::Failed { said, .. }) if is_full(&said) => {
                Err(PackageError::NoSpace { folder: self.cache.path().to_owned(), said })
            }
            // Without network the old lists still name what is in the cache.
            Err(ToolError::Failed { .. }) if stamp.exists() && !even_if_new => Ok(()),
            Err(ToolError::Failed { said, .. }) => Err(PackageError::Mirror { mirror: self.mirror.clone(), said }),
            Err(other) => Err(other.into()),
        }
    }

    fn apt_get(&self) -> Command {
        let mut command = Command::new("apt-get");
        command.env("APT_CONFIG", self.folder.join("apt.conf")).env("LC_ALL", "C").arg("--quiet=2");
        command
    }
}

/// The name of a file about these packages: their names, of which a file's name may be too short to hold all.
fn file_name(packages: &[&str]) -> String {
    let names = packages.join("+");
    if names.len() <= MAX_FILE_NAME {
        return names;
    }
    let digest = Sha256::digest(&names);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What stands before the equals sign.
fn name_of(package: &str) -> &str {
    package.split('=').next().unwrap_or(package)
}

/// Whether apt or dpkg complains of a full disk.
fn is_full(said: &str) -> bool {
    ["No space left on device", "enough free space"].iter().any(|words| said.contains(words))
}

fn in_words(packages: &[&String]) -> String {
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

/// The mirror that new lists are from: asking the host's apt for its own takes a second.
fn kept_mirror(folder: &Path) -> Option<String> {
    let is_named = [MIRROR_VARIABLE, SECURITY_VARIABLE].iter().any(|name| std::env::var_os(name).is_some());
    if is_named || !lists_are_new(folder) {
        return None;
    }
    first_uri(&fs::read_to_string(folder.join(SOURCES)).ok()?)
}

/// Of the first line `deb [OPTIONS] URI SUITE ...`.
fn first_uri(sources: &str) -> Option<String> {
    let (_, rest) = sources.lines().next()?.split_once("] ")?;
    rest.split(' ').next().map(str::to_owned)
}

/// The mirrors that the host itself uses where it is a Debian, else Debian's own.
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
    // A host without apt is told of when something is fetched.
    let output = tool::run(&mut command, "looking up the mirror").map(|output| output.stdout).unwrap_or_default();
    String::from_utf8_lossy(&output).lines().map(|uri| uri.trim().trim_end_matches('/').to_owned()).collect()
}

fn sources(suite: Suite, architecture: &str, mirror: &str, security: &str) -> String {
    let name = suite.name();
    let options = format!("[arch={architecture} signed-by={KEYRING}]");
    let mut text = format!("deb {options} {mirror} {name} main\ndeb {options} {mirror} {name}-updates main\n");
    // The boards' kernels of a stable release are enough; a mirror of both architectures' updates is rare.
    if architecture == "amd64" {
        text += &format!("deb {options} {security} {name}-security main\n");
    }
    text
}

fn settings(folder: &Path, architecture: &str) -> String {
    let folder = folder.display();
    format!(
        "// Written by punctual. The host's own settings in /etc/apt/apt.conf.d stay in force.\n\
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
         // Lists that could not be had are an error, not a warning.\n\
         APT::Update::Error-Mode \"any\";\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_simulation_is_read() {
        let text = "NOTE: This is only a simulation!\nInst libc6 (2.36-9+deb12u14 Debian:12.15/oldstable [amd64]) []\n\
                    Inst rt-tests (2.4-1 Debian:12 [amd64])\nConf libc6 (2.36-9 Debian:12 [amd64])\n";
        assert_eq!(installs(text), ["libc6=2.36-9+deb12u14", "rt-tests=2.4-1"]);
    }

    #[test]
    fn many_packages_have_a_file_too() {
        let many: Vec<String> = (0..100).map(|n| format!("package-{n}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(file_name(&names[..2]), "package-0+package-1");
        assert_eq!(file_name(&names).len(), 64);
        assert_ne!(file_name(&names), file_name(&names[..99]));
    }

    #[test]
    fn a_full_disk_is_told_from_a_mirror_that_fails() {
        assert!(is_full("E: Failed to fetch http://a/b  Error writing to file - write (28: No space left on device)"));
        assert!(is_full("E: You don't have enough free space in /var/cache/apt/archives/."));
        assert!(!is_full("E: Failed to fetch http://a/b  Could not connect to 127.0.0.1:9"));
    }

    #[test]
    fn what_a_killed_process_was_fetching_goes() {
        let folder = tempfile::tempdir().unwrap();
        let root = AptRoot {
            cache: Cache::at(&folder.path().join("cache")).unwrap(),
            folder: folder.path().to_owned(),
            suite: Suite::Bookworm,
            architecture: "amd64".to_owned(),
            mirror: String::new(),
        };
        // No process has this number: it is beyond what the kernel gives (PID_MAX_LIMIT).
        let (abandoned, ours) = ("download-4194305".to_owned(), format!("download-{}", std::process::id()));
        for name in [&abandoned, &ours] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        root.remove_abandoned();
        assert!(!folder.path().join(abandoned).exists() && folder.path().join(ours).exists());
    }

    #[test]
    fn nothing_of_the_host_is_written_to() {
        let text = settings(Path::new("/cache/apt"), "armhf");
        let written = ["Dir::State ", "Dir::State::status ", "Dir::Cache "];
        assert!(written.iter().all(|key| text.contains(&format!("{key}\"/cache/apt/"))), "{text}");
        let sources = sources(Suite::Trixie, "armhf", "http://a/debian", "http://a/debian-security");
        assert!(!sources.contains("security"));
        assert_eq!(first_uri(&sources).as_deref(), Some("http://a/debian"));
    }
}
