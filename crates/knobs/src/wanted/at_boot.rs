//! What the kernel is told at its next start.

use units::CpuSet;

use super::{Demand, Group, Site, Wanted};
use crate::{Form, Intent, Value, boot};

impl Demand {
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
    pub(super) fn boot(&mut self, isolate: Option<&CpuSet>, intent: &Intent, site: &Site) {
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
}
