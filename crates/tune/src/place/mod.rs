//! How places are read, written and cleaned up after: each kind in a file of this folder.

mod cgroup;
mod file;
mod holder;
mod kernel_file;
mod nic;
mod service;
mod system_clock;
mod thread;
mod tuned;
mod watchdogs;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use knobs::boot::Refusal;
use knobs::{Order, Place, Reading};

pub use self::holder::{HOLDER_COMMAND, hold_latency};
pub(crate) use self::service::is_managed;
pub(crate) use self::tuned::take_notice;

/// The files of a machine: of the one that runs, or of a tree of files that stands for one in tests.
#[derive(Clone, Debug)]
pub(crate) struct Files {
    prefix: PathBuf,
}

impl Files {
    /// Those below a folder; `/` for the running machine.
    pub(crate) fn below(prefix: &Path) -> Self {
        Self { prefix: prefix.to_owned() }
    }

    /// Whether they are the running machine's.
    pub(crate) fn is_live(&self) -> bool {
        self.prefix == Path::new("/")
    }

    /// Where a path of the machine's is.
    pub(crate) fn locate(&self, path: &str) -> PathBuf {
        self.prefix.join(path.trim_start_matches('/'))
    }

    /// The file that a symbolic link names: it is that one which is changed, and the link stays.
    fn resolve(&self, path: &Path) -> io::Result<PathBuf> {
        if !path.is_symlink() {
            return Ok(path.to_owned());
        }
        let to = fs::canonicalize(path)?;
        let is_inside = to.starts_with(fs::canonicalize(&self.prefix)?);
        is_inside.then_some(to).ok_or_else(|| io::Error::other("it is a symbolic link to outside of that tree"))
    }
}

/// Access to one place. Writing what was read before undoes a change.
pub(crate) trait Access {
    /// What stands there.
    fn read(&self, files: &Files) -> Reading;

    /// Makes a value stand there. What is the kernel's own cannot be taken away: [`Value::Absent`](knobs::Value::Absent)
    /// leaves it.
    fn write(&self, files: &Files, order: &Order) -> io::Result<()>;

    /// Takes away what a write that was never finished has left beside it; mostly there is nothing.
    fn tidy(&self, _: &Files) {}
}

/// The access to a place. The one list of all kinds.
pub(crate) fn access(place: &Place) -> Box<dyn Access + '_> {
    match place {
        Place::Attribute { path } => Box::new(kernel_file::Attribute { path }),
        Place::Word { path, word } => Box::new(kernel_file::Word { path, word }),
        Place::Folder { path } => Box::new(cgroup::Folder { path }),
        Place::Tasks { path, from } => Box::new(cgroup::Tasks { path, from }),
        Place::Scheduling { path, comm } => Box::new(thread::SchedulingOf { path, comm }),
        Place::Affinity { path, comm } => Box::new(thread::AffinityOf { path, comm }),
        Place::Ethtool { path, field } => Box::new(nic::Setting { path, field }),
        Place::HeldOpen { path } => Box::new(holder::HeldOpen { path }),
        Place::TunedProfile => Box::new(tuned::ActiveProfile),
        Place::Service { unit } => Box::new(service::Service { unit }),
        Place::TaiOffset => Box::new(system_clock::TaiOffset),
        Place::File { path } => Box::new(file::WholeFile { path }),
        Place::EfiString { path } => Box::new(file::EfiString { path }),
    }
}

/// What came of reading a file of the kernel's.
fn read_text(path: &Path) -> Result<String, Reading> {
    if let Some(refusal) = kernel::refusal::by_lockdown(path) {
        return Err(refused(refusal));
    }
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Reading::Missing),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            Err(refused(kernel::refusal::explain(path, &error)))
        }
        Err(error) => Err(Reading::Failed(error.to_string())),
    }
}

fn refused(refusal: kernel::refusal::Refusal) -> Reading {
    Reading::Refused(said(refusal))
}

fn said(refusal: kernel::refusal::Refusal) -> Refusal {
    Refusal { why: refusal.why, remedy: refusal.remedy }
}

/// Why this process could not change what stands at a place, as far as that is known without trying.
pub(crate) fn refuses(place: &Place, files: &Files) -> Option<Refusal> {
    let path = match place {
        Place::Attribute { path } | Place::Word { path, .. } => files.locate(path),
        // Made and removed in the folder above it.
        Place::Folder { path } => files.locate(path).parent()?.to_owned(),
        _ => return None,
    };
    kernel::refusal::of_writing(&path).map(said)
}
