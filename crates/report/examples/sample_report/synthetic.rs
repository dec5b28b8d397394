//! Synthetic runs, made from formulas and a fixed pseudo-random sequence, and so identical on every machine.

use corpus::SyntheticRun;
use record::{
    Counters, Deciding, Histogram, Interval, LoadManifest, Manifest, Measurement, MissedRow, Moment, NodeIdentity,
    Place, Record, Requested, Series, SeriesDetail, ToolVersion, Validity, Verdict, VerdictState, WorstSample,
};
use units::{Ns, Random, Timestamp, approx_f64, format, round_u64};

/// A Monday morning: 2026-03-02 07:00 UTC.
pub(crate) const START_REALTIME_NS: i64 = 1_772_434_800_000_000_000;
const START_MONOTONIC_NS: i64 = 86_400_000_000_000;

/// The form of a latency distribution: a log-normal body, a second hump, an exponential tail.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) mode_us: f64,
    pub(crate) width: f64,
    pub(crate) hump_us: f64,
    pub(crate) hump_share: f64,
    pub(crate) tail_us: f64,
    pub(crate) tail_share: f64,
}

pub(crate) const IDLE: Shape =
    Shape { mode_us: 4.2, width: 0.10, hump_us: 6.1, hump_share: 0.02, tail_us: 1.1, tail_share: 2e-3 };
pub(crate) const LOADED: Shape =
    Shape { mode_us: 6.3, width: 0.17, hump_us: 13.0, hump_share: 0.06, tail_us: 2.3, tail_share: 8e-3 };

const STEP_NS: u64 = 40;

/// Relative density at each 40 ns from 1 us to 60 us.
fn density(shape: Shape) -> Vec<(u64, f64)> {
    let log_normal = |us: f64, mode: f64, width: f64| {
        let z = (us / mode).ln() / width;
        (-0.5 * z * z).exp() / (us * width * 2.507)
    };
    (1_000..60_000)
        .step_by(40)
        .map(|ns: u64| {
            let us = approx_f64(ns) / 1_000.0;
            let tail =
                if us < shape.mode_us { 0.0 } else { (-(us - shape.mode_us) / shape.tail_us).exp() / shape.tail_us };
            let value = (1.0 - shape.hump_share - shape.tail_share) * log_normal(us, shape.mode_us, shape.width)
                + shape.hump_share * log_normal(us, shape.hump_us, shape.width * 0.8)
                + shape.tail_share * tail;
            (ns, value * approx_f64(STEP_NS) / 1_000.0)
        })
        .collect()
}

fn fill(density: &[(u64, f64)], samples: u64, random: &mut Random) -> Histogram {
    let mut histogram = Histogram::new();
    for &(ns, share) in density {
        let expected = share * approx_f64(samples);
        // Round up or down at random, so that the tail thins out as in reality.
        let count = round_u64((expected * (0.97 + 0.06 * random.unit()) + random.unit() - 0.5).max(0.0));
        histogram.record_n(ns + random.next() % STEP_NS, count);
    }
    histogram
}

/// The parameters of a synthetic run.
pub(crate) struct Plan {
    pub(crate) label: &'static str,
    pub(crate) load: &'static str,
    pub(crate) cpus: u32,
    pub(crate) duration_s: u64,
    pub(crate) interval_us: u64,
    pub(crate) intervals: u64,
    pub(crate) shape: Shape,
    pub(crate) deadline_us: u64,
    /// Stalls: CPU, time as a fraction of the run (0 to 1), latency (us).
    pub(crate) stalls: Vec<(u32, f64, u64)>,
    pub(crate) starts_after_s: u64,
    pub(crate) seed: u64,
}

impl Plan {
    const fn duration_ns(&self) -> u64 {
        self.duration_s * 1_000_000_000
    }

