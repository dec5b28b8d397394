//! What `tail` may predict about the worst case of a future time span, and answer to claims.

use analysis::tail::{Claim, ClaimState, TailOptions, Watch, tail};
use record::{ReasonCode, Record};
use units::approx_f64;
use units::{Ns, Random};

use super::Case;
use crate::draw::{FIRST_CPU, Late, Plan, run, run_with};
use crate::outcome::{Concluded, Fault, Judgment};
use crate::truth::{Body, Disturbance, HOUR_NS, Process, SECOND_NS, Size, Timing};

const MINUTE_NS: u64 = 60 * SECOND_NS;
/// The share of outcomes that a prediction interval has to contain (0 to 1).
const LEVEL: f64 = 0.9;
/// An interval that reaches this many times beyond the true 95 % quantile contains nearly everything: it is no answer.
const WIDEST: f64 = 10.0;
/// Resamples of each fit: fewer than the command's default, since so many fits are made.
const RESAMPLES: u32 = 300;

/// The body alone, equal in every run.
fn body() -> Process {
    Process { between_runs: 0.0, ..Process::quiet() }
}

/// A run of four hours in intervals of a minute.
const FOUR_HOURS: Plan = Plan::pieces(240, MINUTE_NS);

fn options(horizon_ns: u64, claim: Option<Claim>) -> TailOptions {
    TailOptions { horizons_ns: vec![horizon_ns], level: LEVEL, resamples: RESAMPLES, claim, ..TailOptions::default() }
}

/// Predicts the worst case of a future time span and compares it with an outcome drawn from the truth.
fn predict(record: &Record, truth: &Process, horizon_ns: u64, random: &mut Random) -> Concluded {
    let found = match tail(&[record], &options(horizon_ns, None)) {
        Ok(found) => found,
        Err(error) => return Concluded::new(Judgment::Refused, error.to_string()),
    };
    let expectation = &found.expectations[0];
    let Some(worst) = expectation.worst else {
        let why = expectation.refusal.as_ref().map_or_else(String::new, |refusal| refusal.reason.clone());
        return Concluded::new(Judgment::Refused, why);
    };
    let outcome_ns = truth.limit_with_chance(random.unit(), horizon_ns, FOUR_HOURS.interval_ns);
    let text = format!(
        "{:?}: {:.1} us, {:.1} to {:.1}; the outcome was {:.1} us",
        expectation.basis,
        worst.typical_ns / 1e3,
        worst.low_ns / 1e3,
        worst.high_ns / 1e3,
        outcome_ns / 1e3
    );
    let is_covered = (worst.low_ns..=worst.high_ns).contains(&outcome_ns);
    let is_answer = worst.high_ns <= WIDEST * truth.limit_with_chance(0.05, horizon_ns, FOUR_HOURS.interval_ns);
    let judgment = match (is_covered, is_answer) {
        (false, _) => Judgment::Wrong(Fault::NotCovered),
        (true, false) => Judgment::Refused,
        (true, true) => Judgment::Right,
    };
    Concluded::new(judgment, text)
}

/// A process that continues unchanged, predicted for ten times as long as the run.
fn steady(name: &'static str, process: impl Fn(&mut Random) -> Process + 'static) -> Case {
    Case::answerable(name, move |random| {
        let process = process(random);
        let record = run(&process, &FOUR_HOURS.explained(), random);
        predict(&record, &process, 40 * HOUR_NS, random)
    })
    .at_level(1.0 - LEVEL)
}

/// A case that has to be refused; if it is answered nevertheless, the interval must contain the outcome.
fn unsound(name: &'static str, draw: impl Fn(&mut Random) -> (Record, Process) + 'static) -> Case {
    Case::open(name, move |random| {
        let (record, future) = draw(random);
        let concluded = predict(&record, &future, 40 * HOUR_NS, random);
        let judgment = if concluded.judgment == Judgment::Refused { Judgment::Right } else { concluded.judgment };
        Concluded { judgment, ..concluded }
    })
    .at_level(1.0 - LEVEL)
}

/// A disturbance that keeps growing by this share of its size an hour. The outcome cannot be predicted, and an interval
/// that does not contain it is wrong.
fn growing(name: &'static str, each_hour: impl Fn(&mut Random) -> f64 + 'static) -> Case {
    Case::open(name, move |random| {
        let (record, future, _) = grown(each_hour(random), random);
        let concluded = predict(&record, &future, 40 * HOUR_NS, random);
        let judgment = match concluded.judgment {
            Judgment::Refused => Judgment::Right,
            Judgment::Wrong(Fault::NotCovered) => Judgment::Wrong(Fault::FalseShown),
            other => other,
        };
        Concluded { judgment, ..concluded }
    })
}

