//! The content of an image of an installed system, and its name, which is derived from the content. Pure.

use sha2::{Digest as _, Sha256};

use super::layout;
use crate::machine::Architecture;
use crate::packages::Suite;
use crate::running::BOOT;
use crate::scenario::DiskName;

/// Packages of every image beside those of the node. `procps` and `iproute2` are on any installed Debian.
const BASE: [&str; 11] = [
    "systemd-sysv",
    "udev",
    "kmod",
    "grub-pc",
    "initramfs-tools",
    "zstd",
    "e2fsprogs",
    "cpio",
    "procps",
    "iproute2",
    "debian-archive-keyring",
];

/// The script that makes the file system. It is part of the digest in the name, so that a change makes new images.
pub(super) const MAKE: &str = include_str!("../../disk/make.sh");
/// Features of the file system, which must not depend on the host's settings.
pub(super) const MKE2FS: &str = include_str!("../../disk/mke2fs.conf");
const GRUB_FIRST: &str = include_str!("../../disk/grub-first.cfg");
const START: &str = include_str!("../../disk/start");
const FINISH: &str = include_str!("../../disk/finish");
const SERVICE: &str = include_str!("../../disk/punctual-lab.service");
const INITRAMFS: &str = include_str!("../../disk/initramfs.conf");
const INITRAMFS_HOOK: &str = include_str!("../../disk/initramfs-hook");
const INITRAMFS_TOP: &str = include_str!("../../disk/initramfs-init-top-udev");
const INITRAMFS_BOTTOM: &str = include_str!("../../disk/initramfs-init-bottom-udev");
const UDEV_TRIGGER: &str = include_str!("../../disk/udev-trigger.conf");

/// Drivers for QEMU's board that are not needed.
const UNUSED_MODULES: [&str; 6] = ["iTCO_wdt", "ahci", "pcspkr", "psmouse", "parport_pc", "i2c_i801"];

/// Units that cost an emulated machine seconds at each boot and are of no use without users, a network or other disks.
const MASKED: [&str; 37] = [
    "apt-daily-upgrade.timer",
    "apt-daily.timer",
    "dev-hugepages.mount",
    "dev-mqueue.mount",
    "dpkg-db-backup.timer",
    "e2scrub_all.timer",
    "e2scrub_reap.service",
    "fstrim.timer",
    "getty.target",
    "getty@tty1.service",
    "grub-common.service",
    "kmod-static-nodes.service",
    "ldconfig.service",
    "modprobe@drm.service",
    "modprobe@efi_pstore.service",
    "modprobe@fuse.service",
    "proc-sys-fs-binfmt_misc.automount",
    "remote-fs.target",
    "run-lock.mount",
    "serial-getty@ttyS0.service",
    "sys-fs-fuse-connections.mount",
    "sys-kernel-config.mount",
    "systemd-ask-password-console.path",
    "systemd-ask-password-wall.path",
    "systemd-binfmt.service",
    "systemd-hwdb-update.service",
    "systemd-journal-catalog-update.service",
    "systemd-logind.service",
    "systemd-pstore.service",
    "systemd-random-seed.service",
    "systemd-sysusers.service",
    "systemd-tmpfiles-clean.timer",
    "systemd-tmpfiles-setup-dev-early.service",
    "systemd-tmpfiles-setup-dev.service",
    "systemd-udev-load-credentials.service",
    "systemd-update-done.service",
    "systemd-user-sessions.service",
];

/// Generators of systemd that search at each boot for what the image does not have.
const MASKED_GENERATORS: [&str; 10] = [
    "systemd-debug-generator",
    "systemd-getty-generator",
    "systemd-gpt-auto-generator",
    "systemd-hibernate-resume-generator",
    "systemd-rc-local-generator",
    "systemd-run-generator",
    "systemd-ssh-generator",
    "systemd-system-update-generator",
    "systemd-sysv-generator",
    "systemd-tpm2-generator",
];

/// A file of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A file with this text and these mode bits.
    File(String, u32),
    /// A symbolic link to this path.
    Link(&'static str),
}

/// The description of an image of an installed system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    pub(super) disk: DiskName,
    /// Names of packages, sorted, without duplicates.
    pub(super) packages: Vec<String>,
    /// `name=version` of the packages and all their dependencies, sorted.
    versions: Vec<String>,
}

impl Recipe {
    /// The packages of a node's image: those of the node, and those of every image.
    pub(super) fn all_packages(disk: DiskName, asked: &[String]) -> Vec<String> {
        let mut packages: Vec<String> = BASE.iter().map(|name| (*name).to_owned()).collect();
        packages.push(kernel_package(disk).to_owned());
        packages.extend(asked.iter().cloned());
        packages.sort();
        packages.dedup();
        packages
    }

