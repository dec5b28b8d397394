//! Writes reports of synthetic runs, one for each case that the viewer must show well. Usage:
//! `cargo run -p punctual-report --example sample_report -- FOLDER [CASE...]`.

#![forbid(unsafe_code)]

mod calibration;
mod campaign;
mod causes;
mod clocks;
mod comparison;
mod events;
mod imported;
mod load;
mod many;
mod orders;
mod packets;
mod program;
mod rhythm;
mod spoiled;
mod synthetic;
mod tail;
mod together;

use std::path::Path;
use std::time::Instant;

use profile::check::{Evidence, Finding, Severity};
use record::{ReasonCode, Record, Series, ToolVersion, Unobservable, Validity};
use report::{Generated, Page, ReportInput, Results, render_html};
use summary::{Assessment, AssessmentInput, Change, Part, assess};
use synthetic::{IDLE, LOADED, Plan, Shape, clock, gpio, noise, wakeup};

type Case = (&'static str, fn() -> ReportInput);

fn main() -> std::io::Result<()> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "target/sample-reports".to_owned());
    std::fs::create_dir_all(&folder)?;
    let cases: [Case; 62] = [
        ("holds", holds),
        ("broken", broken),
        ("invalid", invalid),
        ("doubtful", doubtful),
        ("degraded", degraded),
        ("many-cpus", many_cpus),
        ("empty", empty),
        ("no-samples", no_samples),
        ("no-intervals", no_intervals),
        ("no-deadline", no_deadline),
        ("cpus-64", cpus_64),
        ("events", handed_over),
        ("responses", responded),
        ("answers", answered),
        ("imported", || bare("night.txt", vec![imported::from_fixture()])),
        ("imported-64", || bare("rack.txt", vec![imported::of_64_threads()])),
        ("same-name", || bare("2 runs", vec![imported::from_fixture(), imported::from_fixture()])),
        ("long", long),
        ("few", || bare("5 runs on 3 machines", many::runs(5))),
        ("several", || bare("11 runs on 4 machines", many::runs(11))),
        ("many", || bare("52 runs on 4 machines", many::runs(52))),
        ("many-kinds", || bare("Everything measured", many::of_all_kinds())),
        ("many-200", || bare("200 runs on 4 machines", many::runs(200))),
        ("calibration", calibrated),
        ("calibration-failed", not_calibrated),
        ("comparison", || compared(comparison::worse())),
        ("comparison-runs", || compared(comparison::single_runs())),
        ("comparison-few", || compared(comparison::too_few())),
        ("comparison-clocks", || compared(comparison::clocks())),
        ("comparison-invalid", || compared(comparison::invalid())),
        ("tail", || predicted(tail::shown())),
        ("tail-refused", || predicted(tail::refused())),
        ("campaign", || campaigned(campaign::complete())),
        ("campaign-running", || campaigned(campaign::running())),
        ("campaign-empty", || campaigned(campaign::nothing())),
        ("campaign-many", || campaigned(campaign::many())),
        ("causes", explained),
        ("causes-blind", || explained_of(broken(), causes::blind)),
        ("causes-invalid", || explained_of(doubtful(), |run| causes::explained(run, 0))),
        ("spoiled", || {
            bare("A clock that was set", vec![spoiled::apart(wakeup(&plan("idle", 2), Validity::default()))])
        }),
        ("rhythm", || explained_of(broken(), rhythm::with_rhythms)),
        ("load", || explained_of(broken(), |run| if run.label == "idle" { run } else { load::rotated(run) })),
        ("sync", || bare("Clocks of press-7", vec![clocks::locked()])),
        ("sync-lost", || bare("Clocks of press-7", vec![clocks::lost()])),
        ("sync-unbounded", || bare("Clocks of press-7", vec![clocks::unbounded()])),
        ("costs", || bare("Costs of calls on press-7", vec![clock(1_300), gpio(1_400)])),
        ("orders", || bare("Two presses, ordered by line-1", vec![orders::together()])),
        ("orders-missed", || bare("Two presses, ordered by line-1", vec![orders::missed()])),
        ("together", || page("Three presses, ordered by line-1", together::witnessed())),
        ("together-contradicted", || page("Two presses, ordered by line-1", together::contradicted())),
        ("together-unknown", || page("Two presses, ordered by line-1", together::unknown())),
        ("together-scenarios", || page("Two presses in four scenarios", together::scenarios())),
        ("together-sweep", || page("Two presses, ordered by line-1", together::sweep())),
        ("together-none", || page("Two presses, ordered by line-1", together::nothing())),
        ("packets", || bare("press-7 and camera-2", packets::both_ways())),
        ("packets-lost", || bare("press-7 to camera-2", packets::lossy())),
        ("packets-paths", || bare("press-7 to camera-2", packets::by_path())),
        ("packets-invalid", || bare("press-7 to camera-2", packets::stepped())),
        ("packets-none", || bare("press-7 to camera-2", packets::none())),
        ("program", || followed(program::missing(&Validity::default()))),
        ("program-quiet", || followed(program::quiet())),
        ("program-invalid", || followed(program::missing(&program::overrun()))),
    ];
    let wanted: Vec<String> = std::env::args().skip(2).collect();
    for (name, case) in cases.into_iter().filter(|(name, _)| wanted.is_empty() || wanted.iter().any(|w| w == name)) {
        let input = case();
        let begun = Instant::now();
        let html = render_html(&input);
        let path = Path::new(&folder).join(format!("{name}.html"));
        std::fs::write(&path, &html)?;
        println!("{:>8} bytes {:>5} ms  {}", html.len(), begun.elapsed().as_millis(), path.display());
    }
    Ok(())
}

