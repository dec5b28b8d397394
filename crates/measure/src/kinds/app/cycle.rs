//! The periodic loop of a thread: which wait begins each turn, and what is called within a turn.
//!
//! What happens before the loop is recognized is start-up; what happens after its last turn is its end. Neither counts:
//! what a turn did is counted when the next one begins.

use std::collections::HashMap;

use analysis::audit::{Detail, ObservedCall, ObservedLoop, Target, Use};
use record::{HistogramRecorder, TurnCauses};
use trace::{Call, Work};

use super::samples::{Frame, Samples};
use super::thread::Cause;
use crate::clock_watch::ClockWatch;

/// Returns from one and the same wait that make it the loop's, by what it is: the surest sign first.
const TURNS_OF_ABSOLUTE_SLEEP: u64 = 16;
const TURNS_OF_SLEEP: u64 = 24;
const TURNS_OF_TIMED_WAIT: u64 = 48;
const TURNS_OF_WAIT: u64 = 96;
/// Calls of one turn that are kept; a turn that makes more is judged by these.
const MOST_CALLS: usize = 4_096;
/// Waits that are distinguished before the loop is recognized.
const MOST_WAITS: usize = 64;
/// Different calls that are distinguished inside a loop.
const MOST_KINDS: usize = 512;

/// A wait, distinguished from others of the same call by what it waits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Wait {
    pub(super) what: Use,
    /// The address of the word, for a futex; the thread, for a policy.
    pub(super) on: u64,
}

/// A call that has ended.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    pub(super) wait: Wait,
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    pub(super) slept: bool,
    /// The moment that it was to end at (ns): that of the timer that ended it.
    pub(super) scheduled_ns: Option<i64>,
    /// What ended the wait, as far as it was seen.
    pub(super) cause: Option<Cause>,
    /// Whether it ended before, by a signal or an error.
    pub(super) broken: bool,
}

#[derive(Clone)]
struct Candidate {
    wait: Wait,
    times: u64,
    samples: Samples,
    return_ns: u64,
    last_ns: Option<u64>,
    causes: TurnCauses,
    periods: HistogramRecorder,
    /// Distances that are not counted yet (ns).
    distances_ns: Vec<u64>,
}

/// Everything about a thread's loop.
#[derive(Clone)]
pub(super) struct Cycle {
    frame: Frame,
    candidates: Vec<Candidate>,
    /// Which candidate is the loop's.
    chosen: Option<usize>,
    turns: u64,
    /// Of the turn that goes on.
    calls: Vec<Ended>,
    faults: Vec<(u64, u64)>,
    /// Of all turns.
    kinds: HashMap<Use, ObservedCall>,
    /// Faults inside the loop: address and time.
    pub(super) taken_faults: Vec<(u64, u64)>,
    pub(super) interrupted: u64,
}

/// What came of it.
pub(super) struct CycleEnd {
    pub(super) periodic: Option<ObservedLoop>,
    pub(super) calls: Vec<ObservedCall>,
    /// Latencies by the moment asked for.
    pub(super) samples: Option<Samples>,
    pub(super) activations: u64,
    /// What ended the waits of the loop; of all waits where no loop was recognized.
    pub(super) causes: TurnCauses,
    pub(super) periods: HistogramRecorder,
    pub(super) wait: Option<Use>,
}

impl Cycle {
    pub(super) fn new(frame: Frame) -> Self {
        Self {
            frame,
            candidates: Vec::new(),
            chosen: None,
            turns: 0,
            calls: Vec::new(),
            faults: Vec::new(),
            kinds: HashMap::new(),
            taken_faults: Vec::new(),
            interrupted: 0,
        }
    }

    /// Whether the start-up is over.
    pub(super) fn is_recognized(&self) -> bool {
        self.chosen.is_some()
    }

    /// When the last turn began that was seen (ns); `None` while the loop is not recognized.
    pub(super) fn last_turn_ns(&self) -> Option<u64> {
        self.candidates.get(self.chosen?)?.last_ns
    }

    /// A page fault of the thread.
    pub(super) fn fault(&mut self, address: u64, time_ns: u64) {
        if self.chosen.is_some() && self.faults.len() < MOST_CALLS {
            self.faults.push((address, time_ns));
        }
    }

    /// A call has ended; `target` finds out what a file descriptor stands for.
    pub(super) fn ended(&mut self, call: &Ended, target: &mut dyn FnMut(u32) -> Target) {
        if let Some(chosen) = self.chosen {
            if self.candidates[chosen].wait == call.wait {
                self.interrupted += u64::from(call.broken);
                if call.slept || call.scheduled_ns.is_some() {
                    self.turn(target);
                    self.candidates[chosen].returned(call);
                }
            } else if self.calls.len() < MOST_CALLS {
                self.calls.push(*call);
            }
            return;
        }
        let is_lock = matches!(call.wait.what.detail, Detail::Futex { contended: true, .. });
        if is_lock || !(call.slept || call.scheduled_ns.is_some()) {
            return;
        }
        let place = self.candidates.iter().position(|candidate| candidate.wait == call.wait);
        let place = match place {
            Some(place) => place,
            None if self.candidates.len() < MOST_WAITS => {
                self.candidates.push(Candidate::new(call.wait, self.frame));
                self.candidates.len() - 1
            }
            None => return,
        };
        let candidate = &mut self.candidates[place];
        candidate.returned(call);
        self.interrupted += u64::from(call.broken);
        if candidate.times >= needed(call) {
            self.chosen = Some(place);
        }
    }