    /// A recipe of these packages; `versions` comes from [`AptRoot::needed`](crate::packages::AptRoot::needed).
    pub(super) fn new(disk: DiskName, packages: Vec<String>, mut versions: Vec<String>) -> Self {
        versions.sort();
        Self { disk, packages, versions }
    }

    /// `name=version` of all packages in the image, sorted.
    pub(super) fn versions(&self) -> &[String] {
        &self.versions
    }

    /// The name of the image: the release and a digest of the content.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.disk.name(), hex(&self.digest()[..6]))
    }

    fn digest(&self) -> [u8; 32] {
        let mut all = Sha256::new();
        let mut add = |part: &str| {
            // The length is included so that different lists of parts differ.
            all.update(part.len().to_le_bytes());
            all.update(part);
        };
        for text in [self.disk.name(), MAKE, MKE2FS] {
            add(text);
        }
        // The length separates the two lists.
        add(&self.packages.len().to_string());
        self.packages.iter().chain(&self.versions).for_each(|package| add(package));
        // Without the ids that are derived from this digest.
        for (path, entry) in files("", "") {
            add(&path);
            match entry {
                Entry::File(text, mode) => add(&format!("{mode:o} {text}")),
                Entry::Link(to) => add(to),
            }
        }
        add(&format!("{} {}", layout::PARTITION_SECTOR, layout::DISK_MIB));
        all.finalize().into()
    }

    /// The UUID of its file system: equal for equal content.
    pub(super) fn uuid(&self) -> String {
        let digits = hex(&self.digest()[6..22]);
        // RFC 9562, version 8: custom format.
        let (a, b, c, d, e) = (&digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..]);
        format!("{a}-{b}-8{c}-8{d}-{e}")
    }

    /// The lab's own files in the image.
    pub(super) fn files(&self) -> Vec<(String, Entry)> {
        files(&self.uuid(), &hex(&self.digest()[..16]))
    }
}

/// The metapackage of the newest real-time kernel of a release.
const fn kernel_package(disk: DiskName) -> &'static str {
    match disk {
        DiskName::Debian12 => "linux-image-6.12-rt-amd64",
        DiskName::Debian13 => "linux-image-rt-amd64",
    }
}

