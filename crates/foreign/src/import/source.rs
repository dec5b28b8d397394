//! The content of an imported text, and its conversion into a record.

use std::collections::{BTreeMap, BTreeSet};
use units::Timestamp;

use record::{
    Counters, Detail, DmaLatency, Instrument, LateSamples, LoadManifest, MEASURED, Manifest, Measurement, Moment, Node,
    NodeIdentity, Nodes, Origin, PacketRun, ReasonCode, Record, Requested, Series, ToolVersion, Validity,
};

use super::clocks::Clocks;
use super::tally::Tally;
use crate::error::ForeignError;

/// The content of an imported text.
#[derive(Clone, Debug)]
pub struct Imported {
    measurement: Measurement,
    tool: ToolVersion,
    command: Vec<String>,
    node: NodeIdentity,
    requested: Requested,
    /// `CLOCK_REALTIME` at the start (ns since 1970), if the text contains it.
    started_ns: Option<i64>,
    /// Time from start to end (ns), if the text contains it.
    duration_ns: Option<i64>,
    load: LoadManifest,
    series: Vec<Series>,
    /// What was seen of clocks, if that is what the source is about.
    clocks: Option<Clocks>,
    /// What became of packets, if that is what the source is about.
    packets: Option<PacketRun>,
    lacks: Vec<String>,
    /// The unit that values were truncated to (ns), where they were.
    truncated_to_ns: Option<u64>,
    reasons: Vec<(ReasonCode, String)>,
    format: &'static str,
    identity: u64,
}

/// What every import of latencies lacks.
const LATENCIES_LACK: [&str; LATENCIES_MISS.len()] = [
    "the order of the samples in time: no intervals, no worst case over time, no wall-clock times of the worst samples",
    "missed periods: a late wake-up counts as one sample, however many schedules it skipped",
    "what the threads were granted: policy, priority, affinity and locked memory were not read back",
    "what disturbed the run: steal, SMIs, frequency changes, clock steps, throttling",
];

/// The same in a few words, for one line about an import.
const LATENCIES_MISS: [&str; 4] =
    ["the order in time", "missed periods", "what the threads were granted", "what disturbed the run"];

/// What every import about clocks lacks.
const CLOCKS_LACK: [&str; CLOCKS_MISS.len()] = [
    "suspends of the machine, and steps of its clock that the source does not mention",
    "what happened while the source was silent: its own changes between two lines or messages",
];

/// The same in a few words.
const CLOCKS_MISS: [&str; 2] = ["suspends and unmentioned steps", "what happened while it was silent"];

/// What every import about packets lacks.
const PACKETS_LACK: [&str; PACKETS_MISS.len()] = [
    "how far the clocks of the nodes were apart: the error of a delay between two clocks is not known, so that no limit can be held \
     against it and no difference of two such delays is shown",
    "copies of packets, packets of others, and which schedules the sender skipped",
    "what the threads were granted: policy, priority, affinity and locked memory were not read back",
    "what disturbed the run: steal, SMIs, frequency changes, clock steps, throttling",
];

/// The same in a few words.
const PACKETS_MISS: [&str; 4] = [
    "the error of the nodes' clocks",
    "copies and skipped schedules",
    "what the threads were granted",
    "what disturbed the run",
];

/// What every import of this kind lacks, in a few words, for one line about it.
#[must_use]
pub fn always_missing(record: &Record) -> &'static [&'static str] {
    if record.sync().is_some() {
        &CLOCKS_MISS
    } else if record.packets().is_some() {
        &PACKETS_MISS
    } else if record.series.iter().any(|series| !series.intervals.is_empty()) {
        &LATENCIES_MISS[1..]
    } else {
        &LATENCIES_MISS
    }
}

/// A format and the program that writes it: `cyclictest-json of cyclictest V 2.50`. A program whose format has its own name is
/// named once.
#[must_use]
pub fn format_in_words(format: &str, tool: &ToolVersion) -> String {
    let program = format!("{} {}", tool.name, tool.version);
    match program.trim() {
        same if same == format => format.to_owned(),
        program => format!("{format} of {program}"),
    }
}

impl Imported {
    /// An empty result of the given program.
    pub(super) fn from_program(program: &str, measurement: Measurement) -> Self {
        Self {
            measurement,
            tool: ToolVersion { name: program.to_owned(), version: String::new() },
            command: Vec::new(),
            node: NodeIdentity::default(),
            requested: Requested::default(),
            started_ns: None,
            duration_ns: None,
            load: LoadManifest::default(),
            series: Vec::new(),
            clocks: None,
            packets: None,
            lacks: Vec::new(),
            truncated_to_ns: None,
            reasons: Vec::new(),
            format: "",
            identity: 0,
        }
    }

