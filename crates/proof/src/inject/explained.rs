//! Compares the causes in a record with what was really injected.

use std::collections::BTreeMap;

use record::{CauseClass, Certainty, ExplainedSample, Record};

use lab::injection::{Delay, Injection, Kind};

/// How well the causes in a record match the injections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Explained {
    /// Number of injections that made a wake-up late; others fell between two wake-ups, or ended too soon after one was
    /// due.
    pub(crate) injected: usize,
    /// How many of these have the right class and name.
    pub(crate) right: usize,
    /// How many of these have an unknown cause in the record.
    pub(crate) unknown: usize,
    /// A text for each other of these, and for each sample without an injection that is blamed on an injector.
    pub(crate) wrong: Vec<String>,
    /// The causes of explained samples that overlap no injection, with their numbers.
    pub(crate) others: BTreeMap<String, usize>,
}

/// The expected cause of a kind: its class, and a part of its name.
const fn expected(kind: Kind) -> (CauseClass, &'static str) {
    match kind {
        // The function of a hard timer runs in the interrupt itself.
        Kind::IrqsOff => (CauseClass::TimerFunction, "fire [punctual_inject]"),
        // The function of a soft timer runs inside a softirq, and is what took the time.
        Kind::SoftTimer => (CauseClass::TimerFunction, "fire [punctual_inject]"),
        Kind::Softirq => (CauseClass::Softirq, "TASKLET"),
        Kind::ThreadIrqsOff => (CauseClass::InterruptsOff, "punctual-holder"),
        Kind::PreemptOff => (CauseClass::PreemptionOff, "punctual-holder"),
        Kind::Irq => (CauseClass::Interrupt, "punctual-line (interrupt 7)"),
        // The kernel truncates names of threads to 15 characters.
        Kind::IrqThread => (CauseClass::Thread, "irq/6-punctual-"),
        Kind::Hog => (CauseClass::Thread, "punctual"),
        // The thread that wakes, inside its call; hand-overs, for which this is made, are not explained.
        Kind::Waking => (CauseClass::InterruptsOff, "punctual-k"),
    }
}

/// Whether a sample's cause is the injection. Counters show the interrupt line. They do not show whether the handler or
/// its thread took the time if the late thread did not wait long enough. So the line is also right if its certainty is
/// only likely.
fn is_right(sample: &ExplainedSample, kind: Kind) -> bool {
    let (class, name) = expected(kind);
    let is_line = kind == Kind::IrqThread
        && (sample.class, sample.certainty) == (CauseClass::Interrupt, Certainty::Likely)
        && sample.name.contains("punctual-thread (interrupt 6)");
    is_line || sample.class == class && sample.name.contains(name)
}

/// Compares a record's causes with the injections.
#[must_use]
pub(crate) fn explained(record: &Record, truth: &[Injection]) -> Explained {
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
        match samples.iter().find(|sample| overlaps(sample, delay)) {
            Some(sample) if is_right(sample, delay.kind) => found.right += 1,
            Some(sample) if sample.class == CauseClass::Unknown => found.unknown += 1,
            Some(sample) => {
                found.wrong.push(format!("{:?} at {}: {}", delay.kind, delay.true_start_ns, describe(sample)));
            }
            None => found.wrong.push(format!("{:?} at {}: not explained", delay.kind, delay.true_start_ns)),
        }
    }
    let untouched = |sample: &&ExplainedSample| !delays.iter().any(|delay| overlaps(sample, delay));
    for sample in samples.iter().filter(untouched) {
        let blames_injector =
            ["punctual_inject", "punctual-holder", "punctual-line", "punctual-thread", "irq/6-punctual-"]
                .iter()
                .any(|injector| sample.name.contains(injector));
        if blames_injector {
            found.wrong.push(format!(
                "nothing injected at {}: {}",
                sample.scheduled.monotonic.as_ns(),
                describe(sample)
            ));
        }
        *found.others.entry(format!("{}: {}", sample.class.words(), sample.name)).or_default() += 1;
    }
    found
}

/// Whether a wake-up was due during an injection and became later than the recorder's threshold.
fn makes_late(record: &Record, delay: &Delay) -> bool {
    let started_ns = record.manifest().started.monotonic.as_ns();
    let interval_ns = record.series.first().and_then(|series| series.interval_ns);
    let Some(interval_ns) = interval_ns.and_then(|ns| i64::try_from(ns).ok()).filter(|&ns| ns > 0) else { return true };
    let into_period_ns = (delay.true_start_ns - started_ns).rem_euclid(interval_ns);
    let due_ns = delay.true_start_ns + (interval_ns - into_period_ns) % interval_ns;
    let above_ns = record.explanation().and_then(|explanation| explanation.above_ns).unwrap_or(0);
    delay.true_end_ns - due_ns >= i64::try_from(above_ns).unwrap_or(i64::MAX)
}

/// Whether an injection overlaps the sample's latency.
fn overlaps(sample: &ExplainedSample, delay: &Delay) -> bool {
    sample.cpu == delay.cpu
        && sample.scheduled.monotonic.as_ns() < delay.true_end_ns
        && sample.woke.monotonic.as_ns() > delay.true_start_ns
}

fn describe(sample: &ExplainedSample) -> String {
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
    fn a_wrong_class_a_wrong_name_and_a_false_blame_are_reported() {
        let truth: Vec<Injection> = [0, 1_000_000, 2_000_000, 3_000_000, 4_000_000]
            .map(|at| format!("irq 0 {at} 90000 {at} {}", at + 90_000))
            .iter()
            .map(|line| Injection::from_module_line(line).unwrap())
            .collect();
        let mut record = Record::from_json(include_str!("../../../../fixtures/calibration/idle/quiet.json")).unwrap();
        let right = "punctual-line (interrupt 7)";
        record.late_samples.explanation = Some(Explanation {
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
        // An injection that ends before a wake-up is due, or too soon after, makes nothing late.
        let between = [Injection::from_module_line("irq 0 50000 90000 50000 140000").unwrap()];
        assert_eq!(explained(&record, &between).injected, 0);
        assert!(found.wrong[2].ends_with("not explained") && found.wrong[3].starts_with("nothing injected at 9005000"));
    }

    #[test]
    fn the_line_of_a_threaded_handler_is_right_only_if_likely() {
        let line = sample(0, CauseClass::Interrupt, "punctual-thread (interrupt 6)");
        let likely = ExplainedSample { certainty: Certainty::Likely, ..line.clone() };
        assert!(
            is_right(&likely, Kind::IrqThread) && !is_right(&line, Kind::IrqThread) && !is_right(&likely, Kind::Irq)
        );
        assert!(is_right(&sample(0, CauseClass::Thread, "irq/6-punctual- (fifo 50)"), Kind::IrqThread));
    }
}
