//! What is known of a node's sources of time in an interval, and what that makes of several intervals.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The name of the system clock itself among the sources: its state is the kernel's word (`STA_UNSYNC`, adjtimex(2)).
pub const SYSTEM_CLOCK: &str = "system clock";
/// State of the system clock: a program has said that it keeps it right.
pub const SYNCHRONIZED: &str = "synchronized";
/// State of the system clock: no program says that.
pub const NOT_SYNCHRONIZED: &str = "not synchronized";
/// State of a source that could not be read.
pub const UNKNOWN: &str = "unknown";

/// A source of time in an interval, by `measure sync`'s words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct SourceInterval {
    /// Its name: [`SYSTEM_CLOCK`], "chronyd", "ptp4l eth0 domain 0".
    pub source: String,
    /// The worst bound of its error in the interval (ns); absent where it had none at some moment of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound_ns: Option<u64>,
    /// Its worst state in the interval: of the system clock [`SYNCHRONIZED`], [`NOT_SYNCHRONIZED`] or [`UNKNOWN`]; of another one the
    /// word of its `SyncState`, or [`UNKNOWN`].
    #[serde(default)]
    pub state: String,
    /// How often the clock was set to another time in the interval, by whomever.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub steps: u64,
    /// By how much it was set at most (ns): the step of the largest magnitude, 0 without one.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub largest_step_ns: i64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks by reference")]
const fn is_nothing(step_ns: &i64) -> bool {
    *step_ns == 0
}

/// How bad a state is: what is known to be bad is worse than what is unknown, and that is worse than what is good. A word of a newer
/// agent is as bad as unknown.
fn badness(state: &str) -> u8 {
    match state {
        SYNCHRONIZED | "locked" => 0,
        "reference" => 1,
        "starting" => 2,
        "holdover" => 4,
        NOT_SYNCHRONIZED | "free" => 5,
        "lost" => 6,
        _ => 3,
    }
}

/// The worse of two states; of equally bad ones the same, whichever comes first.
fn worse<'a>(one: &'a str, other: &'a str) -> &'a str {
    if (badness(one), one) >= (badness(other), other) { one } else { other }
}

impl SourceInterval {
    /// Both of one source: the worst of each. In whatever order and grouping several are put together, the same comes of it.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let largest_step_ns = [self.largest_step_ns, other.largest_step_ns];
        Self {
            source: self.source.clone(),
            bound_ns: self.bound_ns.zip(other.bound_ns).map(|(one, other)| one.max(other)),
            state: worse(&self.state, &other.state).to_owned(),
            steps: self.steps.saturating_add(other.steps),
            largest_step_ns: largest_step_ns.into_iter().max_by_key(|ns| (ns.unsigned_abs(), *ns)).unwrap_or(0),
        }
    }

    /// How bad its state is, the worst the greatest.
    #[must_use]
    pub fn badness(&self) -> u8 {
        badness(&self.state)
    }
}

/// The sources of two stretches as those of both, by their names. Of one that is in one of them alone nothing is known in the other, and
/// so it has no bound in both.
#[must_use]
pub fn sources_of_both(one: &[SourceInterval], other: &[SourceInterval]) -> Vec<SourceInterval> {
    let by_name = |of: &[SourceInterval]| {
        let mut all: BTreeMap<String, SourceInterval> = BTreeMap::new();
        for source in of {
            let known = all.get(&source.source).map_or_else(|| source.clone(), |known| known.with(source));
            all.insert(source.source.clone(), known);
        }
        all
    };
    let (mut all, mut rest) = (by_name(one), by_name(other));
    for (name, source) in &mut all {
        match rest.remove(name) {
            Some(other) => *source = source.with(&other),
            None => source.bound_ns = None,
        }
    }
    all.extend(rest.into_iter().map(|(name, source)| (name, SourceInterval { bound_ns: None, ..source })));
    all.into_values().collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sources() -> impl Strategy<Value = Vec<SourceInterval>> {
        let state = prop_oneof![
            Just(SYNCHRONIZED),
            Just(NOT_SYNCHRONIZED),
            Just(UNKNOWN),
            Just("locked"),
            Just("holdover"),
            Just("lost"),
            Just("brooding"),
        ];
        let one = (0..3_u8, proptest::option::of(0..5_u64), state, 0..3_u64, -3..4_i64);
        let source = one.prop_map(|(number, bound_ns, state, steps, step_ns)| SourceInterval {
            source: format!("source {number}"),
            bound_ns,
            state: state.to_owned(),
            steps,
            largest_step_ns: if steps == 0 { 0 } else { step_ns },
        });
        proptest::collection::vec(source, 0..4)
    }

    proptest! {
        /// However intervals are merged, by a node or into hours and days, the worst of each source is the same.
        #[test]
        fn the_order_and_grouping_of_intervals_change_nothing(
            (one, two, three) in (sources(), sources(), sources()),
        ) {
            // Each list as it stands in an entry: every source once.
            let [one, two, three] = [one, two, three].map(|of| sources_of_both(&of, &of)).map(|mut of| {
                of.iter_mut().for_each(|source| source.steps /= 2);
                of
            });
            let left = sources_of_both(&sources_of_both(&one, &two), &three);
            prop_assert_eq!(&left, &sources_of_both(&one, &sources_of_both(&two, &three)));
            prop_assert_eq!(&left, &sources_of_both(&three, &sources_of_both(&two, &one)));
            for source in &left {
                let of = [&one, &two, &three].map(|all| all.iter().find(|of| of.source == source.source));
                let worst = of.iter().copied().collect::<Option<Vec<_>>>()
                    .and_then(|all| all.into_iter().map(|of| of.bound_ns).collect::<Option<Vec<_>>>());
                prop_assert_eq!(source.bound_ns, worst.and_then(|all| all.into_iter().max()));
                prop_assert_eq!(source.steps, of.iter().flatten().map(|of| of.steps).sum::<u64>());
                prop_assert!(of.iter().flatten().all(|of| of.badness() <= source.badness()));
            }
        }
    }

    #[test]
    fn what_is_unknown_is_neither_good_nor_off() {
        let of = |state: &str| SourceInterval { state: state.to_owned(), ..SourceInterval::default() };
        assert_eq!(of(UNKNOWN).with(&of(SYNCHRONIZED)).state, UNKNOWN);
        assert_eq!(of(UNKNOWN).with(&of(NOT_SYNCHRONIZED)).state, NOT_SYNCHRONIZED);
    }
}
