//! The command line of a guest.

use std::path::Path;
use std::process::Command;

use crate::guest::{INIT_COMMAND, PORT_NAME};
use crate::prepare::PreparedNode;

/// The kernel's parameters that every guest has beside its machine's: a panic ends the guest instead of holding it;
/// self-tests of ciphers and certificates, which nothing here uses, take an emulated CPU more than a second.
const BOOT: &str = "quiet panic=-1 cryptomgr.notests \
    initcall_blacklist=crypto_kdf108_init,jent_mod_init,load_system_certificate_list";

/// QEMU for a node whose files are in `folder`.
pub(super) fn command(prepared: &PreparedNode, folder: &Path) -> Command {
    let node = &prepared.node;
    let name = &node.name;
    let at = |ending: &str| folder.join(format!("{name}.{ending}")).display().to_string();
    let machine = node.kernel.architecture().machine();
    let mut command = Command::new(machine.qemu);
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        .args(machine.arguments)
        .args(["-accel", "tcg,thread=multi"])
        .args(["-smp", &node.cpus.to_string(), "-m", &node.memory_mib.to_string()])
        .args(["-name", &format!("punctual-lab-{name}")])
        .arg("-kernel")
        .arg(&prepared.kernel.boot)
        .arg("-initrd")
        .arg(&prepared.image)
        // What stands after the two dashes is for the first process.
        .args(["-append", &format!("{} {BOOT} {} -- {INIT_COMMAND}", machine.boot, node.boot)])
        .args(["-serial", &format!("file:{}", at("console"))])
        .args(["-device", &format!("virtio-serial-{}", machine.bus)])
        .args(["-chardev", &format!("socket,id=lab,path={},server=on,wait=off", at("port"))])
        .args(["-device", &format!("virtserialport,chardev=lab,name={PORT_NAME}")]);
    if let Some(epoch) = &node.epoch {
        command.args(["-rtc", &format!("base={epoch},clock=vm")]);
    }
    command
}
