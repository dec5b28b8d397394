//! What a lab leaves behind where the processes that hold it are killed: nothing. QEMU is played by a script here, so
//! that these run on any machine.

#![cfg(feature = "lab")]
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// No step of a test takes longer than a moment, unless something hangs.
const PATIENCE: Duration = Duration::from_secs(20);

/// A keeper with one guest that never says a word.
struct Keeper {
    folder: tempfile::TempDir,
    child: Child,
    orders: Option<ChildStdin>,
}

impl Keeper {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let qemu = at("qemu-system-x86_64");
        // As the process that writes its number is the one that stays, its number is QEMU's.
        fs::write(
            &qemu,
            format!(
                "#!/bin/sh\necho \"$@\" >{1}\necho $$ >{0}.new && mv {0}.new {0}\nexec sleep 600\n",
                at("pid").display(),
                at("arguments").display()
            ),
        )
        .unwrap();
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        fs::create_dir(at("lab")).unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_punctual"))
            .arg("__lab-keeper")
            .env("PATH", format!("{}:/usr/bin:/bin", folder.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut orders = child.stdin.take().unwrap();
        let node = serde_json::json!({
            "node": { "name": "n", "kernel": "6.12-rt", "host-ports": [5378] },
            "interfaces": [{ "name": "host", "mac": "52:54:00:00:00:01" }],
            "kernel": { "release": "6", "boot": "/k", "modules": "/m", "configuration": "/c", "package": "p" },
            "image": "/i",
        });
        writeln!(orders, "{}", serde_json::json!({ "name": "l", "folder": at("lab"), "nodes": [node] })).unwrap();
        Self { folder, child, orders: Some(orders) }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The number of the process that plays QEMU.
    fn qemu(&self) -> u32 {
        let pid = self.at("pid");
        until("QEMU is started", || pid.exists());
        fs::read_to_string(pid).unwrap().trim().parse().unwrap()
    }

    /// Kills it as nobody can prepare for.
    fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        drop(self.orders.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn until(what: &str, holds: impl Fn() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process is there and not merely waiting for its parent to take note of its end.
fn lives(pid: u32) -> bool {
    let stat = fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

#[test]
fn a_guest_ends_with_its_keeper_however_that_is_killed() {
    let mut keeper = Keeper::start();
    let qemu = keeper.qemu();
    assert!(lives(qemu));
    keeper.kill();
    until("the guest is gone", || !lives(qemu));
}

#[test]
fn a_guest_reaches_the_named_port_of_the_host_and_nothing_else() {
    let keeper = Keeper::start();
    keeper.qemu();
    let arguments = fs::read_to_string(keeper.at("arguments")).unwrap();
    let networks: Vec<&str> = arguments.split("-netdev ").skip(1).collect();
    assert_eq!(networks.len(), 1, "{arguments}");
    let relay = format!("/proc/{}/exe __lab-relay 5378", keeper.child.id());
    assert!(networks[0].starts_with("user,id=net0,") && networks[0].contains(",restrict=on,"), "{arguments}");
    assert!(networks[0].contains(&format!(",guestfwd=tcp:192.0.2.4:5378-cmd:{relay} -device ")), "{arguments}");
}

#[test]
fn a_relay_moves_bytes_both_ways_until_the_host_s_side_ends() {
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let relay = |port: u16| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.args(["__lab-relay", &port.to_string()]).stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::null()).spawn().unwrap()
    };
    let port = host.local_addr().unwrap().port();
    let mut child = relay(port);
    let (mut accepted, _) = host.accept().unwrap();
    let mut guest = child.stdin.take().unwrap();
    guest.write_all(b"no end of a line").unwrap();
    let mut asked = [0; 16];
    accepted.read_exact(&mut asked).unwrap();
    assert_eq!(&asked, b"no end of a line");
    // Each side hears of the other's end, and what was said before it.
    drop(guest);
    assert_eq!(accepted.read(&mut asked).unwrap(), 0);
    accepted.write_all(b"an answer").unwrap();
    drop((accepted, host));
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.stdout.as_slice(), output.status.success()), (b"an answer".as_slice(), true));
    // Nobody listens there any more.
    assert!(!relay(port).wait_with_output().unwrap().status.success());
}

#[test]
fn a_lab_whose_command_is_killed_before_it_is_up_ends() {
    let mut keeper = Keeper::start();
    let qemu = keeper.qemu();
    // What remains of a killed command is the end of its pipe.
    drop(keeper.orders.take());
    let status = keeper.child.wait().unwrap();
    assert!(status.success(), "{status}");
    until("the guest is gone", || !lives(qemu));
    assert!(!keeper.at("lab").exists(), "its files are gone");
    let mut answer = String::new();
    BufReader::new(keeper.child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert!(answer.contains("stopped before it was up"), "{answer}");
}

#[test]
fn a_guest_that_ends_at_once_is_told_with_its_words() {
    let keeper = Keeper::start();
    let qemu = keeper.qemu();
    fs::write(keeper.at("lab/n.console"), "Kernel panic - not syncing: no root\n").unwrap();
    kernel::process::signal(qemu, kernel::process::Signal::Kill).unwrap();
    let mut keeper = keeper;
    let mut answer = String::new();
    BufReader::new(keeper.child.stdout.take().unwrap()).read_line(&mut answer).unwrap();
    assert!(answer.contains("node n: QEMU ended") && answer.contains("Kernel panic"), "{answer}");
    assert!(keeper.child.wait().unwrap().success());
    assert!(keeper.at("lab/n.console").exists(), "kept, to find the reason");
}
