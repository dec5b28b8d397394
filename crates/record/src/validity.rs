//! Whether a run's numbers can be trusted: the table of reasons against it, from which `docs/validity.md` is generated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far the numbers of a run can be trusted. The worst of its reasons determines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ValidityState {
    /// The run measured what was requested.
    Valid,
    /// The numbers are usable, with the caveats that the reasons state.
    Degraded,
    /// The run did not measure what was requested: its numbers must not be used as the answer.
    Invalid,
}

impl ValidityState {
    /// The state as one word, as reports print it.
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
    ($($(#[doc = $meaning:literal])+ $name:ident: $state:ident of the $spoils:ident, $remedy:literal;)+) => {
        /// Why a run is degraded or invalid.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum ReasonCode {
            $($(#[doc = $meaning])+ $name,)+
        }

        /// Every reason with the state that it causes, in the order of the documents.
        pub const REASONS: &[ReasonInfo] = &[
            $(ReasonInfo {
                code: ReasonCode::$name,
                state: ValidityState::$state,
                spoils: Spoils::$spoils,
                meaning: concat!($($meaning),+),
                remedy: $remedy,
            },)+
        ];
    };
}

/// What a reason is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spoils {
    /// The whole run: it holds at every moment, or nobody can say when it did.
    Run,
    /// The intervals in which it happened, if these are known: they are kept apart, and the others stand. Else the run.
    Interval,
}

/// One row of the table of reasons.
#[derive(Clone, Copy, Debug)]
pub struct ReasonInfo {
    /// The reason's name in records: `rt-throttled`.
    pub code: ReasonCode,
    /// The state of a run with this reason.
    pub state: ValidityState,
    /// Whether it is about the whole run, or about what was measured at the time.
    pub spoils: Spoils,
    /// What happened to the run, as a sentence for documents, pages and the terminal.
    pub meaning: &'static str,
    /// What to do about it.
    pub remedy: &'static str,
}

reasons! {
    /// A measuring thread crashed because of a bug in the instrument.
    ThreadDied: Invalid of the Run, "report the bug, with the record and the output on stderr";
    /// The requested scheduling policy or priority was not granted to a measuring thread, or was changed during the run.
    SchedulingNotGranted: Invalid of the Run, "give it the right to real-time priorities: run as root; or setcap cap_sys_nice,cap_ipc_lock+ep punctual; in a container, --cap-add=SYS_NICE --ulimit rtprio=99";
    /// A measuring thread was not allowed to run on the CPU that it was to measure, or was moved away from it.
    AffinityNotGranted: Invalid of the Run, "measure only CPUs that are online and inside this process's cpuset";
    /// The kernel stopped a measuring thread, or a thread of the followed program, to leave CPU time to other threads: real-time throttling, the runtime limit of a control group, or the fair server.
    RtThrottled: Invalid of the Run, "find the real-time thread that uses up the CPU; or, for the run, lift the limit that the detail names (sched_rt_runtime_us=-1; from Linux 6.12 on also /sys/kernel/debug/sched/fair_server/cpuN/runtime=0)";
    /// The measured clock was set to another time during the run.
    ClockStepped: Invalid of the Interval, "measure on the monotonic clock, or let the time service slew instead of step";
    /// The kernel switched to another clock source, from which all clocks are read; it does so when it finds one unstable.
    ClockSourceChanged: Invalid of the Run, "choose a clock source that is stable on this machine (clocksource=, tsc=), and do not change it during the run";
    /// The measuring process, or a measured thread, was stopped or traced: by SIGSTOP, a debugger or a frozen control group.
    Stopped: Invalid of the Interval, "measure again, without stopping, tracing or freezing the program";
    /// The machine was suspended during the run.
    Suspended: Invalid of the Interval, "keep the machine awake for the run: systemd-inhibit punctual …";
    /// The hypervisor moved this virtual machine to another host during the run, or restored it from a snapshot: its counter, from which all clocks are read, was disrupted.
    VmDisrupted: Invalid of the Interval, "measure again, while the machine stays where it is; where the hypervisor announces a move, /dev/vmclock0 says so";
    /// Samples were lost between the measuring thread and the record.
    SamplesDropped: Invalid of the Interval, "leave a CPU free for the thread that reads the samples, or make fewer of them: a longer interval, less beside it";
    /// The requested load did not run, or reached only a small part of the requested CPU time.
    LoadNotAchieved: Invalid of the Run, "choose a load that this machine can run, and that runs until it is ended";
    /// Time synchronization was lost, or its error is larger than the effect claimed.
    SyncLost: Invalid of the Run, "wait for the servo to lock before measuring";
    /// Another grand master, another server or another time scale was followed from some moment on, so that the offsets have different references.
    ReferenceChanged: Invalid of the Run, "find out why the reference changed (its priority, its announcements, the path to it), and measure again once one is followed";
    /// A source of time followed no reference from the beginning of the run to its end.
    NeverLocked: Invalid of the Run, "wait for the service to lock before measuring; a ptp4l that is to steer nothing says so with free_running 1";
    /// A source of time that was named showed nothing of its clock.
    SourceSilent: Invalid of the Run, "name the address or socket of a service that runs and answers, or leave the option out";
    /// Two bounds on an offset exclude each other: a time stamp, a clock or the assumed drift is not what it is taken for.
    BoundsContradict: Invalid of the Run, "compare the path's time stamps (drivers that stamp wrongly, delays that the configuration subtracts), and state a larger --max-drift if an oscillator is that bad";
    /// The clocks of two nodes could not be compared: no message of one reached the other, or none came back. What lies between them has no known duration.
    ClocksUnrelated: Invalid of the Run, "let the UDP packets of the exchange through in both directions (the port that 'punctual listen' names)";
    /// A node that acts by its own clock, as its time service has it, has one that is further from the server's than the tolerance: the exchange of both excludes anything else.
    ClocksApart: Invalid of the Run, "let the time service of the node that the detail names follow the same time as the server's ('punctual sync'); a TAI for UTC is 37 s; or act by the exchange (--by exchange)";
    /// A node counted more orders than the server sent to it.
    OrdersContradict: Invalid of the Run, "report it as a bug, with the record: each order is counted once by either node";
    /// Edges of an output brought no event of the input that is joined with it. How late the response to them would have been is not known, so the worst case is not either.
    EdgesLost: Invalid of the Run, "look at the wire, at filters of the input (debouncing, the board's capacitors), and at the interrupt in /proc/interrupts; where the kernel had no room for events, let the waiting thread keep up: a longer --interval";
    /// What a witness of answers says cannot be of the answers that were given.
    WitnessContradicts: Invalid of the Run, "look at the wires (the witness's pulse to the input, the output to its acknowledgment, and nothing else on either), and at the witness's calibration";
    /// What spoiled intervals of the run left less of it than a conclusion needs.
    MostIntervalsSpoiled: Invalid of the Run, "find in the list of spoiled intervals what happened, prevent it, and measure again";
    /// Not a single sample was taken.
    NoSamples: Invalid of the Run, "make sure that what is to be measured runs, and measure for at least two intervals";
    /// The watchdog ended the run, because a real-time thread ran without ever sleeping.
    WatchdogFired: Invalid of the Run, "lengthen the interval: it is too short for this CPU";
    /// A measuring thread did not end when it was asked to.
    ThreadStuck: Invalid of the Run, "look for a real-time thread of equal or higher priority that never sleeps";
    /// The numbers of another program contradict each other.
    SourceContradicts: Invalid of the Run, "import the whole output as that program wrote it, or measure again";
    /// Another program dropped samples above its table without counting them, so the maximum is unknown.
    MaximumUnknown: Invalid of the Run, "import the output with its summary lines, or measure again with a larger table";
    /// The hypervisor ran something else while a measured CPU had work to do.
    VirtualMachineSteal: Degraded of the Run, "measure on bare metal, or pin the virtual CPUs to physical ones of their own";
    /// This is a virtual machine: its worst cases are also its host's.
    VirtualMachine: Degraded of the Run, "measure on bare metal to judge the machine itself";
    /// The frequency of a measured CPU changed during the run, or was not the one that was set.
    FrequencyChanged: Degraded of the Run, "use the governor 'performance', and a maximum frequency that the processor can sustain: boost off, or equal minimum and maximum frequencies";
    /// System management interrupts were counted: firmware took the CPU away.
    SmiCounted: Degraded of the Run, "look for firmware settings (USB legacy, power and thermal management)";
    /// A measuring thread, or a thread of the followed program, was ready and had to wait as long as the kernel's limit on real-time threads could make it wait, but the limit could not be shown to be the cause.
    RtThrottleLikely: Degraded of the Run, "as for rt-throttled; to find the cause, pin the measuring threads to CPUs, and run it where other programs' real-time threads can be seen (as root, and not in a container)";
    /// The CPU quota of this program's control group, or of one above it, was used up and stopped ordinary threads: the load, the controller, or measuring threads under SCHED_OTHER.
    CpuBandwidthUsedUp: Degraded of the Run, "lift the quota (cpu.max, cpu.cfs_quota_us, systemd's CPUQuota=), or run outside that group; the latencies of SCHED_OTHER measuring threads include these stops";
    /// Stops by the kernel's limit on real-time threads (throttle, control group or fair server) were seen and are not counted as noise.
    ThrottleKeptApart: Degraded of the Run, "measure noise as SCHED_OTHER, or lift the limit for the run (sched_rt_runtime_us=-1; from Linux 6.12 on also /sys/kernel/debug/sched/fair_server/cpuN/runtime=0)";
    /// The partner of a run between two nodes ended, stopped or could not be reached any more. What was measured until then stands; what only the partner counted is missing.
    PartnerLost: Degraded of the Run, "find out on the partner what ended its program, and measure again";
    /// The sending system refused packets: they were not sent, and are not among the delays.
    PacketsRefused: Degraded of the Run, "remove the reason that the detail names: an interface that is down, a queue that is full, an MTU that is too small";
    /// The receiving system kept packets from the program: they are among the lost ones, or belong to others.
    PacketsNotReceived: Degraded of the Run, "remove the reason that the detail names; where a buffer was full, let the receiver keep up: a longer --interval, a CPU of its own (--cpu), a real-time priority";
    /// A node refused orders: they were not carried out, and count as missed.
    OrdersRefused: Degraded of the Run, "order what the output of that node allows (its policy: longest-pulse, highest-rate), and no more than 64 at a time: a shorter lead or a longer interval";
    /// An input brought events that belong to no edge of the output: a second one of the same edge, one that came after its edge was given up, or one that somebody else made. They are not among the samples.
    EdgesUnasked: Degraded of the Run, "look for a second source on the wire, and for ringing or bouncing at the input: a shorter wire, a resistor in series, a stronger pull";
    /// A witness gave answers up, or may have, and does not say how late they were: its maximum is a lower bound.
    WitnessOverran: Degraded of the Run, "look in this run's own latencies whether the answers were late here; where they were not, the time was lost before the kernel's stamp, or in the witness";
    /// A witness said nothing, or was lost before its end: what it says is not of the whole run.
    WitnessLost: Degraded of the Run, "look at what the detail names: whether the board runs latmon, serves nobody else and reaches this machine, and the wire of its pulses";
    /// An output was not set to its safe level in time, by its driver or by the thread that acts, or its guard was lost.
    OutputFailed: Degraded of the Run, "look at what the detail names: what the kernel says of the output's driver (dmesg), what stopped the program, and the level of the line";
    /// No time service was followed beside the exchange of the two nodes: the bound on the offset of their clocks rests on that exchange alone.
    NoTimeService: Degraded of the Run, "run a time service on both nodes ('punctual sync plan'), or say with --no-sync that none is wanted";
    /// What the followed reference states of its own quality got worse during the run: its clock class, accuracy, traceability, stratum or distance.
    ReferenceWorse: Degraded of the Run, "find out on the grand master or server what it lost, and measure again once it has it back";
    /// The run was interrupted before its end.
    InterruptedEarly: Degraded of the Run, "let it run to its end";
    /// A part of the requested load did not run, so the run lacks its disturbance: this machine cannot run it, or the run ended before its turn.
    LoadPartDropped: Degraded of the Run, "grant the permission or install the program that the detail names, or leave the part out with --without; let a run with --rotate complete";
    /// Looking for the causes of late samples raised the median latency by more than a tenth, or the mean by more than a microsecond.
    ExplainingCosts: Degraded of the Run, "run without --explain to measure undisturbed latencies, and with it to find what makes them late";
    /// A source of evidence is missing on this machine, so that a disturbance of its kind would go unnoticed.
    EvidenceMissing: Degraded of the Run, "enable the kernel option, grant the permission or use the larger threshold that the detail calls for";
    /// No hard bound on the error of a clock's offset can be stated: the offset is what a time service believes.
    NoHardBound: Degraded of the Run, "give ptp4l a slave_event_monitor in its configuration, so that it passes its raw time stamps on; delays between nodes: measure them with punctual packet, which bounds their error";
    /// Memory could not be locked, so that paging can add to the latencies.
    MemoryNotLocked: Degraded of the Run, "raise the limit (ulimit -l unlimited), or grant the capability cap_ipc_lock";
    /// A measuring thread had page faults after it started.
    PageFaults: Degraded of the Run, "report it as a bug: the measuring loop is built to take no page faults";
    /// The controller shared a CPU with a measuring thread, because no other CPU was available.
    ControllerOnMeasuredCpu: Degraded of the Run, "leave one CPU unmeasured: --cpus";
    /// A measuring thread that is pinned to one CPU was moved to another during the run.
    Migrated: Degraded of the Run, "keep the measured CPUs online during the run, and prevent other programs from moving the measuring threads";
    /// A thread of another program that outranks a measuring thread was allowed to run on its CPU: SCHED_DEADLINE, or a real-time priority at least as high. This is checked once a second; a thread that came and went between two checks can be missed.
    RivalRealtime: Degraded of the Run, "stop that thread, keep it off the measured CPUs, or measure at a higher priority (SCHED_DEADLINE outranks every priority)";
    /// The requested limit on the wake-up latency from idle states (/dev/cpu_dma_latency) was not held, or the limit in force changed during the run.
    IdleLimit: Degraded of the Run, "let this program open /dev/cpu_dma_latency (root may; in a container, --device /dev/cpu_dma_latency), and keep other programs from opening it during the run";
    /// Something spoiled intervals of the run. They are kept apart, each with its reason and its figures; the numbers and the verdict are those of the other intervals.
    IntervalsSpoiled: Degraded of the Run, "find in the list of spoiled intervals what happened, and prevent it; measure again if a conclusion has to cover the whole time";
    /// The data come from another program, which did not record what is needed to judge validity.
    Imported: Degraded of the Run, "repeat the measurement with punctual";
    /// Another program counted samples whose values it did not keep: only their range is known.
    ValuesUnknown: Degraded of the Run, "measure with a larger table, or with punctual, which keeps every value";
    /// Another program did not write the unit of its numbers, so its default unit was assumed.
    UnitAssumed: Degraded of the Run, "state the unit: punctual import --unit us, or ns";
}

impl ReasonCode {
    /// The reason's row in [`REASONS`].
    ///
    /// # Panics
    /// Never: one macro generates both the codes and the table.
    #[must_use]
    pub fn info(self) -> &'static ReasonInfo {
        REASONS.iter().find(|info| info.code == self).expect("every code has a line")
    }
}

/// A kind of disturbance that some machines have no means to observe. A run there can be valid; its record lists what could
/// not be observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unobservable {
    /// Frequency changes that firmware makes on its own, if the kernel has no frequency driver.
    FrequencyChanges,
    /// Firmware interruptions that no counter counts: system management interrupts, or other ways to take a CPU away.
    FirmwareInterruptions,
}

