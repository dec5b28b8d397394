//! The emulated machines: one whose disk's writes are logged, with the hub on it, and those that start after a power cut.

use std::fs::File;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use guest::Interface;
use lab::cache::Cache;
use lab::machine::Architecture;
use lab::prepare::{KernelBoot, prepare_kernel};
use lab::program::{self, Programs};
use lab::running::{AloneGuest, Hardware};
use lab::scenario::{KernelName, Node};
use lab::tool;
use serde_json::json;
use terminal::output;

use super::sending::Position;
use crate::processes::{HUB_COMMAND, own_program};

/// Length of the disk (bytes): from half a GiB on ext4's usual settings hold, with blocks of 4 KiB.
pub(super) const DISK_BYTES: u64 = 512 << 20;
/// Room of the log (bytes), of which what is not written takes none.
const MOST_LOG_BYTES: u64 = 64 << 30;
/// What the disk writes whole or not at all (bytes), as disks with "512e" have it. The guest sees it.
pub(super) const WHOLE_BYTES: u64 = 4_096;
/// The port of agents in the guest.
const AGENTS_PORT: u16 = 5378;
/// The guest's address in QEMU's own network.
const ADDRESS: Ipv4Addr = Ipv4Addr::new(10, 0, 2, 15);
const MAC: &str = "52:54:00:66:61:01";
/// CPUs of a guest: with several of them QEMU before 8.1 may execute breakpoints that the kernel had removed.
const CPUS: u32 = 1;
/// Memory of a guest (MiB).
const MEMORY_MIB: u32 = 768;
/// How long a command may be silent in a guest on a busy host.
pub(super) const PATIENCE: Duration = Duration::from_secs(120);
/// Where the disk is mounted.
const MOUNTED: &str = "/disk";
/// Folder on the disk of what others than the hub write there.
const OTHERS: &str = "others";
/// The hub's program in the guest.
const HUB: &str = "punctual-hub";

/// Kernel and first file system of the guests, and the hub's words there.
pub(super) struct Prepared {
    boot: KernelBoot,
    /// The hub's program with its folder, for the guest's shell.
    hub: String,
}

/// Gets a kernel, and makes the guests' first file system of it, this program and the hub's (`None`: this program is the hub too).
pub(super) fn prepare(folder: &Path, hub: Option<&Path>) -> anyhow::Result<Prepared> {
    let own = own_program()?;
    let built_by = "scripts/build farm";
    program::check(Architecture::Amd64, &own).with_context(|| format!("build this program with {built_by}"))?;
    if let Some(hub) = hub {
        program::check(Architecture::Amd64, hub).with_context(|| format!("build the hub with {built_by}"))?;
    }
    let node: Node = serde_json::from_value(json!({
        "name": "power",
        "kernel": "6.12-rt",
        // Checksums of ext4 are a module of their own, which ext4 does not name as needed.
        "modules": ["virtio_blk", "crc32c_generic", "ext4"],
    }))?;
    let interface = Interface { name: "lan".to_owned(), mac: MAC.to_owned(), address: Some(format!("{ADDRESS}/24")) };
    let others = hub.map(|hub| (HUB.to_owned(), hub.to_owned())).into_iter().collect();
    let programs = Programs { punctual: own, proof: None, others };
    let cache = Cache::open()?;
    let mut progress = |what: &str| output::data(&format!("{what}\n"));
    let boot = prepare_kernel(&cache, &node, KernelName::Rt612, &[interface], &programs, folder, &mut progress)?;
    let hub = if hub.is_some() { HUB.to_owned() } else { format!("punctual {HUB_COMMAND}") };
    Ok(Prepared { boot, hub: format!("{hub} --folder {MOUNTED}/hub") })
}

/// Makes an image with an empty file system: ext4 as `mke2fs` makes it where nobody asks for anything else.
pub(super) fn make_disk(path: &Path) -> anyhow::Result<()> {
    File::create(path).and_then(|file| file.set_len(DISK_BYTES)).with_context(|| path.display().to_string())?;
    let mut command = Command::new(system_program("mke2fs"));
    // Tables and journal are written now, and not by the guest while the hub works.
    command.args(["-q", "-F", "-t", "ext4"]).arg(path);
    tool::run(&mut command, "making a file system")?;
    Ok(())
}

/// Looks whether the file system of an image is consistent, after the kernel has replayed its journal.
pub(super) fn check_disk(image: &Path) -> anyhow::Result<()> {
    let mut command = Command::new(system_program("e2fsck"));
    command.args(["-f", "-n"]).arg(image);
    tool::run(&mut command, "checking a file system")?;
    Ok(())
}

