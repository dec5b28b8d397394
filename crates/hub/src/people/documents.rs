//! The documents of the people's port, as JSON: integers with their units in their names, times in ns since 1970 (UTC).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;
use store::{FleetRow, History};

use super::parts::{Cause, Explaining, Source, SourceOverTime};
use crate::backup::overdue;
use crate::fleet::{Rank, rank};
use crate::pages::{detail, gap_why, look};

/// All nodes, in the order in which they are to be looked at.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Fleet {
    /// The hub's public key, in hexadecimal digits.
    hub: String,
    /// The nodes.
    nodes: Vec<Node>,
}

/// Why a node stands where it does in the list.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Attention {
    /// An interval of the last day was beyond its limit.
    BeyondLimit,
    /// Its latest interval is unusual for it.
    Unusual,
    /// Nothing is known of how it does now.
    NotMeasured,
    /// It is monitored, and nothing is to be said.
    None,
    /// Nothing is expected of it.
    AtRest,
}

/// A node and its latest.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct Node {
    /// Its public key, in hexadecimal digits: its identity.
    key: String,
    /// Its name.
    name: String,
    /// What it does: monitoring, silent, behind, stopped, not monitored, no real-time priority, invalid, waiting or retired.
    state: &'static str,
    /// More of that state, in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    detail: String,
    /// Why it stands where it does in the list.
    attention: Attention,
    /// Its limit (ns).
    #[serde(skip_serializing_if = "Option::is_none")]
    limit_ns: Option<u64>,
    /// The interval of the last day that was furthest beyond its limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    beyond: Option<Beyond>,
    /// The largest latency of its latest interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    latest: Option<Maximum>,
    /// When its latest interval ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_until_utc_ns: Option<i64>,
    /// The largest latency of the day that ends with its latest interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    day: Option<Maximum>,
    /// The largest latency of all time.
    #[serde(skip_serializing_if = "Option::is_none")]
    ever: Option<Maximum>,
    /// The maxima of its last intervals (ns), the latest last.
    maxima_ns: Vec<Option<i64>>,
    /// The largest latency of each half hour of the day that ends with its latest interval (ns), the latest last.
    half_hours_ns: Vec<Option<i64>>,
    /// When something of it was last taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    seen_utc_ns: Option<i64>,
    /// When it was enrolled.
    enrolled_utc_ns: i64,
    /// Version of its agent.
    version: String,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    /// Its labels.
    labels: BTreeMap<String, String>,
    /// CPUs that are isolated and that nobody monitors.
    isolated_and_not_monitored: Vec<u32>,
    /// Its sources of time in its latest interval, by their names.
    sources: Vec<Source>,
}

/// Where a node stands.
#[derive(Debug, Serialize, JsonSchema)]
struct Place {
    /// The rack.
    rack: String,
    /// The slot in it.
    slot: String,
}

/// An interval that was beyond its limit.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct Beyond {
    /// By how much (ns).
    by_ns: u64,
    /// The limit that it was measured under (ns).
    limit_ns: u64,
    /// Its largest latency.
    maximum: Maximum,
    /// Whether it is the latest interval.
    is_latest: bool,
}

/// The largest latency of a stretch of time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct Maximum {
    /// The latency (ns).
    maximum_ns: i64,
    /// Its CPU.
    cpu: u32,
    /// When.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_utc_ns: Option<i64>,
    /// What made it late; absent where nobody looked for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
}

impl From<store::Maximum> for Maximum {
    fn from(of: store::Maximum) -> Self {
        let at_utc_ns = of.at.map(|at| at.utc_ns);
        Self { maximum_ns: of.maximum_ns, cpu: of.cpu, at_utc_ns, cause: of.cause.map(Into::into) }
    }
}

impl From<store::Beyond> for Beyond {
    fn from(of: store::Beyond) -> Self {
        let store::Beyond { by_ns, limit_ns, maximum, is_latest } = of;
        Self { by_ns, limit_ns, maximum: maximum.into(), is_latest }
    }
}

impl Fleet {
    pub(super) fn new(hub: String, rows: Vec<FleetRow>) -> Self {
        Self { hub, nodes: rows.into_iter().map(Node::new).collect() }
    }
}

