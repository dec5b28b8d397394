//! `punctual measure event` as a user runs it.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::process::Stdio;
use std::time::Duration;

use crate::support::{
    Running, code, eventually, may_be_real_time, punctual, record, run, said, signal, stdout, thread_of,
};
use kernel::clock::{KernelClock, Schedule, now_ns, sleep_until};
use kernel::sched::{Policy, set_affinity, set_policy};
use record::{
    CpuPair, EventMeans, EventRequest, PairPlacement, PolicyChoice, ReasonCode, Record, Request, RunEnd, Series,
    WorstSample,
};
use units::{ClockId, CpuSet, Ns, Random};

const EVENT: [&str; 6] = ["measure", "event", "--policy", "other", "--interval", "1ms"];

/// The CPUs that this process may use.
fn cpus() -> Vec<u32> {
    kernel::sched::affinity_of(0).unwrap().iter().collect()
}

fn woken(record: &Record) -> impl Iterator<Item = &Series> {
    record.series.iter().filter(|series| series.name == "handed_to_woke")
}

/// What became of every schedule of a pair.
fn accounted(series: &Series) -> u64 {
    let missed = series.counters.missed_periods + series.spoiled.missed_periods;
    series.taken() + series.spoiled.samples + missed + series.hand_overs().unwrap().found_nobody
}

#[test]
fn every_schedule_is_a_sample_or_missed_by_every_means() {
    for means in EventMeans::ALL {
        let output = run(&[&EVENT[..], &["--kind", means.name(), "--duration", "300ms", "--json"]].concat());
        let record = record(&output);
        let pairs = cpus().len();
        assert_eq!(record.series.len(), 2 * pairs, "{means}: {}", said(&output));
        for series in woken(&record) {
            let schedules = series.hand_overs().unwrap().schedules;
            assert_eq!(schedules, accounted(series), "{means}");
            // Those of the other pairs begin later within the interval.
            assert!(schedules >= 300, "{means}: {schedules}");
            assert!(series.taken() > 0 && series.variant == means.name(), "{means}: {:?}", record.validity);
        }
        for (woke, returned) in record.series.iter().take(pairs).zip(record.series.iter().skip(pairs)) {
            assert_eq!((&woke.place, woke.taken()), (&returned.place, returned.taken()), "{means}");
        }
    }
}

