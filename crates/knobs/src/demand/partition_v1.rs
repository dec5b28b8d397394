//! isolated CPUs at run time where there is cgroup v1 alone (Documentation/admin-guide/cgroup-v1/cpusets.rst).
//!
//! That version has no partitions: a group of its own has the CPUs and is not balanced, the root is not balanced either, and
//! all others are in a second group, which is.

use units::CpuSet;

use super::{Cgroup1, Demand, Group, PARTITION, RequiredSetting, Site};
use crate::{Form, Place, Value};

/// The group of all others, beside ours.
const OTHERS: &str = "punctual-others";

impl Demand {
    pub(super) fn partition_v1(&mut self, cpus: &CpuSet, cgroup: &Cgroup1, site: &Site) {
        let about = "mechanism = \"cpuset\"";
        let root = &cgroup.path;
        let (ours, others) = (format!("{root}/{PARTITION}"), format!("{root}/{OTHERS}"));
        let foreign = site.profile.cpusets.iter().filter(|set| set.version == 1).find(|set| {
            let is_ours = set.path == *root || set.path == ours || set.path == others;
            !is_ours && set.cpus.as_ref().is_some_and(|of| !of.intersection(cpus).is_empty())
        });
        if let Some(set) = foreign {
            let why =
                format!("the group {} of cgroup v1 has some of them, and no two may have exclusive ones", set.path);
            self.conflict(about, why, "take other CPUs, or end that group first");
            return;
        }
        let rest = site.profile.cpus.online.clone().unwrap_or_default().difference(cpus);
        let mut step = |knob: &str, place: Place, form: Form, value: &str, in_new_folder: bool| {
            self.wanted.push(RequiredSetting {
                knob: knob.to_owned(),
                of: String::new(),
                // A process that cannot be moved does no harm; it is reported.
                may_refuse: matches!(place, Place::Tasks { .. }),
                place,
                form,
                value: Value::text(value),
                group: Group::Partition,
                why: "the scheduler leaves these CPUs to what is put into the group (cgroup v1)".to_owned(),
                cost: "throughput: other tasks have fewer CPUs".to_owned(),
                is_named: true,
                in_new_folder,
            });
        };
        for (knob, folder, cpus) in [("cpuset", &ours, cpus), ("cpuset-others", &others, &rest)] {
            let inside = |name: &str| Place::attribute(format!("{folder}/{name}"));
            step(&format!("{knob}.group"), Place::Folder { path: folder.clone() }, Form::Text, "", false);
            step(&format!("{knob}.cpus"), inside("cpuset.cpus"), Form::CpuList, &cpus.to_string(), true);
            step(&format!("{knob}.mems"), inside("cpuset.mems"), Form::CpuList, &cgroup.mems, true);
        }
        let inside = |name: &str| Place::attribute(format!("{ours}/{name}"));
        step("cpuset.exclusive", inside("cpuset.cpu_exclusive"), Form::Integer, "1", true);
        step("cpuset.balance", inside("cpuset.sched_load_balance"), Form::Integer, "0", true);
        let tasks = Place::Tasks { path: others.clone(), from: root.clone() };
        step("cpuset-others.tasks", tasks, Form::FirstWord, "moved", true);
        let balance = Place::attribute(format!("{root}/cpuset.sched_load_balance"));
        step("cpuset-root.balance", balance, Form::Integer, "0", false);
    }
}
