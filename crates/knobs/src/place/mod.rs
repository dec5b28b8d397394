//! Where a setting is, what stands there, and when two texts mean the same. A kind of place is a variant of [`Place`], its
//! description in a file of this folder, and how it is read and written in `tune/src/place`.

mod answer;
mod control_group;
mod file;
mod form;
mod held_open;
mod kernel_file;
mod network_card;
mod service;
mod system_clock;
mod thread;

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::form::{Form, Order};
use crate::boot::Refusal;
#[cfg(test)]
use crate::{boot, tuned};

/// One thing on a node that can be read, written and restored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Place {
    /// A file of the kernel's (sysfs, procfs, cgroupfs, debugfs): each write is one order.
    Attribute {
        /// Path of the file or folder.
        path: String,
    },
    /// One word of a file of the kernel's that holds a set of words, written with `+` or `-` before it:
    /// `cgroup.subtree_control` (Documentation/admin-guide/cgroup-v2.rst).
    Word {
        /// Path of the file or folder.
        path: String,
        /// The word to add or remove.
        word: String,
    },
    /// A folder of cgroupfs: there or not.
    Folder {
        /// Path of the file or folder.
        path: String,
    },
    /// How a thread is scheduled, as [`Scheduling`](crate::thread::Scheduling) is written.
    Scheduling {
        /// The folder of the thread, `/proc/TID`.
        path: String,
        /// Its name: a thread with that number and another name is another one.
        comm: String,
    },
    /// Where a thread may run.
    Affinity {
        /// The folder of the thread, `/proc/TID`.
        path: String,
        /// Name of the thread.
        comm: String,
    },
    /// One field of what ethtool asks a network driver for, as a number.
    Ethtool {
        /// The folder of the interface, `/sys/class/net/eth0`.
        path: String,
        /// The knob's name, `rx-usecs`.
        field: String,
    },
    /// A file of the kernel's that keeps what was written only as long as it is open: held by a process of this program's,
    /// or not. Its text is what is held, and by which process.
    HeldOpen {
        /// Path of the file or folder.
        path: String,
    },
    /// Where the ordinary processes of a control group are: all that can leave the group `from` are in the one of `path`.
    /// Its text lists the processes that stayed.
    Tasks {
        /// The group's folder.
        path: String,
        /// The other group's folder.
        from: String,
    },
    /// Which profile of TuneD's is active, and who chose it: `manual realtime`, `auto balanced`, `off`.
    TunedProfile,
    /// A service of systemd's: its text is `active` or `inactive`. It is as it was enabled after the next start.
    Service {
        /// Its unit, `irqbalance.service`.
        unit: String,
    },
    /// What the kernel knows of TAI less UTC (s), by which CLOCK_TAI is ahead of CLOCK_REALTIME (adjtimex(2), `ADJ_TAI`).
    TaiOffset,
    /// A file on a disk, as a whole: there with a content, or not.
    File {
        /// Path of the file or folder.
        path: String,
    },
    /// A text in a variable of the firmware's: there, or not (Documentation/filesystems/efivarfs.rst).
    EfiString {
        /// The path of its file in efivarfs.
        path: String,
    },
}

impl Place {
    /// A file of the kernel's.
    #[must_use]
    pub fn attribute(path: impl Into<String>) -> Self {
        Self::Attribute { path: path.into() }
    }

    /// What the kind of this place is. The one list of all kinds: each has its description in a file of this folder.
    fn kind(&self) -> Box<dyn PlaceKind<'_> + '_> {
        match self {
            Self::Attribute { path } => Box::new(kernel_file::Attribute { path }),
            Self::Word { path, word } => Box::new(kernel_file::Word { path, word }),
            Self::Folder { path } => Box::new(control_group::Folder { path }),
            Self::Tasks { path, from } => Box::new(control_group::Tasks { path, from }),
            Self::Scheduling { path, .. } => Box::new(thread::Scheduling { path }),
            Self::Affinity { path, .. } => Box::new(thread::Affinity { path }),
            Self::Ethtool { path, field } => Box::new(network_card::Ethtool { path, field }),
            Self::HeldOpen { path } => Box::new(held_open::HeldOpen { path }),
            Self::TunedProfile => Box::new(service::TunedProfile),
            Self::Service { unit } => Box::new(service::Service { unit }),
            Self::TaiOffset => Box::new(system_clock::TaiOffset),
            Self::File { path } => Box::new(file::File { place: self, path }),
            Self::EfiString { path } => Box::new(file::EfiString { place: self, path }),
        }
    }

    /// Its path; a unit's name, where it is a service; the clock's, where it is one.
    #[must_use]
    pub fn path(&self) -> &str {
        self.kind().path()
    }

    /// Whether plans of this program may name it: a file of the kernel's, or one of ours.
    #[must_use]
    pub fn is_known(&self) -> bool {
        self.kind().is_known()
    }

    /// The file with the highest number that is allowed there, if the kernel has one.
    #[must_use]
    pub fn most(&self) -> Option<Self> {
        self.kind().most()
    }

    /// Another place by which the same is had, and without a process, if the kernel has it.
    #[must_use]
    pub fn better(&self) -> Option<Self> {
        self.kind().better()
    }

    /// Why there is no such place, and what to do.
    #[must_use]
    pub fn absence(&self) -> (String, &'static str) {
        self.kind().absence()
    }

