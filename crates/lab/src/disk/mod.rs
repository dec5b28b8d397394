//! Installed Debian systems on disks, which boot through a BIOS and GRUB: for tests that need a boot loader, a service
//! manager and persistent files.
//!
//! An image is made once and kept in the cache; each guest writes to its own disk over it. This program is not in the
//! image, since it changes more often: it is on a second disk, from which a unit of the image installs it.

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
use crate::program::Programs;
use crate::scenario::{DiskName, Node};
use crate::tool::{self, ToolError};

/// Free space that a lab needs for each guest's writes (MiB): with less it does not start.
const WRITTEN_MIB: u64 = 512;
/// Cluster size of a guest's disk (bytes), equal to the block size of its file system. If QEMU is killed, data in new
/// clusters that the guest has not flushed is lost, since QEMU has not yet written the cluster table. A real disk
/// likewise loses its write cache when the power fails.
const CLUSTER: u32 = 4096;

/// The disks of a guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Disks {
    /// The disk that it boots from and writes to, over the image in the cache.
    pub system: PathBuf,
    /// The read-only disk with this program and its instructions.
    pub program: PathBuf,
}

/// Makes the image if the cache lacks it, and writes the guest's own disks into `folder`; `punctual` is this program's
/// file.
///
/// # Errors
/// If something is missing, or there is not enough space.
pub(crate) fn prepare(
    cache: &Cache,
    node: &Node,
    disk: DiskName,
    interfaces: &[Interface],
    programs: &Programs,
    folder: &Path,
    progress: &mut dyn FnMut(&str),
) -> Result<Disks, PrepareError> {
    let image = maker::image(cache, node, disk, &programs.punctual, progress)?;
    let failed = |error| PrepareError::Image { node: node.name.clone(), error };
    let free = kernel::space::free_bytes(folder).map_err(failed)? >> 20;
    if free < WRITTEN_MIB {
        return Err(failed(io::Error::other(format!(
            "{} has {free} MiB of free space; a guest with a disk may write {WRITTEN_MIB} MiB there: free some space, or \
             set XDG_RUNTIME_DIR to another folder",
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
    programs.add_to(&mut files);
    files.add_bytes(GUEST_FILE, serde_json::to_vec(&guest).map_err(|error| failed(error.into()))?, 0o644);
    let program = folder.join(format!("{}.program", node.name));
    write_archive(&files, &program).map_err(failed)?;
    Ok(Disks { system, program })
}

/// Makes a disk over another one, which is not changed.
fn overlay(below: &Path, format: &str, disk: &Path) -> Result<(), ToolError> {
    let mut create = Command::new("qemu-img");
    create.args(["create", "-q", "-f", "qcow2", "-F", format, "-o", &format!("cluster_size={CLUSTER}")]);
    tool::run(create.arg("-b").arg(below).arg(disk), "making a disk").map(drop)
}

/// Writes an archive as a disk, padded to whole sectors.
fn write_archive(files: &Image, to: &Path) -> io::Result<()> {
    files.write(to)?;
    let file = std::fs::OpenOptions::new().write(true).open(to)?;
    file.set_len(file.metadata()?.len().next_multiple_of(layout::SECTOR))
}

/// QEMU's command line for a machine that boots from `system` and reads `program`; its console is appended to a file.
pub(crate) fn qemu(system: &Path, program: &Path, console: &Path) -> Command {
    // QEMU expects a comma within a value to be doubled.
    let value = |path: &Path| path.display().to_string().replace(',', ",,");
    let drive = |path: &Path, more: &str| format!("if=virtio,file={},{more}", value(path));
    let mut command = Command::new("qemu-system-x86_64");
    command
        .args(["-nodefaults", "-no-user-config", "-display", "none"])
        .args(["-machine", "q35,sata=off,smbus=off", "-cpu", "max", "-accel", "tcg,thread=multi"])
        // If the host has no space left, report an error to the guest instead of pausing it.
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
    fn commas_in_paths_are_doubled() {
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
