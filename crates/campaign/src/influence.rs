//! Levels that cannot affect what a campaign measures. Measuring them would take time and statistical power from the
//! rest.

use profile::Profile;

use crate::{Campaign, Level};

/// Why a level cannot affect what is measured on this machine; `None` if it may.
///
/// A level that also sets something else may matter because of that.
#[must_use]
pub fn cannot_matter(campaign: &Campaign, level: &Level, profile: &Profile) -> Option<&'static str> {
    let intent = level.intent.as_ref()?;
    let sets_only = |names: &[&str]| {
        let set = toml::Table::try_from(intent).unwrap_or_default();
        let is_known = |(name, value): (&String, &toml::Value)| match value {
            toml::Value::Table(inner) => inner.keys().all(|key| names.contains(&key.as_str())),
            _ => names.contains(&name.as_str()),
        };
        !set.is_empty() && set.iter().all(is_known) && level.asked.is_empty()
    };
    let throttling = ["rt-throttling", "kernel.sched_rt_runtime_us", "fair-server.runtime-ns", "ext-server.runtime-ns"];
    let all_sleep = || campaign.measurement.iter().all(|one| one.kind().sleeps);
    if sets_only(&throttling) && all_sleep() {
        return Some(
            "it acts on real-time threads that run for most of a second without a sleep, and the measured ones sleep between \
              wake-ups; a run in which it acted anyway reports that",
        );
    }
    if sets_only(&["kernel.numa_balancing"]) && profile.cpus.nodes.len() == 1 {
        return Some("this machine has a single NUMA node, so there is nothing to balance");
    }
    if sets_only(&["kernel.timer_migration"]) && profile.cpus.online.as_ref().is_some_and(|online| online.len() == 1) {
        return Some("this machine has a single CPU, so timers cannot migrate");
    }
    None
}

#[cfg(test)]
mod tests {
    use units::CpuSet;

    use super::*;
    use crate::{Choice, shipped};

    fn matters(profile: &Profile, kind: &str) -> Vec<String> {
        let choice = Choice {
            values: [("cpus", "1"), ("rest", "0")].map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            ..Choice::default()
        };
        let mut campaign = Campaign::from_toml(shipped::find("which-knob").unwrap(), &choice).unwrap();
        let text = format!("{{\"request\": {{\"kind\": \"{kind}\"}}}}");
        campaign.measurement[0].run = record::RunRequest::from_json(&text).unwrap();
        let levels = campaign.factor.iter().flat_map(|factor| factor.level.iter().map(move |level| (factor, level)));
        levels
            .filter(|(_, level)| cannot_matter(&campaign, level, profile).is_some())
            .map(|(factor, level)| format!("{}={}", factor.name, level.name))
            .collect()
    }

    #[test]
    fn levels_without_influence_depend_on_the_measurement_and_the_machine() {
        let mut profile = Profile::default();
        profile.cpus.online = Some("0-1".parse::<CpuSet>().unwrap());
        profile.cpus.nodes = [(0, "0-1".parse().unwrap())].into();
        assert_eq!(matters(&profile, "wakeup"), ["rt-throttling=off", "numa-balancing=off"]);
        assert_eq!(matters(&profile, "noise"), ["numa-balancing=off"], "a thread that never sleeps can be throttled");
        profile.cpus.nodes.insert(1, "2-3".parse().unwrap());
        assert_eq!(matters(&profile, "wakeup"), ["rt-throttling=off"]);
    }
}
