//! A run that one node asks of another, in types of its own that cannot hold what only a node's own user may say of it.
//!
//! No command and no path, no address to dial, nothing that writes a file or stops the node's trace, no program of the node to
//! follow, no thread's CPU or stamps of a run of packets. A test walks the schema.

use std::fmt;

use record::{
    ClockRequest, EventRequest, ExplainRequest, LoadRequest, NoiseRequest, Placement, PolicyChoice, Request, RunEnd,
    RunLength, RunRequest, SourceChoice, SyncRequest, WakeupRequest,
};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;
use units::{ClockId, CpuSet, Ns};

/// A run that the asked node carries out by itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AskedRun {
    /// What is measured, and how.
    pub request: AskedRequest,
    /// The load; if absent, nothing else is started.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load: Option<AskedLoad>,
}

/// What is measured. A kind that is missing here cannot be asked for: following a program takes one of the node's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum AskedRequest {
    /// Timer wake-up latency.
    Wakeup(AskedWakeup),
    /// Time stolen from a thread that never sleeps.
    Noise(NoiseRequest),
    /// What reading a clock costs.
    Clock(ClockRequest),
    /// How far the clocks of the node are apart.
    Sync(AskedSync),
    /// The hand-over from one thread to another.
    Event(EventRequest),
}

/// The parameters of a run of `wakeup` that another node may choose. Each has the meaning of the field of its name in
/// [`WakeupRequest`], and its default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AskedWakeup {
    /// On which CPUs the measuring threads run.
    pub placement: Placement,
    /// Number of measuring threads; `None`: one per CPU, or a single one if unpinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub threads: Option<u32>,
    /// Scheduling policy of the measuring threads.
    pub policy: PolicyChoice,
    /// Real-time priority of the threads (1 to 99 for FIFO and RR).
    pub priority: u32,
    /// Time from one schedule to the next (at least 10 us).
    #[serde(with = "units::duration_text")]
    #[schemars(with = "String")]
    pub interval: Ns,
    /// The run starts at the next multiple of this on the measured clock (above 0); `None`: immediately.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub align_to: Option<Ns>,
    /// When the run ends.
    pub end: RunEnd,
    /// A claim: the run ends as soon as it is decided, and by `end` at the latest; `None`: by `end` alone.
    #[serde(deserialize_with = "short_claim", skip_serializing_if = "Option::is_none")]
    pub until_sure: Option<String>,
    /// The clock to sleep on.
    pub clock: ClockId,
    /// The deadline: the latency that no sample may exceed.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub deadline: Option<Ns>,
    /// A latency below this ends a burst of missed periods; `None`: the interval.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub recovered_within: Option<Ns>,
    /// Length of an interval of the record; `None`: min(5 minutes, duration / 60).
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub interval_maximum: Option<Ns>,
    /// Whether intervals begin and end at multiples of their length on UTC.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub intervals_on_utc: bool,
    /// Which late samples to explain; `None`: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub explain: Option<ExplainRequest>,
    /// Seed that places each schedule at random within its interval; `None`: schedules at equal distances.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<u64>,
    /// Whether to look for rhythms among the late wake-ups.
    pub scan_rhythms: bool,
}

/// The most bytes of a claim: the longest that is one has fewer.
const MOST_CLAIM: usize = 100;

/// A claim is read where it is looked at; before, it is a short line without anything that steers a terminal.
fn short_claim<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    let claim: Option<String> = Option::deserialize(deserializer)?;
    let is_short =
        |claim: &String| claim.len() <= MOST_CLAIM && claim.bytes().all(|byte| (b' '..=b'~').contains(&byte));
    if claim.as_ref().is_none_or(is_short) {
        return Ok(claim);
    }
    Err(D::Error::custom(format!("until-sure: a claim is a line of at most {MOST_CLAIM} plain characters")))
}

