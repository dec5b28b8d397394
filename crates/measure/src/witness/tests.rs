//! What the witness concludes on machines of each kind, from trees of files and readings of their counters.

use std::fs;

use super::frequency::{Cycles, Rate};
use super::*;

fn with_changes(changes: u64) -> Frequency {
    let policy = frequency::Policy { changes: Some(changes), ..frequency::Policy::default() };
    Frequency { policy: Some(policy), ..Frequency::default() }
}

fn snapshot(steal: u64, smi: u32, frequency: u64) -> Snapshot {
    let stat = Stat::parse(format!("cpu  0 0 0 0 0 0 0 {steal} 0 0\ncpu1 0 0 0 0 0 0 0 {steal} 0 0\nintr 5\nctxt 6\n"));
    Snapshot {
        stat,
        smi: BTreeMap::from([(1, smi)]),
        frequencies: BTreeMap::from([(1, with_changes(frequency))]),
        groups: BTreeMap::new(),
    }
}

fn measured() -> CpuSet {
    "1".parse().unwrap()
}

fn check(before: &Snapshot, after: &Snapshot, expected: &[ReasonCode]) {
    let codes: Vec<_> = compare(&measured(), before, after).reasons.iter().map(|reason| reason.code).collect();
    assert_eq!(codes, expected);
}

#[test]
fn what_changed_is_named() {
    let before = snapshot(3, u32::MAX, 7);
    check(&before, &before, &[]);
    check(&before, &snapshot(4, u32::MAX, 7), &[ReasonCode::VirtualMachineSteal]);
    check(&before, &snapshot(3, 1, 7), &[ReasonCode::SmiCounted]);
    check(&before, &snapshot(3, u32::MAX, 9), &[ReasonCode::FrequencyChanged]);
    assert_eq!(compare(&measured(), &before, &snapshot(3, 1, 7)).smi[&1], 2, "the counter wraps at 32 bits");
    assert_eq!(compare(&measured(), &before, &snapshot(5, 1, 7)).steal_ns[&1], 20_000_000);
}

#[test]
fn time_stolen_from_a_cpu_that_is_not_measured_is_no_reason() {
    let look = |measured: u64, other: u64| {
        let text = format!("cpu0 0 0 0 0 0 0 0 {other} 0 0\ncpu1 0 0 0 0 0 0 0 {measured} 0 0\n");
        Snapshot { stat: Stat::parse(&text), ..Snapshot::default() }
    };
    check(&look(3, 3), &look(3, 5), &[]);
    let both = compare(&measured(), &look(3, 3), &look(4, 5));
    assert_eq!(both.steal_ns, BTreeMap::from([(1, 10_000_000)]));
    assert_eq!(both.reasons[0].detail, "CPU 1: 10 ms", "CPU 0 is not measured");
}

#[test]
fn a_source_that_vanishes_is_no_change() {
    check(&snapshot(3, 4, 7), &Snapshot::default(), &[]);
}

/// A machine of a test: its files of frequencies, and what its counters read.
struct Machine {
    folder: tempfile::TempDir,
    cpus: CpuSet,
}

impl Machine {
    fn new(cpus: &str, driver: &str, governor: &str, (min_khz, max_khz): (u64, u64)) -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap(), cpus: cpus.parse().unwrap() };
        for cpu in machine.cpus.iter() {
            let policy = format!("cpufreq/policy{cpu}");
            machine.write(&format!("{policy}/affected_cpus"), &format!("{cpu}\n"));
            machine.write(&format!("{policy}/scaling_driver"), &format!("{driver}\n"));
            machine.write(&format!("{policy}/scaling_governor"), &format!("{governor}\n"));
            machine.write(&format!("{policy}/scaling_min_freq"), &format!("{min_khz}\n"));
            machine.write(&format!("{policy}/scaling_max_freq"), &format!("{max_khz}\n"));
        }
        machine
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.folder.path().join("sys/devices/system/cpu").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn look(&self, cycles: impl Fn(u32) -> Option<Cycles>) -> Snapshot {
        Snapshot {
            stat: Stat::parse("cpu0 1 0 0 1 0 0 0 0\n"),
            smi: BTreeMap::new(),
            frequencies: frequency::read(self.folder.path(), &self.cpus, cycles),
            groups: BTreeMap::new(),
        }
    }
}

