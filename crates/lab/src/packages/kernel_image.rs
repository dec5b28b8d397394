//! Debian's kernels in the form that QEMU boots, with their modules.

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
    /// Kernel release, as `uname -r` prints it.
    pub release: String,
    /// The file for `qemu -kernel`.
    pub boot: PathBuf,
    /// The folder `kernel` below `/lib/modules/RELEASE`.
    pub modules: PathBuf,
    /// The build configuration, `/boot/config-RELEASE` of the package.
    pub configuration: PathBuf,
    /// `name=version` of its package.
    pub package: String,
}

/// Fetches a kernel by the name of its package, which may be a metapackage that depends on the newest kernel.
///
/// # Errors
/// If it cannot be fetched, or does not have the layout of Debian's kernel packages.
pub fn kernel(root: &AptRoot, name: &str, progress: &mut dyn FnMut(&str)) -> Result<KernelImage, PackageError> {
    // A metapackage has no files: take the package that it depends on.
    let mut found = root.get(&[name], |needed| needed.starts_with("linux-image-") && needed != name, progress)?;
    if found.is_empty() {
        found = root.get(&[name], |needed| needed == name, progress)?;
    }
    let Some(Unpacked { package, folder }) = found.into_iter().next() else {
        let what = "it does not depend on a package linux-image-*".to_owned();
        return Err(PackageError::Odd { package: name.to_owned(), what });
    };
    let unexpected = |what: &str| PackageError::Odd { package: package.clone(), what: what.to_owned() };
    let only_entry = |path: &Path| {
        let mut names: Vec<String> =
            fs::read_dir(path).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        if names.len() == 1 { names.pop() } else { None }
    };
    // Debian 13 uses /usr/lib, Debian 12 /lib.
    let modules = ["lib/modules", "usr/lib/modules"].map(|path| folder.join(path));
    let modules = modules.into_iter().find(|path| path.is_dir()).ok_or_else(|| unexpected("it has no modules"))?;
    let release = only_entry(&modules).ok_or_else(|| unexpected("it does not have exactly one folder of modules"))?;
    let packed = folder.join("boot").join(format!("vmlinuz-{release}"));
    if !packed.exists() {
        return Err(unexpected("it has no boot/vmlinuz-*"));
    }
    let modules = modules.join(&release).join("kernel");
    let boot = unpack_kernel(&packed)?.unwrap_or(packed);
    let configuration = folder.join("boot").join(format!("config-{release}"));
    Ok(KernelImage { release, boot, modules, configuration, package })
}

/// Extracts the ELF file from a compressed x86 kernel and keeps it beside the kernel. QEMU starts it directly;
/// otherwise the emulated processor spends seconds on unpacking. `None` for other kernels, which boot as they are.
fn unpack_kernel(packed: &Path) -> Result<Option<PathBuf>, PackageError> {
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
        // The program stops reading after the compressed part; that write error does not matter.
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