fn predicted((assessment, runs): (Assessment, Vec<Record>)) -> ReportInput {
    input("How sure, how long", Some(assessment), runs)
}

fn followed(run: Record) -> ReportInput {
    bare("The controller", vec![run])
}

fn plan(label: &'static str, cpus: u32) -> Plan {
    let loaded = label != "idle";
    Plan {
        label,
        load: if loaded { "paper" } else { "none" },
        cpus,
        duration_s: 600,
        interval_us: 1_000,
        intervals: 60,
        shape: if loaded { LOADED } else { IDLE },
        deadline_us: 100,
        stalls: Vec::new(),
        starts_after_s: if loaded { 630 } else { 0 },
        seed: if loaded { 11 } else { 10 },
    }
}

fn input(title: &str, assessment: Option<Assessment>, runs: Vec<Record>) -> ReportInput {
    let results = Results { runs, profile: Some(profile()), findings: findings(), ..Results::default() };
    page(title, Page::from_results(assessment, results))
}

/// A page of runs without profile and findings.
fn bare(title: &str, runs: Vec<Record>) -> ReportInput {
    page(title, Page::from_results(None, Results { runs, ..Results::default() }))
}

fn page(title: &str, page: Page) -> ReportInput {
    ReportInput {
        title: title.to_owned(),
        page,
        generated: Generated {
            tool: ToolVersion { name: "punctual".to_owned(), version: "0.1.0".to_owned() },
            realtime_ns: synthetic::START_REALTIME_NS + 1_900_000_000_000,
            time_zone: Some("Europe/Berlin".to_owned()),
        },
    }
}

/// The conclusion from the runs, as `punctual assess` draws it.
fn concluded(runs: &[Record]) -> Assessment {
    let part = |is_wanted: &dyn Fn(&Record) -> bool| {
        runs.iter().find(|run| is_wanted(run)).map_or(Part::NotAsked, Part::Measured)
    };
    let wakeups = |run: &Record| run.measurement == record::Measurement::Wakeup;
    let input = AssessmentInput {
        deadline_ns: 100_000,
        idle: part(&|run| wakeups(run) && run.label == "idle"),
        loaded: part(&|run| wakeups(run) && run.label != "idle"),
        ..AssessmentInput::default()
    };
    // The advice is the same on all pages, so that its cards can be looked at.
    Assessment { changes: changes(), ..assess(&input) }
}

