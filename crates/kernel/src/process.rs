//! Child processes that cannot outlive us.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// Starts a program in a session of its own that the kernel ends when the calling *thread* ends, however it ends
/// (`PR_SET_PDEATHSIG`).
///
/// Call it from a thread that lives as long as the child shall.
///
/// # Errors
/// Where the program cannot be started.
pub fn spawn_bound(command: &mut Command) -> io::Result<Child> {
    let parent = std::process::id();
    // SAFETY: between fork and exec the closure makes only async-signal-safe system calls and does not allocate.
    unsafe {
        command.pre_exec(move || {
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
            // The parent may have died before the line above: then no signal would come.
            if libc::getppid().unsigned_abs() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            rustix::process::setsid()?;
            Ok(())
        });
    }
    command.spawn()
}

/// Leaves the terminal and its process group, so that Ctrl-C there does not reach this process.
pub fn start_session() {
    // Fails only for a group's leader, which then has a group of its own already.
    let _ = rustix::process::setsid();
}

/// A signal that loads are steered with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// `SIGTERM`: end in order.
    Terminate,
    /// `SIGKILL`: end now.
    Kill,
    /// `SIGSTOP`: stand still.
    Stop,
    /// `SIGCONT`: go on.
    Continue,
}

/// Sends a signal to a process.
///
/// # Errors
/// Where the process is gone, or belongs to somebody else.
pub fn signal(pid: u32, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process(pid_of(pid)?, signal.to_rustix())?)
}

/// Sends a signal to all processes of a group, named by its leader.
///
/// # Errors
/// Where none is left, or they belong to somebody else.
pub fn signal_group(leader: u32, signal: Signal) -> io::Result<()> {
    Ok(rustix::process::kill_process_group(pid_of(leader)?, signal.to_rustix())?)
}

/// Ends a process that `is_it` still says is the one that is meant, in order, and by force after `patience`; returns once
/// it has ended, or where it had already.
///
/// # Errors
/// Where it belongs to somebody else, or does not end.
pub fn end(pid: u32, is_it: &dyn Fn() -> bool, patience: std::time::Duration) -> io::Result<()> {
    let pid = pid_of(pid)?;
    // From here on the number cannot become another process's unnoticed (Linux 5.3 and newer).
    let held = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).ok();
    let send = |signal: rustix::process::Signal| {
        if !is_it() {
            return Ok(());
        }
        let sent = match &held {
            Some(held) => rustix::process::pidfd_send_signal(held, signal),
            None => rustix::process::kill_process(pid, signal),
        };
        match sent {
            Err(rustix::io::Errno::SRCH) => Ok(()),
            sent => sent.map_err(io::Error::from),
        }
    };
    for signal in [rustix::process::Signal::TERM, rustix::process::Signal::KILL] {
        send(signal)?;
        let until = std::time::Instant::now() + patience;
        while is_it() && std::time::Instant::now() < until {
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        if !is_it() {
            return Ok(());
        }
    }
    Err(io::Error::other("it does not end"))
}

fn pid_of(pid: u32) -> io::Result<rustix::process::Pid> {
    let pid = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw);
    pid.ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

impl Signal {
    const fn to_rustix(self) -> rustix::process::Signal {
        match self {
            Self::Terminate => rustix::process::Signal::TERM,
            Self::Kill => rustix::process::Signal::KILL,
            Self::Stop => rustix::process::Signal::STOP,
            Self::Continue => rustix::process::Signal::CONT,
        }
    }
}

/// Takes leave of ended processes that were adopted.
pub fn reap_orphans() {
    while let Ok(Some(_)) = rustix::process::wait(rustix::process::WaitOptions::NOHANG) {}
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

/// The effective user's number.
#[must_use]
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Lets this process have as many open files as its hard limit allows; how many that are.
///
/// # Errors
/// Where the kernel refuses.
pub fn raise_file_limit() -> io::Result<u64> {
    use rustix::process::{Resource, getrlimit, setrlimit};
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit)?;
    Ok(limit.current.unwrap_or(u64::MAX))
}

/// Kernel release, kernel version, machine and host name, as `uname(2)` gives them.
#[must_use]
pub fn system_names() -> (String, String, String, String) {
    let names = rustix::system::uname();
    let text = |name: &std::ffi::CStr| name.to_string_lossy().into_owned();
    (text(names.release()), text(names.version()), text(names.machine()), text(names.nodename()))
}
