//! `punctual app` on a program that waits in every form, held against its own clock.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::path::Path;
use std::process::{Command, Output};

use record::ReasonCode;

use crate::support::followed::{built, can_follow};
use crate::support::{code, record, run, said};

/// The forms in which `examples/waits.c` waits for a moment by a timer.
const BY_TIMER: [&str; 25] = [
    "monotonic",
    "realtime",
    "tai",
    "boottime",
    "relative",
    "condition",
    "condition-realtime",
    "semaphore",
    "queue",
    "ppoll",
    "pselect",
    "sigtimedwait",
    "epoll",
    "timerfd-read",
    "timerfd-realtime",
    "timerfd-epoll",
    "timerfd-poll",
    "timerfd-select",
    "timerfd-again",
    "posix-timer",
    "posix-thread-id",
    "signalfd",
    "itimer",
    "io-uring",
    "deadline",
];
/// Forms that are followed in one run.
const AT_ONCE: usize = 5;
/// Turns of each.
const TURNS: usize = 500;

/// What a form's own clock says of its turns (ns).
struct OwnTruth {
    /// How late all of them were, the least first.
    all: Vec<i64>,
    /// The same without those whose moment had passed before the wait began: where a form computes how long is left, there is no
    /// timer then.
    waited: Vec<i64>,
}

/// Empty where the machine refuses the form.
fn own_truth(folder: &Path, form: &str) -> OwnTruth {
    let text = std::fs::read_to_string(folder.join(form)).unwrap_or_default();
    let numbers = |line: &str| line.split(' ').map(|word| word.parse().unwrap()).collect::<Vec<i64>>();
    let turns: Vec<(i64, i64)> = text.lines().map(numbers).map(|pair| (pair[0], pair[1])).collect();
    let sorted = |mut late: Vec<i64>| {
        late.sort_unstable();
        late
    };
    let began = std::iter::once(i64::MIN).chain(turns.iter().map(|(_, woken_ns)| *woken_ns));
    let waited = turns.iter().zip(began).filter(|((wanted_ns, _), began_ns)| began_ns < wanted_ns);
    let waited = sorted(waited.map(|((wanted_ns, woken_ns), _)| woken_ns - wanted_ns).collect());
    OwnTruth { all: sorted(turns.iter().map(|(wanted_ns, woken_ns)| woken_ns - wanted_ns).collect()), waited }
}

