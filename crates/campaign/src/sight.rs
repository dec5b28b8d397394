//! What a campaign will be able to show, computed before it starts.
//!
//! All comparisons share the probability of a false alarm. Within each comparison the worst case and the quantities of
//! the body (mean, quantiles) share it again. With few repetitions no difference, however large, is significant at the
//! level that remains: hours of measuring could not show anything.

use analysis::compare::{least_runs_for_body, least_runs_for_worst_case, pairs_to_show};
use serde::Serialize;

use crate::Campaign;

/// What the campaign can show with its number of repetitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sight {
    /// Repetitions of each condition, or of the confirmation if it has fewer.
    pub repetitions: u32,
    /// Least number of repetitions with which a difference of worst cases can be shown.
    pub least_for_worst_case: u32,
    /// Least number of repetitions with which a mean or quantile that is the only one to differ is always shown.
    pub least_for_body: u32,
    /// A pair is one run of each side. How many pairs have to be ordered the same way to show a difference of worst
    /// cases, and how many pairs there are. Absent if nothing can be shown.
    pub pairs: Option<(u64, u64)>,
    /// Whether any measurement is compared by its worst case.
    pub by_worst_case: bool,
    /// Whether any measurement states a deadline, so that it is compared by the rate beyond it.
    pub by_rate: bool,
}

impl Campaign {
    /// What the campaign will be able to show; `None` if it compares nothing.
    #[must_use]
    pub fn sight(&self) -> Option<Sight> {
        let compared = || self.measurement.iter().filter(|one| one.is_compared());
        let kinds = || compared().map(crate::Measurement::kind);
        let repetitions = self.confirm.map_or(self.repetitions, |confirm| confirm.repetitions.min(self.repetitions));
        let level = self.level_each();
        Some(Sight {
            repetitions,
            least_for_worst_case: least_runs_for_worst_case(level),
            least_for_body: kinds().map(|kind| least_runs_for_body(level, kind.measurement)).max()?,
            pairs: pairs_to_show(repetitions, level),
            by_worst_case: compared().any(|one| !one.states_deadline()),
            by_rate: compared().any(crate::Measurement::states_deadline),
        })
    }
}

impl Sight {
    /// Whether a difference of worst cases can be shown at all.
    #[must_use]
    pub const fn sees_worst_case(&self) -> bool {
        self.repetitions >= self.least_for_worst_case
    }

    /// Whether a mean or quantile that is the only one to differ is shown, where it differs in every run and by more than runs of one
    /// level do.
    #[must_use]
    pub const fn sees_body(&self) -> bool {
        self.repetitions >= self.least_for_body
    }