/// Programs for disks are often not in a user's PATH.
fn system_program(name: &str) -> PathBuf {
    let found =
        ["/usr/sbin", "/sbin"].into_iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| PathBuf::from(name))
}

/// QEMU's arguments for a file as a node of its block layer. The host need not bring anything to its own disk.
fn block(name: &str, file: &Path) -> String {
    let cache = json!({"direct": false, "no-flush": true});
    json!({"driver": "file", "node-name": name, "filename": file, "cache": cache}).to_string()
}

/// A disk with a cache that forgets at a power cut what was not flushed.
fn disk(drive: &str, serial: &str) -> String {
    format!("virtio-blk-pci,drive={drive},serial={serial},write-cache=on,physical_block_size={WHOLE_BYTES}")
}

/// The machine with the hub.
pub(super) struct HubMachine {
    guest: AloneGuest,
    hub: String,
    /// Where the host reaches the agents' port.
    pub(super) agents: SocketAddr,
    /// How far the log of writes has come.
    pub(super) position: Position,
}

/// How a hub is ended before it is started again.
#[derive(Clone, Copy, Debug)]
pub(super) enum Ending {
    /// SIGTERM: it closes its store.
    Orderly,
    /// SIGKILL: the next one finds the store's log beside it.
    Killed,
}

impl HubMachine {
    /// Starts the machine on a disk, whose writes go to a log, and mounts the disk.
    pub(super) fn start(prepared: &Prepared, folder: &Path, image: &Path, log: &Path) -> anyhow::Result<Self> {
        File::create(log).and_then(|file| file.set_len(MOST_LOG_BYTES)).with_context(|| log.display().to_string())?;
        // A port that is free now; QEMU says so where somebody else takes it meanwhile.
        let agents = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?;
        let logged = json!({
            "driver": "blklogwrites", "node-name": "logged", "file": "disk", "log": "log", "log-sector-size": 512,
        });
        let forwarded = format!("user,id=net,restrict=on,hostfwd=tcp:{agents}-{ADDRESS}:{AGENTS_PORT}");
        let mut devices: Vec<String> = Vec::new();
        let mut add = |option: &str, value: String| devices.extend([option.to_owned(), value]);
        add("-blockdev", block("disk", image));
        add("-blockdev", block("log", log));
        add("-blockdev", logged.to_string());
        add("-device", disk("logged", "hub"));
        add("-netdev", forwarded);
        add("-device", format!("virtio-net-pci,romfile=,netdev=net,mac={MAC}"));
        let hardware = Hardware { cpus: CPUS, memory_mib: MEMORY_MIB, devices };
        let guest = AloneGuest::start(&prepared.boot, &hardware, folder, "hub-machine")?;
        let position = Position::of(File::open(log)?);
        let mut machine = Self { guest, hub: prepared.hub.clone(), agents, position };
        machine.run(&format!("mkdir {MOUNTED} && mount -t ext4 /dev/vda {MOUNTED}"))?;
        Ok(machine)
    }

    /// Lets another program write to the same file system without waiting for the disk, and the kernel bring that there soon: so there
    /// are always writes on their way when the hub flushes its own.
    pub(super) fn keep_disk_busy(&mut self) -> anyhow::Result<()> {
        self.run(&format!(
            "echo 200 >/proc/sys/vm/dirty_expire_centisecs; echo 100 >/proc/sys/vm/dirty_writeback_centisecs; \
             mkdir {MOUNTED}/{OTHERS}; cd {MOUNTED}/{OTHERS}; \
             setsid sh -c 'number=0; while :; do number=$(((number + 1) % 20)); \
             head -c 100000 /dev/urandom >$number; usleep 100000; done' >/dev/null 2>&1 </dev/null &"
        ))?;
        Ok(())
    }

    /// Runs a shell command; what it prints.
    pub(super) fn run(&mut self, command: &str) -> anyhow::Result<String> {
        let mut printed = Vec::new();
        self.guest.run(command, PATIENCE, &mut printed)?;
        Ok(String::from_utf8_lossy(&printed).into_owned())
    }

    /// Runs one of the hub's commands beside it; what it prints.
    pub(super) fn hub(&mut self, words: &str) -> anyhow::Result<String> {
        let hub = self.hub.clone();
        self.run(&format!("{hub} {words}"))
    }

