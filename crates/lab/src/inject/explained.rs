//! What a record says of causes, against what was truly injected.

use std::collections::BTreeMap;

use record::{CauseClass, Certainty, ExplainedSample, Record};

use super::truth::{Delay, Injection, Kind};

/// How causes were named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explained {
    /// Injections that made a wake-up late: others fell between two, or ended too soon after one was due.
    pub injected: usize,
    /// Of these, those whose wake-up has the right class and name.
    pub right: usize,
    /// Of these, those whose cause the record says not to know.
    pub unknown: usize,
    /// Each other that has not, in words; and each sample without an injection that is blamed on an injector.
    pub wrong: Vec<String>,
    /// Explained samples that no injection touches: their causes, counted.
    pub others: BTreeMap<String, usize>,
}

/// What a kind has to be named: its class, and a part of its name.
const fn expected(kind: Kind) -> (CauseClass, &'static str) {
    match kind {
        // A hard timer's function runs in the interrupt itself.
        Kind::IrqsOff => (CauseClass::TimerFunction, "fire [punctual_inject]"),
        // A soft one's does so inside of a softirq, and is what took the time.
        Kind::SoftTimer => (CauseClass::TimerFunction, "fire [punctual_inject]"),
        Kind::Softirq => (CauseClass::Softirq, "TASKLET"),
        Kind::ThreadIrqsOff => (CauseClass::InterruptsOff, "punctual-holder"),
        Kind::PreemptOff => (CauseClass::PreemptionOff, "punctual-holder"),
        Kind::Irq => (CauseClass::Interrupt, "punctual-line (interrupt 7)"),
        // The kernel cuts names of threads at 15 characters.
        Kind::IrqThread => (CauseClass::Thread, "irq/6-punctual-"),
        Kind::Hog => (CauseClass::Thread, "punctual"),
    }
}

/// Whether a sample's cause is the injection's. Counters see the line that an interrupt came by and not whether its handler or
/// that one's thread took the time, where the thread that was late did not wait for long enough to tell: as likely, the
/// line is right.
fn names(sample: &ExplainedSample, kind: Kind) -> bool {
    let (class, name) = expected(kind);
    let is_line = kind == Kind::IrqThread
        && (sample.class, sample.certainty) == (CauseClass::Interrupt, Certainty::Likely)
        && sample.name.contains("punctual-thread (interrupt 6)");
    is_line || sample.class == class && sample.name.contains(name)
}

/// Holds a record's causes against the truth.
#[must_use]
pub fn explained(record: &Record, truth: &[Injection]) -> Explained {
    let samples = record.explanation().map_or(&[][..], |explanation| &explanation.samples);
    let delays: Vec<&Delay> = truth
        .iter()
        .filter_map(|injection| match injection {
            Injection::Delay(delay) => Some(delay),
            Injection::ClockStep(_) => None,
        })
        .collect();
    let mut found = Explained::default();
    for delay in delays.iter().filter(|delay| makes_late(record, delay)) {
        found.injected += 1;
        match samples.iter().find(|sample| touches(sample, delay)) {
            Some(sample) if names(sample, delay.kind) => found.right += 1,
            Some(sample) if sample.class == CauseClass::Unknown => found.unknown += 1,
            Some(sample) => found.wrong.push(format!("{:?} at {}: {}", delay.kind, delay.true_start_ns, words(sample))),
            None => found.wrong.push(format!("{:?} at {}: not explained", delay.kind, delay.true_start_ns)),
        }
    }
    let untouched = |sample: &&ExplainedSample| !delays.iter().any(|delay| touches(sample, delay));
    for sample in samples.iter().filter(untouched) {
        let blames_injector =
            ["punctual_inject", "punctual-holder", "punctual-line", "punctual-thread", "irq/6-punctual-"]
                .iter()
                .any(|injector| sample.name.contains(injector));
        if blames_injector {
            found.wrong.push(format!("nothing injected at {}: {}", sample.scheduled.monotonic.as_ns(), words(sample)));
        }
        *found.others.entry(format!("{}: {}", sample.class.words(), sample.name)).or_default() += 1;
    }
    found
}

