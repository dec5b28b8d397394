//! From what a user wants to what has to stand where, as far as the profile of a node tells.

use profile::Profile;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::CpuSet;

use crate::catalogue::{self, Knob};
use crate::intent::{Irqs, KnobValue, PowerWish, RtThrottling};
use crate::{Form, Intent, KnobScope, Mechanism, Place, Value, boot};

/// What a node is, beyond its profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Site {
    /// Its profile.
    pub profile: Profile,
    /// Where cgroup v2 is mounted, if it has the controller `cpuset`, which cgroup v1 may hold instead.
    pub cgroup2_cpuset: Option<String>,
    /// How parameters get onto the kernel's command line; `None` where nothing that is known does.
    pub boot_loader: Option<boot::Loader>,
    /// What stands in our own file of that boot loader.
    pub boot_content: Option<String>,
}

/// In which order settings are made: those of a group together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Group {
    /// CPUs are set apart.
    Partition,
    /// The kernel's own work leaves them.
    Work,
    /// Interrupts leave them.
    Irqs,
    /// Frequencies and idle states.
    Power,
    /// What may take a CPU away from a real-time task.
    Throttle,
    /// Single knobs.
    Single,
    /// What the kernel is told at its next start.
    Boot,
}

/// One thing that has to stand at a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The knob's name.
    pub knob: String,
    /// Of which CPU, interrupt or interface; empty where there is one.
    pub of: String,
    /// Where.
    pub place: Place,
    /// How its texts are written.
    pub form: Form,
    /// What.
    pub value: Value,
    /// With which others.
    pub group: Group,
    /// Why.
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
    /// Why not.
    pub why: String,
    /// What to do.
    pub remedy: String,
}

/// What has to stand where, and what stands in the way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// In the order in which it is to be made.
    pub wanted: Vec<Wanted>,
    /// Why some of it cannot be had.
    pub conflicts: Vec<Conflict>,
    /// What a person should know.
    pub notes: Vec<String>,
}

impl Demand {
    /// Of an intent on a node.
    #[must_use]
    pub fn of(intent: &Intent, site: &Site) -> Self {
        let mut demand = Self::default();
        let isolate = demand.checked_cpus(intent, site);
        if let Some(cpus) = &isolate {
            if intent.mechanism() == Mechanism::Cpuset {
                demand.partition(cpus, site);
            }
            demand.work(cpus, site);
        }
        let at_boot = isolate.as_ref().filter(|_| intent.mechanism() == Mechanism::Isolcpus);
        demand.boot(at_boot, intent, site);
        if intent.irqs == Some(Irqs::Housekeeping) {
            demand.irqs(isolate.as_ref(), site);
        }
        if intent.power == Some(PowerWish::Steady) {
            demand.steady(isolate.as_ref(), site);
        }
        if intent.rt_throttling == Some(RtThrottling::Off) {
            demand.unthrottled(isolate.as_ref(), site);
        }
        for (name, value) in &intent.knob {
            demand.single(name, value, site);
        }
        for (interface, knobs) in &intent.nic {
            for (name, value) in knobs {
                demand.of_interface(interface, name, value, site);
            }
        }
        demand.settle();
        demand
    }

    fn conflict(&mut self, about: impl Into<String>, why: impl Into<String>, remedy: impl Into<String>) {
        self.conflicts.push(Conflict { about: about.into(), why: why.into(), remedy: remedy.into() });
    }