    /// What can be shown, one sentence for the worst case and one for the body.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let Self { repetitions, least_for_worst_case, least_for_body, .. } = self;
        let what = match (self.by_worst_case, self.by_rate) {
            (true, true) => "worst case, or rate beyond the deadline where one is stated",
            (false, true) => "rate beyond the deadline",
            (true | false, false) => "worst case",
        };
        // Rates that are all 0 have equal ranks.
        let rates = "; if no run exceeds the deadline, no difference of rates can be shown";
        let about_rate = if self.by_rate { rates } else { "" };
        let worst_case = match self.pairs {
            Some((needed, of)) => format!(
                "{what}: a difference is shown if it has the same sign in {needed} of {of} pairs of runs; that takes at least \
                   {least_for_worst_case} repetitions{about_rate}"
            ),
            None => format!(
                "{what}: with {repetitions} repetitions no difference can be shown, however large; that takes at least \
                 {least_for_worst_case}"
            ),
        };
        let body = if self.sees_body() {
            format!(
                "body: a mean or quantile that differs in every run, and by far more than runs of one level do, is shown; that \
                 takes at least {least_for_body} repetitions"
            )
        } else {
            format!(
                "body: with {repetitions} repetitions a single mean or quantile that differs may not be shown, however \
                  large; that takes at least {least_for_body}"
            )
        };
        vec![worst_case, body]
    }

    /// Why the campaign should not start, with the remedy; `None` if it can show something.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        (!self.sees_worst_case()).then(|| {
            format!(
                  "with {} repetitions no difference can be shown, however large: use at least {} (--repetitions {} is \
                   enough for the body as well), or fewer levels (--factor, --only), or --without-conclusion to run it all the same",
                self.repetitions, self.least_for_worst_case, self.least_for_body.max(self.least_for_worst_case)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::{Campaign, Choice};

    fn campaign(repetitions: u32, levels: u32) -> Campaign {
        let mut text = format!(
            "name = \"c\"\nabout = \"a\"\nrepetitions = {repetitions}\n[[measurement]]\nname = \"m\"\nrequest.kind = \"wakeup\"\n\
             duration = \"1s\"\n[[factor]]\nname = \"f\"\n[[factor.level]]\nname = \"0\"\n"
        );
        for level in 1..=levels {
            text +=
                &format!("[[factor.level]]\nname = \"{level}\"\n[factor.level.intent.file]\n\"/sys/f\" = {level}\n");
        }
        Campaign::from_toml(&text, &Choice::default()).unwrap()
    }

    #[test]
    fn what_can_be_shown_follows_from_the_exact_permutation_test() {
        // Two comparisons at 0.005 each: 2 / C(12, 6) = 0.0022, 12 / C(12, 6) = 0.013, 12 / C(14, 7) = 0.0035.
        let sight = campaign(6, 2).sight().unwrap();
        assert_eq!((sight.least_for_worst_case, sight.least_for_body), (6, 7));
        assert!(sight.sees_worst_case() && !sight.sees_body() && sight.refusal().is_none());
        // Two-sided, one reversed pair of 36 has p = 4 / 924 = 0.0043, two have 8 / 924 = 0.0087.
        assert_eq!(sight.pairs, Some((35, 36)));
        assert!(sight.sentences()[0].contains("in 35 of 36 pairs of runs"), "{:?}", sight.sentences());
    }

    #[test]
    fn with_a_deadline_the_rate_beyond_it_is_announced_and_when_it_shows_nothing() {
        let sentence = |requests: &[&str]| {
            let mut campaign = campaign(8, 2);
            let first = campaign.measurement[0].clone();
            let measurement = |fields: &&str| crate::Measurement {
                run: record::RunRequest::from_json(&format!("{{\"request\": {{\"kind\": {fields}}}}}")).unwrap(),
                ..first.clone()
            };
            campaign.measurement = requests.iter().map(measurement).collect();
            campaign.sight().unwrap().sentences().swap_remove(0)
        };
        let none_shown = "if no run exceeds the deadline, no difference of rates can be shown";
        let held = ["\"wakeup\", \"deadline\": \"100us\"", "\"noise\", \"deadline\": \"100us\""];
        for request in held {
            let said = sentence(&[request]);
            assert!(said.starts_with("rate beyond the deadline: ") && said.contains(none_shown), "{said}");
        }
        let both = sentence(&[held[0], "\"wakeup\""]);
        assert!(both.starts_with("worst case, or rate beyond the deadline") && both.contains(none_shown), "{both}");
        let by_policy = "\"wakeup\", \"policy\": {\"deadline\": {\"runtime\": \"20us\"}}";
        let of_program = "\"app\", \"target\": {\"command\": {\"command\": \"x\"}}, \"deadline\": \"1ms\"";
        for request in ["\"wakeup\"", by_policy, of_program] {
            let said = sentence(&[request]);
            assert!(said.starts_with("worst case: ") && !said.contains("the deadline"), "{said}");
        }
    }

    #[test]
    fn a_campaign_that_can_show_nothing_is_refused_with_the_number_that_can() {
        let sight = campaign(5, 2).sight().unwrap();
        let refusal = sight.refusal().unwrap();
        assert!(refusal.contains("at least 6 (--repetitions 7 is enough"), "{refusal}");
        assert!(sight.sentences().iter().all(|line| line.contains("takes at least")));
    }
}
