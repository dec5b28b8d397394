//! What made the largest latency of an interval late, and whether a node looks for that.

use record::{CauseClass, Certainty, ExplainedSample};
use serde::{Deserialize, Serialize};
use units::format;

/// The most bytes of the name of a cause.
pub const MOST_CAUSE_NAME: usize = 128;
/// The most bytes of the class of a cause.
pub(super) const MOST_CAUSE_CLASS: usize = 64;

/// What made a wake-up late. Where nobody looked, or the wake-up was too little late to be looked at, there is none; that it was looked
/// for and not found is [`Cause::is_unknown`].
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Cause {
    /// Its class, as in a record (`CauseClass`): "interrupt", "thread"; "unknown" where it was sought and not found. A newer agent may
    /// have classes that are not known here.
    pub class: String,
    /// The interrupt, thread, function or idle state, as the node calls it; empty where it has none. At most [`MOST_CAUSE_NAME`] bytes.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Whether what was recorded shows it; else it is likely, or unknown.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_shown: bool,
    /// The share of the latency that it took by what was recorded (percent, 0 to 100); absent where nothing recorded says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covers_percent: Option<u8>,
}

impl Cause {
    /// The cause that explaining found of a sample.
    #[must_use]
    pub fn of_sample(sample: &ExplainedSample) -> Self {
        if sample.class == CauseClass::Unknown || sample.certainty == Certainty::Unknown {
            return Self { class: word_of(CauseClass::Unknown), ..Self::default() };
        }
        let of_class = sample.parts.iter().filter(|part| part.class == sample.class);
        let took_ns = of_class.fold(0_u64, |sum, part| sum.saturating_add(part.net_ns));
        let whole_ns = u64::try_from(sample.latency_ns).ok().filter(|ns| *ns > 0 && took_ns > 0);
        let percent = whole_ns.map(|whole_ns| (u128::from(took_ns) * 100 / u128::from(whole_ns)).min(100));
        Self {
            class: word_of(sample.class),
            name: shortened(&sample.name, MOST_CAUSE_NAME),
            is_shown: sample.certainty == Certainty::Shown,
            covers_percent: percent.and_then(|percent| u8::try_from(percent).ok()),
        }
    }

    /// Whether it was sought and not found.
    #[must_use]
    pub fn is_unknown(&self) -> bool {
        self.class == word_of(CauseClass::Unknown)
    }

    /// Its class, where it is one of this release.
    #[must_use]
    pub fn known_class(&self) -> Option<CauseClass> {
        serde_json::from_value(serde_json::Value::String(self.class.clone())).ok()
    }

    /// Its class in words; one of a newer agent as that wrote it.
    #[must_use]
    pub fn class_words(&self) -> &str {
        self.known_class().map_or(self.class.as_str(), |class| class.words())
    }

    /// How certain it is, in one word.
    #[must_use]
    pub fn certainty_word(&self) -> &'static str {
        let certainty = match (self.is_unknown(), self.is_shown) {
            (true, _) => Certainty::Unknown,
            (false, true) => Certainty::Shown,
            (false, false) => Certainty::Likely,
        };
        certainty.word()
    }

    /// Class and name: "interrupt: eth0 (interrupt 126)". Its name is text of others.
    #[must_use]
    pub fn what(&self) -> String {
        self.known_class().map_or_else(
            || if self.name.is_empty() { self.class.clone() } else { format!("{}: {}", self.class, self.name) },
            |class| class.with_name(&self.name),
        )
    }

    /// All of it in words: "interrupt: eth0 (shown, 93 % of the time)"; "unknown, though sought".
    #[must_use]
    pub fn in_words(&self) -> String {
        if self.is_unknown() {
            return "unknown, though sought".to_owned();
        }
        let share = self.covers_percent.map_or(String::new(), |percent| format!(", {percent} % of the time"));
        format!("{} ({}{share})", self.what(), self.certainty_word())
    }
}

/// A class as records have it.
fn word_of(class: CauseClass) -> String {
    match serde_json::to_value(class) {
        Ok(serde_json::Value::String(word)) => word,
        _ => class.words().to_owned(),
    }
}

/// The beginning of a text, as one printable line of at most so many bytes.
fn shortened(text: &str, most_bytes: usize) -> String {
    let mut line = units::printable::line(text).into_owned();
    let end = (0..=line.len().min(most_bytes)).rev().find(|at| line.is_char_boundary(*at)).unwrap_or(0);
    line.truncate(end);
    line
}

/// Whether a node looks for the causes of its worst wake-ups, and what that costs: the text of a content
/// ([`ContentKind::Explaining`](super::ContentKind::Explaining)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct Explaining {
    /// What the node's own file asks for: auto, on or off.
    pub choice: String,
    /// By what causes are sought: programs, events or counters; absent where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Why they are not sought, in words; empty where they are.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub why_not: String,
    /// What it costs, or would; absent where that could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<ExplainingCost>,
}

