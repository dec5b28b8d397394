//! The measurements: plan, arm, hot loop, drain.

#![forbid(unsafe_code)]

pub mod app;
pub mod clock;
mod clock_watch;
mod collect;
mod context;
mod crew;
mod decider;
mod disruption;
mod dma_latency;
mod explain;
mod instrument;
mod interval_sink;
mod judge;
mod kernel_text;
mod late;
mod linear;
mod live;
pub mod load;
mod machine;
pub mod noise;
pub mod packet;
mod partition;
mod read_record;
mod record_file;
mod ring;
mod stop;
mod surroundings;
pub mod sync;
mod task_stat;
mod trace_mark;
pub mod wakeup;
mod witness;
mod worst;

pub use context::RunContext;
pub use decider::Decider;
pub use dma_latency::{DmaLatencyHold, can_disable_idle_states};
pub use explain::{PARTS_FROM, affordable, affordable_takes, measure_cost};
pub use instrument::SelfCost;
pub use interval_sink::IntervalSink;
pub use linear::{LinearHistogram, SampleTap, TappedSample};
pub use live::{LiveThread, LiveView, Observer, Silent};
pub use machine::Machine;
pub use read_record::{ReadRecordError, read_record, read_text};
pub use record_file::{RecordFile, RecordFileError};
pub use stop::Stop;
pub use trace_mark::TraceMark;