/// Ten seconds in which a CPU worked for two, at that many MHz; its reference ticks at 2,400 MHz.
fn worked_at(mhz: u64) -> [Option<Cycles>; 2] {
    let at =
        |reference, delivered, ticks, at_ns| Some(Cycles { delivered, reference, rate: Rate::Ticks { ticks, at_ns } });
    let reference = 2 * 2_400_000_000;
    [at(7, 9, 100, 5), at(7 + reference, 9 + 2_000_000 * mhz, 100 + 24_000_000_000, 5 + 10_000_000_000)]
}

fn concluded(before: &Snapshot, after: &Snapshot) -> (Vec<(ReasonCode, String)>, Vec<Unobservable>) {
    let witnessed = conclude(&measured(), before, after, None, None);
    let reasons = witnessed.reasons.into_iter().map(|reason| (reason.code, reason.detail)).collect();
    (reasons, witnessed.not_observable.into_iter().map(|not| not.what).collect())
}

/// The run was valid, as far as frequencies go, and nothing was left unseen.
fn assert_valid(before: &Snapshot, after: &Snapshot) {
    assert_eq!(concluded(before, after), (Vec::new(), Vec::new()));
}

fn assert_changed(before: &Snapshot, after: &Snapshot, detail: &str) {
    let (reasons, _) = concluded(before, after);
    assert_eq!(reasons, [(ReasonCode::FrequencyChanged, detail.to_owned())]);
}

#[test]
fn a_tuned_machine_whose_processor_chooses_is_valid_where_its_cycles_say_so() {
    for driver in ["intel_pstate", "intel_cpufreq", "amd-pstate-epp", "amd-pstate"] {
        let [first, last] = worked_at(2_995);
        let fixed = Machine::new("2-3", driver, "performance", (3_000_000, 3_000_000));
        assert_valid(&fixed.look(|_| first), &fixed.look(|_| last));
        // Boost off, the whole range open, and the governor asks for the highest.
        let open = Machine::new("2-3", driver, "performance", (800_000, 3_000_000));
        assert_valid(&open.look(|_| first), &open.look(|_| last));
        let [first, last] = worked_at(2_600);
        assert_changed(
            &fixed.look(|_| first),
            &fixed.look(|_| last),
            "CPUs 2-3: ran at 2600 MHz on average, though 3000 MHz was set",
        );
        assert_changed(
            &open.look(|_| first),
            &open.look(|cpu| if cpu == 3 { last } else { worked_at(3_000)[1] }),
            "CPU 3: ran at 2600 MHz on average, below the 3000 MHz that it was asked for: limits of boost, heat or power",
        );
    }
}

#[test]
fn a_processor_that_chooses_and_was_not_read_is_not_valid() {
    let machine = Machine::new("1", "amd-pstate-epp", "performance", (3_000_000, 3_000_000));
    let look = machine.look(|_| None);
    let (reasons, not_observable) = concluded(&look, &look);
    assert!(not_observable.is_empty());
    assert_eq!(reasons[0].0, ReasonCode::EvidenceMissing);
    assert!(reasons[0].1.contains("amd-pstate-epp leaves to the processor (modprobe msr"), "{reasons:?}");
    // The reading itself is all that there is of a CPU that slept.
    let slept = |delivered| Some(Cycles { delivered, reference: delivered, rate: Rate::Khz(2_400_000) });
    let (reasons, _) = concluded(&machine.look(|_| slept(0)), &machine.look(|_| slept(5_000)));
    assert_eq!(reasons[0].0, ReasonCode::EvidenceMissing);
}

