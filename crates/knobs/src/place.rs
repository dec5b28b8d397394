//! Where a setting is, what stands there, and when two texts mean the same.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::catalogue::{self, How};
use crate::{boot, persist, tuned};

/// One thing on a node that can be read, written and restored.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Place {
    /// A file of the kernel's (sysfs, procfs, cgroupfs, debugfs): each write is one order.
    Attribute {
        /// Its path.
        path: String,
    },
    /// One word of a file of the kernel's that holds a set of words, written with `+` or `-` before it:
    /// `cgroup.subtree_control` (Documentation/admin-guide/cgroup-v2.rst).
    Word {
        /// Its path.
        path: String,
        /// The word.
        word: String,
    },
    /// A folder of cgroupfs: there or not.
    Folder {
        /// Its path.
        path: String,
    },
    /// How a thread is scheduled, as [`Scheduling`](crate::thread::Scheduling) is written.
    Scheduling {
        /// Where the kernel tells of it, `/proc/TID`.
        path: String,
        /// Its name: a thread with that number and another name is another one.
        comm: String,
    },
    /// Where a thread may run.
    Affinity {
        /// Where the kernel tells of it, `/proc/TID`.
        path: String,
        /// Its name.
        comm: String,
    },
    /// One field of what ethtool asks a network driver for, as a number.
    Ethtool {
        /// Where the kernel tells of the interface, `/sys/class/net/eth0`.
        path: String,
        /// The knob's name, `rx-usecs`.
        field: String,
    },
    /// A file of the kernel's that keeps what was written only as long as it is open: held by a process of this program's,
    /// or not. Its text is what is held, and by which process.
    HeldOpen {
        /// Its path.
        path: String,
    },
    /// Where the ordinary processes of a control group are: all that can leave the group `from` are in the one of `path`.
    /// Its text tells who has stayed.
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
    /// A file on a disk, as a whole: there with a content, or not.
    File {
        /// Its path.
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

    /// Its path; a unit's name, where it is a service.
    #[must_use]
    pub fn path(&self) -> &str {
        match self {
            Self::Attribute { path }
            | Self::Word { path, .. }
            | Self::Folder { path }
            | Self::Scheduling { path, .. }
            | Self::Affinity { path, .. }
            | Self::Ethtool { path, .. }
            | Self::HeldOpen { path }
            | Self::Tasks { path, .. }
            | Self::Service { unit: path }
            | Self::File { path }
            | Self::EfiString { path } => path,
            Self::TunedProfile => tuned::ACTIVE,
        }
    }

    /// Whether it is one that this program's own plans name: a file of the kernel's, or one of ours.
    #[must_use]
    pub fn is_known(&self) -> bool {
        let path = self.path();
        match self {
            Self::TunedProfile => true,
            Self::File { path } if tuned::of_variables(path).is_some() => true,
            Self::File { .. } | Self::EfiString { .. } => boot::owner(self).is_some() || persist::is_place(self),
            Self::Service { unit } if unit == tuned::UNIT => true,
            Self::Service { unit } => catalogue::all().any(|knob| knob.how == How::Service && knob.path == unit),
            Self::HeldOpen { path } => catalogue::all().any(|knob| knob.how == How::HeldOpen && knob.path == path),
            Self::Ethtool { field, .. } => {
                let interface = path.strip_prefix("/sys/class/net/").unwrap_or_default();
                let is_name = !interface.is_empty() && !interface.contains('/') && interface != "..";
                is_name && catalogue::find(field).is_some_and(|knob| knob.how == How::Ethtool)
            }
            Self::Tasks { from, .. } => is_kernel_s(path) && is_kernel_s(from),
            _ => is_kernel_s(path),
        }
    }

    /// Where the kernel tells the highest number that may stand there, if it does.
    #[must_use]
    pub fn most(&self) -> Option<Self> {
        match self {
            Self::Ethtool { path, field } if field.starts_with("ring-") || field.starts_with("channels-") => {
                Some(Self::Ethtool { path: path.clone(), field: format!("{field}-max") })
            }
            _ => None,
        }
    }

    /// Another place by which the same is had, and without a process, if the kernel has it.
    #[must_use]
    pub fn better(&self) -> Option<Self> {
        let is_held = matches!(self, Self::HeldOpen { .. });
        is_held.then(|| Self::attribute("/sys/devices/system/cpu/cpu0/power/pm_qos_resume_latency_us"))
    }

    /// Why there is no such place, and what to do.
    #[must_use]
    pub fn absence(&self) -> (String, &'static str) {
        match self {
            Self::Ethtool { path, field } => {
                let interface = path.rsplit('/').next().unwrap_or(path);
                (format!("the driver of {interface} knows no {field}"), "leave it out; 'ethtool' tells what it knows")
            }
            Self::TunedProfile => ("TuneD is not installed".to_owned(), "install it, or take another mechanism"),
            Self::Service { unit } => {
                (format!("systemd does not run here, or knows no {unit}"), "have your own service manager see to it")
            }
            _ => (format!("this kernel has no {self}"), "leave it out, or take a kernel that has it"),
        }
    }

    /// What has to run for others to take notice of a change there, and of its being taken back.
    #[must_use]
    pub fn follow_up(&self) -> Option<&'static [&'static str]> {
        match self {
            Self::File { path } if tuned::of_variables(path).is_some() => Some(tuned::TAKE_NOTICE),
            _ => match boot::owner(self) {
                Some(loader) => loader.follow_up(self),
                None => persist::is_place(self).then_some(&["systemctl", "daemon-reload"]),
            },
        }
    }

    /// Whether what is written there is still there after the next start of the machine.
    #[must_use]
    pub const fn outlives_boot(&self) -> bool {
        matches!(self, Self::File { .. } | Self::EfiString { .. } | Self::TunedProfile)
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Word { path, word } => write!(f, "{path} ({word})"),
            Self::Scheduling { path, .. } => write!(f, "{path} (sched_setattr)"),
            Self::Affinity { path, .. } => write!(f, "{path} (sched_setaffinity)"),
            Self::TunedProfile => write!(f, "{} (tuned-adm)", tuned::ACTIVE),
            Self::Tasks { path, .. } => write!(f, "{path} (cgroup.procs)"),
            Self::HeldOpen { path } => write!(f, "{path} (held open)"),
            Self::Ethtool { path, field } => write!(f, "{path} (ethtool {field})"),
            _ => f.write_str(self.path()),
        }
    }
}