#[test]
fn what_was_asked_stands_in_the_record_and_on_the_terminal() {
    let all = cpus();
    let last = all.last().unwrap().to_string();
    let line = [&EVENT[..], &["--kind", "condvar", "--cpus", &last, "--samples", "50", "--json"]].concat();
    let record = record(&run(&line));
    let expected = EventRequest {
        means: EventMeans::Condvar,
        placement: PairPlacement::Pinned(CpuSet::from_iter([*all.last().unwrap()])),
        policy: PolicyChoice::Other,
        end: RunEnd::Samples(50),
        ..EventRequest::default()
    };
    assert_eq!(record.manifest().request, Some(Request::Event(expected)));
    let [waker, woken, ..] = all[..] else { return };
    let between = format!("{waker},{woken}");
    let line = [&EVENT[..], &["--kind", "pipe", "--between", &between, "--duration", "100ms", "--deadline", "1h"]];
    let output = run(&line.concat());
    let text = stdout(&output);
    assert_eq!(code(&output), 0, "{text}{}", said(&output));
    for part in [&format!("handed_to_woke, CPU {waker} to {woken}, pipe"), "handed_to_returned", "holds 1 h"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let json = crate::support::record(&run(&[&line.concat()[..], &["--json"]].concat()));
    let Some(Request::Event(request)) = &json.manifest().request else { panic!("an event is wanted") };
    assert_eq!(request.placement, PairPlacement::Between(vec![CpuPair { waker, woken }]));
    assert_eq!(request.deadline, Some(Ns::from_s(3_600)));
}

#[test]
fn hand_overs_that_cannot_be_made_so_are_usage_errors() {
    for (arguments, part) in [
        (vec!["--kind", "mutex"], "futex-pi"),
        (vec!["--kind", "carrier-pigeon"], "condvar"),
        (vec!["--between", "1"], "for example 1,2"),
        (vec!["--between", "0,4000"], "cannot be measured"),
        (vec!["--between", "0,0", "--between", "0,0"], "asked for twice"),
        (vec!["--priority", "1", "--policy", "fifo"], "2 to 99"),
        (vec!["--interval", "5us"], "is below 20"),
        (vec!["--cpus", "0", "--between", "0,1"], "cannot be used with"),
    ] {
        let output = run(&["measure", "event"].into_iter().chain(arguments.iter().copied()).collect::<Vec<_>>());
        assert_eq!(code(&output), 2, "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(part), "{arguments:?}: {}", said(&output));
    }
}

#[test]
fn the_woken_thread_is_above_its_waker_where_real_time_is_granted() {
    if !may_be_real_time() {
        println!("not run: no right to real-time priority");
        return;
    }
    let last = cpus().last().unwrap().to_string();
    let record = record(&run(&["event", "--cpus", &last, "--duration", "200ms", "--priority", "60", "--json"]));
    let granted: Vec<(&str, u32)> =
        record.manifest().effective.iter().map(|thread| (thread.policy.as_str(), thread.priority)).collect();
    assert_eq!(granted, [("fifo", 60), ("fifo", 59)]);
    // The woken thread takes the CPU within the call, so that this is the longer of the two at each hand-over.
    let [woke, returned] = &record.series[..] else { panic!("{:?}", record.series) };
    assert!(woke.histogram.sum_ns() < returned.histogram.sum_ns());
}

/// Intervals are handed on from the first one on, and a reader of the file has a whole record at every moment.
#[test]
fn a_killed_run_leaves_what_was_finished_until_then() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let read = || Some(Record::from_json(&std::fs::read_to_string(&file).ok()?).unwrap());
    let mut random = Random::new(23);
    for means in [EventMeans::FutexPi, EventMeans::Mqueue, EventMeans::Eventfd] {
        let _ = std::fs::remove_file(&file);
        let line = ["--kind", means.name(), "--duration", "unlimited", "--interval-maximum", "20ms", "-o"];
        let mut child = punctual(&[&EVENT[..], &line, &[file.to_str().unwrap()]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let least = |record: Record| record.series.iter().map(|series| series.intervals.len()).min().unwrap_or(0);
        let wanted = 1 + random.below(8);
        eventually("so many intervals", || read().map_or(0, least) >= wanted);
        std::thread::sleep(Duration::from_micros(random.below(20_000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        let left = read().unwrap();
        assert!(left.validity.has(ReasonCode::InterruptedEarly), "{:?}", left.validity);
        for series in &left.series {
            let counted: u64 = series.intervals.iter().map(record::Interval::taken).sum();
            assert!(counted > 0 && counted == series.taken(), "{means}: {counted}, {}", series.taken());
            let offsets = series.intervals.iter().map(|interval| interval.start_offset_ns / 20_000_000);
            assert!(offsets.eq(0..series.intervals.len() as u64), "no interval is missing between two");
        }
    }
}

#[test]
fn a_run_of_unknown_length_ends_when_it_is_told_and_keeps_all_its_intervals() {
    let line = ["--kind", "signal", "--duration", "unlimited", "--interval-maximum", "50ms"];
    let child = Running::start(&EVENT, &line);
    eventually("both threads", || thread_of(&child, "punctual-k").is_some());
    std::thread::sleep(Duration::from_millis(700));
    signal(&child, "INT");
    let output = child.output();
    let record = record(&output);
    assert!(record.validity.has(ReasonCode::InterruptedEarly) && code(&output) == 0, "{:?}", record.validity);
    for series in woken(&record) {
        assert_eq!(series.hand_overs().unwrap().schedules, accounted(series));
        let counted: u64 = series.intervals.iter().map(record::Interval::taken).sum();
        assert!(series.intervals.len() >= 5 && counted == series.taken());
    }
}

/// The time of a stop is in no number of the run, and no schedule of it is hidden.
#[test]
fn a_stop_spoils_the_intervals_in_which_it_was() {
    let mut each = Vec::new();
    for _ in 0..4 {
        let child = Running::start(&EVENT, &["--duration", "4s", "--deadline", "400ms"]);
        eventually("both threads", || thread_of(&child, "punctual-k").is_some());
        std::thread::sleep(Duration::from_millis(300));
        signal(&child, "STOP");
        std::thread::sleep(Duration::from_millis(500));
        signal(&child, "CONT");
        let record = record(&child.output());
        // On a machine that gives too little time it comes too late, and then the whole run is invalid.
        if record.validity.has(ReasonCode::Stopped) || !record.validity.has(ReasonCode::IntervalsSpoiled) {
            each.push(record.validity);
            continue;
        }
        for series in woken(&record) {
            let spoiled = &series.spoiled;
            assert!(spoiled.missed_periods >= 450, "{spoiled:?}");
            let mut reasons = spoiled.intervals.iter().flat_map(|interval| &interval.reasons);
            assert!(reasons.all(|reason| reason.code == ReasonCode::Stopped), "{spoiled:?}");
            assert_eq!(series.hand_overs().unwrap().schedules, accounted(series));
            let standing: u64 = series.intervals.iter().map(record::Interval::taken).sum();
            assert_eq!(series.taken(), standing);
            let missed: u64 = series.intervals.iter().map(|interval| interval.missed_periods).sum();
            assert_eq!(series.counters.missed_periods, missed, "those of the stop are apart");
        }
        return;
    }
    panic!("no stop spoiled a few intervals alone: {each:?}");
}

/// Takes a CPU from every thread below it, one time after the other; when each really began and ended (ns, CLOCK_MONOTONIC).
fn occupied(cpu: u32, lengths_ns: &'static [i64]) -> Vec<(i64, i64)> {
    let hog = std::thread::spawn(move || {
        let clock = KernelClock::from(ClockId::Monotonic);
        let began_ns = now_ns(clock);
        set_affinity(0, &CpuSet::from_iter([cpu])).unwrap();
        set_policy(Policy::Fifo(99)).unwrap();
        let hogs = (1_i64..).zip(lengths_ns).map(|(turn, length_ns)| {
            sleep_until(clock, &Schedule::at_ns(began_ns + 600_000_000 + turn * 317_000_000)).unwrap();
            let from_ns = now_ns(clock);
            while now_ns(clock) < from_ns + length_ns {}
            (from_ns, now_ns(clock))
        });
        hogs.collect()
    });
    hog.join().unwrap()
}

/// Known delays of the woken thread: a thread above it has its CPU for so long.
#[test]
fn a_delay_of_the_woken_thread_is_found_again_with_its_missed_periods() {
    const LENGTHS_NS: [i64; 4] = [2_500_000, 20_000_000, 5_200_000, 11_700_000];
    const INTERVAL_NS: i64 = 1_000_000;
    let [waker, woken, ..] = cpus()[..] else { return };
    if !may_be_real_time() {
        println!("not run: no right to real-time priority");
        return;
    }
    let between = format!("{waker},{woken}");
    let line = ["measure", "event", "--kind", "eventfd", "--between", &between, "--duration", "3s"];
    // Where something else has the waker's CPU for the whole of a delay, nothing is handed over in it.
    let is_found = || {
        let child = Running::start(&line, &[]);
        eventually("both threads", || thread_of(&child, "punctual-k").is_some());
        let hogs = occupied(woken, &LENGTHS_NS);
        let record = record(&child.output());
        for series in self::woken(&record) {
            assert_eq!(series.hand_overs().unwrap().schedules, accounted(series));
        }
        hogs.iter().all(|(from_ns, to_ns)| {
            let at = |point: &record::Point| point.at.monotonic.as_ns();
            let lasts = |sample: &&WorstSample| at(&sample.from) < *to_ns && at(&sample.to) >= *to_ns;
            let Some(sample) = record.worst.iter().filter(lasts).max_by_key(|sample| sample.latency_ns) else {
                return false;
            };
            let rest_ns = to_ns - at(&sample.from);
            println!("planted {} ns, {rest_ns} ns after the hand-over, read {} ns", to_ns - from_ns, sample.latency_ns);
            // A hypervisor can make it longer, never shorter; the periods within it were missed.
            let least = u64::try_from(rest_ns / INTERVAL_NS - 1).unwrap_or(0);
            assert!(sample.latency_ns >= rest_ns && sample.missed_periods >= least, "{sample:?}, at least {least}");
            rest_ns >= to_ns - from_ns - 2 * INTERVAL_NS
        })
    };
    assert!((0..5).any(|_| is_found()), "of each delay the hand-over within its first two periods");
}
