//! Conclusions whose truth is known.

use record::{
    CauseClass, CauseTotal, Certainty, Effective, Explanation, LoadManifest, Measurement, Owner, Place, ReasonCode,
    Record, Series,
};
use units::Timestamp;

use super::*;
use analysis::cause::IdleStates;
use samples::{explained, record_of};

const S: i64 = 1_000_000_000;
const DEADLINE_NS: u64 = 100_000;

/// A whole run of 10 s at 1 ms: as many samples as fit, most of them short, and the given ones.
fn run(latencies_ns: &[u64]) -> Record {
    let mut record = record_of(Measurement::Wakeup, latencies_ns);
    record.manifest_mut().requested.duration_ns = Some(10_000_000_000);
    record.manifest_mut().requested.interval_ns = Some(1_000_000);
    record.manifest_mut().requested.pinned = true;
    record.manifest_mut().requested.priority = 98;
    record.manifest_mut().ended.monotonic = Timestamp::from_ns(10 * S);
    let short = 10_000_u64.saturating_sub(u64::try_from(latencies_ns.len()).unwrap());
    record.series[0].histogram.record_n(5_000, short);
    record
}

fn loaded(latencies_ns: &[u64]) -> Record {
    let mut record = run(latencies_ns);
    record.manifest_mut().load = LoadManifest { name: "paper".to_owned(), ..LoadManifest::default() };
    record
}

fn input<'a>(idle: &'a Record, loaded: &'a Record) -> AssessmentInput<'a> {
    AssessmentInput {
        deadline_ns: DEADLINE_NS,
        idle: Part::Measured(idle),
        loaded: Part::Measured(loaded),
        ..AssessmentInput::default()
    }
}

fn check(input: &AssessmentInput<'_>, expected: Answer, part: &str) -> Assessment {
    let assessment = assess(input);
    assert_eq!(assessment.answer, expected, "{}", assessment.sentence);
    assert!(assessment.sentence.contains(part), "{}", assessment.sentence);
    assessment
}

fn cause(class: CauseClass, name: &str, certainty: Certainty, samples: u64, worst_ns: i64) -> CauseTotal {
    CauseTotal {
        class,
        name: name.to_owned(),
        certainty,
        samples,
        worst_ns,
        took_ns: 1,
        beyond_deadline: Some(if worst_ns > 100_000 { samples } else { 0 }),
        owner: Owner::Other,
        latencies: record::Histogram::new(),
        remedy: "as stored".to_owned(),
        finding: None,
    }
}

/// A record whose late samples have these causes.
fn with_causes(mut record: Record, causes: Vec<CauseTotal>) -> Record {
    let explained = causes.iter().map(|cause| cause.samples).sum();
    record.late_samples.explanation = Some(Explanation { causes, explained, ..Explanation::default() });
    record
}

fn finding(id: &str) -> Change {
    Change { title: id.to_owned(), finding: Some(id.to_owned()), ..Change::default() }
}

fn named(assessment: &Assessment) -> Vec<&str> {
    assessment.changes.iter().map(|change| change.title.as_str()).collect()
}

#[test]
fn the_worst_of_all_parts_decides() {
    let quiet = run(&[41_800]);
    check(&input(&quiet, &loaded(&[99_000])), Answer::Holds, "99.0 us under load 'paper'");
    check(&input(&quiet, &loaded(&[100_001])), Answer::DoesNotHold, "100 us on CPU 2 under load");
    check(&input(&run(&[300_000]), &loaded(&[5_000])), Answer::DoesNotHold, "300 us");
    let (load, late) = (loaded(&[5_000]), run(&[200_000]));
    let held = AssessmentInput { held: Part::Measured(&late), ..input(&quiet, &load) };
    check(&held, Answer::DoesNotHold, "200 us on CPU 2 with idle states disabled");
}

#[test]
fn an_invalid_part_neither_passes_nor_hides_what_a_valid_one_has_shown() {
    let mut invalid = loaded(&[900_000]);
    invalid.validity.add(ReasonCode::LoadNotAchieved, "nothing ran");
    let quiet = run(&[5_000]);
    check(&input(&quiet, &invalid), Answer::CannotBeTold, "the run under load is invalid");
    check(&input(&run(&[300_000]), &invalid), Answer::DoesNotHold, "300 us");
    // What is invalid is not looked at for its worst.
    assert!(!assess(&input(&quiet, &invalid)).sentence.contains("900"));
}