#[test]
fn a_laptop_s_governor_that_lets_the_processor_choose_is_degraded() {
    let [first, last] = worked_at(2_100);
    let machine = Machine::new("0", "intel_pstate", "powersave", (400_000, 4_700_000));
    assert_changed(
        &machine.look(|_| first),
        &machine.look(|_| last),
        "CPU 0: ran at 2100 MHz on average, between its limits of 400 MHz and 4700 MHz, where the governor powersave \
         lets the processor choose",
    );
}

#[test]
fn heat_and_new_limits_are_changes_whatever_the_average() {
    let [first, last] = worked_at(3_000);
    let machine = Machine::new("0", "intel_pstate", "performance", (3_000_000, 3_000_000));
    machine.write("cpu0/thermal_throttle/core_throttle_count", "3\n");
    machine.write("cpu0/thermal_throttle/package_throttle_count", "1\n");
    let before = machine.look(|_| first);
    assert_valid(&before, &machine.look(|_| last));
    machine.write("cpu0/thermal_throttle/package_throttle_count", "5\n");
    assert_changed(&before, &machine.look(|_| last), "CPU 0: slowed down by heat 4 times");
    machine.write("cpu0/thermal_throttle/package_throttle_count", "1\n");
    machine.write("cpufreq/policy0/scaling_min_freq", "800000\n");
    let (reasons, _) = concluded(&before, &machine.look(|_| last));
    assert!(reasons[0].1.contains("its settings changed"), "{reasons:?}");
}

#[test]
fn an_arm_board_is_valid_by_its_count_or_by_what_cannot_change() {
    let counted = Machine::new("0-3", "cpufreq-dt", "ondemand", (600_000, 1_800_000));
    counted.cpus.iter().for_each(|cpu| counted.write(&format!("cpufreq/policy{cpu}/stats/total_trans"), "41\n"));
    let before = counted.look(|_| None);
    assert_valid(&before, &before);
    counted.write("cpufreq/policy2/stats/total_trans", "44\n");
    assert_changed(&before, &counted.look(|_| None), "CPU 2: 3 changes");

    let uncounted = Machine::new("0", "cpufreq-dt", "performance", (600_000, 1_800_000));
    uncounted.write("cpufreq/policy0/scaling_cur_freq", "1800000\n");
    let before = uncounted.look(|_| None);
    assert_valid(&before, &before);
    uncounted.write("cpufreq/policy0/scaling_cur_freq", "1200000\n");
    assert_changed(&before, &uncounted.look(|_| None), "CPU 0: 1800 MHz before, 1200 MHz after");

    let governed = Machine::new("0", "cpufreq-dt", "schedutil", (600_000, 1_800_000)).look(|_| None);
    let (reasons, _) = concluded(&governed, &governed);
    assert!(reasons[0].1.contains("CONFIG_CPU_FREQ_STAT"), "{reasons:?}");
}

#[test]
fn an_arm_server_is_read_by_its_feedback_counters() {
    let machine = Machine::new("0", "cppc_cpufreq", "performance", (3_000_000, 3_000_000));
    for (file, value) in [("nominal_freq", "3000"), ("nominal_perf", "300"), ("reference_perf", "100")] {
        machine.write(&format!("cpu0/acpi_cppc/{file}"), value);
    }
    let read = |reference: u64, delivered: u64| {
        machine.write("cpu0/acpi_cppc/feedback_ctrs", &format!("ref:{reference} del:{delivered}\n"));
        machine.look(|_| None)
    };
    let before = read(1_000, 1_000);
    // The reference ticks at 1,000 MHz.
    assert_valid(&before, &read(1_000 + 50_000_000, 1_000 + 150_000_000));
    let slower = read(1_000 + 50_000_000, 1_000 + 100_000_000);
    assert_changed(&before, &slower, "CPU 0: ran at 2000 MHz on average, though 3000 MHz was set");
    machine.write("cpu0/acpi_cppc/nominal_freq", "0");
    let (reasons, _) = concluded(&before, &read(9_000_000_000, 9_000_000_000));
    assert!(reasons[0].1.contains("CPPC feedback counters"), "{reasons:?}");
}

