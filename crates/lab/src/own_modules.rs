//! Kernel modules that a test needs and Debian lacks: ours, built against the headers of the guest's kernel.

use std::fs;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::machine::Architecture;
use crate::packages::{self, AptRoot, KernelImage, PackageError};

/// One of ours, with its sources.
struct OwnModule {
    name: &'static str,
    source: &'static str,
    makefile: &'static str,
}

const OWN: [OwnModule; 2] = [
    OwnModule {
        name: "punctual_inject",
        source: include_str!("../modules/inject/punctual_inject.c"),
        makefile: include_str!("../modules/inject/Makefile"),
    },
    OwnModule {
        name: "punctual_knobs",
        source: include_str!("../modules/knobs/punctual_knobs.c"),
        makefile: include_str!("../modules/knobs/Makefile"),
    },
];

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
    let place = format!("modules/{}/{name}-{}", kernel.release, digest(&[source, makefile]));
    let folder = root.cache().once(&place, |folder| {
        told(&format!("building the kernel module {name} for Linux {}", kernel.release));
        fs::write(folder.join(format!("{name}.c")), source)?;
        fs::write(folder.join("Makefile"), makefile)?;
        packages::build_module(&headers, folder, name).map(drop)
    })?;
    Ok(Some(folder.join(format!("{name}.ko"))))
}

/// Another source has another place in the cache.
fn digest(texts: &[&str]) -> String {
    let mut all = Sha256::new();
    for text in texts {
        // With its length: no two lists of texts read the same.
        all.update(text.len().to_le_bytes());
        all.update(text);
    }
    all.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_source_has_another_place() {
        assert_eq!(digest(&["a", "b"]).len(), 16);
        assert_ne!(digest(&["a", "b"]), digest(&["ab", ""]));
    }
}
