//! The record of a run: schema, histogram, validity.
//!
//! Every run becomes one [`Record`], whether this program or another one measured it. A record is immutable once
//! written and readable by people. It holds what is needed to judge the numbers: what was requested, what the kernel
//! granted, and what the instrument itself cost. This crate parses and writes JSON; it accesses no file, clock or machine.

#![forbid(unsafe_code)]

mod answer;
mod app;
mod basis;
mod events;
mod explanation;
mod finding;
mod kind;
mod live;
mod load;
mod load_words;
mod manifest;
mod node;
mod packet;
mod place;
mod pulse;
mod request;
mod rhythm;
mod run;
mod series;
mod sync;
mod time;
mod validity;
mod wire;

pub use answer::{AnswerRun, AnswerWitness, WitnessSecond};
pub use app::{AllocationLook, AppRun, AppThread, Preemption, TracingCost, TurnCauses};
pub use basis::{LEAST_SAMPLES, LEAST_SHARE_DIVISOR, NEARLY_ALL_PERCENT, Shortfall, least_basis_markdown};
pub use events::{Fold, RefusalClass, RunEvent, Told};
pub use explanation::{
    Activity, CauseClass, CauseTotal, Certainty, DelayPart, ExplainedSample, ExplainingCost, Explanation, Owner,
    PartHistogram, TimelineSegment, WakeupParts,
};
pub use finding::{Evidence, Finding, Severity};
pub use histogram::{
    Bin, Histogram, HistogramError, HistogramRecorder, Quantile, SIGNIFICANT_DIGITS, Unplaced, equal_bins_end_ns,
};
pub use kind::{
    DEFAULT_INTERVAL, Figure, KINDS, Kind, Latency, LatencyRole, MEASURED, Measurement, Sampling, Sign, names_of_kinds,
};
pub use live::{Live, LiveDetail, LiveFigures, LiveSeries};
pub use load::{AchievedLoad, DroppedPart, LoadManifest, LoadPart, LoadWindow, PartRate};
pub use load_words::describe_command;
pub use manifest::{
    ClockStep, DmaLatency, Effective, Instrument, Manifest, NodeIdentity, Origin, Requested, ToolVersion,
};
pub use node::{Node, Nodes};
pub use packet::{
    ClockRelation, FlowInterval, HardwareStamps, NodeExplanation, NodeServices, PacketFlow, PacketLaunch, PacketRun,
    ServiceRelation,
};
pub use place::{Direction, Place};
pub use pulse::{OrderCounts, PulseNode, PulseRun, PulseTrials};
pub use request::*;
pub use rhythm::{Rhythm, RhythmEnd, RhythmScan};
pub use run::{Deciding, Detail, LateSamples, Record, RecordError, SCHEMA, VERSION, Verdict, VerdictState};
pub use series::{
    Counters, EdgeTotals, HandOverTotals, Interval, MissedRow, NamedLatency, NoiseTotals, Rounding, Series,
    SeriesDetail, Spoiled, SpoiledInterval, WorstSample,
};
pub use sync::{
    AllanPoint, GrowthPoint, HardBound, OwnEstimate, Spread, StateChange, SyncChange, SyncEvent, SyncRun, SyncService,
    SyncSource, SyncState, TrackPoint,
};
pub use time::{ClockReading, Moment, NodeClocks, Point, Uncertainty};
pub use validity::{
    NotObservable, REASONS, Reason, ReasonCode, ReasonInfo, Spoils, Unobservable, Validity, ValidityState,
};
pub use wire::GrowingText;
