//! CPUs that no plan may move work onto: isolated ones, and those that are measured meanwhile.

use units::CpuSet;

use super::{Demand, Site};
use crate::catalogue::{self, Values};
use crate::{Form, KnobScope, Place};

/// The form of a file of the kernel's that holds CPUs, also where it is none of the knobs: a mask and a list are two
/// encodings of the same set.
pub(super) fn form_of_file(path: &str) -> Option<Form> {
    let is_knob = |path: &str, pattern: &str| match pattern.split_once("{}") {
        Some((start, end)) => path.len() > start.len() + end.len() && path.starts_with(start) && path.ends_with(end),
        None => path == pattern,
    };
    let knob = catalogue::all().find(|knob| knob.how == catalogue::How::File && is_knob(path, knob.path));
    knob.map(|knob| knob.form).or_else(|| match path.rsplit('/').next()? {
        "smp_affinity" | "default_smp_affinity" | "cpumask" => Some(Form::CpuMask),
        "smp_affinity_list" | "cpuset.cpus" | "cpuset.cpus.exclusive" => Some(Form::CpuList),
        "cpuset.cpus.partition" => Some(Form::Partition),
        _ => None,
    })
}

/// Whether the CPUs that stand at a place are those on which the kernel does work: interrupts, work queues, watchdogs,
/// packets that are handed on. A sending queue is served by whoever sends, and a group's CPUs serve the group alone.
fn places_work(knob: &str, place: &Place) -> bool {
    match catalogue::find(knob) {
        Some(knob) => {
            matches!(knob.values, Values::Cpus | Values::CpusOrNone) && knob.scope != KnobScope::TransmitQueue
        }
        None => {
            let name = place.path().rsplit('/').next().unwrap_or_default();
            knob == "file" && !matches!(name, "xps_cpus" | "cpuset.cpus" | "cpuset.cpus.exclusive")
        }
    }
}

/// The CPUs for everything else: neither those that are to be isolated nor those that are isolated already, as long as
/// any are left.
pub(super) fn rest(isolated: &CpuSet, site: &Site) -> CpuSet {
    let others = site.profile.cpus.online.clone().unwrap_or_default().difference(isolated);
    let free = others.difference(&site.profile.isolated_cpus());
    if free.is_empty() { others } else { free }
}

impl Demand {
    /// Whether these CPUs, which a person named, are on this machine; where not, that is a conflict.
    pub(super) fn are_online(&mut self, about: &str, cpus: Option<&CpuSet>, site: &Site) -> bool {
        let (Some(cpus), Some(online)) = (cpus, site.profile.cpus.online.as_ref()) else { return true };
        let unknown = cpus.difference(online);
        if !unknown.is_empty() {
            let why = format!("CPU {unknown} is not online: this machine has {online}");
            self.conflict(about, why, format!("choose among {online}; CPUs are a list, as 0-1, and no mask"));
        }
        unknown.is_empty()
    }

    /// Adds a conflict for each change that would move the kernel's work onto CPUs that are isolated, or, where a person
    /// asked for it by name, onto some that are measured. Where every CPU is measured there is nowhere else.
    pub(super) fn keep_off(&mut self, isolate: Option<&CpuSet>, measured: &CpuSet, site: &Site) {
        let online = site.profile.cpus.online.clone().unwrap_or_default();
        let has_elsewhere = |cpus: &CpuSet| !online.difference(cpus).is_empty();
        let isolated = isolate.cloned().unwrap_or_default().union(&site.profile.isolated_cpus());
        let mut conflicts = Vec::new();
        for wanted in self.wanted.iter().filter(|wanted| places_work(&wanted.knob, &wanted.place)) {
            let Some(cpus) = wanted.form.cpus(&wanted.value) else { continue };
            let onto = |these: &CpuSet| Some(cpus.intersection(these)).filter(|onto| !onto.is_empty());
            let onto_isolated = onto(&isolated).filter(|_| has_elsewhere(&isolated));
            let onto_measured = onto(measured).filter(|_| wanted.is_named && has_elsewhere(measured));
            let (onto, which, off) = match (onto_isolated, onto_measured) {
                (Some(onto), _) => (onto, "isolated", isolated.union(measured)),
                (None, Some(onto)) => (onto, "measured meanwhile", isolated.union(measured)),
                (None, None) => continue,
            };
            let others = online.difference(&off);
            let remedy = if others.is_empty() {
                "leave it out".to_owned()
            } else {
                format!("choose among {others}, or leave it out")
            };
            let about = format!("{} {}", wanted.knob, wanted.of);
            conflicts.push((about, format!("it would move work onto CPU {onto}, which is {which}"), remedy));
        }
        for (about, why, remedy) in conflicts {
            self.conflict(about.trim(), why, remedy);
        }
    }
}

#[cfg(test)]
mod tests {
    use profile::Profile;
    use proptest::prelude::*;

    use super::*;
    use crate::boot::BootFiles;
    use crate::time::TimeSite;
    use crate::{Intent, Value};

    fn site(online: &CpuSet, at_boot: &CpuSet) -> Site {
        let mut profile = Profile::default();
        profile.cpus.online = Some(online.clone());
        profile.isolation.isolated = Some(at_boot.clone());
        let line = |number: u32| profile::irq::Irq { number, affinity: Some(online.clone()), ..Default::default() };
        profile.irqs.lines = vec![line(9), line(10)];
        Site {
            profile,
            cgroup2_cpuset: Some("/sys/fs/cgroup".to_owned()),
            cgroup1_cpuset: None,
            tuned: None,
            boot: BootFiles::default(),
            time: TimeSite::default(),
        }
    }

    fn set(text: &str) -> CpuSet {
        text.parse().unwrap()
    }

