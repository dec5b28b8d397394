//! The command line of a guest.

use std::path::Path;
use std::process::Command;

use crate::disk;
use crate::guest::{INIT_COMMAND, PORT_NAME};
use crate::prepare::{KernelBoot, PreparedNode, System};

/// The kernel's parameters that every guest without a disk has. The emulated time-stamp counter is as steady as the host's clock; a
/// panic ends the guest instead of holding it; self-tests of ciphers and certificates, which nothing here uses, take an
/// emulated CPU more than a second.
const BOOT: &str = "console=ttyS0 quiet clocksource=tsc tsc=reliable panic=-1 cryptomgr.notests \
    initcall_blacklist=crypto_kdf108_init,jent_mod_init,load_system_certificate_list";

/// QEMU for a node whose files are in `folder`.
pub(super) fn command(prepared: &PreparedNode, folder: &Path) -> Command {
    let node = &prepared.node;
    let name = &node.name;
    let at = |ending: &str| folder.join(format!("{name}.{ending}")).display().to_string();
    let mut command = match &prepared.system {
        System::Kernel(boot) => with_kernel(boot, &node.boot, &at("console")),
        System::Disk(disks) => {
            let mut command = disk::qemu(&disks.system, &disks.program, Path::new(&at("console")));
            // Its guest's reboot ends it, and it tells that it did so.
            command.args(["-no-reboot", "-qmp", &format!("unix:{},server=on,wait=off", at("monitor"))]);
            command
        }
    };
    command
        .args(["-smp", &node.cpus.to_string(), "-m", &node.memory_mib.to_string()])
        .args(["-name", &format!("punctual-lab-{name}")])
        .args(["-device", "virtio-serial-pci"])
        .args(["-chardev", &format!("socket,id=lab,path={},server=on,wait=off", at("port"))])
        .args(["-device", &format!("virtserialport,id=lab-port,chardev=lab,name={PORT_NAME}")]);
    if let Some(epoch) = &node.epoch {
        command.args(["-rtc", &format!("base={epoch},clock=vm")]);
    }
    command
}

/// QEMU with a kernel that it hands over; the guest ends where it would start again.
fn with_kernel(kernel: &KernelBoot, boot: &str, console: &str) -> Command {
    let mut command = Command::new("qemu-system-x86_64");
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        .args(["-machine", "q35", "-cpu", "max", "-accel", "tcg,thread=multi"])
        .arg("-kernel")
        .arg(&kernel.kernel.boot)
        .arg("-initrd")
        .arg(&kernel.image)
        // What stands after the two dashes is for the first process.
        .args(["-append", &format!("{BOOT} {boot} -- {INIT_COMMAND}")])
        .args(["-serial", &format!("file:{console}")]);
    command
}
