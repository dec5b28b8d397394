//! Which conditions a campaign has, and in which order they are measured.

use units::Random;

use crate::{Campaign, Design, Order};

/// One combination of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The level of each factor, in the file's order, by its place.
    pub levels: Vec<usize>,
}

/// Which part of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// All conditions.
    Main,
    /// The winners together, against the first levels.
    Confirmation,
}

/// One time that a condition is set up and all is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Its place in the campaign, from 0.
    pub number: usize,
    /// Which part.
    pub phase: Phase,
    /// Which repetition of that part, from 0.
    pub repetition: u32,
    /// Which condition, by its place in [`Layout::conditions`].
    pub condition: usize,
}

/// Everything that is measured, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The conditions; the first has the first level of every factor.
    pub conditions: Vec<Condition>,
    /// The condition of the winners together, by its place, where there is one; it may be one of the others again.
    pub together: Option<usize>,
    /// The visits, in their order.
    pub visits: Vec<Visit>,
}

impl Campaign {
    /// Its conditions, the one with the first level of every factor first.
    #[must_use]
    pub fn conditions(&self) -> Vec<Condition> {
        let first = Condition { levels: vec![0; self.factor.len()] };
        match self.design {
            Design::OneAtATime => {
                let others = self
                    .factor
                    .iter()
                    .enumerate()
                    .flat_map(|(place, factor)| (1..factor.level.len()).map(move |level| (place, level)));
                let changed = others.map(|(place, level)| {
                    let mut condition = first.clone();
                    condition.levels[place] = level;
                    condition
                });
                [first.clone()].into_iter().chain(changed).collect()
            }
            Design::Factorial => self.factor.iter().enumerate().fold(vec![first], |conditions, (place, factor)| {
                let of_all = conditions.into_iter().flat_map(|condition| {
                    (0..factor.level.len()).map(move |level| {
                        let mut condition = condition.clone();
                        condition.levels[place] = level;
                        condition
                    })
                });
                of_all.collect()
            }),
        }
    }

    /// A condition's name: the levels that are not their factors' first, or `baseline`.
    #[must_use]
    pub fn name_of(&self, condition: &Condition) -> String {
        let levels = self.factor.iter().zip(&condition.levels).filter(|(_, level)| **level != 0);
        let names =
            levels.filter_map(|(factor, level)| Some(format!("{}={}", factor.name, factor.level.get(*level)?.name)));
        let name = names.collect::<Vec<_>>().join(",");
        if name.is_empty() { self.baseline_name() } else { name }
    }

    /// With one factor the name of its first level says more than `baseline`.
    fn baseline_name(&self) -> String {
        match self.factor.as_slice() {
            [only] => only.level.first().map(|level| format!("{}={}", only.name, level.name)),
            _ => None,
        }
        .unwrap_or_else(|| "baseline".to_owned())
    }

    /// All visits; those of the confirmation once its winners, by the places of their conditions, are known.
    #[must_use]
    pub fn layout(&self, winners: Option<&[usize]>) -> Layout {
        let mut layout = Layout { conditions: self.conditions(), together: None, visits: Vec::new() };
        let all: Vec<usize> = (0..layout.conditions.len()).collect();
        self.add_visits(&mut layout, Phase::Main, self.repetitions, &all);
        if let (Some(confirm), Some(winners)) = (self.confirm, winners.filter(|winners| !winners.is_empty())) {
            let mut together = Condition { levels: vec![0; self.factor.len()] };
            for winner in winners.iter().filter_map(|winner| layout.conditions.get(*winner)) {
                for (level, of_winner) in together.levels.iter_mut().zip(&winner.levels) {
                    *level = (*level).max(*of_winner);
                }
            }
            let place = layout.conditions.iter().position(|known| *known == together).unwrap_or_else(|| {
                layout.conditions.push(together);
                layout.conditions.len() - 1
            });
            layout.together = Some(place);
            self.add_visits(&mut layout, Phase::Confirmation, confirm.repetitions, &[0, place]);
        }
        layout
    }

    fn add_visits(&self, layout: &mut Layout, phase: Phase, repetitions: u32, conditions: &[usize]) {
        for repetition in 0..repetitions {
            for place in self.order_of(phase, repetition, conditions.len()) {
                let number = layout.visits.len();
                layout.visits.push(Visit { number, phase, repetition, condition: conditions[place] });
            }
        }
    }

    fn order_of(&self, phase: Phase, repetition: u32, conditions: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..conditions).collect();
        match self.order {
            Order::Interleaved if repetition % 2 == 1 => order.reverse(),
            Order::Interleaved => {}
            Order::Blocks => {
                let part = u64::from(phase == Phase::Confirmation) << 63;
                let mut random = Random::new(part | u64::from(self.seed) << 31 | u64::from(repetition));
                for place in (1..order.len()).rev() {
                    order.swap(place, below(&mut random, place + 1));
                }
            }
        }
        order
    }
}

