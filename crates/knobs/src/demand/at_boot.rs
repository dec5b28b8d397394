//! The kernel's command line at the next boot.

use profile::Kernel;
use units::CpuSet;

use super::{Demand, Group, RequiredSetting, Site};
use crate::boot::{self, Refusal, Standing, Wish};
use crate::intent::KnobValue;
use crate::{Form, Intent, Value};

/// What `[boot]` calls the kernel.
const KERNEL: &str = "kernel";
const ABOUT: &str = "boot parameters";

/// Why the kernel that will start certainly ignores the preemption model that is asked for, and what to do instead.
fn refused_model(name: &str, value: &KnobValue, intent: &Intent, site: &Site) -> Option<Refusal> {
    if name != "preempt" {
        return None;
    }
    let mut kernel = site.profile.kernel.clone();
    if let Some(KnobValue::Text(release)) = intent.boot.get(KERNEL) {
        if kernel.release.as_deref() != Some(release) {
            // Of a kernel that does not run, its release alone is known.
            kernel = Kernel { release: Some(release.clone()), arch: kernel.arch, ..Kernel::default() };
        }
    }
    if kernel.config.get("CONFIG_PREEMPT_DYNAMIC").is_some_and(|built| built == "n") {
        let why = "this kernel has one preemption model and would ignore the parameter".to_owned();
        return Some(Refusal { why, remedy: "leave it out, or take a kernel with CONFIG_PREEMPT_DYNAMIC".to_owned() });
    }
    let word = value.text();
    (kernel.offers_preempt(&word) == Some(false)).then(|| Refusal {
        why: format!("the kernel has no preemption model '{word}' and would ignore it"),
        remedy: "ask for full, or for lazy where the kernel is 6.13 or newer, or leave it out".to_owned(),
    })
}

impl Demand {
    /// The parameters that set CPUs apart at the next start.
    fn isolating(&mut self, cpus: &CpuSet, site: &Site, standing: Option<&Standing>) -> Vec<String> {
        let is_ours = standing.is_some_and(|standing| !standing.ours.is_empty());
        if site.profile.isolated_cpus() == *cpus && !is_ours {
            // Isolated by the user's own parameters or partition, which stay.
            return Vec::new();
        }
        let online = site.profile.cpus.online.clone().unwrap_or_default();
        boot::isolating(cpus, &online.difference(cpus), &site.profile)
    }

    /// The parameters that were asked for by name, and what they cost.
    fn parameters(&mut self, intent: &Intent, site: &Site) -> (Vec<String>, Vec<&'static str>) {
        let (mut texts, mut costs) = (Vec::new(), Vec::new());
        for (name, value) in intent.boot.iter().filter(|(name, _)| *name != KERNEL) {
            let about = format!("[boot] {name}");
            let Some(parameter) = boot::PARAMETERS.iter().find(|parameter| parameter.name == name) else {
                let known: Vec<&str> = boot::PARAMETERS.iter().map(|parameter| parameter.name).collect();
                self.conflict(
                    about,
                    "it is no parameter that is known here",
                    format!("known are {KERNEL}, {}", known.join(", ")),
                );
                continue;
            };
            if let Some(refusal) = refused_model(name, value, intent, site) {
                self.conflict(about, refusal.why, refusal.remedy);
                continue;
            }
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

    /// The kernel that is asked for, where it is installed; `Err` where it cannot be had.
    fn kernel<'a>(&mut self, intent: &'a Intent, site: &Site) -> Result<Option<&'a str>, ()> {
        let Some(value) = intent.boot.get(KERNEL) else { return Ok(None) };
        let found = match value {
            KnobValue::Text(release) => boot::installed(release, &site.boot),
            other => {
                let why = format!("it is {}, not the release of a kernel in quotes", other.text());
                Err(Refusal { why, remedy: format!("there are {}", site.boot.kernels().join(", ")) })
            }
        };
        found.map(Some).map_err(|refusal| self.conflict(format!("[boot] {KERNEL}"), refusal.why, refusal.remedy))
    }

