//! The CPUs that a campaign measures: settings must not move work onto them.

use record::RunRequest;
use serde_json::Value;
use units::CpuSet;

use crate::{Campaign, Condition};

/// The fields of a request that pin its threads, whatever its kind is.
const PINNING: [&str; 3] = ["pinned", "cpus", "cpu"];

impl Campaign {
    /// The CPUs that the measurements of a condition are pinned to; empty if they are pinned to none.
    #[must_use]
    pub fn measured_at(&self, condition: &Condition) -> CpuSet {
        let levels = || {
            let levels = self.factor.iter().zip(&condition.levels);
            levels.filter_map(|(factor, level)| factor.level.get(*level))
        };
        // A level that does not fit a measurement was refused when the file was read.
        let runs = self.measurement.iter().filter_map(|one| one.at(levels()).ok());
        runs.fold(CpuSet::new(), |all, run| all.union(&pinned(&run)))
    }
}

fn pinned(run: &RunRequest) -> CpuSet {
    let mut found = CpuSet::new();
    let mut add = |text: &str| found = found.union(&text.parse().unwrap_or_default());
    let request = serde_json::to_value(&run.request).unwrap_or_default();
    let placement = request.get("placement").and_then(Value::as_object).into_iter().flatten();
    let fields = request.as_object().into_iter().flatten().chain(placement);
    for (_, value) in fields.filter(|(name, _)| PINNING.contains(&name.as_str())) {
        match value {
            Value::String(list) => add(list),
            Value::Number(cpu) => add(&cpu.to_string()),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Choice;

    #[test]
    fn the_cpus_of_each_kind_are_found_at_each_level() {
        let text = "name = \"c\"\nabout = \"a\"\nrepetitions = 1\n\
            [[measurement]]\nname = \"w\"\nrequest = { kind = \"wakeup\", placement = { pinned = \"2-3\" } }\n\
            [[measurement]]\nname = \"c\"\nrequest = { kind = \"clock\", cpu = 5 }\n\
            [[measurement]]\nname = \"n\"\nrequest = { kind = \"noise\", cpus = \"7\" }\n\
            [[factor]]\nname = \"f\"\n[[factor.level]]\nname = \"a\"\n";
        let level = "[[factor.level]]\nname = \"b\"\nasked = { request = { priority = 80 } }\n";
        let campaign = Campaign::from_toml(&format!("{text}{level}"), &Choice::default()).unwrap();
        for condition in campaign.conditions() {
            assert_eq!(campaign.measured_at(&condition).to_string(), "2-3,5,7");
        }
    }
}