fn changes() -> Vec<Change> {
    let change = |title: &str, why: &str, how: &[&str], finding: &str| Change {
        title: title.to_owned(),
        why: why.to_owned(),
        how: how.iter().map(|&line| line.to_owned()).collect(),
        finding: Some(finding.to_owned()),
        removes_share_of_beyond: Some(0.62),
        worst_ns: Some(141_300),
        sureness: Some(record::Certainty::Likely),
        basis_samples: Some(38),
    };
    vec![
        change(
            "Keep the CPUs out of deep idle states",
            "The deepest state that CPU 2 entered takes 133 us to leave, more than the deadline.",
            &["punctual tune apply --only idle-states", "or on the kernel command line: processor.max_cstate=1"],
            "deep-idle-states",
        ),
        change(
            "Run at a fixed frequency",
            "The governor 'schedutil' lets CPU 0-3 fall to 800 MHz, so that code takes four times as long.",
            &["cpupower frequency-set -g performance"],
            "governor-not-performance",
        ),
        change(
            "Move interrupts off the measured CPUs",
            "eth0's queues raise 11 000 interrupts per second on CPU 2.",
            &["echo 1 > /proc/irq/126/smp_affinity"],
            "interrupts-on-isolated-cpu",
        ),
    ]
}

fn calibrated() -> ReportInput {
    page("Calibration", Page::Calibration(calibration::passes()))
}

fn not_calibrated() -> ReportInput {
    page("Calibration", Page::Calibration(calibration::fails()))
}

fn compared(comparison: report::ComparisonInput) -> ReportInput {
    page("B against A", Page::Comparison(Box::new(comparison)))
}

fn campaigned(campaign: report::CampaignInput) -> ReportInput {
    page("which-knob", Page::Campaign(Box::new(campaign)))
}

fn holds() -> ReportInput {
    let mut validity = Validity::default();
    let unseen = "the processor has no counter of system management interrupts";
    validity.add_not_observable(Unobservable::FirmwareInterruptions, unseen);
    let runs = vec![
        wakeup(&plan("idle", 4), validity.clone()),
        wakeup(&plan("under paper load", 4), validity),
        clock(1_300),
        noise(4, 1_400),
    ];
    let assessment = concluded(&runs);
    input("press-7", Some(assessment), runs)
}

fn broken() -> ReportInput {
    let idle = Plan { stalls: vec![(1, 0.31, 131)], ..plan("idle", 4) };
    let stalls =
        vec![(2, 0.22, 24_310), (2, 0.23, 311), (0, 0.55, 1_807), (3, 0.71, 148), (2, 0.9, 9_400), (1, 0.4, 260)];
    let loaded = Plan { stalls, ..plan("under paper load", 4) };
    let runs = vec![wakeup(&idle, Validity::default()), wakeup(&loaded, Validity::default()), clock(1_300)];
    let assessment = concluded(&runs);
    input("press-7", Some(assessment), runs)
}

fn invalid() -> ReportInput {
    let mut validity = Validity::default();
    validity.add(ReasonCode::SchedulingNotGranted, "wanted fifo 98, got other 0 on CPU 0-3");
    validity.add(ReasonCode::MemoryNotLocked, "the limit is 8 MiB");
    let runs = vec![wakeup(&plan("idle", 4), validity.clone()), wakeup(&plan("under paper load", 4), validity)];
    let assessment = concluded(&runs);
    input("press-7", Some(assessment), runs)
}

/// One valid and one invalid run: the valid one must stay readable, and the other must not look like a result.
fn doubtful() -> ReportInput {
    let mut validity = Validity::default();
    validity.add(ReasonCode::RtThrottled, "CPU 2, 3 times");
    let runs = vec![
        wakeup(&plan("idle", 4), Validity::default()),
        wakeup(&Plan { stalls: vec![(2, 0.6, 50_000)], ..plan("under paper load", 4) }, validity),
    ];
    input("press-7", None, runs)
}

fn degraded() -> ReportInput {
    let mut validity = Validity::default();
    validity.add(ReasonCode::VirtualMachine, "kvm");
    validity.add(ReasonCode::VirtualMachineSteal, "1.2 s on CPU 0");
    validity.add(ReasonCode::InterruptedEarly, "after 7 min 10 s of 10 min");
    input("vm-3", None, vec![wakeup(&Plan { duration_s: 430, ..plan("under paper load", 1) }, validity)])
}