    /// A wait that had ended was due at a moment that became known since: the timer had expired before it began, or while it
    /// ended for another reason.
    pub(super) fn was_due(&mut self, wait: &Ended, scheduled_ns: i64) {
        let due = Ended { scheduled_ns: Some(scheduled_ns), ..*wait };
        let known = self.candidates.iter().position(|one| one.wait == wait.wait);
        let place = match known {
            Some(place) => place,
            None if self.chosen.is_none() && self.candidates.len() < MOST_WAITS => {
                self.candidates.push(Candidate::new(wait.wait, self.frame));
                self.candidates.len() - 1
            }
            None => return,
        };
        if self.chosen.is_some_and(|chosen| chosen != place) {
            return;
        }
        let candidate = &mut self.candidates[place];
        if !wait.slept {
            // It was no turn so far.
            candidate.returned(&due);
            self.turns += u64::from(self.chosen.is_some());
        } else if !wait.broken {
            let causes = &mut candidate.causes;
            let counted = match wait.cause {
                Some(Cause::Timer(_)) => &mut causes.timer_of_unknown_time,
                Some(Cause::Thread(_)) => &mut causes.thread,
                Some(Cause::Interrupt) => &mut causes.interrupt,
                None => &mut causes.unknown,
            };
            *counted = counted.saturating_sub(1);
            if matches!(wait.cause, Some(Cause::Thread(Some(_)))) {
                causes.thread_after_timer = causes.thread_after_timer.saturating_sub(1);
            }
            causes.timer += 1;
            candidate.sample(&due);
        }
    }

    /// A turn is over: what it did counts.
    fn turn(&mut self, target: &mut dyn FnMut(u32) -> Target) {
        self.turns += 1;
        for call in self.calls.drain(..) {
            let length_ns = call.ended_ns.saturating_sub(call.began_ns);
            let many = self.kinds.len() >= MOST_KINDS;
            if many && !self.kinds.contains_key(&call.wait.what) {
                continue;
            }
            let seen = self.kinds.entry(call.wait.what).or_insert_with(|| ObservedCall {
                what: call.wait.what,
                target: match call.wait.what.detail {
                    Detail::Descriptor(number) => target(number),
                    _ => Target::Unknown,
                },
                times: 0,
                slept_times: 0,
                total_ns: 0,
                longest_ns: 0,
                first_ns: call.began_ns,
            });
            seen.times += 1;
            seen.slept_times += u64::from(call.slept);
            seen.total_ns += length_ns;
            seen.longest_ns = seen.longest_ns.max(length_ns);
        }
        let room = MOST_CALLS.saturating_sub(self.taken_faults.len());
        self.taken_faults.extend(self.faults.drain(..).take(room));
    }

    /// Counts what was noted.
    pub(super) fn flush(&mut self, clocks: &ClockWatch) {
        self.candidates.iter_mut().for_each(|candidate| candidate.flush(clocks));
    }

    pub(super) fn live(&self) -> Option<record::LiveSeries> {
        let chosen = self.chosen?;
        self.candidates[chosen].samples.live().filter(|live| live.samples > 0)
    }

    /// Ends the account. Where no loop was recognized, the most frequent sleep gives the latencies nevertheless.
    pub(super) fn finish(mut self, clocks: &ClockWatch) -> CycleEnd {
        self.flush(clocks);
        let best = self.chosen.or_else(|| {
            let sleeps = self.candidates.iter().enumerate().filter(|(_, one)| one.samples.taken > 0);
            sleeps.max_by_key(|(_, one)| one.samples.taken).map(|(place, _)| place)
        });
        let periodic =
            self.chosen.map(|chosen| ObservedLoop { wait: self.candidates[chosen].wait.what, turns: self.turns });
        let mut calls: Vec<ObservedCall> = self.kinds.into_values().collect();
        calls.sort_by_key(|call| (call.first_ns, call.what.call));
        for call in &mut calls {
            call.first_ns = call.first_ns.saturating_sub(u64::try_from(self.frame.first_ns).unwrap_or(0));
        }
        let mut causes = TurnCauses::default();
        match self.chosen {
            Some(chosen) => causes.add(&self.candidates[chosen].causes),
            None => self.candidates.iter().for_each(|one| causes.add(&one.causes)),
        }
        let Some(best) = best else {
            return CycleEnd {
                periodic,
                calls,
                samples: None,
                activations: 0,
                causes,
                periods: HistogramRecorder::new(),
                wait: None,
            };
        };
        let best = self.candidates.swap_remove(best);
        CycleEnd {
            periodic,
            calls,
            activations: best.times,
            causes,
            wait: self.chosen.map(|_| best.wait.what),
            samples: (best.samples.taken > 0).then_some(best.samples),
            periods: best.periods,
        }
    }
}

