use super::*;

fn interval(start_s: i64, maximum_ns: i64, spoiled_ns: Option<i64>) -> Interval {
    let figures = |maximum_ns| Figures { maximum_ns, maximum_at_ns: 7, samples: 300, ..Figures::default() };
    Interval {
        times: LeftTimes {
            boot: BootId("b".to_owned()),
            start_ns: start_s * 1_000_000_000,
            length_ns: 300_000_000_000,
            wall: None,
        },
        condition: ContentHash::of("{}"),
        made_of: 1,
        cut_short: None,
        cpus: vec![CpuInterval {
            cpu: 1,
            valid: Some(figures(maximum_ns)),
            spoiled: spoiled_ns.map(figures),
            reasons: spoiled_ns.map(|_| "stopped".to_owned()).into_iter().collect(),
        }],
        sources: Vec::new(),
    }
}

#[test]
fn a_merged_interval_has_the_worst_of_both_with_its_moment_and_what_was_spoiled_apart() {
    let (first, later) = (interval(0, 9_000, None), interval(300, 12_000, Some(5_000_000)));
    let merged = first.merged(&later).unwrap();
    let cpu = &merged.cpus[0];
    let (valid, spoiled) = (cpu.valid.as_ref().unwrap(), cpu.spoiled.as_ref().unwrap());
    assert_eq!((valid.maximum_ns, valid.maximum_at_ns, valid.samples), (12_000, 300_000_000_007, 600));
    assert_eq!((spoiled.maximum_ns, spoiled.maximum_at_ns, spoiled.samples), (5_000_000, 300_000_000_007, 300));
    assert_eq!((merged.made_of, merged.times.length_ns), (2, 600_000_000_000));
    assert_eq!(cpu.reasons, ["stopped"]);
    // Never across a gap, a condition or a boot.
    assert_eq!(first.merged(&interval(301, 1, None)), None);
    assert_eq!(first.merged(&Interval { condition: ContentHash::of("other"), ..later.clone() }), None);
    assert_eq!(first.merged(&Interval { cut_short: Some(GapReason::Killed), ..later.clone() }), None);
    let mut of_another_boot = later;
    of_another_boot.times.boot = BootId("c".to_owned());
    assert_eq!(first.merged(&of_another_boot), None);
}

#[test]
fn a_merged_interval_has_the_cause_of_its_worst_and_no_other() {
    let with = |start_s, maximum_ns, cause: Option<&str>| {
        let mut interval = interval(start_s, maximum_ns, None);
        let cause = cause.map(|name| Cause { class: "thread".to_owned(), name: name.to_owned(), ..Cause::default() });
        interval.cpus[0].valid.as_mut().unwrap().cause = cause;
        interval
    };
    let name = |of: &Interval| {
        let figures = of.cpus[0].valid.clone().unwrap();
        (figures.maximum_ns, figures.cause.map(|cause| cause.name))
    };
    let of = |first, later| name(&with(0, first, Some("first")).merged(&with(300, later, Some("later"))).unwrap());
    assert_eq!(of(9, 8), (9, Some("first".to_owned())));
    assert_eq!(of(8, 9), (9, Some("later".to_owned())));
    assert_eq!(of(9, 9), (9, Some("first".to_owned())), "the moment that stands is the first's");
    // A lesser one that was explained is no cause of a worse one that nobody looked at.
    assert_eq!(name(&with(0, 8, Some("first")).merged(&with(300, 9, None)).unwrap()), (9, None));
    assert_eq!(name(&with(0, 9, None).merged(&with(300, 8, Some("later"))).unwrap()), (9, None));
}

#[test]
fn a_cause_that_is_too_long_or_covers_more_than_all_is_refused() {
    let read = |cause: Cause| {
        let mut interval = interval(0, 9, None);
        interval.cpus[0].valid.as_mut().unwrap().cause = Some(cause);
        MonitorEntry::from_json(&serde_json::to_string(&MonitorEntry::Interval(interval)).unwrap())
    };
    let cause =
        |name: usize, percent| Cause { name: "x".repeat(name), covers_percent: Some(percent), ..Cause::default() };
    assert!(read(cause(MOST_CAUSE_NAME, 100)).is_ok());
    assert!(read(cause(MOST_CAUSE_NAME + 1, 100)).is_err() && read(cause(1, 101)).is_err());
}

#[test]
fn an_entry_reads_back_and_what_is_newer_is_kept_as_unknown() {
    let entries = [
        MonitorEntry::Interval(interval(0, 9_000, Some(3))),
        MonitorEntry::Gap {
            times: interval(0, 0, None).times,
            why: GapReason::Other("asleep".to_owned()),
            cpus: vec![1, 2],
        },
        MonitorEntry::End { boot: BootId("b".to_owned()), at_ns: 3, why: GapReason::Stopped },
    ];
    for entry in entries {
        let text = serde_json::to_string(&entry).unwrap();
        assert_eq!(MonitorEntry::from_json(&text), Ok(entry), "{text}");
    }
    assert_eq!(MonitorEntry::from_json(r#"{"entry": "weather", "rain": 3}"#), Ok(MonitorEntry::Unknown));
    let many = MonitorEntry::Gap { times: interval(0, 0, None).times, why: GapReason::Killed, cpus: vec![2, 1] };
    assert!(MonitorEntry::from_json(&serde_json::to_string(&many).unwrap()).is_err());
}
