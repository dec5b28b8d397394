//! Every setting: how it is called, where it stands, how it is read and written there, what may be written, what it costs.
//!
//! A new knob is one entry in the file of its theme.

mod irq;
mod memory;
mod net;
mod power;
mod sched;
mod service;

use units::CpuSet;

use crate::{Form, KnobScope, Place};

/// What a knob may be set to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// A whole number from the first to the last.
    Integer(i64, i64),
    /// A word, or a whole number from the first to the last.
    WordOrInteger(&'static str, i64, i64),
    /// One of these words.
    Words(&'static [&'static str]),
    /// A switch: on or off, true or false, 1 or 0.
    Switch,
    /// A list of CPUs, written in the knob's form.
    Cpus,
    /// The same, or none: an empty text or `off`.
    CpusOrNone,
}

/// How a knob is read and written at its place. What stood there is restored by writing it the same way, and all are
/// checked by reading them back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is a file of the kernel's.
    File,
    /// It is one field of what ethtool asks a driver for (include/uapi/linux/ethtool.h); the field has the knob's name.
    Ethtool,
    /// It is a file of the kernel's that a process of this program's holds open.
    HeldOpen,
    /// It is a unit of systemd's, which is started or stopped.
    Service,
}

/// One knob: a setting that can be read, set and restored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Knob {
    /// The name that users type: `vm.swappiness`, `cpu.governor`.
    pub name: &'static str,
    /// What it does.
    pub about: &'static str,
    /// What turning it for punctuality costs: power, security, throughput; empty where nothing is known.
    pub cost: &'static str,
    /// Of what there is one.
    pub scope: KnobScope,
    /// Its file; `{}` stands for the CPU, frequency policy, interrupt, interface or queue.
    pub path: &'static str,
    /// How it is read and written there.
    pub how: How,
    /// How its texts are written.
    pub form: Form,
    /// What may be written.
    pub values: Values,
    /// The kernel's document or source file about it.
    pub source: &'static str,
}

impl Knob {
    /// Its place for one CPU, policy, interrupt or interface; the empty name where there is one for the machine.
    #[must_use]
    pub fn place(&self, of: &str) -> Place {
        let path = self.path.replace("{}", of);
        match self.how {
            How::File => Place::Attribute { path },
            How::Service => Place::Service { unit: path },
            How::HeldOpen => Place::HeldOpen { path },
            How::Ethtool => Place::Ethtool { path, field: self.name.to_owned() },
        }
    }

    /// The text to write for a value that a user typed.
    ///
    /// # Errors
    /// With the bound, in words that follow "it".
    pub fn accept(&self, value: &str) -> Result<String, String> {
        self.values.accept(value, self.form)
    }
}

impl Values {
    /// The text to write for a value that a user typed, in this form.
    ///
    /// # Errors
    /// With the bound, in words that follow "it".
    pub fn accept(self, value: &str, form: Form) -> Result<String, String> {
        let number = |least: i64, most: i64| {
            let number = value.trim().parse::<i64>().ok().filter(|number| (least..=most).contains(number));
            number.map(|number| number.to_string())
        };
        match self {
            Self::Integer(least, most) => {
                number(least, most).ok_or_else(|| format!("is a number from {least} to {most}, not '{value}'"))
            }
            Self::WordOrInteger(word, ..) if value.trim() == word => Ok(word.to_owned()),
            Self::WordOrInteger(word, least, most) => number(least, most)
                .ok_or_else(|| format!("is {word} or a number from {least} to {most}, not '{value}'")),
            Self::Words(words) => {
                let known = words.iter().find(|word| **word == value.trim());
                known
                    .map(|word| (*word).to_owned())
                    .ok_or_else(|| format!("is one of {}, not '{value}'", words.join(", ")))
            }
            Self::Switch => match value.trim() {
                "1" | "on" | "true" => Ok("1".to_owned()),
                "0" | "off" | "false" => Ok("0".to_owned()),
                _ => Err(format!("is on or off, not '{value}'")),
            },
            Self::CpusOrNone if matches!(value.trim(), "" | "off") => Ok("0".to_owned()),
            Self::Cpus | Self::CpusOrNone => match value.parse::<CpuSet>() {
                Ok(cpus) if cpus.is_empty() => Err("needs at least one CPU".to_owned()),
                Ok(cpus) if form == Form::CpuMask => Ok(cpus.to_mask()),
                Ok(cpus) => Ok(cpus.to_string()),
                Err(error) => Err(format!("is a list of CPUs: {error}")),
            },
        }
    }
}

/// Every knob that `[knob]` takes.
pub fn all() -> impl Iterator<Item = &'static Knob> {
    [power::KNOBS, irq::KNOBS, sched::KNOBS, memory::KNOBS, net::KNOBS, service::KNOBS].into_iter().flatten()
}

/// A knob by its name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Knob> {
    all().find(|knob| knob.name == name)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_and_places_are_unique_and_whole() {
        let names: BTreeSet<&str> = all().map(|knob| knob.name).collect();
        assert_eq!(names.len(), all().count());
        for knob in all() {
            assert_eq!(knob.path.contains("{}"), knob.scope != KnobScope::Machine, "{}", knob.name);
            let is_held = knob.how == How::HeldOpen && knob.path.starts_with("/dev/");
            let is_unit = knob.how == How::Service && knob.path.ends_with(".service");
            let is_kernel_file = knob.path.starts_with("/proc/") || knob.path.starts_with("/sys/");
            assert!(is_kernel_file || is_held || is_unit, "{}", knob.name);
            assert!(knob.place("x").is_known(), "{}", knob.name);
            assert!(!knob.about.is_empty() && !knob.source.is_empty(), "{}", knob.name);
        }
    }

    #[test]
    fn what_may_not_be_written_is_refused_with_the_bound() {
        let refused = |name: &str, value: &str| find(name).unwrap().accept(value).unwrap_err();
        assert!(refused("vm.swappiness", "201").contains("0 to 200"));
        assert!(refused("vm.swappiness", "much").contains("much"));
        assert!(refused("cpu.governor", "fast").contains("performance"));
        assert!(refused("workqueue.cpus", "").contains("at least one"));
        assert!(refused("adaptive-rx", "auto").contains("on or off"));
        assert_eq!(find("eee").unwrap().accept("off"), Ok("0".to_owned()));
        assert_eq!(find("rps-cpus").unwrap().accept("off"), Ok("0".to_owned()));
        assert_eq!(find("rps-cpus").unwrap().accept("0-1"), Ok("3".to_owned()));
        assert_eq!(find("workqueue.cpus").unwrap().accept("0,33"), Ok("2,00000001".to_owned()));
        assert_eq!(find("kernel.sched_rt_runtime_us").unwrap().accept("-1"), Ok("-1".to_owned()));
    }
}
