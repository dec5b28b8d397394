//! From an intent to the values that places must have, based on the profile of a node.

mod at_boot;
mod by_tuned;
mod files;
mod idle;
mod named;
mod nic;
mod off_limits;
mod partition;
mod partition_v1;
mod tai;
mod themes;
mod threads;
mod time;

use profile::Profile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::catalogue::{self, Knob};
use crate::intent::{Irqs, PowerWish, RtThrottling};
use crate::time::TimeSite;
use crate::tuned::Tuned;
use crate::{Form, Intent, KnobScope, Mechanism, Place, Value, boot};

pub use partition::PARTITION;

/// Where cgroup v1 has the controller `cpuset`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cgroup1 {
    /// Where it is mounted.
    pub path: String,
    /// The memory nodes of its root (cpuset.mems), which a group needs before it takes processes.
    pub mems: String,
}

/// What a node is, beyond its profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// The profile of the machine.
    pub profile: Profile,
    /// Where cgroup v2 is mounted, if it has the controller `cpuset`, which cgroup v1 may hold instead.
    pub cgroup2_cpuset: Option<String>,
    /// The same of cgroup v1, which old boards have alone.
    pub cgroup1_cpuset: Option<Cgroup1>,
    /// TuneD, where it is installed.
    pub tuned: Option<Tuned>,
    /// The files that show which boot loader there is, and its configuration.
    pub boot: boot::BootFiles,
    /// Time services that are installed, and those that run.
    pub time: TimeSite,
}

/// In which order settings are made: those of a group together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// Services that would change the same stop.
    Services,
    /// CPUs are isolated.
    Partition,
    /// The kernel's own work leaves them.
    Work,
    /// Queues and rings of network cards, which are recreated, and with them interrupts.
    Links,
    /// Interrupts leave them.
    Irqs,
    /// How threads are scheduled.
    Threads,
    /// Frequencies and idle states.
    Power,
    /// What may take a CPU away from a real-time task.
    Throttle,
    /// Single knobs by name.
    Single,
    /// Configuration of time services.
    TimeFiles,
    /// The kernel learns TAI less UTC.
    TaiOffset,
    /// Time services start.
    TimeServices,
    /// The kernel's command line at the next boot.
    Boot,
}

/// One thing that has to stand at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredSetting {
    /// The knob's name.
    pub knob: String,
    /// Of which CPU, interrupt or interface; empty where there is one.
    pub of: String,
    /// The place to write to.
    pub place: Place,
    /// How its texts are written.
    pub form: Form,
    /// The value to write.
    pub value: Value,
    /// With which others.
    pub group: Group,
    /// The reason for the change.
    pub why: String,
    /// What it costs; empty where nothing is known.
    pub cost: String,
    /// Whether the kernel may refuse it without harm, as it does for interrupts that it manages itself.
    pub may_refuse: bool,
    /// Whether the user named it: then it must be there.
    pub is_named: bool,
    /// Whether it stands in a folder that this same intent makes, and goes with it.
    pub in_new_folder: bool,
}

/// Why an intent cannot be had on a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Conflict {
    /// The part of the intent.
    pub about: String,
    /// The reason why it is impossible.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

/// What has to stand where, and what stands in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// In the order in which it is to be made.
    pub wanted: Vec<RequiredSetting>,
    /// Why some of it cannot be had.
    pub conflicts: Vec<Conflict>,
    /// What a person should know.
    pub notes: Vec<String>,
}

impl Demand {
    /// Of an intent on a node.
    #[must_use]
    pub fn from_intent(intent: &Intent, site: &Site) -> Self {
        Self::beside(intent, site, &CpuSet::new())
    }

    /// The same while CPUs are measured: what is asked for by name moves no work onto these.
    #[must_use]
    pub fn beside(intent: &Intent, site: &Site, measured: &CpuSet) -> Self {
        let mut demand = Self::default();
        let isolate = demand.checked_cpus(intent, site);
        if let Some(cpus) = &isolate {
            match intent.mechanism() {
                Mechanism::Cpuset => demand.partition(cpus, site),
                Mechanism::Isolcpus => {}
                Mechanism::Tuned => demand.tuned(cpus, intent, site),
            }
            if intent.mechanism() != Mechanism::Tuned {
                demand.work(cpus, intent.mechanism(), site);
            }
        }
        for (pattern, scheduling) in &intent.thread {
            demand.threads(pattern, scheduling, site);
        }
        if intent.isolate.is_none() && intent.mechanism == Some(Mechanism::Tuned) {
            demand.conflict("mechanism = \"tuned\"", "no CPU is named to isolate", "say which with isolate = \"…\"");
        }
        let at_boot = isolate.as_ref().filter(|_| intent.mechanism() == Mechanism::Isolcpus);
        demand.boot(at_boot, intent, site);
        match (intent.irqs, &isolate) {
            (Some(Irqs::Housekeeping), _) => demand.irqs(isolate.as_ref(), site),
            // With isolcpus= it leaves them alone by itself.
            (_, Some(cpus)) if intent.mechanism() == Mechanism::Cpuset => demand.balanced(cpus, site),
            _ => {}
        }
        if intent.power == Some(PowerWish::Steady) {
            demand.steady(isolate.as_ref(), site);
        }
        if intent.rt_throttling == Some(RtThrottling::Off) {
            demand.unthrottled(isolate.as_ref(), site);
        }
        for (pattern, value) in &intent.idle {
            demand.idle(pattern, value, isolate.as_ref(), site);
        }
        for (name, value) in &intent.knob {
            demand.single(name, value, site);
        }
        for (interface, knobs) in &intent.nic {
            demand.nic(interface, knobs, site);
        }
        for (path, value) in &intent.file {
            demand.file(path, value, site);
        }
        if let Some(time) = &intent.time {
            demand.time(time, isolate.as_ref(), site);
        }
        demand.settle();
        demand.keep_off(isolate.as_ref(), measured, site);
        demand
    }

