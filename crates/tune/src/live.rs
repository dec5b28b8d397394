//! The running machine, or a tree of files that stands for one in tests.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kernel::immutable::set_immutable;
use kernel::sched::Scheduling;
use kernel::whole_file::{self, sync_folder, unfinished};
use knobs::boot::efi;
use knobs::{Place, Reading, Value, thread};
use units::CpuSet;

use crate::Machine;
use crate::{cgroup, holder, nic, service, tuned};

/// ESRCH: the thread has ended.
const NO_SUCH_THREAD: i32 = 3;

/// A machine by its files.
#[derive(Debug)]
pub struct LiveMachine {
    prefix: PathBuf,
    boot_id: String,
}

impl LiveMachine {
    /// The machine whose files are below `prefix`; `/` for the running one. A tree of files is never started, so it need
    /// not tell which start of the machine it is.
    ///
    /// # Errors
    /// Where the kernel does not tell which start of the machine this is.
    pub fn below(prefix: &Path) -> io::Result<Self> {
        let path = prefix.join("proc/sys/kernel/random/boot_id");
        let boot_id = match fs::read_to_string(&path) {
            Err(error) if prefix == Path::new("/") => {
                return Err(io::Error::new(error.kind(), format!("{}: {error}", path.display())));
            }
            read => read.unwrap_or_default(),
        };
        Ok(Self { prefix: prefix.to_owned(), boot_id: boot_id.trim().to_owned() })
    }

    fn is_live(&self) -> bool {
        self.prefix == Path::new("/")
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

    fn locate(&self, path: &str) -> PathBuf {
        self.prefix.join(path.trim_start_matches('/'))
    }
}

/// The thread of a place in a live machine; `None` where it is gone, or another one has its number.
fn thread(path: &Path, comm: &str) -> Option<u32> {
    let name = fs::read_to_string(path.join("comm")).ok()?;
    let tid = path.file_name()?.to_str()?.parse().ok()?;
    (name.trim_end_matches('\n') == comm).then_some(tid)
}

fn read_scheduling(tid: u32) -> io::Result<String> {
    let Scheduling { policy, priority, nice } = kernel::sched::scheduling_of(tid)?;
    let scheduling = match policy {
        0 => thread::Scheduling::Other(nice),
        1 => thread::Scheduling::Fifo(priority),
        2 => thread::Scheduling::RoundRobin(priority),
        3 => thread::Scheduling::Batch(nice),
        5 => thread::Scheduling::Idle,
        _ => return Err(io::Error::other(format!("its policy is number {policy}, which cannot be restored"))),
    };
    Ok(scheduling.to_string())
}

fn write_scheduling(tid: u32, text: &str) -> io::Result<()> {
    let (policy, priority, nice) = match text.parse().map_err(io::Error::other)? {
        thread::Scheduling::Other(nice) => (0, 0, nice),
        thread::Scheduling::Fifo(priority) => (1, priority, 0),
        thread::Scheduling::RoundRobin(priority) => (2, priority, 0),
        thread::Scheduling::Batch(nice) => (3, 0, nice),
        thread::Scheduling::Idle => (5, 0, 0),
    };
    kernel::sched::set_scheduling_of(tid, Scheduling { policy, priority, nice })
}

impl Machine for LiveMachine {
    fn read(&mut self, place: &Place) -> Reading {
        let path = self.locate(place.path());
        if let Place::Scheduling { comm, .. } | Place::Affinity { comm, .. } = place {
            // Only the running machine has threads.
            let Some(tid) = self.is_live().then(|| thread(&path, comm)).flatten() else { return Reading::Missing };
            let read = match place {
                Place::Affinity { .. } => kernel::sched::affinity_of(tid).map(|cpus| cpus.to_string()),
                _ => read_scheduling(tid),
            };
            return match read {
                Ok(text) => Reading::Is(Value::Text(text)),
                Err(error) if error.raw_os_error() == Some(NO_SUCH_THREAD) => Reading::Missing,
                Err(error) => Reading::Failed(error.to_string()),
            };
        }
        match place {
            Place::Scheduling { .. } | Place::Affinity { .. } => Reading::Missing,
            Place::TunedProfile => tuned::read(&self.prefix),
            Place::Tasks { from, .. } => cgroup::read_tasks(&self.prefix, &path, &self.locate(from)),
            Place::Service { unit } => service::read(&self.prefix, self.is_live(), unit),
            Place::HeldOpen { path } => holder::read(&self.prefix, path),
            Place::Ethtool { path, field } if self.is_live() => nic::read_live(path, field),
            Place::Ethtool { path, field } => nic::read_captured(&self.prefix, path, field),
            Place::Folder { .. } => Reading::Is(if path.is_dir() { Value::text("") } else { Value::Absent }),
            Place::File { .. } => match fs::read_to_string(&path) {
                Ok(text) => Reading::Is(Value::Text(text)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Reading::Is(Value::Absent),
                Err(error) => Reading::Failed(error.to_string()),
            },
            Place::EfiString { .. } => match fs::read(&path) {
                // A file that was made and not written: the firmware has no such variable yet.
                Ok(bytes) if bytes.is_empty() => Reading::Is(Value::Absent),
                Ok(bytes) => efi::decode(&bytes).map_or_else(
                    || Reading::Failed("it holds more than a text, which could not be restored".to_owned()),
                    |text| Reading::Is(Value::Text(text)),
                ),
                // Where a folder for them is, a variable that is not there is one that is not set.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    match path.parent().filter(|path| path.is_dir()) {
                        Some(_) => Reading::Is(Value::Absent),
                        None => Reading::Missing,
                    }
                }
                Err(error) => Reading::Failed(error.to_string()),
            },
            Place::Attribute { .. } | Place::Word { .. } => match fs::read_to_string(&path) {
                Ok(text) => Reading::Is(match place {
                    Place::Word { word, .. } if text.split_ascii_whitespace().any(|found| found == word) => {
                        Value::text(word)
                    }
                    Place::Word { .. } => Value::Absent,
                    _ => Value::text(text.trim_end_matches('\n')),
                }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => Reading::Missing,
                Err(error) => Reading::Failed(error.to_string()),
            },
        }
    }

