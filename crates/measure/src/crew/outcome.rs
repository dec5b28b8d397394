//! What a measuring thread of a run has come to beside its samples, while the run goes on and at its end.

use record::{Counters, ReasonCode};

use super::MemberReport;
use crate::judge::{ThreadEnd, ThreadFacts};
use crate::witness::{Grant, Witnessed};

/// Sleeps or waits that fail one after the other would be a loop that never sleeps: beyond this it ends before its time.
pub(crate) const MOST_FAILURES: u64 = 1_000;

/// What is known of one thread.
#[derive(Clone, Debug)]
pub(crate) struct Outcome {
    /// For its series.
    pub(crate) counters: Counters,
    /// For the judgment of the run.
    pub(crate) facts: ThreadFacts,
    /// What it was granted.
    pub(crate) grant: Grant,
}

impl Outcome {
    /// Of a thread that has not reported: what others know of it. `place` is the thread in words; `taken` and `dropped` are the
    /// samples that it took, and those that found no place in its ring.
    pub(crate) fn so_far(grant: &Grant, place: String, taken: u64, dropped: u64, witnessed: &Witnessed) -> Self {
        let cpu = grant.wanted.cpu;
        let counters = Counters {
            dropped,
            steal_ns: cpu.and_then(|cpu| witnessed.steal_ns.get(&cpu).copied()),
            smi: cpu.and_then(|cpu| witnessed.smi.get(&cpu).copied()),
            ..Counters::default()
        };
        let facts = ThreadFacts {
            place,
            end: ThreadEnd::Whole,
            taken: Some(taken),
            dropped,
            faults: None,
            migrations: None,
            lacks: None,
        };
        Self { counters, facts, grant: grant.clone() }
    }

    /// With what the thread reported at its end; `failures` are the sleeps or waits of its loop that failed.
    pub(crate) fn reported<C>(&mut self, of_thread: MemberReport<C>, failures: fn(&C) -> u64) -> Option<C> {
        self.facts.end = of_thread.end;
        let report = of_thread.report?;
        report.add_to(&mut self.counters);
        self.counters.interrupted_sleeps = failures(&report.counts);
        self.facts.faults = Some(report.faults());
        self.facts.migrations = report.migrations();
        if self.counters.interrupted_sleeps > MOST_FAILURES {
            self.facts.end = ThreadEnd::SleepsFailed(self.counters.interrupted_sleeps);
        }
        Some(report.counts)
    }
}

/// What a thread lacks whose loop ended for a call that failed; 0 is no error.
pub(crate) fn lacks(failed_errno: i32, (code, what): (ReasonCode, &str)) -> Option<(ReasonCode, String)> {
    (failed_errno != 0).then(|| (code, format!("{what}: {}", std::io::Error::from_raw_os_error(failed_errno))))
}
