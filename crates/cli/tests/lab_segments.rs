//! `punctual lab link`, `analyzer` and `status` about a lab whose QEMU is played by a script: what is asked of a switch
//! is done, and what was logged is read.

#![cfg(feature = "lab")]
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::{UnixDatagram, UnixListener};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

/// A lab that is up, with the nodes a and b on a segment.
struct Lab {
    runtime: tempfile::TempDir,
    keeper: Child,
    orders: Option<ChildStdin>,
}

impl Lab {
    fn up() -> Self {
        let runtime = tempfile::tempdir().unwrap();
        let folder = runtime.path().join("punctual-lab/two");
        fs::create_dir_all(&folder).unwrap();
        let qemu = runtime.path().join("qemu-system-x86_64");
        fs::write(&qemu, "#!/bin/sh\nexec sleep 600\n").unwrap();
        fs::set_permissions(&qemu, fs::Permissions::from_mode(0o755)).unwrap();
        for node in ["a", "b"] {
            answers_hello(&folder.join(format!("{node}.port")));
        }
        let mut keeper = Command::new(env!("CARGO_BIN_EXE_punctual"))
            .arg("__lab-keeper")
            .env("PATH", format!("{}:/usr/bin:/bin", runtime.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let node = |name: &str| {
            serde_json::json!({
                "node": { "name": name, "kernel": "6.12-rt", "analyzer": true },
                "kernel": { "release": "6", "boot": "/k", "modules": "/m", "configuration": "/c", "package": "p" },
                "image": "/i",
            })
        };
        let segment = serde_json::json!({ "name": "lan", "port": [{ "node": "a" }, { "node": "b" }] });
        let orders_of = serde_json::json!({
            "name": "two", "folder": folder, "nodes": [node("a"), node("b")], "segments": [segment],
        });
        let mut orders = keeper.stdin.take().unwrap();
        writeln!(orders, "{orders_of}").unwrap();
        let mut answer = String::new();
        BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut answer).unwrap();
        assert!(answer.contains("\"up\""), "{answer}");
        Self { runtime, keeper, orders: Some(orders) }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.runtime.path().join("punctual-lab/two").join(name)
    }

    fn run(&self, arguments: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_punctual"));
        command.arg("lab").args(arguments).env("XDG_RUNTIME_DIR", self.runtime.path()).stdin(Stdio::null());
        command.output().unwrap()
    }

    /// Standard output of a command that must succeed.
    fn told(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        assert!(output.status.success(), "{arguments:?}: {output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// Exit code and standard error of a command that must not.
    fn refused(&self, arguments: &[&str]) -> (i32, String) {
        let output = self.run(arguments);
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        // Its end of file is the order to end.
        drop(self.orders.take());
        let _ = self.keeper.wait();
    }
}

/// Plays the agent behind a guest's port as far as the lab needs it to count as up.
fn answers_hello(port: &std::path::Path) {
    let listener = UnixListener::bind(port).unwrap();
    thread::spawn(move || {
        use lab::guest::protocol::{Frame, Hello, Kind};
        let (mut keeper, _) = listener.accept().unwrap();
        while let Ok(Some(frame)) = Frame::read(&mut keeper) {
            assert_eq!(frame.kind, Kind::Hello);
            let hello = Hello {
                release: "6".to_owned(),
                host_name: "n".to_owned(),
                troubles: Vec::new(),
                boot_id: String::new(),
            };
            Frame::json(Kind::Hello, &hello).unwrap().write(&mut keeper).unwrap();
        }
    });
}

const FRAME: &[u8] = b"\xff\xff\xff\xff\xff\xff\x02\0\0\0\0\x01\x88\xf7 to all";

#[test]
fn a_link_is_told_and_changed_while_the_lab_runs() {
    let lab = Lab::up();
    let guest = |name: &str| {
        let socket = UnixDatagram::bind(lab.at(name)).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        socket
    };
    let (a, b) = (guest("s0p0g"), guest("s0p1g"));
    let send = || a.send_to(FRAME, lab.at("s0p0s")).unwrap();
    send();
    let mut buffer = [0; 100];
    assert_eq!(b.recv(&mut buffer).unwrap(), FRAME.len());
    assert!(lab.told(&["link", "two"]).contains("lan/b                 to guest    none"));

    let cut = lab.told(&["link", "two", "lan/b", "--to-guest", "drop=1", "--expect", "sent=1..1"]);
    assert!(cut.contains("drop=1 ") && cut.contains("1 entered, 1 left"), "{cut}");
    send();
    // The switch answers after it has taken what came before.
    let whole = ["link", "two", "lan/b", "--to-guest", "delay=1ms,duplicate=1", "--expect", "to-guest.dropped=1..1"];
    lab.told(&whole);
    send();
    assert_eq!((b.recv(&mut buffer).unwrap(), b.recv(&mut buffer).unwrap()), (FRAME.len(), FRAME.len()));

    let status: serde_json::Value = serde_json::from_str(&lab.told(&["status", "--json"])).unwrap();
    let port = &status[0]["segments"][0]["ports"][1];
    assert_eq!((&port["node"], &port["to-guest"]["delay"]), (&"b".into(), &"1ms".into()));
    assert_eq!(port["outcome"]["counters"]["to_guest"]["duplicated"], 1);

    assert_eq!(lab.refused(&["link", "two", "lan/b", "--expect", "to-guest.dropped=2..9"]).0, 1);
    for (arguments, part) in [
        (&["link", "two", "wan/b"][..], "no segment wan; it has: lan"),
        (&["link", "two", "lan/c"], "node c is not on segment lan; on it are: a, b"),
        (&["link", "two", "lan"], "write SEGMENT/NODE"),
        (&["link", "two", "lan/b", "--to-guest", "drop=2"], "drop is 2"),
        (&["link", "two", "lan/b", "--expect", "lost=1..2"], "nothing here is named lost"),
        (&["link", "three", "lan/b"], "no lab named three is up"),
    ] {
        let (code, said) = lab.refused(arguments);
        assert!(code == 2 && said.contains(part), "{arguments:?}: {code} {said}");
    }
}

#[test]
fn pulses_are_compared_by_the_logs_of_both_nodes() {
    let lab = Lab::up();
    let log = |node: &str, late_us: u64| {
        let mut text = String::new();
        for number in 0..40_u64 {
            let at_us = 1_000_000_000 + number * 100_000 + late_us;
            for (value, more_us) in [(number << 1, 0), (number << 1 | 1, 1)] {
                let (seconds, within) = ((at_us + more_us) / 1_000_000, (at_us + more_us) % 1_000_000);
                text +=
                    &format!("7@{seconds}.{within:06}:parallel_ioport_write write [SW] addr 0x00 val 0x{value:02x}\n");
            }
        }
        fs::write(lab.at(&format!("{node}.analyzer")), text).unwrap();
    };
    log("a", 0);
    log("b", 5_000);
    let told = lab.told(&["analyzer", "two", "--between", "a", "b", "--expect", "median=4ms..6ms"]);
    assert!(told.contains("b acts 5\u{202f}000 us later than a: median of 40 pairs"), "{told}");
    let json = lab.told(&["analyzer", "two", "--between", "b", "a", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&json["shift"]["median_ns"], &json["a"]["unmatched"]), (&(-5_000_000).into(), &0.into()));
    assert!(lab.told(&["analyzer", "two", "--between", "a", "a"]).contains("a: 40 pulses, 100.0000 ms apart"));

    let (code, said) = lab.refused(&["analyzer", "two", "--between", "a", "b", "--expect", "median=-1ms..1ms"]);
    assert!(code == 1 && said.contains("median is 5ms, expected are -1ms to 1ms"), "{code} {said}");
    // Nothing is written from now on.
    let (code, said) = lab.refused(&["analyzer", "two", "--between", "a", "b", "--pairs", "1", "--patience", "300ms"]);
    assert!(code == 2 && said.contains("0 of 1 pairs"), "{code} {said}");
    let (code, said) = lab.refused(&["analyzer", "two", "--between", "a", "c"]);
    assert!(code == 2 && said.contains("lacks 'analyzer = true'"), "{code} {said}");
    fs::write(lab.at("a.analyzer"), "parallel_ioport_write write [SW]\n").unwrap();
    let (code, said) = lab.refused(&["analyzer", "two", "--between", "a", "b"]);
    assert!(code == 2 && said.contains("line 1 of QEMU's log"), "{code} {said}");
}
