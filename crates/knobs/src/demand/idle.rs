//! Single idle states, by their names.

use std::collections::BTreeSet;

use units::CpuSet;

use super::{Demand, Group, Site};
use crate::Form;
use crate::catalogue::{self, Values};
use crate::intent::KnobValue;
use crate::scope::{idle_states, state_name};
use crate::thread::is_like;

impl Demand {
    /// States whose names are like `pattern` may be entered, or not, by the isolated CPUs, else by all.
    pub(super) fn idle(&mut self, pattern: &str, value: &KnobValue, isolated: Option<&CpuSet>, site: &Site) {
        let about = format!("[idle] \"{pattern}\"");
        let Some(knob) = catalogue::find("cpu.idle-state-off") else { return };
        let is_on = match Values::Switch.accept(&value.text(), Form::Integer) {
            Ok(text) => text == "1",
            Err(bound) => return self.conflict(about, format!("it {bound}"), knob.source),
        };
        let states: Vec<_> = idle_states(&site.profile, isolated).collect();
        let found: Vec<_> = states.iter().filter(|(_, state)| is_like(pattern, &state.name)).collect();
        if found.is_empty() {
            let names: BTreeSet<&str> = states.iter().map(|(_, state)| state.name.as_str()).collect();
            let remedy = if names.is_empty() {
                "this kernel has no driver of idle states here: leave [idle] out".to_owned()
            } else {
                format!("choose among {}", names.into_iter().collect::<Vec<_>>().join(", "))
            };
            return self.conflict(about, "these CPUs have no idle state of that name", remedy);
        }
        for (cpu, state) in found {
            let before = self.wanted.len();
            self.named(knob, &[state_name(*cpu, state)], if is_on { "0" } else { "1" });
            for wanted in &mut self.wanted[before..] {
                wanted.of = format!("{} of CPU {cpu}", state.name);
                wanted.group = Group::Power;
                wanted.why = format!("idle states {pattern} are switched {}", if is_on { "on" } else { "off" });
                if is_on {
                    wanted.cost = String::new();
                }
            }
        }
    }
}
