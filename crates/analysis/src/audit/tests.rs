//! Each rule fires on its fault, and all are silent on a good program.
#![allow(clippy::unwrap_used, reason = "a failed step of a test is a failed test")]

use profile::catalogue::Checked;
use trace::Call;

use super::*;

fn monotonic_absolute() -> Use {
    Use { call: Call::ClockNanosleep, detail: Detail::Sleep { clock: 1, absolute: true } }
}

fn good() -> ObservedProgram {
    ObservedProgram {
        threads: vec![ObservedThread {
            name: "motor".to_owned(),
            tid: 11,
            pid: 10,
            policy: "fifo".to_owned(),
            priority: 80,
            real_time: true,
            periodic: Some(ObservedLoop { wait: monotonic_absolute(), turns: 400 }),
            ..ObservedThread::default()
        }],
        processes: vec![ObservedProcess {
            pid: 10,
            name: "good".to_owned(),
            locked_bytes: Some(8 << 20),
            resident_bytes: Some(3 << 20),
            calls_known: true,
        }],
        any_real_time: true,
        others: Vec::new(),
    }
}

fn call(call: Call, detail: Detail, target: Target, slept_times: u64) -> ObservedCall {
    let what = Use { call, detail };
    ObservedCall { what, target, times: 400, slept_times, total_ns: 900_000, longest_ns: 40_000, first_ns: 2_000_000 }
}

/// What is found when `spoil` was done to a good program.
fn check(expected: &[&str], spoil: impl FnOnce(&mut ObservedProgram)) {
    let mut seen = good();
    spoil(&mut seen);
    let ids: Vec<String> = audit(&seen).into_iter().map(|finding| finding.id).collect();
    assert_eq!(ids, expected);
}

#[test]
fn a_good_program_has_no_finding() {
    check(&[], |_| {});
    // What is waited for, and devices, are what loops are for.
    check(&[], |seen| {
        seen.threads[0].calls = vec![
            call(Call::Read, Detail::Descriptor(5), Target::Device("/dev/gpiochip0".to_owned()), 0),
            call(Call::SendTo, Detail::Descriptor(6), Target::Socket, 0),
            call(Call::Futex, Detail::Futex { operation: 1, realtime: false, contended: false }, Target::Unknown, 0),
            call(Call::Futex, Detail::Futex { operation: 6, realtime: false, contended: false }, Target::Unknown, 0),
        ];
    });
}

#[test]
fn nothing_seen_is_nothing_found() {
    assert_eq!(audit(&ObservedProgram::default()), []);
    check(&[], |seen| {
        seen.processes[0].locked_bytes = None;
        seen.processes[0].resident_bytes = None;
    });
}

#[test]
fn each_fault_is_found_by_its_own_rule() {
    check(&["app-no-real-time-thread"], |seen| {
        seen.any_real_time = false;
        seen.threads[0].real_time = false;
        seen.threads[0].policy = "other".to_owned();
        seen.threads[0].priority = 0;
    });
    check(&["app-memory-not-locked"], |seen| seen.processes[0].locked_bytes = Some(0));
    check(&["app-memory-in-loop"], |seen| {
        seen.threads[0].calls = vec![call(Call::Munmap, Detail::Nothing, Target::Unknown, 0)];
    });
    check(&["app-blocking-in-loop"], |seen| {
        seen.threads[0].calls = vec![call(Call::Read, Detail::Descriptor(5), Target::Pipe, 3)];
    });
    for target in [Target::Terminal("/dev/pts/0".to_owned()), Target::Pipe, Target::Unknown] {
        check(&["app-logging-in-loop"], |seen| {
            seen.threads[0].calls = vec![call(Call::Write, Detail::Descriptor(1), target, 0)];
        });
    }
    for target in [Target::LogSocket, Target::File("/var/log/motor".to_owned())] {
        check(&["app-logging-in-loop"], |seen| {
            seen.threads[0].calls = vec![call(Call::SendTo, Detail::Descriptor(7), target, 0)];
        });
    }
    check(&["app-files-in-loop"], |seen| {
        seen.threads[0].calls = vec![call(Call::OpenAt, Detail::Nothing, Target::Unknown, 0)];
    });
    check(&["app-threads-in-loop"], |seen| {
        seen.threads[0].calls = vec![call(Call::Clone3, Detail::Nothing, Target::Unknown, 0)];
    });
    check(&["app-lock-without-inheritance"], |seen| {
        let detail = Detail::Futex { operation: 0, realtime: false, contended: true };
        seen.threads[0].calls = vec![call(Call::Futex, detail, Target::Unknown, 9)];
    });
    check(&["app-page-faults-in-loop"], |seen| seen.threads[0].faults.times = 3);
    check(&["app-stack-growth-in-loop"], |seen| seen.threads[0].stack_faults.times = 3);
    check(&["app-relative-sleep"], |seen| {
        let detail = Detail::Sleep { clock: CLOCK_REALTIME, absolute: false };
        seen.threads[0].periodic.as_mut().unwrap().wait.detail = detail;
    });
    check(&["app-realtime-clock"], |seen| {
        let detail = Detail::Sleep { clock: CLOCK_REALTIME, absolute: true };
        seen.threads[0].periodic.as_mut().unwrap().wait.detail = detail;
    });
    check(&["app-top-priority"], |seen| seen.threads[0].priority = 99);
    check(&["app-helper-threads"], |seen| {
        let from = seen.threads[0].label();
        let helper = ObservedThread { inherited_from: Some(from), periodic: None, ..seen.threads[0].clone() };
        seen.threads.push(helper);
    });
    check(&["app-no-loop"], |seen| seen.threads[0].periodic = None);
    check(&["app-unknown-calls"], |seen| seen.processes[0].calls_known = false);
}

