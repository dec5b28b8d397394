//! Decides which findings about settings are relevant to what was measured.

use record::{CauseClass, ReasonCode, Record};

use super::AssessmentInput;
use super::advice::was_limited;
use super::late::Counted;
use super::part::Judged;
use analysis::cause::{IdleStates, Surroundings};

use crate::late::{LateCauses, LateRun};

/// The evidence of all valid runs about possible causes.
pub(super) struct CauseEvidence<'a> {
    /// The classes of the known causes of samples beyond the limit.
    classes: Vec<CauseClass>,
    /// Whether any sample is beyond the limit.
    any_beyond: bool,
    /// Whether the cause of any sample beyond the limit is unknown.
    any_unknown: bool,
    /// Whether every measuring thread was granted real-time priority.
    realtime_granted: bool,
    /// Whether any measuring thread took page faults.
    any_fault: bool,
    /// Whether a bound kept the CPUs out of deep idle states while they were measured.
    idle_limited: bool,
    surroundings: &'a Surroundings,
}

impl<'a> CauseEvidence<'a> {
    pub(super) fn from_runs(counted: &Counted, input: &'a AssessmentInput<'_>, runs: &[Judged<'_>]) -> Self {
        let records: Vec<&Record> =
            runs.iter().map(|run| run.record).filter(|record| !record.validity.is_invalid()).collect();
        let causes = &counted.causes;
        let is_silent = |record: &&Record| {
            let run = LateRun { record, when: "", limit_ns: Some(counted.limit.ns) };
            let causes = LateCauses::over(&[run]);
            causes.not_explained.samples > 0 && causes.not_explained.samples == causes.total
        };
        let any_unknown = causes.unknown.samples > 0 || records.iter().any(is_silent);
        let granted = || records.iter().flat_map(|record| &record.manifest().effective);
        let counters = || records.iter().flat_map(|record| &record.series).map(|series| &series.counters);
        Self {
            classes: causes.known.iter().map(|cause| cause.class).collect(),
            any_beyond: causes.total > 0,
            any_unknown,
            realtime_granted: granted().next().is_some()
                && granted().all(|each| matches!(each.policy.as_str(), "fifo" | "rr" | "deadline")),
            any_fault: counters().any(|each| each.minor_faults > Some(0) || each.major_faults > Some(0)),
            idle_limited: input.idle.record().is_some_and(was_limited),
            surroundings: &input.surroundings,
        }
    }

    /// Whether a finding can have made a sample beyond the limit late: its kind of cause was found, or a cause is unknown, and
    /// no measurement contradicts it.
    pub(super) fn makes_relevant(&self, finding: Option<&str>) -> bool {
        if !self.any_beyond {
            return false;
        }
        let Some(finding) = finding else { return self.any_unknown };
        let classes = match subject(finding) {
            Subject::EveryWakeUp => return true,
            Subject::NoWakeUp => return false,
            Subject::Causes(classes) => classes,
        };
        if self.is_contradicted(finding, classes) {
            return false;
        }
        self.any_unknown || classes.iter().any(|class| self.classes.contains(class))
    }

    fn is_contradicted(&self, finding: &str, classes: &[CauseClass]) -> bool {
        let is_about_memory = classes == [CauseClass::PageFault].as_slice();
        match finding {
            // A group without a real-time budget refuses the policy at the request, and a CPU quota stops only ordinary threads.
            "rt-group-scheduling" | "cpu-quota" => self.realtime_granted,
            "deep-idle-states" => self.idle_limited || self.surroundings.idle_states == IdleStates::Disabled,
            "kernel-not-realtime" => self.surroundings.preemption == profile::kernel::Preemption::Realtime,
            "host-takes-time" | "virtual-machine" => self.surroundings.is_virtual == Some(false),
            _ => is_about_memory && !self.any_fault,
        }
    }
}

/// How a finding relates to late wake-ups.
enum Subject {
    /// It delays each wake-up.
    EveryWakeUp,
    /// It does not affect how late a thread of real-time priority wakes.
    NoWakeUp,
    /// It causes delays of these classes.
    Causes(&'static [CauseClass]),
}

/// How each finding of `check` relates to late wake-ups. A finding that is not in this table is relevant if a cause is unknown.
fn subject(finding: &str) -> Subject {
    use CauseClass::{
        Frequency, IdleExit, Interrupt, InterruptsOff, Migration, Nmi, PageFault, PreemptionOff, Softirq, Steal,
        Thread, Throttle, TimerFunction,
    };
    Subject::Causes(match finding {
        "clock-source-slow" | "tsc-rejected" | "high-resolution-timers-off" => return Subject::EveryWakeUp,
        "time-sync-not-realtime"
        | "two-time-services"
        | "tai-taken-for-utc"
        | "tai-offset-not-set"
        | "clock-steps-while-running"
        | "leap-second-ahead"
        | "host-may-set-clock"
        | "hardware-clock-steered-twice"
        | "hardware-clock-not-steered"
        | "hardware-timestamps-asked-and-missing"
        | "software-timestamps-beside-hardware"
        | "neighbor-delay-threshold"
        | "port-not-as-capable"
        | "no-hardware-timestamps"
        | "boot-list-unreadable"
        | "autogroup" => return Subject::NoWakeUp,
        "kernel-not-realtime" | "kernel-debug-options" | "preempt-parameter-ignored" => {
            &[InterruptsOff, PreemptionOff, Softirq, TimerFunction]
        }
        "deep-idle-states" | "idle-limit-ignored" => &[IdleExit],
        "governors-differ"
        | "governor-not-performance"
        | "thermal-throttling"
        | "frequency-boost"
        | "frequency-capped"
        | "power-profiles-switch" => &[Frequency],
        "interrupts-arrive-on-isolated-cpus"
        | "interrupts-allowed-on-isolated-cpus"
        | "irqaffinity-includes-isolated-cpus"
        | "default-irq-affinity-includes-isolated-cpus"
        | "irqbalance-and-isolated-cpus"
        | "interrupts-not-threaded"
        | "interrupt-threads-alike"
        | "packet-steering-to-isolated-cpus"
        | "interrupt-coalescing"
        | "energy-efficient-ethernet"
        | "deferred-network-interrupts" => &[Interrupt, Softirq],
        "isolation-not-effective"
        | "isolcpus-without-domain"
        | "cpuset-partition-invalid"
        | "every-cpu-isolated"
        | "boot-cpu-isolated"
        | "ordinary-tasks-on-isolated-cpus"
        | "work-queues-on-isolated-cpus"
        | "kernel-threads-on-isolated-cpus"
        | "no-cpu-set-apart" => &[Thread, PreemptionOff, InterruptsOff, Softirq, Interrupt],
        "nohz-full-not-effective"
        | "nohz-off-with-nohz-full"
        | "nohz-full-not-isolated"
        | "tick-on-isolated-cpus"
        | "timer-migration"
        | "memory-statistics-interval"
        | "ticks-coincide" => &[TimerFunction, Softirq],
        "rcu-nocbs-not-built-in" | "rcu-callbacks-on-isolated-cpus" => &[Softirq],
        "watchdog-on-isolated-cpus" => &[Thread, Nmi],
        "nmi-watchdog" => &[Nmi],
        "rt-group-scheduling" | "fair-server-on-isolated-cpus" | "realtime-throttling" => &[Throttle],
        "realtime-tasks-roam" | "realtime-priority-99" => &[Thread, Migration],
        "host-takes-time" | "virtual-machine" => &[Steal],
        "numa-balancing"
        | "transparent-huge-pages"
        | "swap"
        | "same-page-merging"
        | "memory-low"
        | "locked-pages-move" => &[PageFault],
        _ => &[],
    })
}

/// The findings of `check` about a reason that makes a run invalid, the most specific first. The reason's own remedy says the rest.
pub(super) fn findings_about(reason: ReasonCode) -> &'static [&'static str] {
    use ReasonCode::{
        AffinityNotGranted, BoundsContradict, ClockSourceChanged, ClockStepped, ClocksApart, ClocksUnrelated,
        ControllerOnMeasuredCpu, CpuBandwidthUsedUp, EdgesLost, EdgesUnasked, EvidenceMissing, ExplainingCosts,
        FrequencyChanged, IdleLimit, Imported, InterruptedEarly, IntervalsSpoiled, LoadNotAchieved, LoadPartDropped,
        MaximumUnknown, MemoryNotLocked, Migrated, MostIntervalsSpoiled, NeverLocked, NoHardBound, NoSamples,
        NoTimeService, OrdersContradict, OrdersRefused, OutputFailed, PacketsNotReceived, PacketsRefused, PageFaults,
        PartnerLost, ReferenceChanged, ReferenceWorse, RivalRealtime, RtThrottleLikely, RtThrottled, SamplesDropped,
        SchedulingNotGranted, SmiCounted, SourceContradicts, SourceSilent, Stopped, Suspended, SyncLost, ThreadDied,
        ThreadStuck, ThrottleKeptApart, UnitAssumed, ValuesUnknown, VirtualMachine, VirtualMachineSteal, VmDisrupted,
        WatchdogFired, WitnessContradicts, WitnessLost, WitnessOverran,
    };
    match reason {
        RtThrottled => &["realtime-throttling", "fair-server-on-isolated-cpus", "rt-group-scheduling"],
        SchedulingNotGranted => &["rt-group-scheduling"],
        AffinityNotGranted => &["cpus-offline"],
        ClockStepped => &["two-time-services", "clock-steps-while-running", "host-may-set-clock", "leap-second-ahead"],
        SyncLost | NeverLocked | ReferenceChanged | BoundsContradict | ClocksApart => {
            &["two-time-services", "hardware-clock-steered-twice"]
        }
        ClockSourceChanged => &["tsc-rejected", "clock-source-slow"],
        // The load's threads have an ordinary policy, so a CPU quota of their group stops them.
        LoadNotAchieved => &["cpu-quota"],
        ThreadStuck | WatchdogFired => &["realtime-priority-99", "realtime-tasks-roam"],
        ThreadDied | Stopped | Suspended | VmDisrupted | SamplesDropped | ClocksUnrelated | NoSamples
        | SourceContradicts | MaximumUnknown | MostIntervalsSpoiled | OrdersContradict | EdgesLost
        | WitnessContradicts => &[],
        // These reasons only degrade a run.
        VirtualMachineSteal
        | VirtualMachine
        | FrequencyChanged
        | SmiCounted
        | RtThrottleLikely
        | CpuBandwidthUsedUp
        | ThrottleKeptApart
        | PartnerLost
        | PacketsRefused
        | PacketsNotReceived
        | OrdersRefused
        | OutputFailed
        | EdgesUnasked
        | WitnessOverran
        | WitnessLost
        | NoTimeService
        | SourceSilent
        | ReferenceWorse
        | InterruptedEarly
        | IntervalsSpoiled
        | LoadPartDropped
        | ExplainingCosts
        | EvidenceMissing
        | NoHardBound
        | MemoryNotLocked
        | PageFaults
        | ControllerOnMeasuredCpu
        | Migrated
        | RivalRealtime
        | IdleLimit
        | Imported
        | ValuesUnknown
        | UnitAssumed => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_finding_about_a_reason_can_be_explained() {
        for info in record::REASONS {
            let unknown = findings_about(info.code).iter().find(|id| profile::check::CATALOGUE.rule(id).is_none());
            assert_eq!(unknown, None, "{:?}", info.code);
        }
    }
}
