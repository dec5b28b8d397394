//! `measure sync` against services whose truth is stated: a ptp4l and a chronyd of our own, which say what the test wants.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::chronyd::Chronyd;
use crate::support::ptp4l::{MASTER, OTHER_MASTER, Ptp4l, Script, header, realtime_ns, sync_record};
use crate::support::{code, eventually, record, run, said, signal};
use record::{HardBound, ReasonCode, Record, SyncChange, SyncSource, SyncState, VerdictState};

fn source(record: &Record) -> &SyncSource {
    record.sync().unwrap().sources.first().unwrap()
}

fn bound(record: &Record) -> (i64, i64, u64) {
    match &source(record).bound {
        HardBound::Stated { lowest_ns, highest_ns, widest_ns, .. } => (*lowest_ns, *highest_ns, *widest_ns),
        HardBound::Missing { reason } => panic!("no bound: {reason}"),
    }
}

/// The first of three runs that heard of the clock often enough: a machine too busy for it hears nothing in 2 s.
fn heard(times: u64, mut run: impl FnMut() -> Output) -> Output {
    let is_heard = |done: &Output| {
        let found = record(done);
        let sources = found.sync().map_or(&[][..], |run| &run.sources);
        sources.first().and_then(|source| source.spread).is_some_and(|spread| spread.count >= times)
    };
    let tries = (1..=3).map(|_| run());
    let mut last = None;
    for done in tries {
        if is_heard(&done) {
            return done;
        }
        last = Some(done);
    }
    last.unwrap()
}

#[test]
fn the_bound_contains_the_truth_and_a_limit_is_held_against_the_bound() {
    let truth_ns = 3_000_000;
    let ptp4l = Ptp4l::start(truth_ns);
    let done = heard(5, || ptp4l.follow(&["--time", "2s"]));
    let found = record(&done);
    assert_eq!(code(&done), 0, "{}", said(&done));
    let (lowest_ns, highest_ns, _) = bound(&found);
    assert!(lowest_ns <= truth_ns && truth_ns <= highest_ns, "{lowest_ns} {highest_ns}");
    let first = source(&found);
    assert_eq!(first.states.last().map(|last| last.state), Some(SyncState::Locked));
    assert_eq!(first.reference, "grand master 676d31.fffe.636c6b");
    let spread = first.spread.unwrap();
    assert!(spread.count >= 5 && (spread.median_ns - truth_ns).abs() < 100, "{spread:?}");
    assert!(!ptp4l.path("events").exists(), "the socket is gone with the run");

    let verdict = |limit: &str| {
        let done = heard(5, || ptp4l.follow(&["--time", "2s", "--limit", limit]));
        (code(&done), record(&done).verdict.unwrap().state)
    };
    assert_eq!(verdict("1ms"), (1, VerdictState::Broken));
    assert_eq!(verdict("500ms"), (0, VerdictState::Holds));
    // The servo's value is within it, but the bound is wider.
    assert_eq!(verdict("3000100ns"), (3, VerdictState::CannotTell));
}

#[test]
fn a_bound_that_came_late_holds_no_limit() {
    let ptp4l = Ptp4l::start(0);
    ptp4l.script.listens.store(true, Ordering::Relaxed);
    let limit = ["--limit", "500ms"];
    let (found, code) = with_change(&ptp4l, 24, &limit, |script| script.listens.store(false, Ordering::Relaxed));
    let verdict = found.verdict.unwrap();
    assert_eq!((code, verdict.state), (3, VerdictState::CannotTell), "{}", verdict.reason);
    // On a busy machine the run may see none of them.
    let reasons = ["too little was measured", "none of the offsets has a bound", "not a single sample"];
    assert!(reasons.iter().any(|reason| verdict.reason.contains(reason)), "{}", verdict.reason);
}

#[test]
fn an_asymmetric_path_hides_from_the_offset_and_not_from_the_bound() {
    let ptp4l = Ptp4l::start(0);
    ptp4l.script.asymmetry_ns.store(3_000_000, Ordering::Relaxed);
    let found = record(&heard(1, || ptp4l.follow(&["--time", "2s"])));
    let spread = source(&found).spread.unwrap();
    assert!((spread.median_ns - 1_500_000).abs() < 100, "half of the asymmetry: {spread:?}");
    let (lowest_ns, highest_ns, widest_ns) = bound(&found);
    assert!(lowest_ns <= 0 && highest_ns >= 3_000_000 && widest_ns >= 3_000_000, "{lowest_ns} {highest_ns}");
}

