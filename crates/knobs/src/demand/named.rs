//! Single knobs, by their names.

use super::{Demand, Group, Site};
use crate::catalogue::{self, Knob};
use crate::intent::KnobValue;
use crate::{KnobScope, Value};

impl Demand {
    pub(super) fn single(&mut self, name: &str, value: &KnobValue, site: &Site) {
        let about = format!("[knob] \"{name}\"");
        let Some(knob) = catalogue::find(name) else {
            self.conflict(about, "there is no knob of that name", near(name));
            return;
        };
        let names = match knob.scope {
            scope if matches!(scope, KnobScope::Irq | KnobScope::IdleState) || scope.is_of_interface() => {
                let remedy = match scope {
                    KnobScope::Irq => "say irqs = \"housekeeping\"",
                    KnobScope::IdleState => "say it in [idle], by the state's name",
                    _ => "say it in [nic.INTERFACE]",
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
            Ok(text) => {
                if self.are_online(&about, knob.form.cpus(&Value::text(text.clone())).as_ref(), site) {
                    self.named(knob, &names, &text);
                }
            }
            Err(bound) => self.conflict(about, format!("it {bound}"), knob.source),
        }
    }

    pub(super) fn named(&mut self, knob: &'static Knob, names: &[String], value: &str) {
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
