//! What `compare` has to conclude about two groups of runs, and how its gates have to end.

use analysis::compare::{
    CompareError, CompareOptions, Comparison, ComparisonState, Gate, GateAnswer, GateKind, GatePart, GateSize, Group,
    compare, gate,
};
use record::{LoadWindow, ReasonCode, Record};
use units::Random;

use super::Case;
use crate::draw::{Plan, run};
use crate::outcome::{Concluded, Fault, Judgment};
use crate::truth::{Disturbance, Process};

/// The rate at which a verdict may raise a false alarm, over all its rows; for a gate, one-sided.
const LEVEL: f64 = 0.05;
/// Bootstrap resamples of a comparison: fewer than the command's default, since so many comparisons are made.
const RESAMPLES: u32 = 1_000;
/// Runs of 20 s at 1 kHz.
const RUN: Plan = Plan::seconds(20);

/// The two groups that are compared.
struct Pair {
    a: Vec<Record>,
    b: Vec<Record>,
    options: CompareOptions,
}

impl Pair {
    /// Draws this many runs of each process.
    fn new(a: &Process, b: &Process, runs: usize, random: &mut Random) -> Self {
        Self::planned((a, RUN), (b, RUN), runs, random)
    }

    fn planned(a: (&Process, Plan), b: (&Process, Plan), runs: usize, random: &mut Random) -> Self {
        Self::with_sizes((a, runs), (b, runs), random)
    }

    /// Draws groups with these numbers of runs.
    fn with_sizes(
        (a, a_runs): ((&Process, Plan), usize),
        (b, b_runs): ((&Process, Plan), usize),
        random: &mut Random,
    ) -> Self {
        let options =
            CompareOptions { level: LEVEL, resamples: RESAMPLES, seed: random.next(), ..CompareOptions::default() };
        let mut group =
            |(process, plan): (&Process, Plan), runs| (0..runs).map(|_| run(process, &plan, random)).collect();
        Self { a: group(a, a_runs), b: group(b, b_runs), options }
    }

    fn groups(&self) -> [Group<'_>; 2] {
        [("a", &self.a), ("b", &self.b)]
            .map(|(name, runs)| Group { name: name.to_owned(), runs: runs.iter().collect() })
    }

    fn compare(&self) -> Comparison {
        let [a, b] = self.groups();
        compare(&a, &b, &self.options).expect("runs of one measurement can be compared")
    }

    /// The answer of a gate, and its reason.
    fn gate(&self, gate_: Gate) -> (GateAnswer, String) {
        let [a, b] = self.groups();
        let found = gate(&a, &b, &self.options, &gate_).expect("runs of one measurement can be compared");
        (found.answer, format!("{}: {}", found.question, found.reason))
    }
}

const fn fail_on(part: GatePart, us: Option<u64>) -> Gate {
    let size = match us {
        Some(us) => Some(GateSize::Ns(us * 1_000)),
        None => None,
    };
    Gate { kind: GateKind::FailOnWorse, part, size }
}

const fn pass_on_not_worse(us: u64) -> Gate {
    Gate { kind: GateKind::PassOnNotWorse, part: GatePart::WorstCase, size: Some(GateSize::Ns(us * 1_000)) }
}

/// A typical machine: delays of 20 to 40 us many times in a run.
fn usual() -> Process {
    Process { between_runs: 0.02, ..Process::quiet() }.with(Disturbance::bounded("irq/24-eth0", 6_000.0, 20.0, 40.0))
}

/// The same with stalls of 1 to 2.7 ms, as on a kernel without PREEMPT_RT.
fn stalling() -> Process {
    usual().with(Disturbance::bounded("kworker", 1_500.0, 1_000.0, 2_700.0))
}

/// The same with one such stall in three runs of 20 s.
fn seldom_stalling() -> Process {
    usual().with(Disturbance::bounded("kworker", 60.0, 1_000.0, 2_700.0))
}

