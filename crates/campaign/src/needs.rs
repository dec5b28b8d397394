//! The rights and reboots that a campaign needs, and the time that it still takes.

use std::time::Duration;

use units::Ns;

use crate::journal::State;
use crate::{Campaign, Layout, Measurement};

/// Estimated overhead of a run beyond its measuring time, until runs were made.
pub(crate) const RUN_OVERHEAD: Duration = Duration::from_millis(500);
/// Estimated duration of a reboot: firmware, boot loader, kernel and services.
const REBOOT_TIME: Duration = Duration::from_secs(60);

impl Campaign {
    /// Whether any condition changes a setting. If none does, no privilege is needed to change settings.
    #[must_use]
    pub fn sets_anything(&self) -> bool {
        self.conditions().iter().any(|one| self.intent_of(one).is_ok_and(|intent| intent.is_some()))
    }

    /// Whether any condition changes the boot configuration. Each visit then has a boot of its own, so that no two
    /// visits share what varies from boot to boot.
    #[must_use]
    pub fn restarts(&self) -> bool {
        let conditions = self.conditions();
        conditions.iter().filter_map(|one| self.intent_of(one).ok().flatten()).any(|intent| intent.needs_restart())
    }

    /// Estimated time that the visits of a layout still take, from the runs made so far.
    #[must_use]
    pub fn time_left(&self, layout: &Layout, state: &State) -> Duration {
        let restart = if self.restarts() { REBOOT_TIME } else { Duration::ZERO };
        let mut left = Duration::ZERO;
        for visit in &layout.visits {
            let open = (0..self.measurement.len()).filter(|one| !state.is_done(visit.number, *one, 1));
            let runs: Vec<Duration> = open.map(|one| self.time_of_run(state, one)).collect();
            if !runs.is_empty() {
                left += runs.iter().sum::<Duration>() + self.warm_up.to_std() + restart;
            }
        }
        left
    }

    /// Time of one run of a measurement: the mean of the finished runs, or the requested duration plus the overhead.
    fn time_of_run(&self, state: &State, measurement: usize) -> Duration {
        let past = state.ran.iter().filter(|((_, one), _)| *one == measurement).flat_map(|(_, all)| all);
        let lasted: Vec<u64> = past.map(|ran| ran.lasted_ns).collect();
        match u64::try_from(lasted.len()) {
            Ok(runs) if runs > 0 => Duration::from_nanos(units::total(lasted) / runs),
            _ => {
                let takes = self.measurement.get(measurement).and_then(Measurement::takes);
                takes.map_or(Duration::ZERO, Ns::to_std) + RUN_OVERHEAD
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use record::ValidityState;

    use super::*;
    use crate::Choice;
    use crate::journal::Event;

    fn campaign(intent: &str) -> Campaign {
        let text = format!(
            "name = \"c\"\nabout = \"a\"\nrepetitions = 2\nwarm-up = \"1s\"\n[[measurement]]\nname = \"m\"\n\
             duration = \"3s\"\nrequest = {{ kind = \"noise\" }}\n[[factor]]\nname = \"f\"\n[[factor.level]]\nname = \"a\"\n\
             [[factor.level]]\nname = \"b\"\n{intent}\n"
        );
        Campaign::from_toml(&text, &Choice::default()).unwrap()
    }

    #[test]
    fn the_requested_duration_counts_until_runs_were_made() {
        let campaign = campaign("asked = { request = { priority = 80 } }");
        assert!(!campaign.sets_anything() && !campaign.restarts());
        let layout = campaign.layout(None);
        let mut state = State::default();
        assert_eq!(campaign.time_left(&layout, &state), Duration::from_millis(4 * 4500));
        let first = layout.visits[0].number;
        let file = "runs/1.json".to_owned();
        let lasted_ns = 9_000_000_000;
        let validity = ValidityState::Valid;
        state.take(Event::Ran { visit: first, measurement: 0, file, validity, lasted_ns, unusable: None });
        assert_eq!(campaign.time_left(&layout, &state), Duration::from_secs(3 * 10));
    }

    #[test]
    fn boot_settings_take_a_reboot_for_each_visit() {
        let running = campaign("intent = { file = { \"/proc/sys/vm/swappiness\" = 10 } }");
        assert!(running.sets_anything() && !running.restarts());
        let booting = campaign("intent = { boot = { threadirqs = true } }");
        assert!(booting.sets_anything() && booting.restarts());
        let layout = booting.layout(None);
        assert_eq!(booting.time_left(&layout, &State::default()), Duration::from_millis(4 * 64_500));
    }
}