#[test]
fn without_raw_stamps_there_is_no_bound_and_no_limit_holds() {
    let ptp4l = Ptp4l::start(5_000);
    let management = ptp4l.path("management");
    let words = ["measure", "sync", "--source", "ptp", "--json", "--time", "3s", "--limit", "1ms", "--ptp-socket"];
    let done = heard(1, || run(&[&words[..], &[management.to_str().unwrap()]].concat()));
    let found = record(&done);
    assert_eq!(code(&done), 3);
    assert!(matches!(&source(&found).bound, HardBound::Missing { reason } if reason.contains("slave_event_monitor")));
    assert!(found.validity.has(ReasonCode::NoHardBound));
    let verdict = found.verdict.clone().unwrap();
    assert_eq!(verdict.state, VerdictState::CannotTell);
    assert!(verdict.reason.contains("none of the offsets has a bound"), "{}", verdict.reason);
    // The same message is asked for several times, and counted once: it comes ten times a second, and is asked for four times.
    let spread = source(&found).spread.unwrap();
    assert!((1..=12).contains(&spread.count) && spread.median_ns == 5_000, "{spread:?}");
}

#[test]
fn another_grand_master_and_a_lost_one_make_the_run_invalid() {
    for lost in [false, true] {
        let ptp4l = Ptp4l::start(0);
        let (found, code) = with_change(&ptp4l, 10, &[], move |script| {
            if lost { &script.listens } else { &script.other_master }.store(true, Ordering::Relaxed);
        });
        assert_eq!(code, 3);
        let (reason, what) = if lost {
            (ReasonCode::SyncLost, SyncChange::State)
        } else {
            (ReasonCode::ReferenceChanged, SyncChange::Reference)
        };
        assert!(found.validity.has(reason), "{:?}", found.validity.reasons());
        let event = found.sync().unwrap().events.iter().find(|event| event.what == what).unwrap();
        let into_run_ns = event.at.monotonic.since(found.manifest().started.monotonic).0;
        assert!(into_run_ns > 1_000_000_000, "{event:?}");
    }
}

/// The record of a run of 8 s, which asks some 32 times, in which something happens after so many questions; and its exit
/// status. What happens is told when the run has ended.
fn with_change(
    ptp4l: &Ptp4l,
    looks: u64,
    more: &[&str],
    change: impl FnOnce(&Script) + Send + 'static,
) -> (Record, i32) {
    let (script, run_ended) = (Arc::clone(&ptp4l.script), Arc::new(AtomicBool::new(false)));
    let ended = Arc::clone(&run_ended);
    let thread = std::thread::spawn(move || {
        script.until_asked(looks, &ended);
        change(&script);
    });
    let done = ptp4l.follow(&[&["--time", "8s"], more].concat());
    run_ended.store(true, Ordering::Relaxed);
    thread.join().unwrap();
    (record(&done), code(&done))
}

#[test]
fn nothing_is_put_together_over_a_change_of_the_time_scale() {
    let ptp4l = Ptp4l::start(0);
    // PTP time scale: this clock, on UTC, is 37 s ahead of what the stamps were taken for.
    let (found, code) =
        with_change(&ptp4l, 10, &["--limit", "500ms"], |script| script.flags.store(8, Ordering::Relaxed));
    let run = found.sync().unwrap();
    let event = run.events.iter().find(|event| event.what == SyncChange::TimeScale).unwrap();
    assert!(event.detail.contains("time scale flag: arbitrary to PTP"), "{event:?}");
    let spreads: Vec<_> = run.sources.iter().map(|source| source.spread.unwrap()).collect();
    assert_eq!(spreads.len(), 2, "{spreads:?}");
    assert!(spreads[0].lowest_ns.abs() < 1_000_000 && spreads[0].highest_ns.abs() < 1_000_000, "{spreads:?}");
    assert!(spreads[1].lowest_ns > 36_000_000_000, "{spreads:?}");
    assert!(found.validity.has(ReasonCode::ReferenceChanged), "{:?}", found.validity.reasons());
    let names: Vec<String> = found.series.iter().map(|series| series.place.to_string()).collect();
    assert!(names.contains(&"eth9 domain 0".to_owned()) && names.contains(&"eth9 (part 2) domain 0".to_owned()));
    assert_eq!(code, 3);
}

