//! Holds the causes of a run against the counters of the same record, and the parts of a sample against its cause.
//!
//! A record cannot say that a page fault was shown and that none was counted. [`Totals::finish`](super::Totals::finish) takes the
//! counters, so that no kind of measurement has causes that were not held against them; [`Counter::of`] names for each class of
//! causes what counts it, so that a new class does not compile without an answer.

use record::{CauseClass, CauseTotal, Certainty, Counters, DelayPart, ExplainedSample, Owner};
use units::format;

/// What a record counts of a class of causes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counter {
    /// Each cause of the class is counted as one event at least: this many were; `None` where nobody counted.
    Events { count: Option<u64>, what: &'static str },
    /// Nothing in a record counts it.
    None,
}

impl Counter {
    /// The counter of a class in the counters of a thread.
    fn of(class: CauseClass, counters: &Counters) -> Self {
        let events = |count, what| Self::Events { count, what };
        match class {
            CauseClass::PageFault => {
                let both = counters.minor_faults.zip(counters.major_faults);
                events(both.map(|(minor, major)| minor.saturating_add(major)), "page faults of this thread")
            }
            CauseClass::Migration => events(counters.migrations, "moves of this thread to another CPU"),
            CauseClass::Smi => events(counters.smi, "SMIs"),
            // Time, and in steps of 10 ms: what is shorter is in no count.
            CauseClass::Steal => Self::None,
            // Nothing counts them in a record. What the witness counts of them for the whole machine is judged as validity.
            CauseClass::InterruptsOff
            | CauseClass::PreemptionOff
            | CauseClass::Interrupt
            | CauseClass::Softirq
            | CauseClass::Thread
            | CauseClass::TimerFunction
            | CauseClass::Nmi
            | CauseClass::IdleExit
            | CauseClass::Frequency
            | CauseClass::Throttle
            | CauseClass::OwnSleep
            | CauseClass::Unknown => Self::None,
        }
    }
}