/// The Debian release for apt.
pub(super) const fn suite(disk: DiskName) -> Suite {
    match disk {
        DiskName::Debian12 => Suite::Bookworm,
        DiskName::Debian13 => Suite::Trixie,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn files(uuid: &str, machine_id: &str) -> Vec<(String, Entry)> {
    let file = |path: &str, text: &str, mode| (path.to_owned(), Entry::File(text.to_owned(), mode));
    let first = GRUB_FIRST.replace("@UUID@", uuid).replace("@PARAMETERS@", &parameters());
    let blacklist: String = UNUSED_MODULES.iter().map(|name| format!("blacklist {name}\n")).collect();
    let mut files = vec![
        file("boot/grub/grub.cfg", &first, 0o644),
        file("etc/default/grub.d/10-punctual-lab.cfg", &grub_settings(), 0o644),
        file("etc/fstab", &format!("UUID={uuid} / ext4 errors=remount-ro 0 1\n"), 0o644),
        file("etc/hostname", "debian\n", 0o644),
        file("etc/initramfs-tools/conf.d/punctual-lab", INITRAMFS, 0o644),
        file("etc/initramfs-tools/hooks/punctual-lab", INITRAMFS_HOOK, 0o755),
        file("etc/initramfs-tools/scripts/init-bottom/udev", INITRAMFS_BOTTOM, 0o755),
        file("etc/initramfs-tools/scripts/init-top/udev", INITRAMFS_TOP, 0o755),
        // Without a machine id the system would run its first-boot configuration.
        file("etc/machine-id", &format!("{machine_id}\n"), 0o444),
        file("etc/modprobe.d/punctual-lab.conf", &blacklist, 0o644),
        file("etc/systemd/system.conf.d/punctual-lab.conf", "[Manager]\nShowStatus=yes\nLogColor=no\n", 0o644),
        file("etc/systemd/system/punctual-lab.service", SERVICE, 0o644),
        file("etc/systemd/system/systemd-udev-trigger.service.d/punctual-lab.conf", UDEV_TRIGGER, 0o644),
        file("usr/lib/punctual-lab/finish", FINISH, 0o755),
        file("usr/lib/punctual-lab/start", START, 0o755),
    ];
    let mut link = |path: String, to| files.push((path, Entry::Link(to)));
    link("etc/systemd/system/default.target".to_owned(), "/usr/lib/systemd/system/multi-user.target");
    link("etc/systemd/system/multi-user.target.wants/punctual-lab.service".to_owned(), "../punctual-lab.service");
    MASKED.iter().for_each(|unit| link(format!("etc/systemd/system/{unit}"), "/dev/null"));
    MASKED_GENERATORS.iter().for_each(|name| link(format!("etc/systemd/system-generators/{name}"), "/dev/null"));
    files
}

/// Kernel parameters of every installed system.
fn parameters() -> String {
    format!("{} {BOOT}", Architecture::Amd64.machine().boot)
}

/// GRUB's settings: no menu, serial console, no search for other systems, and one entry for each kernel, since every
/// further entry costs an emulated machine seconds.
fn grub_settings() -> String {
    format!(
        "GRUB_TIMEOUT=0\nGRUB_TERMINAL=serial\nGRUB_SERIAL_COMMAND=\"serial --unit=0 --speed=115200\"\n\
         GRUB_DISABLE_OS_PROBER=true\nGRUB_DISABLE_RECOVERY=true\nGRUB_DISABLE_SUBMENU=true\nGRUB_CMDLINE_LINUX=\"{}\"\n",
        parameters()
    )
}

/// GRUB's settings with a node's boot parameters, in a file that is read after the lab's settings and adds to them.
pub(super) fn node_settings(boot: &str) -> String {
    if boot.is_empty() {
        return String::new();
    }
    format!("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {boot}\"\n")
}

/// A digest of a node's boot parameters, which is appended to the image's name.
pub(super) fn settings_name(boot: &str) -> String {
    hex(&Sha256::digest(node_settings(boot))[..4])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recipe(packages: &[&str], versions: &[&str]) -> Recipe {
        let own = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        Recipe::new(DiskName::Debian13, own(packages), own(versions))
    }

    #[test]
    fn equal_content_has_an_equal_name_and_different_content_does_not() {
        let one = recipe(&["a"], &["a=1", "b=2"]);
        assert_eq!(one.name(), recipe(&["a"], &["b=2", "a=1"]).name());
        assert!(one.name().starts_with("debian-13-") && one.name().len() == "debian-13-".len() + 12);
        let others = [
            recipe(&["a"], &["a=1", "b=3"]),
            recipe(&["a", "b"], &["a=1", "b=2"]),
            recipe(&["a", "a=1"], &["b=2"]),
            Recipe { disk: DiskName::Debian12, ..one.clone() },
        ];
        for other in others {
            assert_ne!(one.name(), other.name(), "{other:?}");
            assert_ne!(one.uuid(), other.uuid(), "{other:?}");
        }
        assert_ne!(settings_name(""), settings_name("nosmt"));
    }

    #[test]
    fn an_image_has_the_packages_of_the_node_and_a_kernel_once_each() {
        let packages = Recipe::all_packages(DiskName::Debian13, &["rt-tests".to_owned(), "zstd".to_owned()]);
        assert_eq!(packages.iter().filter(|name| *name == "zstd").count(), 1);
        assert!(
            ["rt-tests", "linux-image-rt-amd64", "grub-pc"].iter().all(|name| packages.contains(&(*name).to_owned()))
        );
    }

    #[test]
    fn files_refer_to_the_uuid_of_the_file_system() {
        let recipe = recipe(&["a"], &["a=1"]);
        let uuid = recipe.uuid();
        let shape: Vec<usize> = uuid.split('-').map(str::len).collect();
        assert_eq!(shape, [8, 4, 4, 4, 12]);
        let text = |path: &str| {
            let files = recipe.files();
            let (_, entry) = files.iter().find(|(at, _)| at == path).unwrap();
            let Entry::File(text, _) = entry else { panic!("{path} is a link") };
            text.clone()
        };
        assert!(text("boot/grub/grub.cfg").contains(&format!("root=UUID={uuid} ro console=ttyS0")));
        assert!(text("etc/fstab").starts_with(&format!("UUID={uuid} / ext4")));
        assert_eq!(text("etc/machine-id").trim().len(), 32);
        assert!(text("etc/default/grub.d/10-punctual-lab.cfg").contains("GRUB_CMDLINE_LINUX=\"console=ttyS0"));
    }

    #[test]
    fn parameters_of_a_node_follow_those_of_the_lab() {
        assert_eq!(node_settings("isolcpus=1"), "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus=1\"\n");
        assert_eq!(node_settings(""), "");
    }
}