    /// The command that has to run after a change there, and after its reversal.
    #[must_use]
    pub fn follow_up(&self) -> Option<&'static [&'static str]> {
        self.kind().follow_up()
    }

    /// Whether what is written there is still there after the next start of the machine.
    #[must_use]
    pub fn outlives_boot(&self) -> bool {
        self.kind().outlives_boot()
    }

    /// Whether a value stands there only as long as a process of this program's runs: where there is none, that has ended.
    #[must_use]
    pub fn is_held_by_a_process(&self) -> bool {
        self.kind().is_held_by_a_process()
    }

    /// Whether a refusal is an answer to what was asked for, and not one of many places of which some may refuse.
    #[must_use]
    pub fn is_asked_for_by_itself(&self) -> bool {
        self.kind().is_asked_for_by_itself()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.path())?;
        match self.kind().by() {
            Some(by) => write!(f, " ({by})"),
            None => Ok(()),
        }
    }
}

/// What is known of the places of one kind, apart from how they are read and written.
trait PlaceKind<'a> {
    /// Its path, or what stands for one.
    fn path(&self) -> &'a str;

    /// By what it is read or written, where its path does not say so, as people know it.
    fn by(&self) -> Option<String> {
        None
    }

    /// See [`Place::is_known`].
    fn is_known(&self) -> bool {
        is_kernel_path(self.path())
    }

    /// See [`Place::absence`].
    fn absence(&self) -> (String, &'static str) {
        let by = self.by().map_or_else(String::new, |by| format!(" ({by})"));
        (format!("this kernel has no {}{by}", self.path()), "leave it out, or take a kernel that has it")
    }

    /// See [`Place::most`].
    fn most(&self) -> Option<Place> {
        None
    }

    /// See [`Place::better`].
    fn better(&self) -> Option<Place> {
        None
    }

    /// See [`Place::follow_up`].
    fn follow_up(&self) -> Option<&'static [&'static str]> {
        None
    }

    /// See [`Place::outlives_boot`].
    fn outlives_boot(&self) -> bool {
        false
    }

    /// See [`Place::is_held_by_a_process`].
    fn is_held_by_a_process(&self) -> bool {
        false
    }

    /// See [`Place::is_asked_for_by_itself`].
    fn is_asked_for_by_itself(&self) -> bool {
        false
    }
}

/// Whether a path is one of the kernel's files.
fn is_kernel_path(path: &str) -> bool {
    (path.starts_with("/sys/") || path.starts_with("/proc/")) && !path.split('/').any(|part| part == "..")
}

/// What stands at a place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Value {
    /// A text, without the end of its last line where it is the kernel's.
    Text(String),
    /// Nothing: no such file, folder or word.
    Absent,
}

impl Value {
    /// The text of a file.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) if text.is_empty() => f.write_str("(empty)"),
            Self::Text(text) => f.write_str(text),
            Self::Absent => f.write_str("(absent)"),
        }
    }
}

/// What came of looking at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reading {
    /// What stands there.
    Is(Value),
    /// The kernel has no such place.
    Missing,
    /// It could not be read, and why.
    Failed(String),
    /// This process is not let at it: why, and what helps.
    Refused(Refusal),
}

/// Who looks at the places of a machine.
pub trait Look {
    /// What stands at a place.
    fn look(&mut self, place: &Place) -> Reading;

    /// Why this process could not change what stands there, as far as that is known without trying.
    fn refuses(&mut self, place: &Place) -> Option<Refusal>;
}

/// One that only reads.
pub(crate) struct Reader<'a>(pub(crate) &'a mut dyn FnMut(&Place) -> Reading);

impl Look for Reader<'_> {
    fn look(&mut self, place: &Place) -> Reading {
        (self.0)(place)
    }

    fn refuses(&mut self, _: &Place) -> Option<Refusal> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_of_others_are_known_as_such() {
        let file = |path: &str| Place::File { path: path.to_owned() };
        assert!(Place::attribute("/proc/sys/vm/swappiness").is_known());
        assert!(!Place::attribute("/proc/../etc/passwd").is_known() && !Place::attribute("/etc/passwd").is_known());
        assert!(file("/etc/default/grub.d/95-punctual.cfg").is_known());
        assert!(!file("/etc/passwd").is_known() && !file("/sys/x").is_known() && !file("/boot/config.txt").is_known());
        let variable = |path: &str| Place::EfiString { path: path.to_owned() };
        assert!(variable(boot::efi::ENTRY_DEFAULT).is_known() && !variable(boot::efi::LOADER_INFO).is_known());
        let ethtool = |path: &str, field: &str| Place::Ethtool { path: path.to_owned(), field: field.to_owned() };
        assert!(ethtool("/sys/class/net/eth0", "rx-usecs").is_known());
        assert!(!ethtool("/sys/class/net/eth0", "speed").is_known() && !ethtool("/sys/class/net/..", "eee").is_known());
        assert!(!ethtool("/sys/class/net/a/b", "eee").is_known() && !ethtool("/etc/eth0", "eee").is_known());
        let service = |unit: &str| Place::Service { unit: unit.to_owned() };
        assert!(service("irqbalance.service").is_known() && service(tuned::UNIT).is_known());
        assert!(!service("ssh.service").is_known() && !service("irqbalance.service x").is_known());
        let held = |path: &str| Place::HeldOpen { path: path.to_owned() };
        assert!(held("/dev/cpu_dma_latency").is_known() && !held("/dev/sda").is_known());
        let tasks = |path: &str, from: &str| Place::Tasks { path: path.to_owned(), from: from.to_owned() };
        assert!(tasks("/sys/fs/cgroup/cpuset/a", "/sys/fs/cgroup/cpuset").is_known());
        assert!(!tasks("/sys/fs/cgroup/cpuset/a", "/etc").is_known() && !tasks("/tmp", "/sys/x").is_known());
        assert!(
            file("/etc/tuned/realtime-variables.conf").is_known() && !file("/etc/tuned/tuned-main.conf").is_known()
        );
    }
}