#[test]
fn an_invalid_part_is_named_beside_what_the_conclusion_rests_on() {
    let mut invalid = loaded(&[900_000]);
    invalid.validity.add(ReasonCode::LoadNotAchieved, "nothing ran");
    let lines = assess(&input(&run(&[300_000]), &invalid)).lines;
    let line = |start: &str| lines.iter().find(|line| line.starts_with(start)).unwrap();
    assert!(line("Under load").ends_with("; the run is invalid."), "{lines:?}");
    assert!(
        line("Trust: valid. It rests on 10 s idle").contains("The run under load 'paper' is invalid (the requested"),
        "{lines:?}"
    );
}

#[test]
fn an_invalid_run_without_a_sample_is_no_pass() {
    let mut empty = loaded(&[]);
    empty.series = vec![Series { place: Place::thread(0, Some(2)), ..Series::default() }];
    empty.validity.add(ReasonCode::NoSamples, "the run ended before its first wake-up");
    check(&input(&run(&[5_000]), &empty), Answer::CannotBeTold, "under load is invalid");
}

#[test]
fn a_part_that_was_ended_early_is_no_pass_and_can_still_be_a_failure() {
    let quiet = run(&[5_000]);
    let mut short = loaded(&[]);
    short.series[0].histogram = record::Histogram::new();
    short.series[0].histogram.record_n(6_000, 2);
    short.manifest_mut().ended.monotonic = Timestamp::from_ns(2_000_000);
    short.validity.add(ReasonCode::InterruptedEarly, "after 2 ms of 10 s");
    check(&input(&quiet, &short), Answer::CannotBeTold, "too little was measured under load: it ran for 2");
    short.series[0].histogram.record_n(400_000, 1);
    check(&input(&quiet, &short), Answer::DoesNotHold, "400 us");
}

#[test]
fn each_part_that_was_asked_has_to_have_taken_place() {
    let (quiet, load) = (run(&[5_000]), loaded(&[5_000]));
    let why = "the assessment was ended before it";
    let all = input(&quiet, &load);
    assert_eq!(assess(&all).answer, Answer::Holds);
    for missing in [
        AssessmentInput { held: Part::Missing(why), ..all.clone() },
        AssessmentInput { loaded: Part::Missing(why), ..all.clone() },
        AssessmentInput { noise: Part::Missing(why), ..all.clone() },
        AssessmentInput { idle: Part::Missing(why), ..all.clone() },
    ] {
        check(&missing, Answer::CannotBeTold, why);
    }
    check(&AssessmentInput { loaded: Part::NotAsked, ..all }, Answer::CannotBeTold, "nothing was measured under load");
}

#[test]
fn a_cpu_without_samples_and_parts_of_different_cpus_are_no_pass() {
    let quiet = run(&[5_000]);
    let mut silent = loaded(&[5_000]);
    silent.manifest_mut().requested.cpus = [2, 3].into_iter().collect();
    silent.manifest_mut().requested.threads = 2;
    check(&input(&quiet, &silent), Answer::CannotBeTold, "CPU 3 was requested and has no samples");
    let mut other = loaded(&[5_000]);
    other.manifest_mut().requested.cpus = [3].into_iter().collect();
    other.series[0].place = Place::thread(0, Some(3));
    check(&input(&quiet, &other), Answer::CannotBeTold, "CPU 2 was measured idle, and CPU 3 under load");
    let load = loaded(&[5_000]);
    let mut noise = record_of(Measurement::Noise, &[5_000]);
    noise.manifest_mut().requested.cpus = [3].into_iter().collect();
    noise.series[0].place = Place::thread(0, Some(3));
    let elsewhere = AssessmentInput { noise: Part::Measured(&noise), ..input(&quiet, &load) };
    check(&elsewhere, Answer::CannotBeTold, "CPU 2 was measured idle, and CPU 3 with a thread that never sleeps");
}

#[test]
fn without_load_only_a_failure_can_be_told() {
    let why = "stress-ng is not installed";
    let (quiet, late, load) = (run(&[5_000]), run(&[500_000]), loaded(&[]));
    let of = |idle| AssessmentInput { loaded: Part::Missing(why), ..input(idle, &load) };
    check(&of(&quiet), Answer::CannotBeTold, why);
    check(&of(&late), Answer::DoesNotHold, "500 us");
}