impl Unobservable {
    /// Each kind with the machines that cannot observe it, and with those that can; a table of `docs/validity.md`.
    pub const ALL: &'static [(Self, &'static str, &'static str)] = &[
        (
            Self::FrequencyChanges,
            "The kernel has no frequency driver for the measured CPUs (no CONFIG_CPU_FREQ, or no driver that fits), so the kernel does not change their frequencies; firmware could do so unnoticed.",
            "with a driver: its count of changes, or cycles over time (APERF and MPERF, on ARM the feedback counters of CPPC); if these need a permission or a module that is missing, the run is `evidence-missing`",
        ),
        (
            Self::FirmwareInterruptions,
            "The processor has no counter of system management interrupts (AMD before family 17h), or firmware can take a CPU away in another way that nothing counts (ARM's secure monitor, RISC-V's machine mode).",
            "Intel: register 0x34; AMD from family 17h on: the event `ls_smi_rx`; if these need a permission or a module that is missing, the run is `evidence-missing`",
        ),
    ];
}

/// A kind of disturbance that could not be observed on this machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NotObservable {
    /// The kind of disturbance.
    pub what: Unobservable,
    /// Why it could not be observed, and on which CPUs.
    pub detail: String,
}

/// A reason why a run is degraded or invalid, with the details of this run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// The reason's name.
    pub code: ReasonCode,
    /// What was seen, with numbers and places.
    pub detail: String,
}

