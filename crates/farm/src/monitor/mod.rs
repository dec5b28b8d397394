//! What monitored nodes and a hub say to each other: what was measured, in entries of a stream; who says it, in signed envelopes; and what
//! is answered.

mod cause;
mod entry;
mod envelope;
mod message;
mod news;
mod quick;
mod source;

pub use cause::{Cause, Explaining, ExplainingCost, MOST_CAUSE_NAME};
pub use entry::{
    BootId, ContentKind, ContentOf, CpuFigures, CpuHistogram, CpuInterval, Figures, GapReason, Histograms, Interval,
    LeftTimes, MOST_TEXT, MonitorEntry, NotAllowed, StreamBegin, StreamEnd, WallTime,
};
pub use envelope::{Envelope, EnvelopeError, HubKey, Purpose, SIGNATURE_BYTES};
pub use message::{
    BatchBody, CommonBody, EnrolledBody, EnrolmentBody, MOST_BATCH_BYTES, MOST_ITEMS, MarkBody, PlacesBody, RawEntry,
    Refused, RefusedBody, ReturnBody, SentAt, is_compressed,
};
pub use news::{
    CertificateStep, KnownCertificates, ListenBody, MOST_ADDRESSES, MOST_STEPS, NODE_LABEL, News, ToldBody,
};
pub use source::{NOT_SYNCHRONIZED, SYNCHRONIZED, SYSTEM_CLOCK, SourceInterval, UNKNOWN, sources_of_both};