#[test]
fn a_grand_master_in_holdover_and_a_silent_ptp4l_make_the_run_invalid() {
    let ptp4l = Ptp4l::start(0);
    ptp4l.script.class.store(6, Ordering::Relaxed);
    let (found, code) =
        with_change(&ptp4l, 10, &["--limit", "500ms"], |script| script.class.store(7, Ordering::Relaxed));
    let event = found.sync().unwrap().events.iter().find(|event| event.what == SyncChange::Holdover).cloned();
    assert!(event.is_some_and(|event| event.detail == "clock class: 6 to 7"), "{:?}", found.sync().unwrap().events);
    assert!(found.validity.has(ReasonCode::SyncLost) && code == 3, "{:?}", found.validity.reasons());

    let ptp4l = Ptp4l::start(0);
    // It counts as silent after seven questions, 1.5 to 2 s.
    let (found, code) =
        with_change(&ptp4l, 4, &["--limit", "500ms"], |script| script.is_silent.store(true, Ordering::Relaxed));
    let events = &found.sync().unwrap().events;
    assert!(events.iter().any(|event| event.detail.contains("does not answer")), "{events:?}");
    assert!(found.validity.has(ReasonCode::SyncLost) && code == 3, "{:?}", found.validity.reasons());
}

#[test]
fn what_was_named_and_is_missing_silent_or_never_locks_cannot_be_told() {
    let folder = tempfile::tempdir().unwrap();
    let silent = UnixDatagram::bind(folder.path().join("silent")).unwrap();
    let chronyd = Chronyd::start();
    for name in ["missing", "silent"] {
        let (socket, address) = (folder.path().join(name), chronyd.address());
        let socket = socket.to_str().unwrap();
        let words = ["measure", "sync", "--json", "--time", "2s", "--limit", "900ms", "--chrony", &address];
        let alone = run(&words);
        assert_eq!(code(&alone), 0, "chronyd by itself holds: {}", said(&alone));
        let done = run(&[&words[..], &["--ptp-socket", socket]].concat());
        let found = record(&done);
        assert_eq!(code(&done), 3, "{name}: {}", said(&done));
        assert!(found.validity.has(ReasonCode::SourceSilent), "{:?}", found.validity.reasons());
        assert!(found.sync().unwrap().not_followed.iter().any(|why| why.contains(name)), "{:?}", found.sync());
    }
    drop(silent);
    let ptp4l = Ptp4l::start(0);
    ptp4l.script.never_locks.store(true, Ordering::Relaxed);
    let done = ptp4l.follow(&["--time", "2s", "--limit", "500ms"]);
    let found = record(&done);
    assert!(found.validity.has(ReasonCode::NeverLocked) && code(&done) == 3, "{:?}", found.validity.reasons());
}

