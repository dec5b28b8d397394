//! What the facts about a finished run make of its validity: the same for every kind of measurement by threads of our own. Pure.
//!
//! Facts are values without defaults, so that a kind that forgets one does not compile.

pub(crate) use self::intervals::keep_apart;
use record::{ClockStep, Measurement, Moment, Reason, ReasonCode, Sampling, Validity, WorstSample};
use units::format::span;

use crate::spoil::Spoil;
use crate::stop::WATCHDOG_S;
use crate::witness::{LookoutObservations, ThrottleWatch, Witnessed};

mod intervals;

/// Steps of a clock that are named one by one.
const NAMED_STEPS: usize = 5;

/// All that is known of a finished run beside its samples.
pub(crate) struct Facts<'a> {
    /// The kind of measurement.
    pub(crate) measurement: Measurement,
    /// What the machine's counters said before and after.
    pub(crate) witnessed: &'a Witnessed,
    /// What was seen by looking at the run while it took place.
    pub(crate) seen: &'a LookoutObservations,
    /// Stops of the measuring threads by the kernel's limits, and what becomes of them.
    pub(crate) stops: Stops<'a>,
    /// The measuring threads.
    pub(crate) threads: &'a [ThreadFacts],
    /// What the measured clocks did; `None` where none of them can be stepped.
    pub(crate) clock: Option<ClockFacts<'a>>,
    /// Whether a measuring thread ran for [`WATCHDOG_S`] without a sleep, so that the watchdog ended the run.
    pub(crate) watchdog_fired: bool,
    /// Why the run ended before its time, in words, where it did.
    pub(crate) ended_early: Option<String>,
    /// The worst samples, among which the length of a stop is found.
    pub(crate) worst: &'a [WorstSample],
}

/// What becomes of the samples that a stop by a limit of the kernel's made.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Stops<'a> {
    /// They stay among the others, and spoil the run.
    Spoil(&'a ThrottleWatch),
    /// Those that are shown were kept apart from the others.
    KeptApart(&'a ThrottleWatch),
    /// The threads are a user's own: the follower reports what stopped them.
    OfProgram,
}

/// What a measured clock did.
#[derive(Clone, Debug)]
pub(crate) struct ClockFacts<'a> {
    /// The clock's name, as users type it.
    pub(crate) name: String,
    /// Its steps, in the order of time.
    pub(crate) steps: &'a [ClockStep],
    /// When the run began.
    pub(crate) started: Moment,
}

/// How a measuring thread ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ThreadEnd {
    /// As it should, with what it counted.
    Whole,
    /// It got no CPU to end, and what it counted is not known.
    Stuck,
    /// It died of a fault of the instrument.
    Died,
    /// So many of its sleeps failed that it ended.
    SleepsFailed(u64),
}

/// What is known of a measuring thread beside its samples.
#[derive(Clone, Debug)]
pub(crate) struct ThreadFacts {
    /// The thread or its CPU, in words: "thread 0", "CPU 3".
    pub(crate) place: String,
    /// How it ended.
    pub(crate) end: ThreadEnd,
    /// Samples that it took; of a thread that watches for disturbances, turns of its loop. `None` where that is not known.
    pub(crate) taken: Option<u64>,
    /// Samples that found no place in its ring.
    pub(crate) dropped: u64,
    /// Page faults while it measured, minor and major; `None` where what it does between samples faults too.
    pub(crate) faults: Option<(u64, u64)>,
    /// How often the scheduler moved it while it measured; `None` where it may move, or if the kernel does not report it.
    pub(crate) migrations: Option<u64>,
    /// What its samples lack for what was asked, where they do: the reason, with its detail.
    pub(crate) lacks: Option<(ReasonCode, String)>,
}

