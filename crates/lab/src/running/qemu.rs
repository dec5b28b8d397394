//! QEMU's command line for a guest.

use std::path::Path;
use std::process::Command;

use super::clock_rate;
use crate::guest::{INIT_COMMAND, PORT_NAME};
use crate::prepare::{KernelBoot, PreparedNode, System};
use crate::{analyzer, deterministic, disk, trace};

/// Kernel parameters of every guest, beside those of its machine. A panic ends the guest instead of halting it, or
/// reboots it if it has a disk. Self-tests of ciphers and certificates are off: nothing here uses them, and they take
/// an emulated CPU more than a second.
pub(crate) const BOOT: &str = "panic=-1 cryptomgr.notests \
    initcall_blacklist=crypto_kdf108_init,jent_mod_init,load_system_certificate_list";

/// The command line for a node whose files are in `folder`, on a host whose time-stamp counter has this frequency (Hz).
pub(super) fn command(prepared: &PreparedNode, folder: &Path, counter_hz: Option<i64>) -> Command {
    let node = &prepared.node;
    let name = &node.name;
    let at = |ending: &str| folder.join(format!("{name}.{ending}")).display().to_string();
    let machine = node.architecture().machine();
    let mut command = match &prepared.system {
        System::Kernel(boot) => {
            let rate = node.frequency_offset_ppm.zip(counter_hz).map(|(ppm, hz)| clock_rate::boot_parameters(ppm, hz));
            let clock =
                if node.deterministic { deterministic::PARAMETERS } else { rate.as_deref().unwrap_or_default() };
            let parameters = [machine.boot, "quiet", BOOT, &node.boot, clock].join(" ");
            let mut command = Command::new(machine.qemu);
            command.args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"]);
            command.args(machine.arguments);
            if node.deterministic {
                command.args(["-accel", "tcg", "-icount", deterministic::CLOCK]);
            } else {
                command.args(["-accel", "tcg,thread=multi"]);
            }
            with_kernel(&mut command, boot, &parameters, &at("console"));
            command
        }
        System::Disk(disks) => {
            let mut command = disk::qemu(&disks.system, &disks.program, Path::new(&at("console")));
            // With -no-reboot, QEMU ends when its guest reboots, and reports the reason on the monitor.
            command.args(["-no-reboot", "-qmp", &format!("unix:{},server=on,wait=off", at("monitor"))]);
            command
        }
    };
    command
        .args(["-smp", &node.cpus.to_string(), "-m", &node.memory_mib.to_string()])
        .args(["-name", &format!("punctual-lab-{name}")])
        .args(["-device", machine.serial_bus])
        .args(["-chardev", &format!("socket,id=lab,path={},server=on,wait=off", at("port"))])
        .args(["-device", &format!("virtserialport,id=lab-port,chardev=lab,name={PORT_NAME}")]);
    let epoch = node.epoch.as_deref().or_else(|| node.deterministic.then_some(deterministic::EPOCH));
    if let Some(epoch) = epoch {
        command.args(["-rtc", &format!("base={epoch},clock=vm")]);
    }
    if node.analyzer {
        command.args(["-parallel", "null"]);
        log_events(&mut command, ["parallel_ioport_write"], &analyzer::log_path(folder, name));
    }
    log_events(&mut command, node.trace.iter().map(String::as_str), &trace::log_path(folder, name));
    command
}

/// Lets QEMU log each of these events in one line with the host's time of day (scripts/tracetool/backend/log.py).
fn log_events<'a>(command: &mut Command, events: impl IntoIterator<Item = &'a str>, log: &Path) {
    let log = log.display().to_string().replace(',', ",,");
    for event in events {
        // The file with each of them: one without would take it back.
        command.args(["-msg", "timestamp=on", "-trace", &format!("{event},file={log}")]);
    }
}

/// Adds a kernel that QEMU loads; a reboot ends such a guest.
pub(super) fn with_kernel(command: &mut Command, boot: &KernelBoot, parameters: &str, console: &str) {
    command
        .arg("-kernel")
        .arg(&boot.kernel.boot)
        .arg("-initrd")
        .arg(&boot.image)
        // Arguments after the two dashes are for the first process.
        .args(["-append", &format!("{parameters} -- {INIT_COMMAND}")])
        .args(["-serial", &format!("file:{console}")]);
}
