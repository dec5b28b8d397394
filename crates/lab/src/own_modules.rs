//! Kernel modules that a test needs and Debian lacks: ours, built against the headers of the guest's kernel.

use std::fs;
use std::path::PathBuf;

use crate::machine::Architecture;
use crate::packages::{self, AptRoot, KernelImage, PackageError};

/// One of ours, with its sources.
struct OwnModule {
    name: &'static str,
    source: &'static str,
    makefile: &'static str,
}

const OWN: [OwnModule; 1] = [OwnModule {
    name: "punctual_inject",
    source: include_str!("../modules/inject/punctual_inject.c"),
    makefile: include_str!("../modules/inject/Makefile"),
}];

/// The file of one of ours for a kernel, built where the cache lacks it; `None` where the name is not ours.
///
/// # Errors
/// Where the headers cannot be had, or the compiler is missing or fails.
pub fn built(
    root: &AptRoot,
    kernel: &KernelImage,
    name: &str,
    told: &mut dyn FnMut(&str),
) -> Result<Option<PathBuf>, PackageError> {
    let Some(OwnModule { source, makefile, .. }) = OWN.iter().find(|module| module.name == name) else {
        return Ok(None);
    };
    if root.architecture() != Architecture::Amd64.machine().debian {
        let what = format!("the host's compiler makes it for amd64, not for {}", root.architecture());
        return Err(PackageError::Odd { package: format!("kernel module {name}"), what });
    }
    let headers = packages::headers(root, kernel, told)?;
    let place = format!("modules/{}/{name}-{:016x}", kernel.release, sum(&[source, makefile]));
    let folder = root.cache().once(&place, |folder| {
        told(&format!("building the kernel module {name} for Linux {}", kernel.release));
        fs::write(folder.join(format!("{name}.c")), source)?;
        fs::write(folder.join("Makefile"), makefile)?;
        packages::build_module(&headers, folder, name).map(drop)
    })?;
    Ok(Some(folder.join(format!("{name}.ko"))))
}

/// FNV-1a, 64 bits (draft-eastlake-fnv): another source has another place in the cache.
fn sum(texts: &[&str]) -> u64 {
    let bytes = texts.iter().flat_map(|text| text.bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_source_has_another_place() {
        // The test vector of the sum's own specification.
        assert_eq!(sum(&["foobar"]), 0x8594_4171_f739_67e8);
        assert_ne!(sum(&["a"]), sum(&["b"]));
    }
}