#[test]
fn what_could_no_longer_be_asked_is_said() {
    let mut seen = good();
    assert_eq!(not_looked_for(&seen), Vec::<String>::new());
    (seen.threads[0].unplaced_faults, seen.processes[0].locked_bytes) = (4_096, None);
    let said = not_looked_for(&seen);
    assert!(said[0].starts_with("growth of the stack (thread motor (11, fifo 80): it had ended"), "{said:?}");
    assert!(said[0].ends_with("where 4\u{202f}096 page faults were)"), "{said:?}");
    assert!(said[1].starts_with("whether memory is locked (process good (10): it had ended"), "{said:?}");
    seen.threads[0].real_time = false;
    assert_eq!(not_looked_for(&seen), Vec::<String>::new(), "nothing is looked for of ordinary threads");
}

#[test]
fn a_second_relative_sleep_is_both_relative_and_blocking() {
    check(&["app-blocking-in-loop", "app-relative-sleep"], |seen| {
        let detail = Detail::Sleep { clock: 1, absolute: false };
        seen.threads[0].calls = vec![call(Call::ClockNanosleep, detail, Target::Unknown, 400)];
    });
}

#[test]
fn evidence_has_counts_durations_and_an_example() {
    let mut seen = good();
    seen.threads[0].calls = vec![call(Call::Read, Detail::Descriptor(5), Target::Pipe, 3)];
    let finding = &audit(&seen)[0];
    assert_eq!(finding.evidence[0].source, "thread motor (11, fifo 80)");
    let expected = "read(5) on a pipe: 400 times in 400 turns, slept 3 times, longest 40.0 us, in all 900 us, first 2 ms into the run";
    assert_eq!(finding.evidence[0].value, expected);
}

#[test]
fn every_rule_explains_itself_and_has_a_name_of_its_own() {
    let mut ids: Vec<&str> = CATALOGUE.rules.iter().map(|rule| rule.id).collect();
    for rule in CATALOGUE.rules {
        assert!(rule.id.starts_with("app-"), "{}", rule.id);
        assert!(rule.parts().iter().all(|(_, part)| part.ends_with('.')), "{}", rule.id);
        assert!(!rule.sources.is_empty() && !rule.severities.is_empty());
        assert!(
            match rule.checked {
                Checked::Linux(releases) => !releases.is_empty(),
                Checked::Independent(basis) => !basis.is_empty(),
            },
            "{} does not say against what it was checked",
            rule.id
        );
    }
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), CATALOGUE.rules.len());
}

#[test]
fn calls_of_the_allocator_are_found_in_real_time_loops_alone() {
    let calls = |times: u64| {
        vec![
            ObservedAllocations { function: "malloc (libc.so.6)".to_owned(), times, counted_ns: 2_000_000_000 },
            ObservedAllocations { function: "realloc (libc.so.6)".to_owned(), times: 0, counted_ns: 2_000_000_000 },
        ]
    };
    check(&["app-heap-in-loop"], |seen| seen.threads[0].allocations = calls(1));
    check(&[], |seen| seen.threads[0].allocations = calls(0));
    check(&[], |seen| {
        let helper =
            ObservedThread { real_time: false, policy: "other".to_owned(), priority: 0, ..seen.threads[0].clone() };
        seen.threads.push(ObservedThread { allocations: calls(9), ..helper });
    });
    let mut seen = good();
    seen.threads[0].allocations = calls(400);
    let found = audit(&seen);
    assert_eq!(found[0].evidence[0].value, "malloc (libc.so.6): 400 times in 2 s");
}
