//! Network interfaces, by their names.

use std::collections::BTreeMap;

use profile::net::Nic;

use super::{Demand, Group, Site};
use crate::Value;
use crate::catalogue::{self, How, Knob};
use crate::intent::KnobValue;

/// The order in which a driver is asked: what recreates its queues first, then whether it chooses by itself, since both
/// may turn what comes after.
fn rank(name: &str) -> usize {
    ["channels-", "ring-", "adaptive-"].iter().position(|start| name.starts_with(start)).unwrap_or(3)
}

impl Demand {
    /// What is wanted of one interface.
    pub(super) fn nic(&mut self, interface: &str, knobs: &BTreeMap<String, KnobValue>, site: &Site) {
        let about = |name: &str| format!("[nic.{interface}] {name}");
        let interfaces = &site.profile.net.interfaces;
        let Some(nic) = interfaces.iter().find(|nic| nic.name == interface) else {
            let names: Vec<&str> = interfaces.iter().map(|nic| nic.name.as_str()).collect();
            let remedy = if names.is_empty() {
                "this machine has none".to_owned()
            } else {
                format!("choose among {}", names.join(", "))
            };
            let name = knobs.keys().next().map(String::as_str).unwrap_or_default();
            self.conflict(about(name).trim(), "there is no such interface with a device behind it", remedy);
            return;
        };
        let mut in_order: Vec<(&String, &KnobValue)> = knobs.iter().collect();
        in_order.sort_by_key(|(name, _)| rank(name));
        for (name, value) in in_order {
            let Some(knob) = catalogue::find(name).filter(|knob| knob.scope.is_of_interface()) else {
                let known: Vec<&str> =
                    catalogue::all().filter(|knob| knob.scope.is_of_interface()).map(|knob| knob.name).collect();
                let remedy = format!("known are {}", known.join(", "));
                self.conflict(about(name), "interfaces have no knob of that name", remedy);
                continue;
            };
            match knob.accept(&value.text()) {
                Ok(text) => {
                    let cpus = knob.form.cpus(&Value::text(text.clone()));
                    if self.are_online(&about(name), cpus.as_ref(), site) {
                        self.nic_knob(knob, nic, &text);
                    }
                }
                Err(bound) => self.conflict(about(name), format!("it {bound}"), knob.source),
            }
        }
        self.adaptive(nic, knobs);
    }

    fn nic_knob(&mut self, knob: &'static Knob, nic: &Nic, text: &str) {
        let before = self.wanted.len();
        self.named(knob, &knob.scope.names_of(nic), text);
        let rank = rank(knob.name);
        for wanted in &mut self.wanted[before..] {
            // What a driver cannot do it says only when it is asked to.
            wanted.may_refuse = knob.how == How::Ethtool;
            if rank < 2 {
                wanted.group = Group::Links;
            }
        }
        if knob.name.starts_with("channels-") {
            self.notes.push(format!(
                "{} gets new queues, and with them new interrupts, rps-cpus and xps-cpus: change that in a step of its own, and plan \
                 the rest afterwards",
                nic.name
            ));
        }
    }

    /// A wait that the driver turns by itself does not stay as it was written.
    fn adaptive(&mut self, nic: &Nic, knobs: &BTreeMap<String, KnobValue>) {
        let Some(coalescing) = &nic.ethtool.coalescing else { return };
        for (switch, is_on, waits) in [
            ("adaptive-rx", coalescing.adaptive_rx, ["rx-usecs", "rx-frames"]),
            ("adaptive-tx", coalescing.adaptive_tx, ["tx-usecs", "tx-frames"]),
        ] {
            let stays_on =
                knobs.get(switch).map_or(is_on, |value| matches!(value.text().as_str(), "1" | "on" | "true"));
            for wait in waits.into_iter().filter(|wait| stays_on && knobs.contains_key(*wait)) {
                self.conflict(
                    format!("[nic.{}] {wait}", nic.name),
                    format!("{switch} is on, so the driver changes it by itself"),
                    format!("say {switch} = \"off\" as well"),
                );
            }
        }
    }
}