#[test]
fn numbers_out_of_a_file_can_be_anything() {
    let mut odd = loaded(&[900_000]);
    odd.manifest_mut().started.monotonic = Timestamp::from_ns(i64::MIN);
    odd.manifest_mut().ended.monotonic = Timestamp::from_ns(i64::MAX);
    odd.series[0].counters.steal_ns = Some(u64::MAX);
    odd.series[0].counters.smi = Some(u64::MAX);
    odd.late_samples.explanation = Some(Explanation {
        causes: vec![cause(CauseClass::Steal, "", Certainty::Likely, u64::MAX, i64::MAX); 2],
        explained: 0,
        ..Explanation::default()
    });
    check(&input(&odd, &odd), Answer::DoesNotHold, "900 us");
}

#[test]
fn a_comparison_of_a_few_samples_ranks_nothing() {
    let idle = record_of(Measurement::Wakeup, &[80_000; 13]);
    let held = record_of(Measurement::Wakeup, &[5_000; 8]);
    let load = loaded(&[]);
    let of = |idle, held| AssessmentInput { held: Part::Measured(held), ..input(idle, &load) };
    assert!(assess(&of(&idle, &held)).changes.is_empty(), "13 against 8");
    let (late, better) = (run(&[80_000; 50]), run(&[]));
    let assessment = assess(&of(&late, &better));
    let change = &assessment.changes[0];
    assert_eq!(change.finding.as_deref(), Some("deep-idle-states"));
    assert_eq!((change.basis_samples, change.sureness), (Some(50), Some(Certainty::Likely)));
    assert!(change.why.contains("50 of 10\u{202f}000 idle wake-ups were beyond half of 100 us"), "{}", change.why);
    assert!(assess(&of(&late, &late)).changes.is_empty(), "no gain");
    let (dozen, three) = (run(&[80_000; 12]), run(&[80_000; 3]));
    assert!(assess(&of(&dozen, &three)).changes.is_empty(), "12 against 3 come by chance");
    let disabled = AssessmentInput {
        surroundings: Surroundings { idle_states: IdleStates::Disabled, ..Surroundings::default() },
        changes: vec![finding("deep-idle-states")],
        ..of(&late, &better)
    };
    assert!(assess(&disabled).changes.is_empty(), "they are disabled already");
    let mut refused = idle.clone();
    refused.validity.add(ReasonCode::SchedulingNotGranted, "EPERM");
    assert!(assess(&of(&refused, &held)).changes[0].how[0].contains("setcap"));
}

#[test]
fn where_every_long_delay_came_from_the_host_idle_states_are_not_named() {
    let host = || vec![cause(CauseClass::Steal, "", Certainty::Likely, 40, 3_000_000)];
    let (idle, held) = (with_causes(run(&[479_000; 40]), host()), run(&[]));
    let load = with_causes(loaded(&[3_000_000; 40]), host());
    let of = |idle| AssessmentInput { held: Part::Measured(&held), ..input(idle, &load) };
    let assessment = assess(&of(&idle));
    assert_eq!(named(&assessment), ["Act on what made wake-ups late: hypervisor"]);
    let change = &assessment.changes[0];
    assert!(change.removes_share_of_beyond.unwrap() > 0.99 && change.basis_samples == Some(80), "{change:?}");
    // Where the host took its time in one run alone, the runs do not compare.
    let mut stolen = run(&[479_000; 40]);
    stolen.series[0].counters.steal_ns = Some(500_000_000);
    assert!(assess(&of(&stolen)).changes.iter().all(|change| change.finding.as_deref() != Some("deep-idle-states")));
}

#[test]
fn the_larger_share_comes_before_the_smaller_and_among_equal_ones_shown_before_likely() {
    let causes = vec![
        cause(CauseClass::Steal, "", Certainty::Likely, 60, 900_000),
        cause(CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown, 10, 200_000),
        cause(CauseClass::Nmi, "", Certainty::Likely, 10, 400_000),
    ];
    let assessment = assess(&input(&run(&[]), &with_causes(loaded(&[200_000; 100]), causes)));
    let titles = named(&assessment);
    assert!(titles[0].contains("hypervisor") && titles[1].contains("eth0"), "{titles:?}");
    let shares: Vec<f64> = assessment.changes.iter().map(|change| change.removes_share_of_beyond.unwrap()).collect();
    assert!(shares.iter().zip([0.6, 0.1, 0.1]).all(|(share, expected)| (share - expected).abs() < 0.01), "{shares:?}");
}

