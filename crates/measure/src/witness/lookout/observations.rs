//! What the looks at a run saw, and what it means for the run.

use std::collections::BTreeSet;

use record::{Manifest, Reason, ReasonCode, Validity, WorstSample};
use units::CpuSet;
use units::format::span;

use super::super::read_back::{Grant, ReadBack};
#[cfg(test)]
use super::super::stopped::Resumed;
use super::super::stopped::Stop;
use super::LONGEST_GAP_NS;
use crate::spoil::Spoil;

/// What all looks together saw.
#[derive(Clone, Debug)]
pub(crate) struct LookoutObservations {
    /// Whether the memory of this process is locked, read back.
    pub(crate) memory_locked: bool,
    pub(super) reasons: Vec<Reason>,
    /// Thread and kind of what stands among the reasons; a thread of `u32::MAX` is the run as a whole.
    pub(super) named: BTreeSet<(u32, ReasonCode)>,
    pub(super) stops: Vec<Stop>,
    pub(crate) suspended_ns: i64,
    /// Suspends and moves of a virtual machine, on CLOCK_MONOTONIC: between two looks each.
    pub(super) disrupted: Vec<Spoil>,
    /// All that happened until then was seen (ns, CLOCK_MONOTONIC).
    pub(super) looked_until_ns: i64,
    /// The limit in force at the beginning (us).
    pub(super) idle_limit_us: Option<u32>,
    pub(super) clock_source: Option<String>,
    pub(super) online_cpus: Option<CpuSet>,
    /// CPUs on which the controller, the drain and the lookout were allowed to run, read back.
    pub(super) housekeeping: CpuSet,
    pub(super) measured: CpuSet,
}

impl LookoutObservations {
    /// Adds a reason of the run as a whole.
    pub(crate) fn add(&mut self, code: ReasonCode, detail: String) {
        self.reasons.push(Reason { code, detail });
    }

    /// Adds that the looking thread got no CPU for too long; a stop of the whole process says so by itself.
    pub(super) fn judge_gap(&mut self, longest_gap_ns: i64) {
        if longest_gap_ns > LONGEST_GAP_NS && self.stops.is_empty() {
            let detail = format!(
                "the thread that looks at the run got no CPU for {}: what changed meanwhile can be missed",
                span(longest_gap_ns)
            );
            self.add(ReasonCode::EvidenceMissing, detail);
        }
    }

    /// Adds what one look found changed since the first, the first of its kind: later looks find the same again.
    pub(super) fn add_once(&mut self, code: ReasonCode, detail: String) {
        if self.named.insert((u32::MAX, code)) {
            self.reasons.push(Reason { code, detail });
        }
    }

    pub(super) fn add_changes(&mut self, grant: &Grant, now: &ReadBack, when: &dyn Fn() -> String) {
        for reason in grant.changes(now, when) {
            if self.named.insert((grant.wanted.thread, reason.code)) {
                self.reasons.push(reason);
            }
        }
    }

    /// Compares what a measuring thread read back at its own end with what it was granted.
    pub(crate) fn compare_end(&mut self, grant: &Grant, at_end: Option<&ReadBack>) {
        if let Some(at_end) = at_end {
            self.add_changes(grant, at_end, &|| "at the end of the run".to_owned());
        }
    }

    /// Adds what it means for the run; `worst` are the samples among which the length of a stop is found.
    pub(crate) fn judge(&self, validity: &mut Validity, worst: &[WorstSample]) {
        for reason in &self.reasons {
            validity.add(reason.code, reason.detail.clone());
        }
        if self.suspended_ns > 0 {
            // The kernel freezes every process for a suspend: no stop of its own.
            validity.add(ReasonCode::Suspended, format!("for {}", span(self.suspended_ns)));
        } else if !self.stops.is_empty() {
            let waits: Vec<(i64, i64)> =
                worst.iter().map(|sample| (sample.from.at.monotonic.as_ns(), sample.to.at.monotonic.as_ns())).collect();
            let each: Vec<String> = self.stops.iter().take(5).map(|stop| stop.length(&waits)).collect();
            let times = if let [one] = &each[..] {
                one.clone()
            } else {
                format!("{} times: {}", self.stops.len(), each.join(", "))
            };
            validity.add(ReasonCode::Stopped, times);
        }
        let shared = self.housekeeping.intersection(&self.measured);
        if !shared.is_empty() {
            let detail =
                format!("controller and drain run on CPUs {}, of which {shared} are measured", self.housekeeping);
            validity.add(ReasonCode::ControllerOnMeasuredCpu, detail);
        }
    }

