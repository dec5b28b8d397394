//! The kernel's trace in an instance of our own (Documentation/trace/ftrace.rst, "Instances").
//!
//! An instance has its own buffers, events and filters: what anybody else traces meanwhile is neither seen nor touched.
//! It is removed when dropped, also while a panic unwinds; what a killed process left behind is removed by the next
//! start, which knows from the instance's name which process made it.

mod error;
mod owner;
mod place;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

pub use self::error::{NoMount, TraceError};
use self::owner::Owner;
pub use self::owner::counts_like_the_trace;
use self::place::Place;

/// The way to tracefs, for as long as it or a clone of it is kept.
#[derive(Clone, Debug)]
pub struct Tracefs {
    place: Place,
}

impl Tracefs {
    /// Finds tracefs where it is mounted; where it is nowhere, mounts it without a place in the file system, for this
    /// process alone and for as long as it uses it.
    ///
    /// That mount takes CAP_SYS_ADMIN on the machine itself and Linux 5.2. Its options are the kernel's own: where tracefs
    /// is mounted in another mount namespace with `gid=`, instances that are made later may lack that group.
    ///
    /// # Errors
    /// Where it can neither be found nor mounted, is not built, or may not be used.
    pub fn find() -> Result<Self, TraceError> {
        Ok(Self { place: Place::find()? })
    }

    /// The root folder, as every thread of this process reaches it; other processes may not.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.place.root
    }

    /// Opens a file of the trace that everybody shares, such as `trace_marker`, for writing.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn open_to_write(&self, file: &str) -> Result<File, TraceError> {
        let path = self.root().join(file);
        OpenOptions::new().write(true).open(&path).map_err(|error| TraceError::from_io(&path, error))
    }

    /// How the kernel writes an event, by its folder such as `sched/sched_switch`.
    ///
    /// # Errors
    /// Where this kernel does not have it.
    pub fn format(&self, event: &str) -> Result<String, TraceError> {
        read(&self.root().join("events").join(event).join("format")).map_err(|error| match error {
            TraceError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                TraceError::EventMissing { event: event.to_owned(), option: error::option_of(event) }
            }
            error => error,
        })
    }

    /// Removes the instances of processes of ours that have ended, and gives their names. Nobody else's are touched.
    ///
    /// # Errors
    /// Where the list of instances cannot be read.
    pub fn remove_leftovers(&self) -> Result<Vec<String>, TraceError> {
        let folder = self.root().join("instances");
        let entries = fs::read_dir(&folder).map_err(|error| TraceError::from_io(&folder, error))?;
        let mut removed = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            if Owner::from_name(&name).is_some_and(|owner| owner.is_gone()) {
                switch_off(&entry.path());
                // One that somebody is just looking at stays for the next start.
                if fs::remove_dir(entry.path()).is_ok() {
                    removed.push(name);
                }
            }
        }
        Ok(removed)
    }
}

fn read(path: &Path) -> Result<String, TraceError> {
    // Some of these files give what fits into the first read and nothing after it.
    let mut bytes = vec![0; 64 << 10];
    let mut used = 0;
    let mut file = File::open(path).map_err(|error| TraceError::from_io(path, error))?;
    while used < bytes.len() {
        match file.read(&mut bytes[used..]).map_err(|error| TraceError::from_io(path, error))? {
            0 => break,
            length => used += length,
        }
    }
    bytes.truncate(used);
    String::from_utf8(bytes).map_err(|error| TraceError::from_io(path, io::Error::other(error)))
}

fn write(path: &Path, text: &str, append: bool) -> Result<(), TraceError> {
    let opened = OpenOptions::new().write(true).append(append).truncate(!append).open(path);
    opened.and_then(|mut file| file.write_all(text.as_bytes())).map_err(|error| TraceError::from_io(path, error))
}

/// Ends all tracing of an instance, so that it costs nothing more even where it cannot be removed.
fn switch_off(instance: &Path) {
    for (file, text) in [("tracing_on", "0"), ("events/enable", "0"), ("set_event_pid", "")] {
        // Each is only an attempt: the folder's removal ends all of it too.
        let _ = write(&instance.join(file), text, false);
    }
}

/// Instances that this process has made so far.
static MADE: AtomicU32 = AtomicU32::new(0);

/// A private instance; nothing is recorded before [`start`](Self::start).
#[derive(Debug)]
pub struct Instance {
    path: PathBuf,
    /// The path leads through it.
    _tracefs: Tracefs,
}

impl Instance {
    /// Creates an instance.
    ///
    /// # Errors
    /// Where the right or the memory is missing.
    pub fn new(tracefs: &Tracefs) -> Result<Self, TraceError> {
        let path = tracefs.root().join("instances").join(Owner::this().name(MADE.fetch_add(1, Ordering::Relaxed)));
        fs::create_dir(&path).map_err(|error| TraceError::from_io(&path, error))?;
        let instance = Self { path, _tracefs: tracefs.clone() };
        instance.set("tracing_on", "0")?;
        Ok(instance)
    }