fn many_cpus() -> ReportInput {
    let loaded = Plan { stalls: vec![(17, 0.4, 87), (5, 0.6, 81)], ..plan("under paper load", 24) };
    input(
        "rack-2 slot-5",
        None,
        vec![wakeup(&plan("idle", 24), Validity::default()), wakeup(&loaded, Validity::default())],
    )
}

/// 64 CPUs with more bursts than a page lists at once, some of them without a missed period.
fn cpus_64() -> ReportInput {
    let stalls = |seed: u64| -> Vec<(u32, f64, u64)> {
        (0..20_u32)
            .map(|at| {
                let share = 0.03 + 0.045 * f64::from(at);
                ((at * 7 + 3) % 64, share, if at % 4 == 0 { 180 } else { 1_000 + u64::from(at) * 137 * seed })
            })
            .collect()
    };
    let idle = Plan { stalls: stalls(1), intervals: 20, ..plan("idle", 64) };
    let loaded = Plan { stalls: stalls(2), intervals: 20, ..plan("under paper load", 64) };
    let runs = vec![wakeup(&idle, Validity::default()), wakeup(&loaded, Validity::default())];
    let assessment = concluded(&runs);
    input("rack-2 slot-7", Some(assessment), runs)
}

/// A run for which no limit was stated, with one sample far beyond the others.
fn no_deadline() -> ReportInput {
    let mut run = wakeup(&Plan { stalls: vec![(2, 0.6, 2_990)], ..plan("wakeup", 4) }, Validity::default());
    run.verdict = None;
    run.manifest_mut().requested.deadline_ns = None;
    input("wakeup on press-7", None, vec![run])
}

/// Hand-overs by a lock on each of two CPUs, and by an eventfd between two.
fn handed_over() -> ReportInput {
    let by_lock = Plan { stalls: vec![(1, 0.4, 2_310)], ..plan("by a lock", 2) };
    let runs = vec![events::run(&by_lock, "futex-pi", false), events::run(&plan("between CPUs", 1), "eventfd", true)];
    input("press-7", None, runs)
}

/// Responses to edges, of which none was lost and of which some were.
fn responded() -> ReportInput {
    let mut lossy = Validity::default();
    lossy.add(ReasonCode::EdgesLost, "12 of 600,100 edges brought no event within 100 ms");
    let runs = vec![
        events::response(&plan("wired", 1), 0, Validity::default()),
        events::response(&plan("loose", 1), 12, lossy),
    ];
    input("press-7", None, runs)
}

/// Answers to a witness's edges, of which none was given up and of which some were.
fn answered() -> ReportInput {
    let mut overran = Validity::default();
    overran.add(ReasonCode::WitnessOverran, "2 answers came at least 1 ms after their edges by the witness");
    let runs = vec![
        events::answers(&plan("quiet", 1), 0, Validity::default()),
        events::answers(&plan("loaded", 1), 2, overran),
    ];
    input("press-7", None, runs)
}

/// Explained runs, idle and under load: under load, some late samples came while another one was being read.
fn explained() -> ReportInput {
    explained_of(broken(), |run| {
        let lost = if run.label == "idle" { 0 } else { 9 };
        causes::explained(run, lost)
    })
}

fn explained_of(input: ReportInput, explain: impl Fn(Record) -> Record) -> ReportInput {
    let explain_wakeups = |run: Record| if run.measurement == record::Measurement::Wakeup { explain(run) } else { run };
    let explained =
        |results: Results| Results { runs: results.runs.into_iter().map(&explain_wakeups).collect(), ..results };
    let page = match input.page {
        Page::Runs(results) => Page::Runs(explained(results)),
        Page::Assessment(_, results) => {
            let results = explained(results);
            Page::Assessment(Box::new(concluded(&results.runs)), results)
        }
        other => other,
    };
    ReportInput { page, ..input }
}

fn empty() -> ReportInput {
    bare("press-7", Vec::new())
}

