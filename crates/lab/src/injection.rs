//! The log of an injector, the truth that an instrument has to find: one line for each injection. The injectors are in
//! `punctual-proof`; the kernel module `modules/inject` makes the delays that need interrupts off.

use record::Moment;
use serde::{Deserialize, Serialize};

/// One fault that really happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Injection {
    /// A CPU was occupied.
    Delay(Delay),
    /// CLOCK_REALTIME was stepped.
    ClockStep(ClockStep),
}

/// What occupied the CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A timer interrupt that keeps interrupts off.
    IrqsOff,
    /// A tasklet: on PREEMPT_RT it runs in a thread that any real-time thread preempts.
    Softirq,
    /// A SCHED_FIFO thread.
    Hog,
    /// A soft timer: on PREEMPT_RT it runs in the thread `ktimers`.
    SoftTimer,
    /// A thread that keeps interrupts off.
    ThreadIrqsOff,
    /// A thread that keeps preemption off.
    PreemptOff,
    /// The hard handler of an interrupt line.
    Irq,
    /// The threaded handler of an interrupt line.
    IrqThread,
    /// Whoever wakes a given thread, with interrupts off, before that thread is made runnable.
    Waking,
}

/// The kinds that the kernel module makes, by their names in its log.
const MODULE_KINDS: [(&str, Kind); 8] = [
    ("irqs-off", Kind::IrqsOff),
    ("softirq", Kind::Softirq),
    ("soft-timer", Kind::SoftTimer),
    ("thread-irqs-off", Kind::ThreadIrqsOff),
    ("preempt-off", Kind::PreemptOff),
    ("irq", Kind::Irq),
    ("irq-thread", Kind::IrqThread),
    ("waking", Kind::Waking),
];

/// A CPU was occupied from one moment to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Delay {
    /// What occupied it.
    pub kind: Kind,
    /// The CPU that is disturbed.
    pub cpu: u32,
    /// SCHED_FIFO priority of a hog; 0 for other kinds.
    #[serde(default)]
    pub priority: u32,
    /// Requested start (ns of CLOCK_MONOTONIC, as all times here).
    pub asked_start_ns: i64,
    /// Requested length (ns).
    pub asked_length_ns: i64,
    /// The injector's first reading of the clock (ns).
    pub true_start_ns: i64,
    /// The reading that ended it (ns): the CPU is released right after it.
    pub true_end_ns: i64,
}

/// CLOCK_REALTIME was stepped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockStep {
    /// Requested time of the step (ns of CLOCK_MONOTONIC).
    pub asked_at_ns: i64,
    /// Size of the step (ns, positive: forwards); exact, since the kernel adds it.
    pub step_ns: i64,
    /// The last readings before the step.
    pub before: Moment,
    /// The first readings after the step.
    pub after: Moment,
}

/// Why a line of a log is invalid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The line does not have the fields that the module writes.
    #[error(
        "'{0}' is not a line of the module's log: expected KIND CPU START_NS LENGTH_NS TRUE_START_NS TRUE_END_NS with a known KIND"
    )]
    Module(String),
    /// The line is not JSON that an injector of this program prints.
    #[error("'{line}' is not a line of an injector: {why}")]
    Json {
        /// Text of the line.
        line: String,
        /// The parser's error.
        why: String,
    },
    /// The injection was planned and did not happen.
    #[error("'{0}': this injection never happened; the guest ended too early, or its CPU was not online")]
    NeverHappened(String),
    /// The end is before the start.
    #[error("'{0}': this injection ended before it began; the log is damaged")]
    Backwards(String),
}

impl Injection {
    /// Parses a whole log, of the module or of an injector of this program.
    ///
    /// # Errors
    /// The first invalid line.
    pub fn from_log(text: &str) -> Result<Vec<Self>, LineError> {
        let read = |line: &str| {
            if line.starts_with('{') { Self::from_json_line(line) } else { Self::from_module_line(line) }
        };
        text.lines().filter(|line| !line.is_empty()).map(read).collect()
    }

    /// Parses one line of the kernel module's log.
    ///
    /// # Errors
    /// If the line is invalid, or the injection did not happen.
    pub fn from_module_line(line: &str) -> Result<Self, LineError> {
        let wrong = || LineError::Module(line.to_owned());
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [kind, cpu, numbers @ ..] = fields.as_slice() else { return Err(wrong()) };
        let numbers: Vec<i64> =
            numbers.iter().map(|text| text.parse()).collect::<Result<_, _>>().map_err(|_| wrong())?;
        let &[asked_start_ns, asked_length_ns, true_start_ns, true_end_ns] = numbers.as_slice() else {
            return Err(wrong());
        };
        let &(_, kind) = MODULE_KINDS.iter().find(|(name, _)| name == kind).ok_or_else(wrong)?;
        if true_end_ns == 0 {
            return Err(LineError::NeverHappened(line.to_owned()));
        }
        let cpu = cpu.parse().map_err(|_| wrong())?;
        Self::Delay(Delay { kind, cpu, priority: 0, asked_start_ns, asked_length_ns, true_start_ns, true_end_ns })
            .checked(line)
    }

    /// Parses one line that an injector of this program printed.
    ///
    /// # Errors
    /// If the line is invalid.
    pub fn from_json_line(line: &str) -> Result<Self, LineError> {
        serde_json::from_str::<Self>(line)
            .map_err(|error| LineError::Json { line: line.to_owned(), why: error.to_string() })?
            .checked(line)
    }

    fn checked(self, line: &str) -> Result<Self, LineError> {
        let backwards = match self {
            Self::Delay(delay) => delay.true_end_ns < delay.true_start_ns,
            Self::ClockStep(step) => step.after.monotonic.as_ns() < step.before.monotonic.as_ns(),
        };
        if backwards { Err(LineError::Backwards(line.to_owned())) } else { Ok(self) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_line_of_the_module_is_parsed_by_its_columns() {
        let read = Injection::from_module_line("irqs-off 0 6000190000 20000 6000191234 6000211250").unwrap();
        let expected = Delay {
            kind: Kind::IrqsOff,
            cpu: 0,
            priority: 0,
            asked_start_ns: 6_000_190_000,
            asked_length_ns: 20_000,
            true_start_ns: 6_000_191_234,
            true_end_ns: 6_000_211_250,
        };
        assert_eq!(read, Injection::Delay(expected));
        assert_eq!(Injection::from_json_line(&serde_json::to_string(&read).unwrap()), Ok(read));
    }

    #[test]
    fn injections_that_did_not_happen_or_are_invalid_are_errors() {
        let module = |line| Injection::from_module_line(line).unwrap_err();
        assert!(matches!(module("irqs-off 0 6000190000 20000 0 0"), LineError::NeverHappened(_)));
        assert!(matches!(module("softirq 0 1 2 9 8"), LineError::Backwards(_)));
        for line in ["", "irqs-off", "irqs-off 0 1 2 3", "irqs-off 0 1 2 3 4 5", "smi 0 1 2 3 4", "softirq x 1 2 3 4"] {
            assert!(matches!(module(line), LineError::Module(_)), "{line}");
        }
        assert!(matches!(Injection::from_json_line("{}"), Err(LineError::Json { .. })));
    }

    proptest! {
        #[test]
        fn no_line_panics(line in "[a-z0-9 {}\":,-]{0,60}") {
            let _ = Injection::from_module_line(&line);
            let _ = Injection::from_json_line(&line);
        }
    }
}