/// For groups without a sample beyond the deadline of 5 ms: a state other than the `right` ones is a false alarm.
fn judge_within_deadline(a: &Process, b: &Process, right: &[ComparisonState], random: &mut Random) -> Concluded {
    let mut pair = Pair::new(a, b, 8, random);
    pair.options.deadline_ns = Some(5_000_000);
    let comparison = pair.compare();
    let judgment = match comparison.verdict.state {
        state if right.contains(&state) => Judgment::Right,
        ComparisonState::Invalid => Judgment::Refused,
        _ => Judgment::Wrong(Fault::FalseAlarm),
    };
    Concluded::new(judgment, comparison.verdict.reason)
}

/// For a real difference: another state is wrong if it says the opposite, and a refusal otherwise.
fn judge_state(comparison: &Comparison, right: ComparisonState) -> Concluded {
    use ComparisonState::{Better, BetterBody, Trade, Worse, WorseBody};
    let found = comparison.verdict.state;
    let judgment = match found {
        _ if found == right => Judgment::Right,
        // By chance the worst cases seem to differ too; the level allows that.
        Worse if right == WorseBody => Judgment::Wrong(Fault::FalseAlarm),
        Better if right == BetterBody => Judgment::Wrong(Fault::FalseAlarm),
        Worse | Better | Trade => Judgment::Wrong(Fault::WrongDirection),
        WorseBody if right == BetterBody || right == Better => Judgment::Wrong(Fault::WrongDirection),
        BetterBody if right == WorseBody || right == Worse => Judgment::Wrong(Fault::WrongDirection),
        _ => Judgment::Refused,
    };
    Concluded::new(judgment, format!("{found:?}: {}", comparison.verdict.reason))
}

/// Groups that cannot be compared: both the verdict and a gate must refuse.
fn judge_refused(pair: &Pair, is_right: fn(&CompareError) -> bool) -> Concluded {
    let [a, b] = pair.groups();
    let verdict = compare(&a, &b, &pair.options).map(|comparison| comparison.verdict.reason);
    let gated = gate(&a, &b, &pair.options, &fail_on(GatePart::WorstCase, None)).map(|found| found.reason);
    match (verdict, gated) {
        (Err(one), Err(other)) if is_right(&one) && is_right(&other) => {
            Concluded::new(Judgment::Right, one.to_string())
        }
        (one, other) => Concluded::new(Judgment::Wrong(Fault::FalsePass), format!("{one:?}; {other:?}")),
    }
}

fn differs(
    a: fn() -> Process,
    b: fn() -> Process,
    runs: usize,
    right: ComparisonState,
) -> impl Fn(&mut Random) -> Concluded {
    move |random| judge_state(&Pair::new(&a(), &b(), runs, random).compare(), right)
}

/// Both groups come from one process: any reported difference is a false alarm.
fn equal(process: fn() -> Process, runs: usize, deadline_us: Option<u64>) -> impl Fn(&mut Random) -> Concluded {
    move |random| {
        let mut pair = Pair::new(&process(), &process(), runs, random);
        pair.options.deadline_ns = deadline_us.map(|us| us * 1_000);
        let comparison = pair.compare();
        let is_quiet = comparison.verdict.state == ComparisonState::NoDifferenceShown;
        let judgment = if is_quiet { Judgment::Right } else { Judgment::Wrong(Fault::FalseAlarm) };
        Concluded::new(judgment, comparison.verdict.reason)
    }
}

/// A gate whose right answer is known. Being inconclusive is a refusal; any other answer is `fault`.
fn gated(
    a: fn() -> Process,
    b: fn() -> Process,
    runs: usize,
    question: Gate,
    right: GateAnswer,
    fault: Fault,
) -> impl Fn(&mut Random) -> Concluded {
    move |random| {
        let (answer, reason) = Pair::new(&a(), &b(), runs, random).gate(question);
        let judgment = match answer {
            answer if answer == right => Judgment::Right,
            GateAnswer::CannotTell => Judgment::Refused,
            GateAnswer::Holds | GateAnswer::Broken => Judgment::Wrong(fault),
        };
        Concluded::new(judgment, format!("{answer}: {reason}"))
    }
}

fn body_worse() -> Process {
    stalling().shifted(4_000.0)
}

fn by_200_us_worse() -> Process {
    Process { between_runs: 0.02, ..Process::quiet() }.with(Disturbance::bounded("irq/24-eth0", 6_000.0, 220.0, 240.0))
}