    fn conflicts(intent: &str, online: &str, at_boot: &str, measured: &str) -> Vec<String> {
        let intent = Intent::from_toml(intent).unwrap();
        let demand = Demand::beside(&intent, &site(&set(online), &set(at_boot)), &set(measured));
        demand.conflicts.into_iter().map(|conflict| format!("{}: {}", conflict.about, conflict.why)).collect()
    }

    #[test]
    fn a_mask_that_is_read_as_a_list_is_refused_by_what_it_would_do() {
        let queues = "[knob]\n\"workqueue.cpus\" = \"1\"\n\"writeback.cpus\" = \"1\"\n";
        let said = conflicts(queues, "0-1", "", "1");
        assert_eq!(said.len(), 2, "{said:?}");
        assert!(said[0].contains("workqueue.cpus: it would move work onto CPU 1, which is measured meanwhile"));
        assert!(conflicts(queues, "0-1", "", "0").is_empty());
        assert!(conflicts(queues, "0-1", "1", "")[0].contains("CPU 1, which is isolated"));
        // Where all are measured there is nowhere else.
        assert!(conflicts(queues, "0-1", "", "0-1").is_empty());
        let file = "[file]\n\"/proc/irq/9/smp_affinity\" = \"2\"\n\"/sys/devices/virtual/workqueue/cpumask\" = \"1\"\n";
        let said = conflicts(file, "0-1", "", "1");
        assert!(
            said.len() == 1 && said[0].contains("/proc/irq/9/smp_affinity: it would move work onto CPU 1"),
            "{said:?}"
        );
        let list = "[file]\n\"/proc/irq/9/smp_affinity_list\" = 1\n";
        assert_eq!(conflicts(list, "0-1", "", "1").len(), 1);
    }

    #[test]
    fn cpus_that_the_machine_does_not_have_are_refused() {
        let said = |value: &str| conflicts(&format!("[knob]\n\"workqueue.cpus\" = {value}\n"), "0-1", "", "");
        assert!(said("\"2\"")[0].contains("CPU 2 is not online: this machine has 0-1"));
        assert!(said("2")[0].contains("CPU 2 is not online") && said("\"0-3\"")[0].contains("CPU 2-3 is not online"));
        assert!(said("\"0-1\"").is_empty() && said("1").is_empty());
        assert_eq!(conflicts("[file]\n\"/proc/irq/9/smp_affinity\" = \"4\"\n", "0-1", "", "").len(), 1);
        assert!(conflicts("[file]\n\"/proc/irq/9/smp_affinity\" = \"2\"\n", "0-1", "", "").is_empty());
    }

    proptest! {
        /// Whatever is isolated, is isolated already and is measured: no change of a plan without conflicts has the
        /// kernel's work on an isolated CPU, and none that was asked for by name on a measured one. A theme needs no
        /// conflict for that: it names other CPUs from the start.
        #[test]
        fn no_plan_moves_work_onto_isolated_or_measured_cpus(
            count in 2_u32..8, isolate in 1_u32..4, at_boot in 0_u32..16, measured in 0_u32..255, named in 1_u32..255,
            is_named: bool,
        ) {
            let online: CpuSet = (0..count).collect();
            let of = |bits: u32| (0..count).filter(|cpu| bits >> cpu & 1 == 1).collect::<CpuSet>();
            let (isolate, at_boot, measured, named) = (of(isolate), of(at_boot), of(measured), of(named));
            // What isolcpus= isolates no partition can have.
            let at_boot = at_boot.difference(&isolate);
            let off = isolate.union(&at_boot);
            prop_assume!(!isolate.is_empty() && !named.is_empty() && !online.difference(&off).is_empty());
            let mut intent = format!("isolate = \"{isolate}\"\nirqs = \"housekeeping\"\n");
            if is_named {
                let mask = named.to_mask();
                intent += &format!(
                    "[knob]\n\"kernel.watchdog_cpumask\" = \"{named}\"\n[file]\n\"/proc/irq/11/smp_affinity\" = \"{mask}\"\n"
                );
            }
            let demand = Demand::beside(&Intent::from_toml(&intent).unwrap(), &site(&online, &at_boot), &measured);
            prop_assert!(is_named || demand.conflicts.is_empty(), "{:?}", demand.conflicts);
            if demand.conflicts.is_empty() {
                for wanted in demand.wanted.iter().filter(|wanted| places_work(&wanted.knob, &wanted.place)) {
                    let cpus = wanted.form.cpus(&wanted.value).unwrap();
                    prop_assert!(!cpus.is_empty() && cpus.intersection(&off).is_empty(), "{} {cpus}", wanted.knob);
                    let is_elsewhere = cpus.intersection(&measured).is_empty() || measured == online;
                    prop_assert!(!wanted.is_named || is_elsewhere, "{} {cpus}", wanted.knob);
                }
            }
        }

        /// A set is read from either encoding, and a mask is never taken for a list of CPUs that may do the work.
        #[test]
        fn mask_and_list_are_encodings_of_one_set(bits in 1_u64..) {
            let cpus: CpuSet = (0..64).filter(|cpu| bits >> cpu & 1 == 1).collect();
            let of = |form: Form, text: String| form.cpus(&Value::text(text));
            prop_assert_eq!(of(Form::CpuMask, cpus.to_mask()), Some(cpus.clone()));
            prop_assert_eq!(of(Form::CpuList, cpus.to_string()), Some(cpus.clone()));
            if let Some(taken) = of(Form::CpuList, cpus.to_mask()) {
                prop_assert!(taken.intersection(&cpus).is_empty() || cpus.to_mask().contains(','), "{taken} for {cpus}");
            }
        }
    }
}
