//! Makes images of installed systems. Debian's package manager makes the file tree, this module the sectors before it,
//! and a first boot the configuration of GRUB.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use super::layout;
use super::recipe::{self, Entry, MAKE, MKE2FS, Recipe};
use super::unused;
use crate::cache::Cache;
use crate::console::end_of_passing_console;
use crate::image::Image;
use crate::packages::{AptRoot, PackageError};
use crate::tool::{self, ToolError};

/// Free disk space that is required to make an image (MiB): twice what it takes.
const SPACE_MIB: u64 = 2048;
/// Available memory that is required to make an image (MiB): the file tree is in memory; half of it is for the base
/// system.
const MEMORY_MIB: u64 = 1536;
/// How long the first boot may take.
const FIRST_BOOT_PATIENCE: Duration = Duration::from_secs(300);
/// Time between two checks of whether something has ended.
const PERIOD: Duration = Duration::from_millis(50);
/// `PATH` for the programs that make images, some of which are not in a user's own PATH.
const PROGRAMS: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
/// How many of the last output lines are kept for an error message.
const KEPT_LINES: usize = 40;

/// Why an image could not be made.
#[derive(Debug, thiserror::Error)]
pub(super) enum MakeError {
    /// A package could not be obtained.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A program of the host is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The cache cannot be written.
    #[error("the cache of the lab: {0}")]
    Cache(#[from] io::Error),
    /// There is not enough disk space or memory.
    #[error(
        "an image of an installed system needs {needed} MiB of {what} while it is made; {at} has {free} MiB: {remedy}"
    )]
    Short {
        /// `space` or `memory`.
        what: &'static str,
        /// Required amount (MiB).
        needed: u64,
        /// The folder or machine that lacks it.
        at: String,
        /// Available amount (MiB).
        free: u64,
        /// What the user can do.
        remedy: &'static str,
    },
    /// The user may not create the required namespaces.
    #[error(
        "cannot make an image of an installed system: this user may not create user namespaces ({message}); install the \
         package uidmap and make sure that /etc/subuid and /etc/subgid have a line for this user, or run as root"
    )]
    NoNamespace {
        /// Error message of `unshare`.
        message: String,
    },
    /// A step failed or gave an unexpected result.
    #[error("cannot make the image {name}: {what}")]
    Odd {
        /// Name of the image.
        name: String,
        /// What is unexpected.
        what: String,
    },
    /// Stopped on request.
    #[error("stopped while making an image")]
    Stopped,
}

/// The image of a node with these packages and boot parameters, from the cache or newly made. It is a disk that no
/// guest writes to: each guest has its own disk over it.
///
/// # Errors
/// If something is missing, or `is_over` returns true because nobody waits any more; nothing half made is left.
pub(super) fn image(
    cache: &Cache,
    disk: crate::scenario::DiskName,
    packages: &[String],
    boot: &str,
    progress: &mut dyn FnMut(&str),
    is_over: &dyn Fn() -> bool,
) -> Result<PathBuf, MakeError> {
    let root = AptRoot::open(cache, recipe::suite(disk), "amd64")?;
    let packages = Recipe::all_packages(disk, packages);
    let names: Vec<&str> = packages.iter().map(String::as_str).collect();
    let versions = root.needed(&names)?;
    let recipe = Recipe::new(disk, packages, versions);
    let base_name = format!("{FOLDER}/{}", recipe.name());
    let name = format!("{base_name}+{}", recipe::settings_name(boot));
    if cache.is_being_made(&base_name) || cache.is_being_made(&name) {
        progress("another lab makes the same image: waiting for it");
    }
    let base = cache.once(&base_name, |folder| {
        // Before adding an image, remove unused ones.
        unused::remove(&cache.path().join(FOLDER))?;
        make(&root, &recipe, folder, progress, is_over)
    })?;
    let settled = cache.once(&name, |folder| {
        progress("booting the image for the first time (only once)");
        first_boot(&base, boot, folder, is_over)
    })?;
    unused::mark(&base)?;
    unused::mark(&settled)?;
    Ok(settled.join(DISK))
}

/// The folder of all images in the cache.
const FOLDER: &str = "disk";

/// File name of an image that is ready for guests, in its folder of the cache.
const DISK: &str = "disk.qcow2";
/// File name of an image before its first boot, in its folder of the cache.
const BASE_DISK: &str = "disk.raw";