/// What they make of the run.
pub(crate) fn judge(facts: &Facts<'_>) -> Validity {
    let mut validity = Validity::default();
    facts.witnessed.judge(&mut validity);
    match facts.stops {
        Stops::Spoil(throttle) => throttle.judge_run(&mut validity),
        Stops::KeptApart(throttle) => throttle.judge_kept_apart(&mut validity),
        Stops::OfProgram => {}
    }
    facts.seen.judge(&mut validity, facts.worst);
    if let Some(clock) = facts.clock.as_ref().filter(|clock| !clock.steps.is_empty()) {
        validity.add(ReasonCode::ClockStepped, clock.in_words());
    }
    let samples = facts.measurement.kind().samples;
    for thread in facts.threads {
        thread.judge(samples, &mut validity);
    }
    judge_emptiness(facts, &mut validity);
    if facts.watchdog_fired {
        let detail = format!("a measuring thread ran for {WATCHDOG_S} s without a sleep");
        validity.add(ReasonCode::WatchdogFired, detail);
    }
    if let Some(how) = &facts.ended_early {
        validity.add(ReasonCode::InterruptedEarly, how.clone());
    }
    validity
}

/// A thread that watches for disturbances says something only where its loop turned; of other kinds the run does where any of
/// its threads took a sample.
fn judge_emptiness(facts: &Facts<'_>, validity: &mut Validity) {
    let kind = facts.measurement.kind();
    if matches!(facts.stops, Stops::OfProgram) {
        // Which of its threads have latencies is the follower's to say.
        return;
    }
    if kind.sampling.is_quiet_without_samples() {
        for thread in facts.threads.iter().filter(|thread| thread.taken == Some(0)) {
            validity.add(ReasonCode::NoSamples, format!("{}: the loop did not turn once", thread.place));
        }
    } else if facts.threads.iter().all(|thread| thread.taken.unwrap_or(0) == 0) {
        let detail = match kind.sampling {
            // What became of those of the other node is the flow's to say.
            Sampling::Packets => {
                let places: Vec<&str> = facts.threads.iter().map(|thread| &*thread.place).collect();
                format!("{}: not one packet", places.join(", "))
            }
            _ => format!("the run ended before its first {}", kind.sample),
        };
        validity.add(ReasonCode::NoSamples, detail);
    }
}

impl ClockFacts<'_> {
    /// Which clock was stepped, by how much and when.
    fn in_words(&self) -> String {
        let each: Vec<String> = self.steps.iter().take(NAMED_STEPS).map(|step| self.step_in_words(step)).collect();
        format!("{} was stepped {}", self.name, each.join("; "))
    }

    fn step_in_words(&self, step: &ClockStep) -> String {
        let into_run = span(step.noticed.monotonic.as_ns() - self.started.monotonic.as_ns());
        format!("by {}, noticed {into_run} into the run", span(step.step_ns))
    }

    /// The steps as what spoils the time around each, where `at_ns` says when that was on this clock.
    pub(crate) fn spoils(&self, at_ns: &[(i64, i64)]) -> Vec<Spoil> {
        let of = |(step, (from_ns, to_ns)): (&ClockStep, &(i64, i64))| Spoil {
            from_ns: *from_ns,
            to_ns: *to_ns,
            noticed_ns: step.noticed.monotonic.as_ns(),
            reason: Reason {
                code: ReasonCode::ClockStepped,
                detail: format!("{} was stepped {}", self.name, self.step_in_words(step)),
            },
        };
        self.steps.iter().zip(at_ns).map(of).collect()
    }
}

impl ThreadFacts {
    fn judge(&self, samples: &str, validity: &mut Validity) {
        let place = &self.place;
        let mut add = |code, detail: String| validity.add(code, format!("{place}: {detail}"));
        match self.end {
            ThreadEnd::Whole => {}
            ThreadEnd::Stuck => {
                add(ReasonCode::ThreadStuck, "it got no CPU to end; its last samples are missing".to_owned());
            }
            ThreadEnd::Died => add(ReasonCode::ThreadDied, "it panicked".to_owned()),
            ThreadEnd::SleepsFailed(times) => {
                add(ReasonCode::ThreadDied, format!("{times} of its sleeps failed, so it ended"));
            }
        }
        if self.dropped > 0 {
            add(ReasonCode::SamplesDropped, format!("{} {samples} found no place", self.dropped));
        }
        if let Some((minor, major)) = self.faults.filter(|(minor, major)| minor + major > 0) {
            add(ReasonCode::PageFaults, format!("{minor} minor, {major} major"));
        }
        if let Some(times) = self.migrations.filter(|times| *times > 0) {
            add(ReasonCode::Migrated, format!("moved {times} times"));
        }
        if let Some((code, detail)) = &self.lacks {
            add(*code, detail.clone());
        }
    }
}

#[cfg(test)]
mod tests;
