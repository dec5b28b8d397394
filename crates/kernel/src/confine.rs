//! Child processes that can harm nobody: first to go when memory is short, in control groups and a network of their own.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command};

/// The highest `oom_score_adj`: when memory is short, the kernel ends this process before all others
/// (Documentation/filesystems/proc.rst, 3.1).
const FIRST_TO_GO: &[u8] = b"1000";
/// include/uapi/linux/capability.h.
const CAP_SYS_RESOURCE: libc::c_ulong = 24;

/// What a child gets before its program begins.
#[derive(Debug, Default)]
pub struct Confinement {
    /// Open `cgroup.procs` files of the control groups that it joins.
    pub groups: Vec<File>,
    /// Its nice level (0 to 19): the higher, the less CPU time it gets beside other ordinary processes.
    pub nice: u8,
    /// Whether it gets a network namespace of its own, with the loopback up.
    pub own_network: bool,
}

/// As [`crate::process::spawn_bound`]; the child is also the first that the kernel ends when memory is short, and is
/// confined. Where one of that fails, the program is not started.
///
/// # Errors
/// Where the program cannot be started, a group cannot be joined, or a namespace cannot be had.
pub fn spawn_confined(command: &mut Command, confinement: Confinement) -> io::Result<Child> {
    // SAFETY: between fork and exec the closure makes only async-signal-safe system calls and does not allocate.
    unsafe {
        command.pre_exec(move || {
            for group in &confinement.groups {
                // "0" is the writer itself (Documentation/admin-guide/cgroup-v2.rst, Processes).
                rustix::io::write(group.as_fd(), b"0")?;
            }
            be_first_to_go()?;
            // Without root the right that is given up here was never there.
            let _ = drop_resource_right();
            rustix::process::nice(i32::from(confinement.nice))?;
            if confinement.own_network {
                enter_own_network()?;
            }
            Ok(())
        });
    }
    crate::process::spawn_bound(command)
}

fn be_first_to_go() -> io::Result<()> {
    let flags = rustix::fs::OFlags::WRONLY | rustix::fs::OFlags::CLOEXEC;
    let file = rustix::fs::open(c"/proc/self/oom_score_adj", flags, rustix::fs::Mode::empty())?;
    rustix::io::write(&file, FIRST_TO_GO)?;
    Ok(())
}

/// Takes the right away by which a program that root starts could make itself the last to go instead, as stress-ng does
/// with -1000: without CAP_SYS_RESOURCE the kernel lets nobody below the value that was set with it (fs/proc/base.c,
/// `__set_oom_adj`), and a new program has no right outside of the bounding set (capabilities(7)).
fn drop_resource_right() -> io::Result<()> {
    // SAFETY: this prctl takes plain numbers.
    let status = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, CAP_SYS_RESOURCE, 0, 0, 0) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// A new network namespace, by a new user namespace where the right to make one is missing, with its loopback up.
fn enter_own_network() -> io::Result<()> {
    // SAFETY: unshare takes one number; the process has one thread, as it was just forked.
    let unshared = unsafe {
        libc::unshare(libc::CLONE_NEWNET) == 0 || libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNET) == 0
    };
    if !unshared {
        return Err(io::Error::last_os_error());
    }
    let mut name = [0; libc::IFNAMSIZ];
    for (to, from) in name.iter_mut().zip(c"lo".to_bytes()) {
        *to = libc::c_char::try_from(*from).unwrap_or(0);
    }
    let flags = libc::c_short::try_from(libc::IFF_UP | libc::IFF_RUNNING).unwrap_or(0);
    let mut request = libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags: flags } };
    // SAFETY: the numbers are those of socket(2).
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the structure lives until the call returns, and is what SIOCSIFFLAGS reads (include/uapi/linux/if.h).
    let done = unsafe { libc::ioctl(socket, libc::SIOCSIFFLAGS as libc::Ioctl, &raw mut request) };
    let error = io::Error::last_os_error();
    // SAFETY: the descriptor is this function's own.
    unsafe { libc::close(socket) };
    if done < 0 { Err(error) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use super::*;

    fn output(confinement: Confinement, script: &str) -> io::Result<String> {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdout(Stdio::piped());
        let child = spawn_confined(&mut command, confinement)?;
        Ok(String::from_utf8(child.wait_with_output()?.stdout).unwrap())
    }

    #[test]
    fn a_confined_child_is_the_first_to_go() {
        let script = "cat /proc/self/oom_score_adj; nice";
        let before: u8 = output(Confinement::default(), "nice").unwrap().trim().parse().unwrap();
        let confinement = Confinement { nice: 3, ..Confinement::default() };
        assert_eq!(output(confinement, script).unwrap(), format!("1000\n{}\n", (before + 3).min(19)));
    }

    #[test]
    fn a_confined_child_of_root_cannot_make_itself_the_last_to_go() {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let effective = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap().trim();
        if u64::from_str_radix(effective, 16).unwrap() & (1_u64 << CAP_SYS_RESOURCE) == 0 {
            println!("not shown: this process has no right that could be taken away");
            return;
        }
        let script = "(echo -1000 > /proc/self/oom_score_adj) 2>/dev/null; (echo 0 > /proc/self/oom_score_adj) 2>/dev/null; \
                      cat /proc/self/oom_score_adj";
        assert_eq!(output(Confinement::default(), script).unwrap(), "1000\n");
    }

    #[test]
    fn a_child_with_a_network_of_its_own_sees_the_loopback_alone_and_it_is_up() {
        let confinement = Confinement { own_network: true, ..Confinement::default() };
        let script = "tail -n +3 /proc/net/dev | cut -d: -f1; ls -l /proc/self/ns/net; cat /sys/class/net/lo/operstate; \
                      grep -c . /proc/net/route; cat /proc/net/fib_trie";
        match output(confinement, script) {
            Ok(text) => {
                assert_eq!(text.lines().next().unwrap().trim(), "lo", "{text}");
                assert!(text.contains("127.0.0.1"), "its address comes with the interface's being up: {text}");
                let ours = std::fs::read_link("/proc/self/ns/net").unwrap();
                assert!(!text.contains(&*ours.to_string_lossy()), "{text}");
            }
            Err(error) => println!("not run: no network namespace is to be had here: {error}"),
        }
    }

    #[test]
    fn a_group_that_cannot_be_joined_starts_nothing() {
        let folder = std::env::temp_dir();
        let group = File::open(folder).unwrap();
        assert!(output(Confinement { groups: vec![group], ..Confinement::default() }, "echo ran").is_err());
    }
}