    /// The content of a source that is about clocks; `program` is who wrote it.
    pub(super) fn from_clocks(program: &str, clocks: Clocks) -> Self {
        let mut imported = Self::from_program(program, Measurement::Sync);
        imported.series = clocks.series();
        imported.clocks = Some(clocks);
        imported
    }

    /// The content of a source that is about packets; each series names its node: `from` or `to` of its flow.
    pub(super) fn from_packets(program: &str, packets: PacketRun, series: Vec<Series>) -> Self {
        let mut imported = Self::from_program(program, Measurement::Packet);
        imported.series = series;
        imported.packets = Some(packets);
        imported
    }

    pub(super) fn tool_version(&mut self, version: &str) {
        version.clone_into(&mut self.tool.version);
    }

    pub(super) fn command(&mut self, line: &str) {
        self.command = line.split_whitespace().map(str::to_owned).collect();
    }

    pub(super) fn node(&mut self) -> &mut NodeIdentity {
        &mut self.node
    }

    pub(super) fn requested(&mut self) -> &mut Requested {
        &mut self.requested
    }

    pub(super) fn load(&mut self) -> &mut LoadManifest {
        &mut self.load
    }

    pub(super) fn started(&mut self, realtime_ns: i64) {
        self.started_ns = Some(realtime_ns);
    }

    pub(super) fn lasted(&mut self, duration_ns: i64) {
        self.duration_ns = Some(duration_ns.max(0));
    }

    /// Adds something that this source lacks in addition to what every import lacks, in words.
    pub(super) fn lacks(&mut self, what: impl Into<String>) {
        self.lacks.push(what.into());
    }

    pub(super) fn reason(&mut self, code: ReasonCode, detail: impl Into<String>) {
        self.reasons.push((code, detail.into()));
    }

    /// Notes that values were truncated to whole units of `unit_ns`, or to the beginnings of bins, where those are wider.
    pub(super) fn lacks_fractions(&mut self, unit_ns: u64) {
        self.truncated_to_ns = Some(unit_ns);
    }

    /// Adds a thread's samples: `series` with the histogram made from `tally`.
    pub(super) fn add(&mut self, series: Series, tally: Tally) -> Result<(), ForeignError> {
        let resolution_ns = tally.resolution_ns();
        let counted = tally.count()?;
        self.reasons.extend(counted.reasons);
        let samples = counted.histogram.count();
        self.series.push(Series {
            histogram: counted.histogram,
            resolution_ns,
            counters: Counters { samples, ..Counters::default() },
            ..series
        });
        Ok(())
    }

    /// Whether two readings of a source found the same samples and the same reasons against them.
    pub(super) fn is_same_result(&self, other: &Self) -> bool {
        self.series == other.series && self.reasons == other.reasons
    }

    pub(super) fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Adds what is the same for every format; called once all samples were added.
    pub(super) fn finish(&mut self, format: &'static str, identity: u64) {
        self.format = format;
        self.identity = identity;
        if let Some(clocks) = &self.clocks {
            self.reasons.extend(clocks.reasons());
            if !clocks.has_wall_time() {
                self.lacks.push("when it was logged: its times have no date".to_owned());
            }
            if clocks.lacks_clock() {
                self.lacks.push("which clock the offsets are of".to_owned());
            }
            self.lacks.extend(CLOCKS_LACK.iter().map(|text| (*text).to_owned()));
        } else {
            self.finish_latencies();
        }
        if self.node.hostname.is_empty() {
            self.lacks("on which machine and kernel it was measured");
        }
        if self.load.name.is_empty() {
            self.lacks("what else ran during the run");
        }
        let whose = format_in_words(format, &self.tool);
        self.reason(
            ReasonCode::Imported,
            format!("{whose}; {} things are unknown, as listed in the record's origin", self.lacks.len()),
        );
    }