/// Whether the run measured what was requested, always with the reasons.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(from = "ValidityWire")]
pub struct Validity {
    state: ValidityState,
    reasons: Vec<Reason>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    not_observable: Vec<NotObservable>,
}

/// The JSON form of [`Validity`].
#[derive(Deserialize, JsonSchema)]
struct ValidityWire {
    /// How far the run can be trusted: the worst state of all reasons.
    state: ValidityState,
    /// The reasons, the worst first; empty if the run is valid.
    #[serde(default)]
    reasons: Vec<Reason>,
    /// Disturbances that could not be observed on this machine; they do not change the state.
    #[serde(default)]
    not_observable: Vec<NotObservable>,
}

impl From<ValidityWire> for Validity {
    /// The stored state can only be worsened by the reasons, never improved: nothing invalid may read as valid.
    fn from(wire: ValidityWire) -> Self {
        let mut validity = Self::from_reasons(wire.reasons);
        validity.not_observable = wire.not_observable;
        validity.state = validity.state.max(wire.state);
        validity
    }
}

impl Default for Validity {
    fn default() -> Self {
        Self::from_reasons(Vec::new())
    }
}

impl Validity {
    /// Builds the validity from its reasons; without reasons the run is valid.
    #[must_use]
    pub fn from_reasons(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by_key(|reason| (std::cmp::Reverse(reason.code.info().state), reason.code));
        let state = reasons.first().map_or(ValidityState::Valid, |worst| worst.code.info().state);
        Self { state, reasons, not_observable: Vec::new() }
    }

