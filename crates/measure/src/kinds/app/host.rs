//! Facts that the trace lacks and `/proc` has: read at the moment when they matter, and only while the process lives.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::FileTypeExt as _;

use analysis::audit::Target;
use trace::{Abi, Name};

/// Asked while events are worked through; a test answers by itself.
pub(super) trait Host {
    /// The binary interface of a process's program.
    fn abi(&mut self, pid: u32) -> Option<Abi>;
    /// What a file descriptor of a process stands for.
    fn target(&mut self, pid: u32, descriptor: u32) -> Target;
    /// Policy and real-time priority of a thread.
    fn policy(&mut self, tid: u32) -> Option<(&'static str, u32)>;
    /// Locked and resident memory of a process (bytes).
    fn memory(&mut self, pid: u32) -> Option<(u64, u64)>;
    /// The addresses of a thread's stack: the first and the one behind the last.
    fn stack(&mut self, pid: u32, tid: u32) -> Option<(u64, u64)>;
    /// The addresses where the kernel executes instructions that breakpoints of probes stand in the place of.
    fn probe_area(&mut self, pid: u32) -> Option<(u64, u64)>;
    /// What the machine calls the thread that a process knows by a number: in a container it counts from 1.
    fn outside(&mut self, pid: u32, number: u32) -> Option<u32>;
}

/// This machine's `/proc`.
#[derive(Debug, Default)]
pub(super) struct Live;

impl Host for Live {
    fn abi(&mut self, pid: u32) -> Option<Abi> {
        let mut head = [0; 20];
        fs::File::open(format!("/proc/{pid}/exe")).ok()?.read_exact(&mut head).ok()?;
        Abi::from_elf(&head)
    }

    fn target(&mut self, pid: u32, descriptor: u32) -> Target {
        let place = format!("/proc/{pid}/fd/{descriptor}");
        let Ok(link) = fs::read_link(&place) else { return Target::Unknown };
        let link = link.to_string_lossy().into_owned();
        if let Some(inode) = link.strip_prefix("socket:[").and_then(|rest| rest.strip_suffix(']')) {
            let unix = crate::kernel_text::read(format!("/proc/{pid}/net/unix")).unwrap_or_default();
            return if is_local_datagram(&unix, inode) { Target::LogSocket } else { Target::Socket };
        }
        if link.starts_with("pipe:[") {
            return Target::Pipe;
        }
        if let Some(kind) = link.strip_prefix("anon_inode:") {
            return Target::Kernel(kind.trim_matches(['[', ']']).to_owned());
        }
        let is_device = fs::metadata(&place).is_ok_and(|data| data.file_type().is_char_device());
        if !is_device {
            return Target::File(link);
        }
        if ["/dev/pts/", "/dev/tty", "/dev/console", "/dev/hvc"].iter().any(|terminal| link.starts_with(terminal)) {
            return Target::Terminal(link);
        }
        Target::Device(link)
    }

    fn policy(&mut self, tid: u32) -> Option<(&'static str, u32)> {
        kernel::sched::policy_of(tid).ok()
    }

    fn memory(&mut self, pid: u32) -> Option<(u64, u64)> {
        memory_of(&crate::kernel_text::read(format!("/proc/{pid}/status")).ok()?)
    }

    fn stack(&mut self, pid: u32, tid: u32) -> Option<(u64, u64)> {
        let call = crate::kernel_text::read(format!("/proc/{pid}/task/{tid}/syscall")).ok()?;
        stack_of(&call, &crate::kernel_text::read(format!("/proc/{pid}/maps")).ok()?)
    }

    fn probe_area(&mut self, pid: u32) -> Option<(u64, u64)> {
        probe_area_of(&crate::kernel_text::read(format!("/proc/{pid}/maps")).ok()?)
    }

    fn outside(&mut self, pid: u32, number: u32) -> Option<u32> {
        let inside = |place: &str| number_inside(&crate::kernel_text::read(format!("{place}/status")).ok()?);
        if inside(&format!("/proc/{pid}")).is_none() {
            return Some(number);
        }
        let threads = threads_of(pid).ok()?;
        threads.into_iter().map(|(tid, _)| tid).find(|tid| inside(&format!("/proc/{pid}/task/{tid}")) == Some(number))
    }
}

/// From `/proc/PID/status`: the number that the innermost container gives to a thread (`NSpid`, the last), where that is
/// not the only one.
fn number_inside(status: &str) -> Option<u32> {
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    numbers.split_ascii_whitespace().skip(1).last()?.parse().ok()
}

/// From `/proc/PID/status`: `VmLck` and `VmRSS` (bytes).
fn memory_of(status: &str) -> Option<(u64, u64)> {
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
    };
    Some((field("VmLck:")?, field("VmRSS:")?))
}

