//! What a deadline can be held against in a run of `app`: which turns of which threads, and from when on.
//!
//! A turn that a timer ended is measured from the moment that the timer was set for. Of any other turn only the part from
//! the wake-up on is measured; what came before has no upper limit but one: where the thread that woke it had itself been
//! woken by a timer, the turn was not due before that timer was.

use record::{AppRun, AppThread, Record, Request, Series, TurnCauses};
use units::format;

/// Waits of a thread without a recognized loop that nobody looks at: a start, an end.
const FEW_WAITS: u64 = 16;
/// Threads that are named in a verdict; more are counted.
const NAMED: usize = 3;

/// What a verdict of a program's run says in addition, and whether the deadline can be told.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Judged {
    /// Turns that were judged, and of them those beyond the deadline.
    pub(super) turns: u64,
    pub(super) beyond: u64,
    /// What the judged part of some turns was, for the verdict's own sentence.
    pub(super) part: Option<String>,
    /// Why a deadline cannot be told even if no sample exceeds it.
    pub(super) untold: Option<String>,
}

/// Looks at the threads of a run; `None` where it is no run of `app`.
pub(super) fn judged(record: &Record, deadline_ns: u64) -> Option<Judged> {
    let app = record.app()?;
    let mut judged = Judged::default();
    for thread in &app.threads {
        let (turns, beyond) = turns_of(record, thread, deadline_ns);
        judged.turns = judged.turns.saturating_add(turns);
        judged.beyond = judged.beyond.saturating_add(beyond);
    }
    // Made by hand: its samples are all that is known.
    if app.threads.is_empty() {
        return None;
    }
    let is_dated = |thread: &&AppThread| thread.turn_causes.timer > 0;
    let any_dated = app.threads.iter().filter(is_dated).count() > 0;
    let from_wake_up = record.manifest().request.as_ref().is_some_and(Request::counts_from_wake_up);
    let undated: Vec<&AppThread> = app
        .threads
        .iter()
        .filter(|thread| is_undated(thread, any_dated, deadline_ns) || is_unseen(record, thread))
        .collect();
    if !undated.is_empty() {
        let named: Vec<String> = undated.iter().take(NAMED).map(|thread| sentence(thread, deadline_ns)).collect();
        let more = match undated.len().saturating_sub(NAMED) {
            0 => String::new(),
            more => format!("; and {more} more threads"),
        };
        let said = format!("{}{more}", named.join("; "));
        if from_wake_up {
            judged.part = Some(format!("from the wake-up on, where no timer ended a wait: {said}"));
        } else {
            let remedy = "when those turns were due is not known; --from-wake-up judges them from the wake-up on";
            judged.untold = Some(format!("{said}: {remedy}"));
        }
    }
    let after_timers = app.threads.iter().filter_map(|thread| after_timer(thread, deadline_ns)).max();
    if let (None, None, Some(most_ns)) = (&judged.part, &judged.untold, after_timers) {
        let most = format::latency(i64::try_from(most_ns).unwrap_or(i64::MAX));
        judged.part = Some(format!("and {most} from the timer to the threads that others woke"));
    }
    if judged.untold.is_none() {
        judged.untold = short_lived(app);
    }
    Some(judged)
}

/// Turns of a thread, by the latency that begins earliest, and those of them beyond the deadline by either.
fn turns_of(record: &Record, thread: &AppThread, deadline_ns: u64) -> (u64, u64) {
    let is_its = |series: &&Series| series.judged && series.place.thread_number() == Some(thread.thread);
    // The surest of those that are judged begins at the moment of a timer.
    let from_timer = record.measurement.kind().judged.first().copied().unwrap_or_default();
    let count = |series: &Series| (series.taken(), series.histogram.count_above(deadline_ns));
    let all: Vec<(bool, (u64, u64))> =
        record.series.iter().filter(is_its).map(|series| (series.name == from_timer, count(series))).collect();
    let dated = all.iter().find(|(is_dated, _)| *is_dated).map(|(_, (turns, _))| *turns);
    // A thread of which some turns were dated and others not has both; each turn is one.
    let turns = dated.map_or_else(
        || all.iter().map(|(_, (turns, _))| *turns).max().unwrap_or(0),
        |dated| dated.saturating_add(thread.turn_causes.undated()),
    );
    (turns, all.iter().map(|(_, (_, beyond))| *beyond).max().unwrap_or(0))
}