    /// Parameters of the kernel's command line, and which kernel: what is written for the boot loader.
    pub(super) fn boot(&mut self, isolate: Option<&CpuSet>, intent: &Intent, site: &Site) {
        let loader = boot::find(&site.boot);
        let standing = loader.as_ref().ok().map(|loader| loader.standing(&site.boot));
        let known = standing.as_ref().and_then(|standing| standing.as_ref().ok());
        let mut parameters = isolate.map(|cpus| self.isolating(cpus, site, known)).unwrap_or_default();
        let mut costs =
            if parameters.is_empty() { Vec::new() } else { vec!["throughput: other tasks have fewer CPUs"] };
        let (named, named_costs) = self.parameters(intent, site);
        parameters.extend(named);
        costs.extend(named_costs);
        let Ok(kernel) = self.kernel(intent, site) else { return };
        if parameters.is_empty() && kernel.is_none() {
            return;
        }
        let planned = loader.and_then(|loader| {
            let standing = loader.standing(&site.boot)?;
            if let Some(given) = boot::given_elsewhere(&parameters, &standing, &site.profile) {
                return Err(Refusal {
                    why: format!("{given} is given to the kernel already, from elsewhere"),
                    remedy: "remove it where it was set, since which of two the kernel obeys depends on the parameter; where it \
                             was 'punctual tune' that set it and took it back, start the machine first"
                        .to_owned(),
                });
            }
            loader.plan(&site.boot, &Wish { parameters: &parameters, kernel })
        });
        let planned = match planned {
            Ok(planned) => planned,
            Err(refusal) => return self.conflict(ABOUT, refusal.why, refusal.remedy),
        };
        costs.dedup();
        let mut why = "the kernel starts".to_owned();
        if let Some(release) = kernel {
            why = format!("the kernel {release} starts");
        }
        if !parameters.is_empty() {
            why = format!("{why} with {}", parameters.join(" "));
        }
        for change in planned.changes {
            self.push(RequiredSetting {
                knob: change.knob.to_owned(),
                of: String::new(),
                place: change.place,
                form: Form::Text,
                value: Value::Text(change.content),
                group: Group::Boot,
                why: why.clone(),
                cost: costs.join("; "),
                may_refuse: false,
                is_named: true,
                in_new_folder: false,
            });
        }
        self.notes.extend(planned.notes);
    }
}

#[cfg(test)]
mod tests {
    use profile::{Preemption, Profile};

    use super::*;
    use crate::boot::BootFiles;
    use crate::time::TimeSite;

    /// Whether a plan refuses a model on a kernel of this release, where `kernel` may be asked for beside it.
    fn refused(release: &str, model: &str, kernel: Option<&str>) -> bool {
        refused_of(release, model, kernel, "").is_some()
    }

    /// Why, with a configuration of the running kernel.
    fn refused_of(release: &str, model: &str, kernel: Option<&str>, config: &str) -> Option<Refusal> {
        let mut profile = Profile::default();
        profile.kernel.release = Some(release.to_owned());
        profile.kernel.arch = Some("x86_64".to_owned());
        profile.kernel.preemption = Preemption::Full;
        profile.kernel.config = profile::kconfig::parse(config);
        let site = Site {
            profile,
            cgroup2_cpuset: None,
            cgroup1_cpuset: None,
            tuned: None,
            boot: BootFiles::default(),
            time: TimeSite::default(),
        };
        let mut intent = Intent::default();
        if let Some(kernel) = kernel {
            intent.boot.insert(KERNEL.to_owned(), KnobValue::Text(kernel.to_owned()));
        }
        refused_model("preempt", &KnobValue::Text(model.to_owned()), &intent, &site)
    }

    #[test]
    fn a_preemption_model_that_the_next_kernel_lacks_is_refused() {
        assert!(!refused("6.12.9", "none", None) && !refused("7.3.4", "full", None));
        assert!(refused("7.3.4", "none", None) && refused("6.12.9", "lazy", None));
        // What counts is the kernel that will start; whether another one is PREEMPT_RT is unknown.
        assert!(refused("6.12.9", "voluntary", Some("7.3.4+deb13-amd64")));
        assert!(!refused("7.3.4", "voluntary", Some("6.1.0-28-rt-amd64")));
    }

    #[test]
    fn a_kernel_with_one_preemption_model_takes_no_parameter() {
        let fixed = "# CONFIG_PREEMPT_DYNAMIC is not set\n";
        assert!(refused_of("6.12.9", "full", None, fixed).is_some_and(|refusal| refusal.why.contains("one")));
        // What another kernel was built with is unknown.
        assert!(refused_of("6.12.9", "full", Some("6.12.10"), fixed).is_none());
        assert!(refused_of("6.12.9", "full", None, "CONFIG_PREEMPT_DYNAMIC=y\n").is_none());
    }
}
