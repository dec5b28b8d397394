//! The kinds of measurement: what the rest of the program needs to know about them. The table is in [`table`].
//!
//! Code outside this crate does not match on the kind of a run. It asks the table: what its samples are called, to which
//! latency a deadline applies, what a run without samples means. A kind that is added here is compared, predicted, imported
//! and drawn without further code.

mod packets;
mod table;

use serde::Serialize;
use units::Ns;

pub use self::table::{KINDS, Measurement};

/// The properties of a kind of measurement: one row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The kind, as records name it.
    pub measurement: Measurement,
    /// The name that users type.
    pub name: &'static str,
    /// What it measures, as a sentence.
    pub about: &'static str,
    /// What one sample is called: `wake-up`.
    pub sample: &'static str,
    /// What several samples are called: `wake-ups`.
    pub samples: &'static str,
    /// When a sample is taken.
    pub sampling: Sampling,
    /// The roles of nodes in a run of this kind, that of the leading node first.
    pub roles: &'static [&'static str],
    /// How many other nodes take part beside the one that carries it out, at most; where it is not 0, at least one has to.
    pub most_partners: usize,
    /// The latencies that it records.
    pub latencies: &'static [Latency],
    /// The latencies to which a stated deadline applies; empty if the kind takes no deadline.
    pub judged: &'static [&'static str],
    /// The latency by which runs are compared; `None` if they cannot be compared.
    pub compared: Option<&'static str>,
    /// The latencies by which imported runs are compared that lack that one: the longest way first.
    pub imported: &'static [&'static str],
    /// The latencies whose worst cases can be predicted; the first is the default.
    pub predicted: &'static [&'static str],
    /// The latency whose late samples `--explain` explains; `None` if the kind has no explanations. Of runs between nodes it is
    /// a part of the compared latency, and each node explains its own.
    pub explained: Option<&'static str>,
    /// How its samples are drawn.
    pub figure: Figure,
    /// Whether the measured threads sleep between samples, so that they cannot reach a limit on real-time threads.
    pub sleeps: bool,
}

/// A latency: the time between two points.
#[derive(Clone, Copy, Debug)]
pub struct Latency {
    /// The name, made of the two points: `scheduled_to_woke`.
    pub name: &'static str,
    /// What lies between the points, in a few words for people: `sending program to driver`.
    pub words: &'static str,
    /// Where, by whom and on which clock the first point is taken.
    pub from: &'static str,
    /// Where, by whom and on which clock the second point is taken.
    pub to: &'static str,
    /// Column heading for the time of the second point: `woke at`.
    pub at: &'static str,
    /// What a latency below zero means.
    pub sign: Sign,
    /// The longer latencies that this one and others divide without a rest; their parts follow each other in the table.
    pub part_of: &'static [&'static str],
    /// The latency by which a second teller has the same samples: of a run that has it, that one is judged, so that none counts
    /// twice.
    pub retold_by: Option<&'static str>,
    /// What it is of: the way of a sample, or something beside it.
    pub role: LatencyRole,
    /// Between which points it is the whole way of a sample, as the end of "took 9.0 us"; empty if it never is.
    pub way: &'static str,
}

/// What a latency is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LatencyRole {
    /// The way of a sample, or a part of it.
    Way,
    /// How late a node carried out what it was ordered to.
    OrderedAct,
    /// What it took the driver of an output to switch it.
    OutputCost,
    /// The lead that an order needed.
    NeededLead,
    /// What the sender of packets was late by, before their way began.
    SenderLateness,
    /// What the sending system was late by where packets have a launch time.
    LaunchLateness,
    /// The round trip of an exchange that compares clocks.
    RoundTrip,
    /// The delay of the messages by which a time service compares clocks.
    PathDelay,
}

/// What a latency below zero means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// Negative latencies do not occur, unless a clock was set back.
    NotNegative,
    /// The second point was early, which satisfies every deadline.
    NegativeIsEarly,
    /// A negative latency is as bad as a positive one: a deadline applies to the magnitude.
    Magnitude,
}