    fn write(&mut self, place: &Place, value: &Value) -> Result<(), String> {
        let path = self.locate(place.path());
        let written = match (place, value) {
            (Place::Attribute { .. }, Value::Text(text)) => order(&path, text),
            // The kernel's own: it cannot be taken away.
            (
                Place::Attribute { .. }
                | Place::Scheduling { .. }
                | Place::Affinity { .. }
                | Place::Ethtool { .. }
                | Place::Tasks { .. },
                Value::Absent,
            ) => Ok(()),
            (Place::TunedProfile, value) => tuned::write(&self.prefix, self.is_live(), value),
            (Place::Service { unit }, value) => service::write(&self.prefix, self.is_live(), unit, value),
            (Place::HeldOpen { .. }, value) => holder::write(&self.prefix, self.is_live(), value),
            (Place::Ethtool { path, field }, Value::Text(text)) if self.is_live() => nic::write_live(path, field, text),
            (Place::Ethtool { path, field }, Value::Text(text)) => nic::write_captured(&self.prefix, path, field, text),
            (Place::Scheduling { comm, .. } | Place::Affinity { comm, .. }, Value::Text(text)) => {
                match (thread(&path, comm), place) {
                    (None, _) => Err(io::Error::other(format!("the thread {comm} is gone"))),
                    (Some(tid), Place::Affinity { .. }) => {
                        let cpus = text.parse::<CpuSet>().map_err(io::Error::other);
                        cpus.and_then(|cpus| kernel::sched::set_affinity(tid, &cpus))
                    }
                    (Some(tid), _) => write_scheduling(tid, text),
                }
            }
            (Place::Word { word, .. }, Value::Text(_)) => order(&path, &format!("+{word}")),
            (Place::Word { word, .. }, Value::Absent) => order(&path, &format!("-{word}")),
            (Place::Folder { .. }, Value::Text(_)) => cgroup::make(&path, self.is_live()),
            (Place::Folder { .. }, Value::Absent) => cgroup::remove(&path, self.is_live()),
            (Place::Tasks { from, .. }, Value::Text(_)) => {
                cgroup::move_tasks(&self.prefix, self.is_live(), &path, &self.locate(from))
            }
            (Place::EfiString { .. }, value) => write_variable(&path, value),
            (Place::File { .. }, Value::Text(text)) => self.resolve(&path).and_then(|path| replace(&path, text)),
            (Place::File { .. }, Value::Absent) => {
                let _ = fs::remove_file(unfinished(&path));
                fs::remove_file(&path).and_then(|()| sync_folder(&path)).map(|()| {
                    let folder = place.path().rsplit_once('/').map_or("", |(folder, _)| folder);
                    if knobs::is_own_folder(folder) {
                        // One in which others have put something stays.
                        let _ = fs::remove_dir(self.locate(folder));
                    }
                })
            }
        };
        written.map_err(|error| error.to_string())
    }