    /// Adds a reason with its detail; the state becomes worse if the reason requires it.
    pub fn add(&mut self, code: ReasonCode, detail: impl Into<String>) {
        let stored = self.state;
        let mut reasons = std::mem::take(&mut self.reasons);
        let not_observable = std::mem::take(&mut self.not_observable);
        reasons.push(Reason { code, detail: detail.into() });
        *self = Self { not_observable, ..Self::from_reasons(reasons) };
        self.state = self.state.max(stored);
    }

    /// Adds a disturbance that could not be observed on this machine; the state does not change.
    pub fn add_not_observable(&mut self, what: Unobservable, detail: impl Into<String>) {
        self.not_observable.push(NotObservable { what, detail: detail.into() });
    }

    /// Disturbances that could not be observed on this machine.
    #[must_use]
    pub fn not_observable(&self) -> &[NotObservable] {
        &self.not_observable
    }

    /// How far the run can be trusted: the worst state of all reasons.
    #[must_use]
    pub fn state(&self) -> ValidityState {
        self.state
    }

    /// The reasons, the worst first.
    #[must_use]
    pub fn reasons(&self) -> &[Reason] {
        &self.reasons
    }

    /// Whether `code` is among the reasons.
    #[must_use]
    pub fn has(&self, code: ReasonCode) -> bool {
        self.reasons.iter().any(|reason| reason.code == code)
    }

    /// Whether the run is invalid: it did not measure what was requested.
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
