//! A machine and a journal that die at an operation.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::rc::Rc;

use knobs::journal::{self, Line, Transaction};
use knobs::{Form, Order, Place, Reading, Value};

use crate::{Machine, Store, StoreError};

/// When a process dies: around which of its operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Death {
    Before(usize),
    After(usize),
    /// In the middle of a line of the journal, or of a file that is written beside the one whose name it is to take.
    Within(usize),
}

/// All that outlives a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct World {
    /// The kernel's files.
    pub(super) attributes: BTreeMap<String, String>,
    /// The group that ordinary processes are in, where it is not the root.
    pub(super) tasks_in: Option<String>,
    /// What a process holds, and its number.
    pub(super) held: Option<(String, u32)>,
    /// Folders of the kernel's.
    pub(super) folders: Vec<String>,
    /// Files on the disk.
    pub(super) files: BTreeMap<String, String>,
    /// What a write that was never finished has left beside files.
    pub(super) unfinished: BTreeSet<String>,
    /// What the boot loader's own configuration was made of.
    pub(super) boot_made_of: BTreeMap<String, String>,
    pub(super) journal: Vec<u8>,
    /// Of the journal, how much a power cut leaves.
    pub(super) synced: usize,
    pub(super) boot_id: String,
}

/// What a file of the kernel's is, by its path.
#[derive(Clone, Copy, Debug)]
pub(super) struct KernelFile {
    form: Form,
    is_energy_preference: bool,
    is_governor: bool,
}

/// Those of the energy preference, where the governor is `performance`.
const BUSY: &str = "Device or resource busy (os error 16)";

impl World {
    /// Those that the tests have. The form is the kernel's own, stated here once more.
    fn kernel_file(&self, path: &str) -> KernelFile {
        let name = path.rsplit('/').next().unwrap_or(path);
        let form = match name {
            "smp_affinity_list" | "cpuset.cpus" | "cpuset.mems" | "watchdog_cpumask" => Form::CpuList,
            "default_smp_affinity" | "cpumask" | "rps_cpus" => Form::CpuMask,
            "enabled" | "defrag" => Form::Chosen,
            "helps" => Form::Switch,
            "swappiness" | "cpuset.sched_load_balance" | "later" => Form::Integer,
            "cpuset.cpus.partition" => Form::Partition,
            "scheduler" | "cpu.max" => Form::AsShown,
            _ => Form::Text,
        };
        let is_energy_preference = name == "energy_performance_preference";
        KernelFile { form, is_energy_preference, is_governor: name == "scaling_governor" }
    }
}

impl KernelFile {
    fn governor_of(path: &str) -> String {
        path.replace("energy_performance_preference", "scaling_governor")
    }

    fn preference_of(path: &str) -> String {
        path.replace("scaling_governor", "energy_performance_preference")
    }

    /// What it shows after a write.
    fn write(self, world: &World, path: &str, text: &str) -> Result<String, String> {
        let governor = world.attributes.get(&Self::governor_of(path)).map(String::as_str);
        if self.is_energy_preference && governor == Some("performance") && text != "performance" {
            return Err(BUSY.to_owned());
        }
        let stood = world.attributes.get(path).ok_or("No such file or directory (os error 2)")?;
        self.form.answer(stood, text).map_err(str::to_owned)
    }

    /// What else changes with it: intel_pstate keeps the preference, and gives it back with the governor.
    fn beside(self, world: &mut World, path: &str, shown: &str) {
        let preference = Self::preference_of(path);
        let kept = format!("{preference} kept");
        match (self.is_governor, shown) {
            (true, "performance") => {
                if let Some(before) = world.attributes.insert(preference, "performance".to_owned()) {
                    world.attributes.insert(kept, before);
                }
            }
            (true, _) => {
                if let Some(before) = world.attributes.remove(&kept) {
                    world.attributes.insert(preference, before);
                }
            }
            _ => {}
        }
    }
}

/// A process: its operations are counted, and after its death nothing it does has an effect.
#[derive(Debug)]
pub(super) struct Process {
    pub(super) world: World,
    pub(super) death: Option<Death>,
    pub(super) operations: usize,
    pub(super) is_dead: bool,
    /// What the kernel makes of what is written.
    pub(super) answers: BTreeMap<String, Result<String, String>>,
}

pub(super) type Shared = Rc<RefCell<Process>>;

