//! Debian packages for guests, fetched and verified by apt into the lab's cache, without rights and without touching
//! the host's own package state.
//!
//! The guest's Debian need not be the host's: apt is given folders and sources of its own, and the host's settings for
//! reaching a mirror (proxies, transports) stay in force.

mod apt;
mod headers;
mod kernel_image;

pub use apt::{AptRoot, MIRROR_VARIABLE, PackageError, Suite, Unpacked};
pub use headers::{build_module, headers};
pub use kernel_image::{KernelImage, kernel};
