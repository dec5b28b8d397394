use record::{
    CauseClass, Certainty, Deciding, DelayPart, Detail, Histogram, LateSamples, Moment, PartHistogram, Place, Validity,
    Verdict, VerdictState,
};
use summary::explanation::words;
use units::Timestamp;

use super::*;

fn late(latency_ns: i64, class: CauseClass, name: &str) -> ExplainedSample {
    let segment = |from_ns, to_ns, depth, net_ns| TimelineSegment {
        activity: Activity::Interrupt,
        name: "eth0 (interrupt 126)".to_owned(),
        from_ns,
        to_ns,
        depth,
        net_ns,
    };
    ExplainedSample {
        cpu: 1,
        latency_ns,
        scheduled: Moment { monotonic: Timestamp::from_ns(5_000), realtime: Timestamp::from_ns(7) },
        woke: Moment { monotonic: Timestamp::from_ns(5_000 + latency_ns), realtime: Timestamp::from_ns(7) },
        class,
        name: name.to_owned(),
        certainty: if class == CauseClass::Unknown { Certainty::Unknown } else { Certainty::Shown },
        parts: vec![DelayPart { class, name: name.to_owned(), net_ns: 3_000 }],
        timeline: vec![segment(-400, 900, 0, 800), segment(100, 600, 1, 500)],
        ..ExplainedSample::default()
    }
}

fn total(class: CauseClass, name: &str, samples: u64) -> CauseTotal {
    CauseTotal {
        class,
        name: name.to_owned(),
        certainty: if class == CauseClass::Unknown { Certainty::Unknown } else { Certainty::Shown },
        samples,
        worst_ns: 300_000,
        took_ns: 900_000,
        beyond_deadline: None,
        owner: record::Owner::Other,
        latencies: Histogram::new(),
        remedy: "move it".to_owned(),
        finding: None,
    }
}

fn explanation() -> Explanation {
    use CauseClass::{Interrupt, Unknown};
    Explanation {
        sources: vec!["programs in the kernel".to_owned()],
        outliers: 9,
        explained: 4,
        not_recorded: 5,
        causes: vec![total(Interrupt, "eth0", 3), total(Unknown, "", 1)],
        samples: vec![
            late(300_000, Unknown, ""),
            late(200_000, Interrupt, "eth0"),
            late(120_000, Interrupt, "eth0"),
            late(80_000, Interrupt, "eth0"),
        ],
        ..Explanation::default()
    }
}

fn run(explanation: Explanation) -> Record {
    let deciding =
        Deciding { worst_ns: 300_000, place: Place::thread(0, Some(1)), samples: 1_000, beyond: 8, missed_periods: 0 };
    Record {
        late_samples: LateSamples { explanation: Some(explanation), rhythm: None },
        verdict: Some(Verdict {
            deadline_ns: 100_000,
            state: VerdictState::Broken,
            deciding: Some(deciding),
            reason: String::new(),
        }),
        ..samples::run(Validity::default())
    }
}

#[test]
fn shares_include_samples_that_were_not_explained() {
    let view = view(&run(explanation())).unwrap();
    let found: Vec<_> =
        view.shares.iter().map(|share| (share.total, share.causes.clone(), share.not_explained)).collect();
    let exact = |n: u64| Exact::from(n);
    // Nine samples were examined, and four explained. Eight were above the deadline, three of them explained.
    assert_eq!(found, [(exact(9), vec![exact(3), exact(1)], exact(5)), (exact(8), vec![exact(2), exact(1)], exact(5))]);
}

#[test]
fn shares_above_the_deadline_need_all_those_samples_in_the_record() {
    let mut many = explanation();
    (many.explained, many.outliers, many.causes[0].samples) = (400, 405, 399);
    many.samples.pop();
    assert_eq!(
        view(&run(many.clone())).unwrap().shares.len(),
        1,
        "only the worst are kept, and all of them are above the deadline"
    );
    // If a kept sample is below the deadline, all samples above it were kept.
    many.samples.push(late(80_000, CauseClass::Interrupt, "eth0"));
    assert_eq!(view(&run(many.clone())).unwrap().shares[1].causes, [Exact::from(2_u64), Exact::from(1_u64)]);
    // All examined samples are above the deadline.
    many.above_ns = Some(150_000);
    let mut often = run(many);
    often.verdict.as_mut().unwrap().deciding.as_mut().unwrap().beyond = 405;
    assert_eq!(view(&often).unwrap().shares[1].causes, [Exact::from(399_u64), Exact::from(1_u64)]);
}

