//! Control groups, and the processes in them.

use super::{PlaceKind, is_kernel_path};

/// The folder of a group.
pub(super) struct Folder<'a> {
    pub(super) path: &'a str,
}

impl<'a> PlaceKind<'a> for Folder<'a> {
    fn path(&self) -> &'a str {
        self.path
    }
}

/// The processes of one group that were moved to another.
pub(super) struct Tasks<'a> {
    pub(super) path: &'a str,
    pub(super) from: &'a str,
}

impl<'a> PlaceKind<'a> for Tasks<'a> {
    fn path(&self) -> &'a str {
        self.path
    }

    fn by(&self) -> Option<String> {
        Some("cgroup.procs".to_owned())
    }

    fn is_known(&self) -> bool {
        is_kernel_path(self.path) && is_kernel_path(self.from)
    }
}
