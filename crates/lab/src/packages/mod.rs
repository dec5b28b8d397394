//! Debian packages for guests, fetched and verified by apt into the lab's cache, without root privileges and without
//! changing the host's package state.
//!
//! The guest's Debian release may differ from the host's: apt gets its own folders and sources. The host's settings for
//! reaching a mirror (proxies, transports) stay in force.

mod apt;
mod headers;
mod kernel_image;

pub use apt::{AptRoot, MIRROR_VARIABLE, PackageError, Suite, Unpacked};
pub use headers::{build_module, headers};
pub use kernel_image::{KernelImage, kernel};
