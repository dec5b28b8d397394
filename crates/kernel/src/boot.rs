//! What the first process of a machine does: mounting, loading modules, switching off.

use std::ffi::CStr;
use std::fs::File;
use std::io;
use std::path::Path;

/// Mounts a file system of a kernel's own (`proc`, `sysfs`, `devtmpfs`, `tmpfs`, ...) on an existing folder.
///
/// # Errors
/// Where the kernel lacks it, it is mounted there already, or the right is missing.
pub fn mount(kind: &str, target: &Path) -> io::Result<()> {
    use rustix::mount::MountFlags;
    Ok(rustix::mount::mount(kind, target, kind, MountFlags::empty(), None::<&CStr>)?)
}

/// Loads a kernel module from an uncompressed file.
///
/// # Errors
/// Where it does not fit the running kernel, needs a symbol that is not there, or the right is missing. One that is
/// loaded already is none.
pub fn load_module(path: &Path, parameters: &CStr) -> io::Result<()> {
    match rustix::system::finit_module(&File::open(path)?, parameters, 0) {
        Err(rustix::io::Errno::EXIST) => Ok(()),
        other => Ok(other?),
    }
}

/// Switches the machine off; nothing is written back first.
///
/// # Errors
/// Where the right is missing.
pub fn power_off() -> io::Result<()> {
    Ok(rustix::system::reboot(rustix::system::RebootCommand::PowerOff)?)
}

/// Names this machine.
///
/// # Errors
/// Where the right is missing.
pub fn set_host_name(name: &str) -> io::Result<()> {
    Ok(rustix::system::sethostname(name.as_bytes())?)
}

/// Waits for any child, adopted ones too, and takes leave of it; `None` where there is none.
///
/// # Errors
/// Where the wait is interrupted.
pub fn wait_for_any() -> io::Result<Option<u32>> {
    match rustix::process::wait(rustix::process::WaitOptions::empty()) {
        Ok(ended) => Ok(ended.map(|(pid, _)| pid.as_raw_nonzero().get().unsigned_abs())),
        Err(rustix::io::Errno::CHILD) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
