//! Child processes that cannot outlive us.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// Starts a program in a process group of its own that the kernel ends when the calling *thread* ends, however it
/// ends (`PR_SET_PDEATHSIG`).
///
/// Call it from a thread that lives as long as the child shall.
///
/// # Errors
/// Where the program cannot be started.
pub fn spawn_bound(command: &mut Command) -> io::Result<Child> {
    let parent = std::process::id();
    command.process_group(0);
    // SAFETY: between fork and exec the closure makes only async-signal-safe system calls and does not allocate.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // The parent may have died before the line above: then nobody would tell us.
            if libc::getppid().unsigned_abs() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            Ok(())
        });
    }
    command.spawn()
}

/// Sends a signal to the process group of a child that [`spawn_bound`] started and that was not yet waited for.
///
/// # Errors
/// Where the group is gone already.
pub fn signal_group(child: &Child, signal: GroupSignal) -> io::Result<()> {
    let group = libc::pid_t::try_from(child.id()).map_err(io::Error::other)?;
    let number = match signal {
        GroupSignal::Terminate => libc::SIGTERM,
        GroupSignal::Kill => libc::SIGKILL,
    };
    // SAFETY: the group was made by us for this child; its id cannot be reused before the child is waited for.
    if unsafe { libc::killpg(group, number) } == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Which signal a group gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupSignal {
    /// `SIGTERM`: end in order.
    Terminate,
    /// `SIGKILL`: end now.
    Kill,
}

/// Makes orphaned descendants ours, so that they can be found and ended (`PR_SET_CHILD_SUBREAPER`).
pub fn adopt_orphans() {
    // SAFETY: this prctl takes plain numbers.
    unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
}

/// Whether the effective user is root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Kernel release, kernel version, machine and host name, as `uname(2)` gives them.
#[must_use]
pub fn system_names() -> (String, String, String, String) {
    let names = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    (text(names.release()), text(names.version()), text(names.machine()), text(names.nodename()))
}