fn make(
    root: &AptRoot,
    recipe: &Recipe,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
    is_over: &dyn Fn() -> bool,
) -> Result<(), MakeError> {
    check_tools()?;
    check_room(folder)?;
    progress(&format!(
        "making an image of {} with {} packages (only once): about two minutes",
        recipe.disk.name(),
        recipe.versions().len()
    ));
    let at = |name: &str| folder.join(name);
    write_files(&recipe.files(), &at("files"))?;
    fs::create_dir(at("work"))?;
    fs::write(at("make.sh"), MAKE)?;
    fs::write(at("mke2fs.conf"), MKE2FS)?;
    fs::write(at("settings"), proxies())?;
    let mut command = in_namespace();
    command
        .arg("sh")
        .arg(at("make.sh"))
        .env("PATH", PROGRAMS)
        .env("SUITE", root.suite().name())
        .env("SOURCES", root.sources())
        .env("PACKAGES", recipe.packages.join(","))
        .env("FILES", at("files"))
        .env("SETTINGS", at("settings"))
        .env("WORK", at("work"))
        .env("OUT", folder)
        .env("UUID", recipe.uuid())
        .env("OFFSET", layout::offset().to_string())
        .env("BLOCKS", layout::blocks().to_string())
        .env("MKE2FS_CONFIG", at("mke2fs.conf"));
    fs::File::create(at(BASE_DISK))?.set_len(u64::from(layout::DISK_MIB) * 1024 * 1024)?;
    run_with_progress(&mut command, progress, is_over)?;
    let before = layout::before_partition(&fs::read(at("boot.img"))?, &fs::read(at("core.img"))?)
        .map_err(|what| MakeError::Odd { name: recipe.name(), what })?;
    let mut disk = fs::OpenOptions::new().write(true).open(at(BASE_DISK))?;
    disk.write_all(&before)?;
    disk.sync_all()?;
    for name in ["make.sh", "mke2fs.conf", "settings", "boot.img", "core.img"] {
        fs::remove_file(at(name))?;
    }
    fs::remove_dir(at("work"))?;
    Ok(fs::remove_dir_all(at("files"))?)
}

/// Checks that all required programs are installed, before minutes are spent.
fn check_tools() -> Result<(), ToolError> {
    for (program, asked) in
        [("mmdebstrap", "--version"), ("mke2fs", "-V"), ("qemu-img", "--version"), ("unshare", "-V")]
    {
        tool::run(Command::new(program).arg(asked).env("PATH", PROGRAMS), "")?;
    }
    Ok(())
}

fn check_room(folder: &Path) -> Result<(), MakeError> {
    let short = |what, needed, at: String, free, remedy| Err(MakeError::Short { what, needed, at, free, remedy });
    let free = kernel::space::free_bytes(folder)? >> 20;
    if free < SPACE_MIB {
        let remedy = "free some space there, or set PUNCTUAL_LAB_CACHE to another folder";
        return short("space", SPACE_MIB, folder.display().to_string(), free, remedy);
    }
    let about = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = about.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let kib = line.and_then(|line| line.split_ascii_whitespace().next()?.parse::<u64>().ok());
    match kib.map(|kib| kib >> 10) {
        Some(free) if free < MEMORY_MIB => {
            short("memory", MEMORY_MIB, "this machine".to_owned(), free, "end other programs on it")
        }
        _ => Ok(()),
    }
}

/// Debian's programs must run as root: of the machine, or of a namespace in which the user has more user ids.
fn in_namespace() -> Command {
    let mut command = Command::new("unshare");
    if !kernel::process::is_root() {
        command.args(["--user", "--map-root-user", "--map-auto"]);
    }
    // All processes and mounts inside the namespace end with this process's child.
    command.args(["--mount", "--pid", "--fork", "--kill-child"]);
    command
}

fn write_files(files: &[(String, Entry)], folder: &Path) -> io::Result<()> {
    fs::create_dir(folder)?;
    for (path, entry) in files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        match entry {
            Entry::File(text, mode) => {
                fs::write(&path, text)?;
                fs::set_permissions(&path, fs::Permissions::from_mode(*mode))?;
            }
            Entry::Link(to) => symlink(to, &path)?,
        }
    }
    Ok(())
}

/// The proxy settings of the host's apt.
fn proxies() -> String {
    let dump = tool::run(Command::new("apt-config").args(["dump", "Acquire"]), "");
    let dump = dump.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let about_proxies =
        |line: &&str| line.split(' ').next().is_some_and(|key| key.to_ascii_lowercase().contains("::proxy"));
    dump.lines().filter(about_proxies).map(|line| format!("{line}\n")).collect()
}

/// The progress message for an output line, if the line is worth one.
fn progress_message(line: &str) -> Option<&str> {
    const KNOWN: [(&str, &str); 4] = [
        ("I: downloading packages", "fetching the packages"),
        ("I: extracting archives", "unpacking the packages"),
        ("I: installing essential", "installing the packages"),
        ("I: cleaning package lists", "cleaning up"),
    ];
    let known = KNOWN.iter().find(|(beginning, _)| line.starts_with(beginning));
    known.map(|(_, words)| *words).or_else(|| line.strip_prefix("lab: "))
}

