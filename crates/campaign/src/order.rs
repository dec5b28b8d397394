//! The conditions of a campaign and the order in which they are measured.

use units::Random;

use crate::{Campaign, Design, Order};

/// One combination of levels, one level of each factor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// For each factor, in the order of the file, the index of its level.
    pub levels: Vec<usize>,
}

/// A part of a campaign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Every condition is measured.
    Main,
    /// The winners are measured together against the baseline.
    Confirmation,
}

/// A visit: a condition is set up once and every measurement is made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visit {
    /// Index of the visit in the campaign, from 0.
    pub number: usize,
    /// The part of the campaign that it belongs to.
    pub phase: Phase,
    /// Index of the repetition within that part, from 0.
    pub repetition: u32,
    /// Index of the condition in [`Layout::conditions`].
    pub condition: usize,
}

/// Everything that a campaign measures, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// The conditions. The first is the baseline: the first level of every factor.
    pub conditions: Vec<Condition>,
    /// Index of the condition that combines the winners, if there is one. It may equal one of the other conditions.
    pub together: Option<usize>,
    /// The visits, in the order in which they are made.
    pub visits: Vec<Visit>,
}

impl Campaign {
    /// All conditions. The baseline (the first level of every factor) comes first.
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
                let combined = conditions.into_iter().flat_map(|condition| {
                    (0..factor.level.len()).map(move |level| {
                        let mut condition = condition.clone();
                        condition.levels[place] = level;
                        condition
                    })
                });
                combined.collect()
            }),
        }
    }

    /// The name of a condition: the levels that differ from the baseline, or `baseline`.
    #[must_use]
    pub fn name_of(&self, condition: &Condition) -> String {
        let levels = self.factor.iter().zip(&condition.levels).filter(|(_, level)| **level != 0);
        let names =
            levels.filter_map(|(factor, level)| Some(format!("{}={}", factor.name, factor.level.get(*level)?.name)));
        let name = names.collect::<Vec<_>>().join(",");
        if name.is_empty() { self.baseline_name() } else { name }
    }

    /// The name of the baseline. With a single factor, its first level says more than `baseline`.
    fn baseline_name(&self) -> String {
        match self.factor.as_slice() {
            [only] => only.level.first().map(|level| format!("{}={}", only.name, level.name)),
            _ => None,
        }
        .unwrap_or_else(|| "baseline".to_owned())
    }

    /// All visits. `winners` are the indices of the winning conditions; visits of the confirmation follow once they are
    /// known.
    #[must_use]
    pub fn layout(&self, winners: Option<&[usize]>) -> Layout {
        let mut layout = Layout { conditions: self.conditions(), together: None, visits: Vec::new() };
        let all: Vec<usize> = (0..layout.conditions.len()).collect();
        self.add_visits(&mut layout, Phase::Main, self.repetitions, &all);
        if let (Some(confirm), Some(winners)) = (self.confirm, winners.filter(|winners| !winners.is_empty())) {
            let mut together = Condition { levels: vec![0; self.factor.len()] };
            for winner in winners.iter().filter_map(|winner| layout.conditions.get(*winner)) {
                for (level, winning) in together.levels.iter_mut().zip(&winner.levels) {
                    *level = (*level).max(*winning);
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
            for place in self.condition_order(phase, repetition, conditions.len()) {
                let number = layout.visits.len();
                layout.visits.push(Visit { number, phase, repetition, condition: conditions[place] });
            }
        }
    }

    fn condition_order(&self, phase: Phase, repetition: u32, conditions: usize) -> Vec<usize> {
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

/// A random number below `bound`. Since `bound` is small, the bias of the remainder is below 2^-40.
///
/// This does not use [`Random::below`]: a campaign that was begun with an older version must keep its order.
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
             repetitions = {repetitions}\n[[measurement]]\nname = \"m\"\nrequest.kind = \"wakeup\"\nduration = \"1s\"\n"
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
    fn interleaved_order_runs_forward_then_backward() {
        assert_eq!(order(&campaign("one-at-a-time", "interleaved", &[2], 4, 0)), [0, 1, 1, 0, 0, 1, 1, 0]);
        assert_eq!(order(&campaign("one-at-a-time", "interleaved", &[3], 2, 0)), [0, 1, 2, 2, 1, 0]);
    }

    #[test]
    fn conditions_have_distinct_names() {
        let one = campaign("one-at-a-time", "blocks", &[2, 3], 1, 0);
        let names: Vec<String> = one.conditions().iter().map(|condition| one.name_of(condition)).collect();
        assert_eq!(names, ["baseline", "f0=l1", "f1=l1", "f1=l2"]);
        assert_eq!(campaign("factorial", "blocks", &[2, 3], 1, 0).conditions().len(), 6);
        let single = campaign("one-at-a-time", "blocks", &[2], 1, 0);
        assert_eq!(single.name_of(&single.conditions()[0]), "f0=l0");
    }

    #[test]
    fn winners_are_confirmed_together_after_the_main_part() {
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
        // A single winner needs no new condition, but still new runs.
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
        fn different_seeds_give_different_orders(seed in 0_u32..1_000_000) {
            let drawn = |seed| order(&campaign("one-at-a-time", "blocks", &[4, 4], 6, seed));
            prop_assert_ne!(drawn(seed), drawn(seed + 1));
        }
    }
}