    fn finish_latencies(&mut self) {
        let step_ns = self.series.iter().filter_map(|series| series.resolution_ns).chain(self.truncated_to_ns).max();
        if let Some(step_ns) = step_ns.filter(|ns| self.truncated_to_ns.is_some() && *ns > 1) {
            let step = units::format::latency(step_ns);
            let text =
                format!("fractions of {step}: each value is truncated, and the true one can be up to that much higher");
            self.lacks.insert(0, text);
        }
        if self.series.iter().all(|series| series.taken() == 0) {
            self.reason(ReasonCode::NoSamples, "the source counted none");
        }
        if self.started_ns.is_none() {
            self.lacks("when it was measured");
        }
        if self.requested.policy.is_empty() {
            self.lacks("with which scheduling policy it was measured");
        }
        if self.requested.clock.is_none() {
            self.lacks("on which clock it was measured");
        }
        let has_order = self.series.iter().any(|series| !series.intervals.is_empty());
        let all: &[&str] = match &self.packets {
            Some(_) => &PACKETS_LACK,
            None if has_order => &LATENCIES_LACK[1..],
            None => &LATENCIES_LACK,
        };
        self.lacks.extend(all.iter().map(|text| (*text).to_owned()));
    }

    /// Converts to a record, whose validity is degraded at best.
    #[must_use]
    pub fn into_record(self, label: &str) -> Record {
        let started =
            Moment { monotonic: Timestamp::from_ns(0), realtime: Timestamp::from_ns(self.started_ns.unwrap_or(0)) };
        let duration_ns = self.duration_ns.unwrap_or(0);
        let ended = Moment {
            monotonic: Timestamp::from_ns(duration_ns),
            realtime: Timestamp::from_ns(self.started_ns.map_or(0, |start| start.saturating_add(duration_ns))),
        };
        let (started, ended) = self.clocks.as_ref().map_or((started, ended), Clocks::span);
        let mut requested = self.requested;
        if self.clocks.is_none() {
            let threads: BTreeSet<Option<u32>> =
                self.series.iter().map(|series| series.place.thread_number()).collect();
            requested.threads = u32::try_from(threads.len()).unwrap_or(u32::MAX);
        }
        let mut validity = Validity::default();
        for (code, details) in by_code(self.reasons) {
            let more = details.len().saturating_sub(SHOWN_DETAILS);
            let shown = details[..details.len() - more].join("; ");
            validity.add(code, if more > 0 { format!("{shown}; and {more} more") } else { shown });
        }
        let manifest = Manifest {
            tool: self.tool,
            command: self.command,
            node: self.node,
            started,
            ended,
            time_zone: None,
            request: None,
            requested,
            effective: Vec::new(),
            load: self.load,
            dma_latency: DmaLatency::default(),
            instrument: Instrument::default(),
            others_cpu_used: None,
            clock_steps: Vec::new(),
            ended_because: None,
            profile_sha256: None,
            origin: Origin::Imported { format: self.format.to_owned(), lacks: self.lacks },
        };
        let detail = match (self.clocks, self.packets) {
            (Some(clocks), _) => Detail::Sync(clocks.into_run()),
            (None, Some(packets)) => Detail::Packet(packets),
            (None, None) => Detail::None,
        };
        let record = Record {
            id: format!("{:016x}-{}-{:016x}", started.realtime.as_ns(), self.measurement.name(), self.identity),
            measurement: self.measurement,
            label: label.to_owned(),
            validity,
            verdict: None,
            nodes: nodes_of(&detail, manifest),
            series: self.series,
            worst: Vec::new(),
            rows: Vec::new(),
            late_samples: LateSamples::default(),
            detail,
        };
        record.with_node_named()
    }
}

/// Sender and receiver of packets, which one source is about; else the one node.
fn nodes_of(detail: &Detail, manifest: Manifest) -> Nodes {
    let alone = Node::alone(MEASURED, manifest);
    let Detail::Packet(PacketRun { flows, .. }) = detail else { return alone.into() };
    let roles = Measurement::Packet.kind().roles;
    let names = flows.first().map(|flow| [&flow.from, &flow.to]).into_iter().flatten();
    let both =
        names.zip(roles).map(|(name, role)| Node { name: name.clone(), role: (*role).to_owned(), ..alone.clone() });
    Nodes::try_from(both.collect::<Vec<_>>()).unwrap_or_else(|_| alone.into())
}

/// How many details of one reason are listed; a machine can have many CPUs.
const SHOWN_DETAILS: usize = 4;

fn by_code(reasons: Vec<(ReasonCode, String)>) -> BTreeMap<ReasonCode, Vec<String>> {
    let mut grouped: BTreeMap<ReasonCode, Vec<String>> = BTreeMap::new();
    for (code, detail) in reasons {
        let details = grouped.entry(code).or_default();
        if !details.contains(&detail) {
            details.push(detail);
        }
    }
    grouped
}

/// The 64-bit FNV-1a hash (RFC 9923), which gives two imports of one text the same run identifier.
pub(super) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3))
}