impl Node {
    pub(super) fn new(row: FleetRow) -> Self {
        let attention = match rank(&row) {
            Rank::Beyond(_) => Attention::BeyondLimit,
            Rank::Unusual(_) => Attention::Unusual,
            Rank::NotMeasured => Attention::NotMeasured,
            Rank::Maximum(_) => Attention::None,
            Rank::AtRest => Attention::AtRest,
        };
        Self {
            key: row.node.key.to_string(),
            name: row.node.name.clone(),
            state: look(&row.state).word,
            detail: detail(&row.state),
            attention,
            limit_ns: row.limit_ns,
            beyond: row.beyond.map(Into::into),
            latest: row.latest.map(Into::into),
            measured_until_utc_ns: row.measured_until.map(|until| until.utc_ns),
            day: row.day.map(Into::into),
            ever: row.ever.map(Into::into),
            maxima_ns: row.maxima_ns.to_vec(),
            half_hours_ns: row.half_hours_ns.to_vec(),
            seen_utc_ns: row.node.seen_wall_ns,
            enrolled_utc_ns: row.node.enrolled_wall_ns,
            version: row.node.version.clone(),
            place: row.node.place.clone().map(|place| Place { rack: place.rack, slot: place.slot }),
            labels: row.node.labels.clone(),
            isolated_and_not_monitored: row.isolated_and_not_monitored,
            sources: row.sources.into_iter().map(Into::into).collect(),
        }
    }
}

/// What was measured on a node in a stretch of time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(super) struct NodeHistory {
    /// From when.
    from_utc_ns: i64,
    /// Until when, which is not part of it.
    to_utc_ns: i64,
    /// What points are made of.
    tier: Tier,
    /// CPU by CPU.
    cpus: Vec<Cpu>,
    /// Its sources of time, by their names.
    sources: Vec<SourceOverTime>,
    /// Whether causes are sought on the node, and what that costs, as it last said.
    #[serde(skip_serializing_if = "Option::is_none")]
    explaining: Option<Explaining>,
    /// When nothing was monitored.
    gaps: Vec<Gap>,
    /// Intervals whose time cannot be, or is not known.
    not_placed: u64,
}

/// What points are made of.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Tier {
    /// Intervals of five minutes.
    Intervals,
    /// Hours.
    Hours,
    /// Days.
    Days,
}

/// A CPU.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct Cpu {
    /// The CPU.
    cpu: u32,
    /// By their time.
    points: Vec<Point>,
}

/// A span of time of one CPU and one condition.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct Point {
    /// When it begins.
    start_utc_ns: i64,
    /// How long it is (ns).
    length_ns: u64,
    /// How far its place in UTC may be off (ns).
    placed_error_ns: u64,
    /// The largest latency that stands (ns).
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum_ns: Option<i64>,
    /// When that was.
    #[serde(skip_serializing_if = "Option::is_none")]
    maximum_utc_ns: Option<i64>,
    /// The largest latency that something spoiled (ns).
    #[serde(skip_serializing_if = "Option::is_none")]
    spoiled_ns: Option<i64>,
    /// Wake-ups that stand.
    samples: u64,
    /// Schedules that were swallowed.
    missed_periods: u64,
    /// Wake-ups later than the limit.
    beyond_limit: u64,
    /// Time in it that was not monitored (ns).
    not_monitored_ns: u64,
    /// SHA-256 of the condition that it was measured under.
    condition: String,
    /// Codes of the reasons that spoiled something.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reasons: Vec<String>,
    /// What made the largest late; absent where nobody looked for that.
    #[serde(skip_serializing_if = "Option::is_none")]
    cause: Option<Cause>,
}

/// A stretch in which nothing was monitored.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
struct Gap {
    /// When it begins.
    start_utc_ns: i64,
    /// How long it is (ns).
    length_ns: u64,
    /// Why, in words.
    why: String,
    /// Who says so.
    by: GapBy,
    /// Which CPUs; all of them where none is named.
    cpus: Vec<u32>,
}

/// Who says why nothing was monitored.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum GapBy {
    /// The node.
    Node,
    /// Nobody: the next that is known is of a later boot.
    NextBoot,
    /// Nobody, and something is missing that might say it.
    Nobody,
}

