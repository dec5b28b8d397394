//! From a request to its record: the one way to take a measurement on this node.
//!
//! [`prepare`] refuses all that can be refused before anything starts: a request that this machine cannot carry out, a load that
//! is not there, a priority that the kernel does not give. [`Prepared::run`] starts the load, arms the measurement, opens the
//! load's window as the measurement begins, and makes the record. Each kind of measurement is one file in `kinds`.

#![forbid(unsafe_code)]

mod error;
mod give_way;
mod helpers;
mod kinds;
mod loading;
mod partner;
mod policy;
mod prepared;
mod process;
mod stream;
mod surroundings;
mod until_sure;

pub use error::{Class, Refusal, RunError};
pub use give_way::{HAS_LEFT, agent_socket};
pub use helpers::helper;
pub use kinds::{About, Explaining};
pub use loading::load_by_name;
// What callers hand to a run and get from it.
pub use measure::line_watch;
pub use measure::packet::{Dialog, NodeThreads, PartnerGone, Role, check_way, check_ways_from, receiving_cost};
pub use measure::pulse::{NamedOutput, OutputPlace};
pub use measure::{
    CostOfSource, DmaLatencyHold, IntervalSink, LinearBins, LinearHistogram, Machine, PARTS_FROM, ReadRecordError,
    RecordFile, RunContext, SampleTap, Stop, TappedSample, affordable, affordable_takes, can_disable_idle_states,
    cost_of_source, load, read_record, read_text,
};
pub use partner::{Acts, Connected, Part, Partner};
pub use policy::{Anyway, try_policy};
pub use prepared::{Beside, Prepared, Taps, prepare};
pub use process::{NextOfRun, ProcessError, ProcessPlan, ProcessRun};
pub use stream::EventStream;
pub use surroundings::{Surroundings, Unseen, Watch};