    /// Takes over what a look saw of stops and of time, for a run that began at `start_ns`.
    pub(super) fn look_at_times_of(&mut self, newer: &Self, start_ns: i64) {
        self.stops.clone_from(&newer.stops);
        self.stops.retain(|stop| stop.resumed.latest_ns > start_ns);
        self.disrupted.clone_from(&newer.disrupted);
        self.looked_until_ns = newer.looked_until_ns;
    }

    /// All that happened until then was seen (ns, CLOCK_MONOTONIC).
    pub(crate) const fn looked_until_ns(&self) -> i64 {
        self.looked_until_ns
    }

    /// What spoiled the time in which it happened, on CLOCK_MONOTONIC. The run began at `started_ns`; its long `waits`, each from
    /// a schedule to the wake-up, say when a stop began.
    pub(crate) fn spoils(&self, started_ns: i64, waits: &[(i64, i64)]) -> Vec<Spoil> {
        let suspended = |at: &Stop| {
            let is_suspend = |spoil: &&Spoil| spoil.reason.code == ReasonCode::Suspended;
            // The kernel freezes every process for a suspend: no stop of its own.
            self.disrupted
                .iter()
                .filter(is_suspend)
                .any(|spoil| spoil.touches(at.seen_running_ns, at.resumed.latest_ns.saturating_add(1)))
        };
        let stopped = |stop: &Stop| Spoil {
            from_ns: stop.began_ns(waits),
            to_ns: stop.resumed.latest_ns,
            noticed_ns: stop.resumed.latest_ns,
            reason: Reason {
                code: ReasonCode::Stopped,
                detail: format!(
                    "stopped {} until {} into the run",
                    stop.length(waits),
                    span(stop.resumed.latest_ns.saturating_sub(started_ns))
                ),
            },
        };
        let stops = self.stops.iter().filter(|stop| !suspended(stop)).map(stopped);
        stops.chain(self.disrupted.iter().cloned()).collect()
    }

    /// Writes down what was read of the machine as the run began.
    pub(crate) fn describe(&self, manifest: &mut Manifest) {
        manifest.dma_latency.effective_us = self.idle_limit_us;
        manifest.instrument.housekeeping_cpus = self.housekeeping.clone();
        manifest.instrument.clocksource.clone_from(&self.clock_source);
        if let Some(online) = &self.online_cpus {
            manifest.node.online_cpus.clone_from(online);
        }
    }
}

#[cfg(test)]
impl LookoutObservations {
    /// What is seen of a run in which nothing is odd.
    pub(crate) fn nothing() -> Self {
        Self {
            memory_locked: true,
            reasons: Vec::new(),
            named: BTreeSet::new(),
            stops: Vec::new(),
            suspended_ns: 0,
            disrupted: Vec::new(),
            looked_until_ns: i64::MAX,
            idle_limit_us: None,
            clock_source: None,
            online_cpus: None,
            housekeeping: CpuSet::new(),
            measured: CpuSet::new(),
        }
    }

    /// The same, of a process that was stopped once for at most so long.
    pub(crate) fn stopped(at_most_ns: i64) -> Self {
        let resumed = Resumed { earliest_ns: at_most_ns, latest_ns: at_most_ns };
        Self { stops: vec![Stop { resumed, seen_running_ns: 0 }], ..Self::nothing() }
    }

    /// The same, of a controller that had to run on a measured CPU.
    pub(crate) fn sharing(cpus: CpuSet) -> Self {
        Self { housekeeping: cpus.clone(), measured: cpus, ..Self::nothing() }
    }
}
