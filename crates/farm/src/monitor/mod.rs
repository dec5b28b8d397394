//! What monitored nodes and a hub say to each other: what was measured, in entries of a stream; who says it, in signed envelopes; and what
//! is answered.

mod entry;
mod envelope;
mod message;
mod quick;

pub use entry::{
    BootId, ContentKind, ContentOf, CpuFigures, CpuHistogram, CpuInterval, Figures, GapReason, Histograms, Interval,
    LeftTimes, MOST_TEXT, MonitorEntry, NotAllowed, SourceInterval, StreamBegin, StreamEnd, WallTime,
};
pub use envelope::{Envelope, EnvelopeError, HubKey, Purpose, SIGNATURE_BYTES};
pub use message::{
    BatchBody, CommonBody, EnrolledBody, EnrolmentBody, MOST_BATCH_BYTES, MOST_ITEMS, MarkBody, PlacesBody, RawEntry,
    Refused, RefusedBody, is_compressed,
};