/// When a sample is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    /// At each schedule. A late wake-up can skip schedules; a thread without samples did not run.
    Schedules,
    /// Whenever something took time from the measuring thread. No sample means that nothing did in the observed time.
    Disturbances,
    /// Whenever the followed program acts. The program determines which threads it has, and how often they act.
    Program,
    /// One after the other, until the requested number is reached.
    Repetitions,
    /// Whenever the clocks are compared: by a time service, which determines how often, or by this program.
    Comparisons,
    /// At each packet that arrives. One that does not was lost, and is counted.
    Packets,
    /// Whenever somebody else makes an edge, who determines how often.
    Edges,
}

impl Sampling {
    /// Whether a run without samples is a result: nothing happened.
    #[must_use]
    pub const fn is_quiet_without_samples(self) -> bool {
        matches!(self, Self::Disturbances)
    }

    /// Whether a late sample can skip schedules, each of which was then late by that sample less whole intervals.
    #[must_use]
    pub const fn can_skip_schedules(self) -> bool {
        matches!(self, Self::Schedules)
    }

    /// Whether the threads that take the samples have periods, which they could miss.
    #[must_use]
    pub const fn has_periods(self) -> bool {
        !matches!(self, Self::Comparisons | Self::Packets | Self::Edges)
    }

    /// Whether rates are per observed time instead of per number of schedules.
    #[must_use]
    pub const fn counts_by_time(self) -> bool {
        matches!(self, Self::Disturbances)
    }
}

/// How the samples of a kind are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// In the main plots of a page: latency histogram, latencies over time and by CPU, and tails.
    Wakeups,
    /// In a latency histogram of its own.
    Gaps,
    /// As minimum, mean and maximum of each series, side by side.
    Costs,
    /// Over time, with their bounds, and in a distribution.
    Offsets,
    /// Between nodes: over time with the error that the clocks allow, in parts from program to program, and in a distribution.
    Delays,
    /// Of nodes that act together: what became of their orders, the lead that these needed, and how late each node acted.
    Orders,
}

impl Figure {
    /// Whether a page of such runs is about how late things are: they decide its headline, and their worst cases are predicted.
    #[must_use]
    pub const fn is_of_latencies(self) -> bool {
        matches!(self, Self::Wakeups | Self::Delays | Self::Orders)
    }
}

/// The role of the only node of a run.
pub const MEASURED: &str = "measured";

/// The default time from one schedule to the next.
pub const DEFAULT_INTERVAL: Ns = Ns::from_us(200);

impl Kind {
    /// Whether a run needs a second node.
    #[must_use]
    pub const fn needs_partner(&self) -> bool {
        self.most_partners > 0
    }