fn by_50_us_worse() -> Process {
    Process { between_runs: 0.02, ..Process::quiet() }.with(Disturbance::bounded("irq/24-eth0", 6_000.0, 70.0, 90.0))
}

/// Exceeds 100 us many times in a run.
fn often_beyond() -> Process {
    usual().with(Disturbance::bounded("kworker", 10_000.0, 150.0, 400.0))
}

/// The same delays as [`often_beyond`], a few in a run.
fn seldom_beyond() -> Process {
    usual().with(Disturbance::bounded("kworker", 700.0, 150.0, 400.0))
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = verdicts();
    cases.extend(gates());
    cases
}

fn verdicts() -> Vec<Case> {
    use ComparisonState::{
        Better, BetterBody, Elsewhere, Invalid, NoDifferenceShown, NotBeyondMargin, Trade, Worse, WorseBody,
    };
    vec![
        Case::open("equal, four and four", equal(usual, 4, None)).at_level(LEVEL),
        Case::open("equal, eight and eight", equal(stalling, 8, None)).at_level(LEVEL),
        Case::open(
            "equal, eight and eight, runs that vary much",
            equal(|| Process { between_runs: 0.15, ..stalling() }, 8, None),
        )
        .at_level(LEVEL),
        Case::open("equal rates beyond a deadline, eight and eight", equal(often_beyond, 8, Some(100))).at_level(LEVEL),
        Case::answerable(
            "worst case 2.7 ms against 48 us, median 0.3 us higher",
            differs(stalling, || usual().shifted(300.0), 8, Better),
        ),
        Case::answerable("the same with the groups swapped", differs(|| usual().shifted(300.0), stalling, 8, Worse)),
        Case::answerable("four and four, maxima that do not overlap", differs(stalling, usual, 4, Better)),
        Case::answerable(
            "worst case far better, body 4 us worse",
            differs(stalling, || usual().shifted(4_000.0), 8, Trade),
        ),
        Case::answerable(
            "worst case far worse, body 4 us better",
            differs(|| usual().shifted(4_000.0), stalling, 8, Trade),
        ),
        Case::answerable("body 4 us worse, the same stalls", differs(stalling, body_worse, 8, WorseBody))
            .at_level(LEVEL),
        Case::answerable("body 4 us better, the same stalls", differs(body_worse, stalling, 8, BetterBody))
            .at_level(LEVEL),
        Case::answerable("fewer beyond the deadline, delays of the same size", |random| {
            let mut pair = Pair::new(&often_beyond(), &seldom_beyond(), 8, random);
            pair.options.deadline_ns = Some(100_000);
            judge_state(&pair.compare(), Better)
        }),
        Case::open("stalls that skip schedules, all within the deadline", |random| {
            // Eight stalls a run of 20 s lift its p99.9, which leaves twenty samples above it: that difference is real.
            judge_within_deadline(&usual(), &stalling(), &[NotBeyondMargin, NoDifferenceShown, WorseBody], random)
        })
        .at_level(LEVEL),
        Case::open("stalls that skip schedules, too seldom to lift p99.9, all within the deadline", |random| {
            judge_within_deadline(&usual(), &seldom_stalling(), &[NotBeyondMargin, NoDifferenceShown], random)
        })
        .at_level(LEVEL),
        Case::open("three and three, maxima that do not overlap", differs(stalling, usual, 3, Better)),
        Case::open("equal, but one side ran ten times as long", |random| {
            let process = Process::quiet().with(Disturbance::bounded("irq/24-eth0", 180.0, 20.0, 400.0));
            let comparison = Pair::planned((&process, RUN), (&process, Plan::seconds(200)), 8, random).compare();
            let judgment = match comparison.verdict.state {
                Worse | Better | Trade | WorseBody | BetterBody | Elsewhere => Judgment::Wrong(Fault::FalseAlarm),
                NotBeyondMargin | NoDifferenceShown | Invalid => Judgment::Right,
            };
            Concluded::new(judgment, comparison.verdict.reason)
        })
        .at_level(LEVEL),
        Case::open("equal rates beyond a deadline, but one side ran ten times as long", |random| {
            // Most short runs have no sample beyond the deadline; few long runs have none.
            let process = Process::quiet().with(Disturbance::bounded("kworker", 40.0, 150.0, 400.0));
            let mut pair = Pair::planned((&process, RUN), (&process, Plan::seconds(200)), 8, random);
            pair.options.deadline_ns = Some(100_000);
            let comparison = pair.compare();
            let judgment = match comparison.verdict.state {
                Worse | Better | Trade | WorseBody | BetterBody | Elsewhere => Judgment::Wrong(Fault::FalseAlarm),
                NotBeyondMargin | NoDifferenceShown | Invalid => Judgment::Right,
            };
            Concluded::new(judgment, comparison.verdict.reason)
        })
        .at_level(LEVEL),
        Case::answerable("fewer beyond the deadline, and ten times as long", |random| {
            let longer = (&seldom_beyond(), Plan::seconds(200));
            let mut pair = Pair::planned((&often_beyond(), RUN), longer, 8, random);
            pair.options.deadline_ns = Some(100_000);
            judge_state(&pair.compare(), Better)
        }),
        Case::open("equal, four and nine", |random| {
            let process = (&stalling(), RUN);
            let comparison = Pair::with_sizes((process, 4), (process, 9), random).compare();
            let is_quiet = comparison.verdict.state == NoDifferenceShown;
            let judgment = if is_quiet { Judgment::Right } else { Judgment::Wrong(Fault::FalseAlarm) };
            Concluded::new(judgment, comparison.verdict.reason)
        })
        .at_level(LEVEL),
        Case::answerable("four and nine, worst case far better", |random| {
            let pair = Pair::with_sizes(((&stalling(), RUN), 4), ((&usual(), RUN), 9), random);
            judge_state(&pair.compare(), Better)
        }),
        Case::open("the same run is named twice on one side", |random| {
            let mut pair = Pair::new(&stalling(), &usual(), 4, random);
            let again = pair.b[random.below(4)].clone();
            pair.b.push(again);
            judge_refused(&pair, |error| matches!(error, CompareError::RepeatedRun(_)))
        }),
        Case::open("the same run is named on both sides", |random| {
            let mut pair = Pair::new(&stalling(), &usual(), 4, random);
            let again = pair.a[random.below(4)].clone();
            pair.b.push(again);
            judge_refused(&pair, |error| matches!(error, CompareError::SameRun(_)))
        }),
        Case::open("one run is invalid", |random| {
            let mut pair = Pair::new(&stalling(), &usual(), 8, random);
            pair.b[3].validity.add(ReasonCode::RtThrottled, "CPU 2");
            let comparison = pair.compare();
            let is_invalid = comparison.verdict.state == Invalid;
            let judgment = if is_invalid { Judgment::Right } else { Judgment::Wrong(Fault::FalsePass) };
            Concluded::new(judgment, comparison.verdict.reason)
        }),
    ]
}

