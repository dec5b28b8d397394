//! What `punctual tune` writes for boot loaders: one machine of `fixtures/boot` for each, with its intent and the agreed plan.

#![allow(clippy::unwrap_used, reason = "a helper of a test may fail the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Output;

use crate::support::bench::{content, copy_of};
use crate::support::{fixtures, run};

fn machines() -> PathBuf {
    fixtures().join("boot")
}

/// A copy of a machine that may be changed.
struct Bench {
    machine: tempfile::TempDir,
}

impl Bench {
    fn new(name: &str) -> Self {
        let machine = copy_of(&machines().join(name));
        fs::remove_file(machine.path().join("plan.txt")).unwrap();
        Self { machine }
    }

    fn tune(&self, args: &[&str]) -> Output {
        let root = self.machine.path().to_str().unwrap();
        run(&[&["tune", "--root", root], args].concat())
    }

    fn with_intent(&self, command: &str) -> Output {
        self.tune(&[command, self.at("intent.toml").to_str().unwrap()])
    }

    fn at(&self, path: &str) -> PathBuf {
        self.machine.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    fn write(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    /// All but our journal.
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let of_ours = self.at("var");
        content(self.machine.path()).into_iter().filter(|(path, _)| !path.starts_with(&of_ours)).collect()
    }

    /// What is said where a plan is refused.
    fn refused(&self) -> String {
        let output = self.with_intent("plan");
        assert_eq!(output.status.code(), Some(2), "{}", said(&output));
        // Without the ends of lines, which come where the width ends.
        said(&output).split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

fn names() -> Vec<String> {
    let mut names: Vec<String> =
        fs::read_dir(machines()).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// `PUNCTUAL_UPDATE=1` writes the plans again, to be looked at before they are committed.
#[test]
fn every_boot_loader_has_the_plan_that_was_agreed() {
    for name in names() {
        let bench = Bench::new(&name);
        let made = said(&bench.with_intent("plan"));
        let agreed = machines().join(&name).join("plan.txt");
        if std::env::var_os("PUNCTUAL_UPDATE").is_some() {
            fs::write(&agreed, &made).unwrap();
        }
        let agreed = fs::read_to_string(&agreed).unwrap_or_default();
        assert!(agreed == made, "{name}: the plan is another than agreed:\n{made}");
    }
}

#[test]
fn what_is_told_to_a_boot_loader_waits_for_the_next_start_and_goes_byte_for_byte() {
    for name in names() {
        let bench = Bench::new(&name);
        let before = bench.files();
        let applied = bench.with_intent("apply");
        assert!(applied.status.success(), "{name}: {}", said(&applied));
        assert_ne!(bench.files(), before, "{name}");
        let verified = bench.tune(&["verify"]);
        assert!(verified.status.success(), "{name}: {}", said(&verified));
        assert!(said(&verified).contains("pending   boot.parameters"), "{name}: {}", said(&verified));
        // The same intent again, also as the service manager would apply it: there is nothing to do.
        let again = bench.with_intent("apply");
        assert!(said(&again).contains("nothing to change"), "{name}: {}", said(&again));
        // Another one in its place is made of what the user had, and not of ours.
        let applied_files = bench.files();
        bench.write("other.toml", "[boot]\nskew_tick = 1\n");
        let other = bench.tune(&["apply", bench.at("other.toml").to_str().unwrap()]);
        assert!(other.status.success(), "{name}: {}", said(&other));
        let more: Vec<u8> = bench.files().into_values().flatten().collect();
        let more = String::from_utf8_lossy(&more).into_owned();
        assert!(more.contains(" skew_tick=1") && !more.contains("isolcpus=managed"), "{name}");
        assert!(bench.tune(&["revert"]).status.success());
        fs::remove_file(bench.at("other.toml")).unwrap();
        assert_eq!(bench.files(), before, "{name}");
        assert_ne!(applied_files, before);
    }
}

/// The machine boots as its boot loader is configured.
#[test]
fn after_the_next_start_it_is_in_force() {
    const OURS: &str = "isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 irqaffinity=0-1 threadirqs";
    for name in names() {
        let bench = Bench::new(&name);
        assert!(bench.with_intent("apply").status.success(), "{name}");
        let cmdline = bench.read("proc/cmdline");
        bench.write("proc/cmdline", &format!("{} {OURS}\n", cmdline.trim_end()));
        if name == "grub" {
            let verified = said(&bench.tune(&["verify"]));
            assert!(verified.contains("pending   boot.parameters"), "the kernel is not the chosen one: {verified}");
            bench.write("proc/sys/kernel/osrelease", "6.1.0-28-rt-amd64\n");
        }
        if name == "systemd-boot" {
            let verified = said(&bench.tune(&["verify"]));
            assert!(verified.contains("pending   boot.default-entry"), "{verified}");
            let default = bench.at(DEFAULT_ENTRY);
            fs::copy(default, bench.at(SELECTED_ENTRY)).unwrap();
        }
        let verified = said(&bench.tune(&["verify", "--all"]));
        assert!(!verified.contains("pending") && verified.contains("in force  boot.parameters"), "{name}: {verified}");
        // Now that the machine runs with it, the same intent still wants nothing new.
        let again = said(&bench.with_intent("apply"));
        assert!(again.contains("nothing to change"), "{name}: {again}");
    }
}

const DEFAULT_ENTRY: &str = "sys/firmware/efi/efivars/LoaderEntryDefault-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";
const SELECTED_ENTRY: &str = "sys/firmware/efi/efivars/LoaderEntrySelected-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

#[test]
fn what_cannot_be_had_is_told_and_nothing_is_changed() {
    let refused = |name: &str, change: &dyn Fn(&Bench), words: &[&str]| {
        let bench = Bench::new(name);
        change(&bench);
        let before = bench.files();
        let said = bench.refused();
        for word in words {
            assert!(said.contains(word), "{name}: no '{word}' in:\n{said}");
        }
        assert_eq!(bench.with_intent("apply").status.code(), Some(2));
        assert_eq!(bench.files(), before, "{name}");
    };
    // Which boot loader it is.
    let both = |bench: &Bench| {
        bench.write("boot/boot.scr", "");
        bench.write("boot/armbianEnv.txt", "verbosity=1\n");
    };
    let which = ["more than one boot loader", "U-Boot with extlinux.conf (/boot/extlinux/extlinux.conf)", "Armbian"];
    refused("extlinux", &both, &which);
    refused("armbian", &|bench| fs::remove_file(bench.at("boot/boot.scr")).unwrap(), &["no boot loader was found"]);
    let u_boot = |bench: &Bench| bench.write("boot/firmware/config.txt", "kernel=u-boot.bin\n");
    refused("raspberry-pi", &u_boot, &["no boot loader was found"]);
    // What the user gives the kernel already.
    let grub = |text: &'static str| move |bench: &Bench| bench.write("etc/default/grub", text);
    refused("grub", &grub("GRUB_CMDLINE_LINUX='quiet isolcpus=1'\r\n"), &["isolcpus=1 is given to the kernel already"]);
    refused("grub", &grub("GRUB_CMDLINE_LINUX_DEFAULT=\"a \\\n nohz_full=1\""), &["nohz_full=1 is given"]);
    let line = |bench: &Bench| {
        let line = bench.read("boot/firmware/cmdline.txt");
        bench.write("boot/firmware/cmdline.txt", &format!("{line} rcu-nocbs=1\n\n"));
    };
    refused("raspberry-pi", &line, &["rcu-nocbs=1 is given"]);
    refused("armbian", &|bench| bench.write("boot/armbianEnv.txt", "extraargs=isolcpus=1"), &["isolcpus=1 is given"]);
    let append = |bench: &Bench| {
        let menu = bench.read("boot/extlinux/extlinux.conf").replace("rootwait", "rootwait irqaffinity=1");
        bench.write("boot/extlinux/extlinux.conf", &menu);
    };
    refused("extlinux", &append, &["irqaffinity=1 is given"]);
    let entry = |bench: &Bench| {
        let path = "boot/efi/loader/entries/4098b3f648d74c13b1f04ccfba7798e8-6.12.9-rt-amd64.conf";
        bench.write(path, &format!("{}\noptions isolcpus=3\n", bench.read(path)));
    };
    refused("systemd-boot", &entry, &["isolcpus=3 is given"]);
    let menu = |bench: &Bench| bench.write("etc/u-boot-menu/conf.d/10-x.conf", "U_BOOT_PARAMETERS+=' isolcpus=1'\n");
    refused("u-boot-menu", &menu, &["isolcpus=1 is given"]);
    // What would keep ours from counting.
    let later = |text: &'static str| move |bench: &Bench| bench.write("etc/default/grub.d/99-z.cfg", text);
    refused(
        "grub",
        &later("GRUB_CMDLINE_LINUX=quiet\n"),
        &["99-z.cfg is read after ours", "sets GRUB_CMDLINE_LINUX again"],
    );
    refused("grub", &later("GRUB_DEFAULT=saved\n"), &["99-z.cfg is read after ours", "sets GRUB_DEFAULT again"]);
    let later = |bench: &Bench| bench.write("etc/u-boot-menu/conf.d/99.conf", "U_BOOT_PARAMETERS=x\n");
    refused("u-boot-menu", &later, &["sets U_BOOT_PARAMETERS again"]);
    let off = |bench: &Bench| bench.write("etc/default/u-boot", "U_BOOT_UPDATE=false\nU_BOOT_PARAMETERS=x\n");
    refused("u-boot-menu", &off, &["switched off"]);
    let unset = |bench: &Bench| {
        bench.write("etc/default/u-boot", "");
        bench.write("etc/kernel/cmdline", "root=x ro\n");
    };
    refused("u-boot-menu", &unset, &["/etc/kernel/cmdline, which is read then"]);
    let prefix = |bench: &Bench| bench.write("boot/firmware/config.txt", "os_prefix=new/\n");
    refused("raspberry-pi", &prefix, &["os_prefix=new/"]);
    let preferred = |bench: &Bench| {
        let path = DEFAULT_ENTRY.replace("Default", "Preferred");
        fs::write(bench.at(&path), [7, 0, 0, 0, b'x', 0, 0, 0]).unwrap();
    };
    refused("systemd-boot", &preferred, &["LoaderEntryPreferred"]);
    let strange = |bench: &Bench| fs::write(bench.at(DEFAULT_ENTRY), [6, 0, 0, 0, b'x', 0, 0, 0]).unwrap();
    refused("systemd-boot", &strange, &["could not be restored"]);
    let unified = |bench: &Bench| {
        let text: Vec<u8> = "debian.efi\0".encode_utf16().flat_map(u16::to_le_bytes).collect();
        fs::write(bench.at(SELECTED_ENTRY), [&[6, 0, 0, 0][..], &text].concat()).unwrap();
    };
    refused("systemd-boot", &unified, &["holds its own command line"]);
    let bytes = |bench: &Bench| fs::write(bench.at("boot/extlinux/extlinux.conf"), b"label \xff\n").unwrap();
    refused("extlinux", &bytes, &["byte 6 is not UTF-8"]);
    // Which kernel.
    let kernel = |text: &'static str| move |bench: &Bench| bench.write("intent.toml", text);
    let missing = ["neither /boot/vmlinuz-7.0 nor /lib/modules/7.0 is there", "6.1.0-28-rt-amd64, 6.1.0-30-amd64"];
    refused("grub", &kernel("[boot]\nkernel = \"7.0\"\n"), &missing);
    refused("grub", &kernel("[boot]\nkernel = 7\n"), &["not the release of a kernel"]);
    let no_modules = |bench: &Bench| fs::remove_dir_all(bench.at("lib/modules/6.1.0-28-rt-amd64")).unwrap();
    refused("grub", &no_modules, &["/lib/modules/6.1.0-28-rt-amd64 is not there", "there are 6.1.0-30-amd64"]);
    let no_entry = |bench: &Bench| bench.write("boot/grub/grub.cfg", "");
    refused("grub", &no_entry, &["has no entry for the kernel 6.1.0-28-rt-amd64"]);
    let chosen = kernel("[boot]\nkernel = \"6.12.9-rt-armmp\"\n");
    refused("u-boot-menu", &chosen, &["choosing a kernel is not supported for"]);
}

#[test]
fn what_someone_else_wrote_between_is_told() {
    for (name, path) in [("raspberry-pi", "boot/firmware/cmdline.txt"), ("extlinux", "boot/extlinux/extlinux.conf")] {
        let bench = Bench::new(name);
        let before = bench.files();
        assert!(bench.with_intent("apply").status.success());
        bench.write(path, &bench.read(path).replace("rootwait", "rootwait quiet"));
        let said = bench.refused();
        assert!(said.contains("was changed by someone else since"), "{said}");
        let reverted = bench.tune(&["revert"]);
        assert_eq!(reverted.status.code(), Some(1), "{name}");
        assert!(bench.read(path).contains("quiet"), "it is left");
        bench.write(path, std::str::from_utf8(&before[&bench.at(path)]).unwrap());
        assert_eq!(bench.files(), before, "{name}: all else is as before");
    }
}

#[test]
fn what_a_write_that_was_never_finished_left_goes_too() {
    let bench = Bench::new("armbian");
    let before = bench.files();
    assert!(bench.with_intent("apply").status.success());
    // As a kill between writing and renaming leaves it.
    let path = "boot/armbianEnv.txt";
    bench.write(path, std::str::from_utf8(&before[&bench.at(path)]).unwrap());
    bench.write("boot/.armbianEnv.txt.punctual-new", "half");
    assert!(bench.tune(&["revert"]).status.success());
    assert_eq!(bench.files(), before);
    // A variable that was made and not written.
    let bench = Bench::new("systemd-boot");
    let before = bench.files();
    assert!(bench.with_intent("apply").status.success());
    bench.write(DEFAULT_ENTRY, "");
    let reverted = bench.tune(&["revert"]);
    assert!(reverted.status.success(), "{}", said(&reverted));
    assert_eq!(bench.files(), before);
}

#[test]
fn a_link_stays_one_and_a_file_keeps_who_may_read_it() {
    use std::os::unix::fs::{PermissionsExt as _, symlink};
    let bench = Bench::new("armbian");
    let (link, file) = (bench.at("boot/armbianEnv.txt"), bench.at("boot/real.txt"));
    fs::rename(&link, &file).unwrap();
    symlink("real.txt", &link).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    let before = bench.files();
    for command in ["apply", "revert"] {
        let done = if command == "apply" { bench.with_intent(command) } else { bench.tune(&[command]) };
        assert!(done.status.success(), "{}", said(&done));
        assert!(link.is_symlink() && !file.is_symlink(), "{command}");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o640, "{command}");
    }
    assert_eq!(bench.files(), before);
}

#[test]
fn a_kernel_alone_is_an_entry_of_the_users() {
    let bench = Bench::new("systemd-boot");
    let before = bench.files();
    bench.write("intent.toml", "[boot]\nkernel = \"6.12.12-amd64\"\n");
    assert!(bench.with_intent("apply").status.success());
    let default: Vec<u8> = fs::read(bench.at(DEFAULT_ENTRY)).unwrap();
    let text: String = default[4..].chunks(2).map(|pair| char::from(pair[0])).collect();
    assert_eq!(text, "4098b3f648d74c13b1f04ccfba7798e8-6.12.12-amd64.conf\0", "without the tries that are left");
    assert!(!bench.at("boot/efi/loader/entries/punctual.conf").exists());
    assert!(bench.tune(&["revert"]).status.success());
    bench.write("intent.toml", std::str::from_utf8(&before[&bench.at("intent.toml")]).unwrap());
    assert_eq!(bench.files(), before);
}