impl NodeHistory {
    pub(super) fn new(
        (from_utc_ns, to_utc_ns): (i64, i64),
        history: History,
        explaining: Option<farm::monitor::Explaining>,
    ) -> Self {
        let point = |point: store::Point| Point {
            start_utc_ns: point.start_utc_ns,
            length_ns: point.length_ns,
            placed_error_ns: point.placed_error_ns,
            maximum_ns: point.maximum_ns,
            maximum_utc_ns: point.maximum_utc_ns,
            spoiled_ns: point.spoiled_ns,
            samples: point.samples,
            missed_periods: point.missed_periods,
            beyond_limit: point.beyond_limit,
            not_monitored_ns: point.not_monitored_ns,
            condition: point.condition.to_string(),
            reasons: point.reasons,
            cause: point.cause.map(Into::into),
        };
        let cpu = |cpu: store::CpuHistory| Cpu { cpu: cpu.cpu, points: cpu.points.into_iter().map(point).collect() };
        let gap_of = |span: store::GapSpan| Gap {
            start_utc_ns: span.start_utc_ns,
            length_ns: span.length_ns,
            why: gap_why(&span.why).to_owned(),
            by: match &span.why {
                store::GapWhy::Said(_) => GapBy::Node,
                store::GapWhy::NoWord => GapBy::NextBoot,
                store::GapWhy::Unknown => GapBy::Nobody,
            },
            cpus: span.cpus,
        };
        Self {
            from_utc_ns,
            to_utc_ns,
            tier: match history.tier {
                store::Tier::Intervals => Tier::Intervals,
                store::Tier::Hours => Tier::Hours,
                store::Tier::Days => Tier::Days,
            },
            cpus: history.cpus.into_iter().map(cpu).collect(),
            sources: history.sources.into_iter().map(SourceOverTime::from).collect(),
            explaining: explaining.map(Into::into),
            gaps: history.gaps.into_iter().map(gap_of).collect(),
            not_placed: history.not_placed,
        }
    }
}

/// How the hub does.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) struct Status {
    /// The hub's public key, in hexadecimal digits.
    pub(crate) hub: String,
    /// Its life.
    pub(crate) epoch: u64,
    /// Version of its program.
    pub(crate) version: &'static str,
    /// Nodes, but for those that were revoked.
    pub(crate) nodes: usize,
    /// How many do what, by their states' words.
    pub(crate) states: BTreeMap<&'static str, usize>,
    /// Nodes of which an interval of the last day was beyond its limit, by their names.
    pub(crate) beyond_limit: Vec<String>,
    /// Nodes of which nothing is known of how they do now, by their names.
    pub(crate) not_measured: Vec<String>,
    /// Until when the hub's latest backup, or that from which it was restored, has all that nodes had sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) last_backup_utc_ns: Option<i64>,
    /// What is to be said of that: there is none, or it is older than nodes keep for certain what this hub has acknowledged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) backup_overdue: Option<String>,
}

impl Status {
    /// `now_wall_ns`: the hub's clock (ns since 1970).
    pub(crate) fn new(
        (hub, epoch): (String, u64),
        rows: &[FleetRow],
        last_backup_utc_ns: Option<i64>,
        now_wall_ns: i64,
    ) -> Self {
        let mut states = BTreeMap::new();
        for row in rows {
            *states.entry(look(&row.state).word).or_default() += 1;
        }
        let of = |wanted: &dyn Fn(Rank) -> bool| {
            let found = rows.iter().filter(|row| wanted(rank(row)));
            found.map(|row| row.node.name.clone()).collect()
        };
        Self {
            hub,
            epoch,
            version: env!("CARGO_PKG_VERSION"),
            nodes: rows.len(),
            states,
            beyond_limit: of(&|rank| matches!(rank, Rank::Beyond(_))),
            not_measured: of(&|rank| rank == Rank::NotMeasured),
            last_backup_utc_ns,
            backup_overdue: overdue(last_backup_utc_ns, !rows.is_empty(), now_wall_ns),
        }
    }

    /// Whether nobody has to look at anything.
    pub(crate) fn is_well(&self) -> bool {
        self.beyond_limit.is_empty() && self.not_measured.is_empty()
    }
}
