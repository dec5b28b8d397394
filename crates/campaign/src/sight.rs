//! What a campaign will be able to see, stated before it starts.
//!
//! Its comparisons share the probability of a false alarm, and within each comparison the worst case and the rows of the
//! body share it once more. With few repetitions no difference reaches what is left, however great: then hours of measuring
//! could not show anything.

use analyse::compare::{least_runs_for_body, least_runs_for_worst_case, pairs_to_show};
use serde::Serialize;

use crate::Campaign;

/// What can be shown with so many repetitions of each condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Sight {
    /// Repetitions of each condition, or of the confirmation where it has fewer.
    pub repetitions: u32,
    /// The least repetitions with which a difference of worst cases can be shown.
    pub least_for_worst_case: u32,
    /// The least repetitions with which a row of the body that differs alone is sure to be shown.
    pub least_for_body: u32,
    /// Of all pairs of a run of each side, how many have to be ordered alike for worst cases to be shown, and how many there
    /// are; absent where nothing can be shown.
    pub pairs: Option<(u64, u64)>,
    /// Whether a measurement is compared by its worst case.
    pub by_worst_case: bool,
    /// Whether a measurement states a deadline, so that it is compared by the rate beyond that.
    pub by_rate: bool,
}

impl Campaign {
    /// What it will be able to see; `None` where it compares nothing.
    #[must_use]
    pub fn sight(&self) -> Option<Sight> {
        let compared = || self.measurement.iter().filter(|one| one.is_compared());
        let kinds = || compared().filter_map(crate::Measurement::kind);
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

    /// Whether a row of the body that differs alone is sure to be shown.
    #[must_use]
    pub const fn sees_body(&self) -> bool {
        self.repetitions >= self.least_for_body
    }

    /// What will be seen, a sentence for each part.
    #[must_use]
    pub fn sentences(&self) -> Vec<String> {
        let Self { repetitions, least_for_worst_case, least_for_body, .. } = self;
        let what = match (self.by_worst_case, self.by_rate) {
            (true, true) => "worst case, or rate beyond the deadline where one is stated",
            (false, true) => "rate beyond the deadline",
            (true | false, false) => "worst case",
        };
        // Rates that are all 0 rank alike.
        let rates = "; where no run exceeds the deadline, no difference of rates can be shown";
        let of_rate = if self.by_rate { rates } else { "" };
        let worst_case = match self.pairs {
            Some((needed, of)) => format!(
                "{what}: a difference is shown where it is on the same side in {needed} of {of} pairs of runs; that takes at \
                 least {least_for_worst_case} repetitions{of_rate}"
            ),
            None => format!(
                "{what}: with {repetitions} repetitions no difference can be shown, however great; that takes at least \
                 {least_for_worst_case}"
            ),
        };
        let body = if self.sees_body() {
            format!(
                "body: a mean or quantile that differs in every run is shown; that takes at least {least_for_body} repetitions"
            )
        } else {
            format!(
                "body: with {repetitions} repetitions a mean or quantile that differs alone may not be shown, however great; \
                 that takes at least {least_for_body}"
            )
        };
        vec![worst_case, body]
    }

    /// Why it should not begin, with the remedy; `None` where it can show something.
    #[must_use]
    pub fn refusal(&self) -> Option<String> {
        (!self.sees_worst_case()).then(|| {
            format!(
                "with {} repetitions no difference can be shown, however great: give it at least {} (--repetitions {}), which \
                 is enough for the body as well, or fewer levels (--only), or say --without-conclusion to run it all the same",
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
            "name = \"c\"\nabout = \"a\"\nrepetitions = {repetitions}\n[[measurement]]\nname = \"m\"\nmeasure = [\"wakeup\"]\n\
             duration = \"1s\"\n[[factor]]\nname = \"f\"\n[[factor.level]]\nname = \"0\"\n"
        );
        for level in 1..=levels {
            text +=
                &format!("[[factor.level]]\nname = \"{level}\"\n[factor.level.intent.file]\n\"/sys/f\" = {level}\n");
        }
        Campaign::from_toml(&text, &Choice::default()).unwrap()
    }

    #[test]
    fn what_can_be_seen_follows_from_all_ways_to_deal_the_runs_out() {
        // Two comparisons at 0.005 each: 2 / C(12, 6) = 0.0022, 12 / C(12, 6) = 0.013, 12 / C(14, 7) = 0.0035.
        let sight = campaign(6, 2).sight().unwrap();
        assert_eq!((sight.least_for_worst_case, sight.least_for_body), (6, 7));
        assert!(sight.sees_worst_case() && !sight.sees_body() && sight.refusal().is_none());
        // Two-sided one turned pair of 36 has 4 / 924 = 0.0043, two have 8 / 924 = 0.0087.
        assert_eq!(sight.pairs, Some((35, 36)));
        assert!(sight.sentences()[0].contains("in 35 of 36 pairs of runs"), "{:?}", sight.sentences());
    }

    #[test]
    fn where_a_deadline_is_stated_its_rate_is_foretold_and_when_that_shows_nothing() {
        let sentence = |measures: &[&[&str]]| {
            let mut campaign = campaign(8, 2);
            let first = campaign.measurement[0].clone();
            let of = |words: &&[&str]| {
                let measure = words.iter().map(|word| (*word).to_owned()).collect();
                crate::Measurement { what: crate::What::Words(measure), ..first.clone() }
            };
            campaign.measurement = measures.iter().map(of).collect();
            campaign.sight().unwrap().sentences().swap_remove(0)
        };
        let none_shown = "where no run exceeds the deadline, no difference of rates can be shown";
        for words in [&["wakeup", "--deadline", "100us"][..], &["noise", "--deadline=100us"]] {
            let said = sentence(&[words]);
            assert!(said.starts_with("rate beyond the deadline: ") && said.contains(none_shown), "{said}");
        }
        let both = sentence(&[&["wakeup", "--deadline", "100us"], &["wakeup"]]);
        assert!(both.starts_with("worst case, or rate beyond the deadline") && both.contains(none_shown), "{both}");
        for words in [&["wakeup"][..], &["wakeup", "--policy", "deadline"], &["app", "--deadline", "1ms"]] {
            let said = sentence(&[words]);
            assert!(said.starts_with("worst case: ") && !said.contains("the deadline"), "{said}");
        }
    }

    #[test]
    fn what_can_show_nothing_is_refused_with_the_number_that_can() {
        let sight = campaign(5, 2).sight().unwrap();
        let refusal = sight.refusal().unwrap();
        assert!(refusal.contains("at least 6 (--repetitions 7)"), "{refusal}");
        assert!(sight.sentences().iter().all(|line| line.contains("takes at least")));
    }
}