#[test]
fn one_sample_among_hundreds_ranks_nothing_and_the_only_one_does() {
    let one = || vec![cause(CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown, 1, 200_000)];
    let unknown = cause(CauseClass::Unknown, "", Certainty::Unknown, 60, 900_000);
    let many = with_causes(loaded(&[200_000; 100]), [one(), vec![unknown]].concat());
    assert!(assess(&input(&run(&[]), &many)).changes.is_empty());
    let single = with_causes(loaded(&[200_000]), one());
    assert_eq!(assess(&input(&run(&[]), &single)).changes.len(), 1);
}

#[test]
fn causes_that_stay_far_within_the_deadline_ask_for_no_change() {
    let short = vec![explained(CauseClass::Interrupt, "eth0 (interrupt 24)", 247_000); 5];
    let mut load = with_causes(
        loaded(&[247_000; 5]),
        vec![cause(CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown, 5, 247_000)],
    );
    load.late_samples.explanation.as_mut().unwrap().samples = short;
    load.late_samples.explanation.as_mut().unwrap().causes[0].beyond_deadline = Some(0);
    let quiet = run(&[]);
    let of = |deadline_ns| AssessmentInput {
        deadline_ns,
        changes: vec![finding("kernel-not-realtime")],
        ..input(&quiet, &load)
    };
    let wide = assess(&of(500_000));
    assert_eq!((wide.answer, wide.changes.len()), (Answer::Holds, 0), "{:?}", wide.changes);
    // With a small margin there is advice, and nothing is said to be wrong.
    let narrow = assess(&of(300_000));
    assert_eq!((narrow.answer, narrow.changes.len()), (Answer::Holds, 1), "{:?}", narrow.changes);
    assert!(narrow.lines.iter().all(|line| !line.starts_with("What makes it late")), "{:?}", narrow.lines);
}

#[test]
fn a_cause_s_share_counts_all_of_its_samples_and_not_the_kept_ones() {
    let eth0 = |worst_ns| cause(CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown, 90, worst_ns);
    let mut often = eth0(60_000);
    often.latencies.record_n(60_000, 90);
    let mut seldom = CauseTotal { name: "disk (interrupt 30)".to_owned(), samples: 10, ..eth0(90_000) };
    seldom.latencies.record_n(90_000, 10);
    // The worst of all are of the one that comes seldom, and only they are kept.
    let latencies: Vec<u64> = [[60_000; 90].as_slice(), &[90_000; 10]].concat();
    let mut load = with_causes(loaded(&latencies), vec![often, seldom]);
    load.late_samples.explanation.as_mut().unwrap().samples =
        vec![explained(CauseClass::Interrupt, "disk (interrupt 30)", 90_000); 10];
    let assessment = assess(&input(&run(&[]), &load));
    assert_eq!(assessment.answer, Answer::Holds);
    let first = &assessment.changes[0];
    assert!(first.title.contains("eth0") && first.basis_samples == Some(90), "{first:?}");
    assert!((first.removes_share_of_beyond.unwrap() - 0.9).abs() < 0.01, "{first:?}");
}

#[test]
fn threads_of_the_load_are_not_sent_away_and_those_of_this_program_are_no_cause_to_change_anything() {
    let mut of_load = cause(CauseClass::PreemptionOff, "stress-ng-iomix (other)", Certainty::Shown, 30, 200_000);
    let mut load = with_causes(loaded(&[200_000; 30]), vec![of_load.clone()]);
    load.manifest_mut().load.commands = vec![vec!["/usr/bin/stress-ng".to_owned(), "--iomix".to_owned()]];
    let how = |load: &Record| {
        assess(&input(&run(&[]), load)).changes.iter().map(|change| change.how[0].clone()).collect::<Vec<_>>()
    };
    assert!(how(&load)[0].starts_with("keep programs that do what the load did off"), "{:?}", how(&load));
    of_load.owner = Owner::Instrument;
    assert!(how(&with_causes(load.clone(), vec![of_load])).is_empty());
    // Another measurement at the same time, or a program that this one made to plant delays.
    let by_name = cause(CauseClass::PreemptionOff, "punctual-w0 (fifo 98)", Certainty::Shown, 30, 200_000);
    assert_eq!(how(&with_causes(load, vec![by_name])).len(), 1);
}