/// Whether a path is one of the kernel's files.
fn is_kernel_s(path: &str) -> bool {
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
    /// A text.
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
}

/// How texts of a place are written; what is compared is what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// As it stands.
    Text,
    /// A decimal number.
    Integer,
    /// A decimal number that a driver may take as another one, which then counts as what was wanted.
    Rounded,
    /// A word; what follows it tells more, and is not compared.
    FirstWord,
    /// A list of CPUs, `2-3`.
    CpuList,
    /// A mask of CPUs, `c`.
    CpuMask,
    /// Words of which one is chosen: read as `always [madvise] never`, written as that word.
    Chosen,
    /// A switch: read as `Y` or `N`, `1` or `0`, written as a number.
    Switch,
}

impl Form {
    /// The text that is written to have what a reading said: where these differ, as in a choice.
    #[must_use]
    pub fn written(self, read: &str) -> String {
        let text = read.trim();
        match self {
            Self::Chosen => {
                let chosen = text.split_ascii_whitespace().find_map(|word| word.strip_prefix('[')?.strip_suffix(']'));
                chosen.unwrap_or(text).to_owned()
            }
            Self::Switch => match text {
                "Y" | "y" => "1".to_owned(),
                "N" | "n" => "0".to_owned(),
                other => other.to_owned(),
            },
            _ => text.to_owned(),
        }
    }

    /// Whether a change is made where `found` is read back: it is what was wanted, or what a driver made of that.
    #[must_use]
    pub fn takes(self, before: &Value, wanted: &Value, found: &Value) -> bool {
        let is_number = |value: &Value| matches!(value, Value::Text(text) if text.trim().parse::<i128>().is_ok());
        // One that leaves what stood there has refused.
        let is_rounded = self == Self::Rounded && is_number(found) && !self.same(found, before);
        self.same(found, wanted) || is_rounded
    }

    /// Whether two values mean the same.
    #[must_use]
    pub fn same(self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Text(a), Value::Text(b)) => self.same_text(a, b),
            (Value::Absent, Value::Absent) => true,
            _ => false,
        }
    }

    fn same_text(self, a: &str, b: &str) -> bool {
        // A text that is not of its form still equals itself.
        if a.trim() == b.trim() {
            return true;
        }
        match self {
            Self::Text => false,
            Self::FirstWord => {
                let first = |text: &str| text.split_ascii_whitespace().next().map(str::to_owned);
                first(a).is_some() && first(a) == first(b)
            }
            Self::Integer | Self::Rounded => a.trim().parse::<i128>().is_ok_and(|a| b.trim().parse() == Ok(a)),
            Self::CpuList => a.parse::<CpuSet>().is_ok_and(|a| b.parse() == Ok(a)),
            Self::CpuMask => CpuSet::from_mask(a).is_some_and(|a| CpuSet::from_mask(b) == Some(a)),
            Self::Chosen | Self::Switch => self.written(a) == self.written(b),
        }
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

    #[test]
    fn what_a_driver_rounds_counts_and_what_it_ignores_does_not() {
        let takes = |form: Form, before: &str, wanted: &str, found: &str| {
            form.takes(&Value::text(before), &Value::text(wanted), &Value::text(found))
        };
        assert!(takes(Form::Rounded, "50", "10", "10") && takes(Form::Rounded, "50", "10", "8"));
        assert!(!takes(Form::Rounded, "50", "10", "50") && !takes(Form::Rounded, "50", "10", "x"));
        assert!(!takes(Form::Integer, "50", "10", "8"));
    }

    #[test]
    fn what_means_the_same_is_the_same() {
        let same = |form: Form, a: &str, b: &str| form.same(&Value::text(a), &Value::text(b));
        assert!(same(Form::Integer, "10\n", "10") && !same(Form::Integer, "10", "1"));
        assert!(same(Form::Integer, "-1", "-1") && !same(Form::Integer, "", "0"));
        assert!(same(Form::FirstWord, "0 by process 7", "0") && !same(Form::FirstWord, "0", "10"));
        assert!(!same(Form::FirstWord, "", "0"));
        assert!(same(Form::CpuList, "2,3", "2-3") && !same(Form::CpuList, "2-3", "2"));
        assert!(same(Form::CpuMask, "00000000,0000000c", "c") && !same(Form::CpuMask, "c", "d"));
        assert!(same(Form::Chosen, "always [madvise] never", "madvise"));
        assert!(!same(Form::Chosen, "always [madvise] never", "never"));
        assert!(same(Form::Switch, "Y", "1") && same(Form::Switch, "N", "0") && !same(Form::Switch, "N", "1"));
        assert!(!Form::Text.same(&Value::text(""), &Value::Absent));
        // Neither is of the form: not the same because both cannot be read.
        assert!(!same(Form::CpuMask, "x", "y"));
    }
}
