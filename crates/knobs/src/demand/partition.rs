//! isolated CPUs at run time.

use units::CpuSet;

use super::{Demand, Group, RequiredSetting, Site};
use crate::{Form, Place, Value};

/// The name of our partition below the root of cgroup v2.
pub const PARTITION: &str = "punctual";

impl Demand {
    /// An isolated partition below the root of cgroup v2.
    pub(super) fn partition(&mut self, cpus: &CpuSet, site: &Site) {
        let about = "mechanism = \"cpuset\"";
        let Some(cgroup) = &site.cgroup2_cpuset else {
            if let Some(cgroup) = &site.cgroup1_cpuset {
                return self.partition_v1(cpus, cgroup, site);
            }
            let why = "control groups are not mounted here with the controller cpuset";
            self.conflict(about, why, "mount cgroup v2 at /sys/fs/cgroup, or take mechanism = \"isolcpus\"");
            return;
        };
        let at_boot = site.profile.isolation.isolated.clone().unwrap_or_default().intersection(cpus);
        let partitioned = site.profile.cpusets.iter().filter(|set| set.is_valid_isolated_partition());
        let of_partitions = partitioned.clone().filter_map(|set| set.granted()).fold(CpuSet::new(), |a, b| a.union(b));
        let at_boot = at_boot.difference(&of_partitions);
        if !at_boot.is_empty() {
            let why =
                format!("the kernel was started with isolcpus= for CPU {at_boot}, which isolates it already, for good");
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
        let step = |knob: &str, place: Place, form: Form, value: String, in_new_folder: bool| RequiredSetting {
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
        // So that a program can put its real-time threads there, and keep the others outside.
        self.push(step("cpuset.type", inside("cgroup.type"), Form::Text, "threaded".to_owned(), true));
        self.push(step("cpuset.cpus", inside("cpuset.cpus"), Form::CpuList, cpus.to_string(), true));
        self.push(step(
            "cpuset.partition",
            inside("cpuset.cpus.partition"),
            Form::Partition,
            "isolated".to_owned(),
            true,
        ));
    }
}
