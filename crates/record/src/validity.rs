//! Whether a number means what was asked: the one table of reasons, of which the documents are made.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a run can be trusted; the worst of its reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ValidityState {
    /// The numbers mean what was asked.
    Valid,
    /// The numbers stand, with a caveat beside them.
    Degraded,
    /// The numbers do not mean what was asked.
    Invalid,
}

impl ValidityState {
    /// The word that people read.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Degraded => "degraded",
            Self::Invalid => "invalid",
        }
    }
}

macro_rules! reasons {
    ($($(#[doc = $meaning:literal])+ $name:ident: $state:ident, $remedy:literal;)+) => {
        /// Why a run is not simply valid.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum ReasonCode {
            $($(#[doc = $meaning])+ $name,)+
        }

        /// Every reason with what it does to a run, in the order of the documents.
        pub const REASONS: &[ReasonInfo] = &[
            $(ReasonInfo {
                code: ReasonCode::$name,
                state: ValidityState::$state,
                meaning: concat!($($meaning),+),
                remedy: $remedy,
            },)+
        ];
    };
}

/// One line of the table.
#[derive(Clone, Copy, Debug)]
pub struct ReasonInfo {
    /// Its name.
    pub code: ReasonCode,
    /// What it makes of a run.
    pub state: ValidityState,
    /// What happened to the run, as a sentence of the document and of the terminal.
    pub meaning: &'static str,
    /// What mends it.
    pub remedy: &'static str,
}

reasons! {
    /// A measuring thread died of a fault of the instrument.
    ThreadDied: Invalid, "report it, with the record and the output on stderr";
    /// The wanted scheduling policy or priority was not granted to a measuring thread, or was changed during the run.
    SchedulingNotGranted: Invalid, "run as root, or give the binary the capability: setcap cap_sys_nice,cap_ipc_lock+ep punctual";
    /// A measuring thread was not allowed onto the CPU that it was to measure, or was moved off it.
    AffinityNotGranted: Invalid, "measure only CPUs that are online and inside this process's cpuset";
    /// The kernel stopped a measuring thread, or a thread of the followed program, to leave other threads some time: the throttle of real-time threads, the budget of a control group, or the fair server.
    RtThrottled: Invalid, "find the real-time thread that uses the CPU up; or lift the limit that the detail names for the run (sched_rt_runtime_us=-1; from Linux 6.12 on also /sys/kernel/debug/sched/fair_server/cpuN/runtime=0)";
    /// The clock that was slept on or read was set to another time during the run.
    ClockStepped: Invalid, "measure on the monotonic clock, or let the time service slew instead of step";
    /// The kernel changed the clock source that all clocks are read from, as it does where it finds one unstable.
    ClockSourceChanged: Invalid, "choose a clock source that is stable here (clocksource=, tsc=), and leave it alone for the run";
    /// The measuring process, or a thread that is measured, was stopped or traced: by SIGSTOP, a debugger or a frozen control group.
    Stopped: Invalid, "measure again, and neither stop, trace nor freeze the program meanwhile";
    /// The machine was suspended during the run.
    Suspended: Invalid, "keep the machine awake for the run: systemd-inhibit punctual …";
    /// Samples were lost between the measuring thread and the record.
    SamplesDropped: Invalid, "leave a CPU free for the drain thread, or lengthen the interval";
    /// The wanted load did not run, or ran at a small part of what was asked.
    LoadNotAchieved: Invalid, "install stress-ng, or name a load that this machine can bear";
    /// Time synchronisation was lost, or is worse than the effect claimed.
    SyncLost: Invalid, "wait for the servo to lock before measuring";
    /// Not a single sample was taken.
    NoSamples: Invalid, "measure for at least two intervals";
    /// The watchdog ended the run, since a real-time thread ran without ever sleeping.
    WatchdogFired: Invalid, "lengthen the interval: the CPU cannot serve this one";
    /// A measuring thread did not end when it was told to.
    ThreadStuck: Invalid, "look for a real-time thread of equal or higher priority that never sleeps";
    /// The numbers of another program contradict each other.
    SourceContradicts: Invalid, "take the whole output as that program wrote it, or measure again";
    /// Another program left out samples beyond its table without counting them, so that nobody knows the maximum.
    MaximumUnknown: Invalid, "take the output with its summary lines, or measure again with a longer table";
    /// The hypervisor ran something else while a measured CPU wanted to run.
    VirtualMachineSteal: Degraded, "measure on bare metal, or pin the virtual CPUs to physical ones of their own";
    /// This is a virtual machine: its worst cases are also its host's.
    VirtualMachine: Degraded, "measure on bare metal to speak of the machine itself";
    /// The frequency of a measured CPU changed during the run, or was not the one that was set.
    FrequencyChanged: Degraded, "use the governor 'performance', and a highest frequency that the processor can keep: boost off, or equal minimum and maximum frequencies";
    /// System management interrupts were counted: firmware took the CPU away.
    SmiCounted: Degraded, "look for firmware settings (USB legacy, power and thermal management)";
    /// A measuring thread, or a thread of the followed program, was ready and waited for a time that a limit of the kernel's on real-time threads can take, and it could not be shown that this was why.
    RtThrottleLikely: Degraded, "as for rt-throttled; to see what it was, pin the measuring threads to CPUs, and run as root, so that other programs' real-time threads can be seen";
    /// The CPU quota of this program's control group, or of one above it, was used up and stopped ordinary threads: the load, the controller, or measuring threads of SCHED_OTHER.
    CpuBandwidthUsedUp: Degraded, "lift the quota (cpu.max, cpu.cfs_quota_us, systemd's CPUQuota=), or run outside that group; of SCHED_OTHER measuring threads the quota's stops are in the numbers";
    /// Stops by the kernel's limit on real-time threads (throttle, control group or fair server) were seen and kept apart from the noise.
    ThrottleKeptApart: Degraded, "measure noise as SCHED_OTHER, or lift the limit for the run (sched_rt_runtime_us=-1; from Linux 6.12 on also /sys/kernel/debug/sched/fair_server/cpuN/runtime=0)";
    /// The run was ended before its time.
    InterruptedEarly: Degraded, "let it run to its end";
    /// A part of the wanted load did not run, so that what it disturbs went undisturbed: this machine cannot run it, or the run ended before its turn.
    LoadPartDropped: Degraded, "give the right or the program that the detail names, or leave the part out: --without; let a run with --rotate go on to its end";
    /// Looking for the causes of late samples cost more than a tenth of the median latency, or a microsecond of the mean.
    ExplainingCosts: Degraded, "measure without --explain what has to be free of it, and with it what spoils it";
    /// A source of evidence is missing on this machine, so that a disturbance of its kind would go unseen.
    EvidenceMissing: Degraded, "give the kernel option or permission that the detail names";
    /// Memory could not be locked, so that paging can show as latency.
    MemoryNotLocked: Degraded, "raise the limit (ulimit -l unlimited), or give the capability cap_ipc_lock";
    /// A measuring thread took page faults after it had started.
    PageFaults: Degraded, "report it: the instrument is built not to";
    /// The controller shared a CPU with a measuring thread, since there is no other.
    ControllerOnMeasuredCpu: Degraded, "leave one CPU unmeasured: --cpus";
    /// A measuring thread that is pinned to one CPU was moved to another during the run.
    Migrated: Degraded, "keep the measured CPUs online, and other programs from moving the measuring threads meanwhile";
    /// A thread of another program that outranks a measuring thread was allowed onto its CPU: SCHED_DEADLINE, or real-time priority equal or above. The program looks once a second; a thread that came and went between two looks can be missed.
    RivalRealtime: Degraded, "stop it, keep it off the measured CPUs, or measure at a higher priority (SCHED_DEADLINE is above all)";
    /// The limit on the wake-up latency from idle states (/dev/cpu_dma_latency) that was asked for was not held, or the limit in force changed during the run.
    IdleLimit: Degraded, "run as root, and keep other programs from opening /dev/cpu_dma_latency meanwhile";
    /// The data come from another program, which did not record what validity needs.
    Imported: Degraded, "repeat the measurement with punctual";
    /// Another program counted samples whose values it did not keep: only their range is known.
    ValuesUnknown: Degraded, "measure with a longer table, or with punctual, which keeps every value";
    /// Another program did not write the unit of its numbers; its default was taken.
    UnitAssumed: Degraded, "say it: punctual import --unit us, or ns";
}

impl ReasonCode {
    /// Its line of the table.
    ///
    /// # Panics
    /// Never: the macro that makes the codes makes the table.
    #[must_use]
    pub fn info(self) -> &'static ReasonInfo {
        REASONS.iter().find(|info| info.code == self).expect("every code has a line")
    }
}

/// A kind of disturbance that some machines give no means to see. A run there can be valid, and says what was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unobservable {
    /// Changes of the frequency that firmware makes on its own, where the kernel has no driver of frequencies.
    FrequencyChanges,
    /// System management interrupts, or another way of firmware to take a CPU away, that no counter counts.
    FirmwareInterruptions,
}

impl Unobservable {
    /// Each kind with when a machine cannot see it, and when it can: the table of the document.
    pub const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::FrequencyChanges,
            "The kernel has no driver of frequencies for the measured CPUs (no CONFIG_CPU_FREQ, or none that fits), so nothing in it changes them; the firmware could, unseen.",
            "with a driver: its count of changes, or cycles over time (APERF and MPERF, on ARM the feedback counters of CPPC); where these need a right or a module the run is `evidence-missing`",
        ),
        (
            Self::FirmwareInterruptions,
            "The processor has no counter of system management interrupts (AMD before family 17h), or has another way for firmware to take a CPU away that nothing counts (ARM's secure monitor, RISC-V's machine mode).",
            "Intel: register 0x34; AMD from family 17h on: the event `ls_smi_rx`; where these need a right or a module the run is `evidence-missing`",
        ),
    ];
}