#[test]
fn the_sentence_describes_the_samples_above_the_deadline_and_the_worst_one() {
    let describe = |explanation: &Explanation| sentence(&run(explanation.clone()), explanation);
    let text = describe(&explanation());
    let start = "No cause accounts for most of the samples above the deadline of 100 us; the largest part, 2 of 8: \
                 interrupt: eth0, shown by the recorded events.";
    assert!(text.starts_with(start), "{text}");
    let end = "The worst, 300 us on CPU 1, is not explained. Nothing is known about 5 others.";
    assert!(text.contains(end), "{text}");
    let mut unknown = explanation();
    unknown.samples[1] = late(200_000, CauseClass::Unknown, "");
    let text = describe(&unknown);
    assert!(text.contains("the largest part, 2 of 8: cause unknown."), "{text}");
    assert!(text.contains("The largest known cause, 1: interrupt: eth0"), "{text}");
    // If each cause has one sample, none is called the largest, and the worst sample is described.
    let mut each = explanation();
    each.samples.remove(0);
    each.samples[1].latency_ns = 90_000;
    let text = describe(&each);
    assert!(
        text.starts_with("No cause stands out among the 8 samples above the deadline of 100 us. The worst, 200 us"),
        "{text}"
    );
    assert!(text.contains("on CPU 1: interrupt: eth0, shown by the recorded events."), "{text}");
    // Without a deadline it describes all explained samples.
    let mut free = run(explanation());
    free.verdict = None;
    let text = sentence(&free, &explanation());
    assert!(text.starts_with("Most of the explained samples, 3 of 4: interrupt: eth0, shown"), "{text}");
    assert!(text.ends_with("Nothing is known about 5 others."), "{text}");
}

#[test]
fn a_part_that_was_not_recorded_has_no_statistics() {
    let mut recorded = Histogram::new();
    recorded.record_n(700, 3);
    let of_thread = |name: &str, thread, histogram| PartHistogram { name: name.to_owned(), thread, cpu: 1, histogram };
    let histograms = vec![
        of_thread("timer_to_runnable", 0, recorded.clone()),
        of_thread("running_to_woke", 0, Histogram::new()),
        of_thread("timer_to_runnable", 1, recorded),
    ];
    let parts = WakeupParts { seen: 6, not_seen: 0, histograms };
    let rows = view(&run(Explanation { parts: Some(parts), ..explanation() })).unwrap().parts.unwrap().rows;
    let of_rows: Vec<_> = rows.iter().map(|row| [row.median_ns, row.p999_ns, row.max_ns]).collect();
    let recorded = [Some(Exact::from(700_u64)), None, Some(Exact::from(700_u64))];
    assert_eq!(of_rows, [[None; 3], recorded, [None; 3], [None; 3]], "no p99.9 of six");
}

#[test]
fn a_class_is_not_repeated_if_the_name_contains_it() {
    assert_eq!(words(CauseClass::Softirq, "softirq NET_RX"), "softirq NET_RX");
    assert_eq!(words(CauseClass::Interrupt, "eth0 (interrupt 126)"), "interrupt: eth0 (interrupt 126)");
    assert_eq!(words(CauseClass::Unknown, ""), "unknown");
}

#[test]
fn the_change_is_for_a_known_cause_if_there_is_one() {
    let mut unknown = explanation();
    (unknown.causes[0].samples, unknown.causes[1].samples) = (1, 3);
    unknown.causes[1].remedy = "look longer".to_owned();
    assert_eq!(view(&run(unknown.clone())).unwrap().change.unwrap().remedy, "move it");
    unknown.causes.remove(0);
    unknown.samples.truncate(1);
    assert_eq!(view(&run(unknown)).unwrap().change.unwrap().remedy, "look longer");
}