/// The windows of a load whose parts run one after the other, over a run of this length (ns).
fn windows_in_turn(length_ns: i64) -> Vec<LoadWindow> {
    let parts = ["memory", "scheduler", "network"];
    let each_ns = length_ns / 3;
    let window = |(turn, name): (i64, &str)| LoadWindow {
        parts: vec![name.to_owned()],
        start_monotonic_ns: turn * each_ns,
        end_monotonic_ns: (turn + 1) * each_ns,
        ..LoadWindow::default()
    };
    (0..).zip(parts).map(window).collect()
}

fn gates() -> Vec<Case> {
    use GateAnswer::{Broken, CannotTell, Holds};
    vec![
        Case::open(
            "--fail-on worse:20us, one run against one seven times worse",
            gated(usual, by_200_us_worse, 1, fail_on(GatePart::WorstCase, Some(20)), Broken, Fault::FalsePass),
        ),
        Case::answerable(
            "--fail-on worse:20us, worst case milliseconds worse",
            gated(usual, stalling, 8, fail_on(GatePart::WorstCase, Some(20)), Broken, Fault::FalsePass),
        ),
        Case::answerable(
            "--fail-on worse:20us, four and four, maxima that do not overlap",
            gated(usual, stalling, 4, fail_on(GatePart::WorstCase, Some(20)), Broken, Fault::FalsePass),
        ),
        Case::answerable(
            "--fail-on worse, worst case far better",
            gated(
                stalling,
                || usual().shifted(300.0),
                8,
                fail_on(GatePart::WorstCase, None),
                Holds,
                Fault::FalseBroken,
            ),
        ),
        Case::open(
            "--fail-on worse, equal",
            gated(stalling, stalling, 8, fail_on(GatePart::WorstCase, None), Holds, Fault::FalseAlarm),
        )
        .at_level(LEVEL),
        Case::open(
            "--fail-on worse, three and three, far worse",
            gated(usual, stalling, 3, fail_on(GatePart::WorstCase, None), Broken, Fault::FalsePass),
        ),
        Case::answerable(
            "--fail-on worse-body, body 4 us worse",
            gated(stalling, body_worse, 8, fail_on(GatePart::Body, None), Broken, Fault::FalsePass),
        ),
        Case::open(
            "--fail-on worse-body, equal",
            gated(stalling, stalling, 8, fail_on(GatePart::Body, None), Holds, Fault::FalseAlarm),
        )
        .at_level(LEVEL),
        Case::answerable(
            "--pass-on not-worse:50us, equal and steady",
            gated(usual, usual, 10, pass_on_not_worse(50), Holds, Fault::FalseBroken),
        ),
        Case::open(
            "--pass-on not-worse:50us, 200 us worse",
            gated(usual, by_200_us_worse, 10, pass_on_not_worse(50), Broken, Fault::FalsePass),
        ),
        Case::open("--pass-on not-worse:50us, worse by exactly that", |random| {
            let (answer, reason) = Pair::new(&usual(), &by_50_us_worse(), 10, random).gate(pass_on_not_worse(50));
            let judgment = if answer == Holds { Judgment::Wrong(Fault::FalseAlarm) } else { Judgment::Right };
            Concluded::new(judgment, format!("{answer}: {reason}"))
        })
        .at_level(LEVEL),
        Case::open("--fail-on worse, the parts of a load one after the other against all together", |random| {
            let hard = RUN.under("hard");
            let mut pair = Pair::planned((&stalling(), hard), (&usual(), hard), 8, random);
            for run in &mut pair.b {
                run.manifest_mut().load.windows = windows_in_turn(run.manifest().ended.monotonic.as_ns());
            }
            let (answer, reason) = pair.gate(fail_on(GatePart::WorstCase, None));
            let is_refused = answer == CannotTell && reason.contains("one after the other");
            let judgment = if is_refused { Judgment::Right } else { Judgment::Wrong(Fault::FalsePass) };
            Concluded::new(judgment, format!("{answer}: {reason}"))
        }),
        Case::open("--fail-on worse, under different loads", |random| {
            let pair = Pair::planned((&usual(), RUN.under("paper")), (&stalling(), RUN.under("hard")), 8, random);
            let (answer, reason) = pair.gate(fail_on(GatePart::WorstCase, None));
            let judgment = if answer == CannotTell { Judgment::Right } else { Judgment::Wrong(Fault::FalsePass) };
            Concluded::new(judgment, format!("{answer}: {reason}"))
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The latency (ns) that one wake-up of a thousand exceeds, at 1 kHz.
    fn p999_ns(process: &Process) -> f64 {
        let (mut low, mut high) = (1_000.0_f64, 10_000_000.0_f64);
        for _ in 0..100 {
            let middle = (low * high).sqrt();
            // One second has a thousand wake-ups: on average one of them exceeds the limit.
            let beyond = -(1.0 - process.chance_beyond(middle, 1_000_000_000, 1_000_000)).ln();
            if beyond > 1.0 { low = middle } else { high = middle }
        }
        high
    }

    #[test]
    fn the_truth_of_the_stalls_that_skip_schedules_is_that_of_their_processes() {
        const MARGIN_NS: f64 = 1_000.0;
        let usual = p999_ns(&usual());
        let (often, seldom) = (p999_ns(&stalling()) - usual, p999_ns(&seldom_stalling()) - usual);
        assert!(often > 2.0 * MARGIN_NS, "a difference that may be shown: {often} ns");
        assert!(seldom < MARGIN_NS / 2.0, "no difference to be shown: {seldom} ns");
    }
}