/// What is wrong of each of these forms, followed in one run; a form that is wrong can stand there more than once.
fn what_is_wrong(forms: &[&'static str]) -> Vec<(&'static str, String)> {
    let folder = tempfile::tempdir().unwrap();
    let waits = built().join("waits-c");
    let each = |form: &&str| format!("{} {form} {TURNS} 2000 {}/{form}", waits.display(), folder.path().display());
    let script = forms.iter().map(each).collect::<Vec<_>>().join("; ");
    let output = run(&["app", "--cmd", &script, "--deadline", "1us", "--json"]);
    let record = record(&output);
    // Others took all CPUs for a second: the run says that it is worth nothing, which is what is promised of it then.
    if let Some(lost) = record.validity.reasons().iter().find(|reason| reason.code == ReasonCode::SamplesDropped) {
        assert_eq!(code(&output), 3, "{}", said(&output));
        return forms.iter().map(|form| (*form, lost.detail.clone())).collect();
    }
    assert_eq!(code(&output), 1, "no wait ends within a microsecond: {}", said(&output));
    // By which the event of the return, its median way to the program and the program's reading may differ; beside other work
    // caches are cold.
    let tolerance_ns = 30_000;
    let mut wrong = Vec::new();
    for &form in forms {
        let OwnTruth { all, waited } = own_truth(folder.path(), form);
        if all.is_empty() {
            println!("not shown here: {form}");
            continue;
        }
        let name = &form[..form.len().min(15)];
        let is_its = |series: &&record::Series| series.name == "scheduled_to_returned" && series.variant == name;
        let Some(series) = record.series.iter().filter(is_its).find(|series| series.counters.samples > 16) else {
            wrong.push((form, "no latency from a timer".to_owned()));
            continue;
        };
        let is_waited =
            series.counters.samples.abs_diff(waited.len() as u64) <= series.counters.samples.abs_diff(all.len() as u64);
        let own = if is_waited { waited } else { all };
        let ours = |share: f64| i64::try_from(series.histogram.quantile_ns(share).unwrap_or(0)).unwrap();
        let theirs = |share: f64| {
            own[usize::try_from(units::round_u64(share * units::approx_f64(own.len() as u64 - 1))).unwrap()]
        };
        println!(
            "{form}: {} samples of {}, p50 {} and {}, p90 {} and {}, max {} and {}",
            series.counters.samples,
            own.len(),
            ours(0.5),
            theirs(0.5),
            ours(0.9),
            theirs(0.9),
            ours(1.0),
            theirs(1.0),
        );
        // The first turns come before it is known to be a real-time thread; a turn may be lost to an interruption.
        let turns = u64::try_from(own.len()).unwrap();
        if series.counters.samples + 3 < turns || series.counters.samples > turns + 1 {
            wrong.push((form, format!("{} samples of {} turns", series.counters.samples, own.len())));
        }
        for share in [0.25, 0.5, 0.75] {
            if (ours(share) - theirs(share)).abs() > tolerance_ns {
                wrong.push((form, format!("{} at {share}, its own clock says {}", ours(share), theirs(share))));
            }
        }
        // What interrupts between the return and the program's reading is in the program's figure alone: it may have hit a few.
        let (max_ns, fourth_ns) = (ours(1.0), own[own.len() - 4]);
        if max_ns < fourth_ns - fourth_ns / 50 - tolerance_ns || max_ns > theirs(1.0) + theirs(1.0) / 50 + tolerance_ns
        {
            wrong.push((form, format!("at most {max_ns}, its own clock says {} and {fourth_ns}", theirs(1.0))));
        }
    }
    wrong
}

/// What is wrong of a form itself is so each time. On a busy machine the program's own clock is read late now and then, and a
/// process that has ended before anybody could ask what it is has no calls, of which its verdict says that it cannot be told:
/// such a form is followed again, and few at a time, so that one second's disturbance costs few.
#[test]
fn in_whatever_call_a_thread_waits_its_latency_is_what_its_own_clock_says() {
    if !can_follow() {
        return;
    }
    let mut forms = BY_TIMER.to_vec();
    let mut wrong = Vec::new();
    for _ in 0..4 {
        wrong = forms.chunks(AT_ONCE).flat_map(what_is_wrong).collect();
        forms.retain(|form| wrong.iter().any(|(which, _)| which == form));
        if forms.is_empty() {
            return;
        }
        println!("once more: {wrong:?}");
    }
    assert_eq!(wrong, []);
}

/// A run of which the kernel lost no event: on a busy machine its buffers can be full before they are read.
fn whole(run: impl Fn() -> Output) -> Output {
    let is_whole = |output: &Output| !record(output).validity.has(ReasonCode::SamplesDropped);
    (0..5).map(|_| run()).find(is_whole).expect("a run of which no event was lost")
}

#[test]
fn a_deadline_of_turns_that_no_timer_ended_cannot_be_told() {
    if !can_follow() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let follow = |form: &str, more: &[&str]| {
        let command =
            format!("{} {form} 300 2000 {}", built().join("waits-c").display(), folder.path().join(form).display());
        let mut arguments = vec!["app", "--cmd", &command, "--json"];
        arguments.extend(more);
        whole(|| run(&arguments))
    };
    let reason = |output: &Output| record(output).verdict.unwrap().reason;
    // A packet may come from anywhere: when it was due is not known.
    let packet = follow("packet", &["--deadline", "10s"]);
    assert_eq!(code(&packet), 3, "{}", reason(&packet));
    assert!(reason(&packet).contains("by an interrupt that was no timer's"), "{}", reason(&packet));
    let accepted = follow("packet", &["--deadline", "10s", "--from-wake-up"]);
    assert_eq!(code(&accepted), 0, "{}", reason(&accepted));
    assert!(reason(&accepted).contains("from the wake-up on"), "{}", reason(&accepted));
    assert_eq!(code(&follow("packet", &["--deadline", "1us", "--from-wake-up"])), 1);
    // A thread that a timer woke, at known moments: no turn can have been due before those.
    let other = follow("another-thread", &["--deadline", "10s"]);
    assert_eq!(code(&other), 0, "{}", reason(&other));
    assert!(reason(&other).contains("from the timer to the threads that others woke"), "{}", reason(&other));
}

#[test]
fn in_a_time_namespace_the_latencies_are_as_outside() {
    let own = env!("CARGO_BIN_EXE_punctual");
    let shifted = ["--time", "--monotonic", "1000000", "--boottime", "2000000", "--fork"];
    let may_shift =
        Command::new("unshare").args(shifted).arg("true").output().is_ok_and(|output| output.status.success());
    if !can_follow() || !may_shift {
        println!("not shown here: a time namespace {may_shift}");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    for form in ["monotonic", "realtime", "boottime", "timerfd-epoll"] {
        let command =
            format!("{} {form} {TURNS} 2000 {}", built().join("waits-c").display(), folder.path().join(form).display());
        let arguments = ["app", "--cmd", &command, "--deadline", "10s", "--json"];
        let output = whole(|| Command::new("unshare").args(shifted).arg(own).args(arguments).output().unwrap());
        assert_eq!(code(&output), 0, "{form}: {}", said(&output));
        let record = record(&output);
        let returned = record.series.iter().find(|series| series.name == "scheduled_to_returned").unwrap();
        let worst_ns = i64::try_from(returned.histogram.max_ns().unwrap()).unwrap();
        let own = own_truth(folder.path(), form).all;
        assert!(worst_ns <= own[TURNS - 1] * 51 / 50 + 30_000, "{form}: {worst_ns}, its own clock says {own:?}");
        assert!(
            returned.counters.samples + 3 >= u64::try_from(TURNS).unwrap(),
            "{form}: {}",
            returned.counters.samples
        );
    }
}
