//! Draws records of runs from a simulated process.

use record::{
    CauseTotal, ExplainedSample, Explanation, Histogram, Interval, Measurement, Moment, Owner, ReasonCode, Record,
    Series, ToolVersion, WorstSample,
};
use units::Random;
use units::{Timestamp, approx_f64, round_u64};

use crate::synthetic::SyntheticRun;
use crate::truth::{Process, SECOND_NS};

/// The first measured CPU of simulated runs; the others follow it.
pub(crate) const FIRST_CPU: u32 = 2;
/// Up to this many wake-ups of an interval are drawn individually. In longer intervals only the highest are; the rest
/// lie at quantiles of the body.
const DRAWN_ONE_BY_ONE: u64 = 400;
/// How many of the highest wake-ups of a long interval are drawn individually.
const DRAWN_HIGHEST: u64 = 12;
/// Number of quantiles for the lower three quarters of the rest.
const BODY_PARTS: u64 = 12;
/// Number of quantiles for each half of what lies above. With coarser ones the p99 of a long run would lie below that
/// of a short run of the same process.
const UPPER_PARTS: u64 = 4;
/// A remainder of at most this many wake-ups is not halved further.
const LEAST_HALVED: u64 = 8;
/// The number of worst samples in a record.
const WORST: usize = 64;

/// Length, CPUs and conditions of a simulated run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan {
    /// Number of measured CPUs, with one thread on each.
    pub(crate) cpus: u32,
    /// Period of the wake-ups (ns).
    pub(crate) interval_ns: u64,
    /// Requested duration (ns).
    pub(crate) asked_ns: u64,
    /// Actual duration (ns); shorter than requested if the run was ended early.
    pub(crate) took_ns: u64,
    /// Length of the record's intervals (ns).
    pub(crate) piece_ns: u64,
    /// Deadline (ns).
    pub(crate) deadline_ns: Option<u64>,
    /// The name of the load, or `none`.
    pub(crate) load: &'static str,
    /// Whether the causes of late samples were recorded.
    pub(crate) explained: bool,
}

impl Plan {
    /// A run of this many seconds at 1 kHz on one CPU, in sixty intervals.
    pub(crate) const fn seconds(seconds: u64) -> Self {
        let asked_ns = seconds * SECOND_NS;
        Self {
            cpus: 1,
            interval_ns: 1_000_000,
            asked_ns,
            took_ns: asked_ns,
            piece_ns: asked_ns / 60,
            deadline_ns: None,
            load: "none",
            explained: false,
        }
    }

    /// A run of this many intervals of this length (ns) at 1 kHz.
    pub(crate) const fn pieces(count: u64, piece_ns: u64) -> Self {
        let asked_ns = count * piece_ns;
        Self { asked_ns, took_ns: asked_ns, piece_ns, ..Self::seconds(60) }
    }

    pub(crate) const fn under(self, load: &'static str) -> Self {
        Self { load, ..self }
    }

    pub(crate) const fn on(self, cpus: u32) -> Self {
        Self { cpus, ..self }
    }

    pub(crate) const fn explained(self) -> Self {
        Self { explained: true, ..self }
    }

    pub(crate) const fn with_deadline(self, deadline_ns: u64) -> Self {
        Self { deadline_ns: Some(deadline_ns), ..self }
    }

    /// Ended after this time (ns).
    pub(crate) const fn ended_after(self, took_ns: u64) -> Self {
        Self { took_ns, ..self }
    }

    fn synthetic(&self) -> SyntheticRun<'static> {
        SyntheticRun {
            started: moment(0),
            first_cpu: FIRST_CPU,
            cpus: self.cpus,
            first_tid: 1_000,
            interval_ns: self.interval_ns,
            asked_ns: self.asked_ns,
            took_ns: self.took_ns,
            deadline_ns: self.deadline_ns,
            load: self.load,
        }
    }
}