    fn tidy(&mut self, place: &Place) {
        let path = self.locate(place.path());
        // Mostly there is nothing.
        match place {
            Place::File { .. } => {
                let _ = fs::remove_file(unfinished(&self.resolve(&path).unwrap_or(path)));
            }
            Place::EfiString { .. } if fs::metadata(&path).is_ok_and(|file| file.len() == 0) => {
                let _ = set_immutable(&path, false).and_then(|_| fs::remove_file(&path));
            }
            _ => {}
        }
    }

    fn run(&mut self, command: &[&str]) -> Result<(), String> {
        if command == knobs::tuned::TAKE_NOTICE {
            return if self.is_live() { tuned::take_notice().map_err(|error| error.to_string()) } else { Ok(()) };
        }
        let Some((program, arguments)) = command.split_first() else { return Ok(()) };
        // Programs would act on the machine that runs, not on a tree of files; a service manager that does not run needs
        // not be told (sd_booted(3)).
        if !self.is_live() || (*program == "systemctl" && !service::is_managed()) {
            return Ok(());
        }
        let output = Command::new(program)
            .args(arguments)
            .env("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
            .stdin(Stdio::null())
            .output()
            .map_err(|error| error.to_string())?;
        if output.status.success() {
            // What it has made is there after a power cut, too: it does not see to that itself.
            kernel::space::sync();
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let last = said.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or_default();
        Err(format!("{}: {}", output.status, last.trim()))
    }

    fn boot_id(&self) -> &str {
        &self.boot_id
    }
}

/// One write is one order to the kernel; the file is never made.
pub(crate) fn order(path: &Path, text: &str) -> io::Result<()> {
    fs::OpenOptions::new().write(true).truncate(true).open(path)?.write_all(text.as_bytes())
}

/// A variable of the firmware's takes its attributes and its value in one write; where it is, the kernel guards it.
fn write_variable(path: &Path, value: &Value) -> io::Result<()> {
    match value {
        Value::Text(text) => {
            let was_guarded = path.exists() && set_immutable(path, false)?;
            let written = write_whole(path, &efi::encode(text));
            if was_guarded {
                set_immutable(path, true)?;
            }
            written
        }
        Value::Absent => {
            set_immutable(path, false)?;
            fs::remove_file(path)
        }
    }
}

/// In one write, as the firmware wants it.
fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // Never cut short before: efivarfs would have no variable then.
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path)?;
    file.write_all(bytes)?;
    // In a tree of files, where a shorter value does not take the longer one's place by itself.
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
    if file.metadata()?.len() > length { file.set_len(length) } else { Ok(()) }
}

/// The whole file or none of it, with its folder where there is none.
pub(crate) fn replace(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    whole_file::replace(path, &unfinished(path), |file| file.write_all(text.as_bytes()))
}