/// Four hours of a disturbance that grows by this share of its size an hour, its process in the 40 hours that follow,
/// and the bound of its delays at the end of the run (ns).
fn grown(each_hour: f64, random: &mut Random) -> (Record, Process, f64) {
    let mut grows = Disturbance::bounded("irq/24-eth0", 120.0, 50.0, 60.0);
    grows.growth_per_hour = each_hour;
    let record = run(&body().with(grows), &FOUR_HOURS, random);
    let [at_end, at_last] = [4.0, 44.0].map(|hours| 1.0 + each_hour * hours);
    // The worst case comes from the last of these hours, when the disturbance is largest.
    let last = Disturbance::bounded("irq/24-eth0", 3.0, 50.0 * at_last, 60.0 * at_last);
    (record, body().with(last), 60_000.0 * at_end)
}

/// A claim that has held so far, about a disturbance that grows beyond the limit: it may be refused but not called
/// shown.
fn outgrown(each_hour: f64) -> impl Fn(&mut Random) -> Concluded {
    move |random| {
        let (record, _, so_far_ns) = grown(each_hour, random);
        let claim = claim(1.15 * so_far_ns, 4 * HOUR_NS, 0.9);
        match tail(&[&record], &options(claim.horizon_ns, Some(claim))) {
            Ok(found) => {
                let answer = found.claim.expect("a claim was made");
                judge_refusal(answer.state, &answer.sentence)
            }
            Err(error) => Concluded::new(Judgment::Right, error.to_string()),
        }
    }
}

/// Judges the answer to a false claim that nothing in the run can break: only a refusal is right.
fn judge_refusal(state: ClaimState, sentence: &str) -> Concluded {
    let judgment = match state {
        ClaimState::Shown => Judgment::Wrong(Fault::FalseShown),
        ClaimState::Broken => Judgment::Wrong(Fault::FalseBroken),
        ClaimState::NeedsMore | ClaimState::NotShown | ClaimState::CannotBeTold => Judgment::Right,
    };
    Concluded::new(judgment, sentence)
}

/// Judges the answer to a claim about an invalid run.
fn judge_invalid_run(record: &Record) -> Concluded {
    let found = tail(&[record], &options(HOUR_NS, Some(claim(100_000.0, HOUR_NS, 0.9))));
    let answer = found.ok().and_then(|found| found.claim);
    let state = answer.as_ref().map_or(ClaimState::CannotBeTold, |answer| answer.state);
    let judgment = match state {
        ClaimState::Shown => Judgment::Wrong(Fault::FalseShown),
        ClaimState::Broken => Judgment::Wrong(Fault::FalseBroken),
        // More hours of an invalid run would show nothing either.
        ClaimState::NeedsMore | ClaimState::NotShown => Judgment::Wrong(Fault::WrongAdvice),
        ClaimState::CannotBeTold => Judgment::Right,
    };
    Concluded::new(judgment, answer.map_or_else(String::new, |answer| answer.sentence))
}

fn claim(limit_ns: f64, horizon_ns: u64, confidence: f64) -> Claim {
    Claim { limit_ns: units::round_u64(limit_ns), horizon_ns, confidence }
}

/// Compares the answer to a claim with the truth.
fn judge_claim(state: ClaimState, is_true: bool, sentence: &str) -> Concluded {
    let judgment = match (state, is_true) {
        (ClaimState::Shown, true) | (ClaimState::Broken, false) => Judgment::Right,
        (ClaimState::Shown, false) => Judgment::Wrong(Fault::FalseShown),
        (ClaimState::Broken, true) => Judgment::Wrong(Fault::FalseBroken),
        _ => Judgment::Refused,
    };
    Concluded::new(judgment, sentence)
}

/// A claim whose limit is exceeded `times` as often as the claim allows.
fn claimed(times: f64, confidence: f64, hours: u64, plan: Plan) -> impl Fn(&mut Random) -> Concluded {
    move |random| {
        let process = disturbed(random);
        let horizon_ns = hours * HOUR_NS;
        let limit_ns = process.limit_with_chance(times * (1.0 - confidence), horizon_ns, plan.interval_ns);
        let record = run(&process, &plan, random);
        let claim = claim(limit_ns, horizon_ns, confidence);
        match tail(&[&record], &options(horizon_ns, Some(claim))) {
            Ok(found) => {
                let answer = found.claim.expect("a claim was made");
                judge_claim(answer.state, times <= 1.0, &answer.sentence)
            }
            Err(error) => Concluded::new(Judgment::Refused, error.to_string()),
        }
    }
}