/// Whether an injection held a thread up that was due meanwhile, by more than was looked for.
fn makes_late(record: &Record, delay: &Delay) -> bool {
    let started_ns = record.manifest().started.monotonic.as_ns();
    let interval_ns = record.series.first().and_then(|series| series.interval_ns);
    let Some(interval_ns) = interval_ns.and_then(|ns| i64::try_from(ns).ok()).filter(|&ns| ns > 0) else { return true };
    let into_period_ns = (delay.true_start_ns - started_ns).rem_euclid(interval_ns);
    let due_ns = delay.true_start_ns + (interval_ns - into_period_ns) % interval_ns;
    let above_ns = record.explanation().and_then(|explanation| explanation.above_ns).unwrap_or(0);
    delay.true_end_ns - due_ns >= i64::try_from(above_ns).unwrap_or(i64::MAX)
}

/// Whether an injection fell into the sample's latency.
fn touches(sample: &ExplainedSample, delay: &Delay) -> bool {
    sample.cpu == delay.cpu
        && sample.scheduled.monotonic.as_ns() < delay.true_end_ns
        && sample.woke.monotonic.as_ns() > delay.true_start_ns
}

fn words(sample: &ExplainedSample) -> String {
    format!("{} '{}', {}", sample.class.words(), sample.name, sample.evidence)
}

#[cfg(test)]
mod tests {
    use record::{Explanation, Moment};
    use units::Timestamp;

    use super::*;

    fn sample(scheduled_ns: i64, class: CauseClass, name: &str) -> ExplainedSample {
        let at = |ns| Moment { monotonic: Timestamp::from_ns(ns), realtime: Timestamp::from_ns(ns) };
        ExplainedSample {
            latency_ns: 100_000,
            scheduled: at(scheduled_ns),
            woke: at(scheduled_ns + 100_000),
            class,
            name: name.to_owned(),
            certainty: Certainty::Shown,
            ..ExplainedSample::default()
        }
    }

    #[test]
    fn a_wrong_class_a_wrong_name_and_a_false_blame_are_each_told() {
        let truth: Vec<Injection> = [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]
            .map(|at| format!("irq 0 {at} 90000 {at} {}", at + 90_000))
            .iter()
            .map(|line| Injection::from_module_line(line).unwrap())
            .collect();
        let mut record = Record::from_json(include_str!("../../../../fixtures/calibration/idle/quiet.json")).unwrap();
        let right = "punctual-line (interrupt 7)";
        record.late_samples_mut().explanation = Some(Explanation {
            samples: vec![
                sample(5_000, CauseClass::Interrupt, right),
                sample(1_005_000, CauseClass::Softirq, right),
                sample(2_005_000, CauseClass::Interrupt, "eth0 (interrupt 9)"),
                sample(4_005_000, CauseClass::Unknown, ""),
                sample(9_005_000, CauseClass::Interrupt, right),
            ],
            ..Explanation::default()
        });
        let found = explained(&record, &truth);
        assert_eq!((found.injected, found.right, found.unknown), (5, 1, 1));
        assert_eq!(found.wrong.len(), 4, "{:?}", found.wrong);
        // One that ends before anything is due, or too soon after, makes nothing late.
        let between = [Injection::from_module_line("irq 0 50000 90000 50000 140000").unwrap()];
        assert_eq!(explained(&record, &between).injected, 0);
        assert!(found.wrong[2].ends_with("not explained") && found.wrong[3].starts_with("nothing injected at 9005000"));
    }

    #[test]
    fn the_line_of_a_threaded_handler_is_right_as_likely_and_wrong_as_shown() {
        let line = sample(0, CauseClass::Interrupt, "punctual-thread (interrupt 6)");
        let likely = ExplainedSample { certainty: Certainty::Likely, ..line.clone() };
        assert!(names(&likely, Kind::IrqThread) && !names(&line, Kind::IrqThread) && !names(&likely, Kind::Irq));
        assert!(names(&sample(0, CauseClass::Thread, "irq/6-punctual- (fifo 50)"), Kind::IrqThread));
    }
}