#[test]
fn a_user_s_program_whose_name_begins_as_another_s_does_is_the_user_s() {
    let owner_is_other = |thread: &str| {
        let causes = vec![cause(CauseClass::PreemptionOff, thread, Certainty::Shown, 30, 200_000)];
        let mut load = with_causes(loaded(&[200_000; 30]), causes);
        let commands = ["/usr/bin/stress-ng", "/bin/cat", "/opt/a-very-long-load-generator"];
        load.manifest_mut().load.commands = commands.map(|program| vec![program.to_owned()]).to_vec();
        let changes = assess(&input(&run(&[]), &load)).changes;
        changes.first().is_some_and(|change| change.how[0].starts_with("keep that thread off"))
    };
    // The kernel keeps 15 bytes of a name.
    for of_load in ["cat (other)", "stress-ng-iomix (other)", "a-very-long-loa (other)"] {
        assert!(!owner_is_other(of_load), "{of_load}");
    }
    for others in ["punctual (fifo 99)", "catalog (fifo 50)", "a-very-long-loo (other)"] {
        assert!(owner_is_other(others), "{others}");
    }
}

#[test]
fn where_no_run_is_valid_what_makes_one_valid_is_named() {
    let throttled = |mut record: Record| {
        record.validity.add(ReasonCode::RtThrottled, "CPU 2 for 50 ms");
        record
    };
    let (idle, load) = (throttled(run(&[])), throttled(loaded(&[])));
    let of = |ids: &[&str]| {
        let changes = ids.iter().map(|id| finding(id)).collect();
        assess(&AssessmentInput { changes, ..input(&idle, &load) })
    };
    let assessment = of(&["kernel-not-realtime"]);
    assert_eq!((assessment.answer, named(&assessment)), (Answer::CannotBeTold, vec!["Make the run valid"]));
    let change = &assessment.changes[0];
    assert_eq!(change.finding.as_deref(), Some("realtime-throttling"));
    assert!(change.why.ends_with("CPU 2 for 50 ms") && change.how[0].contains("sched_rt_runtime_us"), "{change:?}");
    // What `check` found of it stands with it.
    let assessment = of(&["kernel-not-realtime", "fair-server-on-isolated-cpus"]);
    assert_eq!(named(&assessment), ["Make the run valid", "fair-server-on-isolated-cpus"]);
    // Where a valid part is beyond the deadline the answer stands, and so does its advice.
    let broken = run(&[300_000]);
    assert!(assess(&input(&broken, &load)).changes.is_empty());
}

#[test]
fn a_share_of_a_thousandth_is_not_told_of_a_few_samples() {
    let line = |samples: usize| {
        let idle = record_of(Measurement::Wakeup, &vec![5_000; samples]);
        assess(&input(&idle, &loaded(&[]))).lines.remove(0)
    };
    assert_eq!(line(2), "Idle: worst 5.0 us on CPU 2, of 2 wake-ups.");
    assert!(!line(9_990).contains("99.9 %") && line(10_000).contains("99.9 % within"), "{}", line(10_000));
}

#[test]
fn the_share_that_a_change_would_remove_has_its_base_beside_it() {
    let half = vec![
        cause(CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown, 8, 200_000),
        cause(CauseClass::Unknown, "", Certainty::Unknown, 2, 200_000),
    ];
    let assessment = assess(&input(&run(&[200_000; 20]), &with_causes(loaded(&[200_000; 80]), half)));
    let why = &assessment.changes[0].why;
    // What was found, of all that were late in any part: nothing is extrapolated to those that were not explained.
    assert!(
        why.contains("of 8 of the 100 wake-ups beyond 100 us, 8 %, of up to 200 us (8 under load 'paper')"),
        "{why}"
    );
    assert!(why.ends_with("90 % are not explained"), "{why}");
    assert_eq!(assessment.changes[0].removes_share_of_beyond, Some(0.08));
    assert!(assessment.sentence.ends_with("(2 % of unknown cause, 90 % not explained)."), "{}", assessment.sentence);
}