impl Process {
    /// Does an operation, unless death comes first; `Err` where nobody is left to see its result.
    fn operate(&mut self, effect: impl FnOnce(&mut World)) -> Result<(), ()> {
        let number = self.operations;
        self.operations += 1;
        if self.is_dead {
            return Err(());
        }
        match self.death {
            Some(Death::Before(at)) if at == number => self.is_dead = true,
            Some(Death::After(at) | Death::Within(at)) if at == number => {
                effect(&mut self.world);
                self.is_dead = true;
            }
            _ => {
                effect(&mut self.world);
                return Ok(());
            }
        }
        Err(())
    }
}

pub(super) struct SimMachine(pub(super) Shared, pub(super) String);

impl Machine for SimMachine {
    fn read(&mut self, place: &Place) -> Reading {
        let process = self.0.borrow();
        let world = &process.world;
        match place {
            Place::Attribute { path } => {
                world.attributes.get(path).map_or(Reading::Missing, |text| Reading::Is(Value::text(text.clone())))
            }
            Place::Word { path, word } => world.attributes.get(path).map_or(Reading::Missing, |text| {
                let has = text.split(' ').any(|found| found == word);
                Reading::Is(if has { Value::text(word.clone()) } else { Value::Absent })
            }),
            Place::Scheduling { .. } | Place::Affinity { .. } => Reading::Missing,
            Place::TunedProfile => {
                let active = world.files.get("/etc/tuned/active_profile");
                Reading::Is(active.map_or(Value::Absent, |text| Value::text(text.clone())))
            }
            Place::Tasks { path, .. } if !world.folders.contains(path) => Reading::Missing,
            Place::Tasks { path, .. } => Reading::Is(Value::text(match world.tasks_in.as_ref() {
                Some(group) if group == path => "moved but for 57 of the kernel's own",
                _ => "31 stay, 1 the first",
            })),
            Place::TaiOffset => Reading::Is(Value::text(world.attributes[place.path()].clone())),
            Place::Service { unit } => {
                world.attributes.get(unit).map_or(Reading::Missing, |text| Reading::Is(Value::text(text.clone())))
            }
            Place::HeldOpen { .. } => {
                let held = world.held.as_ref();
                Reading::Is(held.map_or(Value::Absent, |(us, pid)| Value::Text(format!("{us} by process {pid}"))))
            }
            Place::Ethtool { path, field } => {
                let text = world.attributes.get(&format!("{path}#{field}"));
                text.map_or(Reading::Missing, |text| Reading::Is(Value::text(text.clone())))
            }
            Place::Folder { path } => {
                Reading::Is(if world.folders.contains(path) { Value::text("") } else { Value::Absent })
            }
            Place::File { path } | Place::EfiString { path } => {
                Reading::Is(world.files.get(path).map_or(Value::Absent, |text| Value::text(text.clone())))
            }
        }
    }