/// The parameters of a run of `sync` that another node may choose: where the node's sources are is its own affair.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct AskedSync {
    /// Which sources of time are looked at.
    pub source: SourceChoice,
    /// How long (100 ms to 400 days, or `unlimited`).
    pub duration: RunLength,
    /// The magnitude that no offset may exceed, within its hard bound.
    #[serde(with = "units::duration_text::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub limit: Option<Ns>,
    /// How much the rate of an uncorrected clock differs from the reference's at most (parts per billion, 1 to 100000000).
    pub max_drift_ppb: u32,
}

/// A load that is built into the program of the asked node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct AskedLoad {
    /// Its name, as `punctual load list` has it.
    pub name: ShippedLoad,
    /// Its CPUs; absent: those that are not measured where the measured ones are isolated, else all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<AskedCpus>,
    /// Names of its parts to leave out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub without: Vec<ShippedLoad>,
    /// Whether the parts run in turns instead of all at the same time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rotate: bool,
}

/// CPUs of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AskedCpus {
    /// All that are online.
    All,
    /// Those that are not measured.
    Others,
    /// The CPUs of this list.
    List(CpuSet),
}

/// The name of a built-in load or of a part of one: letters, digits and hyphens, so that it is no path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct ShippedLoad(#[schemars(regex(pattern = "^[A-Za-z0-9-]{1,64}$"))] String);

impl ShippedLoad {
    /// The name, if it has the form of one.
    #[must_use]
    pub fn new(name: &str) -> Option<Self> {
        let is_name = (1..=64).contains(&name.len()) && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
        is_name.then(|| Self(name.to_owned()))
    }
}

impl fmt::Display for ShippedLoad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for ShippedLoad {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).ok_or_else(|| {
            D::Error::custom("the name of a built-in load, or of a part of one, is letters, digits and hyphens")
        })
    }
}

/// Why a run cannot be asked of another node.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    /// The kind of measurement is carried out for the node's own user alone.
    #[error("'{0}' cannot be asked of another node: run it there")]
    Kind(&'static str),
    /// The load is a command or a file of the asking node's choice.
    #[error(
        "no node runs a command or a file for another: name a load that is built in ('punctual load list'), or start it there"
    )]
    Load,
    /// A field that only the node's own user may set.
    #[error("'{0}' is for the user of the node that measures alone: leave it out")]
    Field(String),
}

impl TryFrom<&RunRequest> for AskedRun {
    type Error = NotAsked;

    fn try_from(whole: &RunRequest) -> Result<Self, NotAsked> {
        let request = match &whole.request {
            Request::Wakeup(wakeup) => AskedRequest::Wakeup(AskedWakeup::of(wakeup)),
            Request::Noise(noise) => AskedRequest::Noise(noise.clone()),
            Request::Clock(clock) => AskedRequest::Clock(clock.clone()),
            Request::Sync(sync) => AskedRequest::Sync(AskedSync::of(sync)),
            Request::Event(event) => AskedRequest::Event(event.clone()),
            other => return Err(NotAsked::Kind(other.measurement().name())),
        };
        let load = whole.load.as_ref().map(AskedLoad::of).transpose()?;
        let asked = Self { request, load };
        let mut whole = whole.clone();
        // One set of CPUs has many texts.
        if let Some(cpus) = whole.load.as_mut().and_then(|load| load.cpus.as_mut()) {
            if let Ok(set) = cpus.parse::<CpuSet>() {
                *cpus = set.to_string();
            }
        }
        let (wanted, comes) = (as_json(&whole), as_json(&RunRequest::from(asked.clone())));
        match first_difference(&wanted, &comes) {
            None => Ok(asked),
            Some(field) => Err(NotAsked::Field(field)),
        }
    }
}

fn as_json(request: &RunRequest) -> Value {
    serde_json::to_value(request).unwrap_or_default()
}

/// The name of the first field that differs, at whatever depth.
fn first_difference(a: &Value, b: &Value) -> Option<String> {
    let (Value::Object(one), Value::Object(other)) = (a, b) else { return None };
    let names = one.keys().chain(other.keys());
    let mut different = names.filter(|name| one.get(*name) != other.get(*name));
    let name = different.next()?;
    let inner = one.get(name).zip(other.get(name)).and_then(|(one, other)| first_difference(one, other));
    Some(inner.unwrap_or_else(|| name.clone()))
}