    /// Column heading for the time at which samples of a latency were complete; `at` for a latency not in the table.
    #[must_use]
    pub fn at(&self, latency: &str) -> &'static str {
        self.latencies.iter().find(|known| known.name == latency).map_or("at", |known| known.at)
    }

    /// A latency of the table.
    #[must_use]
    pub fn latency(&self, name: &str) -> Option<&'static Latency> {
        self.latencies.iter().find(|known| known.name == name)
    }

    /// The latency that has a role beside the way of a sample; `None` if the kind has none of it.
    #[must_use]
    pub fn by_role(&self, role: LatencyRole) -> Option<&'static Latency> {
        self.latencies.iter().find(|known| known.role == role)
    }

    /// The latencies that divide another one without a rest, in the order in which their points are passed.
    pub fn parts_of(&self, whole: &str) -> impl Iterator<Item = &'static Latency> {
        self.latencies.iter().filter(move |latency| latency.part_of.contains(&whole))
    }

    /// The finest division of a latency: each part is divided further where all of its own parts are known.
    #[must_use]
    pub fn divided(&self, whole: &str, is_known: &dyn Fn(&str) -> bool) -> Vec<&'static Latency> {
        let mut parts = Vec::new();
        for part in self.parts_of(whole) {
            let is_divided = self.parts_of(part.name).next().is_some();
            if is_divided && self.parts_of(part.name).all(|finer| is_known(finer.name)) {
                parts.extend(self.divided(part.name, is_known));
            } else {
                parts.push(part);
            }
        }
        parts
    }

    /// What a value below zero means for a latency. A latency that is not in the table, such as one from an imported file,
    /// is assumed to be as bad below zero as above.
    #[must_use]
    pub fn sign(&self, latency: &str) -> Sign {
        self.latencies.iter().find(|known| known.name == latency).map_or(Sign::Magnitude, |known| known.sign)
    }

    /// Whether a deadline applies to a latency: to those in `judged`, and to every latency that is not in the table.
    #[must_use]
    pub fn judges(&self, latency: &str) -> bool {
        self.judged.contains(&latency) || self.latencies.iter().all(|known| known.name != latency)
    }

    /// Whether a stated deadline applies to exactly one latency, and runs are compared by that same latency.
    #[must_use]
    pub fn states_deadline_of_compared(&self) -> bool {
        matches!((self.judged, self.compared), ([judged], Some(compared)) if *judged == compared)
    }
}

impl Measurement {
    /// The kind's row of the table.
    #[must_use]
    pub fn kind(self) -> &'static Kind {
        &KINDS[self as usize]
    }

    /// The name that users type.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.kind().name
    }

    /// The kind that users type as `name`; `None` if there is none.
    #[must_use]
    pub fn by_name(name: &str) -> Option<Self> {
        KINDS.iter().find(|kind| kind.name == name).map(|kind| kind.measurement)
    }
}

/// The names of the kinds that have a property, as users type them: "wakeup, noise and app".
#[must_use]
pub fn names_of_kinds(has: fn(&Kind) -> bool) -> String {
    let names: Vec<&str> = KINDS.iter().filter(|kind| has(kind)).map(|kind| kind.name).collect();
    match names.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_with_a_property_are_named_in_a_sentence() {
        assert_eq!(names_of_kinds(|kind| kind.explained.is_some()), "wakeup and packet");
        assert_eq!(names_of_kinds(|kind| kind.name == "noise"), "noise");
        assert!(names_of_kinds(|kind| kind.compared.is_some()).starts_with("wakeup, noise, "));
    }

    #[test]
    fn each_row_of_the_table_belongs_to_its_kind_and_names_only_latencies_that_it_has() {
        for kind in KINDS {
            assert_eq!(kind.measurement.kind().name, kind.name);
            assert_eq!(Measurement::by_name(kind.name), Some(kind.measurement));
            assert_eq!(serde_json::to_value(kind.measurement).unwrap(), kind.name);
            let has = |name: &str| kind.latencies.iter().any(|latency| latency.name == name);
            let named = kind.judged.iter().chain(&kind.compared).chain(kind.predicted).chain(&kind.explained);
            assert!(named.into_iter().all(|name| has(name)), "{}", kind.name);
            for latency in kind.latencies {
                let (from, to) = latency.name.split_once("_to_").unwrap();
                assert!(
                    !to.contains("_to_") && !latency.words.is_empty() && !latency.from.is_empty(),
                    "{}",
                    latency.name
                );
                assert!(latency.part_of.iter().all(|whole| has(whole)), "{}", latency.name);
                // Parts begin where their whole does, follow each other, and end where it ends.
                let (mut at, mut parts) = (from, kind.parts_of(latency.name).peekable());
                let is_divided = parts.peek().is_some();
                for part in parts {
                    let (from, to) = part.name.split_once("_to_").unwrap();
                    assert_eq!(from, at, "{} of {}", part.name, latency.name);
                    at = to;
                }
                assert!(!is_divided || at == to, "{} ends at {at}", latency.name);
            }
        }
        assert_eq!(Measurement::by_name("cyclictest"), None);
    }
}