/// A late wake-up whose cause is known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Late {
    pub(crate) cpu: u32,
    /// The scheduled moment (ns from the run's start).
    pub(crate) at_ns: u64,
    pub(crate) latency_ns: u64,
    /// Index of the process's disturbance; `None` if something else stopped the CPU.
    pub(crate) cause: Option<usize>,
}

/// Draws one run.
pub(crate) fn run(process: &Process, plan: &Plan, random: &mut Random) -> Record {
    run_with(process, plan, &[], random)
}

/// Draws one run in which, in addition, the wake-ups of `besides` were late.
pub(crate) fn run_with(process: &Process, plan: &Plan, besides: &[Late], random: &mut Random) -> Record {
    let id = random.next();
    let level = 1.0 + process.between_runs * normal(random);
    let phases: Vec<f64> = process.disturbances.iter().map(|_| random.unit()).collect();
    let mut late = besides.to_vec();
    let mut series = Vec::new();
    for thread in 0..plan.cpus {
        series.push(one_series(process, plan, level, &phases, thread, random, &mut late));
    }
    late.sort_by_key(|one| std::cmp::Reverse(one.latency_ns));
    let mut record = empty(plan, &format!("{id:016x}"));
    record.worst = worst_samples(plan, &late, &series);
    record.series = series;
    if plan.explained {
        record.late_samples.explanation = Some(explanation(process, plan, &late));
    }
    if plan.took_ns < plan.asked_ns {
        record.validity.add(ReasonCode::InterruptedEarly, "ended by Ctrl-C".to_owned());
    }
    if record.samples() == 0 {
        record.validity.add(ReasonCode::NoSamples, "the run ended before its first wake-up".to_owned());
    }
    record.verdict = plan.deadline_ns.map(|deadline_ns| analysis::verdict(&record, deadline_ns));
    record
}

/// Draws a standard normal number.
fn normal(random: &mut Random) -> f64 {
    distrs::Normal::ppf(random.unit(), 0.0, 1.0)
}

fn one_series(
    process: &Process,
    plan: &Plan,
    level: f64,
    phases: &[f64],
    thread: u32,
    random: &mut Random,
    late: &mut Vec<Late>,
) -> Series {
    let cpu = FIRST_CPU + thread;
    let mut intervals = Vec::new();
    let mut start_ns = 0;
    while start_ns < plan.took_ns {
        let length_ns = plan.piece_ns.min(plan.took_ns - start_ns);
        let mut piece = Interval { start_offset_ns: start_ns, length_ns, ..Interval::default() };
        let wakeups = length_ns / plan.interval_ns;
        let mut disturbed = 0;
        for (cause, (disturbance, phase)) in process.disturbances.iter().zip(phases).enumerate() {
            for at_ns in disturbance.moments(start_ns, length_ns, *phase, random) {
                let latency_ns = round_u64(process.body.draw(random) * level + disturbance.delay(at_ns, random));
                piece.missed_periods += latency_ns / plan.interval_ns;
                piece.histogram.record_n(latency_ns, 1);
                late.push(Late { cpu, at_ns, latency_ns, cause: Some(cause) });
                disturbed += 1;
            }
        }
        let is_besides = |one: &&Late| one.cpu == cpu && one.cause.is_none();
        let is_here = |one: &&Late| (start_ns..start_ns + length_ns).contains(&one.at_ns);
        for one in late.iter().filter(is_besides).filter(is_here) {
            piece.missed_periods += one.latency_ns / plan.interval_ns;
            piece.histogram.record_n(one.latency_ns, 1);
            disturbed += 1;
        }
        let undisturbed = wakeups.saturating_sub(disturbed + piece.missed_periods);
        add_body(process, level, undisturbed, &mut piece.histogram, random);
        intervals.push(piece);
        start_ns += length_ns;
    }
    plan.synthetic().series(thread, intervals)
}

