//! A kernel as QEMU boots it, with its modules.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use super::apt::{AptRoot, PackageError, Unpacked};
use crate::tool;

/// A kernel ready to boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelImage {
    /// What `uname -r` says in it.
    pub release: String,
    /// What is given to `qemu -kernel`.
    pub boot: PathBuf,
    /// Its `kernel` folder of modules.
    pub modules: PathBuf,
    /// The configuration that it was built with, as Debian keeps it in `/boot`.
    pub configuration: PathBuf,
    /// `name=version` of its package.
    pub package: String,
}

/// Fetches a kernel by the name of its package, which may be one that only points at the newest.
///
/// # Errors
/// Where it cannot be fetched, or is not made as Debian makes kernels.
pub fn kernel(root: &AptRoot, name: &str, told: &mut dyn FnMut(&str)) -> Result<KernelImage, PackageError> {
    // The pointing one comes after the one it points at, which has the files.
    let mut found = root.get(&[name], |needed| needed.starts_with("linux-image-") && needed != name, told)?;
    if found.is_empty() {
        found = root.get(&[name], |needed| needed == name, told)?;
    }
    let Some(Unpacked { package, folder }) = found.into_iter().next() else {
        let what = "it needs no package linux-image-*".to_owned();
        return Err(PackageError::Odd { package: name.to_owned(), what });
    };
    let odd = |what: &str| PackageError::Odd { package: package.clone(), what: what.to_owned() };
    let only_entry = |path: &Path| {
        let mut names: Vec<String> =
            fs::read_dir(path).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        if names.len() == 1 { names.pop() } else { None }
    };
    // Debian 13 has /usr/lib, Debian 12 /lib.
    let modules = ["lib/modules", "usr/lib/modules"].map(|path| folder.join(path));
    let modules = modules.into_iter().find(|path| path.is_dir()).ok_or_else(|| odd("it has no modules"))?;
    let release = only_entry(&modules).ok_or_else(|| odd("it has not exactly one set of modules"))?;
    let packed = folder.join("boot").join(format!("vmlinuz-{release}"));
    if !packed.exists() {
        return Err(odd("it has no boot/vmlinuz-*"));
    }
    let modules = modules.join(&release).join("kernel");
    let boot = unpacked_kernel(&packed)?.unwrap_or(packed);
    let configuration = folder.join("boot").join(format!("config-{release}"));
    Ok(KernelImage { release, boot, modules, configuration, package })
}

/// The ELF inside a compressed x86 kernel, kept beside it: QEMU enters it directly, where the emulated processor would
/// first spend seconds on unpacking. `None` for kernels of another form, which boot as they are.
fn unpacked_kernel(packed: &Path) -> Result<Option<PathBuf>, PackageError> {
    let beside = PathBuf::from(format!("{}.elf", packed.display()));
    if beside.exists() {
        return Ok(Some(beside));
    }
    let bytes = fs::read(packed)?;
    let methods: [(&[u8], &str, &[&str]); 3] = [
        (&[0x28, 0xb5, 0x2f, 0xfd], "zstd", &["-dqc"]),
        (&[0xfd, b'7', b'z', b'X', b'Z', 0], "xz", &["-dqc", "--single-stream"]),
        (&[0x1f, 0x8b, 8], "gzip", &["-dqc"]),
    ];
    // Only x86 kernels have a boot sector (Documentation/arch/x86/boot.rst: "HdrS" at 0x202).
    if bytes.get(0x202..0x206) != Some(b"HdrS") {
        return Ok(None);
    }
    for (magic, program, arguments) in methods {
        let Some(at) = bytes.windows(magic.len()).position(|window| window == magic) else { continue };
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| tool::not_started(program, error))?;
        let mut to = child.stdin.take().ok_or_else(|| std::io::Error::other("no pipe"))?;
        let rest = bytes[at..].to_vec();
        // What follows the compressed part makes the program stop reading, which is no error of ours.
        let feeding = std::thread::spawn(move || {
            let _ = to.write_all(&rest);
        });
        let output = child.wait_with_output()?;
        let _ = feeding.join();
        if output.stdout.starts_with(b"\x7fELF") {
            let unfinished = PathBuf::from(format!("{}.{}", beside.display(), std::process::id()));
            kernel::whole_file::replace(&beside, &unfinished, |file| file.write_all(&output.stdout))?;
            return Ok(Some(beside));
        }
    }
    Ok(None)
}
