//! Two network namespaces that a pair of virtual Ethernet interfaces joins, of the calling test alone.
//!
//! A socket stays in the namespace that it was made in, so one thread can hold both ends of a path. Both namespaces have
//! the machine's clocks.

#![allow(dead_code, reason = "a test program apart uses a part of it")]
#![allow(unsafe_code, clippy::unwrap_used, reason = "a failed step of a test is a failed test; namespaces")]

use std::cell::Cell;
use std::fs::File;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::process::Command;
use std::time::{Duration, Instant};

pub(crate) mod ends;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

/// One of the two namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    A,
    B,
}

impl Side {
    pub(crate) const fn interface(self) -> &'static str {
        match self {
            Self::A => "va",
            Self::B => "vb",
        }
    }

    pub(crate) const fn mac(self) -> [u8; 6] {
        match self {
            Self::A => [2, 0, 0, 0, 0, 0xa],
            Self::B => [2, 0, 0, 0, 0, 0xb],
        }
    }

    pub(crate) const fn v4(self) -> &'static str {
        match self {
            Self::A => "10.77.0.1",
            Self::B => "10.77.0.2",
        }
    }

    pub(crate) const fn v6(self) -> &'static str {
        match self {
            Self::A => "fd77::1",
            Self::B => "fd77::2",
        }
    }

    /// The link-local address that follows from the hardware address.
    pub(crate) const fn link_local(self) -> &'static str {
        match self {
            Self::A => "fe80::ff:fe00:a",
            Self::B => "fe80::ff:fe00:b",
        }
    }
}

/// Both namespaces; they are gone once this and all sockets in them are closed.
#[derive(Debug)]
pub(crate) struct Network {
    a: File,
    b: File,
}

impl Network {
    /// `None`, with the reason on standard error, where this process may not make one.
    pub(crate) fn make() -> Option<Self> {
        Self::make_with_queues(1)
    }

    /// The same with so many queues on each interface.
    pub(crate) fn make_with_queues(queues: u32) -> Option<Self> {
        match Self::try_make(queues) {
            Ok(network) => Some(network),
            Err(reason) => {
                eprintln!("not run: no two network namespaces can be made here: {reason}");
                None
            }
        }
    }

    fn try_make(queues: u32) -> Result<Self, String> {
        let network = Self { a: new_namespace()?, b: new_namespace()? };
        let other = format!("/proc/{}/fd/{}", std::process::id(), network.b.as_raw_fd());
        network.at(Side::A, || {
            let counts = format!("numrxqueues {queues} numtxqueues {queues}");
            ip(&format!(
                "link add va address 02:00:00:00:00:0a {counts} type veth peer name vb address 02:00:00:00:00:0b {counts}"
            ))?;
            ip(&format!("link set vb netns {other}"))
        })?;
        for side in [Side::A, Side::B] {
            network.at(side, || {
                let name = side.interface();
                // Addresses are usable at once.
                write(&format!("/proc/sys/net/ipv6/conf/{name}/accept_dad"), "0")?;
                ip("link set lo up")?;
                ip(&format!("link set {name} up"))?;
                ip(&format!("address add {}/24 dev {name}", side.v4()))?;
                ip(&format!("address add {}/64 dev {name} nodad", side.v6()))
            })?;
        }
        for side in [Side::A, Side::B] {
            network.at(side, || await_link_local(side))?;
        }
        Ok(network)
    }

    /// Runs something in one of the namespaces, and what it opens stays there.
    pub(crate) fn at<T>(&self, side: Side, work: impl FnOnce() -> T) -> T {
        let home = File::open("/proc/thread-self/ns/net").unwrap();
        let there = if side == Side::A { &self.a } else { &self.b };
        enter(there);
        let result = work();
        enter(&home);
        result
    }

    /// Moves an interface of the machine's into one of the namespaces.
    pub(crate) fn adopt(&self, side: Side, interface: &str) {
        let there = if side == Side::A { &self.a } else { &self.b };
        ip(&format!("link set {interface} netns /proc/{}/fd/{}", std::process::id(), there.as_raw_fd())).unwrap();
    }

    /// Runs `ip` with these words in one of the namespaces.
    pub(crate) fn ip(&self, side: Side, words: &str) {
        self.at(side, || ip(words)).unwrap();
    }
}

fn enter(namespace: &File) {
    move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
}

/// A new network namespace, made by a thread that then ends.
fn new_namespace() -> Result<File, String> {
    let make = || {
        // SAFETY: the call takes one number; it changes this thread alone, which ends below.
        if unsafe { libc::unshare(libc::CLONE_NEWNET) } != 0 {
            return Err(format!("unshare: {}", std::io::Error::last_os_error()));
        }
        File::open("/proc/thread-self/ns/net").map_err(|error| error.to_string())
    };
    std::thread::spawn(make).join().unwrap()
}

/// The kernel gives an interface its link-local address some time after its carrier has come.
fn await_link_local(side: Side) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let words = ["-6", "-o", "address", "show", "dev", side.interface()];
        let output = Command::new("ip").args(words).output().map_err(|error| format!("ip: {error}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        if text.contains(side.link_local()) && !text.contains("tentative") {
            return Ok(());
        }
        if began.elapsed() > Duration::from_secs(10) {
            return Err(format!("{} has got no link-local address: {text}", side.interface()));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split_whitespace()).output().map_err(|error| format!("ip: {error}"))?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim()))
    }
}

fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|error| format!("{path}: {error}"))
}

thread_local! {
    static SEED: Cell<u8> = const { Cell::new(1) };
}

/// A payload of so many bytes that no other call gives.
pub(crate) fn payload(bytes: usize) -> Vec<u8> {
    let seed = SEED.with(|seed| seed.replace(seed.get().wrapping_add(1)));
    (0..bytes).map(|place| u8::try_from(place % 251).unwrap().wrapping_mul(seed).wrapping_add(seed)).collect()
}