/// Adds undisturbed wake-ups.
fn add_body(process: &Process, level: f64, wakeups: u64, histogram: &mut Histogram, random: &mut Random) {
    let mut add = |share: f64, count: u64| {
        histogram.record_n(round_u64(process.body.quantile(share) * level), count);
    };
    if wakeups <= DRAWN_ONE_BY_ONE {
        (0..wakeups).for_each(|_| add(random.unit(), 1));
        return;
    }
    // The ranks of the highest of many independent samples are sums of exponentially distributed numbers.
    let mut rank = 0.0;
    for _ in 0..DRAWN_HIGHEST {
        rank -= random.unit().ln();
        add((1.0 - rank / approx_f64(wakeups)).max(0.5), 1);
    }
    let rest = wakeups - DRAWN_HIGHEST;
    let below = 1.0 - rank / approx_f64(wakeups);
    let (mut from, mut to, mut parts) = (0, rest / 4 * 3, BODY_PARTS);
    while from < rest {
        let edge = |part: u64| from + (to - from) * part / parts;
        for (low, high) in (0..parts).map(|part| (edge(part), edge(part + 1))).filter(|(low, high)| low < high) {
            add(below * approx_f64(low + high) / approx_f64(2 * rest), high - low);
        }
        (from, parts) = (to, UPPER_PARTS);
        to = if rest - to <= LEAST_HALVED { rest } else { to + (rest - to) / 2 };
    }
}

pub(crate) fn moment(at_ns: u64) -> Moment {
    let monotonic_ns = i64::try_from(at_ns).unwrap_or(i64::MAX);
    Moment { monotonic: Timestamp::from_ns(monotonic_ns), realtime: Timestamp::from_ns(monotonic_ns) }
}

/// The worst samples: the disturbed wake-ups with their moments; of the undisturbed ones only the maximum of each
/// thread.
fn worst_samples(plan: &Plan, late: &[Late], series: &[Series]) -> Vec<WorstSample> {
    let run = plan.synthetic();
    let sample = |cpu: u32, at_ns: u64, latency_ns: u64| run.worst_sample(cpu - FIRST_CPU, at_ns, latency_ns);
    let mut worst: Vec<WorstSample> =
        late.iter().take(WORST).map(|one| sample(one.cpu, one.at_ns, one.latency_ns)).collect();
    for (one, cpu) in series.iter().zip(FIRST_CPU..) {
        let max_ns = one.histogram.max_ns().unwrap_or(0);
        if !worst
            .iter()
            .any(|sample| sample.place.cpu() == Some(cpu) && sample.latency_ns == moment(max_ns).monotonic.as_ns())
        {
            worst.push(sample(cpu, plan.took_ns / 2, max_ns));
        }
    }
    worst.sort_by_key(|sample| std::cmp::Reverse(sample.latency_ns));
    worst.truncate(WORST);
    worst
}

/// What the flight recorder would have reported: every disturbed wake-up is explained by its true cause.
fn explanation(process: &Process, plan: &Plan, late: &[Late]) -> Explanation {
    let mut causes: Vec<CauseTotal> = Vec::new();
    let disturbed_by_process = || late.iter().filter_map(|one| Some((one, &process.disturbances[one.cause?])));
    for (one, truth) in disturbed_by_process() {
        let latency_ns = i64::try_from(one.latency_ns).unwrap_or(i64::MAX);
        match causes.iter_mut().find(|cause| cause.name == truth.name && cause.class == truth.class) {
            Some(cause) => {
                cause.samples += 1;
                cause.worst_ns = cause.worst_ns.max(latency_ns);
                cause.took_ns += one.latency_ns;
                cause.latencies.record_n(one.latency_ns, 1);
                let is_beyond = plan.deadline_ns.map(|limit_ns| u64::from(one.latency_ns > limit_ns));
                cause.beyond_deadline = cause.beyond_deadline.zip(is_beyond).map(|(before, more)| before + more);
            }
            None => causes.push(CauseTotal {
                class: truth.class,
                name: truth.name.to_owned(),
                certainty: truth.certainty,
                samples: 1,
                worst_ns: latency_ns,
                took_ns: one.latency_ns,
                latencies: {
                    let mut latencies = Histogram::new();
                    latencies.record_n(one.latency_ns, 1);
                    latencies
                },
                beyond_deadline: plan.deadline_ns.map(|limit_ns| u64::from(one.latency_ns > limit_ns)),
                owner: Owner::Other,
                remedy: String::new(),
                finding: None,
            }),
        }
    }
    causes.sort_by_key(|cause| std::cmp::Reverse(cause.samples));
    let samples = disturbed_by_process().take(WORST).map(|(one, truth)| ExplainedSample {
        thread: one.cpu - FIRST_CPU,
        cpu: one.cpu,
        latency_ns: i64::try_from(one.latency_ns).unwrap_or(i64::MAX),
        scheduled: moment(one.at_ns),
        woke: moment(one.at_ns + one.latency_ns),
        class: truth.class,
        name: truth.name.to_owned(),
        certainty: truth.certainty,
        ..ExplainedSample::default()
    });
    let outliers = disturbed_by_process().count() as u64;
    Explanation {
        sources: vec!["programs in the kernel".to_owned()],
        // The threshold of the recorder lies above the highest latency of the body.
        above_ns: Some(round_u64(process.body.quantile(1.0 - 1e-9)).max(plan.deadline_ns.unwrap_or(0) / 4)),
        outliers,
        explained: outliers,
        causes,
        samples: samples.collect(),
        ..Explanation::default()
    }
}

