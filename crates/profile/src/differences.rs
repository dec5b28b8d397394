//! What differs between two profiles, field by field, and between their kernels' configurations.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Profile;

/// Everything that differs between two profiles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileDifferences {
    /// Settings, by their path: `power.cpus[2].governor`; what changes by itself is left out.
    pub settings: Vec<SettingDifference>,
    /// Options of the kernel's configuration: `CONFIG_HZ`; empty where one of them could not be read.
    pub kernel_config: Vec<SettingDifference>,
    /// Whether both kernels' configurations could be read.
    pub kernel_configs_known: bool,
}

/// One setting that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SettingDifference {
    /// Its path or name.
    pub name: String,
    /// Its value in A; absent where it is unknown or not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a: Option<String>,
    /// Its value in B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b: Option<String>,
}

/// The keys that identify the elements of a list; the first one that they have is used.
const NAMES: [&str; 5] = ["name", "cpu", "path", "index", "key"];

/// Everything that differs between the configurations of two machines, or of one at two times.
#[must_use]
pub fn profile_differences(a: &Profile, b: &Profile) -> ProfileDifferences {
    let leaves = |profile: &Profile| {
        let mut value = profile.configuration();
        // They have a list of their own.
        if let Some(kernel) = value.get_mut("kernel").and_then(Value::as_object_mut) {
            kernel.remove("config");
            // The command line as one text says the same.
            kernel.remove("params");
        }
        let mut leaves = BTreeMap::new();
        flatten(&value, String::new(), &mut leaves);
        leaves
    };
    let kernel_configs_known = !a.kernel.config.is_empty() && !b.kernel.config.is_empty();
    let kernel_config = if kernel_configs_known { differing(&a.kernel.config, &b.kernel.config) } else { Vec::new() };
    ProfileDifferences { settings: differing(&leaves(a), &leaves(b)), kernel_config, kernel_configs_known }
}

fn differing(a: &BTreeMap<String, String>, b: &BTreeMap<String, String>) -> Vec<SettingDifference> {
    let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
    names.sort();
    names.dedup();
    names
        .into_iter()
        .filter(|name| a.get(*name) != b.get(*name))
        .map(|name| SettingDifference { name: name.clone(), a: a.get(name).cloned(), b: b.get(name).cloned() })
        .collect()
}

/// Every leaf with its path; what is null is unknown, and not there.
fn flatten(value: &Value, path: String, leaves: &mut BTreeMap<String, String>) {
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, inner) in fields {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                flatten(inner, path, leaves);
            }
        }
        Value::Array(elements) if elements.iter().all(|element| !element.is_object() && !element.is_array()) => {
            if !elements.is_empty() {
                leaves.insert(path, elements.iter().map(text).collect::<Vec<_>>().join(" "));
            }
        }
        Value::Array(elements) => {
            for (index, element) in elements.iter().enumerate() {
                let named = NAMES.iter().find_map(|name| element.get(*name)).filter(|name| !name.is_null());
                let mut path_of = format!("{path}[{}]", named.map_or_else(|| index.to_string(), text));
                // Two of one name stay two.
                if leaves.keys().any(|other| other.starts_with(&format!("{path_of}."))) {
                    path_of = format!("{path}[{} {index}]", named.map_or_else(String::new, text));
                }
                flatten(element, path_of, leaves);
            }
        }
        leaf => {
            leaves.insert(path, text(leaf));
        }
    }
}

fn text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(name: &str, a: Option<&str>, b: Option<&str>) -> SettingDifference {
        SettingDifference { name: name.to_owned(), a: a.map(str::to_owned), b: b.map(str::to_owned) }
    }

    #[test]
    fn kernels_differ_option_by_option_and_settings_by_their_path() {
        let mut a = Profile::default();
        a.kernel.config = [("CONFIG_HZ", "250"), ("CONFIG_E1000E", "y"), ("CONFIG_SMP", "y")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .into();
        a.sched.rt_runtime_us = Some(950_000);
        let mut b = a.clone();
        b.kernel.config.insert("CONFIG_E1000E".to_owned(), "m".to_owned());
        b.kernel.config.remove("CONFIG_HZ");
        b.sched.rt_runtime_us = Some(-1);
        // What changes by itself is no difference.
        b.identity.hostname = Some("press-7".to_owned());
        let found = profile_differences(&a, &b);
        assert_eq!(
            found.kernel_config,
            [setting("CONFIG_E1000E", Some("y"), Some("m")), setting("CONFIG_HZ", Some("250"), None)]
        );
        assert_eq!(found.settings, [setting("sched.rt_runtime_us", Some("950000"), Some("-1"))]);
        assert_eq!(
            profile_differences(&a, &a),
            ProfileDifferences { kernel_configs_known: true, ..Default::default() }
        );
        b.kernel.config.clear();
        let unknown = profile_differences(&a, &b);
        assert!(!unknown.kernel_configs_known && unknown.kernel_config.is_empty(), "unknown is not 'not set'");
    }

    #[test]
    fn elements_of_lists_are_found_by_their_name_wherever_they_stand() {
        let value = serde_json::json!({ "nic": [{ "name": "eth1", "rings": 5 }, { "name": "eth0", "rings": 4 }, { "rings": 1 }],
            "cpus": ["0", "1"], "unknown": null });
        let mut leaves = BTreeMap::new();
        flatten(&value, String::new(), &mut leaves);
        assert_eq!(leaves.get("nic[eth0].rings").map(String::as_str), Some("4"));
        assert_eq!(leaves.get("nic[2].rings").map(String::as_str), Some("1"));
        assert_eq!(leaves.get("cpus").map(String::as_str), Some("0 1"));
        assert!(!leaves.contains_key("unknown"));
    }
}