/// Runs a command to its end and reports its progress; the command ends with this process.
fn run_with_progress(
    command: &mut Command,
    progress: &mut dyn FnMut(&str),
    is_over: &dyn Fn() -> bool,
) -> Result<(), MakeError> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    let program = command.get_program().to_string_lossy().into_owned();
    let mut child = kernel::process::spawn_bound(command).map_err(|error| tool::not_started(&program, error))?;
    let (line_to, lines) = mpsc::channel();
    if let Some(words) = child.stderr.take() {
        thread::Builder::new().name("lab-maker".to_owned()).spawn(move || {
            for line in BufReader::new(words).split(b'\n').map_while(Result::ok) {
                if line_to.send(String::from_utf8_lossy(&line).into_owned()).is_err() {
                    return;
                }
            }
        })?;
    }
    let mut kept: Vec<String> = Vec::new();
    loop {
        match lines.recv_timeout(PERIOD) {
            Ok(line) => {
                if let Some(words) = progress_message(&line) {
                    progress(words);
                }
                if kept.len() == KEPT_LINES {
                    kept.remove(0);
                }
                kept.push(line);
            }
            // All processes that could write to the pipe have ended.
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {}
        }
        if is_over() {
            end(&mut child);
            // The namespace is gone when its last process has closed the pipe.
            while lines.recv().is_ok() {}
            return Err(MakeError::Stopped);
        }
    }
    let status = child.wait()?;
    if status.success() {
        return Ok(());
    }
    let message = reason(&kept);
    if message.starts_with("unshare:") {
        return Err(MakeError::NoNamespace { message });
    }
    Err(ToolError::Failed {
        program: "mmdebstrap".to_owned(),
        status: status.to_string(),
        what: " while making the image".to_owned(),
        message,
    }
    .into())
}

/// The lines that name a reason, otherwise the last ones; at most four.
fn reason(lines: &[String]) -> String {
    let is_reason = |line: &&str| {
        ["E:", "unshare:", "mke2fs:", "cp:", "mount:", "dpkg:", "tar:"].iter().any(|word| line.starts_with(word))
    };
    let lines: Vec<&str> = lines.iter().map(|line| line.trim()).filter(|line| !line.is_empty()).collect();
    let reasons: Vec<&str> = lines.iter().copied().filter(is_reason).collect();
    let shown = if reasons.is_empty() { lines.as_slice() } else { reasons.as_slice() };
    shown[shown.len().saturating_sub(4)..].join("; ")
}

fn end(child: &mut Child) {
    // Also kill its children, which may not be in a namespace that ends with it.
    let _ = kernel::process::signal_group(child.id(), kernel::process::Signal::Kill);
    let _ = child.kill();
    let _ = child.wait();
}

/// Boots a new image once, on a disk over it. This applies the node's settings, makes GRUB's configuration, and shows
/// that the image boots.
fn first_boot(base: &Path, boot: &str, folder: &Path, is_over: &dyn Fn() -> bool) -> Result<(), MakeError> {
    let at = |name: &str| folder.join(name);
    // A relative path, since the cache may be moved.
    let below = Path::new("..").join(base.file_name().unwrap_or_default()).join(BASE_DISK);
    super::overlay(&below, "raw", &at(DISK))?;
    let mut settings = Image::default();
    settings.add_bytes("etc/default/grub.d/20-node.cfg", recipe::node_settings(boot), 0o644);
    super::write_archive(&settings, &at("settings"))?;
    let mut command = super::qemu(&at(DISK), &at("settings"), &at("console"));
    command.args(["-smp", "1", "-m", "512", "-no-reboot"]).stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(fs::File::create(at("qemu"))?);
    let began = Instant::now();
    let mut child =
        kernel::process::spawn_bound(&mut command).map_err(|error| tool::not_started("qemu-system-x86_64", error))?;
    let failed = |what: String| MakeError::Odd {
        name: base.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
        what: format!("{what}{}", end_of_passing_console(&at("console"))),
    };
    loop {
        if let Some(status) = child.try_wait()? {
            let finished = fs::read(at("console"))?;
            if status.success() && String::from_utf8_lossy(&finished).contains("punctual-lab: finished") {
                break;
            }
            let message = fs::read_to_string(at("qemu")).unwrap_or_default();
            return Err(failed(format!("its first boot failed (QEMU: {status} {})", message.trim())));
        }
        if is_over() {
            end(&mut child);
            return Err(MakeError::Stopped);
        }
        if began.elapsed() > FIRST_BOOT_PATIENCE {
            end(&mut child);
            return Err(failed(format!("its first boot did not finish within {} s", FIRST_BOOT_PATIENCE.as_secs())));
        }
        thread::sleep(PERIOD);
    }
    for name in ["settings", "qemu", "console"] {
        fs::remove_file(at(name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_with_a_reason_are_preferred() {
        let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(reason(&lines("I: a\nE: no\n  W: b\nE: space\n")), "E: no; E: space");
        assert_eq!(reason(&lines("a\n\nb\nc\nd\ne\n")), "b; c; d; e");
        assert_eq!(progress_message("I: extracting archives..."), Some("unpacking the packages"));
        assert_eq!(progress_message("lab: writing"), Some("writing"));
        assert_eq!(progress_message("Setting up x"), None);
    }

    #[test]
    fn a_stopped_command_ends_with_all_its_children() {
        let mut sleeping = Command::new("sh");
        // The second process keeps the pipe open as long as it runs.
        sleeping.args(["-c", "echo 'lab: begun' >&2; sleep 600 & wait"]);
        let has_begun = std::cell::Cell::new(false);
        let ended = run_with_progress(&mut sleeping, &mut |_| has_begun.set(true), &|| has_begun.get());
        assert!(matches!(ended, Err(MakeError::Stopped)), "{ended:?}");
    }
}