impl Candidate {
    fn new(wait: Wait, frame: Frame) -> Self {
        Self {
            wait,
            times: 0,
            samples: Samples::new(frame, true),
            return_ns: frame.return_ns,
            last_ns: None,
            causes: TurnCauses::default(),
            periods: HistogramRecorder::new(),
            distances_ns: Vec::new(),
        }
    }

    fn flush(&mut self, clocks: &ClockWatch) {
        self.samples.flush(clocks);
        for distance_ns in self.distances_ns.drain(..) {
            self.periods.record(distance_ns);
        }
    }

    fn returned(&mut self, call: &Ended) {
        if call.broken {
            return;
        }
        self.times += 1;
        if let Some(last_ns) = self.last_ns.replace(call.ended_ns) {
            self.distances_ns.push(call.ended_ns.saturating_sub(last_ns));
        }
        let returned_ns = self.returned_ns(call);
        let causes = &mut self.causes;
        match (call.scheduled_ns, call.cause) {
            (Some(_), _) => causes.timer += 1,
            (None, Some(Cause::Timer(_))) => causes.timer_of_unknown_time += 1,
            (None, Some(Cause::Thread(moment_ns))) => {
                causes.thread += 1;
                if let Some(moment_ns) = moment_ns {
                    causes.thread_after_timer += 1;
                    let after_ns = u64::try_from(returned_ns - moment_ns).unwrap_or(0);
                    causes.thread_after_timer_max_ns = causes.thread_after_timer_max_ns.max(Some(after_ns));
                }
            }
            (None, Some(Cause::Interrupt)) => causes.interrupt += 1,
            (None, None) => causes.unknown += 1,
        }
        self.sample(call);
    }

    /// When the program went on after a call (ns).
    fn returned_ns(&self, call: &Ended) -> i64 {
        i64::try_from(call.ended_ns.saturating_add(self.return_ns)).unwrap_or(i64::MAX)
    }

    fn sample(&mut self, call: &Ended) {
        if let Some(scheduled_ns) = call.scheduled_ns {
            self.samples.take(scheduled_ns, self.returned_ns(call));
        }
    }
}

/// How many returns from a wait make it a loop's.
fn needed(call: &Ended) -> u64 {
    match (call.wait.what.call.work(), call.wait.what.detail) {
        (Work::Sleep, Detail::Sleep { absolute: true, .. }) => TURNS_OF_ABSOLUTE_SLEEP,
        (Work::Sleep, _) => TURNS_OF_SLEEP,
        _ if call.scheduled_ns.is_some() => TURNS_OF_TIMED_WAIT,
        _ => TURNS_OF_WAIT,
    }
}

/// What matters of a call's arguments.
pub(super) fn use_of(call: Call, arguments: &[u64; 4]) -> Wait {
    let low = |index: usize| u32::try_from(arguments[index] & 0xffff_ffff).unwrap_or(0);
    let (detail, on) = match call {
        Call::ClockNanosleep => (Detail::Sleep { clock: low(0), absolute: low(1) & TIMER_ABSTIME != 0 }, 0),
        // For a time, which the kernel takes from its monotonic clock.
        Call::Nanosleep => (Detail::Sleep { clock: 1, absolute: false }, 0),
        Call::Futex => {
            let operation = u8::try_from(low(1) & FUTEX_OPERATION).unwrap_or(u8::MAX);
            let waits = matches!(operation, 0 | 9);
            let detail = Detail::Futex {
                operation,
                realtime: waits && arguments[3] != 0 && low(1) & FUTEX_CLOCK_REALTIME != 0,
                // Both the C library's locks and Rust's say by 2 that a lock is taken and somebody waits for it.
                contended: waits && low(2) == 2,
            };
            (detail, arguments[0])
        }
        _ => match call.work() {
            Work::Input | Work::Output | Work::Sync => (Detail::Descriptor(low(0)), 0),
            _ => (Detail::Nothing, arguments[0]),
        },
    };
    let on = if matches!(call.work(), Work::Wait | Work::Futex | Work::Schedule) { on } else { 0 };
    Wait { what: Use { call, detail }, on }
}

/// `TIMER_ABSTIME` (include/uapi/linux/time.h).
const TIMER_ABSTIME: u32 = 1;
/// Operation and flags of a futex (include/uapi/linux/futex.h).
const FUTEX_OPERATION: u32 = 0x7f;
const FUTEX_CLOCK_REALTIME: u32 = 256;
