//! The response to an event from outside, measured through a wire: from the write of an output (`acted`) over the kernel's stamp of
//! the edge of the input that is joined with it (`event`) to the thread that waits for it (`woke`); and what the write costs
//! (`acted_to_returned`). A timer shows nothing of the way of an interrupt.
//!
//! Two threads, so that the one that waits is asleep when the edge comes: the *acting* thread sleeps to an absolute timetable,
//! stamps, and writes; the *waiting* thread stamps as soon as it has read the kernel's event. All stamps are of one clock.
//! Both run on one CPU where there is no other, and the acting thread then has to leave the CPU first.
//! A schedule at which the waiting thread has not taken the event before is missed, and counted.
//!
//! `wire` (both lines are tried before anything starts) → `plan` (pure) → `threads` (warm with real edges) → `hot` (the two loops)
//! → `matching` (pure: which event belongs to which edge) → `drain` (samples of both) → `finish` (the record).

mod drain;
mod finish;
mod hot;
mod matching;
mod plan;
#[cfg(test)]
mod tests;
mod threads;
mod wire;

use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;

use record::{Record, RunEnd};
use units::CpuSet;

use self::drain::Wired;
use self::finish::finish;
pub use self::plan::{ResponsePlan, ResponsePlanError};
use self::threads::Running;
use self::wire::try_edges;
use crate::context::RunContext;
use crate::crew::drain::{CLOCK, Drain, measuring};
use crate::crew::{ArmError, Ground, GroundPlan, LEAD_NS, Run, Watching, now_ns};
use crate::gpio_line::{LineError, take_loop_back};
use crate::interval_sink::IntervalSink;
use crate::live::Observer;
use crate::stop::Stop;
use crate::wire::{TwoLines, Wire};
use crate::witness::{Grant, Orders};

/// Why a response cannot be measured.
#[derive(Debug, thiserror::Error)]
pub enum ResponseError {
    /// A line cannot be had.
    #[error(transparent)]
    Line(#[from] LineError),
    /// The output cannot be written.
    #[error("the output cannot be written: {0}")]
    Write(io::Error),
    /// No event came, and the level of the input did not follow the output.
    #[error(
        "no edge of {input} came when {output} was switched, and its level did not follow: join the two lines by a wire; of lines that are joined, look for a driver that holds the input, or name them the other way round"
    )]
    NotJoined {
        /// The line on which edges are made, as CHIP/LINE.
        output: String,
        /// The input.
        input: String,
    },
    /// No event came, though the level of the input followed the output.
    #[error(
        "the level of {input} follows {output}, and the kernel reported none of its edges: its chip raises no interrupt, or its interrupt is lost; look at the line of {input} in /proc/interrupts, or take another line"
    )]
    NoEvents {
        /// The line on which edges are made, as CHIP/LINE.
        output: String,
        /// The input.
        input: String,
    },
    /// A thread cannot be had.
    #[error(transparent)]
    Arm(#[from] ArmError),
}

/// Measures, and makes the record. The output is inactive afterwards.
///
/// # Errors
/// Where a line cannot be had, no wire joins the two, or a thread cannot be started.
pub fn measure(
    plan: &ResponsePlan,
    context: &RunContext,
    stop: &Stop,
    observer: &mut dyn Observer,
    sink: Option<&dyn IntervalSink>,
) -> Result<Record, ResponseError> {
    let request = &plan.request;
    let (output, input) = take_loop_back(&request.output, &request.input, request.active_low)?;
    measure_by(TwoLines { output, input }, plan, context, stop, observer, sink)
}

fn measure_by<W: Wire>(
    wire: W,
    plan: &ResponsePlan,
    context: &RunContext,
    stop: &Stop,
    observer: &mut dyn Observer,
    sink: Option<&dyn IntervalSink>,
) -> Result<Record, ResponseError> {
    try_edges(&wire, (&plan.request.output, &plan.request.input))?;
    let measured = CpuSet::from_iter([plan.cpu]);
    let ground = Ground::take(GroundPlan::of_drained(Some(plan.cpu), &plan.housekeeping));
    let running = Running::start(plan, wire, stop.watchdog())?;
    let grants: Vec<Grant> = vec![running.waiting.grant.clone(), running.acting.grant.clone()];
    // The controller may be where the edges are made: it runs after that thread.
    let known = (&plan.housekeeping, ground.memory());
    let orders = Orders::of_pinned(grants, measured, known, sink.is_some());
    let watching = Watching::begin(&plan.both(), orders);
    observer.begins();
    let started = crate::clock_watch::moment_now();
    watching.run_starts(started);
    let start_ns = now_ns(CLOCK) + LEAD_NS;
    if let RunEnd::After(duration) = plan.request.end {
        let last_ns = start_ns.saturating_add(duration.0);
        running.shared.last_schedule_ns.store(last_ns, Ordering::Release);
    }
    running.waiting.begin_at(start_ns);
    running.acting.begin_at(start_ns);
    let run = Run { plan, context, stop, ground: &ground, started };
    let of = Wired::new(&run, &running, start_ns, sink.is_some());
    let measured = [measuring(running.waiting.tid, plan.cpu, &running.waiting.grant)];
    let last_turn = Duration::from_nanos((plan.lost_after_ns + plan.length.interval_ns).unsigned_abs());
    let drain = Drain::new(&run, plan.length, last_turn, &measured, of);
    let drained = drain.run(observer, sink, &watching).map(|wired| wired.of);
    Ok(finish(&run, running, drained, watching.end(), sink))
}