#[test]
fn what_comes_to_the_sockets_and_is_none_of_it_is_counted_and_changes_nothing() {
    let ptp4l = Ptp4l::start(50_000);
    let events = ptp4l.path("events");
    let ends = Arc::new(AtomicBool::new(false));
    let (until, to) = (Arc::clone(&ends), events.clone());
    let sender = std::thread::spawn(move || {
        let socket = UnixDatagram::unbound().unwrap();
        socket.set_nonblocking(true).unwrap();
        // Another clock's stamps, by which this one would be a second ahead; another domain's; cut, foreign, huge, empty.
        let now_ns = realtime_ns();
        let mut of_other = sync_record(1, now_ns - 1_000_000_000, now_ns);
        of_other[20..28].copy_from_slice(&OTHER_MASTER);
        let parent = of_other.windows(8).position(|bytes| bytes == MASTER).unwrap();
        of_other[parent..parent + 8].copy_from_slice(&OTHER_MASTER);
        let mut of_domain = sync_record(1, now_ns - 1_000_000_000, now_ns);
        of_domain[4] = 7;
        let cut = of_domain[..50].to_vec();
        let all = [of_other, of_domain, cut, b"GET / HTTP/1.1".to_vec(), vec![0xff; 9_000], Vec::new()];
        let mut sent = 0_u64;
        while !until.load(Ordering::Relaxed) {
            for message in &all {
                sent += u64::from(socket.send_to(message, &to).is_ok());
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        sent
    });
    // It says which clock it has only after some of them have come.
    ptp4l.script.hides_clock.store(true, Ordering::Relaxed);
    let (script, over) = (Arc::clone(&ptp4l.script), Arc::clone(&ends));
    let speaks = std::thread::spawn(move || {
        script.until_asked(2, &over);
        script.hides_clock.store(false, Ordering::Relaxed);
    });
    let record = record(&heard(5, || ptp4l.follow(&["--time", "3s"])));
    ends.store(true, Ordering::Relaxed);
    speaks.join().unwrap();
    assert!(sender.join().unwrap() > 100);
    let (lowest_ns, highest_ns, _) = bound(&record);
    assert!(lowest_ns <= 50_000 && (50_000..10_000_000).contains(&highest_ns), "{lowest_ns} {highest_ns}");
    assert!(
        record.validity.reasons().iter().all(|reason| reason.code != ReasonCode::ReferenceChanged),
        "{:?}",
        record.validity
    );
    let missed = source(&record).could_be_missed.join("\n");
    assert!(missed.contains("left out, being of another domain, clock or kind"), "{missed}");
    assert!(missed.contains("messages that cannot be decoded (the last: "), "{missed}");
}

#[test]
fn a_ptp4l_that_starts_while_the_run_goes_on_is_followed_from_there_on() {
    let ptp4l = Ptp4l::start(50_000);
    let file = ptp4l.path("late.json");
    // Until it is interrupted.
    let mut run = crate::support::punctual(&["measure", "sync", "--source", "ptp", "--time", "100s", "-o"])
        .arg(&file)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    // It has looked for services once its own socket is there.
    let name = format!("punctual-answers-sync-{}-", run.id());
    let has_it = |folder: PathBuf| {
        let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.any(|entry| entry.file_name().to_string_lossy().starts_with(&name))
    };
    eventually("its socket", || has_it("/run".into()) || has_it(std::env::temp_dir()));
    // A process that looks like one, with the sockets of the one above.
    let script = ptp4l.path("ptp4l");
    std::fs::write(&script, "#!/bin/sh\nread -r line\n").unwrap();
    std::fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let mut late = std::process::Command::new(&script)
        .arg(format!("--uds_address={}", ptp4l.path("management").display()))
        .arg(format!("--slave_event_mon={}", ptp4l.path("events").display()))
        .stdin(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    ptp4l.script.until_asked(8, &AtomicBool::new(false));
    signal(&run, "INT");
    run.wait().unwrap();
    let _ = late.kill();
    late.wait().unwrap();
    let record = Record::from_json(&std::fs::read_to_string(&file).unwrap()).unwrap();
    let sync = record.sync().unwrap();
    let found = sync.sources.iter().find(|source| source.place.to_string().starts_with("eth9")).unwrap();
    assert!(matches!(found.bound, HardBound::Stated { .. }), "its time stamps are received: {found:?}");
    let words = format!("ptp4l (process {}) is followed from here on", late.id());
    let event = sync.events.iter().find(|event| event.detail == words).unwrap();
    assert!(event.what == SyncChange::Source && event.at.monotonic > record.manifest().started.monotonic, "{event:?}");
}

#[test]
fn a_killed_run_leaves_the_intervals_that_ended() {
    let ptp4l = Ptp4l::start(-40_000);
    let file = ptp4l.path("run.json");
    let mut child = ptp4l.follow_in_background(&["-o", file.to_str().unwrap()]);
    // Intervals of a second; the file is a record at every moment.
    let read = || std::fs::read_to_string(&file).ok().map(|text| Record::from_json(&text).unwrap());
    let mut seen = 0;
    eventually("three intervals", || {
        seen = read().and_then(|record| record.series.first().map(|first| first.intervals.len())).unwrap_or(0);
        seen >= 3
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let left = read().unwrap();
    assert!(left.validity.has(ReasonCode::InterruptedEarly), "{:?}", left.validity);
    assert_eq!(
        left.series.iter().map(|one| one.name.as_str()).collect::<Vec<_>>(),
        ["reference_to_clock", "sent_to_received"]
    );
    for series in &left.series {
        assert!(series.intervals.len() >= seen);
        let below = |one: &Option<record::Histogram>| one.as_ref().map_or(0, record::Histogram::count);
        let counted: u64 = series.intervals.iter().map(|one| one.histogram.count() + below(&one.below_zero)).sum();
        assert_eq!((counted, counted), (series.counters.samples, series.taken()));
    }
    let (lowest_ns, highest_ns, _) = bound(&left);
    assert!(lowest_ns <= -40_000 && highest_ns >= -40_000, "{lowest_ns} {highest_ns}");
}

#[test]
fn a_stopped_program_does_not_stop_ptp4l() {
    let ptp4l = Ptp4l::start(0);
    let (management, events) = (ptp4l.path("management"), ptp4l.path("events"));
    let mut child = ptp4l.follow_in_background(&["--json"]);
    eventually("the socket for time stamps", || events.exists());
    let signal = |name: &str| {
        let done = std::process::Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
        assert!(done.success());
    };
    signal("-STOP");
    // Ten messages are what a socket holds; a service that waits would answer nobody.
    let probe_at = ptp4l.path("probe");
    let probe = UnixDatagram::bind(&probe_at).unwrap();
    probe.set_read_timeout(Some(Duration::from_secs(10))).unwrap();
    for _ in 0..4 {
        std::thread::sleep(Duration::from_secs(1));
        let mut question = header(0x0d, 54);
        question.extend([0xff; 10]);
        question.extend([0, 0, 0, 0, 0, 1, 0, 2, 0xc0, 0]);
        probe.send_to(&question, &management).unwrap();
        let mut buffer = [0; 256];
        assert!(probe.recv(&mut buffer).unwrap() > 54, "it answers still");
    }
    signal("-KILL");
    child.wait().unwrap();
    eventually("the receiver's end", || !events.exists());
}

#[test]
fn chronyd_is_followed_with_its_own_bound() {
    let chronyd = Chronyd::start();
    let address = chronyd.address();
    let line =
        ["measure", "sync", "--source", "chrony", "--json", "--time", "3s", "--limit", "60ms", "--chrony", &address];
    let done = heard(1, || run(&line));
    let found = record(&done);
    assert_eq!((code(&done), found.verdict.as_ref().unwrap().state), (0, VerdictState::Holds), "{}", said(&done));
    // chronyc says "0.050364338 seconds fast": the clock is ahead. Root delay 9.325 us, root dispersion 5.033 us.
    let spread = source(&found).spread.unwrap();
    assert_eq!(
        (spread.count, spread.median_ns),
        (1, 50_364_338),
        "one update is one offset, however often it is asked for"
    );
    let (lowest_ns, highest_ns, widest_ns) = bound(&found);
    let margin_ns = 9_325_i64.div_euclid(2) + 5_033;
    assert!((50_364_338 - margin_ns - 20..50_364_338 - margin_ns + 5).contains(&lowest_ns), "{lowest_ns}");
    assert!((50_364_338 + margin_ns - 5..50_364_338 + margin_ns + 20).contains(&highest_ns), "{highest_ns}");
    assert!(widest_ns < 20_000, "{widest_ns}");
}

#[test]
fn no_service_is_said_by_name_and_bad_words_are_refused() {
    let done = run(&["measure", "sync", "--source", "chrony", "--chrony", "127.0.0.1:1", "--time", "300ms", "--json"]);
    assert_eq!(code(&done), 3);
    let found = record(&done);
    assert!(found.validity.reasons()[0].detail.contains("chronyd does not answer at 127.0.0.1:1"), "{}", said(&done));
    for (words, expected) in [
        (&["--chrony", "nobody"][..], "is no address of chronyd's command port"),
        (&["--time", "10ms"], "100 ms to 400 days"),
        (&["--max-drift", "100"], "for example 100ppm"),
        (&["--source", "kernel", "--limit", "1ms"], "no offset of its own"),
        (&["--source", "gps"], "possible values: auto, ptp, chrony, kernel, phc"),
    ] {
        let done = run(&[&["measure", "sync"], words].concat());
        assert_eq!(code(&done), 2, "{words:?}");
        assert!(said(&done).contains(expected), "{}", said(&done));
    }
}
