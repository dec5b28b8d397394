//! Installed Debian systems on disks, which boot through a BIOS and GRUB: for what only a machine with a boot loader, a
//! service manager and a memory of its own can show.
//!
//! An image is made once and kept in the cache; each guest writes to a disk of its own over it. This program is not in
//! the image, since it changes more often: it comes on a second disk, from which a unit of the image installs it.

mod layout;
mod make;
mod maker;
mod recipe;
mod unused;

use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

pub use maker::{IMAGE_COMMAND, ImageError, make_image};

use crate::cache::Cache;
use crate::guest::{GUEST_FILE, GuestFile, Interface};
use crate::image::Image;
use crate::prepare::PrepareError;
use crate::scenario::{DiskName, Node};
use crate::tool::{self, ToolError};

/// What a guest may write in a lab (MiB): below this a lab does not start.
const WRITTEN_MIB: u64 = 512;
/// Bytes of a cluster of a guest's disk, the same as a block of its file system. What a guest writes into a new cluster
/// and does not flush is lost where QEMU is killed, since QEMU holds back the note of where it put it: as is what a
/// real disk has in its own memory when the power fails.
const CLUSTER: u32 = 4096;

/// A guest's disks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disks {
    /// What it starts from and writes to, over the image in the cache.
    pub system: PathBuf,
    /// This program and what it is to do, which it reads.
    pub program: PathBuf,
}

/// Makes the image where the cache lacks it, and writes a guest's own disks into `folder`; `punctual` is this program.
///
/// # Errors
/// Where something is missing, or does not fit.
pub(crate) fn prepare(
    cache: &Cache,
    node: &Node,
    disk: DiskName,
    interfaces: &[Interface],
    punctual: &Path,
    folder: &Path,
    told: &mut dyn FnMut(&str),
) -> Result<Disks, PrepareError> {
    let image = maker::image(cache, node, disk, punctual, told)?;
    let failed = |error| PrepareError::Image { node: node.name.clone(), error };
    let free = kernel::space::free_bytes(folder).map_err(failed)? >> 20;
    if free < WRITTEN_MIB {
        return Err(failed(io::Error::other(format!(
            "{} has {free} MiB of space; a guest with a disk may write {WRITTEN_MIB} MiB there; make room, or name \
             another folder in XDG_RUNTIME_DIR",
            folder.display()
        ))));
    }
    let system = folder.join(format!("{}.disk", node.name));
    overlay(&image, "qcow2", &system).map_err(PrepareError::Tool)?;
    let guest = GuestFile {
        host_name: node.name.clone(),
        modules: node.modules.iter().map(|name| (name.clone(), String::new())).collect(),
        interfaces: interfaces.to_vec(),
        setup: node.setup.clone(),
    };
    let mut files = Image::default();
    files.add_program("bin/punctual", punctual);
    files.add_bytes(GUEST_FILE, serde_json::to_vec(&guest).map_err(|error| failed(error.into()))?, 0o644);
    let program = folder.join(format!("{}.program", node.name));
    write_archive(&files, &program).map_err(failed)?;
    Ok(Disks { system, program })
}

/// A disk over another, which stays as it is.
fn overlay(below: &Path, format: &str, disk: &Path) -> Result<(), ToolError> {
    let mut create = Command::new("qemu-img");
    create.args(["create", "-q", "-f", "qcow2", "-F", format, "-o", &format!("cluster_size={CLUSTER}")]);
    tool::run(create.arg("-b").arg(below).arg(disk), "making a disk").map(drop)
}

/// An archive as a disk: whole sectors.
fn write_archive(files: &Image, to: &Path) -> io::Result<()> {
    files.write(to)?;
    let file = std::fs::OpenOptions::new().write(true).open(to)?;
    file.set_len(file.metadata()?.len().next_multiple_of(layout::SECTOR))
}

/// QEMU for a machine that boots from the first disk and reads the second, its console in a file that grows.
pub(crate) fn qemu(system: &Path, program: &Path, console: &Path) -> Command {
    // A comma ends a value, two are one.
    let value = |path: &Path| path.display().to_string().replace(',', ",,");
    let drive = |path: &Path, more: &str| format!("if=virtio,file={},{more}", value(path));
    let mut command = Command::new("qemu-system-x86_64");
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .args(["-machine", "q35,sata=off,smbus=off", "-cpu", "max", "-accel", "tcg,thread=multi"])
        // A host without space is an error in the guest, too: it must not stand still.
        .args(["-drive", &drive(system, "format=qcow2,cache=writeback,werror=report")])
        .args(["-drive", &drive(program, "format=raw,read-only=on")])
        .args(["-chardev", &format!("file,id=console,append=on,path={}", value(console))])
        .args(["-serial", "chardev:console"]);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_with_a_comma_is_one_value() {
        let command = qemu(Path::new("/a,b/c"), Path::new("/p"), Path::new("/o,"));
        let words: Vec<&str> = command.get_args().filter_map(|word| word.to_str()).collect();
        assert!(words.contains(&"if=virtio,file=/a,,b/c,format=qcow2,cache=writeback,werror=report"), "{words:?}");
        assert!(words.contains(&"file,id=console,append=on,path=/o,,"), "{words:?}");
    }

    #[test]
    fn an_archive_fills_whole_sectors() {
        let folder = tempfile::tempdir().unwrap();
        let mut files = Image::default();
        files.add_bytes("a", "x", 0o644);
        let to = folder.path().join("archive");
        write_archive(&files, &to).unwrap();
        let length = std::fs::metadata(to).unwrap().len();
        assert!(length > 0 && length % layout::SECTOR == 0, "{length}");
    }
}
