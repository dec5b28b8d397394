//! Prepares what QEMU starts from a node's description: packages, kernel and initramfs, or disks.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::cache::Cache;
use crate::disk::{self, Disks, ImageError};
use crate::guest::{GUEST_FILE, GuestFile, Interface};
use crate::image::{Image, Libraries, ModuleError, Modules};
use crate::own_modules;
use crate::packages::{self, AptRoot, KernelImage, PackageError, Suite};
use crate::program::Programs;
use crate::scenario::{DiskName, KernelName, Node};
use crate::tool::ToolError;
use crate::trace::{self, TraceError};

/// Why a node could not be prepared.
#[derive(Debug, thiserror::Error)]
pub enum PrepareError {
    /// A package could not be obtained.
    #[error(transparent)]
    Package(#[from] PackageError),
    /// A kernel module is missing or unusable.
    #[error(transparent)]
    Module(#[from] ModuleError),
    /// A program of the host that makes its disks is missing or failed.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The image on which its disk is based could not be made.
    #[error(transparent)]
    DiskImage(#[from] ImageError),
    /// It is to be traced, and QEMU cannot.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// Its files could not be written.
    #[error("cannot make the files of node {node}: {error}")]
    Image {
        /// Name of the node.
        node: String,
        /// The underlying error.
        error: io::Error,
    },
}

/// A node that can be started.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct PreparedNode {
    /// The node's description.
    pub node: Node,
    /// What it boots.
    #[serde(flatten)]
    pub system: System,
    /// The node's network interfaces.
    #[serde(default)]
    pub interfaces: Vec<Interface>,
}

/// What a guest boots.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(untagged)]
pub enum System {
    /// A kernel that QEMU loads.
    Kernel(KernelBoot),
    /// A disk, through its boot loader.
    Disk(Disks),
}

/// A kernel and its initramfs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct KernelBoot {
    /// The kernel with its modules.
    pub kernel: KernelImage,
    /// The initramfs (cpio).
    pub image: PathBuf,
}

impl PreparedNode {
    /// What it boots, as text: `Linux 6.12…` or `debian-13 from its disk`.
    #[must_use]
    pub fn what_boots(&self) -> String {
        match (&self.system, self.node.disk) {
            (System::Kernel(boot), _) => format!("Linux {}", boot.kernel.release),
            (System::Disk(_), disk) => format!("{} from its disk", disk.map_or("a system", DiskName::name)),
        }
    }
}

/// Folders of a package that contain programs.
const PROGRAM_FOLDERS: [&str; 4] = ["bin", "sbin", "usr/bin", "usr/sbin"];

/// Debian's source of a kernel: the release, and the metapackage of the newest version.
const fn debian_source(kernel: KernelName) -> (Suite, &'static str) {
    match kernel {
        KernelName::Rt612 => (Suite::Bookworm, "linux-image-6.12-rt-amd64"),
        KernelName::Rt61 => (Suite::Bookworm, "linux-image-rt-amd64"),
        KernelName::Rt61Armhf => (Suite::Bookworm, "linux-image-rt-armmp"),
    }
}

/// The driver of the emulated network cards.
const NETWORK_MODULE: &str = "virtio_net";

/// Fetches or makes what is missing and writes the node's own files into `folder`. `programs` are those for
/// the guest; `interfaces` come from [`Scenario::interfaces`](crate::scenario::Scenario::interfaces).
///
/// # Errors
/// If something cannot be fetched, or does not match.
pub fn prepare(
    cache: &Cache,
    node: &Node,
    interfaces: Vec<Interface>,
    programs: &Programs,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<PreparedNode, PrepareError> {
    trace::check(node)?;
    let system = match (node.disk, node.kernel) {
        (Some(disk), _) => System::Disk(disk::prepare(cache, node, disk, &interfaces, programs, folder, progress)?),
        (None, kernel) => {
            let kernel = kernel.unwrap_or(KernelName::Rt612);
            System::Kernel(prepare_kernel(cache, node, kernel, &interfaces, programs, folder, progress)?)
        }
    };
    Ok(PreparedNode { node: node.clone(), system, interfaces })
}

/// Prepares a kernel and an initramfs with exactly what the node asks for.
///
/// # Errors
/// If something cannot be fetched, or does not match.
pub fn prepare_kernel(
    cache: &Cache,
    node: &Node,
    kernel: KernelName,
    interfaces: &[Interface],
    programs: &Programs,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<KernelBoot, PrepareError> {
    let (suite, package) = debian_source(kernel);
    let machine = kernel.architecture().machine();
    let root = AptRoot::open(cache, suite, machine.debian)?;
    let kernel = packages::kernel(&root, package, progress)?;
    let failed = |error| PrepareError::Image { node: node.name.clone(), error };
    let mut image = Image::new();
    programs.add_to(&mut image);
    image.add_link("init", "bin/punctual");
    image.add_copy(&format!("boot/config-{}", kernel.release), &kernel.configuration);
    let other_root = match node.packages_from {
        from if from == suite => None,
        from => Some(AptRoot::open(cache, from, machine.debian)?),
    };
    let from = other_root.as_ref().unwrap_or(&root);
    add_programs(from, &mut image, &node.packages, progress).map_err(|error| match error {
        ProgramError::Package(error) => PrepareError::Package(error),
        ProgramError::File(error) => failed(error),
    })?;
    let mut modules = Modules::in_folder(&kernel.modules);
    for name in &node.modules {
        if let Some(file) = own_modules::build(&root, &kernel, name, progress)? {
            modules.insert(name, file);
        }
    }
    let port = machine.port_modules.iter().map(|name| (*name).to_owned());
    let network = (!interfaces.is_empty()).then(|| NETWORK_MODULE.to_owned());
    let wanted: Vec<String> = port.chain(node.modules.iter().cloned()).chain(network).collect();
    let modules = modules.add(&mut image, &wanted)?;
    let guest = GuestFile {
        host_name: node.name.clone(),
        modules: modules.into_iter().map(|path| (path, String::new())).collect(),
        interfaces: interfaces.to_vec(),
        setup: node.setup.clone(),
    };
    image.add_bytes(GUEST_FILE, serde_json::to_vec(&guest).map_err(|error| failed(error.into()))?, 0o644);
    image.add_bytes("etc/passwd", "root:x:0:0:root:/root:/bin/sh\n", 0o644);
    image.add_bytes("etc/group", "root:x:0:\n", 0o644);
    let path = folder.join(format!("{}.cpio", node.name));
    image.write(&path).map_err(failed)?;
    Ok(KernelBoot { kernel, image: path })
}

enum ProgramError {
    Package(PackageError),
    File(io::Error),
}

impl From<PackageError> for ProgramError {
    fn from(error: PackageError) -> Self {
        Self::Package(error)
    }
}

impl From<io::Error> for ProgramError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// Adds busybox, and the programs of the named packages with the libraries that they need.
fn add_programs(
    root: &AptRoot,
    image: &mut Image,
    named: &[String],
    progress: &mut dyn FnMut(&str),
) -> Result<(), ProgramError> {
    let wanted: Vec<&str> = std::iter::once("busybox-static").chain(named.iter().map(String::as_str)).collect();
    let unpacked = root.get(&wanted, |_| true, progress)?;
    let libraries = Libraries::in_packages(unpacked.iter().map(|package| package.folder.as_path()));
    let is_busybox = |package: &&packages::Unpacked| package.name() == "busybox-static";
    // First: a command of a named package takes the place of busybox's.
    for package in unpacked.iter().filter(is_busybox) {
        add_busybox(image, &package.folder)?;
    }
    for package in unpacked.iter().filter(|package| !is_busybox(package) && wanted.contains(&package.name())) {
        for programs in PROGRAM_FOLDERS {
            add_programs_in(image, &libraries, &package.folder.join(programs))?;
        }
    }
    Ok(())
}

fn add_programs_in(image: &mut Image, libraries: &Libraries, folder: &Path) -> io::Result<()> {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        // An absolute link leads out of the package, to a program of the host.
        if fs::read_link(&path).is_ok_and(|target| target.is_absolute()) {
            continue;
        }
        // Skip scripts: the guest lacks their interpreters.
        if fs::read(&path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF")) {
            libraries.add_program(image, &format!("bin/{name}"), &path)?;
        }
    }
    Ok(())
}

/// Adds busybox, linked under the names of the commands that scripts use.
fn add_busybox(image: &mut Image, folder: &Path) -> io::Result<()> {
    let found = PROGRAM_FOLDERS.map(|programs| folder.join(programs).join("busybox"));
    let busybox = found.into_iter().find(|path| path.exists());
    let busybox = busybox.ok_or_else(|| io::Error::other("the package busybox-static has no busybox"))?;
    image.add_program("bin/busybox", &busybox);
    for name in BUSYBOX_COMMANDS.split_ascii_whitespace() {
        image.add_link(&format!("bin/{name}"), "busybox");
    }
    Ok(())
}

const BUSYBOX_COMMANDS: &str = "sh ash awk base64 basename cat chmod cmp cp cut date dd df dirname dmesg du echo \
    env expr false find free grep gzip head hexdump hostname id ifconfig insmod ip kill killall less ln ls lsmod md5sum \
    mkdir mkfifo mknod mktemp mount mv nc nproc od pidof ping poweroff printf ps pwd readlink realpath \
    reboot renice rm rmdir rmmod route sed seq setsid sha256sum sleep sort stat stty sync sysctl tail tar taskset tee \
    test timeout top touch tr true tty udhcpc umount uname uniq uptime usleep vi wc wget which xargs yes zcat";
