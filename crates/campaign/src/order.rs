//! Which conditions a campaign has, and in which order they are measured.

use crate::{Campaign, Design, Order};

/// One combination of levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// The level of each factor, in the file's order, by its place.
    pub levels: Vec<usize>,
}

/// One run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Its place in the campaign, from 0.
    pub number: usize,
    /// Which repetition, from 0.
    pub repetition: u32,
    /// Which condition, by its place in [`Campaign::conditions`].
    pub condition: usize,
    /// Which measurement, by its place in the file.
    pub measurement: usize,
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

    /// A condition's name: the levels that are not their factors' first, or those all.
    #[must_use]
    pub fn name_of(&self, condition: &Condition) -> String {
        let levels = self.factor.iter().zip(&condition.levels);
        let differs = levels.clone().any(|(_, level)| *level != 0);
        let named = levels.filter(|(_, level)| !differs || **level != 0);
        let names = named.filter_map(|(factor, level)| {
            factor.level.get(*level).map(|level| format!("{}={}", factor.name, level.name))
        });
        names.collect::<Vec<_>>().join(",")
    }

    /// All runs, in the order in which they are measured.
    #[must_use]
    pub fn runs(&self) -> Vec<Run> {
        let conditions = self.conditions().len();
        let mut runs = Vec::new();
        for repetition in 0..self.repetitions {
            for condition in self.order_of(repetition, conditions) {
                for measurement in 0..self.measurement.len() {
                    runs.push(Run { number: runs.len(), repetition, condition, measurement });
                }
            }
        }
        runs
    }

    fn order_of(&self, repetition: u32, conditions: usize) -> Vec<usize> {
        let mut order: Vec<usize> = (0..conditions).collect();
        match self.order {
            Order::Interleaved if repetition % 2 == 1 => order.reverse(),
            Order::Interleaved => {}
            Order::Blocks => {
                let mut random = SplitMix(self.seed.wrapping_mul(0x1_0000_0001).wrapping_add(u64::from(repetition)));
                for place in (1..order.len()).rev() {
                    order.swap(place, random.below(place + 1));
                }
            }
        }
        order
    }
}

/// A small generator whose every seed is as good as another (Steele, Lea and Flood, 2014).
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`, which is small: the error of the remainder is below one in 2^40.
    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % bound).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn campaign(design: &str, order: &str, levels: &[usize], repetitions: u32, seed: u64) -> Campaign {
        let mut text = format!(
            "name = \"c\"\nabout = \"a\"\ndesign = \"{design}\"\norder = \"{order}\"\nseed = {seed}\n\
             repetitions = {repetitions}\n[[measurement]]\nname = \"m\"\nmeasure = [\"wakeup\"]\nduration = \"1s\"\n"
        );
        for (place, levels) in levels.iter().enumerate() {
            text += &format!("[[factor]]\nname = \"f{place}\"\n");
            for level in 0..*levels {
                text += &format!(
                    "[[factor.level]]\nname = \"l{level}\"\n[factor.level.intent.nic.eth{place}]\nknob = {level}\n"
                );
            }
        }
        Campaign::from_toml(&text).unwrap()
    }

    fn order(campaign: &Campaign) -> Vec<usize> {
        campaign.runs().iter().map(|run| run.condition).collect()
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
        assert_eq!(names, ["f0=l0,f1=l0", "f0=l1", "f1=l1", "f1=l2"]);
        assert_eq!(campaign("factorial", "blocks", &[2, 3], 1, 0).conditions().len(), 6);
    }

    #[test]
    fn what_cannot_be_run_is_refused() {
        let refused = |text: &str| Campaign::from_toml(text).unwrap_err().to_string();
        let head = "name = \"c\"\nabout = \"a\"\nrepetitions = 2\n";
        let measurement = "[[measurement]]\nname = \"m\"\nmeasure = [\"wakeup\"]\nduration = \"1s\"\n";
        let factor = |name: &str, a: &str, b: &str| {
            format!(
                "[[factor]]\nname = \"{name}\"\n[[factor.level]]\nname = \"a\"\n{a}[[factor.level]]\nname = \"b\"\n{b}"
            )
        };
        let knob = |value: u32| format!("[factor.level.intent.knob]\nksm = {value}\n");
        assert!(refused(head).contains("missing field `factor`"));
        assert!(refused(&format!("{head}{measurement}{}", factor("f", "", ""))).contains("set the same"));
        let twice = factor("f", "", &knob(0)) + &factor("g", "", &knob(1)).replace("\"g\"", "\"g\"");
        let text = format!("{head}design = \"factorial\"\n{measurement}{twice}");
        assert!(refused(&text).contains("factors f and g both set knob ksm: to 0 and to 1"), "{}", refused(&text));
        // One at a time they never meet.
        assert!(Campaign::from_toml(&format!("{head}{measurement}{twice}")).is_ok());
        let good = format!("{head}{measurement}{}", factor("f", "", &knob(0)));
        assert!(Campaign::from_toml(&good).is_ok());
        assert!(refused(&good.replace("repetitions = 2", "repetitions = 0")).contains("repetitions is 0"));
        assert!(refused(&good.replace("repetitions = 2", "repetitions = 99999")).contains("more than 100000 runs"));
        assert!(refused(&good.replace("\"wakeup\"", "\"wakeup\", \"--json\"")).contains("the campaign itself says"));
        assert!(refused(&good.replace("name = \"f\"", "name = \"../f\"")).contains("no name of factor"));
    }

    proptest! {
        #[test]
        fn every_condition_is_measured_equally_often(
            levels in prop::collection::vec(2_usize..4, 1..4), repetitions in 1_u32..6, seed: u64,
        ) {
            // TOML's numbers end where signed ones do.
            let seed = seed >> 1;
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
    }
}