    fn run(&self) -> SyntheticRun<'static> {
        let after_ns = Ns(i64::try_from(self.starts_after_s * 1_000_000_000).unwrap_or(0));
        let first = Moment {
            monotonic: Timestamp::from_ns(START_MONOTONIC_NS),
            realtime: Timestamp::from_ns(START_REALTIME_NS),
        };
        SyntheticRun {
            started: first.plus(after_ns),
            first_cpu: 0,
            cpus: self.cpus,
            first_tid: 4_200,
            interval_ns: self.interval_us * 1_000,
            asked_ns: self.duration_ns(),
            took_ns: self.duration_ns(),
            deadline_ns: Some(self.deadline_us * 1_000),
            load: self.load,
        }
    }
}

/// Makes a wake-up run.
pub(crate) fn wakeup(plan: &Plan, validity: Validity) -> Record {
    let deadline_ns = plan.deadline_us * 1_000;
    let density = density(plan.shape);
    let mut random = Random::new(plan.seed);
    let mut worst = Vec::new();
    let mut rows = Vec::new();
    let series: Vec<Series> =
        (0..plan.cpus).map(|cpu| one_cpu(plan, cpu, &density, &mut random, &mut worst, &mut rows)).collect();
    worst.sort_by_key(|sample| std::cmp::Reverse(sample.latency_ns));
    worst.truncate(24);
    let samples = series.iter().map(|s| s.histogram.count()).sum();
    let beyond: u64 = series.iter().map(|s| s.histogram.count_above(deadline_ns)).sum();
    let verdict = worst.first().map(|first| {
        let label = format!(
            "worst of {} wake-ups {} on CPU {} ({})",
            format::count(samples),
            format::latency(first.latency_ns),
            first.place.cpu().unwrap_or(0),
            plan.label
        );
        Verdict {
            deadline_ns,
            state: if validity.is_invalid() {
                VerdictState::CannotTell
            } else if beyond > 0 {
                VerdictState::Broken
            } else {
                VerdictState::Holds
            },
            deciding: Some(Deciding {
                worst_ns: first.latency_ns,
                place: first.place.clone(),
                samples,
                beyond,
                missed_periods: series.iter().map(|s| s.counters.missed_periods).sum(),
            }),
            reason: format!("{} {} us: {label}", if beyond > 0 { "Does not hold" } else { "Holds" }, plan.deadline_us),
        }
    });
    let id = format!("2026-03-02T07-00-00Z-wakeup-{}", plan.seed);
    let empty = Record::empty(id, Measurement::Wakeup, manifest(plan));
    let record = Record { label: plan.label.to_owned(), validity, verdict, series, worst, rows, ..empty };
    record.with_node_named()
}

fn one_cpu(
    plan: &Plan,
    cpu: u32,
    density: &[(u64, f64)],
    random: &mut Random,
    worst: &mut Vec<WorstSample>,
    rows: &mut Vec<MissedRow>,
) -> Series {
    let run = plan.run();
    let duration_ns = plan.duration_ns();
    let period_ns = run.interval_ns;
    let pieces = plan.intervals.max(1);
    let length_ns = duration_ns / pieces;
    let samples = length_ns / period_ns;
    // CPUs differ slightly, as real ones do.
    let stretch = 1.0 + 0.03 * f64::from(cpu % 7);
    let mut intervals = Vec::new();
    let mut counters = Counters::default();
    let mut corrected = None;
    for piece in 0..pieces {
        let mut histogram = Histogram::new();
        let mut missed = 0;
        for bin in fill(density, samples, random).bins() {
            histogram.record_n(round_u64(approx_f64(bin.from_ns) * stretch), bin.count);
        }
        // Add one rare event to each interval, so that interval maxima vary.
        let tail = 1.0 + 0.9 * random.unit().powi(4);
        let extra_ns = round_u64(approx_f64(histogram.max_ns().unwrap_or(1_000)) * tail);
        histogram.record_n(extra_ns, 1);
        let start_offset_ns = piece * length_ns;
        let at_ns = start_offset_ns + round_u64(random.unit() * approx_f64(length_ns));
        worst.push(run.worst_sample(cpu, at_ns, extra_ns));
        for &(stalled, share, latency_us) in &plan.stalls {
            let at_ns = round_u64(share * approx_f64(duration_ns));
            if stalled != cpu || at_ns / length_ns != piece {
                continue;
            }
            let latency_ns = latency_us * 1_000 + random.next() % 499;
            histogram.record_n(latency_ns, 1);
            let skipped = latency_ns / period_ns;
            missed += skipped;
            worst.push(run.worst_sample(cpu, at_ns, latency_ns));
            if latency_ns > plan.deadline_us * 1_000 {
                push_row(&run, cpu, latency_ns, at_ns, rows);
                counters.rows += 1;
            }
            if skipped > 0 {
                counters.longest_row_periods = counters.longest_row_periods.max(skipped + 1);
                counters.longest_recovery_ns = counters.longest_recovery_ns.max(latency_ns + 3_200);
                let view: &mut Histogram = corrected.get_or_insert_with(Histogram::new);
                for step in 1..=skipped {
                    view.record_n(latency_ns - step * period_ns, 1);
                }
            }
        }
        intervals.push(Interval {
            start_offset_ns,
            length_ns,
            missed_periods: missed,
            histogram,
            ..Interval::default()
        });
    }
    let series = run.series(cpu, intervals);
    if let Some(view) = &mut corrected {
        view.merge(&series.histogram);
    }
    Series {
        corrected,
        intervals: if plan.intervals > 0 { series.intervals } else { Vec::new() },
        counters: Counters {
            rows: counters.rows,
            longest_row_periods: counters.longest_row_periods,
            longest_recovery_ns: counters.longest_recovery_ns,
            voluntary_switches: Some(series.histogram.count()),
            smi: Some(0),
            migrations: Some(0),
            ..series.counters
        },
        max_at: Some(run.moment(duration_ns / 2)),
        ..series
    }
}

