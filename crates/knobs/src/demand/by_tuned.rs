//! CPUs isolated by a TuneD profile.

use profile::cmdline::Param;
use profile::kernel::Preemption;
use units::CpuSet;

use super::off_limits::rest;
use super::{Demand, Group, RequiredSetting, Site};
use crate::tuned::{self, TunedProfile};
use crate::{Form, Intent, Place, Value, catalogue};

impl Demand {
    /// The profile, its CPUs, and the settings that it has to make, which are checked.
    pub(super) fn tuned(&mut self, cpus: &CpuSet, intent: &Intent, site: &Site) {
        let about = "mechanism = \"tuned\"";
        let Some(installed) = &site.tuned else {
            let remedy = "install TuneD, or take mechanism = \"cpuset\" or \"isolcpus\"";
            return self.conflict(about, "TuneD is not installed: there is no /usr/sbin/tuned-adm", remedy);
        };
        let by_kernel = match site.profile.kernel.preemption {
            Preemption::Realtime => TunedProfile::Realtime,
            _ => TunedProfile::CpuPartitioning,
        };
        let profile = intent.tuned_profile.unwrap_or(by_kernel);
        let name = profile.name();
        let Some((_, variables)) = installed.profiles.iter().find(|(one, _)| *one == profile) else {
            let remedy = format!("install it (on some systems the package tuned-profiles-{name}), or name another one");
            return self.conflict(about, format!("TuneD has no profile {name} here"), remedy);
        };
        let active = site.profile.services.tuned_profile.as_deref();
        let is_active = TunedProfile::ALL.iter().any(|one| active == Some(one.name()));
        let given = site.profile.kernel.params_named(profile.parameter()).next().map(Param::text);
        if let (Some(given), false) = (given, is_active) {
            let why = format!("{given} stands on the kernel's command line already, from elsewhere");
            return self.conflict(about, why, "remove it where it was set, or take mechanism = \"isolcpus\"");
        }
        let why = format!("TuneD sets CPU {cpus} apart by its profile {name}");
        let mut step = |knob: &str, place: Place, value: String, cost: &str, group: Group| {
            self.wanted.push(RequiredSetting {
                knob: knob.to_owned(),
                of: String::new(),
                place,
                form: Form::Text,
                value: Value::Text(value),
                group,
                why: why.clone(),
                cost: cost.to_owned(),
                may_refuse: false,
                is_named: true,
                in_new_folder: false,
            });
        };
        let unit = Place::Service { unit: tuned::UNIT.to_owned() };
        step("service.tuned", unit, "active".to_owned(), "", Group::Services);
        let file = Place::File { path: profile.variables() };
        step("tuned.variables", file, tuned::with_cores(variables, cpus), "", Group::Partition);
        let cost = "throughput: other tasks have fewer CPUs; power: intel_pstate=disable, tsc=reliable and the like from the \
                    next start on, as the profile has it";
        step("tuned.profile", Place::TunedProfile, format!("manual {name}"), cost, Group::Partition);
        let why = format!("TuneD's profile {name} sets it, and it is made sure of");
        let rest = rest(cpus, site);
        self.themed_all("workqueue.cpus", None, &rest.to_mask(), Group::Work, &why, site);
        for (knob, value) in profile.settings() {
            debug_assert!(catalogue::find(knob).is_some());
            self.themed_all(knob, None, value, Group::Work, &why, site);
        }
        self.notes.push(
            "TuneD writes a line of its own to /etc/default/grub where it changes boot parameters; that line stays after \
             'punctual tune revert', and says nothing then"
                .to_owned(),
        );
    }
}