/// Latencies of the same threads without and with what looks for causes, in short runs that alternate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", default)]
pub struct ExplainingCost {
    /// Median latency without (ns).
    pub median_without_ns: u64,
    /// Median latency with it (ns).
    pub median_with_ns: u64,
    /// Mean latency without (ns).
    pub mean_without_ns: u64,
    /// Mean latency with it (ns).
    pub mean_with_ns: u64,
    /// Largest difference between the means of two runs that were both with, or both without it (ns): a smaller cost cannot be told
    /// from noise.
    pub mean_differs_ns: u64,
    /// Wake-ups without, and as many with it.
    pub samples: u64,
}

impl From<&record::ExplainingCost> for ExplainingCost {
    fn from(of: &record::ExplainingCost) -> Self {
        Self {
            median_without_ns: of.median_without_ns,
            median_with_ns: of.median_with_ns,
            mean_without_ns: units::round_u64(of.mean_without_ns),
            mean_with_ns: units::round_u64(of.mean_with_ns),
            mean_differs_ns: units::round_u64(of.mean_differs_ns),
            samples: of.samples,
        }
    }
}

impl Explaining {
    /// All of it in words.
    #[must_use]
    pub fn in_words(&self) -> String {
        let by = match self.source.as_deref() {
            Some("programs") => "sought by programs in the kernel".to_owned(),
            Some("events") => "sought by the kernel's events".to_owned(),
            Some("counters") => "sought by the kernel's counters".to_owned(),
            Some(other) => format!("sought by {other}"),
            None => format!("not sought: {}", self.why_not),
        };
        let Some(cost) = &self.cost else { return by };
        format!(
            "{by}; median {} without, {} with it; mean {} and {}, runs alike differ by {} ({} wake-ups each)",
            format::latency(cost.median_without_ns),
            format::latency(cost.median_with_ns),
            format::latency(cost.mean_without_ns),
            format::latency(cost.mean_with_ns),
            format::latency(cost.mean_differs_ns),
            format::count(cost.samples),
        )
    }
}

#[cfg(test)]
mod tests {
    use record::DelayPart;

    use super::*;

    fn sample(class: CauseClass, certainty: Certainty, name: &str, took_ns: u64) -> ExplainedSample {
        let part = |class, net_ns| DelayPart { class, name: String::new(), net_ns };
        ExplainedSample {
            latency_ns: 100_000,
            class,
            certainty,
            name: name.to_owned(),
            parts: vec![part(class, took_ns), part(CauseClass::Nmi, 5_000)],
            ..ExplainedSample::default()
        }
    }

    #[test]
    fn a_cause_is_shown_or_likely_and_what_is_neither_is_unknown() {
        let shown = Cause::of_sample(&sample(CauseClass::Interrupt, Certainty::Shown, "eth0", 93_900));
        assert_eq!(shown.in_words(), "interrupt: eth0 (shown, 93 % of the time)");
        let likely = Cause::of_sample(&sample(CauseClass::IdleExit, Certainty::Likely, "", 0));
        assert_eq!((likely.in_words().as_str(), likely.covers_percent), ("idle-state exit (likely)", None));
        // A class without evidence is no cause, and evidence of no class neither.
        for (class, certainty) in [(CauseClass::Thread, Certainty::Unknown), (CauseClass::Unknown, Certainty::Shown)] {
            let unknown = Cause::of_sample(&sample(class, certainty, "blamed", 99_000));
            assert!(unknown.is_unknown() && unknown.name.is_empty(), "{unknown:?}");
            assert_eq!((unknown.in_words().as_str(), unknown.covers_percent), ("unknown, though sought", None));
        }
        // Never more than all of it, however parts overlap.
        let over = Cause::of_sample(&sample(CauseClass::Thread, Certainty::Shown, "a", u64::MAX));
        assert_eq!(over.covers_percent, Some(100));
        let newer = Cause { class: "gremlin".to_owned(), name: "x".to_owned(), ..Cause::default() };
        assert_eq!((newer.what().as_str(), newer.class_words()), ("gremlin: x", "gremlin"));
    }

    #[test]
    fn a_name_is_one_short_line() {
        let long = format!("a\u{1b}[31m\n{}", "é".repeat(200));
        let cause = Cause::of_sample(&sample(CauseClass::Thread, Certainty::Shown, &long, 1));
        assert!(cause.name.len() <= MOST_CAUSE_NAME && !cause.name.contains('\u{1b}') && !cause.name.contains('\n'));
    }
}