    fn write(&mut self, place: &Place, order: &Order) -> Result<(), String> {
        let mut process = self.0.borrow_mut();
        let path = place.path().to_owned();
        let answer = process.answers.get(&path).cloned();
        if let Some(Err(why)) = answer {
            return Err(why);
        }
        let (place, value) = (place.clone(), order.value().clone());
        // The kernel judges what is written by itself: by what its file is, not by what the writer takes it for.
        let kernel = process.world.kernel_file(&path);
        let shown = match (&place, &value, answer) {
            (Place::Attribute { .. }, Value::Text(_), Some(Ok(text))) => text,
            (Place::Attribute { path }, Value::Text(text), _) => kernel.write(&process.world, path, text)?,
            _ => String::new(),
        };
        let is_torn = process.death == Some(Death::Within(process.operations));
        let done = process.operate(|world| match (&place, &value) {
            (Place::TaiOffset, Value::Text(text)) => {
                world.attributes.insert(place.path().to_owned(), text.clone());
            }
            (Place::Attribute { path }, Value::Text(_)) => {
                kernel.beside(world, path, &shown);
                world.attributes.insert(path.clone(), shown);
            }
            (Place::TunedProfile, Value::Text(text)) => {
                world.files.insert("/etc/tuned/active_profile".to_owned(), text.clone());
            }
            (Place::TunedProfile, Value::Absent) => {}
            (Place::Tasks { path, .. }, _) => world.tasks_in = Some(path.clone()),
            (Place::Service { unit: path }, Value::Text(text)) => {
                world.attributes.insert(path.clone(), text.clone());
            }
            (Place::HeldOpen { .. }, value) => {
                let us = |text: &String| text.split(' ').next().unwrap_or_default().to_owned();
                world.held = match value {
                    Value::Text(text) => Some((us(text), world.held.as_ref().map_or(100, |(_, pid)| pid + 1))),
                    Value::Absent => None,
                };
            }
            // A driver that counts in steps of 4.
            (Place::Ethtool { path, field }, Value::Text(text)) => {
                let number: u32 = text.parse().unwrap();
                let rounded = if field == "rx-usecs" { number / 4 * 4 } else { number };
                world.attributes.insert(format!("{path}#{field}"), rounded.to_string());
            }
            (
                Place::Attribute { .. } | Place::Ethtool { .. } | Place::Service { .. } | Place::TaiOffset,
                Value::Absent,
            )
            | (Place::Scheduling { .. } | Place::Affinity { .. }, _) => {}
            (Place::Word { path, word }, Value::Text(_)) => {
                let words = world.attributes.entry(path.clone()).or_default();
                *words = format!("{words} {word}").trim().to_owned();
            }
            (Place::Word { path, word }, Value::Absent) => {
                let words = world.attributes.entry(path.clone()).or_default();
                *words = words.split(' ').filter(|found| found != word).collect::<Vec<_>>().join(" ");
            }
            (Place::Folder { path }, Value::Text(_)) => {
                world.folders.push(path.clone());
                for (name, text) in [
                    ("cpuset.cpus", ""),
                    ("cpuset.cpus.partition", "member"),
                    ("cgroup.type", "domain"),
                    ("cpuset.mems", ""),
                ] {
                    world.attributes.insert(format!("{path}/{name}"), text.to_owned());
                }
            }
            (Place::Folder { path }, Value::Absent) => {
                world.folders.retain(|folder| folder != path);
                // Who is in it goes to the group above.
                world.tasks_in.take_if(|group| group == path);
                world.attributes.retain(|file, _| !file.starts_with(&format!("{path}/")));
            }
            (Place::File { path }, Value::Text(_)) if is_torn => {
                world.unfinished.insert(path.clone());
            }
            (Place::File { path } | Place::EfiString { path }, Value::Text(text)) => {
                world.unfinished.remove(path);
                world.files.insert(path.clone(), text.clone());
            }
            (Place::File { path } | Place::EfiString { path }, Value::Absent) => {
                world.unfinished.remove(path);
                world.files.remove(path);
            }
        });
        done.map_err(|()| "dead".to_owned())
    }

    fn tidy(&mut self, place: &Place) {
        // Nobody is left to see that it was not done.
        let _ = self.0.borrow_mut().operate(|world| {
            world.unfinished.remove(place.path());
        });
    }

    fn run(&mut self, _: &[&str]) -> Result<(), String> {
        let made = self.0.borrow_mut().operate(|world| world.boot_made_of = world.files.clone());
        made.map_err(|()| "dead".to_owned())
    }

    fn boot_id(&self) -> &str {
        &self.1
    }
}

pub(super) struct SimStore(pub(super) Shared);

impl Store for SimStore {
    fn append(&mut self, line: &Line) -> io::Result<()> {
        let mut process = self.0.borrow_mut();
        let mut text = line.text().into_bytes();
        if process.death == Some(Death::Within(process.operations)) {
            text.truncate(text.len() / 2);
        }
        // As the real one does: what was torn is cut off before more is written.
        let done = process.operate(|world| {
            let whole = world.journal.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
            world.journal.truncate(whole);
            world.journal.extend(text);
        });
        done.map_err(|()| io::Error::other("dead"))
    }

    fn sync(&mut self) -> io::Result<()> {
        let done = self.0.borrow_mut().operate(|world| world.synced = world.journal.len());
        done.map_err(|()| io::Error::other("dead"))
    }

    fn transactions(&mut self) -> Result<Vec<Transaction>, StoreError> {
        Ok(journal::read(&self.0.borrow().world.journal).unwrap().0)
    }

    fn replace(&mut self, kept: &[Transaction]) -> io::Result<()> {
        let text: String = kept.iter().flat_map(Transaction::lines).map(|line| line.text()).collect();
        let done = self.0.borrow_mut().operate(|world| {
            world.journal = text.into_bytes();
            world.synced = world.journal.len();
        });
        done.map_err(|()| io::Error::other("dead"))
    }

    fn clear(&mut self) -> io::Result<()> {
        let done = self.0.borrow_mut().operate(|world| {
            world.journal.clear();
            world.synced = 0;
        });
        done.map_err(|()| io::Error::other("dead"))
    }
}
