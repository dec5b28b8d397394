//! Many runs on one page: five labels on several nodes and two kernels, some runs invalid, degraded or spoiled, one with a far
//! outlier, and an import of which only the worst is known.

use foreign::Options;
use record::{ReasonCode, Record, Series, Validity};

use crate::synthetic::{IDLE, LOADED, Plan, Shape, clock, noise, wakeup};
use crate::{clocks, packets, spoiled};

/// What cyclictest prints without a histogram.
const MAXIMA: &str = "# /dev/cpu_dma_latency set to 0us\n\
                      T: 0 ( 2101) P:80 I:1000 C: 600000 Min:      2 Act:    3 Avg:    3 Max:      94\n\
                      T: 1 ( 2102) P:80 I:1500 C: 400000 Min:      2 Act:    4 Avg:    3 Max:      61\n";

/// One way in which the machines were set up.
struct Setting {
    label: &'static str,
    load: &'static str,
    shape: Shape,
    nodes: &'static [&'static str],
    kernel: &'static str,
}

const RT: &str = "6.12.48-rt13";
const STOCK: &str = "6.12.48";

const SETTINGS: [Setting; 5] = [
    Setting {
        label: "stock kernel",
        load: "paper",
        shape: Shape { tail_us: 5.5, tail_share: 2e-2, hump_us: 17.0, ..LOADED },
        nodes: &["press-7", "press-8"],
        kernel: STOCK,
    },
    Setting { label: "PREEMPT_RT", load: "paper", shape: LOADED, nodes: &["press-7", "press-8"], kernel: RT },
    Setting {
        label: "RT, isolated CPUs",
        load: "paper",
        shape: Shape { tail_us: 1.9, tail_share: 4e-3, hump_share: 0.02, ..LOADED },
        nodes: &["press-7", "press-8", "rack-2 slot-5"],
        kernel: RT,
    },
    Setting { label: "RT, idle", load: "none", shape: IDLE, nodes: &["press-7", "press-8"], kernel: RT },
    Setting {
        label: "virtual machine",
        load: "paper",
        shape: Shape { mode_us: 11.0, width: 0.22, hump_us: 21.0, tail_us: 4.0, ..LOADED },
        nodes: &["vm-3"],
        kernel: RT,
    },
];

/// So many runs, the last of them an import.
pub(crate) fn runs(count: usize) -> Vec<Record> {
    let mut runs: Vec<Record> = (0..count.saturating_sub(1)).map(run).collect();
    runs.push(maxima());
    runs
}

fn run(at: usize) -> Record {
    let setting = &SETTINGS[at % SETTINGS.len()];
    let round = at / SETTINGS.len();
    let number = u64::try_from(at).unwrap_or(0);
    let is_spoiled = (at % SETTINGS.len(), round) == (3, 2);
    let stalls = match (at % SETTINGS.len(), round) {
        (1, 4) => vec![(2, 0.6, 24_310)],
        (0, round) if round % 3 == 1 => vec![(1, 0.3, 131), (3, 0.8, 311)],
        (4, round) if round % 4 == 2 => vec![(0, 0.5, 1_807)],
        (2, 7) => vec![(3, 0.4, 9_400)],
        _ => Vec::new(),
    };
    let plan = Plan {
        label: setting.label,
        load: setting.load,
        cpus: 4,
        duration_s: if is_spoiled { 600 } else { 60 },
        interval_us: 1_000,
        intervals: if is_spoiled { 60 } else { 30 },
        shape: setting.shape,
        deadline_us: 100,
        stalls,
        starts_after_s: number * 700,
        seed: 1_000 + number,
    };
    let mut validity = Validity::default();
    match (at % SETTINGS.len(), round) {
        (4, round) => {
            validity.add(ReasonCode::VirtualMachine, "kvm");
            if round % 3 == 1 {
                validity.add(ReasonCode::VirtualMachineSteal, "1.2 s on CPU 0");
            }
        }
        // It would be the worst of its group, were it a result.
        (2, 7) | (3, 5) => validity.add(ReasonCode::RtThrottled, "CPU 3, 3 times"),
        (0, 6) => validity.add(ReasonCode::SchedulingNotGranted, "wanted fifo 98, got other 0 on CPU 0-3"),
        (1, 8) => validity.add(ReasonCode::InterruptedEarly, "after 44 s of 60 s"),
        _ => {}
    }
    let mut record = wakeup(&plan, validity);
    let node = setting.nodes[round % setting.nodes.len()];
    let manifest = record.manifest_mut();
    node.clone_into(&mut manifest.node.hostname);
    setting.kernel.clone_into(&mut manifest.node.kernel_release);
    if setting.kernel == STOCK {
        "#1 SMP PREEMPT_DYNAMIC Debian 6.12.48-1 (2026-02-20)".clone_into(&mut manifest.node.kernel_version);
    }
    if is_spoiled { spoiled::apart(record) } else { record }
}

/// Runs of many kinds and of more groups than can be told apart, some without a label and some without samples.
pub(crate) fn of_all_kinds() -> Vec<Record> {
    let mut runs: Vec<Record> = (0..39).map(run).collect();
    for (at, run) in runs.iter_mut().enumerate() {
        run.label = match at % 13 {
            // Of these the node, the kernel and the load differ.
            0..3 => String::new(),
            group => format!("setting {group} with a name that is longer than the column of names"),
        };
    }
    runs.extend((0..6).map(|at| clock(40_000 + at * 60)));
    runs.extend((0..6).map(|at| noise(4, 41_000 + at * 60)));
    runs.push(clocks::locked());
    runs.push(clocks::lost());
    runs.extend(packets::by_path());
    let mut silent = run(50);
    silent.validity.add(ReasonCode::NoSamples, "");
    for series in &mut silent.series {
        *series = Series { name: series.name.clone(), place: series.place.clone(), ..Series::default() };
    }
    silent.verdict = silent.verdict.as_ref().map(|verdict| analysis::verdict(&silent, verdict.deadline_ns));
    silent.worst.clear();
    runs.push(silent);
    runs
}

/// # Panics
/// Never: the text is a table of cyclictest.
fn maxima() -> Record {
    foreign::import(MAXIMA.as_bytes(), None, Options::default())
        .expect("a table of cyclictest")
        .into_record("night.txt")
}