/// Whether a deadline of this thread says nothing of turns that nobody measured from when they were due.
fn is_undated(thread: &AppThread, any_dated: bool, deadline_ns: u64) -> bool {
    let undated = thread.turn_causes.undated();
    // Some waits at the beginning and at the end of a thread without a loop, beside others that have one.
    let is_start = thread.waits_by.is_none() && any_dated && undated <= FEW_WAITS;
    undated > 0 && !is_start && !is_bounded(&thread.turn_causes, deadline_ns)
}

/// Whether a thread was woken again and again and not one of its waits was seen: its program had ended before its system
/// calls could be read, or has an interface that is not known.
fn is_unseen(record: &Record, thread: &AppThread) -> bool {
    let is_empty = thread.turn_causes.timer == 0 && thread.turn_causes.undated() == 0;
    is_empty && turns_of(record, thread, 0).0 > FEW_WAITS
}

/// Whether each turn without a date followed a timer so soon that it was within the deadline, whenever it was due.
fn is_bounded(causes: &TurnCauses, deadline_ns: u64) -> bool {
    causes.thread_after_timer == causes.undated()
        && causes.thread_after_timer_max_ns.is_some_and(|ns| ns <= deadline_ns)
}

/// The longest time from a timer to a turn that another thread caused, where that is what bounds it (ns).
fn after_timer(thread: &AppThread, deadline_ns: u64) -> Option<u64> {
    let causes = &thread.turn_causes;
    (causes.undated() > 0 && is_bounded(causes, deadline_ns)).then_some(causes.thread_after_timer_max_ns).flatten()
}

/// Which turns of a thread were not measured from when they were due, and whether its longest period speaks against a pass.
fn sentence(thread: &AppThread, deadline_ns: u64) -> String {
    let causes = &thread.turn_causes;
    let by: Vec<String> = [
        (causes.thread, "by another thread"),
        (causes.interrupt, "by an interrupt that was no timer's"),
        (causes.timer_of_unknown_time, "by a timer set for an unknown time"),
        (causes.unknown, "by what was not seen"),
    ]
    .into_iter()
    .filter(|(count, _)| *count > 0)
    .map(|(count, by)| format!("{} {by}", format::count(count)))
    .collect();
    let all = causes.timer.saturating_add(causes.undated());
    let name = &thread.name;
    if all == 0 {
        return format!("{name} ({}) waited in calls that were not seen", thread.tid);
    }
    let longest = longest_beyond(thread, deadline_ns).map_or_else(String::new, |(longest_ns, period_ns)| {
        format!(
            ", and its longest period was {}, of {} in the middle",
            format::span(longest_ns),
            format::span(period_ns)
        )
    });
    format!("{name} ({}) was woken {} of {} times{longest}", thread.tid, by.join(", "), format::count(all))
}

/// The longest and the middle time between activations, where they lie farther apart than the deadline (ns): a pass that
/// says nothing of this would contradict the table on the same page.
fn longest_beyond(thread: &AppThread, deadline_ns: u64) -> Option<(u64, u64)> {
    let (longest_ns, middle_ns) = (thread.periods.max_ns()?, thread.periods.quantile_ns(0.5)?);
    (longest_ns.saturating_sub(middle_ns) > deadline_ns).then_some((longest_ns, middle_ns))
}

/// Threads that ended before anything could be said of them, where a program makes one for each turn.
fn short_lived(app: &AppRun) -> Option<String> {
    let count = app.real_time_threads_left_out;
    (count > FEW_WAITS).then(|| {
        format!(
            "{} real-time threads that each ended after fewer than {FEW_WAITS} wake-ups are not judged",
            format::count(count)
        )
    })
}

#[cfg(test)]
mod tests {
    use record::{AppRequest, AppTarget, Detail, HistogramRecorder, Measurement, Place, VerdictState};

    use super::*;
    use crate::verdict;
    use samples::record_of;

    const MS: u64 = 1_000_000;

    /// A run of one thread with a loop: its latencies from timers, its turns, and its longest period (ns).
    fn run(dated_ns: &[u64], causes: TurnCauses, longest_ns: u64) -> Record {
        let mut record = record_of(Measurement::App, dated_ns);
        record.series[0].name = "scheduled_to_returned".to_owned();
        record.series[0].place = Place::thread(0, None);
        let mut running = Series { name: "runnable_to_running".to_owned(), ..record.series[0].clone() };
        running.histogram = record_of(Measurement::App, &[30_000; 800]).series.remove(0).histogram;
        record.series.push(running);
        record.series.retain(|series| series.taken() > 0);
        let mut periods = HistogramRecorder::new();
        (0..700).for_each(|_| periods.record(5 * MS));
        periods.record(longest_ns);
        let thread = AppThread {
            name: "motor".to_owned(),
            tid: 77,
            waits_by: Some("epoll_wait".to_owned()),
            turn_causes: causes,
            periods: periods.snapshot(),
            ..AppThread::default()
        };
        record.detail = Detail::Program(AppRun { threads: vec![thread], ..AppRun::default() });
        record
    }