/// A run without samples.
fn empty(plan: &Plan, id: &str) -> Record {
    let run = plan.synthetic();
    let mut manifest = run.manifest();
    manifest.tool = ToolVersion { name: "punctual".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned() };
    manifest.node.hostname = "corpus".to_owned();
    manifest.node.online_cpus = run.measured_cpus();
    manifest.requested.interval_maximum_ns = Some(plan.piece_ns);
    Record::empty(id.to_owned(), Measurement::Wakeup, manifest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::truth::Disturbance;

    #[test]
    fn a_run_contains_the_disturbances_of_its_process() {
        let process = Process::quiet().with(Disturbance::bounded("irq/24-eth0", 3_600.0, 160.0, 170.0));
        let record = run(&process, &Plan::seconds(600).on(2).explained(), &mut Random::new(5));
        assert!((record.samples() + record.series.iter().map(|s| s.counters.missed_periods).sum::<u64>()) == 1_200_000);
        let worst_ns = record.worst_of_all().unwrap().0;
        assert!((165_000..182_000).contains(&worst_ns), "{worst_ns}");
        let beyond: u64 = record.series.iter().map(|series| series.histogram.count_above(100_000)).sum();
        let explained = record.explanation().unwrap();
        assert!((1_050..1_350).contains(&beyond), "{beyond}");
        assert_eq!((explained.outliers, explained.causes[0].samples), (beyond, beyond));
        assert_eq!(record.worst.len(), WORST);
    }

    #[test]
    fn a_long_run_has_the_same_body_as_a_short_one() {
        let process = Process { between_runs: 0.0, ..Process::quiet() };
        let [short, long] = [20, 2_000].map(|seconds| run(&process, &Plan::seconds(seconds), &mut Random::new(5)));
        for share in [0.1, 0.5, 0.9, 0.99, 0.999] {
            let [short_ns, long_ns] =
                [&short, &long].map(|run| approx_f64(run.series[0].histogram.quantile_ns(share).unwrap()));
            assert!((short_ns / long_ns - 1.0).abs() < 0.02, "{share}: {short_ns} and {long_ns}");
        }
    }

    #[test]
    fn an_interrupted_run_is_marked_and_an_empty_one_is_invalid() {
        let plan = Plan::seconds(60);
        let early = run(&Process::quiet(), &plan.ended_after(2_000_000), &mut Random::new(1));
        assert_eq!(early.samples(), 2);
        assert!(early.validity.has(ReasonCode::InterruptedEarly) && !early.validity.is_invalid());
        assert!(run(&Process::quiet(), &plan.ended_after(0), &mut Random::new(1)).validity.is_invalid());
    }
}