fn push_row(run: &SyntheticRun<'_>, cpu: u32, latency_ns: u64, at_ns: u64, rows: &mut Vec<MissedRow>) {
    let period_ns = run.interval_ns;
    rows.push(MissedRow {
        node: String::new(),
        place: run.place(cpu),
        first_scheduled: run.moment(at_ns),
        periods: latency_ns / period_ns + 1,
        missed_periods: latency_ns / period_ns,
        worst_ns: i64::try_from(latency_ns).unwrap_or(i64::MAX),
        // A burst in which nothing was missed has nothing to recover from.
        recovery_ns: (latency_ns >= period_ns).then_some(latency_ns + 3_200),
    });
}

fn manifest(plan: &Plan) -> Manifest {
    let run = plan.run();
    let cpus = run.measured_cpus();
    let made = run.manifest();
    Manifest {
        tool: ToolVersion { name: "punctual".to_owned(), version: "0.1.0".to_owned() },
        command: ["punctual", "assess", "--deadline", "100us"].map(str::to_owned).to_vec(),
        node: NodeIdentity {
            hostname: "press-7".to_owned(),
            kernel_release: "6.12.48-rt13".to_owned(),
            kernel_version: "#1 SMP PREEMPT_RT Debian 6.12.48-1 (2026-02-20)".to_owned(),
            machine: "x86_64".to_owned(),
            boot_id: Some("5f0c6a1e-6f5b-4d1f-9c0e-2d8f6a7b1c3d".to_owned()),
            online_cpus: cpus.clone(),
        },
        time_zone: Some("Europe/Berlin".to_owned()),
        requested: Requested { clock: None, ..made.requested },
        load: LoadManifest { cpus, ..made.load },
        others_cpu_used: Some(0.02),
        instrument: record::Instrument {
            timer_resolution_ns: 1,
            clocksource: Some("tsc".to_owned()),
            clock_read_ns: 21,
            loop_ns: 64,
            ring_slots: 65_536,
            ring_highest_fill: 212,
            ..record::Instrument::default()
        },
        profile_sha256: Some("9f64a747e1b97f131fabb6b447296c9b6f0201e79fb3c5356e6c77e89b6a806a".to_owned()),
        ..made
    }
}

