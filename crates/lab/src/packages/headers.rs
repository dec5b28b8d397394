//! Kernel headers, and building modules against them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::apt::{AptRoot, PackageError};
use super::kernel_image::KernelImage;
use crate::tool;

/// Fetches the headers of a kernel and lays them out so that `make -C` works in the returned folder. The packages refer
/// to each other by absolute paths below `/usr/src`, where nothing for a guest is installed.
///
/// # Errors
/// If they cannot be fetched, or do not have the layout of Debian's packages.
pub fn headers(root: &AptRoot, kernel: &KernelImage, progress: &mut dyn FnMut(&str)) -> Result<PathBuf, PackageError> {
    let name = format!("linux-headers-{}", kernel.release);
    // Without the compiler that Debian used: the host's compiler is good enough.
    let is_ours = |package: &str| package.starts_with("linux-headers-") || package.starts_with("linux-kbuild-");
    let laid_out = root.cache().once(&format!("headers/{}", kernel.release), |folder| {
        for package in root.get(&[&name], is_ours, progress)? {
            let mut copy = Command::new("cp");
            copy.arg("-a").arg(package.folder.join("usr")).arg(folder);
            tool::run(&mut copy, "laying out kernel headers")?;
        }
        let makefile = folder.join("usr/src").join(&name).join("Makefile");
        let text = fs::read_to_string(&makefile)?;
        fs::write(&makefile, with_relative_includes(&text))?;
        Ok::<(), PackageError>(())
    })?;
    let folder = laid_out.join("usr/src").join(&name);
    if folder.join("Makefile").exists() {
        return Ok(folder);
    }
    Err(PackageError::Odd { package: name, what: "it has no Makefile in /usr/src".to_owned() })
}

/// Replaces absolute paths of other header packages by relative ones: they are laid out beside this one.
fn with_relative_includes(makefile: &str) -> String {
    makefile.replace("include /usr/src/", "include $(dir $(realpath $(firstword $(MAKEFILE_LIST))))../")
}

/// Builds the module in `sources`, a folder with a Makefile that takes `KERNEL`; returns the path of the `.ko` file.
///
/// # Errors
/// If make or the compiler is missing or fails.
pub fn build_module(headers: &Path, sources: &Path, name: &str) -> Result<PathBuf, PackageError> {
    let mut make = Command::new("make");
    // Debian's Makefiles name the compiler of its kernels; the host may have another version.
    make.arg("-C").arg(sources).arg(format!("KERNEL={}", headers.display())).args(["CC=gcc", "HOSTCC=gcc"]);
    tool::run(&mut make, &format!("building the kernel module {name}"))?;
    Ok(sources.join(format!("{name}.ko")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_headers_are_found_beside_those_of_the_architecture() {
        let text = with_relative_includes("include /usr/src/linux-headers-6.12.117+deb12-common-rt/Makefile\n");
        assert!(!text.contains("/usr/src"), "{text}");
        assert!(text.ends_with("../linux-headers-6.12.117+deb12-common-rt/Makefile\n"), "{text}");
    }
}