/// The same claim, checked repeatedly during the run until it is decided.
fn watched(times: f64, confidence: f64) -> impl Fn(&mut Random) -> Concluded {
    move |random| {
        let process = disturbed(random);
        let limit_ns = process.limit_with_chance(times * (1.0 - confidence), HOUR_NS, FOUR_HOURS.interval_ns);
        let record = run(&process, &Plan::pieces(480, MINUTE_NS), random);
        let intervals = &record.series[0].intervals;
        let mut watch = Watch::new(claim(limit_ns, HOUR_NS, confidence));
        let mut worst_ns = 0;
        for (count, interval) in (1..).zip(intervals) {
            worst_ns = worst_ns.max(interval.histogram.max_ns().unwrap_or(0));
            if watch.look(&[&intervals[..count]], worst_ns) {
                break;
            }
        }
        match watch.decided() {
            Some(answer) => judge_claim(answer.state, times <= 1.0, &answer.sentence),
            None => Concluded::new(Judgment::Refused, "not decided"),
        }
    }
}

/// Delays of up to 60 us, several an hour: the process that claims are about.
fn disturbed(random: &mut Random) -> Process {
    let per_hour = 5.0 + 20.0 * random.unit();
    body().with(Disturbance::bounded("irq/24-eth0", per_hour, 10.0, 60.0))
}

/// Joins two runs: the second continues where the first ended.
fn joined(mut first: Record, second: &Record) -> Record {
    let offset_ns = first.series[0].intervals.last().map_or(0, |last| last.start_offset_ns + last.length_ns);
    for interval in &second.series[0].intervals {
        let mut interval = interval.clone();
        interval.start_offset_ns += offset_ns;
        first.series[0].intervals.push(interval);
    }
    first.series[0].histogram.merge(&second.series[0].histogram);
    first.series[0].counters.samples += second.series[0].counters.samples;
    first.manifest_mut().ended.monotonic =
        first.manifest().ended.monotonic.plus(Ns(second.manifest().ended.monotonic.as_ns()));
    first
}

pub(super) fn cases() -> Vec<Case> {
    let mut cases = processes();
    cases.extend(claims());
    cases
}

fn processes() -> Vec<Case> {
    vec![
        steady("the body alone", |_| body()),
        steady("a disturbance that ends abruptly, about once an interval", |random| {
            let low_us = 100.0 + 100.0 * random.unit();
            body().with(Disturbance::bounded("irq/24-eth0", 40.0 + 80.0 * random.unit(), low_us, low_us + 6.0))
        }),
        steady("two disturbances that end abruptly", |random| {
            let often = Disturbance::bounded("irq/24-eth0", 120.0 + 200.0 * random.unit(), 40.0, 60.0);
            body().with(often).with(Disturbance::bounded("irq/30-sda", 20.0 + 40.0 * random.unit(), 150.0, 160.0))
        }),
        steady("exponential delays, many in an interval", |random| {
            let mean_ns = 3_000.0 + 4_000.0 * random.unit();
            let size = Size::Exponential { from_ns: 0.0, mean_ns };
            body().with(Disturbance::random("softirq", record::CauseClass::Softirq, 6_000.0, size))
        }),
        steady("a periodic disturbance, every two to five minutes", |random| {
            let mut regular = Disturbance::bounded("cron", 1.0, 60.0, 90.0);
            let period_ns = units::round_u64((120.0 + 180.0 * random.unit()) * approx_f64(SECOND_NS));
            regular.timing = Timing::Periodic { period_ns, seen: 0.8 };
            body().with(regular)
        }),
        unsound("a heavy tail", |random| {
            let size = Size::Pareto { from_ns: 0.0, scale_ns: 3_000.0, shape: 0.5 + 0.4 * random.unit() };
            let process = body().with(Disturbance::random("x", record::CauseClass::Unknown, 3_000.0, size));
            (run(&process, &FOUR_HOURS, random), process)
        }),
        growing("a disturbance that grows", |random| 0.3 + 0.3 * random.unit()),
        growing("a disturbance that grows slowly", |random| 0.03 + 0.05 * random.unit()),
        growing("a disturbance that grows fast", |random| 2.0 + 2.0 * random.unit()),
        unsound("the machine changed in the middle", |random| {
            let worse = body().shifted(12_000.0).with(Disturbance::bounded("irq/24-eth0", 120.0, 60.0, 80.0));
            let two_hours = Plan::pieces(120, MINUTE_NS);
            let record = joined(run(&body(), &two_hours, random), &run(&worse, &two_hours, random));
            (record, worse)
        }),
        unsound("a disturbance that occurred once", |random| {
            let mut record = run(&body(), &FOUR_HOURS, random);
            let at = random.below(record.series[0].intervals.len());
            let once_ns = 300_000 + units::round_u64(600_000.0 * random.unit());
            record.series[0].intervals[at].histogram.record_n(once_ns, 1);
            record.series[0].histogram.record_n(once_ns, 1);
            (record, body().with(Disturbance::bounded("cron", 0.25, 300.0, 900.0)))
        }),
        Case::answerable("a prediction for less time than most of the run's parts", |random| {
            let process = Process { body: Body { median_ns: 30_000.0, spread: 0.05 }, ..body() }
                .with(Disturbance::bounded("irq/24-eth0", 40.0, 100.0, 110.0));
            let record = run(&process, &FOUR_HOURS, random);
            predict(&record, &process, 30 * MINUTE_NS, random)
        })
        .at_level(1.0 - LEVEL),
        Case::open("ten intervals, and a prediction for ten thousand times as long", |random| {
            let process = disturbed(random);
            let record = run(&process, &Plan::pieces(10, MINUTE_NS), random);
            predict(&record, &process, 100_000 * MINUTE_NS, random)
        })
        .at_level(1.0 - LEVEL),
    ]
}