#[test]
fn without_evidence_no_cause_is_named() {
    let blind = Explanation { missing: vec!["CONFIG_BPF".to_owned()], outliers: 9, ..Explanation::default() };
    let view = view(&run(blind)).unwrap();
    assert!(view.sentence.starts_with("No evidence was available"), "{}", view.sentence);
    assert!(view.shares.is_empty() && view.change.is_none() && view.causes.is_empty());
    let calm = Explanation { sources: vec!["bpf".to_owned()], above_ns: Some(50_000), ..Explanation::default() };
    assert_eq!(
        sentence(&run(calm.clone()), &calm),
        "There were no samples above 50.0 us, so there is nothing to explain."
    );
    let lost = Explanation { outliers: 7, ..calm };
    assert!(sentence(&run(lost.clone()), &lost).contains("None of 7 samples above 50.0 us was recorded"));
}

#[test]
fn names_of_stretches_are_written_once() {
    let view = view(&run(explanation())).unwrap();
    assert_eq!(view.stretches.len(), 1);
    assert_eq!(view.samples.len(), 4);
    assert_eq!(view.samples[3].timeline.stretch, [0, 0]);
    assert_eq!(view.samples[3].timeline.from_ns, [Exact::from(-400_i64), Exact::from(100_i64)]);
    assert_eq!(view.samples[3].timeline.depth, [0, 1]);
}

#[test]
fn stretches_that_the_record_left_out_are_reported() {
    let mut explanation = explanation();
    explanation.samples[0].stretches_left_out = 1_234;
    explanation.samples[1].stretches_left_out = 1;
    let view = view(&run(explanation)).unwrap();
    let left_out: Vec<Option<&str>> = view.samples.iter().map(|sample| sample.left_out.as_deref()).collect();
    assert_eq!(
        left_out,
        [
            Some("1\u{202f}234 shorter stretches were not kept in the record and are not drawn."),
            Some("1 shorter stretch was not kept in the record and is not drawn."),
            None,
            None
        ]
    );
}

#[test]
fn a_run_without_an_explanation_has_no_view_of_one() {
    assert!(view(&samples::run(Validity::default())).is_none());
}

#[test]
fn packets_are_explained_node_by_node_and_a_limit_on_their_delay_is_none_on_a_part_of_it() {
    let mut packets = samples::packets(&[4_000, 300_000], 3_000, 0, Validity::default());
    packets.verdict = run(explanation()).verdict;
    let node = |name: &str| record::NodeExplanation {
        node: name.to_owned(),
        latency: "arrived_to_received".to_owned(),
        explanation: explanation(),
    };
    if let Detail::Packet(run) = &mut packets.detail {
        run.explanations = vec![node("a"), node("b")];
    }
    assert!(view(&packets).is_none(), "they are none of a wake-up");
    let view = crate::packet::view(&packets).unwrap();
    let [first, second] = &view.explanations[..] else { panic!("{} nodes", view.explanations.len()) };
    assert_eq!((first.node.as_str(), second.node.as_str()), ("a", "b"));
    assert_eq!(first.explanation.begin, ExplainedFrom::Arrival);
    // The times of each node are counted from its own start, on its own clock.
    let begins = |view: &crate::view::PacketExplanationView| view.explanation.samples[0].scheduled.offset_ns;
    assert_eq!(begins(first), Exact::from(4_000_i64));
    assert_eq!(begins(second), Exact::from(5_000_i64 - 90_000_000_000_000));
    // The limit is one on the whole delay, so that nothing is said of samples above it.
    assert_eq!(first.explanation.shares.len(), 1);
    assert!(!first.explanation.sentence.contains("deadline"), "{}", first.explanation.sentence);
    assert!(sentence(&run(explanation()), &explanation()).contains("deadline"));
    assert_eq!(super::view(&run(explanation())).unwrap().begin, ExplainedFrom::Schedule);
}
