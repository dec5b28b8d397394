use record::Validity;

use super::*;

#[test]
fn each_source_of_evidence_that_is_missing_is_named() {
    let mut seen = LookoutObservations::nothing();
    seen.add(ReasonCode::EvidenceMissing, "threads that outrank the measuring ones are not seen".to_owned());
    seen.judge_gap(LONGEST_GAP_NS);
    seen.judge_gap(LONGEST_GAP_NS + 1_000_000_000);
    let mut validity = Validity::default();
    seen.judge(&mut validity, &[]);
    let details: Vec<&str> = validity.reasons().iter().map(|reason| reason.detail.as_str()).collect();
    assert_eq!(details.len(), 2, "{details:?}");
    assert!(details.iter().any(|detail| detail.contains("got no CPU for 11 s")), "{details:?}");
    assert!(validity.reasons().iter().all(|reason| reason.code == ReasonCode::EvidenceMissing));
}

#[test]
fn what_every_look_finds_changed_is_named_once() {
    let mut seen = LookoutObservations::nothing();
    for when in ["1 s into the run", "2 s into the run"] {
        seen.add_once(ReasonCode::IdleLimit, format!("it changed, seen {when}"));
    }
    assert_eq!(seen.reasons.len(), 1);
}

#[test]
fn a_move_of_the_machine_makes_the_run_invalid_with_the_moment() {
    let folder = tempfile::tempdir().unwrap();
    let device = folder.path().join("vmclock0");
    fs::write(&device, disruption::page(2, 7)).unwrap();
    let orders = Orders {
        housekeeping: kernel::sched::affinity_of(0).unwrap(),
        controller: None,
        measured: CpuSet::new(),
        grants: Vec::new(),
        ranked: Vec::new(),
        memory: MemoryLock::take(false),
        held_idle_limit_us: None,
        has_times: true,
        is_published: false,
    };
    let mut looks = Looks::new(orders, Arc::new(AtomicI64::new(monotonic_ns())));
    looks.disruptions = DisruptionWatch::begin(&device);
    looks.look(true);
    fs::write(&device, disruption::page(4, 8)).unwrap();
    looks.look(true);
    looks.look(true);
    let mut validity = Validity::default();
    looks.conclude().judge(&mut validity, &[]);
    let moved: Vec<_> = validity.reasons().iter().filter(|one| one.code == ReasonCode::VmDisrupted).collect();
    assert_eq!(moved.len(), 1, "{moved:?}");
    assert!(moved[0].detail.contains("from 7 to 8, seen") && moved[0].detail.contains("into the run"), "{moved:?}");
    assert!(validity.is_invalid());
}