    /// Of one value of one knob, for one of those that the machine has.
    #[must_use]
    pub fn of_knob(knob: &'static Knob, name: &str, text: &str) -> Self {
        let mut demand = Self::default();
        demand.named(knob, &[name.to_owned()], text);
        demand
    }

    fn conflict(&mut self, about: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) {
        self.conflicts.push(Conflict { about: about.into(), why: why.into(), remedy: remedy.into() });
    }

    /// The CPUs to isolate, if they can be.
    fn checked_cpus(&mut self, intent: &Intent, site: &Site) -> Option<CpuSet> {
        let cpus = intent.isolate.clone()?;
        let about = format!("isolate = \"{cpus}\"");
        if cpus.is_empty() {
            self.conflict(about, "it names no CPU", "name at least one, or leave the line out");
            return None;
        }
        let Some(online) = site.profile.cpus.online.clone() else {
            self.conflict(about, "which CPUs this machine has could not be read", "see whether /sys is mounted");
            return None;
        };
        let unknown = cpus.difference(&online);
        if !unknown.is_empty() {
            let why = format!("CPU {unknown} is not online: this machine has {online}");
            self.conflict(about, why, format!("choose among {online}"));
            return None;
        }
        let rest = online.difference(&cpus);
        if rest.is_empty() {
            self.conflict(about, "no CPU is left for everything else", format!("leave at least one of {online} out"));
            return None;
        }
        let split = site.profile.cpus.siblings_outside(&cpus);
        if !split.is_empty() {
            self.notes.push(format!(
                "CPU {split} shares its core with an isolated one, and so takes time from it; isolate both, or \
                 switch SMT off"
            ));
        }
        Some(cpus)
    }

    fn push(&mut self, wanted: RequiredSetting) {
        self.wanted.push(wanted);
    }

    /// One knob for all, or some, of what there are.
    fn themed(&mut self, knob: &'static Knob, names: &[String], value: &str, group: Group, why: &str) {
        for name in names {
            self.push(RequiredSetting {
                knob: knob.name.to_owned(),
                of: knob.scope.label(name),
                place: knob.place(name),
                form: knob.form,
                value: Value::text(value),
                group,
                why: why.to_owned(),
                cost: knob.cost.to_owned(),
                may_refuse: knob.scope == KnobScope::Irq,
                is_named: false,
                in_new_folder: false,
            });
        }
    }

    fn themed_all(&mut self, name: &str, cpus: Option<&CpuSet>, value: &str, group: Group, why: &str, site: &Site) {
        if let Some(knob) = catalogue::find(name) {
            let names = knob.scope.names(&site.profile, cpus);
            self.themed(knob, &names, value, group, why);
        }
    }

    /// In order; what two parts of an intent want differently is a conflict, what both want the same is wanted once.
    fn settle(&mut self) {
        self.wanted.sort_by_key(|wanted| wanted.group);
        let mut settled: Vec<RequiredSetting> = Vec::new();
        for wanted in std::mem::take(&mut self.wanted) {
            match settled.iter_mut().find(|earlier| earlier.place == wanted.place) {
                None => settled.push(wanted),
                Some(earlier) if earlier.form.same(&earlier.value, &wanted.value) => {
                    earlier.is_named |= wanted.is_named;
                }
                Some(earlier) => {
                    let [one, other] = [&earlier.value, &wanted.value].map(|value| wanted.form.shown(value));
                    let why = format!("{} would be {one} and {other}", earlier.place);
                    let about = format!("{} {}", wanted.knob, wanted.of);
                    let remedy =
                        "leave one of the two out: a theme (isolate, irqs, power, rt-throttling) sets it as well";
                    self.conflict(about.trim(), why, remedy);
                }
            }
        }
        self.wanted = settled;
    }
}
