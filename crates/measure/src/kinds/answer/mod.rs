//! The answer to an edge that somebody else makes: from the kernel's stamp of a falling edge of an input (`event`) over the thread that
//! waits for it (`woke`) to the output that is made high (`answered`). A witness, a board that runs `latmon`, makes the edges and stamps
//! the answers with a counter of its own: what it sees is the whole, with the interrupt's way into the kernel.
//!
//! `plan` (pure) → `witness` (the dialog with it) → `threads` (who answers, and who knows when the run is over) → `hot` (the loop) →
//! `drain` (samples) → `finish` (the record, with what both say of each other).

mod drain;
mod finish;
mod hot;
mod plan;
#[cfg(test)]
mod tests;
mod threads;
mod witness;

use std::io;
use std::time::Duration;

use record::{Record, RunEnd};
use units::CpuSet;

use self::drain::Answered;
use self::finish::finish;
pub use self::plan::{AnswerPlan, AnswerPlanError};
use self::threads::Running;
pub use self::witness::WitnessError;
use self::witness::{Dialog, longest_quiet};
use crate::context::RunContext;
use crate::crew::drain::{CLOCK, Drain, measuring};
use crate::crew::{ArmError, Ground, GroundPlan, LEAD_NS, Run, Watching, now_ns};
use crate::gpio_line::{LineError, take_answering};
use crate::interval_sink::IntervalSink;
use crate::live::Observer;
use crate::stop::Stop;
use crate::wire::{TwoLines, Wire};
use crate::witness::{Grant, Orders};

/// How long a witness may take from its end to what it says of it, and a look at the rings.
const LAST_TURN: Duration = Duration::from_secs(4);

/// Why answers cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum AnswerError {
    /// A line cannot be had.
    #[error(transparent)]
    Line(#[from] LineError),
    /// There is no witness.
    #[error(transparent)]
    Witness(#[from] WitnessError),
    /// A thread cannot be had.
    #[error(transparent)]
    Arm(#[from] ArmError),
    /// The thread that knows when the run is over cannot be had.
    #[error("cannot start the thread that talks to the witness: {0}")]
    Conductor(io::Error),
}

/// Measures, and makes the record. The output is low afterwards.
///
/// # Errors
/// Where a line or the witness cannot be had, or a thread cannot be started.
pub fn measure(
    plan: &AnswerPlan,
    context: &RunContext,
    stop: &Stop,
    observer: &mut dyn Observer,
    sink: Option<&dyn IntervalSink>,
) -> Result<Record, AnswerError> {
    let (output, input) = take_answering(&plan.request.output, &plan.request.input)?;
    let dialog = Dialog::open(plan, stop)?;
    measure_by(TwoLines { output, input }, dialog, plan, context, stop, observer, sink)
}

/// How long the threads may take to come round. A run of a number of samples ends with none of them missing also where its witness
/// stops meanwhile and is asked again.
fn last_turn(plan: &AnswerPlan) -> Duration {
    match plan.length.end {
        RunEnd::Samples(_) => LAST_TURN.max(longest_quiet(plan.length.interval_ns)),
        RunEnd::After(_) | RunEnd::WhenTold => LAST_TURN,
    }
}

fn measure_by<W: Wire>(
    wire: W,
    dialog: Option<Dialog>,
    plan: &AnswerPlan,
    context: &RunContext,
    stop: &Stop,
    observer: &mut dyn Observer,
    sink: Option<&dyn IntervalSink>,
) -> Result<Record, AnswerError> {
    let measured = CpuSet::from_iter([plan.cpu]);
    let ground = Ground::take(GroundPlan::of_drained(Some(plan.cpu), &plan.housekeeping));
    let mut running = Running::start(plan, wire, stop.watchdog())?;
    let grants: Vec<Grant> = vec![running.answering.grant.clone()];
    let known = (&plan.housekeeping, ground.memory());
    let orders = Orders::of_pinned(grants, measured.clone(), known, sink.is_some());
    let watching = Watching::begin(&measured, orders);
    observer.begins();
    let started = crate::clock_watch::moment_now();
    watching.run_starts(started);
    let start_ns = now_ns(CLOCK) + LEAD_NS;
    running.answering.begin_at(start_ns);
    running.conduct(plan, start_ns, dialog)?;
    let run = Run { plan, context, stop, ground: &ground, started };
    let of = Answered::new(&run, &running, start_ns, sink.is_some());
    let measured = [measuring(running.answering.tid, plan.cpu, &running.answering.grant)];
    let drain = Drain::new(&run, plan.length, last_turn(plan), &measured, of);
    let drained = drain.run(observer, sink, &watching).map(|answered| answered.of);
    Ok(finish(&run, running, drained, watching.end(), sink))
}