#[test]
fn a_kernel_that_cannot_change_frequencies_lacks_nothing() {
    let machine = Machine { folder: tempfile::tempdir().unwrap(), cpus: "0-1".parse().unwrap() };
    let look = machine.look(|_| None);
    assert_eq!(concluded(&look, &look), (Vec::new(), vec![Unobservable::FrequencyChanges]));
    let guest = conclude(&measured(), &look, &look, None, Some("/proc/cpuinfo: flags has hypervisor"));
    let codes: Vec<_> = guest.reasons.iter().map(|reason| reason.code).collect();
    assert_eq!((codes, guest.not_observable), (vec![ReasonCode::VirtualMachine], Vec::new()));
}

#[test]
fn interruptions_that_nothing_counts_are_stated_and_those_that_a_right_would_show_degrade() {
    let look = Machine::new("0", "cpufreq-dt", "performance", (1, 1)).look(|_| None);
    let none = NoSmiCounter::NotObservable("no counter".to_owned());
    let witnessed = conclude(&measured(), &look, &look, Some(&none), None);
    assert!(witnessed.reasons.is_empty());
    assert_eq!(witnessed.not_observable[0].what, Unobservable::FirmwareInterruptions);
    let mut validity = Validity::default();
    witnessed.judge(&mut validity);
    assert_eq!((validity.state(), validity.not_observable().len()), (record::ValidityState::Valid, 1));
    let right = NoSmiCounter::Missing("modprobe msr".to_owned());
    let codes: Vec<_> =
        conclude(&measured(), &look, &look, Some(&right), None).reasons.iter().map(|reason| reason.code).collect();
    assert_eq!(codes, [ReasonCode::EvidenceMissing]);
}

#[test]
fn captured_machines_are_judged_by_what_they_have() {
    let look = |host: &str, cpus: &str, cycles: Option<Cycles>| {
        let root = fixtures::host(host);
        Snapshot {
            stat: Stat::parse("cpu0 1 0 0 1 0 0 0 0\n"),
            smi: BTreeMap::new(),
            frequencies: frequency::read(&root, &cpus.parse().unwrap(), |_| cycles),
            groups: BTreeMap::new(),
        }
    };
    let codes = |host: &str, cpus: &str, [first, last]: [Option<Cycles>; 2]| {
        let (reasons, not) = concluded(&look(host, cpus, first), &look(host, cpus, last));
        (reasons.into_iter().map(|(code, _)| code).collect::<Vec<_>>(), not)
    };
    let nothing = || (Vec::new(), Vec::new());
    assert_eq!(codes("a20-olinuxino-lime2", "0-1", [None, None]), nothing());
    assert_eq!(codes("rt-x86-tuned", "1-2", [None, None]), nothing());
    assert_eq!(codes("rt-x86-tuned", "1-2", worked_at(2_000)), nothing());
    assert_eq!(codes("rt-x86-contradictions", "1", worked_at(4_200)), nothing());
    let changed = || (vec![ReasonCode::FrequencyChanged], Vec::new());
    assert_eq!(codes("rt-x86-tuned", "1-2", worked_at(3_000)), changed());
    assert_eq!(codes("rt-x86-contradictions", "1", worked_at(3_900)), changed());
    assert_eq!(codes("laptop-intel-pstate", "0-7", worked_at(1_900)), changed());
    let missing = || (vec![ReasonCode::EvidenceMissing], Vec::new());
    assert_eq!(codes("laptop-intel-pstate", "0-7", [None, None]), missing());
    assert_eq!(codes("raspberry-pi-4", "0-3", [None, None]), missing());
    assert_eq!(codes("server-two-sockets", "0", [None, None]), (Vec::new(), vec![Unobservable::FrequencyChanges]));
}