    /// The CPUs to set apart, where they can be.
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
                "CPU {split} shares its core with one that is set apart, and so takes time from it; set both apart, or \
                 switch SMT off"
            ));
        }
        Some(cpus)
    }

    fn push(&mut self, wanted: Wanted) {
        self.wanted.push(wanted);
    }

    /// An isolated partition below the root of cgroup v2.
    fn partition(&mut self, cpus: &CpuSet, site: &Site) {
        let about = "mechanism = \"cpuset\"";
        let Some(cgroup) = &site.cgroup2_cpuset else {
            let why = "cgroup v2 is not mounted here with the controller cpuset, which cgroup v1 may hold";
            self.conflict(about, why, "mount it at /sys/fs/cgroup, or take mechanism = \"isolcpus\"");
            return;
        };
        let at_boot = site.profile.isolation.isolated.clone().unwrap_or_default().intersection(cpus);
        let partitioned = site.profile.cpusets.iter().filter(|set| set.is_valid_isolated_partition());
        let of_partitions = partitioned.clone().filter_map(|set| set.granted()).fold(CpuSet::new(), |a, b| a.union(b));
        let at_boot = at_boot.difference(&of_partitions);
        if !at_boot.is_empty() {
            let why =
                format!("the kernel was started with isolcpus= for CPU {at_boot}, so a partition with it is invalid");
            self.conflict(about, why, "take mechanism = \"isolcpus\", or start the kernel without isolcpus=");
            return;
        }
        let folder = format!("{cgroup}/{PARTITION}");
        let foreign = partitioned
            .filter(|set| !set.path.ends_with(&format!("/{PARTITION}")))
            .find(|set| set.granted().is_some_and(|granted| !granted.intersection(cpus).is_empty()));
        if let Some(set) = foreign {
            let why = format!("the partition {} has some of them already", set.path);
            self.conflict(about, why, "take other CPUs, or end that partition first");
            return;
        }
        let why = "the scheduler leaves these CPUs to what is put into the partition";
        let step = |knob: &str, place: Place, form: Form, value: String, in_new_folder: bool| Wanted {
            knob: knob.to_owned(),
            of: String::new(),
            place,
            form,
            value: Value::Text(value),
            group: Group::Partition,
            why: why.to_owned(),
            cost: "throughput: other tasks have fewer CPUs".to_owned(),
            may_refuse: false,
            is_named: true,
            in_new_folder,
        };
        let word = Place::Word { path: format!("{cgroup}/cgroup.subtree_control"), word: "cpuset".to_owned() };
        self.push(step("cpuset.controller", word, Form::Text, "cpuset".to_owned(), false));
        let make = Place::Folder { path: folder.clone() };
        self.push(step("cpuset.group", make, Form::Text, String::new(), false));
        let inside = |name: &str| Place::attribute(format!("{folder}/{name}"));
        self.push(step("cpuset.cpus", inside("cpuset.cpus"), Form::CpuList, cpus.to_string(), true));
        self.push(step("cpuset.partition", inside("cpuset.cpus.partition"), Form::Text, "isolated".to_owned(), true));
    }

    /// The parameters that set CPUs apart at the next start.
    fn isolating(&mut self, cpus: &CpuSet, site: &Site) -> Vec<String> {
        if site.profile.isolated_cpus() == *cpus && site.boot_content.is_none() {
            // Set apart by the user's own parameters or partition, which stay.
            return Vec::new();
        }
        let online = site.profile.cpus.online.clone().unwrap_or_default();
        boot::isolating(cpus, &online.difference(cpus), &site.profile)
    }

    /// The parameters that were asked for by name, and what they cost.
    fn parameters(&mut self, intent: &Intent) -> (Vec<String>, Vec<&'static str>) {
        let (mut texts, mut costs) = (Vec::new(), Vec::new());
        for (name, value) in &intent.boot {
            let about = format!("[boot] {name}");
            let Some(parameter) = boot::PARAMETERS.iter().find(|parameter| parameter.name == name) else {
                let known: Vec<&str> = boot::PARAMETERS.iter().map(|parameter| parameter.name).collect();
                self.conflict(
                    about,
                    "it is no parameter that is known here",
                    format!("known are {}", known.join(", ")),
                );
                continue;
            };
            match parameter.accept(value) {
                Ok(text) => {
                    costs.extend(text.is_some().then_some(parameter.cost).filter(|cost| !cost.is_empty()));
                    texts.extend(text);
                }
                Err(bound) => self.conflict(about, format!("it {bound}"), parameter.about),
            }
        }
        (texts, costs)
    }

    /// Parameters of the kernel's command line: all in one file.
    fn boot(&mut self, isolate: Option<&CpuSet>, intent: &Intent, site: &Site) {
        let mut parameters = isolate.map(|cpus| self.isolating(cpus, site)).unwrap_or_default();
        let mut costs =
            if parameters.is_empty() { Vec::new() } else { vec!["throughput: other tasks have fewer CPUs"] };
        let (named, named_costs) = self.parameters(intent);
        parameters.extend(named);
        costs.extend(named_costs);
        if parameters.is_empty() {
            return;
        }
        let about = "boot parameters";
        let Some(loader) = &site.boot_loader else {
            let remedy =
                "take mechanism = \"cpuset\", or set the parameters by hand: 'punctual explain no-cpu-set-apart'";
            self.conflict(about, "no boot loader was found whose configuration is known", remedy);
            return;
        };
        let ours = site.boot_content.as_deref().map(|content| loader.parameters(content)).unwrap_or_default();
        if let Some(given) = boot::given_elsewhere(&parameters, &ours, &site.profile) {
            let why = format!("{given} stands on the kernel's command line already, from elsewhere");
            self.conflict(
                about,
                why,
                "remove it where it was set: which of two the kernel obeys depends on the parameter",
            );
            return;
        }
        costs.dedup();
        self.push(Wanted {
            knob: "boot.parameters".to_owned(),
            of: String::new(),
            place: loader.place(),
            form: Form::Text,
            value: Value::Text(loader.content(&parameters)),
            group: Group::Boot,
            why: format!("the kernel starts with {}", parameters.join(" ")),
            cost: costs.join("; "),
            may_refuse: false,
            is_named: true,
            in_new_folder: false,
        });
    }

    /// One knob for all, or some, of what there are.
    fn themed(&mut self, knob: &'static Knob, names: &[String], value: &str, group: Group, why: &str) {
        for name in names {
            self.push(Wanted {
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

    /// What the kernel does for itself goes to the other CPUs.
    fn work(&mut self, isolated: &CpuSet, site: &Site) {
        let rest = site.profile.cpus.online.clone().unwrap_or_default().difference(isolated);
        let why = "the kernel's own work leaves the CPUs that are set apart";
        for name in ["workqueue.cpus", "writeback.cpus"] {
            self.themed_all(name, None, &rest.to_mask(), Group::Work, why, site);
        }
        let why = "the watchdog's timer leaves the CPUs that are set apart";
        self.themed_all("kernel.watchdog_cpumask", None, &rest.to_string(), Group::Work, why, site);
        let why = "counters of memory are folded on every CPU, each time";
        self.themed_all("vm.stat_interval", None, "120", Group::Work, why, site);
        let why = "timers stay where they were set, and do not come to a CPU that is set apart";
        self.themed_all("kernel.timer_migration", None, "0", Group::Work, why, site);
    }

    fn irqs(&mut self, isolated: Option<&CpuSet>, site: &Site) {
        let Some(isolated) = isolated else {
            self.conflict(
                "irqs = \"housekeeping\"",
                "no CPU is set apart, so none is kept for housekeeping",
                "say which with isolate = \"…\"",
            );
            return;
        };
        let rest = site.profile.cpus.online.clone().unwrap_or_default().difference(isolated);
        let why = "interrupts leave the CPUs that are set apart";
        self.themed_all("irq.default-cpus", None, &rest.to_mask(), Group::Irqs, why, site);
        let Some(knob) = catalogue::find("irq.cpus") else { return };
        for irq in &site.profile.irqs.lines {
            let Some(affinity) = &irq.affinity else { continue };
            if affinity.intersection(isolated).is_empty() {
                continue;
            }
            let kept = affinity.difference(isolated);
            let to = if kept.is_empty() { &rest } else { &kept };
            self.themed(knob, &[irq.number.to_string()], &to.to_string(), Group::Irqs, why);
            if let Some(last) = self.wanted.last_mut() {
                last.of = irq.label();
            }
        }
        if site.profile.services.named("irqbalance").is_some() {
            self.conflict(
                "irqs = \"housekeeping\"",
                "irqbalance runs, and moves interrupts by rules of its own",
                "'systemctl disable --now irqbalance', or IRQBALANCE_BANNED_CPULIST in /etc/default/irqbalance and no irqs here",
            );
        }
    }

    fn steady(&mut self, isolated: Option<&CpuSet>, site: &Site) {
        let why = "the frequency does not change";
        self.themed_all("cpu.governor", isolated, "performance", Group::Power, why, site);
        self.themed_all("cpu.energy-preference", isolated, "performance", Group::Power, why, site);
        let why = "an idle CPU has no way out of a deep state before it";
        self.themed_all("cpu.resume-latency-us", isolated, "n/a", Group::Power, why, site);
    }

    fn unthrottled(&mut self, isolated: Option<&CpuSet>, site: &Site) {
        let why = "nothing takes a CPU from a real-time task that needs it longer";
        self.themed_all("kernel.sched_rt_runtime_us", None, "-1", Group::Throttle, why, site);
        self.themed_all("fair-server.runtime-ns", isolated, "0", Group::Throttle, why, site);
    }

    fn single(&mut self, name: &str, value: &KnobValue, site: &Site) {
        let about = format!("[knob] \"{name}\"");
        let Some(knob) = catalogue::find(name) else {
            self.conflict(about, "there is no knob of that name", near(name));
            return;
        };
        let names = match knob.scope {
            KnobScope::Irq | KnobScope::Interface => {
                let remedy = if knob.scope == KnobScope::Irq {
                    "say irqs = \"housekeeping\""
                } else {
                    "say it in [nic.INTERFACE]"
                };
                self.conflict(about, "there are many of it, and which is meant is not said", remedy);
                return;
            }
            scope => scope.names(&site.profile, None),
        };
        match knob.accept(&value.text()) {
            Ok(text) => self.named(knob, &names, &text),
            Err(bound) => self.conflict(about, format!("it {bound}"), knob.source),
        }
    }

    fn of_interface(&mut self, interface: &str, name: &str, value: &KnobValue, site: &Site) {
        let about = format!("[nic.{interface}] {name}");
        if !site.profile.net.interfaces.iter().any(|nic| nic.name == interface) {
            let names: Vec<&str> = site.profile.net.interfaces.iter().map(|nic| nic.name.as_str()).collect();
            let remedy = if names.is_empty() {
                "this machine has none".to_owned()
            } else {
                format!("choose among {}", names.join(", "))
            };
            self.conflict(about, "there is no such interface with a device behind it", remedy);
            return;
        }
        let knob = catalogue::find(name).filter(|knob| knob.scope == KnobScope::Interface);
        let Some(knob) = knob else {
            let known: Vec<&str> =
                catalogue::all().filter(|knob| knob.scope == KnobScope::Interface).map(|knob| knob.name).collect();
            self.conflict(about, "interfaces have no knob of that name", format!("known are {}", known.join(", ")));
            return;
        };
        match knob.accept(&value.text()) {
            Ok(text) => self.named(knob, &[interface.to_owned()], &text),
            Err(bound) => self.conflict(about, format!("it {bound}"), knob.source),
        }
    }

    fn named(&mut self, knob: &'static Knob, names: &[String], value: &str) {
        let before = self.wanted.len();
        self.themed(knob, names, value, Group::Single, "it was asked for by name");
        self.wanted[before..].iter_mut().for_each(|wanted| wanted.is_named = true);
    }

    /// In order; what two parts of an intent want differently is a conflict, what both want the same is wanted once.
    fn settle(&mut self) {
        self.wanted.sort_by_key(|wanted| wanted.group);
        let mut settled: Vec<Wanted> = Vec::new();
        for wanted in std::mem::take(&mut self.wanted) {
            match settled.iter_mut().find(|earlier| earlier.place == wanted.place) {
                None => settled.push(wanted),
                Some(earlier) if earlier.form.same(&earlier.value, &wanted.value) => {
                    earlier.is_named |= wanted.is_named;
                }
                Some(earlier) => {
                    let why = format!("{} would be {} and {}", earlier.place, earlier.value, wanted.value);
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

/// The name of our partition below the root of cgroup v2.
pub const PARTITION: &str = "punctual";

/// What to do about an unknown name: those that are like it, else how to see all.
fn near(name: &str) -> String {
    let last = name.rsplit(['.', '-']).next().unwrap_or(name);
    let like: Vec<&str> = catalogue::all().map(|knob| knob.name).filter(|known| known.contains(last)).collect();
    if like.is_empty() || last.is_empty() {
        "'punctual tune knobs' lists all".to_owned()
    } else {
        format!("did you mean {}?", like.join(" or "))
    }
}