/// Something that this machine gives no means to see.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotObservable {
    /// The kind of disturbance.
    pub what: Unobservable,
    /// Why it is not seen here, with places.
    pub detail: String,
}

/// One reason with what was seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// Which line of the table.
    pub code: ReasonCode,
    /// What was seen, with numbers and places.
    pub detail: String,
}

/// Whether the run's numbers mean what was asked, always with the reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "ValidityWire")]
pub struct Validity {
    state: ValidityState,
    reasons: Vec<Reason>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_observable: Vec<NotObservable>,
}

/// How it is stored.
#[derive(Deserialize, JsonSchema)]
struct ValidityWire {
    /// The worst of the reasons.
    state: ValidityState,
    /// The worst first.
    #[serde(default)]
    reasons: Vec<Reason>,
    /// What this machine gives no means to see; it makes no run worse.
    #[serde(default)]
    not_observable: Vec<NotObservable>,
}

impl From<ValidityWire> for Validity {
    /// A stored state can be made worse by its reasons, never better: nothing invalid may read as valid.
    fn from(wire: ValidityWire) -> Self {
        let mut validity = Self::of(wire.reasons);
        validity.not_observable = wire.not_observable;
        validity.state = validity.state.max(wire.state);
        validity
    }
}

impl Default for Validity {
    fn default() -> Self {
        Self::of(Vec::new())
    }
}

