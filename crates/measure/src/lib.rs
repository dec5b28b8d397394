//! The measurements: plan, arm, hot loop, drain. Each kind has a folder in `kinds`; what stands beside that is for all of them.

#![forbid(unsafe_code)]

mod clock_watch;
mod clocks;
mod collect;
mod context;
mod crew;
mod decider;
mod disruption;
mod dma_latency;
mod explain;
mod gpio_line;
mod instrument;
mod interval_sink;
mod judge;
mod kernel_text;
mod kinds;
mod late;
mod linear;
mod live;
pub mod load;
mod machine;
mod nodes;
mod parallel_pin;
mod partition;
mod read_record;
mod record_file;
mod repeated;
mod ring;
mod spoil;
mod stop;
mod surroundings;
mod task_stat;
mod timetable;
mod trace_mark;
mod witness;
mod worst;

pub use context::RunContext;
pub use decider::Decider;
pub use dma_latency::{DmaLatencyHold, can_disable_idle_states};
pub use explain::PARTS_FROM;
pub use gpio_line::LineError;
pub use instrument::SelfCost;
pub use interval_sink::IntervalSink;
pub use kinds::wakeup::{CostOfSource, affordable, affordable_takes, cost_of_source, measure_cost};
pub use kinds::*;
pub use linear::{LinearBins, LinearHistogram, SampleTap, TappedSample};
pub use live::{Observer, Silent};
pub use machine::Machine;
pub use parallel_pin::PinError;
pub use read_record::{ReadRecordError, read_record, read_text};
pub use record_file::{RecordFile, RecordFileError};
pub use repeated::RepeatedError;
pub use stop::Stop;
pub use trace_mark::TraceMark;