#[test]
fn findings_come_after_causes_and_only_where_they_can_have_been_at_work() {
    let shown = vec![cause(CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown, 30, 200_000)];
    let quiet = run(&[]);
    let ids =
        ["rt-group-scheduling", "time-sync-not-realtime", "swap", "kernel-not-realtime", "interrupts-not-threaded"];
    let titles = |load: &Record| {
        let changes = ids.into_iter().map(finding).collect();
        let assessment = assess(&AssessmentInput { changes, ..input(&quiet, load) });
        named(&assessment).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let mut load = with_causes(loaded(&[200_000; 30]), shown);
    assert_eq!(titles(&load)[1..], ["interrupts-not-threaded"], "the cause is known");
    // Nothing is known of the cause: all can be, but what the run itself contradicts.
    load.late_samples.explanation = None;
    load.manifest_mut().effective = vec![Effective { policy: "fifo".to_owned(), priority: 98, ..Effective::default() }];
    assert_eq!(titles(&load), ["kernel-not-realtime", "interrupts-not-threaded"]);
    // Nothing was late.
    assert!(titles(&loaded(&[])).is_empty());
}

#[test]
fn a_gap_of_an_ordinary_thread_is_no_reason_why_a_real_time_one_is_late() {
    let (late, load) = (run(&[300_000]), loaded(&[]));
    let mut noise = record_of(Measurement::Noise, &[6_414_000]);
    let line = |noise: &Record| {
        let assessment = assess(&AssessmentInput { noise: Part::Measured(noise), ..input(&late, &load) });
        assessment.lines.into_iter().find(|line| line.starts_with("What makes it late")).unwrap()
    };
    noise.manifest_mut().effective = vec![Effective { policy: "other".to_owned(), ..Effective::default() }];
    assert!(!line(&noise).contains("never sleeps"), "{}", line(&noise));
    noise.manifest_mut().effective =
        vec![Effective { policy: "fifo".to_owned(), priority: 98, ..Effective::default() }];
    assert!(line(&noise).contains("6\u{202f}414 us"), "{}", line(&noise));
}

#[test]
fn what_makes_it_late_is_told_by_valid_runs_that_were_looked_at() {
    let (quiet, host) = (run(&[]), vec![cause(CauseClass::Steal, "", Certainty::Likely, 40, 3_000_000)]);
    let line = |idle: &Record, load: &Record| {
        let lines = assess(&input(idle, load)).lines;
        lines.into_iter().find(|line| line.starts_with("What made the worst ones late")).unwrap()
    };
    assert!(line(&quiet, &loaded(&[])).ends_with("unknown, since causes were not looked for."));
    let mut looked_at = quiet.clone();
    looked_at.late_samples.explanation =
        Some(Explanation { sources: vec!["counters".to_owned()], ..Explanation::default() });
    assert!(line(&looked_at, &loaded(&[])).ends_with("nothing was seen that took time away."));
    looked_at.late_samples.explanation = looked_at.explanation().cloned().map(|of| Explanation { outliers: 3, ..of });
    assert!(line(&looked_at, &loaded(&[])).ends_with("none of the late wake-ups was recorded in time."));
    let mut invalid = with_causes(loaded(&[3_000_000; 40]), host);
    invalid.series[0].counters.steal_ns = Some(500_000_000);
    invalid.validity.add(ReasonCode::Stopped, "for 501 ms");
    assert!(!line(&quiet, &invalid).contains("hypervisor"), "{}", line(&quiet, &invalid));
    assert!(line(&invalid, &invalid).ends_with("unknown, since no run of wake-ups is valid."));
}

#[test]
fn a_machine_on_which_others_ran_is_not_called_idle_without_a_remark() {
    let trust = |others_idle: Option<f64>, others_loaded: Option<f64>| {
        let (mut idle, mut loaded) = (run(&[]), loaded(&[]));
        idle.manifest_mut().node.online_cpus = "0-1".parse().unwrap();
        idle.manifest_mut().others_cpu_used = others_idle;
        loaded.manifest_mut().others_cpu_used = others_loaded;
        let lines = assess(&input(&idle, &loaded)).lines;
        lines.into_iter().find(|line| line.starts_with("Trust:")).unwrap()
    };
    let busy = trust(Some(1.624), Some(0.5));
    let said = "The machine was not idle: other programs and interrupts used 1.62 of 2 CPUs in the run idle.";
    assert!(busy.contains(said), "{busy}");
    // Beside a load others are no surprise, and a little always runs.
    for quiet in [trust(Some(0.09), Some(1.0)), trust(None, None)] {
        assert!(!quiet.contains("not idle"), "{quiet}");
    }
}

#[test]
fn the_line_of_trust_says_what_it_rests_on() {
    let mut load = loaded(&[]);
    load.manifest_mut().load.achieved =
        Some(record::AchievedLoad { cpu_used: 0.744, ..record::AchievedLoad::default() });
    let assessment = assess(&input(&run(&[]), &load));
    let line = assessment.lines.last().unwrap().replace('\u{202f}', " ");
    assert!(
        line.contains(
            "valid. It rests on 10 s idle (10 000 wake-ups), 10 s under load 'paper' (10 000 wake-ups, 0.74 CPUs"
        ),
        "{line}"
    );
}

#[test]
fn the_headline_names_the_cause_of_the_worst_or_that_it_is_unknown() {
    let late = |class, name: &str, certainty, latency_ns| {
        let mut sample = explained(class, name, latency_ns);
        sample.certainty = certainty;
        sample
    };
    let sentence = |samples: Vec<record::ExplainedSample>| {
        let mut load = with_causes(
            loaded(&[200_000, 300_000]),
            vec![cause(CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown, 1, 200_000)],
        );
        load.late_samples.explanation.as_mut().unwrap().samples = samples;
        assess(&input(&run(&[]), &load)).sentence
    };
    let eth0 = |latency_ns| late(CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown, latency_ns);
    let hog = late(CauseClass::Thread, "hog (fifo 99)", Certainty::Likely, 300_000);
    let unknown = late(CauseClass::Unknown, "", Certainty::Unknown, 300_000);
    for (samples, expected) in [
        (vec![hog], "300 us on CPU 2 under load 'paper', cause thread: hog (fifo 99), likely; 2 of"),
        (vec![eth0(300_000)], "cause interrupt: eth0 (interrupt 24), shown; 2 of"),
        (vec![unknown, eth0(200_000)], "under load 'paper', cause unknown; 2 of"),
        // The cause of another sample is not taken for that of the worst.
        (vec![eth0(200_000)], "cause unknown: nothing was recorded of it; 2 of"),
    ] {
        let sentence = sentence(samples);
        assert!(sentence.contains(expected), "{sentence}");
    }
    let blind = assess(&input(&run(&[]), &loaded(&[300_000]))).sentence;
    assert!(blind.ends_with("cause not looked for; 1 of 20\u{202f}000 beyond it."), "{blind}");
    let holds = assess(&input(&run(&[]), &loaded(&[90_000]))).sentence;
    assert!(holds.ends_with("90.0 us under load 'paper', cause not looked for."), "{holds}");
}

#[test]
fn the_exit_from_idle_states_is_advised_once_and_never_for_samples_of_other_causes() {
    let eth0 = cause(CauseClass::Interrupt, "eth0 (interrupt 24)", Certainty::Shown, 60, 200_000);
    let exits = cause(CauseClass::IdleExit, "C6", Certainty::Likely, 20, 200_000);
    let idle = with_causes(run(&[200_000; 100]), vec![eth0, exits]);
    let (held, load) = (run(&[]), loaded(&[]));
    let assessment = assess(&AssessmentInput { held: Part::Measured(&held), ..input(&idle, &load) });
    let shares: Vec<(Option<&str>, u64)> = assessment
        .changes
        .iter()
        .map(|change| {
            (change.finding.as_deref(), units::round_u64(100.0 * change.removes_share_of_beyond.unwrap_or(0.0)))
        })
        .collect();
    // All 100 are gone without idle states, and 60 of them are accounted for otherwise.
    assert_eq!(shares.iter().map(|(_, share)| share).sum::<u64>(), 100, "{shares:?}");
    assert_eq!(shares[1], (Some("deep-idle-states"), 40), "{shares:?}");
}