    fn dated(timer: u64) -> TurnCauses {
        TurnCauses { timer, ..TurnCauses::default() }
    }

    #[test]
    fn a_turn_is_counted_once_by_whichever_latency_it_is_late() {
        let mut record = run(&[40_000; 800], dated(800), 5 * MS);
        let judged = verdict(&record, MS);
        assert_eq!((judged.state, judged.deciding.as_ref().unwrap().samples), (VerdictState::Holds, 800));
        assert!(judged.reason.starts_with("worst of 800 turns"), "{}", judged.reason);
        record.series[0].histogram.record_n(5 * MS, 2);
        record.series[1].histogram.record_n(4 * MS, 1);
        let judged = verdict(&record, MS);
        assert_eq!((judged.state, judged.deciding.as_ref().unwrap().beyond), (VerdictState::Broken, 2));
        assert!(judged.reason.contains("; 2 beyond 1"), "{}", judged.reason);
    }

    #[test]
    fn what_no_timer_ended_is_no_pass_and_the_sentence_names_the_part() {
        for causes in [
            TurnCauses { interrupt: 800, ..TurnCauses::default() },
            TurnCauses { thread: 800, ..TurnCauses::default() },
            TurnCauses { timer_of_unknown_time: 800, ..TurnCauses::default() },
            TurnCauses { unknown: 800, ..TurnCauses::default() },
            TurnCauses { interrupt: 1, ..dated(799) },
        ] {
            let dated_ns = vec![40_000; usize::try_from(causes.timer).unwrap()];
            let mut record = run(&dated_ns, causes, 7 * MS);
            let judged = verdict(&record, MS);
            assert_eq!(judged.state, VerdictState::CannotTell, "{causes:?}");
            assert!(
                judged.reason.contains("motor (77)") && judged.reason.contains("of 800 times"),
                "{}",
                judged.reason
            );
            assert!(judged.reason.contains("--from-wake-up"), "{}", judged.reason);
            assert!(judged.reason.contains("longest period was 7"), "{}", judged.reason);
            let mut request = AppRequest::new(AppTarget::Process { pid: 77 });
            request.from_wake_up = true;
            record.manifest_mut().request = Some(Request::App(request));
            let judged = verdict(&record, MS);
            assert_eq!(judged.state, VerdictState::Holds, "{}", judged.reason);
            assert!(judged.reason.contains("from the wake-up on"), "{}", judged.reason);
            assert!(judged.reason.contains("longest period was 7"), "a pass beside it says so: {}", judged.reason);
            // What was measured and is beyond breaks it, whatever was not measured.
            assert_eq!(verdict(&record, 20_000).state, VerdictState::Broken);
        }
    }

    #[test]
    fn a_turn_that_followed_a_timer_soon_enough_holds_whenever_it_was_due() {
        let causes = |max_ns| TurnCauses {
            thread: 800,
            thread_after_timer: 800,
            thread_after_timer_max_ns: Some(max_ns),
            ..TurnCauses::default()
        };
        let judged = verdict(&run(&[], causes(310_000), 5 * MS), MS);
        assert_eq!(judged.state, VerdictState::Holds, "{}", judged.reason);
        assert!(judged.reason.contains("from the timer to the threads that others woke"), "{}", judged.reason);
        assert_eq!(verdict(&run(&[], causes(2 * MS), 5 * MS), MS).state, VerdictState::CannotTell);
        let some = TurnCauses { thread_after_timer: 799, ..causes(310_000) };
        assert_eq!(verdict(&run(&[], some, 5 * MS), MS).state, VerdictState::CannotTell);
    }

    #[test]
    fn threads_that_live_for_a_turn_are_no_pass() {
        let mut record = run(&[40_000; 800], dated(800), 5 * MS);
        if let Detail::Program(app) = &mut record.detail {
            app.real_time_threads_left_out = 800;
        }
        let judged = verdict(&record, MS);
        assert_eq!(judged.state, VerdictState::CannotTell, "{}", judged.reason);
        assert!(judged.reason.contains("800 real-time threads"), "{}", judged.reason);
    }

    #[test]
    fn a_record_that_does_not_say_what_ended_waits_holds_nothing() {
        let record = run(&[40_000; 800], TurnCauses::default(), 9 * MS);
        assert_eq!(verdict(&record, MS).state, VerdictState::CannotTell);
    }
}