/// What a thread's counters leave of the causes of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Nothing speaks against them.
    All,
    /// There were fewer events than samples with the cause: which samples had one is not known.
    Some { count: u64, what: &'static str },
    /// There was no such event.
    None { what: &'static str },
}

fn left(class: CauseClass, samples: u64, counters: Option<&Counters>) -> Left {
    match counters.map_or(Counter::None, |counters| Counter::of(class, counters)) {
        Counter::Events { count: Some(0), what } => Left::None { what },
        Counter::Events { count: Some(count), what } if count < samples => Left::Some { count, what },
        Counter::Events { .. } | Counter::None => Left::All,
    }
}

/// Holds the causes of one thread against its counters. `samples` are those of them that are kept with their timelines.
pub(super) fn reconcile(causes: &mut [CauseTotal], samples: &mut [&mut ExplainedSample], counters: Option<&Counters>) {
    let mut of_class: Vec<(CauseClass, u64)> = Vec::new();
    for cause in causes.iter() {
        match of_class.iter_mut().find(|(class, _)| *class == cause.class) {
            Some((_, count)) => *count = count.saturating_add(cause.samples),
            None => of_class.push((cause.class, cause.samples)),
        }
    }
    for (class, count) in of_class {
        let left = left(class, count, counters);
        for cause in causes.iter_mut().filter(|cause| cause.class == class) {
            match left {
                Left::All => {}
                Left::Some { .. } => cause.certainty = cause.certainty.max(Certainty::Likely),
                Left::None { .. } => {
                    (cause.class, cause.certainty, cause.owner) =
                        (CauseClass::Unknown, Certainty::Unknown, Owner::Other);
                    cause.name.clear();
                    // Of a cause that is not known all of a sample's time is counted.
                    cause.took_ns = cause
                        .latencies
                        .bins()
                        .fold(0, |sum: u64, bin| sum.saturating_add(bin.count.saturating_mul(bin.to_ns)));
                }
            }
        }
        for sample in samples.iter_mut().filter(|sample| sample.class == class) {
            match left {
                Left::All => {}
                Left::Some { count: counted, what } => {
                    sample.certainty = sample.certainty.max(Certainty::Likely);
                    sample.evidence.push_str(&format!(
                        "; the run counted {} {what}, fewer than the {} samples that are explained by one",
                        format::count(counted),
                        format::count(count)
                    ));
                }
                Left::None { what } => refute(sample, what),
            }
        }
    }
}

/// Takes a cause back that a counter contradicts.
fn refute(sample: &mut ExplainedSample, what: &str) {
    sample.evidence = format!("{}; but the run counted no {what}, so that this is not the cause", sample.evidence);
    let blamed = sample.class;
    (sample.class, sample.certainty, sample.owner) = (CauseClass::Unknown, Certainty::Unknown, Owner::Other);
    sample.name.clear();
    pass_on(&mut sample.parts, blamed, CauseClass::Unknown);
}

/// Parts of a sample were blamed by what its own CPU recorded, and its cause is another one: their time goes over to it, so that
/// the parts say what the cause says.
pub(super) fn pass_on(parts: &mut [DelayPart], from: CauseClass, to: CauseClass) {
    if from == to {
        return;
    }
    for part in parts.iter_mut().filter(|part| part.class == from) {
        part.class = to;
        part.name = while_had(&part.name);
    }
}

/// The name of a part whose time somebody had by the trace alone.
pub(super) fn while_had(name: &str) -> String {
    if name.is_empty() || name.starts_with(WHILE) {
        name.to_owned()
    } else {
        format!("{WHILE}{name} had the CPU by the trace")
    }
}

const WHILE: &str = "while ";

#[cfg(test)]
mod tests {
    use record::Histogram;

    use super::super::{BelowKernel, Totals};
    use super::*;

    fn sample(thread: u32, class: CauseClass) -> ExplainedSample {
        let parts = vec![DelayPart { class, name: "somewhere".to_owned(), net_ns: 90_000 }];
        ExplainedSample {
            thread,
            latency_ns: 100_000,
            class,
            name: "measuring thread".to_owned(),
            certainty: Certainty::Shown,
            evidence: "on the trace".to_owned(),
            parts,
            ..ExplainedSample::default()
        }
    }

    fn counters(count: Option<u64>) -> Counters {
        Counters {
            minor_faults: count,
            major_faults: count.map(|_| 0),
            migrations: count,
            smi: count,
            ..Counters::default()
        }
    }

    /// Each class of causes, however many samples it explains and however many events were counted: nothing is shown that the
    /// counters contradict, no sample is lost, and what they do not contradict stays as it was.
    #[test]
    fn no_cause_is_shown_that_a_counter_of_the_same_record_contradicts() {
        let all = [
            CauseClass::InterruptsOff,
            CauseClass::PreemptionOff,
            CauseClass::Interrupt,
            CauseClass::Softirq,
            CauseClass::Thread,
            CauseClass::TimerFunction,
            CauseClass::Nmi,
            CauseClass::Smi,
            CauseClass::IdleExit,
            CauseClass::Frequency,
            CauseClass::PageFault,
            CauseClass::Migration,
            CauseClass::Throttle,
            CauseClass::Steal,
            CauseClass::OwnSleep,
            CauseClass::Unknown,
        ];
        for class in all {
            for (samples, counted) in [(1, None), (1, Some(0)), (3, Some(1)), (3, Some(3)), (2, Some(50))] {
                let mut totals = Totals::default();
                (0..samples).for_each(|_| totals.add(sample(0, class), BelowKernel::default()));
                let (causes, kept) = totals.finish(|_| Some(counters(counted)));
                let total: u64 = causes.iter().map(|cause| cause.samples).sum();
                assert_eq!((total, kept.len()), (samples, usize::try_from(samples).unwrap()), "{class:?}");
                let is_counted = Counter::of(class, &counters(Some(0))) != Counter::None;
                let expected = match counted {
                    Some(0) if is_counted => (CauseClass::Unknown, Certainty::Unknown),
                    Some(count) if is_counted && count < samples => (class, Certainty::Likely),
                    _ => (class, Certainty::Shown),
                };
                assert!(
                    causes.iter().all(|cause| (cause.class, cause.certainty) == expected),
                    "{class:?} {counted:?}: {causes:?}"
                );
                assert!(kept.iter().all(|one| (one.class, one.certainty) == expected), "{class:?} {counted:?}");
                // The parts say what the cause says.
                assert!(kept.iter().all(|one| one.parts[0].class == one.class), "{class:?} {counted:?}");
            }
        }
    }

    #[test]
    fn each_thread_is_held_against_its_own_counters() {
        let mut totals = Totals::default();
        [0, 1, 1]
            .into_iter()
            .for_each(|thread| totals.add(sample(thread, CauseClass::PageFault), BelowKernel::default()));
        let (mut causes, kept) = totals.finish(|thread| Some(counters(Some(if thread == 0 { 0 } else { 7 }))));
        causes.sort_by_key(|cause| cause.samples);
        let found: Vec<_> = causes.iter().map(|cause| (cause.class, cause.samples, cause.certainty)).collect();
        assert_eq!(found, [(CauseClass::Unknown, 1, Certainty::Unknown), (CauseClass::PageFault, 2, Certainty::Shown)]);
        let of_first = kept.iter().find(|one| one.thread == 0).unwrap();
        assert!(of_first.evidence.contains("counted no page faults of this thread"), "{}", of_first.evidence);
        assert_eq!(causes[0].latencies.count(), 1);
        assert_ne!(causes[0].latencies, Histogram::new());
    }
}
