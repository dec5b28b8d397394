//! `punctual pulse shift` of a sweep: one capture of all its runs, of which one counts.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use pulse::sweep::{Answer, Claim, Conclusion, CycleConclusion, NeededLead, NodeCount};
use record::Record;
use serde_json::Value;
use summary::sweep::{SweepDocument, SweepRun, SweepStep};

use crate::pulse_shift::{Line, give_roles, is_long, vcd};
use crate::support::{code, punctual, said, stdout};

const MS: i64 = 1_000_000;
const WIDTH_NS: i64 = 100_000;
const MARK: u64 = 50;
const ORDERS: u64 = 1_000;

/// A run as a capture shows it: when its first order is, its cycle, and how much later c is than b (ns).
#[derive(Clone, Copy)]
struct Shown {
    step: SweepStep,
    begin_ns: i64,
    cycle_ns: i64,
    late_ns: i64,
}

const fn shown(step: SweepStep, begin_ms: i64, cycle_ms: i64, late_us: i64) -> Shown {
    Shown { step, begin_ns: begin_ms * MS, cycle_ns: cycle_ms * MS, late_ns: late_us * 1_000 }
}

/// Two cycles, one twice the other: each is explored twice, and then confirmed.
const RUNS: [Shown; 6] = [
    shown(SweepStep::Explore, 20, 1, 11),
    shown(SweepStep::Explore, 3_000, 1, 12),
    shown(SweepStep::Confirm, 6_000, 1, 40),
    shown(SweepStep::Explore, 9_000, 2, 13),
    shown(SweepStep::Explore, 13_000, 2, 14),
    shown(SweepStep::Confirm, 17_000, 2, 70),
];

/// Both lines through all runs. Order 500 of a run is 20 us later than the others.
fn capture(runs: &[Shown]) -> String {
    let line = |name: &'static str, is_second: bool| {
        let pulses = runs.iter().flat_map(|run| {
            (0..ORDERS).flat_map(move |number| {
                let is_marked = run.step == SweepStep::Confirm;
                let late_ns = if number == 500 { run.late_ns + 20_000 } else { run.late_ns };
                let start_ns =
                    run.begin_ns + i64::try_from(number).unwrap() * run.cycle_ns + if is_second { late_ns } else { 0 };
                let width_ns = if is_marked && is_long(number, MARK) { 2 * WIDTH_NS } else { WIDTH_NS };
                [(start_ns, true), (start_ns + width_ns, false)]
            })
        });
        Line { name, edges: pulses.collect() }
    };
    vcd(&[line("D0", false), line("D1", true)])
}

/// A folder with a sweep whose runs are these, and a capture of them.
struct Swept {
    folder: tempfile::TempDir,
}

impl Swept {
    fn new(change: impl FnOnce(&mut SweepDocument)) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = Vec::new();
        for (number, run) in (1_u32..).zip(&RUNS) {
            let record = Self::record(number, run);
            let file = format!("{number:03}-{}.json", run.step.word());
            fs::write(folder.path().join(&file), record.to_json()).unwrap();
            runs.push(SweepRun {
                number,
                step: run.step,
                cycle_ns: run.cycle_ns.unsigned_abs(),
                lead_ns: 400_000,
                record: record.id,
                file: Some(file),
            });
        }
        let conclusion = Conclusion {
            cycles: RUNS.iter().filter(|run| run.step == SweepStep::Confirm).map(|run| held(run.cycle_ns)).collect(),
            max_miss: 0.01,
            alpha: 0.01,
            alpha_spent: 0.0075,
            spent_ns: 9_000_000_000,
            nodes: 2,
            load: "none".to_owned(),
        };
        let mut document = SweepDocument::new("It holds.".to_owned(), conclusion, runs);
        change(&mut document);
        fs::write(folder.path().join("sweep.json"), serde_json::to_string(&document).unwrap()).unwrap();
        fs::write(folder.path().join("all.vcd"), capture(&RUNS)).unwrap();
        Self { folder }
    }

    fn record(number: u32, run: &Shown) -> Record {
        let mut record = samples::pulses(|of| {
            of.mark = (run.step == SweepStep::Confirm).then_some(u32::try_from(MARK).unwrap());
            (of.interval_ns, of.lead_ns) = (run.cycle_ns.unsigned_abs(), 400_000);
            of.width_ns = WIDTH_NS.unsigned_abs();
            of.nodes[0].clock_ahead_ns = Some((-1_000, 1_000));
            of.nodes[1].clock_ahead_ns = Some((-run.late_ns - 1_000, -run.late_ns + 1_000));
        });
        record.id = format!("run {number}");
        give_roles(&mut record);
        record
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn shift(&self, run: &Path, more: &[&str]) -> Output {
        let mut command = punctual(&["pulse", "shift"]);
        command.arg(run).arg(self.path("all.vcd")).args(["--line", "b=D0", "--line", "c=D1"]).args(more);
        command.env("COLUMNS", "200").output().unwrap()
    }
}

