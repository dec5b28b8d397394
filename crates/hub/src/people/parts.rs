//! Parts of the documents that come from a node's own words: causes, sources of time, and whether causes are sought.

use schemars::JsonSchema;
use serde::Serialize;

/// What made the largest latency late.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Cause {
    /// Its class: interrupt, thread, interrupts-off and others; unknown where it was sought and not found.
    class: String,
    /// The interrupt, thread, function or idle state, as the node calls it.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    /// How certain it is: shown, likely or unknown.
    certainty: &'static str,
    /// The share of the latency that it took by what was recorded (percent), in whole tens where the hub has kept it at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    covers_percent: Option<u8>,
}

impl From<farm::monitor::Cause> for Cause {
    fn from(of: farm::monitor::Cause) -> Self {
        let certainty = of.certainty_word();
        Self { class: of.class, name: of.name, certainty, covers_percent: of.covers_percent }
    }
}

/// A source of time in an interval, or the worst of several.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Source {
    /// Its name; `system clock` is what the kernel says of the node's own.
    source: String,
    /// Its state, the worst of the time: synchronized, not synchronized, locked, reference, starting, holdover, free, lost or unknown.
    state: String,
    /// The worst bound of its error (ns); absent where it had none at some moment.
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_ns: Option<u64>,
    /// How often the clock was set to another time.
    steps: u64,
    /// By how much at most (ns).
    largest_step_ns: i64,
}

impl From<farm::monitor::SourceInterval> for Source {
    fn from(of: farm::monitor::SourceInterval) -> Self {
        let farm::monitor::SourceInterval { source, bound_ns, state, steps, largest_step_ns } = of;
        Self { source, state, bound_ns, steps, largest_step_ns }
    }
}

/// A source of time in a stretch of time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct SourceOverTime {
    /// Its name.
    source: String,
    /// By their time; none where it was not known.
    points: Vec<SourcePoint>,
}

/// A source of time in a span of time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct SourcePoint {
    /// When it begins.
    start_utc_ns: i64,
    /// How long it is (ns).
    length_ns: u64,
    /// What is known of the source.
    #[serde(flatten)]
    worst: Source,
}

impl From<store::SourceHistory> for SourceOverTime {
    fn from(of: store::SourceHistory) -> Self {
        let point = |point: store::SourcePoint| SourcePoint {
            start_utc_ns: point.start_utc_ns,
            length_ns: point.length_ns,
            worst: point.worst.into(),
        };
        Self { source: of.source, points: of.points.into_iter().map(point).collect() }
    }
}

/// Whether causes are sought on a node, and what that costs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Explaining {
    /// What its own file asks for: auto, on or off.
    choice: String,
    /// By what causes are sought: programs, events or counters; absent where they are not.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
    /// Why they are not sought, in words; empty where they are.
    why_not: String,
    /// Latencies without and with it; absent where they could not be measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    cost: Option<ExplainingCost>,
}

/// What looking for causes costs: latencies of the same threads without and with it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct ExplainingCost {
    /// Median without it (ns).
    median_without_ns: u64,
    /// Median with it (ns).
    median_with_ns: u64,
    /// Mean without it (ns).
    mean_without_ns: u64,
    /// Mean with it (ns).
    mean_with_ns: u64,
    /// By how much means of runs differ that are alike (ns).
    mean_differs_ns: u64,
    /// Wake-ups without it, and as many with it.
    samples: u64,
}

impl From<farm::monitor::Explaining> for Explaining {
    fn from(of: farm::monitor::Explaining) -> Self {
        let cost = of.cost.map(|cost| ExplainingCost {
            median_without_ns: cost.median_without_ns,
            median_with_ns: cost.median_with_ns,
            mean_without_ns: cost.mean_without_ns,
            mean_with_ns: cost.mean_with_ns,
            mean_differs_ns: cost.mean_differs_ns,
            samples: cost.samples,
        });
        Self { choice: of.choice, source: of.source, why_not: of.why_not, cost }
    }
}

/// The wake-ups of a node in a stretch of time, as histograms of hours.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct NodeHistograms {
    /// From when was asked for.
    from_utc_ns: i64,
    /// Until when was asked for, which is not part of it.
    to_utc_ns: i64,
    /// One for each CPU and condition.
    histograms: Vec<SpanHistogram>,
}

/// The wake-ups of a CPU under one condition: of all hours that begin in the stretch of time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct SpanHistogram {
    /// The CPU.
    cpu: u32,
    /// SHA-256 of the condition that they were measured under.
    condition: String,
    /// Hours that it is made of.
    hours: u64,
    /// When the first of these hours begins.
    start_utc_ns: i64,
    /// When the last of them ends.
    end_utc_ns: i64,
    /// Wake-ups.
    samples: u64,
    /// Bins with at least one wake-up, by their latency.
    bins: Vec<Bin>,
}

/// A bin of a histogram.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct Bin {
    /// Lowest latency of the bin (ns).
    from_ns: u64,
    /// Highest latency of the bin (ns).
    to_ns: u64,
    /// Wake-ups.
    count: u64,
}

impl NodeHistograms {
    pub(super) fn new((from_utc_ns, to_utc_ns): (i64, i64), of: Vec<store::SpanHistogram>) -> Self {
        let histogram = |of: store::SpanHistogram| SpanHistogram {
            cpu: of.cpu,
            condition: of.condition.to_string(),
            hours: of.hours,
            start_utc_ns: of.start_utc_ns,
            end_utc_ns: of.end_utc_ns,
            samples: of.histogram.count(),
            bins: of
                .histogram
                .bins()
                .map(|bin| Bin { from_ns: bin.from_ns, to_ns: bin.to_ns, count: bin.count })
                .collect(),
        };
        Self { from_utc_ns, to_utc_ns, histograms: of.into_iter().map(histogram).collect() }
    }
}
