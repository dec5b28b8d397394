//! The hand-over from one thread to another (`handed_to_woke`), and what the waking call costs its caller
//! (`handed_to_returned`).
//!
//! A pair of threads for each place: the *waker* sleeps to an absolute timetable, stamps, and makes the waking call; the
//! *sleeper* stamps as soon as it is awake. Its priority is one above the waker's, so that on one CPU it runs at once.
//! A schedule at which the sleeper is not back from the hand-over before is missed, and counted.
//!
//! `plan` (pure) → `pair` (threads, warm with real hand-overs) → `hot` (the two loops) → `drain` (samples of both) → `finish`
//! (the record).

mod drain;
mod finish;
mod hot;
mod pair;
mod plan;
#[cfg(test)]
mod tests;

use std::time::Duration;

use kernel::handover::{Condvar, Eventfd, Futex, FutexPi, HandOver, Mqueue, Pipe, Signal};
use record::{EventMeans, Record};

use self::drain::Pairs;
use self::finish::finish;
pub use self::pair::EventError;
use self::pair::Running;
pub use self::plan::{EventPlan, EventPlanError, PairPlan};
use crate::context::RunContext;
use crate::crew::drain::{CLOCK, Drain, measuring};
use crate::crew::{Ground, GroundPlan, LEAD_NS, Run, Watching, now_ns};
use crate::interval_sink::IntervalSink;
use crate::live::Observer;
use crate::stop::Stop;
use crate::witness::{Grant, Orders};

/// Measures, and makes the record.
///
/// # Errors
/// Where a thread cannot be started, or the means of hand-over cannot be had.
pub fn measure(
    plan: &EventPlan,
    context: &RunContext,
    stop: &Stop,
    observer: &mut dyn Observer,
    sink: Option<&dyn IntervalSink>,
) -> Result<Record, EventError> {
    // The loops are compiled for each.
    let by = match plan.request.means {
        EventMeans::Eventfd => measure_by::<Eventfd>,
        EventMeans::Pipe => measure_by::<Pipe>,
        EventMeans::Futex => measure_by::<Futex>,
        EventMeans::FutexPi => measure_by::<FutexPi>,
        EventMeans::Signal => measure_by::<Signal>,
        EventMeans::Mqueue => measure_by::<Mqueue>,
        EventMeans::Condvar => measure_by::<Condvar>,
    };
    by(plan, context, stop, observer, sink)
}

fn measure_by<H: HandOver>(
    plan: &EventPlan,
    context: &RunContext,
    stop: &Stop,
    observer: &mut dyn Observer,
    sink: Option<&dyn IntervalSink>,
) -> Result<Record, EventError> {
    let ground =
        Ground::take(GroundPlan::of_drained(plan.pairs.first().map(|pair| pair.cpus.woken), &plan.housekeeping));
    let start = |pair: &PairPlan| Running::<H>::start(plan, *pair, stop.watchdog());
    let pairs: Vec<Running<H>> = plan.pairs.iter().map(start).collect::<Result<_, _>>()?;
    let watching = Watching::begin(&plan.measured, orders(plan, &pairs, &ground, sink.is_some()));
    observer.begins();
    let started = crate::clock_watch::moment_now();
    watching.run_starts(started);
    let start_ns = now_ns(CLOCK) + LEAD_NS;
    for pair in &pairs {
        if let record::RunEnd::After(duration) = plan.request.end {
            let last_ns = start_ns.saturating_add(duration.0);
            pair.shared.last_schedule_ns.store(last_ns, std::sync::atomic::Ordering::Release);
        }
        pair.sleeper.begin_at(start_ns);
        pair.waker.begin_at(start_ns);
    }
    let run = Run { plan, context, stop, ground: &ground, started };
    let of = Pairs::new(&run, &pairs, start_ns, sink.is_some());
    let measured = |pair: &Running<H>| measuring(pair.sleeper.tid, pair.plan.cpus.woken, &pair.sleeper.grant);
    let measured: Vec<_> = pairs.iter().map(measured).collect();
    let last_turn = Duration::from_nanos(plan.length.interval_ns.unsigned_abs());
    let drain = Drain::new(&run, plan.length, last_turn, &measured, of);
    let drained = drain.run(observer, sink, &watching).map(|pairs| pairs.of);
    Ok(finish(&run, pairs, drained, watching.end(), sink))
}

/// What the lookout has to look at.
fn orders<H>(plan: &EventPlan, pairs: &[Running<H>], ground: &Ground, is_published: bool) -> Orders {
    let woken = pairs.iter().map(|pair| pair.sleeper.grant.clone());
    let grants: Vec<Grant> = woken.chain(pairs.iter().map(|pair| pair.waker.grant.clone())).collect();
    Orders::of_pinned(grants, plan.measured.clone(), (&plan.housekeeping, ground.memory()), is_published)
}