/// Makes a clock run, in the form of the paper's tests 1 and 2.
pub(crate) fn clock(starts_after_s: u64) -> Record {
    let variants: [(&str, &str, f64, u64); 4] = [
        ("read_to_read", "monotonic vdso", 24.0, 3_900),
        ("read_to_read", "realtime vdso", 25.0, 4_400),
        ("reference_to_reference", "realtime within monotonic", 49.0, 7_210),
        ("read_to_read", "monotonic system call", 182.0, 12_870),
    ];
    let mut random = Random::new(99);
    let mut record = wakeup(&short_plan(starts_after_s), Validity::default());
    record.measurement = Measurement::Clock;
    record.id = "2026-03-02T07-20-00Z-clock".to_owned();
    "clock cost".clone_into(&mut record.label);
    record.verdict = None;
    record.manifest_mut().requested.deadline_ns = None;
    record.worst.clear();
    record.rows.clear();
    record.series = variants
        .into_iter()
        .map(|(name, variant, typical_ns, max_ns)| {
            let mut histogram = Histogram::new();
            for _ in 0..4_000 {
                let spread = 1.0 + 0.08 * (random.unit() + random.unit() - 1.0);
                histogram.record_n(round_u64(typical_ns * spread), 250);
            }
            histogram.record_n(max_ns, 1);
            Series {
                name: name.to_owned(),
                variant: variant.to_owned(),
                place: Place::thread(0, Some(1)),
                judged: false,
                counters: Counters { samples: histogram.count(), ..Counters::default() },
                histogram,
                detail: SeriesDetail::Readings { block_mean_median_ns: typical_ns },
                ..Series::default()
            }
        })
        .collect();
    record
}

/// Makes a noise run.
pub(crate) fn noise(cpus: u32, starts_after_s: u64) -> Record {
    let mut random = Random::new(7);
    let mut record = wakeup(&short_plan(starts_after_s), Validity::default());
    record.measurement = Measurement::Noise;
    record.id = "2026-03-02T07-30-00Z-noise".to_owned();
    "noise".clone_into(&mut record.label);
    record.verdict = None;
    record.manifest_mut().requested.deadline_ns = None;
    record.worst.clear();
    record.rows.clear();
    record.series = (0..cpus)
        .map(|cpu| {
            let mut histogram = Histogram::new();
            for _ in 0..9_000 {
                let tick = 1_300.0 * (1.0 + 0.2 * random.unit()) * (1.0 + 0.1 * f64::from(cpu));
                let rare = if random.unit() < 0.004 { 4.0 + 3.0 * random.unit() } else { 1.0 };
                histogram.record_n(round_u64(tick * rare), 1);
            }
            Series {
                name: "gap".to_owned(),
                place: Place::thread(cpu, Some(cpu)),
                counters: Counters { samples: histogram.count(), ..Counters::default() },
                histogram,
                ..Series::default()
            }
        })
        .collect();
    record
}

fn short_plan(starts_after_s: u64) -> Plan {
    Plan {
        label: "short",
        load: "none",
        cpus: 1,
        duration_s: 1,
        interval_us: 1_000,
        intervals: 0,
        shape: IDLE,
        deadline_us: 100,
        stalls: Vec::new(),
        starts_after_s,
        seed: 1,
    }
}

/// Makes a run that writes a line, whose driver makes a rising edge slower than a falling one.
pub(crate) fn gpio(starts_after_s: u64) -> Record {
    let mut record = clock(starts_after_s);
    record.measurement = Measurement::Gpio;
    record.id = "2026-03-02T07-30-00Z-gpio".to_owned();
    "line cost".clone_into(&mut record.label);
    let (mut random, model) = (Random::new(41), record.series[0].clone());
    let of = |(variant, typical_ns, max_ns): (&str, f64, u64)| {
        let mut histogram = Histogram::new();
        for _ in 0..4_000 {
            histogram.record_n(round_u64(typical_ns * (0.95 + 0.1 * random.unit())), 250);
        }
        histogram.record_n(max_ns, 1);
        Series {
            name: "acted_to_returned".to_owned(),
            variant: variant.to_owned(),
            counters: Counters { samples: histogram.count(), ..Counters::default() },
            histogram,
            detail: SeriesDetail::None,
            ..model.clone()
        }
    };
    record.series =
        [("up and down", 2_410.0, 19_800), ("up", 1_430.0, 12_300), ("down", 990.0, 9_700)].map(of).to_vec();
    record
}
