//! The identity of a configuration.

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::Profile;

/// What changes by itself, or from boot to boot, without a change of the configuration.
///
/// A step named `*` stands for every element of a list.
const VOLATILE: &[&[&str]] = &[
    &["identity", "hostname"],
    &["cpus", "thermal_throttle_counts"],
    // A process may hold it for a while: a property of the load, kept by each record for itself.
    &["power", "dma_latency_us"],
    &["irqs", "window_ns"],
    &["irqs", "architecture"],
    // Numbers are given out at boot in an order that is not promised.
    &["irqs", "lines", "*", "number"],
    &["irqs", "lines", "*", "effective_affinity"],
    &["irqs", "lines", "*", "arrived_counts"],
    &["irqs", "lines", "*", "threads", "*", "tid"],
    // The name holds the interrupt's number.
    &["irqs", "lines", "*", "threads", "*", "comm"],
    &["tasks"],
    &["memory", "available_kib"],
    &["memory", "swap_used_kib"],
    &["net", "interfaces", "*", "state"],
    &["net", "interfaces", "*", "speed_mbps"],
    &["net", "virtual_interface_count"],
    &["net", "phcs", "*", "ahead_of_system_ns"],
    &["time", "discipline"],
    // What a reader without rights does not see.
    &["services", "time_programs", "*", "may_set_system_clock"],
    &["services", "time_programs", "*", "shares_network"],
    &["services", "time_programs", "*", "ptp"],
    &["virt", "steal_ms"],
    // Sources name the evidence, which depends on the reader's rights.
    &["virt", "guest_source"],
    &["kernel", "preemption_source"],
    &["kernel", "config_source"],
];

/// What of a profile is configuration, as JSON: without what changes by itself.
pub(crate) fn configuration(profile: &Profile) -> Value {
    // A profile holds nothing that JSON cannot say; should that change, the test below fails.
    let mut value = serde_json::to_value(profile).unwrap_or_default();
    for path in VOLATILE {
        remove(&mut value, path);
    }
    if profile.services.named("irqbalance").is_some() {
        // Affinities then move by themselves.
        remove(&mut value, &["irqs", "lines", "*", "affinity"]);
        remove(&mut value, &["irqs", "lines", "*", "threads", "*", "affinity"]);
    }
    sort_lines(&mut value);
    value
}

pub(crate) fn hash_profile(profile: &Profile) -> String {
    let mut text = String::new();
    canonical(&configuration(profile), &mut text);
    let digest = Sha256::digest(text.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn remove(value: &mut Value, path: &[&str]) {
    match path {
        [] => {}
        ["*", rest @ ..] => {
            for element in value.as_array_mut().into_iter().flatten() {
                remove(element, rest);
            }
        }
        [last] => {
            if let Some(object) = value.as_object_mut() {
                object.remove(*last);
            }
        }
        [step, rest @ ..] => {
            if let Some(inner) = value.get_mut(*step) {
                remove(inner, rest);
            }
        }
    }
}

/// Without their numbers, interrupts need an order that is their own.
fn sort_lines(value: &mut Value) {
    if let Some(lines) = value.pointer_mut("/irqs/lines").and_then(Value::as_array_mut) {
        lines.sort_by_cached_key(|line| {
            let mut text = String::new();
            canonical(line, &mut text);
            text
        });
    }
}

/// Writes JSON with sorted keys and without blanks, whatever order the map type keeps.
fn canonical(value: &Value, out: &mut String) {
    match value {
        Value::Object(object) => {
            let mut keys: Vec<&String> = object.keys().collect();
            keys.sort();
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                out.push_str(&Value::from(key.as_str()).to_string());
                out.push(':');
                canonical(&object[key], out);
            }
            out.push('}');
        }
        Value::Array(elements) => {
            out.push('[');
            for (i, element) in elements.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                canonical(element, out);
            }
            out.push(']');
        }
        other => out.push_str(&other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use crate::irq::Irq;
    use crate::{Profile, identity::Identity};

    fn irq(number: u32, name: &str, arrivals: u64) -> Irq {
        Irq { number, actions: vec![name.into()], arrived_counts: [(0, arrivals)].into(), ..Irq::default() }
    }

    #[test]
    fn counters_numbers_and_names_do_not_matter() {
        let mut a = Profile::default();
        a.irqs.lines = vec![irq(24, "eth0", 7), irq(25, "nvme0", 1)];
        let mut b =
            Profile { identity: Identity { hostname: Some("other".into()), ..Identity::default() }, ..a.clone() };
        b.irqs.lines = vec![irq(31, "nvme0", 900), irq(32, "eth0", 1)];
        b.virt.steal_ms = Some(12);
        b.tasks.task_count = 99;
        assert_eq!(a.hash(), b.hash());
        assert_eq!(a.hash().len(), 64);
    }

    #[test]
    fn settings_matter() {
        let a = Profile::default();
        let mut b = a.clone();
        b.sched.rt_runtime_us = Some(-1);
        assert_ne!(a.hash(), b.hash());
        assert!(serde_json::to_value(&b).is_ok());
    }
}
