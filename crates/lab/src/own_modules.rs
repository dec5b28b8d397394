//! Punctual's own kernel modules for tests, built against the headers of the guest's kernel.

use std::fs;
use std::path::PathBuf;

use sha2::{Digest as _, Sha256};

use crate::machine::Architecture;
use crate::packages::{self, AptRoot, KernelImage, PackageError};

/// A module with its sources.
struct OwnModule {
    name: &'static str,
    source: &'static str,
    makefile: &'static str,
}

const OWN_MODULES: [OwnModule; 4] = [
    OwnModule {
        name: "punctual_gpio",
        source: include_str!("../modules/gpio/punctual_gpio.c"),
        makefile: include_str!("../modules/gpio/Makefile"),
    },
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
    OwnModule {
        name: "punctual_time",
        source: include_str!("../modules/time/punctual_time.c"),
        makefile: include_str!("../modules/time/Makefile"),
    },
];

/// Builds one of our modules for a kernel, or takes it from the cache; `None` if no module of ours has this name.
///
/// # Errors
/// If the headers cannot be fetched, or the compiler is missing or fails.
pub fn build(
    root: &AptRoot,
    kernel: &KernelImage,
    name: &str,
    progress: &mut dyn FnMut(&str),
) -> Result<Option<PathBuf>, PackageError> {
    let Some(OwnModule { source, makefile, .. }) = OWN_MODULES.iter().find(|module| module.name == name) else {
        return Ok(None);
    };
    if root.architecture() != Architecture::Amd64.machine().debian {
        let what = format!("the host's compiler builds it for amd64, not for {}", root.architecture());
        return Err(PackageError::Odd { package: format!("kernel module {name}"), what });
    }
    let headers = packages::headers(root, kernel, progress)?;
    let place = format!("modules/{}/{name}-{}", kernel.release, digest(&[source, makefile]));
    let folder = root.cache().once(&place, |folder| {
        progress(&format!("building the kernel module {name} for Linux {}", kernel.release));
        fs::write(folder.join(format!("{name}.c")), source)?;
        fs::write(folder.join("Makefile"), makefile)?;
        packages::build_module(&headers, folder, name).map(drop)
    })?;
    Ok(Some(folder.join(format!("{name}.ko"))))
}

/// Digest of a module's sources, for its path in the cache.
fn digest(texts: &[&str]) -> String {
    let mut all = Sha256::new();
    for text in texts {
        // The length is included so that different lists of texts differ.
        all.update(text.len().to_le_bytes());
        all.update(text);
    }
    all.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn different_sources_have_different_digests() {
        assert_eq!(digest(&["a", "b"]).len(), 16);
        assert_ne!(digest(&["a", "b"]), digest(&["ab", ""]));
    }
}