fn claims() -> Vec<Case> {
    vec![
        Case::answerable("a claim with a wide margin", claimed(0.001, 0.9, 1, Plan::pieces(4_800, MINUTE_NS))),
        Case::answerable("a claim that is exceeded nearly every time", claimed(9.0, 0.9, 1, FOUR_HOURS)),
        Case::open("a claim that is just true", claimed(0.8, 0.9, 1, Plan::pieces(1_200, MINUTE_NS))),
        Case::open("a claim that is just false", claimed(1.25, 0.9, 1, Plan::pieces(1_200, MINUTE_NS))),
        Case::open("a claim at 99 % that is just true", claimed(0.8, 0.99, 1, Plan::pieces(2_400, MINUTE_NS))),
        Case::open("a claim at 99 % that is just false", claimed(1.25, 0.99, 1, Plan::pieces(2_400, MINUTE_NS))),
        Case::open("a claim that is just true, checked until it is decided", watched(0.8, 0.9)),
        Case::open("a claim that is just false, checked until it is decided", watched(1.25, 0.9)),
        Case::open("a claim that is false by a factor of four, checked until it is decided", watched(4.0, 0.9)),
        Case::open("a limit of days that is exceeded once in a year, which the claim allows", |random| {
            let rare = Disturbance::bounded("cron", 1.0 / (365.0 * 24.0), 40.0, 60.0);
            let process = body().with(rare);
            let plan = Plan::pieces(365 * 24, HOUR_NS);
            let mut record = run(&process, &plan, random);
            // Exactly once in this year.
            record.series[0].histogram.record_n(43_000, 1);
            record.series[0].intervals[4_000].histogram.record_n(43_000, 1);
            let day_ns = 24 * HOUR_NS;
            let claim = claim(42_000.0, day_ns, 0.99);
            let is_true = process.chance_beyond(42_000.0, day_ns, plan.interval_ns) < 0.01;
            match tail(&[&record], &options(day_ns, Some(claim))) {
                Ok(found) => {
                    let answer = found.claim.expect("a claim was made");
                    judge_claim(answer.state, is_true, &answer.sentence)
                }
                Err(error) => Concluded::new(Judgment::Refused, error.to_string()),
            }
        }),
        Case::open("a claim that holds so far, about a growing disturbance", outgrown(0.5)),
        Case::open("a claim that holds so far, about a slowly growing disturbance", outgrown(0.08)),
        Case::open("a claim that holds so far, about a fast growing disturbance", outgrown(3.0)),
        Case::open("a claim that stops by SIGSTOP would break", |random| {
            let stop = |number: u64| Late {
                cpu: FIRST_CPU,
                at_ns: 5 * number * MINUTE_NS,
                latency_ns: 501_000_000,
                cause: None,
            };
            let stops: Vec<Late> = (1..48).map(stop).collect();
            let mut record = run_with(&body(), &FOUR_HOURS, &stops, random);
            record.validity.add(ReasonCode::Stopped, "501 ms");
            judge_invalid_run(&record)
        }),
        Case::open("a claim about an invalid run", |random| {
            let mut record = run(&body(), &FOUR_HOURS, random);
            record.validity.add(ReasonCode::RtThrottled, "CPU 2");
            judge_invalid_run(&record)
        }),
    ]
}
