//! What an image of an installed system is made of, and the name that follows from it. Pure.

use sha2::{Digest as _, Sha256};

use super::layout;
use crate::machine::Architecture;
use crate::packages::Suite;
use crate::running::BOOT;
use crate::scenario::DiskName;

/// What every image has beside what a node asks for. `procps` and `iproute2` are on any installed Debian.
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

/// What makes the file system: part of the name, so that a change of it makes new images.
pub(super) const MAKE: &str = include_str!("../../disk/make.sh");
/// The features of the file system, which must not depend on the host's own settings.
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

/// Drivers of QEMU's board that nothing here uses.
const UNUSED_MODULES: [&str; 6] = ["iTCO_wdt", "ahci", "pcspkr", "psmouse", "parport_pc", "i2c_i801"];

/// Units that cost an emulated machine seconds at each start and are of no use without people, a network or other disks.
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

/// Programs of systemd's that look at each start for what is not there.
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

/// What stands at a path of the image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// A file with these mode bits.
    File(String, u32),
    /// A symbolic link.
    Link(&'static str),
}

/// An image of an installed system.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Recipe {
    pub(super) disk: DiskName,
    /// Names of packages, each once, in order.
    pub(super) packages: Vec<String>,
    /// `name=version` of them and all that they need.
    versions: Vec<String>,
}

impl Recipe {
    /// The packages of a node's image: what it asks for, and what every image has.
    pub(super) fn packages_of(disk: DiskName, asked: &[String]) -> Vec<String> {
        let mut packages: Vec<String> = BASE.iter().map(|name| (*name).to_owned()).collect();
        packages.push(kernel_package(disk).to_owned());
        packages.extend(asked.iter().cloned());
        packages.sort();
        packages.dedup();
        packages
    }

    /// Of packages whose versions the lists of packages tell.
    pub(super) fn new(disk: DiskName, packages: Vec<String>, mut versions: Vec<String>) -> Self {
        versions.sort();
        Self { disk, packages, versions }
    }

    /// `name=version` of all that is in it.
    pub(super) fn versions(&self) -> &[String] {
        &self.versions
    }

    /// What the image is called: the release, and a number that is another one for each other content.
    pub(super) fn name(&self) -> String {
        format!("{}-{}", self.disk.name(), hex(&self.digest()[..6]))
    }

    fn digest(&self) -> [u8; 32] {
        let mut all = Sha256::new();
        let mut add = |part: &str| {
            // With its length: no two lists of parts read the same.
            all.update(part.len().to_le_bytes());
            all.update(part);
        };
        for text in [self.disk.name(), MAKE, MKE2FS] {
            add(text);
        }
        // What is asked for and what that comes to are two lists.
        add(&self.packages.len().to_string());
        self.packages.iter().chain(&self.versions).for_each(|package| add(package));
        // The numbers that follow from this digest are left out.
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

    /// The identity of its file system: the same for the same content.
    pub(super) fn uuid(&self) -> String {
        let digits = hex(&self.digest()[6..22]);
        // Version 8 of RFC 9562: as its maker likes.
        let (a, b, c, d, e) = (&digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..]);
        format!("{a}-{b}-8{c}-8{d}-{e}")
    }

    /// The files of the lab's own in it.
    pub(super) fn files(&self) -> Vec<(String, Entry)> {
        files(&self.uuid(), &hex(&self.digest()[..16]))
    }
}

/// The package that points at the newest real-time kernel of a release.
const fn kernel_package(disk: DiskName) -> &'static str {
    match disk {
        DiskName::Debian12 => "linux-image-6.12-rt-amd64",
        DiskName::Debian13 => "linux-image-rt-amd64",
    }
}

/// Where apt finds the packages of a release.
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
        // Without a number of its own a system configures itself at its first start.
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

/// The kernel's parameters that every installed system has.
fn parameters() -> String {
    format!("{} {BOOT}", Architecture::Amd64.machine().boot)
}

/// GRUB without a menu, on the serial line; other systems are not looked for, and each kernel has one entry, since each
/// more costs an emulated machine seconds.
fn grub_settings() -> String {
    format!(
        "GRUB_TIMEOUT=0\nGRUB_TERMINAL=serial\nGRUB_SERIAL_COMMAND=\"serial --unit=0 --speed=115200\"\n\
         GRUB_DISABLE_OS_PROBER=true\nGRUB_DISABLE_RECOVERY=true\nGRUB_DISABLE_SUBMENU=true\nGRUB_CMDLINE_LINUX=\"{}\"\n",
        parameters()
    )
}

/// A node's own boot parameters, added to the lab's, in a file that is read after them.
pub(super) fn node_settings(boot: &str) -> String {
    if boot.is_empty() {
        return String::new();
    }
    format!("GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX {boot}\"\n")
}

/// The name of a node's boot parameters beside the image that they are for.
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
    fn another_content_is_another_name_and_the_same_content_the_same() {
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
    fn an_image_has_what_a_node_asks_for_and_a_real_time_kernel_once_each() {
        let packages = Recipe::packages_of(DiskName::Debian13, &["rt-tests".to_owned(), "zstd".to_owned()]);
        assert_eq!(packages.iter().filter(|name| *name == "zstd").count(), 1);
        assert!(
            ["rt-tests", "linux-image-rt-amd64", "grub-pc"].iter().all(|name| packages.contains(&(*name).to_owned()))
        );
    }

    #[test]
    fn the_file_system_is_found_by_the_number_that_it_is_given() {
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
    fn a_node_s_parameters_come_after_the_lab_s() {
        assert_eq!(node_settings("isolcpus=1"), "GRUB_CMDLINE_LINUX=\"$GRUB_CMDLINE_LINUX isolcpus=1\"\n");
        assert_eq!(node_settings(""), "");
    }
}
