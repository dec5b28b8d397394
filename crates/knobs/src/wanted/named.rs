//! Single knobs, by their names.

use super::{Demand, Group, Site};
use crate::KnobScope;
use crate::catalogue::{self, Knob};
use crate::intent::KnobValue;

impl Demand {
    pub(super) fn single(&mut self, name: &str, value: &KnobValue, site: &Site) {
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
            Ok(_) if names.is_empty() => {
                let why = format!("this machine has none of it, no {}", knob.path.replace("{}", "*"));
                self.conflict(about, why, "leave it out, or load the driver that it belongs to");
            }
            Ok(text) => self.named(knob, &names, &text),
            Err(bound) => self.conflict(about, format!("it {bound}"), knob.source),
        }
    }

    pub(super) fn of_interface(&mut self, interface: &str, name: &str, value: &KnobValue, site: &Site) {
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
}

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
