//! Reads the logged pulses of a lab's nodes, from the beginning or from now on.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use super::compare::{Comparison, compare};
use super::log_path;
use super::trace::{Log, TraceError};
use crate::running::Lab;

/// Time between two readings of the logs.
const PERIOD: Duration = Duration::from_millis(250);

/// Why pulses could not be compared.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The node does not exist or is not recorded.
    #[error(
        "node {node} of lab {lab} is not recorded: there is no such node, or the scenario lacks 'analyzer = true' for it"
    )]
    NotRecorded {
        /// Name of the lab.
        lab: String,
        /// Name of the node.
        node: String,
    },
    /// A log cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Path of the log.
        path: PathBuf,
        /// The underlying error.
        error: io::Error,
    },
    /// A log has an unknown form.
    #[error("node {node}: {error}")]
    Trace {
        /// Name of the node.
        node: String,
        /// The line that cannot be parsed.
        error: TraceError,
    },
    /// Too few pairs of pulses within the time limit.
    #[error(
        "only {pairs} of {wanted} pairs of pulses within {} s: node {a} pulsed {pulses_a} times, node {b} {pulses_b} times; \
         check that 'punctual-proof inject pulse' runs on both, and that their clocks are within {} ms of each other",
        patience.as_secs(), window_ns / 1_000_000
    )]
    TooFew {
        /// Number of pairs found.
        pairs: usize,
        /// Number of pairs requested.
        wanted: usize,
        /// The time limit.
        patience: Duration,
        /// Name of node a.
        a: String,
        /// Name of node b.
        b: String,
        /// Number of pulses of node a.
        pulses_a: usize,
        /// Number of pulses of node b.
        pulses_b: usize,
        /// How far apart two paired pulses may be (ns).
        window_ns: i64,
    },
}

/// A node's log, read from a given offset.
struct Tail {
    node: String,
    path: PathBuf,
    from: usize,
}

impl Tail {
    fn open(lab: &Lab, node: &str) -> Result<Self, RecordError> {
        let path = log_path(&lab.folder, node);
        if !path.exists() {
            return Err(RecordError::NotRecorded { lab: lab.name.clone(), node: node.to_owned() });
        }
        Ok(Self { node: node.to_owned(), path, from: 0 })
    }

    fn bytes(&self) -> Result<Vec<u8>, RecordError> {
        fs::read(&self.path).map_err(|error| RecordError::File { path: self.path.clone(), error })
    }

    /// Skips what was written so far, up to the end of the last complete line.
    fn at_end(mut self) -> Result<Self, RecordError> {
        self.from = self.bytes()?.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        Ok(self)
    }

    fn log(&self) -> Result<Log, RecordError> {
        let bytes = self.bytes()?;
        Log::read(bytes.get(self.from..).unwrap_or_default())
            .map_err(|error| RecordError::Trace { node: self.node.clone(), error })
    }
}

/// What was recorded of a node since the lab was started, as QEMU wrote it, up to the end of its last whole line.
///
/// # Errors
/// If the node is not recorded, or its log cannot be read.
pub fn whole_log(lab: &Lab, node: &str) -> Result<Vec<u8>, RecordError> {
    let mut bytes = Tail::open(lab, node)?.bytes()?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    bytes.truncate(whole);
    Ok(bytes)
}

/// Compares all pulses of two nodes since the lab was started.
///
/// # Errors
/// If a node is not recorded, or its log cannot be read.
pub fn recorded(lab: &Lab, a: &str, b: &str, window_ns: i64) -> Result<Comparison, RecordError> {
    let (log_a, log_b) = (Tail::open(lab, a)?.log()?, Tail::open(lab, b)?.log()?);
    Ok(compare(&log_a, &log_b, window_ns))
}

/// Records from now on until there are `wanted` pairs, and compares only these.
///
/// # Errors
/// If there are fewer after `patience`, a node is not recorded, or its log cannot be read.
pub fn until_pairs(
    lab: &Lab,
    a: &str,
    b: &str,
    window_ns: i64,
    wanted: usize,
    patience: Duration,
) -> Result<Comparison, RecordError> {
    let (tail_a, tail_b) = (Tail::open(lab, a)?.at_end()?, Tail::open(lab, b)?.at_end()?);
    let began = Instant::now();
    loop {
        let (log_a, log_b) = (tail_a.log()?, tail_b.log()?);
        let is_over = began.elapsed() >= patience;
        let mut pairs = 0;
        // Count first: comparing takes more CPU time, which the guests need.
        if is_over || log_a.pulses.len().min(log_b.pulses.len()) >= wanted {
            let mut comparison = compare(&log_a, &log_b, window_ns);
            pairs = comparison.pairs.len();
            if pairs >= wanted {
                comparison.pairs.truncate(wanted);
                return Ok(comparison);
            }
        }
        if is_over {
            return Err(RecordError::TooFew {
                pairs,
                wanted,
                patience,
                a: a.to_owned(),
                b: b.to_owned(),
                pulses_a: log_a.pulses.len(),
                pulses_b: log_b.pulses.len(),
                window_ns,
            });
        }
        thread::sleep(PERIOD);
    }
}