/// From `/proc/PID/maps`: the kernel's own mapping for uprobes.
fn probe_area_of(maps: &str) -> Option<(u64, u64)> {
    let line = maps.lines().find(|line| line.ends_with("[uprobes]"))?;
    let (from, to) = line.split_ascii_whitespace().next()?.split_once('-')?;
    Some((u64::from_str_radix(from, 16).ok()?, u64::from_str_radix(to, 16).ok()?))
}

/// The mapping that holds the stack pointer of a thread that sleeps (`/proc/PID/task/TID/syscall`: the last but one).
fn stack_of(call: &str, maps: &str) -> Option<(u64, u64)> {
    let hexadecimal = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let pointer = hexadecimal(call.split_ascii_whitespace().rev().nth(1)?)?;
    maps.lines().find_map(|line| {
        let (from, to) = line.split_ascii_whitespace().next()?.split_once('-')?;
        let (from, to) = (hexadecimal(from)?, hexadecimal(to)?);
        (from..to).contains(&pointer).then_some((from, to))
    })
}

/// Whether a socket's line in `/proc/net/unix` says datagrams (type 0002) and no name of its own.
fn is_local_datagram(unix: &str, inode: &str) -> bool {
    unix.lines().skip(1).any(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        fields.get(6) == Some(&inode) && fields.get(4) == Some(&"0002")
    })
}

/// The threads of a process with their names.
pub(super) fn threads_of(pid: u32) -> std::io::Result<Vec<(u32, Name)>> {
    let mut threads = Vec::new();
    for entry in fs::read_dir(format!("/proc/{pid}/task"))?.flatten() {
        let Some(tid) = entry.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let name = crate::kernel_text::read(entry.path().join("comm")).unwrap_or_default();
        threads.push((tid, Name::new(name.trim_end())));
    }
    Ok(threads)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_and_stack_are_read_from_their_texts() {
        let status = "Name:\tx\nVmLck:\t    120 kB\nVmRSS:\t    1000 kB\n";
        assert_eq!(memory_of(status), Some((120 << 10, 1000 << 10)));
        assert_eq!(memory_of("Name:\tkthreadd\n"), None);
        let maps = "55d0-55d8 r-xp 0 0:0 0 /bin/x\n7f00-7fff rw-p 0 0:0 0 [stack]\n";
        assert_eq!(stack_of("230 0x1 0x1 0x0 0x0 0x0 0x0 0x7f80 0x7f33", maps), Some((0x7f00, 0x7fff)));
        assert_eq!(stack_of("running", maps), None);
        assert_eq!(probe_area_of(maps), None);
        let probed = "7f00-7fff rw-p 0 0:0 0 [stack]\n7fffffffe000-7ffffffff000 --xp 0 0:0 0 [uprobes]\n";
        assert_eq!(probe_area_of(probed), Some((0x7fff_ffff_e000, 0x7fff_ffff_f000)));
    }

    #[test]
    fn a_number_inside_of_a_container_is_the_last_of_several() {
        assert_eq!(number_inside("Name:\tx\nNSpid:\t4711\t17\t3\n"), Some(3));
        assert_eq!(number_inside("NSpid:\t4711\n"), None);
        assert_eq!(number_inside("Name:\tx\n"), None);
        let pid = std::process::id();
        assert_eq!(Live.outside(pid, 77), Some(77), "no container of its own");
    }

    #[test]
    fn sockets_of_datagrams_are_told_from_streams() {
        let unix = "Num RefCount Protocol Flags Type St Inode Path\n\
            0: 2 0 0 0002 01 77\n1: 2 0 0 0001 03 78 /run/x\n";
        assert!(is_local_datagram(unix, "77"));
        assert!(!is_local_datagram(unix, "78"));
        assert!(!is_local_datagram(unix, "79"));
    }

    #[test]
    fn this_process_is_seen() {
        let pid = std::process::id();
        assert!(Live.abi(pid).is_some());
        assert!(Live.memory(pid).is_some_and(|(_, resident)| resident > 0));
        assert!(threads_of(pid).unwrap().iter().any(|(tid, _)| *tid == pid));
        let null = fs::File::open("/dev/null").unwrap();
        let descriptor = u32::try_from(std::os::fd::AsRawFd::as_raw_fd(&null)).unwrap();
        assert_eq!(Live.target(pid, descriptor), Target::Device("/dev/null".to_owned()));
    }
}