    /// Starts the hub and waits until it serves; the SHA-256 of its certificate.
    pub(super) fn start_hub(&mut self) -> anyhow::Result<[u8; 32]> {
        let printed = self.run(&format!(
            "rm -f /tmp/hub.out; setsid {} serve --no-own-machine --public --agents 0.0.0.0:{AGENTS_PORT} >/tmp/hub.out 2>>/tmp/hub.log \
             </dev/null & echo $! >/tmp/hub.pid; \
             while ! grep -q ^people /tmp/hub.out 2>/dev/null; do \
             kill -0 $(cat /tmp/hub.pid) 2>/dev/null || {{ cat /tmp/hub.log >&2; exit 1; }}; usleep 50000; done; \
             cat /tmp/hub.out",
            self.hub
        ))?;
        let certificate = printed.split("(certificate ").nth(1).and_then(|rest| rest.split(')').next());
        let certificate = certificate.with_context(|| format!("the hub says nothing of its certificate: {printed}"))?;
        Ok(certificate.parse::<farm::stream::ContentHash>().context("the certificate's fingerprint is none")?.0)
    }

    /// Ends the hub and starts it again.
    pub(super) fn restart_hub(&mut self, ending: Ending) -> anyhow::Result<()> {
        let signal = match ending {
            Ending::Orderly => "TERM",
            Ending::Killed => "KILL",
        };
        self.run(&format!(
            "pid=$(cat /tmp/hub.pid); kill -{signal} $pid; while kill -0 $pid 2>/dev/null; do usleep 20000; done"
        ))?;
        self.start_hub()?;
        Ok(())
    }

    /// Cuts its power; how many entries the log has.
    pub(super) fn cut_power(mut self) -> anyhow::Result<u64> {
        let entries = self.position.now()?;
        self.guest.cut_power();
        ensure!(entries > 0, "nothing was written to the disk");
        Ok(entries)
    }
}

/// Starts a machine with the disks of power cuts, lets its kernel mount each of them, which replays the journal, and fetches all files.
/// For each image the files go into the folder; what is wrong with it otherwise.
pub(super) fn fetch(
    prepared: &Prepared,
    folder: &Path,
    images: &[(PathBuf, PathBuf)],
) -> anyhow::Result<Vec<anyhow::Result<()>>> {
    let mut devices: Vec<String> = Vec::new();
    for (number, (image, _)) in images.iter().enumerate() {
        let name = format!("cut{number}");
        devices.extend(["-blockdev".to_owned(), block(&name, image), "-device".to_owned(), disk(&name, &name)]);
    }
    // The first process finds the card that it is told to set up.
    let card = format!("virtio-net-pci,romfile=,netdev=net,mac={MAC}");
    devices.extend(["-netdev", "user,id=net,restrict=on", "-device", &card].map(str::to_owned));
    let hardware = Hardware { cpus: CPUS, memory_mib: MEMORY_MIB, devices };
    let mut guest = AloneGuest::start(&prepared.boot, &hardware, folder, "after-cut")?;
    let mut fetch_one = |number: usize, image: &Path, to: &Path| -> anyhow::Result<()> {
        let archive = to.with_extension("tar");
        let mut file = File::create(&archive).with_context(|| archive.display().to_string())?;
        let mounted = guest.run(
            &format!(
                "for disk in /sys/block/vd*; do \
                 if [ \"$(cat $disk/serial)\" = cut{number} ]; then device=/dev/${{disk##*/}}; fi; done; \
                 mkdir -p {MOUNTED} && mount -t ext4 $device {MOUNTED} && cd {MOUNTED} && tar -cf - $(ls | grep -v {OTHERS}) && \
                 cd / && umount {MOUNTED}"
            ),
            PATIENCE,
            &mut file,
        );
        if let Err(error) = mounted {
            // For the next one.
            let _ = guest.run(&format!("cd /; umount {MOUNTED}; true"), PATIENCE, &mut std::io::sink());
            return Err(error).context("the file system cannot be read");
        }
        file.flush()?;
        drop(file);
        std::fs::create_dir(to).with_context(|| to.display().to_string())?;
        let mut unpack = Command::new("tar");
        unpack.arg("-xpf").arg(&archive).arg("-C").arg(to);
        tool::run(&mut unpack, "unpacking the disk's files")?;
        std::fs::remove_file(&archive)?;
        check_disk(image)
    };
    Ok(images.iter().enumerate().map(|(number, (image, to))| fetch_one(number, image, to)).collect())
}