/// A run that was stopped before its first sample, with a label and a title that contain markup.
fn no_samples() -> ReportInput {
    let mut validity = Validity::default();
    validity.add(ReasonCode::NoSamples, "");
    let mut run = wakeup(&plan("</script><script>alert(1)</script>", 2), validity);
    for series in &mut run.series {
        *series = Series { name: series.name.clone(), place: series.place.clone(), ..Series::default() };
    }
    run.worst.clear();
    run.verdict = None;
    input("<b>press</b> & co", None, vec![run])
}

fn no_intervals() -> ReportInput {
    let run = wakeup(&Plan { intervals: 0, duration_s: 10, ..plan("idle", 2) }, Validity::default());
    page("imported", Page::from_results(None, Results { runs: vec![run], findings: findings(), ..Results::default() }))
}

/// The length of OSADL's reference measurements: 100 million cycles of 200 us, 5 h 33 min; here on 16 CPUs.
fn long() -> ReportInput {
    let shape = Shape { tail_us: 1.6, ..LOADED };
    let run = wakeup(
        &Plan { interval_us: 200, duration_s: 20_000, intervals: 67, shape, ..plan("100 million cycles", 16) },
        Validity::default(),
    );
    input("rack-2 slot-9", None, vec![run])
}

fn findings() -> Vec<Finding> {
    let finding = |id: &str, severity, title: &str, evidence: &[(&str, &str)], why: &str, remedy: &[&str]| Finding {
        id: id.to_owned(),
        severity,
        title: title.to_owned(),
        evidence: evidence
            .iter()
            .map(|&(source, value)| Evidence { source: source.to_owned(), value: value.to_owned() })
            .collect(),
        why: why.to_owned(),
        remedy: remedy.iter().map(|&line| line.to_owned()).collect(),
    };
    vec![
        finding(
            "deep-idle-states",
            Severity::Problem,
            "CPU 2 enters an idle state that takes 133 us to leave",
            &[
                ("/sys/devices/system/cpu/cpu2/cpuidle/state3/latency", "133"),
                ("/sys/devices/system/cpu/cpu2/cpuidle/state3/disable", "0"),
            ],
            "A wake-up waits until the CPU has left its idle state; the deadline is 100 us.",
            &["punctual tune apply --only idle-states"],
        ),
        finding(
            "governor-not-performance",
            Severity::Warning,
            "The frequency governor is 'schedutil'",
            &[("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "schedutil")],
            "A CPU that has slept starts slow; the first code after a wake-up then takes several times as long.",
            &["cpupower frequency-set -g performance"],
        ),
        finding(
            "interrupts-on-isolated-cpu",
            Severity::Warning,
            "Interrupts of eth0 may run on CPU 2-3",
            &[("/proc/irq/126/smp_affinity_list", "0-3")],
            "Each interrupt takes the CPU from the real-time thread for some microseconds.",
            &["echo 0-1 > /proc/irq/126/smp_affinity_list"],
        ),
        finding(
            "kernel-preempt-rt",
            Severity::Note,
            "The kernel is built with PREEMPT_RT",
            &[("/sys/kernel/realtime", "1")],
            "Interrupt handlers and most locks can be preempted.",
            &[],
        ),
    ]
}

fn profile() -> serde_json::Value {
    serde_json::json!({
        "identity": { "hostname": "press-7", "model": "Congatec conga-SMX8", "cpu_model": "Intel Atom x6425E @ 1.90GHz" },
        "hardware": { "vendor": "Intel", "cpus": 4, "memory_bytes": 8_220_000_000_u64, "firmware": "1.4.2 (2025-08-11)" },
        "kernel": {
            "release": "6.12.48-rt13",
            "command_line": "quiet isolcpus=2-3 nohz_full=2-3 rcu_nocbs=2-3",
            "config": { "PREEMPT_RT": "y", "HZ": "1000", "NO_HZ_FULL": "y", "CPU_FREQ_DEFAULT_GOV_SCHEDUTIL": "y" }
        },
        "cpu": [
            { "cpu": 0, "governor": "schedutil", "min_khz": 800_000, "max_khz": 3_000_000 },
            { "cpu": 1, "governor": "schedutil", "min_khz": 800_000, "max_khz": 3_000_000 }
        ],
        "sched": { "rt_runtime_us": 950_000, "rt_period_us": 1_000_000 },
        "large": 18_446_744_073_709_551_615_u64
    })
}