impl Validity {
    /// From the reasons; none means valid.
    #[must_use]
    pub fn of(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| (std::cmp::Reverse(reason.code.info().state), reason.code));
        let state = reasons.first().map_or(ValidityState::Valid, |worst| worst.code.info().state);
        Self { state, reasons, not_observable: Vec::new() }
    }

    /// Adds what was seen.
    pub fn add(&mut self, code: ReasonCode, detail: impl Into<String>) {
        let stored = self.state;
        let mut reasons = std::mem::take(&mut self.reasons);
        let not_observable = std::mem::take(&mut self.not_observable);
        reasons.push(Reason { code, detail: detail.into() });
        *self = Self { not_observable, ..Self::of(reasons) };
        self.state = self.state.max(stored);
    }

    /// Adds what this machine gives no means to see; the state stays as it is.
    pub fn add_not_observable(&mut self, what: Unobservable, detail: impl Into<String>) {
        self.not_observable.push(NotObservable { what, detail: detail.into() });
    }

    /// What this machine gives no means to see.
    #[must_use]
    pub fn not_observable(&self) -> &[NotObservable] {
        &self.not_observable
    }

    /// The worst of the reasons.
    #[must_use]
    pub fn state(&self) -> ValidityState {
        self.state
    }

    /// The worst first.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// Whether `code` is among the reasons.
    #[must_use]
    pub fn has(&self, code: ReasonCode) -> bool {
        self.reasons.iter().any(|reason| reason.code == code)
    }

    /// Whether the numbers mean nothing of what was asked.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        self.state == ValidityState::Invalid
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_reason_decides() {
        let mut validity = Validity::default();
        assert_eq!(validity.state(), ValidityState::Valid);
        validity.add(ReasonCode::InterruptedEarly, "after 3 s of 60 s");
        assert_eq!(validity.state(), ValidityState::Degraded);
        validity.add(ReasonCode::ClockStepped, "by 2 s");
        validity.add(ReasonCode::VirtualMachine, "kvm");
        assert_eq!(validity.state(), ValidityState::Invalid);
        assert_eq!(validity.reasons()[0].code, ReasonCode::ClockStepped);
    }

    #[test]
    fn what_cannot_be_observed_makes_no_run_worse_and_is_kept() {
        let mut validity = Validity::default();
        validity.add_not_observable(Unobservable::FirmwareInterruptions, "no counter");
        assert_eq!(validity.state(), ValidityState::Valid);
        validity.add(ReasonCode::InterruptedEarly, "after 3 s of 60 s");
        let text = serde_json::to_string(&validity).unwrap();
        let read: Validity = serde_json::from_str(&text).unwrap();
        assert_eq!((&read, read.not_observable().len()), (&validity, 1));
        assert!(!serde_json::to_string(&Validity::default()).unwrap().contains("not_observable"));
    }

    #[test]
    fn a_stored_state_cannot_be_better_than_its_reasons() {
        let text = r#"{"state":"valid","reasons":[{"code":"suspended","detail":"for 3 s"}]}"#;
        assert!(serde_json::from_str::<Validity>(text).unwrap().is_invalid());
        let text = r#"{"state":"invalid","reasons":[]}"#;
        assert!(serde_json::from_str::<Validity>(text).unwrap().is_invalid());
    }
}