    /// Name of the instance.
    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
    }

    /// Writes a file of it, such as `trace_clock` or `options/event-fork`.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn set(&self, file: &str, text: &str) -> Result<(), TraceError> {
        write(&self.path.join(file), text, false)
    }

    /// Records an event from now on, by its folder.
    ///
    /// # Errors
    /// Where this kernel does not have it.
    pub fn enable(&self, event: &str) -> Result<(), TraceError> {
        self.set(&format!("events/{event}/enable"), "1").map_err(|error| match error {
            TraceError::Io { error, .. } if error.kind() == io::ErrorKind::NotFound => {
                TraceError::EventMissing { event: event.to_owned(), option: error::option_of(event) }
            }
            error => error,
        })
    }

    /// Adds threads to those whose events are recorded; before the first call those of all are. With the option
    /// `event-fork`, the threads that they make are added by the kernel.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn follow(&self, tids: &[u32]) -> Result<(), TraceError> {
        if tids.is_empty() {
            return Ok(());
        }
        let text = tids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
        write(&self.path.join("set_event_pid"), &text, true)
    }

    /// How the kernel writes a sub-buffer's head here, and how long sub-buffers are: other instances' may be longer.
    ///
    /// # Errors
    /// Where the file cannot be read.
    pub fn header_page(&self) -> Result<String, TraceError> {
        read(&self.path.join("events/header_page"))
    }

    /// Starts recording events.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn start(&self) -> Result<(), TraceError> {
        self.set("tracing_on", "1")
    }

    /// Ends recording; what is in the buffers stays.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn stop(&self) -> Result<(), TraceError> {
        self.set("tracing_on", "0")
    }

    /// Opens the buffer of one CPU.
    ///
    /// # Errors
    /// Where there is no such CPU.
    pub fn buffer(&self, cpu: u32) -> Result<Buffer, TraceError> {
        let path = self.path.join(format!("per_cpu/cpu{cpu}/trace_pipe_raw"));
        // The same number on every architecture that Linux runs on here, by way of libc.
        let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path);
        opened.map(Buffer).map_err(|error| TraceError::from_io(&path, error))
    }

    /// Events of one CPU that found no place, since the instance was made: those that the writer threw away, and those
    /// that were overwritten before they were read.
    #[must_use]
    pub fn lost(&self, cpu: u32) -> u64 {
        let text = read(&self.path.join(format!("per_cpu/cpu{cpu}/stats"))).unwrap_or_default();
        text.lines()
            .filter_map(|line| line.split_once(':'))
            .filter(|(name, _)| matches!(*name, "overrun" | "commit overrun" | "dropped events"))
            .filter_map(|(_, number)| number.trim().parse::<u64>().ok())
            .sum()
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        switch_off(&self.path);
        // Where somebody is just looking at it, the next start removes it.
        let _ = fs::remove_dir(&self.path);
    }
}

/// The buffer of one CPU of an instance; dropped before the instance.
#[derive(Debug)]
pub struct Buffer(File);

impl Buffer {
    /// Takes the next sub-buffer out, as far as it is filled; `None` where nothing is there. `page` has the length that
    /// `header_page` describes.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn take<'page>(&mut self, page: &'page mut [u8]) -> io::Result<Option<&'page [u8]>> {
        match self.0.read(page) {
            Ok(0) => Ok(None),
            Ok(length) => Ok(Some(&page[..length])),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tests that need the right to trace say so where it is missing.
    fn tracefs() -> Option<Tracefs> {
        match Tracefs::find().and_then(|tracefs| Instance::new(&tracefs).map(|_| tracefs)) {
            Ok(tracefs) => Some(tracefs),
            Err(error) => {
                println!("not shown here: {error}");
                None
            }
        }
    }

    #[test]
    fn an_instance_is_gone_with_its_owner_s_panic() {
        let Some(tracefs) = tracefs() else { return };
        let instance = Instance::new(&tracefs).unwrap();
        let path = instance.path.clone();
        instance.enable("sched/sched_switch").unwrap();
        assert!(path.exists());
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
            let _held = instance;
            panic!("as planned");
        }));
        assert!(panicked.is_err());
        assert!(!path.exists());
    }

    #[test]
    fn what_a_dead_process_left_is_removed_and_others_instances_stay() {
        let Some(tracefs) = tracefs() else { return };
        let folder = tracefs.root().join("instances");
        // A process that has ended: its number with a start that is nobody's.
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id();
        child.wait().unwrap();
        let name_space = Owner::this().name(0).split('-').nth(1).unwrap().to_owned();
        let left = folder.join(format!("punctual-{name_space}-{pid}-1-0"));
        let others = folder.join(format!("punctuality-{}", std::process::id()));
        fs::create_dir(&left).unwrap();
        fs::create_dir(&others).unwrap();
        let own = Instance::new(&tracefs).unwrap();
        let removed = tracefs.remove_leftovers().unwrap();
        let kept = others.exists() && own.path.exists();
        let gone = !left.exists();
        fs::remove_dir(&others).unwrap();
        assert!(removed.contains(&left.file_name().unwrap().to_string_lossy().into_owned()), "{removed:?}");
        assert!(gone && kept);
    }

    #[test]
    fn descriptions_are_read_whole() {
        let Some(tracefs) = tracefs() else { return };
        assert!(Instance::new(&tracefs).unwrap().header_page().unwrap().contains("data;"));
        assert!(tracefs.format("sched/sched_switch").unwrap().contains("print fmt:"));
    }

    #[test]
    fn a_missing_event_names_the_option() {
        let Some(tracefs) = tracefs() else { return };
        let error = tracefs.format("raw_syscalls/sys_nothing").unwrap_err().to_string();
        assert!(error.contains("CONFIG_FTRACE_SYSCALLS"), "{error}");
    }
}