fn held(cycle_ns: i64) -> CycleConclusion {
    let needed = NeededLead { p50_ns: 60_000, p99_ns: 60_000, p999_ns: 60_000, worst_ns: 310_000 };
    let claim = Claim {
        cycle_ns: cycle_ns.unsigned_abs(),
        lead_ns: 400_000,
        orders: ORDERS,
        time_ns: 1_000_000_000,
        alpha_spent: 0.005,
        miss_rate_below: 0.005,
        burst_interval_ns: 1,
        longest_burst: None,
        assumed_burst_misses: 1,
        miss_rate_below_in_bursts: 0.01,
        needed,
        nodes: vec![NodeCount::default(); 2],
        load: "none".to_owned(),
    };
    CycleConclusion {
        cycle_ns: cycle_ns.unsigned_abs(),
        answer: Answer::Holds(claim),
        explored: Vec::new(),
        phase_difference: None,
        attempts: Vec::new(),
    }
}

#[test]
fn of_a_capture_of_a_whole_sweep_the_marked_orders_that_confirmed_count_and_no_others() {
    let swept = Swept::new(|_| ());
    for (run, file, late_us) in [("", "003-confirm.json", 40), ("006-confirm.json", "006-confirm.json", 70)] {
        let path = if run.is_empty() { swept.folder.path().to_owned() } else { swept.path(run) };
        let output = swept.shift(&path, &["--json"]);
        assert_eq!(code(&output), 0, "{}", said(&output));
        assert!(output.stdout.ends_with(b"}\n"), "a shell's prompt stands on a line of its own");
        let shift: Value = serde_json::from_slice(&output.stdout).unwrap();
        let figures = &shift["pairs"][0]["figures"];
        assert_eq!(figures["orders"], ORDERS, "{run}: {shift}");
        let (least, most) = (&figures["min_ps"], &figures["max_ps"]);
        assert_eq!((least, most), (&(late_us * 1_000_000).into(), &((late_us + 20) * 1_000_000).into()), "{run}");
        assert_eq!((&shift["contradictions"], &figures["worst_order"]), (&serde_json::json!([]), &500.into()));
        assert_eq!(run.is_empty(), said(&output).contains(file), "{}", said(&output));
    }
}

#[test]
fn a_sweep_and_its_witness_make_one_page_with_both() {
    let swept = Swept::new(|_| ());
    let (shift, page) = (swept.path("shift.json"), swept.path("page.html"));
    let output = swept.shift(&swept.path("sweep.json"), &["-o", shift.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", said(&output));
    let made = punctual(&["report"]).arg(swept.folder.path()).arg("-o").arg(&page).output().unwrap();
    assert_eq!(code(&made), 0, "{}", said(&made));
    let html = fs::read_to_string(&page).unwrap();
    let data = html.split_once("id=\"data\">").unwrap().1.split_once("</script>").unwrap().0;
    let data: Value = serde_json::from_str(data).unwrap();
    let together = &data["page"]["together"];
    let ours = &together["shift_rows"][0];
    assert_eq!((&ours["min"], &ours["max"], &ours["mean"]), (&"40.0".into(), &"60.0".into(), &"40.0".into()), "{ours}");
    assert_eq!((&ours["interval"], &ours["lead"]), (&"1\u{202f}000".into(), &"400".into()));
    assert_eq!(together["sweeps"][0]["sentence"], "It holds.");
    let own = together["own_rows"].as_array().unwrap();
    assert_eq!(own.len(), 2 * 4, "two nodes and two latencies of each of two confirmations: {own:?}");
}

#[test]
fn of_a_lead_that_had_to_be_raised_two_runs_are_marked_and_none_of_them_is_guessed() {
    let swept = Swept::new(|_| ());
    let mut raised = RUNS.to_vec();
    raised.insert(2, shown(SweepStep::Confirm, 4_500, 1, 30));
    fs::write(swept.path("all.vcd"), capture(&raised)).unwrap();
    let output = swept.shift(swept.folder.path(), &[]);
    assert_eq!(code(&output), 3, "{}", said(&output));
    assert!(stdout(&output).contains("does the capture show two runs?"), "{}", said(&output));
    assert!(stdout(&output).ends_with(".\n"), "a shell's prompt stands on a line of its own");
}

#[test]
fn a_sweep_that_names_no_run_of_its_own_is_refused() {
    type Change = fn(&mut SweepDocument);
    let cases: [(Change, &str); 5] = [
        (|it| it.conclusion.cycles.clear(), "confirmed no lead"),
        (|it| it.runs.clear(), "does not say in which file"),
        (|it| it.runs[2].file = Some("../003-confirm.json".to_owned()), "which is no file beside it"),
        (|it| it.runs[2].file = Some("006-confirm.json".to_owned()), "is another run than the one"),
        (|it| it.version = 2, "it is version 2 of 'punctual/sweep'"),
    ];
    for (change, says) in cases {
        let swept = Swept::new(change);
        let output = swept.shift(swept.folder.path(), &[]);
        assert!(code(&output) == 2 && said(&output).contains(says), "{says}: {}", said(&output));
    }
    let swept = Swept::new(|_| ());
    fs::remove_file(swept.path("sweep.json")).unwrap();
    let output = swept.shift(swept.folder.path(), &[]);
    assert!(code(&output) == 2 && said(&output).contains("has no sweep.json"), "{}", said(&output));
}
