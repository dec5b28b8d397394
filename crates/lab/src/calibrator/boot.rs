//! Runs one boot of the deterministic guest.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::CalibratorError;
use crate::console::end_of_console;
use crate::deterministic::{CLOCK, PARAMETERS};
use crate::guest::INIT_COMMAND;
use crate::prepare::KernelBoot;
use crate::tool;

/// Memory of the guest (MiB); it keeps its results there.
pub(super) const MEMORY_MIB: u32 = 512;
/// Time limit of a boot. It takes half a minute idle and two and a half under load, and longer on a busy host.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
const PERIOD: Duration = Duration::from_millis(50);

/// One guest to boot.
pub(super) struct GuestBoot<'a> {
    /// Name of the boot, which is part of the name of its machine.
    pub(super) name: String,
    /// Time of its battery-backed clock at power-on.
    pub(super) epoch: &'a str,
    /// Environment variables of its script, as kernel parameters: those that the kernel does not know go to the first
    /// process.
    pub(super) variables: String,
}

fn command(guest: &KernelBoot, boot: &GuestBoot<'_>, folder: &Path) -> Command {
    let at = |file: &str| format!("file:{}", folder.join(file).display());
    let mut command = Command::new("qemu-system-x86_64");
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"])
        .args(["-machine", "q35", "-accel", "tcg", "-smp", "1", "-m", &MEMORY_MIB.to_string()])
        .args(["-icount", CLOCK, "-rtc", &format!("base={},clock=vm", boot.epoch)])
        .args(["-name", &format!("punctual-calibrate-{}", boot.name)])
        .arg("-kernel")
        .arg(&guest.kernel.boot)
        .arg("-initrd")
        .arg(&guest.image)
        .args(["-append", &format!("console=ttyS0 quiet {PARAMETERS} panic=-1 {} -- {INIT_COMMAND}", boot.variables)])
        .args(["-serial", &at("console"), "-serial", &at("out.tgz")]);
    command
}

/// Boots the guest, waits for its end, and unpacks the evidence that it left into `folder`. Returns how long it took.
pub(super) fn run(
    guest: &KernelBoot,
    boot: &GuestBoot<'_>,
    folder: &Path,
    is_over: &dyn Fn() -> bool,
) -> Result<Duration, CalibratorError> {
    fs::create_dir_all(folder)?;
    let began = Instant::now();
    let mut command = command(guest, boot, folder);
    let log = fs::File::create(folder.join("qemu.log"))?;
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
    let mut child =
        kernel::process::spawn_bound(&mut command).map_err(|error| tool::not_started("qemu-system-x86_64", error))?;
    let failed = |what: String| CalibratorError::Guest { boot: boot.name.clone(), what };
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let is_late = began.elapsed() > PATIENCE;
        if is_late || is_over() {
            let _ = child.kill();
            let _ = child.wait();
            return Err(if is_late {
                failed(format!("not finished within {} min{}", PATIENCE.as_secs() / 60, console(folder)))
            } else {
                CalibratorError::Stopped
            });
        }
        thread::sleep(PERIOD);
    };
    if !status.success() {
        let errors = fs::read_to_string(folder.join("qemu.log")).unwrap_or_default();
        return Err(failed(format!("QEMU ended ({status}): {}{}", errors.trim(), console(folder))));
    }
    let packed = folder.join("out.tgz");
    if fs::metadata(&packed).map_or(0, |about| about.len()) == 0 {
        return Err(failed(format!("the guest ended and left nothing{}", console(folder))));
    }
    let mut unpack = Command::new("tar");
    unpack.arg("-xzmf").arg(&packed).arg("-C").arg(folder);
    tool::run(&mut unpack, "unpacking what the guest left")?;
    fs::remove_file(&packed)?;
    Ok(began.elapsed())
}

fn console(folder: &Path) -> String {
    end_of_console(&folder.join("console"))
}