/// A number below `bound`, which is small: the error of the remainder is below one in 2^40. Not [`Random::below`], since the
/// order of a campaign that was begun follows from its seed.
fn below(random: &mut Random, bound: usize) -> usize {
    let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
    usize::try_from(random.next() % bound).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Choice;

    fn campaign(design: &str, order: &str, levels: &[usize], repetitions: u32, seed: u32) -> Campaign {
        let mut text = format!(
            "name = \"c\"\nabout = \"a\"\ndesign = \"{design}\"\norder = \"{order}\"\nseed = {seed}\n\
             repetitions = {repetitions}\n[[measurement]]\nname = \"m\"\nmeasure = [\"wakeup\"]\nduration = \"1s\"\n"
        );
        if design == "one-at-a-time" {
            text = text.replacen("[[measurement", "[confirm]\nrepetitions = \"2\"\n[[measurement", 1);
        }
        for (place, levels) in levels.iter().enumerate() {
            text += &format!("[[factor]]\nname = \"f{place}\"\n");
            for level in 0..*levels {
                text += &format!(
                    "[[factor.level]]\nname = \"l{level}\"\n[factor.level.intent.nic.eth{place}]\nknob = {level}\n"
                );
            }
        }
        Campaign::from_toml(&text, &Choice::default()).unwrap()
    }

    fn order(campaign: &Campaign) -> Vec<usize> {
        campaign.layout(None).visits.iter().map(|visit| visit.condition).collect()
    }

    #[test]
    fn there_and_back_again() {
        assert_eq!(order(&campaign("one-at-a-time", "interleaved", &[2], 4, 0)), [0, 1, 1, 0, 0, 1, 1, 0]);
        assert_eq!(order(&campaign("one-at-a-time", "interleaved", &[3], 2, 0)), [0, 1, 2, 2, 1, 0]);
    }

    #[test]
    fn conditions_have_names_that_tell_them_apart() {
        let one = campaign("one-at-a-time", "blocks", &[2, 3], 1, 0);
        let names: Vec<String> = one.conditions().iter().map(|condition| one.name_of(condition)).collect();
        assert_eq!(names, ["baseline", "f0=l1", "f1=l1", "f1=l2"]);
        assert_eq!(campaign("factorial", "blocks", &[2, 3], 1, 0).conditions().len(), 6);
        let single = campaign("one-at-a-time", "blocks", &[2], 1, 0);
        assert_eq!(single.name_of(&single.conditions()[0]), "f0=l0");
    }

    #[test]
    fn winners_are_confirmed_together_after_all_else() {
        let one = campaign("one-at-a-time", "interleaved", &[2, 2, 2], 1, 0);
        assert_eq!(one.layout(Some(&[])), one.layout(None), "nothing won, nothing to confirm");
        let layout = one.layout(Some(&[1, 3]));
        assert_eq!(layout.conditions[4].levels, [1, 0, 1]);
        assert_eq!(layout.together, Some(4));
        let confirmed: Vec<usize> = layout
            .visits
            .iter()
            .filter(|visit| visit.phase == Phase::Confirmation)
            .map(|visit| visit.condition)
            .collect();
        assert_eq!(confirmed, [0, 4, 4, 0]);
        assert_eq!(layout.visits[..4], one.layout(None).visits);
        // A single winner needs no new condition, yet new runs.
        let single = one.layout(Some(&[2]));
        assert_eq!((single.conditions.len(), single.together, single.visits.len()), (4, Some(2), 8));
    }

    proptest! {
        #[test]
        fn every_condition_is_measured_equally_often(
            levels in prop::collection::vec(2_usize..4, 1..4), repetitions in 1_u32..6, seed: u32,
        ) {
            for (design, order_name) in [("factorial", "blocks"), ("one-at-a-time", "interleaved")] {
                let one = campaign(design, order_name, &levels, repetitions, seed);
                let conditions = one.conditions().len();
                let all = order(&one);
                for block in all.chunks(conditions) {
                    let mut block = block.to_vec();
                    block.sort_unstable();
                    prop_assert_eq!(block, (0..conditions).collect::<Vec<_>>());
                }
                prop_assert_eq!(order(&one), all, "the same each time");
            }
        }

        #[test]
        fn another_seed_draws_another_order(seed in 0_u32..1_000_000) {
            let drawn = |seed| order(&campaign("one-at-a-time", "blocks", &[4, 4], 6, seed));
            prop_assert_ne!(drawn(seed), drawn(seed + 1));
        }
    }
}