impl From<AskedRun> for RunRequest {
    fn from(asked: AskedRun) -> Self {
        let request = match asked.request {
            AskedRequest::Wakeup(wakeup) => Request::Wakeup(wakeup.into()),
            AskedRequest::Noise(noise) => Request::Noise(noise),
            AskedRequest::Clock(clock) => Request::Clock(clock),
            AskedRequest::Sync(sync) => Request::Sync(sync.into()),
            AskedRequest::Event(event) => Request::Event(event),
        };
        Self { request, load: asked.load.map(Into::into), partner: Vec::new() }
    }
}

impl AskedWakeup {
    fn of(request: &WakeupRequest) -> Self {
        let request = request.clone();
        Self {
            placement: request.placement,
            threads: request.threads,
            policy: request.policy,
            priority: request.priority,
            interval: request.interval,
            align_to: request.align_to,
            end: request.end,
            clock: request.clock,
            deadline: request.deadline,
            recovered_within: request.recovered_within,
            interval_maximum: request.interval_maximum,
            intervals_on_utc: request.intervals_on_utc,
            explain: request.explain,
            jitter: request.jitter,
            until_sure: request.until_sure.clone(),
            scan_rhythms: request.scan_rhythms,
        }
    }
}

impl Default for AskedWakeup {
    fn default() -> Self {
        Self::of(&WakeupRequest::default())
    }
}

impl From<AskedWakeup> for WakeupRequest {
    fn from(asked: AskedWakeup) -> Self {
        Self {
            placement: asked.placement,
            threads: asked.threads,
            policy: asked.policy,
            priority: asked.priority,
            interval: asked.interval,
            align_to: asked.align_to,
            end: asked.end,
            clock: asked.clock,
            deadline: asked.deadline,
            recovered_within: asked.recovered_within,
            interval_maximum: asked.interval_maximum,
            intervals_on_utc: asked.intervals_on_utc,
            explain: asked.explain,
            jitter: asked.jitter,
            until_sure: asked.until_sure.clone(),
            scan_rhythms: asked.scan_rhythms,
            ..Self::default()
        }
    }
}

impl AskedSync {
    const fn of(request: &SyncRequest) -> Self {
        Self {
            source: request.source,
            duration: request.duration,
            limit: request.limit,
            max_drift_ppb: request.max_drift_ppb,
        }
    }
}

impl Default for AskedSync {
    fn default() -> Self {
        Self::of(&SyncRequest::default())
    }
}

impl From<AskedSync> for SyncRequest {
    fn from(asked: AskedSync) -> Self {
        let AskedSync { source, duration, limit, max_drift_ppb } = asked;
        Self { source, duration, limit, max_drift_ppb, ..Self::default() }
    }
}

impl AskedLoad {
    fn of(load: &LoadRequest) -> Result<Self, NotAsked> {
        let name = load.name.as_deref().filter(|_| load.command.is_none()).and_then(ShippedLoad::new);
        let without = load.without.iter().map(|part| ShippedLoad::new(part)).collect::<Option<Vec<_>>>();
        let cpus = load.cpus.as_deref().map(|text| match text {
            "all" => Ok(AskedCpus::All),
            "others" => Ok(AskedCpus::Others),
            list => list.parse().map(AskedCpus::List),
        });
        let cpus = cpus.transpose().map_err(|_| NotAsked::Field("cpus".to_owned()))?;
        let (Some(name), Some(without)) = (name, without) else { return Err(NotAsked::Load) };
        Ok(Self { name, cpus, without, rotate: load.rotate })
    }
}

impl From<AskedLoad> for LoadRequest {
    fn from(asked: AskedLoad) -> Self {
        let cpus = asked.cpus.map(|cpus| match cpus {
            AskedCpus::All => "all".to_owned(),
            AskedCpus::Others => "others".to_owned(),
            AskedCpus::List(list) => list.to_string(),
        });
        let without = asked.without.iter().map(ToString::to_string).collect();
        Self { name: Some(asked.name.0.into()), command: None, cpus, without, rotate: asked.rotate }
    }
}
