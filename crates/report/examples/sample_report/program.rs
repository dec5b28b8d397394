//! Followed programs: with threads that miss periods and are preempted, with a thread without a loop, and with nothing to
//! show.

use record::{
    AllocationLook, AppRun, AppThread, Counters, Detail, Histogram, Interval, Measurement, Place, Preemption,
    ReasonCode, Record, Series, TracingCost, Validity,
};

use crate::synthetic::{IDLE, LOADED, Plan, wakeup};
use units::Random;

fn plan(cpus: u32) -> Plan {
    Plan {
        label: "controller",
        load: "none",
        cpus,
        duration_s: 60,
        interval_us: 1_000,
        intervals: 30,
        shape: if cpus == 1 { IDLE } else { LOADED },
        deadline_us: 100,
        stalls: Vec::new(),
        starts_after_s: 0,
        seed: 5,
    }
}

/// Times between activations: around the period, plus one for each entry of `late`, longer by that many periods and a
/// quarter.
fn periods(period_ns: u64, jitter_ns: u64, count: u64, late: &[u64]) -> Histogram {
    let mut random = Random::new(period_ns);
    let mut histogram = Histogram::new();
    for _ in 0..count / 40 {
        // The sum of twelve uniform numbers approximates a normal distribution.
        let bell: u64 = (0..12).map(|_| random.next() % jitter_ns).sum::<u64>() / 6;
        histogram.record_n(period_ns + bell - jitter_ns, 40);
    }
    for periods in late {
        histogram.record_n(period_ns * (periods + 1) + period_ns / 4, 1);
    }
    histogram
}

fn preemption(name: &str, times: u64, total_ns: u64, longest_ns: u64) -> Preemption {
    Preemption { name: name.to_owned(), times, total_ns, longest_ns }
}

fn thread(number: u32, name: &str, priority: u32) -> AppThread {
    AppThread {
        thread: number,
        tid: 4_711 + number,
        pid: 4_711,
        name: name.to_owned(),
        policy: if priority > 0 { "fifo" } else { "other" }.to_owned(),
        priority,
        ..AppThread::default()
    }
}

fn run(cpus: u32, threads: Vec<AppThread>, missed: &[u64], validity: Validity) -> Record {
    let record = wakeup(&plan(cpus), validity);
    let series = record.series.into_iter().zip(missed).map(|(series, &missed_periods)| Series {
        name: "scheduled_to_returned".to_owned(),
        variant: threads
            .iter()
            .find(|thread| Some(thread.thread) == series.place.thread_number())
            .map_or_else(String::new, |t| t.name.clone()),
        place: Place::thread(series.place.thread_number().unwrap_or(0), None),
        interval_ns: Some(1_000_000),
        counters: Counters { missed_periods, ..series.counters },
        intervals: (0..)
            .zip(series.intervals)
            .map(|(at, interval)| Interval { missed_periods: if at == 0 { missed_periods } else { 0 }, ..interval })
            .collect(),
        ..series
    });
    Record {
        measurement: Measurement::App,
        series: series.collect(),
        detail: Detail::Program(AppRun {
            command: Some("./controller --config robot.toml".to_owned()),
            pid: 4_711,
            threads,
            threads_left_out: 2,
            tracing: TracingCost {
                events: 1_234_567,
                lost_events: 0,
                event_ns: Some(205),
                return_ns: Some(2_524),
                events_per_activation: Some(6.4),
                own_cpu: 0.0042,
            },
            allocations: Some(AllocationLook {
                threads: vec!["thread motor (4713) for 10 s".to_owned()],
                functions: vec!["malloc (libc.so.6)".to_owned(), "free (libc.so.6)".to_owned()],
                call_ns: Some(2_100),
                not_looked_for: Vec::new(),
            }),
            ..AppRun::default()
        }),
        ..record
    }
}

/// A program with missed periods, preemptions, and a thread without a loop.
pub(crate) fn missing(validity: &Validity) -> Record {
    let motor = AppThread {
        waits_by: Some("clock_nanosleep, absolute, monotonic".to_owned()),
        activations: 60_000,
        period_ns: Some(1_000_000),
        periods: periods(1_000_000, 30_000, 60_000, &[1, 1, 3]),
        preempted: 131,
        preempted_ns: 9_300_000,
        preempted_by: vec![
            preemption("irq/24-eth0", 112, 7_100_000, 310_000),
            preemption("ksoftirqd/2", 18, 2_150_000, 480_000),
            preemption("migration/2", 1, 50_000, 50_000),
        ],
        ..thread(0, "motor", 80)
    };
    let sensor = AppThread {
        waits_by: Some("clock_nanosleep, absolute, monotonic".to_owned()),
        activations: 15_000,
        period_ns: Some(4_000_000),
        periods: periods(4_000_000, 8_000, 15_000, &[]),
        preempted: 2,
        preempted_ns: 61_000,
        preempted_by: vec![preemption("motor", 2, 61_000, 40_000)],
        ..thread(1, "sensor", 60)
    };
    let logger = AppThread { ended: true, ..thread(2, "a logger: <b>", 0) };
    let mut record = run(2, vec![motor, sensor, logger], &[5, 0], validity.clone());
    if let (Detail::Program(app), true) = (&mut record.detail, validity.is_invalid()) {
        app.tracing.lost_events = 81_233;
    }
    record
}

/// A program with nothing to show: no loop, no preemption.
pub(crate) fn quiet() -> Record {
    run(1, vec![thread(0, "waiter", 50)], &[0], Validity::default())
}

/// The validity of a run with lost events.
pub(crate) fn overrun() -> Validity {
    let mut validity = Validity::default();
    validity.add(ReasonCode::SamplesDropped, "the kernel's buffers had no room for 81 233 events or more");
    validity
}
